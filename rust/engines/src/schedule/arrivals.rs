//! The arrivals of one role: when operation `k` is due, and how many were due before a moment.

use std::sync::Arc;

use super::{check, marks, unit, Marks};
use inrush_rows::plan::Schedule;

/// The arrivals of one role as a cursor: O(1) for each operation passed, forwards and backwards.
#[derive(Debug, Clone)]
pub struct Arrivals {
    spacing: Spacing,
    seed: u64,
    /// Poisson: `due_ns` is that of operation `k`.
    k: u64,
    due_ns: u64,
    /// Operations that [`Arrivals::offered_before`] has passed.
    offered: u64,
    /// Of all walks along the same arrivals.
    marks: Option<Arc<Marks>>,
}

#[derive(Debug, Clone, Copy)]
enum Spacing {
    None,
    /// `due = floor(k * 1e9 * 2^shift / odd)`: a rate is a binary fraction, so this is exact.
    Equal {
        odd: u64,
        shift: i32,
    },
    Exponential {
        mean_ns: f64,
    },
    /// `due = floor(k / parts) * every`
    Samples {
        every_ns: u64,
        parts: u64,
    },
}

impl Arrivals {
    pub fn new(schedule: &Schedule, seed: u64) -> Arrivals {
        if let Err(error) = check(schedule) {
            panic!("{error}");
        }
        let spacing = match *schedule {
            Schedule::Closed { .. } => Spacing::None,
            Schedule::Constant { rate_per_s } => equal_spacing(rate_per_s),
            Schedule::Poisson { rate_per_s } => Spacing::Exponential { mean_ns: 1e9 / rate_per_s },
            Schedule::Samples { every_ns, parts, .. } => {
                Spacing::Samples { every_ns, parts: u64::from(parts) }
            }
        };
        let due_ns = match spacing {
            Spacing::Exponential { mean_ns } => gap_ns(mean_ns, seed, 0),
            _ => 0,
        };
        Arrivals { spacing, seed, k: 0, due_ns, offered: 0, marks: None }
    }

    /// The same arrivals, found and left along `marks`: of one schedule and seed, shared by its sessions.
    pub fn along(mut self, marks: Arc<Marks>) -> Arrivals {
        self.marks = Some(marks);
        self
    }

    /// As the free function; Poisson walks from the operation asked for last.
    #[inline]
    pub fn due_ns(&mut self, k: u64) -> u64 {
        match self.spacing {
            Spacing::None => 0,
            Spacing::Equal { odd, shift } => equal_due_ns(odd, shift, k),
            Spacing::Exponential { mean_ns } => self.exponential_due_ns(mean_ns, k),
            Spacing::Samples { every_ns, parts } => (k / parts).saturating_mul(every_ns),
        }
    }

    fn exponential_due_ns(&mut self, mean_ns: f64, k: u64) -> u64 {
        // From the start where that is nearer, or where the sum has reached its end and lost the gaps before.
        if k < self.k / 2 || (k < self.k && self.due_ns == u64::MAX) {
            self.k = 0;
            self.due_ns = gap_ns(mean_ns, self.seed, 0);
        }
        while self.k > k {
            self.due_ns -= gap_ns(mean_ns, self.seed, self.k);
            self.k -= 1;
        }
        if k - self.k > marks::EVERY {
            if let Some(mark) = self.marks.as_ref().and_then(|marks| marks.before(k, self.k)) {
                (self.k, self.due_ns) = mark;
            }
        }
        while self.k < k {
            self.k += 1;
            self.due_ns = self.due_ns.saturating_add(gap_ns(mean_ns, self.seed, self.k));
            if self.k.is_multiple_of(marks::EVERY) {
                if let Some(marks) = &self.marks {
                    marks.leave(self.k, self.due_ns);
                }
            }
        }
        self.due_ns
    }

    /// How many operations were due before `t_ns` (0 for a closed schedule); Poisson walks from the last `t_ns`.
    ///
    /// Strictly before: at 1000/s exactly 5000 are due in the first 5 s.
    pub fn offered_before(&mut self, t_ns: u64) -> u64 {
        match self.spacing {
            Spacing::None => {}
            Spacing::Equal { odd, shift } => {
                // Leaps of doubling length, then of halving: O(log) however long ago the last call.
                if self.offered > 0 && equal_due_ns(odd, shift, self.offered - 1) >= t_ns {
                    self.offered = 0;
                }
                let mut leap = 1;
                while equal_due_ns(odd, shift, self.offered + leap - 1) < t_ns {
                    self.offered += leap;
                    leap *= 2;
                }
                while leap > 0 {
                    if equal_due_ns(odd, shift, self.offered + leap - 1) < t_ns {
                        self.offered += leap;
                    }
                    leap /= 2;
                }
            }
            Spacing::Samples { every_ns, parts } => {
                self.offered = t_ns.div_ceil(every_ns).saturating_mul(parts);
            }
            Spacing::Exponential { .. } => {
                while self.offered > 0 && self.due_ns(self.offered - 1) >= t_ns {
                    self.offered -= 1;
                }
                while self.due_ns(self.offered) < t_ns {
                    self.offered += 1;
                }
            }
        }
        self.offered
    }
}

/// `rate = odd * 2^-shift` per second, exactly.
fn equal_spacing(rate_per_s: f64) -> Spacing {
    let bits = rate_per_s.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let zeros = mantissa.trailing_zeros();
    Spacing::Equal { odd: mantissa >> zeros, shift: -(exponent + zeros as i32) }
}

/// floor(k * 1e9 * 2^shift / odd), in 128 bits, by parts where the product would not fit.
#[inline]
fn equal_due_ns(odd: u64, shift: i32, k: u64) -> u64 {
    let (odd, product) = (u128::from(odd), u128::from(k) * 1_000_000_000);
    if shift <= 0 {
        return saturate(product / (odd << -shift));
    }
    // odd < 2^53 and shift < 74 (a rate of 1e-6 or more): the remainder's shift fits in 127 bits.
    let (whole, rest) = (product / odd, product % odd);
    match whole.checked_mul(1 << shift) {
        Some(high) => saturate(high.saturating_add((rest << shift) / odd)),
        None => u64::MAX,
    }
}

fn saturate(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// The gap before operation `k`: exponential with this mean, rounded to whole ns.
///
/// `libm` and not the platform's logarithm: the same plan must arrive at the same times everywhere.
#[inline]
fn gap_ns(mean_ns: f64, seed: u64, k: u64) -> u64 {
    #[cfg(any(test, debug_assertions))]
    GAPS.with(|gaps| gaps.set(gaps.get() + 1));
    (-libm::log(unit(seed, k)) * mean_ns + 0.5) as u64
}

#[cfg(any(test, debug_assertions))]
thread_local! {
    /// Gaps drawn by this thread: what walking along arrivals costs. Only tests read it, those of other crates too.
    pub static GAPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}
