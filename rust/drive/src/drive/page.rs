//! A page: several queries at once, as a dashboard loads. One due; its latency is the slowest member's.
//!
//! A page session is one thread per member. They meet at a mutex of their own at the start and
//! the end of every page: the only lock on the clock, shared with no other session, and its wake-up is
//! part of what a page costs its user.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::drive::live::Live;
use crate::drive::session::reopened;
use crate::drive::session::unanswered::{has_no_answer, ASK_EVERY};
use crate::drive::work::{OpWork, RoleWork};
use crate::record::{Recorder, Times};
use inrush_engines::engine::{Done, Ns, Outcome, Session, Submit, Ticket, Work};
use inrush_engines::pace::{Pacer, Spin};
use inrush_rows::clock::ThreadTime;
use inrush_rows::lock::Unpoisoned;

/// Where the members of one page session meet.
#[derive(Default)]
pub struct PageBarrier {
    turn: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Default)]
struct Turn {
    /// Counts pages; members work when it moves.
    number: u64,
    ticket: Ticket,
    due: Ns,
    ready: Ready,
    /// Members still at work on this page, and the worst of those that are done.
    left: usize,
    done: Ns,
    outcome: Option<Outcome>,
    /// A member has lost its connection and made a new one, or has given up.
    lost: bool,
    gone: bool,
    /// The last repetition that has ended all its pages.
    over: u64,
}

/// When the page session was free for a page, and when it would have been, had every page before been sent on time.
#[derive(Clone, Copy, Default)]
struct Ready {
    at: Ns,
    on_time: Ns,
}

/// How a page ended.
struct Ended {
    done: Ns,
    outcome: Outcome,
    lost: bool,
    gone: bool,
}

/// One member's own connection and query.
pub struct Member<'a> {
    pub role: &'a RoleWork<'a>,
    /// None once it was lost and did not come back.
    pub session: Option<Box<dyn Session>>,
    pub work: OpWork,
    /// Of the member's own calls.
    pub recorder: Recorder,
    pub live: &'a Live,
    done: Vec<Done>,
    /// The last page this member has worked on.
    seen: u64,
    fatal: Option<String>,
}

/// A repetition of a page session, as its members need to know it.
#[derive(Clone, Copy)]
pub struct PageRepetition<'a> {
    /// Counts repetitions from 1.
    pub number: u64,
    pub repetition: u32,
    pub t0: Ns,
    pub members: usize,
    pub page_barrier: &'a PageBarrier,
}

impl<'a> Member<'a> {
    pub fn new(
        role: &'a RoleWork<'a>,
        session: Box<dyn Session>,
        work: OpWork,
        recorder: Recorder,
        live: &'a Live,
    ) -> Member<'a> {
        let (session, done) = (Some(session), Vec::with_capacity(1));
        Member { role, session, work, recorder, live, done, seen: 0, fatal: None }
    }

    /// Leads the page session: takes tickets, starts each page, does its own share, records the page.
    pub fn lead(&mut self, start: PageRepetition<'_>, pages: &mut Recorder) -> Option<String> {
        let before = ThreadTime::now();
        self.live.clear();
        self.recorder.begin(start.repetition, start.t0);
        pages.begin(start.repetition, start.t0);
        self.pages(start, pages);
        start.page_barrier.finish(start.number);
        let now = self.role.clock.now();
        self.recorder.finish(now, ThreadTime::now().since(before));
        // The leader's time stands beside its own member's calls.
        pages.finish(now, ThreadTime { cpu_ns: 0, queued_ns: Some(0) });
        self.role.queue.leave(now);
        self.fatal.take()
    }

    fn pages(&mut self, start: PageRepetition<'_>, pages: &mut Recorder) {
        let queue = self.role.queue;
        let clock = self.role.clock;
        let (mut arrivals, mut tickets) = (queue.arrivals(), queue.tickets());
        let pacer = Pacer::new(clock, self.role.halt.clone(), Spin::Never);
        let mut ready = Ready { at: start.t0, on_time: start.t0 };
        let (mut done_pages, mut failed_pages) = (0, 0);
        pacer.wait_until(start.t0);
        self.live.began.store(clock.now(), Relaxed);
        while let Some(ticket) = tickets.take() {
            let due = if queue.is_paced() { Some(start.t0 + arrivals.due_ns(ticket)) } else { None };
            let earliest = due.unwrap_or(ready.at);
            let in_time = || queue.is_due_in_time(self.role.queues, start.t0, earliest);
            if self.role.is_stopped() || !in_time() || !self.wait(&pacer, pages, earliest) || !in_time() {
                return;
            }
            let sent = clock.now();
            let due = due.unwrap_or(sent);
            pages.sent(0, sent);
            start.page_barrier.begin(ticket, due, ready, start.members);
            self.call(ticket, due, ready, start);
            let Ended { done, outcome, lost, gone } = start.page_barrier.end();
            let times = ready.times(due, sent, done);
            pages.record(0, times, outcome, 0, 0);
            done_pages += 1;
            self.live.ops.store(done_pages, Relaxed);
            if outcome != Outcome::Ok {
                failed_pages += 1;
                self.live.errors.store(failed_pages, Relaxed);
                let why = "a member of the page failed: its own failures say why".to_owned();
                pages.failed(0, outcome, Some(why), done);
            }
            if gone {
                return;
            }
            // Time without a connection is not the instrument's lateness: what is due meanwhile waits for the server.
            let back = clock.now();
            ready = match lost {
                true => Ready { at: back, on_time: back },
                false => Ready { at: done, on_time: done.saturating_sub(times.behind_ns()) },
            };
        }
    }

    /// Follows the leader until the pages of this repetition are over.
    pub fn follow(&mut self, start: PageRepetition<'_>) -> Option<String> {
        let before = ThreadTime::now();
        self.live.clear();
        self.recorder.begin(start.repetition, start.t0);
        while let Some((number, ticket, due, ready)) = start.page_barrier.next(self.seen, start.number) {
            self.seen = number;
            self.call(ticket, due, ready, start);
        }
        self.recorder.finish(self.role.clock.now(), ThreadTime::now().since(before));
        self.fatal.take()
    }

    pub fn close(self) {
        // The repetition is over and recorded; what a closing connection says changes no figure.
        let _ = self.session.map(|session| session.close());
    }

    fn call(&mut self, ticket: Ticket, due: Ns, ready: Ready, start: PageRepetition<'_>) {
        if self.session.is_none() {
            return start.page_barrier.report(self.role.clock.now(), Outcome::Lost, false, true);
        }
        self.work.params.fill(ticket, due - start.t0, &mut self.work.values);
        let floors = self.work.floors(self.role.counts);
        let sent = self.role.clock.now();
        self.recorder.sent(0, sent);
        self.live.busy_since.store(sent, Relaxed);
        let (done, is_lost) = self.ended(ticket);
        self.live.busy_since.store(0, Relaxed);
        let session = self.session.as_mut().expect("only a lost one is taken away, below");
        let (mut outcome, mut message) = (done.outcome, None);
        if outcome == Outcome::Ok && self.work.is_judged {
            let answer = session.answer(ticket);
            let broken = self.work.broken(ticket, due - start.t0, sent, &floors, answer, self.role.counts);
            if let Some((how, why)) = broken {
                (outcome, message) = (how, Some(why));
            }
        }
        if self.live.was_cancelled(done.outcome != Outcome::Ok, true) {
            outcome = Outcome::Timeout;
        }
        let times = ready.times(due, sent, done.done_ns);
        self.recorder.record(0, times, outcome, done.rows, done.bytes);
        if outcome != Outcome::Ok {
            let message = message.or_else(|| session.failure(ticket));
            self.recorder.failed(0, outcome, message.clone(), done.done_ns);
            if is_lost {
                self.reconnect(message);
            }
        }
        start.page_barrier.report(done.done_ns, outcome, is_lost, self.session.is_none());
    }

    fn reconnect(&mut self, lost: Option<String>) {
        self.session = None;
        let recorder = &mut self.recorder;
        match reopened(self.role, &[self.work.op], self.live, lost, |now| recorder.tick(now)) {
            Ok(session) => self.session = session,
            Err(fatal) => self.fatal = Some(fatal),
        }
    }

    /// How the member's call ended, and whether its connection went with it. What must not be ends the role.
    fn ended(&mut self, ticket: Ticket) -> (Done, bool) {
        let session = self.session.as_mut().expect("looked at by `call`");
        let queued = session.submit(ticket, self.work.op, Work::Params(&self.work.values));
        session.flush();
        self.done.clear();
        let sent = self.role.clock.now();
        let mut halted_since = None;
        while matches!(queued, Submit::Queued) && self.done.is_empty() {
            let until = self.recorder.look_ns();
            session.poll(until, &mut self.done);
            let now = self.role.clock.now();
            if !self.done.is_empty() {
                break;
            }
            self.recorder.tick(now);
            if has_no_answer(sent, self.work.deadline_ns, now, self.role, &mut halted_since) {
                // An answer that comes later would be taken for that of the next call.
                let done = Done { ticket, done_ns: now, outcome: Outcome::Timeout, rows: 0, bytes: 0 };
                return (done, true);
            }
            if now < until {
                std::thread::sleep(ASK_EVERY);
            }
        }
        let why = match (queued, self.done.as_slice()) {
            (Submit::Queued, [done]) if done.ticket == ticket => {
                return (*done, done.outcome == Outcome::Lost)
            }
            (Submit::Full, _) => "the engine took no call although none is in flight".to_owned(),
            (_, ended) => {
                let done = ended.first().expect("it is asked until one comes");
                format!(
                    "the engine ended {} calls, call {} among them, for call {ticket}",
                    self.done.len(),
                    done.ticket
                )
            }
        };
        self.fatal.get_or_insert(format!("role {}: {why}", self.role.name));
        self.role.halt.store(true, Relaxed);
        let done_ns = self.role.clock.now();
        (Done { ticket, done_ns, outcome: Outcome::Other, rows: 0, bytes: 0 }, false)
    }

    fn wait(&mut self, pacer: &Pacer, pages: &mut Recorder, until: Ns) -> bool {
        let recorder = &mut self.recorder;
        self.role.wait(pacer, until, |now| {
            recorder.tick(now);
            pages.tick(now);
        })
    }
}

impl Ready {
    fn times(self, due_ns: Ns, sent_ns: Ns, done_ns: Ns) -> Times {
        Times { due_ns, ready_ns: self.at, ready_on_time_ns: self.on_time, sent_ns, done_ns }
    }
}

impl PageBarrier {
    fn begin(&self, ticket: Ticket, due: Ns, ready: Ready, members: usize) {
        let mut turn = self.locked();
        turn.number += 1;
        (turn.ticket, turn.due, turn.ready) = (ticket, due, ready);
        (turn.left, turn.done, turn.outcome) = (members, 0, None);
        (turn.lost, turn.gone) = (false, false);
        self.changed.notify_all();
    }

    /// The next page after number `seen`, or `None` when those of repetition `last` are over.
    fn next(&self, seen: u64, last: u64) -> Option<(u64, Ticket, Ns, Ready)> {
        let mut turn = self.locked();
        loop {
            if turn.number > seen {
                return Some((turn.number, turn.ticket, turn.due, turn.ready));
            }
            if turn.over >= last {
                return None;
            }
            turn = self.changed.wait(turn).unpoisoned();
        }
    }

    fn report(&self, done: Ns, outcome: Outcome, lost: bool, gone: bool) {
        let mut turn = self.locked();
        turn.lost |= lost;
        turn.gone |= gone;
        turn.done = turn.done.max(done);
        turn.outcome = Some(turn.outcome.map_or(outcome, |worst| worst.max(outcome)));
        turn.left -= 1;
        if turn.left == 0 {
            self.changed.notify_all();
        }
    }

    fn end(&self) -> Ended {
        let mut turn = self.locked();
        while turn.left > 0 {
            turn = self.changed.wait(turn).unpoisoned();
        }
        let outcome = turn.outcome.expect("every member has reported");
        Ended { done: turn.done, outcome, lost: turn.lost, gone: turn.gone }
    }

    fn finish(&self, number: u64) {
        self.locked().over = number;
        self.changed.notify_all();
    }

    fn locked(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unpoisoned()
    }
}
