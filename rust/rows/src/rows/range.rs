//! Rows of one series in an interval of time: which they are, and what they add up to, without looking at the others.
//! And whole series, wherever their rows stand in the table.

use std::ops::Range;
use std::sync::Arc;

use super::columns::{Columns, Values};
use super::compile::ColumnGenerator;
use super::digest::{row_hashes, Digest};
use super::generate::RowGen;
use super::integers::{period_and_phase, IntGenerator, TimeBy};
use super::order::{Event, Ordered};
use super::table::Quantiles;
use crate::plan::{LogicalType, TablePlan};

/// Rows that are made again at a time.
const BATCH_ROWS: u64 = 4096;

/// The series of a table by time: sweep after sweep, each up to `jitter` later than its nominal time.
pub struct SeriesRows {
    generator: Arc<RowGen>,
    /// Of the whole table.
    rows: u64,
    time: usize,
    nominal: Nominal,
    /// A stored time is its nominal one and up to so much more, in the column's unit.
    jitter: i64,
    /// Nanoseconds of the column's unit.
    unit_ns: u64,
}

/// The nominal time of a sweep, in the column's unit.
enum Nominal {
    Sweep { base: i64, period: u64 },
    Row { base: i64, period: u64 },
    Series { key: u64, base: i64, period: Arc<Quantiles> },
    Event { base: i64, unit_ns: u64, ordered: Arc<Ordered> },
}

/// Times `from .. to` of one series, in the unit of the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    pub series: u64,
    pub from: i64,
    pub to: i64,
}

/// Sweeps of one series that may lie in an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidates {
    /// Only those near the ends are looked at one by one.
    first: Range<u64>,
    sure: Range<u64>,
    last: Range<u64>,
}

/// Memory that rows are made again in.
pub struct Remade {
    made: Columns,
    /// The columns of the answer, in its order; they are taken from `made` and given back.
    shown: Columns,
    hashes: Vec<u128>,
}

impl SeriesRows {
    /// rows: of the whole table. Errors: a column that is no time which grows along a series.
    pub fn new(
        generator: Arc<RowGen>,
        table: &TablePlan,
        rows: u64,
        time: &str,
    ) -> Result<SeriesRows, String> {
        let column =
            generator.position(time).ok_or_else(|| format!("{} has no column {time}", table.name))?;
        let unit_ns = match generator.ty(column) {
            LogicalType::TimeMs => 1_000_000,
            LogicalType::TimeUs => 1_000,
            other => return Err(format!("{time} is {other:?}; a range is of times")),
        };
        if generator.is_nullable(column) {
            return Err(format!("{time} can be NULL, which lies in no range"));
        }
        let none = || {
            format!("{time} is made by no generator of times; a range needs sweep_time, time or series_time")
        };
        let ColumnGenerator::Integers { int_generator, .. } = generator.column_generator(column) else {
            return Err(none());
        };
        let (nominal, jitter_range) = match int_generator {
            IntGenerator::Time { by: TimeBy::Sweep, base, period, jitter_range, .. } => {
                (Nominal::Sweep { base: *base, period: *period }, *jitter_range)
            }
            IntGenerator::Time { by: TimeBy::Row, base, period, jitter_range, .. } => {
                (Nominal::Row { base: *base, period: *period }, *jitter_range)
            }
            IntGenerator::SeriesTime { key, base, period, jitter_range } => {
                (Nominal::Series { key: *key, base: *base, period: period.clone() }, *jitter_range)
            }
            IntGenerator::EventTime { ordered, base, unit_ns, jitter_range, .. } => {
                (Nominal::Event { base: *base, unit_ns: *unit_ns, ordered: ordered.clone() }, *jitter_range)
            }
            _ => return Err(none()),
        };
        if let Some(ordered) = generator.ordered() {
            let held = ordered.events().rows();
            if held != rows {
                return Err(format!("{} has {held} rows, the range is of {rows}", table.name));
            }
        }
        let jitter = jitter_range.saturating_sub(1) as i64;
        Ok(SeriesRows { generator, rows, time: column, nominal, jitter, unit_ns })
    }

    pub fn generator(&self) -> &Arc<RowGen> {
        &self.generator
    }

    pub fn unit_ns(&self) -> u64 {
        self.unit_ns
    }

    pub fn series(&self) -> u64 {
        self.generator.series()
    }

    pub fn ty(&self, column: usize) -> LogicalType {
        self.generator.ty(column)
    }

    pub fn time(&self) -> usize {
        self.time
    }

    /// Rows of a series.
    pub fn count(&self, series: u64) -> u64 {
        match self.generator.ordered() {
            Some(ordered) => ordered.events().count(series),
            None => self.rows / self.series() + u64::from(series < self.rows % self.series()),
        }
    }

    /// The nominal time of a sweep, also of one behind the last.
    pub fn nominal(&self, series: u64, sweep: u64) -> i64 {
        match &self.nominal {
            Nominal::Sweep { base, period } => base.saturating_add_unsigned(period.saturating_mul(sweep)),
            Nominal::Row { base, period } => {
                let row = sweep.saturating_mul(self.series()).saturating_add(series);
                base.saturating_add_unsigned(period.saturating_mul(row))
            }
            Nominal::Series { key, base, period } => {
                let (period, phase) = period_and_phase(*key, period, series);
                base.saturating_add_unsigned(period.saturating_mul(sweep).saturating_add(phase))
            }
            Nominal::Event { base, unit_ns, ordered } => {
                let of = ordered.events().series()[series as usize];
                let at_ns = of.period_ns.saturating_mul(sweep).saturating_add(of.phase_ns);
                base.saturating_add_unsigned(at_ns / unit_ns)
            }
        }
    }

    /// The first sweep whose nominal time is `at` or later; all of the series where there is none.
    pub fn from(&self, series: u64, at: i64) -> u64 {
        let (mut low, mut high) = (0, self.count(series));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.nominal(series, middle) < at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn candidates(&self, interval: &Interval) -> Candidates {
        let &Interval { series, from, to } = interval;
        let at = |time: i64| self.from(series, time);
        let (first, last) = (at(from.saturating_sub(self.jitter)), at(to));
        let sure = at(from)..at(to.saturating_sub(self.jitter));
        if sure.is_empty() {
            return Candidates { first: first..last.max(first), sure: 0..0, last: 0..0 };
        }
        Candidates { first: first..sure.start, last: sure.end..last, sure }
    }

    /// Room for `add_up`, for answers with these columns of the table.
    pub fn room(&self, columns: &[usize]) -> Remade {
        let made = self.generator.columns(BATCH_ROWS as usize);
        let shown = columns.iter().map(|&c| made.columns[c].clone()).collect();
        Remade { made, shown: Columns::new(0, shown), hashes: Vec::with_capacity(BATCH_ROWS as usize) }
    }

    /// What the rows of an interval add up to, with these columns in this order, none of them twice.
    pub fn add_up(&self, interval: &Interval, columns: &[usize], room: &mut Remade) -> Digest {
        let mut whole = Digest::default();
        let Candidates { first, sure, last } = self.candidates(interval);
        for (sweeps, looked_at) in [(first, true), (sure, false), (last, true)] {
            let mut sweep = sweeps.start;
            while sweep < sweeps.end {
                let rows = (sweeps.end - sweep).min(BATCH_ROWS);
                self.generator.fill_series(interval.series, sweep, rows as usize, &mut room.made);
                room.show(columns);
                row_hashes(&room.shown, &mut room.hashes);
                room.show(columns);
                if looked_at {
                    let Values::I64(times) = &room.made.columns[self.time].values else {
                        unreachable!("times are 64 bits wide")
                    };
                    let mut times = times.iter();
                    room.hashes.retain(|_| {
                        let at = *times.next().expect("a time for each row");
                        interval.from <= at && at < interval.to
                    });
                }
                whole.add(&room.hashes);
                sweep += rows;
            }
        }
        whole
    }
}

/// Makes the rows of `series` again, some at a time, each with its place in the table.
///
/// `first_rows`: only series of so many first rows are made whole, where no order or rates of the table's own say how
/// many it has; there a row's place is its number. Memory does not grow with the rows.
pub fn each_of_series(
    generator: &RowGen,
    first_rows: u64,
    series: Range<u64>,
    mut each: impl FnMut(&Columns, &[u64]),
) {
    let all = generator.series();
    let mut made = generator.columns(BATCH_ROWS as usize);
    let mut places = Vec::with_capacity(BATCH_ROWS as usize);
    for of in series.start..series.end.min(all) {
        let sweeps = match generator.ordered() {
            Some(ordered) => ordered.events().count(of),
            None => first_rows / all + u64::from(of < first_rows % all),
        };
        for first in (0..sweeps).step_by(BATCH_ROWS as usize) {
            let some = first..sweeps.min(first + BATCH_ROWS);
            places.clear();
            places.extend(some.clone().map(|sweep| match generator.ordered() {
                Some(ordered) => ordered.row(Event { series: of, sweep }).expect("an event of the table"),
                None => sweep * all + of,
            }));
            generator.fill_series(of, first, places.len(), &mut made);
            each(&made, &places);
        }
    }
}

impl Remade {
    /// Exchanges the columns of the answer with those that were made.
    fn show(&mut self, columns: &[usize]) {
        self.shown.rows = self.made.rows;
        for (shown, &column) in self.shown.columns.iter_mut().zip(columns) {
            std::mem::swap(shown, &mut self.made.columns[column]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::value_text;
    use proptest::prelude::*;

    fn table(time: serde_json::Value, events: Option<serde_json::Value>, series: u64) -> TablePlan {
        let mut source = serde_json::json!({"kind": "generated", "series": series, "period_ns": 10_000_000});
        if let Some(events) = events {
            source["events"] = events;
        }
        serde_json::from_value(serde_json::json!({"name": "t", "stream": "t", "source": source,
            "identity": ["k", "at"], "columns": [
                {"name": "k", "type": "i32", "wire": "", "gen": {"kind": "cycle", "from": 1, "to": series}},
                {"name": "at", "type": "time_ms", "wire": "", "gen": time},
                {"name": "v", "type": "f64", "wire": "", "null_ppm": 200_000,
                 "gen": {"kind": "uniform", "from": 0, "to": 1000}},
                {"name": "s", "type": "text", "wire": "",
                 "gen": {"kind": "text", "min_bytes": 0, "max_bytes": 9}}]}))
        .expect("a table")
    }

    /// The rows of the interval out of all rows of the table, one by one.
    fn by_looking(generator: &RowGen, rows: u64, interval: &Interval, columns: &[usize]) -> Digest {
        let mut all = generator.columns(rows as usize);
        generator.fill(0, rows as usize, &mut all);
        let (mut hashes, mut whole) = (Vec::new(), Digest::default());
        let shown: Vec<_> = columns.iter().map(|&c| all.columns[c].clone()).collect();
        row_hashes(&Columns::new(all.rows, shown), &mut hashes);
        for (row, hash) in hashes.iter().enumerate() {
            let at: i64 = value_text(&all.columns[1].value(row)).parse().expect("a time");
            let k: i64 = value_text(&all.columns[0].value(row)).parse().expect("a key");
            if k == interval.series as i64 + 1 && interval.from <= at && at < interval.to {
                whole.add(&[*hash]);
            }
        }
        whole
    }

    proptest! {
        #[test]
        fn an_interval_has_the_rows_that_lie_in_it_whatever_order_and_rates_the_table_has(
            (series, rows, of) in (1u64..9, 1u64..300, any::<prop::sample::Index>()),
            kind in 0usize..4, jitter_ms in 0u64..7, order in 0usize..3,
            (from, length) in (-100i64..3_100, 0i64..2_000),
        ) {
            let jitter_ms = if kind == 3 { jitter_ms / 3 } else { jitter_ms };
            let time = match kind {
                0 => serde_json::json!({"kind": "sweep_time", "jitter_ms": jitter_ms}),
                1 => serde_json::json!({"kind": "time", "period_us": 7000, "jitter_us": jitter_ms * 1000}),
                _ => serde_json::json!({"kind": "sweep_time", "jitter_ms": jitter_ms}),
            };
            let orders = [serde_json::json!({"by": "key"}), serde_json::json!({"by": "time"}),
                serde_json::json!({"by": "random"})];
            let mut events = serde_json::json!({"rows": rows, "order": orders[order]});
            if kind == 3 {
                events["rates"] = serde_json::json!({"sigma": 1.0});
            }
            let table = table(time, (kind >= 2).then_some(events), series);
            let made = RowGen::new(&table, 7, 0);
            // Rates of their own may be too fast for the jitter.
            prop_assert!(made.is_ok() || kind == 3);
            let Ok(generator) = made.map(Arc::new) else { return Ok(()) };
            let rows_of = SeriesRows::new(generator.clone(), &table, rows, "at").expect("a time");
            let interval = Interval { series: of.index(series as usize) as u64, from, to: from + length };
            for columns in [vec![0, 1, 2, 3], vec![3, 1]] {
                let mut room = rows_of.room(&columns);
                let found = rows_of.add_up(&interval, &columns, &mut room);
                prop_assert_eq!(found, by_looking(&generator, rows, &interval, &columns));
                prop_assert_eq!(found, rows_of.add_up(&interval, &columns, &mut room), "once more");
            }
        }
    }

    proptest! {
        #[test]
        fn rows_of_whole_series_are_those_of_the_table_with_their_places(
            (series, rows, order) in (1u64..9, 1u64..300, 0usize..5),
            (first, count) in (0u64..9, 0u64..9),
        ) {
            let orders = [serde_json::json!({"by": "key"}), serde_json::json!({"by": "time"}),
                serde_json::json!({"by": "random"}), serde_json::json!({"by": "file", "files": 3})];
            let events = orders.get(order).map(|by| serde_json::json!({"rows": rows, "order": by,
                "rates": {"sigma": 1.0}}));
            let table = table(serde_json::json!({"kind": "sweep_time"}), events, series);
            let generator = RowGen::new(&table, 7, 0).expect("a table");
            let mut all = generator.columns(rows as usize);
            generator.fill(0, rows as usize, &mut all);
            let text = |columns: &Columns, row: usize| -> Vec<String> {
                columns.columns.iter().map(|c| value_text(&c.value(row))).collect()
            };
            let mut found = Vec::new();
            each_of_series(&generator, rows, first..first + count, |columns, places| {
                found.extend(places.iter().enumerate().map(|(at, &row)| (row, text(columns, at))));
            });
            found.sort();
            let within = |row: &usize| {
                let key: u64 = value_text(&all.columns[0].value(*row)).parse().expect("a key");
                (first..first + count).contains(&(key - 1))
            };
            let wanted: Vec<_> =
                (0..rows as usize).filter(within).map(|row| (row as u64, text(&all, row))).collect();
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn sweeps_far_from_the_ends_are_not_looked_at() {
        let table = table(serde_json::json!({"kind": "sweep_time", "jitter_ms": 5}), None, 3);
        let generator = Arc::new(RowGen::new(&table, 7, 0).expect("a table"));
        let rows = SeriesRows::new(generator, &table, 3_000, "at").expect("a time");
        // Sweeps are 10 ms apart.
        let found = rows.candidates(&Interval { series: 1, from: 1_003, to: 5_002 });
        assert_eq!(found, Candidates { first: 100..101, sure: 101..500, last: 500..501 });
        let short = rows.candidates(&Interval { series: 1, from: 1_003, to: 1_007 });
        assert_eq!(short, Candidates { first: 100..101, sure: 0..0, last: 0..0 });
        let none = rows.candidates(&Interval { series: 1, from: 1_000, to: 900 });
        assert!(none.first.is_empty() && none.sure.is_empty());
    }
}
