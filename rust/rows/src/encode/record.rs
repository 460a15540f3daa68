//! Rows as the memory that NDB's client library takes them from: each value at its place, little-endian, NULL as a bit.
//!
//! The types are NDB's by their names, as the twin writes them: `Unsigned`, `Double`, `Binary(16)`, `Varbinary(40)`. A text
//! of a fixed length is filled up with blanks, as MySQL does it; one of a variable length has its bytes in front.

use super::{does_not_fit, mismatch, Encoder};
use crate::error::Error;
use crate::plan::{LogicalType, TablePlan};
use crate::rows::{Column, Columns, Value, Values};
use crate::types::uuid::{uuid_bytes, uuid_text};
use crate::types::Holds;

/// A type of NDB, with its number in `NdbDictionary::Column::Type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers by their bytes.
    Signed(u8),
    Unsigned(u8),
    Float,
    Double,
    /// So many bytes.
    Fixed(u32),
    /// Up to so many, behind one byte, or two where they may be more than 255.
    Variable(u32),
}

/// Most bytes of a variable value that has one byte in front.
const SHORT: u32 = 255;
/// Most bytes of a value, less than a row of NDB holds.
pub const LONGEST: u32 = 14_000;

impl Kind {
    /// `None`: inrush makes no such column.
    pub fn named(wire: &str) -> Option<Kind> {
        let of_length = |name: &str, least: u32| -> Option<u32> {
            let length = wire.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?.parse().ok()?;
            (least..=LONGEST).contains(&length).then_some(length)
        };
        Some(match wire {
            "Tinyint" => Kind::Signed(1),
            "Tinyunsigned" => Kind::Unsigned(1),
            "Smallint" => Kind::Signed(2),
            "Smallunsigned" => Kind::Unsigned(2),
            "Int" => Kind::Signed(4),
            "Unsigned" => Kind::Unsigned(4),
            "Bigint" => Kind::Signed(8),
            "Bigunsigned" => Kind::Unsigned(8),
            "Float" => Kind::Float,
            "Double" => Kind::Double,
            _ => of_length("Binary", 1)
                .map(Kind::Fixed)
                .or_else(|| of_length("Varbinary", 1).filter(|&n| n <= SHORT).map(Kind::Variable))
                .or_else(|| of_length("Longvarbinary", SHORT + 1).map(Kind::Variable))?,
        })
    }

    /// Of a column whose wire type is not said; None where inrush makes no column of NDB of this type.
    fn usual(ty: LogicalType) -> Option<Kind> {
        Some(match (ty, ty.holds()) {
            (LogicalType::Uuid, _) => Kind::Fixed(16),
            (LogicalType::Date, _) => Kind::Fixed(10),
            (LogicalType::Decimal | LogicalType::Json, _) => return None,
            (_, Holds::Truth) => Kind::Unsigned(1),
            (_, Holds::Signed(bits)) => Kind::Signed((bits / 8) as u8),
            (_, Holds::Unsigned(bits)) => Kind::Unsigned((bits / 8) as u8),
            (_, Holds::Time(_)) => Kind::Signed(8),
            (_, Holds::Bits) => Kind::Unsigned(8),
            (_, Holds::Float(32)) => Kind::Float,
            (_, Holds::Float(_)) => Kind::Double,
            (_, Holds::Text | Holds::Spelled) => Kind::Variable(SHORT),
            (_, Holds::Bytes | Holds::List(_)) => return None,
        })
    }

    /// Its number, and its length there.
    pub fn number(self) -> (u32, u32) {
        match self {
            Kind::Signed(bytes) => ([1, 3, 7, 9][bytes.ilog2() as usize], 1),
            Kind::Unsigned(bytes) => ([2, 4, 8, 10][bytes.ilog2() as usize], 1),
            Kind::Float => (11, 1),
            Kind::Double => (12, 1),
            Kind::Fixed(length) => (16, length),
            Kind::Variable(length @ ..=SHORT) => (17, length),
            Kind::Variable(length) => (24, length),
        }
    }

    /// In the image of a row.
    pub fn bytes(self) -> u32 {
        match self {
            Kind::Signed(bytes) | Kind::Unsigned(bytes) => bytes.into(),
            Kind::Float => 4,
            Kind::Double => 8,
            Kind::Fixed(length) => length,
            Kind::Variable(length) => length + self.front(),
        }
    }

    /// Bytes that say how long a variable value is.
    fn front(self) -> u32 {
        match self {
            Kind::Variable(..=SHORT) => 1,
            Kind::Variable(_) => 2,
            _ => 0,
        }
    }
}

/// A column in the image of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub ty: LogicalType,
    pub kind: Kind,
    pub offset: u32,
    /// Byte and bit that say it is NULL.
    pub null: (u32, u32),
    /// The column takes NULL; where it does not, the library neither reads nor writes that bit.
    pub nullable: bool,
}

/// How rows of one table lie in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub fields: Vec<Field>,
    /// Of a row: the next one begins where it is aligned.
    pub bytes: u32,
}

impl Record {
    /// Fails for a column with a type that is none of these.
    pub fn of(table: &TablePlan) -> Result<Record, Error> {
        let (mut fields, mut offset) = (Vec::new(), 0u32);
        for column in &table.columns {
            let kind = match column.wire.as_str() {
                "" => Kind::usual(column.ty),
                wire => Kind::named(wire),
            };
            let kind = kind.ok_or_else(|| {
                Error::Plan(format!(
                    "table {}: column {} has the wire type {:?}, which is none of NDB's that inrush makes",
                    table.name, column.name, column.wire
                ))
            })?;
            offset = offset.next_multiple_of(kind.bytes().next_power_of_two().min(8));
            let (name, ty) = (column.name.clone(), column.ty);
            fields.push(Field { name, ty, kind, offset, null: (0, 0), nullable: true });
            offset += kind.bytes();
        }
        for (k, field) in fields.iter_mut().enumerate() {
            field.null = (offset + k as u32 / 8, k as u32 % 8);
        }
        let bytes = (offset + (fields.len() as u32).div_ceil(8)).next_multiple_of(8);
        Ok(Record { fields, bytes })
    }

    pub fn place(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The values of a row, in the order of the columns; into texts that `out` holds.
    #[inline]
    pub fn read(&self, row: &[u8], out: &mut [Value]) {
        for (field, out) in self.fields.iter().zip(out) {
            field.read(row, out);
        }
    }

    /// Appends a row to columns of the same table.
    pub fn append(&self, row: &[u8], to: &mut Columns) {
        for (field, column) in self.fields.iter().zip(&mut to.columns) {
            field.append(row, to.rows, column);
        }
        to.rows += 1;
    }
}

impl Field {
    #[inline]
    fn is_null(&self, row: &[u8]) -> bool {
        self.nullable && row[self.null.0 as usize] >> self.null.1 & 1 == 1
    }

    #[inline]
    fn part<'r>(&self, row: &'r [u8]) -> &'r [u8] {
        let at = self.offset as usize;
        &row[at..at + self.kind.bytes() as usize]
    }

    /// Of a text: its bytes without what fills it up. A length that the column cannot have is cut to it.
    fn text<'r>(&self, row: &'r [u8]) -> &'r [u8] {
        let part = self.part(row);
        match self.kind {
            Kind::Variable(longest) => {
                let front = self.kind.front() as usize;
                let length = if front == 1 {
                    u32::from(part[0])
                } else {
                    u32::from(u16::from_le_bytes([part[0], part[1]]))
                };
                &part[front..front + length.min(longest) as usize]
            }
            _ => part.trim_ascii_end_of_blanks(),
        }
    }

    /// A whole number as it is stored, its sign extended.
    #[inline]
    fn whole(&self, row: &[u8]) -> i64 {
        let part = self.part(row);
        match self.kind {
            Kind::Signed(1) => part[0] as i8 as i64,
            Kind::Unsigned(1) => part[0].into(),
            Kind::Signed(2) => i16::from_le_bytes([part[0], part[1]]).into(),
            Kind::Unsigned(2) => u16::from_le_bytes([part[0], part[1]]).into(),
            Kind::Signed(4) => i32::from_le_bytes(four(part)).into(),
            Kind::Unsigned(4) => u32::from_le_bytes(four(part)).into(),
            _ => i64::from_le_bytes(eight(part)),
        }
    }

    #[inline]
    fn read(&self, row: &[u8], out: &mut Value) {
        if self.is_null(row) {
            *out = Value::Null;
            return;
        }
        // What most columns are of is written where it stays.
        if let (Kind::Signed(_) | Kind::Unsigned(_), Value::I64(kept)) = (self.kind, &mut *out) {
            use LogicalType::{Bit, Bool, TimeMs, TimeUs, U64};
            if !matches!(self.ty, Bool | U64 | Bit | TimeMs | TimeUs) {
                *kept = self.whole(row);
                return;
            }
        }
        *out = match self.kind {
            Kind::Float => Value::F64(f32::from_le_bytes(four(self.part(row))).into()),
            Kind::Double => Value::F64(f64::from_le_bytes(eight(self.part(row)))),
            Kind::Fixed(_) | Kind::Variable(_) => return self.read_text(row, out),
            _ => {
                let whole = self.whole(row);
                match self.ty {
                    LogicalType::Bool => Value::Bool(whole != 0),
                    LogicalType::U64 | LogicalType::Bit => Value::U64(whole as u64),
                    LogicalType::TimeMs => Value::TimeMs(whole),
                    LogicalType::TimeUs => Value::TimeUs(whole),
                    _ => Value::I64(whole),
                }
            }
        };
    }

    fn read_text(&self, row: &[u8], out: &mut Value) {
        if !matches!(out, Value::Text(_)) {
            *out = Value::Text(String::with_capacity(self.kind.bytes() as usize));
        }
        let Value::Text(text) = out else { unreachable!("it was made one") };
        text.clear();
        match self.uuid(row) {
            Some(uuid) => uuid.iter().for_each(|&letter| text.push(letter.into())),
            None => text.push_str(&String::from_utf8_lossy(self.text(row))),
        }
    }

    fn uuid(&self, row: &[u8]) -> Option<[u8; 36]> {
        let is_uuid = self.ty == LogicalType::Uuid && self.kind == Kind::Fixed(16);
        is_uuid.then(|| self.part(row).try_into().expect("it has 16 bytes")).map(uuid_text)
    }

    fn append(&self, row: &[u8], rows_before: usize, to: &mut Column) {
        if self.is_null(row) {
            return to.push_null(rows_before);
        }
        if !to.present.is_empty() {
            to.present.push(1);
        }
        match &mut to.values {
            Values::I32(v) => v.push(self.whole(row) as i32),
            Values::I64(v) => v.push(self.whole(row)),
            Values::F32(v) => v.push(f32::from_le_bytes(four(self.part(row)))),
            Values::F64(v) => v.push(f64::from_le_bytes(eight(self.part(row)))),
            Values::Text(v) => match self.uuid(row) {
                Some(uuid) => v.push(&uuid),
                None => v.push(self.text(row)),
            },
            Values::List(_) => unreachable!("no type of NDB is a list's"),
        }
    }

    /// A value of a call. An error says what does not fit.
    #[inline]
    pub fn write(&self, value: &Value, row: &mut [u8]) -> Result<(), String> {
        self.set_null(row, *value == Value::Null);
        match (value, self.kind) {
            (Value::Null, _) if self.nullable => Ok(()),
            (Value::Bool(v), _) => self.write_whole(i64::from(*v), row),
            (Value::I64(v) | Value::TimeMs(v) | Value::TimeUs(v), Kind::Signed(_) | Kind::Unsigned(..=4)) => {
                self.write_whole(*v, row)
            }
            (Value::I64(v), Kind::Unsigned(_)) if *v >= 0 => self.write_whole(*v, row),
            (Value::U64(v), Kind::Unsigned(8)) => self.write_whole(*v as i64, row),
            (Value::U64(v), Kind::Signed(_) | Kind::Unsigned(_)) => match i64::try_from(*v) {
                Ok(v) => self.write_whole(v, row),
                Err(_) => Err(self.unfit(v)),
            },
            (Value::F64(v), Kind::Double) => self.put(&v.to_le_bytes(), row),
            (Value::F64(v), Kind::Float) => self.put(&(*v as f32).to_le_bytes(), row),
            (Value::Text(v), Kind::Fixed(_) | Kind::Variable(_)) => self.write_text(v.as_bytes(), row),
            (other, _) => Err(self.unfit(crate::rows::value_text(other))),
        }
    }

    fn set_null(&self, row: &mut [u8], is_null: bool) {
        let (byte, bit) = (self.null.0 as usize, self.null.1);
        row[byte] = row[byte] & !(1 << bit) | u8::from(is_null) << bit;
    }

    #[inline]
    fn put(&self, bytes: &[u8], row: &mut [u8]) -> Result<(), String> {
        let at = self.offset as usize;
        row[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// The lower bytes of a whole number, where those above say no more.
    #[inline]
    fn write_whole(&self, value: i64, row: &mut [u8]) -> Result<(), String> {
        let (bytes, fits) = match self.kind {
            Kind::Signed(bytes) => (bytes, bytes == 8 || value >> (8 * bytes - 1) == value >> 63),
            Kind::Unsigned(bytes) => (bytes, bytes == 8 || value >> (8 * bytes) == 0),
            _ => return Err(self.unfit(value)),
        };
        match fits {
            true => self.put(&value.to_le_bytes()[..bytes as usize], row),
            false => Err(self.unfit(value)),
        }
    }

    fn write_text(&self, text: &[u8], row: &mut [u8]) -> Result<(), String> {
        let unfit = || self.unfit(String::from_utf8_lossy(text));
        if self.ty == LogicalType::Uuid && self.kind == Kind::Fixed(16) {
            return self.put(&uuid_bytes(text).ok_or_else(unfit)?, row);
        }
        let (at, front) = (self.offset as usize, self.kind.front() as usize);
        let room = self.kind.bytes() as usize - front;
        // A last blank of its own would be lost among those that fill a text up.
        if text.len() > room || front == 0 && text.last() == Some(&b' ') {
            return Err(unfit());
        }
        row[at..at + front].copy_from_slice(&(text.len() as u16).to_le_bytes()[..front]);
        let part = &mut row[at + front..at + front + room];
        part[..text.len()].copy_from_slice(text);
        if front == 0 {
            part[text.len()..].fill(b' ');
        }
        Ok(())
    }

    fn unfit(&self, value: impl std::fmt::Display) -> String {
        format!("column {}: {value} does not fit {:?}", self.name, self.kind)
    }
}

trait Blanks {
    fn trim_ascii_end_of_blanks(&self) -> &[u8];
}

impl Blanks for [u8] {
    fn trim_ascii_end_of_blanks(&self) -> &[u8] {
        let kept = self.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
        &self[..kept]
    }
}

fn four(part: &[u8]) -> [u8; 4] {
    part[..4].try_into().expect("it has four bytes")
}

fn eight(part: &[u8]) -> [u8; 8] {
    part[..8].try_into().expect("it has eight bytes")
}

/// Images of rows, one behind the other.
pub struct Images {
    record: Record,
}

impl Images {
    pub fn of(record: Record) -> Images {
        Images { record }
    }
}

impl Encoder for Images {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        let Record { fields, bytes } = &self.record;
        let (from, bytes) = (out.len(), *bytes as usize);
        if rows.columns.len() != fields.len() {
            return Err(mismatch("(all)", "a record"));
        }
        out.resize(from + rows.rows * bytes, 0);
        for (field, column) in fields.iter().zip(&rows.columns) {
            let images = out[from..].chunks_exact_mut(bytes).enumerate();
            for (k, image) in images {
                if !column.is_present(k) && field.nullable {
                    field.set_null(image, true);
                    continue;
                }
                if !column.is_present(k) {
                    return Err(does_not_fit(&column.name, "NULL", "a column that takes none"));
                }
                let written = match (&column.values, field.kind) {
                    (Values::I32(v), _) => field.write_whole(v[k].into(), image),
                    (Values::I64(v), _) => field.write_whole(v[k], image),
                    (Values::F32(v), Kind::Float) => field.put(&v[k].to_le_bytes(), image),
                    (Values::F64(v), Kind::Double) => field.put(&v[k].to_le_bytes(), image),
                    (Values::Text(v), Kind::Fixed(_) | Kind::Variable(_)) => {
                        field.write_text(v.get(k), image)
                    }
                    _ => return Err(mismatch(&column.name, "a record")),
                };
                written.map_err(|_| {
                    let value = crate::rows::value_text(&column.value(k));
                    does_not_fit(&column.name, value, &format!("{:?}", field.kind))
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "record/tests.rs"]
mod tests;
