//! Lies about rows: which are stored, and with what values.

use std::collections::HashMap;

use super::{Fault, Lie};
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::decimals::{decimal_text, decimal_units};
use inrush_rows::rows::{Column, Columns, TextValues, Values};

/// The rows as the faults would have them; `rows_before` rows have gone before these.
pub fn change(columns: &Columns, faults: &[Fault], rows_before: u64) -> Columns {
    let struck = |lie: Lie, row: usize| {
        faults.iter().any(|f| f.lie == lie && (rows_before + row as u64 + 1).is_multiple_of(f.every))
    };
    let mut kept = Vec::with_capacity(columns.rows);
    for row in 0..columns.rows {
        if !struck(Lie::Drop, row) {
            kept.push(row);
        }
        if struck(Lie::Double, row) {
            kept.push(row);
        }
    }
    let swapped: Vec<usize> = (0..columns.rows).filter(|&row| struck(Lie::Swap, row)).collect();
    let has = |lie| faults.iter().any(|f| f.lie == lie);
    let exchange = swaps(columns, &swapped);
    let changed = columns.columns.iter().enumerate().map(|(k, column)| {
        let rows =
            kept.iter().map(|&row| exchange.get(&(k, row)).copied().unwrap_or(row)).collect::<Vec<_>>();
        let mut column = gather(column, &rows);
        if has(Lie::CutMs) {
            cut_ms(&mut column);
        }
        if has(Lie::NullToZero) {
            null_to_zero(&mut column, kept.len());
        }
        if has(Lie::RoundF32) {
            round_f32(&mut column.values);
        }
        column
    });
    Columns::new(kept.len(), changed.collect())
}

/// The zero of its type stands where NULL did: of texts the empty one, of decimals that of as many digits.
pub fn null_to_zero(column: &mut Column, rows: usize) {
    let scale = |texts: &TextValues| {
        let there = (0..rows).find(|&row| column.is_present(row));
        there.and_then(|row| decimal_units(texts.get(row))).map_or(0, |(_, scale)| scale)
    };
    let zero = match (column.ty, &column.values) {
        (LogicalType::Decimal, Values::Text(texts)) => Some(decimal_text(0, scale(texts)).into_bytes()),
        (ty, _) => ty.forms().map(|forms| forms.zero.into()),
    };
    if let (Some(zero), Values::Text(texts)) = (zero, &column.values) {
        let mut filled = TextValues::default();
        (0..rows).for_each(|row| filled.push(if column.is_present(row) { texts.get(row) } else { &zero }));
        column.values = Values::Text(filled);
    }
    column.present.clear();
    if let Values::List(list) = &mut column.values {
        // Zeros stand there already.
        list.present.clear();
    }
}

/// (column, row) -> the row whose value stands there: for each struck row one column that it exchanges with a neighbour.
fn swaps(columns: &Columns, struck: &[usize]) -> HashMap<(usize, usize), usize> {
    let mut exchange = HashMap::new();
    for &row in struck {
        let other = if row + 1 < columns.rows { row + 1 } else { row.saturating_sub(1) };
        let differs = |k: &usize| columns.columns[*k].value(row) != columns.columns[*k].value(other);
        // The last column that differs: a key that moves is easily found, a measured value is not.
        if let Some(k) = (0..columns.columns.len()).rev().find(differs) {
            exchange.insert((k, row), other);
            exchange.insert((k, other), row);
        }
    }
    exchange
}

pub fn gather(column: &Column, rows: &[usize]) -> Column {
    let present = if column.present.is_empty() { Vec::new() } else { pick(&column.present, rows) };
    let mut values = Values::for_type(column.ty);
    rows.iter().for_each(|&row| values.append(&column.values, row..row + 1));
    Column { name: column.name.clone(), ty: column.ty, values, present }
}

fn pick<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&row| values[row]).collect()
}

fn cut_ms(column: &mut Column) {
    let per_second = match column.ty {
        LogicalType::TimeMs => 1_000,
        LogicalType::TimeUs => 1_000_000,
        _ => return,
    };
    if let Values::I64(v) = &mut column.values {
        v.iter_mut().for_each(|t| *t -= t.rem_euclid(per_second));
    }
}

fn round_f32(values: &mut Values) {
    match values {
        Values::F64(v) => v.iter_mut().for_each(|x| *x = *x as f32 as f64),
        Values::List(v) => round_f32(&mut v.items),
        _ => {}
    }
}
