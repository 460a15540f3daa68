//! Terms of a row's number: weight · (value modulo 2^31 - 1), for as many rows at once as the machine's registers hold.

use super::simd::{vectorised, Level};

/// 2^31 - 1, a prime: remainders have the sign of the dividend, as in SQL. It stands for NULL itself, which no remainder is.
pub(super) const DIVISOR: i64 = 2_147_483_647;

/// What a row has for one column.
pub(super) enum Terms<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
    /// The bits of numbers without a sign.
    U64(&'a [i64]),
}

/// Adds a column's terms to the numbers of its rows. weight: at least 1, below 2^20. All slices are of one length, but
/// that `present` is empty where no value is NULL.
pub(super) fn add_terms(terms: Terms, present: &[u8], weight: i64, numbers: &mut [i64]) {
    let level = Level::best();
    match (terms, present.is_empty()) {
        (Terms::I32(v), true) => add_i32(level, v, weight, numbers),
        (Terms::I64(v), true) => add_i64(level, v, weight, numbers),
        (Terms::U64(v), true) => add_u64(level, v, weight, numbers),
        (Terms::I32(v), false) => add_some_i32(level, v, present, weight, numbers),
        (Terms::I64(v), false) => add_some_i64(level, v, present, weight, numbers),
        (Terms::U64(v), false) => add_some_u64(level, v, present, weight, numbers),
    }
}

/// Both are of 32 bits: one instruction multiplies several.
#[inline(always)]
fn weighted(remainder: i64, weight: i64) -> i64 {
    i64::from(remainder as i32) * i64::from(weight as i32)
}

macro_rules! terms {
    ($all:ident, $some:ident, $value:ty, $remainder:expr) => {
        vectorised! {
            fn $all(values: &[$value], weight: i64, numbers: &mut [i64]) {
                for (number, &value) in numbers.iter_mut().zip(values) {
                    *number = number.wrapping_add(weighted($remainder(value), weight));
                }
            }
        }
        vectorised! {
            fn $some(values: &[$value], present: &[u8], weight: i64, numbers: &mut [i64]) {
                for ((number, &value), &present) in numbers.iter_mut().zip(values).zip(present) {
                    let term = if present != 0 { $remainder(value) } else { DIVISOR };
                    *number = number.wrapping_add(weighted(term, weight));
                }
            }
        }
    };
}

terms!(add_i32, add_some_i32, i32, remainder_i32);
terms!(add_i64, add_some_i64, i64, remainder);
terms!(add_u64, add_some_u64, i64, |value: i64| unsigned_remainder(value as u64));

/// `value % DIVISOR`: three values of 32 bits are not their own remainder.
#[inline(always)]
fn remainder_i32(value: i32) -> i64 {
    let value = i64::from(value);
    let once = if value <= -DIVISOR { value + DIVISOR } else { value };
    if once == DIVISOR {
        0
    } else {
        once
    }
}

/// `value % DIVISOR`, with the sign of the value.
#[inline(always)]
fn remainder(value: i64) -> i64 {
    let size = unsigned_remainder(value.unsigned_abs());
    if value < 0 {
        -size
    } else {
        size
    }
}

/// `value % DIVISOR` without a division: 2^31 leaves 1, so that the upper bits are added to the lower ones.
#[inline(always)]
fn unsigned_remainder(value: u64) -> i64 {
    let divisor = DIVISOR as u64;
    let once = (value & divisor) + (value >> 31);
    let twice = (once & divisor) + (once >> 31);
    (if twice >= divisor { twice - divisor } else { twice }) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::hash::mix;

    fn marks() -> Vec<u64> {
        let near = |of: u64| [of.wrapping_sub(1), of, of.wrapping_add(1)];
        let p = DIVISOR as u64;
        let marks = [0, p, 2 * p, p * p, 1 << 31, 1 << 32, 1 << 62, 1 << 63, u64::MAX, (p << 32) | p];
        marks
            .into_iter()
            .chain([p.wrapping_neg(), (1u64 << 31).wrapping_neg()])
            .flat_map(near)
            .chain((0..4_000).map(mix))
            .collect()
    }

    #[test]
    fn remainders_are_those_of_a_division() {
        for value in marks() {
            assert_eq!(unsigned_remainder(value), (value % DIVISOR as u64) as i64, "{value}");
            assert_eq!(remainder(value as i64), value as i64 % DIVISOR, "{}", value as i64);
            assert_eq!(remainder_i32(value as i32), i64::from(value as i32) % DIVISOR, "{}", value as i32);
        }
    }

    #[test]
    fn terms_are_the_same_at_every_level() {
        let bits: Vec<i64> = marks().into_iter().map(|v| v as i64).collect();
        let words: Vec<i32> = bits.iter().map(|&v| v as i32).collect();
        let some: Vec<u8> = (0..bits.len() as u64).map(|row| !mix(row).is_multiple_of(3) as u8).collect();
        let weight = 1_048_572;
        for present in [Vec::new(), some] {
            let expected = |of: &dyn Fn(usize) -> i64| -> Vec<i64> {
                let term =
                    |row: usize| if present.get(row).is_none_or(|p| *p != 0) { of(row) } else { DIVISOR };
                (0..bits.len()).map(|row| 7i64.wrapping_add(weight * term(row))).collect()
            };
            let added = |terms: Terms| {
                let mut numbers = vec![7; bits.len()];
                add_terms(terms, &present, weight, &mut numbers);
                numbers
            };
            assert_eq!(added(Terms::I32(&words)), expected(&|row| i64::from(words[row]) % DIVISOR));
            assert_eq!(added(Terms::I64(&bits)), expected(&|row| bits[row] % DIVISOR));
            assert_eq!(added(Terms::U64(&bits)), expected(&|row| (bits[row] as u64 % DIVISOR as u64) as i64));
        }
    }
}
