//! Days and times by their form: what types hold them depends on it. Pure.

use super::super::parse::{day_in_front, is_a_day, time_of_day, Pattern};
use crate::error::Error;

/// What a pattern of dates makes, `date`, `time_ms` or `time_us`; and of each text, whether it is of this form.
pub fn by_pattern(pattern: &str, texts: &[String]) -> Result<(&'static str, Vec<bool>), Error> {
    let pattern = Pattern::new(pattern).map_err(Error::Plan)?;
    let is_of_it = |text: &String| pattern.iso(text.trim_ascii().as_bytes(), &mut [0; 64]).is_some();
    Ok((pattern.holds().name(), texts.iter().map(is_of_it).collect()))
}

/// Kinds of times of one order of day and month: by what stands behind the day, in years that every database has or not.
pub const KINDS: usize = 8;

/// `2026-01-31`, with a time of day or without: below 8.
pub fn iso(text: &[u8]) -> Option<usize> {
    let (year, _, behind) = day_in_front(text)?;
    Some(clock(behind)? + far(year))
}

/// `31/01/2026`, `1.31.2026`: in one order of day and month, in the other, or in both; below 24.
pub fn day(text: &[u8]) -> Option<usize> {
    let (first, rest) = digits(text, 1..=2)?;
    let (by, rest) = rest.split_first().filter(|(by, _)| b"/.-".contains(by))?;
    let (second, rest) = digits(rest, 1..=2)?;
    let (year, rest) = digits(rest.strip_prefix(&[*by])?, 4..=4)?;
    let order = match (is_a_day(year, second, first), is_a_day(year, first, second)) {
        (false, false) => return None,
        (true, false) => 0,
        (false, true) => 1,
        (true, true) => 2,
    };
    Some(order * KINDS + clock(rest)? + far(year))
}

fn far(year: i64) -> usize {
    if (1901..2299).contains(&year) {
        0
    } else {
        KINDS / 2
    }
}

/// Of what stands behind a day: 0 nothing, then by the digits of a second's fraction. `None`: it is no time of day.
fn clock(behind: &[u8]) -> Option<usize> {
    let Some((_, fraction)) = time_of_day(behind)? else { return Some(0) };
    Some(match fraction.iter().rposition(|b| *b != b'0').map_or(0, |last| last + 1) {
        0..=3 => 1,
        4..=6 => 2,
        _ => 3,
    })
}

/// The number that so many digits are, and what stands behind them.
fn digits(text: &[u8], allowed: std::ops::RangeInclusive<usize>) -> Option<(i64, &[u8])> {
    let n = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let value = |digits: &[u8]| digits.iter().fold(0, |value, b| value * 10 + i64::from(b - b'0'));
    allowed.contains(&n).then(|| (value(&text[..n]), &text[n..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_that_there_are_in_neither_order_and_hours_that_there_are_not_are_no_times() {
        let iso_of = |text: &str| iso(text.as_bytes());
        assert_eq!(
            ["2024-02-29", "2026-02-29", "2100-02-29", "0000-01-01"].map(iso_of),
            [Some(0), None, None, None]
        );
        let times = [
            "T10:00",
            " 23:59:59.5Z",
            " 10:00:00.120000+01:00",
            "T10:00:00.1234 UTC",
            "t10:00:00.1234567-0130",
        ];
        assert_eq!(times.map(|time| iso_of(&format!("2026-01-31{time}"))), [1, 1, 1, 2, 3].map(Some));
        for time in
            ["T24:00", "T10:60", "T1:00", " 10:00:00.", " 10:00+16", " 10:00 CET", "_10:00", "T10:00+01:0"]
        {
            assert_eq!(iso_of(&format!("2026-01-31{time}")), None, "{time}");
        }
        let days = ["31/1/2026", "1.31.2026", "1-2-2026", "31/31/2026", "1/2/26", "1/2.2026", "1/2/1850"];
        let found = [Some(0), Some(8), Some(16), None, None, None, Some(20)];
        assert_eq!(days.map(|text| day(text.as_bytes())), found);
    }
}
