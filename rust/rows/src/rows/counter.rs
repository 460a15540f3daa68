//! Counters that never fall, in closed form: the value of a series at a sweep costs O(1), alone.

use std::sync::Arc;

use super::hash::{fraction_of, fraction_of_unsigned, hash, mix, place, scale, second, Range, STEP};
use super::integers::Chunk;
use super::remembered::{Along, Remembered, Room};
use super::simd::{vectorised, Level};
use super::table::{Cyclic, Quantiles};

#[derive(Clone)]
pub struct Counter {
    pub start: Start,
    /// Series with a group hash below this are idle; in 2^-32.
    pub idle_below: u64,
    pub group_key: u64,
    pub move_key: u64,
    pub moves: Moves,
    /// Wraps by the mask, stops at the maximum; one of the two is all ones.
    pub mask: u64,
    pub max: u64,
    /// Sweeps from one reset to the next; `u64::MAX`: never.
    pub reset_sweeps: u64,
    /// Of log-normal counters of tables that are not too large.
    pub remembered: Option<Arc<Remembered>>,
}

#[derive(Clone, Copy)]
pub struct Start {
    pub key: u64,
    pub from: u64,
    pub range: Range,
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
        (self.from + self.range.scale(h), second(h))
    }
}

impl Counter {
    /// Draws once what is drawn by series, if there is room.
    pub fn remember(&mut self, series: u64, room: &mut Room) {
        let Moves::Lognormal { rate, cap } = &self.moves else { return };
        self.remembered = Remembered::new(room, series, |places, start, mean, jitters| {
            draw_series(Level::best(), self, rate, *cap, places, start, mean, jitters)
        });
    }

    /// `ROOM`: rows of the longest chunk.
    pub fn fill<const ROOM: usize>(&self, level: Level, chunk: &Chunk, out: &mut [i64]) {
        let mut room;
        let since = if self.reset_sweeps == u64::MAX {
            chunk.sweep
        } else {
            room = [0u64; ROOM];
            self.sweeps_since_reset(chunk.sweep, &mut room)
        };
        if let Some(along) = self.remembered(chunk, out.len()) {
            return remembered(level, self, along, chunk, since, out);
        }
        match &self.moves {
            Moves::Lognormal { rate, cap } => lognormal(level, self, rate, *cap, chunk, since, out),
            Moves::Poisson { increments } => poisson(level, self, increments, chunk, since, out),
            Moves::Burst { window, sizes } => burst(level, self, *window, sizes, chunk, since, out),
        }
    }

    /// What is known of the series of `n` rows; None: nothing, or the rows are not neighbours.
    fn remembered(&self, chunk: &Chunk, n: usize) -> Option<Along<'_>> {
        let known = self.remembered.as_ref().filter(|_| chunk.in_order && n > 0)?;
        Some(known.along(chunk.series[0], n))
    }

    /// Largest value that can occur; None: no bound below 2^64.
    pub fn limit(&self) -> Option<u64> {
        let limit = self.mask.min(self.max);
        (limit < u64::MAX).then_some(limit)
    }

    /// Division only where the sweep changes: batches run along series.
    fn sweeps_since_reset<'a>(&self, sweep: &[u64], since: &'a mut [u64]) -> &'a [u64] {
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

    /// All ones where the series moves, for masking.
    #[inline(always)]
    fn moving(&self, series: u64) -> u64 {
        (self.is_idle(series) as u64).wrapping_sub(1)
    }

    /// Growth of a moving series since the last reset.
    fn burst_growth(&self, window: u64, sizes: &Cyclic, series: u64, sweep: u64, since: u64) -> u64 {
        let (_, h) = self.start.of(series);
        let era = if self.reset_sweeps == u64::MAX { 0 } else { sweep / self.reset_sweeps };
        let era_key = hash(hash(self.move_key, series), era);
        let phase = scale(h, window);
        let events = |x: u64| {
            let (number, inside) = if x < window { (0, x) } else { (x / window, x % window) };
            number + (inside >= scale(hash(era_key, number), window)) as u64
        };
        let first = h & 1023;
        sizes.sum(first + events(phase + since)).wrapping_sub(sizes.sum(first + events(phase)))
    }

    /// Mean increment per sweep of a series, and how far single increments stray from it.
    #[inline(always)]
    fn mean_and_amplitude(&self, drawn: i64, cap: u64, moving: u64) -> (u64, u64) {
        let mean = (drawn as u64).min(cap) & moving;
        // The jitter is drawn with 32 bits.
        (mean, mean.min(cap - mean).min(0xffff_fffe))
    }
}

/// Loops are cut into blocks and stages: look-ups do not vectorise everywhere, what stands around them does.
const BLOCK: usize = 64;

vectorised! {
    fn lognormal(counter: &Counter, rate: &Quantiles, cap: u64, chunk: &Chunk, since: &[u64], out: &mut [i64]) {
        let mut start = [0u64; BLOCK];
        let mut moving = [0u64; BLOCK];
        let mut mean = [0i64; BLOCK];
        for at in (0..out.len()).step_by(BLOCK) {
            let n = (out.len() - at).min(BLOCK);
            let (rows, series) = (&chunk.rows[at..at + n], &chunk.series[at..at + n]);
            let (sweep, since, out) = (&chunk.sweep[at..at + n], &since[at..at + n], &mut out[at..at + n]);
            counter.draw_rates(rate, series, &mut start, &mut moving, &mut mean);
            for i in 0..n {
                let (mean, amplitude) = counter.mean_and_amplitude(mean[i], cap, moving[i]);
                let jitter = ((hash(counter.move_key, rows[i]) >> 32) * (amplitude + 1)) >> 32;
                let grown = mean.wrapping_mul(since[i]).wrapping_add(jitter);
                out[i] = counter.limited(counter.base(start[i], sweep[i]).wrapping_add(grown));
            }
        }
    }
}

impl Counter {
    /// Start, whether it moves, and the rate drawn, of each series of a block.
    #[inline(always)]
    fn draw_rates(
        &self,
        rate: &Quantiles,
        series: &[u64],
        start: &mut [u64; BLOCK],
        moving: &mut [u64; BLOCK],
        mean: &mut [i64; BLOCK],
    ) {
        let n = series.len().min(BLOCK);
        let mut cell = [0u64; BLOCK];
        let mut inside = [0u64; BLOCK];
        let mut step = [0i64; BLOCK];
        for i in 0..n {
            let (from, h) = self.start.of(series[i]);
            start[i] = from;
            (cell[i], inside[i]) = Quantiles::cell_of(h);
        }
        if self.idle_below == 0 {
            moving[..n].fill(u64::MAX);
        } else {
            moving[..n].iter_mut().zip(series).for_each(|(moving, &series)| *moving = self.moving(series));
        }
        for i in 0..n {
            (mean[i], step[i]) = rate.look_up(cell[i]);
        }
        for i in 0..n {
            mean[i] += fraction_of(step[i], inside[i]);
        }
    }
}

vectorised! {
    fn draw_series(
        counter: &Counter, rate: &Quantiles, cap: u64, series: &[u64],
        start: &mut [u64], mean: &mut [u64], jitters: &mut [u32],
    ) {
        let mut starts = [0u64; BLOCK];
        let mut moving = [0u64; BLOCK];
        let mut drawn = [0i64; BLOCK];
        for at in (0..series.len()).step_by(BLOCK) {
            let n = (series.len() - at).min(BLOCK);
            counter.draw_rates(rate, &series[at..at + n], &mut starts, &mut moving, &mut drawn);
            start[at..at + n].copy_from_slice(&starts[..n]);
            for i in 0..n {
                let (m, amplitude) = counter.mean_and_amplitude(drawn[i], cap, moving[i]);
                (mean[at + i], jitters[at + i]) = (m, amplitude as u32 + 1);
            }
        }
    }
}

vectorised! {
    /// As `lognormal`, for neighbouring rows.
    fn remembered(counter: &Counter, along: Along, chunk: &Chunk, since: &[u64], out: &mut [i64]) {
        let n = out.len();
        let (start, mean, jitters) = (&along.start[..n], &along.mean[..n], &along.jitters[..n]);
        let (since, out) = (&since[..n], &mut out[..n]);
        let mut at = place(counter.move_key, chunk.rows[0]);
        for i in 0..n {
            let jitter = ((mix(at) >> 32) * jitters[i] as u64) >> 32;
            out[i] = mean[i].wrapping_mul(since[i]).wrapping_add(start[i]).wrapping_add(jitter) as i64;
            at = at.wrapping_add(STEP);
        }
        if counter.reset_sweeps != u64::MAX {
            let sweep = &chunk.sweep[..n];
            for i in 0..n {
                out[i] = out[i].wrapping_sub((start[i] - counter.base(start[i], sweep[i])) as i64);
            }
        }
        if counter.limit().is_some() {
            out.iter_mut().for_each(|v| *v = counter.limited(*v as u64));
        }
    }
}

vectorised! {
    fn poisson(counter: &Counter, increments: &Cyclic, chunk: &Chunk, since: &[u64], out: &mut [i64]) {
        let mut start = [0u64; BLOCK];
        let mut offset = [0u64; BLOCK];
        let mut grown = [0u64; BLOCK];
        for at in (0..out.len()).step_by(BLOCK) {
            let n = (out.len() - at).min(BLOCK);
            let (series, sweep) = (&chunk.series[at..at + n], &chunk.sweep[at..at + n]);
            let (since, out) = (&since[at..at + n], &mut out[at..at + n]);
            for i in 0..n {
                let (from, h) = counter.start.of(series[i]);
                (start[i], offset[i]) = (from, h >> 54);
            }
            for i in 0..n {
                grown[i] = increments.sum(offset[i].wrapping_add(since[i])).wrapping_sub(increments.sum(offset[i]));
            }
            for i in 0..n {
                let grown = if counter.idle_below == 0 { grown[i] } else { grown[i] & counter.moving(series[i]) };
                out[i] = counter.limited(counter.base(start[i], sweep[i]).wrapping_add(grown));
            }
        }
    }
}

vectorised! {
    /// Series that never move cost no more than their start.
    fn burst(counter: &Counter, window: u64, sizes: &Cyclic, chunk: &Chunk, since: &[u64], out: &mut [i64]) {
        let mut start = [0u64; BLOCK];
        let mut moving = [u64::MAX; BLOCK];
        for at in (0..out.len()).step_by(BLOCK) {
            let n = (out.len() - at).min(BLOCK);
            let (series, sweep) = (&chunk.series[at..at + n], &chunk.sweep[at..at + n]);
            let out = &mut out[at..at + n];
            for i in 0..n {
                start[i] = counter.base(counter.start.of(series[i]).0, sweep[i]);
                out[i] = counter.limited(start[i]);
            }
            if counter.idle_below > 0 {
                moving[..n].iter_mut().zip(series).for_each(|(moving, &series)| *moving = counter.moving(series));
            }
            for i in 0..n {
                if moving[i] != 0 {
                    let grown = counter.burst_growth(window, sizes, series[i], sweep[i], since[at + i]);
                    out[i] = counter.limited(start[i].wrapping_add(grown));
                }
            }
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
        match self.counter.remembered(chunk, out.len()) {
            Some(along) => remembered_excess(level, self, along, of, out),
            None => excess(level, self, rate, *cap, chunk, of, out),
        }
    }

    /// `of`, `start` and `mean` of the source's value, in one row.
    #[inline(always)]
    fn value(&self, of: i64, start: u64, mean: u64) -> i64 {
        let grown = (of as u64).wrapping_sub(start);
        let value = grown.wrapping_mul(self.whole).wrapping_add(fraction_of_unsigned(grown, self.part));
        if mean > self.above {
            value.min(self.max) as i64
        } else {
            0
        }
    }
}

vectorised! {
    fn remembered_excess(excess: &Excess, along: Along, of: &[i64], out: &mut [i64]) {
        let n = out.len();
        let (start, mean, of) = (&along.start[..n], &along.mean[..n], &of[..n]);
        for i in 0..n {
            out[i] = excess.value(of[i], start[i], mean[i]);
        }
    }
}

vectorised! {
    fn excess(excess: &Excess, rate: &Quantiles, cap: u64, chunk: &Chunk, of: &[i64], out: &mut [i64]) {
        let mut start = [0u64; BLOCK];
        let mut moving = [0u64; BLOCK];
        let mut mean = [0i64; BLOCK];
        for at in (0..out.len()).step_by(BLOCK) {
            let n = (out.len() - at).min(BLOCK);
            let (series, of, out) = (&chunk.series[at..at + n], &of[at..at + n], &mut out[at..at + n]);
            excess.counter.draw_rates(rate, series, &mut start, &mut moving, &mut mean);
            for i in 0..n {
                let (mean, _) = excess.counter.mean_and_amplitude(mean[i], cap, moving[i]);
                out[i] = excess.value(of[i], start[i], mean);
            }
        }
    }
}
