//! Bytes as hexadecimal digits, which is how they travel where only texts do.

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

    proptest! {
        #[test]
        fn what_is_written_is_read_again(bytes: Vec<u8>) {
            prop_assert_eq!(hex_bytes(&hex_text(&bytes)), Some(bytes));
        }
    }
}
