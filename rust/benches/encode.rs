//! What an encoded row costs: ns of thread CPU time, best of interleaved rounds, per wire.
//!
//! `cargo bench --bench encode` prints one line per table, wire and part (`encode` alone, `with rows` generated
//! too); `--json` one JSON object per line.

use inrush_core::clock::thread_cpu_ns;
use inrush_core::encode::{encoder, WIRES};
use inrush_core::plan::TablePlan;
use inrush_core::rows::RowGen;

const EPOCH_NS: i64 = 1_767_225_600_000_000_000;
const BATCH: usize = 8192;
const BATCHES: u64 = 61; // half a million rows a round
const ROUNDS: usize = 9;

fn main() {
    let json = std::env::args().any(|a| a == "--json");
    for table in [ten_columns(), texts_and_nulls()] {
        for wire in WIRES {
            let (alone, with_rows, bytes) = measure(&table, wire);
            report(json, &table.name, wire, "encode", alone, bytes);
            report(json, &table.name, wire, "with rows", with_rows, bytes);
        }
    }
}

fn report(json: bool, table: &str, wire: &str, part: &str, ns_per_row: f64, bytes_per_row: f64) {
    let rows_per_s = 1e9 / ns_per_row;
    if json {
        let doc = serde_json::json!({"table": table, "wire": wire, "part": part, "ns_per_row": ns_per_row,
                                     "rows_per_cpu_s": rows_per_s, "bytes_per_row": bytes_per_row});
        println!("{doc}");
    } else {
        println!(
            "{table:16} {wire:8} {part:10} {ns_per_row:8.2} ns/row {:8.1} M rows/CPU-s {bytes_per_row:6.0} bytes/row",
            rows_per_s / 1e6
        );
    }
}

/// ns of CPU per row: encoding alone and with generation; bytes per row.
fn measure(table: &TablePlan, wire: &str) -> (f64, f64, f64) {
    let gen = RowGen::new(table, 1, EPOCH_NS).unwrap_or_else(|e| panic!("{e}"));
    let mut encoder = encoder(wire, table).unwrap_or_else(|e| panic!("{e}"));
    let mut columns = gen.columns(BATCH);
    let mut out = Vec::new();
    let (mut alone, mut with_rows) = (f64::INFINITY, f64::INFINITY);
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        for (generates, best) in [(false, &mut alone), (true, &mut with_rows)] {
            let start = thread_cpu_ns();
            for batch in 0..BATCHES {
                if generates {
                    gen.fill(batch * BATCH as u64, BATCH, &mut columns);
                }
                out.clear();
                if columns.rows > 0 {
                    encoder.encode(&columns, &mut out).unwrap_or_else(|e| panic!("{e}"));
                }
                std::hint::black_box(&out);
            }
            // The first round has no rows to encode alone yet.
            if !out.is_empty() {
                *best = best.min((thread_cpu_ns() - start) as f64 / (BATCHES * BATCH as u64) as f64);
                bytes = out.len();
            }
        }
    }
    (alone, with_rows, bytes as f64 / BATCH as f64)
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
    plan("ten_columns", columns)
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
