//! What is done, segment by segment: roles at work, and what is asked of the database before, meanwhile and after.

use serde::{Deserialize, Serialize};

use super::{InputPlan, SortPlan, Statement};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Segment {
    /// Statements off the figures: DDL, settings, maintenance.
    Control { label: String, statements: Vec<Statement>, limit_ns: u64 },
    /// Roles at work. Only phase `measure` enters figures.
    Drive(DriveSegment),
    /// Statements that are what is measured: each is timed, and cancelled where the limit of all is over.
    Statement(StatementSegment),
    /// Counted, checksummed and read back.
    Proof { label: String, proofs: Vec<ProofPlan> },
    /// Sizes, counters and settings, into the tables `sizes` and `counters`.
    Probe {
        label: String,
        /// The step of the run that it belongs to; empty: none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        step: String,
        probes: Vec<ProbePlan>,
    },
    /// Each operation once when quiet; answers go to the table `answers` for the oracle.
    Ask { label: String, operations: Vec<String>, now_ns: u64 },
    Settle {
        label: String,
        /// The step of the run that it belongs to; empty: none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        step: String,
        ns: u64,
    },
    /// Files are made that a later segment loads; those that are there already are kept.
    Inputs { label: String, inputs: Vec<InputPlan> },
    /// Such files are sorted, which is timed.
    Sort(SortPlan),
    /// Python acts (restart, drop caches, …) and says `resume`.
    Pause {
        label: String,
        /// The step of the run that it belongs to; empty: none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        step: String,
        action: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSegment {
    pub label: String,
    /// The step of the run that it belongs to; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    pub phase: Phase,
    pub roles: Vec<RolePlan>,
    /// Whole segment; what is then unfinished is cut and said.
    pub limit_ns: u64,
    /// After a lost connection a session tries for so long to connect again.
    #[serde(default = "usual_retry_ns", skip_serializing_if = "is_usual_retry")]
    pub retry_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatPlan>,
    /// Asked again and again while the roles work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SamplePlan>,
}

/// Of plans that do not say; twin of `Schedule.retry_s` in python/inrush/study/parts.py.
fn usual_retry_ns() -> u64 {
    5_000_000_000
}

fn is_usual_retry(ns: &u64) -> bool {
    *ns == usual_retry_ns()
}

/// Maintenance as a step: an index is built, a table is clustered, parts are merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementSegment {
    pub label: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    pub statements: Vec<Statement>,
    /// Of all statements together; what then runs is cancelled, and the run goes on.
    pub limit_ns: u64,
    /// Asked again and again meanwhile, on a connection of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SamplePlan>,
}

impl Segment {
    /// The step of the run that it belongs to; empty: none.
    pub fn step(&self) -> &str {
        match self {
            Segment::Drive(drive) => &drive.step,
            Segment::Statement(statement) => &statement.step,
            Segment::Sort(sort) => &sort.step,
            Segment::Probe { step, .. } | Segment::Settle { step, .. } | Segment::Pause { step, .. } => step,
            Segment::Control { .. }
            | Segment::Proof { .. }
            | Segment::Ask { .. }
            | Segment::Inputs { .. } => "",
        }
    }
}

/// A fixed volume repeated into fresh tables until enough time was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatPlan {
    /// Sum of makespans to reach.
    pub at_least_ns: u64,
    pub max: u32,
    /// Run before every repetition but the first: empty the tables.
    pub fresh: Vec<Statement>,
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
    /// Calls that may be due and not taken by a session; more of them end the role. `None`: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_calls: Option<u64>,
    /// Each call is made on a connection of its own, which is part of its time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub connects: bool,
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
    Closed {
        think_ns: u64,
        /// When a session whose slots were all taken sends again; `None`: when one of its calls has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refill: Option<Refill>,
        /// How long a session waits once it could send again.
        #[serde(default, skip_serializing_if = "is_zero")]
        delay_ns: u64,
    },
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

impl Schedule {
    /// As fast as it goes.
    pub const CLOSED: Schedule = Schedule::Closed { think_ns: 0, refill: None, delay_ns: 0 };
}

/// How many calls of a session have ended when it sends again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refill {
    Half,
    /// All.
    Round,
}

pub(super) fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// How long a sample takes from its due until its rows are there to be sent: a simulated collector.
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
    Rows {
        table: usize,
        first_row: u64,
        rows: u64,
        batch_rows: u32,
        /// The operation whose files they are read from, in place of being made. The table is empty before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dump: Option<String>,
        /// They lie in these files; ticket `k` is file `k`, but where the files are parsed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<InputPlan>,
    },
    /// So many calls.
    Calls { count: u64 },
    /// Until something else ends the role. (Braces: in a variant without them serde lets unknown keys pass.)
    Endless {},
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Until {
    /// All work done.
    Work {},
    /// The named role has ended; `writers` also means all of `writers/a`, `writers/b`, ….
    Role { name: String },
    /// So long after the segment's start; what was due by then and never sent is `unsent`.
    Time { ns: u64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbePlan {
    /// `sizes` or `counters` or `settings`: where the answer goes.
    pub into: String,
    /// Rows of (name text, value text or number).
    pub statement: Statement,
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
pub struct ProofPlan {
    pub table: usize,
    /// Rows that must be there: `first_row .. first_row + rows` of the generator; ignored for files.
    pub first_row: u64,
    pub rows: u64,
    /// One row of numbers, in the order of `items`. Integers may come as text (numeric, hugeint). Empty: read back only.
    #[serde(rename = "screen")]
    pub checksum_query: Statement,
    pub items: Vec<ChecksumItem>,
    /// All columns of the table in order, any row order. Empty: no read-back.
    #[serde(default)]
    pub read_back: Statement,
    /// The same, asked only where rows of equal identity are one and no sum says which of them is there. Empty: never.
    #[serde(default, skip_serializing_if = "Statement::is_empty")]
    pub read_back_collapsed: Statement,
    /// Asked until it gives no rows, before anything is read: what was acknowledged is then seen. Empty: it is at once.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unseen: String,
    /// The operation whose files are read back in place of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dump: Option<String>,
    /// Of those rows only the ones of these series, wherever they stand; without a checksum query. Absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesPart>,
}

/// Series `first .. first + count` of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesPart {
    pub first: u64,
    pub count: u64,
}

/// One figure that engine and generator compute independently. All sums are over non-null values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ChecksumItem {
    Rows {},
    /// count(column)
    NotNull {
        column: String,
    },
    /// Σ value, of an engine whose sums are exact; with a sign (`signed`), or of 64 bits without.
    Sum {
        column: String,
        signed: bool,
    },
    /// Σ (value & 0xffff_ffff), two's complement of the 64-bit pattern. This and the next one: of engines whose sums overflow.
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
    /// Number of rows where a truth value is true.
    CountTrue {
        column: String,
    },
    /// Σ of a hash of every value that engine and core compute alike; see [`ValueHash`].
    SumHash {
        column: String,
        hash: ValueHash,
        /// Blanks at the end do not count.
        #[serde(default)]
        trimmed: bool,
    },
    /// Σ of a hash of every whole row: values that changed places between rows show. Lists are read back only.
    SumRows {
        hash: ValueHash,
        /// In the order of their weights.
        columns: Vec<String>,
        /// Of these, those of 64 bits without a sign.
        #[serde(default)]
        unsigned: Vec<String>,
        /// Of these, those with blanks at the end that do not count.
        #[serde(default)]
        trimmed: Vec<String>,
    },
    /// Σ length in bytes of a text.
    SumLength {
        column: String,
    },
}

/// The engine that gives the hash function for a checksum; `rows` computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueHash {
    /// PostgreSQL's `hashtextextended` and `hashfloat8extended` with the seed of its partitions: signed, 64 bits.
    Postgresql,
    /// `CRC32` of MySQL and MariaDB: of a text's bytes, of a float as WKB of the point (value, 0).
    Crc32,
    /// `cityHash64` of ClickHouse's SQL; its sum wraps at 2^64.
    CityHash64,
    /// Inrush's own, for columns that are read back: no SQL computes it.
    ReadBack,
}
