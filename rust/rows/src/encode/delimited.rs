//! Rows of text with a separator: what `text` and `csv` share.

use std::fmt::Write;

use super::decimal::{float32, float64, signed, unsigned, Times, FLOAT_BYTES, INTEGER_BYTES, TIME_BYTES};
use super::lists::{is_plain, list_texts, ListStyle};
use super::tail::Tail;
use super::{does_not_fit, mismatch, Encoder};
use crate::error::Error;
use crate::plan::{LogicalType, TablePlan, DUMPED};
use crate::rows::{Column, Columns, ListValues, TextValues, Values};
use crate::types::hex::hex_text;

/// Types of ClickHouse with quotes and escapes of their own.
const NESTED: [&str; 3] = ["Array(", "Tuple(", "Map("];

/// What distinguishes the delimited formats.
pub(super) trait Style: Send {
    const SEPARATOR: u8;
    const NULL: &'static [u8];
    const BEFORE_ROW: &'static [u8] = b"";
    const AFTER_ROW: &'static [u8] = b"\n";
    const TIMES_AS_NUMBERS: bool = false;
    /// Bytes that one byte of text can become at most, and bytes that a text gets around it.
    const TEXT_GROWTH: usize;
    const TEXT_AROUND: usize;
    /// # Safety
    /// `tail` has `TEXT_GROWTH * text.len() + TEXT_AROUND` bytes of room.
    unsafe fn text(tail: &mut Tail, text: &[u8]);
    /// Around a list; its items are separated by commas.
    const AROUND_LIST: &'static [u8];
}

/// Rows of one table in `Style`.
pub(super) struct Delimited<S> {
    columns: Vec<Shape>,
    style: std::marker::PhantomData<S>,
}

struct Shape {
    /// Of a file that inrush alone reads.
    is_dumped: bool,
    /// Of a type in `NESTED`.
    is_clickhouse: bool,
    /// Texts of ClickHouse hold any bytes.
    takes_bytes: bool,
    /// Unsigned 64-bit on an engine that has signed ones only: the bits are reinterpreted.
    stored_signed: bool,
    /// Brackets of a list: `{}` for PostgreSQL's arrays, `[]` elsewhere.
    brackets: [u8; 2],
    /// Times as numbers in their own unit since 1970: ClickHouse has no type for milliseconds in every version.
    times_as_numbers: bool,
    /// A list that may be NULL stands in a list of its own, which is empty for NULL.
    null_is_empty_list: bool,
    times: Times,
}

/// Values of one column as the row loop sees them.
enum Field<'a> {
    Small(&'a [i32]),
    Signed(&'a [i64]),
    Unsigned(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Time(&'a [i64], i64),
    Text(&'a [u8], &'a [u32]),
    /// Digits, which need neither quotes nor escapes.
    Decimal(&'a [u8], &'a [u32]),
    List(&'a ListValues),
    /// Lists that were written beforehand: those of other items, or with NULL in them.
    Made(TextValues),
    /// The same, with escapes that are theirs.
    Verbatim(TextValues),
}

/// Rows between two reservations of room: their text stays in the L2 cache.
const BLOCK_ROWS: usize = 1024;

impl<S: Style> Delimited<S> {
    pub(super) fn new(table: &TablePlan) -> Delimited<S> {
        let shape = |wire: &str, ty: LogicalType| Shape {
            is_dumped: wire == DUMPED,
            is_clickhouse: NESTED.iter().any(|nested| wire.starts_with(nested)),
            takes_bytes: matches!(wire, "String" | "Nullable(String)"),
            stored_signed: matches!(wire, "int8" | "bigint" | "BIGINT"),
            brackets: if wire.ends_with("[]") { *b"{}" } else { *b"[]" },
            times_as_numbers: S::TIMES_AS_NUMBERS || wire.contains("Int64"),
            null_is_empty_list: ty.is_list() && wire.starts_with("Array(Array("),
            times: Times::default(),
        };
        Delimited {
            columns: table.columns.iter().map(|c| shape(&c.wire, c.ty)).collect(),
            style: std::marker::PhantomData,
        }
    }
}

impl<S: Style> Encoder for Delimited<S> {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        if rows.columns.len() != self.columns.len() {
            return Err(mismatch("(all)", "this table"));
        }
        let fields: Vec<Field> = rows
            .columns
            .iter()
            .zip(&self.columns)
            .map(|(c, shape)| field(c, shape))
            .collect::<Result<_, _>>()?;
        let mut tail = Tail::new(out);
        let mut first = 0;
        while first < rows.rows {
            let last = (first + BLOCK_ROWS).min(rows.rows);
            tail.room(block_bytes::<S>(&fields, first, last));
            for row in first..last {
                // SAFETY: `room` was reserved for the widest form of these rows.
                if let Some(bad) = unsafe { put_row::<S>(&mut tail, &fields, rows, &mut self.columns, row) } {
                    tail.finish();
                    let column = &rows.columns[bad];
                    return Err(does_not_fit(
                        &column.name,
                        format!("{:?}", column.value(row)),
                        "the years 0 to 9999",
                    ));
                }
            }
            first = last;
        }
        tail.finish();
        Ok(())
    }
}

fn field<'a>(column: &'a Column, shape: &Shape) -> Result<Field<'a>, Error> {
    Ok(match (&column.values, column.ty) {
        (Values::I32(v), _) => Field::Small(v),
        (Values::I64(v), LogicalType::TimeMs | LogicalType::TimeUs) if shape.times_as_numbers => {
            Field::Signed(v)
        }
        (Values::I64(v), LogicalType::TimeMs) => Field::Time(v, 1_000),
        (Values::I64(v), LogicalType::TimeUs) => Field::Time(v, 1_000_000),
        (Values::I64(v), LogicalType::Bit) => {
            // Their hexadecimal digits, of which the statement makes bits.
            let (mut texts, mut digits) = (TextValues::default(), String::new());
            for bits in v {
                digits.clear();
                write!(digits, "{bits:x}").expect("a text in memory takes everything");
                texts.push(digits.as_bytes());
            }
            Field::Made(texts)
        }
        (Values::I64(v), LogicalType::U64) if !shape.stored_signed => Field::Unsigned(v),
        (Values::I64(v), _) => Field::Signed(v),
        (Values::F32(v), _) => Field::F32(v),
        (Values::F64(v), _) => Field::F64(v),
        (Values::Text(v), LogicalType::Blob) if !shape.takes_bytes => {
            // Other wires of text have no bytes: their hexadecimal digits, of which the statement makes bytes.
            let mut texts = TextValues::default();
            (0..v.ends.len()).for_each(|row| texts.push(&hex_text(v.get(row))));
            Field::Made(texts)
        }
        (Values::Text(v), LogicalType::Decimal) => Field::Decimal(&v.bytes, &v.ends),
        (Values::Text(v), _) if shape.is_clickhouse => Field::Verbatim(in_one_line(v)),
        (Values::Text(v), _) => Field::Text(&v.bytes, &v.ends),
        (Values::List(v), ty) => match ty.item() {
            Some(item) if is_plain(v, item) => Field::List(v),
            Some(item) => made(column, v, item, shape)?,
            None => return Err(mismatch(&column.name, "a list")),
        },
    })
}

/// Nested values as ClickHouse writes them, whose escapes are theirs: but for what would end the field.
fn in_one_line(texts: &TextValues) -> TextValues {
    let mut made = TextValues::default();
    let mut text = Vec::new();
    for row in 0..texts.ends.len() {
        text.clear();
        for &byte in texts.get(row) {
            match byte {
                b'\t' => text.extend_from_slice(b"\\t"),
                b'\n' => text.extend_from_slice(b"\\n"),
                b'\r' => text.extend_from_slice(b"\\r"),
                _ => text.push(byte),
            }
        }
        made.push(&text);
    }
    made
}

fn made<'a>(
    column: &Column,
    list: &ListValues,
    item: LogicalType,
    shape: &Shape,
) -> Result<Field<'a>, Error> {
    let style = match (shape.is_clickhouse, shape.brackets[0]) {
        (true, _) => ListStyle::Clickhouse,
        (false, b'{') => ListStyle::Postgresql,
        _ if shape.is_dumped => ListStyle::Dumped,
        _ => ListStyle::Json,
    };
    let texts = list_texts(list, item, style);
    let texts = texts
        .map_err(|row| does_not_fit(&column.name, format!("{:?}", column.value(row)), "a list of JSON"))?;
    Ok(if shape.is_clickhouse { Field::Verbatim(texts) } else { Field::Made(texts) })
}

/// Room that rows `first..last` take at most.
fn block_bytes<S: Style>(fields: &[Field], first: usize, last: usize) -> usize {
    let rows = last - first;
    let span = |ends: &[u32]| ends[last - 1] as usize - if first == 0 { 0 } else { ends[first - 1] as usize };
    let widest = |field: &Field| match field {
        Field::Small(_) | Field::Signed(_) | Field::Unsigned(_) => rows * INTEGER_BYTES,
        Field::F32(_) | Field::F64(_) => rows * FLOAT_BYTES,
        Field::Time(..) => rows * TIME_BYTES,
        Field::Decimal(_, ends) => span(ends),
        Field::Text(_, ends) => S::TEXT_GROWTH * span(ends) + rows * S::TEXT_AROUND,
        Field::Made(v) => S::TEXT_GROWTH * span(&v.ends) + rows * S::TEXT_AROUND,
        Field::Verbatim(v) => span(&v.ends) + rows * 2 * S::AROUND_LIST.len(),
        Field::List(v) => span(&v.ends) * (FLOAT_BYTES + 1) + rows * (2 + 2 * S::AROUND_LIST.len()),
    };
    // Two more brackets for a list in a list.
    let around = S::BEFORE_ROW.len() + S::AFTER_ROW.len();
    fields.iter().map(|f| widest(f) + rows * (S::NULL.len() + 1 + 2)).sum::<usize>() + rows * around
}

/// Writes one row; the index of a column with a value that has no text, if there is one.
///
/// # Safety
/// `tail` has `block_bytes` of room left for this row.
#[inline(always)]
unsafe fn put_row<S: Style>(
    tail: &mut Tail,
    fields: &[Field],
    rows: &Columns,
    shapes: &mut [Shape],
    row: usize,
) -> Option<usize> {
    tail.bytes(S::BEFORE_ROW);
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            tail.byte(S::SEPARATOR);
        }
        let outer = shapes[index].null_is_empty_list;
        if !rows.columns[index].is_present(row) {
            tail.bytes(if outer { b"[]" } else { S::NULL });
            continue;
        }
        match field {
            Field::Small(v) => signed(tail, v[row] as i64),
            Field::Signed(v) => signed(tail, v[row]),
            Field::Unsigned(v) => unsigned(tail, v[row] as u64),
            Field::F32(v) => float32(tail, v[row]),
            Field::F64(v) => float64(tail, v[row]),
            Field::Time(v, per_s) => {
                if !shapes[index].times.put(tail, v[row], *per_s) {
                    return Some(index);
                }
            }
            Field::Decimal(bytes, ends) => {
                let start = if row == 0 { 0 } else { ends[row - 1] as usize };
                tail.bytes(&bytes[start..ends[row] as usize]);
            }
            Field::Text(bytes, ends) => {
                let start = if row == 0 { 0 } else { ends[row - 1] as usize };
                S::text(tail, &bytes[start..ends[row] as usize]);
            }
            Field::Made(texts) => S::text(tail, texts.get(row)),
            Field::Verbatim(texts) => {
                tail.bytes(S::AROUND_LIST);
                if outer {
                    tail.byte(b'[');
                }
                tail.bytes(texts.get(row));
                if outer {
                    tail.byte(b']');
                }
                tail.bytes(S::AROUND_LIST);
            }
            Field::List(list) if outer => {
                tail.byte(b'[');
                put_list::<S>(tail, list, row, *b"[]");
                tail.byte(b']');
            }
            Field::List(list) => put_list::<S>(tail, list, row, shapes[index].brackets),
        }
    }
    tail.bytes(S::AFTER_ROW);
    None
}

unsafe fn put_list<S: Style>(tail: &mut Tail, list: &ListValues, row: usize, brackets: [u8; 2]) {
    tail.bytes(S::AROUND_LIST);
    tail.byte(brackets[0]);
    for (k, item) in list.range(row).enumerate() {
        if k > 0 {
            tail.byte(b',');
        }
        match &*list.items {
            Values::I64(items) => signed(tail, items[item]),
            Values::F64(items) => float64(tail, items[item]),
            _ => unreachable!("`field` let lists of I64 and F64 through"),
        }
    }
    tail.byte(brackets[1]);
    tail.bytes(S::AROUND_LIST);
}
