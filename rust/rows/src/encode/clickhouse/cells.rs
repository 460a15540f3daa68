//! Values of a batch as the types of its columns take them: each looked at before the first byte is written.

use std::collections::HashMap;

use super::{decimal_bytes, ChType, Plain};
use crate::encode::{does_not_fit, mismatch};
use crate::error::Error;
use crate::plan::{ColumnPlan, LogicalType, TablePlan};
use crate::rows::decimals::decimal_units;
use crate::rows::{Column, Columns, ListValues, TextValues, Values};
use crate::types::date::date_days;

/// Values of one column as its type on the wire takes them.
pub(in crate::encode) enum Cells<'a> {
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
pub(in crate::encode) fn cells<'a>(
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
pub(in crate::encode) type Labels = HashMap<Vec<u8>, u16>;

pub(in crate::encode) fn labels(table: &TablePlan) -> Vec<Labels> {
    let of = |column: &ColumnPlan| {
        let labels = match (&column.gen, column.ty) {
            (Some(gen), LogicalType::Enum) => gen.labels(),
            _ => Vec::new(),
        };
        labels.into_iter().zip(1..).map(|(label, place)| (label.as_bytes().to_vec(), place)).collect()
    };
    table.columns.iter().map(of).collect()
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
        _ => Err(does_not_fit(&column.name, String::from_utf8_lossy(v.get(row)), of)),
    };
    Ok(Cells::Numbered((0..v.ends.len()).map(number).collect::<Result<_, _>>()?))
}

fn cells_of<'a>(column: &'a Column, ty: ChType, wire: &'static str) -> Result<Cells<'a>, Error> {
    if !ty.nullable && column.present.contains(&0) {
        let what = format!("column {}: it has a NULL, and {} takes none", column.name, ty.name());
        return Err(Error::Plan(format!("{what}; give it a null_share, so that its type is made for NULL")));
    }
    values_of(&column.values, column, ty.plain, wire)
}

/// column: where the values stand, or the lists whose items they are.
fn values_of<'a>(
    values: &'a Values,
    column: &'a Column,
    plain: Plain,
    wire: &'static str,
) -> Result<Cells<'a>, Error> {
    let narrow =
        |values: &[i32], least: i32, most: i32| match values.iter().find(|v| !(least..=most).contains(v)) {
            Some(value) => Err(does_not_fit(&column.name, value, &plain.name())),
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
            Some(value) => return Err(does_not_fit(&column.name, value, &plain.name())),
            None => Cells::U32(v),
        },
        (Values::I64(v), Plain::Int64 | Plain::UInt64) => Cells::I64(v),
        (Values::F32(v), Plain::Float32) => Cells::F32(v),
        (Values::F64(v), Plain::Float64) => Cells::F64(v),
        (Values::Text(v), Plain::String) => Cells::Text(&v.bytes, &v.ends),
        (Values::Text(v), Plain::Decimal { precision, scale }) => {
            if let Some(row) = unfit_decimal(column, v, precision, scale) {
                return Err(does_not_fit(&column.name, String::from_utf8_lossy(v.get(row)), &plain.name()));
            }
            Cells::Decimal(v, decimal_bytes(precision.into()).expect("it was parsed"))
        }
        (Values::List(v), Plain::ListF64) if matches!(*v.items, Values::F64(_)) => Cells::List(v),
        (Values::List(v), Plain::ListI64) if matches!(*v.items, Values::I64(_)) => Cells::List(v),
        (Values::List(v), Plain::List { item, nullable }) => {
            if !nullable && v.present.contains(&0) {
                return Err(mismatch(&column.name, "a list without NULL in it"));
            }
            Cells::Lists(v, Box::new(values_of(&v.items, column, item.plain(), wire)?), nullable)
        }
        _ => return Err(mismatch(&column.name, wire)),
    })
}

/// The first row whose decimal has other digits than its type says, before the point or behind it.
fn unfit_decimal(column: &Column, texts: &TextValues, precision: u8, scale: u8) -> Option<usize> {
    let most = 10i128.pow(precision.into());
    let fits = |text: &[u8]| {
        decimal_units(text)
            .is_some_and(|(units, digits)| digits == usize::from(scale) && -most < units && units < most)
    };
    (0..texts.ends.len()).find(|&row| column.is_present(row) && !fits(texts.get(row)))
}

/// Where value `row` of a text or list begins.
pub(in crate::encode) fn start(ends: &[u32], row: usize) -> usize {
    if row == 0 {
        0
    } else {
        ends[row - 1] as usize
    }
}

/// The number of a decimal, of whose 16 little-endian bytes the first ones are sent: 0 where NULL is.
pub(in crate::encode) fn decimal_number(texts: &TextValues, row: usize) -> [u8; 16] {
    decimal_units(texts.get(row)).map_or(0, |(units, _)| units).to_le_bytes()
}
