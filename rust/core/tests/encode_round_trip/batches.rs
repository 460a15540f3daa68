//! Random batches of every type, and whether what came back is the same.

use inrush_rows::plan::{ColumnPlan, GenPlan, LogicalType, Per, RowSource, TablePlan};
use inrush_rows::rows::decimals::decimal_text;
use inrush_rows::rows::{Column, Columns, Value, Values};
use inrush_rows::types::inet::Inet;
use inrush_rows::types::time::Time;
use inrush_rows::types::{date, hex, uuid, Spelled};
use proptest::prelude::*;
use std::net::Ipv4Addr;

pub const TYPES: [LogicalType; 31] = [
    LogicalType::Blob,
    LogicalType::Enum,
    LogicalType::Decimal,
    LogicalType::U8,
    LogicalType::U16,
    LogicalType::U32,
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
    LogicalType::ListBool,
    LogicalType::ListI16,
    LogicalType::ListI32,
    LogicalType::ListU8,
    LogicalType::ListU16,
    LogicalType::ListU32,
    LogicalType::ListU64,
    LogicalType::ListF32,
    LogicalType::ListText,
    LogicalType::Date,
    LogicalType::Uuid,
    LogicalType::Time,
    LogicalType::Inet,
];

pub const LABELS: [&str; 3] = ["ON", "OFF", "é ✓"];

/// Years 0001 to 9999, which all wires hold.
pub const TIME_S: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

pub fn value_of(ty: LogicalType) -> BoxedStrategy<Value> {
    let time = |per_s: i64| {
        prop_oneof![
            Just(0),
            Just(-1),
            Just(TIME_S.start * per_s),
            Just(TIME_S.end * per_s - 1),
            TIME_S.start * per_s..TIME_S.end * per_s
        ]
    };
    let float =
        prop_oneof![any::<f64>(), Just(f64::NAN), Just(-0.0), (-4096i32..4096).prop_map(|k| k as f64 / 64.0)];
    match ty {
        LogicalType::U8 => any::<u8>().prop_map(|v| Value::I64(v.into())).boxed(),
        LogicalType::U16 => any::<u16>().prop_map(|v| Value::I64(v.into())).boxed(),
        LogicalType::U32 => {
            prop_oneof![any::<u32>(), Just(u32::MAX), 0..9u32].prop_map(|v| Value::I64(v.into())).boxed()
        }
        LogicalType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        LogicalType::I16 => any::<i16>().prop_map(|v| Value::I64(v as i64)).boxed(),
        LogicalType::I32 => {
            prop_oneof![any::<i32>(), Just(i32::MIN), -9..9i32].prop_map(|v| Value::I64(v as i64)).boxed()
        }
        LogicalType::I64 => {
            prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -9..9i64].prop_map(Value::I64).boxed()
        }
        LogicalType::U64 => {
            prop_oneof![any::<u64>(), Just(u64::MAX), Just(1 << 63), 0..9u64].prop_map(Value::U64).boxed()
        }
        LogicalType::F32 => {
            prop_oneof![any::<f32>(), Just(f32::NAN), Just(0.25)].prop_map(|v| Value::F64(v as f64)).boxed()
        }
        LogicalType::F64 => float.prop_map(Value::F64).boxed(),
        LogicalType::TimeMs => time(1_000).prop_map(Value::TimeMs).boxed(),
        LogicalType::TimeUs => time(1_000_000).prop_map(Value::TimeUs).boxed(),
        LogicalType::Text => text().prop_map(Value::Text).boxed(),
        LogicalType::ListF64 => prop::collection::vec(float, 0..4).prop_map(Value::ListF64).boxed(),
        LogicalType::ListI64 => prop::collection::vec(any::<i64>(), 0..4).prop_map(Value::ListI64).boxed(),
        LogicalType::Date => (-719_162i32..2_932_897)
            .prop_map(|days| Value::Text(date::date_text(days).expect("years 1 to 9999")))
            .boxed(),
        LogicalType::Time => (0..=86_400_000_000i64, 0u32..7)
            .prop_map(|(us, digits)| {
                let mut text = Vec::new();
                let counted = Time::FORMS.counted.expect("they have an order");
                (counted.write)(us - us % 10i64.pow(digits), &mut text);
                Value::Text(String::from_utf8(text).expect("ASCII"))
            })
            .boxed(),
        LogicalType::Inet => prop_oneof![
            any::<u32>().prop_map(|four| Ipv4Addr::from(four).to_string()),
            prop::sample::select(vec![
                "10.0.0.0/8",
                "2001:db8::/32",
                "::1.2.3.4",
                "fe80::1",
                "::ffff:1.2.3.4/128"
            ])
            .prop_map(str::to_owned),
        ]
        .prop_map(|text| {
            let mut form = Vec::new();
            (Inet::FORMS.push)(text.as_bytes(), &mut form).expect("an address");
            Value::Text(String::from_utf8(form).expect("ASCII"))
        })
        .boxed(),
        LogicalType::Decimal => (-(10i128.pow(38) - 1)..10i128.pow(38), 0usize..=38, 0u32..38)
            .prop_map(|(units, scale, shorter)| Value::Text(decimal_text(units / 10i128.pow(shorter), scale)))
            .boxed(),
        // As their digits, which is how a value shows them.
        LogicalType::Blob => prop::collection::vec(any::<u8>(), 0..300)
            .prop_map(|bytes| Value::Text(hex::digits(&bytes)))
            .boxed(),
        LogicalType::Enum => prop::sample::select(&LABELS[..]).prop_map(|v| Value::Text(v.into())).boxed(),
        LogicalType::Uuid => any::<[u8; 16]>().prop_map(|bytes| Value::Text(uuid_text(bytes))).boxed(),
        list => {
            let item = value_of(list.item().expect("every other type is of lists"));
            prop::collection::vec(prop_oneof![5 => item, 1 => Just(Value::Null)], 0..6)
                .prop_map(Value::List)
                .boxed()
        }
    }
}

pub fn uuid_text(bytes: [u8; 16]) -> String {
    String::from_utf8(uuid::uuid_text(bytes).to_vec()).expect("digits and hyphens")
}

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9:.-]{0,30}",
        "[\\t\\n\\r\\\\\",' N.x]{0,12}",
        any::<String>().prop_map(|s| s.replace('\0', "0")),
        prop::sample::select(vec![
            "", "\\N", "\\.", "NULL", "null", "\"", ",", " x ", "\r\n", "é\t✓", "{}", "1e9999"
        ])
        .prop_map(str::to_owned),
    ]
}

/// Columns of eight bytes without NULL side by side, in runs of every length up to twenty.
pub fn words() -> impl Strategy<Value = (TablePlan, Columns)> {
    let types = prop::sample::select(vec![LogicalType::I64, LogicalType::U64, LogicalType::F64]);
    let column = prop_oneof![9 => types, 1 => Just(LogicalType::I32)];
    (1usize..140, prop::collection::vec((column, any::<u64>()), 1..21)).prop_map(|(rows, columns)| {
        let source = RowSource::Generated { series: 1, period_ns: 1, events: None };
        let mut plan =
            TablePlan { name: "t".into(), stream: "t".into(), columns: vec![], source, identity: vec![] };
        let mut batch = Columns::new(rows, vec![]);
        for (index, (ty, salt)) in columns.into_iter().enumerate() {
            let name = format!("c{index}");
            plan.columns.push(ColumnPlan {
                name: name.clone(),
                ty,
                wire: String::new(),
                null_ppm: 0,
                not_finite: None,
                gen: None,
            });
            let mut column = Column::new(name, ty);
            for row in 0..rows as u64 {
                let bits = (row ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                match &mut column.values {
                    Values::I32(v) => v.push(bits as i32),
                    Values::F64(v) => v.push(f64::from_bits(bits)),
                    Values::I64(v) => v.push(bits as i64),
                    other => panic!("{other:?}"),
                }
            }
            batch.columns.push(column);
        }
        (plan, batch)
    })
}

/// A table and a batch of it; `rows` crosses the block sizes of the encoders.
pub fn batch() -> impl Strategy<Value = (TablePlan, Columns)> {
    let rows = prop_oneof![0usize..6, 120usize..140, Just(1030usize)];
    let column = prop::sample::select(&TYPES[..]).prop_flat_map(|ty| {
        let wires: &[&str] = match ty {
            LogicalType::U64 => &["", "int8", "numeric"],
            LogicalType::I64 => &["", "numeric"],
            LogicalType::U32 => &["", "int8", "numeric"],
            LogicalType::I32 | LogicalType::I16 | LogicalType::U8 | LogicalType::U16 => &["", "int4", "int8"],
            LogicalType::Bool => &["", "int4"],
            LogicalType::F32 => &["", "float8"],
            LogicalType::ListF64 => &["", "float8[]"],
            _ => &[""],
        };
        (
            Just(ty),
            prop::sample::select(wires),
            prop::collection::vec(value_of(ty), 1..6),
            any::<bool>(),
            any::<u64>(),
        )
    });
    (rows, prop::collection::vec(column, 1..7)).prop_map(|(rows, columns)| {
        let mut plan = TablePlan {
            name: "t".into(),
            stream: "t".into(),
            columns: vec![],
            source: RowSource::Generated { series: 1, period_ns: 1, events: None },
            identity: vec![],
        };
        let mut batch = Columns::new(rows, vec![]);
        for (index, (ty, wire, pool, nullable, salt)) in columns.into_iter().enumerate() {
            let name = format!("c{index}");
            let null_ppm = u32::from(nullable) * 250_000;
            plan.columns.push(ColumnPlan {
                name: name.clone(),
                ty,
                wire: wire.into(),
                null_ppm,
                not_finite: None,
                gen: generator(ty),
            });
            let mut column = Column::new(name, ty);
            for row in 0..rows as u64 {
                let mix = (row ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
                let here = !(nullable && mix % 4 == 0);
                if nullable {
                    column.present.push(u8::from(here));
                }
                push_typed(&mut column, here.then(|| &pool[mix as usize % pool.len()]));
            }
            batch.columns.push(column);
        }
        (plan, batch)
    })
}

/// ClickHouse's types say whether there is a NULL in a list, and which texts an enum has; the generator says so.
fn generator(ty: LogicalType) -> Option<GenPlan> {
    if ty == LogicalType::Enum {
        let values = LABELS.map(serde_json::Value::from).to_vec();
        return Some(GenPlan::Categorical { values, weights: vec![], per: Per::Row });
    }
    let plain = matches!(ty, LogicalType::ListF64 | LogicalType::ListI64);
    (ty.is_list() && !plain).then(|| GenPlan::Array {
        of: Box::new(GenPlan::Uuid {}),
        min_items: 0,
        max_items: 5,
        null_ppm: 1,
        nan_ppm: 0,
        inf_ppm: 0,
        minus_inf_ppm: 0,
    })
}

/// As `push`; a blob of its digits.
pub fn push_typed(column: &mut Column, value: Option<&Value>) {
    match (column.ty, &mut column.values, value) {
        (LogicalType::Blob, Values::Text(v), Some(Value::Text(digits))) => {
            v.push(&hex::hex_bytes(digits.as_bytes()).expect("digits"));
        }
        (_, values, value) => push(values, value),
    }
}

pub fn push(values: &mut Values, value: Option<&Value>) {
    match (values, value) {
        (Values::I32(v), None) => v.push(0),
        (Values::I64(v), None) => v.push(0),
        (Values::F32(v), None) => v.push(0.0),
        (Values::F64(v), None) => v.push(0.0),
        (Values::Text(v), None) => v.push(b""),
        (Values::List(v), None) => v.ends.push(v.ends.last().copied().unwrap_or(0)),
        (Values::I32(v), Some(Value::Bool(x))) => v.push(i32::from(*x)),
        (Values::I32(v), Some(Value::I64(x))) => v.push(*x as i32),
        (Values::I64(v), Some(Value::I64(x) | Value::TimeMs(x) | Value::TimeUs(x))) => v.push(*x),
        (Values::I64(v), Some(Value::U64(x))) => v.push(*x as i64),
        (Values::F32(v), Some(Value::F64(x))) => v.push(*x as f32),
        (Values::F64(v), Some(Value::F64(x))) => v.push(*x),
        (Values::Text(v), Some(Value::Text(x))) => v.push(x.as_bytes()),
        (Values::List(v), Some(list)) => {
            for item in items_of(list).expect("a list") {
                if item == Value::Null {
                    v.push_null_item();
                    continue;
                }
                if !v.present.is_empty() {
                    v.present.push(1);
                }
                push(&mut v.items, Some(&item));
            }
            v.end();
        }
        other => panic!("{other:?}"),
    }
}

pub fn same_float(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

pub fn items_of(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::ListF64(v) => Some(v.iter().map(|v| Value::F64(*v)).collect()),
        Value::ListI64(v) => Some(v.iter().map(|v| Value::I64(*v)).collect()),
        Value::List(v) => Some(v.clone()),
        _ => None,
    }
}

pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b, items_of(a), items_of(b)) {
        (Value::F64(a), Value::F64(b), ..) => same_float(*a, *b),
        (_, _, Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a, b)),
        _ => a == b,
    }
}

pub fn expect_same(batch: &Columns, found: Vec<Vec<Value>>) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), batch.rows);
    for (row, cells) in found.iter().enumerate() {
        prop_assert_eq!(cells.len(), batch.columns.len());
        for (column, cell) in batch.columns.iter().zip(cells) {
            let wanted = column.value(row);
            prop_assert!(same(&wanted, cell), "row {row}: {wanted:?} came back as {cell:?}");
        }
    }
    Ok(())
}
