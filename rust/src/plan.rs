//! The border in: one run, fully spelled out, as JSON. Written by `python/inrush/plan`, read here.
//!
//! `python/tests/golden/plan.json` is read by tests on both sides. Times are integer
//! nanoseconds; shares are parts per million, so that equal plans have equal text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::rows::GenPlan;

pub const PLAN_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    pub version: u32,
    pub run_id: String,
    pub study: String,
    pub seed: u64,
    /// Data time zero, ns since 1970-01-01 UTC; `:now` of an operation is `epoch_ns + due`.
    pub epoch_ns: i64,
    pub target: Target,
    pub tables: Vec<TablePlan>,
    pub operations: Vec<OpPlan>,
    pub segments: Vec<Segment>,
    pub record: RecordPlan,
    pub watch: WatchPlan,
    /// Carried for the report; the core does not read it.
    #[serde(default)]
    pub labels: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// `null`, `null:<wire>`, `simulated`, `sqlite`, `duckdb`, `adbc`, `postgresql`, …
    pub engine: String,
    /// Never holds a password: engines read it from their usual environment variables.
    pub url: String,
    /// Engine-specific, e.g. the ADBC driver's path, `service_ns` of `simulated`.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Mutations of `Faulty`, tests only: `drop:1000`, `double:1000`, `swap`, …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

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
    /// Absent for tables fed from files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gen: Option<GenPlan>,
}

/// What a value means, independent of any engine. `docs/engines.md` maps it to each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogicalType {
    Bool,
    I16,
    I32,
    I64,
    U64,
    F32,
    F64,
    /// Milliseconds since 1970 UTC.
    TimeMs,
    /// Microseconds since 1970 UTC.
    TimeUs,
    Text,
    ListF64,
    ListI64,
    /// A day as `2026-01-31`. Like a UUID it comes from files alone: no generator makes it.
    Date,
    /// `00112233-4455-6677-8899-aabbccddeeff`.
    Uuid,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RowSource {
    /// Row `i` is sweep `i / series`, series `i % series`; `period_ns` between sweeps.
    Generated { series: u64, period_ns: u64 },
    /// The user's own files, in this order. `format`: csv, tsv, mysql, or arrow (IPC streams, which
    /// Parquet files are turned into before the run).
    Files {
        paths: Vec<String>,
        format: String,
        delimiter: Option<String>,
        header: bool,
        null: Option<String>,
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
    },
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
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpPlan {
    pub name: String,
    pub kind: OpKind,
    /// Index into `RunPlan::tables`; absent for queries over several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<usize>,
    /// Statement in the engine's dialect and placeholders. Empty where the wire needs none.
    #[serde(default)]
    pub text: String,
    /// `bulk`, `multirow`, …; empty for queries.
    #[serde(default)]
    pub method: String,
    /// In placeholder order.
    #[serde(default)]
    pub params: Vec<ParamPlan>,
    /// Names of the operations of a `together`.
    #[serde(default)]
    pub members: Vec<String>,
    /// Promises about the answer that are checked while writers run.
    #[serde(default)]
    pub holds: Vec<Hold>,
    /// 0: no limit.
    #[serde(default)]
    pub deadline_ns: u64,
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
    /// Data time at which the call was due, less `seconds_ns`.
    NowMinus {
        ns: u64,
    },
    /// A value that column `column` of table `table` takes for a random series.
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
    /// Data time up to which every row of the series that [`Hold::Freshness`] names was seen.
    SeenUntil {},
    Uniform {
        from: i64,
        to: i64,
    },
}

/// A promise about an answer, checked outside the timed part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Hold {
    /// Every returned row is a row of the generator: answer column -> table column, identity included.
    RowsRegenerate { table: usize, columns: Vec<String> },
    /// The single number returned lies between rows acknowledged before the call and rows issued after it.
    CountBounds { table: usize },
    /// Data times of rows of one series, those after `SeenUntil` at least: the first answer that holds one tells
    /// how long after its due a reader could see it.
    Freshness { table: usize, series: u64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Segment {
    /// Statements off the figures: DDL, settings, maintenance.
    Control {
        label: String,
        statements: Vec<String>,
        limit_ns: u64,
    },
    /// Roles at work. Only phase `measure` enters figures.
    Drive(DriveSegment),
    /// Counted, checksummed and read back.
    Proof {
        label: String,
        proofs: Vec<ProofPlan>,
    },
    /// Sizes, counters and settings, into the tables `sizes` and `counters`.
    Probe {
        label: String,
        probes: Vec<ProbePlan>,
    },
    /// Each operation once when quiet; answers go to the table `answers` for the oracle.
    Ask {
        label: String,
        operations: Vec<String>,
        now_ns: u64,
    },
    Settle {
        label: String,
        ns: u64,
    },
    /// Python acts (restart, drop caches, …) and says `resume`.
    Pause {
        label: String,
        action: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSegment {
    pub label: String,
    pub phase: Phase,
    pub roles: Vec<RolePlan>,
    /// Whole segment; what is then unfinished is cut and said.
    pub limit_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatPlan>,
    /// Asked again and again while the roles work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SamplePlan>,
}

/// A fixed volume repeated into fresh tables until enough time was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatPlan {
    /// Sum of makespans to reach.
    pub at_least_ns: u64,
    pub max: u32,
    /// Run before every repetition but the first: empty the tables.
    pub fresh: Vec<String>,
    /// Screen proofs after every repetition, outside the measured time.
    pub proofs: Vec<ProofPlan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Load,
    Warm,
    Measure,
    Cool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolePlan {
    pub name: String,
    /// Weights choose per ticket; one entry for most roles.
    pub operations: Vec<Weighted>,
    pub sessions: u32,
    /// Operations in flight per session; 1 unless the engine pipelines.
    pub depth: u32,
    pub schedule: Schedule,
    pub work: Work,
    pub until: Until,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    pub operation: String,
    pub weight: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Schedule {
    /// The next call when the last has ended (+ think time): due = sent.
    Closed { think_ns: u64 },
    /// Equally spaced arrivals, one line shared by all sessions.
    Constant { rate_per_s: f64 },
    /// Exponential gaps, seeded.
    Poisson { rate_per_s: f64 },
    /// A sample every `every_ns`, in `parts` operations that are all due with it; stored when the last is.
    Samples {
        every_ns: u64,
        parts: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        collect: Option<CollectPlan>,
    },
}

/// How long a sample takes from its due until its rows are there to be sent: a collector that nobody ran.
///
/// Lognormal: half of the samples take less than `median_ns`; `sigma` is the standard deviation of the logarithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectPlan {
    /// What stands for, in reports.
    pub name: String,
    pub median_ns: u64,
    pub sigma: f64,
    /// No sample takes longer.
    pub most_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// `rows` rows of `table` from `first_row`, in batches; ticket `k` is batch `k`.
    Rows { table: usize, first_row: u64, rows: u64, batch_rows: u32 },
    /// So many calls.
    Calls { count: u64 },
    /// Until something else ends the role.
    Endless,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Until {
    /// All work done.
    Work,
    /// The named role has ended; `writers` also means all of `writers/a`, `writers/b`, ….
    Role { name: String },
    /// So long after the segment's start; what was due by then and never sent is `unsent`.
    Time { ns: u64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofPlan {
    pub table: usize,
    /// Rows that must be there: `first_row .. first_row + rows` of the generator; ignored for files.
    pub first_row: u64,
    pub rows: u64,
    /// One row of numbers, in the order of `items`. Integers may come as text (numeric, hugeint). Empty: read back only.
    pub screen: String,
    pub items: Vec<ScreenItem>,
    /// All columns of the table in order, any row order. Empty: no read-back.
    #[serde(default)]
    pub read_back: String,
}

/// One figure that engine and generator compute independently. All sums are over non-null values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScreenItem {
    Rows,
    /// count(column)
    NotNull {
        column: String,
    },
    /// Σ (value & 0xffff_ffff), two's complement of the 64-bit pattern.
    SumLow {
        column: String,
    },
    /// Σ (value >> 32), arithmetic shift for signed and for u64 stored signed (`signed`), logical else.
    SumHigh {
        column: String,
        signed: bool,
    },
    /// Σ value of the 64-bit pattern modulo 2^64, as a signed number: what an engine's own wrapping sum gives.
    SumWrapped {
        column: String,
    },
    /// Σ (key & 0xffff) * (value & 0xffff), rows where both are present: swapped values show.
    Product {
        key: String,
        value: String,
    },
    /// Σ value * 2^bits as an integer: generated floats are k·2^-bits.
    SumScaled {
        column: String,
        bits: u32,
    },
    /// Σ length in bytes of a text.
    SumLength {
        column: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbePlan {
    /// `sizes` or `counters` or `settings`: where the answer goes.
    pub into: String,
    /// Rows of (name text, value text or number).
    pub statement: String,
}

/// Probes on a connection of their own; a statement that fails leaves a gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplePlan {
    pub every_ns: u64,
    pub probes: Vec<ProbePlan>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordPlan {
    /// Histogram and count interval.
    pub interval_ns: u64,
    /// How often finished intervals are written out.
    pub flush_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchPlan {
    /// 0: do not watch. Never below 100 ms.
    pub every_ns: u64,
    /// Role -> process ids whose tree is watched. The client itself is always role `client`.
    pub processes: BTreeMap<String, Vec<i32>>,
    /// Directory whose device is watched; empty: none.
    #[serde(default)]
    pub data_dir: String,
}

impl RunPlan {
    pub fn from_json(text: &str) -> Result<RunPlan, Error> {
        let plan: RunPlan = serde_json::from_str(text).map_err(|e| Error::Plan(e.to_string()))?;
        if plan.version != PLAN_VERSION {
            return Err(Error::Plan(format!(
                "version {} was written by another inrush; this one reads version {PLAN_VERSION}",
                plan.version
            )));
        }
        Ok(plan)
    }
}
