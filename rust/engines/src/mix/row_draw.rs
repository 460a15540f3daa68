//! Row numbers drawn by a law.
//!
//! A row number costs the same in a table of a thousand rows and of 10^12: nothing here grows with the rows.

use super::{below, drawn};
use inrush_rows::error::Error;
use inrush_rows::plan::{KeyLaw, KeyPlan};
use inrush_rows::rows::hash::Permutation;
use inrush_rows::rows::Zipf;

/// Which of how many sessions draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub session: u64,
    pub sessions: u64,
}

impl Share {
    /// Of a session that is alone.
    pub const WHOLE: Share = Share { session: 0, sessions: 1 };
}

/// Row numbers of one table, drawn by a law: a function of (law, seed, draw).
#[derive(Debug, Clone)]
pub struct RowDraw {
    first: u64,
    rows: u64,
    law: Law,
}

#[derive(Debug, Clone)]
enum Law {
    Uniform,
    Zipf {
        zipf: Zipf,
        order: Permutation,
    },
    HotSet {
        /// Draws below it are of the hot rows.
        below: u64,
        hot: u64,
        order: Permutation,
    },
    EachOnce {
        order: Permutation,
    },
}

impl RowDraw {
    /// `order_seed` decides which rows are drawn often: the same for all operations on rows of one table.
    pub fn new(plan: &KeyPlan, order_seed: u64, share: Share) -> Result<RowDraw, Error> {
        let refuse = |why: String| Err(Error::Plan(format!("keys: {why}")));
        let (first, rows) = (plan.first_row, plan.rows);
        if rows == 0 || first.checked_add(rows).is_none() {
            return refuse(format!("{rows} rows from row {first} on; at least one, below 2^64"));
        }
        let order = || Permutation::new(order_seed, rows);
        let law = match plan.by {
            KeyLaw::Uniform {} => Law::Uniform,
            KeyLaw::Zipf { exponent } if exponent > 0.0 && exponent <= 10.0 && rows <= 1 << 53 => {
                Law::Zipf { zipf: Zipf::new(rows, exponent), order: order() }
            }
            KeyLaw::Zipf { exponent } => {
                return refuse(format!(
                    "zipf over {rows} rows, exponent {exponent}; above 0 up to 10, 2^53 rows"
                ))
            }
            KeyLaw::HotSet { draws_ppm, rows_ppm } => {
                if draws_ppm > 1_000_000 || rows_ppm > 1_000_000 {
                    return refuse(format!(
                        "hot_set of {draws_ppm} and {rows_ppm} ppm; shares end at 1,000,000"
                    ));
                }
                let hot =
                    ((u128::from(rows) * u128::from(rows_ppm)).div_ceil(1_000_000) as u64).clamp(1, rows);
                let share = (1u128 << 64) * u128::from(draws_ppm) / 1_000_000;
                // All rows are hot, or all draws: there is no rest to draw from.
                let below = if hot == rows { u64::MAX } else { share.min(u128::from(u64::MAX)) as u64 };
                Law::HotSet { below, hot, order: order() }
            }
            KeyLaw::EachOnce {} => Law::EachOnce { order: order() },
            KeyLaw::OwnRange {} => {
                if share.sessions > rows {
                    return refuse(format!(
                        "own_range of {} sessions in {rows} rows; a row each at least",
                        share.sessions
                    ));
                }
                let from = |session: u64| {
                    (u128::from(rows) * u128::from(session) / u128::from(share.sessions)) as u64
                };
                let (from, to) = (from(share.session), from(share.session + 1));
                return Ok(RowDraw { first: first + from, rows: to - from, law: Law::Uniform });
            }
        };
        Ok(RowDraw { first, rows, law })
    }

    /// The row of a draw: `draw` is uniform in 64 bits.
    #[inline]
    pub fn row(&self, draw: u64) -> u64 {
        let place = match &self.law {
            Law::Uniform | Law::EachOnce { .. } => below(draw, self.rows),
            Law::Zipf { zipf, order } => order.at(zipf.at(draw, 0) - 1),
            Law::HotSet { below: limit, hot, order } => {
                let inside = drawn(draw);
                order.at(if draw < *limit || *hot == self.rows {
                    below(inside, *hot)
                } else {
                    hot + below(inside, self.rows - hot)
                })
            }
        };
        self.first + place
    }

    /// The row of draw number `turn` of the operation, by its turn alone or drawn.
    #[inline]
    pub(super) fn of_turn(&self, turn: u64, draw: impl FnOnce() -> u64) -> u64 {
        match &self.law {
            Law::EachOnce { order } => self.first + order.at(turn % self.rows),
            _ => self.row(draw()),
        }
    }
}

#[cfg(test)]
mod tests;
