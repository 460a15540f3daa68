//! A statement with its parameters written into it: rows come as text only to a statement that is text.

use std::fmt::Write as _;

use inrush_rows::rows::Value;
use inrush_rows::types::date::date_text;

pub struct Written {
    /// What stands before each parameter, and behind the last.
    between: Vec<String>,
}

impl Written {
    /// text: with a `?` for each of so many parameters. Errors: there are more or fewer, or it cannot be said which
    /// of them the server would see.
    pub fn new(text: &str, params: usize) -> Result<Written, String> {
        let text = text.trim_end().trim_end_matches(';');
        let bytes = text.as_bytes();
        let (mut between, mut from, mut at) = (Vec::new(), 0, 0);
        while at < bytes.len() {
            if bytes[at] == b'?' {
                between.push(text[from..at].to_owned());
                from = at + 1;
            }
            at += token_bytes(&bytes[at..])?;
        }
        between.push(text[from..].to_owned());
        match between.len() - 1 {
            places if places == params => Ok(Written { between }),
            places => Err(format!("{params} parameters for {places} places")),
        }
    }

    /// The text with the parameters' values. Errors: one that is missing, or cannot be written.
    pub fn fill(&self, params: &[Value]) -> Result<String, String> {
        let (last, before) = self.between.split_last().expect("one at least");
        if params.len() != before.len() {
            return Err(format!("{} parameters for {} places", params.len(), before.len()));
        }
        let mut out = String::new();
        for (before, value) in before.iter().zip(params) {
            out.push_str(before);
            literal(value, &mut out)
                .ok_or_else(|| format!("parameter {value:?} cannot be written as text"))?;
        }
        out.push_str(last);
        Ok(out)
    }
}

/// How many bytes the token in front has in which no `?` stands for a parameter: text in quotes, a comment, or one sign.
/// As the session's `sql_mode` has it: a backslash escapes in texts, and `"` quotes names.
fn token_bytes(bytes: &[u8]) -> Result<usize, String> {
    let until = |end: &[u8], from: usize| {
        let found = bytes[from..].windows(end.len()).position(|found| found == end);
        found.map_or(bytes.len(), |at| from + at + end.len())
    };
    Ok(match bytes {
        [b'\'', ..] => {
            let mut at = 1;
            while at < bytes.len() && bytes[at] != b'\'' {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            bytes.len().min(at + 1)
        }
        [quote @ (b'"' | b'`'), ..] => until(&[*quote], 1),
        [b'#', ..] => until(b"\n", 1),
        // Two signs of minus without a blank behind them are just that.
        [b'-', b'-'] => 2,
        [b'-', b'-', blank, ..] if blank.is_ascii_whitespace() || blank.is_ascii_control() => until(b"\n", 2),
        [b'/', b'*', rest @ ..] => {
            let length = until(b"*/", 2);
            // Some servers run what stands in it, by their version; where it ends is then another question too.
            let is_run = rest.starts_with(b"!") || rest.starts_with(b"M!");
            if is_run && bytes[..length].iter().any(|sign| b"?'\"`".contains(sign)) {
                return Err("a parameter or a quote stands in a comment that some servers run (/*! */); \
                            take the way out binary"
                    .into());
            }
            length
        }
        _ => 1,
    })
}

fn literal(value: &Value, out: &mut String) -> Option<()> {
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Bool(v) => out.push(if *v { '1' } else { '0' }),
        // A negative number is no operand of what stands before it.
        Value::I64(v) => write!(out, "({v})").ok()?,
        Value::U64(v) => write!(out, "{v}").ok()?,
        Value::TimeMs(ms) => time_literal(ms.checked_mul(1_000)?, out)?,
        Value::TimeUs(us) => time_literal(*us, out)?,
        Value::Text(text) => {
            out.push('\'');
            for sign in text.chars() {
                match sign {
                    '\'' => out.push_str("''"),
                    '\\' => out.push_str("\\\\"),
                    '\0' => out.push_str("\\0"),
                    _ => out.push(sign),
                }
            }
            out.push('\'');
        }
        Value::F64(_) | Value::ListF64(_) | Value::ListI64(_) | Value::List(_) => return None,
    }
    Some(())
}

fn time_literal(us: i64, out: &mut String) -> Option<()> {
    const DAY_US: i64 = 86_400_000_000;
    let date = date_text(i32::try_from(us.div_euclid(DAY_US)).ok()?)?;
    let rest = us.rem_euclid(DAY_US);
    let (seconds, us) = (rest / 1_000_000, rest % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(out, "'{date} {hour:02}:{minute:02}:{second:02}.{us:06}'").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_their_places_did_and_nowhere_else() {
        let params = [Value::I64(-7), Value::TimeMs(1_767_225_600_007), Value::Text("it's \\ ?".into())];
        let written =
            Written::new("SELECT `a?`, '?''?' FROM t WHERE a=? AND b>? AND c=?;", 3).expect("a text");
        let time = "'2026-01-01 00:00:00.007000'";
        let expected = format!("SELECT `a?`, '?''?' FROM t WHERE a=(-7) AND b>{time} AND c='it''s \\\\ ?'");
        assert_eq!(written.fill(&params), Ok(expected));
    }

    #[test]
    fn a_question_mark_in_a_text_a_name_or_a_comment_is_no_parameter() {
        for text in [
            r"SELECT '\'?', ? AS a",
            r"SELECT '\\', ?",
            r#"SELECT "\", ? AS "b?""#,
            r"SELECT `\`, ?, '?''?'",
            "SELECT ? -- and ?\n AS a",
            "SELECT ? --\t?",
            "SELECT ? --",
            "SELECT 1 # it's ?\n, ?",
            "SELECT /* ? it's */ ? /* ?",
            "SELECT /*!40001 SQL_NO_CACHE */ ?",
            "SELECT /*/ ? */ ?",
            "SELECT 7--?",
            "SELECT 7 - ? / 2 * 3",
            "SELECT 'é?', ?",
        ] {
            let written = Written::new(text, 1).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(written.between.join("?"), text, "nothing else is changed");
            assert!(Written::new(text, 2).is_err(), "{text}");
        }
        assert_eq!(Written::new(r"SELECT '\'?', ? AS a", 1).expect("a text").between[0], r"SELECT '\'?', ");
        assert_eq!(Written::new("SELECT ? -- and ?", 1).expect("a text").between[1], " -- and ?");
    }

    #[test]
    fn a_comment_that_some_servers_run_holds_no_parameter() {
        for text in ["SELECT /*!80000 ? */ 1", "SELECT /*M! '*/' */ 1", "SELECT /*! `a` */ 1"] {
            assert!(Written::new(text, 0).err().is_some_and(|why| why.contains("take the way out binary")));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(Written::new("SELECT ?, ?", 1).err(), Some("1 parameters for 2 places".into()));
        let one = Written::new("SELECT ?", 1).expect("a text");
        assert_eq!(one.fill(&[]), Err("0 parameters for 1 places".into()));
        assert!(one.fill(&[Value::F64(0.5)]).is_err());
        assert!(one.fill(&[Value::TimeMs(i64::MAX)]).is_err());
    }
}
