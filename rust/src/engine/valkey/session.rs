//! One session: what it has sent, and what has come back of it.

mod prepare;

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::template::{Seen, Template};
use crate::encode::resp::unpack;
use crate::encode::{Part, PART_ROWS};
use crate::engine::failures::Failures;
use crate::engine::resp::{garbled, outcome, put_command, Address, Connection, Kind, Reply};
use crate::engine::shared::{clear, depth, empty_like, lost, send_limit};
use crate::engine::{
    answers::Answers, Answer, Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket,
    Work,
};
use crate::error::Error;
use crate::rows::{Columns, Value};

use prepare::{prepare, Prepared};

/// Rows of a scan that are handed over at once.
const SCAN_ROWS: usize = 8192;
/// Keys of a scan that are asked for at once.
const SCAN_KEYS: usize = 512;

pub struct ValkeySession {
    ctx: Context,
    address: Arc<Address>,
    connection: Connection,
    /// By operation; `None` for those that this session does not use.
    ops: Vec<Option<Prepared>>,
    /// Most operations in flight, from the roles of the plan.
    depth: usize,
    /// Bound and not yet sent.
    outbox: Vec<u8>,
    seen: Seen,
    /// In flight; replies come in this order.
    sent: VecDeque<Sent>,
    /// Tokens that the reply which is being read still has.
    left: u64,
    finished: Vec<Done>,
    keep_answers: bool,
    answers: Answers,
    failures: Failures,
    broken: bool,
    /// Set by the canceller: the connection that is lost next was ended by us.
    cancelled: Arc<AtomicBool>,
    /// The present connection's, for the canceller.
    present: Arc<Mutex<Option<Arc<TcpStream>>>>,
}

/// An operation on its way.
struct Sent {
    ticket: Ticket,
    op: OpId,
    /// That have not come yet.
    replies: u64,
    /// Rows stored or received, bytes sent or received.
    rows: u64,
    bytes: u64,
    /// So far, where it is kept.
    answer: Option<Answer>,
    /// The first refusal.
    refused: Option<Outcome>,
}

impl ValkeySession {
    pub fn open(ctx: &Context, address: &Arc<Address>, ops: &[OpId]) -> Result<ValkeySession, Error> {
        ValkeySession::over(ctx, address, Connection::open(address)?, ops)
    }

    /// On a connection that has just been made.
    pub(super) fn over(
        ctx: &Context,
        address: &Arc<Address>,
        mut connection: Connection,
        ops: &[OpId],
    ) -> Result<ValkeySession, Error> {
        connection.limit_sends(send_limit(ctx, ops)).map_err(|e| lost(&address.to_string(), &e))?;
        let present = Arc::new(Mutex::new(connection.socket()));
        let mut prepared: Vec<Option<Prepared>> = ctx.plan.operations.iter().map(|_| None).collect();
        for &op in ops {
            prepared[op] = Some(prepare(ctx, ctx.op(op))?);
        }
        Ok(ValkeySession {
            ctx: ctx.clone(),
            address: address.clone(),
            connection,
            ops: prepared,
            depth: depth(ctx, ops),
            outbox: Vec::with_capacity(4096),
            seen: Seen::default(),
            sent: VecDeque::with_capacity(64),
            left: 0,
            finished: Vec::with_capacity(64),
            keep_answers: false,
            answers: Answers::default(),
            failures: Failures::default(),
            broken: false,
            cancelled: Arc::new(AtomicBool::new(false)),
            present,
        })
    }

    fn fail(&mut self, ticket: Ticket, outcome: Outcome, message: String) {
        self.failures.note(ticket, message);
        self.finished.push(Done { ticket, done_ns: self.ctx.clock.now(), outcome, rows: 0, bytes: 0 });
    }

    /// The connection is gone: everything in flight is lost, or was cancelled with it.
    fn break_off(&mut self, error: &io::Error) {
        self.broken = true;
        self.outbox.clear();
        self.left = 0;
        let done_ns = self.ctx.clock.now();
        let outcome = if self.cancelled.load(Relaxed) { Outcome::Timeout } else { Outcome::Lost };
        for Sent { ticket, rows, bytes, .. } in self.sent.drain(..) {
            self.failures.note(ticket, format!("the connection was lost: {error}"));
            self.finished.push(Done { ticket, done_ns, outcome, rows, bytes });
        }
    }

    /// After a cancellation, which ends the connection, the next call begins another one.
    fn connect_again(&mut self) {
        if !self.broken || !self.cancelled.load(Relaxed) {
            return;
        }
        let Ok(mut connection) = Connection::open(&self.address) else { return };
        let ops: Vec<OpId> = (0..self.ops.len()).filter(|&op| self.ops[op].is_some()).collect();
        if connection.limit_sends(send_limit(&self.ctx, &ops)).is_ok() {
            *self.present.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = connection.socket();
            self.connection = connection;
            self.broken = false;
            self.cancelled.store(false, Relaxed);
        }
    }

    /// Reads one token and does what it means for the operation in front.
    fn read_one(&mut self) -> io::Result<()> {
        let token = self.connection.token(None)?;
        let Some(sent) = self.sent.front_mut() else { return Err(garbled("a reply came unasked")) };
        let Some(prepared) = &mut self.ops[sent.op] else { return Err(garbled("a reply came unasked")) };
        self.left = self.left.max(1) - 1;
        match (token.kind, prepared) {
            (Kind::Error, _) => {
                let message = String::from_utf8_lossy(token.bytes);
                if sent.refused.is_none() {
                    sent.refused = Some(outcome(&message));
                    self.failures.note(sent.ticket, message.into_owned());
                }
            }
            // The number of new fields: 0 where the row has taken the place of one of equal identity.
            (Kind::Integer(_), Prepared::Insert(_)) => {}
            (_, Prepared::Insert(_)) => return Err(garbled("a row was answered with no number")),
            (Kind::Array(count), Prepared::Query(_)) => self.left = self.left.saturating_add(count as u64),
            (Kind::Map(count), Prepared::Query(_)) => self.left = self.left.saturating_add(2 * count as u64),
            (Kind::Null, Prepared::Query(_)) => {}
            (kind @ (Kind::Text | Kind::Lines | Kind::Integer(_)), Prepared::Query(query)) => {
                sent.rows += 1;
                sent.bytes += token.bytes.len() as u64;
                if self.keep_answers || query.keep_answer {
                    let row = match kind {
                        Kind::Integer(v) => vec![Value::I64(v)],
                        _ => {
                            query.values(token.bytes).ok_or_else(|| garbled("a row could not be unpacked"))?
                        }
                    };
                    sent.answer.get_or_insert_with(|| query.answer()).rows.push(row);
                }
            }
        }
        if self.left == 0 {
            sent.replies -= 1;
            if sent.replies == 0 {
                self.finish();
            }
        }
        Ok(())
    }

    /// The operation in front has all its replies.
    fn finish(&mut self) {
        let Some(sent) = self.sent.pop_front() else { return };
        let done_ns = self.ctx.clock.now();
        let Sent { ticket, op, mut rows, bytes, answer, refused, .. } = sent;
        if let (None, Some(Prepared::Query(query))) = (refused, &self.ops[op]) {
            if self.keep_answers || query.keep_answer {
                self.answers.keep(ticket, answer.unwrap_or_else(|| query.answer()));
            }
        }
        if refused.is_some() {
            rows = 0;
        }
        let outcome = refused.unwrap_or(Outcome::Ok);
        self.finished.push(Done { ticket, done_ns, outcome, rows, bytes });
    }

    /// Until everything that was sent is answered.
    fn drain(&mut self) -> io::Result<()> {
        self.flush();
        while !self.broken && !self.sent.is_empty() {
            self.read_one()?;
        }
        match self.broken {
            true => Err(io::Error::other("the connection was lost before")),
            false => Ok(()),
        }
    }

    /// Until something can be read; false when `until` has passed.
    fn wait(&mut self, until: Ns) -> io::Result<bool> {
        if until == Ns::MAX {
            return Ok(true); // the read itself blocks
        }
        let left = until.saturating_sub(self.ctx.clock.now());
        self.connection.readable(Duration::from_nanos(left))
    }

    /// The keys that a statement of one command returns.
    fn keys(&mut self, text: &str) -> Result<Vec<String>, Error> {
        let address = self.address.to_string();
        let failed =
            |message: String| Error::Statement { target: address.clone(), statement: text.into(), message };
        let mut out = Vec::new();
        Template::parse(text).and_then(|commands| commands.bound(&[], &mut out)).map_err(failed)?;
        self.drain().and_then(|()| self.connection.send(&out)).map_err(|e| lost(&address, &e))?;
        let key = |row: Vec<Value>| match row.into_iter().next() {
            Some(Value::Text(key)) => Ok(key),
            other => Err(failed(format!("a key is no text: {other:?}"))),
        };
        match self.connection.reply(None).map_err(|e| lost(&address, &e))? {
            Reply::Error(message) => Err(failed(message)),
            reply => reply.answer().rows.into_iter().map(key).collect(),
        }
    }
}

impl Session for ValkeySession {
    fn encode(&mut self, op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        self.encode_part(op, rows, Part::WHOLE, out)
    }

    fn part_rows(&self, _op: OpId) -> Option<usize> {
        Some(PART_ROWS)
    }

    fn encode_part(&mut self, op: OpId, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        match &mut self.ops[op] {
            Some(Prepared::Insert(encoder)) => out.encode_part(encoder.as_mut(), rows, part),
            _ => Err(Error::Plan(format!("operation {} takes no rows", self.ctx.op(op).name))),
        }
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        if self.sent.len() >= self.depth {
            return Submit::Full;
        }
        self.connect_again();
        if self.broken {
            self.fail(ticket, Outcome::Lost, "the connection was lost before".into());
            return Submit::Queued;
        }
        let mut sent = Sent { ticket, op, replies: 0, rows: 0, bytes: 0, answer: None, refused: None };
        match (work, &self.ops[op]) {
            (Work::Params(params), Some(Prepared::Query(query))) => {
                let template = &query.template;
                let commands = match query.looks_up {
                    true => template.bound_once(params, &mut self.outbox, &mut self.seen),
                    false => template.bound(params, &mut self.outbox).map(|()| template.commands()),
                };
                match commands {
                    Ok(commands) => {
                        sent.replies = commands as u64;
                        self.sent.push_back(sent);
                    }
                    Err(message) => {
                        let message = format!("operation {}: {message}", self.ctx.op(op).name);
                        self.fail(ticket, Outcome::Other, message);
                    }
                }
            }
            (Work::Rows { payload, .. }, Some(Prepared::Insert(_))) => {
                (sent.replies, sent.rows) = (payload.rows, payload.rows);
                sent.bytes = payload.bytes.len() as u64;
                self.flush();
                if payload.rows == 0 {
                    let done_ns = self.ctx.clock.now();
                    self.finished.push(Done { ticket, done_ns, outcome: Outcome::Ok, rows: 0, bytes: 0 });
                    return Submit::Queued;
                }
                self.sent.push_back(sent);
                if let Err(error) = self.connection.send(&payload.bytes) {
                    self.break_off(&error);
                }
            }
            _ => {
                let message = "the operation takes rows or parameters, and was given the other";
                self.fail(ticket, Outcome::Other, message.into());
            }
        }
        Submit::Queued
    }

    fn flush(&mut self) {
        if self.outbox.is_empty() {
            return;
        }
        if let Err(error) = self.connection.send(&self.outbox) {
            self.break_off(&error);
        }
        self.outbox.clear();
    }

    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        self.flush();
        // Nothing is read that was not asked for.
        while !self.broken && !self.sent.is_empty() {
            if !self.connection.buffered() {
                if !self.finished.is_empty() {
                    break;
                }
                match self.wait(until) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        self.break_off(&error);
                        break;
                    }
                }
            }
            if let Err(error) = self.read_one() {
                self.break_off(&error);
            }
        }
        done.append(&mut self.finished);
        self.answers.hand_over();
        self.failures.hand_over();
    }

    fn keep_answers(&mut self) {
        self.keep_answers = true;
    }

    fn answer(&mut self, ticket: Ticket) -> Option<&Answer> {
        self.answers.of(ticket)
    }

    fn failure(&mut self, ticket: Ticket) -> Option<String> {
        self.failures.of(ticket)
    }

    /// text: a command that returns the keys of hashes (`KEYS`), whose values are the rows.
    fn scan(&mut self, text: &str, like: &Columns, each: &mut dyn FnMut(&Columns)) -> Result<u64, Error> {
        let keys = self.keys(text)?;
        let address = self.address.to_string();
        let lost = |e: io::Error| lost(&address, &e);
        let failed = |message: &str| Error::Statement {
            target: address.clone(),
            statement: text.into(),
            message: message.into(),
        };
        let (mut batch, mut rows, mut out) = (empty_like(like), 0, Vec::new());
        for some in keys.chunks(SCAN_KEYS) {
            out.clear();
            some.iter().for_each(|key| put_command(&mut out, &["HVALS", key]));
            self.connection.send(&out).map_err(lost)?;
            let mut left = some.len() as u64;
            while left > 0 {
                let token = self.connection.token(None).map_err(lost)?;
                left -= 1;
                match token.kind {
                    Kind::Array(count) => left = left.saturating_add(count as u64),
                    Kind::Text => unpack(token.bytes, &mut batch)
                        .ok_or_else(|| failed("a row could not be unpacked"))?,
                    Kind::Error => return Err(failed(&String::from_utf8_lossy(token.bytes))),
                    _ => return Err(failed("a row came that is no text")),
                }
                if batch.rows >= SCAN_ROWS {
                    rows += batch.rows as u64;
                    each(&batch);
                    clear(&mut batch);
                }
            }
        }
        if batch.rows > 0 {
            rows += batch.rows as u64;
            each(&batch);
        }
        Ok(rows)
    }

    fn canceller(&self) -> Option<Canceller> {
        // The protocol cannot cancel a command: the connection ends, and the next call begins another.
        let (present, cancelled) = (self.present.clone(), self.cancelled.clone());
        Some(Box::new(move || {
            cancelled.store(true, Relaxed);
            if let Some(socket) = &*present.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) {
                // It may be gone already, which is what was wanted.
                let _ = socket.shutdown(Shutdown::Both);
            }
        }))
    }

    fn close(mut self: Box<Self>) -> Result<(), Error> {
        let mut done = Vec::new();
        while !self.broken && !self.sent.is_empty() {
            self.poll(Ns::MAX, &mut done);
        }
        let unfinished = done.iter().filter(|d| d.outcome != Outcome::Ok).count();
        if unfinished > 0 {
            let why = self.failures.any().unwrap_or_default();
            let error = io::Error::other(format!("{unfinished} unacknowledged: {why}"));
            return Err(lost(&self.address.to_string(), &error));
        }
        self.connection.close();
        Ok(())
    }
}
