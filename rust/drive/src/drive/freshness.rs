//! How long after its due a reader could see a row: a session that polls one series of a table that others write.
//!
//! A row counts when the answer that holds it for the first time has ended, so that the time between
//! two polls and of the query itself is in the figure: it is what a user of such a query waits.

use std::sync::Arc;

use crate::drive::role_queue::RoleQueue;
use crate::record::Recorder;
use inrush_engines::engine::{Answer, Ns};
use inrush_rows::error::Error;
use inrush_rows::plan::{LogicalType, OpPlan, ParamGen, RowSource};
use inrush_rows::rows::order::{Event, Ordered, Series};
use inrush_rows::rows::{Generators, Value};

pub struct Freshness {
    table: usize,
    watched: WatchedSeries,
    epoch_ns: i64,
    ty: LogicalType,
    /// Places of the parameter that says what was seen already.
    places: Vec<usize>,
    /// By sweep; all before `next` were seen.
    seen: Vec<bool>,
    next: usize,
    /// Rows that are due from then on are none of this role's: it has ended. Run time.
    until: Ns,
    /// By role, once `until` has come: its calls that were due before.
    offered: Vec<u64>,
}

impl Freshness {
    /// What `op` looks for; `None` if it does not.
    pub fn of(generators: &Generators, op: &OpPlan) -> Result<Option<Freshness>, Error> {
        let plan = generators.plan();
        let refuse = |why: &str| Error::Plan(format!("operation {}: freshness: {why}", op.name));
        let Some((table, at)) = op.watched() else { return Ok(None) };
        let of = plan.tables.get(table).ok_or_else(|| refuse("there is no such table"))?;
        let RowSource::Generated { series, period_ns, .. } = of.source else {
            return Err(refuse("rows of files are not due at a known time"));
        };
        if at >= series || period_ns == 0 {
            return Err(refuse("the table has no such series, or no time between sweeps"));
        }
        let generator = generators.of(table)?;
        let watched = match generator.ordered() {
            None => WatchedSeries::Even { series, at, period_ns },
            Some(ordered) => WatchedSeries::ordered(ordered.clone(), at),
        };
        let later = |p: &inrush_rows::plan::ParamPlan| matches!(p.gen, ParamGen::SeenUntil {});
        let ty = op.params.iter().find(|p| later(p)).map_or(LogicalType::TimeMs, |p| p.ty);
        Ok(Some(Freshness {
            table,
            watched,
            epoch_ns: plan.epoch_ns,
            ty,
            places: op.params.iter().enumerate().filter(|(_, p)| later(p)).map(|(k, _)| k).collect(),
            seen: Vec::new(),
            next: 0,
            until: Ns::MAX,
            offered: Vec::new(),
        }))
    }

    /// Before a repetition: nothing is there yet. `until`: when the reader's own time ends.
    pub fn restart(&mut self, queues: &[RoleQueue], until: Option<Ns>) {
        self.until = until.unwrap_or(Ns::MAX);
        self.offered.clear();
        self.offered.resize(queues.len(), 0);
        let end_row = queues.iter().filter_map(|l| l.sample_log(self.table)).map(|b| b.end_row()).max();
        self.seen.clear();
        self.seen.resize(self.watched.sweeps(end_row.unwrap_or(0)), false);
        self.next = 0;
    }

    /// Writes the data time up to which all was seen.
    pub fn fill(&self, values: &mut [Value]) {
        let until_ns = self.epoch_ns + self.watched.seen_until_ns(self.next);
        for &place in &self.places {
            values[place] = match self.ty {
                LogicalType::TimeUs => Value::TimeUs(until_ns.div_euclid(1_000)),
                _ => Value::TimeMs(until_ns.div_euclid(1_000_000)),
            };
        }
    }

    /// The reader's role has ended at `until`: from now on it is known what was due before and is not sent yet.
    pub fn end(&mut self, queues: &[RoleQueue], t0: Ns, until: Ns) {
        self.until = until;
        for (offered, queue) in self.offered.iter_mut().zip(queues) {
            *offered = queue.offered(queues, t0, until);
        }
    }

    /// Records every row that `answer`, ended at `now`, shows for the first time; whether there was one.
    pub fn look(
        &mut self,
        answer: &Answer,
        now: Ns,
        queues: &[RoleQueue],
        recorder: &mut Recorder,
        slot: usize,
    ) -> bool {
        let mut shows = false;
        for value in answer.rows.iter().filter_map(|row| row.first()) {
            let Some(sweep) = self.sweep_of(value).filter(|&sweep| !self.seen[sweep]) else { continue };
            let row = self.watched.row(sweep);
            let written = queues.iter().filter_map(|queue| queue.sample_log(self.table));
            let found =
                written.filter_map(|sample_log| Some((sample_log, sample_log.sample_of(row)?))).next();
            let Some((sample_log, sample)) = found else { continue };
            // Seen before its session has written down that it was sent: the next poll finds it again.
            let Some(due) = sample_log.due(sample).filter(|&due| due < self.until) else { continue };
            self.seen[sweep] = true;
            sample_log.seen(sample, now);
            recorder.freshness(slot, now.saturating_sub(due));
            shows = true;
        }
        while self.seen.get(self.next).copied().unwrap_or(false) {
            self.next += 1;
        }
        shows
    }

    /// Whether a row is still to be seen. Asked after `end`.
    pub fn is_behind(&self, queues: &[RoleQueue]) -> bool {
        self.unseen(queues).any(|can_show| can_show)
    }

    /// Rows that were due and that this session did not see: those that were never sent, too. Asked after `end`.
    pub fn never_seen(&self, queues: &[RoleQueue]) -> u64 {
        self.unseen(queues).count() as u64
    }

    /// Of each row that was due and not seen, whether it can still be: it was stored, or its writer works.
    fn unseen<'q>(&'q self, queues: &'q [RoleQueue]) -> impl Iterator<Item = bool> + 'q {
        (self.next..self.seen.len()).filter(|&sweep| !self.seen[sweep]).filter_map(move |sweep| {
            let row = self.watched.row(sweep);
            let (queue, offered, sample_log, sample) =
                queues.iter().zip(&self.offered).find_map(|(queue, &offered)| {
                    let sample_log = queue.sample_log(self.table)?;
                    Some((queue, offered, sample_log, sample_log.sample_of(row)?))
                })?;
            // Asked first: what its writer stores before it ends is stored by then.
            let is_written = queue.ended().is_none();
            let was_due = match sample_log.due(sample) {
                Some(due) => due < self.until,
                None => sample_log.first_ticket(sample) < offered,
            };
            was_due.then(|| is_written || sample_log.is_stored(sample))
        })
    }

    fn sweep_of(&self, value: &Value) -> Option<usize> {
        let (units, unit_ns) = match value {
            Value::TimeMs(ms) => (*ms, 1_000_000),
            Value::TimeUs(us) => (*us, 1_000),
            Value::I64(stored) if self.ty == LogicalType::TimeUs => (*stored, 1_000),
            Value::I64(stored) => (*stored, 1_000_000),
            _ => return None,
        };
        let since_ns = units.checked_mul(unit_ns)?.checked_sub(self.epoch_ns)?;
        let sweep = self.watched.sweep_at(u64::try_from(since_ns).ok()?, unit_ns as u64)?;
        (sweep < self.seen.len()).then_some(sweep)
    }
}

/// The rows and times of the series that is polled, by sweep.
enum WatchedSeries {
    /// Every period, in every sweep at the same place.
    Even {
        series: u64,
        at: u64,
        period_ns: u64,
    },
    Ordered {
        of: Series,
        rows: Vec<u64>,
    },
}

impl WatchedSeries {
    fn ordered(ordered: Arc<Ordered>, at: u64) -> WatchedSeries {
        let events = ordered.events();
        let row = |sweep| ordered.row(Event { series: at, sweep }).expect("the series has so many");
        WatchedSeries::Ordered {
            of: events.series()[at as usize],
            rows: (0..events.count(at)).map(row).collect(),
        }
    }

    /// How many there are where the table's first `end_row` rows are written. In an order by key all may be among them, or
    /// none.
    fn sweeps(&self, end_row: u64) -> usize {
        match self {
            WatchedSeries::Even { series, .. } => end_row.div_ceil(*series) as usize,
            // Rows of a series follow its sweeps in all orders but the random one, where the last one below counts.
            WatchedSeries::Ordered { rows, .. } => {
                rows.iter().rposition(|&row| row < end_row).map_or(0, |last| last + 1)
            }
        }
    }

    fn row(&self, sweep: usize) -> u64 {
        match self {
            WatchedSeries::Even { series, at, .. } => sweep as u64 * series + at,
            WatchedSeries::Ordered { rows, .. } => rows[sweep],
        }
    }

    /// A time after that of sweep `next - 1`, and before that of `next`.
    fn seen_until_ns(&self, next: usize) -> i64 {
        match self {
            WatchedSeries::Even { period_ns, .. } => (next as i64 - 1) * *period_ns as i64,
            WatchedSeries::Ordered { of, .. } if next == 0 => of.time_ns(0) as i64 - of.period_ns as i64,
            WatchedSeries::Ordered { of, .. } => of.time_ns(next as u64 - 1) as i64,
        }
    }

    /// The sweep of a time stored in units of `unit_ns`, jitter included.
    fn sweep_at(&self, since_ns: u64, unit_ns: u64) -> Option<usize> {
        let sweep = match self {
            WatchedSeries::Even { period_ns, .. } => since_ns / period_ns,
            WatchedSeries::Ordered { of, .. } => of.before(since_ns.checked_add(unit_ns)?).checked_sub(1)?,
        };
        usize::try_from(sweep).ok()
    }
}
