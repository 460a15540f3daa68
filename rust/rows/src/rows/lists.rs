//! Lists: items made as if they were rows of their own.

use super::columns::{ListValues, Values};
use super::hash::{hash, scale};
use super::integers::{Chunk, IntGenerator, Sources, CHUNK};
use super::not_finite::NotFiniteShares;
use super::simd::Level;
use super::text::TextGenerator;

/// Lists of `min … min + range - 1` items; item `j` of a row is draw `row * most + j`.
#[derive(Clone)]
pub struct ListGenerator {
    pub key: u64,
    pub min: u64,
    pub range: u64,
    pub of: Items,
    /// Key of the draws, and those below which an item is NULL, in 2^-32.
    pub null: Option<(u64, u64)>,
    pub not_finite: Option<NotFiniteShares>,
}

#[derive(Clone)]
pub enum Items {
    /// unit: 2^-bits of floats.
    Integers {
        of: IntGenerator,
        unit: f64,
    },
    Texts(TextGenerator),
}

impl ListGenerator {
    pub fn most(&self) -> u64 {
        self.min + self.range - 1
    }

    /// Room for the items of `lists` lists.
    pub fn reserve(&self, lists: usize, out: &mut ListValues) {
        out.ends.reserve(lists);
        let items = lists * self.most() as usize;
        if self.null.is_some() {
            out.present.reserve(items);
        }
        match (&mut *out.items, &self.of) {
            (Values::I32(v), _) => v.reserve(items),
            (Values::I64(v), _) => v.reserve(items),
            (Values::F32(v), _) => v.reserve(items),
            (Values::F64(v), _) => v.reserve(items),
            (Values::Text(v), Items::Texts(of)) => {
                v.ends.reserve(items);
                v.bytes.reserve(items * of.max_bytes());
            }
            _ => unreachable!("compile makes items by type"),
        }
    }

    pub fn append(&self, level: Level, chunk: &Chunk, present: Option<&[u8]>, out: &mut ListValues) {
        for (i, &row) in chunk.rows.iter().enumerate() {
            if present.is_none_or(|p| p[i] == 1) {
                let items = self.min + scale(hash(self.key, row), self.range);
                self.append_items(level, row * self.most(), items as usize, out);
            }
            out.end();
        }
    }

    fn append_items(&self, level: Level, first: u64, items: usize, out: &mut ListValues) {
        let zeros = [0u64; CHUNK];
        let mut rows = [0u64; CHUNK];
        for start in (0..items).step_by(CHUNK) {
            let n = (items - start).min(CHUNK);
            rows[..n].iter_mut().enumerate().for_each(|(j, row)| *row = first + (start + j) as u64);
            let chunk = Chunk {
                rows: &rows[..n],
                series: &zeros[..n],
                sweep: &rows[..n],
                one_series: true,
                in_order: false,
            };
            let at = out.items.count();
            if let Some((key, below)) = self.null {
                out.present.resize(at, 1);
                out.present.extend(rows[..n].iter().map(|&row| u8::from((hash(key, row) >> 32) >= below)));
            }
            match (&self.of, &mut *out.items) {
                (Items::Integers { of, unit }, items) => {
                    let mut integers = [0i64; CHUNK];
                    of.fill(level, &chunk, &Sources::<CHUNK>::NONE, &mut integers[..n]);
                    put_integers(&integers[..n], *unit, items);
                }
                (Items::Texts(of), Values::Text(texts)) => {
                    let there = self.null.map(|_| &out.present[at..]);
                    of.append::<CHUNK>(level, &chunk, there, texts);
                }
                _ => unreachable!("compile makes items by type"),
            }
            if let Some(shares) = &self.not_finite {
                shares.put(&rows[..n], at, &mut out.items);
            }
            if self.null.is_some() {
                zero_nulls(&out.present[at..], at, &mut out.items);
            }
        }
    }
}

fn put_integers(integers: &[i64], unit: f64, out: &mut Values) {
    match out {
        Values::I64(out) => out.extend_from_slice(integers),
        Values::F64(out) => out.extend(integers.iter().map(|&k| k as f64 * unit)),
        // Exact: compile has checked the bounds.
        Values::I32(out) => out.extend(integers.iter().map(|&k| k as i32)),
        Values::F32(out) => out.extend(integers.iter().map(|&k| (k as f64 * unit) as f32)),
        Values::Text(_) | Values::List(_) => unreachable!("compile makes items by type"),
    }
}

/// What stands in the place of a NULL is zero; texts were never written.
fn zero_nulls(present: &[u8], at: usize, items: &mut Values) {
    let absent = present.iter().enumerate().filter(|(_, &present)| present == 0).map(|(k, _)| at + k);
    match items {
        Values::I32(v) => absent.for_each(|i| v[i] = 0),
        Values::I64(v) => absent.for_each(|i| v[i] = 0),
        Values::F32(v) => absent.for_each(|i| v[i] = 0.0),
        Values::F64(v) => absent.for_each(|i| v[i] = 0.0),
        Values::Text(_) | Values::List(_) => {}
    }
}
