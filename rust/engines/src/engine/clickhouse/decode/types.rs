//! Types that an answer may have, by the names that the server gives them.

use super::cursor::Cursor;
use inrush_rows::encode::clickhouse::decimal_bytes;
use inrush_rows::rows::decimals::decimal_text;
use inrush_rows::rows::Value;
use inrush_rows::types::hex::text_or_digits;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    Bool,
    Int {
        bytes: usize,
        signed: bool,
    },
    Float32,
    Float64,
    Text,
    Fixed(usize),
    /// Days since 1970, of so many bytes.
    Date(usize),
    DateTime,
    /// Ticks of 10^-n s.
    DateTime64(u32),
    Enum {
        bytes: usize,
        /// In the order of their numbers.
        names: Vec<(i16, String)>,
    },
    Uuid,
    Decimal {
        bytes: usize,
        scale: usize,
    },
    /// `Nullable(Nothing)`: the type of NULL itself.
    Nothing,
    Nullable(Box<Type>),
    Array(Box<Type>),
}

const DAY_MS: i64 = 86_400_000;
/// Types inside of one another. Reading is as deep as they are.
const DEPTH_MOST: usize = 16;

impl Type {
    /// `None`: not one that we read.
    pub fn parse(text: &str) -> Option<Type> {
        Type::parse_within(text, DEPTH_MOST)
    }

    fn parse_within(text: &str, depth: usize) -> Option<Type> {
        let within = |inside: &str| Type::parse_within(inside, depth.checked_sub(1)?).map(Box::new);
        let (name, rest) =
            text.split_once('(').map_or((text, None), |(name, rest)| (name, rest.strip_suffix(')')));
        let int = |bytes, signed| Some(Type::Int { bytes, signed });
        match (name, rest) {
            ("Bool", None) => Some(Type::Bool),
            ("UInt8", None) => int(1, false),
            ("UInt16", None) => int(2, false),
            ("UInt32", None) => int(4, false),
            ("UInt64", None) => int(8, false),
            ("Int8", None) => int(1, true),
            ("Int16", None) => int(2, true),
            ("Int32", None) => int(4, true),
            ("Int64", None) => int(8, true),
            ("Float32", None) => Some(Type::Float32),
            ("Float64", None) => Some(Type::Float64),
            ("String", None) => Some(Type::Text),
            ("FixedString", Some(bytes)) => bytes.parse().ok().filter(|&n| n > 0).map(Type::Fixed),
            ("Date", None) => Some(Type::Date(2)),
            ("Date32", None) => Some(Type::Date(4)),
            ("DateTime", _) => Some(Type::DateTime),
            ("DateTime64", Some(inside)) => {
                let digits = inside.split(',').next()?.trim().parse().ok()?;
                (digits <= 9).then_some(Type::DateTime64(digits))
            }
            ("Enum8", Some(inside)) => Some(Type::Enum { bytes: 1, names: names(inside)? }),
            ("Enum16", Some(inside)) => Some(Type::Enum { bytes: 2, names: names(inside)? }),
            ("UUID", None) => Some(Type::Uuid),
            ("Decimal", Some(inside)) => {
                let (digits, scale) = inside.split_once(',')?;
                let (digits, scale): (usize, usize) =
                    (digits.trim().parse().ok()?, scale.trim().parse().ok()?);
                let bytes = decimal_bytes(digits)?;
                (scale <= digits).then_some(Type::Decimal { bytes, scale })
            }
            ("Nothing", None) => Some(Type::Nothing),
            ("Nullable", Some(inside)) => within(inside).map(Type::Nullable),
            ("Array", Some(inside)) => within(inside).map(Type::Array),
            _ => None,
        }
    }

    /// Moves past the values of a column; `None` where not all are there.
    pub fn skip(&self, rows: usize, cursor: &mut Cursor<'_>) -> Option<()> {
        match self {
            Type::Text => (0..rows).try_for_each(|_| cursor.text().map(|_| ())),
            Type::Nullable(inner) => {
                cursor.take(rows)?;
                inner.skip(rows, cursor)
            }
            Type::Array(inner) => {
                let items = cursor.words(rows)?.last().unwrap_or(0);
                inner.skip(usize::try_from(items).ok()?, cursor)
            }
            fixed => cursor.take(rows.checked_mul(fixed.width())?).map(|_| ()),
        }
    }

    /// Bytes of a value of fixed width.
    fn width(&self) -> usize {
        match self {
            Type::Bool | Type::Nothing => 1,
            Type::Int { bytes, .. } | Type::Enum { bytes, .. } | Type::Decimal { bytes, .. } => *bytes,
            Type::Fixed(bytes) | Type::Date(bytes) => *bytes,
            Type::Float32 | Type::DateTime => 4,
            Type::Float64 | Type::DateTime64(_) => 8,
            Type::Uuid => 16,
            Type::Text | Type::Nullable(_) | Type::Array(_) => unreachable!("these have no fixed width"),
        }
    }

    /// The values of a column.
    pub fn values(&self, rows: usize, cursor: &mut Cursor<'_>) -> Option<Vec<Value>> {
        match self {
            Type::Nullable(inner) => {
                let nulls = cursor.take(rows)?;
                let values = inner.values(rows, cursor)?;
                let value = |(null, value)| if null == 0 { value } else { Value::Null };
                Some(nulls.iter().copied().zip(values).map(value).collect())
            }
            Type::Array(inner) => {
                let ends: Vec<usize> = cursor.words(rows)?.map(|end| end as usize).collect();
                let items = inner.values(ends.last().copied().unwrap_or(0), cursor)?;
                let starts = std::iter::once(0).chain(ends.iter().copied());
                starts.zip(&ends).map(|(start, &end)| inner.list(items.get(start..end)?)).collect()
            }
            Type::Text => (0..rows).map(|_| Some(Value::Text(text_or_digits(cursor.text()?)))).collect(),
            fixed => {
                let width = fixed.width();
                let bytes = cursor.take(rows.checked_mul(width)?)?;
                bytes.chunks_exact(width).map(|bytes| fixed.value(bytes)).collect()
            }
        }
    }

    fn value(&self, bytes: &[u8]) -> Option<Value> {
        let whole = signed(bytes);
        Some(match self {
            Type::Bool => Value::Bool(bytes[0] != 0),
            Type::Nothing => Value::Null,
            Type::Int { bytes: 8, signed: false } => Value::U64(whole as u64),
            Type::Int { bytes: width, signed: false } => {
                Value::I64((whole as u64 & ((1 << (8 * width)) - 1)) as i64)
            }
            Type::Int { .. } => Value::I64(whole as i64),
            Type::Float32 => Value::F64(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            Type::Float64 => Value::F64(f64::from_le_bytes(bytes.try_into().ok()?)),
            Type::Fixed(_) => Value::Text(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()),
            Type::Date(2) => Value::TimeMs((whole as u16 as i64) * DAY_MS),
            Type::Date(_) => Value::TimeMs(whole as i64 * DAY_MS),
            Type::DateTime => Value::TimeMs((whole as u32 as i64) * 1_000),
            Type::DateTime64(digits) => match digits {
                0..=3 => Value::TimeMs((whole as i64).checked_mul(10i64.pow(3 - digits))?),
                4..=6 => Value::TimeUs((whole as i64).checked_mul(10i64.pow(6 - digits))?),
                // Finer than we know times: as the number of ticks.
                _ => Value::I64(whole as i64),
            },
            Type::Enum { names, .. } => {
                let found = names.binary_search_by_key(&whole, |(number, _)| i128::from(*number));
                Value::Text(found.map_or_else(|_| whole.to_string(), |at| names[at].1.clone()))
            }
            Type::Uuid => Value::Text(uuid(bytes)),
            Type::Decimal { scale, .. } => Value::Text(decimal_text(whole, *scale)),
            Type::Text | Type::Nullable(_) | Type::Array(_) => unreachable!("these have no fixed width"),
        })
    }

    /// Items of this type as one value.
    fn list(&self, items: &[Value]) -> Option<Value> {
        match self {
            Type::Float32 | Type::Float64 => {
                let float = |v: &Value| if let Value::F64(v) = v { Some(*v) } else { None };
                items.iter().map(float).collect::<Option<_>>().map(Value::ListF64)
            }
            Type::Int { .. } => {
                let whole = |v: &Value| match v {
                    Value::I64(v) => Some(*v),
                    Value::U64(v) => Some(*v as i64),
                    _ => None,
                };
                items.iter().map(whole).collect::<Option<_>>().map(Value::ListI64)
            }
            Type::Text | Type::Bool | Type::Nullable(_) => Some(Value::List(items.to_vec())),
            // A list that may be NULL.
            Type::Array(_) if items.len() <= 1 => Some(items.first().cloned().unwrap_or(Value::Null)),
            _ => {
                let texts: Vec<String> = items.iter().map(inrush_rows::rows::value_text).collect();
                Some(Value::Text(format!("[{}]", texts.join(","))))
            }
        }
    }
}

/// Little-endian, of up to 16 bytes, its sign kept.
pub fn signed(bytes: &[u8]) -> i128 {
    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if negative { 0xff } else { 0 }; 16];
    let taken = bytes.len().min(16);
    wide[..taken].copy_from_slice(&bytes[..taken]);
    i128::from_le_bytes(wide)
}

/// Two little-endian halves, the upper one first.
fn uuid(bytes: &[u8]) -> String {
    let half = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a half of 16 bytes"));
    let hex = format!("{:016x}{:016x}", half(0), half(8));
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// `'a' = 1, 'b' = 2`.
fn names(inside: &str) -> Option<Vec<(i16, String)>> {
    let mut found = Vec::new();
    let mut rest = inside.trim();
    while !rest.is_empty() {
        let mut name = String::new();
        let mut chars = rest.strip_prefix('\'')?.char_indices();
        let end = loop {
            match chars.next()? {
                (_, '\\') => name.push(chars.next()?.1),
                (at, '\'') => break at + 2,
                (_, ch) => name.push(ch),
            }
        };
        let number = rest[end..].trim_start().strip_prefix('=')?.trim_start();
        let digits = number.find(',').unwrap_or(number.len());
        found.push((number[..digits].trim().parse().ok()?, name));
        rest = number[digits..].trim_start_matches(',').trim_start();
    }
    found.sort_by_key(|(number, _)| *number);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_are_read() {
        assert_eq!(Type::parse("DateTime('UTC')"), Some(Type::DateTime));
        assert_eq!(Type::parse("DateTime64(3, 'UTC')"), Some(Type::DateTime64(3)));
        assert_eq!(Type::parse("Decimal(18, 4)"), Some(Type::Decimal { bytes: 8, scale: 4 }));
        assert_eq!(
            Type::parse("Array(Nullable(FixedString(3)))"),
            Some(Type::Array(Box::new(Type::Nullable(Box::new(Type::Fixed(3))))))
        );
        let names = vec![(-1, "it's, a".to_owned()), (2, "b".to_owned())];
        assert_eq!(Type::parse(r"Enum8('it\'s, a' = -1, 'b' = 2)"), Some(Type::Enum { bytes: 1, names }));
        for unknown in [
            "LowCardinality(String)",
            "Tuple(UInt8)",
            "Int128",
            "Array(Map)",
            "Enum8(a)",
            "FixedString(0)",
            "",
        ] {
            assert_eq!(Type::parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn values_are_what_the_server_means() {
        let of = |ty: &str, bytes: &[u8]| Type::parse(ty).unwrap().value(bytes).unwrap();
        assert_eq!(of("UInt32", &[0xff; 4]), Value::I64(u32::MAX.into()));
        assert_eq!(of("UInt64", &[0xff; 8]), Value::U64(u64::MAX));
        assert_eq!(of("Int8", &[0xff]), Value::I64(-1));
        assert_eq!(of("Date", &[1, 0]), Value::TimeMs(DAY_MS));
        assert_eq!(of("DateTime", &[0, 0, 0, 0x80]), Value::TimeMs((1 << 31) * 1_000));
        assert_eq!(of("DateTime64(6)", &(-7i64).to_le_bytes()), Value::TimeUs(-7));
        assert_eq!(of("Decimal(9, 2)", &(-105i32).to_le_bytes()), Value::Text("-1.05".into()));
        assert_eq!(of("Decimal(38, 3)", &(-5i128).to_le_bytes()), Value::Text("-0.005".into()));
        let uuid: Vec<u8> = (0..16).collect();
        assert_eq!(of("UUID", &uuid), Value::Text("07060504-0302-0100-0f0e-0d0c0b0a0908".into()));
    }
}
