//! From generators as they stand in a plan to lanes; every problem of a table at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::catalogue;
use super::counter::{Counter, Excess, Moves, Start};
use super::hash::{key, Permutation, Range};
use super::lane::{Draw, Job, Lane, TimeBy};
use super::spec::{AtLimit, CounterPlan, GenPlan, Increment, Per, DEFAULT_BITS};
use super::table::{Alias, Cyclic, Quantiles, Zipf};
use super::text::{parse_format, ListMaker, Part, TextMaker, MAX_FIELDS};
use crate::plan::{ColumnPlan, LogicalType, RowSource, TablePlan};

/// Above it alias tables no longer fit a cache.
const ALIAS_RANKS: u64 = 65_536;

/// 32-bit columns that one column derives from, at most: they are widened on the stack.
pub const MAX_NARROW_SOURCES: usize = 4;

pub enum Maker {
    /// Values are `lane * unit` where the column is a float.
    Lane {
        lane: Lane,
        unit: f64,
    },
    Text(TextMaker),
    List(ListMaker),
}

pub struct Made {
    pub maker: Maker,
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
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Setting<'a> {
    pub fn new(table: &'a TablePlan, seed: u64, epoch_ns: i64) -> Result<Setting<'a>> {
        let RowSource::Generated { series, period_ns } = table.source else {
            return Err("its rows come from files; there is nothing to generate".into());
        };
        if series == 0 {
            return Err("series is 0; a table has at least one".into());
        }
        let by_name = table.columns.iter().enumerate().map(|(i, c)| (c.name.as_str(), i)).collect();
        Ok(Setting { table, seed, epoch_ns, series, period_ns, by_name })
    }

    pub fn column(&self, at: usize) -> Result<Made> {
        let column = &self.table.columns[at];
        let Some(plan) = &column.gen else {
            return Err("has no generator; give it `gen`".into());
        };
        if column.null_ppm > 1_000_000 {
            return Err(format!("null_ppm is {}; parts per million end at 1,000,000", column.null_ppm));
        }
        let path = [self.table.stream.as_str(), column.name.as_str()];
        let sources = self.sources(at, plan)?;
        Ok(Made { maker: self.maker(column.ty, plan, &path, at)?, sources })
    }

    fn maker(&self, ty: LogicalType, plan: &GenPlan, path: &[&str], at: usize) -> Result<Maker> {
        let name = kind_name(plan);
        let kind = catalogue::kind(&name);
        if !kind.types.contains(&ty) {
            let types: Vec<String> = kind.types.iter().map(|&t| type_name(t)).collect();
            return Err(format!(
                "`{name}` cannot fill type {}; it fills {}",
                type_name(ty),
                types.join(", ")
            ));
        }
        match ty {
            LogicalType::Text => Ok(Maker::Text(self.text(plan, path)?)),
            LogicalType::ListF64 | LogicalType::ListI64 => Ok(Maker::List(self.list(ty, plan, path)?)),
            _ => {
                let bits = bits_of(ty, plan)?;
                let lane = self.lane(ty, plan, path, bits, Some(at))?;
                check_bounds(ty, &lane, bits)?;
                Ok(Maker::Lane { lane, unit: 1.0 / (1u64 << bits) as f64 })
            }
        }
    }

    /// `at`: the column, for lanes that derive from others; None inside texts, lists and foreign columns.
    fn lane(
        &self,
        ty: LogicalType,
        plan: &GenPlan,
        path: &[&str],
        bits: u32,
        at: Option<usize>,
    ) -> Result<Lane> {
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
        let draw = |per: Per| Draw { key: self.key(path, "draw"), per };
        Ok(match plan {
            GenPlan::Sequence { start, step } => Lane::Sequence { start: *start, step: *step },
            GenPlan::Constant { value, .. } => Lane::Constant { value: constant(ty, value, bits)? },
            GenPlan::Cycle { from, to, every } => Lane::Cycle {
                from: *from,
                n: whole_range(range(*from, *to)?)?,
                every: positive("every", *every)?,
            },
            GenPlan::Shuffled { from, to } => {
                let n = whole_range(range(*from, *to)?)?;
                Lane::Shuffled { from: *from, n, order: Permutation::new(self.key(path, "order"), n) }
            }
            GenPlan::Uniform { from, to, per, .. } => {
                let (from, to) = (scaled(*from)?, scaled(*to)?);
                Lane::Uniform { draw: draw(*per), from, range: range(from, to)? }
            }
            GenPlan::Normal { mean, sd, min, max, per, .. } => {
                finite(&[("mean", *mean), ("sd", *sd)])?;
                not_negative("sd", *sd)?;
                let (min, max) = limits(bits, *min, *max)?;
                Lane::Quantile { draw: draw(*per), table: Quantiles::normal(*mean, *sd, bits, min, max) }
            }
            GenPlan::Lognormal { median, sigma, min, max, per, .. } => {
                let (min, max) = limits(bits, *min, *max)?;
                above_0(&[("median", *median)])?;
                not_negative("sigma", *sigma)?;
                Lane::Quantile {
                    draw: draw(*per),
                    table: Quantiles::lognormal(*median, *sigma, bits, min, max),
                }
            }
            GenPlan::Poisson { mean, per } => Lane::Choice {
                draw: draw(*per),
                alias: Alias::poisson(poisson_mean("mean", *mean)?),
                from: 0,
            },
            GenPlan::Beta { a, b, scale, per, .. } => {
                above_0(&[("a", *a), ("b", *b)])?;
                finite(&[("scale", *scale)])?;
                limits(bits, Some(0.0_f64.min(*scale)), Some(0.0_f64.max(*scale)))?;
                Lane::Quantile { draw: draw(*per), table: Quantiles::beta(*a, *b, *scale, bits) }
            }
            GenPlan::Zipf { n, exponent, from, scatter, per } => {
                self.zipf(*n, *exponent, *from, *scatter, draw(*per), path)?
            }
            GenPlan::Categorical { values, weights, per } => {
                let alias = alias_of(values.len(), weights)?;
                let integers: Option<Arc<[i64]>> = values.iter().map(|v| integer_value(ty, v)).collect();
                let values = integers.ok_or("values has one that is no integer of the column's type")?;
                Lane::Pick { draw: draw(*per), alias, values }
            }
            GenPlan::Flag { true_ppm, per } => {
                Lane::Flag { draw: draw(*per), below: share("true_ppm", *true_ppm)? }
            }
            GenPlan::Counter(counter) => Lane::Counter(self.counter(counter, path)?),
            GenPlan::Ratio { of, numerator, denominator } => {
                let (whole, part) = ratio(*numerator, *denominator)?;
                let of = self.source(of, at)?;
                let signed = self.table.columns[of].ty != LogicalType::U64;
                Lane::Ratio { of, whole, part, signed }
            }
            GenPlan::Sum { of } => {
                if of.is_empty() {
                    return Err("of is empty; name the columns to add".into());
                }
                Lane::Sum { of: of.iter().map(|name| self.source(name, at)).collect::<Result<_>>()? }
            }
            GenPlan::Difference { of, minus } => Lane::Difference {
                of: self.source(of, at)?,
                minus: self.source(minus, at)?,
                stop_at_0: ty == LogicalType::U64,
            },
            GenPlan::Offset { of, from, to } => {
                let of = self.source(of, at)?;
                let units = [ty, self.table.columns[of].ty];
                if units.iter().any(|&t| is_time(t)) && units[0] != units[1] {
                    return Err("of has another unit; give both columns the same type".into());
                }
                let bounds = self
                    .bounds_of(of)?
                    .and_then(|(low, high)| Some((low.checked_add(*from)?, high.checked_add(*to)?)));
                Lane::Offset {
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
                Lane::Excess { of, excess }
            }
            GenPlan::Walk { from, to, .. } => {
                let (from, to) = (scaled(*from)?, scaled(*to)?);
                let range = range(from, to)?;
                if range == 0 || range > 1 << 48 {
                    return Err("the range is above 2^48 steps; give fewer bits or a smaller range".into());
                }
                Lane::Walk { key: self.key(path, "path"), from, range }
            }
            GenPlan::SweepTime { jitter_ms } => {
                let unit_ns = unit_ns(ty);
                let jitter = jitter_ms.saturating_mul(1_000_000) / unit_ns;
                let period = self.in_units("the table's period", self.period_ns, unit_ns)?;
                self.time_lane(TimeBy::Sweep, period, jitter, unit_ns, path)?
            }
            GenPlan::Time { period_us, jitter_us } => {
                let unit_ns = unit_ns(ty);
                let period = self.in_units("period_us", period_us.saturating_mul(1000), unit_ns)?;
                let jitter = self.in_units("jitter_us", jitter_us.saturating_mul(1000), unit_ns)?;
                self.time_lane(TimeBy::Row, period, jitter, unit_ns, path)?
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
                Lane::SeriesTime { key: self.key(path, "period"), base, period, jitter_range: jitter + 1 }
            }
            GenPlan::Pattern { prefix, every, space } => {
                self.pattern(prefix, *every, space.as_deref(), path)?
            }
            GenPlan::Foreign { stream, column, series, of, exponent } => {
                let (chosen, _) = self.foreign_series(*series, *exponent, path)?;
                let of = self.foreign(stream, column, *series, of, |there, path| {
                    there.lane(ty, of, path, bits, None)
                })?;
                Lane::Foreign { series: Box::new(chosen), of: Box::new(of), one_series: *series == 1 }
            }
            GenPlan::Job { .. } => Lane::Job(self.job(plan, path)?),
            GenPlan::Rank { of } => {
                let of = self.source(of, at)?;
                let job = self.table.columns[of].gen.as_ref().expect("source() asks for a generator");
                if !matches!(job, GenPlan::Job { .. }) {
                    return Err("of is not a column of kind `job`".into());
                }
                Lane::Rank(self.job(job, &[&self.table.stream, &self.table.columns[of].name])?)
            }
            GenPlan::Format { .. } | GenPlan::Text { .. } | GenPlan::Array { .. } => {
                return Err(format!("`{}` is no integer generator; it cannot stand here", kind_name(plan)))
            }
        })
    }

    /// Bounds of a source column's values.
    fn bounds_of(&self, of: usize) -> Result<Option<(i64, i64)>> {
        let column = &self.table.columns[of];
        let plan = column.gen.as_ref().expect("source() asks for a generator");
        Ok(self.lane(column.ty, plan, &[&self.table.stream, &column.name], 0, Some(of))?.bounds())
    }

    fn zipf(
        &self,
        n: u64,
        exponent: f64,
        from: i64,
        scatter: bool,
        draw: Draw,
        path: &[&str],
    ) -> Result<Lane> {
        above_0(&[("exponent", exponent)])?;
        if n == 0 || n > 1 << 53 || from.checked_add(n as i64 - 1).is_none() {
            return Err(format!("n is {n}; ranks are 1 … 2^53"));
        }
        let ranks = |from| match n {
            ..=ALIAS_RANKS => Lane::Choice { draw, alias: Alias::zipf(n, exponent), from },
            _ => Lane::Zipf { draw, zipf: Zipf::new(n, exponent), from },
        };
        if scatter {
            let order = Permutation::new(self.key(path, "scatter"), n);
            return Ok(Lane::Scattered { ranks: Box::new(ranks(0)), from, order });
        }
        Ok(ranks(from))
    }

    fn counter(&self, plan: &CounterPlan, path: &[&str]) -> Result<Counter> {
        let limit = width(plan.width_bits)?;
        let (from, to) = (plan.start_from, plan.start_to.max(plan.start_from));
        if to > limit || to - from == u64::MAX {
            return Err(format!("start_to is {to}; a counter of {} bits ends at {limit}", plan.width_bits));
        }
        let cap = plan.cap_per_s.map_or(u64::MAX, |cap| self.per_sweep_integer(cap));
        let moves = match plan.increment {
            Increment::Lognormal => {
                above_0(&[("median_per_s", plan.median_per_s)])?;
                not_negative("sigma", plan.sigma)?;
                let median = self.per_sweep("median_per_s", plan.median_per_s)?;
                let most = (cap as f64).min((1u64 << 52) as f64);
                Moves::Lognormal { rate: Quantiles::lognormal(median, plan.sigma, 0, 0.0, most), cap }
            }
            Increment::Poisson => {
                let mean = poisson_mean("mean_per_s", self.per_sweep("mean_per_s", plan.mean_per_s)?)?;
                Moves::Poisson { increments: Cyclic::poisson(mean, cap) }
            }
            Increment::Burst => {
                if plan.probability_ppm == 0 || plan.probability_ppm > 1_000_000 {
                    return Err(format!(
                        "probability_ppm is {}; a burst's is 1 … 1,000,000",
                        plan.probability_ppm
                    ));
                }
                if !(1.0..=1e15).contains(&plan.mean_size) {
                    return Err(format!("mean_size is {}; a burst's is 1 … 1e15", plan.mean_size));
                }
                let window = (1_000_000 + plan.probability_ppm as u64 / 2) / plan.probability_ppm as u64;
                Moves::Burst { window, sizes: Cyclic::geometric(plan.mean_size, cap) }
            }
        };
        let reset_sweeps = match plan.reset_every_s {
            0 => u64::MAX,
            every_s => self.in_sweeps(every_s).ok_or(format!(
                "reset_every_s is {every_s}, which is below one sweep; give the table a period"
            ))?,
        };
        let group = plan.group.as_deref().unwrap_or(path[path.len() - 1]);
        let wraps = plan.at_limit == AtLimit::Wrap;
        Ok(Counter {
            start: Start { key: self.key(path, "start"), from, range: Range::new(to - from + 1) },
            idle_below: share("idle_ppm", plan.idle_ppm)?,
            group_key: key(self.seed, &[path[0], group, "idle"]),
            move_key: self.key(path, "move"),
            moves,
            mask: if wraps { limit } else { u64::MAX },
            max: if wraps { u64::MAX } else { limit },
            reset_sweeps,
        })
    }

    fn source_counter(&self, of: usize) -> Result<Counter> {
        let column = &self.table.columns[of];
        match &column.gen {
            Some(GenPlan::Counter(plan))
                if plan.increment == Increment::Lognormal
                    && plan.width_bits == 64
                    && plan.reset_every_s == 0 =>
            {
                self.counter(plan, &[&self.table.stream, &column.name])
            }
            _ => Err("of is not a lognormal counter of 64 bits without reset".into()),
        }
    }

    fn pattern(&self, prefix: &str, every: u64, space: Option<&str>, path: &[&str]) -> Result<Lane> {
        let digits = prefix.len() as u32;
        if digits > 15 || !prefix.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(format!("prefix is `{prefix}`; it has up to 15 hexadecimal digits"));
        }
        let number =
            if digits == 0 { 0 } else { u64::from_str_radix(prefix, 16).expect("hexadecimal digits") };
        let free = 64 - 4 * digits;
        let n = if free == 64 { 0 } else { 1u64 << free };
        let numbers = self.series.div_ceil(positive("every", every)?);
        if n != 0 && numbers > n {
            return Err(format!("prefix leaves {n} numbers for {numbers}; give a shorter one"));
        }
        let key = match space {
            Some(space) => key(self.seed, &["space", space]),
            None => self.key(path, "order"),
        };
        let prefix = if digits == 0 { 0 } else { number << free };
        Ok(Lane::Pattern { prefix, every, order: Permutation::new(key, n) })
    }

    fn job(&self, plan: &GenPlan, path: &[&str]) -> Result<Job> {
        let GenPlan::Job { from, smallest, largest, exponent, lives_from_s, lives_to_s } = plan else {
            unreachable!("called for kind `job`")
        };
        if !smallest.is_power_of_two()
            || !largest.is_power_of_two()
            || smallest > largest
            || *largest > 1 << 30
        {
            return Err(format!(
                "smallest is {smallest} and largest {largest}; both are powers of two, in order, up to 2^30"
            ));
        }
        if self.series < 2 {
            return Err("the table has one series; jobs need several".into());
        }
        not_negative("exponent", *exponent)?;
        let (Some(shortest), Some(longest)) = (self.in_sweeps(*lives_from_s), self.in_sweeps(*lives_to_s))
        else {
            return Err(format!("lives are {lives_from_s} … {lives_to_s} s; they are at least one sweep of the table's period"));
        };
        if shortest > longest {
            return Err(format!(
                "lives_from_s is {lives_from_s} and lives_to_s {lives_to_s}; from is not above to"
            ));
        }
        let sizes = largest.ilog2() - smallest.ilog2() + 1;
        // Zipf's law counts jobs, the draw chooses blocks: a block of small jobs holds more of them.
        let weights: Vec<f64> =
            (0..sizes).map(|i| libm::pow(i as f64 + 1.0, -exponent) * (1u64 << i) as f64).collect();
        Ok(Job {
            key: self.key(path, "job"),
            from: *from,
            capacity: self.series.div_ceil(*largest) * largest,
            block_bits: largest.ilog2(),
            smallest_bits: smallest.ilog2(),
            sizes: Arc::new(Alias::new(&weights)),
            shortest_life: shortest,
            life_doublings: (longest / shortest).ilog2() as u64,
        })
    }

    fn text(&self, plan: &GenPlan, path: &[&str]) -> Result<TextMaker> {
        match plan {
            GenPlan::Constant { value: Json::String(text), .. } => {
                Ok(TextMaker::Constant(text.clone().into_bytes()))
            }
            GenPlan::Constant { value, .. } => Err(format!("value is {value}; a text stands in quotes")),
            GenPlan::Categorical { values, weights, per } => {
                let alias = alias_of(values.len(), weights)?;
                let texts: Option<Arc<[Vec<u8>]>> =
                    values.iter().map(|v| Some(v.as_str()?.as_bytes().to_vec())).collect();
                let texts = texts.ok_or("values has one that is no text")?;
                let draw = Draw { key: self.key(path, "draw"), per: *per };
                Ok(TextMaker::Choice { lane: Lane::Choice { draw, alias, from: 0 }, texts })
            }
            GenPlan::Format { pattern, fields, pad_to } => {
                let parts = parse_format(pattern)?;
                let wanted = parts.iter().filter(|p| !matches!(p, Part::Literal(_))).count();
                if wanted != fields.len() || wanted > MAX_FIELDS {
                    return Err(format!(
                        "pattern has {wanted} fields and fields {}; equal, at most {MAX_FIELDS}",
                        fields.len()
                    ));
                }
                let lanes = fields.iter().enumerate().map(|(i, field)| {
                    let number = i.to_string();
                    let path: Vec<&str> = path.iter().copied().chain([number.as_str()]).collect();
                    self.nested(LogicalType::I64, field, &path, 0).map_err(|e| format!("fields[{i}]: {e}"))
                });
                Ok(TextMaker::Format {
                    parts,
                    fields: lanes.collect::<Result<_>>()?,
                    pad_to: *pad_to as usize,
                })
            }
            GenPlan::Text { min_bytes, max_bytes, alphabet, per } => {
                if alphabet.is_empty() || !alphabet.is_ascii() || alphabet.len() > 128 {
                    return Err("alphabet has 1 … 128 ASCII letters".into());
                }
                if min_bytes > max_bytes || *max_bytes > 1 << 24 {
                    return Err(format!(
                        "min_bytes is {min_bytes} and max_bytes {max_bytes}; in order, up to 16 MiB"
                    ));
                }
                let (min, range) = (*min_bytes as u64, (max_bytes - min_bytes) as u64 + 1);
                let draw = Draw { key: self.key(path, "draw"), per: *per };
                Ok(TextMaker::Random { draw, min, range, alphabet: alphabet.clone().into_bytes() })
            }
            GenPlan::Foreign { stream, column, series, of, exponent } => {
                let (chosen, _) = self.foreign_series(*series, *exponent, path)?;
                let of = self.foreign(stream, column, *series, of, |there, path| there.text(of, path))?;
                Ok(TextMaker::Foreign {
                    series: Box::new(chosen),
                    of: Box::new(of),
                    one_series: *series == 1,
                })
            }
            _ => Err(format!("`{}` makes no text", kind_name(plan))),
        }
    }

    fn list(&self, ty: LogicalType, plan: &GenPlan, path: &[&str]) -> Result<ListMaker> {
        let GenPlan::Array { of, min_items, max_items } = plan else {
            return Err(format!("`{}` makes no list", kind_name(plan)));
        };
        if min_items > max_items || *max_items > 1 << 20 {
            return Err(format!("min_items is {min_items} and max_items {max_items}; in order, up to 2^20"));
        }
        let item_type = if ty == LogicalType::ListF64 { LogicalType::F64 } else { LogicalType::I64 };
        let items = [
            "sequence",
            "constant",
            "uniform",
            "normal",
            "lognormal",
            "poisson",
            "beta",
            "zipf",
            "categorical",
            "flag",
        ];
        if !items.contains(&kind_name(of).as_str()) || per_of(of) == Some(Per::Series) {
            return Err(format!("of is `{}`; items are one of {}, by row", kind_name(of), items.join(", ")));
        }
        let bits = bits_of(item_type, of).map_err(|e| format!("of: {e}"))?;
        let path: Vec<&str> = path.iter().copied().chain(["items"]).collect();
        let lane = self.nested(item_type, of, &path, bits).map_err(|e| format!("of: {e}"))?;
        if item_type == LogicalType::F64 {
            check_bounds(item_type, &lane, bits).map_err(|e| format!("of: {e}"))?;
        }
        Ok(ListMaker {
            key: self.key(&path, "length"),
            min: *min_items as u64,
            range: (max_items - min_items) as u64 + 1,
            of: lane,
            unit: 1.0 / (1u64 << bits) as f64,
        })
    }

    /// An integer generator within another: no derived columns, no times.
    fn nested(&self, ty: LogicalType, plan: &GenPlan, path: &[&str], bits: u32) -> Result<Lane> {
        if matches!(plan, GenPlan::SweepTime { .. } | GenPlan::Time { .. } | GenPlan::SeriesTime { .. }) {
            return Err(format!("`{}` cannot stand inside another generator", kind_name(plan)));
        }
        self.lane(ty, plan, path, bits, None)
    }

    fn foreign_series(&self, series: u64, exponent: Option<f64>, path: &[&str]) -> Result<(Lane, u64)> {
        let draw = Draw { key: self.key(path, "series"), per: Per::Row };
        let lane = match exponent {
            Some(exponent) => self.zipf(series, exponent, 0, true, draw, path)?,
            None => Lane::Uniform { draw, from: 0, range: positive("series", series)? },
        };
        Ok((lane, series))
    }

    /// Compiles within the other table: same seed, its stream, its number of series.
    fn foreign<T>(
        &self,
        stream: &str,
        column: &str,
        series: u64,
        of: &GenPlan,
        compile: impl FnOnce(&Setting, &[&str]) -> Result<T>,
    ) -> Result<T> {
        const KEYS: &str = "sequence, constant, cycle, pattern, format, text, or a draw per series";
        let by_place = match of {
            GenPlan::Constant { .. }
            | GenPlan::Cycle { .. }
            | GenPlan::Pattern { .. }
            | GenPlan::Format { .. } => true,
            GenPlan::Sequence { .. } => series > 0,
            other => per_of(other) == Some(Per::Series),
        };
        if !by_place {
            return Err(format!("of is `{}`, which is no key; keys are {KEYS}", kind_name(of)));
        }
        let there = TablePlan {
            source: RowSource::Generated { series, period_ns: self.period_ns },
            stream: stream.to_string(),
            columns: Vec::new(),
            ..self.table.clone()
        };
        let there = Setting::new(&there, self.seed, self.epoch_ns)?;
        compile(&there, &[stream, column]).map_err(|e| format!("of: {e}"))
    }

    fn time_lane(&self, by: TimeBy, period: u64, jitter: u64, unit_ns: u64, path: &[&str]) -> Result<Lane> {
        if jitter > 0 && jitter >= period {
            return Err("the jitter is not below the period; times would overtake each other".into());
        }
        let key = self.key(path, "jitter");
        Ok(Lane::Time { by, key, base: self.epoch_in(unit_ns)?, period, jitter_range: jitter + 1 })
    }

    fn epoch_in(&self, unit_ns: u64) -> Result<i64> {
        if self.epoch_ns % unit_ns as i64 != 0 {
            return Err(format!("the epoch ({} ns) is not a whole number of the type's unit", self.epoch_ns));
        }
        Ok(self.epoch_ns / unit_ns as i64)
    }

    fn in_units(&self, what: &str, ns: u64, unit_ns: u64) -> Result<u64> {
        if !ns.is_multiple_of(unit_ns) {
            return Err(format!(
                "{what} is {ns} ns, no whole number of the type's unit; use time_us or another period"
            ));
        }
        Ok(ns / unit_ns)
    }

    /// Whole sweeps in so many seconds; None if there is not one.
    fn in_sweeps(&self, seconds: u64) -> Option<u64> {
        let sweeps = (seconds as u128 * 1_000_000_000).checked_div(self.period_ns as u128)? as u64;
        (sweeps > 0).then_some(sweeps)
    }

    fn per_sweep(&self, what: &str, per_s: f64) -> Result<f64> {
        let value = per_s * self.period_ns as f64 / 1e9;
        if !value.is_finite() || value <= 0.0 {
            return Err(format!(
                "{what} is {per_s} with a period of {} ns; both are above 0",
                self.period_ns
            ));
        }
        Ok(value)
    }

    fn per_sweep_integer(&self, per_s: u64) -> u64 {
        (per_s as u128 * self.period_ns as u128 / 1_000_000_000) as u64
    }

    fn key(&self, path: &[&str], purpose: &str) -> u64 {
        let path: Vec<&str> = path.iter().copied().chain([purpose]).collect();
        key(self.seed, &path)
    }

    fn source(&self, name: &str, at: Option<usize>) -> Result<usize> {
        let Some(at) = at else {
            return Err(format!("`{name}`: a generator inside another cannot derive from a column"));
        };
        let Some(&of) = self.by_name.get(name) else {
            return Err(format!("of names `{name}`, which is not a column of the table"));
        };
        let column = &self.table.columns[of];
        let floats = [
            LogicalType::F32,
            LogicalType::F64,
            LogicalType::Text,
            LogicalType::ListF64,
            LogicalType::ListI64,
        ];
        if of == at || column.gen.is_none() || floats.contains(&column.ty) {
            return Err(format!(
                "of names `{name}`; it must be another, generated column of integers or times"
            ));
        }
        Ok(of)
    }

    /// Columns that a generator reads, after a check that no column derives from itself.
    fn sources(&self, at: usize, plan: &GenPlan) -> Result<Vec<usize>> {
        let direct: Vec<usize> =
            names_of(plan).iter().map(|name| self.source(name, Some(at))).collect::<Result<_>>()?;
        let mut reached = direct.clone();
        let mut next = 0;
        while next < reached.len() {
            if reached[next] == at {
                return Err("derives from itself through other columns".into());
            }
            let plan = self.table.columns[reached[next]].gen.as_ref().expect("source() asks for a generator");
            let further = names_of(plan).into_iter().filter_map(|name| self.by_name.get(name).copied());
            for column in further {
                if !reached.contains(&column) {
                    reached.push(column);
                }
            }
            next += 1;
        }
        let narrow = direct.iter().filter(|&&c| !is_wide(self.table.columns[c].ty)).count();
        if narrow > MAX_NARROW_SOURCES {
            return Err(format!("derives from {narrow} columns of i32 or narrower, at most {MAX_NARROW_SOURCES}; make some i64"));
        }
        Ok(direct)
    }
}

fn names_of(plan: &GenPlan) -> Vec<&str> {
    match plan {
        GenPlan::Ratio { of, .. }
        | GenPlan::Offset { of, .. }
        | GenPlan::Excess { of, .. }
        | GenPlan::Rank { of } => vec![of],
        GenPlan::Difference { of, minus } => vec![of, minus],
        GenPlan::Sum { of } => of.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

fn per_of(plan: &GenPlan) -> Option<Per> {
    match plan {
        GenPlan::Uniform { per, .. }
        | GenPlan::Normal { per, .. }
        | GenPlan::Lognormal { per, .. }
        | GenPlan::Poisson { per, .. }
        | GenPlan::Beta { per, .. }
        | GenPlan::Zipf { per, .. }
        | GenPlan::Categorical { per, .. }
        | GenPlan::Flag { per, .. }
        | GenPlan::Text { per, .. } => Some(*per),
        _ => None,
    }
}

fn kind_name(plan: &GenPlan) -> String {
    let json = serde_json::to_value(plan).expect("plans are JSON");
    json["kind"].as_str().expect("plans are tagged").to_string()
}

fn type_name(ty: LogicalType) -> String {
    serde_json::to_value(ty).expect("types have names").as_str().expect("as text").to_string()
}

fn bits_of(ty: LogicalType, plan: &GenPlan) -> Result<u32> {
    let given = match plan {
        GenPlan::Constant { bits, .. }
        | GenPlan::Uniform { bits, .. }
        | GenPlan::Normal { bits, .. }
        | GenPlan::Lognormal { bits, .. }
        | GenPlan::Beta { bits, .. }
        | GenPlan::Walk { bits, .. } => *bits,
        _ => None,
    };
    let float = matches!(ty, LogicalType::F32 | LogicalType::F64);
    match given {
        Some(bits) if !float && bits != 0 => {
            Err(format!("bits is {bits}; type {} has no fraction", type_name(ty)))
        }
        Some(bits) if bits > 40 => Err(format!("bits is {bits}; up to 40")),
        Some(bits) => Ok(bits),
        // Integers as floats have no fraction to round.
        None => Ok(if float { DEFAULT_BITS } else { 0 }),
    }
}

fn check_bounds(ty: LogicalType, lane: &Lane, bits: u32) -> Result<()> {
    let (least, most) = match ty {
        LogicalType::Bool => (0, 1),
        LogicalType::I16 => (i16::MIN as i64, i16::MAX as i64),
        LogicalType::I32 => (i32::MIN as i64, i32::MAX as i64),
        LogicalType::F32 => (-(1 << 24), 1 << 24),
        LogicalType::F64 => (-(1 << 53), 1 << 53),
        // These may use all 64 bits; their values were read as unsigned.
        LogicalType::U64
            if matches!(lane, Lane::Uniform { range: 0, .. } | Lane::Constant { .. } | Lane::Pick { .. }) =>
        {
            return Ok(())
        }
        LogicalType::U64 => (0, i64::MAX),
        _ => return Ok(()),
    };
    match lane.bounds() {
        Some((low, high)) if low >= least && high <= most => Ok(()),
        Some((low, high)) => {
            let unit = (1u64 << bits) as f64;
            Err(format!(
                "values {} … {} do not fit type {} exactly; choose a wider type, a smaller range or fewer bits",
                low as f64 / unit,
                high as f64 / unit,
                type_name(ty)
            ))
        }
        None if ty == LogicalType::U64 && !matches!(lane, Lane::Offset { from: ..0, .. }) => Ok(()),
        None => Err(format!("values have no bound and may leave type {}; use i64 or u64", type_name(ty))),
    }
}

fn constant(ty: LogicalType, value: &Json, bits: u32) -> Result<i64> {
    let float = matches!(ty, LogicalType::F32 | LogicalType::F64);
    let fixed = match value {
        Json::Bool(b) if ty == LogicalType::Bool => Some(*b as i64),
        Json::Number(n) if float => n
            .as_f64()
            .map(|v| v * (1u64 << bits) as f64)
            .filter(|k| k.fract() == 0.0 && k.abs() < 9e15)
            .map(|k| k as i64),
        value => integer_value(ty, value),
    };
    fixed.ok_or_else(|| {
        format!("value is {value}; it is not a {}{}", type_name(ty), if float { " of k·2^-bits" } else { "" })
    })
}

fn integer_value(ty: LogicalType, value: &Json) -> Option<i64> {
    if ty == LogicalType::U64 {
        return value.as_u64().map(|v| v as i64);
    }
    value.as_i64()
}

fn alias_of(n: usize, weights: &[f64]) -> Result<Arc<Alias>> {
    if n == 0 {
        return Err("values is empty".into());
    }
    if weights.is_empty() {
        return Ok(Arc::new(Alias::new(&vec![1.0; n])));
    }
    let fine = weights.len() == n
        && weights.iter().all(|w| w.is_finite() && *w >= 0.0)
        && weights.iter().sum::<f64>() > 0.0;
    if !fine {
        return Err(format!(
            "weights has {} entries for {n} values; one each, none negative, some above 0",
            weights.len()
        ));
    }
    Ok(Arc::new(Alias::new(weights)))
}

fn ratio(numerator: u64, denominator: u64) -> Result<(u64, u64)> {
    if denominator == 0 {
        return Err("denominator is 0".into());
    }
    let fixed = ((numerator as u128) << 32) / denominator as u128;
    let whole = u64::try_from(fixed >> 32).expect("a u64 divided by at least 1");
    Ok((whole, fixed as u64 & 0xffff_ffff))
}

fn width(bits: u32) -> Result<u64> {
    if !(1..=64).contains(&bits) {
        return Err(format!("width_bits is {bits}; 1 … 64"));
    }
    Ok(u64::MAX >> (64 - bits))
}

/// Parts per million in 2^-32.
pub fn share(what: &str, ppm: u32) -> Result<u64> {
    if ppm > 1_000_000 {
        return Err(format!("{what} is {ppm}; parts per million end at 1,000,000"));
    }
    Ok(((ppm as u64) << 32) / 1_000_000)
}

fn limits(bits: u32, min: Option<f64>, max: Option<f64>) -> Result<(f64, f64)> {
    let most = (1u64 << 53) as f64 / (1u64 << bits) as f64;
    let (min, max) = (min.unwrap_or(-most), max.unwrap_or(most));
    if !(min <= max && min >= -most && max <= most) {
        return Err(format!("min is {min} and max {max}; in order, within ±{most}"));
    }
    Ok((min, max))
}

fn whole_range(n: u64) -> Result<u64> {
    if n == 0 {
        return Err("from … to is the whole of 64 bits; give a smaller range".into());
    }
    Ok(n)
}

fn positive(what: &str, value: u64) -> Result<u64> {
    if value == 0 {
        return Err(format!("{what} is 0; it is at least 1"));
    }
    Ok(value)
}

fn finite(values: &[(&str, f64)]) -> Result<()> {
    match values.iter().find(|(_, v)| !v.is_finite()) {
        Some((what, v)) => Err(format!("{what} is {v}; give a number")),
        None => Ok(()),
    }
}

fn not_negative(what: &str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(format!("{what} is {value}; it is not negative"))
}

fn above_0(values: &[(&str, f64)]) -> Result<()> {
    match values.iter().find(|(_, v)| !v.is_finite() || *v <= 0.0) {
        Some((what, v)) => Err(format!("{what} is {v}; it is above 0")),
        None => Ok(()),
    }
}

fn poisson_mean(what: &str, mean: f64) -> Result<f64> {
    if mean > 0.0 && mean <= 10_000.0 {
        return Ok(mean);
    }
    Err(format!(
        "{what} gives a Poisson mean of {mean}; above 0, up to 10,000 (beyond, use normal or lognormal)"
    ))
}

fn unit_ns(ty: LogicalType) -> u64 {
    if ty == LogicalType::TimeMs {
        1_000_000
    } else {
        1_000
    }
}

fn is_wide(ty: LogicalType) -> bool {
    is_time(ty) || matches!(ty, LogicalType::I64 | LogicalType::U64)
}

fn is_time(ty: LogicalType) -> bool {
    matches!(ty, LogicalType::TimeMs | LogicalType::TimeUs)
}

/// All problems of a table's generators, each with its column; empty when rows can be made.
pub fn problems(table: &TablePlan, seed: u64, epoch_ns: i64) -> Vec<String> {
    let setting = match Setting::new(table, seed, epoch_ns) {
        Ok(setting) => setting,
        Err(problem) => return vec![format!("{}: {problem}", table.stream)],
    };
    let twice = table.columns.iter().enumerate().filter(|(i, c)| setting.by_name[c.name.as_str()] != *i);
    let twice = twice.map(|(_, c)| format!("{}.{}: two columns have this name", table.stream, c.name));
    let generators = table.columns.iter().enumerate().filter_map(|(i, column): (usize, &ColumnPlan)| {
        setting.column(i).err().map(|problem| format!("{}.{}: {problem}", table.stream, column.name))
    });
    twice.chain(generators).collect()
}
