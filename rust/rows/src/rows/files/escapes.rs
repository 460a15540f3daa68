//! The text of a field without what quotes and escapes it.

use super::dialect::{Dialect, Quoting};
use super::json;
use super::split::{find, Field};

/// A field's text without its escapes; `scratch` holds it where it has any.
pub fn unescaped<'a>(d: &Dialect, record: &'a [u8], field: Field, scratch: &'a mut Vec<u8>) -> &'a [u8] {
    let raw = &record[field.start..field.end];
    if !field.escaped {
        return raw;
    }
    scratch.clear();
    match d.quoting {
        // A quote or the escape, and what it stands before. Only what is quoted holds any.
        Quoting::Quotes => {
            let quote = d.quote.unwrap_or(b'"');
            let marks = [quote, d.escape.unwrap_or(quote), quote];
            unescape(raw, scratch, marks, |rest| (rest[0], 1));
        }
        Quoting::Json => json::unescape(record, field, scratch),
        Quoting::MysqlEscapes => unescape(raw, scratch, BACKSLASH, |rest| (mysql_escape(rest[0]), 1)),
        Quoting::PostgresEscapes => unescape(raw, scratch, BACKSLASH, postgres_escape),
    }
    scratch
}

const BACKSLASH: [u8; 3] = [b'\\'; 3];

/// `meaning` gives the byte for what follows one of the marks, and how many bytes that was.
fn unescape(raw: &[u8], out: &mut Vec<u8>, marks: [u8; 3], meaning: impl Fn(&[u8]) -> (u8, usize)) {
    let mut at = 0;
    while at < raw.len() {
        let next = find(raw, at, marks);
        out.extend_from_slice(&raw[at..next]);
        at = next + 1;
        if at < raw.len() {
            let (byte, used) = meaning(&raw[at..]);
            out.push(byte);
            at += used;
        }
    }
}

fn mysql_escape(letter: u8) -> u8 {
    match letter {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

fn postgres_escape(rest: &[u8]) -> (u8, usize) {
    let number = |from: usize, most: usize, base: u32| {
        let digits = rest[from..].iter().take(most).map_while(|b| (*b as char).to_digit(base));
        digits.fold((0u32, from), |(n, used), d| (n * base + d, used + 1))
    };
    match rest[0] {
        b'b' => (8, 1),
        b'f' => (12, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (11, 1),
        b'0'..=b'7' => {
            let (n, used) = number(0, 3, 8);
            (n as u8, used)
        }
        b'x' => match number(1, 2, 16) {
            (_, 1) => (b'x', 1),
            (n, used) => (n as u8, used),
        },
        other => (other, 1),
    }
}
