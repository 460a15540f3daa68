//! Statements as text: cut at `;`, and with values in place of `$1`, because servers of 2018 know no parameters. Pure.

use inrush_rows::rows::Value;

/// A query cut where its parameters stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// One more than there are places.
    pieces: Vec<String>,
    /// Parameter of each place, from 0.
    places: Vec<usize>,
}

impl Template {
    /// `text` with places `$1`, `$2`, … outside of texts, quoted names and comments.
    pub fn new(text: &str) -> Template {
        let mut template = Template { pieces: vec![String::new()], places: Vec::new() };
        let mut rest = text.trim().trim_end_matches(';');
        while !rest.is_empty() {
            let quoted = quoted_bytes(rest);
            let digits =
                rest.strip_prefix('$').map_or(0, |n| n.bytes().take_while(u8::is_ascii_digit).count());
            if quoted == 0 && digits > 0 {
                let place: usize = rest[1..=digits].parse().unwrap_or(0);
                if place > 0 {
                    template.places.push(place - 1);
                    template.pieces.push(String::new());
                    rest = &rest[1 + digits..];
                    continue;
                }
            }
            let taken = if quoted > 0 { quoted } else { rest.chars().next().map_or(1, char::len_utf8) };
            template.pieces.last_mut().expect("starts with one").push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
        template
    }

    /// The statement with these values, in place of what `out` held. An error where one is missing.
    pub fn fill(&self, params: &[Value], out: &mut Vec<u8>) -> Result<(), String> {
        out.clear();
        out.extend_from_slice(self.pieces[0].as_bytes());
        for (place, piece) in self.places.iter().zip(&self.pieces[1..]) {
            let value = params
                .get(*place)
                .ok_or_else(|| format!("parameter {} is asked for, {} are given", place + 1, params.len()))?;
            put_literal(value, out);
            out.extend_from_slice(piece.as_bytes());
        }
        Ok(())
    }
}

/// The statements of `text`, without the `;` between them.
pub fn split(text: &str) -> Vec<&str> {
    let (mut statements, mut start, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        let quoted = quoted_bytes(&text[at..]);
        if quoted == 0 && text.as_bytes()[at] == b';' {
            statements.push(&text[start..at]);
            start = at + 1;
        }
        at += if quoted > 0 { quoted } else { text[at..].chars().next().map_or(1, char::len_utf8) };
    }
    statements.push(&text[start..]);
    statements.retain(|statement| !statement.trim().is_empty());
    statements
}

/// Bytes of the text, quoted name or comment that `rest` begins with; 0 where it begins with none.
fn quoted_bytes(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let until =
        |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    match bytes {
        [b'-', b'-', ..] => until("\n", 2),
        [b'/', b'*', ..] => until("*/", 2),
        [quote @ (b'\'' | b'"' | b'`'), ..] => {
            let mut at = 1;
            while at < bytes.len() && bytes[at] != *quote {
                // A backslash keeps the next byte, which is ASCII where it matters.
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            let mut end = (at + 1).min(bytes.len());
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            end
        }
        _ => 0,
    }
}

fn put_literal(value: &Value, out: &mut Vec<u8>) {
    use std::io::Write;
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Bool(v) => out.push(b'0' + u8::from(*v)),
        Value::I64(v) | Value::TimeMs(v) | Value::TimeUs(v) => put(write!(out, "{v}")),
        Value::U64(v) => put(write!(out, "{v}")),
        Value::F64(v) => put_float(*v, out),
        Value::Text(v) => {
            out.push(b'\'');
            for byte in v.bytes() {
                if matches!(byte, b'\'' | b'\\') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
            out.push(b'\'');
        }
        Value::ListI64(v) => put_list(v, out, |v, out| put(write!(out, "{v}"))),
        Value::List(v) => put_list(v, out, put_literal),
        Value::ListF64(v) => put_list(v, out, |v, out| put_float(*v, out)),
    }
}

/// Always a float to the server, also where it is a whole number.
fn put_float(value: f64, out: &mut Vec<u8>) {
    use std::io::Write;
    match value {
        v if v.is_nan() => out.extend_from_slice(b"nan"),
        v if v.is_infinite() => out.extend_from_slice(if v > 0.0 { b"inf" } else { b"-inf" }),
        v => put(write!(out, "{v:e}")),
    }
}

fn put_list<T>(items: &[T], out: &mut Vec<u8>, each: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (k, item) in items.iter().enumerate() {
        if k > 0 {
            out.push(b',');
        }
        each(item, out);
    }
    out.push(b']');
}

fn put(written: std::io::Result<()>) {
    written.expect("a vector takes what is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, params: &[Value]) -> String {
        let mut out = b"old".to_vec();
        Template::new(text).fill(params, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_stand_where_their_numbers_stood() {
        let params = [Value::U64(u64::MAX), Value::TimeMs(-5), Value::Text(r"it's \ ü".into())];
        assert_eq!(
            filled("SELECT $3 FROM t WHERE g = $1 AND t >= $2 OR g = $1;", &params),
            r"SELECT 'it\'s \\ ü' FROM t WHERE g = 18446744073709551615 AND t >= -5 OR g = 18446744073709551615"
        );
        assert_eq!(filled("$1", &[Value::F64(3.0)]), "3e0");
        assert_eq!(filled("$1 $2", &[Value::ListI64(vec![1, -2]), Value::Null]), "[1,-2] NULL");
        assert_eq!(filled("$1", &[Value::ListF64(vec![f64::NAN, f64::NEG_INFINITY])]), "[nan,-inf]");
    }

    #[test]
    fn texts_names_and_comments_keep_their_dollars() {
        for text in [r"SELECT '$1 \'$1' AS `$1`, $x, $", "SELECT 1 -- $1", "SELECT /* $1 */ \"$1ü\""] {
            assert_eq!(filled(text, &[]), text);
        }
    }

    #[test]
    fn a_missing_parameter_is_named() {
        let missing = Template::new("SELECT $2").fill(&[Value::Null], &mut Vec::new());
        assert_eq!(missing.unwrap_err(), "parameter 2 is asked for, 1 are given");
    }

    #[test]
    fn statements_are_cut_where_they_end() {
        assert_eq!(split("SELECT ';' ; DROP TABLE `a;b` ;"), ["SELECT ';' ", " DROP TABLE `a;b` "]);
        assert_eq!(split("SELECT 1"), ["SELECT 1"]);
        assert_eq!(split(" ; -- nothing; \n"), [" -- nothing; \n"]);
        assert!(split("").is_empty());
    }

    #[test]
    fn a_text_without_end_goes_to_the_end() {
        assert_eq!(split(r"SELECT 'a; \"), [r"SELECT 'a; \"]);
        assert_eq!(split("SELECT 'ä\\ü"), ["SELECT 'ä\\ü"]);
    }
}
