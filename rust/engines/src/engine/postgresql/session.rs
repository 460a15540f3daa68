//! One session: what it has sent, and what has come back of it.

mod extract;
mod prepare;
mod receive;

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use super::connection::Connection;
use super::copied::{self, CopyReader};
use super::failure::Failure;
use super::message;
use super::{lost, Address};
use crate::engine::messages::{self, Ended, InOrder, Messages};
use crate::engine::shared::{depth, send_limit, ReadBack};
use crate::engine::whole_file::at_path;
use crate::engine::{
    Answer, Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use inrush_rows::encode::{Part, PART_ROWS};
use inrush_rows::error::Error;
use inrush_rows::plan::Statement;
use inrush_rows::rows::{Columns, Value};

use prepare::Prepared;

pub struct PgSession {
    ctx: Context,
    address: Arc<Address>,
    connection: Connection,
    /// By operation; `None` for those that this session does not use.
    ops: Vec<Option<Prepared>>,
    /// Most operations in flight, from the roles of the plan.
    depth: usize,
    /// Bound and not yet sent.
    outbox: Vec<u8>,
    sent: VecDeque<Sent>,
    /// Of `sent`, the first so many are answered.
    answered: usize,
    /// Of `sent`, those not yet handed to `ended`.
    in_flight: usize,
    keep_answers: bool,
    ended: Ended,
}

/// An operation on its way.
struct Sent {
    ticket: Ticket,
    op: OpId,
    /// Rows that an insert must store.
    expected_rows: Option<u64>,
    /// So far: rows stored or received, bytes sent or received.
    rows: u64,
    bytes: u64,
    /// So far, where it is kept.
    answer: Option<Answer>,
    /// The Sync behind it is its own or that of its pipeline.
    last_before_sync: bool,
    /// The server has answered; a change is finished with the Sync behind it.
    answered: bool,
    finished: bool,
}

impl Sent {
    fn new(ticket: Ticket, op: OpId) -> Sent {
        Sent {
            ticket,
            op,
            expected_rows: None,
            rows: 0,
            bytes: 0,
            answer: None,
            last_before_sync: false,
            answered: false,
            finished: false,
        }
    }
}

impl PgSession {
    pub fn open(ctx: &Context, address: &Arc<Address>, ops: &[OpId]) -> Result<PgSession, Error> {
        PgSession::over(ctx, address, Connection::open(address)?, ops)
    }

    /// On a connection that has just been made.
    pub(super) fn over(
        ctx: &Context,
        address: &Arc<Address>,
        connection: Connection,
        ops: &[OpId],
    ) -> Result<PgSession, Error> {
        let mut session = PgSession {
            ctx: ctx.clone(),
            address: address.clone(),
            connection,
            ops: ctx.plan.operations.iter().map(|_| None).collect(),
            depth: depth(ctx, ops),
            outbox: Vec::with_capacity(4096),
            sent: VecDeque::with_capacity(64),
            answered: 0,
            in_flight: 0,
            keep_answers: false,
            ended: Ended::new(ctx.clock),
        };
        session.connection.limit_sends(send_limit(ctx, ops)).map_err(|e| lost(address, &e))?;
        for &op in ops {
            session.ops[op] = Some(session.prepare(op)?);
        }
        Ok(session)
    }

    /// Puts a statement with its parameters into the outbox.
    fn bind(&mut self, op: OpId, params: &[Value]) -> Result<(), String> {
        let Some(Prepared::Statement(statement)) = &self.ops[op] else {
            return Err("it takes rows, not parameters".into());
        };
        if params.len() != statement.types.len() {
            return Err(format!("{} parameters for {} places", params.len(), statement.types.len()));
        }
        statement.call.write(&mut self.outbox, |out| {
            let mut values = params.iter().zip(&statement.types);
            values.try_for_each(|(value, ty)| message::param(out, value, *ty))
        })
    }

    /// Sends an encoded batch, which carries its own Sync.
    fn send_rows(&mut self, op: OpId, payload: &Payload) -> io::Result<()> {
        match &self.ops[op] {
            Some(Prepared::Copy(copy)) => self.connection.send_copy(&copy.command, &payload.bytes),
            Some(Prepared::ServerFile(text)) => {
                let mut command = Vec::new();
                message::query(&mut command, &at_path(text, &payload.bytes, false));
                self.connection.send(&command)
            }
            _ => self.connection.send(&payload.bytes),
        }
    }
}

impl InOrder for PgSession {
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
        self.read_message(true).map(|_| ())
    }

    fn read_there(&mut self) -> io::Result<()> {
        // Nothing is read that was not asked for.
        while !self.sent.is_empty() && self.read_message(false)? {}
        Ok(())
    }

    fn break_off(&mut self, error: &io::Error) {
        self.ended.broken = true;
        self.outbox.clear();
        for sent in self.sent.drain(..).filter(|sent| !sent.finished) {
            self.ended.lose(sent.ticket, Outcome::Lost, sent.rows, sent.bytes, error);
        }
        (self.answered, self.in_flight) = (0, 0);
    }
}

impl Session for PgSession {
    fn part_rows(&self, op: OpId) -> Option<usize> {
        match &self.ops[op] {
            Some(Prepared::Copy(_)) => Some(PART_ROWS),
            Some(Prepared::MultiRow(insert)) => Some(insert.part_rows()),
            _ => None,
        }
    }

    fn encode_part(&mut self, op: OpId, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        match &mut self.ops[op] {
            Some(Prepared::Copy(copy)) => copy.encode_part(rows, part, out),
            Some(Prepared::MultiRow(insert)) => insert.encode_part(rows, part, out),
            // An array is a column of the whole batch.
            Some(Prepared::Unnest(insert)) => insert.encode(rows, out),
            _ => Err(Error::Plan(format!("operation {} takes no rows", self.ctx.op(op).name))),
        }
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        if self.in_flight >= self.depth {
            return Submit::Full;
        }
        if self.ended.broken {
            self.ended.fail(ticket, Outcome::Lost, "the connection was lost before".into());
            return Submit::Queued;
        }
        let mut sent = Sent::new(ticket, op);
        match work {
            Work::Extract { params, sink } => {
                self.flush();
                self.extract(ticket, op, params, sink);
            }
            Work::Params(params) => {
                if let Err(message) = self.bind(op, params) {
                    let name = &self.ctx.op(op).name;
                    let message = format!("operation {name}: {message}");
                    self.ended.fail(ticket, Outcome::Other, message);
                    return Submit::Queued;
                }
                self.sent.push_back(sent);
                self.in_flight += 1;
            }
            Work::Rows { payload, .. } => {
                self.flush();
                sent.expected_rows = Some(payload.rows);
                sent.bytes = payload.bytes.len() as u64;
                sent.last_before_sync = true;
                self.sent.push_back(sent);
                self.in_flight += 1;
                if let Err(error) = self.send_rows(op, payload) {
                    self.break_off(&error);
                }
            }
        }
        Submit::Queued
    }

    fn flush(&mut self) {
        if self.outbox.is_empty() {
            return;
        }
        message::sync(&mut self.outbox);
        if let Some(last) = self.sent.back_mut() {
            last.last_before_sync = true;
        }
        if let Err(error) = self.connection.send(&self.outbox) {
            self.break_off(&error);
        }
        self.outbox.clear();
    }

    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        messages::poll(self, until, done);
    }

    fn socket(&mut self) -> Option<RawFd> {
        self.connection.stream().waits_on()
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

    fn scan(
        &mut self,
        statement: &Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        let text = statement.text.as_str();
        let address = self.address.clone();
        let lost = |e: io::Error| lost(&address, &e);
        messages::drain(self).map_err(lost)?;
        let (copies, text) = (address.speaker.copies, text.trim_end_matches(';'));
        let mut out = Vec::new();
        match copies {
            true => message::query(&mut out, &format!("COPY ({text}) TO STDOUT (FORMAT binary)")),
            false => message::binary_query(&mut out, text),
        }
        self.connection.send(&out).map_err(lost)?;

        let (mut reader, mut read) = (CopyReader::new(), ReadBack::new(like, each));
        let (mut failure, mut ended): (Option<String>, bool) = (None, false);
        loop {
            let (tag, body) = self.connection.receive().map_err(lost)?;
            match tag {
                b'd' if failure.is_none() => {
                    failure = reader.read(body, &mut read.batch).err();
                    read.added();
                }
                b'D' if failure.is_none() && !copies => {
                    failure = copied::push_data_row(body, &mut read.batch).err();
                    read.added();
                }
                b'C' => ended = true,
                b'E' => failure = Some(Failure::read(body).to_string()),
                b'Z' => break,
                _ => {}
            }
        }
        if failure.is_none() && !(ended && (reader.is_complete() || !copies)) {
            failure = Some("the answer ended before its last row".into());
        }
        if let Some(message) = failure {
            return Err(statement_failed(&address, text, &message));
        }
        Ok(read.end())
    }

    fn execute(&mut self, text: &str) -> Result<(), Error> {
        messages::drain(self).map_err(|e| lost(&self.address, &e))?;
        super::simple_query(&mut self.connection, &self.address, text, 0).map(drop)
    }

    fn canceller(&self) -> Option<Canceller> {
        Some(self.connection.canceller(&self.address))
    }

    fn close(mut self: Box<Self>) -> Result<(), Error> {
        let target = self.address.to_string();
        messages::acknowledged(&mut *self, &target)?;
        self.connection.close();
        Ok(())
    }
}

fn statement_failed(address: &Address, statement: &str, message: &str) -> Error {
    Error::Statement {
        target: address.to_string(),
        statement: statement.to_owned(),
        message: message.to_owned(),
    }
}
