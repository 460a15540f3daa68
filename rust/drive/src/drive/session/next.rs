//! Which call is next, when it may be sent, and what it sends; or that there is none.

use std::sync::atomic::Ordering::Relaxed;

use super::Worker;
use crate::drive::work::{OpWork, RoleWork};
use inrush_engines::engine::{Ns, OpId, Ticket};

/// A reader that looks for rows goes on for so long after its role has ended.
const LINGER_NS: Ns = 10_000_000_000;

impl Worker<'_> {
    /// Takes the next ticket and makes what it sends.
    #[inline]
    pub(super) fn make_next(&mut self) -> Result<ReadyCall, Next> {
        let ready = self.ready();
        if self.is_over_at(ready) {
            return Err(Next::End);
        }
        let Some(ticket) = self.held.take().or_else(|| self.next_ticket()) else { return Err(Next::End) };
        let paced = self.role.queue.is_paced();
        let due = if paced { self.t0 + self.arrivals.due_ns(ticket) } else { 0 };
        if paced && self.is_over_before(due) {
            return Err(Next::End);
        }
        let earliest = self.earliest(ticket, due);
        if !self.flights.is_empty() && earliest > 0 && earliest > self.role.clock.now() {
            self.held = Some(ticket);
            return Err(Next::NotYet(earliest));
        }
        let at = self.place_of(self.role.mix.operation(ticket));
        // A closed call is due when it is sent; its data time is when its slot was free.
        let data_ns = if due > 0 { due } else { ready } - self.t0;
        if self.make(ticket, at, data_ns) {
            Ok(ReadyCall { ticket, at, due, earliest, data_ns })
        } else {
            Err(Next::End)
        }
    }

    /// Whether its role ends before a call that is due at `due`. A reader that looks for rows goes on until the end is there,
    /// and then while it can see more of them.
    fn is_over_before(&mut self, due: Ns) -> bool {
        if self.role.queue.is_due_in_time(self.role.queues, self.t0, due) {
            return false;
        }
        !looks(&self.ops) || is_stopped(self.role, self.t0, &mut self.ops, &mut self.lingers_since)
    }

    /// Whether there is a call to send at `at`, which is then held.
    pub(super) fn has_next_at(&mut self, at: Ns) -> bool {
        if self.role.halt.load(Relaxed) || self.is_over_before(at) || self.is_over() {
            return false;
        }
        self.held = self.held.take().or_else(|| self.next_ticket());
        self.held.is_some()
    }

    /// Since when the next call could be sent: its slot is free, and the batch that it belongs to begins.
    #[inline]
    fn ready(&self) -> Ns {
        if self.refilling.gathers() {
            self.role.clock.now()
        } else {
            self.flights.ready()
        }
    }

    /// None where the queue has ended, or was full: a ticket that is taken is sent, so that no row is missing between others.
    #[inline]
    fn next_ticket(&mut self) -> Option<Ticket> {
        if self.role.queue.is_full() {
            return None;
        }
        self.tickets.take()
    }

    /// Before this the call is not sent: its rows are not collected, or its user thinks. 0: at once.
    #[inline]
    fn earliest(&self, ticket: Ticket, due: Ns) -> Ns {
        if due > 0 {
            return self.role.queue.kept().map_or(due, |sample_log| sample_log.collected(ticket, due));
        }
        if self.think_ns > 0 {
            self.flights.ready() + self.think_ns
        } else {
            0
        }
    }

    /// Waits until a call may be sent; false where the role ends before it is due. A wait is as long as a look: the role
    /// may have ended within the last one.
    pub(super) fn wait_in_time(&mut self, call: &ReadyCall) -> bool {
        let due = if call.due > 0 { call.due } else { call.earliest };
        !self.is_over_before(due) && self.wait(call.earliest) && !self.is_over_before(due)
    }

    /// False when the role ended while waiting.
    pub(super) fn wait(&mut self, until: Ns) -> bool {
        let (role, t0, ops, lingers_since) = (self.role, self.t0, &mut self.ops, &mut self.lingers_since);
        let recorder = &mut self.recorder;
        let is_over = || is_stopped(role, t0, ops, lingers_since);
        role.wait_unless(&self.pace, until, is_over, |now| recorder.tick(now))
    }

    #[inline]
    fn is_over(&mut self) -> bool {
        self.is_over_at(self.ready())
    }

    /// ready: since when the next call could be sent.
    #[inline]
    fn is_over_at(&mut self, ready: Ns) -> bool {
        let queue = self.role.queue;
        // A closed call is due when it is sent, and so after an end that is there.
        let is_left = !queue.is_paced() && queue.left_alone_since(self.role.queues).is_some();
        self.role.halt.load(Relaxed) || self.is_over_before(if is_left { Ns::MAX } else { ready })
    }

    #[inline]
    fn place_of(&self, op: OpId) -> usize {
        if self.ops.len() == 1 {
            return 0;
        }
        self.ops.iter().position(|o| o.op == op).expect("the mix draws from the role's own operations")
    }

    /// Rows encoded or parameters filled; false when the rows have ended.
    #[inline]
    fn make(&mut self, ticket: Ticket, at: usize, data_ns: Ns) -> bool {
        let (work, role) = (&mut self.ops[at], self.role);
        let (Some(batch), true) = (&role.batch, work.is_insert) else {
            work.params.fill(ticket, data_ns, &mut work.values);
            if work.alters.is_some() && !self.draw_change(ticket, at) {
                return false;
            }
            let work = &mut self.ops[at];
            if let Some(freshness) = &work.freshness {
                freshness.fill(&mut work.values);
            }
            return !self.extracts || self.begin_rows(ticket, at);
        };
        let made = self.make_rows(batch, ticket, at);
        made.unwrap_or_else(|error| {
            self.fatal = Some(error.to_string());
            false
        })
    }

    /// A place for the rows of an extract; false where there is none.
    #[cold]
    fn begin_rows(&mut self, ticket: Ticket, at: usize) -> bool {
        let Some(taken) = &mut self.ops[at].extract else { return true };
        match taken.begin(ticket) {
            Ok(()) => true,
            Err(error) => {
                self.fatal = Some(error.to_string());
                false
            }
        }
    }
}

/// Whatever is left of the session's work is not to be begun any more.
///
/// A reader that looks for rows sees what was due last before it ends, or gives up.
#[inline]
fn is_stopped(role: &RoleWork<'_>, t0: Ns, ops: &mut [OpWork], lingers_since: &mut Option<Ns>) -> bool {
    if !looks(ops) || role.halt.load(Relaxed) {
        return role.is_stopped();
    }
    let now = role.clock.now();
    let Some(end) = role.queue.offer_end(role.queues, t0).filter(|&end| now >= end) else { return false };
    let since = *lingers_since.get_or_insert_with(|| {
        ops.iter_mut().filter_map(|op| op.freshness.as_mut()).for_each(|f| f.end(role.queues, t0, end));
        now
    });
    now > since + LINGER_NS
        || !ops.iter().filter_map(|op| op.freshness.as_ref()).any(|f| f.is_behind(role.queues))
}

fn looks(ops: &[OpWork]) -> bool {
    ops.iter().any(|op| op.freshness.is_some())
}

/// Ready to be sent: an operation by its place among the session's, due at `due` in a paced role (else 0).
pub(super) struct ReadyCall {
    pub(super) ticket: Ticket,
    pub(super) at: usize,
    pub(super) due: Ns,
    /// Not to be sent before; 0: at once.
    pub(super) earliest: Ns,
    /// From the start of the repetition.
    pub(super) data_ns: Ns,
}

pub(super) enum Next {
    Sent,
    /// Others are in flight, and it may be sent from then on.
    NotYet(Ns),
    End,
}
