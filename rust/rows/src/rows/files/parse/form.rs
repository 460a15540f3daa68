//! Times and dates of a known form: day and month in the order that the plan says, or all by a pattern.

use std::sync::Arc;

use super::pattern::Pattern;
use super::times::time;
use super::zone::Zone;
use super::{push, Reason};
use crate::plan::{LogicalType, TimeForm};
use crate::rows::columns::{Column, Values};

/// Longest text that is a time: a date, a clock with its fraction, a zone.
const LONGEST_BYTES: usize = 64;

/// How the texts of one column become times or dates: written in one form alone, in one zone where they name none.
#[derive(Debug, Clone)]
pub struct TimeReader {
    form: Form,
    zone: Option<Arc<Zone>>,
}

#[derive(Debug, Clone)]
enum Form {
    /// ISO's, or units since 1970.
    Any,
    Iso,
    Turned(Order),
    Pattern(Pattern),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Dmy,
    Mdy,
}

impl TimeReader {
    /// Of a column whose times may be in ISO's form or units since 1970; they are of this zone where they name none.
    pub fn of_zone(zone: &Arc<Zone>) -> TimeReader {
        TimeReader { form: Form::Any, zone: Some(zone.clone()) }
    }

    /// Errors say what is wrong with a pattern.
    pub fn new(form: &TimeForm, zone: Option<&Arc<Zone>>) -> Result<TimeReader, String> {
        let form = match form {
            TimeForm::Iso => Form::Iso,
            TimeForm::Dmy => Form::Turned(Order::Dmy),
            TimeForm::Mdy => Form::Turned(Order::Mdy),
            TimeForm::Pattern(text) => Form::Pattern(Pattern::new(text)?),
        };
        Ok(TimeReader { form, zone: zone.cloned() })
    }

    /// In ISO's form, of UTC where no zone is named.
    pub fn is_plain(&self) -> bool {
        matches!(self.form, Form::Iso) && self.zone.is_none()
    }

    /// `push` of a time or a date.
    ///
    /// Iso: never an integer, which a column of dates would otherwise take for units since 1970. Dmy, Mdy: `03/01/2026`,
    /// also with `.` or `-` and without leading zeros, with a clock and a zone behind it as in ISO's form; nothing else.
    pub fn push(&self, column: &mut Column, text: &[u8]) -> Result<(), Reason> {
        let wrong = if column.ty.is_time() { Reason::NotTime } else { Reason::NotOf(column.ty) };
        let (text, mut made) = (text.trim_ascii(), [0u8; LONGEST_BYTES]);
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let iso = match &self.form {
            Form::Any if digits.iter().all(u8::is_ascii_digit) => return push(column, text),
            Form::Iso if digits.iter().all(u8::is_ascii_digit) => return Err(wrong),
            Form::Any | Form::Iso => text,
            Form::Turned(order) => turned(text, *order, &mut made).ok_or(wrong)?,
            Form::Pattern(pattern) => {
                let length = pattern.iso(text, &mut made).ok_or(wrong)?;
                &made[..length]
            }
        };
        push(column, iso)?;
        match &self.zone {
            Some(zone) if has_clock_alone(iso) => in_zone(column, zone),
            _ => Ok(()),
        }
    }
}

/// Whether a time in ISO's form has a time of day, and names no zone behind it. A day alone is of no zone.
fn has_clock_alone(iso: &[u8]) -> bool {
    iso.get("2026-01-31".len()..)
        .is_some_and(|clock| !clock.is_empty() && !clock.iter().any(|b| b"+-zZU".contains(b)))
}

/// The last time of a column, which clocks of a zone show, as its instant. On an error it is gone.
fn in_zone(column: &mut Column, zone: &Zone) -> Result<(), Reason> {
    let per_s = match column.ty {
        LogicalType::TimeMs => 1_000,
        LogicalType::TimeUs => 1_000_000,
        _ => return Ok(()),
    };
    let Values::I64(values) = &mut column.values else { unreachable!("times are numbers") };
    let local = values.pop().expect("it was pushed");
    values.push(zone.instant(local, per_s)?);
    Ok(())
}

/// The instant of a time of this form, µs since 1970; `None` of what is none, or finer.
pub fn instant_us(text: &[u8], form: &TimeForm) -> Option<i64> {
    let (text, mut iso) = (text.trim_ascii(), [0u8; LONGEST_BYTES]);
    let text = match form {
        TimeForm::Iso => text,
        TimeForm::Dmy => turned(text, Order::Dmy, &mut iso)?,
        TimeForm::Mdy => turned(text, Order::Mdy, &mut iso)?,
        TimeForm::Pattern(_) => return None,
    };
    time(text, 1_000_000).ok()
}

/// The date at the start of `text` as `2026-01-03` and what follows as it stands.
fn turned<'a>(text: &[u8], order: Order, iso: &'a mut [u8; LONGEST_BYTES]) -> Option<&'a [u8]> {
    let (first, separator, rest) = number(text)?;
    let (second, again, rest) = number(rest)?;
    let (year, rest) = rest.split_at_checked(4)?;
    let followed_by_digit = rest.first().is_some_and(u8::is_ascii_digit);
    if separator != again || !year.iter().all(u8::is_ascii_digit) || followed_by_digit {
        return None;
    }
    let (day, month) = if order == Order::Dmy { (first, second) } else { (second, first) };
    iso[..4].copy_from_slice(year);
    iso[4..10].copy_from_slice(&[b'-', month[0], month[1], b'-', day[0], day[1]]);
    iso.get_mut(10..10 + rest.len())?.copy_from_slice(rest);
    Some(&iso[..10 + rest.len()])
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
    use crate::rows::Value;

    fn read(ty: LogicalType, form: TimeForm, text: &str) -> Result<Value, Reason> {
        let mut column = Column::new("c", ty);
        let reader = TimeReader::new(&form, None).expect("a form");
        reader.push(&mut column, text.as_bytes()).map(|()| column.value(0))
    }

    #[test]
    fn day_and_month_are_read_in_the_order_that_is_given() {
        // 3 January and 1 March 2026, 12:30 UTC.
        for (form, midnight_ms) in [(TimeForm::Dmy, 1_767_398_400_000i64), (TimeForm::Mdy, 1_772_323_200_000)]
        {
            for text in ["03/01/2026", "3/1/2026", " 03.01.2026 ", "03-01-2026"] {
                let found = read(LogicalType::TimeMs, form.clone(), text);
                assert_eq!(found, Ok(Value::TimeMs(midnight_ms)), "{text}");
            }
            let noon = midnight_ms + 45_000_000;
            for text in ["03/01/2026 12:30", "03/01/2026T12:30:00.000Z", "3/1/2026 13:30:00+01:00"] {
                let found = read(LogicalType::TimeMs, form.clone(), text);
                assert_eq!(found, Ok(Value::TimeMs(noon)), "{text}");
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

    #[test]
    fn a_pattern_reads_times_and_dates_and_nothing_of_another_form() {
        let by = |ty, text| read(ty, TimeForm::Pattern("%d.%m.%y %H:%M".into()), text);
        assert_eq!(by(LogicalType::TimeMs, " 3.1.26 12:30 "), Ok(Value::TimeMs(1_767_443_400_000)));
        assert_eq!(by(LogicalType::TimeMs, "2026-01-03"), Err(Reason::NotTime));
        let day = |text| read(LogicalType::Date, TimeForm::Pattern("%d. %B %Y".into()), text);
        assert_eq!(day("3. January 2026"), Ok(Value::Text("2026-01-03".into())));
        assert_eq!(day("2026-01-03"), Err(Reason::NotOf(LogicalType::Date)));
    }

    #[test]
    fn a_time_without_a_zone_is_of_the_plans_zone_and_another_one_of_its_own() {
        // Two hours ahead, from 2026-01-03 10:00 UTC one.
        let zone = Arc::new(Zone::new(&[(0, 7200), (1_767_434_400, 3600)]).unwrap());
        let read = |form: TimeForm, text: &str| {
            let (mut column, reader) =
                (Column::new("c", LogicalType::TimeUs), TimeReader::new(&form, Some(&zone)).unwrap());
            let said = reader.push(&mut column, text.as_bytes());
            let Values::I64(values) = &column.values else { unreachable!() };
            assert_eq!(said.is_err(), values.is_empty(), "{text}");
            said.map(|()| column.value(0))
        };
        let ten = Ok(Value::TimeUs(1_767_434_400_000_000));
        for text in ["2026-01-03T10:00:00Z", "2026-01-03 09:00-01:00", "2026-01-03 10:00:00 UTC"] {
            assert_eq!(read(TimeForm::Iso, text), ten, "{text}");
        }
        assert_eq!(read(TimeForm::Iso, "2026-01-03 13:00"), Ok(Value::TimeUs(1_767_441_600_000_000)));
        assert_eq!(
            read(TimeForm::Dmy, "3/1/2026"),
            Ok(Value::TimeUs(1_767_398_400_000_000)),
            "a day is of no zone"
        );
        let any = |text: &str| {
            let mut column = Column::new("c", LogicalType::TimeUs);
            TimeReader::of_zone(&zone).push(&mut column, text.as_bytes()).map(|()| column.value(0))
        };
        assert_eq!(any("1767434400000000"), ten, "units since 1970 are of no zone");
        assert_eq!(any("2026-01-03 13:00"), Ok(Value::TimeUs(1_767_441_600_000_000)));
        assert_eq!(any("3/1/2026"), Err(Reason::NotTime));
        assert_eq!(read(TimeForm::Iso, "2026-01-03 11:30"), Err(Reason::LocalTimeTwice));
    }
}
