//! Roles at work against an engine of the test's own, whose behaviour is known exactly.

mod freshness;
mod known;

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_drive::drive::source::TableCount;
use inrush_drive::drive::{drive, DriveTarget, EndedBy};
use inrush_drive::record::Kind;
use inrush_rows::rows::Value;

use known::{
    for_time, plan_of, role, rows, run, try_run, Behaviour, Known, Notes, CLOSED, ENDLESS, MS, S, TABLE,
    THOUSAND_PER_S,
};

#[test]
fn a_stalled_server_delays_every_operation_that_was_due() {
    let mut notes = Notes::default();
    let frozen = Some((2 * S, 3 * S));
    let roles = role("readers", "ask", 4, THOUSAND_PER_S, ENDLESS, &for_time(5 * S));
    let (driven, _) = run(&roles, 60 * S, Behaviour { frozen, ..Default::default() }, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Time);
    let totals = notes.totals("readers");
    assert_eq!((totals.ops + totals.unsent, totals.unsent), (5000, 0));
    assert!(totals.late >= 900, "only {} late", totals.late);
    let p99 = notes.hist("readers", Kind::Latency).quantile(0.99).unwrap();
    assert!(p99 >= 900 * MS, "p99 {p99}");
    let lag = notes.hist("readers", Kind::Lag).quantile(0.99).unwrap();
    assert!(lag < 20 * MS, "the instrument is blamed for the server's stall: lag {lag}");
}

#[test]
fn a_frozen_client_shows_as_lag() {
    let mut notes = Notes::default();
    let client_frozen = Some((S, 2 * S));
    let roles = role("writers", "insert", 2, THOUSAND_PER_S, &rows(3000, 1), r#"{"kind": "work"}"#);
    let (_, behaviour) = run(&roles, 60 * S, Behaviour { client_frozen, ..Default::default() }, &mut notes);
    assert_eq!(behaviour.stored.load(SeqCst), 3000);
    let lag = notes.hist("writers", Kind::Lag);
    assert!(lag.max() >= 900 * MS, "lag {}", lag.max());
}

#[test]
fn an_answer_that_is_not_there_keeps_no_promise() {
    let calls = r#"{"kind": "calls", "count": 20}"#;
    for (operation, role_of_calls) in
        [("count", "readers"), ("judged", "readers/count"), ("fresh", "readers")]
    {
        let mut notes = Notes::default();
        let readers = role("readers", operation, 1, CLOSED, calls, r#"{"kind": "work"}"#);
        run(&readers, 60 * S, Behaviour { forgets: true, ..Default::default() }, &mut notes);
        let totals = notes.totals(role_of_calls);
        assert_eq!((totals.ops, totals.ok, totals.wrong), (20, 0, 20), "{operation}: {totals:?}");
    }
}

#[test]
fn a_client_that_is_slow_to_look_at_answers_is_late_itself_and_so_is_every_member_of_its_pages() {
    let ten_ms = r#"{"kind": "constant", "rate_per_s": 100.0}"#;
    for (operation, roles) in
        [("count", &["readers"][..]), ("judged", &["readers", "readers/count", "readers/other"][..])]
    {
        let mut notes = Notes::default();
        let behaviour = Behaviour { service_ns: MS, look_ns: 30 * MS, ..Default::default() };
        let readers = role("readers", operation, 1, ten_ms, ENDLESS, &for_time(2 * S));
        run(&readers, 60 * S, behaviour, &mut notes);
        for name in roles {
            let median = |kind| notes.hist(name, kind).quantile(0.5).unwrap();
            let (latency, on_time) = (median(Kind::Latency), median(Kind::OnTime));
            assert!(latency > 200 * MS, "{name} of {operation}: a queue grows, {latency} ns");
            // The server took 1 ms, and what this machine adds to that.
            assert!(on_time < latency / 4, "{name} of {operation}: {on_time} ns of {latency} on time");
        }
    }
}

#[test]
fn every_row_of_a_volume_is_sent_once_whatever_the_sessions() {
    for sessions in [1, 3, 16] {
        let mut notes = Notes::default();
        let roles = role("writers", "insert", sessions, CLOSED, &rows(10_007, 100), r#"{"kind": "work"}"#);
        let (driven, behaviour) = run(&roles, 60 * S, Behaviour::default(), &mut notes);
        assert_eq!(driven.ended_by, EndedBy::Work);
        assert_eq!(behaviour.stored.load(SeqCst), 10_007);
        let totals = notes.totals("writers");
        assert_eq!((totals.rows, totals.ops, totals.bytes), (10_007, 101, 80_056));
    }
}

#[test]
fn a_full_queue_ends_its_role_and_no_row_is_missing_among_those_that_were_sent() {
    // 1,000 batches a second are due and 200 served: more than 50 wait after some 60 ms.
    let mut notes = Notes::default();
    let writers = role("writers", "insert", 2, THOUSAND_PER_S, &rows(100_000, 10), r#"{"kind": "work"}"#);
    let bounded = writers.replace(r#""until":"#, r#""queue_calls": 50, "until":"#);
    let slow = || Behaviour { service_ns: 10 * MS, ..Default::default() };
    let (driven, behaviour) = run(&bounded, 60 * S, slow(), &mut notes);
    assert_eq!((driven.ended_by, driven.ended_by.name()), (EndedBy::Queue, "queue"));
    let totals = notes.totals("writers");
    assert_eq!((totals.rows, totals.ops), (behaviour.stored.load(SeqCst), totals.rows / 10), "all are whole");
    assert!(totals.unsent > 50 && totals.ops < 1_000, "{totals:?}");
    assert_eq!(totals.errors, 0);
    // A queue that is never full ends nothing, and neither does one without a bound.
    let mut notes = Notes::default();
    let fits = role("writers", "insert", 2, THOUSAND_PER_S, &rows(500, 10), r#"{"kind": "work"}"#)
        .replace(r#""until":"#, r#""queue_calls": 50, "until":"#);
    let (driven, behaviour) = run(&fits, 60 * S, slow(), &mut notes);
    assert_eq!((driven.ended_by, behaviour.stored.load(SeqCst)), (EndedBy::Work, 500));
}

#[test]
fn readers_end_with_their_writers_and_answer_between_acknowledged_and_issued() {
    let mut notes = Notes::default();
    let writers = role("writers", "insert", 2, CLOSED, &rows(200, 1), r#"{"kind": "work"}"#);
    let readers = role("readers", "count", 1, CLOSED, ENDLESS, r#"{"kind": "role", "name": "writers"}"#);
    let behaviour = Behaviour { service_ns: 2 * MS, ..Default::default() };
    run(&format!("{writers}, {readers}"), 60 * S, behaviour, &mut notes);
    let (writers, readers) = (notes.totals("writers"), notes.totals("readers"));
    assert!(readers.ops > 0 && readers.wrong == 0, "{readers:?}");
    assert!(readers.end_ns < writers.end_ns + 100 * MS);
}

#[test]
fn readers_of_a_role_that_is_one_per_table_end_with_the_last_of_its_parts() {
    let mut notes = Notes::default();
    let until_work = r#"{"kind": "work"}"#;
    let quick = role("writers/a", "insert", 1, CLOSED, &rows(5, 1), until_work);
    let slow = role("writers/b", "insert", 1, CLOSED, &rows(100, 1), until_work);
    let readers = role("readers", "ask", 1, CLOSED, ENDLESS, r#"{"kind": "role", "name": "writers"}"#);
    let behaviour = Behaviour { service_ns: 2 * MS, ..Default::default() };
    run(&format!("{quick}, {slow}, {readers}"), 60 * S, behaviour, &mut notes);
    let (quick, slow, readers) =
        (notes.totals("writers/a"), notes.totals("writers/b"), notes.totals("readers"));
    assert!(readers.end_ns > quick.end_ns + 100 * MS, "{readers:?} ended with the first of them");
    assert!(readers.end_ns < slow.end_ns + 100 * MS, "{readers:?} went on alone");
}

#[test]
fn a_call_that_is_due_after_the_writers_have_ended_is_neither_sent_nor_unsent() {
    let behaviour = |service_ns| Behaviour { service_ns, ..Default::default() };
    let follows = r#"{"kind": "role", "name": "writers"}"#;
    // The first: due within the last wait. The second: due while a call of another session is still under way.
    for (operation, sessions, gap_ms, writes, service_ns) in
        [("ask", 1, 125u64, 20, 5 * MS), ("ask", 2, 25, 5, 30 * MS), ("page", 1, 125, 20, 5 * MS)]
    {
        let mut notes = Notes::default();
        let schedule = format!(r#"{{"kind": "constant", "rate_per_s": {}}}"#, 1000 / gap_ms);
        let writers = role("writers", "insert", 1, CLOSED, &rows(writes, 1), r#"{"kind": "work"}"#);
        let readers = role("readers", operation, sessions, &schedule, ENDLESS, follows);
        run(&format!("{writers}, {readers}"), 60 * S, behaviour(service_ns), &mut notes);
        let (writers, readers) = (notes.totals("writers"), notes.totals("readers"));
        let due_before = |end_ns: u64| (end_ns - readers.start_ns).div_ceil(gap_ms * MS);
        let (least, most) = (due_before(writers.end_ns), due_before(writers.end_ns + 10 * MS));
        assert!((least..=most).contains(&(readers.ops + readers.unsent)), "{writers:?} {readers:?}");
        let mut waits =
            notes.recorded.intervals.iter().filter(|of| of.role == "readers").map(|of| of.backlog);
        assert_eq!(waits.next_back().unwrap(), readers.unsent, "{readers:?}");
    }
}

#[test]
fn what_is_due_after_the_end_is_no_backlog_while_the_last_calls_are_under_way() {
    let mut notes = Notes::default();
    let readers = role("readers", "ask", 4, THOUSAND_PER_S, ENDLESS, &for_time(600 * MS));
    let frozen = Some((500 * MS, 1500 * MS));
    run(&readers, 60 * S, Behaviour { frozen, ..Default::default() }, &mut notes);
    let (intervals, totals) = (&notes.recorded.intervals, notes.totals("readers"));
    assert_eq!(totals.ops + totals.unsent, 600, "{totals:?}");
    let most = intervals.iter().map(|of| of.backlog).max().unwrap();
    // Before the end the four calls under way may be counted as waiting.
    assert!(most <= totals.unsent + 4, "{most} waited, of {} that were never sent", totals.unsent);
    assert_eq!(intervals.last().unwrap().backlog, totals.unsent);
}

#[test]
fn an_answer_that_breaks_its_promise_has_no_latency() {
    let mut notes = Notes::default();
    let readers =
        role("readers", "count", 1, CLOSED, r#"{"kind": "calls", "count": 50}"#, r#"{"kind": "work"}"#);
    let behaviour = Behaviour { stored: AtomicU64::new(77), ..Default::default() };
    run(&readers, 60 * S, behaviour, &mut notes);
    assert_eq!(notes.totals("readers").wrong, 50);
    assert_eq!(notes.hist("readers", Kind::Latency).n(), 0);
    assert_eq!(notes.recorded.failures[0].outcome, "wrong");
    assert!(notes.recorded.failures[0].first_message.contains("77 rows counted"));
}

/// A sweep of 10 rows every 50 ms, in 2 parts, collected in 20 ms exactly.
const SAMPLES: &str = r#"{"kind": "samples", "every_ns": 50000000, "parts": 2,
    "collect": {"name": "known", "median_ns": 20000000, "sigma": 0.0, "most_ns": 20000000}}"#;

#[test]
fn a_sample_is_stored_when_its_last_part_is_and_is_never_sent_before_it_was_collected() {
    let mut notes = Notes::default();
    let roles = role("writers", "insert", 2, SAMPLES, &rows(100, 5), r#"{"kind": "work"}"#);
    let behaviour = Behaviour { service_ns: 5 * MS, ..Default::default() };
    run(&roles, 60 * S, behaviour, &mut notes);
    let samples = &notes.recorded.samples;
    assert_eq!(samples.iter().map(|s| s.sample).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    for (k, sample) in samples.iter().enumerate() {
        assert_eq!(sample.due_ns, samples[0].due_ns + k as u64 * 50 * MS);
        assert_eq!(sample.collected_ns, sample.due_ns + 20 * MS);
        assert!(sample.sent_ns >= sample.collected_ns && sample.done_ns >= sample.sent_ns + 5 * MS);
        assert_eq!((sample.rows, sample.missing, sample.seen_ns), (10, 0, 0));
        // On time its parts had gone out when they were collected, and no end is later than as it was.
        assert!(sample.collected_ns <= sample.sent_on_time_ns && sample.sent_on_time_ns <= sample.sent_ns);
        assert!(sample.sent_on_time_ns + 5 * MS <= sample.done_on_time_ns);
        assert!(sample.done_on_time_ns <= sample.done_ns);
    }
    // Collecting is in the latency; it is not the instrument's lateness.
    assert!(notes.hist("writers", Kind::Latency).min() >= 25 * MS);
    assert!(notes.hist("writers", Kind::Lag).quantile(0.5).unwrap() < 20 * MS);
}

#[test]
fn what_is_due_at_the_start_is_made_before_it() {
    let every = r#"{"kind": "samples", "every_ns": 500000000, "parts": 2}"#;
    let mut notes = Notes::default();
    let roles = role("writers", "insert", 2, every, &rows(300_000, 50_000), r#"{"kind": "work"}"#);
    let behaviour = Behaviour { encode_ns: 20 * MS, ..Default::default() };
    let (_, behaviour) = run(&roles, 60 * S, behaviour, &mut notes);
    let samples = &notes.recorded.samples;
    let mut encoded = behaviour.encoded.lock().unwrap().clone();
    encoded.sort_unstable();
    assert_eq!((samples.len(), encoded.len()), (3, 6));
    for (sample, parts) in samples.iter().zip(encoded.chunks(2)) {
        assert!(parts[1] <= sample.due_ns, "made {} ns, due {} ns", parts[1], sample.due_ns);
    }
}

#[test]
fn a_sample_with_a_part_that_failed_is_not_stored() {
    let mut notes = Notes::default();
    let roles = role("writers", "insert", 2, SAMPLES, &rows(20, 5), r#"{"kind": "work"}"#);
    run(&roles, 60 * S, Behaviour { fails: true, ..Default::default() }, &mut notes);
    let outcomes: Vec<_> = notes.recorded.samples.iter().map(|s| (s.done_ns, s.rows, s.missing)).collect();
    assert_eq!(outcomes, [(0, 0, 2), (0, 0, 2)]);
}

#[test]
fn a_page_is_as_slow_as_its_slowest_member_and_counted_once() {
    let mut notes = Notes::default();
    let readers =
        role("readers", "page", 3, CLOSED, r#"{"kind": "calls", "count": 30}"#, r#"{"kind": "work"}"#);
    run(&readers, 60 * S, Behaviour { service_ns: 5 * MS, ..Default::default() }, &mut notes);
    assert_eq!(notes.totals("readers").ops, 30);
    assert_eq!(notes.totals("readers/ask").ops, 30);
    assert_eq!(notes.totals("readers/other").ops, 30);
    let page = notes.hist("readers", Kind::Latency);
    assert!(
        page.min() >= 5 * MS && page.quantile(0.5).unwrap() < 10 * MS,
        "members run at once, not in turn"
    );
}

#[test]
fn repetitions_start_afresh_and_are_told_apart() {
    let mut notes = Notes { repetitions: 3, ..Notes::default() };
    let writers = role("writers", "insert", 2, CLOSED, &rows(100, 10), r#"{"kind": "work"}"#);
    let pages = role("readers", "page", 1, CLOSED, ENDLESS, r#"{"kind": "role", "name": "writers"}"#);
    let behaviour = Behaviour { service_ns: MS, ..Default::default() };
    run(&format!("{writers}, {pages}"), 60 * S, behaviour, &mut notes);
    let of: Vec<(u32, u64)> = notes
        .recorded
        .repetitions
        .iter()
        .filter(|s| s.role == "writers")
        .map(|s| (s.repetition, s.rows))
        .collect();
    assert_eq!(of, [(0, 100), (1, 100), (2, 100)]);
    assert_eq!(notes.makespans.len(), 3);
    assert!(notes.makespans.iter().all(|&ns| ns >= 5 * MS));
}

#[test]
fn a_limit_cuts_a_segment_and_says_so() {
    let mut notes = Notes::default();
    let writers = role("writers", "insert", 1, CLOSED, &rows(1_000_000, 1), r#"{"kind": "work"}"#);
    let (driven, _) =
        run(&writers, 300 * MS, Behaviour { service_ns: 5 * MS, ..Default::default() }, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Limit);
    assert!(notes.totals("writers").rows < 1000);
}

#[test]
fn a_call_past_its_deadline_is_cancelled_and_counted_as_timeout() {
    let mut notes = Notes::default();
    let readers =
        role("readers", "limited", 1, CLOSED, r#"{"kind": "calls", "count": 1}"#, r#"{"kind": "work"}"#);
    run(&readers, 60 * S, Behaviour { hangs: true, ..Default::default() }, &mut notes);
    assert_eq!(notes.recorded.failures[0].outcome, "timeout");
    assert_eq!(notes.hist("readers", Kind::Service).n(), 0);
}

#[test]
fn endless_failure_ends_the_session_instead_of_spinning() {
    let mut notes = Notes::default();
    let readers = role("readers", "ask", 1, CLOSED, ENDLESS, &for_time(30 * S));
    let (driven, _) = run(&readers, 60 * S, Behaviour { fails: true, ..Default::default() }, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Error);
    assert!(driven.fatal.unwrap().contains("told to fail"));
    assert_eq!(notes.totals("readers").errors, notes.totals("readers").ops);
}

#[test]
fn a_session_that_panics_ends_the_run_of_all_others() {
    let began = Instant::now();
    let ended = catch_unwind(|| {
        let writers = role("writers", "insert", 2, CLOSED, &rows(1_000, 1), r#"{"kind": "work"}"#);
        let readers = role("readers", "ask", 2, CLOSED, ENDLESS, r#"{"kind": "role", "name": "writers"}"#);
        let behaviour = Behaviour { panics_at: Some(10), service_ns: MS, ..Default::default() };
        run(&format!("{writers}, {readers}"), 20 * S, behaviour, &mut Notes::default());
    });
    assert!(ended.is_err(), "a run that broke is none that ended");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn more_arrivals_than_the_server_can_serve_are_unsent_not_forgotten() {
    let mut notes = Notes::default();
    let readers = role("readers", "ask", 1, THOUSAND_PER_S, ENDLESS, &for_time(S));
    run(&readers, 60 * S, Behaviour { service_ns: 10 * MS, ..Default::default() }, &mut notes);
    let totals = notes.totals("readers");
    assert_eq!(totals.ops + totals.unsent, 1000);
    assert!(totals.unsent > 800, "{totals:?}");
}

#[test]
fn now_is_the_epoch_plus_due() {
    let mut notes = Notes::default();
    let readers =
        role("readers", "ask", 1, THOUSAND_PER_S, r#"{"kind": "calls", "count": 3}"#, r#"{"kind": "work"}"#);
    let (_, behaviour) = run(&readers, 60 * S, Behaviour::default(), &mut notes);
    let seen = behaviour.params.lock().unwrap().clone();
    let epoch_ms = 1_000_000_000_000;
    assert_eq!(seen, [Value::TimeMs(epoch_ms), Value::TimeMs(epoch_ms + 1), Value::TimeMs(epoch_ms + 2)]);
}

fn deep(depth: u32) -> String {
    let calls = r#"{"kind": "calls", "count": 50}"#;
    role("readers", "ask", 1, CLOSED, calls, r#"{"kind": "work"}"#)
        .replace(r#""depth": 1"#, &format!(r#""depth": {depth}"#))
}

#[test]
fn a_role_deeper_than_its_engine_is_refused_with_engine_depth_and_remedy() {
    let (driven, _) = try_run(&deep(4), 60 * S, Behaviour::default(), &mut Notes::default());
    let why = driven.unwrap_err().to_string();
    for part in ["role readers", "depth 4", "test", "lower `depth`"] {
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn an_engine_that_takes_no_call_ends_the_run_and_every_call_is_counted() {
    let mut notes = Notes::default();
    let behaviour = Behaviour { claims_depth: 4, ..Default::default() };
    let (driven, _) = run(&deep(4), 60 * S, behaviour, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Error);
    let why = driven.fatal.unwrap();
    assert!(why.contains("took no call beside 1 in flight") && why.contains("role readers"), "{why}");
    let totals = notes.totals("readers");
    assert_eq!((totals.ops, totals.errors), (2, 2), "{totals:?}");
}

#[test]
fn what_a_role_only_reads_is_still_there_in_the_second_repetition() {
    let mut notes = Notes { repetitions: 3, ..Notes::default() };
    let writers = role("writers", "insert", 1, CLOSED, &rows(20, 10), r#"{"kind": "work"}"#);
    let other = TABLE.replace(r#""name": "t", "stream": "t""#, r#""name": "u", "stream": "u""#);
    let counts = [TableCount::default(), TableCount::default()];
    counts[1].issue(77);
    counts[1].acknowledge(77);
    let context = plan_of(&format!("{TABLE}, {other}"), &writers, 60 * S, 3);
    let inrush_rows::plan::Segment::Drive(segment) = context.plan.segments[0].clone() else {
        panic!("a drive")
    };
    let engine = Known { clock: context.clock, behaviour: Arc::new(Behaviour::default()) };
    let drive_target = DriveTarget { context: &context, engine: &engine, segment: 0, counts: &counts };
    drive(&drive_target, &segment, &mut notes).unwrap();
    assert_eq!(notes.makespans.len(), 3);
    assert_eq!((counts[0].acknowledged(), counts[1].acknowledged(), counts[1].settled()), (20, 77, 77));
}
