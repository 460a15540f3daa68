//! Times and rates of a table in the units of a column, and in sweeps.

use super::params::Result;
use super::Setting;
use crate::rows::integers::{IntGenerator, TimeBy};

impl Setting<'_> {
    pub(super) fn time_generator(
        &self,
        by: TimeBy,
        period: u64,
        jitter: u64,
        unit_ns: u64,
        path: &[&str],
    ) -> Result<IntGenerator> {
        if jitter > 0 && jitter >= period {
            return Err("the jitter is not below the period; times would overtake each other".into());
        }
        let key = self.key(path, "jitter");
        Ok(IntGenerator::Time { by, key, base: self.epoch_in(unit_ns)?, period, jitter_range: jitter + 1 })
    }

    pub(super) fn epoch_in(&self, unit_ns: u64) -> Result<i64> {
        if self.epoch_ns % unit_ns as i64 != 0 {
            return Err(format!("the epoch ({} ns) is not a whole number of the type's unit", self.epoch_ns));
        }
        Ok(self.epoch_ns / unit_ns as i64)
    }

    pub(super) fn in_units(&self, what: &str, ns: u64, unit_ns: u64) -> Result<u64> {
        if !ns.is_multiple_of(unit_ns) {
            return Err(format!(
                "{what} is {ns} ns, no whole number of the type's unit; use time_us or another period"
            ));
        }
        Ok(ns / unit_ns)
    }

    /// Whole sweeps in so many seconds; None if there is not one.
    pub(super) fn in_sweeps(&self, seconds: u64) -> Option<u64> {
        let sweeps = (seconds as u128 * 1_000_000_000).checked_div(self.period_ns as u128)? as u64;
        (sweeps > 0).then_some(sweeps)
    }

    pub(super) fn per_sweep(&self, what: &str, per_s: f64) -> Result<f64> {
        let value = per_s * self.period_ns as f64 / 1e9;
        if !value.is_finite() || value <= 0.0 {
            return Err(format!(
                "{what} is {per_s} with a period of {} ns; both are above 0",
                self.period_ns
            ));
        }
        Ok(value)
    }

    pub(super) fn per_sweep_integer(&self, per_s: u64) -> u64 {
        (per_s as u128 * self.period_ns as u128 / 1_000_000_000) as u64
    }
}
