//! Blocks as columns of known types.

use super::cursor::Cursor;
use super::types::{signed, Type};
use super::Block;
use crate::engine::shared::clear;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::decimals::decimal_text;
use inrush_rows::rows::{Column, Columns, ListValues, Values};
use inrush_rows::types::date::date_text;

/// The rows of a block, in place of what `batch` held. Errors: what is not how it was stored.
pub fn fill(block: &Block<'_>, batch: &mut Columns) -> Result<(), String> {
    clear(batch);
    if block.columns.len() != batch.columns.len() {
        let (found, wanted) = (block.columns.len(), batch.columns.len());
        return Err(format!("{found} columns came of {wanted}"));
    }
    for (found, column) in block.columns.iter().zip(&mut batch.columns) {
        let mut cursor = Cursor::new(found.data);
        append(column, &found.ty, block.rows, &mut cursor).ok_or_else(|| {
            format!("column {} came as {:?}, which is not how it was stored", found.name, found.ty)
        })?;
    }
    batch.rows = block.rows;
    Ok(())
}

/// The values of one column behind those that are there; `None` where the type is not one that rows are stored as.
fn append(column: &mut Column, ty: &Type, rows: usize, cursor: &mut Cursor<'_>) -> Option<()> {
    match ty {
        Type::Nullable(inner) => {
            column.present.extend(cursor.take(rows)?.iter().map(|null| 1 - null.min(&1)));
            append_plain(&mut column.values, column.ty, inner, rows, cursor)
        }
        // Lists that may be NULL: lists of one list or of none.
        Type::Array(inner) if matches!(**inner, Type::Array(_)) => {
            let Values::List(list) = &mut column.values else { return None };
            let outer = ends(rows, cursor)?;
            let item = column.ty.item()?;
            let mut inner_list = ListValues::of(item);
            append_list(&mut inner_list, inner, *outer.last().unwrap_or(&0) as usize, cursor)?;
            let mut before = 0;
            for end in outer {
                let lists = u8::try_from(end - before).ok().filter(|&lists| lists <= 1)?;
                column.present.push(lists);
                let last = if end == 0 { 0 } else { *inner_list.ends.get(end as usize - 1)? };
                list.ends.push(last);
                before = end;
            }
            (list.items, list.present) = (inner_list.items, inner_list.present);
            Some(())
        }
        ty => append_plain(&mut column.values, column.ty, ty, rows, cursor),
    }
}

/// ty_of: the type that the values have in the plan.
pub fn append_plain(
    values: &mut Values,
    ty_of: LogicalType,
    ty: &Type,
    rows: usize,
    cursor: &mut Cursor<'_>,
) -> Option<()> {
    match (values, ty) {
        (Values::I32(v), Type::Int { bytes: 1, signed: false } | Type::Bool) => {
            v.extend(cursor.take(rows)?.iter().map(|&b| i32::from(b)));
        }
        (Values::I32(v), Type::Int { bytes: 2, signed: true }) => {
            v.extend(cursor.numbers(rows, |b| i32::from(i16::from_le_bytes(b)))?);
        }
        (Values::I32(v), Type::Int { bytes: 2, signed: false }) => {
            v.extend(cursor.numbers(rows, |b| i32::from(u16::from_le_bytes(b)))?);
        }
        (Values::I32(v), Type::Int { bytes: 4, signed: true }) => {
            v.extend(cursor.numbers(rows, i32::from_le_bytes)?);
        }
        (Values::I64(v), Type::Int { bytes: 4, signed: false }) => {
            v.extend(cursor.numbers(rows, |b| i64::from(u32::from_le_bytes(b)))?);
        }
        (Values::I64(v), Type::Int { bytes: 8, .. }) => v.extend(cursor.numbers(rows, i64::from_le_bytes)?),
        (Values::F32(v), Type::Float32) => v.extend(cursor.numbers(rows, f32::from_le_bytes)?),
        (Values::F64(v), Type::Float64) => v.extend(cursor.numbers(rows, f64::from_le_bytes)?),
        (Values::Text(v), Type::Enum { bytes, names }) => {
            for cell in cursor.take(rows.checked_mul(*bytes)?)?.chunks_exact(*bytes) {
                let number = signed(cell);
                // Where NULL is there is 0, which may be no label.
                let found = names.binary_search_by_key(&number, |(number, _)| i128::from(*number));
                v.push(found.map_or(&b""[..], |at| names[at].1.as_bytes()));
            }
        }
        (Values::Text(v), Type::Date(2)) if ty_of == LogicalType::Date => {
            for days in cursor.numbers(rows, u16::from_le_bytes)? {
                v.push(date_text(days.into())?.as_bytes());
            }
        }
        (Values::Text(v), Type::Text) if ty_of == LogicalType::Blob => {
            for _ in 0..rows {
                v.push(cursor.text()?);
            }
        }
        (Values::Text(v), Type::Text) => {
            for _ in 0..rows {
                v.push(std::str::from_utf8(cursor.text()?).ok()?.as_bytes());
            }
        }
        (Values::Text(v), Type::Decimal { bytes, scale }) => {
            let cells = cursor.take(rows.checked_mul(*bytes)?)?;
            cells.chunks_exact(*bytes).for_each(|cell| v.push(decimal_text(signed(cell), *scale).as_bytes()));
        }
        (Values::List(list), Type::Array(_)) => append_list(list, ty, rows, cursor)?,
        _ => return None,
    }
    Some(())
}

fn append_list(list: &mut ListValues, ty: &Type, rows: usize, cursor: &mut Cursor<'_>) -> Option<()> {
    let Type::Array(item) = ty else { return None };
    let ends = ends(rows, cursor)?;
    let items = *ends.last().unwrap_or(&0) as usize;
    match &**item {
        Type::Nullable(inner) => {
            list.present.extend(cursor.take(items)?.iter().map(|null| 1 - null.min(&1)));
            append_plain(&mut list.items, LogicalType::Text, inner, items, cursor)?;
        }
        item => append_plain(&mut list.items, LogicalType::Text, item, items, cursor)?,
    }
    list.ends.extend(ends.iter().map(|&end| end as u32));
    Some(())
}

/// Where lists end: numbers that do not fall and that a list of ours can hold.
fn ends(rows: usize, cursor: &mut Cursor<'_>) -> Option<Vec<u64>> {
    let ends: Vec<u64> = cursor.words(rows)?.collect();
    let fits = ends.last().is_none_or(|&last| last <= u64::from(u32::MAX));
    (fits && ends.is_sorted()).then_some(ends)
}
