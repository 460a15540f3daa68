//! The types of columns: one entry each in `table`, which everything else asks. Pure.
//!
//! A type that travels as text in one form (a date, a UUID) has a file with its forms, and `spelled!` names it. What an
//! engine spells otherwise stands in that engine.

pub mod calendar;
pub mod date;
mod forms;
pub mod hex;
pub mod inet;
mod json;
mod table;
#[cfg(test)]
mod tests;
pub mod time;
pub mod uuid;

use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use serde::{Deserialize, Serialize};

pub use forms::{Binary, Counted, Forms, Spelled, Visitor};
pub use json::types_json;
pub use table::TYPES;

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
