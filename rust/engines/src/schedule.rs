//! When operations are due: pure functions of (schedule, seed, index), and the arrival queue of a role.
//!
//! A role has one arrival queue. Its sessions take tickets from it, so c sessions are c servers of
//! one queue; ticket `k` is due at the same nanosecond whatever session takes it, on every machine.

mod arrival_queue;
mod arrivals;
mod marks;
mod stride;

use inrush_rows::error::Error;
use inrush_rows::plan::{CollectPlan, Schedule};
use inrush_rows::rows::hash::{hash, mix};

pub use arrival_queue::{ArrivalQueue, Batching, Tickets};
pub use arrivals::Arrivals;
#[cfg(any(test, debug_assertions))]
pub use arrivals::GAPS;
pub use marks::Marks;
pub use stride::Stride;

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
        Schedule::Closed { think_ns, refill, delay_ns } => {
            if *think_ns > 0 && (refill.is_some() || *delay_ns > 0) {
                return Err(Error::Plan(format!(
                    "schedule: think_ns is {think_ns}, beside refill or delay_ns; one of the two"
                )));
            }
            Ok(())
        }
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
    role.bytes().fold(mix(plan_seed ^ 0x6172_7269_7661_6c73), |seed, byte| mix(seed ^ u64::from(byte)))
}

/// Time at which operation `k` is due, in ns from the start of the segment.
///
/// Nondecreasing in `k`; depends on nothing but its arguments. A closed schedule's operations are
/// due when they are sent: 0 here. Poisson walks from the first operation: for many, [`Arrivals`].
/// Panics if the rate is outside [`RATES_PER_S`]: [`check`] has refused such a plan.
pub fn due_ns(schedule: &Schedule, seed: u64, k: u64) -> u64 {
    Arrivals::new(schedule, seed).due_ns(k)
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

/// Uniform in (0, 1], 53 bits, a function of seed and index.
#[inline]
pub(crate) fn unit(seed: u64, k: u64) -> f64 {
    ((random64(seed, k) >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// SplitMix64 by counter.
#[inline]
pub(crate) fn random64(seed: u64, k: u64) -> u64 {
    hash(seed, k.wrapping_add(1))
}

#[cfg(test)]
mod tests;
