//! A role's arrival line with what ends it: its sessions are the servers of one queue.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use crate::drive::freshness::watched;
use crate::drive::samples::SampleBook;
use crate::engine::{Context, Ns};
use crate::error::Error;
use crate::lock::Unpoisoned;
use crate::plan::{DriveSegment, RolePlan, Schedule, Until, Work};
use crate::schedule::{self, Arrivals, Batching, Marks, Tickets};

pub struct RoleLine {
    /// Of the present shot; taken once per shot and session, never between calls.
    line: Mutex<Arc<schedule::Line>>,
    /// Of the present shot; taken as seldom.
    marks: Mutex<Arc<Marks>>,
    count: Option<u64>,
    batching: Batching,
    schedule: Schedule,
    seed: u64,
    /// Of the driver's own thread, which looks at what was offered now and then.
    progress: Mutex<Arrivals>,
    sessions: u32,
    /// From the start of the shot.
    pub end_ns: Option<Ns>,
    /// Ends when these roles have ended; empty: it has an end of its own.
    follows: Box<[usize]>,
    sessions_left: AtomicU32,
    ended: AtomicBool,
    /// Of roles that write samples, or rows that a reader looks for.
    book: Option<SampleBook>,
}

impl RoleLine {
    pub fn new(role: &RolePlan, follows: Box<[usize]>, plan_seed: u64) -> RoleLine {
        let count = work_calls(&role.work);
        let free = !schedule::is_paced(&role.schedule) && !matches!(role.work, Work::Rows { .. });
        let batching = if free { Batching::Guided } else { Batching::One };
        let seed = schedule::arrival_seed(plan_seed, &role.name);
        RoleLine {
            line: Mutex::new(schedule::Line::new(count, role.sessions, batching)),
            marks: Mutex::default(),
            count,
            batching,
            schedule: role.schedule.clone(),
            seed,
            progress: Mutex::new(Arrivals::new(&role.schedule, seed)),
            sessions: role.sessions,
            end_ns: match role.until {
                Until::Time { ns } => Some(ns),
                _ => None,
            },
            follows,
            sessions_left: AtomicU32::new(role.sessions),
            ended: AtomicBool::new(false),
            book: None,
        }
    }

    pub fn with_book(mut self, book: Option<SampleBook>) -> RoleLine {
        self.book = book;
        self
    }

    /// What becomes of its samples, where that is kept.
    pub fn kept(&self) -> Option<&SampleBook> {
        self.book.as_ref()
    }

    /// The same, if it writes `table`.
    pub fn book(&self, table: usize) -> Option<&SampleBook> {
        self.book.as_ref().filter(|book| book.table == table)
    }

    /// Makes the line ready for the next repetition.
    pub fn reset(&self) {
        let fresh = schedule::Line::new(self.count, self.sessions, self.batching);
        *self.line.lock().unpoisoned() = fresh;
        *self.marks.lock().unpoisoned() = Arc::default();
        self.sessions_left.store(self.sessions, Relaxed);
        self.ended.store(false, Relaxed);
        if let Some(book) = &self.book {
            book.reset();
        }
    }

    /// A session's place in the line of the present shot.
    pub fn tickets(&self) -> Tickets {
        self.line.lock().unpoisoned().tickets()
    }

    pub fn arrivals(&self) -> Arrivals {
        let marks = self.marks.lock().unpoisoned().clone();
        Arrivals::new(&self.schedule, self.seed).along(marks)
    }

    pub fn is_paced(&self) -> bool {
        schedule::is_paced(&self.schedule)
    }

    /// Arrivals due in the first `ns` of the shot, never more than there is work.
    pub fn offered(&self, ns: Ns) -> u64 {
        let until = self.end_ns.map_or(ns, |end| ns.min(end));
        let mut progress = self.progress.lock().unpoisoned();
        progress.offered_before(until).min(self.count.unwrap_or(u64::MAX))
    }

    /// A session has left the line; the last one ends the role.
    pub fn leave(&self) {
        if self.sessions_left.fetch_sub(1, Relaxed) == 1 {
            self.ended.store(true, Relaxed);
        }
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    /// The roles that this one follows have all ended.
    #[inline]
    pub fn is_left_alone(&self, lines: &[RoleLine]) -> bool {
        !self.follows.is_empty() && self.follows.iter().all(|&leader| lines[leader].has_ended())
    }

    /// Calls of a bounded line.
    pub fn count(&self) -> Option<u64> {
        self.count
    }
}

/// The lines of a segment, by role. Fails where one would have no end.
pub fn lines(context: &Context, segment: &DriveSegment) -> Result<Vec<RoleLine>, Error> {
    // A role that is one per table (`writers/a`, `writers/b`) has ended when all of them have.
    let parts_of = |name: &str, of: &str| {
        let is_part = |r: &RolePlan| {
            r.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let parts: Box<[usize]> =
            segment.roles.iter().enumerate().filter(|(_, r)| is_part(r)).map(|(at, _)| at).collect();
        if parts.is_empty() {
            return Err(Error::Plan(format!(
                "role {of} ends with {name}, which is not a role of {}",
                segment.label
            )));
        }
        Ok(parts)
    };
    let called = |r: &RolePlan, name: &str| r.operations.iter().any(|w| w.operation == name);
    let looked_for: Vec<usize> = context
        .plan
        .operations
        .iter()
        .filter(|op| segment.roles.iter().any(|role| called(role, &op.name)))
        .filter_map(|op| Some(watched(op)?.0))
        .collect();
    segment
        .roles
        .iter()
        .map(|role| {
            let follows = match &role.until {
                Until::Role { name } => parts_of(name, &role.name)?,
                _ => Box::default(),
            };
            if matches!((&role.until, &role.work), (Until::Work {}, Work::Endless {})) {
                return Err(Error::Plan(format!("role {} has endless work and no end", role.name)));
            }
            let kept = match role.work {
                Work::Rows { table, .. } => {
                    matches!(role.schedule, Schedule::Samples { .. }) || looked_for.contains(&table)
                }
                _ => false,
            };
            let book = if kept { SampleBook::of(role, context.plan.seed)? } else { None };
            Ok(RoleLine::new(role, follows, context.plan.seed).with_book(book))
        })
        .collect()
}

fn work_calls(work: &Work) -> Option<u64> {
    match *work {
        Work::Rows { rows, batch_rows, .. } => Some(rows.div_ceil(u64::from(batch_rows.max(1)))),
        Work::Calls { count } => Some(count),
        Work::Endless {} => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::GAPS;

    #[test]
    fn progress_walks_along_the_arrivals_once_however_often_it_is_shown() {
        let role = serde_json::json!({"name": "users", "operations": [], "sessions": 1, "depth": 1,
            "schedule": {"kind": "poisson", "rate_per_s": 1_000.0}, "work": {"kind": "endless"},
            "until": {"kind": "time", "ns": 600_000_000_000u64}});
        let line = RoleLine::new(&serde_json::from_value(role).expect("a role"), Box::default(), 1);
        let before = GAPS.get();
        let beats = 1_200u64;
        let offered = (1..=beats).map(|beat| line.offered(beat * 500_000_000)).last().expect("some");
        let walked = GAPS.get() - before;
        assert!(offered > 590_000, "{offered}");
        assert!(walked < offered + 10 * beats, "{walked} gaps for {offered} arrivals");
        assert_eq!(offered, schedule::offered_before(&line.schedule, line.seed, None, beats * 500_000_000));
        // A repetition begins at its own start.
        line.reset();
        assert!(line.offered(1_000_000_000) < 1_300);
    }

    #[test]
    fn a_thousand_sessions_draw_an_arrivals_gap_a_few_times_and_not_a_thousand() {
        let role = serde_json::json!({"name": "users", "operations": [], "sessions": 1_000, "depth": 1,
            "schedule": {"kind": "poisson", "rate_per_s": 1_000.0}, "work": {"kind": "endless"},
            "until": {"kind": "time", "ns": 600_000_000_000u64}});
        let line = RoleLine::new(&serde_json::from_value(role).expect("a role"), Box::default(), 1);
        let mut sessions: Vec<Arrivals> = (0..1_000).map(|_| line.arrivals()).collect();
        let mut alone = Arrivals::new(&line.schedule, line.seed);
        let tickets = 50_000u64;
        let due: Vec<u64> = (0..tickets).map(|ticket| alone.due_ns(ticket)).collect();
        let before = GAPS.get();
        for ticket in 0..tickets {
            assert_eq!(sessions[ticket as usize % 1_000].due_ns(ticket), due[ticket as usize]);
        }
        let walked = GAPS.get() - before;
        assert!(walked < 64 * tickets, "{} gaps for an arrival", walked / tickets);
    }
}
