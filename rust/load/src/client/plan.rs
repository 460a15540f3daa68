//! What a client is told: its files, how they are read, and the way to the load server.

use serde::Deserialize;

use crate::link::{LinkPlan, Setup};
use crate::wire::SILENCE;
use inrush_rows::error::Error;
use inrush_rows::plan::{ChecksumItem, RowSource, TablePlan};
use inrush_rows::rows::files::FileStamp;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientPlan {
    pub link: LinkPlan,
    pub import: String,
    /// How the load server is to open this import, where it was not started for it.
    #[serde(default)]
    pub setup: Setup,
    /// So long the load server may say nothing; it says something every other second.
    #[serde(default = "usual_silence_ns")]
    pub silence_ns: u64,
    /// What files hold and how they are read. A source's path and reject file are those of each file.
    #[serde(default)]
    pub tables: Vec<TablePlan>,
    pub files: Vec<ClientFile>,
    /// Files read at once, each over a connection of its own.
    pub parallel: u32,
    pub chunk_rows: usize,
    /// What is summed over the rows of each chunk while they are parsed; nothing: no sums.
    #[serde(default)]
    pub items: Vec<ChecksumItem>,
    /// More rejected rows than this in all files end the load.
    pub reject_limit: u64,
    /// Holds the reading to a rate, all files together.
    pub bytes_per_s: Option<f64>,
    /// Holds every reader to a rate of its own.
    pub reader_bytes_per_s: Option<f64>,
    /// A reader begins its next file when the one before is stored whole, and says when each began and how long it took.
    #[serde(default)]
    pub file_by_file: bool,
    /// A chunk is sent when the one before is stored: what comes last stays, also where a chunk has rows that a server refuses.
    #[serde(default)]
    pub in_order: bool,
}

fn usual_silence_ns() -> u64 {
    SILENCE.as_nanos() as u64
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientFile {
    /// Its number in the ledger.
    pub number: u32,
    /// Its place in `tables`.
    #[serde(default)]
    pub table: usize,
    pub path: String,
    /// Of its own.
    pub reject_path: String,
    /// As it was when its digest was taken. Without: it may change.
    #[serde(default)]
    pub stamp: Option<FileStamp>,
    /// Of an Arrow stream, whose positions are rows: bytes of the file that it was made of, for each of them.
    #[serde(default = "one")]
    pub unit_bytes: f64,
}

fn one() -> f64 {
    1.0
}

impl ClientPlan {
    pub(super) fn table_of(&self, file: &ClientFile) -> Result<&TablePlan, Error> {
        let missing =
            || Error::Plan(format!("file {} is of table {}, which is not there", file.number, file.table));
        self.tables.get(file.table).ok_or_else(missing)
    }
}

impl ClientFile {
    /// `table` with this file as its source.
    pub(super) fn reads(&self, table: &TablePlan) -> TablePlan {
        let mut own = table.clone();
        if let RowSource::Files { paths, reject_path, .. } = &mut own.source {
            *paths = vec![self.path.clone()];
            reject_path.clone_from(&self.reject_path);
        }
        own
    }

    /// Bytes of the user's file up to a position.
    pub(super) fn bytes_until(&self, offset: u64) -> u64 {
        (offset as f64 * self.unit_bytes).round() as u64
    }

    /// Errors: it is not as it was when it was looked at.
    pub(super) fn check(&self) -> Result<(), Error> {
        let Some(stamp) = self.stamp else { return Ok(()) };
        let path = &self.path;
        let now = FileStamp::read(path).map_err(|e| Error::File {
            path: path.clone(),
            problem: format!("cannot be read any more ({e}); repeat the command when it can be"),
        })?;
        stamp.change_to(&now).map_or(Ok(()), |what| Err(Error::Changed { path: path.clone(), what }))
    }
}
