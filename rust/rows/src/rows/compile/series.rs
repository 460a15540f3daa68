//! Ranks, counters, patterns and jobs: what needs more than a line.

use std::sync::Arc;

use super::params::{above_0, not_negative, poisson_mean, positive, share, width, Result, ALIAS_RANKS};
use super::Setting;
use crate::plan::{AtLimit, CounterPlan, GenPlan, Increment};
use crate::rows::counter::{Counter, Moves, Start};
use crate::rows::hash::{key, Permutation, Range};
use crate::rows::integers::{Draw, IntGenerator, Job};
use crate::rows::table::{Alias, Cyclic, Quantiles};
use crate::rows::zipf::Zipf;

impl Setting<'_> {
    pub(super) fn zipf(
        &self,
        n: u64,
        exponent: f64,
        from: i64,
        scatter: bool,
        draw: Draw,
        path: &[&str],
    ) -> Result<IntGenerator> {
        above_0(&[("exponent", exponent)])?;
        if n == 0 || n > 1 << 53 || from.checked_add(n as i64 - 1).is_none() {
            return Err(format!("n is {n}; ranks are 1 … 2^53"));
        }
        let ranks = |from| match n {
            ..=ALIAS_RANKS => IntGenerator::Choice { draw, alias: Alias::zipf(n, exponent), from },
            _ => IntGenerator::Zipf { draw, zipf: Zipf::new(n, exponent), from },
        };
        if scatter {
            let order = Permutation::new(self.key(path, "scatter"), n);
            return Ok(IntGenerator::Scattered { ranks: Box::new(ranks(0)), from, order });
        }
        Ok(ranks(from))
    }

    pub(super) fn counter(&self, plan: &CounterPlan, path: &[&str]) -> Result<Counter> {
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
            remembered: None,
        })
    }

    pub(super) fn source_counter(&self, of: usize) -> Result<Counter> {
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

    pub(super) fn pattern(
        &self,
        prefix: &str,
        every: u64,
        space: Option<&str>,
        path: &[&str],
    ) -> Result<IntGenerator> {
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
        Ok(IntGenerator::Pattern { prefix, every, order: Permutation::new(key, n) })
    }

    pub(super) fn job(&self, plan: &GenPlan, path: &[&str]) -> Result<Job> {
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
}
