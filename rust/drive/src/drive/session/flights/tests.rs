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
