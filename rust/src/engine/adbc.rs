//! Any database with an ADBC driver: rows go in as Arrow batches, answers come back as Arrow.
//!
//! Options of the target: `driver` (path of its library), `entrypoint` (its function, when not the usual one),
//! and any `adbc.<name>` for the database. Methods: `bulk` (ingest) and `multirow` (a prepared INSERT, bound to
//! all rows of a batch, in a transaction). Look-ups of single keys cost several times a native client's.

use std::collections::HashMap;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adbc_core::error::{Error as AdbcError, Status};
use adbc_core::options::{
    AdbcVersion, IngestMode, OptionConnection, OptionDatabase, OptionStatement, OptionValue,
};
use adbc_core::{CancelHandle, Connection, Database, Driver, Optionable, Statement};
use adbc_driver_manager::{ManagedConnection, ManagedDatabase, ManagedDriver, ManagedStatement};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;

use super::shared::{clear, columns_of, empty_like, value_bytes};
use super::{
    arrow, Answer, Canceller, Caps, Context, Done, Engine, Ns, OpId, Outcome, Payload, Session, Submit,
    Ticket, Work,
};
use crate::error::{Error, TargetFault};
use crate::plan::{OpKind, OpPlan, Target};
use crate::rows::{Columns, Value};

type Reader = Box<dyn RecordBatchReader + Send>;
/// What the driver runs now; the watchdog reaches for it.
type Running = Arc<Mutex<Option<Box<dyn CancelHandle>>>>;

/// What one driver does differently from the standard.
#[derive(Clone, Copy)]
pub struct Driven {
    /// Statements for a new database: they make all its connections alike.
    pub prepare: &'static [&'static str],
    /// Classes that the driver tells only by its message.
    pub classify: fn(&str) -> Option<Outcome>,
    pub in_process: bool,
}

pub struct Adbc {
    ctx: Context,
    driven: Driven,
    database: ManagedDatabase,
    control: Mutex<ManagedConnection>,
}

impl Adbc {
    /// A database behind the driver that the target names, with its `adbc.<name>` options.
    pub fn new(ctx: &Context) -> Result<Adbc, Error> {
        let target = &ctx.plan.target;
        let named =
            target.options.iter().filter_map(|(name, value)| Some((name.strip_prefix("adbc.")?, value)));
        let mut options: Vec<(OptionDatabase, OptionValue)> =
            named.map(|(name, value)| (OptionDatabase::from(name), value.as_str().into())).collect();
        if let Some(uri) = target.url.strip_prefix("adbc:").map(|u| u.trim_start_matches("//")) {
            if !uri.is_empty() {
                options.push((OptionDatabase::Uri, uri.into()));
            }
        }
        let driven = Driven { prepare: &[], classify: |_| None, in_process: false };
        Adbc::with(ctx, driven, options)
    }

    pub fn with(
        ctx: &Context,
        driven: Driven,
        options: Vec<(OptionDatabase, OptionValue)>,
    ) -> Result<Adbc, Error> {
        let target = &ctx.plan.target;
        let Some(path) = target.options.get("driver") else {
            return Err(Error::Plan(
                "target.options.driver is missing; it is the path of an ADBC driver's library".into(),
            ));
        };
        let entry = target.options.get("entrypoint").map(String::as_bytes);
        let mut driver = ManagedDriver::load_dynamic_from_filename(path, entry, AdbcVersion::V110)
            .map_err(|e| unreachable(target, &e))?;
        let database = driver.new_database_with_opts(options).map_err(|e| unreachable(target, &e))?;
        let mut control = database.new_connection().map_err(|e| unreachable(target, &e))?;
        for text in driven.prepare {
            let ran = statement(&mut control, text).and_then(|mut s| s.execute_update());
            ran.map_err(|e| failed(target, text, &e))?;
        }
        Ok(Adbc { ctx: ctx.clone(), driven, database, control: Mutex::new(control) })
    }
}

impl Engine for Adbc {
    fn caps(&self) -> Caps {
        Caps {
            methods: vec!["bulk", "multirow"],
            max_sessions: None,
            max_depth: 1,
            cancel: true,
            transactions: true,
            identity_collapses: false,
            in_process: self.driven.in_process,
        }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        let mut connection =
            self.database.new_connection().map_err(|e| unreachable(&self.ctx.plan.target, &e))?;
        let ready = ops
            .iter()
            .map(|&op| Ok((op, Ready::new(&self.ctx, &mut connection, op)?)))
            .collect::<Result<HashMap<OpId, Ready>, Error>>()?;
        Ok(Box::new(AdbcSession {
            ctx: self.ctx.clone(),
            classify: self.driven.classify,
            ready,
            connection,
            running: Running::default(),
            keeps_answers: false,
            done: Vec::new(),
            answer: None,
            failure: None,
        }))
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        let mut connection = self.control.lock().expect("no holder of this lock panics");
        let target = &self.ctx.plan.target;
        let limit = Duration::from_nanos(limit_ns);
        let (answer, cut) = with_limit(&self.ctx, limit, |running| {
            let mut statement = statement(&mut connection, text)?;
            set_running(running, Some(statement.get_cancel_handle()));
            let answer = statement.execute().and_then(collect);
            set_running(running, None);
            answer
        });
        match (answer, cut) {
            (Ok((answer, _)), _) => Ok(answer),
            (Err(_), Some(Cut::Stop)) => Err(Error::Interrupted),
            (Err(_), Some(Cut::Limit)) => {
                Err(Error::Deadline { what: text.into(), limit_s: limit.as_secs_f64() })
            }
            (Err(error), None) => Err(failed(target, text, &error)),
        }
    }
}

/// One operation, prepared.
enum Ready {
    Ingest {
        statement: ManagedStatement,
        schema: SchemaRef,
    },
    Multirow {
        statement: ManagedStatement,
        schema: SchemaRef,
    },
    Query {
        statement: ManagedStatement,
        has_holds: bool,
    },
    Execute {
        statement: ManagedStatement,
    },
    /// Its members are operations of their own.
    Together,
}

impl Ready {
    fn new(ctx: &Context, connection: &mut ManagedConnection, op: OpId) -> Result<Ready, Error> {
        let plan = ctx.op(op);
        let target = &ctx.plan.target;
        let prepared = |connection: &mut ManagedConnection| {
            let made = statement(connection, &plan.text).and_then(|mut s| s.prepare().map(|()| s));
            made.map_err(|e| failed(target, &plan.text, &e))
        };
        Ok(match plan.kind {
            OpKind::Insert => {
                let schema = table_schema(ctx, plan)?;
                match plan.method.as_str() {
                    "bulk" => {
                        let statement = ingest_into(connection, &plan.text);
                        Ready::Ingest {
                            statement: statement.map_err(|e| failed(target, &plan.text, &e))?,
                            schema,
                        }
                    }
                    "multirow" => Ready::Multirow { statement: prepared(connection)?, schema },
                    other => {
                        return Err(Error::Plan(format!(
                            "operation {}: adbc has no method {other}",
                            plan.name
                        )))
                    }
                }
            }
            OpKind::Query => {
                Ready::Query { statement: prepared(connection)?, has_holds: !plan.holds.is_empty() }
            }
            OpKind::Execute => Ready::Execute { statement: prepared(connection)? },
            OpKind::Together => Ready::Together,
        })
    }
}

/// A statement that appends batches to `table`, given as `"schema"."table"` or `"table"`.
fn ingest_into(connection: &mut ManagedConnection, table: &str) -> Result<ManagedStatement, AdbcError> {
    let mut statement = connection.new_statement()?;
    let names = unquoted_parts(table);
    if let [schema, _] = &names[..] {
        statement.set_option(OptionStatement::TargetDbSchema, schema.as_str().into())?;
    }
    let name = names.last().map_or("", String::as_str);
    statement.set_option(OptionStatement::TargetTable, name.into())?;
    statement.set_option(OptionStatement::IngestMode, IngestMode::Append.into())?;
    Ok(statement)
}

/// The names in `"a"."b"`, without quotes.
fn unquoted_parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let last = parts.last_mut().expect("starts with one part");
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => last.extend(chars.next()),
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => last.push(c),
        }
    }
    parts
}

fn table_schema(ctx: &Context, plan: &OpPlan) -> Result<SchemaRef, Error> {
    columns_of(ctx, plan)?;
    let table = plan.table.expect("columns_of has found it");
    Ok(arrow::schema_of(&ctx.plan.tables[table].columns))
}

struct AdbcSession {
    ctx: Context,
    classify: fn(&str) -> Option<Outcome>,
    ready: HashMap<OpId, Ready>,
    connection: ManagedConnection,
    running: Running,
    keeps_answers: bool,
    done: Vec<Done>,
    answer: Option<Answer>,
    failure: Option<String>,
}

impl Session for AdbcSession {
    fn encode(&mut self, op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        let (Some(Ready::Ingest { schema, .. }) | Some(Ready::Multirow { schema, .. })) = self.ready.get(&op)
        else {
            return Err(Error::Plan(format!("operation {} takes no rows", self.ctx.op(op).name)));
        };
        out.parcel = Some(Box::new(arrow::record_batch(rows, schema)));
        out.rows = rows.rows as u64;
        Ok(())
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        self.answer = None;
        let result = self.call(op, work);
        set_running(&self.running, None);
        let (outcome, rows, bytes) = match result {
            Ok((rows, bytes)) => (Outcome::Ok, rows, bytes),
            Err(error) => {
                let outcome = outcome(&error, self.classify);
                self.failure = Some(error.message);
                (outcome, 0, 0)
            }
        };
        self.done.push(Done { ticket, done_ns: self.ctx.clock.now(), outcome, rows, bytes });
        Submit::Queued
    }

    fn poll(&mut self, _until: Ns, done: &mut Vec<Done>) {
        done.append(&mut self.done);
    }

    fn keep_answers(&mut self) {
        self.keeps_answers = true;
    }

    fn answer(&mut self) -> Option<&Answer> {
        self.answer.as_ref()
    }

    fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    fn scan(&mut self, text: &str, like: &Columns, each: &mut dyn FnMut(&Columns)) -> Result<u64, Error> {
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
        let mut columns = empty_like(like);
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
    fn call(&mut self, op: OpId, work: Work<'_>) -> Result<(u64, u64), AdbcError> {
        let ready = self.ready.get_mut(&op).expect("the driver submits what it has opened");
        match (ready, work) {
            (Ready::Ingest { statement, .. }, Work::Rows { columns, payload }) => {
                set_running(&self.running, Some(statement.get_cancel_handle()));
                statement.bind(batch_of(payload))?;
                statement.execute_update()?;
                Ok((columns.rows as u64, value_bytes(columns)))
            }
            (Ready::Multirow { statement, .. }, Work::Rows { columns, payload }) => {
                set_running(&self.running, Some(statement.get_cancel_handle()));
                in_transaction(&mut self.connection, || {
                    statement.bind(batch_of(payload))?;
                    statement.execute_update()
                })?;
                Ok((columns.rows as u64, value_bytes(columns)))
            }
            (Ready::Query { statement, has_holds }, Work::Params(values)) => {
                set_running(&self.running, Some(statement.get_cancel_handle()));
                bind_values(statement, values)?;
                let reader = statement.execute()?;
                if *has_holds || self.keeps_answers {
                    let (answer, bytes) = collect(reader)?;
                    let rows = answer.rows.len() as u64;
                    self.answer = Some(answer);
                    return Ok((rows, bytes));
                }
                drain(reader)
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

/// The batch that `encode` has left; a copy of it shares its buffers.
fn batch_of(payload: &Payload) -> RecordBatch {
    let parcel = payload.parcel.as_ref().and_then(|p| p.downcast_ref::<RecordBatch>());
    parcel.expect("an insert is encoded before it is submitted").clone()
}

/// All rows or none. Autocommit comes back in every case, for what this session does next.
fn in_transaction<T>(
    connection: &mut ManagedConnection,
    work: impl FnOnce() -> Result<T, AdbcError>,
) -> Result<T, AdbcError> {
    connection.set_option(OptionConnection::AutoCommit, "false".into())?;
    let result = work().and_then(|done| connection.commit().map(|()| done));
    if result.is_err() {
        // The failure that led here is the one to report; the engine may have rolled back by itself.
        let _ = connection.rollback();
    }
    let restored = connection.set_option(OptionConnection::AutoCommit, "true".into());
    result.and_then(|done| restored.map(|()| done))
}

fn statement(connection: &mut ManagedConnection, text: &str) -> Result<ManagedStatement, AdbcError> {
    let mut statement = connection.new_statement()?;
    statement.set_sql_query(text)?;
    Ok(statement)
}

fn bind_values(statement: &mut ManagedStatement, values: &[Value]) -> Result<(), AdbcError> {
    if values.is_empty() {
        return Ok(());
    }
    statement.bind(arrow::parameters(values))
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

fn collect(reader: Reader) -> Result<(Answer, u64), AdbcError> {
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

/// Why a control statement was cut.
enum Cut {
    Limit,
    Stop,
}

/// Runs `work` beside a thread that cancels it after `limit` or when the run is asked to stop.
fn with_limit<T>(ctx: &Context, limit: Duration, work: impl FnOnce(&Running) -> T) -> (T, Option<Cut>) {
    let running = Running::default();
    let (finished, wait) = channel::<()>();
    let reached = running.clone();
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let until = Instant::now() + limit;
            while wait.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
                let stop = ctx.stop.load(std::sync::atomic::Ordering::Relaxed);
                if stop || Instant::now() >= until {
                    cancel(&reached);
                    return Some(if stop { Cut::Stop } else { Cut::Limit });
                }
            }
            None
        });
        let result = work(&running);
        drop(finished);
        (result, watch.join().expect("the watch does not panic"))
    })
}

fn set_running(running: &Running, handle: Option<Box<dyn CancelHandle>>) {
    *running.lock().expect("no holder of this lock panics") = handle;
}

/// A driver that cannot cancel says so; the worker process is ended then, by whoever asked.
fn cancel(running: &Running) {
    if let Some(handle) = &*running.lock().expect("no holder of this lock panics") {
        let _ = handle.try_cancel();
    }
}

fn outcome(error: &AdbcError, classify: fn(&str) -> Option<Outcome>) -> Outcome {
    if let Some(outcome) = classify(&error.message) {
        return outcome;
    }
    match error.status {
        Status::Cancelled | Status::Timeout => Outcome::Timeout,
        Status::Unauthenticated | Status::Unauthorized => Outcome::Auth,
        Status::NotFound => Outcome::Missing,
        Status::Integrity | Status::AlreadyExists | Status::InvalidData => Outcome::Refused,
        Status::IO => Outcome::Lost,
        _ => Outcome::Other,
    }
}

fn unreachable(target: &Target, error: &AdbcError) -> Error {
    let class = match error.status {
        Status::Unauthenticated | Status::Unauthorized => TargetFault::Auth,
        Status::NotFound => TargetFault::MissingDatabase,
        _ => TargetFault::Unreachable,
    };
    Error::Target { target: target.url.clone(), class, message: error.message.clone() }
}

fn failed(target: &Target, text: &str, error: &AdbcError) -> Error {
    Error::Statement { target: target.url.clone(), statement: text.into(), message: error.message.clone() }
}

#[cfg(test)]
mod tests {
    use super::unquoted_parts;

    #[test]
    fn a_quoted_name_comes_apart_only_at_dots_outside_of_quotes() {
        assert_eq!(unquoted_parts(r#""a.b"."c""d""#), ["a.b", "c\"d"]);
        assert_eq!(unquoted_parts("plain"), ["plain"]);
    }
}
