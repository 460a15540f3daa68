//! NaN and infinities in a column of floats: by row, whatever its generator gives there.

use super::columns::Values;
use super::hash::{hash, key};
use crate::plan::{ColumnPlan, LogicalType, NotFinite, TablePlan};

#[derive(Clone)]
pub struct NotFiniteShares {
    key: u64,
    /// Draws below the first are NaN, below the second infinite, below the third negative infinite. In 2^-32.
    below: [u64; 3],
}

impl NotFiniteShares {
    /// `None` where the column has none of them.
    pub fn of(table: &TablePlan, column: &ColumnPlan, seed: u64) -> Result<Option<NotFiniteShares>, String> {
        let Some(shares) = column.not_finite else { return Ok(None) };
        problem(column).map_or(Ok(()), Err)?;
        Ok(Some(NotFiniteShares::new(shares, key(seed, &[&table.stream, &column.name, "not finite"]))))
    }

    /// The shares are 1 together at most.
    pub fn new(shares: NotFinite, key: u64) -> NotFiniteShares {
        let NotFinite { nan_ppm, inf_ppm, minus_inf_ppm } = shares;
        let below = [nan_ppm, nan_ppm + inf_ppm, nan_ppm + inf_ppm + minus_inf_ppm];
        NotFiniteShares { key, below: below.map(|ppm| (u64::from(ppm) << 32) / 1_000_000) }
    }

    /// Into `values[at ..]`, which are of these rows.
    pub fn put(&self, rows: &[u64], at: usize, values: &mut Values) {
        for (k, &row) in rows.iter().enumerate() {
            let draw = hash(self.key, row) >> 32;
            let Some(value) = self.value(draw) else { continue };
            match values {
                Values::F32(v) => v[at + k] = value as f32,
                Values::F64(v) => v[at + k] = value,
                _ => unreachable!("`problem` lets floats through"),
            }
        }
    }

    fn value(&self, draw: u64) -> Option<f64> {
        const VALUES: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        self.below.iter().position(|&below| draw < below).map(|at| VALUES[at])
    }
}

/// Why a column cannot have the shares that its plan names.
pub fn problem(column: &ColumnPlan) -> Option<String> {
    let NotFinite { nan_ppm, inf_ppm, minus_inf_ppm } = column.not_finite?;
    if !matches!(column.ty, LogicalType::F32 | LogicalType::F64) {
        return Some("not_finite is of floats: NaN and infinities are no values of another type".into());
    }
    let sum = [nan_ppm, inf_ppm, minus_inf_ppm].iter().map(|&ppm| u64::from(ppm)).sum::<u64>();
    (sum > 1_000_000).then(|| format!("not_finite is {sum} in all; parts per million end at 1,000,000"))
}
