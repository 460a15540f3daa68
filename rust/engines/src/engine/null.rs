//! The engine that does nothing: the floor of the instrument.
//!
//! `null` takes rows as they are; `null:<wire>` encodes them as an engine with that wire does and
//! throws the bytes away. An operation is done when it is submitted. On `null:record` a call by key
//! (`directives.record`) is written into images of its rows, as for NDB's client library, and goes nowhere.

use crate::engine::failures::Failures;
use crate::engine::record_call::{bind, placed, unset};
use crate::engine::{
    Answer, Caps, Context, Done, Engine, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use inrush_rows::clock::Clock;
use inrush_rows::encode::record::Record;
use inrush_rows::encode::{encoder, Encoder, Part, PART_ROWS};
use inrush_rows::error::Error;
use inrush_rows::plan::Statement;
use inrush_rows::rows::{Columns, Value};

/// Operations a session holds between `submit` and `poll`.
pub const MAX_DEPTH: u32 = 4096;

/// The wire on which calls by key are encoded too.
const RECORD: &str = "record";

pub struct Null {
    context: Context,
    /// Of `null:<wire>`.
    wire: Option<String>,
}

impl Null {
    /// Fails for a wire that no encoder writes.
    pub fn new(context: &Context) -> Result<Null, Error> {
        let wire = context.plan.target.engine.strip_prefix("null:").map(str::to_owned);
        if let Some(wire) = &wire {
            if !inrush_rows::encode::WIRES.contains(&wire.as_str()) {
                return Err(Error::Plan(format!(
                    "target.engine is `null:{wire}`; wires are {}",
                    inrush_rows::encode::WIRES.join(", ")
                )));
            }
        }
        Ok(Null { context: context.clone(), wire })
    }

    /// The encoder of an operation's table; none for `null` itself and for queries.
    fn encoder(&self, op: OpId) -> Result<Option<Box<dyn Encoder>>, Error> {
        match (&self.wire, self.context.op(op).table) {
            (Some(wire), Some(table)) => encoder(wire, &self.context.plan.tables[table]).map(Some),
            _ => Ok(None),
        }
    }
}

/// A call by key, as it is written.
struct Call {
    record: Record,
    /// By parameter: its field, and the row that it is a value of; `None`: of all rows.
    places: Vec<(usize, Option<usize>)>,
    rows: usize,
    images: Vec<u8>,
}

impl Call {
    /// None for an operation that is no record. Its table is encoded as one.
    fn of(context: &Context, op: OpId) -> Result<Option<Call>, Error> {
        let plan = context.op(op);
        let call = plan.directives.as_ref().and_then(|directives| directives.record.as_deref());
        let table = plan.table.and_then(|at| context.plan.tables.get(at));
        let (Some(call), Some(table)) = (call, table) else { return Ok(None) };
        let refuse = |why: String| Error::Plan(format!("operation {}: {why}", plan.name));
        let record = Record::of(table)?;
        let (places, rows) = placed(&record, &call.columns).map_err(&refuse)?;
        if let Some(key) = unset(table, &record, &places) {
            return Err(refuse(format!("`record` sets no {key}, which is a column of the key")));
        }
        let images = vec![0; rows * record.bytes as usize];
        Ok(Some(Call { record, places, rows, images }))
    }

    #[inline]
    fn write(&mut self, params: &[Value]) -> Result<u64, String> {
        bind(&self.record, &self.places, self.rows, params, &mut self.images)?;
        // Written bytes that nothing reads would be left out.
        std::hint::black_box(&self.images);
        Ok(self.images.len() as u64)
    }
}

impl Engine for Null {
    fn caps(&self) -> Caps {
        Caps { max_depth: MAX_DEPTH, ..Caps::default() }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        let mut encoders: Vec<_> = self.context.plan.operations.iter().map(|_| None).collect();
        let mut calls: Vec<_> = self.context.plan.operations.iter().map(|_| None).collect();
        for op in ops {
            if self.wire.as_deref() == Some(RECORD) {
                calls[*op] = Call::of(&self.context, *op)?;
            }
            // A record has no batch.
            if calls[*op].is_none() {
                encoders[*op] = self.encoder(*op)?;
            }
        }
        let ready = Vec::with_capacity(MAX_DEPTH as usize);
        let failures = Failures::default();
        Ok(Box::new(NullSession { clock: self.context.clock, encoders, calls, ready, failures }))
    }

    fn answers(&self, _op: OpId) -> bool {
        false
    }

    /// Nothing comes, and nothing is looked at.
    fn extracts(&self) -> bool {
        true
    }

    fn control(&self, _text: &str, _limit_ns: u64) -> Result<Answer, Error> {
        Ok(Answer::default())
    }
}

struct NullSession {
    clock: Clock,
    /// By operation.
    encoders: Vec<Option<Box<dyn Encoder>>>,
    /// By operation, of those that are records.
    calls: Vec<Option<Call>>,
    ready: Vec<Done>,
    failures: Failures,
}

impl Session for NullSession {
    fn encode(&mut self, op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        match &mut self.encoders[op] {
            Some(encoder) => out.encode_part(encoder.as_mut(), rows, Part::WHOLE),
            None => {
                out.bytes.clear();
                out.rows = rows.rows as u64;
                Ok(())
            }
        }
    }

    fn part_rows(&self, op: OpId) -> Option<usize> {
        self.encoders[op].as_ref().map(|_| PART_ROWS)
    }

    fn encode_part(&mut self, op: OpId, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        let encoder = self.encoders[op].as_mut().expect("`part_rows` has seen it");
        out.encode_part(encoder.as_mut(), rows, part)
    }

    #[inline]
    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        if self.ready.len() == MAX_DEPTH as usize {
            return Submit::Full;
        }
        let mut outcome = Outcome::Ok;
        let (rows, bytes) = match (work, &mut self.calls[op]) {
            (Work::Rows { payload, .. }, _) => (payload.rows, payload.bytes.len() as u64),
            (Work::Params(params), Some(call)) => match call.write(params) {
                Ok(bytes) => (0, bytes),
                Err(why) => {
                    self.failures.note(ticket, why);
                    outcome = Outcome::Other;
                    (0, 0)
                }
            },
            (Work::Params(_) | Work::Extract { .. }, _) => (0, 0),
        };
        self.ready.push(Done { ticket, done_ns: self.clock.now(), outcome, rows, bytes });
        Submit::Queued
    }

    #[inline]
    fn poll(&mut self, _until: Ns, done: &mut Vec<Done>) {
        // One by one: there is mostly one, and to move it as a block takes a call.
        for ended in &self.ready {
            done.push(*ended);
        }
        self.ready.clear();
        self.failures.hand_over();
    }

    fn failure(&mut self, ticket: Ticket) -> Option<String> {
        self.failures.of(ticket)
    }

    fn scan(
        &mut self,
        _statement: &Statement,
        _like: &Columns,
        _each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        Err(Error::Plan("null keeps no rows to read back; plan no proofs for it".to_owned()))
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}
