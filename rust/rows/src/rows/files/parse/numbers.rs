//! Integers and floats from decimal text: exact or nearest, never cut.

use super::Reason;
use crate::plan::LogicalType;

/// A whole number of the type; of a time, in its unit.
pub fn whole(text: &[u8], ty: LogicalType) -> Result<i64, Reason> {
    let (low, high) = ty.range().unwrap_or((i64::MIN, i64::MAX));
    let (negative, size) = integer(text, ty)?;
    let value = if negative { -i128::from(size) } else { i128::from(size) };
    if value < i128::from(low) || value > i128::from(high) {
        return Err(Reason::OutOfRange(ty));
    }
    Ok(value as i64)
}

pub fn unsigned(text: &[u8]) -> Result<u64, Reason> {
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

/// The marks of a number that is not written with a point alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    pub decimal: u8,
    /// Between groups of three digits; empty: there are no groups.
    pub thousands: Vec<u8>,
}

impl Marks {
    /// A number as `1234.5`, and what has no digit as it stands; `None` where the marks stand as in no number, so that no
    /// `1.5` is read where the point parts thousands.
    pub fn pointed<'a>(&self, text: &'a [u8], out: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        let text = text.trim_ascii();
        if !text.iter().any(u8::is_ascii_digit) {
            return Some(text);
        }
        out.clear();
        let signed = text.iter().take(1).take_while(|b| b"+-".contains(b)).count();
        out.extend_from_slice(&text[..signed]);
        let mut rest = self.whole(&text[signed..], out)?;
        if let Some(fraction) = rest.strip_prefix(&[self.decimal]) {
            out.push(b'.');
            rest = digits(fraction, out);
        }
        let is_power = matches!(rest.first(), None | Some(b'e' | b'E'));
        out.extend_from_slice(rest);
        is_power.then_some(out)
    }

    /// The digits before the fraction, in groups or not; gives what follows.
    fn whole<'a>(&self, text: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
        let first = out.len();
        let mut rest = digits(text, out);
        let mut is_group = (1..=3).contains(&(out.len() - first));
        while let Some(next) = rest.strip_prefix(&self.thousands[..]).filter(|_| !self.thousands.is_empty()) {
            let before = out.len();
            rest = digits(next, out);
            is_group &= out.len() - before == 3;
            if !is_group {
                return None;
            }
        }
        Some(rest)
    }
}

/// Appends the digits at the start of `text`; gives what follows.
fn digits<'a>(text: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let (digits, rest) = text.split_at(text.iter().take_while(|b| b.is_ascii_digit()).count());
    out.extend_from_slice(digits);
    rest
}

pub trait Float: std::str::FromStr {
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
pub fn float<F: Float>(text: &[u8], ty: LogicalType) -> Result<F, Reason> {
    let text = text.trim_ascii();
    let value: F = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).ok_or(Reason::NotNumber)?;
    if value.is_infinite() && text.iter().any(u8::is_ascii_digit) {
        return Err(Reason::OutOfRange(ty));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::super::tests::parsed;
    use super::*;
    use crate::rows::Value;

    #[test]
    fn integers_are_exact_up_to_their_limits_and_refused_beyond() {
        for (ty, low, high) in [
            (LogicalType::I16, i128::from(i16::MIN), i128::from(i16::MAX)),
            (LogicalType::I32, i128::from(i32::MIN), i128::from(i32::MAX)),
            (LogicalType::I64, i128::from(i64::MIN), i128::from(i64::MAX)),
            (LogicalType::U8, 0, i128::from(u8::MAX)),
            (LogicalType::U16, 0, i128::from(u16::MAX)),
            (LogicalType::U32, 0, i128::from(u32::MAX)),
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
    fn marks_of_numbers_become_a_point_and_stand_nowhere_else() {
        let read = |decimal: u8, thousands: &str, text: &str| {
            let marks = Marks { decimal, thousands: thousands.as_bytes().to_vec() };
            let mut out = Vec::new();
            marks.pointed(text.as_bytes(), &mut out).map(|t| String::from_utf8(t.to_vec()).unwrap())
        };
        for (decimal, thousands, text, expected) in [
            (b',', "", " -1234,50 ", Some("-1234.50")),
            (b',', ".", "1.234.567,8", Some("1234567.8")),
            (b',', ".", "1234567,8", Some("1234567.8")),
            (b',', ".", "+1.234", Some("+1234")),
            (b',', "", ",5e-3", Some(".5e-3")),
            (b'.', ",", "12,345.5", Some("12345.5")),
            (b'.', "\u{a0}", "12\u{a0}345", Some("12345")),
            (b',', "", "NaN", Some("NaN")),
            (b',', "", "", Some("")),
            (b',', "", "1.5", None),
            (b',', ".", "1.5", None),
            (b',', ".", "1.2345", None),
            (b',', ".", "1234.567", None),
            (b',', ".", ".567", None),
            (b',', ".", "1.234,5.6", None),
            (b',', "", "1,5,6", None),
            (b',', "", "31.01.2026", None),
        ] {
            let found = read(decimal, thousands, text);
            assert_eq!(found.as_deref(), expected, "{text} with {:?} and {thousands:?}", decimal as char);
        }
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
}
