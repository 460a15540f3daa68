//! Batches that lose their connection before their answer, and what is stored of them.

use super::rows::gather;
use super::Lie;
use inrush_rows::rows::{Column, Columns, Values};

pub const CUTS: [Lie; 5] = [Lie::Cut, Lie::CutBefore, Lie::CutHalf, Lie::CutTwice, Lie::CutChanged];

/// What is stored of a batch that loses its connection so.
pub fn cut_short(columns: &Columns, how: Lie) -> Columns {
    let rows: Vec<usize> = match how {
        Lie::CutHalf => (0..columns.rows / 2).collect(),
        Lie::CutTwice => (0..columns.rows).chain(0..columns.rows).collect(),
        _ => (0..columns.rows).collect(),
    };
    let mut kept: Vec<Column> = columns.columns.iter().map(|column| gather(column, &rows)).collect();
    if let (Lie::CutChanged, Some(column)) = (how, kept.last_mut()) {
        flip(&mut column.values);
    }
    Columns::new(rows.len(), kept)
}

/// One bit of the first value is another.
fn flip(values: &mut Values) {
    match values {
        Values::I32(v) => v.iter_mut().take(1).for_each(|x| *x ^= 1),
        Values::I64(v) => v.iter_mut().take(1).for_each(|x| *x ^= 1),
        Values::F32(v) => v.iter_mut().take(1).for_each(|x| *x = f32::from_bits(x.to_bits() ^ 1)),
        Values::F64(v) => v.iter_mut().take(1).for_each(|x| *x = f64::from_bits(x.to_bits() ^ 1)),
        Values::Text(v) => v.bytes.iter_mut().take(1).for_each(|x| *x ^= 1),
        Values::List(v) => flip(&mut v.items),
    }
}
