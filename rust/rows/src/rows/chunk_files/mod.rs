//! Rows in files of unequal size, one for each chunk of a sky, as the key index of a survey is loaded from them.
//!
//! A file is some runs of rows. A run is what the file has of one exposure: neighbouring keys. Every part of a key is a
//! function of the row, and the row is one of the key; memory is needed for the files, none for rows and runs.
//!
//! Reading order: `profile` (rows of each file), `exposures` (the names in a key), `sky` (numbers of chunks).

mod exposures;
mod profile;
mod sky;

use std::ops::Range;

use super::hash::{hash, Permutation};
use crate::plan::{ChunkPart, ChunkProfile, ChunksPlan};
use exposures::{Exposure, Exposures, Name, FIRST_SCAN, LETTERS, MOST_SOURCE, SCANS};

/// Most rows of a table: products of rows and runs stay in 64 bits.
const MOST_ROWS: u64 = 1 << 40;
/// A file that is larger than the mean by this, in halves, lies at a pole.
const POLE_HALVES: u128 = 3;
/// A key as one number has a power of ten for each part, so that it reads, and sorts, as the text.
const OF_FRAME: u64 = 1_000_000;
const OF_LETTER: u64 = 1_000 * OF_FRAME;
const OF_SCAN: u64 = 10 * OF_LETTER;

#[derive(Debug, Clone)]
pub struct ChunkFiles {
    key: u64,
    /// Of each file, and the end.
    first_row: Vec<u64>,
    /// The file of each `2^near_bits`-th row, from which a row's own is near.
    near: Vec<u32>,
    near_bits: u32,
    /// By zone: its runs in the files before each; one more than there are files.
    first_run: [Vec<u64>; 2],
    /// The number of each file's chunk.
    chunk: Vec<u32>,
    run_rows: u64,
    exposures: Exposures,
    most_source: u64,
}

/// The parts of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub scan: u64,
    /// From 0.
    pub letter: u64,
    pub frame: u64,
    pub source: u64,
}

impl Key {
    pub fn packed(&self) -> u64 {
        self.scan * OF_SCAN + self.letter * OF_LETTER + self.frame * OF_FRAME + self.source
    }

    pub fn of_packed(packed: u64) -> Key {
        Key {
            scan: packed / OF_SCAN,
            letter: packed % OF_SCAN / OF_LETTER,
            frame: packed % OF_LETTER / OF_FRAME,
            source: packed % OF_FRAME,
        }
    }
}

/// Neighbouring rows of one file and one exposure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub file: usize,
    pub rows: Range<u64>,
    name: Name,
    slots: Slots,
    slot: u64,
}

/// Which of an exposure's two slots has which of two neighbouring sources, by place in the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slots {
    key: u64,
}

impl Slots {
    fn of(key: u64, exposure: Exposure) -> Slots {
        Slots { key: hash(key ^ exposure.zone as u64, exposure.number) }
    }

    /// Of 64 places from `word * 64` on, a bit each: what is added to the number of the slot, modulo 2.
    #[inline(always)]
    fn word(&self, word: u64) -> u64 {
        hash(self.key, word)
    }

    #[inline(always)]
    fn source(word: u64, place: u64, slot: u64) -> u64 {
        2 * place + (((word >> (place % 64)) & 1) ^ slot) + 1
    }
}

impl ChunkFiles {
    /// `key` seeds the order of a file's runs and the gaps between its sources.
    ///
    /// Errors: what cannot be a survey.
    pub fn new(key: u64, rows: u64, plan: &ChunksPlan) -> Result<ChunkFiles, String> {
        let &ChunksPlan { files, profile, run_rows } = plan;
        if !(1..=sky::CHUNKS).contains(&files) {
            return Err(format!("files is {files}; a sky has 1 to {} chunks", sky::CHUNKS));
        }
        if rows > MOST_ROWS {
            return Err(format!("it has {rows} rows; in files of chunks at most 2^40"));
        }
        if run_rows == 0 {
            return Err("run_rows is 0; a run has a row at least".into());
        }
        let first_row = profile::first_rows(files, rows, profile);
        let mut first_run = [vec![0], vec![0]];
        let (mut zone_files, mut longest) = ([0; 2], 0);
        for file in 0..files as usize {
            let file_rows = first_row[file + 1] - first_row[file];
            let is_pole = profile == ChunkProfile::Survey
                && file_rows as u128 * files as u128 * 2 > rows as u128 * POLE_HALVES;
            let runs = runs_of(file_rows, run_rows);
            longest = longest.max(file_rows.div_ceil(runs));
            zone_files[usize::from(is_pole)] += 1;
            for (zone, first) in first_run.iter_mut().enumerate() {
                first.push(first[file] + if zone == usize::from(is_pole) { runs } else { 0 });
            }
        }
        let most_source = 2 * longest;
        if most_source > MOST_SOURCE {
            return Err(format!(
                "a run has {longest} rows, and sources up to {most_source}; a key has room for {MOST_SOURCE}: give a \
                 smaller run_rows"
            ));
        }
        let runs = [first_run[0][files as usize], first_run[1][files as usize]];
        let exposures = Exposures::new(runs, zone_files)?;
        let near_bits = (rows / files / 2).max(1).ilog2();
        let near =
            (0..rows.div_ceil(1 << near_bits)).map(|at| last_at_most(&first_row, at << near_bits) as u32);
        Ok(ChunkFiles {
            key,
            near: near.collect(),
            near_bits,
            first_row,
            first_run,
            chunk: sky::chunk_numbers(files),
            run_rows,
            exposures,
            most_source,
        })
    }

    /// First row of each file, and the end.
    pub fn first_rows(&self) -> &[u64] {
        &self.first_row
    }

    pub fn rows(&self) -> u64 {
        *self.first_row.last().expect("one more than there are files")
    }

    /// Runs of all files.
    pub fn runs(&self) -> u64 {
        self.first_run.iter().map(|first| first.last().expect("one more than there are files")).sum()
    }

    /// Runs of a file. Panics if there is no such file.
    pub fn runs_in(&self, file: u64) -> u64 {
        self.runs_of(file as usize)
    }

    /// The run that a row is of. Panics if the table has no such row.
    pub fn run(&self, row: u64) -> Run {
        assert!(row < self.rows(), "row {row} of {}", self.rows());
        let mut file = self.near[(row >> self.near_bits) as usize] as usize;
        while self.first_row[file + 1] <= row {
            file += 1;
        }
        let (rows, runs) = (self.rows_of(file), self.runs_of(file));
        let inside = row - self.first_row[file];
        // The last run that begins there or before.
        let at = ((inside + 1) * runs - 1) / rows;
        let (zone, first_run) = self.zone_of(file);
        let (exposure, slot) = self.exposures.of_run(zone, first_run + self.order_of(file, runs).at(at));
        Run {
            file,
            rows: self.run_start(file, runs, at)..self.run_start(file, runs, at + 1),
            name: self.exposures.name(exposure),
            slots: Slots::of(self.key, exposure),
            slot,
        }
    }

    pub fn key_of(&self, row: u64) -> Key {
        let run = self.run(row);
        Key { scan: run.name.scan, letter: run.name.letter, frame: run.name.frame, source: run.source(row) }
    }

    /// The row of a key; None: no row has it.
    pub fn row_of(&self, key: Key) -> Option<u64> {
        let exposure = self.exposures.named(Name { scan: key.scan, letter: key.letter, frame: key.frame })?;
        let place = key.source.checked_sub(1)? / 2;
        let word = Slots::of(self.key, exposure).word(place / 64);
        let slot = u64::from(Slots::source(word, place, 0) != key.source);
        let run = self.exposures.run_of(exposure, slot)?;
        let first = &self.first_run[exposure.zone];
        let file = last_at_most(first, run);
        let runs = self.runs_of(file);
        let at = self.order_of(file, runs).index_of(run - first[file]);
        let row = self.run_start(file, runs, at).checked_add(place)?;
        (row < self.run_start(file, runs, at + 1)).then_some(row)
    }

    /// Values of a part of rows that may follow one another.
    pub fn fill(&self, part: ChunkPart, rows: &[u64], out: &mut [i64]) {
        self.each_run(rows, |run, row, at| self.fill_run(part, run, row, &mut out[at]));
    }

    /// The same of several parts: where a row stands is found once for all of them.
    pub fn fill_parts<const ROOM: usize>(
        &self,
        parts: impl Iterator<Item = ChunkPart> + Clone,
        rows: &[u64],
        out: &mut [[i64; ROOM]],
    ) {
        self.each_run(rows, |run, row, at| {
            for (part, out) in parts.clone().zip(&mut *out) {
                self.fill_run(part, run, row, &mut out[at.clone()]);
            }
        });
    }

    /// `each(run, row, at)`: the rows `at` of `rows` follow one another from `row` on, in one run.
    fn each_run(&self, rows: &[u64], mut each: impl FnMut(&Run, u64, Range<usize>)) {
        let mut done = 0;
        while let Some(&row) = rows.get(done) {
            let run = self.run(row);
            let most = (run.rows.end - row) as usize;
            let follow = rows[done..].iter().zip(row..).take(most).take_while(|(a, b)| **a == *b).count();
            each(&run, row, done..done + follow);
            done += follow;
        }
    }

    fn fill_run(&self, part: ChunkPart, run: &Run, row: u64, out: &mut [i64]) {
        match self.of_run(part, run) {
            Some(value) => out.fill(value as i64),
            None => run.fill_sources(row, if part == ChunkPart::Key { run.packed() } else { 0 }, out),
        }
    }

    /// What all rows of a run have in common.
    fn of_run(&self, part: ChunkPart, run: &Run) -> Option<u64> {
        Some(match part {
            ChunkPart::Scan => run.name.scan,
            ChunkPart::Letter => run.name.letter,
            ChunkPart::Frame => run.name.frame,
            ChunkPart::File => run.file as u64,
            ChunkPart::ChunkId => self.chunk[run.file] as u64,
            ChunkPart::Source | ChunkPart::Key => return None,
        })
    }

    /// Smallest and largest value of a part, or beyond them.
    pub fn bounds(&self, part: ChunkPart) -> (i64, i64) {
        let last = Key {
            scan: FIRST_SCAN + SCANS - 1,
            letter: LETTERS - 1,
            frame: self.exposures.last_frame(),
            source: self.most_source,
        };
        let (low, high) = match part {
            ChunkPart::Scan => (FIRST_SCAN, last.scan),
            ChunkPart::Letter => (0, last.letter),
            ChunkPart::Frame => (1, last.frame),
            ChunkPart::Source => (1, last.source),
            ChunkPart::File => (0, self.chunk.len() as u64 - 1),
            ChunkPart::ChunkId => {
                let numbers = || self.chunk.iter().copied().map(u64::from);
                (numbers().min().expect("a file"), numbers().max().expect("a file"))
            }
            ChunkPart::Key => {
                (Key { scan: FIRST_SCAN, letter: 0, frame: 1, source: 1 }.packed(), last.packed())
            }
        };
        (low as i64, high as i64)
    }

    fn rows_of(&self, file: usize) -> u64 {
        self.first_row[file + 1] - self.first_row[file]
    }

    fn runs_of(&self, file: usize) -> u64 {
        runs_of(self.rows_of(file), self.run_rows)
    }

    /// The zone that a file's runs are of, and the first of them there.
    fn zone_of(&self, file: usize) -> (usize, u64) {
        let of = |zone: usize| &self.first_run[zone];
        let zone = usize::from(of(0)[file] == of(0)[file + 1]);
        (zone, of(zone)[file])
    }

    /// Where the runs of a file stand in it.
    fn order_of(&self, file: usize, runs: u64) -> Permutation {
        Permutation::new(hash(!self.key, file as u64), runs)
    }

    /// First row of the `at`-th run of a file; all of them are of one length, to a row.
    fn run_start(&self, file: usize, runs: u64, at: u64) -> u64 {
        self.first_row[file] + self.rows_of(file) * at / runs
    }
}

/// The last of ascending numbers that is at most this: files without any begin where the next one does.
fn last_at_most(first: &[u64], number: u64) -> usize {
    first.partition_point(|&first| first <= number) - 1
}

/// Of a file with so many rows.
fn runs_of(rows: u64, run_rows: u64) -> u64 {
    (rows.saturating_add(run_rows / 2) / run_rows).max(1)
}

impl Run {
    /// The key of its exposure, without a source.
    fn packed(&self) -> u64 {
        let Name { scan, letter, frame } = self.name;
        Key { scan, letter, frame, source: 0 }.packed()
    }

    fn source(&self, row: u64) -> u64 {
        let place = row - self.rows.start;
        Slots::source(self.slots.word(place / 64), place, self.slot)
    }

    /// Sources of the rows from `row` on, each with `base` added.
    fn fill_sources(&self, row: u64, base: u64, mut out: &mut [i64]) {
        let mut place = row - self.rows.start;
        while !out.is_empty() {
            let word = self.slots.word(place / 64);
            let n = (64 - place % 64).min(out.len() as u64);
            let (now, later) = out.split_at_mut(n as usize);
            for (out, place) in now.iter_mut().zip(place..) {
                *out = (base + Slots::source(word, place, self.slot)) as i64;
            }
            (place, out) = (place + n, later);
        }
    }
}

#[cfg(test)]
mod tests;
