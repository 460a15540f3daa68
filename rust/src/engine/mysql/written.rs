//! A statement with its parameters written into it: rows come as text only to a statement that is text.

use std::fmt::Write as _;

use crate::rows::spelled::date_text;
use crate::rows::Value;

pub struct Written {
    /// What stands before each parameter, and behind the last.
    between: Vec<String>,
}

impl Written {
    /// text: with a `?` for each of so many parameters. Errors: there are more or fewer.
    pub fn new(text: &str, params: usize) -> Result<Written, String> {
        let mut between = vec![String::new()];
        let mut quote = None;
        for sign in text.trim_end().trim_end_matches(';').chars() {
            match (quote, sign) {
                (None, '?') => {
                    between.push(String::new());
                    continue;
                }
                (None, '\'' | '"' | '`') => quote = Some(sign),
                (Some(open), _) if sign == open => quote = None,
                _ => {}
            }
            between.last_mut().expect("one at least").push(sign);
        }
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
    fn what_does_not_fit_is_refused() {
        assert_eq!(Written::new("SELECT ?, ?", 1).err(), Some("1 parameters for 2 places".into()));
        let one = Written::new("SELECT ?", 1).expect("a text");
        assert_eq!(one.fill(&[]), Err("0 parameters for 1 places".into()));
        assert!(one.fill(&[Value::F64(0.5)]).is_err());
        assert!(one.fill(&[Value::TimeMs(i64::MAX)]).is_err());
    }
}
