//! UUIDs as `00112233-4455-6677-8899-aabbccddeeff`.

use super::{Binary, Forms, Spelled};

pub struct Uuid;

impl Spelled for Uuid {
    const FORMS: Forms = Forms {
        longest: 36,
        zero: "00000000-0000-0000-0000-000000000000",
        push,
        counted: None,
        postgresql: Binary { name: "uuid", oid: 2950, width: Some(16), push: push_cell },
    };
    type Cell = [u8; 16];

    #[inline(always)]
    fn cell(text: &[u8]) -> Option<[u8; 16]> {
        uuid_bytes(text)
    }
}

fn push(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    uuid_bytes(text).map(|bytes| out.extend_from_slice(&uuid_text(bytes)))
}

fn push_cell(cell: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.extend_from_slice(&uuid_text(cell.try_into().ok()?));
    Some(())
}

/// The sixteen bytes of a UUID, in the forms that PostgreSQL reads: 32 hexadecimal digits of either case, a hyphen
/// after any four of them or none, braces around all or none.
#[inline]
pub fn uuid_bytes(text: &[u8]) -> Option<[u8; 16]> {
    usual(text).or_else(|| in_any_form(text))
}

/// Of the form that nearly all have.
#[inline]
fn usual(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    if [8, 13, 18, 23].iter().any(|&at| text[at] != b'-') {
        return None;
    }
    let (mut bytes, mut all, mut at) = ([0; 16], 0, 0);
    for (k, byte) in bytes.iter_mut().enumerate() {
        at += usize::from(matches!(k, 4 | 6 | 8 | 10));
        let (high, low) = (DIGIT[usize::from(text[at])], DIGIT[usize::from(text[at + 1])]);
        all |= high | low;
        *byte = high << 4 | low & 15;
        at += 2;
    }
    (all < 16).then_some(bytes)
}

/// What a byte is as a hexadecimal digit; 255: none.
const DIGIT: [u8; 256] = {
    let (mut digits, mut value) = ([255; 256], 0);
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        digits[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

fn in_any_form(text: &[u8]) -> Option<[u8; 16]> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            "00112233-4455-6677-8899-aabbccddeefg",
        ] {
            assert_eq!(uuid_bytes(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(uuid in any::<[u8; 16]>()) {
            let text = uuid_text(uuid);
            prop_assert_eq!((uuid_bytes(&text), in_any_form(&text)), (Some(uuid), Some(uuid)));
            prop_assert_eq!(uuid_bytes(&text.to_ascii_uppercase()), Some(uuid));
        }
    }
}
