//! Kinds of values: those of one bit are of one kind by `kind_of` of python/inrush/study/types.py too. Pure.

use crate::look_times::{day, iso};

/// A field without a value; also its bit among the words for NULL.
pub const NULL: u16 = 1;
/// Words that may stand for NULL beside the empty field. Twin of NULL_WORDS in python/inrush/study/quoted.py.
const WORDS: [&[u8]; 7] = [b"NA", b"NULL", b"null", b"N/A", b"None", b"\\N", b"-"];
const TRUTHS: [&[u8]; 4] = [b"true", b"false", b"t", b"f"];
const YES_NO: [&[u8]; 6] = [b"yes", b"no", b"y", b"n", b"on", b"off"];
const NOT_FINITE: [&[u8]; 3] = [b"nan", b"inf", b"infinity"];

/// The kind of a value is not certain: its file is to be looked at closely.
pub const UNCERTAIN: u64 = 0;

/// First bits of the families of kinds.
const TEXT: u32 = 0;
const QUOTED: u32 = 1;
const TRUTH: u32 = 2;
const YES: u32 = 3;
const INTEGER_LIST: u32 = 4;
const FLOAT_LIST: u32 = 5;
const WORD: u32 = 6;
const CODE: u32 = 7;
const FLOAT: u32 = 8;
const ROUNDED: u32 = 9;
const WHOLE: u32 = 10;
/// Of 8 and 24 kinds.
const ISO: u32 = 20;
const DAY: u32 = 28;

/// What no column is named: numbers, `nan` and such, and times.
const VALUES: u64 = (1 << DAY) - (1 << WORD);

/// Whole numbers from which on other types hold them. Twin of BOUNDS in python/inrush/study/types.py.
const BOUNDS: [i128; 9] =
    [-(1 << 63), -(1 << 53), -(1 << 31), 0, 2, 1 << 31, (1 << 53) + 1, 1 << 63, 1 << 64];
/// So many digits a double keeps.
const KEPT_DIGITS: usize = 15;
/// Numbers of more characters are not certain, nor are exponents of more digits.
const MOST_CHARS: usize = 300;
const MOST_POWER: usize = 6;

/// The word for NULL that the field is; 0 of others. In quotes it is none.
pub fn null_word(field: &[u8]) -> u16 {
    if field.is_empty() {
        return NULL;
    }
    WORDS.iter().position(|word| *word == field).map_or(0, |k| 2 << k)
}

/// What certainly is no name of a column: `no_header` of python/inrush/study/first_line.py takes it for a value.
pub fn is_value(field: &[u8], quoted: bool) -> bool {
    let text = if quoted { unquoted(field) } else { field }.trim_ascii();
    text == b"\\N" || kind(text) & VALUES != 0
}

/// The bit of a field's kind. quoted: quotes around it are none of its text.
pub fn kind_of(field: &[u8], quoted: bool) -> u64 {
    let inside = unquoted(field);
    if inside.len() < field.len() && null_word(inside) != 0 {
        return 1 << QUOTED;
    }
    kind(if quoted { inside } else { field }.trim_ascii())
}

fn unquoted(field: &[u8]) -> &[u8] {
    field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")).unwrap_or(field)
}

fn kind(text: &[u8]) -> u64 {
    let found = match text.first() {
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => number(text)
            .or_else(|| iso(text).map(|of| 1 << (ISO + of)))
            .or_else(|| day(text).map(|of| 1 << (DAY + of))),
        Some(b'[') => list(text),
        _ => None,
    };
    found.or_else(|| word(text)).unwrap_or(1 << TEXT)
}

fn word(text: &[u8]) -> Option<u64> {
    let is_one_of = |text: &[u8], words: &[&[u8]]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    let families = [(&TRUTHS[..], TRUTH), (&YES_NO[..], YES)];
    if let Some((_, bit)) = families.iter().find(|(words, _)| is_one_of(text, words)) {
        return Some(1 << bit);
    }
    let bit = if text.first() == Some(&b'+') { CODE } else { WORD };
    is_one_of(unsigned(text), &NOT_FINITE).then_some(1 << bit)
}

fn unsigned(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text)
}

fn number(text: &[u8]) -> Option<u64> {
    let (mantissa, power) = mantissa_and_power(unsigned(text));
    let points = mantissa.iter().filter(|b| **b == b'.').count();
    let digits = mantissa.len() - points;
    if digits == 0 || points > 1 || !mantissa.iter().all(|b| b.is_ascii_digit() || *b == b'.') {
        return None;
    }
    let power = power.map(unsigned);
    if power.is_some_and(|power| power.is_empty() || !power.iter().all(u8::is_ascii_digit)) {
        return None;
    }
    if text.len() > MOST_CHARS || power.is_some_and(|power| power.len() > MOST_POWER) {
        return Some(UNCERTAIN);
    }
    if text[0] == b'+' {
        return Some(1 << CODE);
    }
    if points == 1 || power.is_some() {
        return Some(float(text));
    }
    Some(1 << if digits > 1 && mantissa[0] == b'0' { CODE } else { WHOLE + range(text) })
}

/// `-1.5`, `e+3` -> without their `e`.
fn mantissa_and_power(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|b| b"eE".contains(b)) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// How many of the bounds are not above a whole number.
fn range(text: &[u8]) -> u32 {
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i128>().ok());
    let beyond = if text[0] == b'-' { i128::MIN } else { i128::MAX };
    BOUNDS.iter().filter(|bound| **bound <= value.unwrap_or(beyond)).count() as u32
}

fn float(text: &[u8]) -> u64 {
    let is_short = text.len() <= KEPT_DIGITS + usize::from(text.contains(&b'.'));
    if is_short && !text.iter().any(|b| b"eE".contains(b)) {
        return 1 << FLOAT;
    }
    let Some(value) = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()) else {
        return UNCERTAIN;
    };
    if !value.is_finite() {
        return 1 << TEXT;
    }
    // What programs print of a double: its shortest text, or 17 digits.
    let printed = [format!("{value:e}"), format!("{value:.16e}")];
    let is_kept = printed.iter().any(|printed| decimal(printed.as_bytes()) == decimal(text));
    1 << if is_kept { FLOAT } else { ROUNDED }
}

/// Digits of a number from the first to the last that is not 0, and the place of its point before or behind the first.
fn decimal(text: &[u8]) -> (Vec<u8>, i64) {
    let (mantissa, power) = mantissa_and_power(unsigned(text));
    let power = power.and_then(|power| std::str::from_utf8(power).ok()?.parse::<i64>().ok()).unwrap_or(0);
    let before = mantissa.iter().position(|b| *b == b'.').unwrap_or(mantissa.len());
    let digits: Vec<u8> = mantissa.iter().copied().filter(|b| *b != b'.').collect();
    let Some(first) = digits.iter().position(|b| *b != b'0') else { return (Vec::new(), 0) };
    let last = digits.iter().rposition(|b| *b != b'0').expect("there is a first");
    (digits[first..=last].to_vec(), before as i64 - first as i64 + power)
}

fn list(text: &[u8]) -> Option<u64> {
    let inside = text.strip_prefix(b"[")?.strip_suffix(b"]")?.trim_ascii();
    if !inside.iter().all(|b| b.is_ascii_digit() || b.is_ascii_whitespace() || b".eE+-,".contains(b)) {
        return None;
    }
    let kind = if inside.iter().any(|b| b".eE".contains(b)) { FLOAT_LIST } else { INTEGER_LIST };
    let is_kept = |item: &[u8]| match number(item.trim_ascii()) {
        Some(bit) if bit == 1 << FLOAT => true,
        Some(bit) if bit >= 1 << WHOLE => kind == INTEGER_LIST || item.len() <= KEPT_DIGITS,
        _ => false,
    };
    let is_certain = inside.is_empty()
        || inside.split(|b| *b == b',').all(|item| !item.trim_ascii().is_empty() && is_kept(item));
    Some(if is_certain { 1 << kind } else { UNCERTAIN })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> u64 {
        kind_of(text.as_bytes(), true)
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
            "a b",
            "\"NA\"",
        ];
        let mut bits: Vec<u64> = kinds.iter().map(|text| of(text)).collect();
        assert!(bits.iter().all(|bit| bit.count_ones() == 1));
        bits.sort_unstable();
        bits.dedup();
        assert_eq!(bits.len(), kinds.len());
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
            ("\"a\"", "b"),
            ("\"7\"", "8"),
        ] {
            assert_eq!(of(one), of(other), "{one} {other}");
        }
        assert_eq!(kind_of(b"\"7\"", false), of("a"), "quotes that are a part of the text");
    }

    #[test]
    fn what_is_not_certain_is_of_no_kind() {
        for text in ["[1,]", "[1.5,00.1234567890123456789]", "1e1000000", &"1".repeat(301)] {
            assert_eq!(of(text), UNCERTAIN, "{text}");
        }
    }

    #[test]
    fn a_line_of_names_has_no_value() {
        for name in ["id", "k 1", "a-b", "1a", "-", "true", "[x]", "31/01/2026", "", "\"7\""] {
            assert!(!is_value(name.as_bytes(), false), "{name}");
        }
        for value in ["\\N", "12", "-0.5", "1e5", "nan", "2026-01-31", "2026-01-31T10:00:00Z", "+5", "007"] {
            assert!(is_value(value.as_bytes(), true), "{value}");
        }
    }
}
