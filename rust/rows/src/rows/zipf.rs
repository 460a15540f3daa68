//! Zipf's law over any number of ranks.

use super::hash::hash;

/// Zipf's law over any number of ranks without a table: rejection-inversion.
/// Source: Hörmann & Derflinger, ACM TOMACS 6(3), 1996.
#[derive(Debug, Clone)]
pub struct Zipf {
    exponent: f64,
    high: f64,
    span: f64,
    accept: f64,
    n: f64,
}

impl Zipf {
    pub fn new(n: u64, exponent: f64) -> Zipf {
        let mut zipf = Zipf { exponent, high: 0.0, span: 0.0, accept: 0.0, n: n as f64 };
        zipf.high = zipf.integral(n as f64 + 0.5);
        zipf.span = zipf.integral(1.5) - 1.0 - zipf.high;
        zipf.accept = 2.0 - zipf.inverse(zipf.integral(2.5) - libm::pow(2.0, -exponent));
        zipf
    }

    pub fn ranks(&self) -> u64 {
        self.n as u64
    }

    /// Rank 1 … n of draw `index` of the stream `key`.
    pub fn at(&self, key: u64, index: u64) -> u64 {
        let sub = hash(key, index);
        let mut attempt = 0;
        loop {
            let u = self.high + (hash(sub, attempt) >> 11) as f64 / (1u64 << 53) as f64 * self.span;
            let x = self.inverse(u);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.n);
            if rank - x <= self.accept || u >= self.integral(rank + 0.5) - libm::pow(rank, -self.exponent) {
                return rank as u64;
            }
            attempt += 1;
        }
    }

    /// ∫ t^-exponent from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let (log_x, less) = (libm::log(x), 1.0 - self.exponent);
        if (less * log_x).abs() < 1e-12 {
            log_x
        } else {
            libm::expm1(less * log_x) / less
        }
    }

    fn inverse(&self, y: f64) -> f64 {
        let less = 1.0 - self.exponent;
        if (less * y).abs() < 1e-12 {
            libm::exp(y)
        } else {
            libm::exp(libm::log1p((less * y).max(-1.0 + 1e-16)) / less)
        }
    }
}
