//! Decimals as PostgreSQL's `numeric`: four words of head, then digits of base 10,000 on both sides of the point.

use super::place::put;

const NEGATIVE: u16 = 0x4000;
const HEAD_WORDS: usize = 4;
/// Decimal digits of one word.
const WORD_DIGITS: usize = 4;

/// A decimal in its one form (`rows::decimals`), taken apart.
struct Parts<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
}

impl Parts<'_> {
    fn of(text: &[u8]) -> Parts<'_> {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let point = digits.iter().position(|&byte| byte == b'.').unwrap_or(digits.len());
        Parts { negative, whole: &digits[..point], fraction: digits.get(point + 1..).unwrap_or(&[]) }
    }

    fn words(&self) -> usize {
        self.whole.len().div_ceil(WORD_DIGITS) + self.fraction.len().div_ceil(WORD_DIGITS)
    }

    fn is_decimal(&self) -> bool {
        !self.whole.is_empty() && self.whole.iter().chain(self.fraction).all(u8::is_ascii_digit)
    }

    /// The digits of base 10,000: those before the point are filled up on the left, those behind it on the right.
    fn digits(&self) -> impl Iterator<Item = u16> + '_ {
        let number = |digits: &[u8]| digits.iter().fold(0u16, |n, byte| n * 10 + u16::from(byte - b'0'));
        let filled = move |digits: &[u8]| number(digits) * 10u16.pow((WORD_DIGITS - digits.len()) as u32);
        let (first, rest) = self.whole.split_at(self.whole.len() % WORD_DIGITS);
        let whole = (!first.is_empty()).then(|| number(first)).into_iter();
        whole.chain(rest.chunks(WORD_DIGITS).map(number)).chain(self.fraction.chunks(WORD_DIGITS).map(filled))
    }
}

/// Bytes of a value without its length word.
pub(super) fn numeric_bytes(text: &[u8]) -> usize {
    2 * (HEAD_WORDS + Parts::of(text).words())
}

/// Writes `numeric_bytes` bytes. False, with nothing written, where the text is no decimal.
///
/// # Safety
/// `at` has room for them.
pub(super) unsafe fn put_numeric(text: &[u8], mut at: *mut u8) -> bool {
    let parts = Parts::of(text);
    if !parts.is_decimal() {
        return false;
    }
    let weight = parts.whole.len().div_ceil(WORD_DIGITS) as u16 - 1;
    let sign = if parts.negative { NEGATIVE } else { 0 };
    let head = [parts.words() as u16, weight, sign, parts.fraction.len() as u16];
    for word in head.into_iter().chain(parts.digits()) {
        put(at, word.to_be_bytes());
        at = at.add(2);
    }
    true
}

/// As a parameter; `None`: no decimal.
pub fn numeric(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![0; numeric_bytes(text)];
    // SAFETY: the vector has as many bytes as are written.
    unsafe { put_numeric(text, bytes.as_mut_ptr()) }.then_some(bytes)
}

/// The text of a `numeric` with the digits behind its point that it says; `None`: NaN, an infinity, or no such value.
pub fn numeric_text(cell: &[u8]) -> Option<String> {
    let (head, rest) = cell.split_at_checked(2 * HEAD_WORDS)?;
    let word = |at: usize| u16::from_be_bytes([head[2 * at], head[2 * at + 1]]);
    let (count, weight, sign, scale) = (word(0) as usize, word(1) as i16, word(2), word(3) as usize);
    if !matches!(sign, 0 | NEGATIVE) || rest.len() != 2 * count {
        return None;
    }
    // Beyond what any type of ours has, a few bytes could ask for much memory.
    if weight.unsigned_abs() > 100 || scale > 400 {
        return None;
    }
    let digit = |place: i32| {
        let at = usize::try_from(i32::from(weight) - place).ok().filter(|at| *at < count);
        at.map_or(0, |at| u16::from_be_bytes([rest[2 * at], rest[2 * at + 1]]))
    };
    let mut text = String::new();
    for place in (0..=i32::from(weight).max(0)).rev() {
        text.push_str(&format!("{:04}", digit(place)));
    }
    let leading = text.len() - text.trim_start_matches('0').len();
    text.drain(..leading.min(text.len() - 1));
    if sign == NEGATIVE {
        text.insert(0, '-');
    }
    if scale > 0 {
        let words = scale.div_ceil(WORD_DIGITS) as i32;
        let fraction: String = (1..=words).map(|place| format!("{:04}", digit(-place))).collect();
        text.push('.');
        text.push_str(fraction.get(..scale)?);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::decimals::decimal_text;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_decimal_comes_back_digit_by_digit(units in -(10i128.pow(38) - 1)..10i128.pow(38), scale in 0usize..=38) {
            let text = decimal_text(units, scale);
            let bytes = numeric(text.as_bytes()).expect("a decimal");
            prop_assert_eq!(bytes.len(), numeric_bytes(text.as_bytes()));
            prop_assert_eq!(numeric_text(&bytes), Some(text));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            numeric_text(&bytes);
        }
    }

    #[test]
    fn a_value_is_what_the_server_sends() {
        // SELECT numeric_send(-12345.678) of PostgreSQL 15.
        let sent = [0, 3, 0, 1, 0x40, 0, 0, 3, 0, 1, 0x09, 0x29, 0x1a, 0x7c];
        assert_eq!(numeric(b"-12345.678").as_deref(), Some(&sent[..]));
        assert_eq!(numeric_text(&sent).as_deref(), Some("-12345.678"));
        // Zeros of the fraction alone are left out; 0.00 has no digits at all.
        assert_eq!(numeric_text(&[0, 0, 0, 0, 0, 0, 0, 2]).as_deref(), Some("0.00"));
        assert_eq!(numeric_text(&[0, 1, 0xff, 0xfe, 0, 0, 0, 8, 0, 5]).as_deref(), Some("0.00000005"));
        assert_eq!(numeric_text(&[0, 0, 0, 0, 0xc0, 0, 0, 0]), None, "NaN");
        assert_eq!(numeric(b"1e3"), None);
    }
}
