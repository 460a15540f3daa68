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
