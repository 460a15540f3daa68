//! What an encoder wrote, cut anywhere, is read back; what a failing server writes behind it is seen.

use proptest::prelude::*;

use super::*;
use inrush_rows::encode::encoder;
use inrush_rows::plan::{LogicalType, RowSource, TablePlan};
use inrush_rows::rows::{Value, Values};

const TYPES: [LogicalType; 24] = [
    LogicalType::Bool,
    LogicalType::I16,
    LogicalType::I32,
    LogicalType::I64,
    LogicalType::U64,
    LogicalType::F32,
    LogicalType::F64,
    LogicalType::TimeMs,
    LogicalType::TimeUs,
    LogicalType::Text,
    LogicalType::ListF64,
    LogicalType::ListI64,
    LogicalType::ListText,
    LogicalType::ListU64,
    LogicalType::ListF32,
    LogicalType::ListI16,
    LogicalType::ListBool,
    LogicalType::U8,
    LogicalType::U16,
    LogicalType::U32,
    LogicalType::Decimal,
    LogicalType::Decimal,
    LogicalType::Decimal,
    LogicalType::Decimal,
];
/// Digits of the decimals, and those behind the point.
const DIGITS: [(u32, usize); 4] = [(1, 0), (9, 9), (18, 4), (38, 20)];

fn table() -> TablePlan {
    let columns = TYPES.iter().enumerate().map(|(k, ty)| {
        serde_json::from_value(serde_json::json!({
            "name": format!("c{k}"), "type": ty, "wire": "", "null_ppm": if k % 2 == 0 { 1000 } else { 0 },
            "gen": if ty.is_list() && k >= 12 {
                Some(serde_json::json!({"kind": "array", "of": {"kind": "uuid"}, "min_items": 0, "max_items": 3, "null_ppm": 1}))
            } else { (*ty == LogicalType::Decimal).then(|| {
                let (precision, scale) = DIGITS[k - (TYPES.len() - DIGITS.len())];
                serde_json::json!({"kind": "decimal", "precision": precision, "scale": scale})
            }) }
        }))
        .unwrap()
    });
    TablePlan {
        name: "t".into(),
        stream: "t".into(),
        columns: columns.collect(),
        source: RowSource::Generated { series: 1, period_ns: 1, events: None },
        identity: vec![],
    }
}

/// Rows with a value per column made of `seeds`, NULL where a column may be and its seed is a multiple of 3.
fn rows_of(table: &TablePlan, seeds: &[u64]) -> Columns {
    let mut columns = Columns::of(table);
    columns.rows = seeds.len();
    for (column, plan) in columns.columns.iter_mut().zip(&table.columns) {
        for &seed in seeds {
            let null = plan.null_ppm > 0 && seed % 3 == 0;
            let seed = if null { 0 } else { seed };
            if plan.null_ppm > 0 {
                column.present.push(u8::from(!null));
            }
            let items = (0..seed % 4).map(|k| seed.wrapping_mul(k + 1));
            match (&mut column.values, plan.ty) {
                (Values::I32(v), LogicalType::Bool) => v.push((seed % 2) as i32),
                (Values::I32(v), LogicalType::I16) => v.push((seed as i16).into()),
                (Values::I32(v), LogicalType::U8) => v.push((seed as u8).into()),
                (Values::I32(v), LogicalType::U16) => v.push((seed as u16).into()),
                (Values::I64(v), LogicalType::U32) => v.push((seed as u32).into()),
                (Values::I32(v), _) => v.push(seed as i32),
                (Values::I64(v), _) => v.push(seed as i64),
                (Values::F32(v), _) => v.push(seed as f32),
                (Values::F64(v), _) => v.push(seed as f64 / 8.0),
                (Values::Text(v), LogicalType::Decimal) if null => v.push(b""),
                (Values::Text(v), LogicalType::Decimal) => {
                    let Some(inrush_rows::plan::GenPlan::Decimal { precision, scale, .. }) = plan.gen else {
                        unreachable!()
                    };
                    let wide = (i128::from(seed) << 64 | i128::from(!seed)) % 10i128.pow(precision);
                    let units = if seed % 2 == 0 { -wide } else { wide };
                    v.push(inrush_rows::rows::decimals::decimal_text(units, scale as usize).as_bytes());
                }
                (Values::Text(v), _) => v.push("ü\0x".repeat((seed % 100) as usize).as_bytes()),
                (Values::List(v), _) => {
                    let nulls = plan.gen.is_some();
                    for item in items {
                        if nulls && item % 5 == 0 {
                            v.push_null_item();
                            continue;
                        }
                        if !v.present.is_empty() {
                            v.present.push(1);
                        }
                        match &mut *v.items {
                            Values::F64(list) => list.push(item as f64),
                            Values::I64(list) => list.push(item as i64),
                            Values::F32(list) => list.push(item as f32),
                            Values::I32(list) => list.push((item % 2) as i32),
                            Values::Text(list) => list.push("é\t".repeat((item % 3) as usize).as_bytes()),
                            Values::List(_) => unreachable!("no list holds lists"),
                        }
                    }
                    v.end();
                }
            }
        }
    }
    columns
}

fn texts(columns: &Columns) -> Vec<String> {
    (0..columns.rows).map(|row| inrush_rows::rows::row_text(columns, row)).collect()
}

fn scan(pieces: &[&[u8]], like: &TablePlan) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let mut each = |columns: &Columns| found.extend(texts(columns));
    let mut reader = ScanReader { batch: Columns::of(like), rows: 0, each: &mut each };
    let mut stream = Stream::default();
    for piece in pieces {
        stream.buffer().extend_from_slice(piece);
        stream.read(&mut reader)?;
    }
    stream.end(&mut reader)?;
    Ok(found)
}

proptest! {
    #[test]
    fn blocks_cut_anywhere_read_back_what_was_encoded(
        first in prop::collection::vec(any::<u64>(), 0..20),
        second in prop::collection::vec(any::<u64>(), 0..20),
        cut in 0usize..4000,
    ) {
        let table = table();
        let mut encoder = encoder("native", &table).unwrap();
        let (mut out, mut expected) = (Vec::new(), Vec::new());
        for seeds in [first, second] {
            let rows = rows_of(&table, &seeds);
            encoder.encode(&rows, &mut out).unwrap();
            expected.extend(texts(&rows));
        }
        let (a, b) = out.split_at(cut.min(out.len()));
        prop_assert_eq!(scan(&[a, b], &table).unwrap(), expected);
    }

    #[test]
    fn an_answer_that_is_cut_off_is_none(seeds in prop::collection::vec(any::<u64>(), 1..5), cut in 1usize..4000) {
        let table = table();
        let mut out = Vec::new();
        encoder("native", &table).unwrap().encode(&rows_of(&table, &seeds), &mut out).unwrap();
        let kept = out.len() - 1 - cut % (out.len() - 1);
        prop_assume!(kept > 0);
        let failure = scan(&[&out[..kept]], &table).unwrap_err();
        prop_assert_eq!(failure.to_string(), "the answer ended in the middle of a block");
    }

    #[test]
    fn bytes_that_are_no_answer_never_break_us(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut stream = Stream::default();
        stream.buffer().extend_from_slice(&bytes);
        let mut reader = AnswerReader::default();
        let _ = stream.read(&mut reader).and_then(|()| stream.end(&mut reader));
    }
}

#[test]
fn an_exception_behind_the_blocks_is_the_answer() {
    let table = table();
    let mut out = Vec::new();
    encoder("native", &table).unwrap().encode(&rows_of(&table, &[1, 2]), &mut out).unwrap();
    for (blocks, text) in [
        (out.len(), "Code: 395, e.displayText() = DB::Exception: Value passed, e.what() = DB::Exception\n"),
        (0, "Code: 395. DB::Exception: Value passed (version 25.8)\n"),
        (out.len(), "\r\n__exception__\r\nabcd\r\nCode: 395. DB::Exception: Value passed (version 26.1)\r\n"),
    ] {
        let answer = [&out[..blocks], text.as_bytes()].concat();
        for cut in [answer.len() - text.len(), answer.len() - text.len() + 2, answer.len() - 1] {
            let (a, b) = answer.split_at(cut);
            let failure = scan(&[a, b], &table).unwrap_err();
            assert_eq!((failure.code, failure.message.as_str()), (395, "Value passed"), "{text}");
        }
    }
}

#[test]
fn an_exception_inside_of_a_block_is_no_answer_either() {
    let table = table();
    let mut out = Vec::new();
    encoder("native", &table).unwrap().encode(&rows_of(&table, &[1, 2]), &mut out).unwrap();
    let text = b"Code: 241. DB::Exception: Memory limit exceeded (version 25.8)\n";
    for kept in 1..out.len() {
        assert!(scan(&[&out[..kept], text], &table).is_err(), "{kept}");
    }
}

#[test]
fn a_type_that_cannot_be_read_is_named() {
    let block = b"\x01\x01\x01m\x0bMap(a, b..)";
    let mut stream = Stream::default();
    stream.buffer().extend_from_slice(block);
    let failure = stream.read(&mut AnswerReader::default()).unwrap_err();
    assert!(failure.message.contains("column m") && failure.message.contains("cast it"), "{failure}");
}

#[test]
fn an_answer_keeps_names_and_exact_values() {
    let mut table = table();
    table.columns.truncate(6);
    let mut columns = rows_of(&table, &[u64::MAX - 1]);
    columns.columns[4].values = Values::I64(vec![-2]);
    let mut out = Vec::new();
    encoder("native", &table).unwrap().encode(&columns, &mut out).unwrap();
    let (mut stream, mut reader) = (Stream::default(), AnswerReader::default());
    stream.buffer().extend_from_slice(&out);
    stream.read(&mut reader).unwrap();
    assert_eq!(*reader.answer.names, ["c0", "c1", "c2", "c3", "c4", "c5"]);
    assert_eq!(reader.answer.rows[0][4], Value::U64(u64::MAX - 1));
}

#[test]
fn rows_without_a_column_are_no_answer_and_take_no_memory() {
    let mut stream = Stream::default();
    stream.buffer().extend_from_slice(b"\x00\xff\xff\xff\xff\x0f");
    let failure = stream.read(&mut AnswerReader::default()).unwrap_err();
    assert_eq!(failure.to_string(), "the answer is not in format Native");
}
