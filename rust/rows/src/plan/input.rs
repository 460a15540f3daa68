//! Rows of a generated table as files that are made before the clock, and then loaded.

use serde::{Deserialize, Serialize};

use super::{ColumnPlan, RowSource, TablePlan, DUMPED};

/// Files with rows of a table, as tab-separated text (`text` of the encoders).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputPlan {
    pub table: usize,
    /// Of all files together.
    pub rows: u64,
    /// Where they begin in the table: loads before have the rows up to there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_row: u64,
    pub files: u64,
    /// Its files are `<name>-000000.tsv` and so on. Files of these names that are there are kept: their rows are not looked at.
    pub folder: String,
    pub name: String,
    /// The kernel forgets them before they are loaded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    /// A step has sorted them: a file is one run of the keys.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sorted: bool,
    pub way: InputWay,
}

/// Input files sorted by one of their columns, as a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SortPlan {
    pub label: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    pub from: InputPlan,
    /// As many files with as many rows each.
    pub to: InputPlan,
    /// Its place in a row.
    pub column: usize,
    /// What orders its values; `None`: their bytes, as of texts, and of dates, which sort as their texts do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SortBy>,
    pub limit_ns: u64,
}

/// How the texts of a column are read as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SortBy {
    /// Whole numbers and decimals, of any length.
    Number,
    /// Numbers with an exponent.
    Float,
}

/// How a file comes into the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputWay {
    /// Its bytes, as they are, through the session.
    Client,
    /// Its path, and the server reads it.
    Server,
    /// Read and parsed: batches of its rows, like any other.
    Parsed,
}

fn is_zero(row: &u64) -> bool {
    *row == 0
}

impl InputPlan {
    pub fn path(&self, file: u64) -> String {
        format!("{}/{}-{file:06}.tsv", self.folder, self.name)
    }

    /// First row of each file where the table has no files of its own, and the end: all have as many, or one more.
    pub fn equal(&self) -> Vec<u64> {
        let cut =
            |file: u64| (u128::from(self.rows) * u128::from(file) / u128::from(self.files.max(1))) as u64;
        (0..=self.files).map(|file| self.first_row + cut(file)).collect()
    }

    /// The same where the table lies in files that begin at `own`, its last number being the end. A file of the table that
    /// the first or the last row of these cuts is a file on each side.
    pub fn within(&self, own: &[u64]) -> Vec<u64> {
        let (first, end) = (self.first_row, self.first_row + self.rows);
        if (own.first(), own.last()) == (Some(&first), Some(&end)) {
            return own.to_vec();
        }
        let inside = own.iter().copied().filter(|row| (first + 1..end).contains(row));
        std::iter::once(first).chain(inside).chain(std::iter::once(end)).collect()
    }

    /// The table as the files hold it: no type of an engine shapes their text.
    pub fn written(&self, table: &TablePlan) -> TablePlan {
        let bare = |column: &ColumnPlan| ColumnPlan { wire: DUMPED.into(), ..column.clone() };
        TablePlan { columns: table.columns.iter().map(bare).collect(), ..table.clone() }
    }

    /// The table with these files as its rows, in their order. No row of them may be rejected.
    pub fn as_files(&self, table: &TablePlan) -> TablePlan {
        let source = RowSource::Files {
            paths: (0..self.files).map(|file| self.path(file)).collect(),
            format: "mysql".into(),
            header: false,
            written: Default::default(),
            reject_path: format!("{}/{}-rejected.tsv", self.folder, self.name),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_share_all_rows() {
        let of = |rows, files| {
            let (folder, name) = ("d".into(), "t".into());
            InputPlan {
                table: 0,
                rows,
                first_row: 0,
                files,
                folder,
                name,
                cold: false,
                sorted: false,
                way: InputWay::Client,
            }
        };
        assert_eq!(of(10, 4).equal(), [0, 2, 5, 7, 10]);
        assert_eq!(of(3, 3).equal(), [0, 1, 2, 3]);
        let cuts = of(u64::MAX / 3, 106_892).equal();
        assert_eq!((cuts[0], cuts[106_892]), (0, u64::MAX / 3));
        let sizes: Vec<u64> = cuts.windows(2).map(|ends| ends[1] - ends[0]).collect();
        assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        assert_eq!(of(1, 2).path(12), "d/t-000012.tsv");
        let behind = |rows, files| InputPlan { first_row: 10, ..of(rows, files) };
        assert_eq!(behind(10, 4).equal(), [10, 12, 15, 17, 20]);
        // Files of a table, two of them without rows.
        let own = [0, 5, 5, 12, 12, 20];
        assert_eq!(of(20, 5).within(&own), own);
        assert_eq!(of(10, 3).within(&own), [0, 5, 5, 10]);
        assert_eq!(behind(10, 3).within(&own), [10, 12, 12, 20]);
        assert_eq!(InputPlan { first_row: 12, ..of(8, 1) }.within(&own), [12, 20]);
        assert_eq!(behind(2, 1).within(&own), [10, 12]);
    }
}
