//! Progress of a repetition: what the sessions' counters say, a few times a second.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use serde::{Serialize, Serializer};

use super::Driver;
use crate::drive::live::Live;
use crate::record::{self, SparseHist};
use inrush_engines::engine::{Ns, Outcome};

const PROGRESS_EVERY_NS: Ns = 500_000_000;

#[derive(Debug, Clone, Serialize)]
pub struct Progress {
    pub t_ns: Ns,
    pub repetition: u32,
    /// When the repetition began.
    pub began_ns: Ns,
    /// 0…1 of the segment's bounded work, if any.
    pub share: Option<f64>,
    pub left_s: Option<f64>,
    #[serde(serialize_with = "by_role")]
    pub roles: Vec<RoleProgress>,
}

fn by_role<S: Serializer>(roles: &[RoleProgress], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(roles.iter().map(|role| (&role.role, role)))
}

#[derive(Debug, Clone, Serialize)]
pub struct RoleProgress {
    #[serde(skip)]
    pub role: String,
    pub rows: u64,
    pub ops: u64,
    pub errors: u64,
    /// Due so far; `None` on closed schedules.
    pub due: Option<u64>,
    /// Due and not done.
    pub backlog: u64,
    /// Since the last progress.
    pub rows_per_s: f64,
    pub ops_per_s: f64,
    /// Of the last finished interval.
    pub p99_ms: Option<f64>,
    pub lag_p99_ms: Option<f64>,
    /// Of all finished intervals: calls that were sent late, and those that did not end ok, by outcome.
    pub late: u64,
    pub failed: BTreeMap<&'static str, u64>,
    /// Of the intervals that have ended since the last progress.
    pub latency: SparseHist,
}

/// Turns the sessions' live counters into progress.
pub(super) struct ProgressMeter {
    pub(super) next: Ns,
    last: Ns,
    rows: Vec<u64>,
    ops: Vec<u64>,
}

impl ProgressMeter {
    pub(super) fn new(t0: Ns, roles: usize) -> ProgressMeter {
        ProgressMeter { next: t0 + PROGRESS_EVERY_NS, last: t0, rows: vec![0; roles], ops: vec![0; roles] }
    }

    /// recent: what the collector has seen since the beat before.
    pub(super) fn beat(
        &mut self,
        now: Ns,
        repetition: u32,
        t0: Ns,
        driver: &Driver<'_>,
        recent: &[record::Progress],
    ) -> Progress {
        let seconds = (now - self.last).max(1) as f64 / 1e9;
        let mut share: Option<f64> = None;
        let ms = |ns: u64| ns as f64 / 1e6;
        let roles = driver.stages.iter().enumerate().map(|(k, stage)| {
            let sum = |of: fn(&Live) -> u64| stage.lives().iter().map(|live| of(live)).sum::<u64>();
            let rows = sum(|l| l.rows.load(Relaxed));
            let ops = sum(|l| l.ops.load(Relaxed));
            let of_work = stage.share(ops, now.saturating_sub(t0));
            share = match (share, of_work) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            let seen = recent.iter().find(|r| r.role == stage.name());
            let due = stage.queue().is_paced().then(|| stage.queue().offered(driver.queues, t0, now));
            let progress = RoleProgress {
                role: stage.name().to_owned(),
                rows,
                ops,
                errors: sum(|l| l.errors.load(Relaxed)),
                due,
                backlog: due.unwrap_or(0).saturating_sub(ops),
                rows_per_s: rows.saturating_sub(self.rows[k]) as f64 / seconds,
                ops_per_s: ops.saturating_sub(self.ops[k]) as f64 / seconds,
                p99_ms: seen.and_then(|r| r.p99_ns).map(ms),
                lag_p99_ms: seen.and_then(|r| r.lag_p99_ns).map(ms),
                late: seen.map_or(0, |r| r.late),
                failed: seen.map(failed).unwrap_or_default(),
                latency: seen.map(|r| r.latency.clone()).unwrap_or_default(),
            };
            (self.rows[k], self.ops[k]) = (rows, ops);
            progress
        });
        let roles = roles.collect();
        (self.last, self.next) = (now, now + PROGRESS_EVERY_NS);
        let elapsed_s = now.saturating_sub(t0) as f64 / 1e9;
        let left_s = share.filter(|s| *s > 0.0).map(|s| elapsed_s * (1.0 - s) / s);
        // However little has been done: the segment ends at its limit.
        let left_s = left_s.map(|s| s.min(driver.limit_left_s(now)));
        Progress { t_ns: now, repetition, began_ns: t0, share, left_s, roles }
    }
}

/// Calls that did not end ok, by outcome; those without any are left out.
fn failed(of: &record::Progress) -> BTreeMap<&'static str, u64> {
    let each = Outcome::ALL.into_iter().map(|outcome| (outcome.name(), of.outcomes[outcome as usize]));
    each.filter(|(_, count)| *count > 0).collect()
}
