//! Laws of the record: parts are the whole, whatever the parts; quantiles are those of the values.

use inrush_drive::record::{
    bucket_of, bucket_range, Collector, Hist, Kind, Recorded, RoleEnd, RoleSpec, Times, BUCKETS,
    GROUPING_POWER,
};
use inrush_engines::engine::Outcome;
use inrush_engines::schedule::Stride;
use inrush_rows::clock::ThreadTime;
use inrush_rows::plan::Schedule;
use proptest::prelude::*;

/// Values of every magnitude up to a year, and many small ones.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![0..1_000u64, (0..55u32, any::<u64>()).prop_map(|(power, bits)| bits >> (63 - power) >> 1)]
}

fn hist_of(values: &[u64]) -> Hist {
    let mut hist = Hist::new();
    values.iter().for_each(|v| hist.record(*v));
    hist
}

proptest! {
    #[test]
    fn a_value_lies_in_its_bucket_and_buckets_are_narrow(v: u64) {
        let (low, high) = bucket_range(bucket_of(v));
        prop_assert!(low <= v && v <= high);
        prop_assert!((high - low) as f64 <= low as f64 / f64::from(1 << GROUPING_POWER));
    }

    #[test]
    fn buckets_are_those_of_the_histogram_crate(v: u64) {
        let mut theirs = histogram::Histogram::new(GROUPING_POWER as u8, 64).expect("valid");
        theirs.increment(v).expect("64 bits hold every value");
        let bucket = theirs.iter().find(|bucket| bucket.count() == 1).expect("one was counted");
        prop_assert_eq!(bucket_range(bucket_of(v)), (bucket.start(), bucket.end()));
    }

    #[test]
    fn merging_parts_gives_the_whole_in_every_field(
        values in prop::collection::vec(value(), 0..30), cuts in prop::collection::vec(0..300usize, 0..5),
    ) {
        let mut bounds: Vec<usize> = cuts.iter().map(|c| (*c).min(values.len())).collect();
        bounds.extend([0, values.len()]);
        bounds.sort_unstable();
        let mut merged = Hist::new();
        for part in bounds.windows(2) {
            merged.merge(&hist_of(&values[part[0]..part[1]]));
        }
        let whole = hist_of(&values);
        prop_assert_eq!(merged.to_sparse(), whole.to_sparse());
        prop_assert_eq!(whole.n(), values.len() as u64);
        prop_assert_eq!(whole.sum(), values.iter().sum::<u64>());
        prop_assert_eq!(whole.min(), values.iter().copied().min().unwrap_or(0));
        prop_assert_eq!(whole.max(), values.iter().copied().max().unwrap_or(0));
    }

    #[test]
    fn a_quantile_is_within_a_bucket_of_the_sorted_value(
        mut values in prop::collection::vec(value(), 1..400), q in 0.0..=1.0f64,
    ) {
        values.sort_unstable();
        let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
        let exact = values[rank - 1];
        let found = hist_of(&values).quantile(q).expect("not empty");
        prop_assert!(exact <= found && found <= bucket_range(bucket_of(exact)).1, "{found} for {exact}");
    }

    #[test]
    fn sparse_and_dense_are_the_same(values in prop::collection::vec(value(), 0..300)) {
        let hist = hist_of(&values);
        prop_assert_eq!(Hist::from_sparse(&hist.to_sparse()), hist);
    }

    #[test]
    fn a_cleared_histogram_is_as_new(values in prop::collection::vec(value(), 0..100), more in prop::collection::vec(value(), 0..100)) {
        let mut hist = hist_of(&values);
        hist.clear();
        prop_assert_eq!(&hist, &Hist::new());
        more.iter().for_each(|v| hist.record(*v));
        prop_assert_eq!(hist, hist_of(&more));
    }

    #[test]
    fn intervals_of_all_sessions_add_up_to_every_operation(
        calls in prop::collection::vec((0..3usize, 0..2usize, 1..400_000_000u64, 0..900_000_000u64, 0..12u8), 0..200),
        interval_ns in 50_000_000..2_000_000_000u64, take_every in 1..50usize, paced: bool,
    ) {
        let calls = spread(&calls);
        let recorded = record(&calls, interval_ns, take_every, paced);
        check_sums(&calls, &recorded)?;
        check_line(&recorded)?;
    }
}

proptest! {
    #[test]
    fn latency_on_time_is_that_of_an_instrument_that_was_never_late(
        calls in prop::collection::vec((0..30_000_000u64, 0..40_000_000u64, 1..30_000_000u64), 1..60),
    ) {
        let (mut due, mut free, mut free_on_time) = (ORIGIN, ORIGIN, ORIGIN);
        let (mut made, mut expected) = (Vec::new(), Vec::new());
        for (gap, lag, service) in calls {
            due += gap;
            let sent_ns = due.max(free) + lag;
            let (ready_ns, ready_on_time_ns, done_ns) = (free, free_on_time, sent_ns + service);
            let times = Times { due_ns: due, ready_ns, ready_on_time_ns, sent_ns, done_ns };
            made.push(Call { session: 0, op: 0, times, outcome: Outcome::Ok });
            (free, free_on_time) = (times.done_ns, due.max(free_on_time) + service);
            expected.push(free_on_time - due);
        }
        let recorded = record(&made, 500_000_000, 3, true);
        check_hist(&recorded, "a", Kind::OnTime, expected.into_iter())?;
    }
}

#[test]
fn there_is_a_bucket_for_every_64_bit_value() {
    assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    assert_eq!(bucket_range(BUCKETS - 1).1, u64::MAX);
    assert_eq!((bucket_of(0), bucket_of(255), bucket_of(256)), (0, 255, 256));
    let next_low = |bucket| bucket_range(bucket + 1).0;
    assert!((0..BUCKETS - 1).all(|bucket| bucket_range(bucket).1 + 1 == next_low(bucket)));
}

#[derive(Debug, Clone, Copy)]
struct Call {
    session: usize,
    op: usize,
    times: Times,
    outcome: Outcome,
}

const ORIGIN: u64 = 1_000_000_000;

/// Calls one after the other on each session: (session, op, gap before, service, outcome).
fn spread(calls: &[(usize, usize, u64, u64, u8)]) -> Vec<Call> {
    let mut free = [ORIGIN; 3];
    let at = |(session, op, gap, service, outcome): &(usize, usize, u64, u64, u8)| {
        let due_ns = free[*session] + gap / 2;
        let (ready_ns, sent_ns) = (free[*session], free[*session] + gap);
        let done_ns = sent_ns + service;
        free[*session] = done_ns;
        // Most calls end ok.
        let outcome = Outcome::ALL.get(*outcome as usize).copied().unwrap_or(Outcome::Ok);
        let times = Times { due_ns, ready_ns, ready_on_time_ns: ready_ns, sent_ns, done_ns };
        Call { session: *session, op: *op, times, outcome }
    };
    calls.iter().map(at).collect()
}

fn record(calls: &[Call], interval_ns: u64, take_every: usize, paced: bool) -> Recorded {
    let schedule = if paced { Schedule::Constant { rate_per_s: 3.0 } } else { Schedule::CLOSED };
    let role = RoleSpec {
        name: "r".into(),
        ops: vec!["a".into(), "b".into()],
        sessions: 3,
        schedule,
        seed: 0,
        count: None,
        stride: Stride::WHOLE,
        looks: Default::default(),
        choose: Some(std::sync::Arc::new(|ticket| (ticket % 2) as usize)),
    };
    let (mut collector, mut recorders) = Collector::new(0, interval_ns, vec![role]);
    let recorders = &mut recorders[0];
    collector.begin(0, ORIGIN);
    recorders.iter_mut().for_each(|r| r.begin(0, ORIGIN));
    let mut all = Recorded::default();
    let mut keep = |some: Recorded| {
        all.intervals.extend(some.intervals);
        all.hists.extend(some.hists);
        all.repetitions.extend(some.repetitions);
        all.sessions.extend(some.sessions);
        all.failures.extend(some.failures);
    };
    for (k, call) in calls.iter().enumerate() {
        let recorder = &mut recorders[call.session];
        recorder.sent(call.op, call.times.sent_ns);
        recorder.record(call.op, call.times, call.outcome, 2, 5);
        if k % take_every == 0 {
            keep(collector.take());
        }
    }
    let end_ns = calls.iter().map(|c| c.times.done_ns).max().unwrap_or(ORIGIN + 1);
    recorders.iter_mut().for_each(|r| r.finish(end_ns, ThreadTime { cpu_ns: 1, queued_ns: Some(0) }));
    keep(collector.end(&[RoleEnd { offer_end_ns: end_ns, end_ns }]));
    all
}

fn check_sums(calls: &[Call], recorded: &Recorded) -> Result<(), TestCaseError> {
    for (op, name) in ["a", "b"].iter().enumerate() {
        let ended: Vec<&Call> = calls.iter().filter(|c| c.op == op).collect();
        let ok: Vec<&Call> = ended.iter().copied().filter(|c| c.outcome == Outcome::Ok).collect();
        let rows: Vec<_> = recorded.intervals.iter().filter(|r| r.op == *name).collect();
        let sum = |f: fn(&inrush_drive::record::IntervalRow) -> u64| rows.iter().map(|r| f(r)).sum::<u64>();
        prop_assert_eq!(sum(|r| r.ops), ended.len() as u64);
        prop_assert_eq!(sum(|r| r.errors), (ended.len() - ok.len()) as u64);
        prop_assert_eq!(sum(|r| r.rows), 2 * ok.len() as u64);
        prop_assert_eq!(sum(|r| r.bytes), 5 * ok.len() as u64);
        prop_assert_eq!(rows.last().map_or(0, |r| r.cum_rows), 2 * ok.len() as u64);
        prop_assert_eq!(rows.last().map_or(0, |r| r.in_flight), 0);
        check_hist(recorded, name, Kind::Service, ok.iter().map(|c| c.times.done_ns - c.times.sent_ns))?;
        if recorded.hists.iter().any(|r| r.kind == Kind::Lag) {
            check_hist(recorded, name, Kind::Latency, ok.iter().map(|c| c.times.done_ns - c.times.due_ns))?;
            check_hist(recorded, name, Kind::Wait, ok.iter().map(|c| c.times.sent_ns - c.times.due_ns))?;
            let lag = |c: &&Call| c.times.sent_ns - c.times.due_ns.max(c.times.ready_ns);
            check_hist(recorded, name, Kind::Lag, ok.iter().map(lag))?;
        }
    }
    let totals = &recorded.repetitions[0];
    prop_assert_eq!(totals.ops, calls.len() as u64);
    prop_assert_eq!(totals.ok + totals.errors, totals.ops);
    prop_assert_eq!(recorded.failures.iter().map(|f| f.count).sum::<u64>(), totals.errors);
    prop_assert_eq!(recorded.sessions.iter().map(|s| s.ops).sum::<u64>(), totals.ops);
    let busy: u64 = calls.iter().map(|c| c.times.done_ns - c.times.sent_ns).sum();
    prop_assert_eq!(recorded.sessions.iter().map(|s| s.busy_ns).sum::<u64>(), busy);
    Ok(())
}

fn check_hist(
    recorded: &Recorded,
    op: &str,
    kind: Kind,
    values: impl Iterator<Item = u64>,
) -> Result<(), TestCaseError> {
    let mut merged = Hist::new();
    for row in recorded.hists.iter().filter(|r| r.op == op && r.kind == kind) {
        merged.merge(&Hist::from_sparse(&row.hist));
    }
    let values: Vec<u64> = values.collect();
    prop_assert_eq!(merged.to_sparse(), hist_of(&values).to_sparse());
    Ok(())
}

/// Intervals follow one another without a gap and without a double.
fn check_line(recorded: &Recorded) -> Result<(), TestCaseError> {
    let rows: Vec<_> = recorded.intervals.iter().filter(|r| r.op == "a").collect();
    prop_assert_eq!(rows.first().map(|r| r.t_ns), Some(ORIGIN));
    for pair in rows.windows(2) {
        prop_assert_eq!(pair[0].t_ns + pair[0].dt_ns, pair[1].t_ns);
    }
    Ok(())
}
