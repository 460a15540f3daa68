//! Integer generators: every number, time and float of a row is one of these, as an `i64` lane.

use std::sync::Arc;

use super::columns::{Column, Values};
use super::counter::{Counter, Excess};
use super::hash::{fraction_of, fraction_of_unsigned, hash, scale, second, Permutation, Range};
use super::simd::{vectorised, Level};
use super::spec::Per;
use super::table::{Alias, Quantiles, Zipf};

/// Rows are made in chunks of this many: all of a chunk's lanes stay in the first cache.
pub const CHUNK: usize = 1024;

/// Where the rows of a chunk stand. All slices have one length, `CHUNK` at most.
pub struct Chunk<'a> {
    pub rows: &'a [u64],
    pub series: &'a [u64],
    pub sweep: &'a [u64],
    /// The table has one series: places are rows.
    pub one_series: bool,
    /// Rows follow one another, and so do series up to the table's last.
    pub in_order: bool,
}

impl Chunk<'_> {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn place(&self) -> &[u64] {
        if self.one_series {
            self.rows
        } else {
            self.series
        }
    }
}

/// Lanes of other columns in the same rows.
pub struct Sources<'a> {
    pub columns: &'a [Column],
    /// Where the chunk's rows stand in the columns.
    pub rows: std::ops::Range<usize>,
    /// 32-bit columns, widened.
    pub wide: &'a [(usize, [i64; CHUNK])],
}

impl<'a> Sources<'a> {
    pub const NONE: Sources<'static> = Sources { columns: &[], rows: 0..0, wide: &[] };

    fn lane(&self, column: usize) -> &'a [i64] {
        if let Values::I64(v) = &self.columns[column].values {
            return &v[self.rows.clone()];
        }
        let (_, wide) = self.wide.iter().find(|(c, _)| *c == column).expect("generate widens what is narrow");
        &wide[..self.rows.len()]
    }
}

/// A stream of draws, indexed by row or by place.
#[derive(Clone, Copy)]
pub struct Draw {
    pub key: u64,
    pub per: Per,
}

impl Draw {
    pub fn is_by_place(&self) -> bool {
        self.per == Per::Series
    }

    fn index<'a>(&self, chunk: &'a Chunk) -> &'a [u64] {
        match self.per {
            Per::Row => chunk.rows,
            Per::Series => chunk.place(),
        }
    }
}

#[derive(Clone)]
pub enum Lane {
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
        ranks: Box<Lane>,
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
    Pattern {
        prefix: u64,
        every: u64,
        order: Permutation,
    },
    Foreign {
        series: Box<Lane>,
        of: Box<Lane>,
        one_series: bool,
    },
    Job(Job),
    Rank(Job),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBy {
    Row,
    Sweep,
}

impl Lane {
    /// Values of the chunk's rows. `source` gives the lanes of columns filled before.
    pub fn fill(&self, level: Level, chunk: &Chunk, source: &Sources, out: &mut [i64]) {
        match self {
            Lane::Sequence { start, step } => sequence(level, *start, *step, chunk.rows, out),
            Lane::Constant { value } => out.fill(*value),
            Lane::Cycle { from, n, every } => cycle(chunk.place(), *from, *n, *every, out),
            Lane::Shuffled { from, n, order } => {
                each(chunk.rows, out, |row| from.wrapping_add(order.at(row % n) as i64))
            }
            Lane::Uniform { draw, from, range } => uniform(
                level,
                draw.key,
                *from,
                (*range > 0).then(|| Range::new(*range)),
                draw.index(chunk),
                out,
            ),
            Lane::Quantile { draw, table } => quantile(level, draw.key, table, draw.index(chunk), out),
            Lane::Choice { draw, alias, from } => {
                choice(level, draw.key, alias, *from, draw.index(chunk), out)
            }
            Lane::Pick { draw, alias, values } => {
                each(draw.index(chunk), out, |i| values[alias.at(hash(draw.key, i)) as usize])
            }
            Lane::Zipf { draw, zipf, from } => {
                each(draw.index(chunk), out, |i| from.wrapping_add(zipf.at(draw.key, i) as i64 - 1))
            }
            Lane::Scattered { ranks, from, order } => {
                ranks.fill(level, chunk, source, out);
                out.iter_mut().for_each(|v| *v = from.wrapping_add(order.at(*v as u64) as i64));
            }
            Lane::Flag { draw, below } => flag(level, draw.key, *below, draw.index(chunk), out),
            Lane::Counter(counter) => counter.fill(level, chunk, out),
            Lane::Excess { of, excess } => excess.fill(level, chunk, source.lane(*of), out),
            Lane::Ratio { of, whole, part, signed } => {
                ratio(level, *whole, *part, *signed, source.lane(*of), out)
            }
            Lane::Sum { of } => {
                out.fill(0);
                of.iter().for_each(|&of| add(level, source.lane(of), out));
            }
            Lane::Difference { of, minus, stop_at_0 } => {
                difference(level, *stop_at_0, source.lane(*of), source.lane(*minus), out)
            }
            Lane::Offset { of, key, from, range, .. } => {
                offset(level, *key, *from, Range::new(*range), chunk.rows, source.lane(*of), out)
            }
            Lane::Walk { key, from, range } => {
                walk(level, *key, *from, Range::new(*range), chunk.series, chunk.sweep, out)
            }
            Lane::Time { by, key, base, period, jitter_range } => {
                let index = if *by == TimeBy::Row { chunk.rows } else { chunk.sweep };
                let jitter = (*jitter_range > 1).then(|| Range::new(*jitter_range));
                time(level, *key, *base, *period, jitter, chunk.rows, index, out)
            }
            Lane::SeriesTime { key, base, period, jitter_range } => {
                series_time(level, *key, *base, period, *jitter_range, chunk, out)
            }
            Lane::Pattern { prefix, every, order } => {
                each_run(chunk.place(), *every, out, |number| (prefix | order.at(number)) as i64)
            }
            Lane::Foreign { series, of, one_series } => {
                let mut places = [0u64; CHUNK];
                foreign_places(series, level, chunk, &mut places);
                with_foreign_chunk(&places[..chunk.len()], *one_series, |chunk| {
                    of.fill(level, chunk, source, out)
                });
            }
            Lane::Job(job) => job.fill(chunk, out),
            Lane::Rank(job) => each_with(chunk.series, chunk.sweep, out, |series, _| {
                (series & (job.size_of(series >> job.block_bits) - 1)) as i64
            }),
        }
    }

    /// The value depends on the place alone; so it stays with its series.
    pub fn is_by_place(&self) -> bool {
        match self {
            Lane::Constant { .. } | Lane::Cycle { .. } | Lane::Pattern { .. } => true,
            Lane::Uniform { draw, .. }
            | Lane::Quantile { draw, .. }
            | Lane::Choice { draw, .. }
            | Lane::Pick { draw, .. }
            | Lane::Zipf { draw, .. }
            | Lane::Flag { draw, .. } => draw.is_by_place(),
            Lane::Scattered { ranks, .. } => ranks.is_by_place(),
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
            Lane::Constant { value } => Some((*value, *value)),
            Lane::Cycle { from, n, .. } | Lane::Shuffled { from, n, .. } => span(*from, *n),
            Lane::Uniform { from, range, .. } | Lane::Walk { from, range, .. } => span(*from, *range),
            Lane::Quantile { table, .. } => Some((table.min, table.max)),
            Lane::Choice { alias, from, .. } => span(*from, alias.len() as u64),
            Lane::Pick { values, .. } => Some((*values.iter().min()?, *values.iter().max()?)),
            Lane::Zipf { zipf, from, .. } => span(*from, zipf.ranks()),
            Lane::Scattered { ranks, from, .. } => {
                let (_, last) = ranks.bounds()?;
                Some((*from, from.checked_add(last)?))
            }
            Lane::Flag { .. } => Some((0, 1)),
            Lane::Counter(counter) => Some((0, i64::try_from(counter.limit()?).ok()?)),
            Lane::Excess { excess, .. } => Some((0, i64::try_from(excess.max).ok()?)),
            Lane::Rank(job) => Some((0, (1 << job.block_bits) - 1)),
            Lane::Foreign { of, .. } => of.bounds(),
            Lane::Offset { bounds, .. } => *bounds,
            _ => None,
        }
    }
}

/// Series of the other table, as places.
pub fn foreign_places(series: &Lane, level: Level, chunk: &Chunk, places: &mut [u64; CHUNK]) {
    let mut drawn = [0i64; CHUNK];
    series.fill(level, chunk, &Sources::NONE, &mut drawn[..chunk.len()]);
    places.iter_mut().zip(drawn).for_each(|(place, v)| *place = v as u64);
}

/// The rows of sweep 0 of another table, for these series.
pub fn with_foreign_chunk<T>(places: &[u64], one_series: bool, then: impl FnOnce(&Chunk) -> T) -> T {
    let zeros = [0u64; CHUNK];
    let zeros = &zeros[..places.len()];
    if one_series {
        then(&Chunk { rows: places, series: zeros, sweep: places, one_series, in_order: false })
    } else {
        then(&Chunk { rows: places, series: places, sweep: zeros, one_series, in_order: false })
    }
}

fn each(index: &[u64], out: &mut [i64], value: impl Fn(u64) -> i64) {
    for (out, &i) in out.iter_mut().zip(index) {
        *out = value(i);
    }
}

fn each_with(a: &[u64], b: &[u64], out: &mut [i64], value: impl Fn(u64, u64) -> i64) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = value(a, b);
    }
}

/// `from + place / every mod n`; counted where places follow one another, for a division costs as much as ten rows.
fn cycle(places: &[u64], from: i64, n: u64, every: u64, out: &mut [i64]) {
    let mut done = 0;
    while let Some(&place) = places.get(done) {
        let (at, inside) = (place / every % n, place % every);
        let follow = places[done..].iter().zip(place..).take_while(|(a, b)| **a == *b).count();
        count_along(at, inside, n, every, from, &mut out[done..done + follow]);
        done += follow;
    }
}

/// Values of places that follow one another, the first of which is number `inside` of `every` in step `at` of `n`.
fn count_along(mut at: u64, mut inside: u64, n: u64, every: u64, from: i64, mut out: &mut [i64]) {
    while !out.is_empty() {
        let same = (every - inside).min(out.len() as u64);
        if every == 1 {
            let run = (n - at).min(out.len() as u64);
            let (now, later) = out.split_at_mut(run as usize);
            now.iter_mut().zip(at..).for_each(|(v, at)| *v = from.wrapping_add(at as i64));
            (at, out) = (0, later);
        } else {
            let (now, later) = out.split_at_mut(same as usize);
            now.fill(from.wrapping_add(at as i64));
            (at, inside, out) = (if at + 1 == n { 0 } else { at + 1 }, 0, later);
        }
    }
}

/// As `each` of `place / every`, made once where neighbours share it.
fn each_run(places: &[u64], every: u64, out: &mut [i64], value: impl Fn(u64) -> i64) {
    let (mut last, mut made) = (None, 0);
    let mut until = 0;
    for (out, &place) in out.iter_mut().zip(places) {
        if last.is_none_or(|number: u64| place < number * every || place >= until) {
            let number = place / every;
            (last, made, until) = (Some(number), value(number), (number + 1).saturating_mul(every));
        }
        *out = made;
    }
}

vectorised! {
    fn sequence(start: i64, step: i64, rows: &[u64], out: &mut [i64]) {
        for (out, &row) in out.iter_mut().zip(rows) {
            *out = start.wrapping_add(step.wrapping_mul(row as i64));
        }
    }
}

vectorised! {
    fn uniform(key: u64, from: i64, range: Option<Range>, index: &[u64], out: &mut [i64]) {
        match range {
            None => out.iter_mut().zip(index).for_each(|(out, &i)| *out = from.wrapping_add(hash(key, i) as i64)),
            Some(range) => {
                for (out, &i) in out.iter_mut().zip(index) {
                    *out = from.wrapping_add(range.scale(hash(key, i)) as i64);
                }
            }
        }
    }
}

vectorised! {
    fn quantile(key: u64, table: &Quantiles, index: &[u64], out: &mut [i64]) {
        for (out, &i) in out.iter_mut().zip(index) {
            *out = table.at(hash(key, i));
        }
    }
}

vectorised! {
    fn choice(key: u64, alias: &Alias, from: i64, index: &[u64], out: &mut [i64]) {
        for (out, &i) in out.iter_mut().zip(index) {
            *out = from.wrapping_add(alias.at(hash(key, i)) as i64);
        }
    }
}

vectorised! {
    fn flag(key: u64, below: u64, index: &[u64], out: &mut [i64]) {
        for (out, &i) in out.iter_mut().zip(index) {
            *out = ((hash(key, i) >> 32) < below) as i64;
        }
    }
}

vectorised! {
    fn ratio(whole: u64, part: u64, signed: bool, of: &[i64], out: &mut [i64]) {
        if signed {
            for (out, &v) in out.iter_mut().zip(of) {
                *out = v.wrapping_mul(whole as i64).wrapping_add(fraction_of(v, part));
            }
        } else {
            for (out, &v) in out.iter_mut().zip(of) {
                *out = v.wrapping_mul(whole as i64).wrapping_add(fraction_of_unsigned(v as u64, part) as i64);
            }
        }
    }
}

vectorised! {
    fn add(of: &[i64], out: &mut [i64]) {
        for (out, &v) in out.iter_mut().zip(of) {
            *out = out.wrapping_add(v);
        }
    }
}

vectorised! {
    fn difference(stop_at_0: bool, of: &[i64], minus: &[i64], out: &mut [i64]) {
        for ((out, &a), &b) in out.iter_mut().zip(of).zip(minus) {
            *out = if stop_at_0 && (a as u64) < b as u64 { 0 } else { a.wrapping_sub(b) };
        }
    }
}

vectorised! {
    fn offset(key: u64, from: i64, range: Range, rows: &[u64], of: &[i64], out: &mut [i64]) {
        for ((out, &v), &row) in out.iter_mut().zip(of).zip(rows) {
            *out = v.wrapping_add(from).wrapping_add(range.scale(hash(key, row)) as i64);
        }
    }
}

vectorised! {
    fn time(
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
    fn series_time(key: u64, base: i64, period: &Quantiles, jitter_range: u64, chunk: &Chunk, out: &mut [i64]) {
        let n = out.len();
        let (rows, series, sweep) = (&chunk.rows[..n], &chunk.series[..n], &chunk.sweep[..n]);
        for i in 0..n {
            let (period, phase) = period_and_phase(key, period, series[i]);
            let jitter = scale(hash(!key, rows[i]), jitter_range);
            out[i] = base.wrapping_add(period.wrapping_mul(sweep[i]).wrapping_add(phase + jitter) as i64);
        }
    }
}

const WALK_LEVELS: usize = 10;
/// 2^16 shared out in proportion to 2^(level/2): a random walk's spread over 2^level steps.
const WALK_WEIGHTS: [u64; WALK_LEVELS] = [876, 1239, 1752, 2477, 3503, 4954, 7007, 9909, 14_013, 19_806];

vectorised! {
    /// Knots every 2^level sweeps, straight lines between them, ten levels on top of each other.
    fn walk(key: u64, from: i64, range: Range, series: &[u64], sweep: &[u64], out: &mut [i64]) {
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

/// Blocks of 2^block_bits places; each block has one job size and one life.
#[derive(Clone)]
pub struct Job {
    pub key: u64,
    pub from: i64,
    /// Places rounded up to whole blocks: job numbers of one generation.
    pub capacity: u64,
    pub block_bits: u32,
    pub smallest_bits: u32,
    pub sizes: Arc<Alias>,
    /// Sweeps of the shortest life; longer ones are 2, 4, … `2^life_doublings` times that.
    pub shortest_life: u64,
    pub life_doublings: u64,
}

impl Job {
    #[inline]
    fn size_of(&self, block: u64) -> u64 {
        1 << (self.smallest_bits as u64 + self.sizes.at(hash(self.key, block)))
    }

    fn fill(&self, chunk: &Chunk, out: &mut [i64]) {
        let mut last = None;
        let (mut size, mut generation) = (1, 0);
        for (i, out) in out.iter_mut().enumerate() {
            let (place, sweep) = (chunk.series[i], chunk.sweep[i]);
            let block = place >> self.block_bits;
            if last != Some((block, sweep)) {
                last = Some((block, sweep));
                size = self.size_of(block);
                generation = self.generation(block, sweep);
            }
            let number = generation * self.capacity + (place & !(size - 1));
            *out = self.from.wrapping_add(number as i64);
        }
    }

    fn generation(&self, block: u64, sweep: u64) -> u64 {
        let h = hash(!self.key, block);
        let life = self.shortest_life << scale(h, self.life_doublings + 1);
        (sweep + scale(second(h), life)) / life
    }

    /// The job's first place, from its number.
    pub fn first_place(&self, number: i64) -> u64 {
        (number.wrapping_sub(self.from) as u64) % self.capacity
    }
}
