//! From a generator of a plan to one of whole numbers, by where these come from.

use super::events::{needs_equal_rates, needs_sweeps};
use super::params::{constant, kind_name, no_integers, positive, range, whole_range, Result};
use super::Setting;
use crate::plan::{GenPlan, LogicalType};
use crate::rows::hash::Permutation;
use crate::rows::integers::IntGenerator;

impl Setting<'_> {
    /// `at`: the column, for integer generators that derive from others; None inside texts, lists and foreign columns.
    pub(super) fn int_generator(
        &self,
        ty: LogicalType,
        plan: &GenPlan,
        path: &[&str],
        bits: u32,
        at: Option<usize>,
    ) -> Result<IntGenerator> {
        if let Some(why) = needs_equal_rates(plan).filter(|_| self.has_rates) {
            return Err(format!("`{}` {why}; series of this table differ in rate", kind_name(plan)));
        }
        if self.chunk_files.is_some() && needs_sweeps(plan) {
            return Err(format!("`{}` needs times; rows in files of chunks have none", kind_name(plan)));
        }
        match plan {
            GenPlan::Constant { .. }
            | GenPlan::Sequence { .. }
            | GenPlan::Version {}
            | GenPlan::Cycle { .. }
            | GenPlan::Shuffled { .. } => self.counted(ty, plan, path, bits),
            GenPlan::Uniform { .. }
            | GenPlan::Normal { .. }
            | GenPlan::Lognormal { .. }
            | GenPlan::Poisson { .. }
            | GenPlan::Beta { .. }
            | GenPlan::Zipf { .. }
            | GenPlan::Categorical { .. }
            | GenPlan::Flag { .. }
            | GenPlan::Walk { .. }
            | GenPlan::Bits { .. } => self.drawn(ty, plan, path, bits),
            GenPlan::Ratio { .. }
            | GenPlan::Sum { .. }
            | GenPlan::Difference { .. }
            | GenPlan::Offset { .. }
            | GenPlan::Excess { .. }
            | GenPlan::Rank { .. } => self.derived(ty, plan, path, at),
            GenPlan::SweepTime { .. } | GenPlan::Time { .. } | GenPlan::SeriesTime { .. } => {
                self.time(ty, plan, path)
            }
            GenPlan::Counter(counter) => Ok(IntGenerator::Counter(self.counter(counter, path)?)),
            GenPlan::Pattern { prefix, every, space } => self.pattern(prefix, *every, space.as_deref(), path),
            GenPlan::Foreign { stream, column, series, of, exponent } => {
                let chosen = Box::new(self.foreign_series(*series, *exponent, path)?);
                let compiled = |there: &Setting, path: &[&str]| there.int_generator(ty, of, path, bits, None);
                let of = Box::new(self.foreign(stream, column, *series, of, compiled)?);
                Ok(IntGenerator::Foreign { series: chosen, of, one_series: *series == 1 })
            }
            GenPlan::Job { .. } => Ok(IntGenerator::Job(self.job(plan, path)?)),
            GenPlan::Chunk { part } => self.chunk(*part),
            GenPlan::Uuid {}
            | GenPlan::Bytes { .. }
            | GenPlan::Between { .. }
            | GenPlan::Document { .. }
            | GenPlan::Decimal { .. }
            | GenPlan::Format { .. }
            | GenPlan::Text { .. }
            | GenPlan::Array { .. } => Err(no_integers(plan)),
        }
    }

    /// Numbers that follow from the row alone.
    fn counted(&self, ty: LogicalType, plan: &GenPlan, path: &[&str], bits: u32) -> Result<IntGenerator> {
        Ok(match plan {
            GenPlan::Constant { value, .. } => IntGenerator::Constant { value: constant(ty, value, bits)? },
            GenPlan::Sequence { start, step } => IntGenerator::Sequence { start: *start, step: *step },
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
            other => return Err(no_integers(other)),
        })
    }
}
