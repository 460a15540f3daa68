//! Sessions at work for a segment.

use super::observer::RunObserver;
use super::Running;
use crate::drive::{drive, DriveTarget, EndedBy};
use crate::run::written::{self, Written};
use crate::run::Point;
use crate::tables::{ProbeRow, ProbeTable};
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::plan::{DriveSegment, RolePlan, RowSource, Work};
use inrush_rows::rows::files::FileSummary;

impl Running {
    pub(super) fn drive(&mut self, index: usize, segment: &DriveSegment) -> Result<EndedBy, Error> {
        if !self.meet_at(index, Point::Connect)? {
            return Ok(EndedBy::Stop);
        }
        let before = written::so_far(segment, &self.counts);
        self.drive_sessions(index, segment, &before)
    }

    /// before: what was written when the segment began.
    fn drive_sessions(
        &mut self,
        index: usize,
        segment: &DriveSegment,
        before: &[Written],
    ) -> Result<EndedBy, Error> {
        let engine = self.engine()?;
        let context = self.context.clone();
        let counts = self.counts.clone();
        let drive_target = DriveTarget {
            context: &context,
            engine: engine.as_ref(),
            segment: index as u16,
            counts: &counts,
        };
        // The table was emptied for them.
        segment.roles.iter().filter_map(dumped_table).for_each(|table| counts[table].reset());
        let mut observer = RunObserver::start(self, engine.clone(), index, segment)?;
        let driven = drive(&drive_target, segment, &mut observer);
        let whole = driven.as_ref().is_ok_and(|d| matches!(d.ended_by, EndedBy::Work | EndedBy::Time));
        observer.ended();
        // What the server holds is asked for as long as sessions of any process work. Where the work failed here, the
        // others are stopped and not waited for.
        let goes_on = match &driven {
            Ok(driven) if driven.fatal.is_none() => observer.others_end(before),
            _ => Ok(true),
        };
        observer.finish(!whole);
        let (driven, goes_on) = (driven?, goes_on?);
        // A step has a limit of its own, which may be shorter than its tables take to be proven.
        if driven.ended_by == EndedBy::Limit && segment.step.is_empty() {
            self.most_ns = segment.limit_ns;
        }
        self.count_files(index, &driven.files);
        match driven.fatal {
            Some(message) => Err(Error::Target {
                target: context.plan.target.url.clone(),
                class: TargetFault::Lost,
                message,
            }),
            None if !goes_on => Ok(EndedBy::Stop),
            None => Ok(driven.ended_by),
        }
    }

    /// Rows in = rows stored + rows rejected: both are figures of the run.
    fn count_files(&mut self, index: usize, files: &[(usize, FileSummary)]) {
        let t_ns = self.context.clock.now();
        let tables = &self.context.plan.tables;
        let from_users = |table: &usize| matches!(tables[*table].source, RowSource::Files { .. });
        for (table, summary) in files.iter().filter(|(table, _)| from_users(table)) {
            let table = &tables[*table].stream;
            for (what, rows) in [("read", summary.end.stored), ("rejected", summary.end.rejected)] {
                let name = format!("inrush.files.{table}.rows_{what}");
                let row = ProbeRow { segment: index as u16, t_ns, name, value: rows.to_string() };
                self.tables.probe(ProbeTable::Counters, &row);
            }
        }
    }
}

/// The table that a role fills from a dump.
fn dumped_table(role: &RolePlan) -> Option<usize> {
    match role.work {
        Work::Rows { table, dump: Some(_), .. } => Some(table),
        _ => None,
    }
}
