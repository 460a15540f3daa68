//! Instants from text, in the column's unit since 1970 UTC.

use super::numbers::whole;
use super::Reason;
use crate::plan::LogicalType;
use crate::types::calendar::{days_in, days_of};

/// A time in units of `per_second`, since 1970 UTC.
///
/// Takes `2026-01-31`, `2026-01-31 23:59[:59[.123456]]` with `T` or a blank and `Z`, `+01`, `+0100`,
/// `+01:00` or nothing (UTC), and a plain integer in the column's own unit. Digits finer than the
/// column must be zeros: a time is never cut.
pub fn time(text: &[u8], per_second: i64) -> Result<i64, Reason> {
    let text = text.trim_ascii();
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    if !unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit) {
        let ty = if per_second == 1_000 { LogicalType::TimeMs } else { LogicalType::TimeUs };
        return whole(text, ty);
    }
    let (_, days, behind) = day_in_front(text).ok_or(Reason::NotTime)?;
    let (seconds, fraction) = time_of_day(behind).ok_or(Reason::NotTime)?.unwrap_or_default();
    let fraction = in_units(fraction, per_second)?;
    Ok((days * 86_400 + seconds) * per_second + fraction)
}

/// Days since 1970 of `2026-01-31`; `None` when there is no such day.
pub fn day(text: &[u8; 10]) -> Option<i64> {
    day_in_front(text).map(|(_, days, _)| days)
}

/// Year and days since 1970 of the date that a text begins with, and what stands behind it.
pub fn day_in_front(text: &[u8]) -> Option<(i64, i64, &[u8])> {
    let mut rest = Rest(text);
    let year = rest.digits(4)?;
    rest.take(b'-')?;
    let month = rest.digits(2)?;
    rest.take(b'-')?;
    let day = rest.digits(2)?;
    is_a_day(year, month, day).then(|| (year, days_of(year, month, day), rest.0))
}

pub fn is_a_day(year: i64, month: i64, day: i64) -> bool {
    year >= 1 && (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day)
}

/// Seconds since the day began in UTC and the digits of their fraction, by what stands behind a date; `Some(None)`: nothing.
pub fn time_of_day(behind: &[u8]) -> Option<Option<(i64, &[u8])>> {
    if behind.is_empty() {
        return Some(None);
    }
    let mut rest = Rest(behind);
    let (seconds, fraction) = clock(&mut rest)?;
    Some(Some((seconds - zone(&mut rest)?, fraction)))
}

/// What of a text is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    /// A number of exactly `digits` digits.
    fn digits(&mut self, digits: usize) -> Option<i64> {
        let (head, tail) = self.0.split_at_checked(digits)?;
        if !head.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = tail;
        Some(head.iter().fold(0, |n, d| n * 10 + i64::from(d - b'0')))
    }

    fn digits_within(&mut self, digits: usize, high: i64) -> Option<i64> {
        self.digits(digits).filter(|n| *n <= high)
    }
}

/// Seconds of the day and the digits of their fraction.
fn clock<'a>(rest: &mut Rest<'a>) -> Option<(i64, &'a [u8])> {
    rest.take(b'T').or_else(|| rest.take(b' ')).or_else(|| rest.take(b't'))?;
    let hour = rest.digits_within(2, 23)?;
    rest.take(b':')?;
    let minute = rest.digits_within(2, 59)?;
    let mut seconds = hour * 3600 + minute * 60;
    if rest.take(b':').is_none() {
        return Some((seconds, b""));
    }
    seconds += rest.digits_within(2, 59)?;
    if rest.take(b'.').is_none() {
        return Some((seconds, b""));
    }
    let end = rest.0.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.0.len());
    let (fraction, tail) = rest.0.split_at(end);
    rest.0 = tail;
    (!fraction.is_empty()).then_some((seconds, fraction))
}

/// Seconds east of UTC; the text must end there.
fn zone(rest: &mut Rest) -> Option<i64> {
    if rest.0.is_empty() || rest.0 == b"Z" || rest.0 == b"z" || rest.0 == b" UTC" {
        return Some(0);
    }
    let sign = match rest.0.first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return None,
    };
    rest.0 = &rest.0[1..];
    let hours = rest.digits_within(2, 15)?;
    let minutes = if rest.0.is_empty() {
        0
    } else {
        let _ = rest.take(b':');
        rest.digits_within(2, 59)?
    };
    rest.0.is_empty().then_some(sign * (hours * 3600 + minutes * 60))
}

/// `.123` in units of `per_second`.
fn in_units(fraction: &[u8], per_second: i64) -> Result<i64, Reason> {
    let mut unit = per_second;
    let mut sum = 0;
    for digit in fraction {
        let digit = i64::from(digit - b'0');
        unit /= 10;
        if unit == 0 && digit != 0 {
            return Err(Reason::TimeTooFine);
        }
        sum += digit * unit;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::super::tests::parsed;
    use super::*;
    use crate::rows::Value;

    #[test]
    fn times_in_all_their_forms_are_one_instant() {
        let expected = Ok(Value::TimeMs(1_767_225_599_500));
        for text in [
            "2025-12-31T23:59:59.5Z",
            "2025-12-31 23:59:59.500",
            "2025-12-31 23:59:59.500000000+00",
            "2026-01-01T00:59:59.5+01:00",
            "2025-12-31T18:29:59.5-0530",
            "1767225599500",
        ] {
            assert_eq!(parsed(LogicalType::TimeMs, text), expected, "{text}");
        }
        assert_eq!(parsed(LogicalType::TimeUs, "1969-12-31 23:59:59.999999"), Ok(Value::TimeUs(-1)));
        assert_eq!(parsed(LogicalType::TimeMs, "2000-02-29"), Ok(Value::TimeMs(951_782_400_000)));
        assert_eq!(parsed(LogicalType::TimeMs, "0001-01-01"), Ok(Value::TimeMs(-62_135_596_800_000)));
        assert_eq!(parsed(LogicalType::TimeMs, "2000-01-01 00:00"), Ok(Value::TimeMs(946_684_800_000)));
    }

    #[test]
    fn times_that_do_not_exist_are_refused() {
        for text in [
            "2025-13-01",
            "2025-00-01",
            "2025-02-29",
            "1900-02-29",
            "2025-04-31",
            "0000-01-01",
            "2025-1-1",
            "2025-01-01T",
            "2025-01-01 24:00:00",
            "2025-01-01 00:60",
            "2025-01-01 00:00:60",
            "2025-01-01 00:00:00.",
            "2025-01-01 00:00:00 CET",
            "2025-01-01 00:00+1",
            "01/02/2025",
            "yesterday",
            "",
            "-",
            "2025-01-01x",
        ] {
            assert_eq!(parsed(LogicalType::TimeMs, text), Err(Reason::NotTime), "{text}");
        }
        assert_eq!(parsed(LogicalType::TimeMs, "2025-01-01 00:00:00.1234"), Err(Reason::TimeTooFine));
        assert_eq!(
            parsed(LogicalType::TimeUs, "2025-01-01 00:00:00.1234"),
            Ok(Value::TimeUs(1_735_689_600_123_400))
        );
    }

    #[test]
    fn every_day_of_the_calendar_follows_the_day_before() {
        let mut expected = days_of(1, 1, 1);
        for year in 1..=2400 {
            for month in 1..=12 {
                for day in 1..=days_in(year, month) {
                    assert_eq!(days_of(year, month, day), expected, "{year}-{month}-{day}");
                    expected += 1;
                }
            }
        }
        assert_eq!(days_of(1970, 1, 1), 0);
    }
}
