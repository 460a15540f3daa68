//! When operations are due: pure functions of (schedule, seed, index), and the line sessions stand in.
//!
//! A role has one arrival line. Its sessions take tickets from it, so c sessions are c servers of
//! one queue; ticket `k` is due at the same nanosecond whoever takes it, on every machine.

mod line;
mod marks;

use std::sync::Arc;

use crate::error::Error;
use crate::plan::{CollectPlan, Schedule};

pub use line::{Batching, Line, Tickets};
pub use marks::Marks;

/// An operation sent more than this after it was due is counted as `late`.
///
/// Absolute on purpose: a share of the period would call a slow schedule's operations late that no
/// user would, and a fast schedule's operations late for a timer's jitter.
pub const LATE_NS: u64 = 1_000_000;

/// Rates outside this range are refused: below, one arrival in eleven days; above, less than 1 ns.
pub const RATES_PER_S: std::ops::RangeInclusive<f64> = 1e-6..=1e9;

/// What is wrong with a schedule, before a run starts.
pub fn check(schedule: &Schedule) -> Result<(), Error> {
    match schedule {
        Schedule::Closed { .. } => Ok(()),
        Schedule::Samples { every_ns, parts, collect } => {
            let collect = collect.as_ref();
            if *every_ns == 0 || *parts == 0 {
                return Err(Error::Plan(format!(
                    "schedule: {parts} parts every {every_ns} ns; both are at least 1"
                )));
            }
            match collect.filter(|c| !(0.0..=10.0).contains(&c.sigma) || c.median_ns > c.most_ns) {
                Some(c) => Err(Error::Plan(format!(
                    "schedule: collector {}: sigma is {}, 0 to 10, and the median at most most_ns",
                    c.name, c.sigma
                ))),
                None => Ok(()),
            }
        }
        Schedule::Constant { rate_per_s } | Schedule::Poisson { rate_per_s } => {
            if RATES_PER_S.contains(rate_per_s) {
                Ok(())
            } else {
                Err(Error::Plan(format!(
                    "schedule: rate_per_s is {rate_per_s}; rates lie between {:e} and {:e}",
                    RATES_PER_S.start(),
                    RATES_PER_S.end()
                )))
            }
        }
    }
}

/// True if operations have a time of their own, whether or not a session is free.
pub fn is_paced(schedule: &Schedule) -> bool {
    !matches!(schedule, Schedule::Closed { .. })
}

/// The seed of one role's arrivals: roles of one plan must not arrive together.
pub fn arrival_seed(plan_seed: u64, role: &str) -> u64 {
    role.bytes().fold(mix64(plan_seed ^ 0x6172_7269_7661_6c73), |seed, byte| mix64(seed ^ u64::from(byte)))
}

/// Time at which operation `k` is due, in ns from the start of the segment.
///
/// Nondecreasing in `k`; depends on nothing but its arguments. A closed schedule's operations are
/// due when they are sent: 0 here. Poisson walks from the first operation: for many, [`Arrivals`].
/// Panics if the rate is outside [`RATES_PER_S`]: [`check`] has refused such a plan.
pub fn due_ns(schedule: &Schedule, seed: u64, k: u64) -> u64 {
    Arrivals::new(schedule, seed).due_ns(k)
}

/// The arrivals of one role as a cursor: O(1) for each operation passed, forwards and backwards.
#[derive(Debug, Clone)]
pub struct Arrivals {
    spacing: Spacing,
    seed: u64,
    /// Poisson: `due_ns` is that of operation `k`.
    k: u64,
    due_ns: u64,
    /// Operations that [`Arrivals::offered_before`] has passed.
    offered: u64,
    /// Of all who walk along the same arrivals.
    marks: Option<Arc<Marks>>,
}

#[derive(Debug, Clone, Copy)]
enum Spacing {
    None,
    /// `due = floor(k * 1e9 * 2^shift / odd)`: a rate is a binary fraction, so this is exact.
    Equal {
        odd: u64,
        shift: i32,
    },
    Exponential {
        mean_ns: f64,
    },
    /// `due = floor(k / parts) * every`
    Samples {
        every_ns: u64,
        parts: u64,
    },
}

impl Arrivals {
    pub fn new(schedule: &Schedule, seed: u64) -> Arrivals {
        if let Err(error) = check(schedule) {
            panic!("{error}");
        }
        let spacing = match *schedule {
            Schedule::Closed { .. } => Spacing::None,
            Schedule::Constant { rate_per_s } => equal_spacing(rate_per_s),
            Schedule::Poisson { rate_per_s } => Spacing::Exponential { mean_ns: 1e9 / rate_per_s },
            Schedule::Samples { every_ns, parts, .. } => {
                Spacing::Samples { every_ns, parts: u64::from(parts) }
            }
        };
        let due_ns = match spacing {
            Spacing::Exponential { mean_ns } => gap_ns(mean_ns, seed, 0),
            _ => 0,
        };
        Arrivals { spacing, seed, k: 0, due_ns, offered: 0, marks: None }
    }

    /// The same arrivals, found and left along `marks`: of one schedule and seed, shared by its sessions.
    pub fn along(mut self, marks: Arc<Marks>) -> Arrivals {
        self.marks = Some(marks);
        self
    }

    /// As the free function; Poisson walks from the operation asked for last.
    #[inline]
    pub fn due_ns(&mut self, k: u64) -> u64 {
        match self.spacing {
            Spacing::None => 0,
            Spacing::Equal { odd, shift } => equal_due_ns(odd, shift, k),
            Spacing::Exponential { mean_ns } => self.exponential_due_ns(mean_ns, k),
            Spacing::Samples { every_ns, parts } => (k / parts).saturating_mul(every_ns),
        }
    }

    fn exponential_due_ns(&mut self, mean_ns: f64, k: u64) -> u64 {
        // From the start where that is nearer, or where the sum has reached its end and lost the gaps before.
        if k < self.k / 2 || (k < self.k && self.due_ns == u64::MAX) {
            self.k = 0;
            self.due_ns = gap_ns(mean_ns, self.seed, 0);
        }
        while self.k > k {
            self.due_ns -= gap_ns(mean_ns, self.seed, self.k);
            self.k -= 1;
        }
        if k - self.k > marks::EVERY {
            if let Some(mark) = self.marks.as_ref().and_then(|marks| marks.before(k, self.k)) {
                (self.k, self.due_ns) = mark;
            }
        }
        while self.k < k {
            self.k += 1;
            self.due_ns = self.due_ns.saturating_add(gap_ns(mean_ns, self.seed, self.k));
            if self.k.is_multiple_of(marks::EVERY) {
                if let Some(marks) = &self.marks {
                    marks.leave(self.k, self.due_ns);
                }
            }
        }
        self.due_ns
    }

    /// How many operations were due before `t_ns` (0 for a closed schedule); Poisson walks from the last `t_ns`.
    ///
    /// Strictly before: at 1000/s exactly 5000 are due in the first 5 s.
    pub fn offered_before(&mut self, t_ns: u64) -> u64 {
        match self.spacing {
            Spacing::None => {}
            Spacing::Equal { odd, shift } => {
                // Leaps of doubling length, then of halving: O(log) however long ago the last call.
                if self.offered > 0 && equal_due_ns(odd, shift, self.offered - 1) >= t_ns {
                    self.offered = 0;
                }
                let mut leap = 1;
                while equal_due_ns(odd, shift, self.offered + leap - 1) < t_ns {
                    self.offered += leap;
                    leap *= 2;
                }
                while leap > 0 {
                    if equal_due_ns(odd, shift, self.offered + leap - 1) < t_ns {
                        self.offered += leap;
                    }
                    leap /= 2;
                }
            }
            Spacing::Samples { every_ns, parts } => {
                self.offered = t_ns.div_ceil(every_ns).saturating_mul(parts);
            }
            Spacing::Exponential { .. } => {
                while self.offered > 0 && self.due_ns(self.offered - 1) >= t_ns {
                    self.offered -= 1;
                }
                while self.due_ns(self.offered) < t_ns {
                    self.offered += 1;
                }
            }
        }
        self.offered
    }
}

/// Operations of one sample: 1 where operations come alone.
pub fn parts(schedule: &Schedule) -> u64 {
    match schedule {
        Schedule::Samples { parts, .. } => u64::from(*parts),
        _ => 1,
    }
}

/// How long the rows of `sample` are on their way from the sample's due to the client, ns.
///
/// 0 without a collector. Nothing but the arguments decides, on every machine.
pub fn collect_ns(collect: Option<&CollectPlan>, seed: u64, sample: u64) -> u64 {
    let Some(collect) = collect else { return 0 };
    // Box and Muller: two uniform numbers make one normal one.
    let (u, v) = (unit(seed ^ COLLECT, 2 * sample), unit(seed ^ COLLECT, 2 * sample + 1));
    let normal = libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * std::f64::consts::PI * v);
    let ns = collect.median_ns as f64 * libm::exp(collect.sigma * normal);
    (ns as u64).min(collect.most_ns)
}

/// Keeps the draws of a collector apart from those of arrivals.
const COLLECT: u64 = 0x636f_6c6c_6563_7421;

/// How many operations are due before `t_ns`, of at most `count`: what a role was offered.
pub fn offered_before(schedule: &Schedule, seed: u64, count: Option<u64>, t_ns: u64) -> u64 {
    Arrivals::new(schedule, seed).offered_before(t_ns).min(count.unwrap_or(u64::MAX))
}

/// `rate = odd * 2^-shift` per second, exactly.
fn equal_spacing(rate_per_s: f64) -> Spacing {
    let bits = rate_per_s.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let zeros = mantissa.trailing_zeros();
    Spacing::Equal { odd: mantissa >> zeros, shift: -(exponent + zeros as i32) }
}

/// floor(k * 1e9 * 2^shift / odd), in 128 bits, by parts where the product would not fit.
#[inline]
fn equal_due_ns(odd: u64, shift: i32, k: u64) -> u64 {
    let (odd, product) = (u128::from(odd), u128::from(k) * 1_000_000_000);
    if shift <= 0 {
        return saturate(product / (odd << -shift));
    }
    // odd < 2^53 and shift < 74 (a rate of 1e-6 or more): the remainder's shift fits in 127 bits.
    let (whole, rest) = (product / odd, product % odd);
    match whole.checked_mul(1 << shift) {
        Some(high) => saturate(high.saturating_add((rest << shift) / odd)),
        None => u64::MAX,
    }
}

fn saturate(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// The gap before operation `k`: exponential with this mean, rounded to whole ns.
///
/// `libm` and not the platform's logarithm: the same plan must arrive at the same times everywhere.
#[inline]
fn gap_ns(mean_ns: f64, seed: u64, k: u64) -> u64 {
    #[cfg(test)]
    GAPS.with(|gaps| gaps.set(gaps.get() + 1));
    (-libm::log(unit(seed, k)) * mean_ns + 0.5) as u64
}

/// Uniform in (0, 1], 53 bits, a function of seed and index.
#[inline]
pub(crate) fn unit(seed: u64, k: u64) -> f64 {
    ((random64(seed, k) >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// SplitMix64 by counter.
#[inline]
pub(crate) fn random64(seed: u64, k: u64) -> u64 {
    mix64(seed.wrapping_add(k.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

#[inline]
fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
thread_local! {
    /// Gaps drawn by this thread: what walking along arrivals costs.
    pub(crate) static GAPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arrivals_are_not_walked_again_by_who_looks_at_them_now_and_then() {
        let mut arrivals = Arrivals::new(&poisson(10_000.0), 3);
        let before = GAPS.get();
        let looks = 2_000u64;
        let offered =
            (1..=looks).map(|look| arrivals.offered_before(look * 500_000_000)).last().expect("some");
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
        assert_eq!(offered_before(&Schedule::Closed { think_ns: 0 }, 0, None, 5_000_000_000), 0);
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
        let collect =
            CollectPlan { name: "known".into(), median_ns: 1_000_000, sigma: 0.5, most_ns: 3_000_000 };
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
}
