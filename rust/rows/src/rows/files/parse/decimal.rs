//! Numbers of any length as texts, in the one spelling that a server has for them: nothing is rounded.

use super::super::super::columns::TextValues;
use super::{clean_text, Reason};
use crate::plan::Spelling;

/// Larger powers of ten are left as they are written: no server has such numbers.
const MOST_ZEROS: i64 = 200_000;
/// Digits behind the point that PostgreSQL keeps where a column says no number of them.
const WRITTEN_MOST: usize = 16_383;

/// `spelled` as the next value of a column, which is unchanged on an error.
pub fn push_number(texts: &mut TextValues, text: &[u8], spelling: Spelling) -> Result<(), Reason> {
    spelled(text, spelling, &mut texts.bytes)?;
    texts.ends.push(texts.bytes.len() as u32);
    Ok(())
}

/// Appends a number as the server will write it; nothing on an error.
///
/// Errors: what is no number, and digits behind the point that the column would round away.
pub fn spelled(text: &[u8], spelling: Spelling, out: &mut Vec<u8>) -> Result<(), Reason> {
    match spelling {
        Spelling::Any {} => clean_text(text).map(|text| out.extend_from_slice(text)),
        Spelling::Written {} => spell(text, None, out),
        Spelling::Fixed { digits } => spell(text, Some(digits as usize), out),
    }
}

/// scale: digits behind the point; `None`: as many as are written. Appends nothing before all is judged.
fn spell(text: &[u8], scale: Option<usize>, out: &mut Vec<u8>) -> Result<(), Reason> {
    let text = text.trim_ascii();
    let (is_negative, unsigned) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let (before, rest) = digits(unsigned);
    let (behind, rest) = rest.strip_prefix(b".").map_or((&b""[..], rest), digits);
    if before.is_empty() && behind.is_empty() {
        return spell_word(unsigned, is_negative, out);
    }
    let power = match rest {
        [] => 0,
        [b'e' | b'E', power @ ..] => power_of(power).ok_or(Reason::NotNumber)?,
        _ => return Err(Reason::NotNumber),
    };
    if power < -MOST_ZEROS {
        return Err(Reason::FineNumber { digits: scale.unwrap_or(WRITTEN_MOST) as u32 });
    }
    if power > MOST_ZEROS {
        out.extend_from_slice(text);
        return Ok(());
    }
    let all = Digits { before, behind };
    let is_zero = (0..all.len()).all(|k| all.at(k) == b'0');
    // The point stands behind so many of the digits; below 0: zeros follow it first.
    let point = before.len() as i64 + power;
    let fraction = (all.len() as i64 - point).max(0) as usize;
    let kept = scale.unwrap_or(fraction);
    if (kept..fraction).any(|k| all.at_place(point + k as i64) != b'0') {
        return Err(Reason::FineNumber { digits: kept as u32 });
    }
    if is_negative && !is_zero {
        out.push(b'-');
    }
    let first = (0..point).find(|&place| all.at_place(place) != b'0').unwrap_or(point);
    match first < point {
        true => out.extend((first..point).map(|place| all.at_place(place))),
        false => out.push(b'0'),
    }
    if kept > 0 {
        out.push(b'.');
        out.extend((0..kept as i64).map(|k| all.at_place(point + k)));
    }
    Ok(())
}

/// The digits of a number around its point.
struct Digits<'a> {
    before: &'a [u8],
    behind: &'a [u8],
}

impl Digits<'_> {
    fn len(&self) -> usize {
        self.before.len() + self.behind.len()
    }

    fn at(&self, k: usize) -> u8 {
        self.before.get(k).or_else(|| self.behind.get(k - self.before.len())).copied().unwrap_or(b'0')
    }

    /// Zeros stand beside them.
    fn at_place(&self, place: i64) -> u8 {
        usize::try_from(place).map_or(b'0', |k| self.at(k))
    }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|b| b.is_ascii_digit()).count())
}

/// Of an exponent; `None`: it is none.
fn power_of(text: &[u8]) -> Option<i64> {
    let (sign, size) = match text.split_first()? {
        (b'-', rest) => (-1, rest),
        (b'+', rest) => (1, rest),
        _ => (1, text),
    };
    let is_digits = !size.is_empty() && size.iter().all(u8::is_ascii_digit);
    // One with more digits than a number of 64 bits is beyond all of them.
    let parsed = std::str::from_utf8(size).ok().filter(|_| is_digits)?.parse();
    Some(sign * parsed.unwrap_or(i64::MAX / 2))
}

/// What servers have beside the numbers, as PostgreSQL writes it; one without them refuses it.
fn spell_word(word: &[u8], is_negative: bool, out: &mut Vec<u8>) -> Result<(), Reason> {
    let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let spelled: &[u8] = match is_negative {
        false if is("nan") => b"NaN",
        false if is("inf") || is("infinity") => b"Infinity",
        true if is("inf") || is("infinity") => b"-Infinity",
        _ => return Err(Reason::NotNumber),
    };
    out.extend_from_slice(spelled);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, spelling: Spelling) -> Result<String, Reason> {
        let mut texts = TextValues::default();
        texts.push(b"before");
        let pushed = push_number(&mut texts, text.as_bytes(), spelling);
        match pushed {
            Ok(()) => Ok(String::from_utf8(texts.get(1).to_vec()).unwrap()),
            Err(reason) => {
                assert_eq!((texts.ends.len(), texts.bytes.len()), (1, 6), "{text}");
                Err(reason)
            }
        }
    }

    #[test]
    fn a_number_has_the_digits_that_its_column_keeps() {
        for (text, digits, expected) in [
            ("1.5", 2, "1.50"),
            (" +001.50 ", 2, "1.50"),
            (".5", 1, "0.5"),
            ("5.", 0, "5"),
            ("-0.00", 2, "0.00"),
            ("-0", 0, "0"),
            ("-0.01", 2, "-0.01"),
            ("1.500", 2, "1.50"),
            ("12345678901234567890123.456", 3, "12345678901234567890123.456"),
            ("1e3", 0, "1000"),
            ("1.25E+1", 1, "12.5"),
            ("125e-3", 3, "0.125"),
            ("1e-3", 4, "0.0010"),
            ("0e99", 1, "0.0"),
            ("0.0e3", 0, "0"),
            ("100e-2", 0, "1"),
            ("NAN", 2, "NaN"),
            ("-inf", 2, "-Infinity"),
        ] {
            assert_eq!(read(text, Spelling::Fixed { digits }).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_column_without_a_number_of_digits_keeps_those_that_are_written() {
        for (text, expected) in [
            ("1.50", "1.50"),
            ("007", "7"),
            ("-0.0", "0.0"),
            ("1.5e3", "1500"),
            ("1.50e1", "15.0"),
            ("15e-1", "1.5"),
            ("1e-3", "0.001"),
            (".000", "0.000"),
            ("+Infinity", "Infinity"),
            ("1e300000", "1e300000"),
        ] {
            assert_eq!(read(text, Spelling::Written {}).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_would_be_rounded_is_rejected() {
        let fine = Err(Reason::FineNumber { digits: 16_383 });
        assert_eq!(read("1e-99999999999999999999", Spelling::Written {}), fine);
        assert_eq!(read("1e-200001", Spelling::Fixed { digits: 2 }), Err(Reason::FineNumber { digits: 2 }));
        for (text, digits) in [("0.105", 2), ("-0.001", 2), ("0.5", 0), ("1e-3", 2), ("1.5e-1", 1)] {
            assert_eq!(read(text, Spelling::Fixed { digits }), Err(Reason::FineNumber { digits }), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_rejected() {
        for text in [
            "", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x1f", "1_000", "1,5", "12a", "--1", "-nan", "١", "\0",
        ] {
            for spelling in [Spelling::Written {}, Spelling::Fixed { digits: 2 }] {
                assert_eq!(read(text, spelling), Err(Reason::NotNumber), "{text}");
            }
        }
        assert_eq!(read("12a", Spelling::Any {}).as_deref(), Ok("12a"));
        assert_eq!(read("a\0", Spelling::Any {}), Err(Reason::NulByte));
    }
}
