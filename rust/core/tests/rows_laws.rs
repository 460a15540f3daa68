//! The laws that generated values follow: distributions, counters, times, keys. Seeds are fixed.

use crate::rows_common;
use std::collections::{BTreeMap, BTreeSet};

use crate::rows_common::{column, draws, filled, integers, made, table, telemetry};
use inrush_rows::rows::{Columns, Values};
use proptest::prelude::*;
use serde_json::{json, Value as Json};

const DRAWS: usize = 100_000;

/// Values of column `c` as floats.
fn numbers(columns: &Columns) -> Vec<f64> {
    match &columns.columns[0].values {
        Values::I32(v) => v.iter().map(|&v| v as f64).collect(),
        Values::I64(v) => v.iter().map(|&v| v as f64).collect(),
        Values::F32(v) => v.iter().map(|&v| v as f64).collect(),
        Values::F64(v) => v.clone(),
        _ => panic!("not numbers"),
    }
}

/// Kolmogorov–Smirnov: the largest gap between sample and law stays below its 99.9 % quantile.
fn follows(gen: Json, law: impl Fn(f64) -> f64) {
    let mut sample = numbers(&draws(1, "f64", gen.clone(), DRAWS));
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let gap = sample.iter().enumerate().map(|(i, &x)| {
        let p = law(x);
        (p - i as f64 / n).abs().max((p - (i + 1) as f64 / n).abs())
    });
    let gap = gap.fold(0.0, f64::max);
    assert!(gap < 1.95 / n.sqrt(), "{gen}: {gap}");
}

/// χ² of counts against shares: below its 99.9 % quantile (Wilson–Hilferty).
fn has_shares(counts: &[u64], shares: &[f64], what: &str) {
    let n: u64 = counts.iter().sum();
    let total: f64 = shares.iter().sum();
    let (mut chi2, mut cells) = (0.0, 0.0);
    for (&count, share) in counts.iter().zip(shares) {
        let expected = n as f64 * share / total;
        assert!(expected > 5.0, "{what}: a cell with {expected} expected");
        chi2 += (count as f64 - expected).powi(2) / expected;
        cells += 1.0;
    }
    let df: f64 = cells - 1.0;
    let limit = df * (1.0 - 2.0 / (9.0 * df) + 3.09 * (2.0 / (9.0 * df)).sqrt()).powi(3);
    assert!(chi2 < limit, "{what}: chi2 {chi2} of {df} degrees, limit {limit}");
}

fn phi(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

fn counts_of(values: &[i64], cells: usize, cell: impl Fn(i64) -> usize) -> Vec<u64> {
    let mut counts = vec![0; cells];
    values.iter().for_each(|&v| counts[cell(v)] += 1);
    counts
}

#[test]
fn continuous_draws_follow_their_laws() {
    follows(json!({"kind": "uniform", "from": -3, "to": 5, "bits": 30}), |x| (x + 3.0) / 8.0);
    follows(json!({"kind": "normal", "mean": -3.0, "sd": 2.5, "bits": 24}), |x| phi((x + 3.0) / 2.5));
    let lognormal = json!({"kind": "lognormal", "median": 1500.0, "sigma": 0.6, "bits": 16});
    follows(lognormal, |x| phi((x / 1500.0).ln() / 0.6));
    // I_x(2, 1) = x^2 and I_x(1, 1.5) = 1 - (1 - x)^1.5 have closed forms.
    follows(json!({"kind": "beta", "a": 2.0, "b": 1.0, "scale": 100.0, "bits": 24}), |x| (x / 100.0).powi(2));
    follows(json!({"kind": "beta", "a": 1.0, "b": 1.5, "bits": 30}), |x| 1.0 - (1.0 - x).powf(1.5));
}

#[test]
fn tails_reach_as_far_as_the_law() {
    let normal =
        numbers(&draws(1, "f64", json!({"kind": "normal", "mean": 0.0, "sd": 1.0, "bits": 30}), 1_000_000));
    let beyond = |z: f64| normal.iter().filter(|x| x.abs() > z).count() as f64;
    for (z, expected) in [(3.0, 2699.8), (4.0, 63.3)] {
        assert!((beyond(z) - expected).abs() < 4.0 * expected.sqrt(), "{z}: {}", beyond(z));
    }
    let mean: f64 = normal.iter().sum::<f64>() / 1e6;
    let variance: f64 = normal.iter().map(|x| x * x).sum::<f64>() / 1e6;
    assert!(mean.abs() < 0.004 && (variance - 1.0).abs() < 0.006, "{mean} {variance}");
}

#[test]
fn discrete_draws_have_their_shares() {
    let draw = |ty: &str, gen: Json| integers(&draws(1, ty, gen, DRAWS), "c");
    let poisson: Vec<f64> =
        (0..12).map(|k| libm::exp(k as f64 * libm::log(3.5) - 3.5 - libm::lgamma(k as f64 + 1.0))).collect();
    let counts =
        counts_of(&draw("i32", json!({"kind": "poisson", "mean": 3.5})), 12, |v| (v as usize).min(11));
    let last = 1.0 - poisson[..11].iter().sum::<f64>();
    has_shares(&counts, &[&poisson[..11], &[last]].concat(), "poisson");

    for (n, cells) in [(1000u64, 100), (100_000_000, 100)] {
        let values = draw("i64", json!({"kind": "zipf", "n": n, "exponent": 1.1}));
        let weight = |rank: f64| libm::pow(rank, -1.1);
        // Exact for the first ranks, the rest by the integral of the weights to 1e-9 of it (Euler–Maclaurin).
        let head: Vec<f64> = (1..cells).map(|rank| weight(rank as f64)).collect();
        let antiderivative = |x: f64| libm::pow(x, -0.1) / -0.1;
        let (from, to) = (cells as f64, n as f64);
        let rest = antiderivative(to) - antiderivative(from)
            + 0.5 * (weight(from) + weight(to))
            + 1.1 / 12.0 * (weight(from) / from - weight(to) / to);
        let counts = counts_of(&values, cells, |v| (v as usize).min(cells) - 1);
        has_shares(&counts, &[&head[..], &[rest]].concat(), &format!("zipf of {n}"));
    }

    let values =
        draw("i16", json!({"kind": "categorical", "values": [7, -2, 30], "weights": [5.0, 3.0, 1.0]}));
    has_shares(
        &counts_of(&values, 3, |v| [7, -2, 30].iter().position(|&x| x == v).unwrap()),
        &[5.0, 3.0, 1.0],
        "categorical",
    );

    let flags = draw("bool", json!({"kind": "flag", "true_ppm": 250_000}));
    has_shares(&counts_of(&flags, 2, |v| v as usize), &[3.0, 1.0], "flag");

    let values = draw("i32", json!({"kind": "uniform", "from": -50, "to": 49}));
    has_shares(&counts_of(&values, 100, |v| (v + 50) as usize), &[1.0; 100], "uniform");
}

#[test]
fn nulls_have_their_share_and_hold_nothing() {
    let mut nullable = column("c", "i32", json!({"kind": "uniform", "from": 1, "to": 9}));
    nullable["null_ppm"] = json!(100_000);
    let mut text = column("t", "text", json!({"kind": "text", "min_bytes": 1, "max_bytes": 5}));
    text["null_ppm"] = json!(300_000);
    let sum = column("s", "i32", json!({"kind": "offset", "of": "c", "from": 0, "to": 0}));
    let columns = filled(&made(&table(1, 1, vec![nullable, text, sum]), 3), 0, DRAWS);
    let present: Vec<bool> = (0..DRAWS).map(|i| columns.columns[0].is_present(i)).collect();
    has_shares(
        &counts_of(&present.iter().map(|&p| p as i64).collect::<Vec<_>>(), 2, |v| v as usize),
        &[1.0, 9.0],
        "null",
    );
    let Values::Text(texts) = &columns.columns[1].values else { panic!() };
    let (values, sums) = (integers(&columns, "c"), integers(&columns, "s"));
    for i in 0..DRAWS {
        assert_eq!(values[i] == 0, !present[i]);
        assert_eq!(texts.get(i).is_empty(), !columns.columns[1].is_present(i));
        // Derived columns see the value before it became NULL.
        assert!(sums[i] > 0);
    }
}

/// One series' values along its sweeps.
fn along(series: u64, of: u64, sweeps: u64, ty: &str, gen: Json, seed: u64) -> Vec<i64> {
    let gen = made(&table(series, 1_000_000_000, vec![column("c", ty, gen)]), seed);
    (0..sweeps).map(|sweep| integers(&filled(&gen, sweep * series + of, 1), "c")[0]).collect()
}

fn increments(values: &[i64]) -> Vec<i64> {
    values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect()
}

proptest! {
    #[test]
    fn counters_never_fall_and_keep_their_cap(seed: u64, of in 0u64..100, cap in 1u64..10_000_000_000) {
        for increment in ["lognormal", "poisson", "burst"] {
            let gen = json!({"kind": "counter", "start_from": 5, "start_to": 1_000_000_000_000_000u64, "increment": increment,
                "median_per_s": 1e8, "sigma": 2.0, "mean_per_s": 2.0, "probability_ppm": 100_000, "mean_size": 500.0, "cap_per_s": cap});
            let values = along(100, of, 300, "u64", gen, seed);
            prop_assert!(values[0] >= 5 && values[0] <= 1_000_000_000_000_000 + cap as i64);
            prop_assert!(increments(&values).iter().all(|&d| d >= 0 && d as u64 <= cap), "{increment}: {:?}", values);
        }
    }

    #[test]
    fn counters_saturate_at_their_width_and_start_again_at_a_reset(seed: u64, of in 0u64..100, bits in 1u32..12) {
        let gen = json!({"kind": "counter", "start_to": 1, "increment": "poisson", "mean_per_s": 8.0, "width_bits": bits,
            "at_limit": "saturate", "reset_every_s": 100});
        let (values, limit) = (along(100, of, 250, "i32", gen, seed), (1 << bits) - 1);
        prop_assert!(values.iter().all(|&v| v <= limit));
        for era in values.chunks(100) {
            prop_assert!(increments(era).iter().all(|&d| d >= 0));
        }
        prop_assert_eq!((values[100], values[200]), (0, 0));
        if bits <= 8 {
            prop_assert_eq!(values[99], limit);
        }
    }

    #[test]
    fn counters_wrap_modulo_their_width(seed: u64, of in 0u64..100, bits in 4u32..20) {
        let plan = |bits: u32| json!({"kind": "counter", "start_to": 15, "increment": "lognormal", "median_per_s": 900.0, "sigma": 1.0, "width_bits": bits});
        let (whole, wrapped) = (along(100, of, 100, "u64", plan(64), seed), along(100, of, 100, "u64", plan(bits), seed));
        prop_assert!(whole.iter().zip(&wrapped).all(|(w, v)| w & ((1 << bits) - 1) == *v));
    }

    #[test]
    fn walks_stay_inside_and_take_small_steps(seed: u64, of in 0u64..100, from in -1_000_000i64..1_000_000, range in 0i64..1_000_000) {
        let values = along(100, of, 500, "i64", json!({"kind": "walk", "from": from, "to": from + range}), seed);
        prop_assert!(values.iter().all(|v| (from..=from + range).contains(v)));
        // Σ weight / 2^level of the ten levels, each knot to knot: 4.7 % of the range.
        prop_assert!(increments(&values).iter().all(|d| d.abs() <= range / 20 + 1), "{:?}", values);
    }

    #[test]
    fn times_of_a_series_increase(seed: u64, of in 0u64..100, jitter_ms in 0u64..1000) {
        let sweep = along(100, of, 50, "time_us", json!({"kind": "sweep_time", "jitter_ms": jitter_ms}), seed);
        let own = along(100, of, 50, "time_ms", json!({"kind": "series_time", "median_period_ms": 500.0, "sigma": 2.0, "jitter_ms": jitter_ms}), seed);
        let row = integers(&draws(1, "time_us", json!({"kind": "time", "period_us": 1000, "jitter_us": jitter_ms}), 50), "c");
        for times in [&sweep, &own, &row] {
            prop_assert!(increments(times).iter().all(|&d| d > 0), "{:?}", times);
        }
        let epoch_us = rows_common::EPOCH_NS / 1000;
        prop_assert!(sweep.iter().enumerate().all(|(i, t)| (0..=jitter_ms as i64 * 1000).contains(&(t - epoch_us - i as i64 * 1_000_000))));
    }
}

#[test]
fn poisson_counters_have_poisson_increments() {
    let gen = json!({"kind": "counter", "increment": "poisson", "mean_per_s": 2.0});
    let columns = draws(1000, "u64", gen, 101_000);
    let values = integers(&columns, "c");
    let grown: Vec<i64> = (1000..101_000).map(|i| values[i] - values[i - 1000]).collect();
    let law: Vec<f64> =
        (0..8).map(|k| libm::exp(k as f64 * libm::log(2.0) - 2.0 - libm::lgamma(k as f64 + 1.0))).collect();
    let last = 1.0 - law[..7].iter().sum::<f64>();
    has_shares(
        &counts_of(&grown, 8, |v| (v as usize).min(7)),
        &[&law[..7], &[last]].concat(),
        "poisson counter",
    );
}

#[test]
fn bursts_come_as_often_and_as_large_as_they_should() {
    let gen = json!({"kind": "counter", "increment": "burst", "probability_ppm": 10_000, "mean_size": 500.0});
    let columns = draws(1000, "u64", gen, 1_001_000);
    let values = integers(&columns, "c");
    let bursts: Vec<i64> =
        (1000..1_001_000).map(|i| values[i] - values[i - 1000]).filter(|&d| d > 0).collect();
    // 10 to a series, less the two ends of the windows; sizes geometric.
    assert!((bursts.len() as f64 - 10_000.0).abs() < 300.0, "{}", bursts.len());
    let mean = bursts.iter().sum::<i64>() as f64 / bursts.len() as f64;
    assert!((mean / 500.0 - 1.0).abs() < 0.05, "{mean}");
}

#[test]
fn lognormal_counters_have_lognormal_rates() {
    let gen = json!({"kind": "counter", "increment": "lognormal", "median_per_s": 1e6, "sigma": 1.2, "idle_ppm": 200_000});
    let series = 50_000;
    let gen = made(&table(series, 1_000_000_000, vec![column("c", "u64", gen)]), 11);
    let (first, last) = (
        integers(&filled(&gen, 0, series as usize), "c"),
        integers(&filled(&gen, series * 1000, series as usize), "c"),
    );
    let mut rates: Vec<f64> = first.iter().zip(&last).map(|(a, b)| (b - a) as f64 / 1000.0).collect();
    let idle = rates.iter().filter(|&&r| r == 0.0).count();
    has_shares(&[idle as u64, series - idle as u64], &[1.0, 4.0], "idle series");
    rates.retain(|&r| r > 0.0);
    rates.sort_by(f64::total_cmp);
    let n = rates.len() as f64;
    let gap = rates
        .iter()
        .enumerate()
        .map(|(i, r)| (phi((r / 1e6).ln() / 1.2) - i as f64 / n).abs())
        .fold(0.0, f64::max);
    assert!(gap < 1.95 / n.sqrt() + 0.001, "{gap}");
}

#[test]
fn switch_numbers_are_unique_and_beyond_signed_integers() {
    let guids = draws(1_000_000, "u64", json!({"kind": "pattern", "prefix": "b8599f03"}), 1_000_000);
    let guids = integers(&guids, "c");
    assert!(guids.iter().all(|&g| g as u64 >= 1 << 63 && g as u64 >> 32 == 0xb8599f03));
    assert_eq!(guids.iter().collect::<BTreeSet<_>>().len(), 1_000_000);
}

#[test]
fn equal_spaces_join_tables() {
    let [pc, pe, mpi] = &telemetry()[..] else { panic!("three telemetry tables") };
    let guids = |plan, column, rows| integers(&filled(&made(plan, 9), 0, rows), column);
    assert_eq!(guids(pc, "guid", 50_000), guids(pe, "guid", 50_000));
    let switches: BTreeSet<i64> = guids(pc, "guid", 50_000).into_iter().collect();
    assert_eq!(switches.len(), 1250);
    assert!(guids(mpi, "node_guid", 448_448).iter().all(|guid| switches.contains(guid)));
}

#[test]
fn port_counters_hold_together() {
    let gen = made(&telemetry()[0], 4);
    let (now, then) = (filled(&gen, 0, 50_000), filled(&gen, 50_000 * 60, 50_000));
    let grown = |name: &str| -> Vec<i64> {
        integers(&then, name).iter().zip(integers(&now, name)).map(|(b, a)| b - a).collect()
    };
    let (data, packets, unicast, multicast, wait) = (
        grown("xmit_data"),
        grown("xmit_pkts"),
        grown("unicast_xmit_pkts"),
        grown("multicast_xmit_pkts"),
        grown("xmit_wait"),
    );
    for i in 0..50_000 {
        assert_eq!(packets[i], unicast[i] + multicast[i]);
        // The ratio is kept to 2^-32.
        let exact = data[i] as f64 * 4.0 / 1185.0;
        assert!((unicast[i] as f64 - exact).abs() < 2.0 + data[i] as f64 / 4e9);
        assert!(wait[i] >= 0 && data[i] as f64 <= 60.0 * 3.125e9);
        if wait[i] > 0 {
            assert!(data[i] as f64 > 58.0 * 1.875e9, "waits below 60 % of the cap");
        }
    }
    let waiting = wait.iter().filter(|&&w| w > 0).count();
    assert!((500..2000).contains(&waiting), "{waiting}");
    let idle = data.iter().filter(|&&d| d == 0).count();
    has_shares(&[idle as u64, 50_000 - idle as u64], &[1.0, 4.0], "idle ports");
}

#[test]
fn one_port_in_a_hundred_is_bad_in_every_counter() {
    let gen = made(&telemetry()[1], 4);
    let (now, then) = (filled(&gen, 0, 50_000), filled(&gen, 50_000 * 3000, 50_000));
    let moved = |name: &str| -> BTreeSet<usize> {
        let pairs = integers(&then, name).into_iter().zip(integers(&now, name));
        pairs.enumerate().filter(|(_, (b, a))| b != a).map(|(i, _)| i).collect()
    };
    let (symbol, discards) = (moved("symbol_errors"), moved("xmit_discards"));
    assert!((400..600).contains(&symbol.len()), "{}", symbol.len());
    assert!(discards.is_subset(&symbol) && discards.len() > symbol.len() / 2);
    assert!(moved("link_downed").is_subset(&symbol));
}

#[test]
fn jobs_are_powers_of_two_and_ranks_count_within_them() {
    let gen = made(&telemetry()[2], 4);
    let columns = filled(&gen, 448_448 * 3, 448_448);
    let (jobs, ranks) = (integers(&columns, "jobid"), integers(&columns, "rank"));
    let mut sizes: BTreeMap<i64, i64> = BTreeMap::new();
    let pairs: BTreeSet<(i64, i64)> = jobs.iter().copied().zip(ranks.iter().copied()).collect();
    assert_eq!(pairs.len(), 448_448);
    jobs.iter().for_each(|&job| *sizes.entry(job).or_default() += 1);
    assert!((50..=500).contains(&sizes.len()), "{} jobs", sizes.len());
    let cut = sizes.values().filter(|size| !(**size as u64).is_power_of_two()).count();
    assert!(cut <= 1, "{cut} jobs are no power of two; only the last may be cut");
    for (&job, &size) in &sizes {
        let most = jobs.iter().zip(&ranks).filter(|(j, _)| **j == job).map(|(_, &r)| r).max();
        assert_eq!(most, Some(size - 1));
    }
    let later = integers(&filled(&gen, 448_448 * 3000, 448_448), "jobid");
    assert!(jobs.iter().zip(&later).any(|(a, b)| a != b), "jobs end");
}

#[test]
fn formatted_keys_have_their_shape() {
    let format = json!({"kind": "format", "pattern": "%05d%c%03d-%06d", "pad_to": 28, "fields": [
        {"kind": "uniform", "from": 8745, "to": 12_514}, {"kind": "flag", "true_ppm": 500_000},
        {"kind": "uniform", "from": 1, "to": 300}, {"kind": "sequence", "start": 1, "step": 1}]});
    let columns = draws(1, "text", format, 2000);
    let Values::Text(texts) = &columns.columns[0].values else { panic!() };
    for i in 0..2000 {
        let text = std::str::from_utf8(texts.get(i)).unwrap();
        assert_eq!(text.len(), 28);
        let (key, blanks) = text.split_at(16);
        assert!(blanks.bytes().all(|b| b == b' '));
        assert!((8745..=12_514).contains(&key[..5].parse::<u32>().unwrap()));
        assert!(matches!(&key[5..6], "a" | "b"));
        assert_eq!(key[10..].parse::<usize>().unwrap(), i + 1);
    }
}

#[test]
fn foreign_values_are_keys_of_the_other_table() {
    let pattern = json!({"kind": "pattern", "prefix": "b8599f03"});
    let mut other = table(50, 1_000_000_000, vec![column("key", "u64", pattern.clone())]);
    other.stream = "other".into();
    let keys: BTreeSet<i64> = integers(&filled(&made(&other, 11), 0, 50), "key").into_iter().collect();
    for exponent in [json!(null), json!(1.1)] {
        let foreign = json!({"kind": "foreign", "stream": "other", "column": "key", "series": 50, "of": pattern, "exponent": exponent});
        let mut seen: BTreeMap<i64, u64> = BTreeMap::new();
        integers(&draws(1, "u64", foreign, DRAWS), "c")
            .into_iter()
            .for_each(|v| *seen.entry(v).or_default() += 1);
        assert_eq!(seen.keys().copied().collect::<BTreeSet<_>>(), keys);
        let mut counts: Vec<u64> = seen.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let shares: Vec<f64> =
            (1..=50).map(|r| if exponent.is_null() { 1.0 } else { libm::pow(r as f64, -1.1) }).collect();
        if exponent.is_null() {
            has_shares(&counts, &shares, "uniform foreign");
        } else {
            let total: f64 = shares.iter().sum();
            assert!((counts[0] as f64 / DRAWS as f64 / (1.0 / total) - 1.0).abs() < 0.02, "{counts:?}");
        }
    }
}
