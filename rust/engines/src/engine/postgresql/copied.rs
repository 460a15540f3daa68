//! Rows of the server as columns: its COPY streams, and its DataRows, which have the same form. Pure.

use super::decode::{list_bits, list_cells, Bytes, FLOAT8};
use inrush_rows::encode::lists::within;
use inrush_rows::encode::pgcopy::{numeric_text, HEADER, POSTGRES_EPOCH_US};
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::bits::bits_of_postgresql;
use inrush_rows::rows::decimals::decimal_units;
use inrush_rows::rows::documents::compact;
use inrush_rows::rows::{Column, Columns, ListValues, Values};

/// Reads a binary COPY stream, arriving in pieces, into columns.
pub struct CopyReader {
    /// Bytes that do not yet make a whole row.
    rest: Vec<u8>,
    header_seen: bool,
    ended: bool,
}

impl CopyReader {
    pub fn new() -> CopyReader {
        CopyReader { rest: Vec::new(), header_seen: false, ended: false }
    }

    /// Appends the rows that `piece` completes to `batch`.
    pub fn read(&mut self, piece: &[u8], batch: &mut Columns) -> Result<(), String> {
        if self.header_seen && self.rest.is_empty() {
            // As servers send them: whole rows, which are read where they lie.
            let used = self.rows(piece, batch)?;
            self.rest.extend_from_slice(&piece[used..]);
            return Ok(());
        }
        self.rest.extend_from_slice(piece);
        let mut used = 0;
        if !self.header_seen {
            if self.rest.len() < HEADER.len() {
                return Ok(());
            }
            if self.rest[..11] != HEADER[..11] {
                return Err("the server's COPY does not start with its signature".into());
            }
            let extension = u32::from_be_bytes(self.rest[15..19].try_into().expect("4 bytes")) as usize;
            if self.rest.len() < HEADER.len() + extension {
                return Ok(());
            }
            used = HEADER.len() + extension;
            self.header_seen = true;
        }
        let rest = std::mem::take(&mut self.rest);
        used += self.rows(&rest[used..], batch)?;
        self.rest = rest;
        self.rest.drain(..used);
        Ok(())
    }

    /// Appends the whole rows in front; their bytes, or all where the trailer has come.
    fn rows(&mut self, bytes: &[u8], batch: &mut Columns) -> Result<usize, String> {
        let mut used = 0;
        while let Some(length) = row_length(&bytes[used..], batch.columns.len())? {
            if length == 0 {
                self.ended = true;
                return Ok(bytes.len());
            }
            push_row(&bytes[used..used + length], batch)?;
            used += length;
        }
        Ok(used)
    }

    /// The trailer has come, and nothing is left over.
    pub fn is_complete(&self) -> bool {
        self.ended && self.rest.is_empty()
    }
}

/// Appends the row of a DataRow with binary values, which has the form of a row of COPY.
pub fn push_data_row(body: &[u8], batch: &mut Columns) -> Result<(), String> {
    match row_length(body, batch.columns.len())? {
        Some(length) if length == body.len() => push_row(body, batch),
        _ => Err("a row could not be read".into()),
    }
}

/// Bytes of the first row; 0 for the trailer, `None` if more must come.
fn row_length(bytes: &[u8], columns: usize) -> Result<Option<usize>, String> {
    let mut rest = Bytes(bytes);
    let Some(fields) = rest.u16() else { return Ok(None) };
    if fields == u16::MAX {
        return Ok(Some(0));
    }
    if fields as usize != columns {
        return Err(format!("{fields} columns came back, {columns} were expected"));
    }
    for _ in 0..fields {
        let Some(length) = rest.i32() else { return Ok(None) };
        if rest.take(length.max(0) as usize).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(bytes.len() - rest.0.len()))
}

fn push_row(row: &[u8], batch: &mut Columns) -> Result<(), String> {
    let mut rest = Bytes(&row[2..]);
    for column in &mut batch.columns {
        let length = rest.i32().expect("`row_length` saw it");
        if length < 0 {
            column.push_null(batch.rows);
            continue;
        }
        let cell = rest.take(length as usize).expect("`row_length` saw it");
        column.mark_present();
        if push_cell(column, cell).is_none() {
            return Err(format!("column {}: {} bytes are no {:?}", column.name, cell.len(), column.ty));
        }
    }
    batch.rows += 1;
    Ok(())
}

/// The width on the wire says what was stored: 8 bytes of a u64 are its bits, more are a `numeric`.
fn push_cell(column: &mut Column, cell: &[u8]) -> Option<()> {
    match (&mut column.values, column.ty) {
        (Values::I32(v), _) => v.push(i32::try_from(small_integer(cell)?).ok()?),
        (Values::I64(v), LogicalType::TimeMs) => v.push(whole_ms(time_us(cell)?)?),
        (Values::I64(v), LogicalType::TimeUs) => v.push(time_us(cell)?),
        (Values::I64(v), LogicalType::Bit) => v.push(bits_of_postgresql(cell)? as i64),
        (Values::I64(v), ty) => v.push(match cell.len() {
            // An int8; or the numeric 0, which has 8 zero bytes too.
            8 => i64::from_be_bytes(cell.try_into().ok()?),
            2 | 4 => small_integer(cell)?,
            _ => numeric_bits(cell, ty == LogicalType::U64)?,
        }),
        (Values::F32(v), _) => v.push(match cell.len() {
            4 => f32::from_be_bytes(cell.try_into().ok()?),
            _ => exact_f32(f64::from_be_bytes(cell.try_into().ok()?))?,
        }),
        (Values::F64(v), _) => v.push(f64::from_be_bytes(cell.try_into().ok()?)),
        // As text where the server has no decimals; the head of a `numeric` is no digits.
        (Values::Text(v), LogicalType::Decimal) if decimal_units(cell).is_some() => v.push(cell),
        (Values::Text(v), LogicalType::Decimal) => v.push(numeric_text(cell)?.as_bytes()),
        (Values::Text(v), LogicalType::Blob) => v.push(cell),
        (Values::Text(v), LogicalType::Json) => {
            let text = std::str::from_utf8(cell.strip_prefix(&[1]).unwrap_or(cell)).ok()?;
            v.push(&compact(text.as_bytes()));
        }
        (Values::Text(v), ty) => match ty.forms() {
            None => v.push(std::str::from_utf8(cell).ok()?.as_bytes()),
            // As text where the server has no such type: no binary form is one.
            Some(forms) => {
                let texts = &mut v.bytes;
                (forms.postgresql.push)(cell, texts).or_else(|| (forms.push)(cell, texts))?;
                v.ends.push(v.bytes.len() as u32);
            }
        },
        (Values::List(list), ty) => push_list(list, ty.item()?, cell)?,
    }
    Some(())
}

fn small_integer(cell: &[u8]) -> Option<i64> {
    Some(match cell.len() {
        1 => cell[0] as i64,
        2 => i16::from_be_bytes(cell.try_into().ok()?) as i64,
        4 => i32::from_be_bytes(cell.try_into().ok()?) as i64,
        8 => i64::from_be_bytes(cell.try_into().ok()?),
        _ => return None,
    })
}

fn time_us(cell: &[u8]) -> Option<i64> {
    i64::from_be_bytes(cell.try_into().ok()?).checked_add(POSTGRES_EPOCH_US)
}

/// A time with µs where ms were stored is not what was stored: refused, not rounded.
fn whole_ms(us: i64) -> Option<i64> {
    (us.rem_euclid(1000) == 0).then(|| us.div_euclid(1000))
}

fn exact_f32(value: f64) -> Option<f32> {
    let narrow = value as f32;
    (narrow as f64 == value || value.is_nan()).then_some(narrow)
}

/// A whole `numeric` as the 64 bits of its type: digits of base 10,000 behind count, weight, sign, scale.
fn numeric_bits(cell: &[u8], unsigned: bool) -> Option<i64> {
    let mut bytes = Bytes(cell);
    let (digits, weight, sign) = (bytes.u16()? as i32, bytes.u16()? as i16 as i32, bytes.u16()?);
    bytes.u16()?; // scale: how many decimals are shown
    if digits > weight + 1 || weight > 5 || !matches!(sign, 0 | 0x4000) {
        return None;
    }
    let mut size: i128 = 0;
    for _ in 0..digits {
        size = size * 10_000 + bytes.u16()? as i128;
    }
    size *= 10_000i128.pow((weight + 1 - digits) as u32);
    match (sign, unsigned) {
        (0, true) => u64::try_from(size).ok().map(|v| v as i64),
        (0, false) => i64::try_from(size).ok(),
        (_, false) => i64::try_from(-size).ok(),
        (_, true) => None,
    }
}

fn push_list(list: &mut ListValues, item: LogicalType, cell: &[u8]) -> Option<()> {
    let wide = matches!(item, LogicalType::F64 | LogicalType::I64) && list.present.is_empty();
    let Some((element, bits)) = list_bits(Bytes(cell)).filter(|_| wide) else {
        return push_any_list(list, item, cell);
    };
    match &mut *list.items {
        Values::F64(items) => items.extend(bits.into_iter().map(f64::from_bits)),
        Values::I64(items) if element == FLOAT8 => {
            for bits in bits {
                items.push(whole_float(f64::from_bits(bits))?);
            }
        }
        Values::I64(items) => items.extend(bits.into_iter().map(|bits| bits as i64)),
        _ => return None,
    }
    list.end();
    Some(())
}

/// A list of other items, or with NULL in it.
fn push_any_list(list: &mut ListValues, item: LogicalType, cell: &[u8]) -> Option<()> {
    let (element, cells) = list_cells(Bytes(cell))?;
    for cell in cells {
        let Some(cell) = cell else {
            list.push_null_item();
            continue;
        };
        list.mark_present();
        let float = || (element == FLOAT8).then(|| Some(f64::from_be_bytes(cell.try_into().ok()?)));
        match (&mut *list.items, float()) {
            (Values::I32(v), None) => v.push(i32::try_from(within(item, small_integer(cell)?)?).ok()?),
            (Values::I64(v), None) => v.push(within(item, small_integer(cell)?)?),
            (Values::I32(v), Some(float)) => {
                v.push(i32::try_from(within(item, whole_float(float?)?)?).ok()?);
            }
            (Values::I64(v), Some(float)) => v.push(within(item, whole_float(float?)?)?),
            (Values::F32(v), None) => v.push(f32::from_be_bytes(cell.try_into().ok()?)),
            (Values::F32(v), Some(float)) => v.push(exact_f32(float?)?),
            (Values::F64(v), Some(float)) => v.push(float?),
            (Values::Text(v), None) => v.push(std::str::from_utf8(cell).ok()?.as_bytes()),
            _ => return None,
        }
    }
    list.end();
    Some(())
}

/// What is not whole was not stored so, and 2^63 is beyond the largest number.
fn whole_float(float: f64) -> Option<i64> {
    (float as i64 as f64 == float && float < -(i64::MIN as f64)).then_some(float as i64)
}

#[cfg(test)]
mod tests;
