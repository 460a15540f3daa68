//! The types of PostgreSQL that rows are sent as, and which values go into which.

use super::super::mismatch;
use crate::error::Error;
use crate::plan::{ColumnPlan, GenPlan, LogicalType};
use crate::rows::{Column, Values};
use crate::types::Holds;

/// Types of PostgreSQL that rows are sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PgType {
    Bool,
    Int2,
    Int4,
    Int8,
    Numeric,
    /// `numeric` too, of as many digits as a value has.
    Decimal,
    Float4,
    Float8,
    Timestamptz,
    Text,
    /// A type with forms of its own.
    Spelled(LogicalType),
    Bytea,
    /// A version, then the text.
    Jsonb,
    /// `varbit`, which becomes a `bit(n)`: how many bits, then their bytes.
    Bit(u32),
    Float8List,
    Int8List,
    BoolList,
    Int2List,
    Int4List,
    Float4List,
    TextList,
}

impl PgType {
    /// From the wire type of a plan; the usual one where the plan names none.
    pub fn of(column: &ColumnPlan) -> Result<PgType, Error> {
        let ty = match column.wire.as_str() {
            "" | "varbit" if column.ty == LogicalType::Bit => {
                PgType::Bit(column.gen.as_ref().and_then(GenPlan::bits).unwrap_or(64))
            }
            "" => PgType::usual(column.ty),
            "bool" => PgType::Bool,
            "int2" => PgType::Int2,
            "int4" => PgType::Int4,
            "int8" => PgType::Int8,
            "numeric" if column.ty == LogicalType::Decimal => PgType::Decimal,
            "numeric" => PgType::Numeric,
            "float4" => PgType::Float4,
            "float8" => PgType::Float8,
            "timestamptz" => PgType::Timestamptz,
            "text" => PgType::Text,
            "bytea" => PgType::Bytea,
            "jsonb" => PgType::Jsonb,
            "float8[]" => PgType::Float8List,
            "int8[]" => PgType::Int8List,
            "bool[]" => PgType::BoolList,
            "int2[]" => PgType::Int2List,
            "int4[]" => PgType::Int4List,
            "float4[]" => PgType::Float4List,
            "text[]" => PgType::TextList,
            other => match column.ty.forms() {
                Some(forms) if forms.postgresql.name == other => PgType::Spelled(column.ty),
                _ => {
                    return Err(Error::Plan(format!(
                        "column {}: wire type {other:?} is not one of PostgreSQL's that a {} is sent as (leave it empty for {})",
                        column.name,
                        column.ty.name(),
                        PgType::usual(column.ty).name(),
                    )))
                }
            },
        };
        Ok(ty)
    }

    pub fn usual(ty: LogicalType) -> PgType {
        match (ty, ty.holds()) {
            (LogicalType::Decimal, _) => PgType::Decimal,
            (LogicalType::Json, _) => PgType::Jsonb,
            (_, Holds::Truth) => PgType::Bool,
            (_, Holds::Signed(16) | Holds::Unsigned(8)) => PgType::Int2,
            (_, Holds::Signed(32) | Holds::Unsigned(16)) => PgType::Int4,
            (_, Holds::Signed(_) | Holds::Unsigned(_)) => PgType::Int8,
            (_, Holds::Float(32)) => PgType::Float4,
            (_, Holds::Float(_)) => PgType::Float8,
            (_, Holds::Time(_)) => PgType::Timestamptz,
            (_, Holds::Text) => PgType::Text,
            (_, Holds::Bytes) => PgType::Bytea,
            (_, Holds::Bits) => PgType::Bit(64),
            (_, Holds::Spelled) => PgType::Spelled(ty),
            (_, Holds::List(item)) => PgType::usual(item).list().expect("every item has a list"),
        }
    }

    /// The lists of this type, of those that are items.
    fn list(self) -> Option<PgType> {
        LISTS.iter().find(|list| list.element() == Some(self)).copied()
    }

    /// As PostgreSQL calls it, in messages.
    pub(super) fn name(self) -> String {
        match self {
            PgType::Spelled(ty) => ty.forms().map_or(ty.name(), |forms| forms.postgresql.name).to_owned(),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    /// Of a list, the type of its items.
    pub fn element(self) -> Option<PgType> {
        Some(match self {
            PgType::Float8List => PgType::Float8,
            PgType::Int8List => PgType::Int8,
            PgType::BoolList => PgType::Bool,
            PgType::Int2List => PgType::Int2,
            PgType::Int4List => PgType::Int4,
            PgType::Float4List => PgType::Float4,
            PgType::TextList => PgType::Text,
            _ => return None,
        })
    }

    /// Object id in every PostgreSQL's catalogue (`pg_type.dat`).
    pub fn oid(self) -> u32 {
        match self {
            PgType::Bool => 16,
            PgType::Bytea => 17,
            PgType::Int8 => 20,
            PgType::Int2 => 21,
            PgType::Int4 => 23,
            PgType::Text => 25,
            PgType::Float4 => 700,
            PgType::Float8 => 701,
            PgType::BoolList => 1000,
            PgType::Int2List => 1005,
            PgType::Int4List => 1007,
            PgType::TextList => 1009,
            PgType::Int8List => 1016,
            PgType::Float4List => 1021,
            PgType::Float8List => 1022,
            PgType::Timestamptz => 1184,
            PgType::Numeric | PgType::Decimal => 1700,
            PgType::Spelled(ty) => ty.forms().expect("it has forms").postgresql.oid,
            PgType::Bit(_) => 1562,
            PgType::Jsonb => 3802,
        }
    }

    /// Bytes of a value without its length word; `None`: each value has its own.
    #[inline]
    pub(super) fn width(self) -> Option<usize> {
        match self {
            PgType::Bool => Some(1),
            PgType::Int2 => Some(2),
            PgType::Int4 | PgType::Float4 => Some(4),
            PgType::Int8 | PgType::Float8 | PgType::Timestamptz => Some(8),
            PgType::Spelled(ty) => ty.forms().expect("it has forms").postgresql.width,
            PgType::Numeric => Some(NUMERIC_BYTES),
            PgType::Bit(bits) => Some(4 + bits.div_ceil(8) as usize),
            PgType::Text | PgType::Decimal | PgType::Bytea | PgType::Jsonb => None,
            PgType::Float8List | PgType::Int8List | PgType::BoolList | PgType::Int2List => None,
            PgType::Int4List | PgType::Float4List | PgType::TextList => None,
        }
    }
}

const LISTS: [PgType; 7] = [
    PgType::Float8List,
    PgType::Int8List,
    PgType::BoolList,
    PgType::Int2List,
    PgType::Int4List,
    PgType::Float4List,
    PgType::TextList,
];

/// Five digits of base 10,000 hold every 64-bit integer; the server strips leading zeros itself.
pub(super) const NUMERIC_BYTES: usize = 8 + 5 * 2;

/// Values and wire type belong together, and every row has its value.
pub(super) fn check(column: &Column, ty: PgType, rows: usize) -> Result<(), Error> {
    use LogicalType as L;
    let wire_fits = match ty {
        PgType::Bool => column.ty == L::Bool,
        PgType::Int2 => matches!(column.ty, L::I16 | L::I32 | L::U8 | L::U16),
        // A truth value as 0 or 1, for servers whose own has no NULL.
        PgType::Int4 => matches!(column.ty, L::I16 | L::I32 | L::U8 | L::U16 | L::Bool),
        PgType::Int8 => {
            matches!(column.ty, L::I16 | L::I32 | L::I64 | L::U8 | L::U16 | L::U32 | L::U64)
        }
        PgType::Numeric => matches!(column.ty, L::I64 | L::U32 | L::U64),
        PgType::Float4 => column.ty == L::F32,
        PgType::Float8 => matches!(column.ty, L::F32 | L::F64),
        PgType::Timestamptz => matches!(column.ty, L::TimeMs | L::TimeUs),
        // Also what a server has no type for.
        PgType::Text => matches!(column.ty, L::Text | L::Decimal | L::Enum) || column.ty.forms().is_some(),
        PgType::Bytea => column.ty == L::Blob,
        PgType::Jsonb => column.ty == L::Json,
        PgType::Bit(_) => column.ty == L::Bit,
        PgType::Decimal => column.ty == L::Decimal,
        PgType::Spelled(ty) => column.ty == ty,
        // Whole numbers too, for servers that have lists of floats alone.
        PgType::Float8List => column.ty.is_list() && !matches!(column.ty, L::ListBool | L::ListText),
        list => list == PgType::usual(column.ty),
    };
    let length = match (&column.values, &Values::for_type(column.ty)) {
        (Values::I32(v), Values::I32(_)) => Some(v.len()),
        (Values::I64(v), Values::I64(_)) => Some(v.len()),
        (Values::F32(v), Values::F32(_)) => Some(v.len()),
        (Values::F64(v), Values::F64(_)) => Some(v.len()),
        (Values::Text(v), Values::Text(_)) => Some(v.ends.len()),
        (Values::List(v), Values::List(like)) => (std::mem::discriminant(&*v.items)
            == std::mem::discriminant(&*like.items))
        .then_some(v.ends.len()),
        _ => None,
    };
    let all_present = column.present.is_empty() || column.present.len() >= rows;
    if wire_fits && length.is_some_and(|n| n >= rows) && all_present {
        Ok(())
    } else {
        Err(mismatch(&column.name, &ty.name()))
    }
}
