//! Which event each row of a table is: from the plan's order and rates.

use std::sync::Arc;

use super::params::Result;
use super::Setting;
use crate::plan::{ChunkPart, EventsPlan, GenPlan, OrderPlan, TablePlan};
use crate::rows::chunk_files::ChunkFiles;
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
        // They have no times: one row after the other.
        None if plan.chunks.is_some() => equal(1, 1),
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

/// The files of a table whose rows lie in such. Tables with equal chunks have equal keys, whatever their streams.
///
/// Errors: what such rows cannot have.
pub(super) fn chunk_files(
    plan: Option<&EventsPlan>,
    seed: u64,
    series: u64,
) -> Result<Option<Arc<ChunkFiles>>> {
    let Some((plan, chunks)) = plan.and_then(|plan| Some((plan, plan.chunks.as_ref()?))) else {
        return Ok(None);
    };
    if plan.rates.is_some() || series != 1 {
        return Err(format!("series is {series}; rows in files of chunks are one series without rates"));
    }
    if matches!(plan.order, OrderPlan::Time {} | OrderPlan::File { .. }) {
        return Err("rows in files of chunks have no time to be ordered by; take key, which is the order of the files, or random".into());
    }
    let files =
        ChunkFiles::new(key(seed, &["chunks"]), plan.rows, chunks).map_err(|e| format!("chunks: {e}"))?;
    Ok(Some(Arc::new(files)))
}

/// Why a generator is none of a table whose rows lie in files of chunks.
pub(super) fn needs_sweeps(plan: &GenPlan) -> bool {
    needs_equal_rates(plan).is_some() || matches!(plan, GenPlan::SweepTime { .. })
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
    /// A part of the keys or the files of a survey.
    pub(super) fn chunk(&self, part: ChunkPart) -> Result<IntGenerator> {
        let files =
            self.chunk_files.as_ref().ok_or("the table has no `chunks`; write [tables.<name>.chunks]")?;
        Ok(IntGenerator::Chunk { files: Arc::clone(files), part })
    }

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
