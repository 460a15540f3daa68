//! What an encoded row costs: ns of thread CPU time, best of interleaved rounds, per wire.
//!
//! `cargo bench --bench encode` prints one line per table, wire, batch size and part (`encode` alone, `with rows`
//! made before, `rows in parts` made a part at a time); `--json` one JSON object per line.

use inrush_rows::clock::thread_cpu_ns;
use inrush_rows::encode::{encoder, parts, KEYED_WIRES, PART_ROWS, WIRES};
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::RowGen;

const EPOCH_NS: i64 = 1_767_225_600_000_000_000;
/// Rows of a batch: one that stays in the L2 cache, and one that does not.
const BATCHES: [usize; 2] = [8_192, 100_000];
/// Rows of a round.
const ROWS: usize = 500_000;
const ROUNDS: usize = 9;

fn main() {
    let json = std::env::args().any(|a| a == "--json");
    for table in [ten_columns(), texts_and_nulls()] {
        for wire in WIRES.into_iter().filter(|wire| !KEYED_WIRES.contains(wire) || !table.identity.is_empty())
        {
            for batch in BATCHES {
                for measured in measure(&table, wire, batch) {
                    report(json, &table.name, wire, batch, &measured);
                }
            }
        }
    }
}

struct Measured {
    what: &'static str,
    ns_per_row: f64,
    bytes_per_row: f64,
}

fn report(json: bool, table: &str, wire: &str, batch: usize, measured: &Measured) {
    let Measured { what, ns_per_row, bytes_per_row } = measured;
    let rows_per_s = 1e9 / ns_per_row;
    if json {
        let doc = serde_json::json!({"table": table, "wire": wire, "batch_rows": batch, "part": what,
                                     "ns_per_row": ns_per_row, "rows_per_cpu_s": rows_per_s,
                                     "bytes_per_row": bytes_per_row});
        println!("{doc}");
    } else {
        println!(
            "{table:16} {wire:8} {batch:7} {what:15} {ns_per_row:8.2} ns/row {:8.1} M rows/CPU-s \
             {bytes_per_row:6.0} bytes/row",
            rows_per_s / 1e6
        );
    }
}

/// Rows already there and encoded; made whole, then encoded; made and encoded part by part, as runs do.
fn measure(table: &TablePlan, wire: &str, batch: usize) -> Vec<Measured> {
    let gen = RowGen::new(table, 1, EPOCH_NS).unwrap_or_else(|e| panic!("{e}"));
    let mut encoder = encoder(wire, table).unwrap_or_else(|e| panic!("{e}"));
    let mut columns = gen.columns(batch);
    let mut out = Vec::new();
    let ways = [("encode", batch, false), ("with rows", batch, true), ("rows in parts", PART_ROWS, true)];
    let mut best = vec![f64::INFINITY; ways.len()];
    let batches = (ROWS / batch) as u64;
    for _ in 0..ROUNDS {
        for ((_, part_rows, generates), best) in ways.iter().zip(&mut best) {
            gen.fill(0, batch, &mut columns);
            let start = thread_cpu_ns();
            for k in 0..batches {
                out.clear();
                for (first, rows, part) in parts(batch, *part_rows) {
                    if *generates {
                        gen.fill(k * batch as u64 + first as u64, rows, &mut columns);
                    }
                    encoder.encode_part(&columns, part, &mut out).unwrap_or_else(|e| panic!("{e}"));
                }
                std::hint::black_box(&out);
            }
            *best = best.min((thread_cpu_ns() - start) as f64 / (batches * batch as u64) as f64);
        }
    }
    let bytes_per_row = out.len() as f64 / batch as f64;
    let measured = ways.iter().zip(best);
    measured.map(|((what, ..), ns_per_row)| Measured { what, ns_per_row, bytes_per_row }).collect()
}

/// Timestamp, integer, eight monotone counters.
fn ten_columns() -> TablePlan {
    let mut columns = vec![
        serde_json::json!({"name": "t", "type": "time_ms", "wire": "", "gen": {"kind": "sweep_time"}}),
        serde_json::json!({"name": "port", "type": "i32", "wire": "", "gen": {"kind": "cycle", "from": 1, "to": 40}}),
    ];
    columns.extend((0..8).map(|k| {
        serde_json::json!({"name": format!("c{k}"), "type": "u64", "wire": "", "gen": {
            "kind": "counter", "start_from": 1_000_000_000_000u64, "start_to": 300_000_000_000_000u64,
            "increment": "lognormal", "median_per_s": 156_250_000, "sigma": 1.2}})
    }));
    TablePlan { identity: vec!["port".into(), "t".into()], ..plan("ten_columns", columns) }
}

/// What has no fixed width: texts, floats as text, NULL in every column.
fn texts_and_nulls() -> TablePlan {
    let columns = vec![
        serde_json::json!({"name": "key", "type": "text", "wire": "", "gen": {"kind": "text", "min_bytes": 8, "max_bytes": 28}}),
        serde_json::json!({"name": "load", "type": "f64", "wire": "", "null_ppm": 100_000,
                           "gen": {"kind": "normal", "mean": 50.0, "sd": 10.0, "bits": 10}}),
        serde_json::json!({"name": "n", "type": "i64", "wire": "", "null_ppm": 100_000,
                           "gen": {"kind": "uniform", "from": 0, "to": 1_000_000_000}}),
    ];
    plan("texts_and_nulls", columns)
}

fn plan(name: &str, columns: Vec<serde_json::Value>) -> TablePlan {
    let table = serde_json::json!({"name": name, "stream": name, "columns": columns,
        "source": {"kind": "generated", "series": 50_000, "period_ns": 1_000_000_000u64}});
    serde_json::from_value(table).expect("this table is written here and valid")
}
