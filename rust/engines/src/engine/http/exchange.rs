//! One request on its way over a kept connection, from its submit to how it ended: what sessions share that read an
//! answer only when it is whole.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Client, HttpError};
use crate::engine::shared::lost;
use crate::engine::{Canceller, Done, Ns, OpId, Outcome, Ticket};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;

pub struct Exchange {
    pub client: Client,
    clock: Clock,
    flight: Option<Flight>,
    finished: Vec<Done>,
    /// Of the answer on its way; read when it is complete, so that reading it is not part of its time.
    pub body: Vec<u8>,
    failure: Option<String>,
    /// Set by the canceller: the connection that is lost next was ended by us.
    cancelled: Arc<AtomicBool>,
}

/// The request on its way.
#[derive(Debug, Clone, Copy)]
pub struct Flight {
    pub ticket: Ticket,
    pub op: OpId,
    /// Of an insert: rows and bytes sent.
    pub rows: u64,
    pub bytes: u64,
    /// Stands in front of the answer.
    pub status: u16,
}

impl Flight {
    /// On its way to the server; the status is the answer's.
    pub fn new(ticket: Ticket, op: OpId, rows: u64, bytes: u64) -> Flight {
        Flight { ticket, op, rows, bytes, status: 0 }
    }
}

impl Exchange {
    pub fn new(client: Client, clock: Clock) -> Exchange {
        Exchange {
            client,
            clock,
            flight: None,
            finished: Vec::with_capacity(4),
            body: Vec::with_capacity(1 << 16),
            failure: None,
            cancelled: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Before a request is sent; false while another one is on its way.
    pub fn is_free(&mut self) -> bool {
        if self.flight.is_some() {
            return false;
        }
        // A cancel that came behind the answer has cut an idle connection: it says nothing of the next one.
        self.cancelled.store(false, Relaxed);
        self.body.clear();
        true
    }

    /// A request was sent, or could not be.
    pub fn begin(&mut self, flight: Flight, sent: Result<(), HttpError>) {
        self.flight = Some(flight);
        if let Err(http_error) = sent {
            self.break_off(&http_error);
        }
    }

    /// The flight whose answer is whole, in `body`, and when that was; its session then says how it ended ([`Self::end`]).
    pub fn receive(&mut self, until: Ns) -> Option<(Flight, Ns)> {
        if !self.finished.is_empty() {
            return None;
        }
        match self.receive_by(until)? {
            Ok(()) => self.flight.take().map(|flight| (flight, self.clock.now())),
            Err(HttpError::Late) => None,
            Err(http_error) => {
                self.break_off(&http_error);
                None
            }
        }
    }

    /// `None` without a request on its way; `Late` when `until` has passed before the end of its answer.
    fn receive_by(&mut self, until: Ns) -> Option<Result<(), HttpError>> {
        let flight = self.flight.as_mut()?;
        let left = Duration::from_nanos(until.saturating_sub(self.clock.now()));
        let until = (until != Ns::MAX).then(|| Instant::now() + left);
        if flight.status == 0 {
            match self.client.receive(until) {
                Ok(status) => flight.status = status,
                Err(http_error) => return Some(Err(http_error)),
            }
        }
        Some(self.client.read_all(&mut self.body, until))
    }

    pub fn end(&mut self, done: Done) {
        self.finished.push(done);
    }

    /// Why the call that ends next has failed.
    pub fn fail(&mut self, why: String) {
        self.failure = Some(why);
    }

    pub fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    pub fn hand_over(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.finished);
    }

    fn break_off(&mut self, http_error: &HttpError) {
        let Some(flight) = self.flight.take() else { return };
        self.client.forget();
        let cancelled = self.cancelled.swap(false, Relaxed);
        let outcome = if cancelled { Outcome::Timeout } else { http_error.outcome() };
        self.failure = Some(http_error.to_string());
        let done_ns = self.clock.now();
        self.finished.push(Done { ticket: flight.ticket, done_ns, outcome, rows: 0, bytes: 0 });
    }

    /// Cuts the connection.
    pub fn canceller(&self) -> Canceller {
        let (hang_up, cancelled) = (self.client.hang_up(), self.cancelled.clone());
        Box::new(move || {
            cancelled.store(true, Relaxed);
            hang_up.now();
        })
    }

    pub fn is_busy(&self) -> bool {
        self.flight.is_some()
    }

    /// An error where one of the calls that were on their way when the session closed has failed.
    pub fn acknowledged(&mut self, last: &[Done]) -> Result<(), Error> {
        if last.iter().all(|done| done.outcome == Outcome::Ok) {
            return Ok(());
        }
        let why = std::io::Error::other(self.failure.take().unwrap_or_default());
        Err(lost(&self.client.place().target, &why))
    }
}
