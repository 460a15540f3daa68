//! Tab-separated text with backslash escapes and `\N`: PostgreSQL text COPY, MySQL LOAD DATA, ClickHouse TSV.

use super::delimited::Style;
use super::tail::Tail;

pub(super) struct TabSeparated;

impl Style for TabSeparated {
    const SEPARATOR: u8 = b'\t';
    const NULL: &'static [u8] = b"\\N";
    const TEXT_GROWTH: usize = 2;
    const TEXT_AROUND: usize = 0;
    const AROUND_LIST: &'static [u8] = b"";

    #[inline(always)]
    unsafe fn text(tail: &mut Tail, text: &[u8]) {
        let mut words = text.chunks_exact(8);
        for chunk in &mut words {
            let word = u64::from_le_bytes(chunk.try_into().expect("chunks of 8"));
            if needs_escape(word) {
                escaped(tail, chunk);
            } else {
                tail.word(word, 8);
            }
        }
        let rest = words.remainder();
        let mut padded = [b' '; 8];
        padded[..rest.len()].copy_from_slice(rest);
        let word = u64::from_le_bytes(padded);
        if needs_escape(word) {
            escaped(tail, rest);
        } else {
            tail.word(word, rest.len());
        }
    }
}

/// Whether any of eight bytes is a tab, line feed, carriage return or backslash.
#[inline(always)]
fn needs_escape(word: u64) -> bool {
    has(word, b'\t') | has(word, b'\n') | has(word, b'\r') | has(word, b'\\')
}

/// Whether `byte` is among the eight: a byte of `word ^ pattern` is zero there, and borrows from its top bit.
#[inline(always)]
fn has(word: u64, byte: u8) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let differs = word ^ (ONES * byte as u64);
    differs.wrapping_sub(ONES) & !differs & (ONES << 7) != 0
}

#[cold]
unsafe fn escaped(tail: &mut Tail, text: &[u8]) {
    for &byte in text {
        match byte {
            b'\t' => tail.bytes(b"\\t"),
            b'\n' => tail.bytes(b"\\n"),
            b'\r' => tail.bytes(b"\\r"),
            b'\\' => tail.bytes(b"\\\\"),
            _ => tail.byte(byte),
        }
    }
}
