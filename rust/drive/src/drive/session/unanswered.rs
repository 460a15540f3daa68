//! Calls that get no answer: they end all the same, with an outcome that says so.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::Worker;
use crate::drive::work::RoleWork;
use inrush_engines::engine::{Ns, Outcome};

/// A session that was given nothing, although calls are in flight, asks again this often.
pub const ASK_EVERY: Duration = Duration::from_millis(1);
/// A call has so long after its deadline: it is cancelled then, and what the engine says of that takes its time.
const AFTER_DEADLINE_NS: Ns = 1_000_000_000;
/// A call has so long after its segment was ended early: running calls are cancelled, then their connections closed (`drive::watchdog`).
const AFTER_HALT_NS: Ns = 3_000_000_000;

/// Whether a call that was sent at `sent` is not waited for any longer.
///
/// halted_since: kept by the caller; when it first saw that the segment ends early.
#[inline]
pub fn has_no_answer(
    sent: Ns,
    deadline_ns: Ns,
    now: Ns,
    role: &RoleWork<'_>,
    halted_since: &mut Option<Ns>,
) -> bool {
    if role.halt.load(Relaxed) {
        let since = *halted_since.get_or_insert(now);
        return now > since + AFTER_HALT_NS;
    }
    deadline_ns > 0 && now > sent + deadline_ns + AFTER_DEADLINE_NS
}

impl Worker<'_> {
    /// A `poll` gave nothing: its time was up, or the engine has nothing in flight that this session waits for.
    #[cold]
    pub(super) fn nothing_came(&mut self, until: Ns) {
        let now = self.role.clock.now();
        self.recorder.tick(now);
        if now < until {
            std::thread::sleep(ASK_EVERY.min(Duration::from_nanos(until - now)));
        }
        self.expire(now);
    }

    /// Ends calls that will get no answer any more.
    #[inline]
    pub(super) fn expire(&mut self, now: Ns) {
        let Some(oldest) = self.flights.oldest() else { return };
        let (sent, deadline_ns) = (oldest.sent, self.ops[oldest.at].deadline_ns);
        if !has_no_answer(sent, deadline_ns, now, self.role, &mut self.halted_since) {
            return;
        }
        if self.halted_since.is_some() {
            self.abandon(Outcome::Timeout, "no answer came, and the segment has ended");
        } else {
            self.expire_oldest(now);
        }
    }

    /// The connection goes with the call: an answer that comes later would be taken for one of the next calls.
    #[cold]
    fn expire_oldest(&mut self, now: Ns) {
        let Some((flight, place)) = self.flights.end_oldest(now) else { return };
        let slot = self.ops[flight.at].slot;
        let waited_s = (now - flight.sent) as f64 / 1e9;
        let deadline_s = self.ops[flight.at].deadline_ns as f64 / 1e9;
        let why = format!(
            "call {} got no answer in {waited_s:.1} s, its deadline was {deadline_s:.1} s; the connection was replaced",
            flight.ticket
        );
        self.record(&flight, now, Outcome::Timeout, 0, 0);
        self.leave_open(flight, place);
        self.live.cancelled.store(false, Relaxed);
        self.fail(slot, Outcome::Timeout, true, now, Some(why));
    }

    /// Records everything in flight as ended by `outcome`.
    #[cold]
    pub(super) fn abandon(&mut self, outcome: Outcome, why: &str) {
        let now = self.role.clock.now();
        while let Some((flight, place)) = self.flights.end_oldest(now) {
            let slot = self.ops[flight.at].slot;
            self.record(&flight, now, outcome, 0, 0);
            self.leave_open(flight, place);
            self.recorder.failed(slot, outcome, Some(why.to_owned()), now);
            self.published.errors += 1;
        }
        self.live.errors.store(self.published.errors, Relaxed);
        self.live.busy_since.store(0, Relaxed);
        // It may still hold what was given up: nothing is asked of it any more, not even an orderly end.
        self.session.forget();
    }
}
