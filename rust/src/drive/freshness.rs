//! How long after its due a reader could see a row: a session that polls one series of a table that others write.
//!
//! A row counts when the answer that holds it for the first time has ended, so that the time between
//! two polls and of the query itself is in the figure: it is what a user of such a query waits.

use crate::drive::role_queue::RoleQueue;
use crate::engine::{Answer, Ns};
use crate::error::Error;
use crate::plan::{Assertion, LogicalType, OpPlan, ParamGen, RowSource, RunPlan};
use crate::record::Recorder;
use crate::rows::Value;

pub struct Freshness {
    table: usize,
    /// Rows of a sweep, and which of them is looked for.
    series: u64,
    at: u64,
    epoch_ns: i64,
    period_ns: i64,
    ty: LogicalType,
    /// Places of the parameter that says what was seen already.
    places: Vec<usize>,
    /// By sweep; all before `next` were seen.
    seen: Vec<bool>,
    next: usize,
}

impl Freshness {
    /// What `op` looks for; `None` if it does not.
    pub fn of(plan: &RunPlan, op: &OpPlan) -> Result<Option<Freshness>, Error> {
        let refuse = |why: &str| Error::Plan(format!("operation {}: freshness: {why}", op.name));
        let Some((table, at)) = watched(op) else { return Ok(None) };
        let of = plan.tables.get(table).ok_or_else(|| refuse("there is no such table"))?;
        let RowSource::Generated { series, period_ns } = of.source else {
            return Err(refuse("rows of files are not due at a known time"));
        };
        if at >= series || period_ns == 0 {
            return Err(refuse("the table has no such series, or no time between sweeps"));
        }
        let later = |p: &crate::plan::ParamPlan| matches!(p.gen, ParamGen::SeenUntil {});
        let ty = op.params.iter().find(|p| later(p)).map_or(LogicalType::TimeMs, |p| p.ty);
        Ok(Some(Freshness {
            table,
            series,
            at,
            epoch_ns: plan.epoch_ns,
            period_ns: period_ns as i64,
            ty,
            places: op.params.iter().enumerate().filter(|(_, p)| later(p)).map(|(k, _)| k).collect(),
            seen: Vec::new(),
            next: 0,
        }))
    }

    /// Before a repetition: nothing is there yet.
    pub fn restart(&mut self, queues: &[RoleQueue]) {
        let end_row = queues.iter().filter_map(|l| l.sample_log(self.table)).map(|b| b.end_row()).max();
        let sweeps = end_row.unwrap_or(0).div_ceil(self.series) as usize;
        self.seen.clear();
        self.seen.resize(sweeps, false);
        self.next = 0;
    }

    /// Writes the data time up to which all was seen.
    pub fn fill(&self, values: &mut [Value]) {
        let until_ns = self.epoch_ns + (self.next as i64 - 1) * self.period_ns;
        for &place in &self.places {
            values[place] = match self.ty {
                LogicalType::TimeUs => Value::TimeUs(until_ns.div_euclid(1_000)),
                _ => Value::TimeMs(until_ns.div_euclid(1_000_000)),
            };
        }
    }

    /// Records every row that `answer`, ended at `now`, shows for the first time.
    pub fn look(
        &mut self,
        answer: &Answer,
        now: Ns,
        queues: &[RoleQueue],
        recorder: &mut Recorder,
        slot: usize,
    ) {
        for value in answer.rows.iter().filter_map(|row| row.first()) {
            let Some(sweep) = self.sweep_of(value).filter(|&sweep| !self.seen[sweep]) else { continue };
            let row = sweep as u64 * self.series + self.at;
            let written = queues.iter().filter_map(|queue| queue.sample_log(self.table));
            let found =
                written.filter_map(|sample_log| Some((sample_log, sample_log.sample_of(row)?))).next();
            let Some((sample_log, sample)) = found else { continue };
            // Seen before its session has written down that it was sent: the next poll finds it again.
            let Some(due) = sample_log.due(sample) else { continue };
            self.seen[sweep] = true;
            sample_log.seen(sample, now);
            recorder.freshness(slot, now.saturating_sub(due));
        }
        while self.seen.get(self.next).copied().unwrap_or(false) {
            self.next += 1;
        }
    }

    /// Whether a row was stored that this session has not seen yet.
    pub fn is_behind(&self, queues: &[RoleQueue]) -> bool {
        (self.next..self.seen.len()).filter(|&sweep| !self.seen[sweep]).any(|sweep| {
            let row = sweep as u64 * self.series + self.at;
            let written = queues.iter().filter_map(|queue| queue.sample_log(self.table));
            written
                .filter_map(|sample_log| Some(sample_log.is_stored(sample_log.sample_of(row)?)))
                .any(|stored| stored)
        })
    }

    fn sweep_of(&self, value: &Value) -> Option<usize> {
        let ns = match value {
            Value::TimeMs(ms) => ms.checked_mul(1_000_000)?,
            Value::TimeUs(us) => us.checked_mul(1_000)?,
            Value::I64(stored) => stored.checked_mul(match self.ty {
                LogicalType::TimeUs => 1_000,
                _ => 1_000_000,
            })?,
            _ => return None,
        };
        let since_ns = ns.checked_sub(self.epoch_ns)?;
        let sweep = usize::try_from(since_ns.div_euclid(self.period_ns)).ok()?;
        (sweep < self.seen.len()).then_some(sweep)
    }
}

/// The table and series that an operation looks for.
pub fn watched(op: &OpPlan) -> Option<(usize, u64)> {
    op.holds.iter().find_map(|assertion| match assertion {
        Assertion::Freshness { table, series } => Some((*table, *series)),
        _ => None,
    })
}
