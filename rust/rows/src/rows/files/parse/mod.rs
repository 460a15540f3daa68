//! One field of text into one typed value, or the reason why not.

mod decimal;
mod form;
mod lists;
mod numbers;
mod pattern;
mod reason;
mod times;
mod zone;

use crate::plan::{Limits, LogicalType};
use crate::types::hex::{hex_bytes, hex_text};
use crate::types::Forms;

use super::super::columns::{Column, TextValues, Values};
use super::dialect::Quoting;
use lists::{push_list, Nulls};
use numbers::{float, unsigned, whole};
use times::time;

pub use decimal::{push_number, spelled};
pub use form::{instant_us, TimeReader};
pub use numbers::Marks;
pub use pattern::Pattern;
pub use reason::Reason;
pub use times::{day, day_in_front, is_a_day, time_of_day};
pub use zone::Zone;

/// Appends the value of `text` to `column`; on an error the column is unchanged.
///
/// Blanks around anything but a text are ignored.
pub fn push(column: &mut Column, text: &[u8]) -> Result<(), Reason> {
    match &mut column.values {
        Values::List(list) => push_list(list, item_of(column.ty), text, Nulls::Refused),
        values => push_value(values, column.ty, text),
    }
}

/// `push` into a column of a database: its numbers are spelled as there.
pub fn push_within(column: &mut Column, text: &[u8], limits: Option<&Limits>) -> Result<(), Reason> {
    match (&mut column.values, limits.and_then(|limits| limits.number)) {
        (Values::Text(texts), Some(spelling)) => push_number(texts, text, spelling),
        _ => push(column, text),
    }
}

/// `push` of a list that may hold NULL: `[1,null]`.
pub fn push_list_with_nulls(column: &mut Column, text: &[u8]) -> Result<(), Reason> {
    let Values::List(list) = &mut column.values else { unreachable!("only lists hold items") };
    push_list(list, item_of(column.ty), text, Nulls::Taken)
}

fn item_of(ty: LogicalType) -> LogicalType {
    ty.item().expect("values of lists are of a type of lists")
}

/// Of any type but a list. Bytes and strings of bits are hexadecimal digits, as a dump writes them.
fn push_value(values: &mut Values, ty: LogicalType, text: &[u8]) -> Result<(), Reason> {
    match values {
        Values::I32(v) => v.push(match ty {
            LogicalType::Bool => i32::from(truth(text)?),
            _ => whole(text, ty)? as i32,
        }),
        Values::I64(v) => v.push(match ty {
            LogicalType::U64 => unsigned(text)? as i64,
            LogicalType::TimeMs => time(text, 1_000)?,
            LogicalType::TimeUs => time(text, 1_000_000)?,
            LogicalType::Bit => bits(text)? as i64,
            _ => whole(text, ty)?,
        }),
        Values::F32(v) => v.push(float::<f32>(text, ty)?),
        Values::F64(v) => v.push(float::<f64>(text, ty)?),
        Values::Text(v) => match ty {
            LogicalType::Blob => v.push(&hex_bytes(text).ok_or(Reason::NotDigits)?),
            _ => match ty.forms() {
                Some(forms) => push_form(v, ty, forms, text)?,
                None => v.push(clean_text(text)?),
            },
        },
        Values::List(_) => unreachable!("no list holds lists"),
    }
    Ok(())
}

fn bits(text: &[u8]) -> Result<u64, Reason> {
    let digits = std::str::from_utf8(text).ok().filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()));
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or(Reason::NotDigits)
}

/// Bytes as their hexadecimal digits: as they stand in MySQL's text, elsewhere written as PostgreSQL writes them
/// (`\x0aff`). On an error the column is unchanged.
pub fn push_bytes(column: &mut Column, text: &[u8], quoting: Quoting) -> Result<(), Reason> {
    let Values::Text(values) = &mut column.values else { unreachable!("columns of bytes are texts") };
    if quoting == Quoting::MysqlEscapes {
        values.push(&hex_text(text));
    } else {
        let digits = text.strip_prefix(b"\\x").ok_or(Reason::NotBytes)?.to_ascii_lowercase();
        hex_bytes(&digits).ok_or(Reason::NotBytes)?;
        values.push(&digits);
    }
    Ok(())
}

fn clean_text(text: &[u8]) -> Result<&[u8], Reason> {
    if text.contains(&0) {
        return Err(Reason::NulByte);
    }
    std::str::from_utf8(text).map(str::as_bytes).map_err(|_| Reason::NotUtf8)
}

/// A value of a spelled type in its one form, whichever it came in.
pub fn push_form(texts: &mut TextValues, ty: LogicalType, forms: &Forms, text: &[u8]) -> Result<(), Reason> {
    (forms.push)(text.trim_ascii(), &mut texts.bytes).ok_or(Reason::NotOf(ty))?;
    texts.ends.push(texts.bytes.len() as u32);
    Ok(())
}

pub fn truth(text: &[u8]) -> Result<bool, Reason> {
    let mut word = [0u8; 5];
    let text = text.trim_ascii();
    let lower = word.get_mut(..text.len()).ok_or(Reason::NotBool)?;
    lower.copy_from_slice(text);
    lower.make_ascii_lowercase();
    match &*lower {
        b"1" | b"t" | b"true" | b"y" | b"yes" | b"on" => Ok(true),
        b"0" | b"f" | b"false" | b"n" | b"no" | b"off" => Ok(false),
        _ => Err(Reason::NotBool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Value;

    pub(super) fn parsed(ty: LogicalType, text: &str) -> Result<Value, Reason> {
        let mut column = Column::new("c", ty);
        push(&mut column, text.as_bytes()).map(|()| column.value(0))
    }

    #[test]
    fn texts_are_utf8_without_nul_and_keep_their_blanks() {
        assert_eq!(parsed(LogicalType::Text, " é "), Ok(Value::Text(" é ".into())));
        let mut column = Column::new("c", LogicalType::Text);
        assert_eq!(push(&mut column, b"\xff"), Err(Reason::NotUtf8));
        assert_eq!(push(&mut column, b"a\0b"), Err(Reason::NulByte));
    }

    #[test]
    fn dates_and_uuids_have_one_form() {
        assert_eq!(parsed(LogicalType::Date, " 2026-01-31 "), Ok(Value::Text("2026-01-31".into())));
        assert_eq!(parsed(LogicalType::Date, "2026-02-30"), Err(Reason::NotOf(LogicalType::Date)));
        let plain = "{00112233445566778899AABBCCDDEEFF}";
        let usual = "00112233-4455-6677-8899-aabbccddeeff";
        assert_eq!(parsed(LogicalType::Uuid, plain), Ok(Value::Text(usual.into())));
        assert_eq!(parsed(LogicalType::Uuid, "00112233"), Err(Reason::NotOf(LogicalType::Uuid)));
    }

    #[test]
    fn bytes_become_their_digits_as_each_format_writes_them() {
        let read = |text: &[u8], quoting| {
            let mut column = Column::new("c", LogicalType::Text);
            push_bytes(&mut column, text, quoting).map(|()| column.value(0))
        };
        let digits = |text: &str| Ok(Value::Text(text.into()));
        assert_eq!(read(b"\0\xff\\x1", Quoting::MysqlEscapes), digits("00ff5c7831"));
        assert_eq!(read(b"", Quoting::MysqlEscapes), digits(""));
        for quoting in [Quoting::Quotes, Quoting::PostgresEscapes] {
            assert_eq!(read(b"\\x00FF", quoting), digits("00ff"));
            assert_eq!(read(b"\\x", quoting), digits(""));
            for bad in [&b""[..], b"00ff", b"\\x0", b"\\x0g", b"\\x00 "] {
                assert_eq!(read(bad, quoting), Err(Reason::NotBytes), "{bad:?}");
            }
        }
    }

    #[test]
    fn truth_has_six_words_each() {
        for text in ["1", "T", "true", "Yes", "y", "ON"] {
            assert_eq!(parsed(LogicalType::Bool, text), Ok(Value::Bool(true)), "{text}");
        }
        for text in ["0", "f", "FALSE", "no", "N", "off"] {
            assert_eq!(parsed(LogicalType::Bool, text), Ok(Value::Bool(false)), "{text}");
        }
        for text in ["", "2", "maybe", "truefalse"] {
            assert_eq!(parsed(LogicalType::Bool, text), Err(Reason::NotBool), "{text}");
        }
    }
}
