//! What the server sends back: answers as values. Pure.

use super::message::Format;
use inrush_rows::encode::pgcopy::POSTGRES_EPOCH_US;
use inrush_rows::rows::Value;
use inrush_rows::types::hex::digits;

/// A column of an answer, from its RowDescription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerColumn {
    pub name: String,
    pub oid: u32,
    /// A `numeric(p, s)`, whose digits count; sums and means of numbers have none.
    pub scaled: bool,
}

const BOOL: u32 = 16;
const BYTEA: u32 = 17;
const INT8: u32 = 20;
const INT2: u32 = 21;
const INT4: u32 = 23;
const TEXT: u32 = 25;
const FLOAT4: u32 = 700;
pub(super) const FLOAT8: u32 = 701;
const INT8_LIST: u32 = 1016;
const FLOAT8_LIST: u32 = 1022;
const BOOL_LIST: u32 = 1000;
const INT2_LIST: u32 = 1005;
const INT4_LIST: u32 = 1007;
const TEXT_LIST: u32 = 1009;
const FLOAT4_LIST: u32 = 1021;
const VARCHAR: u32 = 1043;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const NUMERIC: u32 = 1700;

/// How a type is asked for: binary where we read it, else as text.
#[inline]
pub fn format_of(oid: u32) -> Format {
    match oid {
        BOOL | BYTEA | INT2 | INT4 | INT8 | FLOAT4 | FLOAT8 | TEXT | VARCHAR | TIMESTAMP | TIMESTAMPTZ
        | INT8_LIST | FLOAT8_LIST | BOOL_LIST | INT2_LIST | INT4_LIST | FLOAT4_LIST | TEXT_LIST => {
            Format::Binary
        }
        _ => Format::Text,
    }
}

pub fn row_description(body: &[u8]) -> Option<Vec<AnswerColumn>> {
    let mut bytes = Bytes(body);
    let columns = bytes.u16()?;
    let mut column = || {
        let end = bytes.0.iter().position(|&byte| byte == 0)?;
        let name = String::from_utf8_lossy(bytes.take(end)?).into_owned();
        bytes.take(1 + 4 + 2)?; // NUL, table, attribute
        let oid = bytes.u32()?;
        bytes.take(2)?; // length
        let modifier = bytes.i32()?;
        bytes.take(2)?; // format
        Some(AnswerColumn { name, oid, scaled: oid == NUMERIC && modifier >= 0 })
    };
    (0..columns).map(|_| column()).collect()
}

/// A DataRow whose columns came in the formats of `format_of`, as values in place of those of `row`; `None` if it is broken.
pub fn binary_row(body: &[u8], columns: &[AnswerColumn], row: &mut Vec<Value>) -> Option<()> {
    let mut bytes = Bytes(body);
    if bytes.u16()? as usize != columns.len() {
        return None;
    }
    row.resize(columns.len(), Value::Null);
    for (column, value) in columns.iter().zip(row) {
        // Whole numbers are what most columns are of: each is written where it stays.
        let whole = match (column.oid, bytes.0) {
            (INT4, [0, 0, 0, 4, a, b, c, d, rest @ ..]) => {
                Some((i64::from(i32::from_be_bytes([*a, *b, *c, *d])), rest))
            }
            (INT8, [0, 0, 0, 8, a, b, c, d, e, f, g, h, rest @ ..]) => {
                Some((i64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), rest))
            }
            _ => None,
        };
        match (whole, &mut *value) {
            (Some((whole, rest)), Value::I64(kept)) => (*kept, bytes.0) = (whole, rest),
            (Some((whole, rest)), _) => (*value, bytes.0) = (Value::I64(whole), rest),
            (None, _) => *value = next_value(&mut bytes, column, format_of(column.oid))?,
        }
    }
    Some(())
}

/// A DataRow as values, in place of those of `row`; `None` if it is broken.
pub fn data_row(
    body: &[u8],
    columns: &[AnswerColumn],
    format: impl Fn(u32) -> Format,
    row: &mut Vec<Value>,
) -> Option<()> {
    let mut bytes = Bytes(body);
    if bytes.u16()? as usize != columns.len() {
        return None;
    }
    row.clear();
    row.reserve(columns.len());
    for column in columns {
        row.push(next_value(&mut bytes, column, format(column.oid))?);
    }
    Some(())
}

fn next_value(bytes: &mut Bytes<'_>, column: &AnswerColumn, format: Format) -> Option<Value> {
    let length = bytes.i32()?;
    if length < 0 {
        return Some(Value::Null);
    }
    let cell = bytes.take(length as usize)?;
    Some(match format {
        Format::Binary => binary_value(cell, column.oid)?,
        Format::Text if column.scaled => Value::Text(String::from_utf8(cell.to_vec()).ok()?),
        Format::Text => text_value(std::str::from_utf8(cell).ok()?, column.oid),
    })
}

/// Numbers as numbers; a whole `numeric` beyond 64 bits stays text, exact.
fn text_value(text: &str, oid: u32) -> Value {
    let or_text = |value: Option<Value>| value.unwrap_or_else(|| Value::Text(text.to_owned()));
    match oid {
        BOOL => Value::Bool(text == "t"),
        INT2 | INT4 | INT8 => or_text(text.parse().ok().map(Value::I64)),
        FLOAT4 | FLOAT8 => or_text(text.parse().ok().map(Value::F64)),
        NUMERIC if text.contains('.') || text == "NaN" => or_text(text.parse().ok().map(Value::F64)),
        NUMERIC => or_text(text.parse().ok().map(Value::I64)),
        _ => Value::Text(text.to_owned()),
    }
}

fn binary_value(cell: &[u8], oid: u32) -> Option<Value> {
    let mut bytes = Bytes(cell);
    Some(match oid {
        BOOL => Value::Bool(*cell.first()? != 0),
        INT2 => Value::I64(bytes.u16()? as i16 as i64),
        INT4 => Value::I64(bytes.i32()? as i64),
        INT8 => Value::I64(bytes.i64()?),
        FLOAT4 => Value::F64(f32::from_bits(bytes.u32()?) as f64),
        FLOAT8 => Value::F64(f64::from_bits(bytes.i64()? as u64)),
        TIMESTAMP | TIMESTAMPTZ => Value::TimeUs(bytes.i64()?.checked_add(POSTGRES_EPOCH_US)?),
        BYTEA => Value::Text(digits(cell)),
        TEXT | VARCHAR => Value::Text(String::from_utf8(cell.to_vec()).ok()?),
        BOOL_LIST | INT2_LIST | INT4_LIST | FLOAT4_LIST | TEXT_LIST => list_value(bytes)?,
        FLOAT8_LIST | INT8_LIST => match list_bits(Bytes(cell)) {
            Some((_, bits)) if oid == FLOAT8_LIST => {
                Value::ListF64(bits.into_iter().map(f64::from_bits).collect())
            }
            Some((_, bits)) => Value::ListI64(bits.into_iter().map(|bits| bits as i64).collect()),
            None => list_value(bytes)?,
        },
        _ => return None,
    })
}

fn list_value(bytes: Bytes) -> Option<Value> {
    let (element, cells) = list_cells(bytes)?;
    let item = |cell: Option<&[u8]>| cell.map_or(Some(Value::Null), |cell| binary_value(cell, element));
    Some(Value::List(cells.into_iter().map(item).collect::<Option<_>>()?))
}

/// Type and elements of a one-dimensional array; an element that is NULL is none.
pub(super) fn list_cells(mut bytes: Bytes<'_>) -> Option<(u32, Vec<Option<&[u8]>>)> {
    let dimensions = bytes.u32()?;
    bytes.take(4)?; // flags
    let element = bytes.u32()?;
    if dimensions == 0 {
        return Some((element, Vec::new()));
    }
    let length = bytes.u32()?;
    bytes.take(4)?; // lower bound
    let mut item = || match bytes.i32()? {
        -1 => Some(None),
        length => bytes.take(usize::try_from(length).ok()?).map(Some),
    };
    let items = (dimensions == 1).then(|| (0..length).map(|_| item()).collect::<Option<_>>())??;
    Some((element, items))
}

/// Type and elements of a one-dimensional array of 8-byte values.
pub(super) fn list_bits(mut bytes: Bytes) -> Option<(u32, Vec<u64>)> {
    let dimensions = bytes.u32()?;
    bytes.take(4)?; // flags
    let element = bytes.u32()?;
    if dimensions == 0 {
        return Some((element, Vec::new()));
    }
    let length = bytes.u32()?;
    bytes.take(4)?; // lower bound
    let mut item = || (bytes.i32()? == 8).then(|| bytes.i64())?.map(|bits| bits as u64);
    let items = (dimensions == 1).then(|| (0..length).map(|_| item()).collect::<Option<_>>())??;
    Some((element, items))
}

/// Rows of "INSERT 0 5", "COPY 5", "SELECT 5", "DELETE 5"; 0 for commands that count nothing.
pub fn command_rows(body: &[u8]) -> u64 {
    let text = std::str::from_utf8(body).unwrap_or("").trim_end_matches('\0');
    text.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Reads big-endian numbers off the front; `None` past the end.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn i32(&mut self) -> Option<i32> {
        self.u32().map(|v| v as i32)
    }

    fn i64(&mut self) -> Option<i64> {
        Some(i64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_64_bits_stay_exact_text() {
        assert_eq!(text_value("42", NUMERIC), Value::I64(42));
        assert_eq!(text_value("-170141183460469231731687303715884105728", NUMERIC), {
            Value::Text("-170141183460469231731687303715884105728".into())
        });
        assert_eq!(text_value("0.50", NUMERIC), Value::F64(0.5));
        assert_eq!(text_value("2026-01-01", 1082), Value::Text("2026-01-01".into()));
    }

    #[test]
    fn a_row_is_written_over_whatever_stood_there_and_a_broken_one_is_none() {
        let column = |oid| AnswerColumn { name: String::new(), oid, scaled: false };
        let columns = [INT4, INT8, TEXT, INT4, INT2, INT8].map(column);
        let mut body = 6u16.to_be_bytes().to_vec();
        for cell in [&(-7i32).to_be_bytes()[..], &i64::MIN.to_be_bytes()[..], b"ab"] {
            body.extend_from_slice(&(cell.len() as i32).to_be_bytes());
            body.extend_from_slice(cell);
        }
        body.extend_from_slice(&(-1i32).to_be_bytes());
        body.extend_from_slice(&[0, 0, 0, 2, 0xff, 0xfe, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9]);
        let expected = vec![
            Value::I64(-7),
            Value::I64(i64::MIN),
            Value::Text("ab".into()),
            Value::Null,
            Value::I64(-2),
            Value::I64(9),
        ];
        for before in [vec![], vec![Value::Text("x".into()); 9], vec![Value::I64(3); 6], expected.clone()] {
            let mut row = before;
            assert_eq!(binary_row(&body, &columns, &mut row), Some(()));
            assert_eq!(row, expected);
            assert_eq!(data_row(&body, &columns, format_of, &mut row), Some(()));
            assert_eq!(row, expected, "as column by column");
            for end in 0..body.len() {
                assert_eq!(binary_row(&body[..end], &columns, &mut row), None, "cut at {end}");
            }
        }
        // A whole number of another length than its type's is none.
        let short = [0, 1, 0, 0, 0, 3, 1, 2, 3];
        assert_eq!(binary_row(&short, &columns[..1], &mut Vec::new()), None);
    }

    #[test]
    fn commands_tell_their_rows() {
        assert_eq!(command_rows(b"INSERT 0 5\0"), 5);
        assert_eq!(command_rows(b"COPY 30000\0"), 30_000);
        assert_eq!(command_rows(b"CREATE TABLE\0"), 0);
    }
}
