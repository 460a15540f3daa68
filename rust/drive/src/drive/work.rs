//! What the sessions of a role share, and what each of them has of its operations.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use crate::drive::assertion::{Asked, Broken, Check, Floors};
use crate::drive::freshness::Freshness;
use crate::drive::input::Loaded;
use crate::drive::role_queue::RoleQueue;
use crate::drive::source::{Source, TableCount};
use crate::drive::taken::Taken;
use inrush_engines::engine::{Answer, Engine, Ns, OpId, Outcome, Ticket};
use inrush_engines::mix::{Mix, Params};
use inrush_engines::pace::Pacer;
use inrush_rows::clock::Clock;
use inrush_rows::plan::RowCall;
use inrush_rows::rows::Value;

/// A waiting session looks this often whether its role has ended.
const LOOK_EVERY_NS: u64 = 50_000_000;

/// What all sessions of a role share.
pub struct RoleWork<'a> {
    pub queue: &'a RoleQueue,
    pub queues: &'a [RoleQueue],
    pub mix: Mix,
    pub counts: &'a [TableCount],
    pub batch: Option<Batch>,
    pub engine: &'a dyn Engine,
    pub clock: Clock,
    pub name: &'a str,
    /// Calls that a session has in flight.
    pub depth: usize,
    /// How long a session tries to come back after its connection was lost.
    pub retry_ns: u64,
    /// Its phase enters figures. Of an insert without an answer the proof then finds out whether its rows are there; in
    /// every other phase the table must become what the plan says.
    pub is_measured: bool,
    /// Each call has a connection of its own.
    pub connects: bool,
    /// Files that its sessions have loaded. Touched once per session and repetition, never between calls.
    pub loaded: Mutex<Vec<Loaded>>,
    /// Set when the segment ends early.
    pub halt: Arc<AtomicBool>,
}

impl RoleWork<'_> {
    /// Whatever is left of the role's work: it is not to be begun any more.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.halt.load(Relaxed) || self.queue.left_alone_since(self.queues).is_some()
    }

    /// False when the role ended while waiting. `tick` sees the time now and then.
    pub fn wait(&self, pacer: &Pacer, until: Ns, tick: impl FnMut(Ns)) -> bool {
        self.wait_unless(pacer, until, || self.is_stopped(), tick)
    }

    pub fn wait_unless(
        &self,
        pacer: &Pacer,
        until: Ns,
        mut is_over: impl FnMut() -> bool,
        mut tick: impl FnMut(Ns),
    ) -> bool {
        loop {
            let now = self.clock.now();
            if now >= until {
                return true;
            }
            if is_over() {
                return false;
            }
            pacer.wait_until(until.min(now + LOOK_EVERY_NS));
            tick(now);
        }
    }
}

/// Rows to insert, batch after batch.
pub struct Batch {
    pub source: Source,
    pub table: usize,
    pub first_row: u64,
    pub rows: u64,
    pub batch_rows: u32,
}

impl Batch {
    /// First row and rows of a batch: as many as every other but the last, or those of its file.
    pub fn range(&self, ticket: Ticket) -> (u64, usize) {
        if let Source::Whole(files) = &self.source {
            return files.range(ticket);
        }
        let offset = ticket * self.batch_rows as u64;
        (self.first_row + offset, (self.batch_rows as u64).min(self.rows - offset) as usize)
    }

    /// Of a batch that is a file.
    pub fn file_bytes(&self, ticket: Ticket) -> Option<u64> {
        match &self.source {
            Source::Whole(files) => Some(files.bytes(ticket)),
            _ => None,
        }
    }

    /// Runs of neighbouring keys of such a batch; 0: not known.
    pub fn file_runs(&self, ticket: Ticket) -> u32 {
        match &self.source {
            Source::Whole(files) => files.runs(ticket),
            _ => 0,
        }
    }

    /// The row that batch `ticket` begins with; behind the last batch, the end.
    pub fn first_row_from(&self, ticket: Ticket) -> u64 {
        match &self.source {
            Source::Whole(files) => files.first_row(ticket),
            _ => {
                let offset = ticket.saturating_mul(u64::from(self.batch_rows)).min(self.rows);
                self.first_row.saturating_add(offset)
            }
        }
    }
}

/// Per operation of the role.
pub struct OpWork {
    pub op: OpId,
    /// Place in the recorder.
    pub slot: usize,
    pub params: Params,
    pub values: Vec<Value>,
    pub checks: Vec<Check>,
    /// Parameters of the call that is judged, made again.
    pub asked: Vec<Value>,
    /// Its answers are looked at, and so there must be one.
    pub is_judged: bool,
    pub deadline_ns: u64,
    pub freshness: Option<Freshness>,
    /// Its rows are looked at as they come, or written.
    pub extract: Option<Box<Taken>>,
    /// The engine is no instrument: an answer that is not there is wrong.
    pub is_answered: bool,
    pub is_insert: bool,
    /// Its calls by key add rows, change or delete them: how, and of which table.
    pub alters: Option<(RowCall, usize)>,
    /// The engine's `Caps::tells_changes`.
    pub tells_changes: bool,
    /// The engine's `Caps::reads_late`.
    pub reads_late: bool,
}

impl OpWork {
    /// What the promises need to know before the call is sent.
    #[inline]
    pub fn floors(&self, counts: &[TableCount]) -> Floors {
        let mut floors = Floors::default();
        for (floor, check) in floors.iter_mut().zip(&self.checks) {
            *floor = if self.reads_late { check.settled(counts) } else { check.floor(counts) };
        }
        floors
    }

    /// Which promise the answer to a call breaks. An answer that is not there breaks all of them.
    ///
    /// ticket, data_ns: of the call, as they were given to `Params::fill`; sent: when it was.
    pub fn broken(
        &mut self,
        ticket: Ticket,
        data_ns: Ns,
        sent: Ns,
        floors: &Floors,
        answer: Option<&Answer>,
        counts: &[TableCount],
    ) -> Option<Broken> {
        let Some(answer) = answer else {
            let why = "there is no answer to check: the session kept none for this call".to_owned();
            return self.is_judged.then_some((Outcome::Wrong, why));
        };
        if self.checks.is_empty() {
            return None;
        }
        self.params.fill(ticket, data_ns, &mut self.asked);
        let of = Asked { params: &self.asked, sent, counts };
        let promised = self.checks.iter_mut().zip(floors);
        // Of several, what is wrong with rows that came says more than which did not.
        promised
            .filter_map(|(check, &floor)| check.broken(answer, floor, &of))
            .min_by_key(|(outcome, _)| *outcome)
    }
}
