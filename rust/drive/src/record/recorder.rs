//! The session's side: counting on the clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::Arc;

use super::snapshot::{Ended, Failure, OpCounts, Snapshot};
use super::times::Times;
use inrush_engines::engine::Outcome;
use inrush_rows::clock::ThreadTime;

/// An interval in which a call still runs is handed over so long after its end: more than a step of a wait for an answer
/// (`engine::socket::WAIT_STEP`), so that a wait that begins in the interval is a single read.
const LOOK_LATE_NS: u64 = 300_000_000;

/// Counts of one session; owned by its thread.
///
/// Between `begin` and `finish`, for every operation `sent` and then, once it has ended, `record`.
pub struct Recorder {
    current: Option<Box<Snapshot>>,
    /// Last moment of the interval: the first event after it ends it. At the moment itself, so that
    /// the operation that ends a repetition is never alone in an interval without length.
    boundary_ns: u64,
    paced: bool,
    session: usize,
    interval_ns: u64,
    in_flight: Vec<u32>,
    /// What was last reported to the collector.
    reported_in_flight: Vec<u32>,
    failures: Vec<Failure>,
    unseen: u64,
    full: SyncSender<Box<Snapshot>>,
    free: Receiver<Box<Snapshot>>,
    /// Intervals of this repetition that this session will not add to any more.
    passed: Arc<AtomicU64>,
}

impl Recorder {
    pub(super) fn new(
        session: usize,
        ops: usize,
        paced: bool,
        interval_ns: u64,
        full: SyncSender<Box<Snapshot>>,
        free: Receiver<Box<Snapshot>>,
        passed: Arc<AtomicU64>,
    ) -> Recorder {
        Recorder {
            current: None,
            boundary_ns: u64::MAX,
            paced,
            session,
            interval_ns,
            in_flight: vec![0; ops],
            reported_in_flight: vec![0; ops],
            failures: Vec::new(),
            unseen: 0,
            full,
            free,
            passed,
        }
    }

    /// A repetition begins at `origin_ns` (run time), the same for all sessions of the segment.
    ///
    /// After `Collector::begin`, and so after the collector has `end`ed the one before.
    pub fn begin(&mut self, repetition: u32, origin_ns: u64) {
        assert!(self.current.is_none(), "`finish` the repetition before");
        let mut snapshot =
            self.free.try_recv().expect("the collector gives every snapshot back when it ends a repetition");
        snapshot.start(self.session, repetition, origin_ns, 0);
        self.boundary_ns = origin_ns + self.interval_ns;
        self.in_flight.fill(0);
        self.reported_in_flight.fill(0);
        self.failures.clear();
        self.unseen = 0;
        self.current = Some(snapshot);
    }

    /// Operation `op` (index into the role's operations) goes out at `sent_ns`.
    #[inline(always)]
    pub fn sent(&mut self, op: usize, sent_ns: u64) {
        if sent_ns >= self.boundary_ns {
            self.pass(sent_ns + 1);
        }
        self.in_flight[op] += 1;
    }

    /// So many calls have left for the server, in so many calls of the kernel.
    #[inline]
    pub fn left(&mut self, ops: u64, sends: u64, bytes: u64) {
        let snapshot = self.current.as_mut().expect("`begin` comes before `left`");
        snapshot.sent_ops += ops;
        snapshot.sends += sends;
        snapshot.sent_bytes += bytes;
    }

    /// Operation `op` has ended. `rows` and `bytes` count only when it ended ok.
    ///
    /// It is counted in the interval in which its session noticed. Returns by how many ns it was sent later than by an
    /// instrument that was always on time; 0 on closed schedules.
    #[inline(always)]
    pub fn record(&mut self, op: usize, times: Times, outcome: Outcome, rows: u64, bytes: u64) -> u64 {
        if times.done_ns > self.boundary_ns {
            self.pass(times.done_ns);
        }
        self.in_flight[op] -= 1;
        let snapshot = self.current.as_mut().expect("`begin` comes before `record`");
        let began_ns = if self.paced { times.due_ns } else { times.ready_ns };
        snapshot.start_ns = snapshot.start_ns.min(began_ns);
        snapshot.last_done_ns = snapshot.last_done_ns.max(times.done_ns);
        let service_ns = times.done_ns.saturating_sub(times.sent_ns);
        snapshot.busy_ns += service_ns;
        let counts = &mut snapshot.ops[op];
        counts.ops += 1;
        if outcome == Outcome::Ok {
            counts.service.record(service_ns);
            // Numbers that a server names: their sum never wraps.
            counts.rows = counts.rows.saturating_add(rows);
            counts.bytes = counts.bytes.saturating_add(bytes);
        } else {
            counts.outcomes[outcome as usize] += 1;
        }
        if !self.paced {
            return 0;
        }
        let behind_ns = times.behind_ns();
        counts.record_paced(times, outcome, behind_ns);
        behind_ns
    }

    /// A call of operation `op` that has just ended was the first of its session to see a row, `ns` after its due.
    pub fn freshness(&mut self, op: usize, ns: u64) {
        let snapshot = self.current.as_mut().expect("`begin` comes before `freshness`");
        let seen = snapshot.ops[op].freshness.as_mut();
        seen.expect("the role's spec says that it looks for rows").record(ns);
    }

    /// A call of operation `op` that is in no other figure saw rows: what it was late is in their freshness.
    #[cold]
    pub fn saw_after_the_end(&mut self, op: usize, times: Times) {
        let snapshot = self.current.as_mut().expect("`begin` comes before `saw_after_the_end`");
        if let Some(paced) = &mut snapshot.ops[op].paced {
            paced.lag.record(times.lag_ns());
        }
    }

    /// So many rows were due in this repetition that the session looked for, and never saw.
    pub fn never_saw(&mut self, rows: u64) {
        self.unseen += rows;
    }

    /// The first row of operation `op`, recorded just now as ok, came `ns` after its due.
    pub fn first_row(&mut self, op: usize, ns: u64) {
        let snapshot = self.current.as_mut().expect("`record` comes before `first_row`");
        let seen = snapshot.ops[op].first_row.as_mut();
        seen.expect("the role's spec says that its rows are looked at as they come").record(ns);
    }

    /// Why an operation failed: the first message of each class is kept.
    pub fn failed(&mut self, op: usize, outcome: Outcome, message: Option<String>, at_ns: u64) {
        let known = self.failures.iter().any(|f| f.op == op && f.outcome == outcome);
        if !known {
            let message = message.unwrap_or_default();
            self.failures.push(Failure { op, outcome, message, first_ns: at_ns });
        }
    }

    /// Nothing happens, and it is `now_ns`: call while waiting, so that others' intervals appear.
    #[inline]
    pub fn tick(&mut self, now_ns: u64) {
        if now_ns > self.boundary_ns {
            self.pass(now_ns);
        }
    }

    /// When `tick` has something to do at the latest, if nothing else happens.
    #[inline]
    pub fn look_ns(&self) -> u64 {
        self.boundary_ns.saturating_add(LOOK_LATE_NS)
    }

    /// The session has done its part of this repetition, which took so much of its thread's time.
    pub fn finish(&mut self, now_ns: u64, spent: ThreadTime) {
        self.tick(now_ns);
        let Some(mut snapshot) = self.current.take() else {
            return;
        };
        let failures = std::mem::take(&mut self.failures);
        snapshot.ended = Some(Ended { spent, unseen: self.unseen, failures });
        self.hand_over(snapshot);
        self.boundary_ns = u64::MAX;
        self.passed.store(u64::MAX, Ordering::Release);
    }

    /// The intervals before the one of `now_ns` have ended: hands over what is in them.
    #[cold]
    #[inline(never)]
    fn pass(&mut self, now_ns: u64) {
        let Some(snapshot) = self.current.as_mut() else {
            return;
        };
        let origin_ns = snapshot.origin_ns;
        let interval = (now_ns - origin_ns - 1) / self.interval_ns;
        let news = snapshot.ops.iter().any(OpCounts::has_news)
            || snapshot.sends > 0
            || self.in_flight != self.reported_in_flight;
        if !news {
            snapshot.first = interval;
            snapshot.end = interval + 1;
        } else if let Ok(mut next) = self.free.try_recv() {
            next.start(self.session, snapshot.repetition, origin_ns, interval);
            let full = self.current.replace(next).expect("checked above");
            self.reported_in_flight.copy_from_slice(&self.in_flight);
            self.hand_over(full);
        } else {
            snapshot.end = interval + 1;
            self.boundary_ns = origin_ns + (interval + 1) * self.interval_ns;
            return;
        }
        self.boundary_ns = origin_ns + (interval + 1) * self.interval_ns;
        // After the hand-over: a thread that reads this finds everything of the passed intervals.
        self.passed.store(interval, Ordering::Release);
    }

    fn hand_over(&self, mut snapshot: Box<Snapshot>) {
        for (counts, in_flight) in snapshot.ops.iter_mut().zip(&self.in_flight) {
            counts.in_flight = *in_flight;
        }
        // The queue holds every snapshot there is. Without a collector nothing takes them.
        let _ = self.full.try_send(snapshot);
    }
}

impl Drop for Recorder {
    /// A session that panicked still hands over what it counted.
    fn drop(&mut self) {
        if let Some(snapshot) = self.current.take() {
            self.hand_over(snapshot);
            self.passed.store(u64::MAX, Ordering::Release);
        }
    }
}
