//! What the line protocol's encoder writes, a reader of the protocol reads back exactly.
//!
//! The reader follows the protocol's description byte by byte and shares no code with the encoder.

use std::collections::BTreeMap;

use inrush_rows::encode::encoder;
use inrush_rows::encode::line::ROW_FIELD;
use inrush_rows::plan::{ColumnPlan, LogicalType, RowSource, TablePlan};
use inrush_rows::rows::{Column, Columns, Value, Values};
use proptest::prelude::*;

const NAMES: [&str; 9] = ["host", "rank", "at", "up", "n", "bits", "load", "a b", "c=d,"];

fn table(nullable: bool) -> TablePlan {
    use LogicalType::{Bool, Text, TimeMs, F64, I32, I64, U64};
    let types = [Text, I32, TimeMs, Bool, I64, U64, F64, Text, LogicalType::ListF64];
    let gen = serde_json::json!({"kind": "constant", "value": 1});
    let columns = NAMES.iter().zip(types).enumerate().map(|(at, (name, ty))| ColumnPlan {
        name: (*name).into(),
        ty,
        wire: String::new(),
        null_ppm: if nullable && at > 2 { 1 } else { 0 },
        not_finite: None,
        gen: Some(serde_json::from_value(gen.clone()).expect("a generator")),
    });
    TablePlan {
        name: "\"ns\"..\"my table\"".into(),
        stream: "t".into(),
        columns: columns.collect(),
        source: RowSource::Generated { series: 1, period_ns: 1, events: None },
        identity: ["host", "rank", "at"].map(str::to_owned).to_vec(),
    }
}

type Cells = (String, i32, i64, bool, i64, u64, f64, String, Vec<f64>);

fn row() -> impl Strategy<Value = (Cells, Vec<bool>)> {
    let float = || {
        prop_oneof![
            any::<f64>().prop_filter("points have no NaN", |v| v.is_finite()),
            (-4096i32..4096).prop_map(|k| k as f64 / 64.0)
        ]
    };
    let text = prop_oneof!["[ -~\\n\\t]{0,20}", any::<String>().prop_map(|s| s.replace('\0', "0"))];
    let time = -9_223_372_036_854i64..=9_223_372_036_854;
    let cells = (
        "[a-z ,=.-]{1,12}",
        any::<i32>(),
        time,
        any::<bool>(),
        any::<i64>(),
        any::<u64>(),
        float(),
        text,
        prop::collection::vec(float(), 0..4),
    );
    (cells, prop::collection::vec(any::<bool>(), 6))
}

fn batch(plan: &TablePlan, rows: &[(Cells, Vec<bool>)], nullable: bool) -> Columns {
    let mut batch = Columns::of(plan);
    batch.rows = rows.len();
    for (cells, present) in rows {
        let columns = &mut batch.columns;
        text(&mut columns[0], &cells.0);
        if let Values::I32(v) = &mut columns[1].values {
            v.push(cells.1);
        }
        long(&mut columns[2], cells.2);
        if let Values::I32(v) = &mut columns[3].values {
            v.push(i32::from(cells.3));
        }
        long(&mut columns[4], cells.4);
        long(&mut columns[5], cells.5 as i64);
        if let Values::F64(v) = &mut columns[6].values {
            v.push(cells.6);
        }
        text(&mut columns[7], &cells.7);
        if let Values::List(list) = &mut columns[8].values {
            let Values::F64(items) = &mut *list.items else { unreachable!("a list of f64") };
            items.extend(&cells.8);
            list.ends.push(items.len() as u32);
        }
        if nullable {
            for (column, &present) in columns[3..].iter_mut().zip(present) {
                column.present.push(u8::from(present));
            }
        }
    }
    batch
}

fn text(column: &mut Column, value: &str) {
    let Values::Text(texts) = &mut column.values else { unreachable!("a text column") };
    texts.push(value.as_bytes());
}

fn long(column: &mut Column, value: i64) {
    let Values::I64(values) = &mut column.values else { unreachable!("a column of 64 bits") };
    values.push(value);
}

// ---- the reader ----

#[derive(Debug, PartialEq)]
enum Field {
    Bool(bool),
    Whole(i64),
    Real(f64),
    Text(String),
}

struct Reader<'a> {
    rest: &'a [u8],
}

struct Point {
    measurement: String,
    tags: BTreeMap<String, String>,
    fields: BTreeMap<String, Field>,
    time: i64,
}

impl Reader<'_> {
    /// Up to one of `ends`, which is left; a backslash takes the meaning from a comma, an equals sign and a space.
    fn name(&mut self, ends: &[u8]) -> String {
        let mut name = Vec::new();
        while !ends.contains(&self.rest[0]) {
            if self.rest[0] == b'\\' && matches!(self.rest[1], b',' | b'=' | b' ') {
                self.rest = &self.rest[1..];
            }
            name.push(self.rest[0]);
            self.rest = &self.rest[1..];
        }
        String::from_utf8(name).expect("UTF-8")
    }

    fn skip(&mut self, byte: u8) {
        assert_eq!(self.rest[0], byte, "in {:?}", String::from_utf8_lossy(self.rest));
        self.rest = &self.rest[1..];
    }

    fn field(&mut self) -> Field {
        if self.rest[0] != b'"' {
            let text = self.name(b", ");
            return match text.as_str() {
                "t" => Field::Bool(true),
                "f" => Field::Bool(false),
                _ => match text.strip_suffix('i') {
                    Some(whole) => Field::Whole(whole.parse().expect("an integer")),
                    None => Field::Real(text.parse().expect("a float")),
                },
            };
        }
        self.skip(b'"');
        let mut text = Vec::new();
        while self.rest[0] != b'"' {
            if self.rest[0] == b'\\' && matches!(self.rest[1], b'"' | b'\\') {
                self.rest = &self.rest[1..];
            }
            text.push(self.rest[0]);
            self.rest = &self.rest[1..];
        }
        self.skip(b'"');
        Field::Text(String::from_utf8(text).expect("UTF-8"))
    }

    fn point(&mut self) -> Point {
        let measurement = self.name(b", ");
        let mut tags = BTreeMap::new();
        while self.rest[0] == b',' {
            self.skip(b',');
            let key = self.name(b"=");
            self.skip(b'=');
            tags.insert(key, self.name(b", "));
        }
        let mut fields = BTreeMap::new();
        while self.rest[0] != b' ' || fields.is_empty() {
            self.rest = &self.rest[1..]; // a space before the first, a comma before others
            let key = self.name(b"=");
            self.skip(b'=');
            let value = self.field();
            assert!(fields.insert(key, value).is_none(), "a field stands once");
        }
        self.skip(b' ');
        let time = self.name(b"\n").parse().expect("a time");
        self.skip(b'\n');
        Point { measurement, tags, fields, time }
    }
}

fn expected(value: Value) -> Option<Field> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(v) => Field::Bool(v),
        Value::I64(v) => Field::Whole(v),
        Value::U64(v) => Field::Whole(v as i64),
        Value::F64(v) => Field::Real(v),
        Value::Text(v) => Field::Text(v),
        Value::ListF64(v) => {
            let items: Vec<String> = v.iter().map(|item| format!("{item:?}")).collect();
            Field::Text(items.join(","))
        }
        other => panic!("{other:?}"),
    })
}

/// Lists are compared by their items: `1` and `1.0` are one number.
fn items(text: &str) -> String {
    let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).expect("brackets");
    let items = inner.split(',').filter(|t| !t.is_empty());
    items.map(|t| format!("{:?}", t.parse::<f64>().expect("a float"))).collect::<Vec<_>>().join(",")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_point_is_read_back(rows in prop::collection::vec(row(), 0..40), nullable: bool) {
        let plan = table(nullable);
        let columns = batch(&plan, &rows, nullable);
        let mut out = Vec::new();
        encoder("line", &plan).expect("it has a time").encode(&columns, &mut out).expect("all fit");
        let mut reader = Reader { rest: &out };
        for row in 0..columns.rows {
            let mut point = reader.point();
            prop_assert_eq!(&point.measurement, "my table");
            let Value::Text(host) = columns.columns[0].value(row) else { unreachable!("a text") };
            let Value::I64(rank) = columns.columns[1].value(row) else { unreachable!("a whole number") };
            let tags = [("host".to_owned(), host), ("rank".to_owned(), rank.to_string())];
            prop_assert_eq!(&point.tags, &BTreeMap::from(tags));
            prop_assert_eq!(Value::TimeMs(point.time), columns.columns[2].value(row));
            prop_assert_eq!(point.fields.remove(ROW_FIELD).is_some(), nullable);
            for column in &columns.columns[3..] {
                let mut found = point.fields.remove(&column.name);
                if let (LogicalType::ListF64, Some(Field::Text(text))) = (column.ty, &found) {
                    found = Some(Field::Text(items(text)));
                }
                prop_assert_eq!(found, expected(column.value(row)), "{}", column.name);
            }
            prop_assert!(point.fields.is_empty());
        }
        prop_assert!(reader.rest.is_empty());
    }
}
