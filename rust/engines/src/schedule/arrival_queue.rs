//! The queue that the sessions of a role stand in.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::Stride;

/// Closed calls are taken from the queue so many at a time at most.
const BATCH_MAX: u64 = 64;

/// The one arrival queue of a role: a free session takes the next ticket.
#[derive(Debug)]
#[repr(align(128))]
pub struct ArrivalQueue {
    next: AtomicU64,
    end: u64,
    batching: Batching,
    sessions: u64,
    /// Which of the role's tickets these are.
    stride: Stride,
}

/// How many tickets a session takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batching {
    /// One: paced queues, where a ticket held is a ticket delayed, and rows, where a ticket held by
    /// a session that stops would leave a hole in the table.
    One,
    /// Up to 64, and fewer towards the end, so that no session is left with the last ones: closed
    /// calls so short that the shared counter would be what is measured.
    Guided,
}

impl ArrivalQueue {
    /// `count` tickets from 0, or without end.
    pub fn new(count: Option<u64>, sessions: u32, batching: Batching) -> Arc<ArrivalQueue> {
        ArrivalQueue::of_process(count, sessions, batching, Stride::WHOLE)
    }

    /// The tickets that are this process's own: `count` of them, or without end.
    pub fn of_process(
        count: Option<u64>,
        sessions: u32,
        batching: Batching,
        stride: Stride,
    ) -> Arc<ArrivalQueue> {
        Arc::new(ArrivalQueue {
            next: AtomicU64::new(0),
            end: count.unwrap_or(u64::MAX),
            batching,
            sessions: u64::from(sessions.max(1)),
            stride,
        })
    }

    pub fn tickets(self: &Arc<ArrivalQueue>) -> Tickets {
        Tickets { stride: self.stride, queue: Arc::clone(self), next: 0, end: 0 }
    }

    /// Tickets taken so far, by all sessions.
    pub fn taken(&self) -> u64 {
        self.next.load(Ordering::Relaxed).min(self.end)
    }

    fn take(&self) -> (u64, u64) {
        let batch = match self.batching {
            Batching::One => 1,
            Batching::Guided => {
                let left = self.end.saturating_sub(self.next.load(Ordering::Relaxed));
                (left / (4 * self.sessions)).clamp(1, BATCH_MAX)
            }
        };
        let first = self.next.fetch_add(batch, Ordering::Relaxed);
        (first.min(self.end), first.saturating_add(batch).min(self.end))
    }
}

/// One session's view of the queue.
#[derive(Debug)]
pub struct Tickets {
    queue: Arc<ArrivalQueue>,
    stride: Stride,
    next: u64,
    end: u64,
}

impl Tickets {
    /// The next ticket; `None` when the queue has ended. Rising on one session.
    #[inline]
    pub fn take(&mut self) -> Option<u64> {
        if self.next == self.end {
            (self.next, self.end) = self.queue.take();
            if self.next == self.end {
                return None;
            }
        }
        let ticket = self.stride.ticket(self.next);
        self.next += 1;
        Some(ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ticket_is_taken_once_by_some_session() {
        for batching in [Batching::One, Batching::Guided] {
            for count in [0u64, 1, 63, 64, 65, 10_000] {
                let queue = ArrivalQueue::new(Some(count), 4, batching);
                let mut taken: Vec<u64> = std::thread::scope(|scope| {
                    let sessions: Vec<_> = (0..4)
                        .map(|_| {
                            let mut tickets = queue.tickets();
                            scope.spawn(move || std::iter::from_fn(|| tickets.take()).collect::<Vec<_>>())
                        })
                        .collect();
                    sessions.into_iter().flat_map(|s| s.join().expect("no panic")).collect()
                });
                taken.sort_unstable();
                assert_eq!(taken, (0..count).collect::<Vec<_>>());
                assert_eq!(queue.taken(), count);
            }
        }
    }

    #[test]
    fn a_few_tickets_are_shared_out_and_not_taken_by_the_first() {
        let queue = ArrivalQueue::new(Some(8), 4, Batching::Guided);
        let (mut first, mut second) = (queue.tickets(), queue.tickets());
        assert_eq!(first.take(), Some(0));
        assert_eq!(second.take(), Some(1));
    }
}
