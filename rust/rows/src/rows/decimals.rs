//! Decimals: whole numbers with a point in them. They travel as text in one form: `-0.50`, `12`, `0.00`.

use super::hash::{hash, mix, scale};
use super::integers::{Chunk, IntGenerator, Sources};
use super::simd::Level;

/// Digits of a decimal, at most: what 128 bits hold, and every engine that has decimals.
pub const PRECISION_MOST: u32 = 38;
/// Sign, digits, point, and a zero before it.
pub const DECIMAL_BYTES: usize = PRECISION_MOST as usize + 3;
/// One in so many is the greatest number of the type, and one the least.
const EXTREME_EVERY: u64 = 64;

#[derive(Clone)]
pub struct Decimals {
    pub digits: Digits,
    pub scale: u32,
}

/// A number without its point.
#[derive(Clone)]
pub enum Digits {
    /// Of 1 … precision digits, each length and both signs equally often.
    Drawn {
        key: u64,
        precision: u32,
    },
    Of(IntGenerator),
}

impl Decimals {
    /// The numbers of the chunk's rows, without their points.
    pub fn fill<const ROOM: usize>(&self, level: Level, chunk: &Chunk, out: &mut [i128]) {
        match &self.digits {
            Digits::Drawn { key, precision } => {
                out.iter_mut()
                    .zip(chunk.rows)
                    .for_each(|(out, &row)| *out = drawn(hash(*key, row), *precision));
            }
            Digits::Of(of) => {
                let mut units = [0i64; ROOM];
                of.fill::<ROOM>(level, chunk, &Sources::NONE, &mut units[..chunk.len()]);
                out.iter_mut().zip(units).for_each(|(out, units)| *out = units.into());
            }
        }
    }

    pub fn is_by_place(&self) -> bool {
        matches!(&self.digits, Digits::Of(of) if of.is_by_place())
    }
}

fn drawn(draw: u64, precision: u32) -> i128 {
    let greatest = 10i128.pow(precision) - 1;
    let negative = draw & 1 == 1;
    let size = match scale(mix(draw ^ 1), EXTREME_EVERY) {
        0 => greatest,
        _ => {
            let below = 10u128.pow(1 + scale(mix(draw ^ 2), precision.into()) as u32);
            let wide = u128::from(mix(draw ^ 3)) << 64 | u128::from(mix(draw ^ 4));
            // Of 38 digits some numbers come a third more often than others, which no proof minds.
            (wide % below) as i128
        }
    };
    if negative {
        -size
    } else {
        size
    }
}

/// Appends a number with `scale` digits behind its point.
pub fn put_decimal(units: i128, scale: usize, out: &mut Vec<u8>) {
    use std::io::Write;
    if units < 0 {
        out.push(b'-');
    }
    let first = out.len();
    write!(out, "{:0>width$}", units.unsigned_abs(), width = scale + 1)
        .expect("a vector takes what is written");
    if scale > 0 {
        let point = out.len() - scale;
        debug_assert!(point > first);
        out.insert(point, b'.');
    }
}

/// As `put_decimal`, a text of its own.
pub fn decimal_text(units: i128, scale: usize) -> String {
    let mut out = Vec::with_capacity(DECIMAL_BYTES);
    put_decimal(units, scale, &mut out);
    String::from_utf8(out).expect("digits are ASCII")
}

/// The number without its point, and how many digits stood behind it; `None`: no decimal in the form of `put_decimal`.
pub fn decimal_units(text: &[u8]) -> Option<(i128, usize)> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let point = digits.iter().position(|&byte| byte == b'.');
    let scale = point.map_or(0, |at| digits.len() - at - 1);
    if point == Some(0) || point.is_some() && scale == 0 {
        return None;
    }
    let mut size: i128 = 0;
    for &byte in digits.iter().enumerate().filter(|(at, _)| Some(*at) != point).map(|(_, byte)| byte) {
        let digit = byte.is_ascii_digit().then(|| i128::from(byte - b'0'))?;
        size = size.checked_mul(10)?.checked_add(digit)?;
    }
    (!digits.is_empty()).then_some((if negative { -size } else { size }, scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_leads_back_to_its_number(units in -(10i128.pow(38) - 1)..10i128.pow(38), scale in 0usize..=38) {
            let text = decimal_text(units, scale);
            prop_assert_eq!(decimal_units(text.as_bytes()), Some((units, scale)), "{}", text);
            prop_assert!(text.len() <= DECIMAL_BYTES);
        }

        #[test]
        fn a_drawn_number_has_no_more_digits_than_its_type(draw: u64, precision in 1u32..=PRECISION_MOST) {
            prop_assert!(drawn(draw, precision).unsigned_abs() < 10u128.pow(precision));
        }
    }

    #[test]
    fn numbers_have_one_form() {
        let of = |units, scale| decimal_text(units, scale);
        assert_eq!(
            [of(0, 0), of(0, 2), of(-5, 3), of(-1230, 2), of(7, 1)],
            ["0", "0.00", "-0.005", "-12.30", "0.7"]
        );
        for other in ["", "-", ".5", "5.", "1e3", "+1", "NaN", "1.2.3", "1 "] {
            assert_eq!(decimal_units(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn every_length_and_both_ends_are_drawn() {
        let drawn: Vec<i128> = (0..20_000).map(|row| drawn(mix(row), 38)).collect();
        let ends = 10i128.pow(38) - 1;
        assert!(drawn.contains(&ends) && drawn.contains(&-ends));
        for digits in 1..38u32 {
            let of = |v: &&i128| {
                v.unsigned_abs() >= 10u128.pow(digits - 1) && v.unsigned_abs() < 10u128.pow(digits)
            };
            let found = drawn.iter().filter(of).count();
            assert!((300..800).contains(&found), "{found} of {digits} digits");
        }
        assert!(drawn.contains(&0));
    }
}
