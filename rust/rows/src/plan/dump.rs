//! A table written to files, and the same files as a source of rows.

use serde::{Deserialize, Serialize};

use super::{ColumnPlan, RowSource, TablePlan};

/// The type on the wire of every column of a dump.
pub const DUMPED: &str = "dumped";

/// Of an operation of kind `extract`: call `n` writes what it reads to file `n`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DumpPlan {
    pub table: usize,
    /// Made where it is not there. Its files are `<name>-00000.csv` and so on.
    pub folder: String,
    pub name: String,
    /// What `PieceFrom` and `PieceTo` of call `n` are: `bounds[n]` and `bounds[n + 1]`. Empty: one file with all rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<i64>,
    /// Rows that a `cursor` fetches at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_rows: Option<u32>,
}

impl DumpPlan {
    pub fn files(&self) -> u64 {
        self.bounds.len().saturating_sub(1).max(1) as u64
    }

    pub fn path(&self, file: u64) -> String {
        format!("{}/{}-{file:05}.csv", self.folder, self.name)
    }

    /// The table as CSV holds it: no type of an engine shapes its text.
    pub fn written(&self, table: &TablePlan) -> TablePlan {
        let bare = |column: &ColumnPlan| ColumnPlan { wire: DUMPED.into(), ..column.clone() };
        TablePlan { columns: table.columns.iter().map(bare).collect(), ..table.clone() }
    }

    /// The table with these files as its rows, in their order. No row of a dump may be rejected.
    pub fn as_files(&self, table: &TablePlan) -> TablePlan {
        let source = RowSource::Files {
            paths: (0..self.files()).map(|file| self.path(file)).collect(),
            format: "csv".into(),
            header: false,
            written: Default::default(),
            reject_path: format!("{}/{}-rejected.csv", self.folder, self.name),
            reject_limit: 0,
            required: Vec::new(),
            limits: Default::default(),
            times: Default::default(),
            zone: Vec::new(),
            bytes: Vec::new(),
        };
        TablePlan { source, ..table.clone() }
    }
}
