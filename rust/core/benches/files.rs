//! What a row of a file costs: ns of thread CPU time from bytes in the page cache to typed columns.
//!
//! `cargo bench --bench files` prints one line per table and format; `--json` one JSON object per line.

use std::fmt::Write;
use std::path::Path;

use inrush_rows::clock::thread_cpu_ns;
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::files::FileRows;

const ROWS: usize = 200_000;
const BATCH: usize = 8192;
const ROUNDS: usize = 7;

fn main() {
    let json = std::env::args().any(|a| a == "--json");
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("room for the files of a bench");
    for (name, types, row) in TABLES {
        for (format, delimiter) in [("csv", ','), ("tsv", '\t'), ("mysql", '\t')] {
            let path = dir.path().join(format!("{name}.{format}"));
            let text = written(row, delimiter, format == "csv");
            std::fs::write(&path, &text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let plan = table(types, format, &path);
            let ns_per_row = measure(&plan);
            report(json, name, format, ns_per_row, text.len() as f64 / ROWS as f64);
        }
    }
}

/// Table, the types of its columns, and a row with its number in every `#`.
const TABLES: [(&str, &[&str], &str); 4] = [
    (
        "counters",
        &["time_ms", "i32", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "i64"],
        "2026-01-01 00:00:00.123,17,1#2345678,9#8765432,1#,2#,3#,4#,5#,6#",
    ),
    (
        "numeric",
        &["time_ms", "i32", "i32", "i64", "i64", "i64", "i64", "f64", "f64", "f64"],
        "2026-01-01 00:00:00.123Z,1#,17,49#2345678,9#,12#,3#,67.#,-3.1,1.27#498251078",
    ),
    (
        "floats",
        &["i64", "f64", "f64", "f32", "f32"],
        "4333278#,1.27#498251078,-3.1791#8266274,0.00#697,2.0#688e-29",
    ),
    ("texts", &["i64", "text", "text", "text"], "#,N#4228,\"plain words and more of them #\",EWR"),
];

fn written(row: &str, delimiter: char, quotes: bool) -> String {
    let row = row.replace(',', &delimiter.to_string());
    let row = if quotes { row } else { row.replace('"', "") };
    let mut text = String::new();
    for k in 0..ROWS {
        writeln!(text, "{}", row.replace('#', &k.to_string())).expect("a string takes all");
    }
    text
}

/// Best of the rounds, ns of CPU per row.
fn measure(plan: &TablePlan) -> f64 {
    let round = |_| {
        let mut rows = FileRows::open(plan).unwrap_or_else(|e| panic!("{e}"));
        let mut columns = rows.columns();
        let start = thread_cpu_ns();
        while rows.next_batch(BATCH, &mut columns).unwrap_or_else(|e| panic!("{e}")) > 0 {
            std::hint::black_box(&columns);
        }
        let spent = thread_cpu_ns() - start;
        assert_eq!(rows.position().stored, ROWS as u64, "every row is good");
        spent as f64 / ROWS as f64
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn report(json: bool, table: &str, format: &str, ns_per_row: f64, row_bytes: f64) {
    let (rows_per_s, mb_per_s) = (1e9 / ns_per_row, row_bytes / ns_per_row * 1e3);
    if json {
        let line = serde_json::json!({"table": table, "what": format, "ns_per_row": ns_per_row,
            "rows_per_cpu_s": rows_per_s, "mb_per_cpu_s": mb_per_s});
        println!("{line}");
    } else {
        println!(
            "{table:10} {format:6} {ns_per_row:8.1} ns/row {:7.2} M rows/CPU-s {mb_per_s:7.0} MB/CPU-s",
            rows_per_s / 1e6
        );
    }
}

fn table(types: &[&str], format: &str, path: &Path) -> TablePlan {
    let column = |(n, ty)| serde_json::json!({"name": format!("c{n}"), "type": ty, "wire": ""});
    let columns: Vec<_> = types.iter().enumerate().map(column).collect();
    let reject = path.with_extension("rejects");
    let plan = serde_json::json!({"name": "t", "stream": "t", "columns": columns, "source": {"kind": "files",
        "paths": [path], "format": format, "header": false,
        "reject_path": reject, "reject_limit": 0}});
    serde_json::from_value(plan).expect("a table of this build")
}
