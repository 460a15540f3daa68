//! What ends a segment before its work, and calls that do not end by themselves. Nothing here waits for a server.

use std::sync::atomic::Ordering::Relaxed;

use super::cancel::CANCELLED_MOST_NS;
use super::stage::RoleStage;
use super::{Driver, EndedBy};
use inrush_engines::engine::Ns;

/// After a limit or a stop, running calls have this long before they are cancelled: with [`CANCELLED_MOST_NS`] less than
/// a second until the last connection is closed.
const GRACE_NS: Ns = 300_000_000;
/// After a limit or a stop, a call that still runs can only be ended with the process: it hangs inside an engine of ours.
pub const STUCK_NS: Ns = 10_000_000_000;

/// Why and since when a repetition is being ended early.
#[derive(Clone, Copy)]
pub struct Shutdown {
    pub why: EndedBy,
    pub since: Ns,
    reported: bool,
}

impl Shutdown {
    pub fn new(why: EndedBy, since: Ns) -> Shutdown {
        Shutdown { why, since, reported: false }
    }
}

/// The last call of a session that was to be cancelled: when it was sent, and when that was asked for.
#[derive(Clone, Copy, Default)]
pub struct Ending {
    sent_ns: Ns,
    asked_ns: Ns,
}

impl Driver<'_> {
    /// Why the segment is to end before its work: the run is to stop, or the limit has passed.
    pub(super) fn ends_early(&self, now: Ns) -> Option<EndedBy> {
        if self.drive_target.context.stop.load(Relaxed) {
            return Some(EndedBy::Stop);
        }
        let limit_ns = self.segment.limit_ns;
        (limit_ns > 0 && now > self.began + limit_ns).then_some(EndedBy::Limit)
    }

    /// Seconds until the segment is cut at its limit; endless without one.
    pub(super) fn limit_left_s(&self, now: Ns) -> f64 {
        let left_ns = (self.began + self.segment.limit_ns).saturating_sub(now);
        if self.segment.limit_ns > 0 {
            left_ns as f64 / 1e9
        } else {
            f64::INFINITY
        }
    }

    /// Deadlines of calls, the limit of the segment, and the wish to stop. Never waits for a server.
    pub(super) fn watch(&mut self, now: Ns, shutdown: &mut Option<Shutdown>) {
        if let (None, Some(why)) = (&shutdown, self.ends_early(now)) {
            *shutdown = Some(Shutdown::new(why, now));
            self.halt.store(true, Relaxed);
        }
        let halted_ns = shutdown.as_ref().map_or(0, |state| now - state.since);
        self.end_calls(now, halted_ns > GRACE_NS);
        if halted_ns > GRACE_NS + CANCELLED_MOST_NS {
            self.give_up();
        }
        let Some(state) = shutdown.as_mut().filter(|state| !state.reported && halted_ns > STUCK_NS) else {
            return;
        };
        state.reported = true;
        let is_busy = |stage: &&RoleStage<'_>| stage.lives().iter().any(|l| l.busy_since.load(Relaxed) > 0);
        if let Some(stage) = self.stages.iter().find(is_busy) {
            self.observer.stuck(stage.name());
        }
    }

    /// Cancels calls that are past their deadline, or all of them; closes the connections of those that run on.
    fn end_calls(&mut self, now: Ns, all: bool) {
        for stage in self.stages {
            let deadline = stage.deadline_ns();
            if deadline == 0 && !all {
                continue;
            }
            for (live, ending) in stage.lives().iter().zip(&mut self.endings[stage.first_thread()..]) {
                let sent_ns = live.busy_since.load(Relaxed);
                if sent_ns == 0 || !(all || now > sent_ns + deadline) {
                    continue;
                }
                if ending.sent_ns != sent_ns {
                    *ending = Ending { sent_ns, asked_ns: now };
                    live.cancelled.store(true, Relaxed);
                    self.cancels.request(live, sent_ns);
                } else if now > ending.asked_ns + CANCELLED_MOST_NS && !live.was_closed(sent_ns) {
                    live.close(sent_ns);
                }
            }
        }
    }

    /// Ends whatever a session waits for, and every further attempt to connect.
    pub(super) fn give_up(&self) {
        self.stages.iter().flat_map(RoleStage::lives).for_each(|live| live.abort.give_up());
    }
}
