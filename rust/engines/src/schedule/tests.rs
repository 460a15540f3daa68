//! Arrivals against exact quotients, an exponential's moments and each other.

use super::*;
use proptest::prelude::*;

#[test]
fn arrivals_are_not_walked_again_by_who_looks_at_them_now_and_then() {
    let mut arrivals = Arrivals::new(&poisson(10_000.0), 3);
    let before = GAPS.get();
    let looks = 2_000u64;
    let offered = (1..=looks).map(|look| arrivals.offered_before(look * 500_000_000)).last().expect("some");
    // The last look, and one a little before the end.
    assert!(arrivals.offered_before(looks * 500_000_000 - 1_000_000) <= offered);
    let walked = GAPS.get() - before;
    assert!(walked < offered + 10 * looks, "{walked} gaps for {offered} arrivals");
}

fn constant(rate_per_s: f64) -> Schedule {
    Schedule::Constant { rate_per_s }
}

fn poisson(rate_per_s: f64) -> Schedule {
    Schedule::Poisson { rate_per_s }
}

#[test]
fn constant_arrivals_do_not_drift_in_a_year() {
    let rate = 3.0;
    let year_s = 365 * 86_400u64;
    assert_eq!(due_ns(&constant(rate), 0, 3 * year_s), year_s * 1_000_000_000);
    assert_eq!(due_ns(&constant(rate), 0, 1), 333_333_333);
    assert_eq!(due_ns(&constant(0.5), 0, 7), 14_000_000_000);
    assert_eq!(due_ns(&constant(1e-6), 0, 3), 3_000_000_000_000_000);
    assert_eq!(due_ns(&constant(1e9), 0, 17), 17);
}

#[test]
fn five_thousand_are_due_in_five_seconds_at_a_thousand_a_second() {
    assert_eq!(offered_before(&constant(1000.0), 0, None, 5_000_000_000), 5000);
    assert_eq!(offered_before(&constant(1000.0), 0, None, 0), 0);
    assert_eq!(offered_before(&constant(1000.0), 0, Some(70), 5_000_000_000), 70);
    assert_eq!(offered_before(&Schedule::CLOSED, 0, None, 5_000_000_000), 0);
}

#[test]
fn poisson_arrivals_are_these_on_every_machine() {
    let mut arrivals = Arrivals::new(&poisson(1000.0), 1);
    let first: Vec<u64> = (0..5).map(|k| arrivals.due_ns(k)).collect();
    // The same figures come out of Python's floats and integers.
    assert_eq!(first, [568_170, 861_492, 890_918, 1_702_040, 2_513_375]);
    assert_eq!(arrivals.due_ns(100_000), 99_644_452_482);
}

#[test]
fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
    let n = 200_000;
    let mut arrivals = Arrivals::new(&poisson(10_000.0), 7);
    let due: Vec<u64> = (0..n).map(|k| arrivals.due_ns(k)).collect();
    let gaps: Vec<f64> = due.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // 99.9 %: the mean's error is 1/sqrt(n), the standard deviation's sqrt(2/n).
    let n = gaps.len() as f64;
    assert!((mean / 1e5 - 1.0).abs() < 3.3 / n.sqrt(), "mean {mean}");
    assert!((variance.sqrt() / 1e5 - 1.0).abs() < 3.3 * (2.0 / n).sqrt(), "sd {}", variance.sqrt());
    let beyond_3_means = gaps.iter().filter(|g| **g > 3e5).count() as f64 / n;
    assert!((beyond_3_means - (-3.0f64).exp()).abs() < 3.3 * (0.0498 * 0.9502 / n).sqrt());
}

fn samples(every_ns: u64, parts: u32) -> Schedule {
    Schedule::Samples { every_ns, parts, collect: None }
}

#[test]
fn the_parts_of_a_sample_are_due_together() {
    let due: Vec<u64> = (0..7).map(|k| due_ns(&samples(1_000, 3), 0, k)).collect();
    assert_eq!(due, [0, 0, 0, 1_000, 1_000, 1_000, 2_000]);
    let offered = |t| offered_before(&samples(1_000, 3), 0, None, t);
    assert_eq!([offered(0), offered(1), offered(1_000), offered(1_001)], [0, 3, 3, 6]);
}

#[test]
fn half_of_the_samples_are_collected_within_the_median_and_none_after_the_most() {
    let collect = CollectPlan { name: "known".into(), median_ns: 1_000_000, sigma: 0.5, most_ns: 3_000_000 };
    let n = 20_000u64;
    let took: Vec<u64> = (0..n).map(|s| collect_ns(Some(&collect), 7, s)).collect();
    let below = took.iter().filter(|t| **t <= collect.median_ns).count() as f64 / n as f64;
    // 99.9 % of a fair coin's shares.
    assert!((below - 0.5).abs() < 3.3 * 0.5 / (n as f64).sqrt(), "{below}");
    // P(log > sigma) of a normal: 0.1587.
    let above = took.iter().filter(|t| **t as f64 > 1e6 * 0.5f64.exp()).count() as f64 / n as f64;
    assert!((above - 0.1587).abs() < 3.3 * 0.366 / (n as f64).sqrt(), "{above}");
    assert_eq!(took.iter().max(), Some(&3_000_000));
    assert_eq!(collect_ns(None, 7, 0), 0);
    assert_eq!(took[..4], [461_843, 2_811_442, 942_854, 215_141], "the same on every machine");
    assert_eq!(took[5], collect_ns(Some(&collect), 7, 5));
}

#[test]
fn samples_without_time_between_them_are_refused() {
    assert!(check(&samples(0, 1)).is_err() && check(&samples(1, 0)).is_err());
    assert!(check(&samples(1, 1)).is_ok());
}

#[test]
fn a_rate_that_cannot_be_paced_is_refused_with_its_bounds() {
    for rate in [0.0, -5.0, f64::NAN, f64::INFINITY, 1e10, 1e-9] {
        let message = check(&constant(rate)).unwrap_err().to_string();
        assert!(message.contains("rate_per_s"), "{message}");
    }
}

#[test]
fn roles_of_one_plan_and_of_others_arrive_apart() {
    let names = (0..1_000).map(|k| format!("role {k}"));
    let seeds: std::collections::HashSet<u64> =
        names.flat_map(|name| [1, 2].map(|plan_seed| arrival_seed(plan_seed, &name))).collect();
    assert_eq!(seeds.len(), 2_000);
    assert_ne!(arrival_seed(1, "ab"), arrival_seed(1, "ba"));
}

#[test]
fn a_cursor_goes_back_over_the_end_of_time() {
    // 1e15 ns apart: the sum ends after some 18,000.
    let rare = poisson(1e-6);
    let mut arrivals = Arrivals::new(&rare, 3);
    assert_eq!(arrivals.due_ns(30_000), u64::MAX);
    for k in [29_999, 16_000, 15_999, 100] {
        assert_eq!(arrivals.due_ns(k), due_ns(&rare, 3, k), "{k}");
    }
}

#[test]
fn a_cursor_that_goes_far_back_begins_anew() {
    let mut arrivals = Arrivals::new(&poisson(1_000.0), 3);
    arrivals.due_ns(10_000);
    let before = GAPS.get();
    arrivals.due_ns(10);
    assert!(GAPS.get() - before <= 11, "{} gaps", GAPS.get() - before);
    arrivals.due_ns(1_000);
    let before = GAPS.get();
    arrivals.due_ns(990);
    assert_eq!(GAPS.get() - before, 10);
}

proptest! {
    #[test]
    fn due_times_never_go_back(rate in 1e-3..1e9f64, seed: u64, k in 0..5_000u64, is_poisson: bool) {
        let schedule = if is_poisson { poisson(rate) } else { constant(rate) };
        let mut arrivals = Arrivals::new(&schedule, seed);
        prop_assert!(arrivals.due_ns(k) <= arrivals.due_ns(k + 1));
    }

    #[test]
    fn a_cursor_that_skips_and_goes_back_gives_what_a_fresh_one_gives(rate in 1.0..1e6f64, seed: u64,
            steps in prop::collection::vec(0..2_000u64, 1..20)) {
        let schedule = poisson(rate);
        let mut arrivals = Arrivals::new(&schedule, seed);
        for k in steps {
            prop_assert_eq!(arrivals.due_ns(k), due_ns(&schedule, seed, k));
        }
    }

    #[test]
    fn constant_due_is_the_exact_quotient(rate in 1u64..1_000_000_000, k in 0..1u64 << 60) {
        let exact = u128::from(k) * 1_000_000_000 / u128::from(rate);
        let due = due_ns(&constant(rate as f64), 0, k);
        prop_assert_eq!(u128::from(due), exact.min(u128::from(u64::MAX)));
    }

    #[test]
    fn offered_counts_exactly_those_due_before(rate in 1e-3..1e5f64, seed: u64, is_poisson: bool,
            times in prop::collection::vec(0..50_000_000u64, 1..6)) {
        let schedule = if is_poisson { poisson(rate) } else { constant(rate) };
        let mut cursor = Arrivals::new(&schedule, seed);
        for t in times {
            let offered = cursor.offered_before(t);
            prop_assert!(due_ns(&schedule, seed, offered) >= t);
            prop_assert!(offered == 0 || due_ns(&schedule, seed, offered - 1) < t);
        }
    }
}
