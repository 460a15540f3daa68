//! One field of text into one typed value, or the reason why not.

use std::fmt;

use crate::plan::LogicalType;

use super::super::columns::{Column, Values};

/// Why a row was rejected; its text goes to the reject file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    FewFields { found: usize, expected: usize },
    ManyFields { found: usize, expected: usize },
    UnbalancedQuote,
    TextAfterQuote,
    QuoteInField,
    UnfinishedEscape,
    LongLine { limit_bytes: usize },
    Null,
    NotInteger,
    NotNumber,
    OutOfRange(LogicalType),
    NotTime,
    TimeTooFine,
    NotBool,
    NotList,
    NotUtf8,
    NulByte,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::FewFields { found, expected } => write!(f, "too few fields: {found} of {expected}"),
            Reason::ManyFields { found, expected } => write!(f, "too many fields: {found} for {expected}"),
            Reason::UnbalancedQuote => f.write_str("unbalanced quote"),
            Reason::TextAfterQuote => f.write_str("text after a closing quote"),
            Reason::QuoteInField => f.write_str("quote inside an unquoted field"),
            Reason::UnfinishedEscape => f.write_str("unfinished escape at the end of the file"),
            Reason::LongLine { limit_bytes } => write!(f, "line longer than {limit_bytes} bytes"),
            Reason::Null => f.write_str("null in a required column"),
            Reason::NotInteger => f.write_str("not an integer"),
            Reason::NotNumber => f.write_str("not a number"),
            Reason::OutOfRange(ty) => write!(f, "out of range of {}", type_name(*ty)),
            Reason::NotTime => f.write_str("not a time"),
            Reason::TimeTooFine => f.write_str("time finer than the column"),
            Reason::NotBool => f.write_str("not a truth value"),
            Reason::NotList => f.write_str("not a list of numbers"),
            Reason::NotUtf8 => f.write_str("not UTF-8"),
            Reason::NulByte => f.write_str("NUL byte in a text"),
        }
    }
}

/// Appends the value of `text` to `column`; on an error the column is unchanged.
///
/// Blanks around anything but a text are ignored.
pub fn push(column: &mut Column, text: &[u8]) -> Result<(), Reason> {
    let ty = column.ty;
    match &mut column.values {
        Values::I32(v) => v.push(match ty {
            LogicalType::Bool => i32::from(truth(text)?),
            LogicalType::I16 => integer_within(text, ty, i64::from(i16::MIN), i64::from(i16::MAX))? as i32,
            _ => integer_within(text, ty, i64::from(i32::MIN), i64::from(i32::MAX))? as i32,
        }),
        Values::I64(v) => v.push(match ty {
            LogicalType::U64 => unsigned(text)? as i64,
            LogicalType::TimeMs => time(text, 1_000)?,
            LogicalType::TimeUs => time(text, 1_000_000)?,
            _ => integer_within(text, ty, i64::MIN, i64::MAX)?,
        }),
        Values::F32(v) => v.push(float::<f32>(text, ty)?),
        Values::F64(v) => v.push(float::<f64>(text, ty)?),
        Values::Text(v) => v.push(clean_text(text)?),
        Values::List(v) => {
            match &mut *v.items {
                Values::I64(items) => {
                    let item = |t: &[u8]| integer_within(t, LogicalType::I64, i64::MIN, i64::MAX);
                    list(text, items, item)?;
                    v.ends.push(items.len() as u32);
                }
                Values::F64(items) => {
                    list(text, items, |t| float::<f64>(t, LogicalType::F64))?;
                    v.ends.push(items.len() as u32);
                }
                _ => unreachable!("lists hold I64 or F64"),
            };
        }
    }
    Ok(())
}

fn clean_text(text: &[u8]) -> Result<&[u8], Reason> {
    if text.contains(&0) {
        return Err(Reason::NulByte);
    }
    std::str::from_utf8(text).map(str::as_bytes).map_err(|_| Reason::NotUtf8)
}

fn integer_within(text: &[u8], ty: LogicalType, low: i64, high: i64) -> Result<i64, Reason> {
    let (negative, size) = integer(text, ty)?;
    let value = if negative { -i128::from(size) } else { i128::from(size) };
    if value < i128::from(low) || value > i128::from(high) {
        return Err(Reason::OutOfRange(ty));
    }
    Ok(value as i64)
}

fn unsigned(text: &[u8]) -> Result<u64, Reason> {
    match integer(text, LogicalType::U64)? {
        (true, size) if size > 0 => Err(Reason::OutOfRange(LogicalType::U64)),
        (_, size) => Ok(size),
    }
}

/// Sign and size of a decimal integer; `ty` names the type that is too small for it.
fn integer(text: &[u8], ty: LogicalType) -> Result<(bool, u64), Reason> {
    let text = text.trim_ascii();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Reason::NotInteger);
    }
    // 19 digits always fit into 64 bits.
    let fit = digits.len().min(19);
    let mut size = digits[..fit].iter().fold(0u64, |n, d| n * 10 + u64::from(d - b'0'));
    for d in &digits[fit..] {
        let next = size.checked_mul(10).and_then(|n| n.checked_add(u64::from(d - b'0')));
        size = next.ok_or(Reason::OutOfRange(ty))?;
    }
    Ok((negative, size))
}

trait Float: std::str::FromStr {
    fn is_infinite(&self) -> bool;
}

impl Float for f32 {
    fn is_infinite(&self) -> bool {
        f32::is_infinite(*self)
    }
}

impl Float for f64 {
    fn is_infinite(&self) -> bool {
        f64::is_infinite(*self)
    }
}

/// The nearest value. `inf` and `nan` are values too; a number too large is out of range.
fn float<F: Float>(text: &[u8], ty: LogicalType) -> Result<F, Reason> {
    let text = text.trim_ascii();
    let value: F = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).ok_or(Reason::NotNumber)?;
    if value.is_infinite() && text.iter().any(u8::is_ascii_digit) {
        return Err(Reason::OutOfRange(ty));
    }
    Ok(value)
}

fn truth(text: &[u8]) -> Result<bool, Reason> {
    let mut word = [0u8; 5];
    let text = text.trim_ascii();
    let lower = word.get_mut(..text.len()).ok_or(Reason::NotBool)?;
    lower.copy_from_slice(text);
    lower.make_ascii_lowercase();
    match &*lower {
        b"1" | b"t" | b"true" | b"y" | b"yes" | b"on" => Ok(true),
        b"0" | b"f" | b"false" | b"n" | b"no" | b"off" => Ok(false),
        _ => Err(Reason::NotBool),
    }
}

/// A JSON array of numbers, appended to `items`; on an error `items` is unchanged.
fn list<T>(text: &[u8], items: &mut Vec<T>, item: impl Fn(&[u8]) -> Result<T, Reason>) -> Result<(), Reason> {
    let inner = text.trim_ascii().strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]"));
    let inner = inner.ok_or(Reason::NotList)?.trim_ascii();
    if inner.is_empty() {
        return Ok(());
    }
    let before = items.len();
    for part in inner.split(|b| *b == b',') {
        match item(part) {
            Ok(value) => items.push(value),
            Err(reason) => {
                items.truncate(before);
                let range = matches!(reason, Reason::OutOfRange(_));
                return Err(if range { reason } else { Reason::NotList });
            }
        }
    }
    Ok(())
}

/// A time in units of `per_second`, since 1970 UTC.
///
/// Takes `2026-01-31`, `2026-01-31 23:59[:59[.123456]]` with `T` or a blank and `Z`, `+01`, `+0100`,
/// `+01:00` or nothing (UTC), and a plain integer in the column's own unit. Digits finer than the
/// column must be zeros: a time is never cut.
fn time(text: &[u8], per_second: i64) -> Result<i64, Reason> {
    let text = text.trim_ascii();
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    if !unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit) {
        let ty = if per_second == 1_000 { LogicalType::TimeMs } else { LogicalType::TimeUs };
        return integer_within(text, ty, i64::MIN, i64::MAX);
    }
    let mut rest = Rest(text);
    let days = date(&mut rest).ok_or(Reason::NotTime)?;
    if rest.0.is_empty() {
        return Ok(days * 86_400 * per_second);
    }
    let (seconds, fraction) = clock(&mut rest).ok_or(Reason::NotTime)?;
    let offset_s = zone(&mut rest).ok_or(Reason::NotTime)?;
    let fraction = in_units(fraction, per_second)?;
    Ok((days * 86_400 + seconds - offset_s) * per_second + fraction)
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

fn date(rest: &mut Rest) -> Option<i64> {
    let year = rest.digits(4)?;
    rest.take(b'-')?;
    let month = rest.digits(2)?;
    rest.take(b'-')?;
    let day = rest.digits(2)?;
    let valid = year >= 1 && (1..=12).contains(&month) && day >= 1 && day <= days_in(year, month);
    valid.then(|| days_since_1970(year, month, day))
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

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the proleptic Gregorian calendar; years begin in March, so that the leap day is the last.
/// Source: H. Hinnant, chrono-compatible low-level date algorithms, `days_from_civil`.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// As the plan names it.
pub fn type_name(ty: LogicalType) -> &'static str {
    match ty {
        LogicalType::Bool => "bool",
        LogicalType::I16 => "i16",
        LogicalType::I32 => "i32",
        LogicalType::I64 => "i64",
        LogicalType::U64 => "u64",
        LogicalType::F32 => "f32",
        LogicalType::F64 => "f64",
        LogicalType::TimeMs => "time_ms",
        LogicalType::TimeUs => "time_us",
        LogicalType::Text => "text",
        LogicalType::ListF64 => "list_f64",
        LogicalType::ListI64 => "list_i64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Value;

    fn parsed(ty: LogicalType, text: &str) -> Result<Value, Reason> {
        let mut column = Column::new("c", ty);
        push(&mut column, text.as_bytes()).map(|()| column.value(0))
    }

    #[test]
    fn integers_are_exact_up_to_their_limits_and_refused_beyond() {
        for (ty, low, high) in [
            (LogicalType::I16, i128::from(i16::MIN), i128::from(i16::MAX)),
            (LogicalType::I32, i128::from(i32::MIN), i128::from(i32::MAX)),
            (LogicalType::I64, i128::from(i64::MIN), i128::from(i64::MAX)),
            (LogicalType::U64, 0, i128::from(u64::MAX)),
        ] {
            for edge in [low, high] {
                let expected =
                    if ty == LogicalType::U64 { Value::U64(edge as u64) } else { Value::I64(edge as i64) };
                assert_eq!(parsed(ty, &edge.to_string()), Ok(expected));
            }
            for beyond in [low - 1, high + 1, high * 1000] {
                assert_eq!(parsed(ty, &beyond.to_string()), Err(Reason::OutOfRange(ty)), "{beyond}");
            }
            for bad in ["", "-", "+", "1.0", "1e3", "0x1", "1_000", "١", "--1", "1 2"] {
                assert_eq!(parsed(ty, bad), Err(Reason::NotInteger), "{bad}");
            }
        }
        assert_eq!(parsed(LogicalType::I32, " +0042 "), Ok(Value::I64(42)));
        assert_eq!(parsed(LogicalType::U64, "-0"), Ok(Value::U64(0)));
        assert_eq!(parsed(LogicalType::U64, "00000000000000000000000000000001"), Ok(Value::U64(1)));
    }

    #[test]
    fn floats_are_the_nearest_and_never_infinite_by_accident() {
        assert_eq!(parsed(LogicalType::F64, "0.1"), Ok(Value::F64(0.1)));
        assert_eq!(parsed(LogicalType::F32, "0.1"), Ok(Value::F64(f64::from(0.1f32))));
        assert_eq!(parsed(LogicalType::F64, "-inf"), Ok(Value::F64(f64::NEG_INFINITY)));
        assert_eq!(parsed(LogicalType::F64, "1e400"), Err(Reason::OutOfRange(LogicalType::F64)));
        assert_eq!(parsed(LogicalType::F32, "1e39"), Err(Reason::OutOfRange(LogicalType::F32)));
        assert_eq!(parsed(LogicalType::F64, "1,5"), Err(Reason::NotNumber));
        assert_eq!(parsed(LogicalType::F64, ""), Err(Reason::NotNumber));
    }

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
        let mut expected = days_since_1970(1, 1, 1);
        for year in 1..=2400 {
            for month in 1..=12 {
                for day in 1..=days_in(year, month) {
                    assert_eq!(days_since_1970(year, month, day), expected, "{year}-{month}-{day}");
                    expected += 1;
                }
            }
        }
        assert_eq!(days_since_1970(1970, 1, 1), 0);
    }

    #[test]
    fn lists_are_json_arrays_of_numbers_and_all_or_nothing() {
        assert_eq!(parsed(LogicalType::ListI64, "[1, -2,3]"), Ok(Value::ListI64(vec![1, -2, 3])));
        assert_eq!(parsed(LogicalType::ListF64, "[]"), Ok(Value::ListF64(vec![])));
        let mut column = Column::new("c", LogicalType::ListF64);
        assert_eq!(push(&mut column, b"[1.5,2,x]"), Err(Reason::NotList));
        push(&mut column, b"[0.5]").unwrap();
        assert_eq!(column.value(0), Value::ListF64(vec![0.5]));
        for bad in ["", "1,2", "[1", "[1,]", "[null]", "[[1]]"] {
            assert_eq!(parsed(LogicalType::ListI64, bad), Err(Reason::NotList), "{bad}");
        }
    }

    #[test]
    fn texts_are_utf8_without_nul_and_keep_their_blanks() {
        assert_eq!(parsed(LogicalType::Text, " é "), Ok(Value::Text(" é ".into())));
        let mut column = Column::new("c", LogicalType::Text);
        assert_eq!(push(&mut column, b"\xff"), Err(Reason::NotUtf8));
        assert_eq!(push(&mut column, b"a\0b"), Err(Reason::NulByte));
    }

    #[test]
    fn truth_has_six_words_each() {
        for text in ["1", "T", "true", "Yes", "y", "ON"] {
            assert_eq!(parsed(LogicalType::Bool, text), Ok(Value::Bool(true)), "{text}");
        }
        for text in ["0", "f", "FALSE", "no", "N", "off"] {
            assert_eq!(parsed(LogicalType::Bool, text), Ok(Value::Bool(false)), "{text}");
        }
        for text in ["", "2", "maybe", "truefalse"] {
            assert_eq!(parsed(LogicalType::Bool, text), Err(Reason::NotBool), "{text}");
        }
    }
}
