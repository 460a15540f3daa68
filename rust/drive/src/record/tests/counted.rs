//! What is counted of calls, at the edges of what counts.

use super::*;

#[test]
fn the_same_value_several_times_is_each_of_them() {
    let (mut each, mut at_once) = (Hist::new(), Hist::new());
    [7, 7, 7, 300].into_iter().for_each(|value| each.record(value));
    at_once.record_n(300, 1);
    at_once.record_n(7, 3);
    at_once.record_n(1, 0);
    assert_eq!(at_once, each);
    assert_eq!((each.sum(), each.n()), (321, 4));
    assert_eq!(hist::bucket_of(u64::MAX) + 1, hist::BUCKETS);
}

#[test]
fn rows_that_were_never_seen_add_up_over_a_repetition_and_no_further() {
    let (mut collector, mut recorders) = closed(1);
    recorders[0].never_saw(2);
    recorders[0].never_saw(3);
    assert_eq!(finish(&mut collector, &mut recorders, 1000).repetitions[0].unseen, 5);
    collector.begin(1, ORIGIN);
    recorders[0].begin(1, ORIGIN);
    assert_eq!(finish(&mut collector, &mut recorders, 1000).repetitions[0].unseen, 0);
}

#[test]
fn a_call_is_late_beyond_the_limit_and_not_at_it() {
    use inrush_engines::schedule::LATE_NS;
    for (wait_ns, late) in [(LATE_NS, 0), (LATE_NS + 1, 1)] {
        let (mut collector, mut recorders) = open(role(Schedule::Constant { rate_per_s: 1.0 }, 1));
        let sent_ns = ORIGIN + wait_ns;
        let times = Times {
            due_ns: ORIGIN,
            ready_ns: ORIGIN,
            ready_on_time_ns: ORIGIN,
            sent_ns,
            done_ns: sent_ns + 1,
        };
        recorders[0].sent(0, sent_ns);
        recorders[0].record(0, times, Outcome::Ok, 1, 1);
        assert_eq!(finish(&mut collector, &mut recorders, 1000).repetitions[0].late, late);
    }
}
