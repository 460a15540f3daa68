//! Integers and floats where they stand: value and end, `None` for what is not in its usual form.

use super::super::parse::truth;
use super::digits::{digits, TENS};

#[inline(always)]
pub fn integer(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let negative = bytes[at] == b'-';
    let start = at + usize::from(negative);
    let (size, found) = digits(bytes, start)?;
    let value = if negative { -(size as i64) } else { size as i64 };
    (found > 0).then_some((value, start + found))
}

/// A float of which some decimals are exact: `whole` up to `MOST`, by a power of ten of `EXACT`.
pub trait Float: Copy + std::str::FromStr + 'static {
    const MOST: u64;
    const EXACT: &'static [Self];
    fn of(whole: u64, ten: Self, negative: bool) -> Self;
    fn is_finite(self) -> bool;
}

impl Float for f64 {
    const MOST: u64 = 1 << 53;
    const EXACT: &'static [f64] = &[
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18,
    ];
    #[inline(always)]
    fn of(whole: u64, ten: f64, negative: bool) -> f64 {
        let value = whole as f64 / ten;
        if negative {
            -value
        } else {
            value
        }
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
}

impl Float for f32 {
    const MOST: u64 = 1 << 24;
    const EXACT: &'static [f32] = &[1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
    #[inline(always)]
    fn of(whole: u64, ten: f32, negative: bool) -> f32 {
        let value = whole as f32 / ten;
        if negative {
            -value
        } else {
            value
        }
    }
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
}

/// The nearest value: by one division where both of its sides are exact, else by the standard library.
#[inline(always)]
pub fn float<F: Float>(bytes: &[u8], at: usize) -> Option<(F, usize)> {
    let negative = bytes[at] == b'-';
    let start = at + usize::from(negative);
    let before = digits(bytes, start);
    let (whole, found) = before.unwrap_or((0, usize::MAX));
    if found != usize::MAX {
        let point = start + found;
        let (fraction, behind) = match bytes[point] {
            b'.' => digits(bytes, point + 1).unwrap_or((0, usize::MAX)),
            _ => (0, 0),
        };
        let end = point + usize::from(bytes[point] == b'.') + if behind == usize::MAX { 0 } else { behind };
        if behind != usize::MAX && !matches!(bytes[end], b'e' | b'E') {
            if found + behind == 0 {
                return None;
            }
            if found + behind <= 18 {
                let all = whole * TENS[behind] + fraction;
                if all <= F::MOST && behind < F::EXACT.len() {
                    return Some((F::of(all, F::EXACT[behind], negative), end));
                }
            }
            return nearest(bytes, at, end);
        }
    }
    let length = bytes[at..].iter().position(|b| !b.is_ascii_digit() && !b"+-.eE".contains(b))?;
    nearest(bytes, at, at + length)
}

#[inline(never)]
fn nearest<F: Float>(bytes: &[u8], at: usize, end: usize) -> Option<(F, usize)> {
    let value: F = std::str::from_utf8(&bytes[at..end]).ok()?.parse().ok()?;
    value.is_finite().then_some((value, end))
}

/// A truth value of up to five letters.
pub fn word(bytes: &[u8], at: usize) -> Option<(bool, usize)> {
    let length = bytes[at..].iter().take(6).position(|b| !b.is_ascii_alphanumeric())?;
    truth(&bytes[at..at + length]).ok().map(|value| (value, at + length))
}
