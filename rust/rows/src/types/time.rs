//! Times of day as PostgreSQL writes them: `08:30:00`, `08:30:00.25`; the last one is `24:00:00`.

use super::{Binary, Counted, Forms, Spelled};

pub struct Time;

impl Spelled for Time {
    const FORMS: Forms = Forms {
        longest: 15,
        zero: "00:00:00",
        push,
        counted: Some(Counted { what: "a time of day, as 08:30:00 or 08:30:00.25", number: day_us, write }),
        postgresql: Binary { name: "time", oid: 1083, width: Some(8), push: push_cell },
    };
    type Cell = [u8; 8];

    #[inline(always)]
    fn cell(text: &[u8]) -> Option<[u8; 8]> {
        day_us(text).map(i64::to_be_bytes)
    }
}

const DAY_US: i64 = 86_400_000_000;

fn push(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    day_us(text).map(|us| write(us, out))
}

fn push_cell(cell: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let us = i64::from_be_bytes(cell.try_into().ok()?);
    (0..=DAY_US).contains(&us).then(|| write(us, out))
}

/// Microseconds since the day began, of `08:30[:00[.25]]`; digits behind the sixth are zeros, or it is none.
fn day_us(text: &[u8]) -> Option<i64> {
    let [h1, h2, b':', m1, m2, rest @ ..] = text else { return None };
    let two = |tens: u8, ones: u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit())
            .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let (hours, minutes) = (two(*h1, *h2)?, two(*m1, *m2)?);
    let (seconds, fraction) = match rest {
        [] => (0, &b""[..]),
        [b':', s1, s2] => (two(*s1, *s2)?, &b""[..]),
        [b':', s1, s2, b'.', fraction @ ..] if !fraction.is_empty() => (two(*s1, *s2)?, fraction),
        _ => return None,
    };
    let (mut us, mut unit) = (0, 100_000);
    for digit in fraction {
        if !digit.is_ascii_digit() || unit == 0 && *digit != b'0' {
            return None;
        }
        us += i64::from(digit - b'0') * unit;
        unit /= 10;
    }
    let us = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + us;
    (minutes < 60 && seconds < 60 && us <= DAY_US).then_some(us)
}

fn write(us: i64, out: &mut Vec<u8>) {
    let (seconds, mut us) = (us / 1_000_000, us % 1_000_000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let two = |n: i64| [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
    let ([a, b], [c, d], [e, f]) = (two(hours), two(minutes), two(seconds));
    out.extend_from_slice(&[a, b, b':', c, d, b':', e, f]);
    if us > 0 {
        out.push(b'.');
    }
    let mut unit = 100_000;
    while us > 0 {
        out.push(b'0' + (us / unit) as u8);
        (us, unit) = (us % unit, unit / 10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(text: &str) -> Option<String> {
        let mut out = Vec::new();
        push(text.as_bytes(), &mut out).map(|()| String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_time_of_day_has_the_form_that_postgresql_gives_it() {
        for (text, one) in [
            ("08:30", "08:30:00"),
            ("08:30:00.000", "08:30:00"),
            ("23:59:59.250000000", "23:59:59.25"),
            ("00:00:00.000001", "00:00:00.000001"),
            ("24:00:00", "24:00:00"),
        ] {
            assert_eq!(form(text).as_deref(), Some(one));
        }
    }

    /// `time_send` of PostgreSQL: microseconds since midnight, the highest byte first.
    #[test]
    fn a_cell_has_the_bytes_of_the_binary_protocol() {
        let cell = |text: &str| Time::cell(text.as_bytes()).unwrap().as_ref().to_vec();
        assert_eq!(cell("00:00:01"), [0, 0, 0, 0, 0, 0x0f, 0x42, 0x40]);
        assert_eq!(cell("24:00:00"), [0, 0, 0, 0x14, 0x1d, 0xd7, 0x60, 0]);
    }

    #[test]
    fn what_is_no_time_of_day_or_finer_is_none() {
        for text in [
            "",
            "8:30",
            "08",
            "08:3",
            "08:60",
            "08:30:60",
            "24:00:01",
            "24:00:00.000001",
            "25:00",
            "08:30:00.",
            "08:30:00.0000001",
            "08:30:00+01",
            "-08:30",
            "08:30 ",
            "08.30",
            "2026-01-31 08:30",
        ] {
            assert_eq!(form(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(us in 0..=DAY_US) {
            let mut text = Vec::new();
            write(us, &mut text);
            prop_assert!(text.len() <= Time::FORMS.longest);
            prop_assert_eq!(day_us(&text), Some(us));
        }
    }
}
