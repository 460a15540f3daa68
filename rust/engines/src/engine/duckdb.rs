//! DuckDB in the client's process, through the ADBC driver in its own library.
//!
//! The library of the Python package needs a Python process around it. Options of the target: `driver`,
//! `entrypoint`, and any `set.<name>` for a setting of the database, e.g. `set.threads`.

use adbc_core::options::{OptionDatabase, OptionValue};

use super::adbc::{Adbc, Driven};
use super::{Context, Outcome};
use inrush_rows::error::Error;
use inrush_rows::plan::{ColumnPlan, LogicalType};
use inrush_rows::types::Holds;

const DRIVEN: Driven = Driven {
    // Times are stored in UTC; without this they would be shown, cut and grouped in the machine's own zone.
    prepare: &["SET GLOBAL TimeZone = 'UTC'"],
    classify,
    in_process: true,
    ingest_is_atomic: true,
    most_rows,
};

/// Rows of one of DuckDB's vectors.
const VECTOR_ROWS: usize = 2048;

/// An ingest that has to cast values takes no batch of more rows than a vector ("Vector::SetSize out of range", 2.0.0).
/// Batches of such parts are stored up to a tenth slower, so the others stay whole.
fn most_rows(columns: &[ColumnPlan]) -> Option<usize> {
    columns.iter().any(|c| c.wire != uncast(c.ty)).then_some(VECTOR_ROWS)
}

/// The type that holds what arrives of this one as it is.
fn uncast(ty: LogicalType) -> String {
    let name = match ty.holds() {
        Holds::Truth => "BOOLEAN",
        Holds::Signed(16) => "SMALLINT",
        Holds::Signed(32) => "INTEGER",
        Holds::Signed(_) => "BIGINT",
        Holds::Unsigned(8) => "UTINYINT",
        Holds::Unsigned(16) => "USMALLINT",
        Holds::Unsigned(32) => "UINTEGER",
        Holds::Unsigned(_) => "UBIGINT",
        Holds::Float(32) => "FLOAT",
        Holds::Float(_) => "DOUBLE",
        Holds::Time(_) => "TIMESTAMPTZ",
        Holds::Text | Holds::Spelled | Holds::Bits => "VARCHAR",
        Holds::Bytes => "BLOB",
        Holds::List(item) => return format!("{}[]", uncast(item)),
    };
    name.to_owned()
}

/// A file that all sessions share; `duckdb://` alone is a database in memory.
pub fn duckdb(ctx: &Context) -> Result<Adbc, Error> {
    let target = &ctx.plan.target;
    let path =
        target.url.strip_prefix("duckdb://").or_else(|| target.url.strip_prefix("duckdb:")).unwrap_or("");
    let mut options: Vec<(OptionDatabase, OptionValue)> = vec![(OptionDatabase::from("path"), path.into())];
    for (name, value) in &target.options {
        if let Some(setting) = name.strip_prefix("set.") {
            options.push((OptionDatabase::from(setting), value.as_str().into()));
        }
    }
    Adbc::with(ctx, DRIVEN, options)
}

/// DuckDB's driver gives every failure the same status; its messages start with the kind of error.
fn classify(message: &str) -> Option<Outcome> {
    let kinds = [
        ("INTERRUPT Error", Outcome::Timeout),
        ("TransactionContext Error", Outcome::Conflict),
        ("Catalog Error", Outcome::Undefined),
        ("Constraint Error", Outcome::Refused),
        ("Conversion Error", Outcome::Refused),
        ("Invalid Input Error", Outcome::Refused),
        ("Permission Error", Outcome::Refused),
    ];
    if message.contains("onflict on ") {
        return Some(Outcome::Conflict);
    }
    kinds.iter().find(|(kind, _)| message.contains(kind)).map(|(_, outcome)| *outcome)
}
