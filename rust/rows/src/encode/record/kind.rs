//! Types of NDB, by the names that plans have.

use crate::plan::LogicalType;
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
const LONGEST: u32 = 14_000;

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
    pub(super) fn usual(ty: LogicalType) -> Option<Kind> {
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
    pub(super) fn front(self) -> u32 {
        match self {
            Kind::Variable(..=SHORT) => 1,
            Kind::Variable(_) => 2,
            _ => 0,
        }
    }
}
