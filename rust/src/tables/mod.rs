//! The border out: the tables of `docs/results.md` as Arrow IPC streams, appended while a run goes on.
//!
//! Each table is one file, `<name>.arrows`: a schema, then a record batch per flush that had rows.
//! A file cut by a kill is readable up to its last whole batch.

mod file;

use std::path::Path;

use file::{Cell, Column, Table, Type};

use crate::error::Error;
use crate::record::{Recorded, GROUPING_POWER};

/// Version of the tables' shapes; stands in every file's schema metadata as `inrush_schema`.
pub const SCHEMA_VERSION: u32 = 4;

/// All tables of one run.
pub struct Tables {
    segments: Table,
    shots: Table,
    samples: Table,
    intervals: Table,
    hist: Table,
    failures: Table,
    sessions: Table,
    resources: Table,
    counters: Table,
    sizes: Table,
    settings: Table,
    proofs: Table,
    answers: Table,
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

impl Tables {
    /// Creates every table, empty, in `dir`, which exists.
    pub fn create(dir: &Path) -> Result<Tables, Error> {
        use Type::*;
        let at = [("segment", U16), ("repetition", U32), ("role", Text)];
        let at_op = [("segment", U16), ("repetition", U32), ("role", Text), ("op", Text)];
        let probe = [("segment", U16), ("t_ns", U64), ("name", Text), ("value", Text)];
        let make = |name: &'static str, first: &[Column], more: &[Column]| {
            Table::create(dir, name, &[first, more].concat())
        };
        Ok(Tables {
            segments: make(
                "segments",
                &[("segment", U16), ("kind", Text), ("label", Text), ("phase", Text)],
                &[("start_ns", U64), ("end_ns", U64), ("ended_by", Text), ("client_cpu_ns", U64)],
            )?,
            shots: make(
                "shots",
                &at,
                &[
                    ("start_ns", U64),
                    ("end_ns", U64),
                    ("rows", U64),
                    ("bytes", U64),
                    ("ops", U64),
                    ("ok", U64),
                    ("errors", U64),
                    ("wrong", U64),
                    ("late", U64),
                    ("unsent", U64),
                    ("sessions", U32),
                    ("cpu_ns", U64),
                ],
            )?,
            samples: make(
                "samples",
                &at,
                &[
                    ("sample", U64),
                    ("due_ns", U64),
                    ("collected_ns", U64),
                    ("sent_ns", U64),
                    ("done_ns", U64),
                    ("rows", U64),
                    ("missing", U32),
                    ("seen_ns", U64),
                    ("sent_on_time_ns", U64),
                    ("done_on_time_ns", U64),
                ],
            )?,
            intervals: make(
                "intervals",
                &at_op,
                &[
                    ("t_ns", U64),
                    ("dt_ns", U64),
                    ("rows", U64),
                    ("bytes", U64),
                    ("ops", U64),
                    ("errors", U64),
                    ("late", U64),
                    ("in_flight", U32),
                    ("backlog", U64),
                    ("cum_rows", U64),
                ],
            )?,
            hist: make(
                "hist",
                &at_op,
                &[
                    ("kind", Text),
                    ("t_ns", U64),
                    ("dt_ns", U64),
                    ("grouping_power", U8),
                    ("bucket", ListU32),
                    ("count", ListU64),
                    ("n", U64),
                    ("min_ns", U64),
                    ("max_ns", U64),
                    ("sum_ns", U64),
                ],
            )?,
            failures: make(
                "failures",
                &at_op,
                &[("outcome", Text), ("count", U64), ("first_message", Text), ("first_ns", U64)],
            )?,
            sessions: make(
                "sessions",
                &at,
                &[("session", U32), ("cpu_ns", U64), ("busy_ns", U64), ("ops", U64), ("rows", U64)],
            )?,
            resources: make(
                "resources",
                &[("role", Text), ("t_ns", U64), ("metric", Text), ("device", Text), ("value", F64)],
                &[],
            )?,
            counters: make("counters", &probe, &[])?,
            sizes: make("sizes", &probe, &[])?,
            settings: make("settings", &probe, &[])?,
            proofs: make(
                "proofs",
                &[("segment", U16), ("repetition", U32), ("table", Text), ("item", Text)],
                &[("expected", Text), ("found", Text), ("holds", Bool)],
            )?,
            answers: make(
                "answers",
                &[("segment", U16), ("op", Text), ("params", Text), ("row", U32), ("col", U32)],
                &[("name", Text), ("value", OptionalText)],
            )?,
        })
    }

    pub fn segment(&mut self, row: &SegmentRow) {
        self.segments.append(&[
            Cell::U16(row.segment),
            Cell::Text(row.kind),
            Cell::Text(&row.label),
            Cell::Text(row.phase),
            Cell::U64(row.start_ns),
            Cell::U64(row.end_ns),
            Cell::Text(row.ended_by),
            Cell::U64(row.client_cpu_ns),
        ]);
    }

    /// What a collector has merged.
    pub fn recorded(&mut self, rows: &Recorded) {
        for r in &rows.intervals {
            self.intervals.append(&[
                Cell::U16(r.segment),
                Cell::U32(r.repetition),
                Cell::Text(&r.role),
                Cell::Text(&r.op),
                Cell::U64(r.t_ns),
                Cell::U64(r.dt_ns),
                Cell::U64(r.rows),
                Cell::U64(r.bytes),
                Cell::U64(r.ops),
                Cell::U64(r.errors),
                Cell::U64(r.late),
                Cell::U32(r.in_flight),
                Cell::U64(r.backlog),
                Cell::U64(r.cum_rows),
            ]);
        }
        for r in &rows.hists {
            self.hist.append(&[
                Cell::U16(r.segment),
                Cell::U32(r.repetition),
                Cell::Text(&r.role),
                Cell::Text(&r.op),
                Cell::Text(r.kind.name()),
                Cell::U64(r.t_ns),
                Cell::U64(r.dt_ns),
                Cell::U8(GROUPING_POWER as u8),
                Cell::ListU32(&r.hist.bucket),
                Cell::ListU64(&r.hist.count),
                Cell::U64(r.hist.n),
                Cell::U64(r.hist.min),
                Cell::U64(r.hist.max),
                Cell::U64(r.hist.sum),
            ]);
        }
        for r in &rows.failures {
            self.failures.append(&[
                Cell::U16(r.segment),
                Cell::U32(r.repetition),
                Cell::Text(&r.role),
                Cell::Text(&r.op),
                Cell::Text(r.outcome),
                Cell::U64(r.count),
                Cell::Text(&r.first_message),
                Cell::U64(r.first_ns),
            ]);
        }
        for r in &rows.sessions {
            self.sessions.append(&[
                Cell::U16(r.segment),
                Cell::U32(r.repetition),
                Cell::Text(&r.role),
                Cell::U32(r.session),
                Cell::U64(r.cpu_ns),
                Cell::U64(r.busy_ns),
                Cell::U64(r.ops),
                Cell::U64(r.rows),
            ]);
        }
        for r in &rows.shots {
            self.shots.append(&[
                Cell::U16(r.segment),
                Cell::U32(r.repetition),
                Cell::Text(&r.role),
                Cell::U64(r.start_ns),
                Cell::U64(r.end_ns),
                Cell::U64(r.rows),
                Cell::U64(r.bytes),
                Cell::U64(r.ops),
                Cell::U64(r.ok),
                Cell::U64(r.errors),
                Cell::U64(r.wrong),
                Cell::U64(r.late),
                Cell::U64(r.unsent),
                Cell::U32(r.sessions),
                Cell::U64(r.cpu_ns),
            ]);
        }
        for r in &rows.samples {
            self.samples.append(&[
                Cell::U16(r.segment),
                Cell::U32(r.repetition),
                Cell::Text(&r.role),
                Cell::U64(r.sample),
                Cell::U64(r.due_ns),
                Cell::U64(r.collected_ns),
                Cell::U64(r.sent_ns),
                Cell::U64(r.done_ns),
                Cell::U64(r.rows),
                Cell::U32(r.missing),
                Cell::U64(r.seen_ns),
                Cell::U64(r.sent_on_time_ns),
                Cell::U64(r.done_on_time_ns),
            ]);
        }
    }

    pub fn resource(&mut self, row: &ResourceRow) {
        self.resources.append(&[
            Cell::Text(&row.role),
            Cell::U64(row.t_ns),
            Cell::Text(row.metric),
            Cell::Text(&row.device),
            Cell::F64(row.value),
        ]);
    }

    pub fn probe(&mut self, into: ProbeTable, row: &ProbeRow) {
        let table = match into {
            ProbeTable::Counters => &mut self.counters,
            ProbeTable::Sizes => &mut self.sizes,
            ProbeTable::Settings => &mut self.settings,
        };
        table.append(&[
            Cell::U16(row.segment),
            Cell::U64(row.t_ns),
            Cell::Text(&row.name),
            Cell::Text(&row.value),
        ]);
    }

    pub fn proof(&mut self, row: &ProofRow) {
        self.proofs.append(&[
            Cell::U16(row.segment),
            Cell::U32(row.repetition),
            Cell::Text(&row.table),
            Cell::Text(&row.item),
            Cell::Text(&row.expected),
            Cell::Text(&row.found),
            Cell::Bool(row.holds),
        ]);
    }

    pub fn answer(&mut self, row: &AnswerRow) {
        self.answers.append(&[
            Cell::U16(row.segment),
            Cell::Text(&row.op),
            Cell::Text(&row.params),
            Cell::U32(row.row),
            Cell::U32(row.col),
            Cell::Text(&row.name),
            Cell::OptionalText(row.value.as_deref()),
        ]);
    }

    /// Hands what was appended to the operating system, one batch per table that has rows.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.all().into_iter().try_for_each(Table::flush)
    }

    /// Flushes and ends every stream.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        self.all().into_iter().try_for_each(Table::finish)
    }

    fn all(&mut self) -> [&mut Table; 13] {
        [
            &mut self.segments,
            &mut self.shots,
            &mut self.samples,
            &mut self.intervals,
            &mut self.hist,
            &mut self.failures,
            &mut self.sessions,
            &mut self.resources,
            &mut self.counters,
            &mut self.sizes,
            &mut self.settings,
            &mut self.proofs,
            &mut self.answers,
        ]
    }
}

#[cfg(test)]
mod tests;
