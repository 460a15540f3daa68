//! A call that failed, and a connection that was lost and is made anew.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::Worker;
use crate::engine::{Ns, Outcome, Session};
use crate::error::{Error, TargetFault};

/// A session whose last calls all failed is not measuring anything any more.
const FAILURES_IN_A_ROW: u32 = 1_000;
/// How long a session tries to come back after its connection was lost.
const RECONNECT_FOR: Duration = Duration::from_secs(5);
const RECONNECT_EVERY: Duration = Duration::from_millis(100);

impl Worker<'_> {
    pub(super) fn fail(&mut self, slot: usize, outcome: Outcome, at: Ns, message: Option<String>) {
        self.failures_in_a_row += 1;
        self.told.errors += 1;
        self.live.errors.store(self.told.errors, Relaxed);
        let message = message.or_else(|| self.session.failure());
        self.recorder.failed(slot, outcome, message.clone(), at);
        if outcome == Outcome::Lost {
            self.reconnect(message);
        } else if self.failures_in_a_row >= FAILURES_IN_A_ROW {
            let last = message.unwrap_or_else(|| outcome.name().to_owned());
            self.fatal = Some(format!("{FAILURES_IN_A_ROW} failures in a row, the last: {last}"));
        }
    }

    /// The failed call is not repeated: whether its rows are there is for the proof to say.
    pub(super) fn reconnect(&mut self, lost: Option<String>) {
        let now = self.role.clock.now();
        // What was in flight with it is lost too, and counted.
        while let Some(flight) = self.flights.end_oldest(now) {
            self.recorder.record(self.ops[flight.at].slot, flight.times(now), Outcome::Lost, 0, 0);
            self.told.ops += 1;
            self.told.errors += 1;
        }
        // What the old connection still holds, a transaction or a place on the server, may be in the way of the new one.
        self.session = Connected(None);
        let until = self.role.clock.now() + RECONNECT_FOR.as_nanos() as u64;
        loop {
            match self.role.engine.open(&self.reopen) {
                Ok(session) => {
                    self.session = Connected(Some(session));
                    return;
                }
                Err(error) if self.role.clock.now() >= until || self.role.halt.load(Relaxed) => {
                    let lost = lost.unwrap_or_default();
                    self.fatal = Some(format!("connection lost ({lost}) and not back: {error}"));
                    return;
                }
                Err(Error::Target { class: TargetFault::Auth, message, .. }) => {
                    self.fatal = Some(message);
                    return;
                }
                Err(_) => std::thread::sleep(RECONNECT_EVERY),
            }
        }
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

const THERE: &str = "a session that could not come back is fatal, and sends nothing more";

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
