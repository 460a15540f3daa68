//! The collector's side: merging sessions into rows, off the session threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;

use super::hist::{Hist, SparseHist};
use super::recorder::{Ended, Failure, OpCounts, Recorder, Snapshot};
use super::{FailureRow, HistRow, IntervalRow, Kind, Recorded, SessionRow, ShotRow};
use crate::engine::Outcome;
use crate::plan::Schedule;
use crate::schedule::{is_paced, Arrivals};

/// Snapshots of a session: one being filled, the others on their way or merged. At the default
/// interval of 1 s the collector may sleep for two before an interval becomes longer.
const SNAPSHOTS: usize = 3;

/// Which of the role's operations ticket `k` is.
pub type Choose = Arc<dyn Fn(u64) -> usize + Send + Sync>;

/// A role as the record needs it.
#[derive(Clone)]
pub struct RoleSpec {
    pub name: String,
    /// Names of its operations; `Recorder` counts by index into these.
    pub ops: Vec<String>,
    pub sessions: u32,
    pub schedule: Schedule,
    /// `schedule::arrival_seed`.
    pub seed: u64,
    /// Tickets there are; `None`: without end.
    pub count: Option<u64>,
    /// Needed for the backlog by operation, where there are several.
    pub choose: Option<Choose>,
}

/// How a role's repetition ended, run time in ns.
#[derive(Debug, Clone, Copy)]
pub struct RoleEnd {
    /// Nothing was offered from here on: what was due before and not sent is `unsent`.
    pub offer_end_ns: u64,
    /// Its last session was done.
    pub end_ns: u64,
}

/// A look at a role while it runs, as far as all its sessions have reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub role: String,
    /// Up to this run time.
    pub t_ns: u64,
    pub ops: u64,
    pub rows: u64,
    pub errors: u64,
    /// Of the last interval.
    pub ops_per_s: f64,
    pub rows_per_s: f64,
    /// Latency in the last interval, all operations; `None` if none ended ok.
    pub p99_ns: Option<u64>,
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

struct Role {
    spec: RoleSpec,
    full: Receiver<Box<Snapshot>>,
    free: Vec<SyncSender<Box<Snapshot>>>,
    passed: Vec<Arc<AtomicU64>>,
    /// By first interval; disjoint.
    pending: BTreeMap<u64, Span>,
    /// Rows were given out for all intervals before.
    next: u64,
    total: Total,
}

/// One interval, or several that a session reported as one, all sessions together.
struct Span {
    end: u64,
    ops: Vec<OpCounts>,
    /// (session, operations in flight at the end).
    in_flight: Vec<(usize, Vec<u32>)>,
}

/// Sums since the repetition began.
struct Total {
    ops: Vec<OpTotal>,
    sessions: Vec<SessionTotal>,
    start_ns: u64,
    last_done_ns: u64,
    failures: Vec<Failure>,
    arrivals: Arrivals,
    /// Tickets whose operation was added to `OpTotal::offered`.
    offered: u64,
    last: Option<Progress>,
}

#[derive(Clone, Default)]
struct OpTotal {
    offered: u64,
    ops: u64,
    ok: u64,
    rows: u64,
    bytes: u64,
    late: u64,
    outcomes: [u64; Outcome::ALL.len()],
}

#[derive(Clone, Default)]
struct SessionTotal {
    ops: u64,
    rows: u64,
    busy_ns: u64,
    cpu_ns: u64,
    in_flight: Vec<u32>,
}

impl Collector {
    /// A collector and, per role, a recorder for each of its sessions.
    pub fn new(segment: u16, interval_ns: u64, roles: Vec<RoleSpec>) -> (Collector, Vec<Vec<Recorder>>) {
        assert!(interval_ns > 0, "an interval has a length");
        let (roles, recorders) = roles.into_iter().map(|spec| open_role(spec, interval_ns)).unzip();
        (Collector { segment, interval_ns, repetition: 0, origin_ns: 0, roles }, recorders)
    }

    /// A repetition whose first interval starts at `origin_ns` (run time). Before any `Recorder::begin`.
    pub fn begin(&mut self, repetition: u32, origin_ns: u64) {
        self.repetition = repetition;
        self.origin_ns = origin_ns;
        for role in &mut self.roles {
            for passed in &role.passed {
                passed.store(0, Ordering::Release);
            }
            role.pending.clear();
            role.next = 0;
            role.total = Total::new(&role.spec);
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
            let role = &self.roles[index];
            let end_ns = end.end_ns.max(role.total.last_done_ns);
            let ran = end_ns.saturating_sub(self.origin_ns).div_ceil(self.interval_ns);
            let with_ops = role.pending.values().filter(|span| span.ended() > 0);
            let reported = with_ops.map(|span| span.end).max();
            self.emit(index, ran.max(reported.unwrap_or(0)), end_ns, &mut out);
            self.total(index, end, &mut out);
        }
        out
    }

    pub fn progress(&self) -> Vec<Progress> {
        self.roles.iter().filter_map(|role| role.total.last.clone()).collect()
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

    fn total(&mut self, index: usize, end: &RoleEnd, out: &mut Recorded) {
        let (segment, repetition) = (self.segment, self.repetition);
        let role = &mut self.roles[index];
        let name = &role.spec.name;
        let total = &mut role.total;
        for (op, (op_name, sums)) in role.spec.ops.iter().zip(&total.ops).enumerate() {
            for outcome in Outcome::ALL.into_iter().filter(|o| sums.outcomes[*o as usize] > 0) {
                let first = total.failures.iter().find(|f| f.op == op && f.outcome == outcome);
                out.failures.push(FailureRow {
                    segment,
                    repetition,
                    role: name.clone(),
                    op: op_name.clone(),
                    outcome: outcome.name(),
                    count: sums.outcomes[outcome as usize],
                    first_message: first.map_or(String::new(), |f| f.message.clone()),
                    first_ns: first.map_or(0, |f| f.first_ns),
                });
            }
        }
        for (session, sums) in total.sessions.iter().enumerate() {
            out.sessions.push(SessionRow {
                segment,
                repetition,
                role: name.clone(),
                session: session as u32,
                cpu_ns: sums.cpu_ns,
                busy_ns: sums.busy_ns,
                ops: sums.ops,
                rows: sums.rows,
            });
        }
        let sum = |f: fn(&OpTotal) -> u64| total.ops.iter().map(f).sum::<u64>();
        let (ops, ok) = (sum(|o| o.ops), sum(|o| o.ok));
        let in_flight: u64 = total.sessions.iter().flat_map(|s| &s.in_flight).map(|n| u64::from(*n)).sum();
        let start_ns = if ops == 0 { self.origin_ns } else { total.start_ns };
        let wrong = sum(|o| o.outcomes[Outcome::Wrong as usize]);
        let (rows, bytes, late) = (sum(|o| o.rows), sum(|o| o.bytes), sum(|o| o.late));
        let cpu_ns = total.sessions.iter().map(|s| s.cpu_ns).sum();
        let offered = crate::schedule::offered_before(
            &role.spec.schedule,
            role.spec.seed,
            role.spec.count,
            end.offer_end_ns.saturating_sub(self.origin_ns),
        );
        out.shots.push(ShotRow {
            segment,
            repetition,
            role: name.clone(),
            start_ns,
            end_ns: total.last_done_ns.max(start_ns),
            rows,
            bytes,
            ops,
            ok,
            errors: ops - ok,
            wrong,
            late,
            unsent: offered.saturating_sub(ops + in_flight),
            sessions: role.spec.sessions,
            cpu_ns,
        });
    }
}

fn open_role(spec: RoleSpec, interval_ns: u64) -> (Role, Vec<Recorder>) {
    let paced = is_paced(&spec.schedule);
    let sessions = spec.sessions as usize;
    let (full_in, full) = sync_channel(sessions * SNAPSHOTS);
    let mut free = Vec::new();
    let mut passed = Vec::new();
    let mut recorders = Vec::new();
    for session in 0..sessions {
        let (free_in, free_out) = sync_channel(SNAPSHOTS);
        for _ in 0..SNAPSHOTS {
            let snapshot = Box::new(Snapshot::new(spec.ops.len(), paced));
            free_in.try_send(snapshot).expect("the queue holds every snapshot");
        }
        let mark = Arc::new(AtomicU64::new(0));
        let ops = spec.ops.len();
        let full = full_in.clone();
        recorders.push(Recorder::new(session, ops, paced, interval_ns, full, free_out, Arc::clone(&mark)));
        free.push(free_in);
        passed.push(mark);
    }
    let total = Total::new(&spec);
    (Role { spec, full, free, passed, pending: BTreeMap::new(), next: 0, total }, recorders)
}

/// Where and when a row belongs.
#[derive(Clone, Copy)]
struct Place {
    segment: u16,
    repetition: u32,
    t_ns: u64,
    dt_ns: u64,
    origin_ns: u64,
}

impl Role {
    /// Merges what has arrived; the interval before which nothing more can arrive.
    fn drain(&mut self) -> u64 {
        // Read before the queue is emptied: a session marks an interval passed after handing it over.
        let passed = self.passed.iter().map(|mark| mark.load(Ordering::Acquire)).min();
        while let Ok(snapshot) = self.full.try_recv() {
            self.merge(snapshot);
        }
        passed.unwrap_or(u64::MAX)
    }

    fn merge(&mut self, mut snapshot: Box<Snapshot>) {
        self.total.add(&mut snapshot);
        let span = self.span(snapshot.first, snapshot.end);
        for (mine, theirs) in span.ops.iter_mut().zip(&snapshot.ops) {
            mine.merge(theirs);
        }
        let in_flight = snapshot.ops.iter().map(|counts| counts.in_flight).collect();
        span.in_flight.push((snapshot.session, in_flight));
        snapshot.clear();
        // A session that is gone wants nothing back.
        let _ = self.free[snapshot.session].try_send(snapshot);
    }

    /// The pending span that covers `first..end`, made from all that overlap it.
    fn span(&mut self, mut first: u64, mut end: u64) -> &mut Span {
        let overlapping: Vec<u64> =
            self.pending.range(..end).filter(|(_, span)| span.end > first).map(|(start, _)| *start).collect();
        let mut merged: Option<Span> = None;
        for start in overlapping {
            let span = self.pending.remove(&start).expect("just found");
            first = first.min(start);
            end = end.max(span.end);
            match &mut merged {
                None => merged = Some(span),
                Some(all) => all.absorb(span),
            }
        }
        let paced = is_paced(&self.spec.schedule);
        let ops = self.spec.ops.len();
        let mut span = merged.unwrap_or_else(|| Span::with_ops(end, ops, paced));
        span.end = end;
        self.pending.entry(first).or_insert(span)
    }

    fn rows_of(&mut self, span: Span, place: Place, out: &mut Recorded) {
        for (session, in_flight) in span.in_flight {
            self.total.sessions[session].in_flight = in_flight;
        }
        let end_ns = place.t_ns + place.dt_ns - place.origin_ns;
        self.total.offer_until(&self.spec, end_ns);
        let mut latency = Hist::new();
        for (op, name) in self.spec.ops.iter().enumerate() {
            let empty = span.ops.get(op).is_none();
            let in_flight =
                self.total.sessions.iter().filter_map(|s| s.in_flight.get(op)).copied().sum::<u32>();
            let sums = &mut self.total.ops[op];
            if let Some(counts) = span.ops.get(op) {
                sums.add(counts);
                latency.merge(counts.latency());
            }
            let counts = span.ops.get(op);
            let of = |f: fn(&OpCounts) -> u64| counts.map_or(0, f);
            out.intervals.push(IntervalRow {
                segment: place.segment,
                repetition: place.repetition,
                role: self.spec.name.clone(),
                op: name.clone(),
                t_ns: place.t_ns,
                dt_ns: place.dt_ns,
                rows: of(|c| c.rows),
                bytes: of(|c| c.bytes),
                ops: of(|c| c.ops),
                errors: of(|c| c.ops - c.ok()),
                late: of(|c| c.late),
                in_flight,
                backlog: sums.offered.saturating_sub(sums.ops + u64::from(in_flight)),
                cum_rows: sums.rows,
            });
            if empty {
                continue;
            }
            for (kind, hist) in counts.map(hists).unwrap_or_default() {
                out.hists.push(HistRow {
                    segment: place.segment,
                    repetition: place.repetition,
                    role: self.spec.name.clone(),
                    op: name.clone(),
                    kind,
                    t_ns: place.t_ns,
                    dt_ns: place.dt_ns,
                    hist,
                });
            }
        }
        self.total.look(&self.spec.name, place, &latency);
    }
}

/// The histograms of an operation in an interval; none if nothing ended ok.
fn hists(counts: &OpCounts) -> Vec<(Kind, SparseHist)> {
    if counts.ok() == 0 {
        return Vec::new();
    }
    let service = counts.service.to_sparse();
    match &counts.paced {
        Some(paced) => vec![
            (Kind::Latency, paced.latency.to_sparse()),
            (Kind::Service, service),
            (Kind::Wait, paced.wait.to_sparse()),
            (Kind::Lag, paced.lag.to_sparse()),
        ],
        None => {
            let mut wait = Hist::new();
            wait.record_n(0, counts.ok());
            vec![(Kind::Latency, service.clone()), (Kind::Service, service), (Kind::Wait, wait.to_sparse())]
        }
    }
}

impl Span {
    fn empty(end: u64) -> Span {
        Span { end, ops: Vec::new(), in_flight: Vec::new() }
    }

    fn with_ops(end: u64, ops: usize, paced: bool) -> Span {
        Span { end, ops: (0..ops).map(|_| OpCounts::new(paced)).collect(), in_flight: Vec::new() }
    }

    /// Operations that ended in it.
    fn ended(&self) -> u64 {
        self.ops.iter().map(|counts| counts.ops).sum()
    }

    /// `later` follows: its sessions' in-flight counts are the newer ones.
    fn absorb(&mut self, later: Span) {
        for (mine, theirs) in self.ops.iter_mut().zip(&later.ops) {
            mine.merge(theirs);
        }
        self.in_flight.extend(later.in_flight);
    }
}

impl Total {
    fn new(spec: &RoleSpec) -> Total {
        let idle = SessionTotal { in_flight: vec![0; spec.ops.len()], ..SessionTotal::default() };
        Total {
            ops: vec![OpTotal::default(); spec.ops.len()],
            sessions: vec![idle; spec.sessions as usize],
            start_ns: u64::MAX,
            last_done_ns: 0,
            failures: Vec::new(),
            arrivals: Arrivals::new(&spec.schedule, spec.seed),
            offered: 0,
            last: None,
        }
    }

    fn add(&mut self, snapshot: &mut Snapshot) {
        self.start_ns = self.start_ns.min(snapshot.start_ns);
        self.last_done_ns = self.last_done_ns.max(snapshot.last_done_ns);
        let session = &mut self.sessions[snapshot.session];
        session.busy_ns += snapshot.busy_ns;
        for counts in &snapshot.ops {
            session.ops += counts.ops;
            session.rows += counts.rows;
        }
        if let Some(Ended { cpu_ns, failures }) = snapshot.ended.take() {
            session.cpu_ns = cpu_ns;
            for failure in failures {
                self.add_failure(failure);
            }
        }
    }

    /// Of each operation and class the earliest is kept.
    fn add_failure(&mut self, new: Failure) {
        match self.failures.iter_mut().find(|f| f.op == new.op && f.outcome == new.outcome) {
            Some(known) if known.first_ns <= new.first_ns => {}
            Some(known) => *known = new,
            None => self.failures.push(new),
        }
    }

    /// Counts what was due before `t_ns` (from the origin), by operation.
    fn offer_until(&mut self, spec: &RoleSpec, t_ns: u64) {
        let offered = self.arrivals.offered_before(t_ns).min(spec.count.unwrap_or(u64::MAX));
        match &spec.choose {
            Some(choose) if spec.ops.len() > 1 => {
                for ticket in self.offered..offered {
                    self.ops[choose(ticket)].offered += 1;
                }
            }
            _ => self.ops[0].offered += offered - self.offered,
        }
        self.offered = offered;
    }

    fn look(&mut self, role: &str, place: Place, latency: &Hist) {
        let (ops, rows, ok) =
            self.ops.iter().fold((0, 0, 0), |(ops, rows, ok), o| (ops + o.ops, rows + o.rows, ok + o.ok));
        let (ops_before, rows_before) = self.last.as_ref().map_or((0, 0), |p| (p.ops, p.rows));
        let dt_s = place.dt_ns.max(1) as f64 / 1e9;
        self.last = Some(Progress {
            role: role.to_owned(),
            t_ns: place.t_ns + place.dt_ns,
            ops,
            rows,
            errors: ops - ok,
            ops_per_s: (ops - ops_before) as f64 / dt_s,
            rows_per_s: (rows - rows_before) as f64 / dt_s,
            p99_ns: latency.quantile(0.99),
        });
    }
}

impl OpTotal {
    fn add(&mut self, counts: &OpCounts) {
        self.ops += counts.ops;
        self.ok += counts.ok();
        self.rows += counts.rows;
        self.bytes += counts.bytes;
        self.late += counts.late;
        for (mine, theirs) in self.outcomes.iter_mut().zip(&counts.outcomes) {
            *mine += theirs;
        }
    }
}

impl OpCounts {
    fn latency(&self) -> &Hist {
        self.paced.as_ref().map_or(&self.service, |paced| &paced.latency)
    }
}
