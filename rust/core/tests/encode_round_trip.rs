//! What an encoder writes, a reader of that format reads back exactly: every type, NULL, extremes, odd texts.
//!
//! The decoders are slow and plain on purpose, and share no code with the encoders.

mod batches;
mod decoders;

use inrush_rows::encode::pgcopy::{Cells, RowHead};
use inrush_rows::encode::{encoder, parts, KEYED_WIRES, PART_ROWS, WIRES};
use inrush_rows::plan::{ColumnPlan, GenPlan, LogicalType, Per, RowSource, TablePlan};
use inrush_rows::rows::{Column, Columns, RowGen, Value, Values};
use proptest::prelude::*;

use batches::{batch, expect_same, push, words};
use decoders::{
    decode_cells, decode_csv, decode_mysql, decode_pgcopy, decode_rowbinary, decode_text, usual, Bytes,
};

/// MySQL has no NaN and no infinity.
fn finite(mut batch: Columns) -> Columns {
    fn tame(values: &mut Values) {
        match values {
            Values::F32(v) => v.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 1.5),
            Values::F64(v) => v.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 1.5),
            Values::List(list) => tame(&mut list.items),
            _ => {}
        }
    }
    batch.columns.iter_mut().for_each(|column| tame(&mut column.values));
    batch
}

/// JSON has none of them either.
fn finite_lists(mut batch: Columns) -> Columns {
    for column in &mut batch.columns {
        if let Values::List(list) = &mut column.values {
            if let Values::F32(v) = &mut *list.items {
                v.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 1.5);
            }
        }
    }
    batch
}

// ---- laws ----

fn encoded(wire: &str, plan: &TablePlan, batch: &Columns) -> Vec<u8> {
    let mut out = Vec::new();
    encoder(wire, plan).expect("wires are valid here").encode(batch, &mut out).expect("every value fits");
    out
}

proptest! {
    #[test]
    fn text_reads_back_exactly((plan, batch) in batch()) {
        let batch = finite_lists(batch);
        expect_same(&batch, decode_text(&encoded("text", &plan, &batch), &plan))?;
    }

    #[test]
    fn csv_reads_back_exactly((plan, batch) in batch()) {
        let batch = finite_lists(batch);
        expect_same(&batch, decode_csv(&encoded("csv", &plan, &batch), &plan))?;
    }

    #[test]
    fn binary_copy_reads_back_exactly((plan, batch) in batch()) {
        expect_same(&batch, decode_pgcopy(&encoded("pgcopy", &plan, &batch), &plan))?;
    }

    #[test]
    fn values_of_mysqls_protocol_read_back_exactly((plan, batch) in batch()) {
        let batch = finite(batch);
        expect_same(&batch, decode_mysql(&encoded("mysql", &plan, &batch), &plan, batch.rows))?;
    }

    #[test]
    fn neighbouring_words_of_a_binary_copy_read_back_exactly((plan, batch) in words()) {
        expect_same(&batch, decode_pgcopy(&encoded("pgcopy", &plan, &batch), &plan))?;
    }

    #[test]
    fn bind_cells_are_the_copy_without_its_counts((plan, batch) in batch(), cut in 0usize..2000) {
        let cut = cut.min(batch.rows);
        let mut cells = Cells::new(&plan, RowHead::Nothing).expect("wires are valid here");
        let mut out = Vec::new();
        cells.append(&batch, 0..cut, &mut out).expect("every value fits");
        cells.append(&batch, cut..batch.rows, &mut out).expect("every value fits");
        let mut bytes = Bytes(&out);
        expect_same(&batch, (0..batch.rows).map(|_| decode_cells(&mut bytes, &plan)).collect())?;
        prop_assert!(bytes.0.is_empty());
    }

    #[test]
    fn row_binary_reads_back_exactly((plan, batch) in batch()) {
        let plan = usual(&plan);
        expect_same(&batch, decode_rowbinary(&encoded("rowbinary", &plan, &batch), &plan))?;
    }

    #[test]
    fn encoding_appends_and_repeats((plan, batch) in batch()) {
        let batch = finite(batch);
        // These tables have no identity: the readers of keyed wires are in line.rs and encode/resp.rs.
        for wire in WIRES.into_iter().filter(|wire| !KEYED_WIRES.contains(wire)) {
            let plan = if matches!(wire, "native" | "rowbinary") { usual(&plan) } else { plan.clone() };
            let once = encoded(wire, &plan, &batch);
            let mut encoder = encoder(wire, &plan).expect("wires are valid here");
            let mut out = b"before".to_vec();
            encoder.encode(&batch, &mut out).expect("every value fits");
            encoder.encode(&batch, &mut out).expect("every value fits");
            prop_assert_eq!(&out, &[b"before".to_vec(), once.clone(), once].concat());
        }
    }
}

#[test]
fn rows_made_and_encoded_in_parts_are_the_bytes_of_the_whole_batch() {
    let column = |name: &str, ty: &str, null_ppm: u32, gen: serde_json::Value| serde_json::json!({"name": name, "type": ty, "wire": "", "null_ppm": null_ppm, "gen": gen});
    let words = serde_json::json!({"kind": "text", "min_bytes": 1, "max_bytes": 20});
    let normal = serde_json::json!({"kind": "normal", "mean": 50.0, "sd": 10.0, "bits": 10});
    let counter = serde_json::json!({"kind": "counter", "start_from": 0, "start_to": 10, "increment": "lognormal",
                                     "median_per_s": 1000, "sigma": 1.2});
    let plan: TablePlan = serde_json::from_value(serde_json::json!({
        "name": "t", "stream": "t", "source": {"kind": "generated", "series": 7, "period_ns": 1_000_000_000u64},
        "columns": [column("key", "text", 0, words), column("at", "time_ms", 0, serde_json::json!({"kind": "time", "period_us": 1_000_000})),
                    column("load", "f64", 100_000, normal), column("n", "u64", 0, counter)],
        "identity": ["key", "at"],
    }))
    .expect("this table is written here and valid");
    let generator = RowGen::new(&plan, 1, 0).expect("this table is written here and valid");
    let mut columns = generator.columns(10_000);
    for wire in WIRES {
        let mut encoder = encoder(wire, &plan).expect("wires are valid here");
        let any = [(0, 5), (1, 5), (5, 5), (3_000, 1), (3_000, 128), (3_000, 1_000), (10_000, PART_ROWS)];
        // A part of Native is a block of its own, so that other parts are other bytes of the same rows.
        let blocks = [(0, PART_ROWS), (1, PART_ROWS), (PART_ROWS, PART_ROWS), (10_000, PART_ROWS)];
        for (rows, part_rows) in if wire == "native" { blocks.to_vec() } else { any.to_vec() } {
            generator.fill(100, rows, &mut columns);
            let whole = encoded(wire, &plan, &columns);
            let mut out = Vec::new();
            for (first, count, part) in parts(rows, part_rows) {
                generator.fill(100 + first as u64, count, &mut columns);
                encoder.encode_part(&columns, part, &mut out).expect("every value fits");
            }
            assert!(out == whole, "{wire}: {rows} rows in parts of {part_rows}");
        }
    }
}

// ---- refusals ----

fn one_column(ty: LogicalType, wire: &str, value: Value) -> (TablePlan, Columns) {
    let column =
        ColumnPlan { name: "c".into(), ty, wire: wire.into(), null_ppm: 0, not_finite: None, gen: None };
    let plan = TablePlan {
        name: "t".into(),
        stream: "t".into(),
        columns: vec![column],
        source: RowSource::Generated { series: 1, period_ns: 1, events: None },
        identity: vec![],
    };
    let mut column = Column::new("c", ty);
    push(&mut column.values, Some(&value));
    (plan, Columns::new(1, vec![column]))
}

#[test]
fn a_value_that_its_wire_cannot_hold_is_refused_and_named() {
    let refused = |wire: &str, ty, column_wire, value| {
        let (plan, batch) = one_column(ty, column_wire, value);
        let mut out = Vec::new();
        encoder(wire, &plan)
            .expect("the pair is valid")
            .encode(&batch, &mut out)
            .expect_err("too large")
            .to_string()
    };
    assert_eq!(
        refused("pgcopy", LogicalType::I32, "int2", Value::I64(40_000)),
        "plan: column c: I64(40000) does not fit int2; narrow the generator or choose a wider type"
    );
    for time in [i64::MAX, i64::MIN, 9_224_318_016_000_000] {
        assert!(refused("pgcopy", LogicalType::TimeMs, "", Value::TimeMs(time))
            .contains("does not fit timestamptz"));
    }
    for wire in ["text", "csv"] {
        assert!(
            refused(wire, LogicalType::TimeMs, "", Value::TimeMs(i64::MAX)).contains("the years 0 to 9999")
        );
    }
}

#[test]
fn a_list_of_whole_numbers_is_a_list_of_floats_as_far_as_they_are_exact() {
    let exact = Value::ListI64(vec![0, -1, 1 << 53, -(1 << 53)]);
    for list in [exact, Value::ListI64(vec![])] {
        let (plan, batch) = one_column(LogicalType::ListI64, "float8[]", list.clone());
        assert_eq!(decode_pgcopy(&encoded("pgcopy", &plan, &batch), &plan), [[list]]);
    }
    let (plan, batch) = one_column(LogicalType::ListI64, "float8[]", Value::ListI64(vec![1, (1 << 53) + 1]));
    let refused = encoder("pgcopy", &plan).expect("valid").encode(&batch, &mut Vec::new());
    assert!(refused.expect_err("it would be rounded").to_string().contains("does not fit float8list"));
}

#[test]
fn mysql_has_no_nan_and_no_year_10000() {
    for (ty, value) in [
        (LogicalType::ListF32, Value::List(vec![Value::F64(f64::NAN)])),
        (LogicalType::F64, Value::F64(f64::NAN)),
        (LogicalType::F32, Value::F64(f64::INFINITY)),
        (LogicalType::TimeMs, Value::TimeMs(253_402_300_800_000)),
    ] {
        let (plan, batch) = one_column(ty, "", value);
        let refused = encoder("mysql", &plan).expect("valid").encode(&batch, &mut Vec::new());
        assert!(refused.expect_err("none of them").to_string().contains("does not fit"));
    }
}

#[test]
fn a_date_of_clickhouse_is_a_day_of_1970_to_2149() {
    for wire in ["native", "rowbinary"] {
        for (day, bytes) in
            [("1970-01-01", [0, 0]), ("2026-01-31", [0x04, 0x50]), ("2149-06-06", [0xff, 0xff])]
        {
            let (plan, batch) = one_column(LogicalType::Date, "Date", Value::Text(day.into()));
            assert!(encoded(wire, &plan, &batch).ends_with(&bytes), "{wire}: {day}");
        }
        for day in ["1969-12-31", "2149-06-07"] {
            let (plan, batch) = one_column(LogicalType::Date, "Date", Value::Text(day.into()));
            let refused = encoder(wire, &plan).expect("valid").encode(&batch, &mut Vec::new());
            let said = refused.expect_err("no such day").to_string();
            assert!(said.contains(&format!("{day} does not fit the days of Date")), "{said}");
        }
    }
}

fn one_of_bits(bits: u32, number: u64) -> (TablePlan, Columns) {
    let (mut plan, batch) = one_column(LogicalType::Bit, "", Value::U64(number));
    plan.columns[0].gen = Some(GenPlan::Bits { bits, of: None, per: Per::Row });
    (plan, batch)
}

#[test]
fn bits_of_postgresql_begin_with_the_first_and_their_number() {
    let cases: [(u32, u64, &[u8]); 5] = [
        (1, 1, &[0x80]),
        (5, 0b10110, &[0b1011_0000]),
        (12, 0x801, &[0x80, 0x10]),
        (32, 0xdead_beef, &[0xde, 0xad, 0xbe, 0xef]),
        (64, u64::MAX - 1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]),
    ];
    for (bits, number, bytes) in cases {
        let (plan, batch) = one_of_bits(bits, number);
        let cell = [&(4 + bytes.len() as u32).to_be_bytes(), &bits.to_be_bytes(), bytes].concat();
        let sent = encoded("pgcopy", &plan, &batch);
        assert!(sent.strip_suffix(&[0xff, 0xff]).unwrap_or(&sent).ends_with(&cell), "bit({bits}): {sent:?}");
    }
    let (plan, batch) = one_of_bits(5, 32);
    let refused = encoder("pgcopy", &plan).expect("valid").encode(&batch, &mut Vec::new());
    assert!(refused.expect_err("six bits").to_string().contains("U64(32) does not fit"));
}

#[test]
fn bits_are_hexadecimal_digits_in_text_and_documents_have_a_version_in_postgresql() {
    let (plan, batch) = one_of_bits(64, 0xf00d_0000_0000_0001);
    assert_eq!(encoded("text", &plan, &batch), b"f00d000000000001\n");
    let (plan, batch) = one_column(LogicalType::Json, "jsonb", Value::Text("{}".into()));
    let sent = encoded("pgcopy", &plan, &batch);
    assert!(sent.strip_suffix(&[0xff, 0xff]).unwrap_or(&sent).ends_with(b"\0\0\0\x03\x01{}"), "{sent:?}");
}

#[test]
fn a_null_may_stand_on_any_value() {
    let (plan, mut batch) = one_column(LogicalType::TimeMs, "", Value::TimeMs(i64::MAX));
    batch.columns[0].present = vec![0];
    assert_eq!(decode_pgcopy(&encoded("pgcopy", &plan, &batch), &plan), [[Value::Null]]);
}

#[test]
fn a_batch_of_another_table_is_refused() {
    let (plan, _) = one_column(LogicalType::I64, "", Value::I64(1));
    let (_, texts) = one_column(LogicalType::Text, "", Value::Text("1".into()));
    let mut out = Vec::new();
    assert!(encoder("pgcopy", &plan).expect("valid").encode(&texts, &mut out).is_err());
    let mut short = one_column(LogicalType::I64, "", Value::I64(1)).1;
    short.rows = 2;
    assert!(encoder("pgcopy", &plan).expect("valid").encode(&short, &mut out).is_err());
    let wrong = one_column(LogicalType::I64, "money", Value::I64(1)).0;
    assert!(encoder("pgcopy", &wrong).err().expect("refused").to_string().contains("\"money\""));
    assert!(encoder("carrier-pigeon", &plan)
        .err()
        .expect("refused")
        .to_string()
        .contains("text, csv, pgcopy"));
}
