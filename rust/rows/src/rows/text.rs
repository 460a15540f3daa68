//! Texts: made row by row from integers.

use std::sync::Arc;

use super::columns::TextValues;
use super::decimals::{put_decimal, Decimals, DECIMAL_BYTES};
use super::documents::Documents;
use super::hash::{hash, scale};
use super::integers::{foreign_places, with_foreign_chunk, Chunk, Draw, IntGenerator, Sources};
use super::simd::Level;
use super::uuids::Uuids;
use crate::plan::LogicalType;
use crate::types::uuid::uuid_text;

/// Characters of a UUID.
const UUID_BYTES: usize = 36;
/// Integers in one format, at most.
pub const MAX_FIELDS: usize = 8;

#[derive(Clone)]
pub enum TextGenerator {
    Constant(Vec<u8>),
    /// The integer is an index.
    Choice {
        int_generator: IntGenerator,
        texts: Arc<[Vec<u8>]>,
    },
    Format {
        parts: Vec<Part>,
        fields: Vec<IntGenerator>,
        pad_to: usize,
    },
    Random {
        draw: Draw,
        min: u64,
        range: u64,
        alphabet: Vec<u8>,
    },
    Bytes {
        draw: Draw,
        min: u64,
        range: u64,
    },
    /// Values of a type that has them in an order.
    Between {
        draw: Draw,
        from: i64,
        range: u64,
        ty: LogicalType,
    },
    Document(Documents),
    Uuid(Uuids),
    Decimal(Decimals),
    Foreign {
        series: Box<IntGenerator>,
        of: Box<TextGenerator>,
        one_series: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Literal(Vec<u8>),
    Decimal { width: usize, zeros: bool },
    Hex { width: usize, zeros: bool },
    Letter,
}

impl TextGenerator {
    /// Appends one text per row of the chunk, `ROOM` at most; an empty one where `present` is 0.
    pub fn append<const ROOM: usize>(
        &self,
        level: Level,
        chunk: &Chunk,
        present: Option<&[u8]>,
        out: &mut TextValues,
    ) {
        let there = |i: usize| present.is_none_or(|p| p[i] == 1);
        let mut push = |i: usize, write: &mut dyn FnMut(&mut Vec<u8>)| {
            if there(i) {
                write(&mut out.bytes);
            }
            out.ends.push(out.bytes.len() as u32);
        };
        match self {
            TextGenerator::Constant(text) => {
                for i in 0..chunk.len() {
                    push(i, &mut |bytes| bytes.extend_from_slice(text));
                }
            }
            TextGenerator::Choice { int_generator, texts } => {
                let mut index = [0i64; ROOM];
                int_generator.fill(level, chunk, &Sources::<ROOM>::NONE, &mut index[..chunk.len()]);
                for (i, &text) in index[..chunk.len()].iter().enumerate() {
                    push(i, &mut |bytes| bytes.extend_from_slice(&texts[text as usize]));
                }
            }
            TextGenerator::Format { parts, fields, pad_to } => {
                let mut values = [[0i64; ROOM]; MAX_FIELDS];
                match IntGenerator::all_of_chunks(fields) {
                    Some((files, parts)) => files.fill_parts(parts, chunk.rows, &mut values),
                    None => {
                        for (field, values) in fields.iter().zip(&mut values) {
                            field.fill(level, chunk, &Sources::<ROOM>::NONE, &mut values[..chunk.len()]);
                        }
                    }
                }
                let value = |field: usize, i: usize| values[field][i];
                for i in 0..chunk.len() {
                    push(i, &mut |bytes| {
                        let start = bytes.len();
                        write_parts(parts, |field| value(field, i), bytes);
                        let padded = (start + pad_to).max(bytes.len());
                        bytes.resize(padded, b' ');
                    });
                }
            }
            TextGenerator::Random { draw, min, range, alphabet } => {
                for (i, &index) in draw.index(chunk).iter().enumerate() {
                    push(i, &mut |bytes| random_text(hash(draw.key, index), *min, *range, alphabet, bytes));
                }
            }
            TextGenerator::Bytes { draw, min, range } => {
                for (i, &index) in draw.index(chunk).iter().enumerate() {
                    push(i, &mut |bytes| random_bytes(hash(draw.key, index), *min, *range, bytes));
                }
            }
            TextGenerator::Between { draw, from, range, ty } => {
                let write =
                    ty.forms().and_then(|forms| forms.counted.as_ref()).expect("it was compiled").write;
                for (i, &index) in draw.index(chunk).iter().enumerate() {
                    let number = from + scale(hash(draw.key, index), *range) as i64;
                    push(i, &mut |bytes| write(number, bytes));
                }
            }
            TextGenerator::Document(documents) => {
                for (i, &index) in documents.draw.index(chunk).iter().enumerate() {
                    push(i, &mut |bytes| documents.write(index, bytes));
                }
            }
            TextGenerator::Uuid(uuids) => {
                for (i, &place) in chunk.place().iter().enumerate() {
                    push(i, &mut |bytes| bytes.extend_from_slice(&uuid_text(uuids.at(place))));
                }
            }
            TextGenerator::Decimal(decimals) => {
                let mut units = [0i128; ROOM];
                decimals.fill::<ROOM>(level, chunk, &mut units[..chunk.len()]);
                for (i, &units) in units[..chunk.len()].iter().enumerate() {
                    push(i, &mut |bytes| put_decimal(units, decimals.scale as usize, bytes));
                }
            }
            TextGenerator::Foreign { series, of, one_series } => {
                let mut places = [0u64; ROOM];
                foreign_places(series, level, chunk, &mut places);
                with_foreign_chunk::<ROOM, _>(&places[..chunk.len()], *one_series, |chunk| {
                    of.append::<ROOM>(level, chunk, present, out)
                });
            }
        }
    }

    /// Bytes of the longest text.
    pub fn max_bytes(&self) -> usize {
        match self {
            TextGenerator::Constant(text) => text.len(),
            TextGenerator::Choice { texts, .. } => texts.iter().map(Vec::len).max().unwrap_or(0),
            TextGenerator::Format { parts, pad_to, .. } => {
                parts.iter().map(Part::max_bytes).sum::<usize>().max(*pad_to)
            }
            TextGenerator::Random { min, range, .. } | TextGenerator::Bytes { min, range, .. } => {
                (min + range - 1) as usize
            }
            TextGenerator::Between { ty, .. } => ty.forms().expect("it was compiled").longest,
            TextGenerator::Document(documents) => documents.max_bytes(),
            TextGenerator::Uuid(_) => UUID_BYTES,
            TextGenerator::Decimal(_) => DECIMAL_BYTES,
            TextGenerator::Foreign { of, .. } => of.max_bytes(),
        }
    }
}

fn random_text(h: u64, min: u64, range: u64, alphabet: &[u8], bytes: &mut Vec<u8>) {
    let length = (min + scale(h, range)) as usize;
    let end = bytes.len() + length;
    bytes.reserve(length + 3);
    for word in 1..=length.div_ceil(4) as u64 {
        // Four letters from one hash, 16 bits each, and written at once.
        let letters = hash(h, word);
        let letter = |shift: u32| alphabet[((letters >> shift & 0xffff) as usize * alphabet.len()) >> 16];
        bytes.extend_from_slice(&[letter(0), letter(16), letter(32), letter(48)]);
    }
    bytes.truncate(end);
}

fn random_bytes(h: u64, min: u64, range: u64, bytes: &mut Vec<u8>) {
    let end = bytes.len() + (min + scale(h, range)) as usize;
    let mut word = 0;
    while bytes.len() < end {
        word += 1;
        let few = (end - bytes.len()).min(8);
        bytes.extend_from_slice(&hash(h, word).to_le_bytes()[..few]);
    }
}

fn write_parts(parts: &[Part], field: impl Fn(usize) -> i64, bytes: &mut Vec<u8>) {
    let mut next = 0;
    for part in parts {
        if let Part::Literal(text) = part {
            bytes.extend_from_slice(text);
            continue;
        }
        let value = field(next);
        next += 1;
        match part {
            Part::Decimal { width, zeros } => write_decimal(value, *width, *zeros, bytes),
            Part::Hex { width, zeros } => write_digits(value as u64, 16, *width, *zeros, bytes),
            _ => bytes.push(b'a'.wrapping_add(value as u8)),
        }
    }
}

/// As printf: a sign takes a place of the width, and stands before the zeros.
fn write_decimal(value: i64, width: usize, zeros: bool, bytes: &mut Vec<u8>) {
    if value >= 0 {
        return write_digits(value as u64, 10, width, zeros, bytes);
    }
    if zeros {
        bytes.push(b'-');
        return write_digits(value.unsigned_abs(), 10, width.saturating_sub(1), true, bytes);
    }
    let at = bytes.len();
    write_digits(value.unsigned_abs(), 10, 0, false, bytes);
    bytes.insert(at, b'-');
    let short = width.saturating_sub(bytes.len() - at);
    bytes.splice(at..at, std::iter::repeat_n(b' ', short));
}

fn write_digits(mut value: u64, base: u64, width: usize, zeros: bool, bytes: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdef"[(value % base) as usize];
        value /= base;
        if value == 0 {
            break;
        }
    }
    let fill = if zeros { b'0' } else { b' ' };
    bytes.extend(std::iter::repeat_n(fill, width.saturating_sub(digits.len() - at)));
    bytes.extend_from_slice(&digits[at..]);
}

impl Part {
    fn max_bytes(&self) -> usize {
        match self {
            Part::Literal(text) => text.len(),
            Part::Decimal { width, .. } | Part::Hex { width, .. } => 20.max(*width),
            Part::Letter => 1,
        }
    }
}

/// Parts of a printf-like pattern: `%d %5d %05d %x %08x %c %%`.
pub fn parse_format(pattern: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut literal = Vec::new();
    let mut bytes = pattern.bytes().peekable();
    while let Some(b) = bytes.next() {
        if b != b'%' {
            literal.push(b);
            continue;
        }
        if bytes.next_if_eq(&b'%').is_some() {
            literal.push(b'%');
            continue;
        }
        let zeros = bytes.next_if_eq(&b'0').is_some();
        let mut width = 0usize;
        while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
            width = width.saturating_mul(10).saturating_add((digit - b'0') as usize);
        }
        let part = match bytes.next() {
            Some(b'd') if width <= 1000 => Part::Decimal { width, zeros },
            Some(b'x') if width <= 1000 => Part::Hex { width, zeros },
            Some(b'c') if width == 0 && !zeros => Part::Letter,
            _ => return Err(format!("`{pattern}` has a field other than %d %5d %05d %x %c %%")),
        };
        if !literal.is_empty() {
            parts.push(Part::Literal(std::mem::take(&mut literal)));
        }
        parts.push(part);
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    Ok(parts)
}

/// The numbers that a text was written from; None: another text, or one that other numbers could have given.
pub fn read_parts(parts: &[Part], text: &[u8], mut number: impl FnMut(u64)) -> Option<()> {
    let mut left = text;
    for part in parts {
        match part {
            Part::Literal(literal) => left = left.strip_prefix(literal.as_slice())?,
            Part::Letter => {
                let (&letter, rest) = left.split_first()?;
                number(u64::from(letter.checked_sub(b'a')?));
                left = rest;
            }
            &Part::Decimal { width: width @ 1..=19, zeros: true } => {
                let (digits, rest) = left.split_at_checked(width)?;
                if !digits.iter().all(u8::is_ascii_digit) {
                    return None;
                }
                number(digits.iter().fold(0, |value, digit| 10 * value + u64::from(digit - b'0')));
                left = rest;
            }
            Part::Decimal { .. } | Part::Hex { .. } => return None,
        }
    }
    left.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_fixed_widths_are_read_back() {
        let read = |pattern: &str, text: &str| {
            let mut numbers = Vec::new();
            read_parts(&parse_format(pattern).unwrap(), text.as_bytes(), |n| numbers.push(n))
                .map(|()| numbers)
        };
        let pattern = "%05d%c%03d-%06d";
        assert_eq!(read(pattern, "08745b124-016000"), Some(vec![8745, 1, 124, 16_000]));
        for other in [
            "08745b124-16000",
            "08745b124-016000 ",
            "08745B124-016000",
            "0874_b124-016000",
            "08745b124+016000",
            "",
        ] {
            assert_eq!(read(pattern, other), None, "{other}");
        }
        assert_eq!(read("%d", "7"), None, "as %d it could be of any width");
    }

    #[test]
    fn a_width_that_no_number_has_is_refused() {
        for width in ["1001", "18446744073709551621", "99999999999999999999999"] {
            assert!(parse_format(&format!("%{width}d")).is_err(), "{width}");
        }
    }

    fn format(pattern: &str, values: &[i64]) -> String {
        let mut bytes = Vec::new();
        write_parts(&parse_format(pattern).unwrap(), |i| values[i], &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn formats_read_as_printf() {
        assert_eq!(format("%05d%c%03d-%06d", &[8745, 1, 124, 16_000]), "08745b124-016000");
        assert_eq!(format("c%03d-%03d", &[101, 7]), "c101-007");
        assert_eq!(format("[%5d|%-]".trim_end_matches("|%-]"), &[-42]), "[  -42");
        assert_eq!(format("%04d %x %08x 100%%", &[-7, 255, 48879]), "-007 ff 0000beef 100%");
        assert_eq!(format("%d", &[i64::MIN]), "-9223372036854775808");
    }

    #[test]
    fn unknown_fields_are_refused() {
        for pattern in ["%s", "%", "%5c", "%99999d", "a%-3d"] {
            assert!(parse_format(pattern).is_err(), "{pattern}");
        }
    }
}
