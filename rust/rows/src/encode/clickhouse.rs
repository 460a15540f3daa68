//! Types of ClickHouse that rows are stored as: what `native` and `rowbinary` share.

use std::collections::HashMap;

use super::mismatch;
use crate::error::Error;
use crate::plan::{ColumnPlan, GenPlan, LogicalType, TablePlan};
use crate::rows::decimals::decimal_units;
use crate::rows::{Column, Columns, ListValues, TextValues, Values};
use crate::types::date::date_days;
use crate::types::Holds;

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

/// Values of one column as its type on the wire takes them.
pub(super) enum Cells<'a> {
    U8(&'a [i32]),
    /// Two bytes each, of either sign.
    Two(&'a [i32]),
    I32(&'a [i32]),
    U32(&'a [i64]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Text(&'a [u8], &'a [u32]),
    /// Two bytes for each text: the place of a label among those of the type, from 1 on, or a day since 1970; 0 where
    /// NULL is.
    Numbered(Vec<u16>),
    /// Texts of decimals, and the bytes of each as a number.
    Decimal(&'a TextValues, usize),
    List(&'a ListValues),
    /// Lists of other items, or with NULL in them, and their items.
    Lists(&'a ListValues, Box<Cells<'a>>, bool),
}

/// All columns of a batch; an error where it is not the table that the types are of.
pub(super) fn cells<'a>(
    rows: &'a Columns,
    types: &[ChType],
    labels: &[Labels],
    wire: &'static str,
) -> Result<Vec<Cells<'a>>, Error> {
    if rows.columns.len() != types.len() {
        return Err(mismatch("(all)", wire));
    }
    let each = rows.columns.iter().zip(types).zip(labels);
    each.map(|((column, ty), labels)| match ty.plain {
        Plain::Enum => numbered(column, *ty, "its enum", wire, |text| labels.get(text).copied()),
        Plain::Date => numbered(column, *ty, "the days of Date, 1970-01-01 to 2149-06-06", wire, |text| {
            date_days(text).and_then(|days| u16::try_from(days).ok())
        }),
        _ => cells_of(column, *ty, wire),
    })
    .collect()
}

/// Of a column of labels, the place of each; empty of any other.
pub(super) type Labels = HashMap<Vec<u8>, u16>;

pub(super) fn labels(table: &TablePlan) -> Vec<Labels> {
    let of = |column: &ColumnPlan| {
        let labels = match (&column.gen, column.ty) {
            (Some(gen), LogicalType::Enum) => gen.labels(),
            _ => Vec::new(),
        };
        labels.into_iter().zip(1..).map(|(label, place)| (label.as_bytes().to_vec(), place)).collect()
    };
    table.columns.iter().map(of).collect()
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

fn numbered<'a>(
    column: &Column,
    ty: ChType,
    of: &'static str,
    wire: &'static str,
    number: impl Fn(&[u8]) -> Option<u16>,
) -> Result<Cells<'a>, Error> {
    let Values::Text(v) = &column.values else { return Err(mismatch(&column.name, wire)) };
    let number = |row: usize| match (column.is_present(row), number(v.get(row))) {
        (false, _) if ty.nullable => Ok(0),
        (true, Some(number)) => Ok(number),
        _ => Err(super::does_not_fit(&column.name, String::from_utf8_lossy(v.get(row)), of)),
    };
    Ok(Cells::Numbered((0..v.ends.len()).map(number).collect::<Result<_, _>>()?))
}

fn cells_of<'a>(column: &'a Column, ty: ChType, wire: &'static str) -> Result<Cells<'a>, Error> {
    if !ty.nullable && column.present.contains(&0) {
        let what = format!("column {}: it has a NULL, and {} takes none", column.name, ty.name());
        return Err(Error::Plan(format!("{what}; give it a null_share, so that its type is made for NULL")));
    }
    values_of(&column.values, &column.name, column, ty.plain, wire)
}

/// column: where the values stand, or the lists whose items they are.
fn values_of<'a>(
    values: &'a Values,
    name: &str,
    column: &'a Column,
    plain: Plain,
    wire: &'static str,
) -> Result<Cells<'a>, Error> {
    let ty = ChType { plain, nullable: false };
    let narrow =
        |values: &[i32], least: i32, most: i32| match values.iter().find(|v| !(least..=most).contains(v)) {
            Some(value) => Err(super::does_not_fit(&column.name, value, &ty.name())),
            None => Ok(()),
        };
    Ok(match (values, plain) {
        (Values::I32(v), Plain::UInt8) => {
            narrow(v, 0, u8::MAX.into())?;
            Cells::U8(v)
        }
        (Values::I32(v), Plain::Int16) => {
            narrow(v, i16::MIN.into(), i16::MAX.into())?;
            Cells::Two(v)
        }
        (Values::I32(v), Plain::UInt16) => {
            narrow(v, 0, u16::MAX.into())?;
            Cells::Two(v)
        }
        (Values::I32(v), Plain::Int32) => Cells::I32(v),
        (Values::I64(v), Plain::UInt32) => match v.iter().find(|&&v| u32::try_from(v).is_err()) {
            Some(value) => return Err(super::does_not_fit(&column.name, value, &ty.name())),
            None => Cells::U32(v),
        },
        (Values::I64(v), Plain::Int64 | Plain::UInt64) => Cells::I64(v),
        (Values::F32(v), Plain::Float32) => Cells::F32(v),
        (Values::F64(v), Plain::Float64) => Cells::F64(v),
        (Values::Text(v), Plain::String) => Cells::Text(&v.bytes, &v.ends),
        (Values::Text(v), Plain::Decimal { precision, scale }) => {
            let most = 10i128.pow(precision.into());
            let fits = |text: &[u8]| {
                decimal_units(text).is_some_and(|(units, digits)| {
                    digits == usize::from(scale) && -most < units && units < most
                })
            };
            if let Some(row) = (0..v.ends.len()).find(|&row| column.is_present(row) && !fits(v.get(row))) {
                let text = String::from_utf8_lossy(v.get(row));
                return Err(super::does_not_fit(&column.name, text, &ty.name()));
            }
            Cells::Decimal(v, decimal_bytes(precision.into()).expect("it was parsed"))
        }
        (Values::List(v), Plain::ListF64) if matches!(*v.items, Values::F64(_)) => Cells::List(v),
        (Values::List(v), Plain::ListI64) if matches!(*v.items, Values::I64(_)) => Cells::List(v),
        (Values::List(v), Plain::List { item, nullable }) => {
            if !nullable && v.present.contains(&0) {
                return Err(mismatch(&column.name, "a list without NULL in it"));
            }
            Cells::Lists(
                v,
                Box::new(values_of(&v.items, &column.name, column, item.plain(), wire)?),
                nullable,
            )
        }
        _ => return Err(mismatch(name, wire)),
    })
}

/// Where value `row` of a text or list begins.
pub(super) fn start(ends: &[u32], row: usize) -> usize {
    if row == 0 {
        0
    } else {
        ends[row - 1] as usize
    }
}

/// The number of a decimal, of whose 16 little-endian bytes the first ones are sent: 0 where NULL is.
pub(super) fn decimal_number(texts: &TextValues, row: usize) -> [u8; 16] {
    decimal_units(texts.get(row)).map_or(0, |(units, _)| units).to_le_bytes()
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
