//! Values in columns while they are filled: room for them, what is NULL, and narrow numbers of wide ones.

use super::ColumnGenerator;
use crate::rows::columns::{Column, Values};
use crate::rows::hash::hash;
use crate::rows::simd::vectorised;

pub(super) fn reserve(values: &mut Values, column_generator: &ColumnGenerator, capacity: usize) {
    match (values, column_generator) {
        (Values::I32(v), _) => v.reserve(capacity),
        (Values::I64(v), _) => v.reserve(capacity),
        (Values::F32(v), _) => v.reserve(capacity),
        (Values::F64(v), _) => v.reserve(capacity),
        (Values::Text(v), ColumnGenerator::Text(column_generator)) => {
            v.ends.reserve(capacity);
            v.bytes.reserve(capacity * column_generator.max_bytes());
        }
        (Values::List(v), ColumnGenerator::List(column_generator)) => column_generator.reserve(capacity, v),
        (Values::Text(_) | Values::List(_), _) => unreachable!("compile makes texts and lists by type"),
    }
}

/// Room for `rows` values, those of before gone.
pub(super) fn prepare(rows: usize, values: &mut Values) {
    match values {
        Values::I32(v) => v.resize(rows, 0),
        Values::I64(v) => v.resize(rows, 0),
        Values::F32(v) => v.resize(rows, 0.0),
        Values::F64(v) => v.resize(rows, 0.0),
        Values::Text(_) | Values::List(_) => values.truncate(0),
    }
}

pub(super) fn zero_nulls(column: &mut Column, at: usize, n: usize) {
    if column.present.is_empty() {
        return;
    }
    let absent = column.present[at..at + n].iter().enumerate().filter(|(_, &p)| p == 0).map(|(i, _)| at + i);
    match &mut column.values {
        Values::I32(v) => absent.for_each(|i| v[i] = 0),
        Values::I64(v) => absent.for_each(|i| v[i] = 0),
        Values::F32(v) => absent.for_each(|i| v[i] = 0.0),
        Values::F64(v) => absent.for_each(|i| v[i] = 0.0),
        // Never written.
        Values::Text(_) | Values::List(_) => {}
    }
}

vectorised! {
    pub(super) fn presence(key: u64, below: u64, rows: &[u64], present: &mut [u8]) {
        for (present, &row) in present.iter_mut().zip(rows) {
            *present = ((hash(key, row) >> 32) >= below) as u8;
        }
    }
}

vectorised! {
    /// Exact: compile has checked the bounds.
    pub(super) fn narrow(wide: &[i64], out: &mut [i32]) {
        for (out, &v) in out.iter_mut().zip(wide) {
            *out = v as i32;
        }
    }
}
