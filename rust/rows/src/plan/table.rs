//! What is stored: tables, what their columns mean, and where rows come from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::written::WrittenAs;
use super::GenPlan;
use crate::types::LogicalType;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablePlan {
    /// Name in the database.
    pub name: String,
    /// Name that seeds the generator: equal streams give equal rows under any `name`.
    pub stream: String,
    pub columns: Vec<ColumnPlan>,
    pub source: RowSource,
    /// Columns that together are unique; empty when none are.
    #[serde(default)]
    pub identity: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnPlan {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: LogicalType,
    /// Type on the wire, chosen by the engine's Python twin, e.g. `int8`, `numeric`, `timestamptz`.
    pub wire: String,
    #[serde(default)]
    pub null_ppm: u32,
    /// Of floats: values that no generator makes by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_finite: Option<NotFinite>,
    /// Absent for tables fed from files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gen: Option<GenPlan>,
}

impl ColumnPlan {
    /// Of lists that are generated: whether NULL stands among their items.
    pub fn has_null_items(&self) -> bool {
        matches!(self.gen, Some(GenPlan::Array { null_ppm: 1.., .. }))
    }
}

/// Shares of a column's values; a NULL may stand in the place of any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotFinite {
    #[serde(default)]
    pub nan_ppm: u32,
    #[serde(default)]
    pub inf_ppm: u32,
    #[serde(default)]
    pub minus_inf_ppm: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
// One for each table of a plan: its size costs nothing.
#[allow(clippy::large_enum_variant)]
pub enum RowSource {
    /// Row `i` is sweep `i / series`, series `i % series`; `period_ns` between sweeps.
    Generated {
        series: u64,
        period_ns: u64,
        /// Another order of these rows, or series that differ in rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        events: Option<EventsPlan>,
    },
    /// The user's own files, in this order. `format`: csv, tsv, mysql, ndjson, or arrow (IPC streams, which
    /// Parquet files are turned into before the run).
    Files {
        paths: Vec<String>,
        format: String,
        header: bool,
        #[serde(default, skip_serializing_if = "WrittenAs::is_usual")]
        written: WrittenAs,
        /// Rejected rows go here, with file, line and reason.
        reject_path: String,
        /// More rejected rows than this end the run.
        reject_limit: u64,
        /// Columns that may not be null, beside those of `identity`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        required: Vec<String>,
        /// Column -> what the database takes of it, where that is less than its type says.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        limits: BTreeMap<String, Limits>,
        /// Column of times or dates -> the one form that its texts have. Without: ISO's, or units since 1970.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        times: BTreeMap<String, TimeForm>,
        /// The zone of times that name none: since when (s since 1970, rising) its clocks are so many seconds
        /// ahead of UTC. Empty: UTC.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        zone: Vec<(i64, i64)>,
        /// Columns of texts with values that are bytes in the files: each becomes its hexadecimal digits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bytes: Vec<String>,
    },
}

/// Rows as events of series: which ones a table has, and how they follow one another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventsPlan {
    /// Rows of the whole table: its first events by time, then by series.
    pub rows: u64,
    pub order: OrderPlan,
    /// Absent: every series has an event each period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<RatesPlan>,
    /// Rows in files, one for each chunk of a sky: one series without times, by key or at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<ChunksPlan>,
}

/// How rows lie in files: each has some runs of neighbouring keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunksPlan {
    pub files: u64,
    pub profile: ChunkProfile,
    /// Rows of a run, about.
    pub run_rows: u64,
}

/// Sizes of the files along their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkProfile {
    Equal,
    /// As a survey's were published: the largest, at the poles, has nine times the rows of a usual one.
    Survey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum OrderPlan {
    /// Series after series.
    Key {},
    Time {},
    /// The table's time is cut into so many files of one length; series after series in each.
    File {
        files: u64,
    },
    Random {},
}

/// Rates of the series: log-normal around one event each period, each series with a phase of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatesPlan {
    /// Of the natural logarithm of the rate, 0 … 3.
    pub sigma: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<PinnedPlan>,
}

/// One series that has this share of all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedPlan {
    pub series: u64,
    pub share_ppm: u32,
}

/// How the times of a column are written; a text of another form is rejected. Of text files alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeForm {
    /// `2026-01-31`.
    Iso,
    /// `31/01/2026`.
    Dmy,
    /// `01/31/2026`.
    Mdy,
    /// By the signs of `strptime`, such as `%d.%m.%y %H:%M`.
    #[serde(untagged)]
    Pattern(String),
}

/// A row with a value beyond these is rejected: the database would refuse it, with all that came in the same transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Most characters of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chars: Option<u32>,
    /// Least and greatest integer, or time in the column's unit. Not for `u64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(i64, i64)>,
    /// Floats that the column does not take.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_nan: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_infinity: bool,
    /// Texts of the column are numbers, spelled so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<Spelling>,
}

/// How a server spells the numbers of a column that go in as texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Spelling {
    /// In a way of its own: they go in as they are written.
    Any {},
    /// With the digits behind the point that are written.
    Written {},
    /// With so many digits behind the point.
    Fixed { digits: u32 },
}
