//! An engine whose behaviour is known exactly, roles that work against it, and what was recorded of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_drive::drive::source::TableCount;
use inrush_drive::drive::{drive, DriveTarget, Driven, Observer, Progress};
use inrush_drive::record::{Hist, Kind, Recorded, RepetitionRow};
use inrush_engines::engine::{
    Answer, Canceller, Caps, Context, Done, Engine, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::{DriveSegment, RunPlan, Statement};
use inrush_rows::rows::{Columns, Value};

use crate::common;

pub const S: u64 = 1_000_000_000;
pub const MS: u64 = 1_000_000;
pub const EPOCH_MS: i64 = 1_000_000_000_000;

/// What the engine of the test does; times are run time.
#[derive(Default)]
pub struct Behaviour {
    /// Calls begun inside answer at its end, like a stopped server.
    pub frozen: Option<(Ns, Ns)>,
    /// Encoding begun inside ends at its end, like a stopped client.
    pub client_frozen: Option<(Ns, Ns)>,
    pub service_ns: u64,
    pub encode_ns: u64,
    /// The client takes so long to look at an answer.
    pub look_ns: u64,
    /// No answer is kept.
    pub forgets: bool,
    /// When encoding of each batch had ended.
    pub encoded: Mutex<Vec<Ns>>,
    /// What it says its sessions can hold; they hold one call.
    pub claims_depth: u32,
    /// Never answers until cancelled.
    pub hangs: bool,
    pub fails: bool,
    /// The client's own code breaks once so many rows are stored.
    pub panics_at: Option<u64>,
    /// Rows the engine holds.
    pub stored: AtomicU64,
    pub cancelled: Arc<AtomicBool>,
    /// First values of parameters seen.
    pub params: Mutex<Vec<Value>>,
    /// A row of series 3 can be seen so long after it was acknowledged.
    pub visible_after_ns: Option<Ns>,
    /// It shows also those that were asked to be left out.
    pub shows_again: bool,
    /// Of series 3: (visible from, data time in ms).
    pub visible: Mutex<Vec<(Ns, i64)>>,
}

pub struct Known {
    pub clock: Clock,
    pub behaviour: Arc<Behaviour>,
}

pub struct KnownSession {
    clock: Clock,
    behaviour: Arc<Behaviour>,
    ready: Vec<Done>,
    answer: Answer,
}

pub fn sleep_until(clock: Clock, until: Ns) {
    let now = clock.now();
    if until > now {
        std::thread::sleep(Duration::from_nanos(until - now));
    }
}

impl Engine for Known {
    fn caps(&self) -> Caps {
        Caps { max_depth: self.behaviour.claims_depth.max(1), ..Caps::default() }
    }

    fn open(&self, _: &[OpId]) -> Result<Box<dyn Session>, Error> {
        let answer = Answer { names: ["n".into()].into(), rows: vec![vec![Value::I64(0)]] };
        Ok(Box::new(KnownSession {
            clock: self.clock,
            behaviour: self.behaviour.clone(),
            ready: Vec::new(),
            answer,
        }))
    }

    fn control(&self, _: &str, _: u64) -> Result<Answer, Error> {
        Ok(Answer::default())
    }
}

impl KnownSession {
    /// Keeps when rows of series 3 can be seen, or answers with those that can be and were not yet.
    fn show_series(&mut self, work: &Work<'_>, after: Ns) {
        let now = self.clock.now();
        let mut visible = self.behaviour.visible.lock().unwrap();
        match work {
            Work::Rows { columns, .. } => visible.extend((0..columns.rows).filter_map(|row| {
                let Value::I64(k) = columns.columns[0].value(row) else { panic!("k is an i64") };
                (k % 10 == 3).then_some((now + after, EPOCH_MS + k / 10 * 1000))
            })),
            Work::Extract { .. } => unreachable!("it extracts nothing"),
            Work::Params(values) => {
                let Value::TimeMs(seen) = values[0] else { panic!("{values:?}") };
                let again = self.behaviour.shows_again;
                let new = visible.iter().filter(|(from, ms)| *from <= now && (again || *ms > seen));
                self.answer.rows = new.map(|(_, ms)| vec![Value::TimeMs(*ms)]).collect();
            }
        }
    }
}

impl Session for KnownSession {
    fn encode(&mut self, _: OpId, _: &Columns, _: &mut Payload) -> Result<(), Error> {
        if let Some((from, to)) = self.behaviour.client_frozen {
            if (from..to).contains(&self.clock.now()) {
                sleep_until(self.clock, to);
            }
        }
        sleep_until(self.clock, self.clock.now() + self.behaviour.encode_ns);
        self.behaviour.encoded.lock().unwrap().push(self.clock.now());
        Ok(())
    }

    fn submit(&mut self, ticket: Ticket, _: OpId, work: Work<'_>) -> Submit {
        if !self.ready.is_empty() {
            return Submit::Full;
        }
        let rows = match &work {
            Work::Rows { columns, .. } => columns.rows as u64,
            Work::Extract { .. } => unreachable!("it extracts nothing"),
            Work::Params(values) => {
                self.behaviour.params.lock().unwrap().extend(values.first().cloned());
                0
            }
        };
        if let Some((from, to)) = self.behaviour.frozen {
            if (from..to).contains(&self.clock.now()) {
                sleep_until(self.clock, to);
            }
        }
        if self.behaviour.service_ns > 0 {
            sleep_until(self.clock, self.clock.now() + self.behaviour.service_ns);
        }
        while self.behaviour.hangs && !self.behaviour.cancelled.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let outcome = if self.behaviour.fails || self.behaviour.hangs { Outcome::Other } else { Outcome::Ok };
        let stored = self.behaviour.stored.fetch_add(rows, SeqCst) + rows;
        let breaks = self.behaviour.panics_at.is_some_and(|at| rows > 0 && stored >= at);
        assert!(!breaks, "as the test asked");
        match self.behaviour.visible_after_ns {
            Some(after) => self.show_series(&work, after),
            None => self.answer.rows[0][0] = Value::I64(stored as i64),
        }
        self.ready.push(Done { ticket, done_ns: self.clock.now(), outcome, rows, bytes: rows * 8 });
        Submit::Queued
    }

    fn poll(&mut self, _: Ns, done: &mut Vec<Done>) {
        done.append(&mut self.ready);
    }

    fn answer(&mut self, _: Ticket) -> Option<&Answer> {
        sleep_until(self.clock, self.clock.now() + self.behaviour.look_ns);
        (!self.behaviour.forgets).then_some(&self.answer)
    }

    fn failure(&mut self, _: Ticket) -> Option<String> {
        Some("told to fail".into())
    }

    fn scan(&mut self, _: &Statement, _: &Columns, _: &mut dyn FnMut(&Columns)) -> Result<u64, Error> {
        Ok(0)
    }

    fn canceller(&self) -> Option<Canceller> {
        let flag = self.behaviour.cancelled.clone();
        Some(Box::new(move || flag.store(true, SeqCst)))
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

#[derive(Default)]
pub struct Notes {
    pub recorded: Recorded,
    pub progress: Vec<Progress>,
    /// Repetitions to allow.
    pub repetitions: u32,
    pub makespans: Vec<Ns>,
}

impl Observer for Notes {
    fn recorded(&mut self, recorded: Recorded) -> Result<(), Error> {
        common::keep(&mut self.recorded, recorded);
        Ok(())
    }

    fn progress(&mut self, progress: Progress) {
        self.progress.push(progress);
    }

    fn repeat(&mut self, repetition: u32, makespan_ns: Ns) -> Result<bool, Error> {
        self.makespans.push(makespan_ns);
        Ok(repetition + 1 < self.repetitions)
    }

    fn stuck(&mut self, role: &str) {
        panic!("{role} is stuck");
    }
}

impl Notes {
    pub fn hist(&self, role: &str, kind: Kind) -> Hist {
        common::hist(&self.recorded, role, kind)
    }

    pub fn totals(&self, role: &str) -> &RepetitionRow {
        common::totals(&self.recorded, role)
    }
}

pub const TABLE: &str = r#"{"name": "t", "stream": "t", "source": {"kind": "generated", "series": 10, "period_ns": 1000000000},
  "columns": [{"name": "k", "type": "i64", "wire": "int8", "gen": {"kind": "sequence", "start": 0, "step": 1}}]}"#;

pub const OPERATIONS: &str = r#"[
  {"name": "insert", "kind": "insert", "table": 0},
  {"name": "ask", "kind": "query", "params": [{"name": "now", "type": "time_ms", "gen": {"kind": "now_minus", "ns": 0}}]},
  {"name": "count", "kind": "query", "holds": [{"kind": "count_bounds", "table": 0}]},
  {"name": "fresh", "kind": "query", "holds": [{"kind": "freshness", "table": 0, "series": 3}],
   "params": [{"name": "seen", "type": "time_ms", "gen": {"kind": "seen_until"}}]},
  {"name": "other", "kind": "query"},
  {"name": "page", "kind": "together", "members": ["ask", "other"]},
  {"name": "judged", "kind": "together", "members": ["count", "other"]},
  {"name": "limited", "kind": "query", "deadline_ns": 100000000}
]"#;

pub fn run(roles: &str, limit_ns: u64, behaviour: Behaviour, notes: &mut Notes) -> (Driven, Arc<Behaviour>) {
    let (driven, behaviour) = try_run(roles, limit_ns, behaviour, notes);
    (driven.unwrap(), behaviour)
}

pub fn try_run(
    roles: &str,
    limit_ns: u64,
    behaviour: Behaviour,
    notes: &mut Notes,
) -> (Result<Driven, Error>, Arc<Behaviour>) {
    let context = plan_of(TABLE, roles, limit_ns, notes.repetitions);
    let inrush_rows::plan::Segment::Drive(segment) = context.plan.segments[0].clone() else {
        panic!("a drive")
    };
    let segment: DriveSegment = segment;
    let behaviour = Arc::new(behaviour);
    let engine = Known { clock: context.clock, behaviour: behaviour.clone() };
    let counts = [TableCount::default()];
    let drive_target = DriveTarget { context: &context, engine: &engine, segment: 0, counts: &counts };
    let driven = drive(&drive_target, &segment, notes);
    (driven, behaviour)
}

pub fn plan_of(tables: &str, roles: &str, limit_ns: u64, repetitions: u32) -> Context {
    let repeat = match repetitions {
        0 => "null".to_owned(),
        n => format!(r#"{{"at_least_ns": 0, "max": {n}, "fresh": [], "proofs": []}}"#),
    };
    let plan = format!(
        r#"{{"version": 1, "run_id": "r", "study": "s", "seed": 7, "epoch_ns": 1000000000000000000,
        "target": {{"engine": "test", "url": "test:"}}, "tables": [{tables}], "operations": {OPERATIONS},
        "segments": [{{"kind": "drive", "label": "d", "phase": "measure", "limit_ns": {limit_ns},
                       "repeat": {repeat}, "roles": [{roles}]}}],
        "record": {{"interval_ns": 200000000, "flush_ns": 1000000000}},
        "watch": {{"every_ns": 0, "processes": {{}}}}}}"#
    );
    let plan = RunPlan::from_json(&plan).unwrap();
    Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) }
}

pub fn role(name: &str, operation: &str, sessions: u32, schedule: &str, work: &str, until: &str) -> String {
    format!(
        r#"{{"name": "{name}", "operations": [{{"operation": "{operation}", "weight": 1}}], "sessions": {sessions},
        "depth": 1, "schedule": {schedule}, "work": {work}, "until": {until}}}"#
    )
}

pub const CLOSED: &str = r#"{"kind": "closed", "think_ns": 0}"#;
pub const THOUSAND_PER_S: &str = r#"{"kind": "constant", "rate_per_s": 1000.0}"#;
pub const ENDLESS: &str = r#"{"kind": "endless"}"#;

pub fn for_time(ns: u64) -> String {
    format!(r#"{{"kind": "time", "ns": {ns}}}"#)
}

pub fn rows(rows: u64, batch: u32) -> String {
    format!(r#"{{"kind": "rows", "table": 0, "first_row": 0, "rows": {rows}, "batch_rows": {batch}}}"#)
}
