//! Kinds of values, finer than those that decide on a column (`python/inrush/study/types.py`): each is a bit. Pure.

/// A field without a value; also its bit among the words for NULL.
pub const NULL: u16 = 1;
/// Words that may stand for NULL beside the empty field. Twin of NULL_WORDS in python/inrush/study/quoted.py.
const WORDS: [&[u8]; 7] = [b"NA", b"NULL", b"null", b"N/A", b"None", b"\\N", b"-"];
const TRUTHS: [&[u8]; 4] = [b"true", b"false", b"t", b"f"];
const YES_NO: [&[u8]; 6] = [b"yes", b"no", b"y", b"n", b"on", b"off"];
const NOT_FINITE: [&[u8]; 3] = [b"nan", b"inf", b"infinity"];

/// First bits of the families of kinds.
const EMPTY: u32 = 0;
const ZERO_ONE: u32 = 1;
const WHOLE: u32 = 2;
const NEGATIVE: u32 = 9;
const CODE: u32 = 16;
const FLOAT: u32 = 17;
const WORD: u32 = 20;
const ISO: u32 = 24;
const FAR: u32 = 29;
const DAY: u32 = 30;
const LIST: u32 = 50;
const TEXT: u32 = 53;
const QUOTED: u32 = 54;

/// Kinds that the name of a column may be of: texts, lists, and days such as 31/01/2026.
const NAMES: u64 = (1 << TEXT) | (0b111 << LIST) | (0xf_ffff << DAY);

/// The word for NULL that the field is; 0 of others. In quotes it is none.
pub fn null_word(field: &[u8]) -> u16 {
    if field.is_empty() {
        return NULL;
    }
    WORDS.iter().position(|word| *word == field).map_or(0, |k| 2 << k)
}

/// What no column is named: `no_header` of python/inrush/study/first_line.py.
pub fn is_value(field: &[u8]) -> bool {
    let text = unquoted(field).trim_ascii();
    let bits = kind(text);
    bits & NAMES == 0 && !is_word(text)
        || text == b"\\N"
        || NOT_FINITE.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn is_word(text: &[u8]) -> bool {
    [&TRUTHS[..], &YES_NO[..], &NOT_FINITE[..]].concat().iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The bit of a field's kind.
pub fn kind_of(field: &[u8]) -> u64 {
    let inside = unquoted(field);
    if inside.len() < field.len() && null_word(inside) != 0 {
        return 1 << QUOTED;
    }
    kind(inside.trim_ascii())
}

fn unquoted(field: &[u8]) -> &[u8] {
    field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")).unwrap_or(field)
}

fn kind(text: &[u8]) -> u64 {
    let Some(first) = text.first() else { return 1 << EMPTY };
    let found = match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => number(text).or_else(|| iso(text)).or_else(|| day(text)),
        b'[' => Some(1 << (LIST + if text.iter().any(|b| b".eE".contains(b)) { 1 } else { 0 })),
        _ => None,
    };
    found.or_else(|| word(text)).unwrap_or(1 << TEXT)
}

fn word(text: &[u8]) -> Option<u64> {
    if text.len() > 9 {
        return None;
    }
    let is_one_of = |words: &[&[u8]]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    let signed = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    if is_one_of(&TRUTHS) {
        return Some(1 << WORD);
    }
    if is_one_of(&YES_NO) {
        return Some(1 << (WORD + 1));
    }
    if NOT_FINITE.iter().any(|word| signed.eq_ignore_ascii_case(word)) {
        return Some(1 << (WORD + 2));
    }
    None
}

/// Whole numbers by their digits, and fractions by what a float keeps of them.
fn number(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    let mantissa_end = digits.iter().position(|b| b"eE".contains(b)).unwrap_or(digits.len());
    let (mantissa, exponent) = digits.split_at(mantissa_end);
    let points = mantissa.iter().filter(|b| **b == b'.').count();
    let n = mantissa.len() - points;
    let is_digits = |b: &u8| b.is_ascii_digit();
    if n == 0 || points > 1 || !mantissa.iter().all(|b| is_digits(b) || *b == b'.') {
        return None;
    }
    if let Some(power) = exponent.get(1..) {
        let power = power.strip_prefix(b"+").or_else(|| power.strip_prefix(b"-")).unwrap_or(power);
        return (!power.is_empty() && power.iter().all(is_digits)).then_some(1 << (FLOAT + 2));
    }
    if text[0] == b'+' {
        return Some(1 << CODE);
    }
    if points == 1 {
        return Some(1 << (FLOAT + u32::from(text.len() > 15)));
    }
    if n > 1 && mantissa[0] == b'0' {
        return Some(1 << CODE);
    }
    if matches!(text, b"0" | b"1") {
        return Some(1 << ZERO_ONE);
    }
    let bucket = match n {
        ..=9 => 0,
        10 => 1,
        11..=15 => 2,
        16 => 3,
        17..=18 => 4,
        19 => 5,
        _ => 6,
    };
    Some(1 << (bucket + if text[0] == b'-' { NEGATIVE } else { WHOLE }))
}

/// `2026-01-31`, with a time of day or without.
fn iso(text: &[u8]) -> Option<u64> {
    let shape = |k: usize, b: &u8| if k == 4 || k == 7 { *b == b'-' } else { b.is_ascii_digit() };
    let date = text.get(..10)?;
    if !date.iter().enumerate().all(|(k, b)| shape(k, b)) {
        return None;
    }
    let year = date[..4].iter().fold(0, |year, b| year * 10 + u32::from(b - b'0'));
    let far = if (1901..2299).contains(&year) { 0 } else { 1 << FAR };
    Some(1 << (ISO + clock(&text[10..])?) | far)
}

/// `31/01/2026`, `1.31.2026`: which of day and month stands first, as far as it shows.
fn day(text: &[u8]) -> Option<u64> {
    let number = |at: usize| -> Option<(u32, usize)> {
        let digits = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let value = text[at..at + digits]
            .iter()
            .fold(0, |n: u32, b| n.wrapping_mul(10).wrapping_add(u32::from(b - b'0')));
        (digits > 0 && digits <= 4).then_some((value, at + digits))
    };
    let (first, at) = number(0)?;
    let by = *text.get(at).filter(|b| b"/.-".contains(b))?;
    let (second, at) = number(at + 1)?;
    text.get(at).filter(|b| **b == by)?;
    let (year, end) = number(at + 1)?;
    let order = u32::from(first > 12) + 2 * u32::from(second > 12);
    let far = if (1901..2299).contains(&year) { 0 } else { 1 << FAR };
    Some(1 << (DAY + 5 * order + clock(&text[end..])?) | far)
}

/// Of what stands behind a day: 0 nothing, then by the digits of a second's fraction. `None`: it is no time of day.
fn clock(text: &[u8]) -> Option<u32> {
    let Some(first) = text.first() else { return Some(0) };
    if !b"Tt ".contains(first) || !text[1..].iter().all(|b| b"0123456789:.+-ZzUTC ".contains(b)) {
        return None;
    }
    let fraction = text.iter().position(|b| *b == b'.').map_or(&[][..], |at| &text[at + 1..]);
    let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
    let said = fraction[..digits].iter().rposition(|b| *b != b'0').map_or(0, |last| last + 1);
    Some(match said {
        0 => 1,
        1..=3 => 2,
        4..=6 => 3,
        _ => 4,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bit(text: &str) -> u32 {
        kind_of(text.as_bytes()).trailing_zeros()
    }

    #[test]
    fn values_that_decide_otherwise_are_of_other_kinds() {
        let kinds = [
            "",
            "1",
            "12",
            "-12",
            "2147483648",
            "-2147483648",
            "12345678901",
            "9007199254740993",
            "123456789012345678",
            "9223372036854775808",
            "18446744073709551616",
            "007",
            "0.5",
            "0.1234567890123456789",
            "1e5",
            "nan",
            "true",
            "yes",
            "2026-01-31",
            "2026-01-31 10:00:00",
            "2026-01-31 10:00:00.5",
            "2026-01-31 10:00:00.123456",
            "2026-01-31 10:00:00.1234567",
            "31/01/2026",
            "01/31/2026",
            "01/02/2026",
            "31/01/2026 10:00",
            "[1]",
            "[1.5]",
            "a b",
            "\"NA\"",
        ];
        let mut bits: Vec<u32> = kinds.iter().map(|text| bit(text)).collect();
        bits.sort_unstable();
        bits.dedup();
        assert_eq!(bits.len(), kinds.len());
        assert!(*bits.last().unwrap() < 64);
        assert_ne!(kind_of(b"1850-01-31"), kind_of(b"2026-01-31"));
    }

    #[test]
    fn values_that_decide_alike_are_of_one_kind() {
        for (one, other) in
            [("23", "999"), ("0.5", "123.25"), ("+5", "012"), ("abc", "x-y"), (" 7", "8 "), ("\"a\"", "b")]
        {
            assert_eq!(bit(one), bit(other), "{one} {other}");
        }
    }

    #[test]
    fn a_line_of_names_has_no_value() {
        for name in ["id", "k 1", "a-b", "1a", "-", "true", "[x]", "31/01/2026"] {
            assert!(!is_value(name.as_bytes()), "{name}");
        }
        for value in
            ["", " ", "\\N", "12", "-0.5", "1e5", "nan", "2026-01-31", "2026-01-31T10:00:00Z", "+5", "007"]
        {
            assert!(is_value(value.as_bytes()), "{value}");
        }
    }
}
