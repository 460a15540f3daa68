//! Values drawn from a distribution, by row or by place.

use super::super::hash::{hash, Range};
use super::super::simd::vectorised;
use super::super::table::{Alias, Quantiles};

vectorised! {
    pub fn uniform(key: u64, from: i64, range: Option<Range>, index: &[u64], out: &mut [i64]) {
        match range {
            None => out.iter_mut().zip(index).for_each(|(out, &i)| *out = from.wrapping_add(hash(key, i) as i64)),
            Some(range) => {
                for (out, &i) in out.iter_mut().zip(index) {
                    *out = from.wrapping_add(range.scale(hash(key, i)) as i64);
                }
            }
        }
    }
}

vectorised! {
    pub fn quantile(key: u64, table: &Quantiles, index: &[u64], out: &mut [i64]) {
        for (out, &i) in out.iter_mut().zip(index) {
            *out = table.at(hash(key, i));
        }
    }
}

vectorised! {
    pub fn choice(key: u64, alias: &Alias, from: i64, index: &[u64], out: &mut [i64]) {
        for (out, &i) in out.iter_mut().zip(index) {
            *out = from.wrapping_add(alias.at(hash(key, i)) as i64);
        }
    }
}

vectorised! {
    pub fn flag(key: u64, below: u64, index: &[u64], out: &mut [i64]) {
        for (out, &i) in out.iter_mut().zip(index) {
            *out = ((hash(key, i) >> 32) < below) as i64;
        }
    }
}
