//! What is known of an operation before its first call.

use std::sync::Arc;

use super::change::Change;
use crate::engine::answers::put;
use crate::engine::shared::{clear, columns_of};
use crate::engine::valkey::template::Template;
use crate::engine::Context;
use inrush_rows::encode::resp::{unpack, Resp};
use inrush_rows::error::Error;
use inrush_rows::plan::{Assertion, OpKind, OpPlan, RowCall};
use inrush_rows::rows::{Columns, Value};

pub enum Prepared {
    Insert(Box<Resp>),
    Change(Box<Change>),
    Query(Box<Query>),
}

pub struct Query {
    pub template: Template,
    pub keep_answer: bool,
    /// It changes rows, and its number is how many.
    pub changes: bool,
    /// One packed row at a time; its memory is kept.
    pub row: Columns,
    /// Columns of the answer, in its order.
    pub returns: Vec<usize>,
    /// Their names.
    pub names: Arc<[String]>,
    /// A look-up, in which a command that comes again has no answer of its own.
    pub looks_up: bool,
}

pub fn prepare(ctx: &Context, op: &OpPlan) -> Result<Prepared, Error> {
    let table = op.table.and_then(|at| ctx.plan.tables.get(at));
    if op.kind == OpKind::Insert {
        columns_of(ctx, op)?;
        let table = table.expect("`columns_of` has found it");
        return Ok(Prepared::Insert(Box::new(Resp::new(table)?)));
    }
    let record = op.directives.as_ref().and_then(|directives| directives.record.as_deref());
    if let (Some(record), Some(table)) = (record, table) {
        return Ok(Prepared::Change(Box::new(Change::of(record, table)?)));
    }
    let wrong = |message: String| Error::Plan(format!("operation {}: {message}", op.name));
    let row = table.map(Columns::of).unwrap_or_default();
    let promised = op.holds.iter().find_map(|hold| match hold {
        Assertion::Asked { columns, .. } | Assertion::RowsRegenerate { columns, .. } => Some(columns),
        _ => None,
    });
    let returns = match promised {
        None => (0..row.columns.len()).collect(),
        Some(names) => {
            let place = |name: &String| row.columns.iter().position(|column| &column.name == name);
            let places: Option<Vec<usize>> = names.iter().map(place).collect();
            places.ok_or_else(|| wrong(format!("its table has not all columns of {}", names.join(", "))))?
        }
    };
    let template = Template::parse(&op.text).map_err(wrong)?;
    if template.params() > op.params.len() {
        return Err(wrong(format!("{} parameters for {} places", op.params.len(), template.params())));
    }
    let (keep_answer, looks_up) = (!op.holds.is_empty(), op.kind == OpKind::Query);
    let changes = op.does.is_some_and(|does| does != RowCall::Read);
    let names = returns.iter().map(|&at| row.columns[at].name.clone()).collect();
    Ok(Prepared::Query(Box::new(Query { template, keep_answer, changes, row, returns, names, looks_up })))
}

impl Query {
    /// In place of the values of `out`; `None` for what is no packed row of the table.
    pub fn values(&mut self, packed: &[u8], out: &mut Vec<Value>) -> Option<()> {
        clear(&mut self.row);
        unpack(packed, &mut self.row)?;
        out.truncate(self.returns.len());
        for (place, &at) in self.returns.iter().enumerate() {
            put(out, place, self.row.columns[at].value(0));
        }
        Some(())
    }
}
