//! Lists of any item as text: JSON, an array of PostgreSQL, an array of ClickHouse.

use super::decimal::{float32, float64, signed, unsigned, FLOAT_BYTES};
use super::tail::Tail;
use crate::plan::LogicalType;
use crate::rows::{ListValues, TextValues, Values};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListStyle {
    /// `[1,null,"a"]`: it has neither NaN nor infinities.
    Json,
    /// JSON with the words that our own reader of files takes for numbers that are not finite: `[NaN,inf]`.
    Dumped,
    /// `{1,NULL,"a"}`
    Postgresql,
    /// `[1,NULL,'a']`
    Clickhouse,
}

impl ListStyle {
    fn is_json(self) -> bool {
        matches!(self, ListStyle::Json | ListStyle::Dumped)
    }
}

/// A double holds every whole number up to here.
const EXACT_WHOLE: u64 = 1 << 53;

/// A whole number of a list as a double, and whether it is the same number there. `unsigned`: it is a u64 of these bits.
pub fn as_double(whole: i64, unsigned: bool) -> (f64, bool) {
    match unsigned {
        true => (whole as u64 as f64, whole as u64 <= EXACT_WHOLE),
        false => (whole as f64, whole.unsigned_abs() <= EXACT_WHOLE),
    }
}

/// Each list as a text; the first row with an item that the style has no form for. Rows that are NULL have no items.
pub fn list_texts(list: &ListValues, item: LogicalType, style: ListStyle) -> Result<TextValues, usize> {
    let mut texts = TextValues::default();
    for row in 0..list.ends.len() {
        if !put_list(list, item, row, style, &mut texts.bytes) {
            return Err(row);
        }
        texts.ends.push(texts.bytes.len() as u32);
    }
    Ok(texts)
}

/// False, with a part of it written, where the style has no form for an item.
fn put_list(list: &ListValues, item: LogicalType, row: usize, style: ListStyle, out: &mut Vec<u8>) -> bool {
    let (open, close) = if style == ListStyle::Postgresql { (b'{', b'}') } else { (b'[', b']') };
    out.push(open);
    for (k, at) in list.range(row).enumerate() {
        if k > 0 {
            out.push(b',');
        }
        if !list.is_present(at) {
            out.extend_from_slice(if style.is_json() { b"null" } else { b"NULL" });
        } else if !put_item(&list.items, item, at, style, out) {
            return false;
        }
    }
    out.push(close);
    true
}

fn put_item(items: &Values, item: LogicalType, at: usize, style: ListStyle, out: &mut Vec<u8>) -> bool {
    if let Values::Text(texts) = items {
        put_text(texts.get(at), style, out);
        return true;
    }
    let float = match items {
        Values::F32(v) => f64::from(v[at]),
        Values::F64(v) => v[at],
        _ => 0.0,
    };
    if !float.is_finite() {
        match style {
            ListStyle::Json => return false,
            ListStyle::Dumped if float.is_nan() => out.extend_from_slice(b"NaN"),
            ListStyle::Dumped => out.extend_from_slice(if float > 0.0 { b"inf" } else { b"-inf" }),
            ListStyle::Clickhouse if float.is_nan() => out.extend_from_slice(b"nan"),
            ListStyle::Clickhouse => out.extend_from_slice(if float > 0.0 { b"inf" } else { b"-inf" }),
            ListStyle::Postgresql if float.is_nan() => out.extend_from_slice(b"NaN"),
            ListStyle::Postgresql => {
                out.extend_from_slice(if float > 0.0 { b"Infinity" } else { b"-Infinity" });
            }
        }
        return true;
    }
    let mut tail = Tail::new(out);
    tail.room(FLOAT_BYTES);
    // SAFETY: room for the widest number was reserved.
    unsafe {
        match items {
            // JSON has truth values of its own, which read back as such.
            Values::I32(v) if item == LogicalType::Bool && style.is_json() => {
                tail.bytes(if v[at] != 0 { b"true" } else { b"false" });
            }
            Values::I32(v) => signed(&mut tail, v[at].into()),
            Values::I64(v) if item == LogicalType::U64 && style != ListStyle::Postgresql => {
                unsigned(&mut tail, v[at] as u64);
            }
            Values::I64(v) => signed(&mut tail, v[at]),
            Values::F32(v) => float32(&mut tail, v[at]),
            Values::F64(v) => float64(&mut tail, v[at]),
            Values::Text(_) | Values::List(_) => unreachable!("texts are written, and no list holds lists"),
        }
    }
    tail.finish();
    true
}

fn put_text(text: &[u8], style: ListStyle, out: &mut Vec<u8>) {
    let quote = if style == ListStyle::Clickhouse { b'\'' } else { b'"' };
    out.push(quote);
    for &byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            byte if byte == quote => out.extend_from_slice(&[b'\\', quote]),
            b'\n' if style != ListStyle::Postgresql => out.extend_from_slice(b"\\n"),
            b'\t' if style != ListStyle::Postgresql => out.extend_from_slice(b"\\t"),
            b'\r' if style != ListStyle::Postgresql => out.extend_from_slice(b"\\r"),
            0..0x20 if style.is_json() => {
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
            }
            byte => out.push(byte),
        }
    }
    out.push(quote);
}

/// Whether a list is of whole numbers of 64 bits or of floats and has no NULL in it: most are, and have a faster way.
pub fn is_plain(list: &ListValues, item: LogicalType) -> bool {
    matches!(item, LogicalType::I64 | LogicalType::F64) && list.present.is_empty()
}

/// Appends the list that a JSON array says; `None`: it is none of items of this type.
pub fn push_json(list: &mut ListValues, item: LogicalType, text: &str) -> Option<()> {
    let found: Vec<serde_json::Value> = serde_json::from_str(text).ok()?;
    for value in found {
        if value.is_null() {
            list.push_null_item();
            continue;
        }
        list.mark_present();
        match (&mut *list.items, item) {
            (Values::I32(v), LogicalType::Bool) => v.push(i32::from(value.as_bool()?)),
            (Values::I32(v), item) => v.push(i32::try_from(within(item, value.as_i64()?)?).ok()?),
            (Values::I64(v), LogicalType::U64) => v.push(value.as_u64()? as i64),
            (Values::I64(v), item) => v.push(within(item, value.as_i64()?)?),
            (Values::F32(v), _) => {
                let narrow = value.as_f64()? as f32;
                // Its shortest digits are those of a float of 32 bits, not of one of 64.
                v.push(value.to_string().parse().ok().filter(|_| narrow.is_finite())?);
            }
            (Values::F64(v), _) => v.push(value.as_f64()?),
            (Values::Text(v), _) => v.push(value.as_str()?.as_bytes()),
            (Values::List(_), _) => return None,
        }
    }
    list.end();
    Some(())
}

/// A whole number that the type holds; any bits are a u64.
pub fn within(item: LogicalType, value: i64) -> Option<i64> {
    let (least, most) = item.range().filter(|_| item != LogicalType::U64).unwrap_or((i64::MIN, i64::MAX));
    (least..=most).contains(&value).then_some(value)
}
