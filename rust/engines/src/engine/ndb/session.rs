//! One session: an `Ndb` object, the memory of its calls in flight, and what has come back of them.

mod batch;
mod open;
mod operation;
mod slots;

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

use super::address::Address;
use super::connection::Opened;
use super::failure::{outcome, NO_SUCH_ROW};
use super::library::{does, Ended, Failure};
use crate::engine::failures::Failures;
use crate::engine::shared::ReadBack;
use crate::engine::socket::add_sent;
use crate::engine::{
    Answer, Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use batch::Batch;
use inrush_rows::encode::record::Record;
use inrush_rows::encode::{Part, PART_ROWS};
use inrush_rows::error::Error;
use inrush_rows::plan::{NdbAction, RowCall, Statement};
use inrush_rows::rows::{Columns, Value};
use operation::Operation;
use slots::{Call, Slots};

/// Tags of rows of a batch; those of calls are numbers of slots.
const OF_BATCH: u64 = 1 << 63;
/// A lost cluster has answered by then: NDB ends what is in flight by itself.
const END_MS: c_int = 1_000;
const ENDS: usize = 5;
/// What memory of a row holds before it is read: an image that nothing was written to is none of a row.
const UNREAD: u8 = 0xa5;

pub struct NdbSession {
    ctx: Context,
    address: Arc<Address>,
    opened: Opened,
    /// Of the tables that it reaches: all are in one.
    database: String,
    /// By operation; `None` for those that this session does not use.
    ops: Vec<Option<Operation>>,
    slots: Slots,
    depth: usize,
    /// Calls and rows of batches: prepared and not sent, sent and not ended.
    prepared: usize,
    in_flight: usize,
    /// Bytes that had left when a send was counted last.
    sent_bytes: u64,
    finished: Vec<Done>,
    /// Slots of calls that have ended, in the order of `finished`.
    ended: Vec<(Ticket, u32)>,
    /// Those that the last `poll` handed over; they are free with the next one.
    handed_over: Vec<(Ticket, u32)>,
    /// The next one that is asked for.
    next: usize,
    failures: Failures,
    keep_answers: bool,
    /// A node was lost: nothing more is sent.
    broken: bool,
    /// Calls that were given up while they were in flight: only the end of the session waits for them.
    abandoned: usize,
    cancelled: Arc<AtomicBool>,
}

impl NdbSession {
    /// Prepares a call in a slot of its own. An error: it has ended so.
    fn prepare(&mut self, ticket: Ticket, op: OpId, params: &[Value]) -> Result<(), (Outcome, String)> {
        let Some(operation) = &self.ops[op] else {
            return Err((Outcome::Other, "the session has not opened it".into()));
        };
        let slot = self.slots.free.pop().expect("there are twice as many as calls in flight");
        let (keys, read, absent) = self.slots.of(slot);
        absent.fill(0);
        if let Err(why) = operation.bind(params, keys) {
            self.slots.free.push(slot);
            return Err((Outcome::Other, why));
        }
        if operation.does == RowCall::Read {
            read[..operation.rows * operation.record.bytes as usize].fill(UNREAD);
        }
        let (options, mut why) = (&self.address.options, Failure::none());
        // SAFETY: the slot's memory is not touched until its tag has come back, and outlives the session.
        let end = unsafe {
            (self.opened.connection.shim.prepare)(
                self.opened.handle,
                operation.access,
                does(operation.does),
                options.lock,
                options.hint.into(),
                keys.as_ptr(),
                read.as_mut_ptr(),
                absent.as_mut_ptr(),
                operation.rows as c_int,
                slot.into(),
                &mut why,
            )
        };
        if end != 0 {
            self.slots.free.push(slot);
            return Err((outcome(why.code, why.classification), why.message()));
        }
        self.slots.calls[slot as usize] = Call { ticket, op };
        self.prepared += 1;
        Ok(())
    }

    fn fail(&mut self, ticket: Ticket, how: Outcome, why: String) {
        self.failures.note(ticket, why);
        self.finish(ticket, how, 0, 0);
    }

    #[inline]
    fn finish(&mut self, ticket: Ticket, outcome: Outcome, rows: u64, bytes: u64) {
        let done_ns = self.ctx.clock.now();
        self.finished.push(Done { ticket, done_ns, outcome, rows, bytes });
    }

    fn send(&mut self) {
        if self.prepared == 0 {
            return;
        }
        let shim = self.opened.connection.shim;
        // SAFETY: the session is open.
        let (sends, bytes) = unsafe {
            let sends = (shim.send)(self.opened.handle, self.address.options.send);
            (sends, (shim.sent_bytes)(self.opened.handle))
        };
        add_sent(sends.unsigned_abs().into(), bytes.saturating_sub(self.sent_bytes));
        self.sent_bytes = bytes;
        self.in_flight += std::mem::take(&mut self.prepared);
    }

    /// Takes what has ended within so many ms, or one of them; how many it was. Rows of a batch are noted in `batch`.
    fn take(&mut self, wait_ms: c_int, at_least: usize, batch: &mut Batch) -> usize {
        let mut ended: *const Ended = std::ptr::null();
        // SAFETY: the session is open; the list is the library's until the next call.
        let ended = unsafe {
            let shim = self.opened.connection.shim;
            let count = (shim.poll)(self.opened.handle, wait_ms, at_least as c_int, &mut ended);
            match count {
                1.. => std::slice::from_raw_parts(ended, count as usize),
                _ => &[],
            }
        };
        self.in_flight -= ended.len();
        let done_ns = self.ctx.clock.now();
        for one in ended {
            if one.tag & OF_BATCH != 0 {
                batch.note(one);
            } else {
                self.end(one, done_ns);
            }
        }
        ended.len()
    }

    fn end(&mut self, one: &Ended, done_ns: Ns) {
        let slot = one.tag as u32;
        let Call { ticket, op } = self.slots.calls[slot as usize];
        let operation = self.ops[op].as_ref().expect("it was prepared");
        let (how, rows) = match one.code {
            0 => (Outcome::Ok, (operation.rows - usize::from(one.absent)) as u64),
            // As a statement that changes no row: whether there was one to change is the driver's to say.
            NO_SUCH_ROW if operation.changes_one() => (Outcome::Ok, 0),
            code => (outcome(code, one.classification), 0),
        };
        let bytes = rows * operation.value_bytes;
        self.finished.push(Done { ticket, done_ns, outcome: how, rows, bytes });
        self.ended.push((ticket, slot));
        if how != Outcome::Ok {
            let said = self.opened.connection.shim.said(self.opened.handle, one.code);
            let why = match one.code {
                NO_SUCH_ROW => format!("there is no such row: {said}"),
                _ => said,
            };
            self.failures.note(ticket, why);
            self.broken |= how == Outcome::Lost;
        }
    }

    /// Everything in flight is given up, as the node that had it is gone or the watchdog wants it.
    fn give_up(&mut self, why: &str) {
        self.broken = true;
        let open: Vec<Ticket> = self.open_calls();
        for ticket in open {
            self.fail(ticket, Outcome::Lost, why.to_owned());
        }
        self.abandoned += std::mem::take(&mut self.in_flight);
    }

    /// Tickets of calls that have not ended: off the usual path.
    fn open_calls(&self) -> Vec<Ticket> {
        let mut is_open = vec![true; self.slots.calls.len()];
        let ended = self.handed_over.iter().chain(&self.ended).map(|(_, slot)| slot);
        self.slots.free.iter().chain(ended).for_each(|&slot| is_open[slot as usize] = false);
        let calls = self.slots.calls.iter().zip(is_open);
        calls.filter(|(_, is_open)| *is_open).map(|(call, _)| call.ticket).collect()
    }

    /// Waits until nothing is in flight; false where it did not end.
    fn drain(&mut self) -> bool {
        self.send();
        self.in_flight += std::mem::take(&mut self.abandoned);
        for _ in 0..ENDS {
            while self.in_flight > 0 && self.take(END_MS, 1, &mut Batch::default()) > 0 {}
        }
        self.in_flight == 0
    }
}

impl Session for NdbSession {
    fn part_rows(&self, op: OpId) -> Option<usize> {
        self.ops[op].as_ref().filter(|of| of.images.is_some()).map(|_| PART_ROWS)
    }

    fn encode_part(&mut self, op: OpId, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        let name = &self.ctx.plan.operations[op].name;
        let images = self.ops[op].as_mut().and_then(|of| of.images.as_mut());
        let images = images.ok_or_else(|| Error::Plan(format!("operation {name} takes no rows")))?;
        out.encode_part(images, rows, part)
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        if self.prepared + self.in_flight >= self.depth {
            return Submit::Full;
        }
        if self.broken {
            self.fail(ticket, Outcome::Lost, "the cluster was lost before".into());
            return Submit::Queued;
        }
        let refused = match work {
            Work::Params(params) => self.prepare(ticket, op, params).err(),
            Work::Rows { payload, .. } => {
                self.store(ticket, op, payload);
                None
            }
            Work::Extract { .. } => Some((Outcome::Other, "ndb extracts no rows".to_owned())),
        };
        if let Some((how, why)) = refused {
            self.broken |= how == Outcome::Lost;
            self.fail(ticket, how, why);
        }
        Submit::Queued
    }

    fn flush(&mut self) {
        self.send();
    }

    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        self.slots.free.extend(self.handed_over.drain(..).map(|(_, slot)| slot));
        self.next = 0;
        self.send();
        let mut batch = Batch::default();
        while self.in_flight > 0 {
            if self.cancelled.swap(false, Relaxed) {
                self.give_up("it was ended at its time limit");
                break;
            }
            let ready = !self.finished.is_empty();
            let left_ms = until.saturating_sub(self.ctx.clock.now()).div_ceil(1_000_000);
            let wait_ms = if ready { 0 } else { left_ms.min(u64::from(self.address.options.poll_ms)) };
            if self.take(wait_ms as c_int, 1, &mut batch) > 0 || ready || left_ms == 0 {
                break;
            }
        }
        done.append(&mut self.finished);
        self.handed_over.append(&mut self.ended);
        self.failures.hand_over();
    }

    fn keep_answers(&mut self) {
        self.keep_answers = true;
    }

    fn answer(&mut self, ticket: Ticket) -> Option<&Answer> {
        let is_its = |&(of, _): &(Ticket, u32)| of == ticket;
        let at = match self.handed_over.get(self.next) {
            Some(next) if is_its(next) => self.next,
            _ => self.handed_over.iter().position(is_its)?,
        };
        self.next = at + 1;
        let slot = self.handed_over[at].1;
        let operation = self.ops[self.slots.calls[slot as usize].op].as_mut()?;
        if operation.does != RowCall::Read || !(operation.keeps || self.keep_answers) {
            return None;
        }
        let (_, read, absent) = self.slots.of(slot);
        Some(operation.answer(read, absent))
    }

    fn failure(&mut self, ticket: Ticket) -> Option<String> {
        self.failures.of(ticket)
    }

    fn scan(
        &mut self,
        statement: &Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        let action = statement.directives.as_ref().and_then(|directives| directives.ndb.as_deref());
        let Some(NdbAction::Scan { table }) = action else {
            return Err(Error::Plan(format!("ndb reads a table by its name, not by {:?}", statement.text)));
        };
        let planned = self.ctx.plan.tables.iter().find(|planned| planned.name == *table);
        let planned = planned.ok_or_else(|| Error::Plan(format!("{table} is no table of this plan")))?;
        let (database, name) = self.address.parts(table);
        if database != self.database {
            return Err(Error::Plan(format!("the session reaches tables of {}, not {table}", self.database)));
        }
        let mut record = Record::of(planned)?;
        let failed = |why: super::connection::Refused| Error::Statement {
            target: self.address.to_string(),
            statement: statement.text.clone(),
            message: why.message,
        };
        let fields: Vec<usize> = (0..record.fields.len()).collect();
        let access = self.opened.access(name, &mut record, &fields).map_err(failed)?;
        let mut read = ReadBack::new(like, each);
        let scanned = self.opened.scan(access, record.bytes as usize, |image| {
            record.append(image, &mut read.batch);
            read.added();
        });
        scanned.map_err(failed)?;
        Ok(read.end())
    }

    fn canceller(&self) -> Option<Canceller> {
        let cancelled = self.cancelled.clone();
        Some(Box::new(move || cancelled.store(true, Relaxed)))
    }

    fn close(mut self: Box<Self>) -> Result<(), Error> {
        match self.drain() && self.finished.iter().all(|done| done.outcome == Outcome::Ok) {
            true => Ok(()),
            false => {
                let why = self.failures.any().unwrap_or("calls in flight did not end").to_owned();
                Err(self.opened.connection.lost(&why))
            }
        }
    }
}

impl Drop for NdbSession {
    fn drop(&mut self) {
        if !self.drain() {
            // What is in flight may still be written to: its memory stays, and the `Ndb` object with it.
            std::mem::forget(std::mem::take(&mut self.slots.memory));
            std::mem::forget(std::mem::take(&mut self.slots.absent));
            self.opened.leak();
        }
    }
}
