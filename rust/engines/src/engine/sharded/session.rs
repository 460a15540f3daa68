//! One session at every shard. Its calls are in flight at several servers, and their answers are taken as they come.

use std::time::Duration;

use super::router::{Parts, Router};
use crate::engine::socket::{any_readable, WAIT_STEP};
use crate::engine::{Answer, Canceller, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::Statement;
use inrush_rows::rows::{Columns, Value};

/// Of a session that says by `poll` alone whether something has come.
const LOOK: Duration = Duration::from_micros(100);

pub struct ShardedSession {
    clock: Clock,
    shards: Vec<Shard>,
    /// By operation; `None` for those that this session does not use.
    routers: Vec<Option<Router>>,
    /// Batches on their way.
    batches: Vec<Batch>,
    /// Ended without a call of a shard.
    ended: Vec<Done>,
    /// What the last `poll` has handed over, and which shard has the answer.
    came: Vec<(Ticket, usize)>,
    failures: Vec<(Ticket, String)>,
    polled: Vec<libc::pollfd>,
    mine: Vec<Done>,
}

struct Shard {
    session: Box<dyn Session>,
    in_flight: usize,
}

/// A batch whose rows are at several shards.
struct Batch {
    left: usize,
    /// So far: all that were stored, the last that has ended, the first that failed.
    so_far: Done,
    failure: Option<String>,
}

impl ShardedSession {
    pub fn new(
        clock: Clock,
        sessions: Vec<Box<dyn Session>>,
        routers: Vec<Option<Router>>,
    ) -> ShardedSession {
        ShardedSession {
            clock,
            polled: Vec::with_capacity(sessions.len()),
            shards: sessions.into_iter().map(|session| Shard { session, in_flight: 0 }).collect(),
            routers,
            batches: Vec::new(),
            ended: Vec::new(),
            came: Vec::with_capacity(64),
            failures: Vec::new(),
            mine: Vec::with_capacity(64),
        }
    }

    fn fail(&mut self, ticket: Ticket, why: String) -> Submit {
        self.failures.push((ticket, why));
        let done_ns = self.clock.now();
        self.ended.push(Done { ticket, done_ns, outcome: Outcome::Other, rows: 0, bytes: 0 });
        Submit::Queued
    }

    fn submit_params(&mut self, ticket: Ticket, op: OpId, params: &[Value]) -> Submit {
        let found = self.routers[op].as_mut().expect("it was opened with its operations").shard(params);
        match found {
            Ok(at) => self.shards[at].submit(ticket, op, Work::Params(params)),
            Err(error) => self.fail(ticket, error.to_string()),
        }
    }

    fn submit_rows(&mut self, ticket: Ticket, op: OpId, payload: &Payload) -> Submit {
        let Some(Parts(parts)) = payload.parcel.as_ref().and_then(|parcel| parcel.downcast_ref()) else {
            return self.fail(ticket, "rows that were not split by shard".to_owned());
        };
        let so_far = Done { ticket, done_ns: self.clock.now(), outcome: Outcome::Ok, rows: 0, bytes: 0 };
        let mut batch = Batch { left: 0, so_far, failure: None };
        for (shard, (columns, payload)) in self.shards.iter_mut().zip(parts) {
            if columns.rows == 0 {
                continue;
            }
            match shard.submit(ticket, op, Work::Rows { columns, payload }) {
                Submit::Queued => batch.left += 1,
                Submit::Full if batch.left == 0 => return Submit::Full,
                // Every shard takes as many calls as the session does, so that this one's are not ours.
                Submit::Full => unreachable!("a shard has calls in flight that its session has not sent"),
            }
        }
        match batch.left {
            0 => self.ended.push(so_far),
            _ => self.batches.push(batch),
        }
        Submit::Queued
    }

    /// Of one shard, what has ended until then.
    fn take(&mut self, at: usize, until: Ns, done: &mut Vec<Done>) {
        self.mine.clear();
        let shard = &mut self.shards[at];
        shard.session.poll(until, &mut self.mine);
        shard.in_flight -= self.mine.len().min(shard.in_flight);
        for one in self.mine.drain(..) {
            let Some(of) = self.batches.iter().position(|batch| batch.so_far.ticket == one.ticket) else {
                self.came.push((one.ticket, at));
                done.push(one);
                continue;
            };
            let batch = &mut self.batches[of];
            batch.left -= 1;
            if batch.failure.is_none() && one.outcome != Outcome::Ok {
                batch.failure = shard.session.failure(one.ticket);
            }
            batch.so_far = joined(batch.so_far, one);
            if batch.left == 0 {
                let batch = self.batches.swap_remove(of);
                self.failures.extend(batch.failure.map(|why| (one.ticket, why)));
                self.came.push((one.ticket, at));
                done.push(batch.so_far);
            }
        }
    }

    /// Returns when one of several shards has something, at `until`, or a moment later: an empty `polled` says nothing.
    fn wait(&mut self, until: Ns) {
        self.polled.clear();
        let (mut left, mut all) =
            (Duration::from_nanos(until.saturating_sub(self.clock.now())).min(WAIT_STEP), true);
        for shard in self.shards.iter_mut().filter(|shard| shard.in_flight > 0) {
            match shard.session.socket() {
                Some(fd) => self.polled.push(libc::pollfd { fd, events: libc::POLLIN, revents: 0 }),
                None => all = false,
            }
        }
        if !all {
            left = left.min(LOOK);
        }
        // Where nothing came, a call may have ended without its server, as one that could not be sent.
        if !matches!(any_readable(&mut self.polled, left), Ok(true)) || !all {
            self.polled.clear();
        }
    }

    /// Whether the last wait has nothing against a look at this shard.
    fn may_have(&mut self, at: usize) -> bool {
        if self.shards[at].in_flight == 0 {
            return false;
        }
        let Some(fd) = self.shards[at].session.socket() else { return true };
        self.polled.iter().find(|polled| polled.fd == fd).is_none_or(|polled| polled.revents != 0)
    }
}

impl Shard {
    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        let submitted = self.session.submit(ticket, op, work);
        self.in_flight += usize::from(matches!(submitted, Submit::Queued));
        submitted
    }
}

/// A batch of which one more part has ended.
fn joined(so_far: Done, one: Done) -> Done {
    // A connection that is gone is made anew, whatever else failed.
    let outcome = match (so_far.outcome, one.outcome) {
        (_, Outcome::Lost) | (Outcome::Ok, _) => one.outcome,
        (failed, _) => failed,
    };
    Done {
        ticket: so_far.ticket,
        done_ns: so_far.done_ns.max(one.done_ns),
        outcome,
        rows: so_far.rows.saturating_add(one.rows),
        bytes: so_far.bytes.saturating_add(one.bytes),
    }
}

impl Session for ShardedSession {
    fn encode(&mut self, op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        let router = self.routers[op].as_mut().expect("it was opened with its operations");
        let split = router.split(rows)?;
        if out.parcel.as_ref().is_none_or(|parcel| !parcel.is::<Parts>()) {
            let none = || (Columns::new(0, Vec::new()), Payload::default());
            out.parcel = Some(Box::new(Parts(self.shards.iter().map(|_| none()).collect())));
        }
        let Some(Parts(parts)) = out.parcel.as_mut().and_then(|parcel| parcel.downcast_mut()) else {
            unreachable!("it was made a moment ago");
        };
        for ((shard, of), (columns, payload)) in self.shards.iter_mut().zip(split).zip(parts) {
            columns.clone_from(of);
            if of.rows > 0 {
                payload.bytes.clear();
                payload.rows = of.rows as u64;
                shard.session.encode(op, of, payload)?;
            }
        }
        out.bytes.clear();
        out.rows = rows.rows as u64;
        Ok(())
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        match work {
            Work::Params(params) => self.submit_params(ticket, op, params),
            Work::Rows { payload, .. } => self.submit_rows(ticket, op, payload),
            Work::Extract { .. } => unreachable!("the driver has asked `extracts`"),
        }
    }

    fn flush(&mut self) {
        self.shards.iter_mut().filter(|shard| shard.in_flight > 0).for_each(|shard| shard.session.flush());
    }

    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        self.flush();
        self.came.clear();
        if !self.ended.is_empty() {
            done.append(&mut self.ended);
            return;
        }
        self.failures.clear();
        let before = done.len();
        while done.len() == before {
            let mut busy = (0..self.shards.len()).filter(|&at| self.shards[at].in_flight > 0);
            match (busy.next(), busy.next()) {
                (None, _) => return,
                (Some(at), None) => self.take(at, until, done),
                _ => {
                    self.wait(until);
                    for at in 0..self.shards.len() {
                        if self.may_have(at) {
                            self.take(at, 0, done);
                        }
                    }
                }
            }
            if self.clock.now() >= until {
                return;
            }
        }
    }

    fn keep_answers(&mut self) {
        self.shards.iter_mut().for_each(|shard| shard.session.keep_answers());
    }

    fn answer(&mut self, ticket: Ticket) -> Option<&Answer> {
        let &(_, at) = self.came.iter().find(|(of, _)| *of == ticket)?;
        self.shards[at].session.answer(ticket)
    }

    fn failure(&mut self, ticket: Ticket) -> Option<String> {
        if let Some((_, why)) = self.failures.iter().find(|(of, _)| *of == ticket) {
            return Some(why.clone());
        }
        let &(_, at) = self.came.iter().find(|(of, _)| *of == ticket)?;
        self.shards[at].session.failure(ticket)
    }

    fn scan(
        &mut self,
        statement: &Statement,
        like: &Columns,
        each: &mut dyn FnMut(&Columns),
    ) -> Result<u64, Error> {
        self.shards.iter_mut().map(|shard| shard.session.scan(statement, like, each)).sum()
    }

    fn canceller(&self) -> Option<Canceller> {
        let all: Option<Vec<Canceller>> = self.shards.iter().map(|shard| shard.session.canceller()).collect();
        all.map(|all| Box::new(move || all.iter().for_each(|cancel| cancel())) as Canceller)
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        let ended: Vec<Result<(), Error>> =
            self.shards.into_iter().map(|shard| shard.session.close()).collect();
        ended.into_iter().collect()
    }
}
