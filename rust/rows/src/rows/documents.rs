//! Documents of JSON: each a function of its row, written in the shortest form, its keys in the order that databases
//! which parse them keep: by length, then by bytes.

use std::io::Write;

use super::hash::{hash, scale};
use super::integers::Draw;

/// Lengths as the shortest, and how many there are.
#[derive(Clone)]
pub struct Documents {
    pub draw: Draw,
    pub items: (u64, u64),
    pub chars: (u64, u64),
}

/// What texts are made of: letters, characters of two to four bytes, what JSON escapes, and what stands between values.
const CHARS: [&str; 32] = [
    "a", "b", "c", "d", "e", "f", "n", "u", "A", "Z", "0", "1", "9", ".", "-", "_", "/", "%", "'", " ", ":",
    ",", "{", "}", "[", "]", "\\\"", "\\\\", "\\n", "\\t", "é", "東",
];
/// Bytes of the longest of them.
const CHAR_BYTES: usize = 3;
/// Characters of a text within the list.
const ITEM_CHARS: u64 = 6;
/// Bytes of the longest item with its comma: a list of two numbers of 64 bits.
const ITEM_BYTES: usize = 2 * 20 + 4;
/// `{"id":-9223372036854775808,"on":false,"list":[],"text":""}`
const AROUND_BYTES: usize = 64;

impl Documents {
    /// The document of one row.
    pub fn write(&self, index: u64, out: &mut Vec<u8>) {
        let h = hash(self.draw.key, index);
        let (items, chars) = (length(self.items, hash(h, 1)), length(self.chars, hash(h, 2)));
        put(out, "{\"id\":");
        put_number(out, hash(h, 3) as i64);
        put(out, if hash(h, 4) & 1 == 1 { ",\"on\":true,\"list\":[" } else { ",\"on\":false,\"list\":[" });
        for item in 0..items {
            if item > 0 {
                out.push(b',');
            }
            put_item(out, hash(h, 16 + item));
        }
        put(out, "],\"text\":");
        put_text(out, hash(h, 5), chars);
        out.push(b'}');
    }

    pub fn max_bytes(&self) -> usize {
        let most = |(least, range): (u64, u64)| (least + range - 1) as usize;
        AROUND_BYTES + most(self.items) * ITEM_BYTES + most(self.chars) * CHAR_BYTES
    }
}

fn length((least, range): (u64, u64), h: u64) -> u64 {
    least + scale(h, range)
}

/// A small number, one of 64 bits, one with a fraction, a text, a list, or null.
fn put_item(out: &mut Vec<u8>, h: u64) {
    let small = |at: u64| (scale(hash(h, at), 2_001) as i64) - 1_000;
    match scale(hash(h, 1), 6) {
        0 => put_number(out, small(2)),
        1 => put_number(out, hash(h, 2) as i64),
        2 => {
            // Odd eighths: no engine takes them for a whole number, and every double holds them.
            put_number(out, small(2));
            put(out, [".125", ".375", ".625", ".875"][(hash(h, 3) & 3) as usize]);
        }
        3 => put_text(out, hash(h, 2), scale(hash(h, 3), ITEM_CHARS + 1)),
        4 => {
            out.push(b'[');
            put_number(out, small(2));
            out.push(b',');
            put_number(out, hash(h, 3) as i64);
            out.push(b']');
        }
        _ => put(out, "null"),
    }
}

fn put_text(out: &mut Vec<u8>, h: u64, chars: u64) {
    out.push(b'"');
    for at in 0..chars {
        put(out, CHARS[(hash(h, at) % CHARS.len() as u64) as usize]);
    }
    out.push(b'"');
}

fn put_number(out: &mut Vec<u8>, number: i64) {
    // Into the text itself: no row allocates.
    write!(out, "{number}").expect("a text in memory takes everything");
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// The same document without blanks between its values, as engines that parse it write them. What it stands for stays.
pub fn compact(text: &[u8]) -> Vec<u8> {
    let (mut out, mut in_text, mut escaped) = (Vec::with_capacity(text.len()), false, false);
    for &byte in text {
        if !in_text && byte.is_ascii_whitespace() {
            continue;
        }
        in_text ^= byte == b'"' && !escaped;
        escaped = in_text && byte == b'\\' && !escaped;
        out.push(byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Per;
    use serde_json::Value as Json;

    fn documents() -> impl Iterator<Item = String> {
        let draw = Draw { key: 7, per: Per::Row };
        let of = Documents { draw, items: (0, 7), chars: (0, 41) };
        (0..2_000).map(move |row| {
            let mut out = Vec::new();
            of.write(row, &mut out);
            assert!(out.len() <= of.max_bytes());
            String::from_utf8(out).expect("characters are whole")
        })
    }

    #[test]
    fn every_row_has_a_document_of_its_own_in_the_shortest_form() {
        let mut seen = std::collections::HashSet::new();
        for text in documents() {
            let parsed: Json = serde_json::from_str(&text).expect("it is JSON");
            assert!(
                parsed["id"].is_i64() && parsed["list"].is_array() && parsed["text"].is_string(),
                "{text}"
            );
            assert_eq!(compact(text.as_bytes()), text.as_bytes());
            assert!(seen.insert(text));
        }
    }

    #[test]
    fn every_kind_of_item_and_every_character_occurs() {
        let all: String = documents().collect();
        for part in CHARS.into_iter().chain(["null", ".125", "[[", "],["]) {
            assert!(all.contains(part), "{part}");
        }
    }

    #[test]
    fn blanks_between_values_go_and_those_in_texts_stay() {
        let (with, without) = (
            r#"{"a" : [1, 2], "b":	"x , \\" : \\\\", "c": "" }"#,
            r#"{"a":[1,2],"b":"x , \\" : \\\\","c":""}"#,
        );
        let raw = |text: &str| text.replace("\\\\", "\\");
        assert_eq!(compact(raw(with).as_bytes()), raw(without).as_bytes());
    }
}
