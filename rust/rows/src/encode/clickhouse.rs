//! Types of ClickHouse that rows are stored as: what `native` and `rowbinary` share.

mod cells;

use crate::error::Error;
use crate::plan::{ColumnPlan, GenPlan, LogicalType, TablePlan};
use crate::types::Holds;

pub(super) use cells::{cells, decimal_number, labels, start, Cells, Labels};

/// A type without NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    UInt8,
    Int16,
    Int32,
    Int64,
    UInt16,
    UInt32,
    UInt64,
    Float32,
    Float64,
    String,
    /// A whole number of 4, 8 or 16 bytes, with so many of its digits behind the point.
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// Days since 1970, of two bytes.
    Date,
    /// Numbers of two bytes, each of which stands for a text.
    Enum,
    ListF64,
    ListI64,
    /// A list of other items, or with NULL in it.
    List {
        item: Item,
        nullable: bool,
    },
}

/// What lists hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    UInt8,
    Int16,
    Int32,
    Int64,
    UInt16,
    UInt32,
    UInt64,
    Float32,
    Float64,
    String,
}

impl Item {
    fn plain(self) -> Plain {
        ITEMS.iter().find(|(item, _)| *item == self).map(|(_, plain)| *plain).expect("every item has a type")
    }

    fn of(plain: Plain) -> Option<Item> {
        ITEMS.iter().find(|(_, of)| *of == plain).map(|(item, _)| *item)
    }
}

const ITEMS: [(Item, Plain); 10] = [
    (Item::UInt8, Plain::UInt8),
    (Item::Int16, Plain::Int16),
    (Item::Int32, Plain::Int32),
    (Item::Int64, Plain::Int64),
    (Item::UInt16, Plain::UInt16),
    (Item::UInt32, Plain::UInt32),
    (Item::UInt64, Plain::UInt64),
    (Item::Float32, Plain::Float32),
    (Item::Float64, Plain::Float64),
    (Item::String, Plain::String),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChType {
    pub plain: Plain,
    /// `Nullable(…)`; a list, which ClickHouse has no NULL for, stands in a list of its own that is empty for NULL.
    pub nullable: bool,
}

const NAMES: [(Plain, &str); 14] = [
    (Plain::UInt8, "UInt8"),
    (Plain::Int16, "Int16"),
    (Plain::Int32, "Int32"),
    (Plain::Int64, "Int64"),
    (Plain::UInt16, "UInt16"),
    (Plain::UInt32, "UInt32"),
    (Plain::UInt64, "UInt64"),
    (Plain::Float32, "Float32"),
    (Plain::Float64, "Float64"),
    (Plain::String, "String"),
    (Plain::Date, "Date"),
    // Its labels stand in the type of the column.
    (Plain::Enum, "Enum16"),
    (Plain::ListF64, "Array(Float64)"),
    (Plain::ListI64, "Array(Int64)"),
];

impl ChType {
    /// From the wire type of a plan; the usual one where the plan names none.
    pub fn of(column: &ColumnPlan) -> Result<ChType, Error> {
        if column.wire.is_empty() {
            return Ok(ChType { plain: Plain::usual(column), nullable: column.null_ppm > 0 });
        }
        ChType::parse(&column.wire).ok_or_else(|| {
            Error::Plan(format!(
                "column {}: wire type {:?} is not one that rows are sent to ClickHouse as (leave it empty for {})",
                column.name,
                column.wire,
                Plain::usual(column).name(),
            ))
        })
    }

    pub fn parse(text: &str) -> Option<ChType> {
        let plain = |text: &str| {
            let named = NAMES.iter().find(|(_, name)| *name == text).map(|(plain, _)| *plain);
            let named = named.or_else(|| text.starts_with("Enum16(").then_some(Plain::Enum));
            named.or_else(|| decimal(text)).or_else(|| list(text))
        };
        if let Some(plain) = plain(text) {
            return Some(ChType { plain, nullable: false });
        }
        let inner = |around: &str| text.strip_prefix(around)?.strip_prefix('(')?.strip_suffix(')');
        let nullable = match (inner("Nullable"), inner("Array")) {
            (Some(inner), _) => plain(inner).filter(|plain| !plain.is_list()),
            (_, Some(inner)) => plain(inner).filter(|plain| plain.is_list()),
            _ => None,
        };
        nullable.map(|plain| ChType { plain, nullable: true })
    }

    pub fn name(self) -> String {
        match (self.nullable, self.plain.is_list()) {
            (false, _) => self.plain.name(),
            (true, false) => format!("Nullable({})", self.plain.name()),
            (true, true) => format!("Array({})", self.plain.name()),
        }
    }
}

impl Plain {
    pub fn usual(column: &ColumnPlan) -> Plain {
        match (column.ty, column.ty.holds()) {
            (LogicalType::Enum, _) => Plain::Enum,
            (LogicalType::Decimal, _) => match column.gen {
                Some(GenPlan::Decimal { precision, scale, .. }) => {
                    Plain::Decimal { precision: precision as u8, scale: scale as u8 }
                }
                _ => Plain::String,
            },
            (LogicalType::ListF64, _) if !column.has_null_items() => Plain::ListF64,
            (LogicalType::ListI64, _) if !column.has_null_items() => Plain::ListI64,
            (_, Holds::List(item)) => Plain::List {
                item: Item::of(Plain::of(item.holds()))
                    .expect("no list holds lists, and every other type is an item"),
                nullable: column.has_null_items(),
            },
            (_, holds) => Plain::of(holds),
        }
    }

    /// Of what is no list.
    fn of(holds: Holds) -> Plain {
        match holds {
            Holds::Truth | Holds::Unsigned(8) => Plain::UInt8,
            Holds::Signed(16) => Plain::Int16,
            Holds::Signed(32) => Plain::Int32,
            Holds::Signed(_) | Holds::Time(_) => Plain::Int64,
            Holds::Unsigned(16) => Plain::UInt16,
            Holds::Unsigned(32) => Plain::UInt32,
            Holds::Unsigned(_) | Holds::Bits => Plain::UInt64,
            Holds::Float(32) => Plain::Float32,
            Holds::Float(_) => Plain::Float64,
            Holds::Text | Holds::Bytes | Holds::Spelled | Holds::List(_) => Plain::String,
        }
    }

    pub fn is_list(self) -> bool {
        matches!(self, Plain::ListF64 | Plain::ListI64 | Plain::List { .. })
    }

    fn name(self) -> String {
        if let Plain::Decimal { precision, scale } = self {
            return format!("Decimal({precision}, {scale})");
        }
        if let Plain::List { item, nullable } = self {
            let item = item.plain().name();
            return if nullable { format!("Array(Nullable({item}))") } else { format!("Array({item})") };
        }
        let named = NAMES.iter().find(|(plain, _)| *plain == self);
        named.map(|(_, name)| (*name).to_owned()).expect("every other type has a name")
    }
}

/// Bytes of a decimal with so many digits.
pub fn decimal_bytes(precision: usize) -> Option<usize> {
    match precision {
        1..=9 => Some(4),
        10..=18 => Some(8),
        19..=38 => Some(16),
        _ => None,
    }
}

/// `Decimal(10, 2)`.
fn decimal(text: &str) -> Option<Plain> {
    let inside = text.strip_prefix("Decimal(")?.strip_suffix(')')?;
    let (precision, scale) = inside.split_once(',')?;
    let (precision, scale): (u8, u8) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    decimal_bytes(precision.into())?;
    (scale <= precision).then_some(Plain::Decimal { precision, scale })
}

/// `Array(Nullable(Int16))`.
fn list(text: &str) -> Option<Plain> {
    let inside = text.strip_prefix("Array(")?.strip_suffix(')')?;
    let (inside, nullable) = match inside.strip_prefix("Nullable(").and_then(|item| item.strip_suffix(')')) {
        Some(item) => (item, true),
        None => (inside, false),
    };
    let item = NAMES.iter().find(|(_, name)| *name == inside).and_then(|(plain, _)| Item::of(*plain))?;
    Some(Plain::List { item, nullable })
}

/// Types of a table's columns.
pub fn types(table: &TablePlan) -> Result<Vec<ChType>, Error> {
    table.columns.iter().map(ChType::of).collect()
}

/// `Enum16('a' = 1)`, from the plan.
pub(super) fn enum_name(column: &ColumnPlan, ty: ChType) -> String {
    if !column.wire.is_empty() {
        return column.wire.clone();
    }
    let labels = column.gen.as_ref().map(|gen| gen.labels()).unwrap_or_default();
    let each: Vec<String> = labels.iter().zip(1..).map(|(label, at)| format!("'{label}' = {at}")).collect();
    let name = format!("Enum16({})", each.join(", "));
    if ty.nullable {
        format!("Nullable({name})")
    } else {
        name
    }
}

/// A length as LEB128, ClickHouse's variable-width number.
pub fn put_length(mut length: u64, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

pub fn put_text(text: &[u8], out: &mut Vec<u8>) {
    put_length(text.len() as u64, out);
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests;
