mod counted;

use super::*;
use inrush_engines::engine::Outcome;
use inrush_engines::schedule::Stride;
use inrush_rows::clock::ThreadTime;
use inrush_rows::plan::Schedule;

const SECOND: u64 = 1_000_000_000;
const ORIGIN: u64 = 5 * SECOND;

fn role(schedule: Schedule, sessions: u32) -> RoleSpec {
    RoleSpec {
        name: "writers".into(),
        ops: vec!["insert".into()],
        sessions,
        schedule,
        seed: 1,
        count: None,
        stride: Stride::WHOLE,
        looks: Default::default(),
        choose: None,
    }
}

fn closed(sessions: u32) -> (Collector, Vec<Recorder>) {
    open(role(Schedule::CLOSED, sessions))
}

fn open(role: RoleSpec) -> (Collector, Vec<Recorder>) {
    let (mut collector, mut recorders) = Collector::new(3, SECOND, vec![role]);
    collector.begin(0, ORIGIN);
    let mut recorders = recorders.pop().expect("one role");
    recorders.iter_mut().for_each(|r| r.begin(0, ORIGIN));
    (collector, recorders)
}

/// An operation sent when due, from the origin in ms.
fn call(recorder: &mut Recorder, sent_ms: u64, done_ms: u64, outcome: Outcome) {
    let sent_ns = ORIGIN + sent_ms * 1_000_000;
    let times = Times {
        due_ns: sent_ns,
        ready_ns: sent_ns,
        ready_on_time_ns: sent_ns,
        sent_ns,
        done_ns: ORIGIN + done_ms * 1_000_000,
    };
    recorder.sent(0, sent_ns);
    recorder.record(0, times, outcome, 10, 100);
}

fn finish(collector: &mut Collector, recorders: &mut [Recorder], end_ms: u64) -> Recorded {
    let end_ns = ORIGIN + end_ms * 1_000_000;
    recorders.iter_mut().for_each(|r| r.finish(end_ns, ThreadTime { cpu_ns: 7, queued_ns: Some(3) }));
    collector.end(&[RoleEnd { offer_end_ns: end_ns, end_ns }])
}

fn counts(recorded: &Recorded) -> Vec<(u64, u64, u64, u32)> {
    let at = |row: &IntervalRow| (row.t_ns - ORIGIN) / 1_000_000;
    recorded.intervals.iter().map(|row| (at(row), row.dt_ns / 1_000_000, row.ops, row.in_flight)).collect()
}

#[test]
fn an_interval_in_which_nothing_ended_has_a_row_of_its_own() {
    let (mut collector, mut recorders) = closed(1);
    call(&mut recorders[0], 100, 200, Outcome::Ok);
    call(&mut recorders[0], 300, 3400, Outcome::Ok);
    let recorded = finish(&mut collector, &mut recorders, 3500);
    assert_eq!(
        counts(&recorded),
        [(0, 1000, 1, 1), (1000, 1000, 0, 1), (2000, 1000, 0, 1), (3000, 500, 1, 0)]
    );
}

#[test]
fn what_leaves_is_summed_by_interval_also_where_nothing_ended_or_a_session_was_late() {
    let (mut collector, mut recorders) = closed(2);
    recorders[0].left(5, 2, 300);
    call(&mut recorders[0], 100, 200, Outcome::Ok);
    recorders[1].left(1, 1, 50);
    call(&mut recorders[1], 100, 1300, Outcome::Ok);
    // Nothing ends in the third interval, and nothing leaves in the fourth.
    recorders[0].tick(ORIGIN + 2 * SECOND + 1);
    recorders[0].left(4, 1, 7);
    let recorded = finish(&mut collector, &mut recorders, 4000);
    let rows: Vec<_> = recorded
        .sends
        .iter()
        .map(|row| ((row.t_ns - ORIGIN) / SECOND, row.ops, row.sends, row.bytes))
        .collect();
    assert_eq!(rows, [(0, 6, 3, 350), (2, 4, 1, 7)]);
    assert_eq!(recorded.intervals.len(), 4);
    assert!(recorded.sends.iter().all(|row| (row.segment, row.role.as_str()) == (3, "writers")));
    collector.begin(1, ORIGIN);
    recorders.iter_mut().for_each(|r| r.begin(1, ORIGIN));
    assert!(finish(&mut collector, &mut recorders, 1000).sends.is_empty(), "of the repetition before");
}

#[test]
fn an_operation_that_ends_with_the_interval_is_in_it() {
    let (mut collector, mut recorders) = closed(1);
    call(&mut recorders[0], 0, 1000, Outcome::Ok);
    assert_eq!(counts(&finish(&mut collector, &mut recorders, 1000)), [(0, 1000, 1, 0)]);
}

#[test]
fn an_interval_waits_for_the_slowest_session_and_is_written_once() {
    let (mut collector, mut recorders) = closed(2);
    call(&mut recorders[0], 0, 10, Outcome::Ok);
    call(&mut recorders[1], 0, 20, Outcome::Ok);
    recorders[0].tick(ORIGIN + 2 * SECOND + 1);
    assert!(collector.take().intervals.is_empty(), "the other session may still add to it");
    recorders[1].tick(ORIGIN + SECOND + 1);
    assert_eq!(counts(&collector.take()), [(0, 1000, 2, 0)]);
    assert_eq!(
        counts(&finish(&mut collector, &mut recorders, 2500)),
        [(1000, 1000, 0, 0), (2000, 500, 0, 0)]
    );
}

#[test]
fn a_full_queue_makes_an_interval_longer_and_loses_nothing() {
    let (mut collector, mut recorders) = closed(1);
    for k in 0..10 {
        call(&mut recorders[0], 1000 * k, 1000 * k + 10, Outcome::Ok);
    }
    let recorded = finish(&mut collector, &mut recorders, 10_000);
    assert_eq!(counts(&recorded), [(0, 1000, 1, 0), (1000, 1000, 1, 0), (2000, 8000, 8, 0)]);
    assert_eq!(recorded.repetitions[0].ops, 10);
}

#[test]
fn a_longer_interval_of_one_session_takes_in_those_of_the_others() {
    let (mut collector, mut recorders) = closed(2);
    for k in 0..6 {
        call(&mut recorders[0], 1000 * k, 1000 * k + 10, Outcome::Ok);
    }
    let mut rows = Vec::new();
    for k in 0..6 {
        call(&mut recorders[1], 1000 * k, 1000 * k + 10, Outcome::Ok);
        rows.extend(counts(&collector.take()));
    }
    rows.extend(counts(&finish(&mut collector, &mut recorders, 6000)));
    assert_eq!(rows, [(0, 1000, 2, 0), (1000, 1000, 2, 0), (2000, 4000, 8, 0)]);
}

#[test]
fn a_failed_operation_is_counted_by_its_class_and_is_in_no_histogram() {
    let (mut collector, mut recorders) = closed(1);
    call(&mut recorders[0], 0, 10, Outcome::Ok);
    call(&mut recorders[0], 10, 20, Outcome::Wrong);
    recorders[0].failed(0, Outcome::Wrong, Some("row 7 differs".into()), ORIGIN + 20_000_000);
    call(&mut recorders[0], 20, 30, Outcome::Timeout);
    recorders[0].failed(0, Outcome::Timeout, None, ORIGIN + 30_000_000);
    call(&mut recorders[0], 30, 40, Outcome::Wrong);
    recorders[0].failed(0, Outcome::Wrong, Some("another".into()), ORIGIN + 40_000_000);
    let recorded = finish(&mut collector, &mut recorders, 50);

    let totals = &recorded.repetitions[0];
    assert_eq!((totals.ops, totals.ok, totals.errors, totals.wrong), (4, 1, 3, 2));
    assert_eq!((totals.rows, totals.bytes), (10, 100));
    assert!(recorded.hists.iter().all(|row| row.hist.n == 1));
    assert_eq!(recorded.intervals[0].errors, 3);
    let failures: Vec<_> =
        recorded.failures.iter().map(|f| (f.outcome, f.count, f.first_message.as_str())).collect();
    assert_eq!(failures, [("wrong", 2, "row 7 differs"), ("timeout", 1, "")]);
}

#[test]
fn a_closed_schedule_has_no_wait_and_latency_is_service() {
    let (mut collector, mut recorders) = closed(1);
    call(&mut recorders[0], 0, 10, Outcome::Ok);
    let recorded = finish(&mut collector, &mut recorders, 20);
    let [latency, service, wait] = &recorded.hists[..] else { panic!("three histograms") };
    assert_eq!([latency.kind, service.kind, wait.kind], [Kind::Latency, Kind::Service, Kind::Wait]);
    assert_eq!(latency.hist, service.hist);
    assert_eq!((wait.hist.n, wait.hist.max, wait.hist.sum), (1, 0, 0));
    assert_eq!(latency.hist.sum, 10_000_000);
}

#[test]
fn making_the_first_batch_is_part_of_a_closed_repetition() {
    let (mut collector, mut recorders) = closed(1);
    let sent_ns = ORIGIN + 30_000_000;
    let times = Times {
        due_ns: sent_ns,
        ready_ns: ORIGIN,
        ready_on_time_ns: ORIGIN,
        sent_ns,
        done_ns: ORIGIN + 50_000_000,
    };
    recorders[0].sent(0, sent_ns);
    recorders[0].record(0, times, Outcome::Ok, 10, 100);
    let totals = finish(&mut collector, &mut recorders, 50).repetitions.remove(0);
    assert_eq!((totals.start_ns, totals.end_ns), (ORIGIN, ORIGIN + 50_000_000));
}

#[test]
fn the_four_times_give_the_five_histograms() {
    let (mut collector, mut recorders) = open(role(Schedule::Constant { rate_per_s: 10.0 }, 1));
    let times = Times {
        due_ns: ORIGIN + 1_000_000,
        ready_ns: ORIGIN + 4_000_000,
        ready_on_time_ns: ORIGIN + 4_000_000,
        sent_ns: ORIGIN + 5_000_000,
        done_ns: ORIGIN + 9_000_000,
    };
    recorders[0].sent(0, times.sent_ns);
    recorders[0].record(0, times, Outcome::Ok, 1, 1);
    let recorded = finish(&mut collector, &mut recorders, 20);
    let sums: Vec<_> = recorded.hists.iter().map(|row| (row.kind.name(), row.hist.sum)).collect();
    let expected = [
        ("latency", 8_000_000),
        ("service", 4_000_000),
        ("wait", 4_000_000),
        ("lag", 1_000_000),
        ("on_time", 7_000_000),
    ];
    assert_eq!(sums, expected);
    assert_eq!(recorded.repetitions[0].late, 1, "sent 4 ms after it was due");
}

#[test]
fn what_earlier_lag_made_a_call_wait_is_in_its_latency_and_not_in_that_on_time() {
    let (mut collector, mut recorders) = open(role(Schedule::Constant { rate_per_s: 10.0 }, 1));
    // Due at 1 ms, its session free at 4 and without earlier lag at 2, sent at 5: 3 ms later than on time.
    let times = Times {
        due_ns: ORIGIN + 1_000_000,
        ready_ns: ORIGIN + 4_000_000,
        ready_on_time_ns: ORIGIN + 2_000_000,
        sent_ns: ORIGIN + 5_000_000,
        done_ns: ORIGIN + 9_000_000,
    };
    recorders[0].sent(0, times.sent_ns);
    assert_eq!(recorders[0].record(0, times, Outcome::Ok, 1, 1), 3_000_000);
    // Without lag it would have been free before it was due: it is late by its wait, and by no more.
    let early = Times { ready_on_time_ns: ORIGIN, ..times };
    recorders[0].sent(0, early.sent_ns);
    assert_eq!(recorders[0].record(0, early, Outcome::Ok, 1, 1), 4_000_000);
    let recorded = finish(&mut collector, &mut recorders, 20);
    let sum = |kind: Kind| {
        let of_kind = recorded.hists.iter().filter(|row| row.kind == kind);
        of_kind.map(|row| row.hist.sum).sum::<u64>()
    };
    assert_eq!((sum(Kind::Latency), sum(Kind::Lag)), (16_000_000, 2_000_000));
    assert_eq!(sum(Kind::OnTime), 5_000_000 + 4_000_000, "the second is its service time");
}

#[test]
fn what_was_due_and_not_sent_is_backlog_and_in_the_end_unsent() {
    let (mut collector, mut recorders) = open(role(Schedule::Constant { rate_per_s: 10.0 }, 1));
    let times = Times {
        due_ns: ORIGIN,
        ready_ns: ORIGIN,
        ready_on_time_ns: ORIGIN,
        sent_ns: ORIGIN,
        done_ns: ORIGIN + 1_500_000_000,
    };
    recorders[0].sent(0, ORIGIN);
    recorders[0].record(0, times, Outcome::Ok, 1, 1);
    let recorded = finish(&mut collector, &mut recorders, 2000);
    let state: Vec<_> = recorded.intervals.iter().map(|r| (r.ops, r.in_flight, r.backlog)).collect();
    assert_eq!(state, [(0, 1, 9), (1, 0, 19)]);
    assert_eq!(recorded.repetitions[0].unsent, 19);
}

#[test]
fn the_backlog_of_a_mix_is_that_of_each_operation() {
    let mix = RoleSpec {
        ops: vec!["a".into(), "b".into()],
        choose: Some(std::sync::Arc::new(|ticket| usize::from(ticket % 4 == 0))),
        ..role(Schedule::Constant { rate_per_s: 100.0 }, 1)
    };
    let (mut collector, mut recorders) = open(mix);
    let recorded = finish(&mut collector, &mut recorders, 1000);
    let backlog: Vec<_> = recorded.intervals.iter().map(|r| (r.op.as_str(), r.backlog)).collect();
    assert_eq!(backlog, [("a", 75), ("b", 25)]);
    assert_eq!(recorded.repetitions[0].unsent, 100);
}

#[test]
fn repetitions_do_not_mix() {
    let (mut collector, mut recorders) = closed(1);
    call(&mut recorders[0], 0, 10, Outcome::Refused);
    finish(&mut collector, &mut recorders, 20);
    for repetition in 1..20 {
        collector.begin(repetition, ORIGIN);
        recorders[0].begin(repetition, ORIGIN);
        call(&mut recorders[0], 0, 10, Outcome::Ok);
        let recorded = finish(&mut collector, &mut recorders, 20);
        let totals = &recorded.repetitions[0];
        assert_eq!((totals.repetition, totals.ops, totals.errors), (repetition, 1, 0));
        assert_eq!((recorded.sessions[0].cpu_ns, totals.queued_ns), (7, Some(3)));
        assert_eq!(recorded.intervals[0].cum_rows, 10);
    }
}

#[test]
fn what_a_call_sees_that_is_in_no_other_figure_is_told_in_its_interval() {
    let looks = Looks { freshness: true, ..Looks::default() };
    let (mut collector, mut recorders) =
        open(RoleSpec { looks, ..role(Schedule::Constant { rate_per_s: 1.0 }, 1) });
    let times = Times {
        due_ns: ORIGIN + SECOND,
        ready_ns: ORIGIN,
        ready_on_time_ns: ORIGIN,
        sent_ns: ORIGIN + SECOND + 7_000_000,
        done_ns: ORIGIN + SECOND + 9_000_000,
    };
    recorders[0].tick(times.done_ns);
    recorders[0].freshness(0, 30_000_000);
    recorders[0].saw_after_the_end(0, times);
    recorders[0].tick(ORIGIN + 2 * SECOND + 1);
    let recorded = finish(&mut collector, &mut recorders, 2_500);
    let told: Vec<_> =
        recorded.hists.iter().map(|row| (row.kind, (row.t_ns - ORIGIN) / SECOND, row.hist.sum)).collect();
    assert_eq!(told, [(Kind::Lag, 1, 7_000_000), (Kind::Freshness, 1, 30_000_000)]);
    assert!(recorded.intervals.iter().all(|row| row.ops == 0), "{:?}", recorded.intervals);
    assert_eq!((recorded.repetitions[0].ops, recorded.repetitions[0].unsent), (0, 3));
}

#[test]
fn a_session_that_panics_leaves_what_it_counted() {
    let (mut collector, mut recorders) = closed(1);
    call(&mut recorders[0], 0, 10, Outcome::Ok);
    recorders.clear();
    let end_ns = ORIGIN + SECOND;
    let recorded = collector.end(&[RoleEnd { offer_end_ns: end_ns, end_ns }]);
    assert_eq!(recorded.repetitions[0].ops, 1);
}

#[test]
fn progress_is_that_of_the_last_whole_interval() {
    let (mut collector, mut recorders) = closed(1);
    for k in 0..3 {
        call(&mut recorders[0], 600 * k, 600 * k + 100, Outcome::Ok);
    }
    collector.take();
    let [progress] = &collector.progress()[..] else { panic!("one role") };
    assert_eq!((progress.t_ns, progress.ops, progress.rows), (ORIGIN + SECOND, 2, 20));
    assert_eq!((progress.ops_per_s, progress.rows_per_s), (2.0, 20.0));
    let p99 = progress.p99_ns.expect("two ended ok");
    assert_eq!(p99, 100_000_000);
}

#[test]
fn progress_shows_each_call_once_however_often_it_is_looked_at() {
    let (mut collector, mut recorders) = closed(1);
    let mut seen = 0;
    for k in 0..9 {
        let outcome = if k % 3 == 0 { Outcome::Timeout } else { Outcome::Ok };
        call(&mut recorders[0], 600 * k, 600 * k + 100, outcome);
        collector.take();
        seen += collector.progress().iter().map(|p| p.latency.n).sum::<u64>();
    }
    recorders[0].finish(ORIGIN + 6 * SECOND, ThreadTime::default());
    let end_ns = ORIGIN + 6 * SECOND;
    collector.end(&[RoleEnd { offer_end_ns: end_ns, end_ns }]);
    let [last] = &collector.progress()[..] else { panic!("one role") };
    assert_eq!(seen + last.latency.n, 6, "those that ended ok");
    assert_eq!((last.errors, last.outcomes[Outcome::Timeout as usize]), (3, 3));
    assert_eq!(collector.progress()[0].latency.n, 0, "they were shown");
}

#[test]
fn progress_shows_how_late_calls_were_sent() {
    let (mut collector, mut recorders) = open(role(Schedule::Constant { rate_per_s: 10.0 }, 1));
    let at = |due_ms: u64, sent_ms: u64| Times {
        due_ns: ORIGIN + due_ms * 1_000_000,
        ready_ns: ORIGIN,
        ready_on_time_ns: ORIGIN,
        sent_ns: ORIGIN + sent_ms * 1_000_000,
        done_ns: ORIGIN + (sent_ms + 1) * 1_000_000,
    };
    for times in [at(100, 100), at(200, 250), at(1_500, 1_500)] {
        recorders[0].sent(0, times.sent_ns);
        recorders[0].record(0, times, Outcome::Ok, 1, 1);
    }
    collector.take();
    let [progress] = &collector.progress()[..] else { panic!("one role") };
    assert_eq!((progress.ops, progress.late), (2, 1));
    let lag_ms = progress.lag_p99_ns.expect("a paced schedule has lag") / 1_000_000;
    assert!((49..=51).contains(&lag_ms), "{lag_ms} ms");
}
