//! Values of every type, made and put into columns.

use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, Columns, TextValues, Value, Values};
use proptest::prelude::*;

pub fn columns(types: &[(LogicalType, &str)], rows: &[Vec<Value>]) -> Columns {
    let column = |(k, (ty, _)): (usize, &(LogicalType, &str))| {
        let mut column = Column::new(format!("c{k}"), *ty);
        rows.iter().for_each(|row| push(&mut column.values, &row[k]));
        if rows.iter().any(|row| row[k] == Value::Null) {
            column.present = rows.iter().map(|row| (row[k] != Value::Null) as u8).collect();
        }
        column
    };
    Columns::new(rows.len(), types.iter().enumerate().map(column).collect())
}

pub fn push(values: &mut Values, value: &Value) {
    match (values, value) {
        (Values::I32(v), Value::Bool(x)) => v.push(*x as i32),
        (Values::I32(v), Value::I64(x)) => v.push(*x as i32),
        (Values::I32(v), Value::Null) => v.push(0),
        (Values::I64(v), Value::I64(x) | Value::TimeMs(x) | Value::TimeUs(x)) => v.push(*x),
        (Values::I64(v), Value::U64(x)) => v.push(*x as i64),
        (Values::I64(v), Value::Null) => v.push(0),
        (Values::F32(v), Value::F64(x)) => v.push(*x as f32),
        (Values::F32(v), Value::Null) => v.push(0.0),
        (Values::F64(v), Value::F64(x)) => v.push(*x),
        (Values::F64(v), Value::Null) => v.push(0.0),
        (Values::Text(v), Value::Text(x)) => v.push(x.as_bytes()),
        (Values::Text(TextValues { ends, bytes }), Value::Null) => ends.push(bytes.len() as u32),
        (Values::List(list), Value::Null) => list.end(),
        (Values::List(list), Value::List(items)) => {
            for item in items {
                if *item == Value::Null {
                    list.push_null_item();
                    continue;
                }
                if !list.present.is_empty() {
                    list.present.push(1);
                }
                match (&mut *list.items, item) {
                    (Values::I32(v), Value::Bool(x)) => v.push(i32::from(*x)),
                    (Values::I32(v), Value::I64(x)) => v.push(*x as i32),
                    (Values::I64(v), Value::I64(x)) => v.push(*x),
                    (Values::I64(v), Value::U64(x)) => v.push(*x as i64),
                    (Values::F32(v), Value::F64(x)) => v.push(*x as f32),
                    (Values::Text(v), Value::Text(x)) => v.push(x.as_bytes()),
                    (values, value) => panic!("{value:?} does not go into {values:?}"),
                }
            }
            list.end();
        }
        (Values::List(list), value) => {
            match (&mut *list.items, value) {
                (Values::F64(v), Value::ListF64(x)) => v.extend(x),
                (Values::I64(v), Value::ListI64(x)) => v.extend(x),
                other => panic!("{other:?}"),
            };
            list.end();
        }
        (values, value) => panic!("{value:?} does not go into {values:?}"),
    }
}

pub fn extreme_row() -> Vec<Value> {
    vec![
        Value::Bool(true),
        Value::I64(i16::MIN.into()),
        Value::I64(i32::MIN.into()),
        Value::I64(i64::MIN),
        Value::U64(u64::MAX),
        Value::F64(f32::MIN_POSITIVE.into()),
        Value::F64(f64::MAX),
        Value::TimeMs(i64::MIN),
        Value::TimeUs(i64::MAX),
        Value::Text("\0'\n\u{10ffff}".into()),
        Value::ListF64(vec![]),
        Value::ListI64(vec![i64::MIN, i64::MAX]),
        Value::List(vec![Value::Bool(true), Value::Bool(false)]),
        Value::List([i16::MIN, i16::MAX, -1].map(|x| Value::I64(x.into())).to_vec()),
        Value::List([i32::MIN, i32::MAX, -1].map(|x| Value::I64(x.into())).to_vec()),
        Value::List([0, u8::MAX].map(|x| Value::I64(x.into())).to_vec()),
        Value::List([0, u16::MAX].map(|x| Value::I64(x.into())).to_vec()),
        Value::List([0, u32::MAX].map(|x| Value::I64(x.into())).to_vec()),
        Value::List(vec![Value::U64(u64::MAX)]),
        Value::List([f32::MIN_POSITIVE, f32::INFINITY].map(|x| Value::F64(x.into())).to_vec()),
        Value::List(vec![Value::Text("\u{1}\"\\,[\u{10ffff}".into()), Value::Null, Value::Text("".into())]),
    ]
}

pub fn row() -> impl Strategy<Value = Vec<Value>> {
    let some: Vec<BoxedStrategy<Value>> = vec![
        any::<bool>().prop_map(Value::Bool).boxed(),
        any::<i16>().prop_map(|x| Value::I64(x.into())).boxed(),
        any::<i32>().prop_map(|x| Value::I64(x.into())).boxed(),
        any::<i64>().prop_map(Value::I64).boxed(),
        any::<u64>().prop_map(Value::U64).boxed(),
        finite32().prop_map(|x| Value::F64(x.into())).boxed(),
        finite().prop_map(Value::F64).boxed(),
        any::<i64>().prop_map(Value::TimeMs).boxed(),
        any::<i64>().prop_map(Value::TimeUs).boxed(),
        any::<String>().prop_map(Value::Text).boxed(),
        prop::collection::vec(finite(), 0..4).prop_map(Value::ListF64).boxed(),
        prop::collection::vec(any::<i64>(), 0..4).prop_map(Value::ListI64).boxed(),
        list(any::<bool>().prop_map(Value::Bool)),
        list(any::<i16>().prop_map(|x| Value::I64(x.into()))),
        list(any::<i32>().prop_map(|x| Value::I64(x.into()))),
        list(any::<u8>().prop_map(|x| Value::I64(x.into()))),
        list(any::<u16>().prop_map(|x| Value::I64(x.into()))),
        list(any::<u32>().prop_map(|x| Value::I64(x.into()))),
        list(any::<u64>().prop_map(Value::U64)),
        list(finite32().prop_map(|x| Value::F64(x.into()))),
        list(prop_oneof![any::<String>().prop_map(Value::Text), Just(Value::Null)]),
    ];
    let cells: Vec<_> = some.into_iter().map(|cell| prop_oneof![4 => cell, 1 => Just(Value::Null)]).collect();
    prop_oneof![9 => cells, 1 => Just(extreme_row())]
}

pub fn list(item: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop::collection::vec(item, 0..4).prop_map(Value::List).boxed()
}

/// SQLite stores NaN as NULL, which docs/engines.md says.
pub fn finite() -> impl Strategy<Value = f64> {
    prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO | prop::num::f64::INFINITE
}

pub fn finite32() -> impl Strategy<Value = f32> {
    prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO | prop::num::f32::INFINITE
}
