//! One connection to a database behind an ADBC driver.

use std::collections::HashMap;

use adbc_core::error::{Error as AdbcError, Status};
use adbc_core::options::OptionConnection;
use adbc_core::{Connection, Optionable, Statement};
use adbc_driver_manager::{ManagedConnection, ManagedStatement};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};

use super::prepare::{Multirow, Ready};
use super::{cancel, failed, is_locked, set_running, statement, Driven, Running};
use crate::engine::extract::{Extraction, Sink, BATCH_ROWS};
use crate::engine::shared::{clear, value_bytes};
use crate::engine::whole_file::at_path;
use crate::engine::{
    answers::Answers, arrow, Answer, Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit,
    Ticket, Work,
};
use inrush_rows::error::Error;
use inrush_rows::plan;
use inrush_rows::rows::{Columns, Value};

/// A call that failed, and whether its connection can go on.
struct Failed {
    error: AdbcError,
    unusable: bool,
    /// A value came back that was never stored.
    wrong: bool,
}

impl From<AdbcError> for Failed {
    fn from(error: AdbcError) -> Failed {
        Failed { error, unusable: false, wrong: false }
    }
}

impl Failed {
    /// A value came back that was never stored, or rows that were not asked for.
    fn wrong(message: String) -> Failed {
        Failed { wrong: true, ..AdbcError::with_message_and_status(message, Status::InvalidData).into() }
    }
}

type Reader = Box<dyn RecordBatchReader + Send>;

pub struct AdbcSession {
    ctx: Context,
    driven: Driven,
    /// Between a BEGIN and a COMMIT that were asked for by `execute`.
    begun: bool,
    ready: HashMap<OpId, Ready>,
    connection: ManagedConnection,
    running: Running,
    keeps_answers: bool,
    done: Vec<Done>,
    answers: Answers,
    failure: Option<String>,
}

impl AdbcSession {
    pub fn new(
        ctx: &Context,
        connection: ManagedConnection,
        ready: HashMap<OpId, Ready>,
        driven: Driven,
    ) -> AdbcSession {
        AdbcSession {
            ctx: ctx.clone(),
            driven,
            begun: false,
            ready,
            connection,
            running: Running::default(),
            keeps_answers: false,
            done: Vec::new(),
            answers: Answers::default(),
            failure: None,
        }
    }
}

impl Session for AdbcSession {
    fn encode(&mut self, op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        out.parcel = match self.ready.get(&op) {
            Some(Ready::Ingest { schema, .. }) => Some(Box::new(arrow::record_batch(rows, schema))),
            Some(Ready::Multirow { sizes, schema }) => {
                Some(Box::new(split(&arrow::record_batch(rows, schema), sizes)))
            }
            _ => return Err(Error::Plan(format!("operation {} takes no rows", self.ctx.op(op).name))),
        };
        out.rows = rows.rows as u64;
        Ok(())
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        let result = self.call(ticket, op, work);
        set_running(&self.running, None);
        let (outcome, rows, bytes) = match result {
            Ok((rows, bytes)) => (Outcome::Ok, rows, bytes),
            Err(failed) => {
                let outcome = outcome(&failed, self.driven.classify);
                self.failure = Some(failed.error.message);
                (outcome, 0, 0)
            }
        };
        self.done.push(Done { ticket, done_ns: self.ctx.clock.now(), outcome, rows, bytes });
        Submit::Queued
    }

    fn poll(&mut self, _until: Ns, done: &mut Vec<Done>) {
        done.append(&mut self.done);
        self.answers.hand_over();
    }

    fn keep_answers(&mut self) {
        self.keeps_answers = true;
    }

    fn answer(&mut self, ticket: Ticket) -> Option<&Answer> {
        self.answers.of(ticket)
    }

    fn failure(&mut self, _ticket: Ticket) -> Option<String> {
        self.failure.take()
    }

    fn scan(
        &mut self,
        query: &plan::Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        let text = query.text.as_str();
        let target = &self.ctx.plan.target;
        let wrong = |message: String| Error::Statement {
            target: target.url.clone(),
            statement: text.into(),
            message,
        };
        let mut statement = statement(&mut self.connection, text).map_err(|e| failed(target, text, &e))?;
        let reader = statement.execute().map_err(|e| failed(target, text, &e))?;
        let given = reader.schema().fields().len();
        if given != like.columns.len() {
            return Err(wrong(format!("gives {given} columns of {}", like.columns.len())));
        }
        let mut columns = Columns::empty_like(like);
        let mut total = 0;
        for batch in reader {
            let batch = batch.map_err(|e| wrong(e.to_string()))?;
            clear(&mut columns);
            arrow::append(&batch, &mut columns).map_err(wrong)?;
            total += columns.rows as u64;
            each(&columns);
        }
        Ok(total)
    }

    fn execute(&mut self, text: &str) -> Result<(), Error> {
        let target = &self.ctx.plan.target;
        let result = match text {
            "BEGIN" => self.connection.set_option(OptionConnection::AutoCommit, "false".into()),
            "COMMIT" => self
                .connection
                .commit()
                .and_then(|()| self.connection.set_option(OptionConnection::AutoCommit, "true".into())),
            other => statement(&mut self.connection, other).and_then(|mut s| s.execute_update().map(drop)),
        };
        self.begun = text == "BEGIN" || (self.begun && text != "COMMIT");
        result.map_err(|e| failed(target, text, &e))
    }

    fn canceller(&self) -> Option<Canceller> {
        let running = self.running.clone();
        Some(Box::new(move || cancel(&running)))
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

impl AdbcSession {
    /// Rows and bytes of one finished call.
    fn call(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Result<(u64, u64), Failed> {
        let ready = self.ready.get_mut(&op).expect("the driver submits what it has opened");
        match (ready, work) {
            (Ready::Ingest { statement, most_rows, .. }, Work::Rows { columns, payload }) => {
                set_running(&self.running, Some(statement.get_cancel_handle()));
                // A copy of a batch shares its buffers, and so does a part of one.
                let batch = parcel::<RecordBatch>(payload);
                match *most_rows {
                    Some(most) if batch.num_rows() > most => statement.bind_stream(parts(batch, most))?,
                    _ => statement.bind(batch.clone())?,
                }
                let is_whole = self.driven.ingest_is_atomic || self.begun;
                whole(&mut self.connection, is_whole, || statement.execute_update().map(drop))?;
                Ok((columns.rows as u64, value_bytes(columns)))
            }
            (Ready::Multirow { sizes, .. }, Work::Rows { columns, payload }) => {
                whole(&mut self.connection, self.begun, || {
                    for (k, row) in parcel::<Vec<(usize, RecordBatch)>>(payload) {
                        let statement = &mut sizes[*k].statement;
                        set_running(&self.running, Some(statement.get_cancel_handle()));
                        statement.bind(row.clone())?;
                        statement.execute_update()?;
                    }
                    Ok(())
                })?;
                Ok((columns.rows as u64, value_bytes(columns)))
            }
            (Ready::ServerFile { text }, Work::Rows { payload, .. }) => {
                let mut statement = statement(&mut self.connection, &at_path(text, &payload.bytes, false))?;
                set_running(&self.running, Some(statement.get_cancel_handle()));
                whole_file(&mut statement, payload.rows).map(|()| (payload.rows, 0))
            }
            (Ready::Query { statement, has_assertions }, Work::Params(values)) => {
                set_running(&self.running, Some(statement.get_cancel_handle()));
                bind_values(statement, values)?;
                let reader = statement.execute()?;
                if *has_assertions || self.keeps_answers {
                    let (answer, bytes) = collect(reader)?;
                    let rows = answer.rows.len() as u64;
                    self.answers.keep(ticket, answer);
                    return Ok((rows, bytes));
                }
                Ok(drain(reader)?)
            }
            (Ready::Extract { statement, batch }, Work::Extract { params, sink }) => {
                set_running(&self.running, Some(statement.get_cancel_handle()));
                bind_values(statement, params)?;
                extract(statement.execute()?, batch, sink)
            }
            (Ready::Execute { statement }, Work::Params(values)) => {
                set_running(&self.running, Some(statement.get_cancel_handle()));
                bind_values(statement, values)?;
                let changed = statement.execute_update()?;
                Ok((changed.unwrap_or(0).max(0) as u64, 0))
            }
            _ => unreachable!(
                "inserts are given rows, all others parameters; a together is split by the driver"
            ),
        }
    }
}

/// What `encode` has left.
fn parcel<T: 'static>(payload: &Payload) -> &T {
    let parcel = payload.parcel.as_ref().and_then(|p| p.downcast_ref::<T>());
    parcel.expect("an insert is encoded before it is submitted")
}

/// The rows of `batch` in order, at most `most` at a time.
fn parts(batch: &RecordBatch, most: usize) -> Reader {
    let rows = batch.num_rows();
    let cut = (0..rows).step_by(most).map(|first| Ok(batch.slice(first, most.min(rows - first))));
    Box::new(RecordBatchIterator::new(cut.collect::<Vec<_>>(), batch.schema()))
}

/// A batch as parameters of statements: index of the statement, and its rows side by side.
fn split(batch: &RecordBatch, sizes: &[Multirow]) -> Vec<(usize, RecordBatch)> {
    let mut first = 0;
    let mut parts = Vec::new();
    for (k, size) in sizes.iter().enumerate() {
        while first + size.rows <= batch.num_rows() {
            parts.push((k, arrow::one_row(batch, first, &size.wide)));
            first += size.rows;
        }
    }
    parts
}

/// Stores all or nothing: in a transaction of its own, unless the work is whole without.
fn whole(
    connection: &mut ManagedConnection,
    is_whole: bool,
    mut work: impl FnMut() -> Result<(), AdbcError>,
) -> Result<(), Failed> {
    match is_whole {
        true => Ok(work()?),
        false => in_transaction(connection, work),
    }
}

/// Stores a file of so many rows.
fn whole_file(statement: &mut ManagedStatement, rows: u64) -> Result<(), Failed> {
    match statement.execute_update()?.and_then(|stored| u64::try_from(stored).ok()) {
        Some(stored) if stored != rows => {
            Err(Failed::wrong(format!("{stored} rows were stored of {rows} in the file")))
        }
        _ => Ok(()),
    }
}

/// All rows or none. Autocommit comes back in every case, for what this session does next.
///
/// A connection that can be brought to neither end is lost: rows of the next call would join those of this one.
fn in_transaction<T>(
    connection: &mut ManagedConnection,
    work: impl FnOnce() -> Result<T, AdbcError>,
) -> Result<T, Failed> {
    connection.set_option(OptionConnection::AutoCommit, "false".into())?;
    let result = work().and_then(|done| connection.commit().map(|()| done));
    let ended = if result.is_err() { connection.rollback() } else { Ok(()) };
    let restored = ended.and_then(|()| connection.set_option(OptionConnection::AutoCommit, "true".into()));
    match (result, restored) {
        (result, Ok(())) => Ok(result?),
        (Ok(_), Err(error)) | (Err(error), Err(_)) => Err(Failed { error, unusable: true, wrong: false }),
    }
}

fn bind_values(statement: &mut ManagedStatement, values: &[Value]) -> Result<(), AdbcError> {
    if values.is_empty() {
        return Ok(());
    }
    statement.bind(arrow::parameters(values))
}

/// Rows and bytes of an answer, handed over batch by batch as the driver gives them.
fn extract(reader: Reader, like: &mut Columns, sink: &mut dyn Sink) -> Result<(u64, u64), Failed> {
    let (given, wanted) = (reader.schema().fields().len(), like.columns.len());
    if given != wanted {
        return Err(Failed::wrong(format!("gives {given} columns of {wanted}")));
    }
    let (mut extraction, mut bytes) = (Extraction::new(like, sink), 0);
    for batch in reader {
        let batch = batch.map_err(AdbcError::from)?;
        bytes += arrow::bytes(&batch);
        // A driver's batches may be long: what is copied at a time stays short.
        for first in (0..batch.num_rows()).step_by(BATCH_ROWS) {
            let part = batch.slice(first, BATCH_ROWS.min(batch.num_rows() - first));
            arrow::append(&part, extraction.batch).map_err(Failed::wrong)?;
            extraction.added();
        }
    }
    Ok((extraction.end(), bytes))
}

/// Rows and bytes of an answer. A stream repeats its error for ever: the first one ends it.
fn drain(reader: Reader) -> Result<(u64, u64), AdbcError> {
    let (mut rows, mut bytes) = (0, 0);
    for batch in reader {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        bytes += arrow::bytes(&batch);
    }
    Ok((rows, bytes))
}

pub fn collect(reader: Reader) -> Result<(Answer, u64), AdbcError> {
    let names = reader.schema().fields().iter().map(|f| f.name().clone()).collect();
    let mut answer = Answer { names, rows: Vec::new() };
    let mut bytes = 0;
    for batch in reader {
        let batch = batch?;
        bytes += arrow::bytes(&batch);
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| arrow::value(column, row));
            let cells = cells.collect::<Result<Vec<Value>, String>>();
            answer
                .rows
                .push(cells.map_err(|e| AdbcError::with_message_and_status(e, Status::NotImplemented))?);
        }
    }
    Ok((answer, bytes))
}

fn outcome(failed: &Failed, classify: fn(&str) -> Option<Outcome>) -> Outcome {
    let error = &failed.error;
    if failed.unusable {
        return Outcome::Lost;
    }
    if failed.wrong {
        return Outcome::Wrong;
    }
    if let Some(outcome) = classify(&error.message) {
        return outcome;
    }
    if is_locked(error) {
        return Outcome::Conflict;
    }
    match error.status {
        Status::Cancelled | Status::Timeout => Outcome::Timeout,
        Status::Unauthenticated | Status::Unauthorized => Outcome::Auth,
        Status::NotFound => Outcome::Undefined,
        Status::Integrity | Status::AlreadyExists | Status::InvalidData => Outcome::Refused,
        Status::IO => Outcome::Lost,
        _ => Outcome::Other,
    }
}
