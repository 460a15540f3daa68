//! The calls of a session that are in flight, in slots that are made once.

use crate::drive::hold::Floors;
use crate::engine::{Ns, Ticket};
use crate::proof::Expected;
use crate::record::Times;

/// No slot.
const NONE: u32 = u32::MAX;

/// A call on its way.
#[derive(Clone, Copy, Default)]
pub struct Flight {
    pub ticket: Ticket,
    /// Its operation, by its place among the session's.
    pub at: usize,
    pub due: Ns,
    /// When the slot was free for it.
    pub ready: Ns,
    pub sent: Ns,
    /// Its data time, from the start of the repetition: with the ticket it makes the parameters again.
    pub data_ns: Ns,
    pub rows: u64,
}

/// What few calls need, beside the call: all others are copied without it.
#[derive(Default)]
pub struct Kept {
    /// Of a call whose answer is judged; else of an earlier one.
    pub floors: Floors,
    /// Of rows read from files.
    pub proof: Option<Box<Expected>>,
}

/// Where a call is or was: what is kept of it stays until another one begins there.
#[derive(Debug, Clone, Copy)]
pub struct Place(u32);

impl Flight {
    pub fn times(&self, done_ns: Ns) -> Times {
        Times { due_ns: self.due, ready_ns: self.ready, sent_ns: self.sent, done_ns }
    }
}

#[derive(Default)]
struct Slot {
    flight: Flight,
    kept: Kept,
    /// Since when it is free.
    freed: Ns,
    /// Neighbours: of a flight those sent before and after it, of a free slot the one that was freed after it.
    before: u32,
    after: u32,
}

/// As many slots as the role is deep. Calls end in any order; engines that end them in the order in which they were
/// sent pay for no search.
pub struct Flights {
    slots: Box<[Slot]>,
    len: usize,
    /// Flights by when they were sent.
    oldest: u32,
    newest: u32,
    /// Free slots by when they were freed: the next call takes the one that has been free longest.
    free: u32,
    last_freed: u32,
}

impl Flights {
    pub fn new(depth: usize) -> Flights {
        let slots = (0..depth.max(1)).map(|_| Slot::default()).collect();
        let mut flights = Flights { slots, len: 0, oldest: NONE, newest: NONE, free: NONE, last_freed: NONE };
        flights.restart(0);
        flights
    }

    /// Forgets every flight; all slots are free since `ready`.
    pub fn restart(&mut self, ready: Ns) {
        let count = self.slots.len() as u32;
        for (slot, place) in self.slots.iter_mut().zip(0..) {
            (slot.freed, slot.after) = (ready, if place + 1 < count { place + 1 } else { NONE });
            slot.kept.proof = None;
        }
        (self.len, self.oldest, self.newest) = (0, NONE, NONE);
        (self.free, self.last_freed) = (0, count - 1);
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.free == NONE
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Since when there is a slot for the next call. `Ns::MAX` while there is none.
    #[inline]
    pub fn ready(&self) -> Ns {
        if self.free == NONE {
            return Ns::MAX;
        }
        self.slots[self.free as usize].freed
    }

    /// Takes a slot; what is to be kept of the call goes there. Panics when all are taken.
    #[inline]
    pub fn begin(&mut self, flight: Flight) -> &mut Kept {
        let place = self.free;
        let slot = &mut self.slots[place as usize];
        self.free = slot.after;
        (slot.flight, slot.before, slot.after) = (flight, self.newest, NONE);
        match self.newest {
            NONE => self.oldest = place,
            newest => self.slots[newest as usize].after = place,
        }
        self.newest = place;
        self.len += 1;
        &mut self.slots[place as usize].kept
    }

    pub fn kept(&mut self, place: Place) -> &mut Kept {
        &mut self.slots[place.0 as usize].kept
    }

    /// The call sent first of those in flight.
    #[inline]
    pub fn oldest(&self) -> Option<&Flight> {
        (self.oldest != NONE).then(|| &self.slots[self.oldest as usize].flight)
    }

    /// Ends a call; its slot is free from `now` on. None for a call that is not in flight.
    #[inline]
    pub fn end(&mut self, ticket: Ticket, now: Ns) -> Option<(Flight, Place)> {
        let mut place = self.oldest;
        while place != NONE && self.slots[place as usize].flight.ticket != ticket {
            place = self.slots[place as usize].after;
        }
        if place == NONE {
            return None;
        }
        let slot = &mut self.slots[place as usize];
        let (before, after) = (slot.before, slot.after);
        let flight = slot.flight;
        (slot.freed, slot.after) = (now, NONE);
        match before {
            NONE => self.oldest = after,
            before => self.slots[before as usize].after = after,
        }
        match after {
            NONE => self.newest = before,
            after => self.slots[after as usize].before = before,
        }
        match self.free {
            NONE => self.free = place,
            _ => self.slots[self.last_freed as usize].after = place,
        }
        self.last_freed = place;
        self.len -= 1;
        Some((flight, Place(place)))
    }

    /// Ends the call that was sent first.
    pub fn end_oldest(&mut self, now: Ns) -> Option<(Flight, Place)> {
        self.end(self.oldest()?.ticket, now)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::drive::hold::CHECKS_MAX;

    fn flight(ticket: Ticket) -> Flight {
        Flight { ticket, ..Flight::default() }
    }

    #[test]
    fn a_call_that_was_not_sent_or_has_ended_is_not_in_flight() {
        let mut flights = Flights::new(2);
        assert!(flights.end(0, 1).is_none());
        flights.begin(flight(0));
        assert_eq!(flights.end(0, 5).map(|(f, _)| f.ticket), Some(0));
        assert!(flights.end(0, 6).is_none());
    }

    #[test]
    fn the_next_call_is_ready_since_the_slot_that_is_free_longest_was_freed() {
        let mut flights = Flights::new(3);
        flights.restart(10);
        for ticket in 0..3 {
            flights.begin(flight(ticket));
        }
        assert_eq!((flights.is_full(), flights.ready()), (true, Ns::MAX));
        flights.end(1, 20);
        flights.end(0, 30);
        assert_eq!(flights.ready(), 20);
        flights.begin(flight(3));
        assert_eq!(flights.ready(), 30);
    }

    #[test]
    fn nothing_in_flight_survives_a_restart() {
        let mut flights = Flights::new(4);
        for ticket in 0..4 {
            flights.begin(flight(ticket));
        }
        flights.restart(7);
        assert_eq!((flights.len(), flights.ready(), flights.oldest().is_none()), (0, 7, true));
        assert!((0..4).all(|ticket| flights.end(ticket, 8).is_none()));
    }

    proptest! {
        #[test]
        fn slots_hold_what_a_list_would_whatever_order_calls_end_in(
            depth in 1usize..70, steps in prop::collection::vec((any::<bool>(), any::<u16>()), 1..400),
        ) {
            let (mut flights, mut list, mut freed) = (Flights::new(depth), Vec::new(), vec![0; depth]);
            for (now, (begin, pick)) in steps.into_iter().enumerate() {
                let now = now as u64 + 1;
                if begin && list.len() < depth {
                    prop_assert_eq!(flights.ready(), freed.remove(0));
                    flights.begin(Flight { rows: now, ..flight(now) }).floors = [now; CHECKS_MAX];
                    list.push(now);
                } else if !list.is_empty() {
                    let ticket = list.remove(pick as usize % list.len());
                    let (ended, place) = flights.end(ticket, now).expect("it is in flight");
                    prop_assert_eq!((ended.ticket, ended.rows), (ticket, ticket));
                    prop_assert_eq!(flights.kept(place).floors, [ticket; CHECKS_MAX]);
                    freed.push(now);
                }
                prop_assert_eq!(flights.len(), list.len());
                prop_assert_eq!(flights.oldest().map(|f| f.ticket), list.first().copied());
                prop_assert_eq!(flights.is_full(), list.len() == depth);
            }
        }
    }
}
