//! The border out: the tables of `docs/results.md` as Arrow IPC streams, appended while a run goes on.
//!
//! Each table is one file, `<name>.arrows`: a schema, then a record batch per flush that had rows.
//! A file cut by a kill is readable up to its last whole batch.

mod file;

use std::path::Path;

use arrow_array::builder::StringBuilder;

use file::{Cell, Column, Row, Stream, Table};

use crate::record::{
    FailureRow, FileRow, HistRow, IntervalRow, Kind, Recorded, RepetitionRow, SampleRow, SendRow, SessionRow,
    GROUPING_POWER,
};
use inrush_rows::error::Error;

/// Version of the tables' shapes; stands in every file's schema metadata as `inrush_schema`.
pub const SCHEMA_VERSION: u32 = 9;

/// All tables of one run.
pub struct Tables {
    segments: Table<SegmentRow>,
    repetitions: Table<RepetitionRow>,
    samples: Table<SampleRow>,
    files: Table<FileRow>,
    intervals: Table<IntervalRow>,
    sends: Table<SendRow>,
    hist: Table<HistRow>,
    failures: Table<FailureRow>,
    sessions: Table<SessionRow>,
    resources: Table<ResourceRow>,
    counters: Table<ProbeRow>,
    sizes: Table<ProbeRow>,
    settings: Table<ProbeRow>,
    proofs: Table<ProofRow>,
    answers: Table<AnswerRow>,
    steps: Table<StepRow>,
}

/// A segment that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentRow {
    pub segment: u16,
    pub kind: &'static str,
    pub label: String,
    /// Empty unless the segment drives.
    pub phase: &'static str,
    pub start_ns: u64,
    pub end_ns: u64,
    /// `work`, `time`, `limit`, `stop`, `error`.
    pub ended_by: &'static str,
    pub client_cpu_ns: u64,
    /// The step that it belongs to; empty: none.
    pub step: String,
}

/// One statement of a step that is statements.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    pub segment: u16,
    pub step: String,
    /// In the order in which they ran: a query for statements counts, and so does each that it gives.
    pub statement: u32,
    pub text: String,
    pub start_ns: u64,
    pub end_ns: u64,
    /// `work`, `limit`, `stop`, `error`.
    pub ended_by: &'static str,
    /// Of its answer.
    pub rows: u64,
    /// Why it failed; empty where it did not.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ResourceRow {
    pub role: String,
    pub t_ns: u64,
    pub metric: &'static str,
    /// Empty where the metric has none.
    pub device: String,
    pub value: f64,
}

/// One probed figure; where it goes is the caller's word.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeRow {
    pub segment: u16,
    pub t_ns: u64,
    pub name: String,
    pub value: String,
}

/// Tables that probes fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeTable {
    Counters,
    Sizes,
    Settings,
}

impl ProbeTable {
    /// As `ProbePlan::into` spells it.
    pub fn named(name: &str) -> Result<ProbeTable, Error> {
        match name {
            "counters" => Ok(ProbeTable::Counters),
            "sizes" => Ok(ProbeTable::Sizes),
            "settings" => Ok(ProbeTable::Settings),
            other => Err(Error::Plan(format!(
                "probe into `{other}`: probes fill `counters`, `sizes` or `settings`"
            ))),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProofRow {
    pub segment: u16,
    pub repetition: u32,
    pub table: String,
    pub item: String,
    pub expected: String,
    pub found: String,
    pub holds: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AnswerRow {
    pub segment: u16,
    pub op: String,
    /// JSON.
    pub params: String,
    pub row: u32,
    pub col: u32,
    pub name: String,
    pub value: Option<String>,
}

/// Columns of the tables: each by the row's field of that name, or by what stands behind it.
macro_rules! rows {
    (@get $column:ident) => { |row| &row.$column };
    (@get $column:ident $get:expr) => { $get };
    ($($row:ty { $($column:ident $(: $get:expr)?),+ $(,)? })+) => {$(
        impl Row for $row {
            fn columns() -> Vec<Column> {
                vec![$(Column::of::<$row, _>(stringify!($column), rows!(@get $column $($get)?))),+]
            }

            fn append(&self, columns: &mut [Column]) {
                let mut columns = columns.iter_mut();
                $(columns.next().expect("as many as `columns` made").append::<$row, _>(self, rows!(@get $column $($get)?));)+
            }
        }
    )+};
}

rows! {
    SegmentRow { segment, kind, label, phase, start_ns, end_ns, ended_by, client_cpu_ns, step }
    RepetitionRow {
        segment, repetition, role, start_ns, end_ns, rows, bytes, ops, ok, errors, wrong, late, unsent, sessions, cpu_ns,
        unseen, queued_ns,
    }
    SampleRow {
        segment, repetition, role, sample, due_ns, collected_ns, sent_ns, done_ns, rows, missing, seen_ns,
        sent_on_time_ns, done_on_time_ns,
    }
    FileRow {
        segment, repetition, role, file, pipeline, due_ns, start_ns, sent_ns, end_ns, bytes, rows, rejected,
        runs,
    }
    IntervalRow {
        segment, repetition, role, op, t_ns, dt_ns, rows, bytes, ops, errors, late, in_flight, backlog, cum_rows,
    }
    SendRow { segment, repetition, role, t_ns, dt_ns, ops, sends, bytes }
    HistRow {
        segment, repetition, role, op, kind, t_ns, dt_ns, grouping_power: |_| &(GROUPING_POWER as u8),
        bucket: |row| &row.hist.bucket, count: |row| &row.hist.count, n: |row| &row.hist.n,
        min_ns: |row| &row.hist.min, max_ns: |row| &row.hist.max, sum_ns: |row| &row.hist.sum,
    }
    FailureRow { segment, repetition, role, op, outcome, count, first_message, first_ns }
    SessionRow { segment, repetition, role, session, cpu_ns, busy_ns, ops, rows }
    ResourceRow { role, t_ns, metric, device, value }
    ProbeRow { segment, t_ns, name, value }
    ProofRow { segment, repetition, table, item, expected, found, holds }
    AnswerRow { segment, op, params, row, col, name, value }
    StepRow { segment, step, statement, text, start_ns, end_ns, ended_by, rows, message }
}

impl Cell for Kind {
    type Builder = StringBuilder;

    fn builder() -> StringBuilder {
        StringBuilder::new()
    }

    fn append(&self, to: &mut StringBuilder) {
        to.append_value(self.name());
    }
}

impl Tables {
    /// Creates every table, empty, in `dir`, which exists.
    pub fn create(dir: &Path) -> Result<Tables, Error> {
        Ok(Tables {
            segments: Table::create(dir, "segments")?,
            repetitions: Table::create(dir, "repetitions")?,
            samples: Table::create(dir, "samples")?,
            files: Table::create(dir, "files")?,
            intervals: Table::create(dir, "intervals")?,
            sends: Table::create(dir, "sends")?,
            hist: Table::create(dir, "hist")?,
            failures: Table::create(dir, "failures")?,
            sessions: Table::create(dir, "sessions")?,
            resources: Table::create(dir, "resources")?,
            counters: Table::create(dir, "counters")?,
            sizes: Table::create(dir, "sizes")?,
            settings: Table::create(dir, "settings")?,
            proofs: Table::create(dir, "proofs")?,
            answers: Table::create(dir, "answers")?,
            steps: Table::create(dir, "steps")?,
        })
    }

    pub fn segment(&mut self, row: &SegmentRow) {
        self.segments.append(row);
    }

    /// What a collector has merged.
    pub fn recorded(&mut self, rows: &Recorded) {
        rows.intervals.iter().for_each(|row| self.intervals.append(row));
        rows.sends.iter().for_each(|row| self.sends.append(row));
        rows.hists.iter().for_each(|row| self.hist.append(row));
        rows.failures.iter().for_each(|row| self.failures.append(row));
        rows.sessions.iter().for_each(|row| self.sessions.append(row));
        rows.repetitions.iter().for_each(|row| self.repetitions.append(row));
        rows.samples.iter().for_each(|row| self.samples.append(row));
        rows.files.iter().for_each(|row| self.files.append(row));
    }

    pub fn resource(&mut self, row: &ResourceRow) {
        self.resources.append(row);
    }

    pub fn probe(&mut self, into: ProbeTable, row: &ProbeRow) {
        match into {
            ProbeTable::Counters => self.counters.append(row),
            ProbeTable::Sizes => self.sizes.append(row),
            ProbeTable::Settings => self.settings.append(row),
        }
    }

    pub fn proof(&mut self, row: &ProofRow) {
        self.proofs.append(row);
    }

    pub fn answer(&mut self, row: &AnswerRow) {
        self.answers.append(row);
    }

    pub fn step(&mut self, row: &StepRow) {
        self.steps.append(row);
    }

    /// Hands what was appended to the operating system, one batch per table that has rows.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.all().into_iter().try_for_each(Stream::flush)
    }

    /// Flushes and ends every stream.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        self.all().into_iter().try_for_each(Stream::finish)
    }

    fn all(&mut self) -> [&mut Stream; 16] {
        [
            self.segments.stream(),
            self.repetitions.stream(),
            self.samples.stream(),
            self.files.stream(),
            self.intervals.stream(),
            self.sends.stream(),
            self.hist.stream(),
            self.failures.stream(),
            self.sessions.stream(),
            self.resources.stream(),
            self.counters.stream(),
            self.sizes.stream(),
            self.settings.stream(),
            self.proofs.stream(),
            self.answers.stream(),
            self.steps.stream(),
        ]
    }
}

#[cfg(test)]
mod tests;
