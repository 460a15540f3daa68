//! Numbers and times as decimal text, eight digits at a time.

use super::tail::Tail;
use crate::types::calendar;

/// Longest integer: 20 digits, or a sign and 19.
pub(super) const INTEGER_BYTES: usize = 20;
/// Longest time: `YYYY-MM-DD hh:mm:ss.ffffff`.
pub(super) const TIME_BYTES: usize = 26;
/// Longest float: sign, 16 digits, point, 19 digits; the general form is shorter.
pub(super) const FLOAT_BYTES: usize = 40;

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The eight decimal digits of `value < 10^8`, most significant in the lowest byte.
///
/// Three steps split 8 digits into 4 + 4, 2 + 2 and 1 + 1 in parallel lanes of one word.
/// `x / 100 = x * 10486 >> 20` for x < 10^4 and `x / 10 = x * 103 >> 10` for x < 100.
#[inline(always)]
fn eight_digits(value: u32) -> u64 {
    debug_assert!(value < 100_000_000);
    let fours = (value / 10_000) as u64 | ((value % 10_000) as u64) << 32;
    let tops = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = tops | (fours - 100 * tops) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (twos - 10 * tens) << 8
}

/// # Safety
/// `tail` has [`INTEGER_BYTES`] of room.
#[inline(always)]
pub(super) unsafe fn unsigned(tail: &mut Tail, value: u64) {
    const E8: u64 = 100_000_000;
    if value < E8 {
        leading(tail, value as u32);
    } else if value < E8 * E8 {
        leading(tail, (value / E8) as u32);
        tail.word(eight_digits((value % E8) as u32) | ZEROS, 8);
    } else {
        leading(tail, (value / (E8 * E8)) as u32);
        let rest = value % (E8 * E8);
        tail.word(eight_digits((rest / E8) as u32) | ZEROS, 8);
        tail.word(eight_digits((rest % E8) as u32) | ZEROS, 8);
    }
}

/// # Safety
/// `tail` has [`INTEGER_BYTES`] of room.
#[inline(always)]
pub(super) unsafe fn signed(tail: &mut Tail, value: i64) {
    if value < 0 {
        tail.byte(b'-');
    }
    unsigned(tail, value.unsigned_abs());
}

/// The first, shorter group of an integer: no leading zeros, but one digit at least.
#[inline(always)]
unsafe fn leading(tail: &mut Tail, value: u32) {
    let digits = eight_digits(value);
    let skipped = ((digits | 1 << 63).trailing_zeros() / 8) as usize;
    tail.word((digits | ZEROS) >> (8 * skipped), 8 - skipped);
}

/// `value` with `width <= 8` digits and leading zeros.
#[inline(always)]
unsafe fn padded(tail: &mut Tail, value: u32, width: usize) {
    tail.word((eight_digits(value) | ZEROS) >> (8 * (8 - width)), width);
}

/// A decimal that reads back to exactly `value`.
///
/// Generated floats are k * 2^-n: written out in full (k * 5^n / 10^n), which needs integers only.
/// All others take the shortest text, with an exponent where they are very large or small: ClickHouse reads
/// `1.2345678e4` as a neighbour of 12345.678.
///
/// # Safety
/// `tail` has [`FLOAT_BYTES`] of room.
#[inline(always)]
pub(super) unsafe fn float64(tail: &mut Tail, value: f64) {
    if !short_binary(tail, value) {
        match is_moderate(value.abs()) {
            true => general(tail, value, format_args!("{value}")),
            false => general(tail, value, format_args!("{value:e}")),
        }
    }
}

/// As [`float64`]; the general form is the shortest that reads back as the same `f32`.
///
/// # Safety
/// `tail` has [`FLOAT_BYTES`] of room.
#[inline(always)]
pub(super) unsafe fn float32(tail: &mut Tail, value: f32) {
    if !short_binary(tail, value as f64) {
        match is_moderate(value.abs() as f64) {
            true => general(tail, value as f64, format_args!("{value}")),
            false => general(tail, value as f64, format_args!("{value:e}")),
        }
    }
}

/// Its shortest text without an exponent has [`FLOAT_BYTES`] at most, with few zeros.
fn is_moderate(size: f64) -> bool {
    (1e-5..1e15).contains(&size)
}

/// Writes `value` if it is k * 2^-n with n <= 19 and |value| < 2^53; false if nothing was written.
#[inline(always)]
unsafe fn short_binary(tail: &mut Tail, value: f64) -> bool {
    let size = value.abs();
    if size >= 9_007_199_254_740_992.0 || value.is_nan() {
        return false;
    }
    let whole = size as u64;
    let mut rest = size - whole as f64; // exact: both are multiples of one power of two
    let scaled = rest * 524_288.0; // 2^19
    if scaled != scaled.trunc() {
        return false;
    }
    if value.is_sign_negative() {
        tail.byte(b'-');
    }
    unsigned(tail, whole);
    if rest > 0.0 {
        tail.byte(b'.');
    }
    while rest > 0.0 {
        // Five binary places are five decimal ones at most: digits come in exact groups.
        rest *= 100_000.0;
        let group = rest as u32;
        rest -= group as f64;
        if rest > 0.0 {
            padded(tail, group, 5);
        } else {
            let mut group = group;
            let mut width = 5;
            while group.is_multiple_of(10) {
                group /= 10;
                width -= 1;
            }
            padded(tail, group, width);
        }
    }
    true
}

#[cold]
unsafe fn general(tail: &mut Tail, value: f64, shortest: std::fmt::Arguments) {
    if value.is_nan() {
        tail.bytes(b"NaN");
    } else if value.is_infinite() {
        tail.bytes(if value > 0.0 { b"Infinity" as &[u8] } else { b"-Infinity" });
    } else {
        // `{:e}` of a float is at most 24 bytes, `{}` of a moderate one 26.
        let mut text = [0u8; FLOAT_BYTES];
        let mut rest = &mut text[..];
        std::io::Write::write_fmt(&mut rest, shortest)
            .expect("a float that is written so has 26 bytes at most");
        let used = FLOAT_BYTES - rest.len();
        tail.bytes(&text[..used]);
    }
}

/// Writes times; remembers the last day, as a sweep has one.
#[derive(Clone, Default)]
pub(super) struct Times {
    /// (days since 1970, `YYYY-MM-` and `DD ` as words)
    day: Option<(i64, [u64; 2])>,
}

impl Times {
    /// `YYYY-MM-DD hh:mm:ss.fff` (`per_s` = 1000) or `.ffffff` (1 000 000). False outside the years 0 to 9999.
    ///
    /// # Safety
    /// `tail` has [`TIME_BYTES`] of room.
    #[inline(always)]
    pub(super) unsafe fn put(&mut self, tail: &mut Tail, time: i64, per_s: i64) -> bool {
        let days = time.div_euclid(86_400 * per_s);
        let in_day = time.rem_euclid(86_400 * per_s) as u64;
        let words = match self.day {
            Some((known, words)) if known == days => words,
            _ => match day_words(days) {
                Some(words) => {
                    self.day = Some((days, words));
                    words
                }
                None => return false,
            },
        };
        let (seconds, part) = ((in_day / per_s as u64) as u32, (in_day % per_s as u64) as u32);
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        tail.word(words[0], 8);
        tail.word(words[1], 3);
        // hh0mm0ss as one number: its two zeros become the colons (0x30 | 0x0a = ':').
        let clock = eight_digits(h * 1_000_000 + m * 1_000 + s) | ZEROS | 0x0000_0a00_000a_0000;
        tail.word(clock, 8);
        tail.byte(b'.');
        padded(tail, part, if per_s == 1000 { 3 } else { 6 });
        true
    }
}

/// `YYYY-MM-` and `DD `.
fn day_words(days: i64) -> Option<[u64; 2]> {
    if !calendar::DAYS.contains(&days) {
        return None;
    }
    let (year, month, day) = calendar::civil(days);
    let text = format!("{year:04}-{month:02}-{day:02}      ");
    let word = |at: usize| u64::from_le_bytes(text.as_bytes()[at..at + 8].try_into().expect("16 bytes"));
    Some([word(0), word(8)])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(put: impl FnOnce(&mut Tail)) -> String {
        let mut out = Vec::new();
        let mut tail = Tail::new(&mut out);
        tail.room(FLOAT_BYTES);
        put(&mut tail);
        tail.finish();
        String::from_utf8(out).expect("digits are ASCII")
    }

    // SAFETY (here and below): `written` reserves more than any of them needs.
    fn int(value: i64) -> String {
        written(|tail| unsafe { signed(tail, value) })
    }

    #[test]
    fn every_group_of_four_digits_is_split_right() {
        for value in 0..10_000u32 {
            assert_eq!(int(value as i64), value.to_string());
            assert_eq!(int(value as i64 * 10_000 + 9_999), (value as i64 * 10_000 + 9_999).to_string());
        }
    }

    #[test]
    fn the_edges_of_every_width_are_written_right() {
        for power in 0..=19 {
            let edge = 10u64.pow(power);
            for value in [edge - 1, edge, edge + 1, u64::MAX - edge] {
                assert_eq!(written(|tail| unsafe { unsigned(tail, value) }), value.to_string());
            }
        }
        for value in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX] {
            assert_eq!(int(value), value.to_string());
        }
    }

    #[test]
    fn days_of_the_calendar_are_known() {
        let time = |t, per_s| written(|tail| assert!(unsafe { Times::default().put(tail, t, per_s) }));
        assert_eq!(time(0, 1000), "1970-01-01 00:00:00.000");
        assert_eq!(time(-1, 1000), "1969-12-31 23:59:59.999");
        assert_eq!(time(1_767_225_600_123, 1000), "2026-01-01 00:00:00.123");
        assert_eq!(time(951_827_696_789_012, 1_000_000), "2000-02-29 12:34:56.789012");
        assert_eq!(time(253_402_300_799_999, 1000), "9999-12-31 23:59:59.999");
        assert_eq!(time(-62_167_219_200_000, 1000), "0000-01-01 00:00:00.000");
        let mut times = Times::default();
        written(|tail| assert!(!unsafe { times.put(tail, 253_402_300_800_000, 1000) }));
        written(|tail| assert!(!unsafe { times.put(tail, -62_167_219_200_001, 1000) }));
    }

    #[test]
    fn floats_of_every_kind_are_written() {
        let f64_text = |v| written(|tail| unsafe { float64(tail, v) });
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.5, "0.5"),
            (-12.0625, "-12.0625"),
            (100.0, "100"),
            (1.0 / 524_288.0, "0.0000019073486328125"),
            (0.1, "0.1"),
            (1e-5, "0.00001"),
            (1e-6, "1e-6"),
            (f64::MAX, "1.7976931348623157e308"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(f64_text(value), text);
        }
    }

    proptest! {
        #[test]
        fn integers_read_back(value: i64, shift in 0u32..64) {
            prop_assert_eq!(int(value >> shift), (value >> shift).to_string());
        }

        #[test]
        fn floats_read_back_bit_for_bit(bits: u64, k: i32, n in 0i32..25) {
            for value in [f64::from_bits(bits), k as f64 / 2f64.powi(n), k as f64 * 1e3] {
                let text = written(|tail| unsafe { float64(tail, value) });
                prop_assert!(text.len() <= FLOAT_BYTES);
                let back: f64 = text.parse().expect("a float");
                prop_assert!(back.to_bits() == value.to_bits() || value.is_nan() && back.is_nan(), "{}", text);
            }
            for value in [f32::from_bits(bits as u32), k as f32 / 2f32.powi(n)] {
                let text = written(|tail| unsafe { float32(tail, value) });
                let back: f32 = text.parse().expect("a float");
                prop_assert!(back.to_bits() == value.to_bits() || value.is_nan() && back.is_nan(), "{}", text);
            }
        }
    }
}
