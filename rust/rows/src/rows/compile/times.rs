//! Columns of times; times and rates of a table in the units of a column, and in sweeps.

use super::params::{above_0, no_integers, not_negative, unit_ns, Result};
use super::Setting;
use crate::plan::{GenPlan, LogicalType};
use crate::rows::integers::{IntGenerator, TimeBy};
use crate::rows::table::Quantiles;

impl Setting<'_> {
    pub(super) fn time(&self, ty: LogicalType, plan: &GenPlan, path: &[&str]) -> Result<IntGenerator> {
        let unit_ns = unit_ns(ty);
        match plan {
            GenPlan::SweepTime { jitter_ms } => {
                let jitter = jitter_ms.saturating_mul(1_000_000) / unit_ns;
                if let Some(ordered) = self.ordered.as_ref().filter(|_| self.has_rates) {
                    return self.event_time(ordered, jitter, unit_ns, path);
                }
                let period = self.in_units("the table's period", self.period_ns, unit_ns)?;
                self.time_generator(TimeBy::Sweep, period, jitter, unit_ns, path)
            }
            GenPlan::Time { period_us, jitter_us } => {
                let period = self.in_units("period_us", period_us.saturating_mul(1000), unit_ns)?;
                let jitter = self.in_units("jitter_us", jitter_us.saturating_mul(1000), unit_ns)?;
                self.time_generator(TimeBy::Row, period, jitter, unit_ns, path)
            }
            GenPlan::SeriesTime { median_period_ms, sigma, jitter_ms } => {
                above_0(&[("median_period_ms", *median_period_ms)])?;
                not_negative("sigma", *sigma)?;
                let per_ms = 1_000_000.0 / unit_ns as f64;
                let jitter = jitter_ms.saturating_mul(1_000_000) / unit_ns;
                let most = 86_400e3 * 366.0 * per_ms;
                let period =
                    Quantiles::lognormal(median_period_ms * per_ms, *sigma, 0, jitter as f64 + 1.0, most);
                let base = self.epoch_in(unit_ns)?;
                let key = self.key(path, "period");
                Ok(IntGenerator::SeriesTime { key, base, period, jitter_range: jitter + 1 })
            }
            other => Err(no_integers(other)),
        }
    }

    fn time_generator(
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
