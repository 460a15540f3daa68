//! One session: what it has sent, and what has come back of it.

mod described;
mod extract;
mod prepare;
mod reading;
mod store;

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use super::connection::{garbled, Connection};
use super::decode::{self, AnswerColumn};
use super::failure::Failure;
use super::{lost, message, statement_failed, Address};
use crate::engine::messages::{self, Ended, InOrder, Messages};
use crate::engine::shared::{depth, send_limit, ReadBack};
use crate::engine::{
    Answer, Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use inrush_rows::encode::{Part, PART_ROWS};
use inrush_rows::error::Error;
use inrush_rows::plan::Statement;
use inrush_rows::rows::{Columns, Value};

use described::Described;
use prepare::Prepared;
use reading::Reading;

pub struct MySession {
    ctx: Context,
    address: Arc<Address>,
    connection: Connection,
    /// By operation; `None` for those that this session does not use.
    ops: Vec<Option<Prepared>>,
    /// Most operations in flight, from the roles of the plan.
    depth: usize,
    /// The longest statement that the server takes, in bytes.
    longest: usize,
    /// Bound and not yet sent.
    outbox: Vec<u8>,
    /// Queries on their way, answered in this order.
    sent: VecDeque<Sent>,
    /// Where the answer to the first of `sent` is.
    reading: Reading,
    keep_answers: bool,
    /// The answer on its way, of the first of `sent`.
    answer: Option<Answer>,
    /// By operation: the columns of its answers.
    described: Vec<Described>,
    /// The server was asked to leave out what describes the columns of answers.
    leaves_out: bool,
    /// Of the extract on its way.
    columns: Vec<AnswerColumn>,
    ended: Ended,
    /// Between a BEGIN and a COMMIT that were asked for by `execute`: a batch ends no transaction of its own.
    held: bool,
}

struct Sent {
    ticket: Ticket,
    op: OpId,
    /// So far: rows and bytes received, or rows changed.
    rows: u64,
    bytes: u64,
}

impl MySession {
    pub fn open(ctx: &Context, address: &Arc<Address>, ops: &[OpId]) -> Result<MySession, Error> {
        MySession::over(ctx, address, Connection::open(address)?, ops)
    }

    /// On a connection that has just been made.
    pub(super) fn over(
        ctx: &Context,
        address: &Arc<Address>,
        connection: Connection,
        ops: &[OpId],
    ) -> Result<MySession, Error> {
        let mut session = MySession {
            ctx: ctx.clone(),
            address: address.clone(),
            connection,
            ops: ctx.plan.operations.iter().map(|_| None).collect(),
            depth: depth(ctx, ops),
            longest: usize::MAX,
            outbox: Vec::with_capacity(4096),
            sent: VecDeque::with_capacity(64),
            reading: Reading::Head,
            keep_answers: false,
            answer: None,
            described: ctx.plan.operations.iter().map(|_| Described::default()).collect(),
            leaves_out: false,
            columns: Vec::new(),
            ended: Ended::new(ctx.clock),
            held: false,
        };
        session.connection.limit_sends(send_limit(ctx, ops)).map_err(|e| lost(address, &e))?;
        for &op in ops {
            session.ops[op] = Some(session.prepare(op)?);
        }
        session.leave_out(ops).map_err(|e| lost(address, &e))?;
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
        message::execute(&mut self.outbox, statement.id, &statement.types, params)
    }

    /// Reads one packet and does what it means for the first operation on its way.
    fn read_packet(&mut self) -> io::Result<()> {
        let leaves_out = self.connection.leaves_out();
        let packet = self.connection.receive()?;
        let Some(sent) = self.sent.front_mut() else { return Err(garbled()) };
        let described = &mut self.described[sent.op];
        let keeps = match &self.ops[sent.op] {
            Some(Prepared::Statement(statement)) => self.keep_answers || statement.keep_answer,
            _ => false,
        };
        let answers = &mut self.ended.answers;
        if packet.first() == Some(&0xff) {
            let failure = Failure::read(packet);
            self.ended.failures.note(sent.ticket, failure.to_string());
            self.finish(failure.outcome());
            return Ok(());
        }
        match self.reading {
            Reading::Head if packet.first() == Some(&0x00) => {
                let okay = decode::okay(packet).ok_or_else(garbled)?;
                sent.rows = sent.rows.saturating_add(okay.affected);
                self.end_result(&okay);
            }
            Reading::Head => {
                let head = decode::head(packet, leaves_out).ok_or_else(garbled)?;
                self.reading = if head.described { Reading::Columns(head.columns) } else { Reading::Rows };
                if head.described {
                    described.begin();
                } else if keeps {
                    let names = described.names_of(head.columns).ok_or_else(garbled)?;
                    self.answer = Some(answers.begin(names));
                }
            }
            Reading::Columns(left) => {
                // Where they may be left out, they are what later answers are read by.
                if keeps || leaves_out {
                    described.column(packet).ok_or_else(garbled)?;
                }
                self.reading = self.reading.behind_column();
                if (keeps || leaves_out) && left <= 1 {
                    let names = described.end();
                    self.answer = keeps.then(|| answers.begin(names));
                }
            }
            Reading::Rows if decode::ends_rows(packet) => {
                let okay = decode::okay(packet).ok_or_else(garbled)?;
                self.end_result(&okay);
            }
            Reading::Rows => {
                sent.rows += 1;
                sent.bytes += packet.len() as u64;
                if keeps {
                    let mut row = answers.row();
                    decode::binary_row(packet, described.columns(), &mut row).ok_or_else(garbled)?;
                    self.answer.as_mut().expect("made with the columns").rows.push(row);
                }
            }
        }
        Ok(())
    }

    /// Another result of the same statement follows, or it was the last one.
    #[inline]
    fn end_result(&mut self, okay: &decode::Okay) {
        self.reading = Reading::Head;
        if !okay.more {
            self.finish(Outcome::Ok);
        }
    }

    fn finish(&mut self, outcome: Outcome) {
        self.reading = Reading::Head;
        let Sent { ticket, rows, bytes, .. } = self.sent.pop_front().expect("an answer belongs to the first");
        if let Some(answer) = self.answer.take().filter(|_| outcome == Outcome::Ok) {
            self.ended.answers.keep(ticket, answer);
        }
        self.ended.done(ticket, outcome, rows, bytes);
    }
}

impl InOrder for MySession {
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
        self.read_packet()
    }

    fn break_off(&mut self, error: &io::Error) {
        self.ended.broken = true;
        self.outbox.clear();
        for Sent { ticket, rows, bytes, .. } in self.sent.drain(..) {
            self.ended.lose(ticket, Outcome::Lost, rows, bytes, error);
        }
    }
}

impl Session for MySession {
    fn part_rows(&self, op: OpId) -> Option<usize> {
        match &self.ops[op] {
            Some(Prepared::Load(_) | Prepared::Bulk(_)) => Some(PART_ROWS),
            Some(Prepared::MultiRow(insert)) => Some(insert.part_rows()),
            _ => None,
        }
    }

    fn encode_part(&mut self, op: OpId, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        match &mut self.ops[op] {
            Some(Prepared::Load(load)) => load.encode_part(rows, part, out),
            Some(Prepared::Bulk(bulk)) => bulk.encode_part(rows, part, out),
            Some(Prepared::MultiRow(insert)) => insert.encode_part(rows, part, out),
            _ => Err(Error::Plan(format!("operation {} takes no rows", self.ctx.op(op).name))),
        }
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        if self.sent.len() + self.ended.len() >= self.depth {
            return Submit::Full;
        }
        if self.ended.broken {
            self.ended.fail(ticket, Outcome::Lost, "the connection was lost before".into());
            return Submit::Queued;
        }
        match work {
            Work::Extract { params, sink } => {
                self.flush();
                self.extract(ticket, op, params, sink);
            }
            Work::Params(params) => match self.bind(op, params) {
                Ok(()) => self.sent.push_back(Sent { ticket, op, rows: 0, bytes: 0 }),
                Err(message) => {
                    let name = &self.ctx.op(op).name;
                    let message = format!("operation {name}: {message}");
                    self.ended.fail(ticket, Outcome::Other, message);
                }
            },
            Work::Rows { payload, .. } => match messages::drain(self) {
                Ok(()) => self.store(ticket, op, payload),
                Err(error) => self.ended.lose(ticket, Outcome::Lost, 0, 0, &error),
            },
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
        self.describe_again().map_err(lost)?;
        let (id, mut columns) = self.prepare_text(text.trim_end().trim_end_matches(';'))?;
        let leaves_out = self.connection.leaves_out();
        let mut out = Vec::new();
        message::execute(&mut out, id, &[], &[]).expect("there are no parameters");
        self.connection.send(&out).map_err(lost)?;

        let mut read = ReadBack::new(like, each);
        let mut reading = Reading::Head;
        let mut failure: Option<String> = None;
        loop {
            let packet = self.connection.receive().map_err(lost)?;
            if packet.first() == Some(&0xff) {
                failure = Some(Failure::read(packet).to_string());
                break;
            }
            match reading {
                Reading::Head => {
                    let head = decode::head(packet, leaves_out).filter(|head| head.columns > 0);
                    let Some(head) = head else {
                        return Err(statement_failed(&address, text, "it gives no rows to read back"));
                    };
                    reading = Reading::behind_head(&head, &mut columns).ok_or_else(|| lost(garbled()))?;
                    failure = reading.miscounted(columns.len(), like.columns.len());
                }
                Reading::Columns(_) => {
                    columns.push(decode::column(packet).ok_or_else(|| lost(garbled()))?);
                    reading = reading.behind_column();
                    failure = reading.miscounted(columns.len(), like.columns.len());
                }
                Reading::Rows if decode::ends_rows(packet) => break,
                Reading::Rows if failure.is_some() => {}
                Reading::Rows => {
                    failure = decode::push_row(packet, &columns, &mut read.batch).err();
                    read.added();
                }
            }
        }
        out.clear();
        message::close_statement(&mut out, id);
        self.connection.send(&out).map_err(lost)?;
        if let Some(message) = failure {
            return Err(statement_failed(&address, text, &message));
        }
        Ok(read.end())
    }

    fn execute(&mut self, text: &str) -> Result<(), Error> {
        messages::drain(self).map_err(|e| lost(&self.address, &e))?;
        self.in_transaction(text)
    }

    fn canceller(&self) -> Option<Canceller> {
        Some(self.connection.canceller())
    }

    fn close(mut self: Box<Self>) -> Result<(), Error> {
        let target = self.address.to_string();
        messages::acknowledged(&mut *self, &target)?;
        self.connection.close();
        Ok(())
    }
}
