//! Integer generators: every number, time and float of a row is one of these, as an `i64`.
//!
//! Reading order: `chunk` (the rows that are filled at once), then a file for each kind: `counted`, `drawn`, `derived`,
//! `times`, `walk`, `job`.

mod chunk;
mod counted;
mod derived;
mod drawn;
mod job;
mod times;
mod walk;

use std::sync::Arc;

use super::chunk_files::ChunkFiles;
use super::counter::{Counter, Excess};
use super::hash::{hash, Permutation, Range};
use super::order::Ordered;
use super::simd::Level;
use super::table::{Alias, Quantiles};
use super::zipf::Zipf;
use crate::plan::ChunkPart;
use counted::{cycle, each, each_run, sequence};
use derived::{add, difference, offset, ratio};
use drawn::{choice, flag, quantile, uniform};
use times::{event_time, series_time, time};
use walk::walk;

pub use chunk::{Chunk, Draw, Sources, CHUNK, FEW};
pub use job::Job;
pub use times::{period_and_phase, TimeBy};

#[derive(Clone)]
pub enum IntGenerator {
    Sequence {
        start: i64,
        step: i64,
    },
    Constant {
        value: i64,
    },
    Cycle {
        from: i64,
        n: u64,
        every: u64,
    },
    Shuffled {
        from: i64,
        n: u64,
        order: Permutation,
    },
    /// `range` = 0 stands for 2^64.
    Uniform {
        draw: Draw,
        from: i64,
        range: u64,
    },
    Quantile {
        draw: Draw,
        table: Arc<Quantiles>,
    },
    Choice {
        draw: Draw,
        alias: Arc<Alias>,
        from: i64,
    },
    Pick {
        draw: Draw,
        alias: Arc<Alias>,
        values: Arc<[i64]>,
    },
    Zipf {
        draw: Draw,
        zipf: Zipf,
        from: i64,
    },
    /// Zipf's ranks spread over the range.
    Scattered {
        ranks: Box<IntGenerator>,
        from: i64,
        order: Permutation,
    },
    Flag {
        draw: Draw,
        below: u64,
    },
    Counter(Counter),
    Excess {
        of: usize,
        excess: Excess,
    },
    Ratio {
        of: usize,
        whole: u64,
        part: u64,
        signed: bool,
    },
    Sum {
        of: Vec<usize>,
    },
    Difference {
        of: usize,
        minus: usize,
        stop_at_0: bool,
    },
    Offset {
        of: usize,
        key: u64,
        from: i64,
        range: u64,
        bounds: Option<(i64, i64)>,
    },
    Walk {
        key: u64,
        from: i64,
        range: u64,
    },
    /// `base + index * period + uniform(0 … jitter_range - 1)`, in the column's unit.
    Time {
        by: TimeBy,
        key: u64,
        base: i64,
        period: u64,
        jitter_range: u64,
    },
    SeriesTime {
        key: u64,
        base: i64,
        period: Arc<Quantiles>,
        jitter_range: u64,
    },
    /// `base` + the event's time in whole units + uniform(0 … jitter_range - 1).
    EventTime {
        ordered: Arc<Ordered>,
        key: u64,
        base: i64,
        unit_ns: u64,
        jitter_range: u64,
    },
    Pattern {
        prefix: u64,
        every: u64,
        order: Permutation,
    },
    Foreign {
        series: Box<IntGenerator>,
        of: Box<IntGenerator>,
        one_series: bool,
    },
    Job(Job),
    Rank(Job),
    /// Of a table in files of chunks.
    Chunk {
        files: Arc<ChunkFiles>,
        part: ChunkPart,
    },
}

impl IntGenerator {
    /// The value of one row that is counted or drawn from its number or its place; None: it takes more than that (`fill`).
    #[inline]
    pub fn alone(&self, row: u64, place: u64) -> Option<i64> {
        Some(match self {
            IntGenerator::Sequence { start, step } => start.wrapping_add(step.wrapping_mul(row as i64)),
            IntGenerator::Constant { value } => *value,
            IntGenerator::Cycle { from, n, every } => from.wrapping_add((place / every % n) as i64),
            IntGenerator::Shuffled { from, n, order } => from.wrapping_add(order.at(row % n) as i64),
            IntGenerator::Uniform { draw, from, range } => {
                let drawn = hash(draw.key, draw.of(row, place));
                let offset = if *range > 0 { Range::new(*range).scale(drawn) } else { drawn };
                from.wrapping_add(offset as i64)
            }
            IntGenerator::Flag { draw, below } => {
                i64::from((hash(draw.key, draw.of(row, place)) >> 32) < *below)
            }
            _ => return None,
        })
    }

    /// Values of the chunk's rows, `ROOM` at most. `source` gives the integer generators of columns filled before.
    pub fn fill<const ROOM: usize>(
        &self,
        level: Level,
        chunk: &Chunk,
        source: &Sources<ROOM>,
        out: &mut [i64],
    ) {
        match self {
            IntGenerator::Sequence { start, step } => sequence(level, *start, *step, chunk.rows, out),
            IntGenerator::Constant { value } => out.fill(*value),
            IntGenerator::Cycle { from, n, every } => cycle(chunk.place(), *from, *n, *every, out),
            IntGenerator::Shuffled { from, n, order } => {
                each(chunk.rows, out, |row| from.wrapping_add(order.at(row % n) as i64))
            }
            IntGenerator::Uniform { draw, from, range } => uniform(
                level,
                draw.key,
                *from,
                (*range > 0).then(|| Range::new(*range)),
                draw.index(chunk),
                out,
            ),
            IntGenerator::Quantile { draw, table } => {
                quantile(level, draw.key, table, draw.index(chunk), out)
            }
            IntGenerator::Choice { draw, alias, from } => {
                choice(level, draw.key, alias, *from, draw.index(chunk), out)
            }
            IntGenerator::Pick { draw, alias, values } => {
                each(draw.index(chunk), out, |i| values[alias.at(hash(draw.key, i)) as usize])
            }
            IntGenerator::Zipf { draw, zipf, from } => {
                each(draw.index(chunk), out, |i| from.wrapping_add(zipf.at(draw.key, i) as i64 - 1))
            }
            IntGenerator::Scattered { ranks, from, order } => {
                ranks.fill(level, chunk, source, out);
                out.iter_mut().for_each(|v| *v = from.wrapping_add(order.at(*v as u64) as i64));
            }
            IntGenerator::Flag { draw, below } => flag(level, draw.key, *below, draw.index(chunk), out),
            IntGenerator::Counter(counter) => counter.fill::<ROOM>(level, chunk, out),
            IntGenerator::Excess { of, excess } => excess.fill(level, chunk, source.integers(*of), out),
            IntGenerator::Ratio { of, whole, part, signed } => {
                ratio(level, *whole, *part, *signed, source.integers(*of), out)
            }
            IntGenerator::Sum { of } => {
                out.fill(0);
                of.iter().for_each(|&of| add(level, source.integers(of), out));
            }
            IntGenerator::Difference { of, minus, stop_at_0 } => {
                difference(level, *stop_at_0, source.integers(*of), source.integers(*minus), out)
            }
            IntGenerator::Offset { of, key, from, range, .. } => {
                offset(level, *key, *from, Range::new(*range), chunk.rows, source.integers(*of), out)
            }
            IntGenerator::Walk { key, from, range } => {
                walk(level, *key, *from, Range::new(*range), chunk.series, chunk.sweep, out)
            }
            IntGenerator::Time { by, key, base, period, jitter_range } => {
                let index = if *by == TimeBy::Row { chunk.rows } else { chunk.sweep };
                let jitter = (*jitter_range > 1).then(|| Range::new(*jitter_range));
                time(level, *key, *base, *period, jitter, chunk.rows, index, out)
            }
            IntGenerator::SeriesTime { key, base, period, jitter_range } => {
                series_time(level, *key, *base, period, *jitter_range, chunk, out)
            }
            IntGenerator::EventTime { ordered, key, base, unit_ns, jitter_range } => {
                event_time(ordered, *key, *base, *unit_ns, *jitter_range, chunk, out)
            }
            IntGenerator::Pattern { prefix, every, order } => {
                each_run(chunk.place(), *every, out, |number| (prefix | order.at(number)) as i64)
            }
            IntGenerator::Foreign { series, of, one_series } => {
                let mut places = [0u64; ROOM];
                foreign_places(series, level, chunk, &mut places);
                with_foreign_chunk::<ROOM, _>(&places[..chunk.len()], *one_series, |chunk| {
                    of.fill(level, chunk, source, out)
                });
            }
            IntGenerator::Job(job) => job.fill(chunk, out),
            IntGenerator::Rank(job) => job.ranks(chunk, out),
            IntGenerator::Chunk { files, part } => files.fill(*part, chunk.rows, out),
        }
    }

    /// The files that all of these are parts of, and the parts; None: one of them is another generator.
    pub fn all_of_chunks(
        fields: &[IntGenerator],
    ) -> Option<(&Arc<ChunkFiles>, impl Iterator<Item = ChunkPart> + Clone + '_)> {
        let files = match fields.first()? {
            IntGenerator::Chunk { files, .. } => files,
            _ => return None,
        };
        let part = |field: &IntGenerator| match field {
            IntGenerator::Chunk { part, .. } => Some(*part),
            _ => None,
        };
        fields.iter().all(|field| part(field).is_some()).then(|| (files, fields.iter().filter_map(part)))
    }

    /// The value depends on the place alone; so it stays with its series.
    pub fn is_by_place(&self) -> bool {
        match self {
            IntGenerator::Constant { .. } | IntGenerator::Cycle { .. } | IntGenerator::Pattern { .. } => true,
            IntGenerator::Uniform { draw, .. }
            | IntGenerator::Quantile { draw, .. }
            | IntGenerator::Choice { draw, .. }
            | IntGenerator::Pick { draw, .. }
            | IntGenerator::Zipf { draw, .. }
            | IntGenerator::Flag { draw, .. } => draw.is_by_place(),
            IntGenerator::Scattered { ranks, .. } => ranks.is_by_place(),
            _ => false,
        }
    }

    /// Smallest and largest value; None: not bounded by the generator.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        let span = |from: i64, range: u64| {
            (range > 0 && range - 1 <= i64::MAX as u64)
                .then(|| Some((from, from.checked_add((range - 1) as i64)?)))
                .flatten()
        };
        match self {
            IntGenerator::Constant { value } => Some((*value, *value)),
            IntGenerator::Cycle { from, n, .. } | IntGenerator::Shuffled { from, n, .. } => span(*from, *n),
            IntGenerator::Uniform { from, range, .. } | IntGenerator::Walk { from, range, .. } => {
                span(*from, *range)
            }
            IntGenerator::Quantile { table, .. } => Some((table.min, table.max)),
            IntGenerator::Choice { alias, from, .. } => span(*from, alias.len() as u64),
            IntGenerator::Pick { values, .. } => Some((*values.iter().min()?, *values.iter().max()?)),
            IntGenerator::Zipf { zipf, from, .. } => span(*from, zipf.ranks()),
            IntGenerator::Scattered { ranks, from, .. } => {
                let (_, last) = ranks.bounds()?;
                Some((*from, from.checked_add(last)?))
            }
            IntGenerator::Flag { .. } => Some((0, 1)),
            IntGenerator::Counter(counter) => Some((0, i64::try_from(counter.limit()?).ok()?)),
            IntGenerator::Excess { excess, .. } => Some((0, i64::try_from(excess.max).ok()?)),
            IntGenerator::Rank(job) => Some((0, (1 << job.block_bits) - 1)),
            IntGenerator::Foreign { of, .. } => of.bounds(),
            IntGenerator::Chunk { files, part } => Some(files.bounds(*part)),
            IntGenerator::Offset { bounds, .. } => *bounds,
            _ => None,
        }
    }
}

/// Series of the other table, as places.
pub fn foreign_places<const ROOM: usize>(
    series: &IntGenerator,
    level: Level,
    chunk: &Chunk,
    places: &mut [u64; ROOM],
) {
    let mut drawn = [0i64; ROOM];
    series.fill(level, chunk, &Sources::<ROOM>::NONE, &mut drawn[..chunk.len()]);
    places.iter_mut().zip(drawn).for_each(|(place, v)| *place = v as u64);
}

/// The rows of sweep 0 of another table, for these series.
pub fn with_foreign_chunk<const ROOM: usize, T>(
    places: &[u64],
    one_series: bool,
    then: impl FnOnce(&Chunk) -> T,
) -> T {
    let zeros = [0u64; ROOM];
    let zeros = &zeros[..places.len()];
    if one_series {
        then(&Chunk { rows: places, series: zeros, sweep: places, one_series, in_order: false })
    } else {
        then(&Chunk { rows: places, series: places, sweep: zeros, one_series, in_order: false })
    }
}
