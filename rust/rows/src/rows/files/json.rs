//! JSON lines: an object on each line, its members the fields of a record. Pure.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::Deserializer;

use super::parse::Reason;
use super::split::{first_line, Field, Split};

/// The first line of `bytes`, its members in the order of `keys`. A member that is absent or `null` is an empty field without
/// quotes, a text one with quotes, all else (also an object) the text that it stands there as.
pub fn split(keys: &[String], bytes: &[u8], last: bool, fields: &mut Vec<Field>) -> Split {
    let Some(len) = first_line(bytes).or(last.then_some(bytes.len())) else { return Split::More };
    // No member begins at 0, where its object does.
    const ABSENT: Field = Field { start: 0, end: 0, quoted: false, escaped: false };
    fields.resize(keys.len(), ABSENT);
    let line = &bytes[..len];
    let (mut wrong, mut next) = (None, 0);
    let is_object = members(line, |key, value| {
        // Most lines have the order of the first.
        let place = if keys.get(next).is_some_and(|k| *k == key) { Some(next) } else { place_of(keys, &key) };
        match place {
            None => wrong = wrong.or(Some(Reason::UnknownMember)),
            Some(at) if fields[at] != ABSENT => wrong = wrong.or(Some(Reason::MemberTwice)),
            Some(at) => {
                fields[at] = field_of(line, value.get());
                next = at + 1;
            }
        }
    });
    match wrong.or((!is_object).then_some(Reason::NotJson)) {
        Some(reason) => Split::Broken { len, reason },
        None => Split::Record { len, lines: 1 },
    }
}

fn place_of(keys: &[String], key: &str) -> Option<usize> {
    keys.iter().position(|known| known == key)
}

/// value: a part of `line`.
fn field_of(line: &[u8], value: &str) -> Field {
    let start = value.as_ptr() as usize - line.as_ptr() as usize;
    let end = start + value.len();
    match value.as_bytes() {
        b"null" => Field { start, end: start, quoted: false, escaped: false },
        [b'"', text @ .., b'"'] => {
            Field { start: start + 1, end: end - 1, quoted: true, escaped: text.contains(&b'\\') }
        }
        _ => Field { start, end, quoted: false, escaped: false },
    }
}

/// The text of a field with escapes. Half of a surrogate is no text: then bytes that are none.
pub fn unescape(record: &[u8], field: Field, out: &mut Vec<u8>) {
    match serde_json::from_slice::<String>(&record[field.start - 1..=field.end]) {
        Ok(text) => out.extend_from_slice(text.as_bytes()),
        Err(_) => out.push(0xff),
    }
}

/// Adds the names of the members of a line that are not among them. Gives whether it is an object.
pub fn add_keys(line: &[u8], keys: &mut Vec<String>) -> bool {
    members(line, |key, _| {
        if place_of(keys, &key).is_none() {
            keys.push(key.into_owned());
        }
    })
}

/// Whether the line is one object. each: of its members.
fn members<'a>(line: &'a [u8], each: impl FnMut(Cow<'a, str>, &'a RawValue)) -> bool {
    let mut reader = Deserializer::from_slice(line);
    reader.deserialize_map(Each(each)).is_ok() && reader.end().is_ok()
}

struct Each<F>(F);

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, F: FnMut(Cow<'de, str>, &'de RawValue)> Visitor<'de> for Each<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            (self.0)(key, map.next_value()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::dialect::Dialect;
    use super::super::escapes::unescaped;
    use super::*;

    fn read(line: &str) -> Result<Vec<Option<String>>, Reason> {
        let keys = vec!["a".to_string(), "b".to_string()];
        let mut fields = Vec::new();
        match split(&keys, line.as_bytes(), true, &mut fields) {
            Split::Record { len, lines: 1 } if len == line.len() => {}
            Split::Broken { reason, .. } => return Err(reason),
            other => panic!("{other:?}"),
        }
        let dialect = Dialect::usual("ndjson").unwrap();
        let mut scratch = Vec::new();
        let mut text = |f: &Field| {
            let is_null = !f.quoted && f.start == f.end;
            let text = unescaped(&dialect, line.as_bytes(), *f, &mut scratch);
            (!is_null).then(|| String::from_utf8_lossy(text).into_owned())
        };
        Ok(fields.iter().map(&mut text).collect())
    }

    #[test]
    fn members_are_fields_in_the_order_of_the_columns() {
        let some = |a: &str, b: &str| Ok(vec![Some(a.to_string()), Some(b.to_string())]);
        assert_eq!(read("{\"a\": 1, \"b\": \"x\"}\n"), some("1", "x"));
        assert_eq!(read(" {\"b\":\"x\",\"a\":18446744073709551616}\r\n"), some("18446744073709551616", "x"));
        assert_eq!(read("{\"a\":{\"c\": [1, null]},\"b\":\"\"}"), some("{\"c\": [1, null]}", ""));
        assert_eq!(
            read("{\"\\u0061\":true,\"b\":\"\\u00e9\\n\\\"\\ud83d\\ude00\"}"),
            some("true", "é\n\"😀")
        );
        assert_eq!(read("{\"b\": null}"), Ok(vec![None, None]));
    }

    #[test]
    fn what_is_no_object_of_the_columns_says_why() {
        for line in ["", "x", "[1]", "{\"a\":1", "{\"a\":1}{\"a\":2}", "{\"a\":NaN}", "{a:1}", "{\"a\":1,}"] {
            assert_eq!(read(line), Err(Reason::NotJson), "{line}");
        }
        assert_eq!(read("{\"a\":1,\"c\":2}"), Err(Reason::UnknownMember));
        assert_eq!(read("{\"a\":1,\"a\":2}"), Err(Reason::MemberTwice));
        let not_utf8 = split(&["a".into()], b"{\"a\":\"\xff\"}", true, &mut Vec::new());
        assert_eq!(not_utf8, Split::Broken { len: 9, reason: Reason::NotJson });
    }

    #[test]
    fn half_a_surrogate_is_no_text() {
        let line = b"{\"a\":\"\\ud83d\"}";
        let mut fields = Vec::new();
        split(&["a".into()], line, true, &mut fields);
        let mut out = Vec::new();
        unescape(line, fields[0], &mut out);
        assert!(std::str::from_utf8(&out).is_err());
    }

    #[test]
    fn keys_are_those_of_all_lines_in_the_order_in_which_they_come() {
        let mut keys = Vec::new();
        assert!(add_keys(b"{\"b\":1}", &mut keys) && add_keys(b"{\"a\":1,\"b\":2}\n", &mut keys));
        assert!(!add_keys(b"[1]", &mut keys));
        assert_eq!(keys, ["b", "a"]);
    }
}
