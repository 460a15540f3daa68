//! A role's arrival queue with what ends it: its sessions are the queue's servers.

use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex};

use crate::drive::samples::SampleLog;
use crate::drive::session::refill::Refilling;
use inrush_engines::engine::{Context, Ns};
use inrush_engines::schedule::{self, Arrivals, Batching, Marks, Stride, Tickets};
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{DriveSegment, InputWay, Phase, RolePlan, RunPlan, Schedule, Until, Work};

pub struct RoleQueue {
    /// Of the present repetition; taken once per repetition and session, never between calls.
    queue: Mutex<Arc<schedule::ArrivalQueue>>,
    /// Of the present repetition; taken as seldom.
    marks: Mutex<Arc<Marks>>,
    /// Calls of this process, of a bounded queue.
    count: Option<u64>,
    stride: Stride,
    batching: Batching,
    schedule: Schedule,
    seed: u64,
    /// Of the driver's own thread, which looks at what was offered now and then, and of readers at their end.
    progress: Mutex<Arrivals>,
    sessions: u32,
    /// From the start of the repetition.
    pub end_ns: Option<Ns>,
    /// Ends when these roles have ended; empty: it has an end of its own.
    follows: Box<[usize]>,
    sessions_left: AtomicU32,
    /// When its last session left; 0: not yet.
    ended: AtomicU64,
    /// Calls that may wait in it, and whether more did.
    most_waiting: u64,
    full: AtomicBool,
    /// Of roles that write samples, or rows that a reader looks for.
    sample_log: Option<SampleLog>,
}

impl RoleQueue {
    pub fn new(role: &RolePlan, follows: Box<[usize]>, plan_seed: u64, stride: Stride) -> RoleQueue {
        let count = work_calls(&role.work).map(|calls| stride.among(calls));
        let free = !schedule::is_paced(&role.schedule) && !matches!(role.work, Work::Rows { .. });
        let batching = if free { Batching::Guided } else { Batching::One };
        let seed = schedule::arrival_seed(plan_seed, &role.name);
        RoleQueue {
            queue: Mutex::new(schedule::ArrivalQueue::of_process(count, role.sessions, batching, stride)),
            marks: Mutex::default(),
            count,
            stride,
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
            ended: AtomicU64::new(0),
            most_waiting: role.queue_calls.unwrap_or(u64::MAX),
            full: AtomicBool::new(false),
            sample_log: None,
        }
    }

    pub fn with_sample_log(mut self, sample_log: Option<SampleLog>) -> RoleQueue {
        self.sample_log = sample_log;
        self
    }

    /// What becomes of its samples, where that is kept.
    pub fn kept(&self) -> Option<&SampleLog> {
        self.sample_log.as_ref()
    }

    /// The same, if it writes `table`.
    pub fn sample_log(&self, table: usize) -> Option<&SampleLog> {
        self.sample_log.as_ref().filter(|sample_log| sample_log.table == table)
    }

    /// Makes the queue ready for the next repetition.
    pub fn reset(&self) {
        let fresh = schedule::ArrivalQueue::of_process(self.count, self.sessions, self.batching, self.stride);
        *self.queue.lock().unpoisoned() = fresh;
        *self.marks.lock().unpoisoned() = Arc::default();
        self.sessions_left.store(self.sessions, Relaxed);
        self.ended.store(0, Relaxed);
        self.full.store(false, Relaxed);
        if let Some(sample_log) = &self.sample_log {
            sample_log.reset();
        }
    }

    /// A session's tickets in the present repetition.
    pub fn tickets(&self) -> Tickets {
        self.queue.lock().unpoisoned().tickets()
    }

    pub fn arrivals(&self) -> Arrivals {
        let marks = self.marks.lock().unpoisoned().clone();
        Arrivals::new(&self.schedule, self.seed).along(marks)
    }

    /// Of a session with so many slots.
    pub fn refilling(&self, depth: usize) -> Refilling {
        Refilling::new(&self.schedule, depth)
    }

    pub fn is_paced(&self) -> bool {
        schedule::is_paced(&self.schedule)
    }

    /// Arrivals due before `until` in the repetition that began at `t0`, and before the role's end; never more than there
    /// is work.
    pub fn offered(&self, queues: &[RoleQueue], t0: Ns, until: Ns) -> u64 {
        let until = self.offer_end(queues, t0).map_or(until, |end| end.min(until));
        let mut progress = self.progress.lock().unpoisoned();
        let offered = progress.offered_before(until.saturating_sub(t0));
        self.stride.among(offered).min(self.count.unwrap_or(u64::MAX))
    }

    /// Notes whether more calls wait than the queue holds at `now`. On the driver's own thread.
    pub fn look(&self, queues: &[RoleQueue], t0: Ns, now: Ns) {
        if self.most_waiting == u64::MAX || self.is_full() {
            return;
        }
        if self.offered(queues, t0, now).saturating_sub(self.taken()) > self.most_waiting {
            self.full.store(true, Relaxed);
        }
    }

    /// Its sessions take no more calls: those that they have taken are the first ones, and are all sent.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    /// Calls that sessions have taken in the present repetition.
    pub fn taken(&self) -> u64 {
        self.queue.lock().unpoisoned().taken()
    }

    /// A session leaves the queue at `now`; the last one ends the role.
    pub fn leave(&self, now: Ns) {
        if self.sessions_left.fetch_sub(1, AcqRel) == 1 {
            self.ended.store(now.max(1), Release);
        }
    }

    /// When its last session left; `None` while one works. Who sees that it has ended sees all that its sessions noted.
    pub fn ended(&self) -> Option<Ns> {
        Some(self.ended.load(Acquire)).filter(|&at| at > 0)
    }

    /// When the last of the roles that this one follows ended; `None` while one of them works, or where it follows none.
    #[inline]
    pub fn left_alone_since(&self, queues: &[RoleQueue]) -> Option<Ns> {
        let mut last = None;
        for &leader in &self.follows {
            last = last.max(Some(queues[leader].ended()?));
        }
        last
    }

    /// Nothing that is due from then on belongs to this role, whose repetition began at `t0`. `None`: not known yet, or
    /// its work alone ends it.
    #[inline]
    pub fn offer_end(&self, queues: &[RoleQueue], t0: Ns) -> Option<Ns> {
        self.end_ns.map(|ns| t0 + ns).or_else(|| self.left_alone_since(queues))
    }

    /// False of a call that is due at the end of its role, or later: it belongs to no figure.
    #[inline]
    pub fn is_due_in_time(&self, queues: &[RoleQueue], t0: Ns, due: Ns) -> bool {
        self.offer_end(queues, t0).is_none_or(|end| due < end)
    }

    /// Which of the role's calls are those of this process.
    pub fn stride(&self) -> Stride {
        self.stride
    }

    /// Calls of a bounded queue, of this process.
    pub fn count(&self) -> Option<u64> {
        self.count
    }
}

/// The queues of a segment, by role. Fails where one would have no end.
pub fn queues(context: &Context, segment: &DriveSegment) -> Result<Vec<RoleQueue>, Error> {
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
        .filter_map(|op| Some(op.watched()?.0))
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
            let sample_log = if kept { SampleLog::of(role, context.plan.seed)? } else { None };
            let stride = stride_of(&context.plan, segment);
            Ok(RoleQueue::new(role, follows, context.plan.seed, stride).with_sample_log(sample_log))
        })
        .collect()
}

/// Rows are loaded by the first process alone.
fn stride_of(plan: &RunPlan, segment: &DriveSegment) -> Stride {
    match segment.phase {
        Phase::Load => Stride::WHOLE,
        Phase::Warm | Phase::Measure | Phase::Cool => Stride::of_share(plan.share),
    }
}

fn work_calls(work: &Work) -> Option<u64> {
    match *work {
        Work::Rows { input: Some(ref input), .. } if input.way != InputWay::Parsed => Some(input.files),
        Work::Rows { rows, batch_rows, .. } => Some(rows.div_ceil(u64::from(batch_rows.max(1)))),
        Work::Calls { count } => Some(count),
        Work::Endless {} => None,
    }
}

/// `GAPS` is counted where debug assertions are on, which is in every test build but an optimised one.
#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use inrush_engines::schedule::GAPS;

    #[test]
    fn progress_walks_along_the_arrivals_once_however_often_it_is_shown() {
        let role = serde_json::json!({"name": "users", "operations": [], "sessions": 1, "depth": 1,
            "schedule": {"kind": "poisson", "rate_per_s": 1_000.0}, "work": {"kind": "endless"},
            "until": {"kind": "time", "ns": 600_000_000_000u64}});
        let queue =
            RoleQueue::new(&serde_json::from_value(role).expect("a role"), Box::default(), 1, Stride::WHOLE);
        let before = GAPS.get();
        let beats = 1_200u64;
        let offered = (1..=beats).map(|beat| queue.offered(&[], 0, beat * 500_000_000)).last().expect("some");
        let walked = GAPS.get() - before;
        assert!(offered > 590_000, "{offered}");
        assert!(walked < offered + 10 * beats, "{walked} gaps for {offered} arrivals");
        assert_eq!(offered, schedule::offered_before(&queue.schedule, queue.seed, None, beats * 500_000_000));
        // A repetition begins at its own start.
        queue.reset();
        assert!(queue.offered(&[], 0, 1_000_000_000) < 1_300);
    }

    #[test]
    fn a_thousand_sessions_draw_an_arrivals_gap_a_few_times_and_not_a_thousand() {
        let role = serde_json::json!({"name": "users", "operations": [], "sessions": 1_000, "depth": 1,
            "schedule": {"kind": "poisson", "rate_per_s": 1_000.0}, "work": {"kind": "endless"},
            "until": {"kind": "time", "ns": 600_000_000_000u64}});
        let queue =
            RoleQueue::new(&serde_json::from_value(role).expect("a role"), Box::default(), 1, Stride::WHOLE);
        let mut sessions: Vec<Arrivals> = (0..1_000).map(|_| queue.arrivals()).collect();
        let mut alone = Arrivals::new(&queue.schedule, queue.seed);
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
