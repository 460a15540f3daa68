//! One session: one connection, and the request that is on its way.

mod answers;
mod prepare;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::address::Address;
use super::decode::{ScanReader, Stream};
use super::extract::types_of;
use super::failure::Failure;
use super::request::Requests;
use super::{read_blocks, statement_failed};
use crate::engine::http::{Client, HttpError};
use crate::engine::shared::send_limit;
use crate::engine::{
    answers::Answers, Answer, Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket,
    Work,
};
use inrush_rows::encode::{Part, PART_ROWS};
use inrush_rows::error::Error;
use inrush_rows::plan::Statement;
use inrush_rows::rows::Columns;

use prepare::{prepare, Prepared};

/// What a server is given to take a wish to cancel; then the connection is cut.
const KILL: Duration = Duration::from_secs(2);

pub struct ChSession {
    ctx: Context,
    address: Arc<Address>,
    client: Client,
    requests: Requests,
    /// By operation; `None` for those that this session does not use.
    ops: Vec<Option<Prepared>>,
    /// Text of the statement on its way.
    text: Vec<u8>,
    stream: Stream,
    /// An insert that is sent part by part: its call, and bytes of rows sent so far.
    sending: Option<(Ticket, u64)>,
    flight: Option<Flight>,
    finished: Option<Done>,
    keep_answers: bool,
    answers: Answers,
    failure: Option<String>,
}

/// The request on its way.
#[derive(Debug, Clone, Copy)]
struct Flight {
    ticket: Ticket,
    op: OpId,
    /// Of an insert: rows and bytes sent.
    rows: u64,
    bytes: u64,
}

/// How an answer ended: rows and bytes, or what the server said instead.
type Ended = Result<(u64, u64), Failure>;

impl ChSession {
    pub fn open(ctx: &Context, address: &Arc<Address>, ops: &[OpId]) -> Result<ChSession, Error> {
        let mut session = ChSession {
            ctx: ctx.clone(),
            address: address.clone(),
            client: address.client(),
            requests: Requests::new(address),
            ops: ctx.plan.operations.iter().map(|_| None).collect(),
            text: Vec::with_capacity(4096),
            stream: Stream::default(),
            sending: None,
            flight: None,
            finished: None,
            keep_answers: false,
            answers: Answers::default(),
            failure: None,
        };
        for &op in ops {
            session.ops[op] = Some(prepare(ctx, op)?);
        }
        session.client.limit_sends(send_limit(ctx, ops));
        session.client.connect()?;
        session.describe()?;
        Ok(session)
    }

    /// What answers without types are made of, where extracts go that way out.
    fn describe(&mut self) -> Result<(), Error> {
        for (op, prepared) in self.ops.iter_mut().enumerate() {
            let Some(Prepared::Extract { batch, types: types @ Some(_), .. }) = prepared else { continue };
            let plan = self.ctx.op(op);
            let found = types_of(&mut self.client, &mut self.requests, &self.address, plan)?;
            if found.len() != batch.columns.len() {
                let (given, wanted) = (found.len(), batch.columns.len());
                let message = format!("gives {given} columns of {wanted}");
                return Err(statement_failed(&self.address, &plan.text, &message));
            }
            *types = Some(found);
        }
        Ok(())
    }

    fn send(&mut self, op: OpId, work: &Work<'_>) -> Result<(), (Outcome, String)> {
        let sent = match (&self.ops[op], work) {
            (Some(Prepared::Insert { .. }), Work::Rows { payload, .. }) if self.sending.is_some() => {
                self.client.chunk(&payload.bytes, true).map(drop)
            }
            (Some(Prepared::Insert { query, .. }), Work::Rows { payload, .. }) => {
                self.requests.next_insert(query);
                self.client.send("POST", self.requests.path(), &[&payload.bytes], None)
            }
            (Some(Prepared::Statement { template, .. }), Work::Params(params)) => {
                template.fill(params, &mut self.text).map_err(|message| (Outcome::Other, message))?;
                self.requests.next_query();
                self.client.send("POST", self.requests.path(), &[&self.text], None)
            }
            _ => return Err((Outcome::Other, "it does not take what it was given".into())),
        };
        sent.map_err(|http_error| (http_error.outcome(), http_error.to_string()))
    }

    /// A part of the insert `ticket`. False: the server has answered, or the insert has failed.
    fn send_chunk(&mut self, ticket: Ticket, op: OpId, bytes: &[u8]) -> Result<bool, HttpError> {
        let sent_bytes = match (&self.ops[op], self.sending) {
            (_, Some((_, sent_bytes))) => sent_bytes,
            (Some(Prepared::Insert { query, .. }), None) => {
                self.requests.next_insert(query);
                self.client.begin("POST", self.requests.path())?;
                0
            }
            _ => return Err(HttpError::Garbled("it does not take what it was given")),
        };
        self.sending = Some((ticket, sent_bytes + bytes.len() as u64));
        self.client.chunk(bytes, false)
    }

    fn fail_in(&mut self, op: OpId, ticket: Ticket, outcome: Outcome, message: &str) {
        let name = &self.ctx.op(op).name;
        let message = format!("operation {name}: {message}");
        self.fail(ticket, outcome, message);
    }

    fn fail(&mut self, ticket: Ticket, outcome: Outcome, message: String) {
        self.failure = Some(message);
        self.finish(ticket, outcome, 0, 0);
    }

    fn finish(&mut self, ticket: Ticket, outcome: Outcome, rows: u64, bytes: u64) {
        self.finished = Some(Done { ticket, done_ns: self.ctx.clock.now(), outcome, rows, bytes });
    }

    /// As a limit of the socket.
    fn instant(&self, until: Ns) -> Option<Instant> {
        let left = until.saturating_sub(self.ctx.clock.now());
        (until != Ns::MAX).then(|| Instant::now() + Duration::from_nanos(left))
    }
}

impl Session for ChSession {
    fn part_rows(&self, op: OpId) -> Option<usize> {
        matches!(self.ops[op], Some(Prepared::Insert { .. })).then_some(PART_ROWS)
    }

    fn encode_part(&mut self, op: OpId, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        match &mut self.ops[op] {
            Some(Prepared::Insert { encoder, .. }) => out.encode_part(encoder.as_mut(), rows, part),
            _ => Err(Error::Plan(format!("operation {} takes no rows", self.ctx.op(op).name))),
        }
    }

    fn sends_parts(&self, op: OpId) -> bool {
        matches!(self.ops[op], Some(Prepared::Insert { .. }))
    }

    fn send_part(&mut self, ticket: Ticket, op: OpId, payload: &mut Payload) -> bool {
        assert!(
            self.flight.is_none() && self.finished.is_none(),
            "a batch is sent with nothing else in flight"
        );
        let goes_on = match self.send_chunk(ticket, op, &payload.bytes) {
            Ok(true) => true,
            Ok(false) => {
                let (_, bytes) = self.sending.take().unwrap_or_default();
                self.flight = Some(Flight { ticket, op, rows: payload.rows, bytes });
                false
            }
            Err(http_error) => {
                self.sending = None;
                self.fail_in(op, ticket, http_error.outcome(), &http_error.to_string());
                false
            }
        };
        payload.bytes.clear();
        goes_on
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        if self.flight.is_some() || self.finished.is_some() || self.sending.is_some_and(|(t, _)| t != ticket)
        {
            return Submit::Full;
        }
        let (rows, mut bytes) = match &work {
            Work::Rows { payload, .. } => (payload.rows, payload.bytes.len() as u64),
            Work::Params(_) | Work::Extract { .. } => (0, 0),
        };
        if let Work::Extract { params, sink } = work {
            self.extract(ticket, op, params, sink);
            return Submit::Queued;
        }
        let sent = self.send(op, &work);
        bytes += self.sending.take().map_or(0, |(_, sent_bytes)| sent_bytes);
        match sent {
            Ok(()) => self.flight = Some(Flight { ticket, op, rows, bytes }),
            Err((outcome, message)) => self.fail_in(op, ticket, outcome, &message),
        }
        Submit::Queued
    }

    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        if let Some(flight) = self.flight {
            // `until` is how long the answer may take to begin; what has begun is read to its end.
            let ended = match self.client.receive(self.instant(until)) {
                Err(HttpError::Late) => return,
                Err(http_error) => Err(http_error),
                Ok(_) => self.read_answer(&flight),
            };
            self.flight = None;
            match ended {
                Ok(Ok((rows, bytes))) => self.finish(flight.ticket, Outcome::Ok, rows, bytes),
                Ok(Err(failure)) => self.fail(flight.ticket, failure.outcome(), failure.to_string()),
                Err(http_error) => {
                    self.client.forget();
                    self.fail(flight.ticket, http_error.outcome(), http_error.to_string());
                }
            }
        }
        done.extend(self.finished.take());
        self.answers.hand_over();
    }

    fn keep_answers(&mut self) {
        self.keep_answers = true;
    }

    fn answer(&mut self, ticket: Ticket) -> Option<&Answer> {
        self.answers.of(ticket)
    }

    fn failure(&mut self, _ticket: Ticket) -> Option<String> {
        self.failure.take()
    }

    fn scan(
        &mut self,
        statement: &Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        let text = statement.text.as_str();
        let place = self.address.place.clone();
        let http_error = |http_error: HttpError| http_error.error(&place);
        self.requests.next_query();
        self.client.send("POST", self.requests.path(), &[text.as_bytes()], None).map_err(http_error)?;
        self.client.receive(None).map_err(http_error)?;
        let mut reader = ScanReader { batch: Columns::empty_like(like), rows: 0, each };
        let read = read_blocks(&mut self.client, &mut self.stream, None, &mut reader).map_err(http_error)?;
        read.map_err(|failure| statement_failed(&self.address, text, &failure.to_string()))?;
        Ok(reader.rows)
    }

    /// Kills what this session runs; where the server does not even take the wish, the connection is cut.
    fn canceller(&self) -> Option<Canceller> {
        let (address, which) = (self.address.clone(), self.requests.own_queries());
        let hang_up = self.client.hang_up();
        Some(Box::new(move || {
            if !address.kill(&which, KILL) {
                hang_up.now();
            }
        }))
    }

    fn close(mut self: Box<Self>) -> Result<(), Error> {
        let mut done = Vec::new();
        while self.flight.is_some() || self.finished.is_some() {
            self.poll(Ns::MAX, &mut done);
        }
        match done.iter().all(|done| done.outcome == Outcome::Ok) {
            true => Ok(()),
            false => {
                let why = self.failure.take().unwrap_or_default();
                let error = std::io::Error::other(format!("a call was not acknowledged: {why}"));
                Err(HttpError::Lost(error).error(self.client.place()))
            }
        }
    }
}
