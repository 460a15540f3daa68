//! An engine with known service times: what the instrument measures on it has a right answer.
//!
//! As an engine it serves in real time (sessions sleep until their operation is done). The tests of truth
//! run the same servers in simulated time, through the same schedule and record code, so that a
//! million operations take a moment and no noise.

mod kept;
mod look_up;
mod servers;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub use servers::{Distribution, Options, Servers};

use crate::engine::{
    answers::Answers, Answer, Canceller, Caps, Context, Done, Engine, Ns, OpId, Outcome, Payload, Session,
    Submit, Ticket, Work,
};
use crate::pace::{Pacer, Spin, Wake};
use inrush_rows::clock::thread_cpu_ns;
use inrush_rows::error::Error;
use inrush_rows::plan::Statement;
use inrush_rows::rows::changes::Changes;
use inrush_rows::rows::{Columns, Value};

use kept::{Kept, RowChange};
use look_up::LookUp;

/// Operations of one session that the servers have at once.
pub const MAX_DEPTH: u32 = 1024;

pub struct Simulated {
    context: Context,
    options: Options,
    /// The one lock of all sessions is inside the "server", where a real one has its own.
    servers: Arc<Mutex<Servers>>,
    /// Rows that were stored, by table.
    stored: Arc<[AtomicU64]>,
    /// What calls by key have made of them, by table.
    kept: Arc<[Kept]>,
}

impl Simulated {
    pub fn new(context: &Context) -> Result<Simulated, Error> {
        let options = Options::parse(&context.plan.target.options)?;
        let servers = Servers::new(options.clone(), context.plan.seed);
        let stored = context.plan.tables.iter().map(|_| AtomicU64::new(0)).collect();
        let servers = Arc::new(Mutex::new(servers));
        let kept = context.plan.tables.iter().map(|_| Kept::default()).collect();
        Ok(Simulated { context: context.clone(), options, servers, stored, kept })
    }
}

impl Engine for Simulated {
    fn caps(&self) -> Caps {
        Caps { max_depth: MAX_DEPTH, tells_changes: true, ..Caps::default() }
    }

    /// It keeps no rows, but knows those that a key names: they are generated.
    fn answers(&self, op: OpId) -> bool {
        LookUp::is_one(self.context.op(op)) || RowChange::is_one(self.context.op(op))
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        let mut look_ups: Vec<Option<LookUp>> = self.context.plan.operations.iter().map(|_| None).collect();
        let mut changes: Vec<Option<RowChange>> = self.context.plan.operations.iter().map(|_| None).collect();
        let plan = &self.context.plan;
        for (&op, of) in ops.iter().map(|op| (op, self.context.op(*op))) {
            if LookUp::is_one(of) {
                look_ups[op] = Some(LookUp::new(plan, of)?);
            } else if let (true, Some(table)) = (RowChange::is_one(of), of.table) {
                let rows = Changes::of(plan, table).map_err(Error::Plan)?.map_or(0, |changes| changes.rows);
                changes[op] = Some(RowChange::new(plan, of, rows)?);
            }
        }
        Ok(Box::new(SimulatedSession {
            context: self.context.clone(),
            burn_ns_per_row: self.options.burn_ns_per_row,
            servers: Arc::clone(&self.servers),
            stored: Arc::clone(&self.stored),
            look_ups,
            changes,
            kept: Arc::clone(&self.kept),
            answers: Answers::default(),
            pacer: None,
            cancelled: Arc::new(AtomicBool::new(false)),
            at_work: Vec::with_capacity(MAX_DEPTH as usize),
        }))
    }

    fn control(&self, _text: &str, _limit_ns: u64) -> Result<Answer, Error> {
        Ok(Answer::default())
    }
}

struct SimulatedSession {
    context: Context,
    burn_ns_per_row: u64,
    servers: Arc<Mutex<Servers>>,
    stored: Arc<[AtomicU64]>,
    /// By operation.
    look_ups: Vec<Option<LookUp>>,
    changes: Vec<Option<RowChange>>,
    kept: Arc<[Kept]>,
    answers: Answers,
    /// Made by the first `poll`, on the session's own thread.
    pacer: Option<Pacer>,
    /// Ends what is at work.
    cancelled: Arc<AtomicBool>,
    /// `done_ns` is when the servers will be done; with the answer of a look-up.
    at_work: Vec<(Done, Option<Answer>)>,
}

impl Session for SimulatedSession {
    fn encode(&mut self, _op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        out.bytes.clear();
        out.rows = rows.rows as u64;
        Ok(())
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        if self.at_work.len() == MAX_DEPTH as usize {
            return Submit::Full;
        }
        let (rows, answer) = match &work {
            Work::Rows { columns, .. } => (columns.rows as u64, None),
            Work::Params(params) => {
                let changed = self.change(op, params);
                self.look_up(op, params)
                    .map_or((changed, None), |found| (found.rows.len() as u64, Some(found)))
            }
            Work::Extract { .. } => unreachable!("the driver has asked `extracts`"),
        };
        if let Work::Rows { .. } = &work {
            burn(rows * self.burn_ns_per_row);
        }
        if let (Work::Rows { .. }, Some(table)) = (&work, self.context.op(op).table) {
            self.stored[table].fetch_add(rows, Ordering::Relaxed);
        }
        let arrival_ns = self.context.clock.now();
        let mut servers = self.servers.lock().expect("no session panics while it holds the servers");
        let done_ns = servers.serve(arrival_ns, ticket);
        let outcome = if servers.fails(ticket) { Outcome::Other } else { Outcome::Ok };
        self.at_work.push((Done { ticket, done_ns, outcome, rows, bytes: 0 }, answer));
        Submit::Queued
    }

    /// Sleeps until the next operation is done. It is done when this session sees it, as with a real
    /// engine: a late wake-up is service time here too.
    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        let Some(next_ns) = self.at_work.iter().map(|(work, _)| work.done_ns).min() else { return };
        let clock = self.context.clock;
        let cancelled = &self.cancelled;
        let pacer = self.pacer.get_or_insert_with(|| Pacer::new(clock, Arc::clone(cancelled), Spin::Never));
        let cut = pacer.wait_until(next_ns.min(until)) == Wake::Stopped;
        let now_ns = clock.now();
        let answers = &mut self.answers;
        self.at_work.retain_mut(|(work, answer)| {
            let ended = work.done_ns <= now_ns;
            if ended {
                done.push(Done { done_ns: now_ns, ..*work });
                answer.take().into_iter().for_each(|answer| answers.keep(work.ticket, answer));
            } else if cut {
                done.push(Done { done_ns: now_ns, outcome: Outcome::Timeout, rows: 0, ..*work });
            }
            !ended && !cut
        });
        if cut {
            self.cancelled.store(false, Ordering::Relaxed);
        }
        self.answers.hand_over();
    }

    fn answer(&mut self, ticket: Ticket) -> Option<&Answer> {
        self.answers.of(ticket)
    }

    fn canceller(&self) -> Option<Canceller> {
        let cancelled = Arc::clone(&self.cancelled);
        Some(Box::new(move || cancelled.store(true, Ordering::Relaxed)))
    }

    fn failure(&mut self, _ticket: Ticket) -> Option<String> {
        Some("this operation was to fail (fail_ppm)".to_owned())
    }

    fn scan(
        &mut self,
        _statement: &Statement,
        _like: &Columns,
        _each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        Err(Error::Plan("simulated keeps no rows to read back; plan no proofs for it".to_owned()))
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

impl SimulatedSession {
    fn look_up(&mut self, op: OpId, params: &[Value]) -> Option<Answer> {
        let look_up = self.look_ups[op].as_mut()?;
        let table = look_up.table;
        Some(look_up.answer(params, self.stored[table].load(Ordering::Relaxed), &self.kept[table]))
    }

    fn change(&mut self, op: OpId, params: &[Value]) -> u64 {
        let Some(change) = self.changes[op].as_mut() else { return 0 };
        let table = change.table;
        change.change(params, &self.kept[table], self.stored[table].load(Ordering::Relaxed))
    }
}

/// Uses `ns` of the calling thread's CPU time.
fn burn(ns: u64) {
    if ns == 0 {
        return;
    }
    let until_ns = thread_cpu_ns() + ns;
    while thread_cpu_ns() < until_ns {
        for _ in 0..100 {
            std::hint::spin_loop();
        }
    }
}
