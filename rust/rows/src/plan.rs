//! The border in: one run, fully spelled out, as JSON. Written by `python/inrush/plan`, read here.
//!
//! `python/tests/golden/plan.json` and `border.json` are read by tests on both sides. Times are integer
//! nanoseconds; shares are parts per million, so that equal plans have equal text.

mod directives;
mod dump;
mod generator;
mod input;
mod io;
mod operation;
mod record;
mod segment;
mod statement;
mod table;
mod written;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Error;
pub use crate::types::LogicalType;

pub use directives::{Directives, Pick, Tag};
pub use dump::{DumpPlan, DUMPED};
pub use generator::{AtLimit, ChunkPart, CounterPlan, GenPlan, Increment, Per, DEFAULT_BITS};
pub use input::{InputPlan, InputWay, SortBy, SortPlan};
pub use io::{FileAction, IoKind, IoOrder, IoPlan, IO_BLOCK};
pub use operation::{
    Assertion, KeyLaw, KeyPlan, OpKind, OpPlan, ParamGen, ParamPlan, RangeLength, RangePlan,
};
pub use record::{NdbAction, NdbColumn, RecordCall, RowCall};
pub use segment::{
    ChecksumItem, CollectPlan, DriveSegment, Phase, ProbePlan, ProofPlan, Refill, RepeatPlan, RolePlan,
    SamplePlan, Schedule, Segment, SeriesPart, StatementSegment, Until, ValueHash, Weighted, Work,
};
pub use statement::{Repeat, Statement};
pub use table::{
    ChunkProfile, ChunksPlan, ColumnPlan, EventsPlan, Limits, NotFinite, OrderPlan, PinnedPlan, RatesPlan,
    RowSource, Spelling, TablePlan, TimeForm,
};
pub use written::WrittenAs;

/// A plan of any other version is refused. `python/inrush/border/plan.py` has the same number.
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
    /// Where several processes make the run together; absent: this one makes all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<SharePlan>,
    /// Carried for the report; the core does not read it.
    #[serde(default)]
    pub labels: BTreeMap<String, serde_json::Value>,
}

impl RunPlan {
    /// A plan without operations, for what is asked of a target outside a run.
    pub fn of_target(target: Target, tables: Vec<TablePlan>) -> RunPlan {
        RunPlan {
            version: PLAN_VERSION,
            run_id: String::new(),
            study: String::new(),
            seed: 0,
            epoch_ns: 0,
            target,
            tables,
            operations: Vec::new(),
            segments: Vec::new(),
            record: RecordPlan { interval_ns: 1_000_000_000, flush_ns: 1_000_000_000 },
            watch: WatchPlan {
                every_ns: 0,
                processes: Default::default(),
                data_dir: String::new(),
                folders: BTreeMap::new(),
                threads: BTreeMap::new(),
                machine: false,
            },
            share: None,
            labels: Default::default(),
        }
    }
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
    /// Servers of the same kind that share the rows of every table; `url` is their coordinator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shards {
    /// In the order of their numbers.
    pub urls: Vec<String>,
    /// Sessions go straight to the shards. By table: the columns that place its rows, each with its type in the database.
    /// Empty: sessions are at the coordinator, which places rows itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Vec<(String, String)>>,
}

/// What one of several processes does of a run. Each drives the measured segments with all sessions of its own; the first
/// one does everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharePlan {
    /// 0 is the first process.
    pub index: u32,
    pub of: u32,
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
    /// Role -> ids of processes that are watched with their children. The client itself is always role `client`.
    pub processes: BTreeMap<String, Vec<i32>>,
    /// Directory on the device that is watched; empty: none.
    #[serde(default)]
    pub data_dir: String,
    /// Role -> directory: the device below it is also watched as the role's own.
    #[serde(default)]
    pub folders: BTreeMap<String, String>,
    /// Thread of a watched process -> what it is, where the kernel knows it by the program's name alone. A number as text:
    /// a plan inside of another document is read with keys that are text.
    #[serde(default)]
    pub threads: BTreeMap<String, String>,
    /// Of a process that shares a run and is not the first one: it watches the machine as the first one does its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub machine: bool,
}

impl RunPlan {
    pub fn from_json(text: &str) -> Result<RunPlan, Error> {
        let plan: RunPlan = serde_json::from_str(text).map_err(|e| Error::Plan(e.to_string()))?;
        if plan.version != PLAN_VERSION {
            return Err(Error::Plan(format!(
                "version {} was written by another inrush; this one reads version {PLAN_VERSION}: start a new run",
                plan.version
            )));
        }
        Ok(plan)
    }

    /// Of a table: where the rows end that roles of this plan write in batches, role by role.
    pub fn written_rows(&self, table: usize) -> impl Iterator<Item = u64> + '_ {
        let drives = self.segments.iter().filter_map(|segment| match segment {
            Segment::Drive(drive) => Some(drive),
            _ => None,
        });
        drives.flat_map(|drive| &drive.roles).filter_map(move |role| match role.work {
            Work::Rows { table: of, first_row, rows, .. } if of == table => {
                Some(first_row.saturating_add(rows))
            }
            _ => None,
        })
    }
}
