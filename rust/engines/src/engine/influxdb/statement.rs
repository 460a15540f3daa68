//! A statement of the twin: InfluxQL, with directives beside it that say what its answer is to look like.
//!
//! InfluxQL sorts nothing but time and names no tag that an answer is grouped by, so the answer is put in order here.
//! `$1` is the first parameter; in single quotes it is a text, as the values of tags are.

use super::answer::{self, Place, Series};
use crate::engine::Answer;
use inrush_rows::plan::{Directives, LogicalType, Pick, Statement, Tag};
use inrush_rows::rows::Value;

#[derive(Debug, Default, PartialEq)]
pub struct Influxql {
    directives: Directives,
    pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Param { index: usize, quoted: bool },
}

impl Influxql {
    pub fn of(statement: &Statement) -> Influxql {
        Influxql::new(&statement.text, statement.directives.as_ref())
    }

    pub fn new(text: &str, directives: Option<&Directives>) -> Influxql {
        Influxql { directives: directives.cloned().unwrap_or_default(), pieces: pieces(text) }
    }

    pub fn database(&self) -> Option<&str> {
        self.directives.on.as_deref()
    }

    pub fn only_marked(&self) -> Option<&str> {
        self.directives.if_marked.as_deref()
    }

    /// None where the answer has those that it comes with.
    pub fn columns(&self) -> Option<&[String]> {
        self.directives.columns.as_deref()
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
        if let Some(picks) = &self.directives.pairs {
            return pairs(series, picks, self.directives.only.as_ref());
        }
        let names = self.directives.columns.clone().unwrap_or_else(|| all_names(series));
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
        if rows.is_empty() && self.directives.zero_when_empty {
            rows.push(vec![Value::I64(0); names.len()]);
        }
        Answer { names: names.into(), rows }
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
        list @ Value::List(_) => inrush_rows::rows::value_text(list),
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
fn pairs(series: &[Series], picks: &[Pick], only: Option<&Tag>) -> Answer {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for part in series {
        if only.is_some_and(|only| part.tags.get(&only.tag) != Some(&only.value)) {
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
    Answer { names: ["name".into(), "value".into()].into(), rows }
}

fn shown_as(name: &str, picks: &[Pick]) -> Option<String> {
    if picks.is_empty() {
        return Some(name.to_owned());
    }
    let found = picks.iter().find(|p| if p.prefix { name.starts_with(&p.name) } else { name == p.name })?;
    Some(found.shown.as_deref().unwrap_or(name).to_owned())
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
    use serde_json::json;

    use super::*;

    fn series(json: serde_json::Value) -> Vec<Series> {
        serde_json::from_value(json).expect("it is written here")
    }

    fn query(text: &str, directives: serde_json::Value) -> Influxql {
        let directives: Directives = serde_json::from_value(directives).expect("it is written here");
        Influxql::new(text, Some(&directives))
    }

    #[test]
    fn parameters_are_put_in_place() {
        let statement = Influxql::new("SELECT d FROM t WHERE guid = '$1' AND time >= $2", None);
        assert_eq!(statement.params(), 2);
        let mut text = String::new();
        statement.bound(&[Value::U64(u64::MAX), Value::TimeMs(-5)], &mut text);
        assert_eq!(text, "SELECT d FROM t WHERE guid = '18446744073709551615' AND time >= -5ms");
    }

    #[test]
    fn a_text_cannot_leave_its_quotes() {
        let mut text = String::new();
        let statement = Influxql::new("SELECT a FROM t WHERE a = $1 AND b = '$1' AND c =~ /x$/", None);
        statement.bound(&[Value::Text("x' OR \\".into())], &mut text);
        assert_eq!(text, r"SELECT a FROM t WHERE a = 'x\' OR \\' AND b = 'x\' OR \\' AND c =~ /x$/");
    }

    #[test]
    fn tags_and_columns_are_put_in_the_order_asked_for() {
        let found = series(json!([
            {"name": "t", "tags": {"guid": "7", "port": ""}, "columns": ["time", "d"], "values": [[5_000_000, 1.5]]}
        ]));
        let statement = query("SELECT d FROM t", json!({"columns": ["port", "guid", "d", "time"]}));
        let ty = |name: &str| match name {
            "guid" => Some(LogicalType::U64),
            "time" => Some(LogicalType::TimeMs),
            _ => None,
        };
        let row = [Value::Null, Value::U64(7), Value::F64(1.5), Value::TimeMs(5)];
        assert_eq!(statement.answer(&found, &ty).rows, [row]);
        assert_eq!(
            *Influxql::new("SHOW X", None).answer(&found, &|_| None).names,
            ["guid", "port", "time", "d"]
        );
    }

    #[test]
    fn an_empty_answer_is_zero_where_it_is_a_count() {
        let statement =
            query("SELECT count(x) AS n FROM t", json!({"columns": ["n"], "zero_when_empty": true}));
        assert_eq!(statement.answer(&[], &|_| None).rows, [[Value::I64(0)]]);
        assert!(query("SELECT n FROM t", json!({"columns": ["n"]})).answer(&[], &|_| None).rows.is_empty());
    }

    #[test]
    fn statistics_become_pairs_and_are_added_up() {
        let shard = |database: &str, bytes: i64| json!({"name": "shard", "tags": {"database": database}, "columns": ["diskBytes", "x"], "values": [[bytes, 1]]});
        let found = series(json!([shard("a", 5), shard("b", 100), shard("a", 6)]));
        let of = |directives| query("SHOW STATS", directives).answer(&found, &|_| None).rows;
        let pair = |name: &str, value: i64| vec![Value::Text(name.into()), Value::I64(value)];
        assert_eq!(
            of(
                json!({"pairs": [{"name": "shard.diskBytes", "as": "disk"}], "only": {"tag": "database", "value": "a"}})
            ),
            [pair("disk", 11)]
        );
        assert_eq!(of(json!({"pairs": []})), [pair("shard.diskBytes", 111), pair("shard.x", 3)]);
        assert_eq!(
            of(json!({"pairs": [{"name": "shard.d", "prefix": true}]})),
            [pair("shard.diskBytes", 111)]
        );
    }
}
