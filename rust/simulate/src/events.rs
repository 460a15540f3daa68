//! What happens next: events in the order of their times.
//!
//! A ring of buckets, each a short stretch of time; only the bucket that is at hand is kept in order. It was chosen by
//! measurement (decision 262). Width follows the events: a few in each bucket.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events of one time are in the order of their kinds and indices: the same one in each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub time_ps: u64,
    what: u32,
}

/// Bits of `what` that say of which thing; those above say what kind of event it is.
const INDEX_BITS: u32 = 28;
pub const MOST_THINGS: u32 = 1 << INDEX_BITS;

impl Event {
    #[inline]
    pub fn new(time_ps: u64, kind: u32, index: u32) -> Event {
        debug_assert!(index < MOST_THINGS);
        Event { time_ps, what: (kind << INDEX_BITS) | index }
    }

    #[inline]
    pub fn kind(self) -> u32 {
        self.what >> INDEX_BITS
    }

    #[inline]
    pub fn index(self) -> u32 {
        self.what & (MOST_THINGS - 1)
    }
}

const BUCKETS: u64 = 1 << 14;
/// Events after which the width is looked at again.
const LOOK_EVERY: u64 = 1 << 16;
const NONE: u32 = u32::MAX;

/// An event of the ring, as small as can be: most of the time goes into reaching them.
#[derive(Clone, Copy)]
struct Link {
    time_ps: u64,
    what: u32,
    next: u32,
}

pub struct Events {
    /// A bucket is 2^shift ps wide.
    shift: u32,
    /// Number of the bucket at hand since time 0.
    at: u64,
    /// Descending: the next event is the last one.
    now: Vec<Event>,
    /// First event of each bucket; the others follow by their links.
    ring: Vec<u32>,
    linked: Vec<Link>,
    free: Vec<u32>,
    /// In the ring, without `now`.
    held: usize,
    /// Beyond the ring.
    later: BinaryHeap<Reverse<Event>>,
    popped: u64,
    buckets_passed: u64,
}

impl Events {
    pub fn new() -> Events {
        Events {
            shift: 20,
            at: 0,
            now: Vec::new(),
            ring: vec![NONE; BUCKETS as usize],
            linked: Vec::new(),
            free: Vec::new(),
            held: 0,
            later: BinaryHeap::new(),
            popped: 0,
            buckets_passed: 0,
        }
    }

    #[inline]
    pub fn push(&mut self, event: Event) {
        let bucket = event.time_ps >> self.shift;
        if bucket <= self.at {
            let mut place = self.now.len();
            while place > 0 && self.now[place - 1] < event {
                place -= 1;
            }
            self.now.insert(place, event);
        } else if bucket - self.at < BUCKETS {
            self.link(event, bucket);
        } else {
            self.later.push(Reverse(event));
        }
    }

    #[inline]
    fn link(&mut self, event: Event, bucket: u64) {
        let first = &mut self.ring[(bucket % BUCKETS) as usize];
        let link = Link { time_ps: event.time_ps, what: event.what, next: *first };
        match self.free.pop() {
            Some(place) => {
                self.linked[place as usize] = link;
                *first = place;
            }
            None => {
                *first = self.linked.len() as u32;
                self.linked.push(link);
            }
        }
        self.held += 1;
    }

    /// None when nothing will happen any more.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.now.pop() {
                self.popped += 1;
                if self.popped == LOOK_EVERY {
                    self.look_at_width();
                }
                return Some(event);
            }
            if self.held == 0 {
                // Nothing in the ring: on to the next far event, however far.
                let Reverse(next) = self.later.peek()?;
                self.at = self.at.max(next.time_ps >> self.shift);
            } else {
                self.at += 1;
                self.buckets_passed += 1;
            }
            self.enter();
        }
    }

    fn enter(&mut self) {
        self.unlink(self.at);
        // What is far comes into the ring when the ring has turned so far; it may belong to the bucket at hand.
        while let Some(Reverse(event)) = self.later.peek().copied() {
            let bucket = event.time_ps >> self.shift;
            if bucket >= self.at + BUCKETS {
                break;
            }
            self.later.pop();
            if bucket <= self.at {
                self.now.push(event);
            } else {
                self.link(event, bucket);
            }
        }
        self.now.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// A bucket's events, in no order.
    fn unlink(&mut self, bucket: u64) {
        let mut place = std::mem::replace(&mut self.ring[(bucket % BUCKETS) as usize], NONE);
        while place != NONE {
            let link = self.linked[place as usize];
            self.now.push(Event { time_ps: link.time_ps, what: link.what });
            self.free.push(place);
            self.held -= 1;
            place = link.next;
        }
    }

    /// One to four events in a bucket; otherwise all are put into buckets of another width.
    fn look_at_width(&mut self) {
        let each = self.popped as f64 / self.buckets_passed.max(1) as f64;
        (self.popped, self.buckets_passed) = (0, 0);
        let shift = match each {
            e if e < 1.0 && self.shift < 60 => self.shift + 1,
            e if e > 4.0 && self.shift > 0 => self.shift - 1,
            _ => return,
        };
        for bucket in 0..BUCKETS {
            self.unlink(bucket);
        }
        let mut all = std::mem::take(&mut self.now);
        all.extend(std::mem::take(&mut self.later).into_iter().map(|Reverse(e)| e));
        let first_ps = all.iter().map(|e| e.time_ps).min().unwrap_or(self.at << self.shift);
        (self.shift, self.at) = (shift, first_ps >> shift);
        all.into_iter().for_each(|event| self.push(event));
    }
}

impl Default for Events {
    fn default() -> Events {
        Events::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Random;

    /// Near, far and equal times, pushed while others are taken out, through several changes of width.
    #[test]
    fn events_come_in_the_order_of_a_heap() {
        for scale in [1.0, 1e3, 1e7, 1e11] {
            let (mut random, mut events, mut heap) = (Random::new(3), Events::new(), BinaryHeap::new());
            let mut now_ps = 0;
            for step in 0..300_000_u32 {
                let far = if step % 1000 == 0 { 1e4 } else { 1.0 };
                let time_ps = now_ps + (random.exponential() * scale * far) as u64;
                let event = Event::new(time_ps, step % 3, step);
                events.push(event);
                heap.push(Reverse(event));
                if step > 500 {
                    let next = events.pop();
                    assert_eq!(next, heap.pop().map(|Reverse(e)| e), "step {step} of scale {scale}");
                    now_ps = next.map_or(now_ps, |e| e.time_ps);
                }
            }
            while let Some(Reverse(event)) = heap.pop() {
                assert_eq!(events.pop(), Some(event));
            }
            assert_eq!(events.pop(), None);
        }
    }
}
