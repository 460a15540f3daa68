//! What has come back: each call leaves flight, is judged by its answer, and recorded.

use std::sync::atomic::Ordering::Relaxed;

use super::flights::{Flight, Place};
use super::Worker;
use crate::drive::input::Loaded;
use inrush_engines::engine::socket;
use inrush_engines::engine::{Done, Ns, Outcome};
use inrush_rows::clock::thread_cpu_ns;

impl Worker<'_> {
    /// Takes what has ended until `until`, or waits for it until then.
    pub(super) fn collect(&mut self, until: Ns) {
        self.session.flush();
        self.done.clear();
        self.count_sends();
        // A call that hangs is no reason to keep the intervals before it.
        let until = until.min(self.recorder.look_ns());
        self.session.poll(until, &mut self.done);
        let Some(last) = self.done.last() else { return self.nothing_came(until) };
        let now = last.done_ns;
        let mut lost = None;
        for k in 0..self.done.len() {
            let done = self.done[k];
            if done.outcome == Outcome::Lost {
                lost = lost.or(Some(done));
            } else {
                self.end(done);
            }
        }
        // One lost call stands for its connection: whatever else was in flight is lost with it, and counted there.
        if let (Some(done), None) = (lost, &self.fatal) {
            self.end(done);
        }
        self.expire(now);
        let oldest = self.flights.oldest().map_or(0, |f| f.sent);
        self.live.busy_since.store(oldest, Relaxed);
    }

    /// What has left since the last look: before the answers, so that it is counted in their interval or an earlier one.
    #[inline]
    fn count_sends(&mut self) {
        let sent = socket::sent();
        if sent.sends > self.sent.sends && self.lingers_since.is_none() {
            let (sends, bytes) = (sent.sends - self.sent.sends, sent.bytes - self.sent.bytes);
            self.recorder.left(std::mem::take(&mut self.handed_over), sends, bytes);
            self.sent = sent;
        }
    }

    /// Takes the call that `done` ends out of flight, and judges it by its own answer.
    fn end(&mut self, mut done: Done) {
        if self.extracts {
            self.closed(&mut done);
        }
        let oldest = self.flights.oldest().is_some_and(|f| f.ticket == done.ticket);
        match self.flights.end(done.ticket, done.done_ns) {
            Some((flight, place)) => self.finish(flight, place, done, oldest),
            None if self.fatal.is_some() => {}
            None => {
                self.fatal = Some(format!(
                    "role {}: the engine ended call {} ({}), which is not in flight: it was answered twice or never sent",
                    self.role.name,
                    done.ticket,
                    done.outcome.name()
                ))
            }
        }
    }

    /// The call as it ended with its rows written, where they are.
    #[cold]
    fn closed(&mut self, done: &mut Done) {
        // A session that extracts has one call under way.
        let at = self.flights.oldest().map_or(0, |flight| flight.at);
        if let Some(taken) = &mut self.ops[at].extract {
            *done = taken.closed(*done);
            self.fatal = taken.failure().or(self.fatal.take());
        }
    }

    fn finish(&mut self, flight: Flight, place: Place, done: Done, oldest: bool) {
        let (mut outcome, message) = self.judge(&flight, place, &done);
        // An answer that came is no timeout, wrong or not.
        if self.live.was_cancelled(done.outcome != Outcome::Ok, oldest) {
            outcome = Outcome::Timeout;
        }
        let is_insert = self.ops[flight.at].is_insert;
        let rows = if is_insert { flight.rows } else { done.rows };
        let bytes = self.role.batch.as_ref().and_then(|b| b.file_bytes(flight.ticket)).unwrap_or(done.bytes);
        let behind = self.record(&flight, done.done_ns, outcome, rows, bytes);
        let (times, lingers) = (flight.times(done.done_ns), self.lingers(&flight));
        let work = &mut self.ops[flight.at];
        if let (Some(freshness), Outcome::Ok) = (&mut work.freshness, outcome) {
            if let Some(answer) = self.session.answer(done.ticket) {
                let (queues, recorder) = (self.role.queues, &mut self.recorder);
                if freshness.look(answer, done.done_ns, queues, recorder, work.slot) && lingers {
                    recorder.saw_after_the_end(work.slot, times);
                }
            }
        }
        if let (Some(first_ns), Outcome::Ok) = (work.extract.as_ref().and_then(|e| e.first_ns()), outcome) {
            self.recorder.first_row(work.slot, first_ns.saturating_sub(flight.due));
        }
        if outcome == Outcome::Ok {
            self.published.rows += rows;
            self.live.rows.store(self.published.rows, Relaxed);
            self.failures_in_a_row = 0;
            if let (Some(batch), true) = (&self.role.batch, is_insert) {
                self.role.counts[batch.table].acknowledge(rows);
                if let Some(sample_log) = self.role.queue.kept() {
                    sample_log.stored(flight.ticket, rows, times, behind);
                }
                self.keep_stored(&flight, place, done.done_ns, batch.file_bytes(flight.ticket).is_some());
            }
        } else {
            let slot = work.slot;
            let is_lost = done.outcome == Outcome::Lost;
            let message = message.or_else(|| self.session.failure(done.ticket));
            if is_lost {
                self.leave_open(flight, place);
            }
            self.fail(slot, outcome, is_lost, done.done_ns, message);
        }
    }

    /// How the call ended by its own answer, and why where that is not how the engine says it did.
    #[inline]
    fn judge(&mut self, flight: &Flight, place: Place, done: &Done) -> (Outcome, Option<String>) {
        let work = &mut self.ops[flight.at];
        let (mut outcome, mut message) = (done.outcome, None);
        if outcome == Outcome::Ok && work.is_judged {
            let answer = self.session.answer(done.ticket);
            let floors = &self.flights.kept(place).floors;
            let broken =
                work.broken(flight.ticket, flight.data_ns, flight.sent, floors, answer, self.role.counts);
            if let Some((how, why)) = broken {
                (outcome, message) = (how, Some(why));
            }
        }
        if let (Some(extract), Outcome::Ok, true) = (&mut work.extract, outcome, work.is_answered) {
            let cpu_before = thread_cpu_ns();
            if let Some((how, why)) = extract.broken(&work.params, flight.ticket, done.rows) {
                (outcome, message) = (how, Some(why));
            }
            self.checked_cpu_ns += thread_cpu_ns() - cpu_before;
        }
        if let (Some((does, table)), Outcome::Ok) = (work.alters, done.outcome) {
            let change = self.flights.kept(place).change;
            let count = &self.role.counts[table];
            if let Some(touched) = count.touched() {
                let idle = (done.rows == 0 && work.tells_changes)
                    .then(|| touched.idle(does, change.row, count.settled(), flight.sent))
                    .flatten();
                if idle.is_some() {
                    (outcome, message) = (Outcome::Missing, idle);
                    touched.ledger.undone(change.row);
                } else {
                    touched.done(does, change, count.issued(), flight.sent, done.done_ns);
                }
            }
        }
        if let (Some((_, table)), Outcome::Overloaded) = (work.alters, done.outcome) {
            let row = self.flights.kept(place).change.row;
            self.role.counts[table].touched().inspect(|touched| touched.ledger.undone(row));
        }
        (outcome, message)
    }

    /// What the proof, and a load of files, know of a batch that was stored.
    #[inline]
    fn keep_stored(&mut self, flight: &Flight, place: Place, done_ns: Ns, is_file: bool) {
        if is_file {
            let (file, session, sent_ns) = (flight.ticket, self.number, flight.sent);
            self.loaded.push(Loaded { file, session, sent_ns, done_ns });
        }
        match (&mut self.stored, self.flights.kept(place).proof.take()) {
            (Some(stored), Some(proof)) => stored.merge(&proof),
            (stored @ None, proof) => *stored = proof.map(|proof| *proof),
            (Some(_), None) => {}
        }
    }

    /// Counts a call that has ended; how late it was sent. One of a reader that lingers counts by what it sees alone.
    #[inline]
    pub(super) fn record(
        &mut self,
        flight: &Flight,
        done: Ns,
        outcome: Outcome,
        rows: u64,
        bytes: u64,
    ) -> Ns {
        if self.lingers(flight) {
            self.recorder.tick(done);
            return 0;
        }
        self.published.ops += 1;
        self.live.ops.store(self.published.ops, Relaxed);
        self.recorder.record(self.ops[flight.at].slot, flight.times(done), outcome, rows, bytes)
    }

    /// Whether the call was sent after the end of its role.
    #[inline]
    fn lingers(&self, flight: &Flight) -> bool {
        self.lingers_since.is_some_and(|since| flight.sent >= since)
    }
}
