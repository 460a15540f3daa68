//! Where the rows of a chunk stand: by the number of their events, or in an order of their table.

use super::integers::{Chunk, CHUNK};
use super::order::{Cursor, Ordered};

/// Row, series and sweep of the rows of a chunk.
pub(super) struct Places {
    rows: [u64; CHUNK],
    series: [u64; CHUNK],
    sweep: [u64; CHUNK],
}

impl Places {
    pub(super) fn new() -> Places {
        Places { rows: [0; CHUNK], series: [0; CHUNK], sweep: [0; CHUNK] }
    }

    /// Rows of an order of its own. What is drawn for a row is drawn for the number of its event.
    #[inline]
    pub(super) fn ordered(
        &mut self,
        ordered: &Ordered,
        cursor: &mut Cursor,
        first_row: u64,
        n: usize,
        series: u64,
    ) -> Chunk<'_> {
        cursor.fill(ordered, first_row, &mut self.series[..n], &mut self.sweep[..n]);
        let events = self.sweep.iter().zip(&self.series);
        self.rows[..n].iter_mut().zip(events).for_each(|(row, (sweep, s))| *row = sweep * series + s);
        Chunk {
            rows: &self.rows[..n],
            series: &self.series[..n],
            sweep: &self.sweep[..n],
            one_series: series == 1,
            in_order: false,
        }
    }

    /// Sweeps `first_sweep …` of one series.
    #[inline]
    pub(super) fn of_series(&mut self, of: u64, first_sweep: u64, n: usize, series: u64) -> Chunk<'_> {
        self.sweep[..n].iter_mut().zip(first_sweep..).for_each(|(sweep, k)| *sweep = k);
        self.series[..n].fill(of);
        self.rows[..n].iter_mut().zip(&self.sweep).for_each(|(row, sweep)| *row = sweep * series + of);
        Chunk {
            rows: &self.rows[..n],
            series: &self.series[..n],
            sweep: &self.sweep[..n],
            one_series: series == 1,
            in_order: false,
        }
    }

    /// Number i is sweep i / series, series i % series; divided once, then counted along.
    #[inline]
    pub(super) fn numbered(&mut self, first: u64, n: usize, series: u64) -> Chunk<'_> {
        self.rows[..n].iter_mut().enumerate().for_each(|(i, row)| *row = first + i as u64);
        if series == 1 {
            self.sweep = self.rows;
            self.series = [0; CHUNK];
        } else {
            let (mut at, mut sweep, mut next) = (0, first / series, first % series);
            while at < n {
                let run = (series - next).min((n - at) as u64) as usize;
                self.series[at..at + run].iter_mut().enumerate().for_each(|(i, s)| *s = next + i as u64);
                self.sweep[at..at + run].fill(sweep);
                (at, sweep, next) = (at + run, sweep + 1, 0);
            }
        }
        Chunk {
            rows: &self.rows[..n],
            series: &self.series[..n],
            sweep: &self.sweep[..n],
            one_series: series == 1,
            in_order: true,
        }
    }
}
