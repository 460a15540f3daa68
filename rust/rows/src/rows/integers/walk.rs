//! Random walks: the height at any sweep is known without the sweeps before.

use super::super::hash::{hash, Range};
use super::super::simd::vectorised;

const WALK_LEVELS: usize = 10;
/// 2^16 shared out in proportion to 2^(level/2): a random walk's spread over 2^level steps.
const WALK_WEIGHTS: [u64; WALK_LEVELS] = [876, 1239, 1752, 2477, 3503, 4954, 7007, 9909, 14_013, 19_806];

vectorised! {
    /// Knots every 2^level sweeps, straight lines between them, ten levels on top of each other.
    pub fn walk(key: u64, from: i64, range: Range, series: &[u64], sweep: &[u64], out: &mut [i64]) {
        let n = out.len();
        let (series, sweep) = (&series[..n], &sweep[..n]);
        for i in 0..n {
            let path = hash(key, series[i]);
            let mut height = 0u64;
            for (level, weight) in WALK_WEIGHTS.iter().enumerate() {
                let (knot, inside) = (sweep[i] >> level, sweep[i] & ((1 << level) - 1));
                let level_key = path ^ ((level as u64) << 56);
                let (a, b) = (hash(level_key, knot) >> 32, hash(level_key, knot + 1) >> 32);
                height += weight * ((a * ((1 << level) - inside) + b * inside) >> level);
            }
            out[i] = from.wrapping_add(range.scale(height << 16) as i64);
        }
    }
}
