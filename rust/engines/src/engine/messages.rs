//! Connections that speak in messages, and sessions on them whose answers come in the order of their calls. Shared by
//! the wires of PostgreSQL, MySQL and RESP.
//!
//! Everything here is generic: a session's own code is called directly, and nothing is allocated for a call.

use std::io::{self, IoSlice};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::answers::Answers;
use super::failures::Failures;
use super::shared::{limit_of, lost, StatementLimit, STEP};
use super::socket::{came, WAIT_STEP};
use super::stream::Stream;
use super::{Answer, Done, Ns, Outcome, Session, Ticket};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;

/// Calls that have ended and were not yet handed over, before a session's memory grows.
const FINISHED: usize = 64;

/// One socket, its messages read from an inbox.
pub trait Messages {
    fn stream(&mut self) -> &mut Stream;

    /// A message is there as a whole, or what is there is none: reading it does not block.
    fn buffered(&mut self) -> bool;

    /// Reads what has come, once, and makes room for the message that it is a part of.
    fn fill(&mut self) -> io::Result<()>;

    /// Something more has come; false when [`WAIT_STEP`] has passed without.
    fn fill_soon(&mut self) -> io::Result<bool> {
        came(self.fill())
    }

    /// Whether a read would not block within `limit`.
    fn readable(&mut self, limit: Duration) -> io::Result<bool> {
        self.stream().readable(limit)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream().send_parts(&mut [IoSlice::new(bytes)])
    }

    /// Longest time of one send, see [`Stream::limit_sends`].
    fn limit_sends(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.stream().limit_sends(limit)
    }
}

/// Calls of a session that have ended, until its driver has asked for them, and whether others can follow.
pub struct Ended {
    clock: Clock,
    finished: Vec<Done>,
    pub answers: Answers,
    pub failures: Failures,
    /// The connection is gone.
    pub broken: bool,
}

/// What came of a call that was read to its end by itself.
pub struct Came {
    pub outcome: Outcome,
    pub rows: u64,
    pub bytes: u64,
    pub why: Option<String>,
}

impl Ended {
    pub fn new(clock: Clock) -> Ended {
        Ended {
            clock,
            finished: Vec::with_capacity(FINISHED),
            answers: Answers::default(),
            failures: Failures::default(),
            broken: false,
        }
    }

    /// A call has ended now.
    #[inline]
    pub fn done(&mut self, ticket: Ticket, outcome: Outcome, rows: u64, bytes: u64) {
        self.finished.push(Done { ticket, done_ns: self.clock.now(), outcome, rows, bytes });
    }

    pub fn fail(&mut self, ticket: Ticket, outcome: Outcome, why: String) {
        self.failures.note(ticket, why);
        self.done(ticket, outcome, 0, 0);
    }

    /// A call goes with its connection.
    pub fn lose(&mut self, ticket: Ticket, outcome: Outcome, rows: u64, bytes: u64, error: &io::Error) {
        self.failures.note(ticket, format!("the connection was lost: {error}"));
        self.done(ticket, outcome, rows, bytes);
    }

    /// A call has come to its end, or its connection to another one.
    pub fn came(&mut self, ticket: Ticket, came: io::Result<Came>) {
        match came {
            Ok(Came { outcome, rows, bytes, why }) => {
                if let Some(why) = why {
                    self.failures.note(ticket, why);
                }
                self.done(ticket, outcome, rows, bytes);
            }
            Err(error) => {
                self.broken = true;
                self.lose(ticket, Outcome::Lost, 0, 0, &error);
            }
        }
    }

    /// Calls that were not handed over yet.
    pub fn len(&self) -> usize {
        self.finished.len()
    }

    fn hand_over(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.finished);
        self.answers.hand_over();
        self.failures.hand_over();
    }
}

/// A session whose server answers call after call.
pub trait InOrder: Session {
    type Connection: Messages;

    fn connection(&mut self) -> &mut Self::Connection;

    fn ended(&mut self) -> &mut Ended;

    /// Something is on its way that the server has still to answer.
    fn expects(&self) -> bool;

    /// Reads one message and does what it means for the call that it belongs to.
    fn read_one(&mut self) -> io::Result<()>;

    /// The same of messages that are there, one or more of them.
    fn read_there(&mut self) -> io::Result<()> {
        self.read_one()
    }

    /// The connection is gone, and everything in flight with it.
    fn break_off(&mut self, error: &io::Error);
}

#[inline]
fn waits(session: &mut impl InOrder) -> bool {
    !session.ended().broken && session.expects()
}

/// [`Session::poll`].
pub fn poll(session: &mut impl InOrder, until: Ns, done: &mut Vec<Done>) {
    session.flush();
    // Nothing is read that was not asked for.
    while waits(session) {
        let read = match session.connection().buffered() {
            // What has come is read to its end, what belongs to calls that are done included.
            true => session.read_there(),
            false if session.ended().len() > 0 => break,
            // A message may come in parts: what is still missing is waited for no longer either.
            false => match wait(session, until) {
                Ok(true) => Ok(()),
                Ok(false) => break,
                Err(error) => Err(error),
            },
        };
        if let Err(error) = read {
            session.break_off(&error);
        }
    }
    session.ended().hand_over(done);
}

/// Until something more has come; false when `until` has passed.
fn wait(session: &mut impl InOrder, until: Ns) -> io::Result<bool> {
    loop {
        if until != Ns::MAX {
            let left = Duration::from_nanos(until.saturating_sub(session.ended().clock.now()));
            if left <= WAIT_STEP && !session.connection().readable(left)? {
                return Ok(false);
            }
        }
        // Else the read itself waits: one call of the kernel less than to ask first.
        if session.connection().fill_soon()? {
            return Ok(true);
        }
    }
}

/// Until everything that was sent is answered, the end of calls that are done included.
pub fn drain(session: &mut impl InOrder) -> io::Result<()> {
    session.flush();
    while waits(session) {
        if let Err(error) = session.read_one() {
            session.break_off(&error);
            return Err(error);
        }
    }
    match session.ended().broken {
        true => Err(io::Error::other("the connection was lost before")),
        false => Ok(()),
    }
}

/// Everything acknowledged, or an error.
pub fn acknowledged(session: &mut impl InOrder, target: &str) -> Result<(), Error> {
    let mut done = Vec::new();
    loop {
        poll(session, Ns::MAX, &mut done);
        if !waits(session) {
            break;
        }
    }
    match done.iter().filter(|done| done.outcome != Outcome::Ok).count() {
        0 => Ok(()),
        unfinished => {
            let why = session.ended().failures.any().unwrap_or_default();
            Err(lost(target, &io::Error::other(format!("{unfinished} unacknowledged: {why}"))))
        }
    }
}

/// The connection of an engine for statements off the figures; opened again after the server was restarted.
pub struct Control<C>(Mutex<Option<C>>);

impl<C: Messages> Control<C> {
    pub fn new(connection: C) -> Control<C> {
        Control(Mutex::new(Some(connection)))
    }

    /// What `ask` gives on the kept connection while that stands, else on a new one.
    pub fn ask(
        &self,
        target: &str,
        limit_ns: u64,
        open: impl FnOnce() -> Result<C, Error>,
        ask: impl FnOnce(&mut C) -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        let mut kept = self.0.lock().unpoisoned();
        let idle = kept.take().and_then(|mut kept| is_alive(&mut kept).then_some(kept));
        let mut connection = match idle {
            Some(connection) => connection,
            None => open()?,
        };
        connection.limit_sends(limit_of(limit_ns)).map_err(|e| lost(target, &e))?;
        let begun = Instant::now();
        let answer = ask(&mut connection);
        let in_time = limit_of(limit_ns).is_none_or(|limit| begun.elapsed() < limit);
        // A connection that was lost, or still waits for an answer, is not kept; after a refusal it is as good as before.
        // One whose statement ended by itself at its limit may still meet the cancel, which would end the next statement.
        if in_time && !matches!(answer, Err(Error::Target { .. } | Error::Deadline { .. })) {
            *kept = Some(connection);
        }
        answer
    }
}

/// An idle connection is silent; what it has to say now is its end (the server was restarted).
fn is_alive(connection: &mut impl Messages) -> bool {
    !connection.buffered() && matches!(connection.readable(Duration::ZERO), Ok(false))
}

/// Waits in steps until a message is there as a whole, however slowly it comes. A statement past its limit is cancelled,
/// then given up.
pub fn await_message<C: Messages>(
    connection: &mut C,
    limit: &mut StatementLimit,
    cancel: impl Fn(&C),
    text: &str,
    target: &str,
) -> Result<(), Error> {
    let lost = |e: io::Error| lost(target, &e);
    while !connection.buffered() {
        if connection.readable(STEP).map_err(lost)? {
            connection.fill_soon().map_err(lost)?;
        }
        limit.check(|| cancel(connection), text)?;
    }
    Ok(())
}
