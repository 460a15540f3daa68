//! One session at work: takes tickets, makes rows or parameters, sends, records.

mod loss;

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

use crate::clock::thread_cpu_ns;
use crate::drive::source::{Filled, Source};
use crate::drive::work::{Batch, Live, OpWork, RoleWork};
use crate::encode::parts;
use crate::engine::{Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work};
use crate::error::Error;
use crate::pace::{Pacer, Spin};
use crate::proof::Expected;
use crate::record::{Recorder, Times};
use crate::rows::Columns;
use crate::schedule::{Arrivals, Tickets};

use loss::Connected;

const NEVER: Ns = Ns::MAX;

/// A reader that looks for rows goes on for so long after their writers have ended.
const LINGER_NS: Ns = 10_000_000_000;

struct Flight {
    ticket: Ticket,
    /// Of rows read from files; boxed, so that calls without one stay small.
    proof: Option<Box<Expected>>,
    at: usize,
    due: Ns,
    ready: Ns,
    sent: Ns,
    rows: u64,
    floors: Vec<u64>,
}

impl Flight {
    fn times(&self, done_ns: Ns) -> Times {
        Times { due_ns: self.due, ready_ns: self.ready, sent_ns: self.sent, done_ns }
    }
}

/// Everything one session owns; built before the clock starts.
pub struct Worker<'a> {
    pub role: &'a RoleWork<'a>,
    pub session: Connected,
    pub reopen: Vec<OpId>,
    pub ops: Vec<OpWork>,
    pub depth: usize,
    pub think_ns: u64,
    pub recorder: Recorder,
    pub live: &'a Live,
    pace: Pacer,
    pub columns: Columns,
    pub payload: Payload,
    arrivals: Arrivals,
    flights: VecDeque<Flight>,
    done: Vec<Done>,
    tickets: Tickets,
    /// A ticket whose arrival is not yet due while others are in flight.
    held: Option<Ticket>,
    /// What is due first, made before the clock of a paced role starts; without rows that was the end.
    first: Option<Result<Made, Next>>,
    t0: Ns,
    ready: Ns,
    failures_in_a_row: u32,
    /// Since when the roles that this one follows have ended, while rows of theirs were not seen yet.
    lingers_since: Option<Ns>,
    /// Of this shot, for `live`.
    told: Told,
    /// Of the batch in `columns`, where it was read from files; then of all that were acknowledged.
    proof: Option<Box<Expected>>,
    stored: Option<Expected>,
    fatal: Option<String>,
}

#[derive(Default)]
struct Told {
    rows: u64,
    ops: u64,
    errors: u64,
}

impl<'a> Worker<'a> {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        role: &'a RoleWork<'a>,
        session: Box<dyn Session>,
        ops: Vec<OpWork>,
        depth: usize,
        think_ns: u64,
        recorder: Recorder,
        live: &'a Live,
        columns: Columns,
    ) -> Worker<'a> {
        Worker {
            reopen: ops.iter().map(|o| o.op).collect(),
            arrivals: role.line.arrivals(),
            tickets: role.line.tickets(),
            held: None,
            first: None,
            role,
            session: Connected(Some(session)),
            ops,
            depth: depth.max(1),
            think_ns,
            recorder,
            live,
            pace: Pacer::new(role.clock, role.halt.clone(), Spin::Never),
            columns,
            payload: Payload::default(),
            flights: VecDeque::with_capacity(depth.max(1)),
            done: Vec::with_capacity(depth.max(1)),
            t0: 0,
            ready: 0,
            failures_in_a_row: 0,
            lingers_since: None,
            told: Told::default(),
            proof: None,
            stored: None,
            fatal: None,
        }
    }

    pub fn close(self) {
        // The shot is over and recorded; what a closing connection says changes no figure.
        if let Connected(Some(session)) = self.session {
            let _ = session.close();
        }
    }

    /// Works from `t0` until the role ends; says why, if the session gave up.
    pub fn shoot(&mut self, repetition: u32, t0: Ns) -> Option<String> {
        self.arrivals = self.role.line.arrivals();
        self.tickets = self.role.line.tickets();
        (self.t0, self.ready, self.failures_in_a_row, self.lingers_since) = (t0, t0, 0, None);
        for freshness in self.ops.iter_mut().filter_map(|op| op.freshness.as_mut()) {
            freshness.restart(self.role.lines);
        }
        self.told = Told::default();
        self.live.clear();
        self.recorder.begin(repetition, t0);
        let cpu_before = thread_cpu_ns();
        self.first = if self.role.line.is_paced() { Some(self.make_next()) } else { None };
        self.pace.wait_until(t0);
        self.work();
        self.recorder.finish(self.role.clock.now(), thread_cpu_ns() - cpu_before);
        if let (Some(batch), Some(stored)) = (&self.role.batch, self.stored.take()) {
            self.role.counts[batch.table].store(stored);
        }
        self.role.line.leave();
        self.fatal.take()
    }

    /// Sends what is due, collects what is done, until nothing is left to send and nothing is in flight.
    fn work(&mut self) {
        let mut open = true;
        while open || !self.flights.is_empty() {
            while open && self.flights.len() < self.depth {
                match self.send_next() {
                    Next::Sent => {}
                    // Others are in flight: collect them while waiting for the next arrival.
                    Next::NotYet => break,
                    Next::End => open = false,
                }
            }
            if !self.flights.is_empty() {
                self.collect();
            }
            if self.fatal.is_some() {
                return;
            }
        }
    }

    fn send_next(&mut self) -> Next {
        let Made { ticket, at, due } = match self.first.take().unwrap_or_else(|| self.make_next()) {
            Ok(made) => made,
            Err(next) => return next,
        };
        let paced = self.role.line.is_paced();
        let collected = self.role.line.kept().map_or(due, |book| book.collected(ticket, due));
        if paced && !self.wait(collected) {
            return Next::End;
        }
        self.ready = self.ready.max(collected);
        if !paced && self.think_ns > 0 && !self.wait(self.ready + self.think_ns) {
            return Next::End;
        }
        self.submit(ticket, at, if paced { Some(due) } else { None });
        Next::Sent
    }

    /// Takes the next ticket and makes what it sends.
    fn make_next(&mut self) -> Result<Made, Next> {
        if self.is_over() {
            return Err(Next::End);
        }
        let Some(ticket) = self.held.take().or_else(|| self.tickets.take()) else { return Err(Next::End) };
        let paced = self.role.line.is_paced();
        let due = if paced { self.t0 + self.arrivals.due_ns(ticket) } else { 0 };
        if paced && self.role.line.end_ns.is_some_and(|end| due >= self.t0 + end) {
            return Err(Next::End);
        }
        if paced && !self.flights.is_empty() && due > self.role.clock.now() {
            self.held = Some(ticket);
            return Err(Next::NotYet);
        }
        let at = self.place_of(self.role.mix.operation(ticket));
        if self.make(ticket, at, due) {
            Ok(Made { ticket, at, due })
        } else {
            Err(Next::End)
        }
    }

    /// False when the role ended while waiting.
    fn wait(&mut self, until: Ns) -> bool {
        let (role, ops, lingers_since) = (self.role, &self.ops, self.lingers_since);
        let recorder = &mut self.recorder;
        let is_over = || is_stopped(role, ops, lingers_since);
        role.wait_unless(&self.pace, until, is_over, |now| recorder.tick(now))
    }

    #[inline]
    fn is_over(&mut self) -> bool {
        if self.lingers_since.is_none() && self.role.line.is_left_alone(self.role.lines) {
            self.lingers_since = Some(self.role.clock.now());
        }
        is_stopped(self.role, &self.ops, self.lingers_since)
            || self.role.line.end_ns.is_some_and(|end| self.ready >= self.t0 + end)
    }

    #[inline]
    fn place_of(&self, op: OpId) -> usize {
        if self.ops.len() == 1 {
            return 0;
        }
        self.ops.iter().position(|o| o.op == op).expect("the mix draws from the role's own operations")
    }

    /// Rows encoded or parameters filled; false when the rows have ended.
    fn make(&mut self, ticket: Ticket, at: usize, due: Ns) -> bool {
        let (work, role) = (&mut self.ops[at], self.role);
        let (Some(batch), true) = (&role.batch, work.is_insert) else {
            // A closed call is due when it is sent; its data time is when it was made.
            let due_ns = if due > 0 { due } else { self.ready } - self.t0;
            work.params.fill(ticket, due_ns, &mut work.values);
            if let Some(freshness) = &work.freshness {
                freshness.fill(&mut work.values);
            }
            return true;
        };
        let made = self.make_rows(batch, ticket, at);
        made.unwrap_or_else(|error| {
            self.fatal = Some(error.to_string());
            false
        })
    }

    fn make_rows(&mut self, batch: &Batch, ticket: Ticket, at: usize) -> Result<bool, Error> {
        let op = self.ops[at].op;
        let (first, rows) = batch.range(ticket);
        let (columns, payload) = (&mut self.columns, &mut self.payload);
        if let (Source::Generated(generator), Some(part_rows)) = (&batch.source, self.session.part_rows(op)) {
            for (at, count, part) in parts(rows, part_rows) {
                generator.fill(first + at as u64, count, columns);
                self.session.encode_part(op, columns, part, payload)?;
            }
            return Ok(true);
        }
        match batch.source.fill(ticket, first, rows, columns)? {
            Filled::End => return Ok(false),
            Filled::Rows => {}
            Filled::Proven(proof) => self.proof = Some(Box::new(proof)),
        }
        payload.bytes.clear();
        payload.rows = columns.rows as u64;
        self.session.encode(op, columns, payload)?;
        Ok(true)
    }

    fn submit(&mut self, ticket: Ticket, at: usize, due: Option<Ns>) {
        let work = &self.ops[at];
        let rows = if work.is_insert { self.payload.rows } else { 0 };
        if let (Some(batch), true) = (&self.role.batch, work.is_insert) {
            self.role.counts[batch.table].issue(rows);
        }
        let floors = work.floors(self.role.counts);
        let slot = work.slot;
        let sent = self.role.clock.now();
        self.recorder.sent(slot, sent);
        self.live.busy_since.store(sent, Relaxed);
        let due = due.unwrap_or(sent);
        if let (Some(book), true) = (self.role.line.kept(), work.is_insert) {
            book.sent(ticket, due, book.collected(ticket, due), sent);
        }
        let parcel = if work.is_insert {
            Work::Rows { columns: &self.columns, payload: &self.payload }
        } else {
            Work::Params(&work.values)
        };
        let queued = self.session.submit(ticket, work.op, parcel);
        debug_assert!(matches!(queued, Submit::Queued), "depth bounds what is in flight");
        let ready = self.ready.min(sent);
        self.flights.push_back(Flight {
            ticket,
            proof: self.proof.take(),
            at,
            due,
            ready,
            sent,
            rows,
            floors,
        });
    }

    fn collect(&mut self) {
        self.session.flush();
        self.done.clear();
        self.session.poll(NEVER, &mut self.done);
        for k in 0..self.done.len() {
            if self.flights.is_empty() {
                // The connection was lost at the call before: the others went with it and are counted.
                break;
            }
            let done = self.done[k];
            let place = self.flights.iter().position(|f| f.ticket == done.ticket);
            let flight =
                self.flights.remove(place.expect("engines finish what was submitted")).expect("found above");
            self.finish(flight, done);
        }
        let next = self.flights.front().map_or(0, |f| f.sent);
        self.live.busy_since.store(next, Relaxed);
    }

    fn finish(&mut self, flight: Flight, done: Done) {
        let work = &mut self.ops[flight.at];
        let answer = if work.checks.is_empty() { None } else { self.session.answer() };
        let (outcome, message) =
            work.judge(done.outcome, answer, &flight.floors, self.role.counts, self.live);
        let rows = if work.is_insert { flight.rows } else { done.rows };
        self.recorder.record(work.slot, flight.times(done.done_ns), outcome, rows, done.bytes);
        if let (Some(freshness), Outcome::Ok) = (&mut work.freshness, outcome) {
            if let Some(answer) = self.session.answer() {
                freshness.look(answer, done.done_ns, self.role.lines, &mut self.recorder, work.slot);
            }
        }
        self.ready = done.done_ns;
        self.told.ops += 1;
        self.live.ops.store(self.told.ops, Relaxed);
        if outcome == Outcome::Ok {
            self.told.rows += rows;
            self.live.rows.store(self.told.rows, Relaxed);
            self.failures_in_a_row = 0;
            if let (Some(batch), true) = (&self.role.batch, work.is_insert) {
                self.role.counts[batch.table].acknowledge(rows);
                if let Some(book) = self.role.line.kept() {
                    book.stored(flight.ticket, rows, done.done_ns);
                }
                match (&mut self.stored, flight.proof) {
                    (Some(stored), Some(proof)) => stored.merge(&proof),
                    (stored @ None, proof) => *stored = proof.map(|proof| *proof),
                    (Some(_), None) => {}
                }
            }
        } else {
            let slot = work.slot;
            self.fail(slot, outcome, done.done_ns, message);
        }
    }
}

/// Whatever is left of the session's work is not to be begun any more.
///
/// A reader that looks for rows sees what was stored last before it ends, or gives up.
#[inline]
fn is_stopped(role: &RoleWork<'_>, ops: &[OpWork], lingers_since: Option<Ns>) -> bool {
    if !role.is_stopped() {
        return false;
    }
    let Some(since) = lingers_since else { return role.halt.load(Relaxed) || !looks(ops) };
    role.halt.load(Relaxed)
        || role.clock.now() > since + LINGER_NS
        || !ops.iter().filter_map(|op| op.freshness.as_ref()).any(|f| f.is_behind(role.lines))
}

fn looks(ops: &[OpWork]) -> bool {
    ops.iter().any(|op| op.freshness.is_some())
}

/// Ready to be sent: an operation by its place among the session's, due at `due` in a paced role.
struct Made {
    ticket: Ticket,
    at: usize,
    due: Ns,
}

enum Next {
    Sent,
    NotYet,
    End,
}
