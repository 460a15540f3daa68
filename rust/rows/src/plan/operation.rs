//! What is called: operations with their parameters, and what their answers promise.

use serde::{Deserialize, Serialize};

use super::{Directives, DumpPlan, LogicalType, RowCall};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpPlan {
    pub name: String,
    pub kind: OpKind,
    /// Index into `RunPlan::tables`; absent for queries over several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<usize>,
    /// What it does with the row of a key; its parameters are columns of that row, and have their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub does: Option<RowCall>,
    /// Statement in the engine's dialect and placeholders. Empty where the wire needs none.
    #[serde(default)]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directives: Option<Directives>,
    /// `bulk`, `multirow`, …; of kind `extract` its way out: `copy`, `cursor`, …; empty for queries.
    #[serde(default)]
    pub method: String,
    /// In placeholder order.
    #[serde(default)]
    pub params: Vec<ParamPlan>,
    /// Of kind `extract`: the rows that its calls ask for. Of kind `query`: what its parameters of a range are drawn from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<RangePlan>,
    /// The same, in place of a range: its rows are written to files, and none of the table is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dump: Option<DumpPlan>,
    /// Where keys among the parameters come from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<KeyPlan>,
    /// Names of the operations of a `together`.
    #[serde(default)]
    pub members: Vec<String>,
    /// Promises about the answer that are checked while writers run.
    #[serde(default)]
    pub holds: Vec<Assertion>,
    /// 0: no limit.
    #[serde(default)]
    pub deadline_ns: u64,
}

impl OpPlan {
    /// The table and the series whose rows its answers are looked at for.
    pub fn watched(&self) -> Option<(usize, u64)> {
        self.holds.iter().find_map(|assertion| match assertion {
            Assertion::Freshness { table, series } => Some((*table, *series)),
            _ => None,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    Insert,
    Query,
    /// One due, all members at once, latency = max over members.
    Together,
    /// A statement without answer: delete by age, maintenance.
    Execute,
    /// A query whose rows are looked at as they come, and not kept.
    Extract,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParamPlan {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: LogicalType,
    pub gen: ParamGen,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ParamGen {
    Constant {
        value: serde_json::Value,
    },
    /// Data time at which the call was due, less this; where rows were loaded before, data time has run ahead of the clock,
    /// and this is less by that, perhaps below zero.
    NowMinus {
        ns: i64,
    },
    /// A value that column `column` of table `table` takes for a random series: any of them, in the first sweep.
    OfSeries {
        table: usize,
        column: String,
    },
    /// The value that `column` of `table` takes for one series, in the first sweep.
    SeriesAt {
        table: usize,
        column: String,
        series: u64,
    },
    /// Data time up to which every row of the series that [`Assertion::Freshness`] names was seen.
    SeenUntil {},
    Uniform {
        from: i64,
        to: i64,
    },
    /// `column` of a row of [`OpPlan::keys`]`[keys]`; parameters with the same `draw` are of one row.
    Key {
        keys: usize,
        draw: u32,
        column: String,
    },
    /// Of an update and a write: what the call makes of `column` in the row that its keys draw (`rows::changes`).
    Changed {
        keys: usize,
        column: String,
    },
    /// Of kind `extract`: `column` of the series of its range, in the first sweep.
    RangeKey {
        column: String,
    },
    /// The time from which on its rows are.
    RangeFrom {},
    /// The time before which its rows are.
    RangeTo {},
    /// Of a dump: the least value of the rows of the call's file.
    PieceFrom {},
    /// The value before which they end.
    PieceTo {},
}

/// Rows of one series of a generated table in a half-open interval of time, drawn anew for every call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangePlan {
    pub table: usize,
    /// Of the whole table, which does not change while it is read.
    pub rows: u64,
    /// Column of the table behind each column of the answer of an extract.
    pub columns: Vec<String>,
    /// The column that the interval is of, and that the answer of an extract is sorted by.
    pub time: String,
    pub length: RangeLength,
    /// Absent: one that is long enough, each in proportion to its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<u64>,
    /// Rows that a `cursor` fetches at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_rows: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RangeLength {
    /// From the time of one row to that of the row so many later.
    Rows {
        rows: u64,
    },
    /// The same, of so many parts per million of the series' rows.
    Share {
        ppm: u32,
    },
    Time {
        ns: u64,
    },
}

/// Rows that a call asks for: row numbers `first_row .. first_row + rows` of `table`, drawn by a law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyPlan {
    pub table: usize,
    #[serde(default)]
    pub first_row: u64,
    pub rows: u64,
    pub by: KeyLaw,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum KeyLaw {
    /// Every row alike.
    Uniform {},
    /// The row of rank k in proportion to k^-exponent; ranks are spread over the rows by a seeded permutation.
    Zipf { exponent: f64 },
    /// This share of the draws falls on this share of the rows, uniformly; the others on the rest of the rows.
    HotSet { draws_ppm: u32, rows_ppm: u32 },
    /// Session i of n draws uniformly from the i-th of n equal, contiguous parts.
    OwnRange {},
    /// Draw k of the operation's calls, counted over all sessions of a role, is row k of a seeded permutation: each comes
    /// once before any comes again.
    EachOnce {},
}

/// A promise about an answer, checked outside the timed part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Assertion {
    /// Every returned row is a row of the generator: answer column -> table column, identity included. There is at
    /// least one where the parameters name rows that were there before, unless `may_be_empty`.
    RowsRegenerate {
        table: usize,
        columns: Vec<String>,
        /// By parameter: the column that a returned row has its value in; empty: none. Absent: no parameter is a key.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_be_empty: bool,
    },
    /// The answer is the rows of the keys that were asked for: all of them, whole, and no other.
    Asked {
        table: usize,
        columns: Vec<String>,
        /// By parameter: the column of the key that it is a value of. As many values of each, or one: a list of keys.
        keys: Vec<String>,
    },
    /// The single number returned lies between rows acknowledged before the call and rows issued after it.
    CountBounds { table: usize },
    /// Data times of rows of one series, those after `SeenUntil` at least: the first answer that holds one shows
    /// how long after its due a reader could see it.
    Freshness { table: usize, series: u64 },
}
