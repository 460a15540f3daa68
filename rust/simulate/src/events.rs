//! What happens next: events in the order of their times.
//!
//! A ring of buckets, each a short stretch of time; only the bucket that is at hand is kept in order. It was chosen by
//! measurement (decision 262). Width follows the events: one for a few buckets, so that most events are alone in theirs and
//! nothing is put in order. Bits say which buckets hold any.

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
const WORDS: usize = BUCKETS as usize / 64;
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
    ring: Box<[u32; BUCKETS as usize]>,
    /// A bit for each bucket: whether it has events.
    filled: Box<[u64; WORDS]>,
    linked: Vec<Link>,
    /// The first link that is free; the others follow by their links.
    free: u32,
    /// In the ring, without `now`.
    held: usize,
    /// Beyond the ring.
    later: BinaryHeap<Reverse<Event>>,
    /// When the ring has turned so far, the next of them comes in.
    enter_at: u64,
    popped: u64,
    /// The bucket at hand when the width was looked at.
    looked_at: u64,
}

impl Events {
    pub fn new() -> Events {
        Events {
            shift: 20,
            at: 0,
            now: Vec::new(),
            ring: Box::new([NONE; BUCKETS as usize]),
            filled: Box::new([0; WORDS]),
            linked: Vec::new(),
            free: NONE,
            held: 0,
            later: BinaryHeap::new(),
            enter_at: u64::MAX,
            popped: 0,
            looked_at: 0,
        }
    }

    #[inline(always)]
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
            self.enter_at = self.enter_at.min(bucket - BUCKETS + 1);
        }
    }

    #[inline(always)]
    fn link(&mut self, event: Event, bucket: u64) {
        let place = (bucket % BUCKETS) as usize;
        self.filled[place / 64] |= 1 << (place % 64);
        let first = &mut self.ring[place];
        let link = Link { time_ps: event.time_ps, what: event.what, next: *first };
        match self.linked.get_mut(self.free as usize) {
            Some(place) => {
                *first = std::mem::replace(&mut self.free, place.next);
                *place = link;
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
        if let Some(event) = self.now.pop() {
            return Some(self.counted(event));
        }
        if self.held == 0 {
            // Nothing in the ring: on to the next far event, however far.
            let Reverse(next) = self.later.peek()?;
            self.at = self.at.max(next.time_ps >> self.shift);
            self.enter_later();
        } else {
            self.at = self.next_filled();
            if self.at >= self.enter_at {
                self.enter_later();
            }
            let place = (self.at % BUCKETS) as usize;
            let first = self.ring[place];
            let link = &mut self.linked[first as usize];
            if link.next == NONE {
                let event = Event { time_ps: link.time_ps, what: link.what };
                link.next = std::mem::replace(&mut self.free, first);
                self.ring[place] = NONE;
                self.filled[place / 64] &= !(1 << (place % 64));
                self.held -= 1;
                return Some(self.counted(event));
            }
            self.unlink(self.at);
        }
        in_order(&mut self.now);
        let event = self.now.pop()?;
        Some(self.counted(event))
    }

    #[inline]
    fn counted(&mut self, event: Event) -> Event {
        self.popped += 1;
        if self.popped == LOOK_EVERY {
            self.look_at_width();
        }
        event
    }

    /// The next bucket with events behind the one at hand; there is one.
    #[inline]
    fn next_filled(&self) -> u64 {
        let from = self.at + 1;
        let place = (from % BUCKETS) as usize;
        let bits = self.filled[place / 64] >> (place % 64);
        if bits != 0 {
            return from + u64::from(bits.trailing_zeros());
        }
        let mut ahead = 64 - (place % 64) as u64;
        loop {
            let bits = self.filled[((from + ahead) % BUCKETS) as usize / 64];
            if bits != 0 {
                return from + ahead + u64::from(bits.trailing_zeros());
            }
            ahead += 64;
        }
    }

    /// What is far comes into the ring when the ring has turned so far; it may belong to the bucket at hand.
    fn enter_later(&mut self) {
        while let Some(Reverse(event)) = self.later.peek().copied() {
            let bucket = event.time_ps >> self.shift;
            if bucket >= self.at + BUCKETS {
                self.enter_at = bucket - BUCKETS + 1;
                return;
            }
            self.later.pop();
            if bucket <= self.at {
                self.now.push(event);
            } else {
                self.link(event, bucket);
            }
        }
        self.enter_at = u64::MAX;
    }

    /// A bucket's events, in no order.
    fn unlink(&mut self, bucket: u64) {
        let at = (bucket % BUCKETS) as usize;
        let mut place = std::mem::replace(&mut self.ring[at], NONE);
        self.filled[at / 64] &= !(1 << (at % 64));
        while place != NONE {
            let link = &mut self.linked[place as usize];
            self.now.push(Event { time_ps: link.time_ps, what: link.what });
            let next = std::mem::replace(&mut link.next, self.free);
            self.free = place;
            self.held -= 1;
            place = next;
        }
    }

    /// An event for two to eight buckets; otherwise all are put into buckets of another width.
    #[cold]
    fn look_at_width(&mut self) {
        let each = self.popped as f64 / (self.at - self.looked_at).max(1) as f64;
        (self.popped, self.looked_at) = (0, self.at);
        let shift = match each {
            e if e < 0.125 && self.shift < 60 => self.shift + 1,
            e if e > 0.5 && self.shift > 0 => self.shift - 1,
            _ => return,
        };
        for bucket in 0..BUCKETS {
            self.unlink(bucket);
        }
        let mut all = std::mem::take(&mut self.now);
        all.extend(std::mem::take(&mut self.later).into_iter().map(|Reverse(e)| e));
        let first_ps = all.iter().map(|e| e.time_ps).min().unwrap_or(self.at << self.shift);
        (self.shift, self.at) = (shift, first_ps >> shift);
        (self.looked_at, self.enter_at) = (self.at, u64::MAX);
        all.into_iter().for_each(|event| self.push(event));
    }
}

/// Few events, the next one last.
#[inline]
fn in_order(events: &mut [Event]) {
    for n in 1..events.len() {
        let mut place = n;
        while place > 0 && events[place - 1] < events[place] {
            events.swap(place - 1, place);
            place -= 1;
        }
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
