//! What a session prepares before the clock runs: a statement for each operation, and several for an insert.

use adbc_core::error::Error as AdbcError;
use adbc_core::options::{IngestMode, OptionStatement};
use adbc_core::{Connection, Optionable, Statement};
use adbc_driver_manager::{ManagedConnection, ManagedStatement};
use arrow_schema::SchemaRef;

use super::{failed, statement, Driven};
use crate::engine::extract::{answer_columns, check_way};
use crate::engine::shared::{columns_of, largest_batch, repeat_values, statement_sizes};
use crate::engine::whole_file::SERVER_FILE;
use crate::engine::{arrow, Context, OpId};
use inrush_rows::error::Error;
use inrush_rows::plan::{ColumnPlan, OpKind, OpPlan, Target};
use inrush_rows::rows::Columns;

/// Parameters of one INSERT of method `multirow`: drivers take them one by one, so that more saves nothing.
const MULTIROW_PARAMS: usize = 1_024;

/// One operation, prepared.
pub(super) enum Ready {
    Ingest {
        statement: ManagedStatement,
        schema: SchemaRef,
        most_rows: Option<usize>,
    },
    /// Statements for so many rows at once, largest first; the last takes one.
    Multirow {
        sizes: Vec<Multirow>,
        schema: SchemaRef,
    },
    /// The engine reads a file itself.
    ServerFile {
        text: String,
    },
    Query {
        statement: ManagedStatement,
        has_assertions: bool,
    },
    Execute {
        statement: ManagedStatement,
    },
    Extract {
        statement: ManagedStatement,
        batch: Columns,
    },
    /// Its members are operations of their own.
    Together,
}

/// An INSERT of so many rows, and the schema of its parameters.
pub(super) struct Multirow {
    pub(super) rows: usize,
    pub(super) statement: ManagedStatement,
    pub(super) wide: SchemaRef,
}

impl Ready {
    pub(super) fn new(
        ctx: &Context,
        driven: Driven,
        connection: &mut ManagedConnection,
        op: OpId,
    ) -> Result<Ready, Error> {
        let plan = ctx.op(op);
        let target = &ctx.plan.target;
        let prepared = |connection: &mut _, text: &str| prepared(connection, target, text);
        Ok(match plan.kind {
            OpKind::Insert => Ready::insert(ctx, driven, connection, op)?,
            OpKind::Query => Ready::Query {
                statement: prepared(connection, &plan.text)?,
                has_assertions: !plan.holds.is_empty(),
            },
            OpKind::Execute => Ready::Execute { statement: prepared(connection, &plan.text)? },
            OpKind::Extract => {
                check_way(ctx, op, &target.engine, &["arrow"])?;
                Ready::Extract {
                    statement: prepared(connection, &plan.text)?,
                    batch: answer_columns(ctx, op)?,
                }
            }
            OpKind::Together => Ready::Together,
        })
    }

    fn insert(
        ctx: &Context,
        driven: Driven,
        connection: &mut ManagedConnection,
        op: OpId,
    ) -> Result<Ready, Error> {
        let plan = ctx.op(op);
        let target = &ctx.plan.target;
        let columns = table_columns(ctx, plan)?;
        let schema = arrow::schema_of(columns);
        Ok(match plan.method.as_str() {
            "bulk" => {
                let statement = ingest_into(connection, &plan.text);
                Ready::Ingest {
                    statement: statement.map_err(|e| failed(target, &plan.text, &e))?,
                    schema,
                    most_rows: (driven.most_rows)(columns),
                }
            }
            "multirow" => {
                let most = (MULTIROW_PARAMS / columns.len()).max(1);
                let sizes = statement_sizes(most, largest_batch(ctx, op));
                let sized = |rows| {
                    let text = repeat_values(&plan.text, rows)?;
                    let statement = prepared(connection, target, &text)?;
                    Ok(Multirow { rows, statement, wide: arrow::side_by_side(&schema, rows) })
                };
                Ready::Multirow { sizes: sizes.into_iter().map(sized).collect::<Result<_, Error>>()?, schema }
            }
            SERVER_FILE => Ready::ServerFile { text: plan.text.clone() },
            other => return Err(Error::Plan(format!("operation {}: adbc has no method {other}", plan.name))),
        })
    }
}

fn prepared(
    connection: &mut ManagedConnection,
    target: &Target,
    text: &str,
) -> Result<ManagedStatement, Error> {
    let made = statement(connection, text).and_then(|mut s| s.prepare().map(|()| s));
    made.map_err(|e| failed(target, text, &e))
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

fn table_columns<'a>(ctx: &'a Context, plan: &OpPlan) -> Result<&'a [ColumnPlan], Error> {
    columns_of(ctx, plan)?;
    let table = plan.table.expect("columns_of has found it");
    Ok(&ctx.plan.tables[table].columns)
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
