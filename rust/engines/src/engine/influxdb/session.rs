//! One session: a kept connection with one request on its way.

use super::answer::{self, Reader};
use super::statement::Influxql;
use super::{query_path, Address};
use crate::engine::http::exchange::{Exchange, Flight};
use crate::engine::http::HttpError;
use crate::engine::shared::{send_limit, ReadBack};
use crate::engine::url::escape;
use crate::engine::{
    answers::Answers, Answer, Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket,
    Work,
};
use inrush_rows::encode::line::{database, roles, Line, Role};
use inrush_rows::encode::{Part, PART_ROWS};
use inrush_rows::error::Error;
use inrush_rows::plan::{LogicalType, OpKind, Statement, TablePlan};
use inrush_rows::rows::Columns;

pub struct InfluxSession {
    ctx: Context,
    exchange: Exchange,
    /// By operation; `None` for those that this session does not use.
    ops: Vec<Option<Prepared>>,
    reader: Reader,
    keep_answers: bool,
    answers: Answers,
    path: String,
    statement: String,
}

enum Prepared {
    Write { path: String, encoder: Box<Line> },
    Query { statement: Box<Influxql>, types: Vec<(String, LogicalType)>, keep_answer: bool },
}

impl InfluxSession {
    pub fn open(ctx: &Context, address: &Address, ops: &[OpId]) -> Result<InfluxSession, Error> {
        let mut client = address.client();
        client.limit_sends(send_limit(ctx, ops));
        client.connect()?;
        let mut prepared: Vec<Option<Prepared>> = ctx.plan.operations.iter().map(|_| None).collect();
        for &op in ops {
            prepared[op] = Some(prepare(ctx, op)?);
        }
        Ok(InfluxSession {
            ctx: ctx.clone(),
            exchange: Exchange::new(client, ctx.clock),
            ops: prepared,
            reader: Reader::new(false),
            keep_answers: false,
            answers: Answers::default(),
            path: String::with_capacity(4096),
            statement: String::with_capacity(4096),
        })
    }

    fn send(&mut self, op: OpId, work: &Work<'_>) -> Result<(), HttpError> {
        match (&self.ops[op], work) {
            (Some(Prepared::Write { path, .. }), Work::Rows { payload, .. }) => {
                self.reader.clear(false);
                self.exchange.client.send("POST", path, &[&payload.bytes], None)
            }
            (Some(Prepared::Query { statement, keep_answer, .. }), Work::Params(params)) => {
                if statement.params() > params.len() {
                    return Err(HttpError::Garbled(
                        "the statement names more parameters than the operation has",
                    ));
                }
                self.reader.clear(*keep_answer || self.keep_answers);
                self.statement.clear();
                statement.bound(params, &mut self.statement);
                query_path(statement.database(), &self.statement, &mut self.path);
                self.exchange.client.send("POST", &self.path, &[], None)
            }
            _ => Err(HttpError::Garbled("the operation takes rows or parameters, and was given the other")),
        }
    }

    /// The answer is complete.
    fn finish(&mut self, flight: Flight, done_ns: Ns) {
        let (mut rows, mut bytes) = (flight.rows, flight.bytes);
        self.reader.read(&self.exchange.body);
        let outcome = match self.reader.end(flight.status) {
            Err(failure) => {
                rows = 0;
                let outcome = failure.outcome();
                self.exchange.fail(failure.message);
                outcome
            }
            Ok(()) => {
                if let Some(Prepared::Query { statement, types, .. }) = &self.ops[flight.op] {
                    (rows, bytes) = (self.reader.rows(), self.reader.bytes());
                    let ty = |name: &str| types.iter().find(|(found, _)| found == name).map(|(_, ty)| *ty);
                    self.answers.keep(flight.ticket, statement.answer(self.reader.series(), &ty));
                }
                Outcome::Ok
            }
        };
        self.exchange.end(Done { ticket: flight.ticket, done_ns, outcome, rows, bytes });
    }
}

fn prepare(ctx: &Context, op: OpId) -> Result<Prepared, Error> {
    let plan = ctx.op(op);
    let table = plan.table.and_then(|at| ctx.plan.tables.get(at));
    if plan.kind != OpKind::Insert {
        let types = table.map_or(Ok(Vec::new()), types_of)?;
        return Ok(Prepared::Query {
            statement: Box::new(Influxql::new(&plan.text, plan.directives.as_ref())),
            types,
            keep_answer: !plan.holds.is_empty(),
        });
    }
    let table = table
        .ok_or_else(|| Error::Plan(format!("operation {} inserts into no table of this plan", plan.name)))?;
    let mut path = String::from("/write?db=");
    escape(&database(&table.name), &mut path);
    path.push_str(match table.columns.iter().zip(roles(table)?).find(|(_, role)| *role == Role::Time) {
        Some((column, _)) if column.ty == LogicalType::TimeUs => "&precision=u",
        _ => "&precision=ms",
    });
    Ok(Prepared::Write { path, encoder: Box::new(Line::new(table)?) })
}

/// Types by the names that an answer has: the column with a point's time is `time`.
fn types_of(table: &TablePlan) -> Result<Vec<(String, LogicalType)>, Error> {
    let named = table.columns.iter().zip(roles(table)?).map(|(column, role)| {
        let name = if role == Role::Time { "time".to_owned() } else { column.name.clone() };
        (name, column.ty)
    });
    Ok(named.collect())
}

impl Session for InfluxSession {
    fn part_rows(&self, _op: OpId) -> Option<usize> {
        Some(PART_ROWS)
    }

    fn encode_part(&mut self, op: OpId, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        match &mut self.ops[op] {
            Some(Prepared::Write { encoder, .. }) => out.encode_part(encoder.as_mut(), rows, part),
            _ => Err(Error::Plan(format!("operation {} takes no rows", self.ctx.op(op).name))),
        }
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        if !self.exchange.is_free() {
            return Submit::Full;
        }
        let (rows, bytes) = match &work {
            Work::Rows { payload, .. } => (payload.rows, payload.bytes.len() as u64),
            Work::Params(_) | Work::Extract { .. } => (0, 0),
        };
        let sent = self.send(op, &work);
        self.exchange.begin(Flight::new(ticket, op, rows, bytes), sent);
        Submit::Queued
    }

    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        if let Some((flight, done_ns)) = self.exchange.receive(until) {
            self.finish(flight, done_ns);
        }
        self.exchange.hand_over(done);
        self.answers.hand_over();
    }

    fn keep_answers(&mut self) {
        self.keep_answers = true;
    }

    fn answer(&mut self, ticket: Ticket) -> Option<&Answer> {
        self.answers.of(ticket)
    }

    fn failure(&mut self, _ticket: Ticket) -> Option<String> {
        self.exchange.failure()
    }

    fn scan(
        &mut self,
        statement: &Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        let query = Influxql::of(statement);
        let target = self.exchange.client.place().target.clone();
        let failed = |message: String| Error::Statement {
            target: target.clone(),
            statement: statement.text.clone(),
            message,
        };
        let names = query.columns().unwrap_or_default();
        if names.len() != like.columns.len() {
            return Err(failed(format!("{} columns for a table of {}", names.len(), like.columns.len())));
        }
        query_path(query.database(), &query.text(), &mut self.path);
        self.reader.clear(true);
        let place = self.exchange.client.place().clone();
        let lost = |http_error: HttpError| http_error.error(&place);
        self.exchange.client.send("POST", &self.path, &[], None).map_err(lost)?;
        let status = self.exchange.client.receive(None).map_err(lost)?;
        let mut read = ReadBack::new(like, each);
        loop {
            let more = match self.exchange.client.piece(None).map_err(lost)? {
                Some(piece) => {
                    self.reader.read(piece);
                    true
                }
                None => false,
            };
            if !more {
                self.reader.end(status).map_err(|failure| failed(failure.message))?;
            }
            for series in self.reader.take_series() {
                answer::append(&series, names, &mut read.batch).map_err(&failed)?;
            }
            read.added();
            if !more {
                return Ok(read.end());
            }
        }
    }

    fn canceller(&self) -> Option<Canceller> {
        Some(self.exchange.canceller())
    }

    fn close(mut self: Box<Self>) -> Result<(), Error> {
        let mut done = Vec::new();
        while self.exchange.is_busy() {
            self.poll(Ns::MAX, &mut done);
        }
        self.exchange.acknowledged(&done)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use serde_json::json;

    use super::*;
    use crate::engine::conversation::{context, keys};

    /// Answers one request and closes the connection at the second.
    fn answers_once(listener: &TcpListener) {
        let mut room = [0; 4096];
        let mut answered = false;
        for mut socket in listener.incoming().flatten() {
            while let Ok(1..) = socket.read(&mut room) {
                if answered {
                    return;
                }
                answered = true;
                let body = r#"{"results":[{"statement_id":0}]}"#;
                write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
            }
        }
    }

    fn call(session: &mut InfluxSession, ticket: Ticket) -> Outcome {
        let mut done = Vec::new();
        assert!(matches!(session.submit(ticket, 0, Work::Params(&[])), Submit::Queued));
        while done.is_empty() {
            session.poll(Ns::MAX, &mut done);
        }
        done[0].outcome
    }

    #[test]
    fn a_connection_lost_after_a_cancel_that_came_too_late_is_lost_and_no_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("influxdb://{}/", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || answers_once(&listener));
        let operations = json!([
            {"name": "q", "kind": "query", "text": "SELECT 1"},
            {"name": "w", "kind": "insert", "table": 0, "method": "bulk", "text": "t"},
        ]);
        let ctx = context("influxdb", &url, keys("t", ""), operations, 1);
        let mut session = InfluxSession::open(&ctx, &Address::parse(&url).unwrap(), &[0]).unwrap();
        assert_eq!(call(&mut session, 1), Outcome::Ok);
        session.canceller().expect("a session can be cancelled")();
        assert_eq!(call(&mut session, 2), Outcome::Lost);
        server.join().unwrap();
    }
}
