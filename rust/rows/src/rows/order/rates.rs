//! How often each series has an event: periods in integer ns, from one law and one seed.

use super::events::{Series, LAST_NS};
use crate::rows::hash::{hash, scale, second};
use crate::rows::table::Quantiles;

/// Weights are integers of this median; the tails of `MOST_SIGMA` stay between 1 and 2^48.
const MEDIAN: u64 = 1 << 24;
const MOST_SIGMA: f64 = 3.0;
const MILLION: u32 = 1_000_000;

/// Rates log-normal over the series, with events at a random phase of each period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lognormal {
    /// Of the natural logarithm of the rate; 0 … 3.
    pub sigma: f64,
    pub pinned: Option<Pinned>,
}

/// One series with a share of all events of its own; the others share the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pinned {
    pub series: u64,
    pub share_ppm: u32,
}

/// All series at once, every `period_ns`.
pub fn equal(series: u64, period_ns: u64) -> Vec<Series> {
    (0..series).map(|_| Series { period_ns, phase_ns: 0 }).collect()
}

/// So many events in all as with [`equal`], to the rounding of the periods. `key` seeds rates and phases.
///
/// Errors: a law that cannot be; a period that rounds to 0 or leaves the range of times.
pub fn lognormal(key: u64, series: u64, period_ns: u64, law: &Lognormal) -> Result<Vec<Series>, String> {
    if !(0.0..=MOST_SIGMA).contains(&law.sigma) {
        return Err(format!("sigma is {}; that of rates is 0 … {MOST_SIGMA}", law.sigma));
    }
    if let Some(pinned) = law.pinned {
        if pinned.series >= series || series < 2 {
            return Err(format!(
                "series {} is pinned of {series}; it is one of two or more, from 0",
                pinned.series
            ));
        }
        if pinned.share_ppm == 0 || pinned.share_ppm >= MILLION {
            return Err(format!(
                "share_ppm is {}; a pinned share is above 0 and below 1,000,000",
                pinned.share_ppm
            ));
        }
    }
    let weights = Quantiles::lognormal(MEDIAN as f64, law.sigma, 0, 1.0, (1u64 << 48) as f64);
    let weight = |s: u64| weights.at(hash(key, s)) as u128;
    let is_pinned = |s: u64| law.pinned.is_some_and(|pinned| pinned.series == s);
    let all: u128 = (0..series).filter(|&s| !is_pinned(s)).map(weight).sum();
    let share_ppm = law.pinned.map_or(0, |pinned| pinned.share_ppm);
    (0..series)
        .map(|s| {
            // period = (period_ns / series) / share, with the share as weight / all * ppm / million.
            let (weight, all, ppm) =
                if is_pinned(s) { (1, 1, share_ppm) } else { (weight(s), all, MILLION - share_ppm) };
            let above = (period_ns as u128).checked_mul(all).and_then(|v| v.checked_mul(MILLION as u128));
            let below = weight * ppm as u128 * series as u128;
            let period = above.map(|above| above.saturating_add(below / 2) / below);
            let period_ns = period.filter(|period| (1..=LAST_NS as u128).contains(period)).ok_or(format!(
                "series {s} would have an event every 0 ns or after more than 73 years; give another period"
            ))? as u64;
            Ok(Series { period_ns, phase_ns: scale(second(hash(!key, s)), period_ns) })
        })
        .collect()
}
