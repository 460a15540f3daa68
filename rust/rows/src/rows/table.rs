//! Look-up tables of distributions, as integers. Built once per distribution with `libm` alone; its
//! results are the same on every machine; the hot loops only look up and interpolate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::hash::{fraction_of, hash};

const OCTAVES: usize = 24;
/// Cells per octave; 2^CELL_BITS.
const CELL_BITS: usize = 5;
const CELLS: usize = 1 << CELL_BITS;
/// The upper half of a quantile table starts here.
const SIDE: usize = 1024;

/// The quantile function of a continuous distribution in units of 2^-bits.
///
/// Each half of (0, 1) is cut into octaves towards its tail and each octave into 32 cells, linear inside;
/// so tails to a probability of 3e-8 are as exact as the middle.
pub struct Quantiles {
    value: [i64; 2 * SIDE],
    step: [i64; 2 * SIDE],
    pub min: i64,
    pub max: i64,
}

impl Quantiles {
    /// `lower(p)` and `upper(p)` are the quantiles at `p` and at `1 - p`, for 0 < p <= 1/2.
    fn build(
        lower: impl Fn(f64) -> f64,
        upper: impl Fn(f64) -> f64,
        bits: u32,
        min: f64,
        max: f64,
    ) -> Quantiles {
        let scale = (1u64 << bits) as f64;
        let fixed = |x: f64| libm::floor(x.clamp(min, max) * scale + 0.5) as i64;
        let mut table = Quantiles { value: [0; 2 * SIDE], step: [0; 2 * SIDE], min: 0, max: 0 };
        for cell in 0..OCTAVES * CELLS {
            let (from, to) = (share(cell) / 2.0, share(cell + 1) / 2.0);
            for (side, quantile) in [(0, &lower as &dyn Fn(f64) -> f64), (SIDE, &upper)] {
                let value = fixed(quantile(from));
                table.value[side + cell] = value;
                table.step[side + cell] = fixed(quantile(to)) - value;
            }
        }
        (table.min, table.max) = (table.value[0], table.value[SIDE]);
        table
    }

    /// The value of a uniform 64-bit `h`.
    #[inline(always)]
    pub fn at(&self, h: u64) -> i64 {
        let (cell, inside) = Quantiles::cell_of(h);
        let (value, step) = self.look_up(cell);
        value + fraction_of(step, inside)
    }

    /// The cell of a uniform `h`, and how far inside it lies, in 2^-32.
    #[inline(always)]
    pub fn cell_of(h: u64) -> (u64, u64) {
        // Exact: an integer of 52 bits becomes a fraction in [0, 1), with the octave as its exponent.
        let f = f64::from_bits(0x3ff0_0000_0000_0000 | (h >> 12)) - 1.0;
        const SMALLEST: f64 = 1.0 / (1u64 << OCTAVES) as f64;
        let bits = (if f < SMALLEST { SMALLEST } else { f }).to_bits();
        let cell = (bits >> (52 - CELL_BITS)) - (((1023 - OCTAVES) as u64) << CELL_BITS);
        (cell + (h & 1) * SIDE as u64, (bits >> (20 - CELL_BITS)) & 0xffff_ffff)
    }

    /// Value at the start of the cell, and the step to its end.
    #[inline(always)]
    pub fn look_up(&self, cell: u64) -> (i64, i64) {
        let i = cell as usize % (2 * SIDE);
        (self.value[i], self.step[i])
    }

    pub fn normal(mean: f64, sd: f64, bits: u32, min: f64, max: f64) -> Arc<Quantiles> {
        cached(Key::Quantiles("normal", floats(&[mean, sd, min, max]), bits), || {
            Quantiles::build(|p| mean - sd * upper_z(p), |p| mean + sd * upper_z(p), bits, min, max)
        })
    }

    pub fn lognormal(median: f64, sigma: f64, bits: u32, min: f64, max: f64) -> Arc<Quantiles> {
        cached(Key::Quantiles("lognormal", floats(&[median, sigma, min, max]), bits), || {
            let at = |z: f64| median * libm::exp(sigma * z);
            Quantiles::build(|p| at(-upper_z(p)), |p| at(upper_z(p)), bits, min, max)
        })
    }

    pub fn beta(a: f64, b: f64, scale: f64, bits: u32) -> Arc<Quantiles> {
        cached(Key::Quantiles("beta", floats(&[a, b, scale]), bits), || {
            let lower = |p| scale * beta_quantile(a, b, p);
            let upper = |p| scale * (1.0 - beta_quantile(b, a, p));
            Quantiles::build(lower, upper, bits, scale.min(0.0), scale.max(0.0))
        })
    }
}

/// Lower end of cell `cell` as a share of one half.
fn share(cell: usize) -> f64 {
    let (octave, at) = (cell / CELLS, cell % CELLS);
    (CELLS + at) as f64 / CELLS as f64 / (1u64 << (OCTAVES - octave)) as f64
}

/// z with P(Z > z) = p, for 0 < p <= 1/2: Newton from 0, where the tail is convex and steps never overshoot.
fn upper_z(p: f64) -> f64 {
    let mut z = 0.0_f64;
    for _ in 0..200 {
        let tail = 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
        let density = libm::exp(-z * z / 2.0) / libm::sqrt(2.0 * std::f64::consts::PI);
        let step = (tail - p) / density;
        z += step;
        if step.abs() <= 1e-15 * (1.0 + z) {
            break;
        }
    }
    z
}

/// x with I_x(a, b) = p, by halving.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if incomplete_beta(a, b, middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Regularised incomplete beta function; continued fraction by Lentz. Source: DLMF 8.17.22.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = libm::exp(
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x),
    ) / a;
    let away = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut sum = d;
    for m in 1..300 {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        sum *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let factor = d * c;
        sum *= factor;
        if (factor - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * sum
}

/// A discrete distribution: one look-up, one comparison. Source: Walker 1977, Vose 1991.
pub struct Alias {
    /// Below it the cell itself, else its alias; in 2^-32.
    threshold: Vec<u64>,
    other: Vec<u64>,
}

impl Alias {
    /// Weights need not sum to one; at least one is positive (checked with the plan).
    pub fn new(weights: &[f64]) -> Alias {
        let n = weights.len();
        let total: f64 = weights.iter().sum();
        let mut share: Vec<f64> = weights.iter().map(|w| w / total * n as f64).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| share[i] < 1.0);
        let mut alias = Alias { threshold: vec![1 << 32; n], other: (0..n as u64).collect() };
        while let (Some(&s), Some(&l)) = (small.last(), large.last()) {
            small.pop();
            alias.threshold[s] = (share[s] * 4_294_967_296.0) as u64;
            alias.other[s] = l as u64;
            share[l] -= 1.0 - share[s];
            if share[l] < 1.0 {
                large.pop();
                small.push(l);
            }
        }
        alias
    }

    pub fn len(&self) -> usize {
        self.threshold.len()
    }

    #[inline(always)]
    pub fn at(&self, h: u64) -> u64 {
        let i = ((h >> 32) * self.threshold.len() as u64) >> 32;
        // SAFETY: a 32-bit number times n, shifted by 32, is below n; both vectors have n entries.
        let (threshold, other) =
            unsafe { (*self.threshold.get_unchecked(i as usize), *self.other.get_unchecked(i as usize)) };
        if h & 0xffff_ffff < threshold {
            i
        } else {
            other
        }
    }

    pub fn poisson(mean: f64) -> Arc<Alias> {
        cached(Key::Alias("poisson", floats(&[mean])), || Alias::new(&poisson_weights(mean)))
    }

    /// Rank - 1 of Zipf's law over `n` ranks.
    pub fn zipf(n: u64, exponent: f64) -> Arc<Alias> {
        cached(Key::Alias("zipf", vec![n, exponent.to_bits()]), || {
            let weights: Vec<f64> = (1..=n).map(|rank| libm::pow(rank as f64, -exponent)).collect();
            Alias::new(&weights)
        })
    }
}

fn poisson_weights(mean: f64) -> Vec<f64> {
    let last = (mean + 12.0 * libm::sqrt(mean) + 20.0) as u64;
    (0..=last).map(|k| libm::exp(k as f64 * libm::log(mean) - mean - libm::lgamma(k as f64 + 1.0))).collect()
}

pub const CYCLE: usize = 1024;

/// Increments in a fixed shuffled order, repeated for ever: sums up to any index in O(1).
pub struct Cyclic {
    /// Sum of the increments before each.
    before: [u64; CYCLE],
    total: u64,
}

impl Cyclic {
    fn new(increments: [u64; CYCLE]) -> Cyclic {
        let mut shuffled = increments;
        for i in (1..CYCLE).rev() {
            shuffled.swap(i, (hash(0x5eed, i as u64) % (i as u64 + 1)) as usize);
        }
        let mut cyclic = Cyclic { before: [0; CYCLE], total: 0 };
        for (before, increment) in cyclic.before.iter_mut().zip(shuffled) {
            *before = cyclic.total;
            cyclic.total += increment;
        }
        cyclic
    }

    /// Sum of the first `n` increments.
    #[inline(always)]
    pub fn sum(&self, n: u64) -> u64 {
        (n / CYCLE as u64).wrapping_mul(self.total).wrapping_add(self.before[n as usize % CYCLE])
    }

    /// Poisson quantiles at the middle of 1,024 equal shares.
    pub fn poisson(mean: f64, cap: u64) -> Arc<Cyclic> {
        cached(Key::Cyclic("poisson", vec![mean.to_bits(), cap]), || {
            let weights = poisson_weights(mean);
            Cyclic::new(std::array::from_fn(|i| {
                let p = (i as f64 + 0.5) / CYCLE as f64;
                let mut sum = 0.0;
                let k = weights.iter().position(|w| {
                    sum += w;
                    sum >= p
                });
                (k.unwrap_or(weights.len() - 1) as u64).min(cap)
            }))
        })
    }

    /// Geometric sizes 1, 2, … with this mean.
    pub fn geometric(mean: f64, cap: u64) -> Arc<Cyclic> {
        cached(Key::Cyclic("geometric", vec![mean.to_bits(), cap]), || {
            Cyclic::new(std::array::from_fn(|i| {
                let p = (i as f64 + 0.5) / CYCLE as f64;
                let size =
                    if mean <= 1.0 { 1.0 } else { libm::ceil(libm::log1p(-p) / libm::log1p(-1.0 / mean)) };
                (size.max(1.0) as u64).min(cap)
            }))
        })
    }
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Quantiles(&'static str, Vec<u64>, u32),
    Alias(&'static str, Vec<u64>),
    Cyclic(&'static str, Vec<u64>),
}

fn floats(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Tables are shared by columns and sessions: a second generator of the same distribution costs nothing.
fn cached<T: Send + Sync + 'static>(key: Key, build: impl FnOnce() -> T) -> Arc<T> {
    type Shelf = Mutex<HashMap<Key, Arc<dyn std::any::Any + Send + Sync>>>;
    static SHELF: OnceLock<Shelf> = OnceLock::new();
    let mut shelf = SHELF.get_or_init(Shelf::default).lock().expect("no builder of a table panics");
    let entry = shelf.entry(key).or_insert_with(|| Arc::new(build()));
    Arc::clone(entry).downcast().expect("a key names the type of its table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_tail_is_inverted() {
        for (p, z) in [
            (0.5, 0.0),
            (0.158_655_253_931_457, 1.0),
            (0.001_349_898_031_630_1, 3.0),
            (2.866_515_718_79e-7, 5.0),
        ] {
            assert!((upper_z(p) - z).abs() < 1e-6, "{p}: {} is not {z}", upper_z(p));
        }
    }

    #[test]
    fn the_incomplete_beta_function_has_its_closed_forms() {
        for x in [0.01, 0.3, 0.5, 0.77, 0.999] {
            assert!((incomplete_beta(1.0, 1.0, x) - x).abs() < 1e-12);
            assert!((incomplete_beta(3.0, 1.0, x) - x * x * x).abs() < 1e-12);
            assert!((incomplete_beta(1.0, 1.5, x) - (1.0 - libm::pow(1.0 - x, 1.5))).abs() < 1e-12);
        }
    }

    #[test]
    fn an_alias_table_keeps_every_weight() {
        let weights = [5.0, 1.0, 0.0, 2.5, 1.5];
        let alias = Alias::new(&weights);
        let mut mass = [0.0; 5];
        for i in 0..5 {
            let own = alias.threshold[i] as f64 / 4_294_967_296.0;
            mass[i] += own / 5.0;
            mass[alias.other[i] as usize] += (1.0 - own) / 5.0;
        }
        for (mass, weight) in mass.iter().zip(weights) {
            assert!((mass - weight / 10.0).abs() < 1e-9);
        }
    }

    #[test]
    fn cyclic_increments_have_the_mean_of_their_law() {
        for mean in [0.2, 2.0, 40.0] {
            let cyclic = Cyclic::poisson(mean, u64::MAX);
            assert!((cyclic.total as f64 / CYCLE as f64 / mean - 1.0).abs() < 0.01, "{mean}");
        }
        let mean = Cyclic::geometric(500.0, u64::MAX).total as f64 / CYCLE as f64;
        assert!((mean / 500.0 - 1.0).abs() < 0.01, "{mean}");
    }
}
