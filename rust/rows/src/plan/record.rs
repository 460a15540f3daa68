//! What calls by key do ([`RowCall`]), those that are no statement ([`RecordCall`]), and what `ndb` is asked off the clock, which has no language.

use serde::{Deserialize, Serialize};

/// Calls by key: a read is a query, the others are executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowCall {
    Read,
    Insert,
    Update,
    /// An update where the row is there, else an insert.
    Write,
    Delete,
}

/// What each call of an operation does with a row, or with several of one table. `ndb` and `null:record` take all calls by
/// key so, `valkey` those that set a whole row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordCall {
    pub does: RowCall,
    /// Name in the database.
    pub table: String,
    /// By parameter, the column that it is a value of: of a read and a delete those of the key, of others all that are
    /// set. A column that comes more than once is a list, with a value for each row of the call.
    pub columns: Vec<String>,
}

/// Of a statement: what is done, or what is asked. A database is a prefix of tables; it is inrush's where it has the table
/// of the mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum NdbAction {
    /// Fails where there is one. It is logged, unless the option `logging` says otherwise.
    CreateTable { table: String, columns: Vec<NdbColumn> },
    /// Only in a database that is inrush's; nothing where there is none.
    DropTable { table: String },
    /// Makes the table of the mark, which fails where there is one, and writes its holder.
    Mark {
        database: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<String>,
    },
    /// One row: the holder of the mark; fails where there is none.
    Holder { database: String },
    /// All its tables, the mark last; only where it is inrush's, unless `force`.
    DropDatabase {
        database: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
    /// Those of `databases` that have tables and no mark.
    Foreign { databases: Vec<String> },
    /// One row: how many rows a table has, each of them read.
    Count { table: String },
    /// Every row, all columns in their order.
    Scan { table: String },
    /// Rows of (name, value): bytes of each table's fixed and variable parts, one replica of each.
    Sizes { tables: Vec<String> },
    /// Rows of (name, value): the version of the management server.
    Version {},
    /// Rows of (name, value): data nodes, node groups, and the options that this engine was given.
    Settings {},
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NdbColumn {
    pub name: String,
    /// As [`super::ColumnPlan::wire`].
    pub wire: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub key: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nullable: bool,
}
