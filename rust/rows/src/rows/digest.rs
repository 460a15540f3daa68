//! Digests of rows in any order.

use super::columns::{Column, Columns, ListValues, Values};
use super::generate::RowGen;
use super::hash::{mix, STEP};
use super::simd::{vectorised, Level};

/// Sum of the row hashes: equal for equal multisets of rows, in whatever order and parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest {
    pub rows: u64,
    pub sum: u128,
}

impl Digest {
    pub fn add(&mut self, hashes: &[u128]) {
        self.rows += hashes.len() as u64;
        self.sum = hashes.iter().fold(self.sum, |sum, &h| sum.wrapping_add(h));
    }

    /// One number of words in their order.
    pub fn of_words(words: &[u64]) -> u128 {
        words.iter().fold(u128::from(STEP), |state, &word| step(state, word))
    }

    pub fn merge(&mut self, other: &Digest) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// Digest of generated rows, without a database.
pub fn digest(gen: &RowGen, first_row: u64, rows: u64) -> Digest {
    const BATCH: u64 = 8192;
    let mut columns = gen.columns(BATCH.min(rows) as usize);
    let (mut hashes, mut whole) = (Vec::new(), Digest::default());
    let mut done = 0;
    while done < rows {
        let n = (rows - done).min(BATCH);
        gen.fill(first_row + done, n as usize, &mut columns);
        row_hashes(&columns, &mut hashes);
        whole.add(&hashes);
        done += n;
    }
    whole
}

const NULL: u64 = 0x6e75_6c6c_6e75_6c6c;

/// One 128-bit hash per row, over all values in column order; replaces what `out` held.
///
/// Integers and times count by their 64-bit value, floats by their bits, texts by bytes; NULL is
/// none of them. Column names and wire types do not enter.
pub fn row_hashes(columns: &Columns, out: &mut Vec<u128>) {
    let level = Level::best();
    let n = columns.rows;
    out.clear();
    out.resize(n, u128::from(STEP));
    for column in &columns.columns {
        let state = &mut out[..];
        match &column.values {
            Values::I32(v) => fold(column, v[..n].iter().map(|&v| v as i64 as u64), state),
            Values::I64(v) => fold_integers(level, column, &v[..n], state),
            Values::F32(v) => fold(column, v[..n].iter().map(|v| v.to_bits() as u64), state),
            Values::F64(v) => fold(column, v[..n].iter().map(|v| v.to_bits()), state),
            Values::Text(v) => fold(column, (0..n).map(|i| hash_bytes(v.get(i))), state),
            Values::List(v) => fold(column, (0..n).map(|i| hash_items(v, i)), state),
        }
    }
}

fn fold_integers(level: Level, column: &Column, values: &[i64], state: &mut [u128]) {
    if column.present.is_empty() {
        fold_present(level, values, state);
    } else {
        fold(column, values.iter().map(|&v| v as u64), state);
    }
}

fn fold(column: &Column, values: impl Iterator<Item = u64>, state: &mut [u128]) {
    if column.present.is_empty() {
        state.iter_mut().zip(values).for_each(|(state, v)| *state = step(*state, v));
    } else {
        for ((state, v), &present) in state.iter_mut().zip(values).zip(&column.present) {
            // The extra step keeps NULL apart from every value.
            *state = if present == 1 { step(*state, v) } else { step(step(*state, NULL), NULL) };
        }
    }
}

vectorised! {
    fn fold_present(values: &[i64], state: &mut [u128]) {
        state.iter_mut().zip(values).for_each(|(state, &v)| *state = step(*state, v as u64));
    }
}

/// Two 64-bit states, each a bijection of itself for a given value and dependent on the order of values.
#[inline(always)]
fn step(state: u128, value: u64) -> u128 {
    let (a, b) = ((state >> 64) as u64, state as u64);
    let m = mix(value ^ 0x243f_6a88_85a3_08d3);
    let a = (a.rotate_left(23) ^ m).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let b = mix(b.wrapping_add(m).wrapping_add(0x1319_8a2e_0370_7344));
    ((a as u128) << 64) | b as u128
}

/// Length included: "" and "\0" differ.
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    words.fold(mix(bytes.len() as u64 ^ 0x7465_7874), |h, word| mix(h ^ word).wrapping_add(h.rotate_left(29)))
}

pub(super) fn hash_items(list: &ListValues, row: usize) -> u64 {
    let range = list.range(row);
    let start = mix(range.len() as u64 ^ 0x6c69_7374);
    let fold = |h: u64, v: u64| mix(h ^ mix(v)).wrapping_add(h.rotate_left(29));
    if !list.present.is_empty() {
        // The extra step keeps NULL apart from every value.
        let item = |h, at| match list.is_present(at) {
            true => fold(h, item_bits(&list.items, at)),
            false => fold(fold(h, NULL), NULL),
        };
        return range.fold(start, item);
    }
    match &*list.items {
        Values::I64(items) => items[range].iter().fold(start, |h, &v| fold(h, v as u64)),
        Values::F64(items) => items[range].iter().fold(start, |h, v| fold(h, v.to_bits())),
        items => range.fold(start, |h, at| fold(h, item_bits(items, at))),
    }
}

fn item_bits(items: &Values, at: usize) -> u64 {
    match items {
        Values::I32(v) => v[at] as i64 as u64,
        Values::I64(v) => v[at] as u64,
        Values::F32(v) => v[at].to_bits() as u64,
        Values::F64(v) => v[at].to_bits(),
        Values::Text(v) => hash_bytes(v.get(at)),
        Values::List(_) => unreachable!("no list holds lists"),
    }
}
