//! The types of columns: one entry each, which everything else asks. Pure.
//!
//! A type that travels as text in one form (a date, a UUID) has a file with its forms, and this table names it. What an
//! engine spells otherwise stands in that engine.

pub mod calendar;
pub mod date;
pub mod hex;
pub mod inet;
pub mod time;
pub mod uuid;

use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a value means, independent of any engine. `docs/engines.md` maps it to each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogicalType {
    Bool,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// Milliseconds since 1970 UTC.
    TimeMs,
    /// Microseconds since 1970 UTC.
    TimeUs,
    Text,
    ListF64,
    ListI64,
    /// `00112233-4455-6677-8899-aabbccddeeff`.
    Uuid,
    ListBool,
    ListI16,
    ListI32,
    ListU8,
    ListU16,
    ListU32,
    ListU64,
    ListF32,
    ListText,
    /// A day as `2026-01-31`.
    Date,
    /// A time of day as `08:30:00.25`.
    Time,
    /// An address of a host or a network as `10.0.0.1`, `2001:db8::/32`.
    Inet,
    /// Bytes of any value.
    Blob,
    /// A text of a closed set, which its generator names.
    Enum,
    /// A document of JSON in its shortest form: no blanks outside of its texts.
    Json,
    /// A number of so many digits behind the point as its type has: `-12.30`. Its generator knows how many.
    Decimal,
    /// A string of 1 to 64 bits, as the number that they are. Its generator knows how many.
    Bit,
}

use LogicalType::*;

const UTC: &str = "UTC";

/// What there is to know of a type, but for what an engine calls it.
#[derive(Debug, Clone, Copy)]
pub struct ColumnType {
    pub ty: LogicalType,
    /// In plans.
    pub name: &'static str,
    /// In workloads, where it says more than the name.
    pub written: &'static str,
    /// What databases and languages call it.
    pub also: &'static [&'static str],
    /// One of its values and several, in messages.
    pub one: &'static str,
    pub many: &'static str,
    pub holds: Holds,
    /// Of a value, about.
    pub bytes: u32,
    /// What makes its values; `rows/catalogue` has each of them.
    pub generators: &'static [&'static [&'static str]],
    /// A table that is fed from files may have it.
    pub fed: bool,
    /// A statement takes its values one by one.
    pub bound: bool,
}

/// What the values of a type are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    Truth,
    /// Whole numbers of so many bits.
    Signed(u32),
    Unsigned(u32),
    /// Floating-point numbers of so many bits.
    Float(u32),
    /// Instants: so many units a second since 1970 UTC.
    Time(i64),
    /// A number that stands for its bits.
    Bits,
    Text,
    Bytes,
    /// Texts in one form: see [`LogicalType::forms`].
    Spelled,
    List(LogicalType),
}

/// The forms of a type that travels as text in one of them.
#[derive(Debug)]
pub struct Forms {
    /// Bytes of the longest text.
    pub longest: usize,
    /// What stands for NULL where an engine has none.
    pub zero: &'static str,
    /// Appends the one form of what a text says; `None`, and nothing, where it says no such value.
    pub push: fn(&[u8], &mut Vec<u8>) -> Option<()>,
    /// Of values that follow one another.
    pub counted: Option<Counted>,
    /// In PostgreSQL's binary protocol.
    pub postgresql: Binary,
}

/// Values by number, in their order.
#[derive(Debug)]
pub struct Counted {
    /// Which values have a number, for messages.
    pub what: &'static str,
    pub number: fn(&[u8]) -> Option<i64>,
    /// The text of a number that a value has.
    pub write: fn(i64, &mut Vec<u8>),
}

#[derive(Debug)]
pub struct Binary {
    pub name: &'static str,
    /// In every PostgreSQL's catalogue (`pg_type.dat`).
    pub oid: u32,
    /// Bytes of a value; `None`: each value has its own.
    pub width: Option<usize>,
    /// Appends the text of a cell; `None`, and nothing, where it is none of this type.
    pub push: fn(&[u8], &mut Vec<u8>) -> Option<()>,
}

/// The forms of a type as a type, so that the loop over a column is compiled for it: see [`LogicalType::visit`].
pub trait Spelled {
    const FORMS: Forms;
    /// A value in PostgreSQL's binary protocol.
    type Cell: AsRef<[u8]>;

    /// `None`: the text says no such value.
    fn cell(text: &[u8]) -> Option<Self::Cell>;

    /// Bytes of the cell of a text: encoders make as much room for it.
    #[inline(always)]
    fn cell_bytes(text: &[u8]) -> usize {
        match Self::FORMS.postgresql.width {
            Some(width) => width,
            None => Self::cell(text).map_or(0, |cell| cell.as_ref().len()),
        }
    }
}

/// What is done with a column of a spelled type.
pub trait Visitor {
    type Out;
    fn of<T: Spelled>(self) -> Self::Out;
}

/// The spelled types, each with its forms.
macro_rules! spelled {
    ($($ty:ident => $forms:path),+ $(,)?) => {
        impl LogicalType {
            /// The forms of a type whose values are texts in one form.
            #[inline]
            pub fn forms(self) -> Option<&'static Forms> {
                match self {
                    $($ty => Some(const { &<$forms as Spelled>::FORMS }),)+
                    _ => None,
                }
            }

            /// Calls the visitor once, for the forms of this type. Panics where `forms` gives none.
            #[inline]
            pub fn visit<V: Visitor>(self, visitor: V) -> V::Out {
                match self {
                    $($ty => visitor.of::<$forms>(),)+
                    other => unreachable!("{other:?} has no forms"),
                }
            }
        }
    };
}

spelled! {
    Date => date::Date,
    Inet => inet::Inet,
    Time => time::Time,
    Uuid => uuid::Uuid,
}

/// Generators of numbers, of whole ones, of those that are counted from row to row, of those with 64 bits, of instants.
const NUMBER: &[&str] = &["constant", "uniform", "normal", "lognormal", "beta", "walk"];
const WHOLE: &[&str] = &[
    "cycle",
    "shuffled",
    "poisson",
    "zipf",
    "categorical",
    "flag",
    "counter",
    "offset",
    "foreign",
    "chunk",
    "rank",
];
const COUNT: &[&str] = &["sequence", "version"];
const WIDE: &[&str] = &["ratio", "sum", "difference", "excess", "pattern"];
const INSTANT: &[&str] = &["constant", "offset", "sweep_time", "time", "series_time"];
const BITS: &[&str] = &["bits"];
/// Of every type that travels as text in one form.
const GIVEN: &[&str] = &["constant", "categorical"];

/// All of them, in the order of [`LogicalType`].
pub const TYPES: [ColumnType; 33] = [
    ColumnType {
        also: &["boolean"],
        bytes: 1,
        generators: &[&["constant", "flag"]],
        ..plain(Bool, "bool", Holds::Truth)
    },
    number(I16, "i16", Holds::Signed(16), &[NUMBER, WHOLE], &["smallint", "short", "int2", "int16"]),
    number(
        I32,
        "i32",
        Holds::Signed(32),
        &[NUMBER, WHOLE, COUNT],
        &["int", "integer", "int4", "int32", "serial"],
    ),
    number(
        I64,
        "i64",
        Holds::Signed(64),
        &[NUMBER, WHOLE, COUNT, WIDE, &["job"]],
        &["bigint", "long", "int8", "int64", "bigserial"],
    ),
    number(U8, "u8", Holds::Unsigned(8), &[NUMBER, WHOLE, BITS], &["uint8", "utinyint", "byte"]),
    number(U16, "u16", Holds::Unsigned(16), &[NUMBER, WHOLE, BITS], &["uint16", "usmallint"]),
    number(U32, "u32", Holds::Unsigned(32), &[NUMBER, WHOLE, COUNT, BITS], &["uint32", "uint", "uinteger"]),
    number(U64, "u64", Holds::Unsigned(64), &[NUMBER, WHOLE, COUNT, WIDE, BITS], &["uint64", "ubigint"]),
    number(F32, "f32", Holds::Float(32), &[NUMBER], &["float", "real", "float4", "float32"]),
    number(
        F64,
        "f64",
        Holds::Float(64),
        &[NUMBER],
        &["double", "double precision", "float8", "float64", "number"],
    ),
    number(TimeMs, "time_ms", Holds::Time(1_000), &[INSTANT], &[]),
    number(
        TimeUs,
        "time_us",
        Holds::Time(1_000_000),
        &[INSTANT],
        &["timestamp", "timestamptz", "datetime", "datetime64"],
    ),
    ColumnType {
        also: &["string", "str"],
        bytes: 12,
        generators: &[&["constant", "categorical", "uuid", "format", "text", "foreign"]],
        ..plain(Text, "text", Holds::Text)
    },
    ColumnType { fed: true, also: &["list", "array"], ..list(ListF64, "list_f64", F64, 80) },
    ColumnType { fed: true, ..list(ListI64, "list_i64", I64, 80) },
    ColumnType {
        one: "a UUID",
        many: "UUIDs",
        bytes: 16,
        generators: &[GIVEN, &["uuid", "foreign"]],
        ..plain(Uuid, "uuid", Holds::Spelled)
    },
    list(ListBool, "list_bool", Bool, 10),
    list(ListI16, "list_i16", I16, 20),
    list(ListI32, "list_i32", I32, 40),
    list(ListU8, "list_u8", U8, 10),
    list(ListU16, "list_u16", U16, 20),
    list(ListU32, "list_u32", U32, 40),
    list(ListU64, "list_u64", U64, 80),
    list(ListF32, "list_f32", F32, 40),
    list(ListText, "list_text", Text, 120),
    ColumnType {
        one: "a date",
        many: "dates",
        bytes: 4,
        generators: &[GIVEN, &["between"]],
        bound: false,
        fed: false,
        ..plain(Date, "date", Holds::Spelled)
    },
    ColumnType {
        one: "a time of day",
        many: "times of day",
        generators: &[GIVEN, &["between"]],
        ..plain(Time, "time", Holds::Spelled)
    },
    ColumnType {
        one: "an IP address",
        many: "IP addresses",
        also: &["ip", "ipv4", "ipv6"],
        generators: &[GIVEN, &["between"]],
        ..plain(Inet, "inet", Holds::Spelled)
    },
    ColumnType {
        many: "blobs",
        also: &["bytea", "bytes", "binary", "varbinary"],
        bytes: 32,
        generators: &[&["bytes"]],
        bound: false,
        fed: false,
        ..plain(Blob, "blob", Holds::Bytes)
    },
    ColumnType {
        many: "enums",
        also: &["categorical"],
        bytes: 2,
        generators: &[&["constant", "categorical"]],
        fed: false,
        ..plain(Enum, "enum", Holds::Text)
    },
    ColumnType {
        many: "documents",
        also: &["jsonb"],
        bytes: 120,
        generators: &[&["document"]],
        bound: false,
        fed: false,
        ..plain(Json, "json", Holds::Text)
    },
    ColumnType {
        written: "decimal(p, s)",
        many: "decimals",
        also: &["decimal", "numeric", "money"],
        generators: &[&["decimal"]],
        fed: false,
        ..plain(Decimal, "decimal", Holds::Text)
    },
    ColumnType {
        written: "bit(n)",
        many: "strings of bits",
        also: &["bits", "varbit", "bit varying", "bit"],
        generators: &[BITS],
        bound: false,
        fed: false,
        ..plain(Bit, "bit", Holds::Bits)
    },
];

const fn number(
    ty: LogicalType,
    name: &'static str,
    holds: Holds,
    generators: &'static [&'static [&'static str]],
    also: &'static [&'static str],
) -> ColumnType {
    let bytes = match holds {
        Holds::Signed(bits) | Holds::Unsigned(bits) | Holds::Float(bits) => bits / 8,
        _ => 8,
    };
    ColumnType { bytes, generators, also, ..plain(ty, name, holds) }
}

/// A list, which generators alone make.
const fn list(ty: LogicalType, name: &'static str, item: LogicalType, bytes: u32) -> ColumnType {
    ColumnType {
        many: "lists",
        bytes,
        generators: &[&["array"]],
        fed: false,
        bound: false,
        ..plain(ty, name, Holds::List(item))
    }
}

const fn plain(ty: LogicalType, name: &'static str, holds: Holds) -> ColumnType {
    ColumnType {
        ty,
        name,
        written: name,
        one: name,
        many: name,
        also: &[],
        holds,
        bytes: 8,
        generators: &[],
        fed: true,
        bound: true,
    }
}

impl LogicalType {
    /// Its entry.
    #[inline]
    pub const fn entry(self) -> &'static ColumnType {
        &TYPES[self as usize]
    }

    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    #[inline]
    pub const fn holds(self) -> Holds {
        self.entry().holds
    }

    /// Of a list, the type of its items.
    #[inline]
    pub const fn item(self) -> Option<LogicalType> {
        match self.holds() {
            Holds::List(item) => Some(item),
            _ => None,
        }
    }

    pub const fn is_list(self) -> bool {
        self.item().is_some()
    }

    /// Its values are texts or bytes.
    pub const fn is_text(self) -> bool {
        matches!(self.holds(), Holds::Text | Holds::Bytes | Holds::Spelled)
    }

    pub const fn is_time(self) -> bool {
        matches!(self.holds(), Holds::Time(_))
    }

    /// The least and the greatest whole number, as far as 64 bits with a sign hold them; a truth value is 0 or 1.
    pub const fn range(self) -> Option<(i64, i64)> {
        match self.holds() {
            Holds::Truth => Some((0, 1)),
            Holds::Signed(bits) => Some((i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))),
            Holds::Unsigned(64) => Some((0, i64::MAX)),
            Holds::Unsigned(bits) => Some((0, (1 << bits) - 1)),
            _ => None,
        }
    }

    /// How Arrow has its values.
    pub fn arrow(self) -> DataType {
        match self.holds() {
            Holds::Truth => DataType::Boolean,
            Holds::Signed(16) => DataType::Int16,
            Holds::Signed(32) => DataType::Int32,
            Holds::Signed(_) => DataType::Int64,
            Holds::Unsigned(8) => DataType::UInt8,
            Holds::Unsigned(16) => DataType::UInt16,
            Holds::Unsigned(32) => DataType::UInt32,
            Holds::Unsigned(_) => DataType::UInt64,
            Holds::Float(32) => DataType::Float32,
            Holds::Float(_) => DataType::Float64,
            Holds::Time(1_000) => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
            Holds::Time(_) => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            // A string of bits travels as its digits.
            Holds::Text | Holds::Spelled | Holds::Bits => DataType::Utf8,
            Holds::Bytes => DataType::Binary,
            Holds::List(item) => DataType::List(Arc::new(Field::new_list_field(item.arrow(), true))),
        }
    }
}

/// Types that a generator fills.
pub fn filled_by(generator: &str) -> Vec<LogicalType> {
    let fills = |entry: &&ColumnType| entry.generators.iter().any(|some| some.contains(&generator));
    TYPES.iter().filter(fills).map(|entry| entry.ty).collect()
}

/// The table, for Python: a list of objects with the names of [`ColumnType`], and of what the type holds.
pub fn types_json() -> String {
    let entry = |entry: &ColumnType| {
        let (holds, of) = match entry.holds {
            Holds::Truth => ("truth", json!(null)),
            Holds::Signed(bits) => ("signed", json!(bits)),
            Holds::Unsigned(bits) => ("unsigned", json!(bits)),
            Holds::Float(bits) => ("float", json!(bits)),
            Holds::Time(per_s) => ("time", json!(per_s)),
            Holds::Bits => ("bits", json!(null)),
            Holds::Text => ("text", json!(null)),
            Holds::Bytes => ("bytes", json!(null)),
            Holds::Spelled => ("spelled", json!(null)),
            Holds::List(item) => ("list", json!(item.name())),
        };
        let forms = entry.ty.forms();
        json!({
            "name": entry.name, "written": entry.written, "also": entry.also, "many": entry.many, "holds": holds, "of": of,
            "bytes": entry.bytes, "fed": entry.fed, "bound": entry.bound, "longest": forms.map(|f| f.longest),
            "postgresql": forms.map(|f| f.postgresql.name),
        })
    };
    json!(TYPES.iter().map(entry).collect::<Vec<_>>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_entry_under_its_name() {
        for (at, entry) in TYPES.iter().enumerate() {
            assert_eq!(entry.ty as usize, at);
            assert_eq!(serde_json::to_value(entry.ty).unwrap(), entry.name);
            assert_eq!(entry.ty.forms().is_some(), matches!(entry.holds, Holds::Spelled), "{}", entry.name);
        }
    }

    #[test]
    fn a_whole_number_has_the_range_of_its_bits() {
        assert_eq!(I16.range(), Some((i16::MIN.into(), i16::MAX.into())));
        assert_eq!(I64.range(), Some((i64::MIN, i64::MAX)));
        assert_eq!(U32.range(), Some((0, u32::MAX.into())));
        assert_eq!((U64.range(), F64.range()), (Some((0, i64::MAX)), None));
    }

    #[test]
    fn a_spelled_type_has_one_form_of_each_value_in_text_and_binary() {
        struct Checked;
        impl Visitor for Checked {
            type Out = ();
            fn of<T: Spelled>(self) {
                let forms = T::FORMS;
                let mut text = Vec::new();
                (forms.push)(forms.zero.as_bytes(), &mut text).unwrap();
                assert_eq!(text, forms.zero.as_bytes());
                let cell = T::cell(&text).unwrap();
                assert!(forms.postgresql.width.is_none_or(|width| cell.as_ref().len() == width));
                assert_eq!(cell.as_ref().len(), T::cell_bytes(&text));
                let mut back = Vec::new();
                (forms.postgresql.push)(cell.as_ref(), &mut back).unwrap();
                assert_eq!(back, text);
                for none in [&b""[..], b"x", b"\0"] {
                    assert_eq!(((forms.push)(none, &mut back), T::cell(none).is_some()), (None, false));
                    assert_eq!((forms.postgresql.push)(none, &mut back), None);
                    assert_eq!(back, text, "nothing is appended");
                }
            }
        }
        TYPES.iter().filter(|entry| entry.ty.forms().is_some()).for_each(|entry| entry.ty.visit(Checked));
    }
}
