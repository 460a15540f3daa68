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
mod rows;

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
use rows::change;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    Drop,
    Double,
    Swap,
    CutMs,
    NullToZero,
    RoundF32,
    Lose,
    Answer,
    Short,
    OtherKey,
    SwapAnswers,
    Swallow,
    Twice,
    Late,
    Refuse,
    Conflict,
    Overload,
    Cut,
    CutBefore,
    CutHalf,
    CutTwice,
    CutChanged,
    Forget,
    Undone,
    OtherVersion,
    Stale,
    AnswerDrop,
    AnswerDouble,
    AnswerSwap,
    AnswerTurn,
}

#[derive(Debug, Clone, Copy)]
struct Fault {
    lie: Lie,
    every: u64,
}

/// Faults with their names, and how rarely each strikes when the plan does not say.
const FAULTS: [(&str, Lie, u64); 30] = [
    ("drop", Lie::Drop, 1000),
    ("double", Lie::Double, 1000),
    ("swap", Lie::Swap, 1000),
    ("cut_ms", Lie::CutMs, 1),
    ("null_to_zero", Lie::NullToZero, 1),
    ("round_f32", Lie::RoundF32, 1),
    ("lose", Lie::Lose, 10),
    ("lie", Lie::Answer, 1),
    ("short", Lie::Short, 10),
    ("other_key", Lie::OtherKey, 10),
    ("swap_answers", Lie::SwapAnswers, 10),
    ("swallow", Lie::Swallow, 10),
    ("twice", Lie::Twice, 10),
    ("late", Lie::Late, 10),
    ("refuse", Lie::Refuse, 10),
    ("conflict", Lie::Conflict, 10),
    ("overload", Lie::Overload, 10),
    ("cut", Lie::Cut, 10),
    ("cut_before", Lie::CutBefore, 10),
    ("cut_half", Lie::CutHalf, 10),
    ("cut_twice", Lie::CutTwice, 10),
    ("cut_changed", Lie::CutChanged, 10),
    ("forget", Lie::Forget, 10),
    ("undone", Lie::Undone, 10),
    ("other_version", Lie::OtherVersion, 10),
    ("stale", Lie::Stale, 10),
    ("answer_drop", Lie::AnswerDrop, 1000),
    ("answer_double", Lie::AnswerDouble, 1000),
    ("answer_swap", Lie::AnswerSwap, 1000),
    ("answer_turn", Lie::AnswerTurn, 1000),
];

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

fn parse(text: &str) -> Result<Fault, Error> {
    let (name, every) = text.split_once(':').map_or((text, None), |(name, every)| (name, Some(every)));
    let known = FAULTS.iter().find(|(known, ..)| *known == name);
    let every = every.map_or(Some(None), |n| n.parse().ok().filter(|&n| n > 0).map(Some));
    match (known, every) {
        (Some((_, lie, usual)), Some(every)) => Ok(Fault { lie: *lie, every: every.unwrap_or(*usual) }),
        _ => {
            let names: Vec<&str> = FAULTS.iter().map(|(name, ..)| *name).collect();
            Err(Error::Plan(format!(
                "target.faults holds {text}; a fault is name or name:every, one of {names:?}"
            )))
        }
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

fn strikes(faults: &[Fault], lie: Lie, count: u64) -> bool {
    faults.iter().any(|fault| fault.lie == lie && count.is_multiple_of(fault.every))
}

#[cfg(test)]
mod tests {
    use super::calls::falsify;
    use super::rows::null_to_zero;
    use super::*;
    use inrush_rows::plan::LogicalType;
    use inrush_rows::rows::spelled::uuid_text;
    use inrush_rows::rows::{Column, ListValues, TextValues, Values};

    #[test]
    fn a_zero_is_a_value_of_the_columns_type() {
        let made = |ty| {
            let mut column = Column::new("c", ty);
            let (Values::Text(texts), there) = (&mut column.values, uuid_text([7; 16])) else {
                panic!("UUIDs travel as text")
            };
            texts.push(b"");
            texts.push(&there);
            column.present = vec![0, 1];
            null_to_zero(&mut column, 2);
            [column.value(0), column.value(1)]
        };
        let text = |text: &str| Value::Text(text.into());
        let there = text("07070707-0707-0707-0707-070707070707");
        let zero = text("00000000-0000-0000-0000-000000000000");
        assert_eq!(made(LogicalType::Uuid), [zero, there.clone()]);
        assert_eq!(made(LogicalType::Text), [text(""), there]);
    }

    fn faults(texts: &[&str]) -> Vec<Fault> {
        texts.iter().map(|text| parse(text).unwrap()).collect()
    }

    /// id 0…n, a time with milliseconds, a nullable float finer than f32, a text, a list.
    fn rows(n: usize) -> Columns {
        let mut id = Column::new("id", LogicalType::I64);
        let mut at = Column::new("at", LogicalType::TimeMs);
        let mut load = Column::new("load", LogicalType::F64);
        let mut host = Column::new("host", LogicalType::Text);
        let mut past = Column::new("past", LogicalType::ListF64);
        id.values = Values::I64((0..n as i64).collect());
        at.values = Values::I64((0..n as i64).map(|k| k * 1000 + 7).collect());
        load.values = Values::F64((0..n).map(|k| if k % 2 == 0 { 0.0 } else { 0.1 + k as f64 }).collect());
        load.present = (0..n).map(|k| (k % 2) as u8).collect();
        let (mut texts, mut lists) = (TextValues::default(), Vec::new());
        let mut ends = Vec::new();
        for k in 0..n {
            texts.push(format!("host-{k}").as_bytes());
            lists.extend((0..k % 3).map(|x| x as f64 + 0.1));
            ends.push(lists.len() as u32);
        }
        host.values = Values::Text(texts);
        past.values = Values::List(ListValues { ends, items: Box::new(Values::F64(lists)), present: vec![] });
        Columns::new(n, vec![id, at, load, host, past])
    }

    fn table(columns: &Columns) -> Vec<Vec<Value>> {
        (0..columns.rows).map(|row| columns.columns.iter().map(|c| c.value(row)).collect()).collect()
    }

    #[test]
    fn without_faults_the_rows_are_what_they_were() {
        assert_eq!(table(&change(&rows(10), &[], 0)), table(&rows(10)));
    }

    #[test]
    fn a_row_in_every_four_is_dropped_or_doubled_across_batches() {
        let whole = table(&rows(10));
        let dropped = table(&change(&rows(10), &faults(&["drop:4"]), 2));
        assert_eq!(dropped, [&whole[..1], &whole[2..5], &whole[6..9]].concat());
        let doubled = table(&change(&rows(3), &faults(&["double:4"]), 3));
        assert_eq!(doubled, [&whole[..1], &whole[..3]].concat());
    }

    #[test]
    fn a_swap_moves_one_value_between_two_rows_and_keeps_every_sum() {
        let (before, after) = (table(&rows(6)), table(&change(&rows(6), &faults(&["swap:3"]), 0)));
        let changed: Vec<(usize, usize)> = (0..6)
            .flat_map(|r| (0..5).map(move |c| (r, c)))
            .filter(|&(r, c)| before[r][c] != after[r][c])
            .collect();
        assert_eq!(changed, [(2, 4), (3, 4), (4, 4), (5, 4)]);
        assert_eq!((&before[2][4], &before[3][4]), (&after[3][4], &after[2][4]));
    }

    #[test]
    fn systematic_faults_strike_every_value_they_can() {
        let cut = change(&rows(3), &faults(&["cut_ms"]), 0);
        assert_eq!(cut.columns[1].value(2), Value::TimeMs(2000));
        let filled = change(&rows(3), &faults(&["null_to_zero"]), 0);
        assert_eq!(filled.columns[2].value(0), Value::F64(0.0));
        let rounded = change(&rows(3), &faults(&["round_f32"]), 0);
        assert_eq!(rounded.columns[2].value(1), Value::F64(1.1f32 as f64));
        assert_eq!(rounded.columns[4].value(1), Value::ListF64(vec![0.1f32 as f64]));
    }

    #[test]
    fn a_false_answer_differs_even_when_the_true_one_is_empty() {
        let mut answer = Answer { names: ["n".into()].into(), rows: vec![] };
        falsify(&mut answer);
        assert_eq!(answer.rows.len(), 1);
        falsify(&mut answer);
        assert_eq!(answer.rows, [[Value::I64(1)]]);
    }

    #[test]
    fn an_unknown_fault_is_refused_with_the_names_of_all() {
        assert!(parse("drop:0").is_err());
        assert!(parse("explode").unwrap_err().to_string().contains("null_to_zero"));
    }
}
