//! A batch of rows by column: what generators fill, encoders read and scans return.

use super::order::Cursor;
use crate::plan::{LogicalType, TablePlan};
use crate::types::hex::digits;
use crate::types::Holds;

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
    /// Texts, and what travels as text in one form; bytes of a blob.
    Text(TextValues),
    List(ListValues),
}

/// Value `i` is `bytes[ends[i-1] .. ends[i]]` (UTF-8, but of type blob).
#[derive(Debug, Clone, Default)]
pub struct TextValues {
    pub ends: Vec<u32>,
    pub bytes: Vec<u8>,
}

/// List `i` is `items[ends[i-1] .. ends[i]]`; items are values of the list's item type.
#[derive(Debug, Clone)]
pub struct ListValues {
    pub ends: Vec<u32>,
    pub items: Box<Values>,
    /// One byte per item, 1 = present; empty when no item is null.
    pub present: Vec<u8>,
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
    /// Of `list_f64` and `list_i64` without NULL in them.
    ListF64(Vec<f64>),
    ListI64(Vec<i64>),
    /// Of any other list.
    List(Vec<Value>),
}

/// A row as people read it in a difference: `name=value`, with a blank between them.
pub fn row_text(columns: &Columns, row: usize) -> String {
    let values: Vec<String> =
        columns.columns.iter().map(|c| format!("{}={}", c.name, value_text(&c.value(row)))).collect();
    values.join(" ")
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
        Value::List(v) => format!("[{}]", v.iter().map(value_text).collect::<Vec<_>>().join(", ")),
    }
}

impl Columns {
    pub fn new(rows: usize, columns: Vec<Column>) -> Columns {
        Columns { rows, columns, cursor: None }
    }

    /// Bytes of its texts and lists, which no number of rows bounds: places in them have 32 bits.
    pub fn varying_bytes(&self) -> usize {
        self.columns.iter().map(|c| c.values.varying_bytes()).sum()
    }

    /// Places of the columns that have such.
    pub fn varying(&self) -> Vec<usize> {
        let of = |values: &Values| matches!(values, Values::Text(_) | Values::List(_));
        (0..self.columns.len()).filter(|at| of(&self.columns[*at].values)).collect()
    }

    /// No rows yet, with the columns of `table`.
    pub fn of(table: &TablePlan) -> Columns {
        Columns::new(0, table.columns.iter().map(|c| Column::new(c.name.clone(), c.ty)).collect())
    }

    /// The same columns without rows.
    pub fn empty_like(like: &Columns) -> Columns {
        Columns::new(0, like.columns.iter().map(|c| Column::new(c.name.clone(), c.ty)).collect())
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
    /// Without a list yet.
    pub fn of(item: LogicalType) -> ListValues {
        ListValues { ends: Vec::new(), items: Box::new(Values::for_type(item)), present: Vec::new() }
    }

    pub fn is_present(&self, item: usize) -> bool {
        self.present.is_empty() || self.present[item] == 1
    }

    /// The next item is there.
    #[inline]
    pub fn mark_present(&mut self) {
        if !self.present.is_empty() {
            self.present.push(1);
        }
    }

    /// Appends a NULL to the list that is being written.
    pub fn push_null_item(&mut self) {
        self.present.resize(self.items.count(), 1);
        self.present.push(0);
        self.items.push_zero();
    }

    /// The list ends with the last item that was written.
    pub fn end(&mut self) {
        if !self.present.is_empty() {
            self.present.resize(self.items.count(), 1);
        }
        self.ends.push(self.items.count() as u32);
    }

    /// Appends list `row` of `from`, which has items of the same type.
    pub fn append(&mut self, from: &ListValues, row: usize) {
        let range = from.range(row);
        if !from.present.is_empty() {
            self.present.resize(self.items.count(), 1);
            self.present.extend_from_slice(&from.present[range.clone()]);
        }
        self.items.append(&from.items, range);
        self.end();
    }

    fn value(&self, row: usize, item: LogicalType) -> Value {
        let range = self.range(row);
        match &*self.items {
            Values::F64(items) if self.all_present(&range) => Value::ListF64(items[range].to_vec()),
            Values::I64(items) if item == LogicalType::I64 && self.all_present(&range) => {
                Value::ListI64(items[range].to_vec())
            }
            items => {
                let of = |at| if self.is_present(at) { items.value(at, item) } else { Value::Null };
                Value::List(range.map(of).collect())
            }
        }
    }

    fn all_present(&self, range: &std::ops::Range<usize>) -> bool {
        self.present.is_empty() || self.present[range.clone()].iter().all(|&present| present == 1)
    }

    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        start..self.ends[row] as usize
    }
}

impl Values {
    pub fn for_type(ty: LogicalType) -> Values {
        match ty.holds() {
            Holds::Truth | Holds::Signed(..=32) | Holds::Unsigned(..=16) => Values::I32(Vec::new()),
            Holds::Signed(_) | Holds::Unsigned(_) | Holds::Bits | Holds::Time(_) => Values::I64(Vec::new()),
            Holds::Float(32) => Values::F32(Vec::new()),
            Holds::Float(_) => Values::F64(Vec::new()),
            Holds::Text | Holds::Bytes | Holds::Spelled => Values::Text(TextValues::default()),
            Holds::List(item) => Values::List(ListValues::of(item)),
        }
    }

    /// Of texts or lists.
    #[inline]
    pub fn varying_bytes(&self) -> usize {
        match self {
            Values::Text(texts) => texts.bytes.len(),
            // Eight bytes of an item that has a width of its own.
            Values::List(lists) => lists.items.count() * 8 + lists.items.varying_bytes(),
            _ => 0,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match self {
            Values::I32(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Text(v) => v.ends.len(),
            Values::List(v) => v.ends.len(),
        }
    }

    /// Back to the first `rows`.
    pub fn truncate(&mut self, rows: usize) {
        match self {
            Values::I32(v) => v.truncate(rows),
            Values::I64(v) => v.truncate(rows),
            Values::F32(v) => v.truncate(rows),
            Values::F64(v) => v.truncate(rows),
            Values::Text(v) => {
                v.ends.truncate(rows);
                v.bytes.truncate(v.ends.last().map_or(0, |end| *end as usize));
            }
            Values::List(v) => {
                v.ends.truncate(rows);
                let items = v.ends.last().map_or(0, |end| *end as usize);
                v.items.truncate(items);
                v.present.truncate(items);
            }
        }
    }

    /// Appends values `rows` of `from`, which are of the same kind.
    pub fn append(&mut self, from: &Values, rows: std::ops::Range<usize>) {
        match (from, self) {
            (Values::I32(from), Values::I32(to)) => to.extend_from_slice(&from[rows]),
            (Values::I64(from), Values::I64(to)) => to.extend_from_slice(&from[rows]),
            (Values::F32(from), Values::F32(to)) => to.extend_from_slice(&from[rows]),
            (Values::F64(from), Values::F64(to)) => to.extend_from_slice(&from[rows]),
            (Values::Text(from), Values::Text(to)) => rows.for_each(|row| to.push(from.get(row))),
            (Values::List(from), Values::List(to)) => rows.for_each(|row| to.append(from, row)),
            _ => unreachable!("both are values of one type"),
        }
    }

    /// Appends what stands in the place of a NULL.
    pub fn push_zero(&mut self) {
        match self {
            Values::I32(v) => v.push(0),
            Values::I64(v) => v.push(0),
            Values::F32(v) => v.push(0.0),
            Values::F64(v) => v.push(0.0),
            Values::Text(v) => v.push(b""),
            Values::List(v) => v.end(),
        }
    }

    /// Value `row`, which is there, as a value of type `ty`.
    pub fn value(&self, row: usize, ty: LogicalType) -> Value {
        match (self, ty) {
            (Values::I32(v), LogicalType::Bool) => Value::Bool(v[row] != 0),
            (Values::I32(v), _) => Value::I64(v[row] as i64),
            (Values::I64(v), LogicalType::U64 | LogicalType::Bit) => Value::U64(v[row] as u64),
            (Values::I64(v), LogicalType::TimeMs) => Value::TimeMs(v[row]),
            (Values::I64(v), LogicalType::TimeUs) => Value::TimeUs(v[row]),
            (Values::I64(v), _) => Value::I64(v[row]),
            (Values::F32(v), _) => Value::F64(v[row] as f64),
            (Values::F64(v), _) => Value::F64(v[row]),
            (Values::Text(v), LogicalType::Blob) => Value::Text(digits(v.get(row))),
            (Values::Text(v), _) => Value::Text(String::from_utf8_lossy(v.get(row)).into_owned()),
            (Values::List(v), _) => v.value(row, ty.item().unwrap_or(ty)),
        }
    }
}

impl Column {
    pub fn new(name: impl Into<String>, ty: LogicalType) -> Column {
        Column { name: name.into(), ty, values: Values::for_type(ty), present: Vec::new() }
    }

    /// The next value is there.
    #[inline]
    pub fn mark_present(&mut self) {
        if !self.present.is_empty() {
            self.present.push(1);
        }
    }

    /// Appends a NULL; the first one marks the `rows_before` it as present.
    pub fn push_null(&mut self, rows_before: usize) {
        if self.present.is_empty() {
            self.present.resize(rows_before, 1);
        }
        self.present.push(0);
        self.values.push_zero();
    }

    pub fn is_present(&self, row: usize) -> bool {
        self.present.is_empty() || self.present[row] == 1
    }

    /// Row `row` on its own, in the buffer of a text that `out` holds: allocates nothing once that is long enough.
    pub fn write_value(&self, row: usize, out: &mut Value) {
        match (&self.values, &mut *out) {
            (Values::Text(v), Value::Text(text)) if self.is_present(row) && self.ty != LogicalType::Blob => {
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
        self.values.value(row, self.ty)
    }
}
