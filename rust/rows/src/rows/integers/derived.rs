//! Values made of other columns of the same row.

use super::super::hash::{fraction_of, fraction_of_unsigned, hash, Range};
use super::super::simd::vectorised;

vectorised! {
    pub fn ratio(whole: u64, part: u64, signed: bool, of: &[i64], out: &mut [i64]) {
        if signed {
            for (out, &v) in out.iter_mut().zip(of) {
                *out = v.wrapping_mul(whole as i64).wrapping_add(fraction_of(v, part));
            }
        } else {
            for (out, &v) in out.iter_mut().zip(of) {
                *out = v.wrapping_mul(whole as i64).wrapping_add(fraction_of_unsigned(v as u64, part) as i64);
            }
        }
    }
}

vectorised! {
    pub fn add(of: &[i64], out: &mut [i64]) {
        for (out, &v) in out.iter_mut().zip(of) {
            *out = out.wrapping_add(v);
        }
    }
}

vectorised! {
    pub fn difference(stop_at_0: bool, of: &[i64], minus: &[i64], out: &mut [i64]) {
        for ((out, &a), &b) in out.iter_mut().zip(of).zip(minus) {
            *out = if stop_at_0 && (a as u64) < b as u64 { 0 } else { a.wrapping_sub(b) };
        }
    }
}

vectorised! {
    pub fn offset(key: u64, from: i64, range: Range, rows: &[u64], of: &[i64], out: &mut [i64]) {
        for ((out, &v), &row) in out.iter_mut().zip(of).zip(rows) {
            *out = v.wrapping_add(from).wrapping_add(range.scale(hash(key, row)) as i64);
        }
    }
}
