//! A call that failed, and a connection that was lost and is made anew.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::flights::{Flight, Place};
use super::Worker;
use crate::drive::live::Live;
use crate::drive::work::RoleWork;
use crate::proof::Unanswered;
use inrush_engines::engine::{Ns, OpId, Outcome, Session};
use inrush_rows::error::{Error, TargetFault};

/// A session measures nothing any more once all its last calls have failed; where the server is overloaded, once they have
/// failed for so long as it may be away.
const FAILURES_IN_A_ROW: u32 = 1_000;
/// Between two tries to connect: an outage is known to so much.
const RECONNECT_EVERY: Duration = Duration::from_millis(100);

impl Worker<'_> {
    /// No answer came to the call and none will: if it was an insert, whether its rows are there is for the proof to find
    /// out. Off the clock: the call has failed.
    #[cold]
    pub(super) fn leave_open(&mut self, flight: Flight, place: Place) {
        let Some(batch) = self.role.batch.as_ref().filter(|_| self.role.is_measured) else { return };
        if self.ops[flight.at].is_insert {
            let first_row = batch.first_row_from(flight.ticket);
            let of_files = self.flights.kept(place).proof.take();
            self.unanswered.push(Unanswered { first_row, rows: flight.rows, of_files });
        }
    }

    /// `is_lost`: the connection went with the call, whatever the outcome is. `message`: why this call failed.
    pub(super) fn fail(
        &mut self,
        slot: usize,
        outcome: Outcome,
        is_lost: bool,
        at: Ns,
        message: Option<String>,
    ) {
        if self.first_failure.is_none() {
            self.first_failure = message.clone();
        }
        if self.failures_in_a_row == 0 {
            self.failing_since = at;
        }
        self.failures_in_a_row += 1;
        self.published.errors += 1;
        self.live.errors.store(self.published.errors, Relaxed);
        self.recorder.failed(slot, outcome, message.clone(), at);
        if is_lost {
            self.reconnect(message);
        } else if self.spoils(slot) {
            let why = message.unwrap_or_else(|| outcome.name().to_owned());
            self.fatal = Some(format!("role {}: {why}; its table is not the planned one", self.role.name));
        } else if self.failures_in_a_row >= FAILURES_IN_A_ROW && !self.may_recover(outcome, at) {
            let count = self.failures_in_a_row;
            self.fatal = Some(in_a_row(count, self.first_failure.take(), message, outcome));
        }
    }

    /// Whether a batch of a load has failed: whatever comes after it would be measured on another table.
    fn spoils(&self, slot: usize) -> bool {
        !self.role.is_measured && self.ops.iter().any(|op| op.slot == slot && op.is_insert)
    }

    /// The same call may go through a little later: the server says so, and has not said it for long.
    fn may_recover(&self, outcome: Outcome, at: Ns) -> bool {
        outcome == Outcome::Overloaded && at.saturating_sub(self.failing_since) < self.role.retry_ns
    }

    /// A connection in place of the last call's, within the time of the call in hand. False where there is none: the segment
    /// ends, or the server is not back in time.
    #[cold]
    pub(super) fn connect(&mut self) -> bool {
        if let Connected(Some(session)) = std::mem::replace(&mut self.session, Connected(None)) {
            // Everything was acknowledged: what a closing connection says changes no figure.
            let _ = session.close();
        }
        let recorder = &mut self.recorder;
        match reopened(self.role, &self.reopen, self.live, None, |now| recorder.tick(now)) {
            Ok(Some(session)) => {
                self.session = Connected(Some(session));
                // Its connection was not there; the call in hand has been under way all the same.
                self.live.busy_since.store(self.flights.oldest().map_or(0, |flight| flight.sent), Relaxed);
            }
            Ok(None) => self.abandon(Outcome::Lost, "the run ended before the call had a connection"),
            Err(fatal) => self.fatal = Some(fatal),
        }
        self.session.0.is_some()
    }

    /// The failed call is not repeated: whether its rows are there is for the proof to say.
    pub(super) fn reconnect(&mut self, lost: Option<String>) {
        let now = self.role.clock.now();
        // What was in flight with it is lost too, and counted.
        while let Some((flight, place)) = self.flights.end_oldest(now) {
            self.record(&flight, now, Outcome::Lost, 0, 0);
            self.leave_open(flight, place);
            self.published.errors += 1;
        }
        // What the old connection still holds, a transaction or a place on the server, may be in the way of the new one.
        self.session = Connected(None);
        let recorder = &mut self.recorder;
        match reopened(self.role, &self.reopen, self.live, lost, |now| recorder.tick(now)) {
            Ok(session) => {
                self.session = Connected(session);
                // Time without a connection is not the instrument's lateness: what is due meanwhile waits for the server.
                self.flights.restart(self.role.clock.now());
            }
            Err(fatal) => self.fatal = Some(fatal),
        }
    }
}

/// The cause stands in the first failure of the session; later ones, calls that succeeded between them or not, may
/// only say what it left broken.
fn in_a_row(count: u32, first: Option<String>, last: Option<String>, outcome: Outcome) -> String {
    let of = |message: Option<String>| message.unwrap_or_else(|| outcome.name().to_owned());
    let (first, last) = (of(first), of(last));
    if first == last {
        return format!("{count} failures in a row, the first and the last: {first}");
    }
    format!("{count} failures in a row, the last: {last}; the first of its session: {first}")
}

/// A new connection in place of one that was `lost` and is closed; `None` when the segment ends first. `tick` sees the
/// time now and then. Fails when the server is not back in the time of the plan, or refuses the user.
pub fn reopened(
    role: &RoleWork<'_>,
    ops: &[OpId],
    live: &Live,
    lost: Option<String>,
    mut tick: impl FnMut(Ns),
) -> Result<Option<Box<dyn Session>>, String> {
    live.disconnected();
    let until = role.clock.now().saturating_add(role.retry_ns);
    loop {
        if role.halt.load(Relaxed) {
            return Ok(None);
        }
        match role.engine.open(ops) {
            Ok(session) => {
                live.connected(session.canceller());
                return Ok(Some(session));
            }
            Err(Error::Target { class: TargetFault::Auth, message, .. }) => return Err(message),
            // Ended by the driver: what it said is no news.
            Err(_) if role.halt.load(Relaxed) => return Ok(None),
            Err(error) if role.clock.now() >= until => {
                return Err(format!("{}: {error}", not_back(lost, role.retry_ns)));
            }
            Err(_) => std::thread::sleep(RECONNECT_EVERY),
        }
        tick(role.clock.now());
    }
}

/// lost: what ended the connection before; `None` where none was lost, and each call makes its own.
fn not_back(lost: Option<String>, retry_ns: Ns) -> String {
    let retry_s = retry_ns as f64 / 1e9;
    match lost {
        Some(lost) => format!("connection lost ({lost}) and not back after {retry_s} s (schedule.retry_s)"),
        None => format!("no connection for a call within {retry_s} s (schedule.retry_s)"),
    }
}

/// The session's connection: there, but while it is made anew.
pub struct Connected(pub(super) Option<Box<dyn Session>>);

impl Connected {
    /// Cuts the connection; the session sends nothing more.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}

const THERE: &str = "a session that did not come back sends nothing more";

impl Deref for Connected {
    type Target = dyn Session;

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().expect(THERE)
    }
}

impl DerefMut for Connected {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.as_deref_mut().expect(THERE)
    }
}

#[cfg(test)]
mod tests {
    use super::{in_a_row, not_back, Outcome};

    #[test]
    fn a_server_that_does_not_come_back_is_told_from_one_that_was_never_there() {
        assert_eq!(
            not_back(Some("reset".to_owned()), 1_500_000_000),
            "connection lost (reset) and not back after 1.5 s (schedule.retry_s)"
        );
        assert_eq!(not_back(None, 0), "no connection for a call within 0 s (schedule.retry_s)");
    }

    #[test]
    fn failures_in_a_row_name_their_cause_and_what_came_of_it() {
        let of = |text: &str| Some(text.to_owned());
        assert_eq!(
            in_a_row(1000, of("full"), of("broken"), Outcome::Other),
            "1000 failures in a row, the last: broken; the first of its session: full"
        );
        assert_eq!(
            in_a_row(1000, of("full"), of("full"), Outcome::Other),
            "1000 failures in a row, the first and the last: full"
        );
        assert_eq!(
            in_a_row(1000, None, None, Outcome::Timeout),
            "1000 failures in a row, the first and the last: timeout"
        );
    }
}
