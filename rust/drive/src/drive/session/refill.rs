//! When a closed session that has free slots sends again. Pure.

use inrush_engines::engine::Ns;
use inrush_rows::plan::{Refill, Schedule};

/// A session sends until all its slots are taken. From then on it waits until so many calls are left in flight, and
/// then for its delay; what is left when it sends again stays in flight meanwhile.
#[derive(Debug, Clone)]
pub struct Refilling {
    depth: usize,
    /// Calls in flight with which it begins to send again.
    left: usize,
    delay_ns: Ns,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Sends,
    /// Until few enough are in flight.
    Waits,
    /// Few enough are.
    Delayed(Ns),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sends {
    Now,
    /// Others are collected until then.
    From(Ns),
    /// When more have ended.
    Later,
}

impl Refilling {
    pub fn new(schedule: &Schedule, depth: usize) -> Refilling {
        let depth = depth.max(1);
        let (refill, delay_ns) = match schedule {
            Schedule::Closed { refill, delay_ns, .. } => (*refill, *delay_ns),
            _ => (None, 0),
        };
        let left = match refill {
            None => depth - 1,
            Some(Refill::Half) => depth / 2,
            Some(Refill::Round) => 0,
        };
        Refilling { depth, left, delay_ns, state: State::Sends }
    }

    /// Whether slots that are free wait for others, or for a delay.
    #[inline]
    pub fn gathers(&self) -> bool {
        self.left + 1 < self.depth || self.delay_ns > 0
    }

    /// Nothing is in flight, and nothing was.
    pub fn restart(&mut self) {
        self.state = State::Sends;
    }

    /// To be asked before calls are sent, with the number of those in flight. `now` is looked at only where there is a
    /// delay.
    #[inline]
    pub fn sends(&mut self, in_flight: usize, now: impl FnOnce() -> Ns) -> Sends {
        if in_flight >= self.depth {
            self.state = State::Waits;
            return Sends::Later;
        }
        match self.state {
            State::Sends => Sends::Now,
            State::Waits if in_flight > self.left => Sends::Later,
            State::Waits if self.delay_ns == 0 => self.begin(),
            State::Waits => {
                let from = now() + self.delay_ns;
                self.state = State::Delayed(from);
                Sends::From(from)
            }
            State::Delayed(from) if now() >= from => self.begin(),
            State::Delayed(from) => Sends::From(from),
        }
    }

    fn begin(&mut self) -> Sends {
        self.state = State::Sends;
        Sends::Now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY_NS: Ns = 100;

    fn refilling(refill: Option<Refill>, delay_ns: Ns, depth: usize) -> Refilling {
        Refilling::new(&Schedule::Closed { think_ns: 0, refill, delay_ns }, depth)
    }

    /// In flight, call by call, of a session whose oldest call ends whenever it does not send.
    fn in_flight(mut of: Refilling, steps: usize) -> Vec<usize> {
        let mut count = 0;
        let step = |_| {
            match of.sends(count, || unreachable!("there is no delay")) {
                Sends::Now => count += 1,
                _ => count -= 1,
            }
            count
        };
        (0..steps).map(step).collect()
    }

    #[test]
    fn a_session_sends_again_at_each_call_that_ends_or_at_half_or_at_the_last() {
        assert_eq!(in_flight(refilling(None, 0, 4), 8), [1, 2, 3, 4, 3, 4, 3, 4]);
        assert_eq!(in_flight(refilling(Some(Refill::Half), 0, 4), 10), [1, 2, 3, 4, 3, 2, 3, 4, 3, 2]);
        assert_eq!(in_flight(refilling(Some(Refill::Round), 0, 4), 10), [1, 2, 3, 4, 3, 2, 1, 0, 1, 2]);
    }

    #[test]
    fn with_one_slot_all_are_the_same() {
        for refill in [None, Some(Refill::Half), Some(Refill::Round)] {
            assert_eq!(in_flight(refilling(refill, 0, 1), 4), [1, 0, 1, 0]);
        }
    }

    #[test]
    fn a_delay_counts_from_when_few_enough_are_left_and_is_kept_once_for_each_batch() {
        let mut of = refilling(Some(Refill::Half), DELAY_NS, 4);
        assert_eq!(of.sends(0, || 0), Sends::Now, "the first batch is not delayed");
        assert_eq!(of.sends(4, || 10), Sends::Later);
        assert_eq!(of.sends(3, || 20), Sends::Later);
        assert_eq!(of.sends(2, || 30), Sends::From(30 + DELAY_NS));
        assert_eq!(of.sends(1, || 80), Sends::From(30 + DELAY_NS), "another ends meanwhile");
        assert_eq!(of.sends(1, || 30 + DELAY_NS), Sends::Now);
        assert_eq!(of.sends(3, || 31 + DELAY_NS), Sends::Now, "of the same batch");
        assert_eq!(of.sends(4, || 32 + DELAY_NS), Sends::Later);
        of.restart();
        assert_eq!(of.sends(0, || 0), Sends::Now);
    }

    #[test]
    fn a_batch_that_ends_early_is_not_filled_up_later() {
        // The queue ended in the middle of a batch: what is sent next, if anything, is sent at once.
        let mut of = refilling(Some(Refill::Round), 0, 4);
        assert_eq!(of.sends(2, || 0), Sends::Now);
        assert_eq!(of.sends(1, || 0), Sends::Now);
    }

    #[test]
    fn free_slots_wait_for_others_where_all_or_half_of_them_are_sent_at_once_or_after_a_delay() {
        let gathers = |refill, delay_ns, depth| refilling(refill, delay_ns, depth).gathers();
        assert!(!gathers(None, 0, 8) && !gathers(Some(Refill::Half), 0, 1), "each as soon as it is free");
        assert!(
            gathers(Some(Refill::Half), 0, 8) && gathers(Some(Refill::Round), 0, 2) && gathers(None, 1, 8)
        );
    }
}
