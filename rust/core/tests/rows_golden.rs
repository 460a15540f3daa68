//! Same seed, same rows, on any machine: the telemetry tables, and one column of every kind, against
//! committed text. A change here moves every number that was measured on these rows: say so in the
//! changelog, then write the files anew with `INRUSH_WRITE_GOLDEN=1 cargo test --test all rows_golden::`.

use std::fmt::Write;

use crate::rows_common::{chunked, column, every_kind, filled, made, table, telemetry};
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::{digest, Value};
use serde_json::json;

const SEED: u64 = 1;

#[test]
fn telemetry_rows_are_the_committed_ones() {
    for table in telemetry() {
        let text = described(&table, &[0, 1, 40_007, 12_345_678]);
        is_committed(&format!("{}.txt", table.stream), &text);
    }
}

#[test]
fn rows_of_every_kind_are_the_committed_ones() {
    let text =
        described(&every_kind(1), &[0, 987_654_321]) + &described(&every_kind(1000), &[0, 987_654_321]);
    is_committed("every_kind.txt", &text);
}

#[test]
fn rows_in_files_of_chunks_are_the_committed_ones() {
    let (files, rows) = (1_000, 2_000_000_000);
    let of = |profile, order| described(&chunked(files, profile, 3_700, rows, order), &[0, 999_999_999]);
    is_committed("chunks.txt", &(of("survey", "key") + &of("survey", "random") + &of("equal", "key")));
}

/// Keys of a table by themselves, with their texts and another table's references to them.
fn uuids(series: u64) -> TablePlan {
    let uuid = json!({"kind": "uuid"});
    let mut nullable = column("nullable", "uuid", uuid.clone());
    nullable["null_ppm"] = json!(300_000);
    let foreign = json!({"kind": "foreign", "stream": "t", "column": "id", "series": 50, "of": uuid});
    table(
        series,
        1_000_000_000,
        vec![
            column("id", "uuid", uuid.clone()),
            column("text", "text", uuid),
            nullable,
            column("foreign", "uuid", foreign),
        ],
    )
}

#[test]
fn uuids_are_the_committed_ones() {
    let text = described(&uuids(1), &[0, 1, 987_654_321]) + &described(&uuids(1000), &[0, 987_654_321]);
    is_committed("uuids.txt", &text);
}

#[test]
fn a_reference_to_a_uuid_is_one_of_the_table_that_it_names() {
    let ids = filled(&made(&uuids(50), SEED), 0, 50);
    let known: Vec<_> = (0..50).map(|row| ids.columns[0].value(row)).collect();
    let there = filled(&made(&uuids(7), SEED), 0, 500);
    assert!((0..500).all(|row| known.contains(&there.columns[3].value(row))));
}

#[test]
fn any_telemetry_row_made_alone_is_the_row_of_its_batch() {
    for table in &telemetry() {
        let gen = made(table, SEED);
        let batch = filled(&gen, 49_000, 5000);
        for row in [49_000, 49_999, 50_000, 50_024, 53_999] {
            let there: Vec<_> = batch.columns.iter().map(|c| c.value((row - 49_000) as usize)).collect();
            assert_eq!(gen.row(row), there, "{} row {row}", table.name);
        }
    }
}

/// Some rows in full, a line a value, and digests of three ranges.
fn described(table: &TablePlan, rows: &[u64]) -> String {
    let gen = made(table, SEED);
    let mut text = String::new();
    for &row in rows {
        writeln!(text, "seed {SEED}, row {row}").unwrap();
        for (column, value) in table.columns.iter().zip(gen.row(row)) {
            writeln!(text, "  {} = {}", column.name, shown(&value)).unwrap();
        }
    }
    for (first, rows) in [(0, 10_000), (49_990, 100), (1_000_000_000, 5000)] {
        let digest = digest(&gen, first, rows);
        writeln!(text, "rows {first} … {}: {:032x}", first + rows - 1, digest.sum).unwrap();
    }
    text
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(v) => v.to_string(),
        Value::I64(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::F64(v) => format!("{v:?}"),
        Value::TimeMs(v) => format!("{v} ms"),
        Value::TimeUs(v) => format!("{v} us"),
        Value::Text(v) => format!("{v:?}"),
        Value::ListF64(v) => format!("{v:?}"),
        Value::ListI64(v) => format!("{v:?}"),
        Value::List(v) => format!("[{}]", v.iter().map(shown).collect::<Vec<_>>().join(", ")),
    }
}

fn is_committed(name: &str, text: &str) {
    let path = format!("../../python/tests/golden/rows/{name}");
    if std::env::var_os("INRUSH_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    for (line, (ours, theirs)) in text.lines().zip(committed.lines()).enumerate() {
        assert_eq!(ours, theirs, "{name} line {}", line + 1);
    }
    assert_eq!(text.len(), committed.len(), "{name}");
}
