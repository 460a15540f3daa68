//! Times and dates of a known form: day and month in the order that the plan says.

use super::times::time;
use super::{push, Reason};
use crate::plan::TimeForm;
use crate::rows::columns::Column;

/// Longest text that is a time: a date, a clock with its fraction, a zone.
const LONGEST_BYTES: usize = 64;

/// `push` of a time or a date that is written in one form alone.
///
/// Iso: never an integer, which a column of dates would otherwise take for units since 1970. Dmy, Mdy: `03/01/2026`,
/// also with `.` or `-` and without leading zeros, with a clock and a zone behind it as in ISO's form; nothing else.
pub fn push_time(column: &mut Column, text: &[u8], form: TimeForm) -> Result<(), Reason> {
    let wrong = if column.ty.is_time() { Reason::NotTime } else { Reason::NotOf(column.ty) };
    let text = text.trim_ascii();
    if form == TimeForm::Iso {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        return if digits.iter().all(u8::is_ascii_digit) { Err(wrong) } else { push(column, text) };
    }
    let mut iso = [0u8; LONGEST_BYTES];
    let len = as_iso(text, form, &mut iso).ok_or(wrong)?;
    push(column, &iso[..len])
}

/// The instant of a time of this form, µs since 1970; `None` of what is none, or finer.
pub fn instant_us(text: &[u8], form: TimeForm) -> Option<i64> {
    let text = text.trim_ascii();
    if form == TimeForm::Iso {
        return time(text, 1_000_000).ok();
    }
    let mut iso = [0u8; LONGEST_BYTES];
    let len = as_iso(text, form, &mut iso)?;
    time(&iso[..len], 1_000_000).ok()
}

/// The date at the start of `text` as `2026-01-03` and what follows as it stands; gives the length.
fn as_iso(text: &[u8], form: TimeForm, iso: &mut [u8; LONGEST_BYTES]) -> Option<usize> {
    let (first, separator, rest) = number(text)?;
    let (second, again, rest) = number(rest)?;
    let (year, rest) = rest.split_at_checked(4)?;
    let followed_by_digit = rest.first().is_some_and(u8::is_ascii_digit);
    if separator != again || !year.iter().all(u8::is_ascii_digit) || followed_by_digit {
        return None;
    }
    let (day, month) = if form == TimeForm::Dmy { (first, second) } else { (second, first) };
    iso[..4].copy_from_slice(year);
    iso[4..10].copy_from_slice(&[b'-', month[0], month[1], b'-', day[0], day[1]]);
    iso.get_mut(10..10 + rest.len())?.copy_from_slice(rest);
    Some(10 + rest.len())
}

/// A number of one or two digits as two, the separator behind it, and what follows.
fn number(text: &[u8]) -> Option<([u8; 2], u8, &[u8])> {
    let is_separator = |byte: &u8| b"/.-".contains(byte);
    let (digits, separator, rest) = match text {
        [a, s, rest @ ..] if is_separator(s) => ([b'0', *a], *s, rest),
        [a, b, s, rest @ ..] if is_separator(s) => ([*a, *b], *s, rest),
        _ => return None,
    };
    digits.iter().all(u8::is_ascii_digit).then_some((digits, separator, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LogicalType;
    use crate::rows::Value;

    fn read(ty: LogicalType, form: TimeForm, text: &str) -> Result<Value, Reason> {
        let mut column = Column::new("c", ty);
        push_time(&mut column, text.as_bytes(), form).map(|()| column.value(0))
    }

    #[test]
    fn day_and_month_are_read_in_the_order_that_is_given() {
        // 3 January and 1 March 2026, 12:30 UTC.
        for (form, midnight_ms) in [(TimeForm::Dmy, 1_767_398_400_000i64), (TimeForm::Mdy, 1_772_323_200_000)]
        {
            for text in ["03/01/2026", "3/1/2026", " 03.01.2026 ", "03-01-2026"] {
                assert_eq!(read(LogicalType::TimeMs, form, text), Ok(Value::TimeMs(midnight_ms)), "{text}");
            }
            let noon = midnight_ms + 45_000_000;
            for text in ["03/01/2026 12:30", "03/01/2026T12:30:00.000Z", "3/1/2026 13:30:00+01:00"] {
                assert_eq!(read(LogicalType::TimeMs, form, text), Ok(Value::TimeMs(noon)), "{text}");
            }
        }
        let day = |form| read(LogicalType::Date, form, "3/1/2026");
        assert_eq!(day(TimeForm::Dmy), Ok(Value::Text("2026-01-03".into())));
        assert_eq!(day(TimeForm::Mdy), Ok(Value::Text("2026-03-01".into())));
    }

    #[test]
    fn a_day_that_only_the_other_order_has_is_rejected_and_never_turned_round() {
        assert_eq!(read(LogicalType::TimeMs, TimeForm::Mdy, "25/01/2026"), Err(Reason::NotTime));
        assert_eq!(read(LogicalType::TimeMs, TimeForm::Dmy, "01/25/2026"), Err(Reason::NotTime));
        assert_eq!(
            read(LogicalType::Date, TimeForm::Mdy, "25/01/2026"),
            Err(Reason::NotOf(LogicalType::Date))
        );
        for text in [
            "",
            "3",
            "2026-01-03",
            "03/01-2026",
            "003/01/2026",
            "03/01/26",
            "03/01/20260",
            "30/02/2026",
            "03/01/2026x",
            "1767398400000",
            "a/b/2026",
            "03/01/2026 12:30:00.0000000000000000000000000000000000000000000000000000000",
        ] {
            assert_eq!(read(LogicalType::TimeMs, TimeForm::Dmy, text), Err(Reason::NotTime), "{text}");
        }
    }

    #[test]
    fn a_column_of_dates_takes_no_number_for_a_time() {
        for text in ["20260103", "-5", "0", ""] {
            assert_eq!(read(LogicalType::TimeMs, TimeForm::Iso, text), Err(Reason::NotTime), "{text}");
        }
        let iso = read(LogicalType::TimeMs, TimeForm::Iso, " 2026-01-03 ");
        assert_eq!(iso, Ok(Value::TimeMs(1_767_398_400_000)));
    }
}
