//! Rows of a table as functions of (seed, stream, row): any row can be made again, alone, anywhere.

mod filled;
mod ready;

use std::sync::Arc;

use filled::{narrow, prepare, presence, reserve, zero_nulls};
use ready::{ready, remember, sources_first, Ready};

use super::alone::Alone;
use super::chunk_files::ChunkFiles;
use super::columns::{Column, Columns, Value, Values};
use super::compile::{problems, ColumnGenerator, Setting, MAX_NARROW_SOURCES};
use super::hash::hash;
use super::integers::{Chunk, IntGenerator, Sources, CHUNK, FEW};
use super::order::Ordered;
use super::places::Places;
use super::remembered::Room;
use super::simd::Level;
use crate::error::Error;
use crate::plan::{LogicalType, TablePlan};

/// The generator of one table. Shared by sessions; it holds no state.
pub struct RowGen {
    columns: Vec<Ready>,
    /// Columns so that sources come before what derives from them.
    order: Vec<usize>,
    series: u64,
    /// Which event each row is; None: row `i` is event number `i`.
    ordered: Option<Arc<Ordered>>,
    chunk_files: Option<Arc<ChunkFiles>>,
    level: Level,
}

impl RowGen {
    /// Errors: every problem of the table's generators at once, as `Error::Plan`.
    pub fn new(table: &TablePlan, seed: u64, epoch_ns: i64) -> Result<RowGen, Error> {
        RowGen::within(Room::of_a_table(), table, seed, epoch_ns)
    }

    /// As `new`, remembering no more of its series than the room holds.
    pub(super) fn within(room: Room, table: &TablePlan, seed: u64, epoch_ns: i64) -> Result<RowGen, Error> {
        let problems = problems(table, seed, epoch_ns);
        if !problems.is_empty() {
            return Err(Error::Plan(problems.join("\n")));
        }
        let setting = Setting::new(table, seed, epoch_ns).map_err(Error::Plan)?;
        let mut columns = ready(&setting).map_err(Error::Plan)?;
        remember(&mut columns, setting.series, room);
        let order = sources_first(&columns);
        let Setting { series, ordered, chunk_files, .. } = setting;
        Ok(RowGen { columns, order, series, ordered, chunk_files, level: Level::best() })
    }

    /// The same rows by other instructions; for tests and benches. Panics if this machine lacks them.
    pub fn with_level(mut self, level: Level) -> RowGen {
        assert!(Level::supported().contains(&level), "this machine has no {level:?}");
        self.level = level;
        self
    }

    pub fn series(&self) -> u64 {
        self.series
    }

    /// Which event each row is, in a table that has an order or rates of its own.
    pub fn ordered(&self) -> Option<&Arc<Ordered>> {
        self.ordered.as_ref()
    }

    /// First row of each file, and the end, in a table whose rows lie in files: whatever their order is.
    pub fn files(&self) -> Option<&[u64]> {
        self.chunk_files.as_ref().map(|files| files.first_rows())
    }

    /// Runs of neighbouring keys in a file of such a table; `None` where the rows lie in it at random.
    pub fn runs_in(&self, file: u64) -> Option<u64> {
        if self.ordered.as_ref().is_some_and(|ordered| ordered.is_random()) {
            return None;
        }
        self.chunk_files.as_ref().map(|files| files.runs_in(file))
    }

    /// The row that is event number `number`. Panics if the table does not have it.
    pub fn row_of(&self, number: u64) -> u64 {
        self.ordered.as_ref().map_or(number, |ordered| {
            let event = ordered.events().of_number(number).expect("a number that the index gives");
            ordered.row(event).expect("of_number gives events of the table")
        })
    }

    /// Empty columns with room for `capacity` rows, so that `fill` allocates nothing for as many.
    pub fn columns(&self, capacity: usize) -> Columns {
        let mut found = self.some_columns(&self.order, capacity);
        found.cursor = self.ordered.as_ref().map(|_| Default::default());
        found
    }

    /// As `columns`, with room in those of `order` alone.
    pub(super) fn some_columns(&self, order: &[usize], capacity: usize) -> Columns {
        let columns = self.columns.iter().map(|ready| Column::new(ready.name.clone(), ready.ty));
        let mut found = Columns::new(0, columns.collect());
        for &c in order {
            let (column, ready) = (&mut found.columns[c], &self.columns[c]);
            reserve(&mut column.values, &ready.compiled.column_generator, capacity);
            if ready.null.is_some() {
                column.present.reserve(capacity);
            }
        }
        found
    }

    /// Rows `first_row … first_row + rows - 1`, in place of what `out` held. Those that follow the last ones of `out` are
    /// cheaper in a table with an order of its own.
    ///
    /// `out` comes from `columns`. Panics if it has other columns, or the table ends before.
    pub fn fill(&self, first_row: u64, rows: usize, out: &mut Columns) {
        let Some(ordered) = &self.ordered else { return self.fill_some(&self.order, first_row, rows, out) };
        let mut cursor = out.cursor.take().unwrap_or_default();
        let series = self.series;
        self.fill_chunks(&self.order, rows, out, |places, at, n| {
            places.ordered(ordered, &mut cursor, first_row + at as u64, n, series)
        });
        out.cursor = Some(cursor);
    }

    /// Rows of one series from sweep `first_sweep` on, in place of what `out` held, whatever the order of the table.
    pub fn fill_series(&self, series: u64, first_sweep: u64, rows: usize, out: &mut Columns) {
        self.fill_chunks(&self.order, rows, out, |places, at, n| {
            places.of_series(series, first_sweep + at as u64, n, self.series)
        });
    }

    /// One row on its own, in column order. Panics if the table does not have it.
    pub fn row(&self, row: u64) -> Vec<Value> {
        let mut out = self.columns(1);
        self.fill(row, 1, &mut out);
        out.columns.iter().map(|c| c.value(0)).collect()
    }

    /// One value of an event on its own. Panics if there is no such column.
    pub fn value(&self, number: u64, column: usize) -> Value {
        let mut out = self.columns(1);
        self.fill_some(&self.needed(&[column]), number, 1, &mut out);
        out.columns[column].value(0)
    }

    /// The values of a column that are made without its row; None: they are not (`Picked`).
    pub fn alone(&self, column: usize) -> Option<Alone> {
        let Ready { ty, compiled, null: None, not_finite: None, .. } = &self.columns[column] else {
            return None;
        };
        match &compiled.column_generator {
            ColumnGenerator::Integers { int_generator, .. } => Alone::new(int_generator, *ty, self.series),
            _ => None,
        }
    }

    /// Of the column with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    pub fn name(&self, column: usize) -> &str {
        &self.columns[column].name
    }

    pub fn ty(&self, column: usize) -> LogicalType {
        self.columns[column].ty
    }

    pub(super) fn column_generator(&self, column: usize) -> &ColumnGenerator {
        &self.columns[column].compiled.column_generator
    }

    /// Columns that `wanted` need, in filling order.
    pub(super) fn needed(&self, wanted: &[usize]) -> Vec<usize> {
        let mut needed = vec![false; self.columns.len()];
        wanted.iter().for_each(|&c| needed[c] = true);
        for &c in self.order.iter().rev() {
            if needed[c] {
                self.columns[c].compiled.sources.iter().for_each(|&s| needed[s] = true);
            }
        }
        self.order.iter().copied().filter(|&c| needed[c]).collect()
    }

    /// Fills only the columns of `order`, which holds sources before what derives from them: events with `rows` numbers
    /// from `first` on, whatever the order of the table.
    pub(super) fn fill_some(&self, order: &[usize], first: u64, rows: usize, out: &mut Columns) {
        self.fill_chunks(order, rows, out, |places, at, n| {
            places.numbered(first + at as u64, n, self.series)
        });
    }

    /// `place(places, at, n)`: the places of rows `at … at + n - 1` of `out`.
    #[inline(always)]
    fn fill_chunks(
        &self,
        order: &[usize],
        rows: usize,
        out: &mut Columns,
        mut place: impl for<'p> FnMut(&'p mut Places, usize, usize) -> Chunk<'p>,
    ) {
        assert_eq!(out.columns.len(), self.columns.len(), "columns of another table");
        out.rows = rows;
        for &c in order {
            prepare(rows, &mut out.columns[c].values);
            out.columns[c].present.resize(if self.is_nullable(c) { rows } else { 0 }, 0);
        }
        let mut places = Places::new();
        for at in (0..rows).step_by(CHUNK) {
            let n = (rows - at).min(CHUNK);
            let chunk = place(&mut places, at, n);
            for &c in order {
                if let Some(null) = &self.columns[c].null {
                    presence(
                        self.level,
                        null.key,
                        null.below,
                        chunk.rows,
                        &mut out.columns[c].present[at..at + n],
                    );
                }
                self.fill_column::<CHUNK>(c, &chunk, at, &mut out.columns);
            }
            for &c in order {
                zero_nulls(&mut out.columns[c], at, n);
            }
        }
    }

    /// Single events of the columns of `order` by number, `FEW` at most: they need not follow one another.
    pub(super) fn fill_single(&self, order: &[usize], rows: &[u64], out: &mut Columns) {
        let n = rows.len();
        out.rows = n;
        let (mut series, mut sweep) = ([0u64; FEW], [0u64; FEW]);
        for (at, &row) in rows.iter().enumerate() {
            (sweep[at], series[at]) =
                if self.series == 1 { (row, 0) } else { (row / self.series, row % self.series) };
        }
        let chunk = Chunk {
            rows,
            series: &series[..n],
            sweep: &sweep[..n],
            one_series: self.series == 1,
            in_order: n == 1,
        };
        for &c in order {
            prepare(n, &mut out.columns[c].values);
            self.mark_single_nulls(c, rows, &mut out.columns[c].present);
            self.fill_column::<FEW>(c, &chunk, 0, &mut out.columns);
        }
        for &c in order {
            zero_nulls(&mut out.columns[c], 0, n);
        }
    }

    fn mark_single_nulls(&self, c: usize, rows: &[u64], present: &mut Vec<u8>) {
        present.clear();
        if let Some(null) = &self.columns[c].null {
            present.extend(rows.iter().map(|&row| ((hash(null.key, row) >> 32) >= null.below) as u8));
        }
    }

    /// Whether some of its values are NULL.
    pub fn is_nullable(&self, column: usize) -> bool {
        self.columns[column].null.is_some()
    }

    /// `ROOM`: rows of the longest chunk.
    fn fill_column<const ROOM: usize>(&self, c: usize, chunk: &Chunk, at: usize, columns: &mut [Column]) {
        let ready = &self.columns[c];
        let n = chunk.len();
        // Taken out, so that sources can be read while it is written; an empty vector allocates nothing.
        let mut values = std::mem::replace(&mut columns[c].values, Values::I32(Vec::new()));
        let present = &columns[c].present;
        let present = (!present.is_empty()).then(|| &present[at..at + n]);
        match (&ready.compiled.column_generator, &mut values) {
            (ColumnGenerator::Integers { int_generator, unit }, values) => {
                let unit = *unit;
                let fill =
                    |out: &mut [i64]| self.fill_integers::<ROOM>(c, int_generator, chunk, columns, at, out);
                let mut wide = [0i64; ROOM];
                match values {
                    Values::I64(v) => fill(&mut v[at..at + n]),
                    Values::I32(v) => {
                        fill(&mut wide[..n]);
                        narrow(self.level, &wide[..n], &mut v[at..at + n]);
                    }
                    Values::F64(v) => {
                        fill(&mut wide[..n]);
                        v[at..at + n].iter_mut().zip(wide).for_each(|(v, k)| *v = k as f64 * unit);
                    }
                    Values::F32(v) => {
                        fill(&mut wide[..n]);
                        v[at..at + n].iter_mut().zip(wide).for_each(|(v, k)| *v = (k as f64 * unit) as f32);
                    }
                    Values::Text(_) | Values::List(_) => unreachable!("integer generators fill numbers"),
                }
            }
            (ColumnGenerator::Text(column_generator), Values::Text(texts)) => {
                column_generator.append::<ROOM>(self.level, chunk, present, texts)
            }
            (ColumnGenerator::List(column_generator), Values::List(lists)) => {
                column_generator.append(self.level, chunk, present, lists)
            }
            _ => unreachable!("columns() made the values by type"),
        }
        if let Some(shares) = &ready.not_finite {
            shares.put(chunk.rows, at, &mut values);
        }
        columns[c].values = values;
    }

    /// The integer generator of column `c`; the 32-bit columns that it derives from are widened first.
    fn fill_integers<const ROOM: usize>(
        &self,
        c: usize,
        int_generator: &IntGenerator,
        chunk: &Chunk,
        columns: &[Column],
        at: usize,
        out: &mut [i64],
    ) {
        let rows = at..at + chunk.len();
        let narrow =
            self.columns[c].compiled.sources.iter().filter_map(|&source| match &columns[source].values {
                Values::I32(v) => Some((source, &v[rows.clone()])),
                _ => None,
            });
        if narrow.clone().next().is_none() {
            return int_generator.fill::<ROOM>(self.level, chunk, &Sources { columns, rows, wide: &[] }, out);
        }
        let mut wide = [(usize::MAX, [0i64; ROOM]); MAX_NARROW_SOURCES];
        for ((slot, widened), (source, values)) in wide.iter_mut().zip(narrow) {
            *slot = source;
            widened.iter_mut().zip(values).for_each(|(wide, &v)| *wide = v as i64);
        }
        int_generator.fill(self.level, chunk, &Sources { columns, rows, wide: &wide }, out);
    }
}
