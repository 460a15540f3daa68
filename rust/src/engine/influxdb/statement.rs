//! A statement of the twin: InfluxQL, with lines in front that say what an answer is to look like.
//!
//! ```text
//! -- on: inrush_ab                  the database that names without one are in
//! -- columns: guid, time, xmit      what a row of the answer holds: columns and tags by name
//! -- empty: 0                       an answer without rows is one row of zeros
//! -- pairs: build.Version as version, config*     name and value instead: what to take, `series.column`
//! -- only: database=inrush_ab       of those, series with this tag
//! -- if marked: inrush_ab           nothing is done where there is no such database, or it is not inrush's
//! ```
//!
//! InfluxQL sorts nothing but time and names no tag that an answer is grouped by, so the answer is put in order here.
//! `$1` is the first parameter; in single quotes it is a text, as the values of tags are.

use super::answer::{self, Place, Series};
use crate::engine::Answer;
use crate::plan::LogicalType;
use crate::rows::Value;

#[derive(Debug, Default, PartialEq)]
pub struct Statement {
    pub database: Option<String>,
    pub only_marked: Option<String>,
    pub columns: Option<Vec<String>>,
    zero_when_empty: bool,
    pairs: Option<Vec<Pick>>,
    only: Option<(String, String)>,
    pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Param { index: usize, quoted: bool },
}

/// A value by the name `series.column`, or all with names that begin like this.
#[derive(Debug, PartialEq)]
struct Pick {
    name: String,
    prefix: bool,
    shown: String,
}

impl Statement {
    pub fn parse(text: &str) -> Statement {
        let mut statement = Statement::default();
        let mut rest = text.trim_start();
        while let Some((key, value, after)) = directive(rest) {
            let value = value.trim();
            match key.trim() {
                "on" => statement.database = Some(value.to_owned()),
                "if marked" => statement.only_marked = Some(value.to_owned()),
                "columns" => statement.columns = Some(list(value).map(str::to_owned).collect()),
                "empty" => statement.zero_when_empty = value == "0",
                "pairs" => statement.pairs = Some(list(value).map(pick).collect()),
                "only" => {
                    statement.only = value.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
                }
                _ => break, // a comment of its author
            }
            rest = after.trim_start();
        }
        statement.pieces = pieces(rest);
        statement
    }

    /// As sent, where it has no parameters.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.bound(&[], &mut text);
        text
    }

    /// How many parameters it takes.
    pub fn params(&self) -> usize {
        let index = |piece: &Piece| match piece {
            Piece::Param { index, .. } => index + 1,
            Piece::Text(_) => 0,
        };
        self.pieces.iter().map(index).max().unwrap_or(0)
    }

    /// Appends the statement with its parameters in place. What `params` has not stays as it is written.
    pub fn bound(&self, params: &[Value], out: &mut String) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Param { index, quoted } => match params.get(*index) {
                    Some(value) => put(value, *quoted, out),
                    None => out.push_str(&format!("${}", index + 1)),
                },
            }
        }
    }

    /// Rows of an answer. `ty` knows the types of a table's columns, `time` among them.
    pub fn answer(&self, series: &[Series], ty: &dyn Fn(&str) -> Option<LogicalType>) -> Answer {
        if let Some(picks) = &self.pairs {
            return pairs(series, picks, self.only.as_ref());
        }
        let names = self.columns.clone().unwrap_or_else(|| all_names(series));
        let mut rows = Vec::new();
        for part in series {
            let places: Vec<Place> = names.iter().map(|name| part.place(name)).collect();
            for cells in &part.values {
                let at = |at: &usize| cells.get(*at).unwrap_or(&serde_json::Value::Null);
                let cell = |(place, name): (&Place, &String)| {
                    let ty = ty(name);
                    let found = match place {
                        Place::Cell(k) => answer::value(at(k), ty, name == "time"),
                        Place::Tag("") | Place::Nowhere => Some(Value::Null),
                        Place::Tag(tag) => match ty {
                            Some(ty) => answer::text_value(tag, ty),
                            None => Some(Value::Text((*tag).to_owned())),
                        },
                    };
                    // What is not of its type is shown as it came: a proof or an oracle will not find it right.
                    found.unwrap_or_else(|| match place {
                        Place::Cell(k) => Value::Text(at(k).to_string()),
                        Place::Tag(tag) => Value::Text((*tag).to_owned()),
                        Place::Nowhere => Value::Null,
                    })
                };
                rows.push(places.iter().zip(&names).map(cell).collect());
            }
        }
        if rows.is_empty() && self.zero_when_empty {
            rows.push(vec![Value::I64(0); names.len()]);
        }
        Answer { names, rows }
    }
}

/// `-- key: value` in the first line, and what follows.
fn directive(text: &str) -> Option<(&str, &str, &str)> {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let (key, value) = line.strip_prefix("--")?.split_once(':')?;
    Some((key, value, after))
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn pick(text: &str) -> Pick {
    let (name, shown) = text.split_once(" as ").unwrap_or((text, text));
    match name.strip_suffix('*') {
        Some(prefix) => Pick { name: prefix.to_owned(), prefix: true, shown: String::new() },
        None => Pick { name: name.trim().to_owned(), prefix: false, shown: shown.trim().to_owned() },
    }
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    let mut from = 0;
    while let Some(at) = rest[from..].find('$').map(|at| from + at) {
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        match rest[at + 1..at + 1 + digits].parse::<usize>() {
            Ok(number) if number > 0 => {
                let after = &rest[at + 1 + digits..];
                let quoted = rest[..at].ends_with('\'') && after.starts_with('\'');
                pieces.push(Piece::Text(rest[..at].to_owned()));
                pieces.push(Piece::Param { index: number - 1, quoted });
                (rest, from) = (after, 0);
            }
            _ => from = at + 1,
        }
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces
}

/// A parameter as InfluxQL writes it: times with their unit, texts in quotes, which `quoted` says are there.
fn put(value: &Value, quoted: bool, out: &mut String) {
    let text = match value {
        Value::Null => String::new(),
        Value::Bool(v) => v.to_string(),
        Value::I64(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::F64(v) => format!("{v:?}"),
        Value::TimeMs(v) if !quoted => format!("{v}ms"),
        Value::TimeUs(v) if !quoted => format!("{v}u"),
        Value::TimeMs(v) | Value::TimeUs(v) => v.to_string(),
        Value::Text(v) => v.replace('\\', "\\\\").replace('\'', "\\'"),
        Value::ListF64(v) => format!("{v:?}"),
        Value::ListI64(v) => format!("{v:?}"),
    };
    let quotes = if !quoted && matches!(value, Value::Text(_)) { "'" } else { "" };
    out.push_str(quotes);
    out.push_str(&text);
    out.push_str(quotes);
}

/// Tags first, then columns.
fn all_names(series: &[Series]) -> Vec<String> {
    let Some(first) = series.first() else { return Vec::new() };
    first.tags.keys().chain(&first.columns).cloned().collect()
}

/// Rows of (name, value): every value of every series, or those picked. Numbers of equal names are added up.
fn pairs(series: &[Series], picks: &[Pick], only: Option<&(String, String)>) -> Answer {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for part in series {
        if only.is_some_and(|(tag, value)| part.tags.get(tag) != Some(value)) {
            continue;
        }
        for cells in &part.values {
            for (column, cell) in part.columns.iter().zip(cells) {
                let Some(shown) = shown_as(&format!("{}.{column}", part.name), picks) else { continue };
                let Some(value) = answer::value(cell, None, false) else { continue };
                add(&mut rows, Value::Text(shown), value);
            }
        }
    }
    Answer { names: vec!["name".into(), "value".into()], rows }
}

fn shown_as(name: &str, picks: &[Pick]) -> Option<String> {
    if picks.is_empty() {
        return Some(name.to_owned());
    }
    let found = picks.iter().find(|p| if p.prefix { name.starts_with(&p.name) } else { name == p.name })?;
    Some(if found.prefix { name.to_owned() } else { found.shown.clone() })
}

fn add(rows: &mut Vec<Vec<Value>>, name: Value, value: Value) {
    match (rows.iter_mut().find(|row| row[0] == name), value) {
        (Some(row), Value::I64(more)) => match &mut row[1] {
            Value::I64(sum) => *sum = sum.saturating_add(more),
            other => *other = Value::I64(more),
        },
        (Some(row), value) => row[1] = value,
        (None, value) => rows.push(vec![name, value]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(json: serde_json::Value) -> Vec<Series> {
        serde_json::from_value(json).expect("it is written here")
    }

    #[test]
    fn lines_in_front_say_what_an_answer_looks_like() {
        let statement = Statement::parse(
            "-- on: ns\n-- columns: guid, time , d\n-- empty: 0\nSELECT d FROM t WHERE guid = '$1' AND time >= $2",
        );
        assert_eq!(statement.database.as_deref(), Some("ns"));
        assert_eq!(statement.columns.as_deref().unwrap(), ["guid", "time", "d"]);
        assert_eq!(statement.params(), 2);
        let mut text = String::new();
        statement.bound(&[Value::U64(u64::MAX), Value::TimeMs(-5)], &mut text);
        assert_eq!(text, "SELECT d FROM t WHERE guid = '18446744073709551615' AND time >= -5ms");
    }

    #[test]
    fn a_text_cannot_leave_its_quotes() {
        let mut text = String::new();
        let statement = Statement::parse("SELECT a FROM t WHERE a = $1 AND b = '$1' AND c =~ /x$/");
        statement.bound(&[Value::Text("x' OR \\".into())], &mut text);
        assert_eq!(text, r"SELECT a FROM t WHERE a = 'x\' OR \\' AND b = 'x\' OR \\' AND c =~ /x$/");
    }

    #[test]
    fn tags_and_columns_are_put_in_the_order_asked_for() {
        let found = series(serde_json::json!([
            {"name": "t", "tags": {"guid": "7", "port": ""}, "columns": ["time", "d"], "values": [[5_000_000, 1.5]]}
        ]));
        let statement = Statement::parse("-- columns: port, guid, d, time\nSELECT d FROM t");
        let ty = |name: &str| match name {
            "guid" => Some(LogicalType::U64),
            "time" => Some(LogicalType::TimeMs),
            _ => None,
        };
        let row = [Value::Null, Value::U64(7), Value::F64(1.5), Value::TimeMs(5)];
        assert_eq!(statement.answer(&found, &ty).rows, [row]);
        assert_eq!(Statement::parse("SHOW X").answer(&found, &|_| None).names, ["guid", "port", "time", "d"]);
    }

    #[test]
    fn an_empty_answer_is_zero_where_it_is_a_count() {
        let statement = Statement::parse("-- columns: n\n-- empty: 0\nSELECT count(x) AS n FROM t");
        assert_eq!(statement.answer(&[], &|_| None).rows, [[Value::I64(0)]]);
        assert!(Statement::parse("-- columns: n\nSELECT n FROM t").answer(&[], &|_| None).rows.is_empty());
    }

    #[test]
    fn statistics_become_pairs_and_are_added_up() {
        let shard = |database: &str, bytes: i64| serde_json::json!({"name": "shard", "tags": {"database": database}, "columns": ["diskBytes", "x"], "values": [[bytes, 1]]});
        let found = series(serde_json::json!([shard("a", 5), shard("b", 100), shard("a", 6)]));
        let of = |text: &str| Statement::parse(text).answer(&found, &|_| None).rows;
        let pair = |name: &str, value: i64| vec![Value::Text(name.into()), Value::I64(value)];
        assert_eq!(
            of("-- pairs: shard.diskBytes as disk\n-- only: database=a\nSHOW STATS"),
            [pair("disk", 11)]
        );
        assert_eq!(of("-- pairs:\nSHOW STATS"), [pair("shard.diskBytes", 111), pair("shard.x", 3)]);
        assert_eq!(of("-- pairs: shard.d*\nSHOW STATS"), [pair("shard.diskBytes", 111)]);
    }
}
