//! From generators as they stand in a plan to compiled columns; every problem of a table at once.

mod events;
mod fits;
mod labels;
mod params;
mod series;
mod sources;
mod texts;
mod times;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::catalogue;
use super::chunk_files::ChunkFiles;
use super::counter::Excess;
use super::hash::{key, Permutation};
use super::integers::{Draw, IntGenerator, TimeBy};
use super::lists::ListGenerator;
use super::not_finite;
use super::order::Ordered;
use super::table::{Alias, Quantiles};
use super::text::TextGenerator;
use crate::plan::{ColumnPlan, LogicalType, RowSource, TablePlan};
use crate::plan::{GenPlan, Per};
use events::{chunk_files, needs_equal_rates, needs_sweeps, ordered};
pub use fits::counted_problems;
use labels::labels_problem;
pub use params::share;
use params::*;
pub use sources::MAX_NARROW_SOURCES;

pub enum ColumnGenerator {
    /// Values are integers times `unit` where the column is a float.
    Integers {
        int_generator: IntGenerator,
        unit: f64,
    },
    Text(TextGenerator),
    List(ListGenerator),
}

pub struct CompiledColumn {
    pub column_generator: ColumnGenerator,
    /// Columns that must be filled before.
    pub sources: Vec<usize>,
}

/// What a generator may know besides its parameters.
pub struct Setting<'a> {
    pub table: &'a TablePlan,
    pub seed: u64,
    pub epoch_ns: i64,
    pub series: u64,
    pub period_ns: u64,
    pub by_name: BTreeMap<&'a str, usize>,
    /// Which event each row is, where the plan says so.
    pub ordered: Option<Arc<Ordered>>,
    /// The files that its rows lie in, where the plan says so.
    pub chunk_files: Option<Arc<ChunkFiles>>,
    /// Whether its series differ in rate.
    has_rates: bool,
}

impl<'a> Setting<'a> {
    pub fn new(table: &'a TablePlan, seed: u64, epoch_ns: i64) -> Result<Setting<'a>> {
        let RowSource::Generated { series, period_ns, ref events } = table.source else {
            return Err("its rows come from files; there is nothing to generate".into());
        };
        if series == 0 {
            return Err("series is 0; a table has at least one".into());
        }
        let by_name = table.columns.iter().enumerate().map(|(i, c)| (c.name.as_str(), i)).collect();
        let chunk_files = chunk_files(events.as_ref(), seed, series)?;
        let ordered = events
            .as_ref()
            .map(|plan| ordered(table, plan, seed, series, period_ns))
            .transpose()?
            .map(Arc::new);
        let has_rates = events.as_ref().is_some_and(|plan| plan.rates.is_some());
        Ok(Setting { table, seed, epoch_ns, series, period_ns, by_name, ordered, chunk_files, has_rates })
    }

    pub fn column(&self, at: usize) -> Result<CompiledColumn> {
        let column = &self.table.columns[at];
        let Some(plan) = &column.gen else {
            return Err("has no generator; give it `gen`".into());
        };
        if column.null_ppm > 1_000_000 {
            return Err(format!("null_ppm is {}; parts per million end at 1,000,000", column.null_ppm));
        }
        if let Some(problem) = not_finite::problem(column) {
            return Err(problem);
        }
        let path = [self.table.stream.as_str(), column.name.as_str()];
        let sources = self.sources(at, plan)?;
        Ok(CompiledColumn { column_generator: self.column_generator(column.ty, plan, &path, at)?, sources })
    }

    pub(super) fn column_generator(
        &self,
        ty: LogicalType,
        plan: &GenPlan,
        path: &[&str],
        at: usize,
    ) -> Result<ColumnGenerator> {
        let name = kind_name(plan);
        let kind = catalogue::kind(&name);
        let types = kind.types();
        if !types.contains(&ty) {
            let types: Vec<&str> = types.into_iter().map(LogicalType::name).collect();
            return Err(format!("`{name}` cannot fill type {}; it fills {}", ty.name(), types.join(", ")));
        }
        match ty {
            LogicalType::Uuid if matches!(plan, GenPlan::Foreign { of, .. } if **of != GenPlan::Uuid {}) => {
                Err("of is no `uuid`: a column of UUIDs refers to one of UUIDs".into())
            }
            LogicalType::Enum if labels_problem(plan).is_some() => {
                Err(labels_problem(plan).unwrap_or_default())
            }
            text if text.is_text() => Ok(ColumnGenerator::Text(self.text(ty, plan, path)?)),
            list if list.is_list() => Ok(ColumnGenerator::List(self.list(ty, plan, path)?)),
            _ => {
                let bits = bits_of(ty, plan)?;
                let int_generator = self.int_generator(ty, plan, path, bits, Some(at))?;
                check_bounds(ty, &int_generator, bits)?;
                Ok(ColumnGenerator::Integers { int_generator, unit: 1.0 / (1u64 << bits) as f64 })
            }
        }
    }

    /// `at`: the column, for integer generators that derive from others; None inside texts, lists and foreign columns.
    pub(super) fn int_generator(
        &self,
        ty: LogicalType,
        plan: &GenPlan,
        path: &[&str],
        bits: u32,
        at: Option<usize>,
    ) -> Result<IntGenerator> {
        let scaled = |v: i64| {
            v.checked_mul(1 << bits)
                .ok_or_else(|| format!("{v} with {bits} bits of fraction leaves 64 bits; give fewer bits"))
        };
        let range = |from: i64, to: i64| {
            if from > to {
                return Err(format!("from is {from} and to is {to}; from is not above to"));
            }
            Ok((to.wrapping_sub(from) as u64).wrapping_add(1))
        };
        if let Some(why) = needs_equal_rates(plan).filter(|_| self.has_rates) {
            return Err(format!("`{}` {why}; series of this table differ in rate", kind_name(plan)));
        }
        if self.chunk_files.is_some() && needs_sweeps(plan) {
            return Err(format!("`{}` needs times; rows in files of chunks have none", kind_name(plan)));
        }
        let draw = |per: Per| Draw { key: self.key(path, "draw"), per };
        Ok(match plan {
            GenPlan::Sequence { start, step } => IntGenerator::Sequence { start: *start, step: *step },
            GenPlan::Constant { value, .. } => IntGenerator::Constant { value: constant(ty, value, bits)? },
            GenPlan::Version {} => IntGenerator::Constant { value: 0 },
            GenPlan::Cycle { from, to, every } => IntGenerator::Cycle {
                from: *from,
                n: whole_range(range(*from, *to)?)?,
                every: positive("every", *every)?,
            },
            GenPlan::Shuffled { from, to } => {
                let n = whole_range(range(*from, *to)?)?;
                IntGenerator::Shuffled { from: *from, n, order: Permutation::new(self.key(path, "order"), n) }
            }
            GenPlan::Uniform { from, to, per, .. } => {
                let (from, to) = (scaled(*from)?, scaled(*to)?);
                IntGenerator::Uniform { draw: draw(*per), from, range: range(from, to)? }
            }
            GenPlan::Normal { mean, sd, min, max, per, .. } => {
                finite(&[("mean", *mean), ("sd", *sd)])?;
                not_negative("sd", *sd)?;
                let (min, max) = limits(bits, *min, *max)?;
                IntGenerator::Quantile {
                    draw: draw(*per),
                    table: Quantiles::normal(*mean, *sd, bits, min, max),
                }
            }
            GenPlan::Lognormal { median, sigma, min, max, per, .. } => {
                let (min, max) = limits(bits, *min, *max)?;
                above_0(&[("median", *median)])?;
                not_negative("sigma", *sigma)?;
                IntGenerator::Quantile {
                    draw: draw(*per),
                    table: Quantiles::lognormal(*median, *sigma, bits, min, max),
                }
            }
            GenPlan::Poisson { mean, per } => IntGenerator::Choice {
                draw: draw(*per),
                alias: Alias::poisson(poisson_mean("mean", *mean)?),
                from: 0,
            },
            GenPlan::Beta { a, b, scale, per, .. } => {
                above_0(&[("a", *a), ("b", *b)])?;
                finite(&[("scale", *scale)])?;
                limits(bits, Some(0.0_f64.min(*scale)), Some(0.0_f64.max(*scale)))?;
                IntGenerator::Quantile { draw: draw(*per), table: Quantiles::beta(*a, *b, *scale, bits) }
            }
            GenPlan::Zipf { n, exponent, from, scatter, per } => {
                self.zipf(*n, *exponent, *from, *scatter, draw(*per), path)?
            }
            GenPlan::Categorical { values, weights, per } => {
                let alias = alias_of(values.len(), weights)?;
                let integers: Option<Arc<[i64]>> = values.iter().map(|v| integer_value(ty, v)).collect();
                let values = integers.ok_or("values has one that is no integer of the column's type")?;
                IntGenerator::Pick { draw: draw(*per), alias, values }
            }
            GenPlan::Flag { true_ppm, per } => {
                IntGenerator::Flag { draw: draw(*per), below: share("true_ppm", *true_ppm)? }
            }
            GenPlan::Counter(counter) => IntGenerator::Counter(self.counter(counter, path)?),
            GenPlan::Ratio { of, numerator, denominator } => {
                let (whole, part) = ratio(*numerator, *denominator)?;
                let of = self.source(of, at)?;
                let signed = self.table.columns[of].ty != LogicalType::U64;
                IntGenerator::Ratio { of, whole, part, signed }
            }
            GenPlan::Sum { of } => {
                if of.is_empty() {
                    return Err("of is empty; name the columns to add".into());
                }
                IntGenerator::Sum { of: of.iter().map(|name| self.source(name, at)).collect::<Result<_>>()? }
            }
            GenPlan::Difference { of, minus } => IntGenerator::Difference {
                of: self.source(of, at)?,
                minus: self.source(minus, at)?,
                stop_at_0: ty == LogicalType::U64,
            },
            GenPlan::Offset { of, from, to } => {
                let of = self.source(of, at)?;
                let units = [ty, self.table.columns[of].ty];
                if units.iter().any(|t| t.is_time()) && units[0] != units[1] {
                    return Err("of has another unit; give both columns the same type".into());
                }
                let bounds = self
                    .bounds_of(of)?
                    .and_then(|(low, high)| Some((low.checked_add(*from)?, high.checked_add(*to)?)));
                IntGenerator::Offset {
                    of,
                    key: self.key(path, "draw"),
                    from: *from,
                    range: range(*from, *to)?,
                    bounds,
                }
            }
            GenPlan::Excess { of, above_per_s, numerator, denominator, width_bits } => {
                let of = self.source(of, at)?;
                let (whole, part) = ratio(*numerator, *denominator)?;
                let excess = Excess {
                    counter: self.source_counter(of)?,
                    above: self.per_sweep_integer(*above_per_s),
                    whole,
                    part,
                    max: width(*width_bits)?,
                };
                IntGenerator::Excess { of, excess }
            }
            GenPlan::Walk { from, to, .. } => {
                let (from, to) = (scaled(*from)?, scaled(*to)?);
                let range = range(from, to)?;
                if range == 0 || range > 1 << 48 {
                    return Err("the range is above 2^48 steps; give fewer bits or a smaller range".into());
                }
                IntGenerator::Walk { key: self.key(path, "path"), from, range }
            }
            GenPlan::SweepTime { jitter_ms } => {
                let unit_ns = unit_ns(ty);
                let jitter = jitter_ms.saturating_mul(1_000_000) / unit_ns;
                if let Some(ordered) = self.ordered.as_ref().filter(|_| self.has_rates) {
                    return self.event_time(ordered, jitter, unit_ns, path);
                }
                let period = self.in_units("the table's period", self.period_ns, unit_ns)?;
                self.time_generator(TimeBy::Sweep, period, jitter, unit_ns, path)?
            }
            GenPlan::Time { period_us, jitter_us } => {
                let unit_ns = unit_ns(ty);
                let period = self.in_units("period_us", period_us.saturating_mul(1000), unit_ns)?;
                let jitter = self.in_units("jitter_us", jitter_us.saturating_mul(1000), unit_ns)?;
                self.time_generator(TimeBy::Row, period, jitter, unit_ns, path)?
            }
            GenPlan::SeriesTime { median_period_ms, sigma, jitter_ms } => {
                above_0(&[("median_period_ms", *median_period_ms)])?;
                not_negative("sigma", *sigma)?;
                let unit_ns = unit_ns(ty);
                let per_ms = 1_000_000.0 / unit_ns as f64;
                let jitter = jitter_ms.saturating_mul(1_000_000) / unit_ns;
                let most = 86_400e3 * 366.0 * per_ms;
                let period =
                    Quantiles::lognormal(median_period_ms * per_ms, *sigma, 0, jitter as f64 + 1.0, most);
                let base = self.epoch_in(unit_ns)?;
                IntGenerator::SeriesTime {
                    key: self.key(path, "period"),
                    base,
                    period,
                    jitter_range: jitter + 1,
                }
            }
            GenPlan::Pattern { prefix, every, space } => {
                self.pattern(prefix, *every, space.as_deref(), path)?
            }
            GenPlan::Foreign { stream, column, series, of, exponent } => {
                let (chosen, _) = self.foreign_series(*series, *exponent, path)?;
                let of = self.foreign(stream, column, *series, of, |there, path| {
                    there.int_generator(ty, of, path, bits, None)
                })?;
                IntGenerator::Foreign { series: Box::new(chosen), of: Box::new(of), one_series: *series == 1 }
            }
            GenPlan::Job { .. } => IntGenerator::Job(self.job(plan, path)?),
            GenPlan::Rank { of } => {
                let of = self.source(of, at)?;
                let job = self.table.columns[of].gen.as_ref().expect("source() asks for a generator");
                if !matches!(job, GenPlan::Job { .. }) {
                    return Err("of is not a column of kind `job`".into());
                }
                IntGenerator::Rank(self.job(job, &[&self.table.stream, &self.table.columns[of].name])?)
            }
            GenPlan::Chunk { part } => self.chunk(*part)?,
            GenPlan::Bits { bits, of, per } => self.bits(*bits, of.as_deref(), draw(*per), path)?,
            GenPlan::Uuid {}
            | GenPlan::Bytes { .. }
            | GenPlan::Between { .. }
            | GenPlan::Document { .. }
            | GenPlan::Decimal { .. }
            | GenPlan::Format { .. }
            | GenPlan::Text { .. }
            | GenPlan::Array { .. } => {
                return Err(format!("`{}` is no integer generator; it cannot stand here", kind_name(plan)))
            }
        })
    }

    pub(super) fn key(&self, path: &[&str], purpose: &str) -> u64 {
        let path: Vec<&str> = path.iter().copied().chain([purpose]).collect();
        key(self.seed, &path)
    }
}

/// All problems of a table's generators, each with its column; empty when rows can be made.
pub fn problems(table: &TablePlan, seed: u64, epoch_ns: i64) -> Vec<String> {
    let placed = placed_problems(table, seed, epoch_ns).into_iter();
    placed
        .map(|(column, problem)| match column {
            Some(column) => format!("{}.{column}: {problem}", table.stream),
            None => format!("{}: {problem}", table.stream),
        })
        .collect()
}

/// The same, each with the name of its column; without one, of the whole table.
pub fn placed_problems(table: &TablePlan, seed: u64, epoch_ns: i64) -> Vec<(Option<String>, String)> {
    let setting = match Setting::new(table, seed, epoch_ns) {
        Ok(setting) => setting,
        Err(problem) => return vec![(None, problem)],
    };
    let twice = table.columns.iter().enumerate().filter(|(i, c)| setting.by_name[c.name.as_str()] != *i);
    let twice = twice.map(|(_, c)| (Some(c.name.clone()), "two columns have this name".to_string()));
    let generators = table.columns.iter().enumerate().filter_map(|(i, column): (usize, &ColumnPlan)| {
        setting.column(i).err().map(|problem| (Some(column.name.clone()), problem))
    });
    twice.chain(generators).collect()
}
