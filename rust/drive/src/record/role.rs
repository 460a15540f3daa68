//! One role's sessions, merged into intervals.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;

use super::hist::{Hist, SparseHist};
use super::recorder::Recorder;
use super::snapshot::{OpCounts, Snapshot};
use super::spec::{Looks, RoleSpec};
use super::total::{Place, Total};
use super::{HistRow, IntervalRow, Kind, Recorded, SendRow};
use inrush_engines::schedule::is_paced;

/// Snapshots of a session: one being filled, the others on their way or merged. At the default
/// interval of 1 s the collector may sleep for two before an interval becomes longer.
const SNAPSHOTS: usize = 3;

pub(super) struct Role {
    pub(super) spec: RoleSpec,
    full: Receiver<Box<Snapshot>>,
    free: Vec<SyncSender<Box<Snapshot>>>,
    pub(super) passed: Vec<Arc<AtomicU64>>,
    /// By first interval; disjoint.
    pub(super) pending: BTreeMap<u64, Span>,
    /// Rows were given out for all intervals before.
    pub(super) next: u64,
    pub(super) total: Total,
    /// Nothing is offered from then on; run time, `u64::MAX` until it is known.
    pub(super) offer_end_ns: u64,
    /// Latency of the intervals that were given out since the last `Collector::progress`.
    pub(super) unseen: Hist,
}

/// One interval, or several that a session reported as one, all sessions together.
#[derive(Default)]
pub(super) struct Span {
    pub(super) end: u64,
    ops: Vec<OpCounts>,
    sent_ops: u64,
    sends: u64,
    sent_bytes: u64,
    /// (session, operations in flight at the end).
    in_flight: Vec<(usize, Vec<u32>)>,
}

pub(super) fn open_role(spec: RoleSpec, interval_ns: u64) -> (Role, Vec<Recorder>) {
    let paced = is_paced(&spec.schedule);
    let sessions = spec.sessions as usize;
    let (full_in, full) = sync_channel(sessions * SNAPSHOTS);
    let mut free = Vec::new();
    let mut passed = Vec::new();
    let mut recorders = Vec::new();
    for session in 0..sessions {
        let (free_in, free_out) = sync_channel(SNAPSHOTS);
        for _ in 0..SNAPSHOTS {
            let snapshot = Box::new(Snapshot::new(spec.ops.len(), paced, spec.looks));
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
    let (pending, unseen) = (BTreeMap::new(), Hist::new());
    let role = Role { spec, full, free, passed, pending, next: 0, total, offer_end_ns: u64::MAX, unseen };
    (role, recorders)
}

impl Role {
    /// Merges what has arrived; the interval before which nothing more can arrive.
    pub(super) fn drain(&mut self) -> u64 {
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
        span.sent_ops += snapshot.sent_ops;
        span.sends += snapshot.sends;
        span.sent_bytes += snapshot.sent_bytes;
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
        let mut span = merged.unwrap_or_else(|| Span::with_ops(end, ops, paced, self.spec.looks));
        span.end = end;
        self.pending.entry(first).or_insert(span)
    }

    pub(super) fn rows_of(&mut self, mut span: Span, place: Place, out: &mut Recorded) {
        for (session, in_flight) in span.in_flight.drain(..) {
            self.total.sessions[session].in_flight = in_flight;
        }
        let end_ns = (place.t_ns + place.dt_ns).min(self.offer_end_ns).saturating_sub(place.origin_ns);
        self.total.offer_until(&self.spec, end_ns);
        if span.sends > 0 {
            out.sends.push(span.send_row(&self.spec.name, place));
        }
        let (mut latency, mut lag) = (Hist::new(), Hist::new());
        for (op, name) in self.spec.ops.iter().enumerate() {
            let empty = span.ops.get(op).is_none();
            let in_flight =
                self.total.sessions.iter().filter_map(|s| s.in_flight.get(op)).copied().sum::<u32>();
            let sums = &mut self.total.ops[op];
            if let Some(counts) = span.ops.get(op) {
                sums.add(counts);
                latency.merge(counts.latency());
                counts.paced.iter().for_each(|paced| lag.merge(&paced.lag));
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
        self.unseen.merge(&latency);
        self.total.look(&self.spec.name, place, &latency, &lag);
    }
}

/// The histograms of an operation in an interval, those with something in them.
fn hists(counts: &OpCounts) -> Vec<(Kind, SparseHist)> {
    let service = counts.service.to_sparse();
    let mut found = match &counts.paced {
        Some(paced) => vec![
            (Kind::Latency, paced.latency.to_sparse()),
            (Kind::Service, service),
            (Kind::Wait, paced.wait.to_sparse()),
            (Kind::Lag, paced.lag.to_sparse()),
            (Kind::OnTime, paced.on_time.to_sparse()),
        ],
        None => {
            let mut wait = Hist::new();
            wait.record_n(0, counts.ok());
            vec![(Kind::Latency, service.clone()), (Kind::Service, service), (Kind::Wait, wait.to_sparse())]
        }
    };
    found.extend(counts.freshness.iter().map(|hist| (Kind::Freshness, hist.to_sparse())));
    found.extend(counts.first_row.iter().map(|hist| (Kind::FirstRow, hist.to_sparse())));
    found.retain(|(_, hist)| hist.n > 0);
    found
}

impl Span {
    pub(super) fn empty(end: u64) -> Span {
        Span { end, ..Span::default() }
    }

    fn with_ops(end: u64, ops: usize, paced: bool, looks: Looks) -> Span {
        let ops = (0..ops).map(|_| OpCounts::new(paced, looks)).collect();
        Span { end, ops, ..Span::default() }
    }

    /// Operations that ended in it.
    pub(super) fn ended(&self) -> u64 {
        self.ops.iter().map(|counts| counts.ops).sum()
    }

    fn send_row(&self, role: &str, place: Place) -> SendRow {
        SendRow {
            segment: place.segment,
            repetition: place.repetition,
            role: role.to_owned(),
            t_ns: place.t_ns,
            dt_ns: place.dt_ns,
            ops: self.sent_ops,
            sends: self.sends,
            bytes: self.sent_bytes,
        }
    }

    /// `later` follows: its sessions' in-flight counts are the newer ones.
    fn absorb(&mut self, later: Span) {
        for (mine, theirs) in self.ops.iter_mut().zip(&later.ops) {
            mine.merge(theirs);
        }
        self.sent_ops += later.sent_ops;
        self.sends += later.sends;
        self.sent_bytes += later.sent_bytes;
        self.in_flight.extend(later.in_flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_takes_in_a_later_one_has_what_was_sent_in_both_and_its_own_end() {
        let sent = |end: u64, ops: u64, sends: u64, bytes: u64| {
            let mut span = Span::empty(end);
            (span.sent_ops, span.sends, span.sent_bytes) = (ops, sends, bytes);
            span
        };
        let mut span = sent(7, 2, 3, 5);
        span.absorb(sent(8, 10, 100, 1_000));
        assert_eq!((span.end, span.sent_ops, span.sends, span.sent_bytes), (7, 12, 103, 1_005));
    }
}
