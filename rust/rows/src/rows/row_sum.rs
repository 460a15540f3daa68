//! A number of every whole row that a server's SQL computes too: values that changed places between rows leave the sums of
//! their columns as they were, and change the sum of these.
//!
//! A row's number is Σ weight · remainder over its columns, and its hash enters the sum: a sum of the numbers themselves
//! would be the sums of the columns again.

use super::columns::{Column, Columns, Values};
use super::row_terms::{add_terms, Terms};
use crate::plan::ValueHash;

/// Weights are powers of the one modulo the other, the largest prime below 2^20: 4,096 terms are below 2^63. Twin of
/// `row_weights` in python/inrush/engines/base/checksum.py.
const WEIGHT_BASE: i64 = 48_271;
const WEIGHT_DIVISOR: i64 = 1_048_573;

/// Of which columns, and by the hash of which engine.
#[derive(Debug, Clone)]
pub(super) struct RowSum {
    hash: ValueHash,
    parts: Vec<Part>,
    /// The numbers hold those columns already that were hashed for sums of their own.
    pub begun: bool,
}

/// One column of the sum.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub column: usize,
    /// 64 bits without a sign.
    pub unsigned: bool,
    /// Blanks at the end do not count.
    pub trimmed: bool,
    weight: i64,
}

impl Part {
    pub(super) fn new(column: usize, unsigned: bool, trimmed: bool) -> Part {
        Part { column, unsigned, trimmed, weight: 0 }
    }
}

impl RowSum {
    pub(super) fn new(hash: ValueHash, mut parts: Vec<Part>) -> RowSum {
        let mut weight = 1;
        for part in &mut parts {
            weight = weight * WEIGHT_BASE % WEIGHT_DIVISOR;
            part.weight = weight;
        }
        RowSum { hash, parts, begun: false }
    }

    /// Takes out a column that `ValueHash` sums anyway, and gives its weight: its values need not be hashed twice.
    pub(super) fn take(&mut self, column: usize, hash: ValueHash, trimmed: bool) -> Option<i64> {
        let same = |part: &Part| part.column == column && part.trimmed == trimmed;
        let at = self.parts.iter().position(same).filter(|_| self.hash == hash)?;
        self.begun = true;
        Some(self.parts.remove(at).weight)
    }

    /// Σ hash of the number of each row. numbers: memory for them.
    pub(super) fn sum(&self, columns: &Columns, numbers: &mut Vec<i64>) -> i128 {
        if !self.begun {
            numbers.clear();
            numbers.resize(columns.rows, 0);
        }
        for part in &self.parts {
            part.add(&columns.columns[part.column], self.hash, numbers);
        }
        self.hash.sum_of_whole(numbers)
    }
}

impl Part {
    fn add(&self, column: &Column, hash: ValueHash, numbers: &mut [i64]) {
        match &column.values {
            Values::I32(v) => add_terms(Terms::I32(v), &column.present, self.weight, numbers),
            Values::I64(v) if self.unsigned => {
                add_terms(Terms::U64(v), &column.present, self.weight, numbers)
            }
            Values::I64(v) => add_terms(Terms::I64(v), &column.present, self.weight, numbers),
            Values::F32(_) | Values::F64(_) | Values::Text(_) | Values::List(_) => {
                add_hashed(column, self.weight, hash, self.trimmed, numbers);
            }
        }
    }
}

/// Hashes at a time: they stay in the nearest cache.
const BLOCK: usize = 512;

/// Adds the terms of a hashed column to the numbers of its rows; Σ of the hashes.
pub(super) fn add_hashed(
    column: &Column,
    weight: i64,
    hash: ValueHash,
    trimmed: bool,
    numbers: &mut [i64],
) -> i128 {
    let mut sum = 0;
    let mut hashes = [0; BLOCK];
    for (block, numbers) in numbers.chunks_mut(BLOCK).enumerate() {
        let (first, hashes) = (block * BLOCK, &mut hashes[..numbers.len()]);
        sum += hash.of_block(column, first, trimmed, hashes);
        let present = column.present.get(first..first + numbers.len()).unwrap_or_default();
        // Signed or not: their bits are what they are.
        let terms = if hash.is_signed() { Terms::I64(hashes) } else { Terms::U64(hashes) };
        add_terms(terms, present, weight, numbers);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LogicalType;
    use proptest::prelude::*;

    const HASHES: [ValueHash; 4] =
        [ValueHash::Postgresql, ValueHash::Crc32, ValueHash::CityHash64, ValueHash::ReadBack];

    /// A number, a text and a float in each row.
    fn table(rows: &[(Option<i64>, String, f64)]) -> Columns {
        let mut number = Column::new("n", LogicalType::I64);
        number.values = Values::I64(rows.iter().map(|row| row.0.unwrap_or(0)).collect());
        number.present = rows.iter().map(|row| row.0.is_some() as u8).collect();
        let mut text = Column::new("t", LogicalType::Text);
        if let Values::Text(texts) = &mut text.values {
            rows.iter().for_each(|row| texts.push(row.1.as_bytes()));
        }
        let mut float = Column::new("f", LogicalType::F64);
        float.values = Values::F64(rows.iter().map(|row| row.2).collect());
        Columns::new(rows.len(), vec![number, text, float])
    }

    fn sum(hash: ValueHash, rows: &[(Option<i64>, String, f64)]) -> i128 {
        let of = RowSum::new(hash, (0..3).map(|column| Part::new(column, false, false)).collect());
        hash.kept(of.sum(&table(rows), &mut Vec::new()))
    }

    proptest! {
        #[test]
        fn two_values_of_a_column_that_changed_places_change_the_sum_and_two_rows_do_not(
            mut rows in prop::collection::vec((prop::option::of(-3i64..3), "[ab]{0,2}", 0u8..3), 2..20),
            column in 0usize..3,
            (one, other) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        ) {
            let (one, other) = (one.index(rows.len()), other.index(rows.len()));
            let typed = |rows: &[(Option<i64>, String, u8)]| -> Vec<_> {
                rows.iter().map(|(n, t, f)| (*n, t.clone(), f64::from(*f))).collect()
            };
            let before = typed(&rows);
            let mut turned = before.clone();
            turned.swap(one, other);
            let mut sorted = before.clone();
            let (mut a, mut b) = (rows[one].clone(), rows[other].clone());
            match column {
                0 => std::mem::swap(&mut a.0, &mut b.0),
                1 => std::mem::swap(&mut a.1, &mut b.1),
                _ => std::mem::swap(&mut a.2, &mut b.2),
            }
            if one != other {
                (rows[one], rows[other]) = (a, b);
            }
            let mut moved = typed(&rows);
            for hash in HASHES {
                prop_assert_eq!(sum(hash, &before), sum(hash, &turned));
            }
            let moved_sums = HASHES.map(|hash| sum(hash, &moved));
            let sums = HASHES.map(|hash| sum(hash, &before));
            // The same rows in another order are the same table.
            sorted.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
            moved.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
            for (before, after) in sums.iter().zip(moved_sums) {
                prop_assert_eq!(*before == after, sorted == moved);
            }
        }
    }

    #[test]
    fn the_widest_values_of_many_columns_are_summed_without_overflow() {
        let mut column = Column::new("n", LogicalType::I64);
        column.values = Values::I64(vec![i64::MIN, i64::MAX]);
        let columns = Columns::new(2, vec![column; 4_096]);
        let parts = (0..4_096).map(|column| Part::new(column, column % 2 == 0, false));
        let of = RowSum::new(ValueHash::Postgresql, parts.collect());
        assert_ne!(of.sum(&columns, &mut Vec::new()), 0);
    }
}
