//! The user's own files as a source of rows: every row is stored or rejected, never lost.
//!
//! Reading order: `dialect` (how rows are written), `split` (bytes to fields; `json` of JSON lines), `escapes` (a field to its
//! text), `window` (a file to records), `parse` (text to value), `fast_path` (all at once, of plain records), `text` (files to
//! batches), `reject`, `feed` (batches to sessions). `sample` finds out how a file is to be read, by the same reader. `arrow`
//! reads what Parquet files were turned into; `stamp` says whether a file is as it was.

mod arrow;
mod batch;
mod dialect;
mod escapes;
mod fast_path;
mod feed;
mod json;
mod limit;
mod parse;
mod reject;
pub mod sample;
mod split;
mod stamp;
mod text;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::plan::{ColumnPlan, Limits, LogicalType, RowSource, TablePlan, TimeForm};
use crate::types::Holds;

use super::columns::{Column, Columns};

use arrow::ArrowFiles;
use dialect::Dialect;
use parse::{TimeReader, Zone};
use reject::Rejects;
use text::TextFiles;

pub use feed::{FileBatch, FileFeed, FileSummary};
pub use parse::Reason;
pub use reject::reject_row;
pub use stamp::FileStamp;

/// Longest row that is read; a longer one is rejected.
pub const LINE_LIMIT_BYTES: usize = 16 << 20;
/// A batch ends early at so much text, so that its offsets fit into 32 bits.
const BATCH_BYTES: usize = 256 << 20;

/// Rows of a table's files, in order, in batches.
pub struct FileRows {
    reader: Reader,
    rejects: Rejects,
    specs: Vec<ColumnSpec>,
    stored: u64,
}

/// Where the next batch begins: equal files and equal batch sizes give equal batches from here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub file: usize,
    /// Byte of a text file, row of an Arrow stream.
    pub offset: u64,
    pub line: u64,
    /// Rows before it that were good, and that were not.
    pub stored: u64,
    pub rejected: u64,
    /// Length of the reject file that goes with them.
    pub reject_bytes: u64,
}

enum Reader {
    Text(Box<TextFiles>),
    Arrow(Box<ArrowFiles>),
}

#[derive(Debug, Clone)]
struct ColumnSpec {
    name: String,
    ty: LogicalType,
}

/// What the readers need of a table's plan.
#[derive(Debug, Clone)]
struct Layout {
    paths: Vec<String>,
    columns: Vec<ColumnSpec>,
    required: Vec<bool>,
    limits: Vec<Option<Limits>>,
    times: Vec<Option<TimeReader>>,
    /// Values of these are bytes: see `RowSource::Files`.
    bytes: Vec<bool>,
    /// Values of these are numbers: see `Dialect::marks`.
    numbers: Vec<bool>,
    /// Lists that may hold NULL.
    null_items: Vec<bool>,
    /// A batch ends with the row that passes so many bytes. Rows that are rejected are none of it: an empty batch is the
    /// end of the files.
    batch_bytes: usize,
}

impl FileRows {
    /// Opens nothing yet but says what is wrong with the plan. A table without files is a plan error.
    ///
    /// With a header, columns are found by name and further fields of the file are left out; without,
    /// fields are the columns in order. Columns of `identity` and of `required` may not be null.
    pub fn open(table: &TablePlan) -> Result<FileRows, Error> {
        FileRows::open_with_limit(table, LINE_LIMIT_BYTES)
    }

    /// `open`, for tests that reject long lines without writing long files.
    pub fn open_with_limit(table: &TablePlan, line_limit_bytes: usize) -> Result<FileRows, Error> {
        let RowSource::Files {
            paths,
            format,
            header,
            written,
            reject_path,
            reject_limit,
            required,
            limits,
            times,
            zone,
            bytes,
        } = &table.source
        else {
            return Err(Error::Plan(format!(
                "table {}: its rows are generated, not read from files",
                table.name
            )));
        };
        if paths.is_empty() {
            return Err(Error::Plan(format!(
                "table {}: source.paths is empty; name at least one file",
                table.name
            )));
        }
        let is_required = |name: &String| table.identity.contains(name) || required.contains(name);
        let is_number = |c: &ColumnPlan| {
            matches!(c.ty.holds(), Holds::Signed(_) | Holds::Unsigned(_) | Holds::Float(_))
                || limits.get(&c.name).is_some_and(|l| l.number.is_some())
        };
        let specs: Vec<ColumnSpec> =
            table.columns.iter().map(|c| ColumnSpec { name: c.name.clone(), ty: c.ty }).collect();
        let layout = Layout {
            paths: paths.clone(),
            columns: specs.clone(),
            required: table.columns.iter().map(|c| is_required(&c.name)).collect(),
            limits: table.columns.iter().map(|c| limits.get(&c.name).copied()).collect(),
            times: times_of(table, times, zone)?,
            bytes: table.columns.iter().map(|c| bytes.contains(&c.name)).collect(),
            numbers: table.columns.iter().map(is_number).collect(),
            null_items: table.columns.iter().map(ColumnPlan::has_null_items).collect(),
            batch_bytes: BATCH_BYTES,
        };
        let reader = if format == "arrow" {
            Reader::Arrow(Box::new(ArrowFiles::new(layout)))
        } else {
            let of_table = |problem| Error::Plan(format!("table {}: source.{problem}", table.name));
            let mut dialect = Dialect::new(format, written).and_then(Dialect::checked).map_err(of_table)?;
            dialect.keys = specs.iter().map(|c| c.name.clone()).collect();
            Reader::Text(Box::new(TextFiles::new(layout, dialect, *header, line_limit_bytes)))
        };
        Ok(FileRows { reader, rejects: Rejects::new(reject_path, *reject_limit), specs, stored: 0 })
    }

    /// For tests of long rows without long files.
    pub fn with_batch_bytes(mut self, bytes: usize) -> FileRows {
        match &mut self.reader {
            Reader::Text(files) => files.layout.batch_bytes = bytes,
            Reader::Arrow(files) => files.layout.batch_bytes = bytes,
        }
        self
    }

    /// An empty batch of this table.
    pub fn columns(&self) -> Columns {
        let columns = self.specs.iter().map(|c| Column::new(c.name.clone(), c.ty)).collect();
        Columns::new(0, columns)
    }

    /// Replaces `out` by the next `rows` good rows; fewer at the end or in a batch of very long
    /// texts, 0 after the last. Errors: a file that cannot be read, a header without a column of the table, more rejects
    /// than the limit, a reject file that cannot be written.
    pub fn next_batch(&mut self, rows: usize, out: &mut Columns) -> Result<usize, Error> {
        batch::clear(out);
        match &mut self.reader {
            Reader::Text(files) => files.fill(rows, out, &mut self.rejects)?,
            Reader::Arrow(files) => files.fill(rows, out, &mut self.rejects)?,
        }
        self.rejects.flush()?;
        self.stored += out.rows as u64;
        Ok(out.rows)
    }

    /// Replaces `out` by the next good row; gives its line and, of a text file, the row as it stands there. `None` after the last.
    /// Slow: for the few rows of which that is asked.
    pub fn next_row(&mut self, out: &mut Columns) -> Result<Option<(u64, Vec<u8>)>, Error> {
        if let Reader::Text(files) = &mut self.reader {
            files.keep_row();
        }
        if self.next_batch(1, out)? == 0 {
            return Ok(None);
        }
        Ok(Some(match &mut self.reader {
            Reader::Text(files) => files.kept_row(),
            Reader::Arrow(files) => (files.place().1, Vec::new()),
        }))
    }

    pub fn position(&self) -> Position {
        let (file, offset, line) = match &self.reader {
            Reader::Text(files) => files.place(),
            Reader::Arrow(files) => files.place(),
        };
        let Rejects { count: rejected, bytes: reject_bytes, .. } = self.rejects;
        Position { file, offset, line, stored: self.stored, rejected, reject_bytes }
    }

    /// Goes to a position that an earlier reader of the same files gave; later rejects are written anew.
    pub fn seek(&mut self, to: &Position) -> Result<(), Error> {
        match &mut self.reader {
            Reader::Text(files) => files.seek(to)?,
            Reader::Arrow(files) => files.seek(to)?,
        }
        self.stored = to.stored;
        self.rejects.resume(to.rejected, to.reject_bytes)
    }
}

/// The form of each column's times. Errors: a column that the table has not, or one that is no time; a pattern that is none.
fn times_of(
    table: &TablePlan,
    times: &BTreeMap<String, TimeForm>,
    zone: &[(i64, i64)],
) -> Result<Vec<Option<TimeReader>>, Error> {
    let is_time = |ty| matches!(ty, LogicalType::TimeMs | LogicalType::TimeUs | LogicalType::Date);
    let known = |name: &String| table.columns.iter().any(|c| c.name == *name && is_time(c.ty));
    if let Some(name) = times.keys().find(|name| !known(name)) {
        return Err(Error::Plan(format!(
            "table {}: source.times names {name}; it is no column of times or dates",
            table.name
        )));
    }
    let wrong = |why: String| Error::Plan(format!("table {}: source.times: {why}", table.name));
    let zone = if zone.is_empty() { None } else { Some(Arc::new(Zone::new(zone).map_err(wrong)?)) };
    let reader = |form| TimeReader::new(form, zone.as_ref()).map_err(wrong);
    let of = |c: &ColumnPlan| match times.get(&c.name) {
        Some(form) => reader(form).map(Some),
        None => Ok(zone.as_ref().filter(|_| c.ty.is_time()).map(TimeReader::of_zone)),
    };
    table.columns.iter().map(of).collect()
}
