//! What is known of an operation before its first call.

use crate::engine::clickhouse::decode::Type;
use crate::engine::clickhouse::extract::{ROW_BINARY, WAYS};
use crate::engine::clickhouse::request::insert;
use crate::engine::clickhouse::statement::Template;
use crate::engine::extract::{answer_columns, check_way};
use crate::engine::shared::columns_of;
use crate::engine::whole_file::CLIENT_FILE;
use crate::engine::{Context, OpId};
use inrush_rows::encode::{encoder, Encoder};
use inrush_rows::error::Error;
use inrush_rows::plan::{OpKind, OpPlan};
use inrush_rows::rows::Columns;

/// Method -> wire, and the server's name of it.
const FORMATS: [(&str, &str, &str); 5] = [
    ("native", "native", "Native"),
    ("rowbinary", "rowbinary", "RowBinary"),
    ("tsv", "text", "TabSeparated"),
    ("values", "values", "Values"),
    (CLIENT_FILE, "text", "TabSeparated"),
];
/// Method of a statement that gives statements, for what ClickHouse does partition by partition.
const EACH: &str = "each";

pub enum Prepared {
    Insert {
        encoder: Box<dyn Encoder>,
        query: String,
    },
    Statement {
        template: Template,
        kind: Kind,
    },
    /// types: of the columns, where rows come as RowBinary.
    Extract {
        template: Template,
        batch: Columns,
        types: Option<Vec<Type>>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A query with an answer that is not looked at, or a change.
    Counted,
    Kept,
    /// Its answer is statements, each of which is then run.
    Each,
}

pub fn prepare(ctx: &Context, id: OpId) -> Result<Prepared, Error> {
    let op = ctx.op(id);
    let statement = |kind| Ok(Prepared::Statement { template: Template::new(&op.text), kind });
    match op.kind {
        OpKind::Insert => prepare_insert(ctx, op),
        OpKind::Query if op.holds.is_empty() => statement(Kind::Counted),
        OpKind::Query => statement(Kind::Kept),
        OpKind::Execute if op.method == EACH => statement(Kind::Each),
        OpKind::Execute => statement(Kind::Counted),
        OpKind::Extract => {
            check_way(ctx, id, "clickhouse", &WAYS)?;
            // The types are asked for once the session is connected.
            let types = (op.method == ROW_BINARY).then(Vec::new);
            Ok(Prepared::Extract {
                template: Template::new(&op.text),
                batch: answer_columns(ctx, id)?,
                types,
            })
        }
        OpKind::Together => Err(Error::Plan(format!(
            "operation {} is made of others; a session is opened for its members",
            op.name
        ))),
    }
}

fn prepare_insert(ctx: &Context, op: &OpPlan) -> Result<Prepared, Error> {
    columns_of(ctx, op)?;
    let table = &ctx.plan.tables[op.table.expect("`columns_of` found it")];
    let format = FORMATS.iter().find(|(method, ..)| *method == op.method);
    let (_, wire, format) = format.ok_or_else(|| {
        let known = FORMATS.map(|(method, ..)| method).join(", ");
        Error::Plan(format!(
            "operation {}: method {} is not one of clickhouse's ({known})",
            op.name, op.method
        ))
    })?;
    Ok(Prepared::Insert { encoder: encoder(wire, table)?, query: insert(&op.text, format) })
}
