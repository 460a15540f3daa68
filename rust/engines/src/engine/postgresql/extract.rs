//! The ways out of an extract, and a statement with its parameters written into it.

use std::fmt::Write as _;

use inrush_rows::plan::LogicalType;
use inrush_rows::rows::Value;
use inrush_rows::types::date::date_text;

/// All that this engine has; the first one is the usual.
pub const WAYS: [&str; 3] = ["copy", "binary", "cursor"];

/// A statement whose parameters are written into its text: COPY takes none.
pub struct Written {
    /// What stands before each parameter, and behind the last.
    between: Vec<String>,
    /// Which parameter follows each but the last.
    places: Vec<usize>,
}

impl Written {
    /// Errors: a parameter that is not there.
    pub fn new(text: &str, params: usize) -> Result<Written, String> {
        let (mut between, mut places, mut at) = (vec![String::new()], Vec::new(), 0);
        let bytes = text.as_bytes();
        let mut quote = None;
        let mut from = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (None, b'\'' | b'"') => quote = Some(byte),
                (None, b'$') => {
                    let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
                    let number = text[at + 1..at + 1 + digits].parse::<usize>();
                    if let Ok(number) = number {
                        if !(1..=params).contains(&number) {
                            return Err(format!("${number} of {params} parameters"));
                        }
                        between.last_mut().expect("one at least").push_str(&text[from..at]);
                        between.push(String::new());
                        places.push(number - 1);
                        at += digits;
                        from = at + 1;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        between.last_mut().expect("one at least").push_str(&text[from..]);
        Ok(Written { between, places })
    }

    /// The text with the parameters' values. Errors: a value that cannot be written.
    pub fn fill(&self, params: &[Value], types: &[LogicalType], out: &mut String) -> Result<(), String> {
        for (before, &place) in self.between.iter().zip(&self.places) {
            out.push_str(before);
            literal(&params[place], types[place], out)?;
        }
        out.push_str(self.between.last().expect("one at least"));
        Ok(())
    }
}

fn literal(value: &Value, ty: LogicalType, out: &mut String) -> Result<(), String> {
    let unfit = || format!("parameter {value:?} cannot be written as {ty:?}");
    let written = match value {
        Value::Null => write!(out, "NULL"),
        Value::Bool(v) => write!(out, "{v}"),
        // A negative number is no operand of what stands before it.
        Value::I64(v) => write!(out, "({v})"),
        // Stored with their bits reinterpreted.
        Value::U64(v) => write!(out, "({})", *v as i64),
        Value::TimeMs(ms) => {
            return time_literal(ms.checked_mul(1_000).ok_or_else(unfit)?, out).ok_or_else(unfit)
        }
        Value::TimeUs(us) => return time_literal(*us, out).ok_or_else(unfit),
        Value::Text(text) => {
            write!(out, "'{}'", text.replace('\0', "").replace('\'', "''")).map_err(|_| unfit())?;
            ty.forms().map_or(Ok(()), |forms| write!(out, "::{}", forms.postgresql.name))
        }
        Value::F64(_) | Value::ListF64(_) | Value::ListI64(_) | Value::List(_) => return Err(unfit()),
    };
    written.map_err(|_| unfit())
}

fn time_literal(us: i64, out: &mut String) -> Option<()> {
    const DAY_US: i64 = 86_400_000_000;
    let date = date_text(i32::try_from(us.div_euclid(DAY_US)).ok()?)?;
    let rest = us.rem_euclid(DAY_US);
    let (seconds, us) = (rest / 1_000_000, rest % 1_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(out, "'{date} {hour:02}:{minute:02}:{second:02}.{us:06}+00'::timestamptz").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, params: &[Value], types: &[LogicalType]) -> Result<String, String> {
        let mut out = String::new();
        Written::new(text, params.len())?.fill(params, types, &mut out)?;
        Ok(out)
    }

    #[test]
    fn values_stand_where_their_parameters_did_and_nowhere_else() {
        let params = [Value::I64(-7), Value::TimeMs(1_767_225_600_007), Value::Text("it's $1".into())];
        let types = [LogicalType::I32, LogicalType::TimeMs, LogicalType::Text];
        let found = filled(
            r#"SELECT "a$1", '$2' FROM t WHERE a = $1 AND b > $2 AND c = $3 AND d = $1"#,
            &params,
            &types,
        );
        let time = "'2026-01-01 00:00:00.007000+00'::timestamptz";
        let expected = format!(
            r#"SELECT "a$1", '$2' FROM t WHERE a = (-7) AND b > {time} AND c = 'it''s $1' AND d = (-7)"#
        );
        assert_eq!(found.expect("it is written"), expected);
    }

    #[test]
    fn times_before_1970_and_with_microseconds_are_written_whole() {
        let found = filled("$1", &[Value::TimeUs(-1)], &[LogicalType::TimeUs]).expect("it is written");
        assert_eq!(found, "'1969-12-31 23:59:59.999999+00'::timestamptz");
    }

    #[test]
    fn a_number_beyond_63_bits_is_written_as_it_is_stored() {
        assert_eq!(
            filled("$1", &[Value::U64(u64::MAX)], &[LogicalType::U64]).expect("it is written"),
            "(-1)"
        );
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        assert!(filled("$2", &[Value::I64(1)], &[LogicalType::I64]).is_err());
        assert!(filled("$1", &[Value::F64(0.1)], &[LogicalType::F64]).is_err());
        assert_eq!(filled("$1", &[Value::Null], &[LogicalType::I64]).expect("it is written"), "NULL");
    }
}
