//! A column in the image of a row: read, and written where it fits.

use super::kind::Kind;
use crate::plan::LogicalType;
use crate::rows::{value_text, Column, Value, Values};
use crate::types::uuid::{uuid_bytes, uuid_text};

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

impl Field {
    #[inline]
    pub(super) fn is_null(&self, row: &[u8]) -> bool {
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
            _ => without_blanks(part),
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
    pub(super) fn read(&self, row: &[u8], out: &mut Value) {
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

    pub(super) fn append(&self, row: &[u8], rows_before: usize, to: &mut Column) {
        if self.is_null(row) {
            return to.push_null(rows_before);
        }
        to.mark_present();
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
            (other, _) => Err(self.unfit(value_text(other))),
        }
    }

    pub(super) fn set_null(&self, row: &mut [u8], is_null: bool) {
        let (byte, bit) = (self.null.0 as usize, self.null.1);
        row[byte] = row[byte] & !(1 << bit) | u8::from(is_null) << bit;
    }

    #[inline]
    pub(super) fn put(&self, bytes: &[u8], row: &mut [u8]) -> Result<(), String> {
        let at = self.offset as usize;
        row[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// The lower bytes of a whole number, where those above say no more.
    #[inline]
    pub(super) fn write_whole(&self, value: i64, row: &mut [u8]) -> Result<(), String> {
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

    pub(super) fn write_text(&self, text: &[u8], row: &mut [u8]) -> Result<(), String> {
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

/// A text without the blanks that fill it up.
fn without_blanks(text: &[u8]) -> &[u8] {
    let kept = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &text[..kept]
}

fn four(part: &[u8]) -> [u8; 4] {
    part[..4].try_into().expect("it has four bytes")
}

fn eight(part: &[u8]) -> [u8; 8] {
    part[..8].try_into().expect("it has eight bytes")
}
