//! One session: what it has sent, and what has come back of it.

mod change;
mod prepare;
mod scan;

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::template::Scratch;
use crate::engine::answers::put;
use crate::engine::messages::{self, Ended, InOrder, Messages};
use crate::engine::resp::{garbled, outcome, Address, Connection, Kind};
use crate::engine::shared::{depth, lost, send_limit};
use crate::engine::{
    Answer, Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use inrush_rows::encode::{Part, PART_ROWS};
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::Statement;
use inrush_rows::rows::{Columns, Value};

use prepare::{prepare, Prepared};

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
    scratch: Scratch,
    /// In flight; replies come in this order.
    sent: VecDeque<Sent>,
    /// Tokens that the reply which is being read still has.
    left: u64,
    keep_answers: bool,
    ended: Ended,
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

/// Makes a connection ready for the calls of its operations.
fn begin(
    connection: &mut Connection,
    ctx: &Context,
    address: &Address,
    ops: &mut [Option<Prepared>],
) -> Result<(), Error> {
    let used: Vec<OpId> = (0..ops.len()).filter(|&op| ops[op].is_some()).collect();
    let target = address.to_string();
    connection.limit_sends(send_limit(ctx, &used)).map_err(|e| lost(&target, &e))?;
    for prepared in ops.iter_mut().flatten() {
        if let Prepared::Change(change) = prepared {
            change.begin(connection, &target)?;
        }
    }
    Ok(())
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
        let present = Arc::new(Mutex::new(connection.socket()));
        let mut prepared: Vec<Option<Prepared>> = ctx.plan.operations.iter().map(|_| None).collect();
        for &op in ops {
            prepared[op] = Some(prepare(ctx, ctx.op(op))?);
        }
        begin(&mut connection, ctx, address, &mut prepared)?;
        Ok(ValkeySession {
            ctx: ctx.clone(),
            address: address.clone(),
            connection,
            ops: prepared,
            depth: depth(ctx, ops),
            outbox: Vec::with_capacity(4096),
            scratch: Scratch::default(),
            sent: VecDeque::with_capacity(64),
            left: 0,
            keep_answers: false,
            ended: Ended::new(ctx.clock),
            cancelled: Arc::new(AtomicBool::new(false)),
            present,
        })
    }

    /// After a cancellation, which ends the connection, the next call begins another one.
    fn connect_again(&mut self) {
        if !self.ended.broken || !self.cancelled.load(Relaxed) {
            return;
        }
        let Ok(mut connection) = Connection::open(&self.address) else { return };
        if begin(&mut connection, &self.ctx, &self.address, &mut self.ops).is_ok() {
            *self.present.lock().unpoisoned() = connection.socket();
            self.connection = connection;
            self.ended.broken = false;
            self.cancelled.store(false, Relaxed);
        }
    }

    /// Reads one token and does what it means for the operation in front.
    fn read_token(&mut self) -> io::Result<()> {
        let token = self.connection.token(None)?;
        let Some(sent) = self.sent.front_mut() else { return Err(garbled("a reply came unasked")) };
        let Some(prepared) = &mut self.ops[sent.op] else { return Err(garbled("a reply came unasked")) };
        self.left = self.left.max(1) - 1;
        match (token.kind, prepared) {
            (Kind::Error, _) => {
                let message = String::from_utf8_lossy(token.bytes);
                if sent.refused.is_none() {
                    sent.refused = Some(outcome(&message));
                    self.ended.failures.note(sent.ticket, message.into_owned());
                }
            }
            // The number of new fields: 0 where the row has taken the place of one of equal identity.
            (Kind::Integer(_), Prepared::Insert(_)) => {}
            (Kind::Integer(answer), Prepared::Change(change)) => sent.rows += change.rows(answer)?,
            (_, Prepared::Insert(_) | Prepared::Change(_)) => {
                return Err(garbled("a row was answered with no number"))
            }
            (Kind::Array(count), Prepared::Query(_)) => self.left = self.left.saturating_add(count as u64),
            (Kind::Map(count), Prepared::Query(_)) => self.left = self.left.saturating_add(2 * count as u64),
            (Kind::Null, Prepared::Query(_)) => {}
            (kind @ (Kind::Text | Kind::Lines | Kind::Integer(_)), Prepared::Query(query)) => {
                sent.rows = sent.rows.saturating_add(match kind {
                    Kind::Integer(changed) if query.changes => changed.max(0) as u64,
                    _ => 1,
                });
                sent.bytes += token.bytes.len() as u64;
                if self.keep_answers || query.keep_answer {
                    let answers = &mut self.ended.answers;
                    let mut row = answers.row();
                    match kind {
                        Kind::Integer(v) => {
                            row.truncate(1);
                            put(&mut row, 0, Value::I64(v));
                        }
                        _ => query
                            .values(token.bytes, &mut row)
                            .ok_or_else(|| garbled("a row could not be unpacked"))?,
                    }
                    sent.answer.get_or_insert_with(|| answers.begin(&query.names)).rows.push(row);
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
        let Sent { ticket, op, mut rows, bytes, answer, refused, .. } = sent;
        if refused.is_some() {
            rows = 0;
        }
        self.ended.done(ticket, refused.unwrap_or(Outcome::Ok), rows, bytes);
        if let (None, Some(Prepared::Query(query))) = (refused, &self.ops[op]) {
            if self.keep_answers || query.keep_answer {
                let answers = &mut self.ended.answers;
                let answer = answer.unwrap_or_else(|| answers.begin(&query.names));
                answers.keep(ticket, answer);
            }
        }
    }

    /// A call is in the outbox, by so many commands, or its parameters do not fit.
    fn bound(&mut self, sent: Sent, commands: Result<usize, String>) {
        match commands {
            Ok(commands) => self.sent.push_back(Sent { replies: commands as u64, ..sent }),
            Err(message) => {
                let message = format!("operation {}: {message}", self.ctx.op(sent.op).name);
                self.ended.fail(sent.ticket, Outcome::Other, message);
            }
        }
    }
}

impl InOrder for ValkeySession {
    type Connection = Connection;

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn ended(&mut self) -> &mut Ended {
        &mut self.ended
    }

    fn expects(&self) -> bool {
        !self.sent.is_empty()
    }

    fn read_one(&mut self) -> io::Result<()> {
        self.read_token()
    }

    /// Everything in flight is lost, or was cancelled with the connection.
    fn break_off(&mut self, error: &io::Error) {
        self.ended.broken = true;
        self.outbox.clear();
        self.left = 0;
        let outcome = if self.cancelled.load(Relaxed) { Outcome::Timeout } else { Outcome::Lost };
        for Sent { ticket, rows, bytes, .. } in self.sent.drain(..) {
            self.ended.lose(ticket, outcome, rows, bytes, error);
        }
    }
}

impl Session for ValkeySession {
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
        if self.ended.broken {
            self.ended.fail(ticket, Outcome::Lost, "the connection was lost before".into());
            return Submit::Queued;
        }
        let mut sent = Sent { ticket, op, replies: 0, rows: 0, bytes: 0, answer: None, refused: None };
        match (work, &mut self.ops[op]) {
            (Work::Params(params), Some(Prepared::Query(query))) => {
                let template = &query.template;
                let commands = match query.looks_up {
                    true => template.bound_once(params, &mut self.outbox, &mut self.scratch),
                    false => template
                        .bound(params, &mut self.outbox, &mut self.scratch)
                        .map(|()| template.commands()),
                };
                self.bound(sent, commands);
            }
            (Work::Params(params), Some(Prepared::Change(change))) => {
                let before = self.outbox.len();
                let commands = change.bound(params, &mut self.outbox).map(|()| 1);
                sent.bytes = (self.outbox.len() - before) as u64;
                self.bound(sent, commands);
            }
            (Work::Rows { payload, .. }, Some(Prepared::Insert(_))) => {
                (sent.replies, sent.rows) = (payload.rows, payload.rows);
                sent.bytes = payload.bytes.len() as u64;
                self.flush();
                if payload.rows == 0 {
                    self.ended.done(ticket, Outcome::Ok, 0, 0);
                    return Submit::Queued;
                }
                self.sent.push_back(sent);
                if let Err(error) = self.connection.send(&payload.bytes) {
                    self.break_off(&error);
                }
            }
            _ => {
                let message = "the operation takes rows or parameters, and was given the other";
                self.ended.fail(ticket, Outcome::Other, message.into());
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
        messages::poll(self, until, done);
    }

    fn keep_answers(&mut self) {
        self.keep_answers = true;
    }

    fn answer(&mut self, ticket: Ticket) -> Option<&Answer> {
        self.ended.answers.of(ticket)
    }

    fn failure(&mut self, ticket: Ticket) -> Option<String> {
        self.ended.failures.of(ticket)
    }

    /// text: a command that returns the keys of hashes (`KEYS`), whose values are the rows.
    fn scan(
        &mut self,
        statement: &Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        self.read_back(statement, like, each)
    }

    fn canceller(&self) -> Option<Canceller> {
        // The protocol cannot cancel a command: the connection ends, and the next call begins another.
        let (present, cancelled) = (self.present.clone(), self.cancelled.clone());
        Some(Box::new(move || {
            cancelled.store(true, Relaxed);
            if let Some(socket) = &*present.lock().unpoisoned() {
                // It may be gone already, which is what was wanted.
                let _ = socket.shutdown(Shutdown::Both);
            }
        }))
    }

    fn close(mut self: Box<Self>) -> Result<(), Error> {
        let target = self.address.to_string();
        messages::acknowledged(&mut *self, &target)?;
        self.connection.close();
        Ok(())
    }
}
