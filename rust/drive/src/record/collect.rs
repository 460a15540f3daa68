//! The collector's side: merging sessions into rows, off the session threads.

use std::sync::atomic::Ordering;

use super::recorder::Recorder;
use super::role::{open_role, Role, Span};
use super::spec::RoleSpec;
use super::total::{Ending, Place, Progress, Total};
use super::Recorded;

/// How a role's repetition ended, run time in ns.
#[derive(Debug, Clone, Copy)]
pub struct RoleEnd {
    /// Nothing was offered from here on: what was due before and not sent is `unsent`.
    pub offer_end_ns: u64,
    /// Its last session was done.
    pub end_ns: u64,
}

/// Merges what the sessions of one segment record.
///
/// Per repetition: `begin`, `take` now and then, `end` when every recorder has finished.
pub struct Collector {
    segment: u16,
    interval_ns: u64,
    repetition: u32,
    origin_ns: u64,
    roles: Vec<Role>,
}

impl Collector {
    /// A collector and, per role, a recorder for each of its sessions.
    pub fn new(segment: u16, interval_ns: u64, roles: Vec<RoleSpec>) -> (Collector, Vec<Vec<Recorder>>) {
        assert!(interval_ns > 0, "an interval has a length");
        let (roles, recorders) = roles.into_iter().map(|spec| open_role(spec, interval_ns)).unzip();
        (Collector { segment, interval_ns, repetition: 0, origin_ns: 0, roles }, recorders)
    }

    /// A repetition with its first interval at `origin_ns` (run time). Before any `Recorder::begin`.
    pub fn begin(&mut self, repetition: u32, origin_ns: u64) {
        self.repetition = repetition;
        self.origin_ns = origin_ns;
        for role in &mut self.roles {
            for passed in &role.passed {
                passed.store(0, Ordering::Release);
            }
            role.pending.clear();
            (role.next, role.offer_end_ns) = (0, u64::MAX);
            role.total = Total::new(&role.spec);
        }
    }

    /// From when on nothing is offered, as far as it is known (run time, else `u64::MAX`); in order of the roles.
    pub fn end_offers(&mut self, ends: &[u64]) {
        for (role, &end_ns) in self.roles.iter_mut().zip(ends) {
            role.offer_end_ns = end_ns;
        }
    }

    /// Rows of the intervals that all sessions of a role have passed.
    pub fn take(&mut self) -> Recorded {
        let mut out = Recorded::default();
        for index in 0..self.roles.len() {
            let passed = self.roles[index].drain();
            // Every session has finished: only `end` knows where the last interval stops.
            if passed < u64::MAX {
                self.emit(index, passed, u64::MAX, &mut out);
            }
        }
        out
    }

    /// The rest of the repetition: its last intervals and its totals. `ends` in order of the roles.
    pub fn end(&mut self, ends: &[RoleEnd]) -> Recorded {
        assert_eq!(ends.len(), self.roles.len(), "one end per role");
        let mut out = Recorded::default();
        for (index, end) in ends.iter().enumerate() {
            self.roles[index].drain();
            self.roles[index].offer_end_ns = end.offer_end_ns;
            let role = &self.roles[index];
            let end_ns = end.end_ns.max(role.total.last_done_ns);
            let ran = end_ns.saturating_sub(self.origin_ns).div_ceil(self.interval_ns);
            let with_ops = role.pending.values().filter(|span| span.ended() > 0);
            let reported = with_ops.map(|span| span.end).max();
            self.emit(index, ran.max(reported.unwrap_or(0)), end_ns, &mut out);
            let ending =
                Ending { segment: self.segment, repetition: self.repetition, origin_ns: self.origin_ns };
            let role = &self.roles[index];
            role.total.rows(&role.spec, ending, role.offer_end_ns, &mut out);
        }
        out
    }

    /// Of each role with an interval that has ended. Takes what is new of its latencies with it.
    pub fn progress(&mut self) -> Vec<Progress> {
        let look = |role: &mut Role| {
            let last = role.total.last.clone()?;
            let latency = role.unseen.to_sparse();
            role.unseen.clear();
            Some(Progress { latency, ..last })
        };
        self.roles.iter_mut().filter_map(look).collect()
    }

    /// Gives out the intervals before `until`, also those in which nothing happened.
    fn emit(&mut self, index: usize, until: u64, cut_ns: u64, out: &mut Recorded) {
        let role = &mut self.roles[index];
        while role.next < until {
            let end = role.pending.get(&role.next).map_or(role.next + 1, |span| span.end);
            if end > until {
                break;
            }
            let span = role.pending.remove(&role.next).unwrap_or_else(|| Span::empty(end));
            let t_ns = self.origin_ns + role.next * self.interval_ns;
            let end_ns = (self.origin_ns + end * self.interval_ns).min(cut_ns.max(t_ns));
            let place = Place {
                segment: self.segment,
                repetition: self.repetition,
                t_ns,
                dt_ns: end_ns - t_ns,
                origin_ns: self.origin_ns,
            };
            role.rows_of(span, place, out);
            role.next = end;
        }
    }
}
