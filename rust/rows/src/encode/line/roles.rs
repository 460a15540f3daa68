//! What each column of a table becomes in a point, and what the point is called.

use crate::error::Error;
use crate::plan::{ColumnPlan, LogicalType, TablePlan};

/// Wire types, as the twin gives them.
pub const TAG: &str = "tag";
pub const TIME: &str = "time";
/// Stands in a row if all its fields may be NULL: a point has one at least.
pub const ROW_FIELD: &str = "inrush_row";

/// What a column of a table becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Tag,
    Time,
    Field,
}

/// The role of every column. Errors: no column, or more than one, is the time of a point.
pub fn roles(table: &TablePlan) -> Result<Vec<Role>, Error> {
    let is_time = |c: &ColumnPlan| matches!(c.ty, LogicalType::TimeMs | LogicalType::TimeUs);
    let usual = table.columns.iter().position(|c| is_time(c) && table.identity.contains(&c.name));
    let role = |(at, column): (usize, &ColumnPlan)| match column.wire.as_str() {
        TAG => Role::Tag,
        TIME => Role::Time,
        "" if Some(at) == usual => Role::Time,
        "" if table.identity.contains(&column.name) => Role::Tag,
        _ => Role::Field,
    };
    let roles: Vec<Role> = table.columns.iter().enumerate().map(role).collect();
    match roles.iter().filter(|&&role| role == Role::Time).count() {
        1 => Ok(roles),
        times => Err(Error::Plan(format!(
            "table {}: a point has one time, and {times} columns of its identity are times",
            table.name
        ))),
    }
}

/// The measurement: the last of the quoted names in `"database".."measurement"`, or the name as it is.
pub fn measurement(name: &str) -> String {
    let last = name.rsplit_once("..").map_or(name, |(_, last)| last);
    unquoted(last).unwrap_or_else(|| name.to_owned())
}

/// The database of `"database".."measurement"`; empty where the name has none.
pub fn database(name: &str) -> String {
    name.rsplit_once("..").and_then(|(database, _)| unquoted(database)).unwrap_or_default()
}

fn unquoted(name: &str) -> Option<String> {
    let inner = name.strip_prefix('"')?.strip_suffix('"')?;
    Some(inner.replace("\\\"", "\"").replace("\\\\", "\\"))
}

/// Whether some field stands in every row, so that [`ROW_FIELD`] is not needed.
pub fn has_a_field_in_every_row(table: &TablePlan, roles: &[Role]) -> bool {
    let fields = table.columns.iter().zip(roles).filter(|(_, role)| **role == Role::Field);
    fields.map(|(column, _)| column).any(|c| c.null_ppm == 0 && c.gen.is_some())
}
