//! Tables for the tests of rows: one column of every kind, and the telemetry tables.
#![allow(dead_code)] // each test file uses a part

use inrush_rows::plan::TablePlan;
use inrush_rows::rows::{Columns, RowGen, Values};
use serde_json::{json, Value as Json};

/// 2026-01-01T00:00:00Z
pub const EPOCH_NS: i64 = 1_767_225_600_000_000_000;

pub fn table(series: u64, period_ns: u64, columns: Vec<Json>) -> TablePlan {
    let source = json!({"kind": "generated", "series": series, "period_ns": period_ns});
    let plan = json!({"name": "t", "stream": "t", "columns": columns, "source": source});
    serde_json::from_value(plan).unwrap()
}

pub fn column(name: &str, ty: &str, gen: Json) -> Json {
    json!({"name": name, "type": ty, "wire": "", "gen": gen})
}

pub fn made(plan: &TablePlan, seed: u64) -> RowGen {
    RowGen::new(plan, seed, EPOCH_NS).unwrap_or_else(|e| panic!("{e}"))
}

pub fn filled(gen: &RowGen, first: u64, rows: usize) -> Columns {
    let mut columns = gen.columns(rows);
    gen.fill(first, rows, &mut columns);
    columns
}

/// Values of a column of integers or times.
pub fn integers(columns: &Columns, name: &str) -> Vec<i64> {
    let column = columns.columns.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no {name}"));
    match &column.values {
        Values::I32(v) => v.iter().map(|&v| v as i64).collect(),
        Values::I64(v) => v.clone(),
        _ => panic!("{name} is not a column of integers"),
    }
}

/// One column, `rows` values.
pub fn draws(series: u64, ty: &str, gen: Json, rows: usize) -> Columns {
    filled(&made(&table(series, 1_000_000_000, vec![column("c", ty, gen)]), 11), 0, rows)
}

pub fn telemetry() -> Vec<TablePlan> {
    let path = "../../python/tests/golden/rows/telemetry.json";
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// One column of every kind (jobs need several series), some twice.
pub fn every_kind(series: u64) -> TablePlan {
    let uniform = json!({"kind": "uniform", "from": -1000, "to": 1000});
    let counter = json!({"kind": "counter", "start_from": 10, "start_to": 1_000_000_000_000u64, "increment": "lognormal",
        "median_per_s": 1e8, "sigma": 1.2, "idle_ppm": 200_000, "group": "g", "cap_per_s": 3_000_000_000u64});
    let mut columns = vec![
        column("sequence", "i64", json!({"kind": "sequence", "start": -5, "step": 3})),
        column("constant", "f32", json!({"kind": "constant", "value": 1.5})),
        column("cycle", "i32", json!({"kind": "cycle", "from": 1, "to": 40, "every": 3})),
        column("shuffled", "i32", json!({"kind": "shuffled", "from": 1, "to": 1000})),
        column("uniform", "i16", uniform.clone()),
        column("uniform_signed", "i64", json!({"kind": "uniform", "from": i64::MIN, "to": i64::MAX})),
        column(
            "uniform_series",
            "f64",
            json!({"kind": "uniform", "from": 0, "to": 9, "bits": 20, "per": "series"}),
        ),
        column("normal", "f64", json!({"kind": "normal", "mean": -3.0, "sd": 2.5})),
        column("lognormal", "i32", json!({"kind": "lognormal", "median": 1500.0, "sigma": 0.6, "max": 1e6})),
        column("poisson", "i32", json!({"kind": "poisson", "mean": 3.5})),
        column("beta", "f32", json!({"kind": "beta", "a": 8.0, "b": 1.5, "scale": 100.0, "bits": 10})),
        column("zipf", "i64", json!({"kind": "zipf", "n": 1000, "exponent": 1.1, "scatter": true})),
        column("zipf_large", "i64", json!({"kind": "zipf", "n": 100_000_000, "exponent": 0.99})),
        column(
            "categorical",
            "text",
            json!({"kind": "categorical", "values": ["a", "bb", "µ"], "weights": [5.0, 3.0, 1.0]}),
        ),
        column("flag", "bool", json!({"kind": "flag", "true_ppm": 250_000})),
        column("counter", "u64", counter),
        column(
            "poisson_counter",
            "u64",
            json!({"kind": "counter", "increment": "poisson", "mean_per_s": 0.2, "reset_every_s": 3600, "width_bits": 8, "at_limit": "saturate"}),
        ),
        column(
            "burst_counter",
            "u64",
            json!({"kind": "counter", "increment": "burst", "probability_ppm": 1000, "mean_size": 500.0, "reset_every_s": 600}),
        ),
        column(
            "ratio",
            "u64",
            json!({"kind": "ratio", "of": "counter", "numerator": 4, "denominator": 1185}),
        ),
        column("sum", "u64", json!({"kind": "sum", "of": ["ratio", "poisson_counter"]})),
        column("difference", "i64", json!({"kind": "difference", "of": "ratio", "minus": "poisson_counter"})),
        column("offset", "i32", json!({"kind": "offset", "of": "uniform", "from": -20, "to": 20})),
        column(
            "excess",
            "u64",
            json!({"kind": "excess", "of": "counter", "above_per_s": 1_000_000, "numerator": 1, "denominator": 100, "width_bits": 32}),
        ),
        column("walk", "f64", json!({"kind": "walk", "from": -10, "to": 10, "bits": 12})),
        column("sweep_time", "time_ms", json!({"kind": "sweep_time", "jitter_ms": 50})),
        column("time", "time_us", json!({"kind": "time", "period_us": 250, "jitter_us": 9})),
        column(
            "series_time",
            "time_us",
            json!({"kind": "series_time", "median_period_ms": 1240.0, "sigma": 1.0, "jitter_ms": 1}),
        ),
        column("pattern", "u64", json!({"kind": "pattern", "prefix": "b8599f03"})),
        column(
            "format",
            "text",
            json!({"kind": "format", "pattern": "%05d%c%03d-%06d", "pad_to": 28, "fields": [
            {"kind": "uniform", "from": 8745, "to": 12_514}, {"kind": "flag", "true_ppm": 500_000},
            {"kind": "uniform", "from": 1, "to": 300}, {"kind": "sequence", "start": 1, "step": 1}]}),
        ),
        column("text", "text", json!({"kind": "text", "min_bytes": 0, "max_bytes": 40})),
        column("uuid", "uuid", json!({"kind": "uuid"})),
        column("decimal", "decimal", json!({"kind": "decimal", "precision": 38, "scale": 20})),
        column(
            "decimal_of",
            "decimal",
            json!({"kind": "decimal", "precision": 6, "scale": 2, "of": {"kind": "uniform", "from": -999_999, "to": 999_999}}),
        ),
        column(
            "array",
            "list_f64",
            json!({"kind": "array", "of": {"kind": "normal", "mean": 0.0, "sd": 1.0}, "min_items": 0, "max_items": 20}),
        ),
        column(
            "array_long",
            "list_i64",
            json!({"kind": "array", "of": {"kind": "sequence", "start": 0, "step": 1}, "min_items": 3, "max_items": 3}),
        ),
        column("days", "date", json!({"kind": "between", "from": "0001-01-01", "to": "9999-12-31"})),
        column("hours", "time", json!({"kind": "between", "from": "00:00", "to": "24:00"})),
        column("hosts", "inet", json!({"kind": "between", "from": "10.0.0.0", "to": "10.0.255.255"})),
        column("bytes", "blob", json!({"kind": "bytes", "min_bytes": 0, "max_bytes": 20})),
        column("document", "json", json!({"kind": "document", "max_items": 5, "max_chars": 9})),
        column("bits", "bit", json!({"kind": "bits", "bits": 64})),
        column(
            "bits_of",
            "bit",
            json!({"kind": "bits", "bits": 5, "of": {"kind": "cycle", "from": 0, "to": 31}}),
        ),
        column("state", "enum", json!({"kind": "categorical", "values": ["ON", "OFF", "MOVING"]})),
        column(
            "flags",
            "list_bool",
            json!({"kind": "array", "of": {"kind": "flag", "true_ppm": 500_000}, "min_items": 0, "max_items": 9}),
        ),
        column(
            "shorts",
            "list_i16",
            json!({"kind": "array", "of": {"kind": "uniform", "from": -32_768, "to": 32_767}, "min_items": 0, "max_items": 5, "null_ppm": 200_000}),
        ),
        column(
            "numbers",
            "list_u32",
            json!({"kind": "array", "of": {"kind": "uniform", "from": 0, "to": 4_294_967_295u32}, "min_items": 0, "max_items": 5}),
        ),
        column(
            "singles",
            "list_f32",
            json!({"kind": "array", "of": {"kind": "uniform", "from": -10, "to": 10}, "min_items": 0, "max_items": 9,
                   "null_ppm": 100_000, "inf_ppm": 100_000, "minus_inf_ppm": 100_000}),
        ),
        column(
            "words",
            "list_text",
            json!({"kind": "array", "of": {"kind": "text", "min_bytes": 0, "max_bytes": 9}, "min_items": 0, "max_items": 5, "null_ppm": 100_000}),
        ),
        column(
            "foreign",
            "u64",
            json!({"kind": "foreign", "stream": "t", "column": "pattern", "series": 50, "of": {"kind": "pattern", "prefix": "b8599f03"}, "exponent": 1.1}),
        ),
    ];
    let mut nullable = column("nullable", "i32", uniform);
    nullable["null_ppm"] = json!(100_000);
    columns.push(nullable);
    let mut nullable_text =
        column("nullable_text", "text", json!({"kind": "text", "min_bytes": 1, "max_bytes": 5}));
    nullable_text["null_ppm"] = json!(500_000);
    columns.push(nullable_text);
    if series > 1 {
        columns.push(column("job", "i64", json!({"kind": "job", "from": 1000, "smallest": 2, "largest": 64, "exponent": 1.1, "lives_from_s": 60, "lives_to_s": 86_400})));
        columns.push(column("rank", "i32", json!({"kind": "rank", "of": "job"})));
    }
    table(series, 1_000_000_000, columns)
}

/// The key index of a survey: rows in files of chunks, with each part of a key beside the whole one.
pub fn chunked(files: u64, profile: &str, run_rows: u64, rows: u64, order: &str) -> TablePlan {
    let part = |part: &str| json!({"kind": "chunk", "part": part});
    let key = json!({"kind": "format", "pattern": "%05d%c%03d-%06d",
        "fields": [part("scan"), part("letter"), part("frame"), part("source")]});
    let columns = vec![
        column("source_id", "text", key),
        column("chunk_id", "i32", part("chunk_id")),
        column("sub_chunk_id", "i32", json!({"kind": "uniform", "from": 0, "to": 155})),
        column("file", "i32", part("file")),
        column("packed", "i64", part("key")),
    ];
    let mut plan = serde_json::to_value(table(1, 1_000_000_000, columns)).unwrap();
    plan["source"]["events"] = json!({"rows": rows, "order": {"by": order},
        "chunks": {"files": files, "profile": profile, "run_rows": run_rows}});
    plan["identity"] = json!(["source_id"]);
    serde_json::from_value(plan).unwrap()
}
