//! One session: a connection of its own, with its statements prepared.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::connect::{busy_timeout, connect};
use super::failure::{refused, statement_failed, Failure};
use super::insert::{insert, Transaction};
use super::statement::{run_all, Statement};
use crate::engine::answers::Answers;
use crate::engine::extract::{answer_columns, check_way, Extraction};
use crate::engine::shared::{
    columns_of, largest_batch, repeat_values, statement_sizes, value_bytes, ReadBack,
};
use crate::engine::{
    Answer, Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use inrush_rows::error::Error;
use inrush_rows::plan::{self, OpKind, Target};
use inrush_rows::rows::Columns;

/// Rows in one INSERT of method `bulk`: more saves nothing, fewer costs a step per row.
const BULK_ROWS: usize = 16;
/// SQLite's own limit of parameters in a statement, which method `multirow` fills.
const MAX_PARAMS: usize = 32_766;

/// Statements stand before `db`, so that they end before it does.
pub struct SqliteSession {
    ready: HashMap<OpId, Ready>,
    transaction: Transaction,
    ctx: Context,
    keeps_answers: bool,
    done: Vec<Done>,
    answers: Answers,
    failure: Option<String>,
    db: Connection,
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

impl SqliteSession {
    /// Connected, with these operations prepared.
    pub fn open(ctx: &Context, path: &Path, ops: &[OpId]) -> Result<SqliteSession, Error> {
        let target = &ctx.plan.target;
        let db = connect(target, path)?;
        let limits = ops.iter().map(|&op| ctx.op(op).deadline_ns).filter(|&ns| ns > 0);
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
            .map(|&op| Ok((op, Ready::new(ctx, &db, op)?)))
            .collect::<Result<HashMap<OpId, Ready>, Error>>()?;
        Ok(SqliteSession {
            ready,
            transaction,
            ctx: ctx.clone(),
            keeps_answers: false,
            done: Vec::new(),
            answers: Answers::default(),
            failure: None,
            db,
        })
    }

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
                    let (answer, bytes) = statement.answer()?;
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

fn prepare(db: &Connection, target: &Target, text: &str) -> Result<Statement, Error> {
    match Statement::prepare(db, text) {
        Ok((Some(statement), _)) => Ok(statement),
        Ok((None, _)) => Err(Error::Plan(format!("an empty statement for {}", target.url))),
        Err(failure) => Err(statement_failed(target, text, failure.message)),
    }
}
