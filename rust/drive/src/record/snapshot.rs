//! What one session did in one interval, on its way to the collector.

use super::hist::Hist;
use super::spec::Looks;
use super::times::Times;
use inrush_engines::engine::Outcome;
use inrush_engines::schedule::LATE_NS;
use inrush_rows::clock::ThreadTime;

/// What one session did in one interval (or in several, when all snapshots were full).
pub(super) struct Snapshot {
    pub session: usize,
    pub repetition: u32,
    /// Start of the repetition, run time: interval `i` starts `i * interval_ns` later.
    pub origin_ns: u64,
    /// Intervals `first .. end`.
    pub first: u64,
    pub end: u64,
    pub ops: Vec<OpCounts>,
    /// First due; closed: first ready.
    pub start_ns: u64,
    pub last_done_ns: u64,
    pub busy_ns: u64,
    /// Calls that left for the server, calls of the kernel that took their bytes, and these bytes.
    pub sent_ops: u64,
    pub sends: u64,
    pub sent_bytes: u64,
    pub ended: Option<Ended>,
}

/// One operation's figures in a snapshot.
pub(super) struct OpCounts {
    /// Closed schedules fill `service` alone: latency is the same and wait is 0.
    pub service: Hist,
    pub paced: Option<PacedHists>,
    pub freshness: Option<Hist>,
    pub first_row: Option<Hist>,
    /// All outcomes.
    pub ops: u64,
    pub rows: u64,
    pub bytes: u64,
    pub late: u64,
    pub outcomes: [u64; Outcome::ALL.len()],
    pub in_flight: u32,
}

pub(super) struct PacedHists {
    pub latency: Hist,
    pub wait: Hist,
    pub lag: Hist,
    pub on_time: Hist,
}

/// What a session says at its end.
pub(super) struct Ended {
    pub spent: ThreadTime,
    /// Rows that it looked for and that were due, and that it never saw.
    pub unseen: u64,
    pub failures: Vec<Failure>,
}

#[derive(Clone)]
pub(super) struct Failure {
    pub op: usize,
    pub outcome: Outcome,
    pub message: String,
    pub first_ns: u64,
}

impl Snapshot {
    pub(super) fn new(ops: usize, paced: bool, looks: Looks) -> Snapshot {
        Snapshot {
            session: 0,
            repetition: 0,
            origin_ns: 0,
            first: 0,
            end: 0,
            ops: (0..ops).map(|_| OpCounts::new(paced, looks)).collect(),
            start_ns: u64::MAX,
            last_done_ns: 0,
            busy_ns: 0,
            sent_ops: 0,
            sends: 0,
            sent_bytes: 0,
            ended: None,
        }
    }

    pub(super) fn start(&mut self, session: usize, repetition: u32, origin_ns: u64, interval: u64) {
        self.session = session;
        self.repetition = repetition;
        self.origin_ns = origin_ns;
        self.first = interval;
        self.end = interval + 1;
    }

    /// As new, for the next interval. The collector's work, so that the session need not.
    pub(super) fn clear(&mut self) {
        for counts in &mut self.ops {
            counts.clear();
        }
        self.start_ns = u64::MAX;
        self.last_done_ns = 0;
        self.busy_ns = 0;
        (self.sent_ops, self.sends, self.sent_bytes) = (0, 0, 0);
        self.ended = None;
    }
}

impl OpCounts {
    pub(super) fn new(paced: bool, looks: Looks) -> OpCounts {
        let hists =
            || PacedHists { latency: Hist::new(), wait: Hist::new(), lag: Hist::new(), on_time: Hist::new() };
        OpCounts {
            service: Hist::new(),
            paced: paced.then(hists),
            freshness: looks.freshness.then(Hist::new),
            first_row: looks.first_row.then(Hist::new),
            ops: 0,
            rows: 0,
            bytes: 0,
            late: 0,
            outcomes: [0; Outcome::ALL.len()],
            in_flight: 0,
        }
    }

    #[inline]
    pub(super) fn record_paced(&mut self, times: Times, outcome: Outcome, behind_ns: u64) {
        let wait_ns = times.sent_ns.saturating_sub(times.due_ns);
        self.late += u64::from(wait_ns > LATE_NS);
        if outcome == Outcome::Ok {
            let hists = self.paced.as_mut().expect("a paced recorder has paced histograms");
            let latency_ns = times.done_ns.saturating_sub(times.due_ns);
            hists.latency.record(latency_ns);
            hists.on_time.record(latency_ns.saturating_sub(behind_ns));
            hists.wait.record(wait_ns);
            hists.lag.record(times.lag_ns());
        }
    }

    pub(super) fn merge(&mut self, other: &OpCounts) {
        self.service.merge(&other.service);
        if let (Some(mine), Some(theirs)) = (self.paced.as_mut(), other.paced.as_ref()) {
            mine.latency.merge(&theirs.latency);
            mine.wait.merge(&theirs.wait);
            mine.lag.merge(&theirs.lag);
            mine.on_time.merge(&theirs.on_time);
        }
        if let (Some(mine), Some(theirs)) = (self.freshness.as_mut(), other.freshness.as_ref()) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (self.first_row.as_mut(), other.first_row.as_ref()) {
            mine.merge(theirs);
        }
        self.ops += other.ops;
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.late += other.late;
        for (mine, theirs) in self.outcomes.iter_mut().zip(&other.outcomes) {
            *mine += theirs;
        }
    }

    fn clear(&mut self) {
        self.service.clear();
        if let Some(paced) = &mut self.paced {
            paced.latency.clear();
            paced.wait.clear();
            paced.lag.clear();
            paced.on_time.clear();
        }
        if let Some(freshness) = &mut self.freshness {
            freshness.clear();
        }
        if let Some(first_row) = &mut self.first_row {
            first_row.clear();
        }
        self.ops = 0;
        self.rows = 0;
        self.bytes = 0;
        self.late = 0;
        self.outcomes = [0; Outcome::ALL.len()];
        self.in_flight = 0;
    }

    /// Something ended, or was seen.
    pub(super) fn has_news(&self) -> bool {
        self.ops > 0 || self.freshness.as_ref().is_some_and(|seen| seen.n() > 0)
    }

    /// Operations that ended ok. They are not counted one by one: they are those in the histogram.
    pub(super) fn ok(&self) -> u64 {
        self.service.n()
    }
}
