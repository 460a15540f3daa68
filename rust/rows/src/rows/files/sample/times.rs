//! Days and times by their form: what types hold them depends on it. Pure.

/// Kinds of times of one order of day and month: by what stands behind the day, in years that every database has or not.
pub const KINDS: usize = 8;

/// `2026-01-31`, with a time of day or without: below 8.
pub fn iso(text: &[u8]) -> Option<usize> {
    let shape = |k: usize, b: &u8| if k == 4 || k == 7 { *b == b'-' } else { b.is_ascii_digit() };
    let date = text.get(..10)?;
    if !date.iter().enumerate().all(|(k, b)| shape(k, b)) {
        return None;
    }
    let (year, month, day) = (value(&date[..4]), value(&date[5..7]), value(&date[8..]));
    is_a_day(year, month, day).then_some(clock(&text[10..])? + far(year))
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

fn far(year: u32) -> usize {
    if (1901..2299).contains(&year) {
        0
    } else {
        KINDS / 2
    }
}

fn is_a_day(year: u32, month: u32, day: u32) -> bool {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => 31,
    };
    year > 0 && (1..=12).contains(&month) && (1..=days).contains(&day)
}

/// Of what stands behind a day: 0 nothing, then by the digits of a second's fraction. `None`: it is no time of day.
fn clock(text: &[u8]) -> Option<usize> {
    let Some((first, rest)) = text.split_first() else { return Some(0) };
    if !b"Tt ".contains(first) {
        return None;
    }
    let mut rest = upto(upto(rest, 23)?.strip_prefix(b":")?, 59)?;
    let mut said = 0;
    if let Some(seconds) = rest.strip_prefix(b":") {
        rest = upto(seconds, 59)?;
        if let Some(fraction) = rest.strip_prefix(b".") {
            let n = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            said = fraction[..n].iter().rposition(|b| *b != b'0').map_or(0, |last| last + 1);
            rest = if n > 0 { &fraction[n..] } else { return None };
        }
    }
    is_zone(rest).then_some(match said {
        0..=3 => 1,
        4..=6 => 2,
        _ => 3,
    })
}

fn is_zone(text: &[u8]) -> bool {
    let Some(offset) = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")) else {
        return matches!(text, b"" | b"Z" | b"z" | b" UTC");
    };
    let Some(minutes) = upto(offset, 15) else { return false };
    minutes.is_empty()
        || upto(minutes.strip_prefix(b":").unwrap_or(minutes), 59).is_some_and(<[u8]>::is_empty)
}

/// What stands behind two digits of at most this value.
fn upto(text: &[u8], most: u32) -> Option<&[u8]> {
    let two = text.get(..2)?;
    (two.iter().all(u8::is_ascii_digit) && value(two) <= most).then_some(&text[2..])
}

/// The number that so many digits are, and what stands behind them.
fn digits(text: &[u8], allowed: std::ops::RangeInclusive<usize>) -> Option<(u32, &[u8])> {
    let n = text.iter().take_while(|b| b.is_ascii_digit()).count();
    allowed.contains(&n).then(|| (value(&text[..n]), &text[n..]))
}

fn value(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |value, b| value * 10 + u32::from(b - b'0'))
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
