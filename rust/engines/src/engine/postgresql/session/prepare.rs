//! What a session prepares before the clock runs: its statements, and the batches it will send.

use std::io;
use std::sync::Arc;

use super::{statement_failed, PgSession};
use crate::engine::extract::{answer_columns, check_way, fetch_rows};
use crate::engine::messages::Messages;
use crate::engine::postgresql::decode::{self, AnswerColumn};
use crate::engine::postgresql::extract::{Written, WAYS};
use crate::engine::postgresql::failure::Failure;
use crate::engine::postgresql::insert::{Copy, MultiRow, Unnest};
use crate::engine::postgresql::message::{self, Format};
use crate::engine::postgresql::{garbled, lost};
use crate::engine::shared::{batches, columns_of, largest_batch};
use crate::engine::whole_file::{CLIENT_FILE, SERVER_FILE};
use crate::engine::OpId;
use inrush_rows::encode::pgcopy::PgType;
use inrush_rows::error::Error;
use inrush_rows::plan::{LogicalType, OpKind, OpPlan};
use inrush_rows::rows::Columns;

pub(super) enum Prepared {
    Copy(Box<Copy>),
    /// COPY of a file that the server reads: its text.
    ServerFile(String),
    MultiRow(Box<MultiRow>),
    Unnest(Box<Unnest>),
    Statement(Statement),
    Extract(Box<Extract>),
}

pub(super) struct Statement {
    pub(super) name: String,
    /// What is sent before each use of it: see `PgSession::kept`.
    pub(super) parse: Vec<u8>,
    pub(super) types: Vec<LogicalType>,
    pub(super) columns: Vec<AnswerColumn>,
    /// Of the columns.
    pub(super) names: Arc<[String]>,
    /// How the columns are asked for: each, or all as the one.
    pub(super) formats: Vec<Format>,
    pub(super) call: message::Call,
    /// A query is done with its last row, a change with its commit.
    pub(super) changes: bool,
    pub(super) keep_answer: bool,
}

pub(super) struct Extract {
    pub(super) way: Way,
    /// Rows on their way to the sink.
    pub(super) batch: Columns,
}

pub(super) enum Way {
    /// COPY of the query, whose parameters are written into it.
    Copy { text: Written, types: Vec<LogicalType> },
    /// Rows of a prepared statement: all at once, or so many a fetch.
    Rows { statement: Statement, fetch_rows: u32 },
}

impl PgSession {
    pub(super) fn prepare(&mut self, id: OpId) -> Result<Prepared, Error> {
        let ctx = self.ctx.clone();
        let op = ctx.op(id);
        match op.kind {
            OpKind::Insert => self.prepare_insert(id, op),
            OpKind::Query | OpKind::Execute => self.prepare_statement(id, op).map(Prepared::Statement),
            OpKind::Extract => {
                self.prepare_extract(id, op).map(|extract| Prepared::Extract(Box::new(extract)))
            }
            OpKind::Together => Err(Error::Plan(format!(
                "operation {} is made of others; a session is opened for its members",
                op.name
            ))),
        }
    }

    /// The name under which the session keeps a statement; empty: a pooler may give the next call another session, so that each
    /// call sends the statement anew.
    fn kept(&self, name: &str) -> String {
        if self.is_pooled() {
            String::new()
        } else {
            name.to_owned()
        }
    }

    fn is_pooled(&self) -> bool {
        self.address.pooled.unwrap_or_else(|| self.address.speaker.copies && self.connection.is_pooled())
    }

    fn prepare_insert(&mut self, id: OpId, op: &OpPlan) -> Result<Prepared, Error> {
        columns_of(&self.ctx, op)?;
        let table = &self.ctx.plan.tables[op.table.expect("`columns_of` found it")];
        match op.method.as_str() {
            SERVER_FILE if self.address.speaker.copies => Ok(Prepared::ServerFile(op.text.clone())),
            way @ ("bulk" | CLIENT_FILE) if self.address.speaker.copies => {
                Ok(Prepared::Copy(Box::new(Copy::new(op, table, way == CLIENT_FILE)?)))
            }
            "multirow" => {
                let batches = batches(&self.ctx, id);
                let largest = largest_batch(&self.ctx, id).unwrap_or(1000);
                let mut insert = MultiRow::new(op, table, largest, self.address.speaker.most_params)?;
                let mut out = Vec::new();
                // Batches that are not announced are parsed each time.
                let batches = if self.is_pooled() { Vec::new() } else { batches };
                insert.prepare(&format!("i{id}"), &batches, &mut out);
                self.exchange(out, &op.text, |_, _| Some(()))?;
                Ok(Prepared::MultiRow(Box::new(insert)))
            }
            "unnest" => {
                let mut out = Vec::new();
                let insert = Unnest::new(&self.kept(&format!("u{id}")), op, table, &mut out)?;
                self.exchange(out, &op.text, |_, _| Some(()))?;
                Ok(Prepared::Unnest(Box::new(insert)))
            }
            other => Err(Error::Plan(format!(
                "operation {}: method {other} is not one of postgresql's (bulk, multirow, unnest)",
                op.name
            ))),
        }
    }

    fn prepare_statement(&mut self, id: OpId, op: &OpPlan) -> Result<Statement, Error> {
        let name = self.kept(&format!("q{id}"));
        let types: Vec<LogicalType> = op.params.iter().map(|p| p.ty).collect();
        let wire: Vec<PgType> = types.iter().map(|ty| PgType::usual(*ty)).collect();
        let mut out = Vec::new();
        message::parse(&mut out, &name, &op.text, &wire);
        let parse = if name.is_empty() { out.clone() } else { Vec::new() };
        message::describe(&mut out, &name);
        let mut columns = Vec::new();
        self.exchange(out, &op.text, |tag, body| {
            if tag == b'T' {
                columns = decode::row_description(body)?;
            }
            Some(())
        })?;
        let mut formats: Vec<Format> = columns.iter().map(|c| decode::format_of(c.oid)).collect();
        if formats.windows(2).all(|pair| pair[0] == pair[1]) {
            formats.truncate(1);
        }
        let names = columns.iter().map(|c| c.name.clone()).collect();
        let (changes, keep_answer) = (op.kind == OpKind::Execute, !op.holds.is_empty());
        let call = message::Call::new(&parse, &name, types.len(), &formats);
        Ok(Statement { name, parse, types, columns, names, formats, call, changes, keep_answer })
    }

    fn prepare_extract(&mut self, id: OpId, op: &OpPlan) -> Result<Extract, Error> {
        check_way(&self.ctx, id, "postgresql", &WAYS)?;
        let batch = answer_columns(&self.ctx, id)?;
        // COPY is not prepared: the query shows here whether it is one, and what it gives.
        let mut statement = self.prepare_statement(id, op)?;
        if statement.columns.len() != batch.columns.len() {
            let (given, wanted) = (statement.columns.len(), batch.columns.len());
            let message = format!("gives {given} columns of {wanted}");
            return Err(statement_failed(&self.address, &op.text, &message));
        }
        statement.formats = vec![Format::Binary];
        let way = match op.method.as_str() {
            "copy" => {
                let text = Written::new(&op.text, op.params.len());
                let text = text.map_err(|e| Error::Plan(format!("operation {}: {e}", op.name)))?;
                Way::Copy { text, types: statement.types }
            }
            "cursor" => Way::Rows { statement, fetch_rows: fetch_rows(op) },
            _ => Way::Rows { statement, fetch_rows: 0 },
        };
        Ok(Extract { way, batch })
    }

    /// Sends `out` and a Sync, off the clock; `each` sees the messages up to ready, and says if it can read them.
    fn exchange(
        &mut self,
        mut out: Vec<u8>,
        statement: &str,
        mut each: impl FnMut(u8, &[u8]) -> Option<()>,
    ) -> Result<(), Error> {
        let address = self.address.clone();
        let lost = |e: io::Error| lost(&address, &e);
        message::sync(&mut out);
        self.connection.send(&out).map_err(lost)?;
        let mut failure = None;
        loop {
            match self.connection.receive().map_err(lost)? {
                (b'Z', _) => break,
                (b'E', body) => failure = Some(Failure::read(body)),
                (tag, body) => each(tag, body).ok_or_else(|| garbled(&address))?,
            }
        }
        match failure {
            None => Ok(()),
            Some(failure) => Err(statement_failed(&address, statement, &failure.to_string())),
        }
    }
}
