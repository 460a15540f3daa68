//! Sums of a role's repetition: what its repetitions, sessions and failures are written from.

use super::hist::{Hist, SparseHist};
use super::snapshot::{Ended, Failure, OpCounts, Snapshot};
use super::spec::RoleSpec;
use super::{FailureRow, Recorded, RepetitionRow, SessionRow};
use inrush_engines::engine::Outcome;
use inrush_engines::schedule::Arrivals;
use inrush_rows::clock::ThreadTime;

/// Sums since the repetition began.
pub(super) struct Total {
    pub(super) ops: Vec<OpTotal>,
    pub(super) sessions: Vec<SessionTotal>,
    pub(super) start_ns: u64,
    pub(super) last_done_ns: u64,
    pub(super) failures: Vec<Failure>,
    pub(super) unseen: u64,
    pub(super) arrivals: Arrivals,
    /// Tickets with an operation that was added to `OpTotal::offered`.
    pub(super) offered: u64,
    pub(super) last: Option<Progress>,
}

#[derive(Clone, Default)]
pub(super) struct OpTotal {
    pub(super) offered: u64,
    pub(super) ops: u64,
    pub(super) ok: u64,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) late: u64,
    pub(super) outcomes: [u64; Outcome::ALL.len()],
}

#[derive(Clone, Default)]
pub(super) struct SessionTotal {
    pub(super) ops: u64,
    pub(super) rows: u64,
    pub(super) busy_ns: u64,
    pub(super) spent: ThreadTime,
    pub(super) in_flight: Vec<u32>,
}

/// Where and when a row belongs.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) segment: u16,
    pub(super) repetition: u32,
    pub(super) t_ns: u64,
    pub(super) dt_ns: u64,
    pub(super) origin_ns: u64,
}

/// The repetition that is ending; run time.
#[derive(Clone, Copy)]
pub(super) struct Ending {
    pub(super) segment: u16,
    pub(super) repetition: u32,
    pub(super) origin_ns: u64,
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
    /// Calls that did not end ok, by `Outcome`.
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Sent more than `schedule::LATE_NS` after they were due.
    pub late: u64,
    /// Of the last interval.
    pub ops_per_s: f64,
    pub rows_per_s: f64,
    /// Latency in the last interval, all operations; `None` if none ended ok.
    pub p99_ns: Option<u64>,
    /// Lag in the last interval; `None` on closed schedules.
    pub lag_p99_ns: Option<u64>,
    /// Latency of all intervals that have ended since the look before: added up, nothing is missing.
    pub latency: SparseHist,
}

impl Total {
    pub(super) fn new(spec: &RoleSpec) -> Total {
        let idle = SessionTotal { in_flight: vec![0; spec.ops.len()], ..SessionTotal::default() };
        Total {
            ops: vec![OpTotal::default(); spec.ops.len()],
            sessions: vec![idle; spec.sessions as usize],
            start_ns: u64::MAX,
            last_done_ns: 0,
            failures: Vec::new(),
            unseen: 0,
            arrivals: Arrivals::new(&spec.schedule, spec.seed),
            offered: 0,
            last: None,
        }
    }

    pub(super) fn add(&mut self, snapshot: &mut Snapshot) {
        self.start_ns = self.start_ns.min(snapshot.start_ns);
        self.last_done_ns = self.last_done_ns.max(snapshot.last_done_ns);
        let session = &mut self.sessions[snapshot.session];
        session.busy_ns += snapshot.busy_ns;
        for counts in &snapshot.ops {
            session.ops += counts.ops;
            session.rows = session.rows.saturating_add(counts.rows);
        }
        if let Some(Ended { spent, unseen, failures }) = snapshot.ended.take() {
            session.spent = spent;
            self.unseen += unseen;
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
    pub(super) fn offer_until(&mut self, spec: &RoleSpec, t_ns: u64) {
        let offered = spec.own(self.arrivals.offered_before(t_ns));
        match &spec.choose {
            Some(choose) if spec.ops.len() > 1 => {
                for ticket in self.offered..offered {
                    self.ops[choose(spec.stride.ticket(ticket))].offered += 1;
                }
            }
            _ => self.ops[0].offered += offered - self.offered,
        }
        self.offered = offered;
    }

    /// latency, lag: of the interval.
    pub(super) fn look(&mut self, role: &str, place: Place, latency: &Hist, lag: &Hist) {
        let (ops, rows, ok) = self
            .ops
            .iter()
            .fold((0, 0, 0), |(ops, rows, ok), o| (ops + o.ops, o.rows.saturating_add(rows), ok + o.ok));
        let (ops_before, rows_before) = self.last.as_ref().map_or((0, 0), |p| (p.ops, p.rows));
        let dt_s = place.dt_ns.max(1) as f64 / 1e9;
        let mut outcomes = [0; Outcome::ALL.len()];
        for (sum, own) in self.ops.iter().flat_map(|o| o.outcomes.iter().enumerate()) {
            outcomes[sum] += own;
        }
        self.last = Some(Progress {
            role: role.to_owned(),
            t_ns: place.t_ns + place.dt_ns,
            ops,
            rows,
            errors: ops - ok,
            outcomes,
            late: self.ops.iter().map(|o| o.late).sum(),
            ops_per_s: (ops - ops_before) as f64 / dt_s,
            rows_per_s: rows.saturating_sub(rows_before) as f64 / dt_s,
            p99_ns: latency.quantile(0.99),
            lag_p99_ns: lag.quantile(0.99),
            latency: SparseHist::default(),
        });
    }

    /// The rows that end a repetition, of a role to which nothing was offered from `offer_end_ns` on.
    pub(super) fn rows(&self, spec: &RoleSpec, ending: Ending, offer_end_ns: u64, out: &mut Recorded) {
        self.failure_rows(spec, ending, out);
        self.session_rows(spec, ending, out);
        out.repetitions.push(self.repetition_row(spec, ending, offer_end_ns));
    }

    fn failure_rows(&self, spec: &RoleSpec, ending: Ending, out: &mut Recorded) {
        for (op, (op_name, sums)) in spec.ops.iter().zip(&self.ops).enumerate() {
            for outcome in Outcome::ALL.into_iter().filter(|o| sums.outcomes[*o as usize] > 0) {
                let first = self.failures.iter().find(|f| f.op == op && f.outcome == outcome);
                out.failures.push(FailureRow {
                    segment: ending.segment,
                    repetition: ending.repetition,
                    role: spec.name.clone(),
                    op: op_name.clone(),
                    outcome: outcome.name(),
                    count: sums.outcomes[outcome as usize],
                    first_message: first.map_or(String::new(), |f| f.message.clone()),
                    first_ns: first.map_or(0, |f| f.first_ns),
                });
            }
        }
    }

    fn session_rows(&self, spec: &RoleSpec, ending: Ending, out: &mut Recorded) {
        for (session, sums) in self.sessions.iter().enumerate() {
            out.sessions.push(SessionRow {
                segment: ending.segment,
                repetition: ending.repetition,
                role: spec.name.clone(),
                session: session as u32,
                cpu_ns: sums.spent.cpu_ns,
                busy_ns: sums.busy_ns,
                ops: sums.ops,
                rows: sums.rows,
            });
        }
    }

    fn repetition_row(&self, spec: &RoleSpec, ending: Ending, offer_end_ns: u64) -> RepetitionRow {
        let sum = |f: fn(&OpTotal) -> u64| self.ops.iter().map(f).sum::<u64>();
        let (ops, ok) = (sum(|o| o.ops), sum(|o| o.ok));
        let in_flight: u64 = self.sessions.iter().flat_map(|s| &s.in_flight).map(|n| u64::from(*n)).sum();
        let start_ns = if ops == 0 { ending.origin_ns } else { self.start_ns };
        let wrong = sum(|o| o.outcomes[Outcome::Wrong as usize] + o.outcomes[Outcome::Missing as usize]);
        let (rows, bytes, late) = (sum(|o| o.rows), sum(|o| o.bytes), sum(|o| o.late));
        let cpu_ns = self.sessions.iter().map(|s| s.spent.cpu_ns).sum();
        let queued_ns = self.sessions.iter().map(|s| s.spent.queued_ns).sum();
        // The cursor stands at the last interval, not far from the end of what was offered.
        let offered_ns = offer_end_ns.saturating_sub(ending.origin_ns);
        let offered = spec.own(self.arrivals.clone().offered_before(offered_ns));
        RepetitionRow {
            segment: ending.segment,
            repetition: ending.repetition,
            role: spec.name.clone(),
            start_ns,
            end_ns: self.last_done_ns.max(start_ns),
            rows,
            bytes,
            ops,
            ok,
            errors: ops - ok,
            wrong,
            late,
            unsent: offered.saturating_sub(ops + in_flight),
            sessions: spec.sessions,
            cpu_ns,
            unseen: self.unseen,
            queued_ns,
        }
    }
}

impl OpTotal {
    pub(super) fn add(&mut self, counts: &OpCounts) {
        self.ops += counts.ops;
        self.ok += counts.ok();
        self.rows = self.rows.saturating_add(counts.rows);
        self.bytes = self.bytes.saturating_add(counts.bytes);
        self.late += counts.late;
        for (mine, theirs) in self.outcomes.iter_mut().zip(&counts.outcomes) {
            *mine += theirs;
        }
    }
}

impl OpCounts {
    pub(super) fn latency(&self) -> &Hist {
        self.paced.as_ref().map_or(&self.service, |paced| &paced.latency)
    }
}
