//! Days of the years 1 to 9999 as `2026-01-31`.

use super::calendar::{civil, days_of};
use super::{Binary, Counted, Forms, Spelled};

pub struct Date;

impl Spelled for Date {
    const FORMS: Forms = Forms {
        longest: 10,
        zero: "1970-01-01",
        push,
        counted: Some(Counted { what: "a day of the years 1 to 9999, as 2026-01-31", number, write }),
        postgresql: Binary { name: "date", oid: 1082, width: Some(4), push: push_cell },
    };
    type Cell = [u8; 4];

    #[inline(always)]
    fn cell(text: &[u8]) -> Option<[u8; 4]> {
        date_days(text).map(|days| (days - POSTGRES_EPOCH_DAYS).to_be_bytes())
    }
}

/// Days from 1970 to 2000, where PostgreSQL counts from.
pub const POSTGRES_EPOCH_DAYS: i32 = 10_957;

fn push(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    date_days(text).map(|_| out.extend_from_slice(text))
}

fn push_cell(cell: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let days = i32::from_be_bytes(cell.try_into().ok()?).checked_add(POSTGRES_EPOCH_DAYS)?;
    out.extend_from_slice(date_text(days)?.as_bytes());
    Some(())
}

fn number(text: &[u8]) -> Option<i64> {
    date_days(text).map(i64::from)
}

fn write(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil(days);
    let two = |n: i64| [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
    let ([a, b], [c, d]) = (two(year / 100), two(year % 100));
    let ([e, f], [g, h]) = (two(month), two(day));
    out.extend_from_slice(&[a, b, c, d, b'-', e, f, b'-', g, h]);
}

/// Days since 1970 of `2026-01-31`, years 1 to 9999; `None` for any other text and for days that no calendar has.
pub fn date_days(text: &[u8]) -> Option<i32> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
    let number = |digits: &[&u8]| {
        digits.iter().try_fold(0, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(**d - b'0')))
    };
    let (year, month, day) = (number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, number(&[d1, d2])?);
    if year < 1 || !(1..=12).contains(&month) {
        return None;
    }
    let days = days_of(year, month, day);
    // A day beyond its month would come back as one of the next.
    (civil(days) == (year, month, day)).then_some(days as i32)
}

/// The text of a day of the years 1 to 9999.
pub fn date_text(days: i32) -> Option<String> {
    let mut text = Vec::with_capacity(Date::FORMS.longest);
    (-719_162..2_932_897).contains(&days).then(|| write(days.into(), &mut text))?;
    Some(String::from_utf8(text).expect("digits are ASCII"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_are_days_and_what_no_calendar_has_is_none() {
        assert_eq!(date_days(b"1970-01-01"), Some(0));
        assert_eq!(date_days(b"2000-02-29"), Some(11_016));
        assert_eq!(date_days(b"0001-01-01"), Some(-719_162));
        for text in [
            "2025-02-29",
            "1900-02-29",
            "2025-00-01",
            "2025-13-01",
            "2025-01-00",
            "2025-04-31",
            "0000-01-01",
            "2025-1-1",
            "20250101",
            "2025-01-01 00:00",
            "2025/01/01",
            "infinity",
            "",
            "२०२५-०१-०१",
        ] {
            assert_eq!(date_days(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(days in -719_162i32..2_932_897) {
            prop_assert_eq!(date_days(date_text(days).unwrap().as_bytes()), Some(days));
        }
    }
}
