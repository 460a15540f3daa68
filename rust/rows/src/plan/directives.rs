//! What an engine's language cannot say: InfluxQL names no order of columns, and no database; a file has no language.

use serde::{Deserialize, Serialize};

use super::{FileAction, IoPlan, NdbAction, RecordCall};

/// Beside the text of a statement. Those of `influxdb`, `device`, `ndb` and `valkey` have them: twins write them, wire halves read them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directives {
    /// The database that names without one are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Nothing is done where there is no such database; one that is not inrush's is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_marked: Option<String>,
    /// What a row of the answer holds: columns and tags by name, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// An answer without rows is one row of zeros.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zero_when_empty: bool,
    /// Rows of (name, value) in place of columns: these values; all of them where the list is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Vec<Pick>>,
    /// Of `pairs`, those of series with this tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Tag>,
    /// Of `device`, beside an operation: what each of its calls does. Boxed, since hardly any directives have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<Box<IoPlan>>,
    /// Of `device`, beside a statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileAction>,
    /// Beside an operation by key whose calls are no statement: what each of them does with a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Box<RecordCall>>,
    /// Of `ndb`, beside a statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ndb: Option<Box<NdbAction>>,
}

/// A value by the name `series.column`, or all with names that begin like this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prefix: bool,
    /// Its name in the answer; absent: its own.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tag {
    pub tag: String,
    pub value: String,
}

/// Takes the lines out of the front of a text that versions 1 and 2 of a plan wrote directives into (`-- columns: a, b`).
/// `None`: there was none.
pub(super) fn upgraded(text: &str) -> Option<(Directives, String)> {
    let mut found = Directives::default();
    let mut rest = text.trim_start();
    while let Some((key, value, after)) = line(rest) {
        match key {
            "on" => found.on = Some(value.to_owned()),
            "if marked" => found.if_marked = Some(value.to_owned()),
            "columns" => found.columns = Some(list(value).map(str::to_owned).collect()),
            "empty" => found.zero_when_empty = value == "0",
            "pairs" => found.pairs = Some(list(value).map(pick).collect()),
            "only" => {
                let tag = value.split_once('=');
                found.only = tag.map(|(tag, value)| Tag { tag: tag.to_owned(), value: value.to_owned() });
            }
            _ => break, // a comment of its author
        }
        rest = after.trim_start();
    }
    (found != Directives::default()).then(|| (found, rest.to_owned()))
}

/// `-- key: value` in the first line, and what follows.
fn line(text: &str) -> Option<(&str, &str, &str)> {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let (key, value) = line.strip_prefix("--")?.split_once(':')?;
    Some((key.trim(), value.trim(), after))
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn pick(text: &str) -> Pick {
    let (name, shown) = match text.split_once(" as ") {
        Some((name, shown)) => (name.trim(), Some(shown.trim().to_owned())),
        None => (text, None),
    };
    match name.strip_suffix('*') {
        Some(prefix) => Pick { name: prefix.to_owned(), prefix: true, shown: None },
        None => Pick { name: name.to_owned(), prefix: false, shown },
    }
}
