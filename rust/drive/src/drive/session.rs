//! One session at work: takes tickets, makes rows or parameters, sends, records.

mod batch;
mod by_key;
mod collect;
pub mod flights;
mod loss;
mod next;
pub mod refill;
pub mod unanswered;

use std::sync::atomic::Ordering::Relaxed;

use crate::drive::input::Loaded;
use crate::drive::live::Live;
use crate::drive::touched::Change;
use crate::drive::work::{OpWork, RoleWork};
use crate::proof::Unanswered;
use crate::record::Recorder;
use inrush_engines::engine::socket::{self, Sent};
use inrush_engines::engine::{Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work};
use inrush_engines::pace::{Pacer, Spin};
use inrush_engines::schedule::{Arrivals, Tickets};
use inrush_rows::clock::ThreadTime;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::rows::{Columns, Expected};

use batch::Rows;
use flights::{Flight, Flights};
pub use loss::reopened;
use loss::Connected;
use next::{Next, ReadyCall};
use refill::{Refilling, Sends};

/// Everything one session owns; built before the clock starts.
pub struct Worker<'a> {
    /// Among the sessions of its role.
    pub number: u32,
    pub role: &'a RoleWork<'a>,
    pub session: Connected,
    pub reopen: Vec<OpId>,
    pub ops: Vec<OpWork>,
    pub think_ns: u64,
    pub recorder: Recorder,
    pub live: &'a Live,
    pace: Pacer,
    pub columns: Columns,
    pub payload: Payload,
    /// Of the batch that `payload` is of.
    rows: Rows,
    arrivals: Arrivals,
    flights: Flights,
    refilling: Refilling,
    done: Vec<Done>,
    tickets: Tickets,
    /// A ticket that is not yet due, while others are in flight.
    held: Option<Ticket>,
    /// What is due first, made before the clock of a paced role starts; without rows that was the end.
    first: Option<Result<ReadyCall, Next>>,
    t0: Ns,
    failures_in_a_row: u32,
    failing_since: Ns,
    /// Why the first call of the session failed.
    first_failure: Option<String>,
    /// Since when its role has ended, while rows that were due before can still be seen: calls from then on are in no
    /// figure but the freshness of these.
    lingers_since: Option<Ns>,
    /// Of this repetition, for `live`.
    published: Published,
    /// Of the batch in `columns`, where it was read from files; then of all that were acknowledged.
    proof: Option<Box<Expected>>,
    stored: Option<Expected>,
    /// Of the call that is made and not sent yet, if it is one by key that adds or changes a row.
    change: Change,
    /// Inserts of which no answer came.
    unanswered: Vec<Unanswered>,
    /// When this session first saw that the segment ends early.
    halted_since: Option<Ns>,
    /// What its thread had sent when it was last looked at, and calls that were handed over since.
    sent: Sent,
    handed_over: u64,
    /// CPU time of making rows again that an extract's are compared with: it is no cost of reading them.
    checked_cpu_ns: u64,
    /// Files that it has loaded.
    loaded: Vec<Loaded>,
    fatal: Option<String>,
    /// One of its operations has rows that are looked at as they come.
    extracts: bool,
}

#[derive(Default)]
struct Published {
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
        think_ns: u64,
        recorder: Recorder,
        live: &'a Live,
        columns: Columns,
    ) -> Worker<'a> {
        Worker {
            number: 0,
            reopen: ops.iter().map(|o| o.op).collect(),
            extracts: ops.iter().any(|o| o.extract.is_some()),
            arrivals: role.queue.arrivals(),
            tickets: role.queue.tickets(),
            held: None,
            first: None,
            role,
            session: Connected(Some(session)),
            ops,
            think_ns,
            recorder,
            live,
            pace: Pacer::new(role.clock, role.halt.clone(), Spin::Never),
            columns,
            payload: Payload::default(),
            rows: Rows::default(),
            flights: Flights::new(role.depth),
            refilling: role.queue.refilling(role.depth),
            done: Vec::with_capacity(role.depth),
            t0: 0,
            failures_in_a_row: 0,
            failing_since: 0,
            first_failure: None,
            lingers_since: None,
            published: Published::default(),
            proof: None,
            stored: None,
            change: Change::default(),
            unanswered: Vec::with_capacity(role.depth),
            halted_since: None,
            sent: Sent::default(),
            handed_over: 0,
            checked_cpu_ns: 0,
            loaded: Vec::new(),
            fatal: None,
        }
    }

    pub fn close(self) {
        // The repetition is over and recorded; what a closing connection says changes no figure.
        if let Connected(Some(session)) = self.session {
            let _ = session.close();
        }
    }

    /// Works from `t0` until the role ends; says why, if the session gave up.
    pub fn shoot(&mut self, repetition: u32, t0: Ns) -> Option<String> {
        self.arrivals = self.role.queue.arrivals();
        self.tickets = self.role.queue.tickets();
        // Nothing of the repetition before is left: what was held back then is due in no other one.
        (self.held, self.proof, self.halted_since) = (None, None, None);
        (self.t0, self.failures_in_a_row, self.lingers_since) = (t0, 0, None);
        self.flights.restart(t0);
        self.refilling.restart();
        self.count_on();
        for freshness in self.ops.iter_mut().filter_map(|op| op.freshness.as_mut()) {
            freshness.restart(self.role.queues, self.role.queue.end_ns.map(|ns| t0 + ns));
        }
        (self.published, self.checked_cpu_ns) = (Published::default(), 0);
        self.live.clear();
        (self.sent, self.handed_over) = (socket::sent(), 0);
        self.recorder.begin(repetition, t0);
        let before = ThreadTime::now();
        self.first = if self.role.queue.is_paced() { Some(self.make_next()) } else { None };
        self.pace.wait_until(t0);
        self.live.began.store(self.role.clock.now(), Relaxed);
        self.work();
        let mut spent = ThreadTime::now().since(before);
        spent.cpu_ns -= self.checked_cpu_ns;
        let (now, queues) = (self.role.clock.now(), self.role.queues);
        let end = self.role.queue.offer_end(queues, t0).map_or(now, |end| end.min(now));
        for freshness in self.ops.iter_mut().filter_map(|op| op.freshness.as_mut()) {
            freshness.end(queues, t0, end);
            self.recorder.never_saw(freshness.never_seen(queues));
        }
        self.recorder.finish(now, spent);
        if let (Some(batch), Some(stored)) = (&self.role.batch, self.stored.take()) {
            self.role.counts[batch.table].store(stored);
        }
        if !self.loaded.is_empty() {
            self.role.loaded.lock().unpoisoned().append(&mut self.loaded);
        }
        if let (Some(batch), false) = (&self.role.batch, self.unanswered.is_empty()) {
            self.role.counts[batch.table].leave_open(&mut self.unanswered);
        }
        self.role.queue.leave(self.role.clock.now());
        self.fatal.take()
    }

    /// Sends what is due, collects what is done, until nothing is left to send and nothing is in flight.
    fn work(&mut self) {
        let mut open = true;
        while open || !self.flights.is_empty() {
            let mut until = Ns::MAX;
            while open {
                match self.refilling.sends(self.flights.len(), || self.role.clock.now()) {
                    Sends::Now => {}
                    Sends::Later => break,
                    // A delay is not waited for where nothing will be sent after it.
                    Sends::From(at) if !self.has_next_at(at) => {
                        open = false;
                        break;
                    }
                    Sends::From(at) if self.flights.is_empty() => {
                        open = self.wait(at);
                        continue;
                    }
                    Sends::From(at) => {
                        until = at;
                        break;
                    }
                }
                match self.send_next() {
                    Next::Sent => {}
                    // Others are in flight: they are collected until it is due.
                    Next::NotYet(due) => {
                        until = due;
                        break;
                    }
                    Next::End => open = false,
                }
            }
            if self.fatal.is_none() && !self.flights.is_empty() {
                self.collect(until);
            }
            if self.fatal.is_some() {
                let why = "the session gave up while the call was in flight";
                return self.abandon(Outcome::Lost, why);
            }
        }
    }

    fn send_next(&mut self) -> Next {
        let call = match self.first.take().unwrap_or_else(|| self.make_next()) {
            Ok(call) => call,
            Err(next) => return next,
        };
        if call.earliest > 0 && !self.wait_in_time(&call) {
            return Next::End;
        }
        self.submit(&call);
        match self.fatal {
            None => Next::Sent,
            Some(_) => Next::End,
        }
    }

    fn submit(&mut self, call: &ReadyCall) {
        let ReadyCall { ticket, at, data_ns, .. } = *call;
        let work = &self.ops[at];
        let rows = if work.is_insert { self.rows.count } else { 0 };
        if let (Some(batch), true) = (&self.role.batch, work.is_insert) {
            self.role.counts[batch.table].issue(rows);
        }
        if let Some(touched) = work.alters.and_then(|(_, table)| self.role.counts[table].touched()) {
            touched.ledger.begin(self.change.row);
        }
        let floors = work.is_judged.then(|| work.floors(self.role.counts));
        let ready_on_time = if call.due > 0 { self.flights.ready_on_time(call.due) } else { 0 };
        let sent = self.role.clock.now();
        if self.lingers_since.is_none() {
            self.recorder.sent(work.slot, sent);
            self.handed_over += 1;
        }
        if self.flights.is_empty() {
            self.live.busy_since.store(sent, Relaxed);
        }
        let due = if call.due > 0 { call.due } else { sent };
        // Until its rows were collected, no session could be ready for it.
        let collected = if call.due > 0 { call.earliest } else { 0 };
        if let (Some(sample_log), true) = (self.role.queue.kept(), work.is_insert) {
            sample_log.sent(ticket, due, sample_log.collected(ticket, due), sent);
        }
        let ready = self.flights.ready().max(collected).min(sent);
        // On time it would have waited for its rows all the same.
        let ready_on_time = ready_on_time.max(collected).min(ready);
        let flight = Flight { ticket, at, due, ready, ready_on_time, sent, data_ns, rows };
        let kept = self.flights.begin(flight);
        kept.proof = self.proof.take();
        kept.change = self.change;
        if let Some(floors) = floors {
            kept.floors = floors;
        }
        if self.role.connects && !self.connect() {
            return;
        }
        if rows > 0 && !self.rows.are_made() && !self.send_rest(call) {
            return;
        }
        let work = &mut self.ops[at];
        let parcel = match &mut work.extract {
            _ if work.is_insert => Work::Rows { columns: &self.columns, payload: &self.payload },
            Some(taken) => Work::Extract { params: &work.values, sink: taken.sink() },
            None => Work::Params(&work.values),
        };
        if let Submit::Full = self.session.submit(ticket, work.op, parcel) {
            let (before, depth) = (self.flights.len() - 1, self.role.depth);
            self.fatal = Some(format!(
                "role {}: the engine took no call beside {before} in flight, of a depth of {depth}; lower `depth`",
                self.role.name
            ));
        }
    }
}
