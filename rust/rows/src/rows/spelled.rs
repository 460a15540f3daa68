//! Dates, UUIDs and bytes: values that travel as text in one form, and what that text stands for.
//!
//! Most databases take them as text; where one wants bytes (binary COPY, a hash), they are made here.

use super::calendar::{civil, days_of};

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
    let (year, month, day) = civil(i64::from(days));
    (1..=9999).contains(&year).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// The sixteen bytes of a UUID, in the forms that PostgreSQL reads: 32 hexadecimal digits of either case, a hyphen
/// after any four of them or none, braces around all or none.
pub fn uuid_bytes(text: &[u8]) -> Option<[u8; 16]> {
    let text = match text {
        [b'{', inner @ .., b'}'] => inner,
        plain => plain,
    };
    let mut bytes = [0u8; 16];
    let (mut digits, mut after_hyphen) = (0, false);
    for &byte in text {
        if byte == b'-' {
            if after_hyphen || digits == 0 || digits % 4 != 0 || digits == 32 {
                return None;
            }
            after_hyphen = true;
            continue;
        }
        let digit = (byte as char).to_digit(16)? as u8;
        *bytes.get_mut(digits / 2)? |= if digits % 2 == 0 { digit << 4 } else { digit };
        digits += 1;
        after_hyphen = false;
    }
    (digits == 32).then_some(bytes)
}

/// The usual text: lower case, hyphens after 8, 12, 16 and 20 digits.
pub fn uuid_text(bytes: [u8; 16]) -> [u8; 36] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (k, byte) in bytes.into_iter().enumerate() {
        at += usize::from(matches!(k, 4 | 6 | 8 | 10));
        text[at] = DIGITS[usize::from(byte >> 4)];
        text[at + 1] = DIGITS[usize::from(byte & 15)];
        at += 2;
    }
    text
}

/// Two digits for each byte, in lower case.
pub fn hex_text(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]).collect()
}

/// The same as a text of its own.
pub fn digits(bytes: &[u8]) -> String {
    String::from_utf8(hex_text(bytes)).expect("digits are ASCII")
}

/// What bytes are as text, or their hexadecimal digits where they are none.
pub fn text_or_digits(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| digits(bytes), str::to_owned)
}

/// The bytes of pairs of hexadecimal digits; `None` for any other text.
pub fn hex_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|d| d as u8);
    let pairs = text.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect()
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

    #[test]
    fn uuids_are_read_in_every_form_that_postgresql_takes() {
        let plain = uuid_bytes(b"00112233445566778899aabbccddeeff");
        assert_eq!(plain, uuid_bytes(b"{00112233-4455-6677-8899-AABBCCDDEEFF}"));
        assert_eq!(plain, uuid_bytes(b"0011-2233-4455-6677-8899-aabb-ccdd-eeff"));
        assert_eq!(plain.map(|b| (b[0], b[15])), Some((0, 0xff)));
        for text in [
            "",
            "00112233",
            "00112233445566778899aabbccddeeff00",
            "{00112233445566778899aabbccddeeff",
            "001-12233445566778899aabbccddeeff",
            "-00112233445566778899aabbccddeeff",
            "00112233--445566778899aabbccddeeff",
            "00112233445566778899aabbccddeeff-",
            "00112233445566778899aabbccddeefg",
        ] {
            assert_eq!(uuid_bytes(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(days in -719_162i32..2_932_897, uuid in any::<[u8; 16]>()) {
            prop_assert_eq!(date_days(date_text(days).unwrap().as_bytes()), Some(days));
            prop_assert_eq!(uuid_bytes(&uuid_text(uuid)), Some(uuid));
            prop_assert_eq!(hex_bytes(&hex_text(&uuid)), Some(uuid.to_vec()));
        }
    }
}
