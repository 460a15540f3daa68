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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::drive::assertion::CHECKS_MAX;

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

    /// A call through `flights` as a session sends it, `lag` late where it waits for nothing: when it was sent.
    fn send(flights: &mut Flights, ticket: Ticket, due: Ns, collected: Ns, lag: Ns) -> Ns {
        let (ready, ready_on_time) = (flights.ready().max(collected), flights.ready_on_time(due));
        let sent = due.max(ready) + lag;
        let ready_on_time = ready_on_time.max(collected).min(ready);
        flights.begin(Flight { ticket, due, ready, ready_on_time, sent, ..Flight::default() });
        sent
    }

    /// The latency on time of a call that ends at `now`.
    fn ended_on_time(flights: &mut Flights, ticket: Ticket, now: Ns) -> Ns {
        let times = flights.end(ticket, now).expect("it is in flight").0.times(now);
        now - times.due_ns - times.behind_ns()
    }

    /// Calls of a session of depth 1: (due, collected, lag, service). Their latencies, measured and on time.
    fn one_by_one(calls: &[(Ns, Ns, Ns, Ns)]) -> Vec<(Ns, Ns)> {
        let mut flights = Flights::new(1);
        let call = |&(due, collected, lag, service): &(Ns, Ns, Ns, Ns)| {
            let done = send(&mut flights, 0, due, collected, lag) + service;
            (done - due, ended_on_time(&mut flights, 0, done))
        };
        calls.iter().map(call).collect()
    }

    #[test]
    fn a_late_call_makes_the_calls_behind_it_wait_and_that_is_the_instruments_too() {
        // The first is sent 10 late. The next two were due meanwhile: no lag of their own, and they waited for it.
        let found = one_by_one(&[(0, 0, 10, 2), (1, 0, 0, 2), (2, 0, 0, 2), (30, 0, 0, 2)]);
        assert_eq!(found, [(12, 2), (13, 3), (14, 4), (2, 2)]);
    }

    #[test]
    fn a_server_that_stood_still_keeps_its_latency_on_time() {
        let found = one_by_one(&[(0, 0, 0, 100), (1, 0, 0, 2), (2, 0, 0, 2)]);
        assert_eq!(found, [(100, 100), (101, 101), (102, 102)]);
    }

    #[test]
    fn a_session_that_waited_for_its_rows_is_not_charged_with_earlier_lag() {
        // Free at 12 and 10 late. Its rows were there at 20; or at 11, so that on time it had been sent then.
        assert_eq!(one_by_one(&[(0, 0, 10, 2), (5, 20, 0, 2)]), [(12, 2), (17, 17)]);
        assert_eq!(one_by_one(&[(0, 0, 10, 2), (5, 11, 0, 2)]), [(12, 2), (9, 8)]);
    }

    #[test]
    fn a_late_call_in_one_slot_is_no_lateness_of_another() {
        let mut flights = Flights::new(2);
        assert_eq!(send(&mut flights, 0, 0, 0, 0), 0);
        assert_eq!(send(&mut flights, 1, 0, 0, 50), 50);
        assert_eq!(ended_on_time(&mut flights, 0, 95), 95, "it was on time");
        assert_eq!(ended_on_time(&mut flights, 1, 100), 50);
        // On time the slots had been free at 95 and at 50: the call due at 60 had been sent then, the next one at 95.
        assert_eq!(send(&mut flights, 2, 60, 0, 0), 95);
        assert_eq!(send(&mut flights, 3, 61, 0, 0), 100);
        assert_eq!(ended_on_time(&mut flights, 2, 105), 105 - 95, "35 of its latency were the instrument's");
        assert_eq!(ended_on_time(&mut flights, 3, 111), 111 - 61 - 5);
    }

    #[test]
    fn what_waited_for_a_connection_waited_for_the_server() {
        let mut flights = Flights::new(2);
        send(&mut flights, 0, 0, 0, 50);
        flights.end(0, 60);
        flights.restart(500);
        assert_eq!(send(&mut flights, 1, 70, 0, 0), 500);
        assert_eq!(ended_on_time(&mut flights, 1, 510), 440);
    }

    proptest! {
        #[test]
        fn latency_on_time_is_that_of_an_instrument_that_was_never_late(
            calls in prop::collection::vec((0u64..30, 0u64..40, 1u64..30), 1..60),
        ) {
            let (mut flights, mut due, mut free_on_time) = (Flights::new(1), 0, 0);
            for (gap, lag, service) in calls {
                due += gap;
                let done = send(&mut flights, 0, due, 0, lag) + service;
                free_on_time = due.max(free_on_time) + service;
                prop_assert_eq!(ended_on_time(&mut flights, 0, done), free_on_time - due);
            }
        }

        #[test]
        fn at_any_depth_latency_on_time_is_latency_where_the_instrument_was_on_time_and_never_less_than_service(
            depth in 1usize..9, lates in any::<bool>(),
            steps in prop::collection::vec((0u64..20, 0u64..40, any::<u16>()), 1..200),
        ) {
            let (mut flights, mut now, mut due) = (Flights::new(depth), 0, 0);
            let mut sent: Vec<(Ticket, Ns)> = Vec::new();
            for (ticket, (gap, lag, pick)) in (0..).zip(steps) {
                due += gap;
                if flights.is_full() {
                    let (ticket, sent_at) = sent.remove(pick as usize % sent.len());
                    now = sent_at.max(now) + u64::from(pick % 7);
                    let times = flights.end(ticket, now).expect("it is in flight").0.times(now);
                    let on_time = now - times.due_ns - times.behind_ns();
                    prop_assert!(on_time >= now - times.sent_ns && on_time <= now - times.due_ns);
                    if !lates {
                        prop_assert_eq!(on_time, now - times.due_ns);
                    }
                }
                let at = send(&mut flights, ticket, due, 0, if lates { lag } else { 0 });
                sent.push((ticket, at));
            }
        }
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
