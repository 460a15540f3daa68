//! Whole numbers that are drawn, by the law that they are drawn by.

use std::sync::Arc;

use super::params::{
    above_0, alias_of, check_bounds, finite, integer_value, limits, no_integers, not_negative, poisson_mean,
    range, scaled, share, Result,
};
use super::Setting;
use crate::plan::{GenPlan, LogicalType, Per};
use crate::rows::integers::{Draw, IntGenerator};
use crate::rows::table::{Alias, Quantiles};

impl Setting<'_> {
    pub(super) fn drawn(
        &self,
        ty: LogicalType,
        plan: &GenPlan,
        path: &[&str],
        bits: u32,
    ) -> Result<IntGenerator> {
        let draw = |per: Per| Draw { key: self.key(path, "draw"), per };
        Ok(match plan {
            GenPlan::Uniform { from, to, per, .. } => {
                let (from, to) = (scaled(*from, bits)?, scaled(*to, bits)?);
                IntGenerator::Uniform { draw: draw(*per), from, range: range(from, to)? }
            }
            GenPlan::Normal { per, .. } | GenPlan::Lognormal { per, .. } | GenPlan::Beta { per, .. } => {
                IntGenerator::Quantile { draw: draw(*per), table: quantiles(plan, bits)? }
            }
            GenPlan::Poisson { mean, per } => IntGenerator::Choice {
                draw: draw(*per),
                alias: Alias::poisson(poisson_mean("mean", *mean)?),
                from: 0,
            },
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
            GenPlan::Walk { from, to, .. } => {
                let (from, to) = (scaled(*from, bits)?, scaled(*to, bits)?);
                let range = range(from, to)?;
                if range == 0 || range > 1 << 48 {
                    return Err("the range is above 2^48 steps; give fewer bits or a smaller range".into());
                }
                IntGenerator::Walk { key: self.key(path, "path"), from, range }
            }
            GenPlan::Bits { bits, of, per } => self.bits(*bits, of.as_deref(), draw(*per), path)?,
            other => return Err(no_integers(other)),
        })
    }

    /// Numbers below 2^bits.
    fn bits(&self, bits: u32, of: Option<&GenPlan>, draw: Draw, path: &[&str]) -> Result<IntGenerator> {
        if !(1..=64).contains(&bits) {
            return Err(format!("bits is {bits}; 1 … 64"));
        }
        let Some(of) = of else {
            // A range of 0 is that of all 64 bits.
            return Ok(IntGenerator::Uniform { draw, from: 0, range: 1u64.checked_shl(bits).unwrap_or(0) });
        };
        let path: Vec<&str> = path.iter().copied().chain(["of"]).collect();
        let of = self.nested(LogicalType::U64, of, &path, 0).map_err(|e| format!("of: {e}"))?;
        check_bounds(LogicalType::U64, &of, 0).map_err(|e| format!("of: {e}"))?;
        match of.bounds() {
            _ if bits == 64 => Ok(of),
            Some((low, high)) if low >= 0 && (high as u64) >> bits == 0 => Ok(of),
            Some((low, high)) => Err(format!(
                "of: its numbers are {low} … {high}, and bit({bits}) ends at {}",
                (1u64 << bits) - 1
            )),
            None => Err("of: its numbers have no bounds; give it from and to, or min and max".into()),
        }
    }
}

/// The law of what is drawn by its quantiles.
fn quantiles(plan: &GenPlan, bits: u32) -> Result<Arc<Quantiles>> {
    match plan {
        GenPlan::Normal { mean, sd, min, max, .. } => {
            finite(&[("mean", *mean), ("sd", *sd)])?;
            not_negative("sd", *sd)?;
            let (min, max) = limits(bits, *min, *max)?;
            Ok(Quantiles::normal(*mean, *sd, bits, min, max))
        }
        GenPlan::Lognormal { median, sigma, min, max, .. } => {
            let (min, max) = limits(bits, *min, *max)?;
            above_0(&[("median", *median)])?;
            not_negative("sigma", *sigma)?;
            Ok(Quantiles::lognormal(*median, *sigma, bits, min, max))
        }
        GenPlan::Beta { a, b, scale, .. } => {
            above_0(&[("a", *a), ("b", *b)])?;
            finite(&[("scale", *scale)])?;
            limits(bits, Some(0.0_f64.min(*scale)), Some(0.0_f64.max(*scale)))?;
            Ok(Quantiles::beta(*a, *b, *scale, bits))
        }
        other => Err(no_integers(other)),
    }
}
