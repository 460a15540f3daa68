//! Times: of a row or a sweep, or of a series with a period of its own.

use super::super::hash::{hash, scale, second, Range};
use super::super::order::Ordered;
use super::super::simd::vectorised;
use super::super::table::Quantiles;
use super::Chunk;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBy {
    Row,
    Sweep,
}

vectorised! {
    pub fn time(
        key: u64, base: i64, period: u64, jitter: Option<Range>, rows: &[u64], index: &[u64], out: &mut [i64],
    ) {
        match jitter {
            None => {
                for (out, &i) in out.iter_mut().zip(index) {
                    *out = base.wrapping_add(period.wrapping_mul(i) as i64);
                }
            }
            Some(jitter) => {
                for ((out, &i), &row) in out.iter_mut().zip(index).zip(rows) {
                    let late = jitter.scale(hash(key, row));
                    *out = base.wrapping_add(period.wrapping_mul(i).wrapping_add(late) as i64);
                }
            }
        }
    }
}

/// Of a series' own time, in the column's unit.
#[inline(always)]
pub fn period_and_phase(key: u64, period: &Quantiles, series: u64) -> (u64, u64) {
    let h = hash(key, series);
    let period = period.at(h) as u64;
    (period, scale(second(h), period))
}

vectorised! {
    pub fn series_time(key: u64, base: i64, period: &Quantiles, jitter_range: u64, chunk: &Chunk, out: &mut [i64]) {
        let n = out.len();
        let (rows, series, sweep) = (&chunk.rows[..n], &chunk.series[..n], &chunk.sweep[..n]);
        for i in 0..n {
            let (period, phase) = period_and_phase(key, period, series[i]);
            let jitter = scale(hash(!key, rows[i]), jitter_range);
            out[i] = base.wrapping_add(period.wrapping_mul(sweep[i]).wrapping_add(phase + jitter) as i64);
        }
    }
}

/// Times of events, in whole units.
pub fn event_time(
    ordered: &Ordered,
    key: u64,
    base: i64,
    unit_ns: u64,
    jitter_range: u64,
    chunk: &Chunk,
    out: &mut [i64],
) {
    let all = ordered.events().series();
    for (i, out) in out.iter_mut().enumerate() {
        let at = all[chunk.series[i] as usize].time_ns(chunk.sweep[i]) / unit_ns;
        let jitter = if jitter_range > 1 { scale(hash(key, chunk.rows[i]), jitter_range) } else { 0 };
        *out = base.wrapping_add((at + jitter) as i64);
    }
}
