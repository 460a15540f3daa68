//! What a session prepares before the clock runs: its statements, and the batches it will send.

use std::io;

use super::{lost, statement_failed, MySession};
use crate::engine::extract::{answer_columns, check_way, fetch_rows};
use crate::engine::messages::{self, Messages};
use crate::engine::mysql::connection::garbled;
use crate::engine::mysql::decode::{self, AnswerColumn};
use crate::engine::mysql::failure::Failure;
use crate::engine::mysql::insert::{Bulk, Load, MultiRow};
use crate::engine::mysql::message;
use crate::engine::mysql::written::Written;
use crate::engine::shared::{batches, columns_of};
use crate::engine::whole_file::{CLIENT_FILE, SERVER_FILE};
use crate::engine::OpId;
use inrush_rows::error::Error;
use inrush_rows::plan::{LogicalType, OpKind, OpPlan};
use inrush_rows::rows::Columns;

/// Ways out; the first is the usual one.
const WAYS: [&str; 3] = ["binary", TEXT, CURSOR];
const TEXT: &str = "text";
const CURSOR: &str = "cursor";

pub(super) enum Prepared {
    Load(Box<Load>),
    /// LOAD DATA of a file that the server reads: its text.
    ServerFile(String),
    Bulk(Box<Bulk>),
    MultiRow(Box<MultiRow>),
    Statement(Statement),
    Extract(Box<Extract>),
}

pub(super) struct Statement {
    pub(super) id: u32,
    pub(super) types: Vec<LogicalType>,
    pub(super) keep_answer: bool,
}

pub(super) struct Extract {
    pub(super) way: Way,
    /// As the server described them when it prepared the statement.
    pub(super) columns: Vec<AnswerColumn>,
    /// Rows on their way to the sink.
    pub(super) batch: Columns,
}

/// How rows come, which is how they are asked for.
pub(super) enum Way {
    Binary(Statement),
    /// The same rows, so many a fetch, out of a cursor of the server.
    Cursor {
        statement: Statement,
        fetch_rows: u32,
    },
    Text(Written),
}

impl MySession {
    pub(super) fn prepare(&mut self, id: OpId) -> Result<Prepared, Error> {
        let ctx = self.ctx.clone();
        let op = ctx.op(id);
        match op.kind {
            OpKind::Insert => self.prepare_insert(id, op),
            OpKind::Query | OpKind::Execute => Ok(Prepared::Statement(Statement {
                id: self.prepare_described(id, &op.text)?,
                types: op.params.iter().map(|p| p.ty).collect(),
                keep_answer: !op.holds.is_empty(),
            })),
            OpKind::Extract => self.prepare_extract(id, op),
            OpKind::Together => Err(Error::Plan(format!(
                "operation {} is made of others; a session is opened for its members",
                op.name
            ))),
        }
    }

    fn prepare_insert(&mut self, id: OpId, op: &OpPlan) -> Result<Prepared, Error> {
        let ctx = self.ctx.clone();
        columns_of(&ctx, op)?;
        let table = &ctx.plan.tables[op.table.expect("`columns_of` found it")];
        self.longest = self.variable("max_allowed_packet")?.parse().unwrap_or(usize::MAX);
        match (op.method.as_str(), self.address.engine.as_str()) {
            (SERVER_FILE, _) => Ok(Prepared::ServerFile(op.text.clone())),
            ("load" | CLIENT_FILE, _) => {
                if self.variable("local_infile")? == "OFF" {
                    let message =
                        "the server takes no LOAD DATA LOCAL; SET GLOBAL local_infile = ON, or choose \
                                   another method";
                    return Err(statement_failed(&self.address, &op.text, message));
                }
                Ok(Prepared::Load(Box::new(Load::new(op, table)?)))
            }
            ("bulk", "mariadb") => {
                let (id, _) = self.prepare_text(&op.text)?;
                Ok(Prepared::Bulk(Box::new(Bulk::new(id, table)?)))
            }
            ("multirow", _) => {
                let texts = MultiRow::statements(op, table, &batches(&ctx, id))?;
                let statements = texts
                    .into_iter()
                    .map(|(rows, text)| Ok((rows, self.prepare_text(&text)?.0)))
                    .collect::<Result<_, Error>>()?;
                Ok(Prepared::MultiRow(Box::new(MultiRow::new(statements, table)?)))
            }
            (other, engine) => Err(Error::Plan(format!(
                "operation {}: method {other} is not one of {engine}'s (load, multirow; bulk on mariadb)",
                op.name
            ))),
        }
    }

    fn prepare_extract(&mut self, id: OpId, op: &OpPlan) -> Result<Prepared, Error> {
        let ctx = self.ctx.clone();
        check_way(&ctx, id, &self.address.engine, &WAYS)?;
        let batch = answer_columns(&ctx, id)?;
        let refuse = |why: String| Error::Plan(format!("operation {}: {why}", op.name));
        // Prepared also where it is sent as text: what is wrong with it is said before the clock runs.
        let (prepared, columns) = self.prepare_text(&op.text)?;
        let way = if op.method == TEXT {
            if let Some(short) = batch.columns.iter().find(|c| c.ty == LogicalType::F32) {
                return Err(refuse(format!(
                    "MySQL writes {} (f32) as text with six digits; take the way out binary",
                    short.name
                )));
            }
            Way::Text(Written::new(&op.text, op.params.len()).map_err(refuse)?)
        } else {
            let types = op.params.iter().map(|p| p.ty).collect();
            let statement = Statement { id: prepared, types, keep_answer: false };
            match op.method.as_str() {
                CURSOR => Way::Cursor { statement, fetch_rows: fetch_rows(op) },
                _ => Way::Binary(statement),
            }
        };
        Ok(Prepared::Extract(Box::new(Extract { way, columns, batch })))
    }

    /// The id of a statement, prepared, and the columns of its answers; off the clock.
    pub(super) fn prepare_text(&mut self, text: &str) -> Result<(u32, Vec<AnswerColumn>), Error> {
        let mut columns = Vec::new();
        let id = self.prepared(text, |packet| {
            columns.push(decode::column(packet)?);
            Some(())
        })?;
        Ok((id, columns))
    }

    /// The same of an operation, whose answers are read as it was described here until they say otherwise.
    fn prepare_described(&mut self, op: OpId, text: &str) -> Result<u32, Error> {
        let mut described = std::mem::take(&mut self.described[op]);
        described.begin();
        let id = self.prepared(text, |packet| described.column(packet))?;
        described.end();
        self.described[op] = described;
        Ok(id)
    }

    fn prepared(&mut self, text: &str, mut column: impl FnMut(&[u8]) -> Option<()>) -> Result<u32, Error> {
        let address = self.address.clone();
        let lost = |e: io::Error| lost(&address, &e);
        let mut out = Vec::new();
        message::prepare(&mut out, text);
        self.connection.send(&out).map_err(lost)?;
        let packet = self.connection.receive().map_err(lost)?;
        if packet.first() == Some(&0xff) {
            return Err(statement_failed(&address, text, &Failure::read(packet).to_string()));
        }
        let head = decode::prepared(packet).ok_or_else(|| lost(garbled()))?;
        for at in 0..head.params + head.columns {
            let packet = self.connection.receive().map_err(lost)?;
            if at >= head.params {
                column(packet).ok_or_else(|| lost(garbled()))?;
            }
        }
        Ok(head.id)
    }

    /// Where all that a session does is to send statements whose answers have columns of tables alone, MySQL need not
    /// describe them with each answer: that is most of the work on a row that is found by its key, on both sides. MariaDB
    /// leaves out by itself what has not changed.
    pub(super) fn leave_out(&mut self, ops: &[OpId]) -> io::Result<()> {
        let is_known = |op: &OpId| {
            let is_statement = matches!(self.ops[*op], Some(Prepared::Statement(_)));
            is_statement && self.described[*op].columns().iter().all(|column| column.is_fixed)
        };
        let is_mysql = self.address.engine == "mysql";
        if is_mysql && self.connection.leaves_out() && !ops.is_empty() && ops.iter().all(is_known) {
            // A server that refuses goes on to describe them.
            self.leaves_out = self.connection.command("SET resultset_metadata = NONE")?.is_ok();
        }
        Ok(())
    }

    /// For a statement that was not prepared with the session's own: nothing is known of its columns.
    pub(super) fn describe_again(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.leaves_out) {
            return Ok(());
        }
        messages::drain(self)?;
        self.connection
            .command("SET resultset_metadata = FULL")?
            .map_err(|why| io::Error::other(why.to_string()))
    }

    /// A setting of this session, as text.
    fn variable(&mut self, name: &str) -> Result<String, Error> {
        let statement = format!("SHOW SESSION VARIABLES LIKE '{name}'");
        let rows = self.ask(&statement).map_err(|e| lost(&self.address, &e))?;
        let rows =
            rows.map_err(|failure| statement_failed(&self.address, &statement, &failure.to_string()))?;
        let value = rows.into_iter().next().and_then(|row| row.into_iter().nth(1));
        Ok(value.map(|value| inrush_rows::rows::value_text(&value)).unwrap_or_default())
    }
}
