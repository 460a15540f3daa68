//! Answers as JSON: one document a line, each with a part of the series. Integers are read as integers.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::failure::Failure;
use inrush_rows::encode::lists::push_json;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, Columns, ListValues, Value, Values};
use inrush_rows::types::Holds;

/// Rows with equal tags. A long series comes in several parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Series<Cells = Vec<serde_json::Value>> {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    #[serde(default)]
    pub columns: Vec<String>,
    #[serde(default = "Vec::new")]
    pub values: Vec<Cells>,
}

#[derive(Deserialize)]
struct Document<Cells> {
    #[serde(default = "Vec::new")]
    results: Vec<Part<Cells>>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Part<Cells> {
    #[serde(default = "Vec::new")]
    series: Vec<Series<Cells>>,
    error: Option<String>,
}

/// Takes an answer in pieces as they come.
pub struct Reader {
    keeps: bool,
    /// The line that is not yet complete.
    line: Vec<u8>,
    series: Vec<Series>,
    rows: u64,
    bytes: u64,
    failure: Option<String>,
}

impl Reader {
    /// All rows are kept.
    pub fn kept() -> Reader {
        Reader::new(true)
    }

    /// Rows are counted, and kept where `keeps`.
    pub fn new(keeps: bool) -> Reader {
        Reader { keeps, line: Vec::new(), series: Vec::new(), rows: 0, bytes: 0, failure: None }
    }

    /// Ready for another answer.
    pub fn clear(&mut self, keeps: bool) {
        self.line.clear();
        self.series.clear();
        (self.keeps, self.rows, self.bytes, self.failure) = (keeps, 0, 0, None);
    }

    /// Parses no line before its end has come.
    pub fn read(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            self.line.extend_from_slice(&rest[..end]);
            self.parse();
            self.line.clear();
            rest = &rest[end + 1..];
        }
        self.line.extend_from_slice(rest);
    }

    /// The answer is complete; the failure that it reports, if there is one.
    pub fn end(&mut self, status: u16) -> Result<(), Failure> {
        if status >= 300 && self.failure.is_none() {
            return Err(Failure::read(status, &self.line));
        }
        if !self.line.is_empty() {
            self.parse();
        }
        match self.failure.take() {
            Some(message) => Err(Failure { status, message }),
            None => Ok(()),
        }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// What has come since it was last asked.
    pub fn take_series(&mut self) -> Vec<Series> {
        std::mem::take(&mut self.series)
    }

    fn parse(&mut self) {
        if self.keeps {
            if let Some(found) = self.document::<Vec<serde_json::Value>>() {
                self.series.extend(found);
            }
        } else {
            self.document::<serde::de::IgnoredAny>();
        }
    }

    /// The series of the line, counted.
    fn document<Cells: for<'de> Deserialize<'de>>(&mut self) -> Option<Vec<Series<Cells>>> {
        let document: Document<Cells> = match serde_json::from_slice(&self.line) {
            Ok(document) => document,
            Err(error) => {
                self.failure.get_or_insert_with(|| format!("an answer could not be read: {error}"));
                return None;
            }
        };
        let mut found = Vec::new();
        if self.failure.is_none() {
            self.failure = document.error;
        }
        for part in document.results {
            if self.failure.is_none() {
                self.failure = part.error;
            }
            self.rows += part.series.iter().map(|series| series.values.len() as u64).sum::<u64>();
            found.extend(part.series);
        }
        Some(found)
    }
}

/// Where a wanted column stands in a series.
pub enum Place<'a> {
    Cell(usize),
    /// A tag that the answer is grouped by; an absent one is empty.
    Tag(&'a str),
    Nowhere,
}

impl<Cells> Series<Cells> {
    pub fn place(&self, name: &str) -> Place<'_> {
        match self.columns.iter().position(|column| column == name) {
            Some(at) => Place::Cell(at),
            None => self.tags.get(name).map_or(Place::Nowhere, |tag| Place::Tag(tag)),
        }
    }
}

/// A cell as a value of `ty`; as it stands where nothing is known of it.
///
/// `time` says that it is the point's own time, which comes in nanoseconds. `None`: no value of that type.
pub fn value(cell: &serde_json::Value, ty: Option<LogicalType>, time: bool) -> Option<Value> {
    use serde_json::Value as Json;
    let Some(ty) = ty else {
        return Some(match cell {
            Json::Null => Value::Null,
            Json::Bool(v) => Value::Bool(*v),
            Json::String(v) => Value::Text(v.clone()),
            Json::Number(n) => match (n.as_i64(), n.as_u64()) {
                (Some(v), _) => Value::I64(v),
                (None, Some(v)) => Value::U64(v),
                (None, None) => Value::F64(n.as_f64()?),
            },
            Json::Array(_) | Json::Object(_) => return None,
        });
    };
    Some(match cell {
        Json::Null => Value::Null,
        Json::String(text) => return text_value(text, ty),
        Json::Bool(v) if ty == LogicalType::Bool => Value::Bool(*v),
        Json::Number(n) => match ty.holds() {
            Holds::Unsigned(64) | Holds::Bits => Value::U64(n.as_i64()? as u64),
            Holds::Signed(_) | Holds::Unsigned(_) => Value::I64(n.as_i64()?),
            Holds::Float(_) => Value::F64(n.as_f64()?),
            Holds::Time(1_000) => Value::TimeMs(in_unit(n.as_i64()?, if time { 1_000_000 } else { 1 })?),
            Holds::Time(_) => Value::TimeUs(in_unit(n.as_i64()?, if time { 1_000 } else { 1 })?),
            _ => return None,
        },
        _ => return None,
    })
}

/// A time with more digits than its unit has was not stored by us.
fn in_unit(time: i64, unit: i64) -> Option<i64> {
    (time % unit == 0).then_some(time / unit)
}

/// A tag, or a field that is a text.
pub fn text_value(text: &str, ty: LogicalType) -> Option<Value> {
    Some(match ty.holds() {
        Holds::Text | Holds::Bytes | Holds::Spelled => Value::Text(text.to_owned()),
        Holds::Truth => Value::Bool(text == "t"),
        Holds::Unsigned(64) | Holds::Bits => Value::U64(text.parse().ok()?),
        Holds::Signed(_) | Holds::Unsigned(_) => Value::I64(text.parse().ok()?),
        Holds::Float(_) => Value::F64(text.parse().ok()?),
        Holds::Time(1_000) => Value::TimeMs(text.parse().ok()?),
        Holds::Time(_) => Value::TimeUs(text.parse().ok()?),
        Holds::List(LogicalType::F64) => Value::ListF64(items(text)?),
        Holds::List(LogicalType::I64) => Value::ListI64(items(text)?),
        Holds::List(item) => {
            let mut one = Column::new("", ty);
            let Values::List(found) = &mut one.values else { return None };
            push_json(found, item, text)?;
            one.value(0)
        }
    })
}

/// `[1,2]`
fn items<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    inner.split(',').filter(|item| !item.is_empty()).map(|item| item.parse().ok()).collect()
}

/// Appends the rows of `series` to columns of the same number, in the order of `names`.
///
/// Errors: a value that is not of its column's type, with its name.
pub fn append(series: &Series, names: &[String], batch: &mut Columns) -> Result<(), String> {
    let places: Vec<Place> = names.iter().map(|name| series.place(name)).collect();
    for row in &series.values {
        for ((place, name), column) in places.iter().zip(names).zip(&mut batch.columns) {
            let found = match place {
                Place::Cell(at) => {
                    let cell =
                        row.get(*at).ok_or_else(|| format!("a row has fewer cells than columns: {name}"))?;
                    value(cell, Some(column.ty), name == "time")
                }
                Place::Tag("") | Place::Nowhere => Some(Value::Null),
                Place::Tag(tag) => text_value(tag, column.ty),
            };
            let found = found.ok_or_else(|| format!("a value of {name} is no {:?}", column.ty))?;
            push(column, &found).ok_or_else(|| format!("a value of {name} is no {:?}", column.ty))?;
        }
        batch.rows += 1;
    }
    Ok(())
}

fn push(column: &mut Column, value: &Value) -> Option<()> {
    if *value == Value::Null {
        column.push_null(column.values.count());
        return Some(());
    }
    column.mark_present();
    match (&mut column.values, value) {
        (Values::I32(v), Value::Bool(x)) => v.push(i32::from(*x)),
        (Values::I32(v), Value::I64(x)) => v.push(i32::try_from(*x).ok()?),
        (Values::I64(v), Value::I64(x) | Value::TimeMs(x) | Value::TimeUs(x)) => v.push(*x),
        (Values::I64(v), Value::U64(x)) => v.push(*x as i64),
        (Values::F32(v), Value::F64(x)) => v.push(*x as f32),
        (Values::F64(v), Value::F64(x)) => v.push(*x),
        (Values::Text(v), Value::Text(x)) => v.push(x.as_bytes()),
        (Values::List(list), value) => {
            match (&mut *list.items, value) {
                (Values::F64(items), Value::ListF64(x)) => items.extend(x),
                (Values::I64(items), Value::ListI64(x)) => items.extend(x),
                (_, Value::List(x)) => return push_items(list, column.ty.item()?, x),
                _ => return None,
            }
            list.end();
        }
        _ => return None,
    }
    Some(())
}

/// A list of items that are no floats or whole numbers of 64 bits, or with NULL in it.
fn push_items(list: &mut ListValues, item: LogicalType, items: &[Value]) -> Option<()> {
    for value in items {
        if *value == Value::Null {
            list.push_null_item();
            continue;
        }
        list.mark_present();
        let mut one = Column::new("", item);
        push(&mut one, value)?;
        list.items.append(&one.values, 0..1);
    }
    list.end();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = concat!(
        r#"{"results":[{"statement_id":0,"series":[{"name":"t","tags":{"port":"1"},"columns":["time","d"],"#,
        r#""values":[[1767225600000000000,9007199254740993]],"partial":true}],"partial":true}]}"#,
        "\n",
        r#"{"results":[{"statement_id":0,"series":[{"name":"t","tags":{"port":"1"},"columns":["time","d"],"#,
        r#""values":[[1767225601000000000,null],[1767225602000000000,-1]]}]}]}"#,
        "\n",
    );

    #[test]
    fn an_answer_is_read_in_pieces_of_any_size() {
        for size in [1, 7, 64, ANSWER.len()] {
            let mut reader = Reader::kept();
            ANSWER.as_bytes().chunks(size).for_each(|piece| reader.read(piece));
            assert_eq!(reader.end(200), Ok(()));
            assert_eq!((reader.rows(), reader.bytes()), (3, ANSWER.len() as u64));
            let cells: Vec<_> =
                reader.series().iter().flat_map(|s| &s.values).map(|row| row[1].clone()).collect();
            assert_eq!(
                cells,
                [serde_json::json!(9_007_199_254_740_993i64), serde_json::json!(null), serde_json::json!(-1)]
            );
        }
    }

    #[test]
    fn rows_are_counted_where_they_are_not_kept() {
        let mut reader = Reader::new(false);
        reader.read(ANSWER.as_bytes());
        assert_eq!((reader.end(200), reader.rows(), reader.series().len()), (Ok(()), 3, 0));
    }

    #[test]
    fn a_failure_inside_an_answer_is_found() {
        let mut reader = Reader::kept();
        reader.read(b"{\"results\":[{\"statement_id\":0,\"error\":\"database not found: x\"}]}\n");
        let failure = reader.end(200).unwrap_err();
        assert_eq!((failure.status, failure.message.as_str()), (200, "database not found: x"));
        let mut reader = Reader::new(false);
        reader.read(b"{\"error\":\"error parsing query: found SELEKT\"}\n");
        assert_eq!(reader.end(400).unwrap_err().message, "error parsing query: found SELEKT");
        let mut reader = Reader::kept();
        reader.read(b"not json");
        assert!(reader.end(200).unwrap_err().message.contains("could not be read"));
    }

    #[test]
    fn a_value_is_read_as_what_its_column_is() {
        use LogicalType::*;
        let of = |cell: serde_json::Value, ty, time| value(&cell, Some(ty), time);
        assert_eq!(of((-1).into(), U64, false), Some(Value::U64(u64::MAX)));
        assert_eq!(of("18446744073709551615".into(), U64, false), Some(Value::U64(u64::MAX)));
        assert_eq!(of(1_000_000.into(), TimeMs, true), Some(Value::TimeMs(1)));
        assert_eq!(of(1_000_001.into(), TimeMs, true), None);
        assert_eq!(of(7.into(), TimeUs, false), Some(Value::TimeUs(7)));
        assert_eq!(of(5.into(), F64, false), Some(Value::F64(5.0)));
        assert_eq!(of("[1,-2]".into(), ListI64, false), Some(Value::ListI64(vec![1, -2])));
        assert_eq!(of("[]".into(), ListF64, false), Some(Value::ListF64(vec![])));
        assert_eq!(of(1.5.into(), I64, false), None);
    }
}
