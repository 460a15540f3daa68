//! The wire half of an engine. Its twin in `python/inrush/engines/` knows the dialect and the life.
//!
//! An engine knows a protocol and nothing else: no clock policy, no schedule, no SQL of its own.

pub mod abort;
mod adbc;
pub mod address;
mod answers;
pub mod arrow;
mod clickhouse;
pub mod control;
#[cfg(test)]
mod conversation;
mod device;
mod duckdb;
pub mod extract;
mod failures;
mod faulty;
mod http;
mod inbox;
mod influxdb;
mod known;
mod messages;
mod mysql;
#[cfg(feature = "ndb")]
mod ndb;
mod null;
mod postgresql;
mod questdb;
mod record_call;
mod resp;
pub mod secrets;
mod sharded;
pub mod shared;
pub mod simulated;
pub mod socket;
mod sqlite;
pub mod statement;
mod stream;
pub mod tls;
mod url;
mod valkey;
pub mod whole_file;

use std::os::fd::RawFd;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use inrush_rows::clock::Clock;
use inrush_rows::encode::{Encoder, Part};
use inrush_rows::error::Error;
use inrush_rows::plan::{OpPlan, RunPlan, Statement};
use inrush_rows::rows::{Columns, Value};

use extract::Sink;

pub use known::{build, max_depth, names};

/// Nanoseconds since the run's [`Clock`] was started.
pub type Ns = u64;
/// Index into `RunPlan::operations`.
pub type OpId = usize;
/// Index of an operation in its role's arrival queue.
pub type Ticket = u64;

/// Calls of one session of NDB in flight: known also where it was not built.
const NDB_DEPTH: u32 = 1024;

/// What the driver and the proofs must know of an engine; all else is a field of its twin.
#[derive(Debug, Clone, Default)]
pub struct Caps {
    /// Calls that a session can have in flight; twin of `Twin.max_depth` ([`max_depth`]).
    pub max_depth: u32,
    /// A batch is stored whole or not at all, also where its connection is lost before the answer.
    pub inserts_whole: bool,
    /// Rows with equal identity overwrite each other (InfluxDB).
    pub identity_collapses: bool,
    /// A reader may see a row while its values are still being written, with NULL for those that are missing (InfluxDB).
    pub reads_torn: bool,
    /// `Done::rows` of a call that changes rows is how many it has changed: 0 where it found none.
    pub tells_changes: bool,
    /// A row that was acknowledged may not be seen yet: queries find it soon after (QuestDB).
    pub reads_late: bool,
}

/// How an operation ended. Only `Ok` has a latency in any figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Outcome {
    Ok,
    /// Answered, and the answer breaks a promise of the plan.
    Wrong,
    /// Answered without a row that must be there.
    Missing,
    Refused,
    Auth,
    /// The statement names a table, column, function or database that is not there.
    Undefined,
    /// Deadlock or serialisation failure.
    Conflict,
    Timeout,
    TooLarge,
    /// The server has too much to do, or its log is full: nothing was done, and the same call may go through later.
    Overloaded,
    /// Connection lost.
    Lost,
    Other,
}

impl Outcome {
    pub const ALL: [Outcome; 12] = [
        Outcome::Ok,
        Outcome::Wrong,
        Outcome::Missing,
        Outcome::Refused,
        Outcome::Auth,
        Outcome::Undefined,
        Outcome::Conflict,
        Outcome::Timeout,
        Outcome::TooLarge,
        Outcome::Overloaded,
        Outcome::Lost,
        Outcome::Other,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Wrong => "wrong",
            Outcome::Missing => "missing",
            Outcome::Refused => "refused",
            Outcome::Auth => "auth",
            Outcome::Undefined => "undefined",
            Outcome::Conflict => "conflict",
            Outcome::Timeout => "timeout",
            Outcome::TooLarge => "too_large",
            Outcome::Overloaded => "overloaded",
            Outcome::Lost => "lost",
            Outcome::Other => "other",
        }
    }
}

/// A finished operation, as the session saw it.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    pub ticket: Ticket,
    pub done_ns: Ns,
    pub outcome: Outcome,
    /// Rows stored, or rows of the answer.
    pub rows: u64,
    /// Bytes sent for an insert, received for a query; 0 where the wire does not report.
    pub bytes: u64,
}

/// Encoded rows of one operation; reused, grows only while warming up.
#[derive(Default)]
pub struct Payload {
    pub bytes: Vec<u8>,
    pub rows: u64,
    /// What a wire that is not bytes needs (an Arrow batch for ADBC).
    pub parcel: Option<Box<dyn std::any::Any + Send>>,
}

impl Payload {
    /// A part of a batch, behind those that came before it.
    pub fn encode_part(
        &mut self,
        encoder: &mut dyn Encoder,
        rows: &Columns,
        part: Part,
    ) -> Result<(), Error> {
        if part.is_first {
            self.bytes.clear();
            self.rows = 0;
        }
        self.rows += rows.rows as u64;
        encoder.encode_part(rows, part, &mut self.bytes)
    }
}

pub enum Work<'a> {
    Rows {
        columns: &'a Columns,
        payload: &'a Payload,
    },
    Params(&'a [Value]),
    /// Of kind `extract`: the call ends in `submit`, and the sink has seen all rows then.
    Extract {
        params: &'a [Value],
        sink: &'a mut dyn Sink,
    },
}

pub enum Submit {
    Queued,
    /// As many calls are in flight as the engine takes: this one was not sent. A plan with a depth that the
    /// engine cannot hold is refused, so that this ends the run.
    Full,
}

/// One target of one plan, shared by its sessions.
pub trait Engine: Send + Sync {
    fn caps(&self) -> Caps;
    /// Connects, prepares `ops` (others are not used by this session), allocates everything.
    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error>;
    /// Whether its sessions can give back the answers of `op`; false of instruments, of which no promise is checked.
    fn answers(&self, _op: OpId) -> bool {
        true
    }
    /// Whether its sessions take [`Work::Extract`].
    fn extracts(&self) -> bool {
        false
    }
    /// DDL, proofs, probes: text of the plan. One result set, or none.
    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error>;
    /// The same of a statement with what its language cannot say. Its `repeat` is the caller's ([`statement::perform`]).
    fn ask(&self, statement: &Statement, limit_ns: u64) -> Result<Answer, Error> {
        self.control(&statement.text, limit_ns)
    }
    /// The same of a query for numbers by name, which several servers that are one engine have together.
    fn ask_sums(&self, statement: &Statement, limit_ns: u64) -> Result<Answer, Error> {
        self.ask(statement, limit_ns)
    }
    /// Those that have the rows among them; empty: it has them itself.
    fn shards(&self) -> &[Arc<dyn Engine>] {
        &[]
    }
}

/// One connection, owned by one thread. Allocates nothing that grows after `open`.
pub trait Session: Send {
    /// CPU only: `null:<wire>` runs the same code. An engine has this or `encode_part`, and the other follows from it.
    fn encode(&mut self, op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        self.encode_part(op, rows, Part::WHOLE, out)
    }
    /// Rows at a time in which batches of `op` are best made and encoded; `None`: only whole ones, with columns that
    /// `submit` then sees.
    fn part_rows(&self, _op: OpId) -> Option<usize> {
        None
    }
    /// As `encode`, of a part of a batch; asked for only where `part_rows` says so. `submit` sees the last part's columns.
    fn encode_part(&mut self, op: OpId, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        assert!(part == Part::WHOLE, "this engine takes whole batches");
        self.encode(op, rows, out)
    }
    /// Whether a batch of `op` can leave part by part while it is made (`send_part`).
    fn sends_parts(&self, _op: OpId) -> bool {
        false
    }
    /// Sends the rows in `payload`, the parts encoded so far of the batch of this call, and empties its bytes; `submit` then
    /// sends what is encoded behind them and ends the batch. Asked for only where `sends_parts` says so, with nothing
    /// else in flight. False: the server wants no more of it. `submit` is not called, and `poll` reports how the call ended.
    fn send_part(&mut self, _ticket: Ticket, _op: OpId, _payload: &mut Payload) -> bool {
        unreachable!("this engine takes whole batches")
    }
    /// Blocking engines complete inside and hand the result to the next `poll`.
    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit;
    /// Sends what `submit` has queued (the Sync of a pipeline).
    fn flush(&mut self) {}
    /// Appends what has finished, every call once and under its own ticket; blocks until `until` at most, and not at
    /// all if something is ready.
    fn poll(&mut self, until: Ns, done: &mut Vec<Done>);
    /// What answers come by, where a session has nothing of them between two polls that the socket does not have: then one
    /// thread can wait for several sessions.
    fn socket(&mut self) -> Option<RawFd> {
        None
    }
    /// Keeps every answer from now on, not only those of operations with `holds` (for the oracle).
    fn keep_answers(&mut self) {}
    /// Rows of a query that the last `poll` handed over, where its operation has `holds` or after `keep_answers`;
    /// valid until the next `poll`.
    fn answer(&mut self, _ticket: Ticket) -> Option<&Answer> {
        None
    }
    /// Why a call that the last `poll` handed over has failed, for the table `failures`; valid until the next `poll`.
    fn failure(&mut self, _ticket: Ticket) -> Option<String> {
        None
    }
    /// All rows of a query, handed over in column batches: the read-back proof.
    fn scan(
        &mut self,
        statement: &Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error>;
    /// A statement without answer on this session's own connection: BEGIN, a ledger line, COMMIT. Only where
    /// the twin is `transactional`; nothing may be in flight.
    fn execute(&mut self, text: &str) -> Result<(), Error> {
        Err(Error::Plan(format!("this engine has no transactions over several statements: {text}")))
    }
    /// For the watchdog; `None`: the worker process is ended instead.
    fn canceller(&self) -> Option<Canceller> {
        None
    }
    /// Everything acknowledged, or an error.
    fn close(self: Box<Self>) -> Result<(), Error>;
}

/// Ends the running statement of a session from another thread.
pub type Canceller = Box<dyn Fn() + Send + Sync>;

/// A result set: names and rows. The names of a statement's answers are made once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub names: Arc<[String]>,
    pub rows: Vec<Vec<Value>>,
}

/// What every engine is made from.
#[derive(Clone)]
pub struct Context {
    pub plan: Arc<RunPlan>,
    pub clock: Clock,
    /// Set when the run is asked to stop.
    pub stop: Arc<AtomicBool>,
}

impl Context {
    pub fn op(&self, op: OpId) -> &OpPlan {
        &self.plan.operations[op]
    }
}
