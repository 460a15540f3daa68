//! Numbers that look random: a function of a seed, one after the other.

use inrush_rows::rows::hash::mix;

use crate::cluster::Service;

/// xoshiro256++ (Blackman & Vigna, 2019).
pub struct Random {
    state: [u64; 4],
}

impl Random {
    pub fn new(seed: u64) -> Random {
        let word = |k: u64| mix(seed.wrapping_add(k.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        Random { state: [word(1), word(2), word(3), word(4)] }
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let found = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c2, d2) = (c ^ a, d ^ b);
        self.state = [a ^ d2, b ^ c2, c2 ^ (b << 17), d2.rotate_left(45)];
        found
    }

    /// In (0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
    }

    /// Below `n`, without the bias of a remainder for any n that a cluster has.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u32
    }

    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// Marsaglia's polar method, without its second value.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = x * x + y * y;
            if s < 1.0 && s > 0.0 {
                return x * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }

    /// Mean and variance `shape`: the sum of so many exponential times. Marsaglia & Tsang, 2000.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * self.unit().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// How many of `n` meet a chance of `p`. Exact up to a variance of 9; a rounded normal beyond.
    pub fn binomial(&mut self, n: u32, p: f64) -> u32 {
        if n == 0 || p <= 0.0 {
            return 0;
        }
        if p >= 1.0 {
            return n;
        }
        let (mean, variance) = (f64::from(n) * p, f64::from(n) * p * (1.0 - p));
        if variance > 9.0 {
            let drawn = (mean + variance.sqrt() * self.normal()).round();
            return drawn.clamp(0.0, f64::from(n)) as u32;
        }
        if p > 0.5 {
            return n - self.binomial(n, 1.0 - p);
        }
        // Inversion: the chances of 0, 1, 2 … are walked through.
        let (odds, mut chance, mut left) = (p / (1.0 - p), (1.0 - p).powi(n as i32), self.unit());
        let mut k = 0;
        while left > chance && k < n {
            left -= chance;
            k += 1;
            chance *= odds * f64::from(n - k + 1) / f64::from(k);
        }
        k
    }
}

/// The work of n operations, in units of one's mean.
pub enum Sum {
    Fixed,
    Exponential,
    Measured { quantiles: Vec<f64>, mean: f64, cv2: f64 },
}

/// Up to so many measured times are drawn one by one; more are a gamma of their mean and variance.
const ONE_BY_ONE: u32 = 8;

impl Sum {
    pub fn new(service: &Service) -> Sum {
        match service {
            Service::Fixed => Sum::Fixed,
            Service::Exponential => Sum::Exponential,
            Service::Measured(quantiles) => {
                // Straight lines between neighbours: mean and mean square of each are exact.
                let pairs = quantiles.windows(2);
                let steps = pairs.len() as f64;
                let mean = pairs.clone().map(|w| (w[0] + w[1]) / 2.0).sum::<f64>() / steps;
                let square =
                    pairs.map(|w| (w[0] * w[0] + w[0] * w[1] + w[1] * w[1]) / 3.0).sum::<f64>() / steps;
                let cv2 = if mean > 0.0 { (square / (mean * mean) - 1.0).max(0.0) } else { 0.0 };
                Sum::Measured { quantiles: quantiles.clone(), mean, cv2 }
            }
        }
    }

    #[inline(always)]
    pub fn of(&self, n: u32, random: &mut Random) -> f64 {
        match self {
            Sum::Fixed => f64::from(n),
            Sum::Exponential if n == 1 => random.exponential(),
            Sum::Exponential => random.gamma(f64::from(n)),
            Sum::Measured { quantiles, mean, cv2 } => {
                if *mean <= 0.0 || *cv2 < 1e-12 {
                    return f64::from(n);
                }
                if n <= ONE_BY_ONE {
                    let steps = (quantiles.len() - 1) as f64;
                    let mut total = 0.0;
                    for _ in 0..n {
                        let at = random.unit() * steps;
                        let low = at as usize;
                        total += quantiles[low] + (quantiles[low + 1] - quantiles[low]) * (at - low as f64);
                    }
                    return total / mean;
                }
                let shape = f64::from(n) / cv2;
                f64::from(n) * random.gamma(shape) / shape
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(mut draw: impl FnMut(&mut Random) -> f64) -> (f64, f64) {
        let (mut random, n) = (Random::new(7), 200_000);
        let drawn: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / n as f64;
        (mean, drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64)
    }

    fn near(found: (f64, f64), mean: f64, variance: f64) {
        assert!((found.0 / mean - 1.0).abs() < 0.01, "mean {} for {mean}", found.0);
        assert!((found.1 / variance - 1.0).abs() < 0.03, "variance {} for {variance}", found.1);
    }

    #[test]
    fn a_sum_of_exponential_times_has_their_mean_and_variance() {
        for n in [1, 2, 85] {
            near(moments(|r| Sum::Exponential.of(n, r)), f64::from(n), f64::from(n));
        }
    }

    #[test]
    fn a_sum_of_measured_times_has_their_mean_and_variance_few_or_many() {
        // Uniform between 0 and 2 in units of the mean: a variance of a third.
        let sum = Sum::new(&Service::Measured(vec![0.0, 5.0, 10.0]));
        for n in [1, ONE_BY_ONE, ONE_BY_ONE + 1, 40] {
            near(moments(|r| sum.of(n, r)), f64::from(n), f64::from(n) / 3.0);
        }
    }

    #[test]
    fn a_binomial_has_its_mean_and_variance_on_both_sides_of_the_normal() {
        for (n, p) in [(1, 0.3), (20, 0.1), (20, 0.9), (2048, 1.0 / 32.0), (100, 0.5)] {
            let (mean, variance) = (f64::from(n) * p, f64::from(n) * p * (1.0 - p));
            near(moments(|r| f64::from(r.binomial(n, p))), mean, variance);
        }
    }
}
