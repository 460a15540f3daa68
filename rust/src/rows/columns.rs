//! A batch of rows by column: what generators fill, encoders read and scans return.

use super::order::Cursor;
use crate::plan::{LogicalType, TablePlan};

/// Rows `first_row .. first_row + rows` of one table. Buffers are reused between batches.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    pub rows: usize,
    pub columns: Vec<Column>,
    /// Where the generator's last `fill` ended.
    pub(super) cursor: Option<Box<Cursor>>,
}

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub ty: LogicalType,
    pub values: Values,
    /// One byte per row, 1 = present; empty when nothing is null.
    pub present: Vec<u8>,
}

/// Physical values. Null positions hold a zero or an empty text.
#[derive(Debug, Clone)]
pub enum Values {
    /// Bool (0/1), I16, I32, U8, U16.
    I32(Vec<i32>),
    /// I64, U32, U64 (bit pattern), TimeMs, TimeUs (in their own unit).
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Text; Date, Uuid and Decimal in their one form.
    Text(TextValues),
    List(ListValues),
}

/// Value `i` is `bytes[ends[i-1] .. ends[i]]` (UTF-8).
#[derive(Debug, Clone, Default)]
pub struct TextValues {
    pub ends: Vec<u32>,
    pub bytes: Vec<u8>,
}

/// List `i` is `items[ends[i-1] .. ends[i]]`; items are `I64` or `F64`.
#[derive(Debug, Clone)]
pub struct ListValues {
    pub ends: Vec<u32>,
    pub items: Box<Values>,
}

/// One value on its own: parameters, answers, proofs. Never on a hot path.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    I64(i64),
    U64(u64),
    F64(f64),
    /// Milliseconds since 1970 UTC.
    TimeMs(i64),
    /// Microseconds since 1970 UTC.
    TimeUs(i64),
    Text(String),
    ListF64(Vec<f64>),
    ListI64(Vec<i64>),
}

/// A value as people and the oracle compare it: shortest exact text, times in their unit.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(v) => v.to_string(),
        Value::I64(v) | Value::TimeMs(v) | Value::TimeUs(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::F64(v) => v.to_string(),
        Value::Text(v) => v.clone(),
        Value::ListF64(v) => format!("{v:?}"),
        Value::ListI64(v) => format!("{v:?}"),
    }
}

impl Columns {
    pub fn new(rows: usize, columns: Vec<Column>) -> Columns {
        Columns { rows, columns, cursor: None }
    }

    /// No rows yet, with the columns of `table`.
    pub fn of(table: &TablePlan) -> Columns {
        Columns::new(0, table.columns.iter().map(|c| Column::new(c.name.clone(), c.ty)).collect())
    }
}

impl TextValues {
    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.bytes[start..self.ends[row] as usize]
    }

    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u32);
    }
}

impl ListValues {
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        start..self.ends[row] as usize
    }
}

impl Values {
    pub fn for_type(ty: LogicalType) -> Values {
        match ty {
            LogicalType::Bool | LogicalType::I16 | LogicalType::I32 | LogicalType::U8 | LogicalType::U16 => {
                Values::I32(Vec::new())
            }
            LogicalType::I64
            | LogicalType::U32
            | LogicalType::U64
            | LogicalType::TimeMs
            | LogicalType::TimeUs => Values::I64(Vec::new()),
            LogicalType::F32 => Values::F32(Vec::new()),
            LogicalType::F64 => Values::F64(Vec::new()),
            LogicalType::Text | LogicalType::Date | LogicalType::Uuid | LogicalType::Decimal => {
                Values::Text(TextValues::default())
            }
            LogicalType::ListF64 => {
                Values::List(ListValues { ends: Vec::new(), items: Box::new(Values::F64(Vec::new())) })
            }
            LogicalType::ListI64 => {
                Values::List(ListValues { ends: Vec::new(), items: Box::new(Values::I64(Vec::new())) })
            }
        }
    }
}

impl Column {
    pub fn new(name: impl Into<String>, ty: LogicalType) -> Column {
        Column { name: name.into(), ty, values: Values::for_type(ty), present: Vec::new() }
    }

    /// Appends a NULL; the first one marks the `rows_before` it as present.
    pub fn push_null(&mut self, rows_before: usize) {
        if self.present.is_empty() {
            self.present.resize(rows_before, 1);
        }
        self.present.push(0);
        match &mut self.values {
            Values::I32(v) => v.push(0),
            Values::I64(v) => v.push(0),
            Values::F32(v) => v.push(0.0),
            Values::F64(v) => v.push(0.0),
            Values::Text(v) => v.push(b""),
            Values::List(v) => v.ends.push(v.ends.last().copied().unwrap_or(0)),
        }
    }

    pub fn is_present(&self, row: usize) -> bool {
        self.present.is_empty() || self.present[row] == 1
    }

    /// Row `row` on its own, in the buffer of a text that `out` holds: allocates nothing once that is long enough.
    pub fn write_value(&self, row: usize, out: &mut Value) {
        match (&self.values, &mut *out) {
            (Values::Text(v), Value::Text(text)) if self.is_present(row) => {
                text.clear();
                text.push_str(&String::from_utf8_lossy(v.get(row)));
            }
            _ => *out = self.value(row),
        }
    }

    /// Row `row` on its own; for proofs and messages.
    pub fn value(&self, row: usize) -> Value {
        if !self.is_present(row) {
            return Value::Null;
        }
        match (&self.values, self.ty) {
            (Values::I32(v), LogicalType::Bool) => Value::Bool(v[row] != 0),
            (Values::I32(v), _) => Value::I64(v[row] as i64),
            (Values::I64(v), LogicalType::U64) => Value::U64(v[row] as u64),
            (Values::I64(v), LogicalType::TimeMs) => Value::TimeMs(v[row]),
            (Values::I64(v), LogicalType::TimeUs) => Value::TimeUs(v[row]),
            (Values::I64(v), _) => Value::I64(v[row]),
            (Values::F32(v), _) => Value::F64(v[row] as f64),
            (Values::F64(v), _) => Value::F64(v[row]),
            (Values::Text(v), _) => Value::Text(String::from_utf8_lossy(v.get(row)).into_owned()),
            (Values::List(v), _) => match &*v.items {
                Values::F64(items) => Value::ListF64(items[v.range(row)].to_vec()),
                Values::I64(items) => Value::ListI64(items[v.range(row)].to_vec()),
                _ => unreachable!("lists hold I64 or F64"),
            },
        }
    }
}
