//! SQLite in the client's process: one file, many readers, one writer at a time.
//!
//! Options of the target: `journal` (WAL), `synchronous` (FULL), `busy_timeout_ms` (60000), and any
//! `pragma.<name>`. Unsigned 64-bit values are stored with their bits reinterpreted, times as integers.

mod lists;
mod statement;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use self::statement::{Failure, Interrupted, Over, Statement};
use super::extract::{answer_columns, check_way, Extraction};
use super::shared::{columns_of, largest_batch, repeat_values, statement_sizes, value_bytes, ReadBack};
use super::{
    answers::Answers, Answer, Canceller, Caps, Context, Done, Engine, Ns, OpId, Outcome, Payload, Session,
    Submit, Ticket, Work,
};
use inrush_rows::error::{AfterLimit, Error, TargetFault};
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{self, OpKind, Target};
use inrush_rows::rows::Columns;

/// Rows in one INSERT of method `bulk`: more saves nothing, fewer costs a step per row.
const BULK_ROWS: usize = 16;
/// SQLite's own limit of parameters in a statement, which method `multirow` fills.
const MAX_PARAMS: usize = 32_766;
const BUSY_TIMEOUT_MS: u64 = 60_000;

pub struct Sqlite {
    ctx: Context,
    path: PathBuf,
    /// For statements off the clock; keeps the file open, so that a session that closes is not the last one
    /// and does not checkpoint inside its own close.
    control: Mutex<Connection>,
}

impl Sqlite {
    pub fn new(ctx: &Context) -> Result<Sqlite, Error> {
        let path = path_of(&ctx.plan.target.url)?;
        let control = connect(&ctx.plan.target, &path)?;
        Ok(Sqlite { ctx: ctx.clone(), path, control: Mutex::new(control) })
    }
}

impl Engine for Sqlite {
    fn caps(&self) -> Caps {
        Caps { max_depth: 1, inserts_whole: true, tells_changes: true, ..Caps::default() }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        let target = &self.ctx.plan.target;
        let db = connect(target, &self.path)?;
        let limits = ops.iter().map(|&op| self.ctx.op(op).deadline_ns).filter(|&ns| ns > 0);
        let busy = limits.min().map_or(Ok(busy_timeout(target)?), |ns| Ok(Duration::from_nanos(ns)))?;
        db.busy_timeout(busy).map_err(|e| refused(target, &e))?;
        let prepared = |text: &str| prepare(&db, target, text);
        let transaction = Transaction {
            begin: prepared("BEGIN IMMEDIATE")?,
            commit: prepared("COMMIT")?,
            rollback: prepared("ROLLBACK")?,
        };
        let ready = ops
            .iter()
            .map(|&op| Ok((op, Ready::new(&self.ctx, &db, op)?)))
            .collect::<Result<HashMap<OpId, Ready>, Error>>()?;
        Ok(Box::new(SqliteSession {
            ready,
            transaction,
            ctx: self.ctx.clone(),
            keeps_answers: false,
            done: Vec::new(),
            answers: Answers::default(),
            failure: None,
            db,
        }))
    }

    fn extracts(&self) -> bool {
        true
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        let db = self.control.lock().unpoisoned();
        let over = Over { until: Instant::now() + Duration::from_nanos(limit_ns), stop: &self.ctx.stop };
        let interrupted = Interrupted::when(&db, &over);
        let answer = run_all(&db, text);
        drop(interrupted);
        answer.map_err(|failure| {
            if failure.outcome() == Outcome::Timeout {
                return over_limit(&self.ctx, text, limit_ns);
            }
            statement_failed(&self.ctx.plan.target, text, failure.message)
        })
    }
}

/// One operation, prepared.
enum Ready {
    /// Statements for so many rows at once, largest first; the last takes one.
    Insert {
        sizes: Vec<(usize, Statement)>,
    },
    Query {
        statement: Statement,
        has_assertions: bool,
    },
    Execute {
        statement: Statement,
    },
    Extract {
        statement: Statement,
        batch: Columns,
    },
    /// Its members are operations of their own.
    Together,
}

impl Ready {
    fn new(ctx: &Context, db: &Connection, op: OpId) -> Result<Ready, Error> {
        let plan = ctx.op(op);
        let target = &ctx.plan.target;
        Ok(match plan.kind {
            OpKind::Insert => {
                let most = MAX_PARAMS / columns_of(ctx, plan)?;
                let rows = match plan.method.as_str() {
                    "bulk" => BULK_ROWS.min(most),
                    "multirow" => most,
                    other => {
                        return Err(Error::Plan(format!(
                            "operation {}: sqlite has no method {other}",
                            plan.name
                        )))
                    }
                };
                let sizes = statement_sizes(rows.max(1), largest_batch(ctx, op));
                let sized = |rows| Ok((rows, prepare(db, target, &repeat_values(&plan.text, rows)?)?));
                Ready::Insert { sizes: sizes.into_iter().map(sized).collect::<Result<_, Error>>()? }
            }
            OpKind::Query => Ready::Query {
                statement: prepare(db, target, &plan.text)?,
                has_assertions: !plan.holds.is_empty(),
            },
            OpKind::Execute => Ready::Execute { statement: prepare(db, target, &plan.text)? },
            OpKind::Extract => {
                check_way(ctx, op, "sqlite", &["rows"])?;
                let (statement, batch) = (prepare(db, target, &plan.text)?, answer_columns(ctx, op)?);
                if statement.columns() != batch.columns.len() {
                    return Err(statement_failed(target, &plan.text, columns_differ(&statement, &batch)));
                }
                Ready::Extract { statement, batch }
            }
            OpKind::Together => Ready::Together,
        })
    }
}

struct Transaction {
    begin: Statement,
    commit: Statement,
    rollback: Statement,
}

/// Statements stand before `db`, so that they end before it does.
struct SqliteSession {
    ready: HashMap<OpId, Ready>,
    transaction: Transaction,
    ctx: Context,
    keeps_answers: bool,
    done: Vec<Done>,
    answers: Answers,
    failure: Option<String>,
    db: Connection,
}

impl Session for SqliteSession {
    /// Nothing to do: values are bound where they lie.
    fn encode(&mut self, _op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        out.bytes.clear();
        out.rows = rows.rows as u64;
        Ok(())
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        let (outcome, rows, bytes) = match self.call(ticket, op, work) {
            Ok((rows, bytes)) => (Outcome::Ok, rows, bytes),
            Err(failure) => {
                self.failure = Some(failure.message.clone());
                (failure.outcome(), 0, 0)
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
        let failed = |message: String| statement_failed(target, text, message);
        let mut statement = prepare(&self.db, target, text)?;
        if statement.columns() != like.columns.len() {
            return Err(failed(columns_differ(&statement, like)));
        }
        let mut read = ReadBack::new(like, each);
        while statement.step().map_err(|e| failed(e.message))? {
            for (k, column) in read.batch.columns.iter_mut().enumerate() {
                statement.push_into(k, column, read.batch.rows).map_err(failed)?;
            }
            read.batch.rows += 1;
            read.added();
        }
        Ok(read.end())
    }

    fn execute(&mut self, text: &str) -> Result<(), Error> {
        // The lock at the start, as for a batch of its own.
        let text = if text == "BEGIN" { "BEGIN IMMEDIATE" } else { text };
        let failed = |f: Failure| statement_failed(&self.ctx.plan.target, text, f.message);
        run_all(&self.db, text).map(drop).map_err(failed)
    }

    fn canceller(&self) -> Option<Canceller> {
        let handle = self.db.get_interrupt_handle();
        Some(Box::new(move || handle.interrupt()))
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

impl SqliteSession {
    /// Rows and bytes of one finished call.
    fn call(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Result<(u64, u64), Failure> {
        let ready = self.ready.get_mut(&op).expect("the driver submits what it has opened");
        match (ready, work) {
            (Ready::Insert { sizes }, Work::Rows { columns, .. }) => {
                insert(&self.db, &mut self.transaction, sizes, columns)?;
                Ok((columns.rows as u64, value_bytes(columns)))
            }
            (Ready::Query { statement, has_assertions }, Work::Params(values)) => {
                statement.bind_values(values)?;
                if *has_assertions || self.keeps_answers {
                    let (answer, bytes) = collect(statement)?;
                    let rows = answer.rows.len() as u64;
                    self.answers.keep(ticket, answer);
                    return Ok((rows, bytes));
                }
                let (mut rows, mut bytes) = (0, 0);
                while statement.step()? {
                    rows += 1;
                    bytes += statement.row_bytes();
                }
                Ok((rows, bytes))
            }
            (Ready::Extract { statement, batch }, Work::Extract { params, sink }) => {
                statement.bind_values(params)?;
                extract(statement, &mut Extraction::new(batch, sink))
            }
            (Ready::Execute { statement }, Work::Params(values)) => {
                statement.bind_values(values)?;
                statement.run()?;
                Ok((statement.changes(), 0))
            }
            _ => unreachable!(
                "inserts are given rows, all others parameters; a together is split by the driver"
            ),
        }
    }
}

/// Rows and bytes of an answer.
fn extract(statement: &mut Statement, extraction: &mut Extraction<'_>) -> Result<(u64, u64), Failure> {
    let mut bytes = 0;
    while statement.step()? {
        let batch = &mut *extraction.batch;
        for (k, column) in batch.columns.iter_mut().enumerate() {
            if let Err(message) = statement.push_into(k, column, batch.rows) {
                statement.reset();
                return Err(Failure { code: rusqlite::ffi::SQLITE_MISMATCH, message });
            }
        }
        batch.rows += 1;
        bytes += statement.row_bytes();
        extraction.added();
    }
    Ok((extraction.end(), bytes))
}

fn columns_differ(statement: &Statement, like: &Columns) -> String {
    format!("gives {} columns of {}", statement.columns(), like.columns.len())
}

/// All rows or none. The lock is taken at the start: a transaction that grows into a writer may be refused half-way.
/// A transaction that was begun before is ended by its caller.
fn insert(
    open: &Connection,
    transaction: &mut Transaction,
    sizes: &mut [(usize, Statement)],
    columns: &Columns,
) -> Result<(), Failure> {
    if !open.is_autocommit() {
        return insert_rows(sizes, columns);
    }
    transaction.begin.run()?;
    let mut begun = Begun { transaction, is_committed: false };
    insert_rows(sizes, columns)?;
    begun.commit()
}

/// A transaction that is rolled back where it was not committed: after an error, and after a panic, of which the next call
/// of the session would take it for one that its caller had begun.
struct Begun<'a> {
    transaction: &'a mut Transaction,
    is_committed: bool,
}

impl Begun<'_> {
    fn commit(&mut self) -> Result<(), Failure> {
        self.transaction.commit.run()?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            // An error may have ended the transaction already: then there is nothing to roll back.
            let _ = self.transaction.rollback.run();
        }
    }
}

fn insert_rows(sizes: &mut [(usize, Statement)], columns: &Columns) -> Result<(), Failure> {
    let mut row = 0;
    for (rows, statement) in sizes {
        while row + *rows <= columns.rows {
            statement.bind_rows(columns, row, *rows)?;
            statement.run()?;
            row += *rows;
        }
    }
    Ok(())
}

fn run_all(db: &Connection, text: &str) -> Result<Answer, Failure> {
    let mut last = Answer::default();
    let mut rest = text;
    while !rest.trim().is_empty() {
        let (statement, tail) = Statement::prepare(db, rest)?;
        if let Some(mut statement) = statement {
            let (answer, _) = collect(&mut statement)?;
            if !answer.names.is_empty() {
                last = answer;
            }
        }
        rest = tail;
    }
    Ok(last)
}

fn collect(statement: &mut Statement) -> Result<(Answer, u64), Failure> {
    let types = statement.declared();
    let mut answer = Answer { names: statement.names().into(), rows: Vec::new() };
    let mut bytes = 0;
    while statement.step()? {
        bytes += statement.row_bytes();
        answer.rows.push(types.iter().enumerate().map(|(k, ty)| statement.value(k, *ty)).collect());
    }
    Ok((answer, bytes))
}

fn connect(target: &Target, path: &PathBuf) -> Result<Connection, Error> {
    let db = Connection::open(path).map_err(|e| refused(target, &e))?;
    db.busy_timeout(busy_timeout(target)?).map_err(|e| refused(target, &e))?;
    let option = |name: &str, default: &str| target.options.get(name).cloned().unwrap_or(default.into());
    let journal = option("journal", "WAL");
    let found: String = db
        .pragma_update_and_check(None, "journal_mode", &journal, |row| row.get(0))
        .map_err(|e| refused(target, &e))?;
    if !found.eq_ignore_ascii_case(&journal) {
        return Err(Error::Plan(format!(
            "target.options.journal is {journal}, but {} keeps {found}",
            target.url
        )));
    }
    let synchronous = option("synchronous", "FULL");
    db.pragma_update(None, "synchronous", &synchronous).map_err(|e| refused(target, &e))?;
    for (name, value) in &target.options {
        if let Some(pragma) = name.strip_prefix("pragma.") {
            db.pragma_update(None, pragma, value).map_err(|e| refused(target, &e))?;
        }
    }
    Ok(db)
}

fn busy_timeout(target: &Target) -> Result<Duration, Error> {
    let Some(text) = target.options.get("busy_timeout_ms") else {
        return Ok(Duration::from_millis(BUSY_TIMEOUT_MS));
    };
    let ms = text.parse().map_err(|_| {
        Error::Plan(format!("target.options.busy_timeout_ms is {text}; it is a number of milliseconds"))
    })?;
    Ok(Duration::from_millis(ms))
}

/// `sqlite:///absolute/file`, `sqlite://relative/file` or `sqlite:file`.
fn path_of(url: &str) -> Result<PathBuf, Error> {
    let path = url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")).unwrap_or("");
    if path.is_empty() || path == ":memory:" {
        return Err(Error::Plan(format!(
            "target.url is {url}; sqlite needs a file that sessions share: sqlite:///dir/file.db"
        )));
    }
    Ok(PathBuf::from(path))
}

fn prepare(db: &Connection, target: &Target, text: &str) -> Result<Statement, Error> {
    match Statement::prepare(db, text) {
        Ok((Some(statement), _)) => Ok(statement),
        Ok((None, _)) => Err(Error::Plan(format!("an empty statement for {}", target.url))),
        Err(failure) => Err(statement_failed(target, text, failure.message)),
    }
}

fn refused(target: &Target, error: &rusqlite::Error) -> Error {
    Error::Target { target: target.url.clone(), class: TargetFault::Unreachable, message: error.to_string() }
}

fn statement_failed(target: &Target, text: &str, message: String) -> Error {
    Error::Statement { target: target.url.clone(), statement: text.into(), message }
}

fn over_limit(ctx: &Context, text: &str, limit_ns: u64) -> Error {
    if ctx.stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Error::Interrupted;
    }
    Error::Deadline { what: text.into(), limit_s: limit_ns as f64 / 1e9, after: AfterLimit::Cancelled }
}
