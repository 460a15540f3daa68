//! Bytes and bits out of the hexadecimal digits that they travel as, for engines that take them as they are.

use std::collections::BTreeMap;

use inrush_rows::error::Error;
use inrush_rows::rows::{Columns, TextValues, Values};
use inrush_rows::types::hex::{hex_bytes, hex_text};

/// Turns these columns into bytes. A number of bits is that of PostgreSQL's `bit(n)`: its length, then the bits from the
/// highest on; 0: bytes. `as_text`: as PostgreSQL reads both. Errors: what are no digits, and a value of more bits.
pub fn make_raw(rows: &mut Columns, columns: &BTreeMap<String, u32>, as_text: bool) -> Result<(), Error> {
    let count = rows.rows;
    for column in &mut rows.columns {
        let Some(&bits) = columns.get(&column.name) else { continue };
        let mut made = TextValues::default();
        for row in 0..count {
            let Values::Text(digits) = &column.values else { break };
            let found = match column.is_present(row) {
                true => hex_bytes(digits.get(row)).and_then(|bytes| sized(bytes, bits)),
                false => Some(Vec::new()),
            };
            let unfit = || Error::Plan(format!("column {}: a value has more than {bits} bits", column.name));
            let found = found.ok_or_else(unfit)?;
            made.push(&if as_text { text(&found, bits) } else { found });
        }
        column.values = Values::Text(made);
    }
    Ok(())
}

/// Of what `sized` made: `\x` and hexadecimal digits, or one digit for each bit.
fn text(value: &[u8], bits: u32) -> Vec<u8> {
    if bits == 0 {
        return [b"\\x", &*hex_text(value)].concat();
    }
    let digit = |at: usize| b'0' + (value[4 + at / 8] >> (7 - at % 8) & 1);
    (0..if value.is_empty() { 0 } else { bits as usize }).map(digit).collect()
}

/// The value as the server takes it; `None` where it has more bits. A value of fewer bytes has zeros before it.
fn sized(bytes: Vec<u8>, bits: u32) -> Option<Vec<u8>> {
    if bits == 0 {
        return Some(bytes);
    }
    let (len, unused) = (bits.div_ceil(8) as usize, bits.next_multiple_of(8) - bits);
    let zeros = bytes.len().saturating_sub(len);
    if bytes[..zeros].iter().any(|b| *b != 0) {
        return None;
    }
    let mut padded = vec![0; len.saturating_sub(bytes.len())];
    padded.extend(&bytes[zeros..]);
    if padded[0].leading_zeros() < unused {
        return None;
    }
    let mut out = bits.to_be_bytes().to_vec();
    let next = |at: usize| padded.get(at + 1).map_or(0, |b| u16::from(*b));
    out.extend((0..len).map(|at| ((u16::from(padded[at]) << 8 | next(at)) << unused >> 8) as u8));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::plan::LogicalType;
    use inrush_rows::rows::Column;

    #[test]
    fn digits_become_bytes_and_null_stays() {
        let mut column = Column::new("b", LogicalType::Text);
        let Values::Text(texts) = &mut column.values else { panic!("a column of texts") };
        [&b"00ff0a"[..], b"", b""].iter().for_each(|text| texts.push(text));
        column.present = vec![1, 1, 0];
        let mut rows = Columns::new(3, vec![column]);
        make_raw(&mut rows, &BTreeMap::from([("b".into(), 0)]), false).unwrap();
        let Values::Text(texts) = &rows.columns[0].values else { panic!("a column of texts") };
        assert_eq!((texts.get(0), texts.get(1)), (&b"\0\xff\n"[..], &b""[..]));
        assert!(!rows.columns[0].is_present(2));
    }

    #[test]
    fn bits_stand_from_the_highest_on_behind_their_number() {
        /// The bytes of a number, its bits, and what is sent of it.
        type Case = (&'static [u8], u32, Option<&'static [u8]>);
        let cases: [Case; 9] = [
            (&[5], 3, Some(&[0, 0, 0, 3, 0b1010_0000])),
            (&[1], 1, Some(&[0, 0, 0, 1, 0x80])),
            (&[0xab], 8, Some(&[0, 0, 0, 8, 0xab])),
            (&[3, 0xff], 10, Some(&[0, 0, 0, 10, 0xff, 0xc0])),
            (&[0, 1], 4, Some(&[0, 0, 0, 4, 0x10])),
            (&[1], 16, Some(&[0, 0, 0, 16, 0, 1])),
            (&[], 2, Some(&[0, 0, 0, 2, 0])),
            (&[8], 3, None),
            (&[1, 0], 8, None),
        ];
        for (bytes, text_of) in [(vec![5], &b"101"[..]), (vec![], b"000")] {
            assert_eq!(text(&sized(bytes, 3).unwrap(), 3), text_of);
        }
        assert_eq!((text(&[0, 0xff], 0), text(&[], 3)), (b"\\x00ff".to_vec(), vec![]), "and NULL");
        for (bytes, bits, found) in cases {
            assert_eq!(sized(bytes.to_vec(), bits).as_deref(), found, "{bytes:?} as {bits} bits");
        }
    }
}
