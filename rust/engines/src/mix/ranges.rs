//! Ranges of calls: a series and an interval of time, drawn for each call.

use super::{below, draw_at, drawn};
use crate::engine::Ticket;
use inrush_rows::error::Error;
use inrush_rows::plan::{LogicalType, OpKind, OpPlan, ParamGen, RangeLength, RangePlan, RowSource, RunPlan};
use inrush_rows::rows::{Generators, Interval, SeriesRows, Value};

/// Where the draws of a range stand, behind those of parameters.
const SERIES_PLACE: u64 = 62;
const SWEEP_PLACE: u64 = 63;
const MILLION: u64 = 1_000_000;

/// The ranges of one operation, as all sessions share them.
pub struct Ranges {
    rows: SeriesRows,
    length: RangeLength,
    which: Which,
    /// By parameter.
    params: Vec<Option<Part>>,
    ty: LogicalType,
    /// Columns of the table, as the answer of an extract shows them.
    columns: Vec<usize>,
}

/// Which series a call may ask for.
enum Which {
    One(u64),
    /// The first so many have one row more than the others, of which there are so many rows each.
    First {
        series: u64,
        longer: u64,
        rows: u64,
    },
    /// Rows of those before, and of each itself.
    Listed {
        series: Vec<u64>,
        upto: Vec<u64>,
    },
}

enum Part {
    Key(usize),
    From,
    To,
}

impl Ranges {
    /// None of an operation without a range. Errors: what cannot be drawn.
    pub fn of(generators: &Generators, op: &OpPlan) -> Result<Option<Ranges>, Error> {
        let Some(plan) = &op.range else { return Ok(None) };
        Ranges::new(generators, op, plan)
            .map(Some)
            .map_err(|why| Error::Plan(format!("operation {}: range: {why}", op.name)))
    }

    fn new(generators: &Generators, op: &OpPlan, plan: &RangePlan) -> Result<Ranges, String> {
        let generator = generators.of(plan.table).map_err(|e| e.to_string())?;
        let table = &generators.plan().tables[plan.table];
        let position = |name: &String| {
            generator.position(name).ok_or_else(|| format!("{} has no column {name}", table.name))
        };
        let columns = plan.columns.iter().map(position).collect::<Result<Vec<_>, _>>()?;
        if (1..columns.len()).any(|k| columns[..k].contains(&columns[k])) {
            return Err("a column is shown twice".into());
        }
        let params = op.params.iter().map(|param| match &param.gen {
            ParamGen::RangeKey { column } => Ok(Some(Part::Key(position(column)?))),
            ParamGen::RangeFrom {} => Ok(Some(Part::From)),
            ParamGen::RangeTo {} => Ok(Some(Part::To)),
            _ => Ok(None),
        });
        let params = params.collect::<Result<Vec<_>, String>>()?;
        let rows = SeriesRows::new(generator.clone(), table, plan.rows, &plan.time)?;
        let is_extract = op.kind == OpKind::Extract;
        if is_extract && !columns.contains(&rows.time()) {
            return Err(format!("the answer does not show {}, by which it is sorted", plan.time));
        }
        if is_extract && generator.series() > 1 {
            let keys = params.iter().filter_map(|part| match part {
                Some(Part::Key(column)) => Some(*column),
                _ => None,
            });
            let known: Vec<usize> = keys.chain([rows.time()]).collect();
            let index = generators.index(plan.table).map_err(|e| e.to_string())?;
            index.takes_key(&known).map_err(|why| format!("its parameters name no series: {why}"))?;
        }
        let ty = generator.ty(rows.time());
        let mut found = Ranges { rows, length: plan.length, which: Which::One(0), params, ty, columns };
        found.which = found.drawn_from(plan)?;
        Ok(found)
    }

    fn drawn_from(&self, plan: &RangePlan) -> Result<Which, String> {
        let least = match self.length {
            RangeLength::Rows { rows: 0 } | RangeLength::Share { ppm: 0 } | RangeLength::Time { ns: 0 } => {
                return Err("it has no length".into())
            }
            RangeLength::Rows { rows } => rows,
            RangeLength::Share { ppm } if u64::from(ppm) > MILLION => {
                return Err(format!("{ppm} ppm of a series; shares end at 1,000,000"))
            }
            RangeLength::Share { .. } | RangeLength::Time { .. } => 1,
        };
        let series = self.rows.series();
        if let Some(one) = plan.series {
            let count = if one < series { self.rows.count(one) } else { 0 };
            if count < least {
                return Err(format!(
                    "series {one} of {series} has {count} rows, fewer than the {least} of a range; ask for fewer"
                ));
            }
            return Ok(Which::One(one));
        }
        let none = |most: u64| format!("no series has {least} rows, the longest has {most}; ask for fewer");
        if self.rows.generator().ordered().is_none() {
            let (each, longer) = (plan.rows / series, plan.rows % series);
            return match (each >= least, each + 1 >= least && longer > 0) {
                (true, _) => Ok(Which::First { series, longer, rows: each }),
                (false, true) => Ok(Which::First { series: longer, longer, rows: each }),
                _ => Err(none(each + u64::from(longer > 0))),
            };
        }
        let long: Vec<u64> = (0..series).filter(|&s| self.rows.count(s) >= least).collect();
        let upto: Vec<u64> = long
            .iter()
            .scan(0, |sum, &s| {
                *sum += self.rows.count(s);
                Some(*sum)
            })
            .collect();
        if long.is_empty() {
            return Err(none((0..series).map(|s| self.rows.count(s)).max().unwrap_or(0)));
        }
        Ok(Which::Listed { series: long, upto })
    }

    pub fn rows(&self) -> &SeriesRows {
        &self.rows
    }

    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Place of the time among the columns of an extract's answer.
    pub fn time(&self) -> usize {
        let found = self.columns.iter().position(|&c| c == self.rows.time());
        found.expect("an answer without its time was refused")
    }

    /// What a call asks for: a function of the seed and its ticket.
    pub fn interval(&self, seed: u64, ticket: Ticket) -> Interval {
        let draw = |place| drawn(seed ^ drawn(draw_at(ticket, place)));
        let series = self.series(draw(SERIES_PLACE));
        let (rows, draw) = (&self.rows, draw(SWEEP_PLACE));
        let count = rows.count(series);
        let sweeps = match self.length {
            RangeLength::Rows { rows } => rows,
            RangeLength::Share { ppm } => {
                ((u128::from(count) * u128::from(ppm)).div_ceil(u128::from(MILLION)) as u64).max(1)
            }
            RangeLength::Time { ns } => {
                let length = i64::try_from(ns.div_ceil(rows.unit_ns())).unwrap_or(i64::MAX);
                let end = rows.nominal(series, count);
                let last = rows.from(series, end.saturating_sub(length)).min(count - 1);
                let from = rows.nominal(series, below(draw, last + 1));
                return Interval { series, from, to: from.saturating_add(length) };
            }
        };
        let first = below(draw, count - sweeps + 1);
        let (from, to) = (rows.nominal(series, first), rows.nominal(series, first + sweeps));
        Interval { series, from, to }
    }

    fn series(&self, draw: u64) -> u64 {
        match &self.which {
            Which::One(series) => *series,
            Which::First { series, longer, rows } => {
                let extra = (*longer).min(*series);
                let row = below(draw, rows * series + extra);
                // The longer ones are the first.
                let of_longer = extra * (rows + 1);
                if row < of_longer {
                    row / (rows + 1)
                } else {
                    extra + (row - of_longer) / rows
                }
            }
            Which::Listed { series, upto } => {
                let row = below(draw, *upto.last().expect("one at least"));
                series[upto.partition_point(|&upto| upto <= row)]
            }
        }
    }

    /// Writes the parameters of a call.
    pub fn fill(&self, interval: &Interval, out: &mut [Value]) {
        for (part, value) in self.params.iter().zip(out) {
            *value = match part {
                None => continue,
                Some(Part::Key(column)) => self.rows.generator().value(interval.series, *column),
                Some(Part::From) => self.at(interval.from),
                Some(Part::To) => self.at(interval.to),
            };
        }
    }

    fn at(&self, time: i64) -> Value {
        match self.ty {
            LogicalType::TimeUs => Value::TimeUs(time),
            _ => Value::TimeMs(time),
        }
    }
}

/// What is wrong with the range of an operation, before anything is made.
pub fn range_problems(plan: &RunPlan, op: &OpPlan) -> Vec<String> {
    let say = |why: &str| vec![format!("operation {}: {why}", op.name)];
    let of_range = op.params.iter().find(|param| {
        matches!(param.gen, ParamGen::RangeKey { .. } | ParamGen::RangeFrom {} | ParamGen::RangeTo {})
    });
    match (&op.range, op.kind) {
        (None, OpKind::Extract) if op.dump.is_none() => say("an extract asks for a range"),
        (None, _) => {
            of_range.map_or(Vec::new(), |param| say(&format!("parameter {}: it has no range", param.name)))
        }
        (Some(range), OpKind::Extract | OpKind::Query) => {
            match plan.tables.get(range.table).map(|table| &table.source) {
                None => say(&format!("range: table {} of {}", range.table, plan.tables.len())),
                Some(RowSource::Files { .. }) => {
                    say("range: rows of files are not made again; ranges are of generated tables")
                }
                Some(RowSource::Generated { .. }) if of_range.is_none() => {
                    say("range: no parameter asks for it")
                }
                Some(RowSource::Generated { .. }) => Vec::new(),
            }
        }
        (Some(_), _) => say("only an extract and a query have a range"),
    }
}

#[cfg(test)]
mod tests;
