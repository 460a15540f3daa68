//! The calls of a session that are in flight, in slots that are made once.

mod places;

use places::{places, Places};

use crate::drive::assertion::Floors;
use crate::drive::touched::Change;
use crate::record::Times;
use inrush_engines::engine::{Ns, Ticket};
use inrush_rows::rows::Expected;

/// No slot.
const NONE: u32 = u32::MAX;

/// A call on its way.
#[derive(Clone, Copy, Default)]
pub struct Flight {
    pub ticket: Ticket,
    /// Its operation, by its place among the session's.
    pub at: usize,
    pub due: Ns,
    /// When the slot was free for it, and when it would have been, had every call before been sent on time.
    pub ready: Ns,
    pub ready_on_time: Ns,
    pub sent: Ns,
    /// Its data time, from the start of the repetition: with the ticket it makes the parameters again.
    pub data_ns: Ns,
    pub rows: u64,
}

/// What few calls need, beside the call: all others are copied without it.
#[derive(Default)]
pub struct Kept {
    /// Of a call with an answer that is checked; else of an earlier one.
    pub floors: Floors,
    /// Of rows read from files.
    pub proof: Option<Box<Expected>>,
    /// Of a call by key that adds or changes a row; else of an earlier one.
    pub change: Change,
}

/// Where a call is or was: what is kept of it stays until another one begins there.
#[derive(Debug, Clone, Copy)]
pub struct Place(u32);

impl Flight {
    pub fn times(&self, done_ns: Ns) -> Times {
        Times {
            due_ns: self.due,
            ready_ns: self.ready,
            ready_on_time_ns: self.ready_on_time,
            sent_ns: self.sent,
            done_ns,
        }
    }
}

#[derive(Default)]
struct Slot {
    flight: Flight,
    kept: Kept,
    /// Since when it is free, and since when it would be, had every call in it been sent on time.
    freed: Ns,
    freed_on_time: Ns,
    /// Neighbours: of a flight those sent before and after it, of a free slot the one that was freed after it.
    before: u32,
    after: u32,
}

/// As many slots as the role is deep. Calls end in any order; engines that end them in the order in which they were
/// sent pay for no search; from the first other end on, until the repetition ends, calls are found by their tickets.
pub struct Flights {
    slots: Box<[Slot]>,
    len: usize,
    /// Flights by when they were sent.
    oldest: u32,
    newest: u32,
    /// Free slots by when they were freed: the next call takes the one that has been free longest.
    free: u32,
    last_freed: u32,
    /// Ticket -> slot, of every flight once a call has ended before an older one (`numbered`).
    places: Places,
    numbered: bool,
}

impl Flights {
    pub fn new(depth: usize) -> Flights {
        let slots = (0..depth.max(1)).map(|_| Slot::default()).collect();
        let mut flights = Flights {
            slots,
            len: 0,
            oldest: NONE,
            newest: NONE,
            free: NONE,
            last_freed: NONE,
            // Room for as many that have gone: it never grows while calls come and go.
            places: places(if depth > 1 { 2 * depth } else { 0 }),
            numbered: false,
        };
        flights.restart(0);
        flights
    }

    /// Forgets every flight; all slots are free since `ready`.
    pub fn restart(&mut self, ready: Ns) {
        let count = self.slots.len() as u32;
        for (slot, place) in self.slots.iter_mut().zip(0..) {
            (slot.freed, slot.freed_on_time) = (ready, ready);
            slot.after = if place + 1 < count { place + 1 } else { NONE };
            slot.kept.proof = None;
        }
        (self.len, self.oldest, self.newest) = (0, NONE, NONE);
        (self.free, self.last_freed) = (0, count - 1);
        self.places.clear();
        self.numbered = false;
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

    /// Since when there would be a slot for the next call, due at `due`, had every call before been sent on time.
    ///
    /// That would be the slot then free longest, whichever is now: the two exchange what they would have been. Where
    /// the next slot would have been free by `due`, no other matters to this call or a later one.
    #[inline]
    pub fn ready_on_time(&mut self, due: Ns) -> Ns {
        if self.free == NONE {
            return Ns::MAX;
        }
        let (next, mut earliest) = (self.free as usize, self.free as usize);
        if self.slots[next].freed_on_time > due {
            let mut place = self.slots[next].after;
            while place != NONE {
                let at = place as usize;
                if self.slots[at].freed_on_time < self.slots[earliest].freed_on_time {
                    earliest = at;
                }
                place = self.slots[at].after;
            }
            let found = self.slots[earliest].freed_on_time;
            self.slots[earliest].freed_on_time = self.slots[next].freed_on_time;
            self.slots[next].freed_on_time = found;
        }
        self.slots[next].freed_on_time
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
        if self.numbered {
            self.places.insert(flight.ticket, place);
        }
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
        let place = self.place_of(ticket)?;
        let slot = &mut self.slots[place as usize];
        let (before, after) = (slot.before, slot.after);
        let flight = slot.flight;
        (slot.freed, slot.after) = (now, NONE);
        slot.freed_on_time = now.saturating_sub(flight.times(now).behind_ns());
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

    /// Where a call is in flight, and it is to end.
    #[inline]
    fn place_of(&mut self, ticket: Ticket) -> Option<u32> {
        if !self.numbered {
            if self.oldest != NONE && self.slots[self.oldest as usize].flight.ticket == ticket {
                return Some(self.oldest);
            }
            self.number();
        }
        self.places.remove(&ticket)
    }

    /// From now on calls are found by their tickets.
    #[cold]
    fn number(&mut self) {
        let mut place = self.oldest;
        while place != NONE {
            let slot = &self.slots[place as usize];
            self.places.insert(slot.flight.ticket, place);
            place = slot.after;
        }
        self.numbered = true;
    }

    /// Ends the call that was sent first.
    pub fn end_oldest(&mut self, now: Ns) -> Option<(Flight, Place)> {
        self.end(self.oldest()?.ticket, now)
    }
}

#[cfg(test)]
mod tests;
