//! Which event each row of a table is: from the plan's order and rates.

use std::sync::Arc;

use super::params::Result;
use super::Setting;
use crate::plan::{EventsPlan, GenPlan, OrderPlan, TablePlan};
use crate::rows::hash::key;
use crate::rows::integers::IntGenerator;
use crate::rows::order::{equal, lognormal, Events, Lognormal, Order, Ordered, Pinned};

/// Errors: rates, an order or a number of rows that cannot be.
pub(super) fn ordered(
    table: &TablePlan,
    plan: &EventsPlan,
    seed: u64,
    series: u64,
    period_ns: u64,
) -> Result<Ordered> {
    let key = |purpose| key(seed, &[&table.stream, purpose]);
    let series = match &plan.rates {
        None => equal(series, period_ns),
        Some(rates) => {
            let pinned = rates.pinned.map(|p| Pinned { series: p.series, share_ppm: p.share_ppm });
            lognormal(key("rates"), series, period_ns, &Lognormal { sigma: rates.sigma, pinned })?
        }
    };
    let order = match plan.order {
        OrderPlan::Key {} => Order::Key,
        OrderPlan::Time {} => Order::Time,
        OrderPlan::File { files } => Order::File { files },
        OrderPlan::Random {} => Order::Random { key: key("order") },
    };
    Ordered::new(Events::new(series, plan.rows)?, order)
}

/// Why a generator is none of a table with series that differ in rate.
pub(super) fn needs_equal_rates(plan: &GenPlan) -> Option<&'static str> {
    match plan {
        GenPlan::Counter(_) | GenPlan::Excess { .. } => Some("grows by sweeps of one length"),
        GenPlan::Job { .. } | GenPlan::Rank { .. } => Some("has jobs that last a number of sweeps"),
        GenPlan::SeriesTime { .. } => Some("has periods of its own; `sweep_time` has those of the table"),
        GenPlan::Time { .. } => Some("counts rows; `sweep_time` has the times of the table"),
        _ => None,
    }
}

impl Setting<'_> {
    /// Times of events, with series that differ in rate.
    pub(super) fn event_time(
        &self,
        ordered: &Arc<Ordered>,
        jitter: u64,
        unit_ns: u64,
        path: &[&str],
    ) -> Result<IntGenerator> {
        // An event is found by its time: the next one of its series is in a later unit, and jitter does not reach it.
        let least_ns = (jitter as u128 + 1) * unit_ns as u128;
        let shortest = ordered.events().series().iter().map(|s| s.period_ns).min().expect("a series");
        if (shortest as u128) < least_ns {
            return Err(format!(
                "a series has an event every {shortest} ns, and times with their jitter are {least_ns} ns apart; give a \
                 longer period, a smaller sigma or time_us"
            ));
        }
        Ok(IntGenerator::EventTime {
            ordered: Arc::clone(ordered),
            key: self.key(path, "jitter"),
            base: self.epoch_in(unit_ns)?,
            unit_ns,
            jitter_range: jitter + 1,
        })
    }
}
