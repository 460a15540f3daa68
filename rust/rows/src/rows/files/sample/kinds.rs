//! What a value is: one of the kinds that decide on the type of a column. Their numbers are those of `KINDS` in
//! python/inrush/study/value_types.py, which says what fits each. Pure.

use super::times::{day, iso};

/// Words that files write for NULL. Twin of NULL_WORDS in python/inrush/study/value_types.py.
pub const NULL_WORDS: [&[u8]; 8] = [b"", b"NA", b"NULL", b"null", b"N/A", b"None", b"\\N", b"-"];
/// The place behind them: the word that a command line gave.
pub const GIVEN: usize = NULL_WORDS.len();
const TRUTHS: [&[u8]; 4] = [b"true", b"false", b"t", b"f"];
const YES_NO: [&[u8]; 6] = [b"yes", b"no", b"y", b"n", b"on", b"off"];
const NOT_FINITE: [&[u8]; 3] = [b"nan", b"inf", b"infinity"];

/// The first numbers of the families of kinds.
pub const TEXT: usize = 0;
/// A word for NULL in quotes, which is a text.
pub const QUOTED: usize = 1;
const TRUTH: usize = 2;
const YES: usize = 3;
const INTEGER_LIST: usize = 4;
const FLOAT_LIST: usize = 5;
const ROUNDED_LIST: usize = 6;
const WORD: usize = 7;
const CODE: usize = 8;
const FLOAT: usize = 9;
const ROUNDED: usize = 10;
const WHOLE: usize = 11;
/// Of 8 and 24 kinds.
pub const ISO: usize = WHOLE + BOUNDS.len() + 1;
pub const DAY: usize = ISO + 8;
#[cfg(test)]
const KINDS: usize = DAY + 24;

/// Whole numbers from which on other types hold them. Twin of BOUNDS in python/inrush/study/value_types.py.
const BOUNDS: [i128; 9] =
    [-(1 << 63), -(1 << 53), -(1 << 31), 0, 2, 1 << 31, (1 << 53) + 1, 1 << 63, 1 << 64];
/// So many digits a double keeps.
const KEPT_DIGITS: usize = 15;

/// The place of the word for NULL that the field is.
pub fn null_word(field: &[u8]) -> Option<usize> {
    // None is longer.
    if field.len() > 4 {
        return None;
    }
    NULL_WORDS.iter().position(|word| *word == field)
}

/// What names no column: a number, a word that stands for one, or a time.
pub fn is_value(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let of = kind(text);
    (WORD..DAY).contains(&of) || has_shape_of_time(text)
}

/// As of a time, whether there is such a day or not.
fn has_shape_of_time(text: &[u8]) -> bool {
    let is_date_s = |(k, b): (usize, &u8)| if k == 4 || k == 7 { *b == b'-' } else { b.is_ascii_digit() };
    text.len() >= 10
        && text[..10].iter().enumerate().all(is_date_s)
        && iso(&[b"2000-01-01", &text[10..]].concat()).is_some()
}

/// The kind of a text.
pub fn kind_of(text: &[u8]) -> usize {
    kind(text.trim_ascii())
}

fn kind(text: &[u8]) -> usize {
    let found = match text.first() {
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => {
            number(text).or_else(|| iso(text).map(|of| ISO + of)).or_else(|| day(text).map(|of| DAY + of))
        }
        Some(b'[') => return list(text),
        _ => None,
    };
    found.or_else(|| word(text)).unwrap_or(TEXT)
}

fn word(text: &[u8]) -> Option<usize> {
    if text.len() > 9 {
        return None;
    }
    let is_one_of = |text: &[u8], words: &[&[u8]]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    let families = [(&TRUTHS[..], TRUTH), (&YES_NO[..], YES)];
    if let Some((_, of)) = families.iter().find(|(words, _)| is_one_of(text, words)) {
        return Some(*of);
    }
    let of = if text.first() == Some(&b'+') { CODE } else { WORD };
    is_one_of(unsigned(text), &NOT_FINITE).then_some(of)
}

fn unsigned(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text)
}

fn number(text: &[u8]) -> Option<usize> {
    if !is_number(text) {
        return None;
    }
    let digits = unsigned(text);
    if text[0] == b'+' {
        return Some(CODE);
    }
    if text.iter().any(|b| b".eE".contains(b)) {
        return Some(float(text));
    }
    Some(if digits.len() > 1 && digits[0] == b'0' { CODE } else { WHOLE + range(text) })
}

/// Digits with a sign, a point and an exponent, or without.
fn is_number(text: &[u8]) -> bool {
    let (mantissa, power) = mantissa_and_power(unsigned(text));
    let points = mantissa.iter().filter(|b| **b == b'.').count();
    let is_mantissa =
        mantissa.len() > points && points <= 1 && mantissa.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let is_power = |power: &[u8]| !power.is_empty() && power.iter().all(u8::is_ascii_digit);
    is_mantissa && power.map(unsigned).is_none_or(is_power)
}

/// `-1.5`, `e+3` -> without their `e`.
fn mantissa_and_power(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|b| b"eE".contains(b)) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// How many of the bounds are not above a whole number.
fn range(text: &[u8]) -> usize {
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i128>().ok());
    let beyond = if text[0] == b'-' { i128::MIN } else { i128::MAX };
    BOUNDS.iter().filter(|bound| **bound <= value.unwrap_or(beyond)).count()
}

fn float(text: &[u8]) -> usize {
    match std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()) {
        Some(value) if !value.is_finite() => TEXT,
        _ if is_kept(text) => FLOAT,
        _ => ROUNDED,
    }
}

/// Whether the number that is written is that of a double as programs print one: its shortest text, or 17 digits.
///
/// Of 17 digits (`%.17g`) a double is known, though the number that they write is not exactly its own.
fn is_kept(text: &[u8]) -> bool {
    let is_short = text.len() <= KEPT_DIGITS + usize::from(text.contains(&b'.'));
    if is_short && !text.iter().any(|b| b"eE".contains(b)) {
        return true;
    }
    let Some(value) = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()) else {
        return false;
    };
    let printed = [format!("{value:e}"), format!("{value:.16e}")];
    value.is_finite() && printed.iter().any(|printed| decimal(printed.as_bytes()) == decimal(text))
}

/// The same of 32 bits and their shortest text alone.
fn is_kept_in_32_bits(text: &[u8]) -> bool {
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f32>().ok());
    // Beyond the largest: the reader rejects it.
    value.is_some_and(|v| !v.is_finite() || decimal(format!("{v:e}").as_bytes()) == decimal(text))
}

/// Whether a column of floats has the number that a text writes, or the numbers of a list; text that is not a number counts as kept.
pub fn keeps(text: &[u8], single: bool) -> bool {
    let text = text.trim_ascii();
    let inside = text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]")).unwrap_or(text);
    let kept = |item: &[u8]| {
        let item = item.trim_ascii();
        !is_number(item) || if single { is_kept_in_32_bits(item) } else { is_kept(item) }
    };
    inside.split(|b| *b == b',').all(kept)
}

/// Digits of a number from the first to the last that is not 0, and the place of its point before or behind the first.
fn decimal(text: &[u8]) -> (Vec<u8>, i64) {
    let (mantissa, power) = mantissa_and_power(unsigned(text));
    let is_small = power.is_some_and(|power| power.first() == Some(&b'-'));
    let beyond = if is_small { i64::MIN / 4 } else { i64::MAX / 4 };
    let read = |power: &[u8]| std::str::from_utf8(power).ok()?.parse::<i64>().ok();
    let power = power.map_or(0, |power| read(power).unwrap_or(beyond));
    let before = mantissa.iter().position(|b| *b == b'.').unwrap_or(mantissa.len());
    let digits: Vec<u8> = mantissa.iter().copied().filter(|b| *b != b'.').collect();
    let Some(first) = digits.iter().position(|b| *b != b'0') else { return (Vec::new(), 0) };
    let last = digits.iter().rposition(|b| *b != b'0').expect("there is a first");
    (digits[first..=last].to_vec(), before as i64 - first as i64 + power.clamp(i64::MIN / 4, i64::MAX / 4))
}

/// A list of numbers as the reader takes it, or a text.
fn list(text: &[u8]) -> usize {
    let Some(inside) = text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]")) else { return TEXT };
    let inside = inside.trim_ascii();
    if inside.is_empty() {
        return INTEGER_LIST;
    }
    let items = || inside.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    let is_whole = |item: &[u8]| std::str::from_utf8(item).is_ok_and(|item| item.parse::<i64>().is_ok());
    if !items().all(is_number) {
        TEXT
    } else if items().all(is_whole) {
        INTEGER_LIST
    } else if items().all(is_kept) {
        FLOAT_LIST
    } else {
        ROUNDED_LIST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> usize {
        kind_of(text.as_bytes())
    }

    #[test]
    fn values_that_decide_otherwise_are_of_other_kinds() {
        let kinds = [
            "1",
            "12",
            "-12",
            "2147483648",
            "-2147483649",
            "9007199254740994",
            "-9007199254740993",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "007",
            "0.5",
            "0.1234567890123456789",
            "nan",
            "true",
            "yes",
            "2026-01-31",
            "2026-01-31 10:00:00",
            "2026-01-31 10:00:00.123456",
            "2026-01-31 10:00:00.1234567",
            "1850-01-31",
            "31/01/2026",
            "01/31/2026",
            "01/02/2026",
            "01/02/1850",
            "31/01/2026 10:00",
            "[1]",
            "[1.5]",
            "[0.1234567890123456789]",
            "a b",
        ];
        let mut found: Vec<usize> = kinds.iter().map(|text| of(text)).collect();
        assert!(found.iter().all(|kind| *kind < KINDS && *kind != QUOTED));
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), kinds.len());
    }

    #[test]
    fn values_that_decide_alike_are_of_one_kind() {
        for (one, other) in [
            ("23", "999"),
            ("0.5", "123.25"),
            ("0.5", "1e5"),
            ("0.1234567890123456", "0.10000000000000001"),
            ("0.5", "0.000000000000000000"),
            ("+5", "012"),
            ("+5", "+inf"),
            ("abc", "x-y"),
            ("abc", "2026-02-29"),
            ("abc", "99/99/2026"),
            ("abc", "1e400"),
            ("abc", "[x]"),
            ("abc", "  "),
            ("-0", "1"),
            (" 7", "8 "),
            ("abc", "[1,]"),
            ("abc", "[1-2]"),
            ("[1]", "[ 1, -2 ]"),
            ("[1.5]", "[1, 2.5]"),
            ("0.1234567890123456789", "1e-1000000"),
            ("0.5", "0e99999999999999999999"),
            ("18446744073709551616", &"1".repeat(301)),
        ] {
            assert_eq!(of(one), of(other), "{one} {other}");
        }
    }

    #[test]
    fn a_column_of_floats_keeps_what_its_digits_write() {
        for (text, double, single) in [
            ("0.1", true, true),
            ("16777217", true, false),
            ("0.1234567890123456789", false, false),
            ("0.123456789", true, false),
            ("[0.5, 0.1234567890123456789]", false, false),
            ("1e39", true, true),
            ("nan", true, true),
            ("x", true, true),
        ] {
            assert_eq!(
                (keeps(text.as_bytes(), false), keeps(text.as_bytes(), true)),
                (double, single),
                "{text}"
            );
        }
    }

    #[test]
    fn a_line_of_names_has_no_value() {
        for name in ["id", "k 1", "a-b", "1a", "-", "true", "[x]", "31/01/2026", ""] {
            assert!(!is_value(name.as_bytes()), "{name}");
        }
        for value in
            ["2026-02-30", "12", "-0.5", "1e5", "nan", "2026-01-31", "2026-01-31T10:00:00Z", "+5", "007"]
        {
            assert!(is_value(value.as_bytes()), "{value}");
        }
    }
}
