//! An engine that lies, for tests: what it claims to have stored or found is not what is there.
//!
//! A fault is `name` or `name:every`. `drop`, `double`, `swap` strike one row in `every` (1000), `lose` one batch
//! in `every` (10), `lie` one answer in `every` (1); `cut_ms`, `null_to_zero`, `round_f32` strike every value.
//! One answer in `every` (10) is without its last row (`short`), has a row of another key (`other_key`) or is that of
//! another call (`swap_answers`); one call in `every` (10) is never ended (`swallow`), ended twice (`twice`), or ended
//! some seconds late (`late`), refused (`refuse`), in conflict with another (`conflict`) or too much for the server
//! (`overload`). Equal plans lie in equal places.
//!
//! Of one batch in `every` (10) of all sessions the connection is lost before its answer: it was stored (`cut`), not
//! stored (`cut_before`), stored by half (`cut_half`), stored twice (`cut_twice`), or with a value that is another
//! (`cut_changed`).
//!
//! Of calls by key that add, change or delete a row one in `every` (10) is acknowledged and not done (`forget`), is not done
//! and says that it has changed no row (`undone`), or makes the version of another call (`other_version`); one answer in
//! `every` (10) is the first one of its key (`stale`).
//!
//! Of rows that are handed over as they come one in `every` (1000) is missing (`answer_drop`), comes twice
//! (`answer_double`), has a value of another (`answer_swap`), or comes before the one that is before it (`answer_turn`).

mod calls;
mod cuts;
mod extracts;
mod lies;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use super::{
    Answer, Canceller, Caps, Context, Done, Engine, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use inrush_rows::error::Error;
use inrush_rows::plan::{GenPlan, OpPlan, RowCall, RunPlan, Statement};
use inrush_rows::rows::{Columns, Value};

use calls::Calls;
use cuts::{cut_short, CUTS};
use extracts::Lying;
use lies::{parse, strikes, Fault, Lie};
use rows::change;

pub struct Faulty {
    inner: Arc<dyn Engine>,
    ctx: Context,
    faults: Vec<Fault>,
    /// Batches of all sessions: a session whose connection was lost is another one afterwards.
    batches: Arc<AtomicU64>,
}

impl Faulty {
    pub fn new(inner: Arc<dyn Engine>, ctx: &Context) -> Result<Faulty, Error> {
        let faults = ctx.plan.target.faults.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
        Ok(Faulty { inner, ctx: ctx.clone(), faults, batches: Arc::default() })
    }
}

impl Engine for Faulty {
    fn caps(&self) -> Caps {
        self.inner.caps()
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(FaultySession {
            inner: self.inner.open(ops)?,
            ctx: self.ctx.clone(),
            faults: self.faults.clone(),
            rows_seen: self.ctx.plan.seed,
            batches_seen: self.ctx.plan.seed,
            changes_seen: self.ctx.plan.seed,
            calls: Calls::new(self.ctx.plan.seed),
            payload: Payload::default(),
            claimed: HashMap::new(),
            lost: Vec::new(),
            batches: self.batches.clone(),
            cut: Vec::new(),
        }))
    }

    fn answers(&self, op: OpId) -> bool {
        self.inner.answers(op)
    }

    fn extracts(&self) -> bool {
        self.inner.extracts()
    }

    /// Proofs and probes see the truth.
    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        self.inner.control(text, limit_ns)
    }

    fn ask(&self, statement: &Statement, limit_ns: u64) -> Result<Answer, Error> {
        self.inner.ask(statement, limit_ns)
    }

    fn ask_sums(&self, statement: &Statement, limit_ns: u64) -> Result<Answer, Error> {
        self.inner.ask_sums(statement, limit_ns)
    }

    fn shards(&self) -> &[Arc<dyn Engine>] {
        self.inner.shards()
    }
}

struct FaultySession {
    inner: Box<dyn Session>,
    ctx: Context,
    faults: Vec<Fault>,
    /// Counted from the seed, so that the seed says where the lies begin.
    rows_seen: u64,
    batches_seen: u64,
    changes_seen: u64,
    calls: Calls,
    payload: Payload,
    /// Rows that a call in flight will claim to have stored.
    claimed: HashMap<Ticket, u64>,
    lost: Vec<Done>,
    batches: Arc<AtomicU64>,
    /// Batches whose answer is lost with the connection.
    cut: Vec<Ticket>,
}

impl Session for FaultySession {
    fn encode(&mut self, op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        self.inner.encode(op, rows, out)
    }

    /// Rows are changed here and not in `encode`, because the caller may encode ahead.
    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        let (columns, bytes) = match work {
            Work::Params(values) => {
                let mut values = self.calls.params(&self.faults, ticket, op, values);
                if self.ctx.op(op).does.is_some_and(|does| does != RowCall::Read) {
                    self.changes_seen += 1;
                    let lies = [(Lie::Forget, 1), (Lie::Undone, 0)];
                    let struck = |(lie, _): &(Lie, u64)| self.strikes(*lie, self.changes_seen);
                    if let Some((_, rows)) = lies.into_iter().find(struck) {
                        let done_ns = self.ctx.clock.now();
                        self.lost.push(Done { ticket, done_ns, outcome: Outcome::Ok, rows, bytes: 0 });
                        return Submit::Queued;
                    }
                    if self.strikes(Lie::OtherVersion, self.changes_seen) {
                        other_version(&self.ctx.plan, self.ctx.op(op), &mut values);
                    }
                }
                return self.inner.submit(ticket, op, Work::Params(&values));
            }
            Work::Extract { params, sink } => {
                let mut lying = Lying::new(&self.faults, self.rows_seen, sink);
                let submitted = self.inner.submit(ticket, op, Work::Extract { params, sink: &mut lying });
                self.rows_seen += lying.seen();
                self.claimed.insert(ticket, lying.claims());
                return submitted;
            }
            Work::Rows { columns, payload } => (columns, payload.bytes.len() as u64),
        };
        let claimed = columns.rows as u64;
        self.batches_seen += 1;
        if self.strikes(Lie::Lose, self.batches_seen) {
            let done_ns = self.ctx.clock.now();
            self.lost.push(Done { ticket, done_ns, outcome: Outcome::Ok, rows: claimed, bytes });
            return Submit::Queued;
        }
        let cut = self.next_cut();
        self.cut.extend(cut.map(|_| ticket));
        if cut == Some(Lie::CutBefore) {
            let done_ns = self.ctx.clock.now();
            self.lost.push(Done { ticket, done_ns, outcome: Outcome::Lost, rows: 0, bytes });
            return Submit::Queued;
        }
        let mut changed = change(columns, &self.faults, self.rows_seen);
        if let Some(how) = cut {
            changed = cut_short(&changed, how);
        }
        if let Err(error) = self.inner.encode(op, &changed, &mut self.payload) {
            panic!("rows that were encoded before are encoded again: {error}");
        }
        let submitted =
            self.inner.submit(ticket, op, Work::Rows { columns: &changed, payload: &self.payload });
        if matches!(submitted, Submit::Queued) {
            self.rows_seen += claimed;
            self.claimed.insert(ticket, claimed);
        }
        submitted
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        if !self.lost.is_empty() {
            done.append(&mut self.lost);
            return;
        }
        let now = self.ctx.clock.now();
        let mut came = Vec::new();
        self.inner.poll(self.calls.until(until), &mut came);
        for one in &mut came {
            if self.cut.contains(&one.ticket) {
                one.outcome = Outcome::Lost;
            }
            if let (Some(rows), Outcome::Ok) = (self.claimed.remove(&one.ticket), one.outcome) {
                one.rows = rows;
            }
        }
        self.calls.end(&self.faults, now, &came, done);
    }

    fn keep_answers(&mut self) {
        self.inner.keep_answers();
    }

    fn answer(&mut self, ticket: Ticket) -> Option<&Answer> {
        let inner = &mut self.inner;
        self.calls.answer(&self.faults, ticket, |ticket| inner.answer(ticket).cloned())
    }

    fn failure(&mut self, ticket: Ticket) -> Option<String> {
        match self.cut.contains(&ticket) {
            true => {
                Some(format!("the connection was lost before the answer to call {ticket}, as the plan asks"))
            }
            false => self.calls.failure(ticket).or_else(|| self.inner.failure(ticket)),
        }
    }

    fn scan(
        &mut self,
        statement: &Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        self.inner.scan(statement, like, each)
    }

    fn canceller(&self) -> Option<Canceller> {
        self.inner.canceller()
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        self.inner.close()
    }
}

impl FaultySession {
    fn strikes(&self, lie: Lie, count: u64) -> bool {
        strikes(&self.faults, lie, count)
    }

    /// How this batch loses its connection, if it does.
    fn next_cut(&self) -> Option<Lie> {
        let batch = self.batches.fetch_add(1, Relaxed) + 1;
        CUTS.into_iter().find(|&lie| self.strikes(lie, batch))
    }
}

/// The version that the call after this one makes.
fn other_version(plan: &RunPlan, op: &OpPlan, values: &mut [Value]) {
    let Some(table) = op.table.and_then(|table| plan.tables.get(table)) else { return };
    let version = table.columns.iter().find(|column| column.gen == Some(GenPlan::Version {}));
    let at = version.and_then(|version| op.params.iter().position(|param| param.name == version.name));
    match at.map(|at| &mut values[at]) {
        Some(Value::I64(version)) => *version += 1,
        Some(Value::U64(version)) => *version += 1,
        _ => {}
    }
}
