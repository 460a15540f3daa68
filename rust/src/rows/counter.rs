//! Counters that never fall, in closed form: the value of a series at a sweep costs O(1), alone.

use std::sync::Arc;

use super::hash::{fraction_of_unsigned, hash, scale, second};
use super::lane::{Chunk, CHUNK};
use super::simd::{vectorised, Level};
use super::table::{Cyclic, Quantiles};

#[derive(Clone)]
pub struct Counter {
    pub start: Start,
    /// Series whose group hash is below are idle; in 2^-32.
    pub idle_below: u64,
    pub group_key: u64,
    pub move_key: u64,
    pub moves: Moves,
    /// Wraps by the mask, stops at the maximum; one of the two is all ones.
    pub mask: u64,
    pub max: u64,
    /// Sweeps from one reset to the next; `u64::MAX`: never.
    pub reset_sweeps: u64,
}

#[derive(Clone, Copy)]
pub struct Start {
    pub key: u64,
    pub from: u64,
    pub range: u64,
}

#[derive(Clone)]
pub enum Moves {
    /// Mean per sweep from the table; increments triangular in mean ± min(mean, cap - mean).
    Lognormal {
        rate: Arc<Quantiles>,
        cap: u64,
    },
    Poisson {
        increments: Arc<Cyclic>,
    },
    /// One event at a random place of every `window` sweeps.
    Burst {
        window: u64,
        sizes: Arc<Cyclic>,
    },
}

impl Start {
    #[inline(always)]
    fn of(&self, series: u64) -> (u64, u64) {
        let h = hash(self.key, series);
        (self.from + scale(h, self.range), second(h))
    }
}

impl Counter {
    pub fn fill(&self, level: Level, chunk: &Chunk, out: &mut [i64]) {
        let mut since = [0u64; CHUNK];
        let since = self.sweeps_since_reset(chunk.sweep, &mut since);
        match &self.moves {
            Moves::Lognormal { rate, cap } => lognormal(level, self, rate, *cap, chunk, since, out),
            Moves::Poisson { increments } => poisson(level, self, increments, chunk, since, out),
            Moves::Burst { window, sizes } => self.burst(*window, sizes, chunk, since, out),
        }
    }

    /// Largest value that can occur; None: no bound below 2^64.
    pub fn limit(&self) -> Option<u64> {
        let limit = self.mask.min(self.max);
        (limit < u64::MAX).then_some(limit)
    }

    /// Division only where the sweep changes: batches run along series.
    fn sweeps_since_reset<'a>(&self, sweep: &'a [u64], since: &'a mut [u64; CHUNK]) -> &'a [u64] {
        if self.reset_sweeps == u64::MAX {
            return sweep;
        }
        let (mut last, mut last_since) = (u64::MAX, 0);
        for (since, &sweep) in since.iter_mut().zip(sweep) {
            if sweep != last {
                (last, last_since) = (sweep, sweep % self.reset_sweeps);
            }
            *since = last_since;
        }
        &since[..sweep.len()]
    }

    #[inline(always)]
    fn is_idle(&self, series: u64) -> bool {
        (hash(self.group_key, series) >> 32) < self.idle_below
    }

    /// Value at the last reset: the start in the first era, 0 later.
    #[inline(always)]
    fn base(&self, start: u64, sweep: u64) -> u64 {
        if sweep < self.reset_sweeps {
            start
        } else {
            0
        }
    }

    #[inline(always)]
    fn limited(&self, value: u64) -> i64 {
        (value & self.mask).min(self.max) as i64
    }

    fn burst(&self, window: u64, sizes: &Cyclic, chunk: &Chunk, since: &[u64], out: &mut [i64]) {
        for (i, out) in out.iter_mut().enumerate() {
            let (series, sweep) = (chunk.series[i], chunk.sweep[i]);
            let (start, h) = self.start.of(series);
            let base = self.base(start, sweep);
            let grown = if self.is_idle(series) {
                0
            } else {
                let phase = scale(h, window);
                let era_key = hash(hash(self.move_key, series), sweep / self.reset_sweeps);
                let events = |x: u64| {
                    let at = scale(hash(era_key, x / window), window);
                    x / window + (x % window >= at) as u64
                };
                let first = (h & 1023) + events(phase);
                sizes.sum((h & 1023) + events(phase + since[i])).wrapping_sub(sizes.sum(first))
            };
            *out = self.limited(base.wrapping_add(grown));
        }
    }
}

vectorised! {
    fn lognormal(counter: &Counter, rate: &Quantiles, cap: u64, chunk: &Chunk, since: &[u64], out: &mut [i64]) {
        let n = out.len();
        let (rows, series, sweep, since) = (&chunk.rows[..n], &chunk.series[..n], &chunk.sweep[..n], &since[..n]);
        for i in 0..n {
            let (start, h) = counter.start.of(series[i]);
            let (mean, amplitude) = counter.mean_and_amplitude(rate, cap, series[i], h);
            let jitter = ((hash(counter.move_key, rows[i]) >> 32) * (amplitude + 1)) >> 32;
            let value = counter.base(start, sweep[i]).wrapping_add(mean.wrapping_mul(since[i])).wrapping_add(jitter);
            out[i] = counter.limited(value);
        }
    }
}

impl Counter {
    /// Mean increment per sweep of a series, and how far single increments stray from it.
    #[inline(always)]
    fn mean_and_amplitude(&self, rate: &Quantiles, cap: u64, series: u64, h: u64) -> (u64, u64) {
        let drawn = (rate.at(h) as u64).min(cap);
        let mean = if self.is_idle(series) { 0 } else { drawn };
        // The jitter is drawn with 32 bits.
        (mean, mean.min(cap - mean).min(0xffff_fffe))
    }
}

vectorised! {
    fn poisson(counter: &Counter, increments: &Cyclic, chunk: &Chunk, since: &[u64], out: &mut [i64]) {
        let n = out.len();
        let (series, sweep, since) = (&chunk.series[..n], &chunk.sweep[..n], &since[..n]);
        for i in 0..n {
            let (start, h) = counter.start.of(series[i]);
            let offset = h >> 54;
            let grown = increments.sum(offset.wrapping_add(since[i])).wrapping_sub(increments.sum(offset));
            let grown = if counter.is_idle(series[i]) { 0 } else { grown };
            out[i] = counter.limited(counter.base(start, sweep[i]).wrapping_add(grown));
        }
    }
}

/// Grows with a log-normal counter where its series' mean rate is above a threshold.
#[derive(Clone)]
pub struct Excess {
    pub counter: Counter,
    /// Per sweep.
    pub above: u64,
    /// The ratio's whole part and its fraction in 2^-32.
    pub whole: u64,
    pub part: u64,
    pub max: u64,
}

impl Excess {
    /// `of`: values of the counter in the same rows.
    pub fn fill(&self, level: Level, chunk: &Chunk, of: &[i64], out: &mut [i64]) {
        let Moves::Lognormal { rate, cap } = &self.counter.moves else {
            unreachable!("compile refuses other counters")
        };
        excess(level, self, rate, *cap, chunk, of, out);
    }
}

vectorised! {
    fn excess(excess: &Excess, rate: &Quantiles, cap: u64, chunk: &Chunk, of: &[i64], out: &mut [i64]) {
        let n = out.len();
        let (series, of) = (&chunk.series[..n], &of[..n]);
        for i in 0..n {
            let (start, h) = excess.counter.start.of(series[i]);
            let (mean, _) = excess.counter.mean_and_amplitude(rate, cap, series[i], h);
            let grown = (of[i] as u64).wrapping_sub(start);
            let value = grown.wrapping_mul(excess.whole).wrapping_add(fraction_of_unsigned(grown, excess.part));
            out[i] = if mean > excess.above { value.min(excess.max) as i64 } else { 0 };
        }
    }
}
