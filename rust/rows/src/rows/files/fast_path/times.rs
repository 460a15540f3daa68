//! Times where they stand, in their usual form.

use super::super::parse::day;
use super::digits::{digits, eight, HIGH, ONES, TENS};
use super::numbers::integer;

/// Most rows are of the day of the row before.
#[derive(Default)]
pub struct DayOfLast {
    text: [u8; 10],
    day: i64,
}

/// By its first hyphen: a date, and no integer.
#[inline(always)]
pub fn is_date(bytes: &[u8], at: usize) -> bool {
    bytes[at + 4] == b'-' && bytes[at] != b'-'
}

/// `2026-01-31`, `2026-01-31 23:59:59[.123456][Z|+00[[:]00]]`, or an integer in the column's unit.
#[inline(always)]
pub fn time(bytes: &[u8], at: usize, places: usize, last: &mut DayOfLast) -> Option<(i64, usize)> {
    if !is_date(bytes, at) {
        return integer(bytes, at);
    }
    let per_second = TENS[places] as i64;
    let text: &[u8; 10] = bytes.get(at..at + 10)?.try_into().expect("ten bytes");
    if *text != last.text {
        *last = DayOfLast { text: *text, day: day(text)? };
    }
    if !matches!(bytes[at + 10], b' ' | b'T' | b't') {
        return Some((last.day * 86_400 * per_second, at + 10));
    }
    // `23:59:59` with its colons turned into zeros is eight digits.
    let clock = eight(bytes, at + 11) ^ u64::from_le_bytes(*b"00:00:00");
    if (clock.wrapping_add(ONES * 0x76) | clock) & HIGH != 0 || clock & 0x0000_ff00_00ff_0000 != 0 {
        return None;
    }
    let two = |k: u32| (clock >> (8 * k) & 0xff) * 10 + (clock >> (8 * k + 8) & 0xff);
    let (hour, minute, second) = (two(0), two(3), two(6));
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut end = at + 19;
    let mut fraction = 0;
    if bytes[end] == b'.' {
        let (value, found) = digits(bytes, end + 1)?;
        if found == 0 || found > places {
            return None;
        }
        fraction = value * TENS[places - found];
        end += 1 + found;
    }
    match bytes[end] {
        b'Z' | b'z' => end += 1,
        b'+' => {
            let rest = &bytes[end + 1..];
            end += 1 + ["00:00", "0000", "00"].iter().find(|z| rest.starts_with(z.as_bytes()))?.len();
        }
        _ => {}
    }
    let seconds = last.day * 86_400 + (hour * 3_600 + minute * 60 + second) as i64;
    Some((seconds * per_second + fraction as i64, end))
}
