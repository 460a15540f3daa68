//! Setting the stage: a role with all that its sessions share, and what it says of itself while they work.
//!
//! `build` makes it of the plan, `sessions` has a thread, a connection and a recorder for every session, before the clock
//! runs.

mod build;
mod sessions;

use std::sync::Arc;

use crate::drive::input::Loaded;
use crate::drive::live::Live;
use crate::drive::page::PageBarrier;
use crate::drive::role_queue::RoleQueue;
use crate::drive::work::{Batch, RoleWork};
use crate::drive::DriveTarget;
use crate::record::{FileRow, Looks, RoleSpec};
use inrush_engines::engine::{Ns, OpId};
use inrush_engines::mix::{adds_or_changes, Shared};
use inrush_engines::schedule;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{OpKind, RolePlan, Until};
use inrush_rows::rows::Generators;

pub use build::roles;
pub use sessions::{spawn, Report};

/// One role with all that its sessions share.
pub struct RoleStage<'a> {
    at: usize,
    plan: &'a RolePlan,
    work: RoleWork<'a>,
    drive_target: &'a DriveTarget<'a>,
    /// One per thread: sessions × members.
    lives: Vec<Arc<Live>>,
    page_barriers: Vec<PageBarrier>,
    /// Operations that one session calls: those of the mix, or the members of its page.
    ops: Vec<OpId>,
    /// Shared by all sessions of the segment: a generator and its index can be tens of megabytes.
    generators: Arc<Generators>,
    /// By operation.
    params: Vec<Arc<Shared>>,
    page: Option<OpId>,
    first_thread: usize,
    deadline_ns: u64,
}

impl<'a> RoleStage<'a> {
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    pub fn queue(&self) -> &'a RoleQueue {
        self.work.queue
    }

    /// As before the first repetition.
    pub fn restart(&self, repetition: u32) -> Result<(), Error> {
        self.work.queue.reset();
        match &self.work.batch {
            Some(batch) if repetition > 0 => batch.source.restart(),
            _ => Ok(()),
        }
    }

    /// Says of a table whose writers' queue was full which rows were sent: tickets are taken in the order of the rows.
    pub fn cut_rows(&self) {
        if let (Some(batch), true) = (self.batch(), self.queue().is_full()) {
            self.work.counts[batch.table].cut(batch.first_row_from(self.queue().taken()));
        }
    }

    /// Calls that add or change rows have numbers of their own: those of the next repetition follow on.
    pub fn count_calls(&self) {
        let plan = &self.drive_target.context.plan;
        for &op in self.ops.iter().filter(|&&op| adds_or_changes(&plan.operations[op])) {
            let touched = plan.operations[op].table.and_then(|table| self.work.counts[table].touched());
            if let Some(touched) = touched {
                touched.add_calls(op, self.queue().taken());
            }
        }
    }

    /// Files that were loaded in this repetition, which began at `t0`, as rows of their table; none of them a second time.
    pub fn loaded(&self, segment: u16, repetition: u32, t0: Ns) -> Vec<FileRow> {
        let Some(batch) = self.batch() else { return Vec::new() };
        let mut loaded = std::mem::take(&mut *self.work.loaded.lock().unpoisoned());
        loaded.sort_unstable_by_key(|of| (of.sent_ns, of.file));
        let row = |of: &Loaded| FileRow {
            segment,
            repetition,
            role: self.plan.name.clone(),
            file: of.file as u32,
            pipeline: of.session,
            due_ns: t0,
            start_ns: of.sent_ns,
            sent_ns: of.sent_ns,
            end_ns: of.done_ns,
            bytes: batch.file_bytes(of.file).unwrap_or(0),
            rows: batch.range(of.file).1 as u64,
            rejected: 0,
            runs: batch.file_runs(of.file),
        };
        loaded.iter().map(row).collect()
    }

    pub fn batch(&self) -> Option<&Batch> {
        self.work.batch.as_ref()
    }

    pub fn threads(&self) -> usize {
        self.lives.len()
    }

    pub fn first_thread(&self) -> usize {
        self.first_thread
    }

    pub fn lives(&self) -> &[Arc<Live>] {
        &self.lives
    }

    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// 0…1 of this role's bounded work or time.
    pub fn share(&self, ops: u64, elapsed_ns: Ns) -> Option<f64> {
        match (&self.plan.until, self.queue().count()) {
            (Until::Time { ns }, _) => Some((elapsed_ns as f64 / (*ns).max(1) as f64).min(1.0)),
            (_, Some(count)) => Some((ops as f64 / count.max(1) as f64).min(1.0)),
            _ => None,
        }
    }

    /// The roles of the tables: this one, and one per member of its page.
    pub fn specs(&self) -> Vec<RoleSpec> {
        let name = |op: OpId| self.drive_target.context.op(op).name.clone();
        let spec = |role: String, ops: Vec<String>| RoleSpec {
            name: role,
            ops,
            sessions: self.plan.sessions,
            schedule: self.plan.schedule.clone(),
            seed: schedule::arrival_seed(self.drive_target.context.plan.seed, &self.plan.name),
            count: self.queue().count(),
            stride: self.queue().stride(),
            looks: Looks {
                freshness: self.ops.iter().any(|&op| self.drive_target.context.op(op).watched().is_some()),
                first_row: self
                    .ops
                    .iter()
                    .any(|&op| self.drive_target.context.op(op).kind == OpKind::Extract),
            },
            choose: None,
        };
        match self.page {
            None => {
                let mut whole = spec(self.plan.name.clone(), self.ops.iter().map(|&op| name(op)).collect());
                let (mix, ops) = (self.work.mix.clone(), self.ops.clone());
                whole.choose = Some(Arc::new(move |ticket| {
                    let op = mix.operation(ticket);
                    ops.iter().position(|&o| o == op).expect("the mix draws from the role's own operations")
                }));
                vec![whole]
            }
            Some(page) => {
                let members = self
                    .ops
                    .iter()
                    .map(|&op| spec(format!("{}/{}", self.plan.name, name(op)), vec![name(op)]));
                std::iter::once(spec(self.plan.name.clone(), vec![name(page)])).chain(members).collect()
            }
        }
    }
}
