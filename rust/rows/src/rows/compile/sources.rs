//! Columns that derive from others.

use super::params::{is_wide, names_of, no_integers, range, ratio, width, Result};
use super::Setting;
use crate::plan::{GenPlan, LogicalType};
use crate::rows::counter::Excess;
use crate::rows::integers::IntGenerator;
use crate::types::Holds;

/// 32-bit columns that one column derives from, at most: they are widened on the stack.
pub const MAX_NARROW_SOURCES: usize = 4;

impl Setting<'_> {
    pub(super) fn derived(
        &self,
        ty: LogicalType,
        plan: &GenPlan,
        path: &[&str],
        at: Option<usize>,
    ) -> Result<IntGenerator> {
        Ok(match plan {
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
                let (key, range) = (self.key(path, "draw"), range(*from, *to)?);
                IntGenerator::Offset { of, key, from: *from, range, bounds }
            }
            GenPlan::Excess { of, above_per_s, numerator, denominator, width_bits } => {
                let of = self.source(of, at)?;
                let (whole, part) = ratio(*numerator, *denominator)?;
                let counter = self.source_counter(of)?;
                let (above, max) = (self.per_sweep_integer(*above_per_s), width(*width_bits)?);
                IntGenerator::Excess { of, excess: Excess { counter, above, whole, part, max } }
            }
            GenPlan::Rank { of } => {
                let of = self.source(of, at)?;
                let job = self.table.columns[of].gen.as_ref().expect("source() asks for a generator");
                if !matches!(job, GenPlan::Job { .. }) {
                    return Err("of is not a column of kind `job`".into());
                }
                IntGenerator::Rank(self.job(job, &[&self.table.stream, &self.table.columns[of].name])?)
            }
            other => return Err(no_integers(other)),
        })
    }

    /// Bounds of a source column's values.
    pub(super) fn bounds_of(&self, of: usize) -> Result<Option<(i64, i64)>> {
        let column = &self.table.columns[of];
        let plan = column.gen.as_ref().expect("source() asks for a generator");
        Ok(self.int_generator(column.ty, plan, &[&self.table.stream, &column.name], 0, Some(of))?.bounds())
    }

    pub(super) fn source(&self, name: &str, at: Option<usize>) -> Result<usize> {
        let Some(at) = at else {
            return Err(format!("`{name}`: a generator inside another cannot derive from a column"));
        };
        let Some(&of) = self.by_name.get(name) else {
            return Err(format!("of names `{name}`, which is not a column of the table"));
        };
        let column = &self.table.columns[of];
        let numbers = matches!(
            column.ty.holds(),
            Holds::Truth | Holds::Signed(_) | Holds::Unsigned(_) | Holds::Time(_)
        );
        if of == at || column.gen.is_none() || !numbers {
            return Err(format!(
                "of names `{name}`; it must be another, generated column of integers or times"
            ));
        }
        Ok(of)
    }

    /// Columns that a generator reads, after a check that no column derives from itself.
    pub(super) fn sources(&self, at: usize, plan: &GenPlan) -> Result<Vec<usize>> {
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
