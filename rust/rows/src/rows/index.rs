//! From the identity of a row in an answer back to the number of its event, so that it can be made again.
//!
//! The number is the row's, unless its table has an order or rates of its own.

use std::sync::Arc;

use super::chunk_key::ChunkKey;
use super::columns::Value;
use super::compile::ColumnGenerator;
use super::generate::RowGen;
use super::hash::mix;
use super::integers::{period_and_phase, IntGenerator, TimeBy};
use super::order::Ordered;
use super::text::TextGenerator;
use super::uuids::Uuids;
use super::value_bits::bits_of;
use crate::error::Error;
use crate::plan::{LogicalType, TablePlan};
use crate::types::uuid::uuid_bytes;

/// Finds rows of one generator by the values of its identity columns; 16 bytes per series.
///
/// What it finds has at least the hash of the identity given: callers compare the row itself.
pub struct SeriesIndex {
    finds: Finds,
    series: u64,
    ordered: Option<Arc<Ordered>>,
}

enum Finds {
    /// One column of the identity gives the row.
    Row { column: Keyed, numbers: Numbers },
    /// So does a UUID, in a table where each row has one of its own.
    Uuid { column: Keyed, uuids: Uuids },
    /// So does the key of a survey, in a table whose rows lie in files of chunks.
    Chunk { column: Keyed, key: ChunkKey },
    /// One column gives the sweep, the others the series, by hash and in its order.
    Sweep { time: Keyed, keys: Vec<Keyed>, series: Vec<(u64, u64)> },
}

/// A column with values `step` apart: row 0 at `base`, each up to `step` later where they jitter.
#[derive(Clone, Copy)]
struct Numbers {
    base: i64,
    step: i64,
    jitters: bool,
}

impl Numbers {
    /// The row of a value; `None` where no row has it, as far as that shows without making the row.
    fn row(self, value: i64) -> Option<u64> {
        let since = value.checked_sub(self.base)?;
        if self.step == 1 {
            return u64::try_from(since).ok(); // two divisions less
        }
        let (row, rest) = (since.checked_div_euclid(self.step)?, since.checked_rem_euclid(self.step)?);
        u64::try_from(row).ok().filter(|_| self.jitters || rest == 0)
    }
}

/// A column of the identity, with what its generator knows about it.
struct Keyed {
    column: usize,
    ty: LogicalType,
    int_generator: Option<Box<IntGenerator>>,
}

impl SeriesIndex {
    /// Errors: no identity, or one that does not lead back to one row.
    pub fn new(generator: &RowGen, table: &TablePlan) -> Result<SeriesIndex, Error> {
        let refuse =
            |why: String| Error::Plan(format!("table {}: identity {:?}: {why}", table.name, table.identity));
        let columns = table.identity.iter().map(|name| {
            let column =
                generator.position(name).ok_or_else(|| refuse(format!("`{name}` is not a column")))?;
            let int_generator = match generator.column_generator(column) {
                ColumnGenerator::Integers { int_generator, .. } => Some(Box::new(int_generator.clone())),
                _ => None,
            };
            Ok(Keyed { column, ty: generator.ty(column), int_generator })
        });
        let columns = columns.collect::<Result<Vec<_>, Error>>()?;
        let finds = match find_rows(generator, columns) {
            Ok(row) => row,
            Err(columns) => find_sweeps(generator, columns).map_err(refuse)?,
        };
        Ok(SeriesIndex { finds, series: generator.series(), ordered: generator.ordered().cloned() })
    }

    /// `named` gives the returned value of a table column; `None` if no row has this identity.
    pub fn number_of<'v>(&self, named: impl Fn(usize) -> Option<&'v Value>) -> Option<u64> {
        let number = self.any_number_of(named)?;
        let has = |ordered: &Arc<Ordered>| ordered.events().of_number(number).is_some();
        self.ordered.as_ref().is_none_or(has).then_some(number)
    }

    /// As `number_of`; the table may end before.
    fn any_number_of<'v>(&self, named: impl Fn(usize) -> Option<&'v Value>) -> Option<u64> {
        match &self.finds {
            Finds::Row { column, numbers } => numbers.row(bits_of(column.ty, named(column.column)?)? as i64),
            Finds::Uuid { column, uuids } => match named(column.column)? {
                Value::Text(text) => uuids.place_of(uuid_bytes(text.as_bytes())?),
                _ => None,
            },
            Finds::Chunk { column, key } => key.row(column.ty, named(column.column)?),
            Finds::Sweep { time, keys, series } => {
                let series = series[series_of(keys, series, &named)?].1;
                let at = bits_of(time.ty, named(time.column)?)? as i64;
                sweep_at(time.int_generator.as_deref()?, series, at)?
                    .checked_mul(self.series)?
                    .checked_add(series)
            }
        }
    }
}

impl SeriesIndex {
    /// Whether `numbers_of_key` can be asked with the values of `columns`.
    pub fn takes_key(&self, columns: &[usize]) -> Result<(), String> {
        let has = |keyed: &Keyed| columns.contains(&keyed.column);
        match &self.finds {
            Finds::Row { column, .. } | Finds::Uuid { column, .. } | Finds::Chunk { column, .. }
                if has(column) =>
            {
                Ok(())
            }
            Finds::Row { .. } | Finds::Uuid { .. } | Finds::Chunk { .. } => {
                Err("it lacks the column that numbers the rows".into())
            }
            Finds::Sweep { keys, .. } if keys.iter().all(has) => Ok(()),
            Finds::Sweep { .. } => Err("it lacks a column of the identity other than the time".into()),
        }
    }

    /// Adds the numbers of the rows below `below` that have the key with the values of `named`: one where it names the time
    /// of a sweep, all sweeps of the series where it does not, none where there is no such series. Some of them may have
    /// another key, unless the index [`SeriesIndex::finds_exactly`].
    pub fn numbers_of_key<'v>(
        &self,
        named: impl Fn(usize) -> Option<&'v Value>,
        below: u64,
        out: &mut Vec<u64>,
    ) {
        match &self.finds {
            Finds::Sweep { time, keys, series } if named(time.column).is_none() => {
                let Some(at) = series_of(keys, series, named) else { return };
                let of = series[at].1;
                match &self.ordered {
                    None => out.extend((of..below).step_by(self.series.max(1) as usize)),
                    Some(ordered) => {
                        let numbers = (0..ordered.events().count(of)).map(|sweep| sweep * self.series + of);
                        out.extend(numbers.filter(|&number| is_below(ordered, number, below)));
                    }
                }
            }
            _ => out.extend(self.number_of(named).filter(|&number| self.is_below(number, below))),
        }
    }

    /// Whether the row with this number is one of the first `below` of the table.
    pub fn is_below(&self, number: u64, below: u64) -> bool {
        self.ordered.as_ref().map_or(number < below, |ordered| is_below(ordered, number, below))
    }

    /// Whether a key of `columns` is that of every row that `numbers_of_key` finds by it. Not where it names columns that
    /// the index does not look at, times that jitter, or what takes another value in a later sweep (jobs that end).
    pub fn finds_exactly(&self, columns: &[usize]) -> bool {
        let moves = |keyed: &Keyed| matches!(keyed.int_generator.as_deref(), Some(IntGenerator::Job(_)));
        match &self.finds {
            Finds::Row { column, numbers } => columns == [column.column] && !numbers.jitters,
            // A text is a UUID in one of its spellings alone.
            Finds::Uuid { column, .. } => columns == [column.column] && column.ty == LogicalType::Uuid,
            Finds::Chunk { column, .. } => columns == [column.column],
            Finds::Sweep { time, keys, .. } => {
                let exact = match time.int_generator.as_deref() {
                    Some(IntGenerator::Time { jitter_range: 0..=1, .. }) => Some(time.column),
                    _ => None,
                };
                let known = |c: &usize| exact == Some(*c) || keys.iter().any(|k| k.column == *c);
                !keys.iter().any(moves) && columns.iter().all(known)
            }
        }
    }
}

/// Where all rows are below, their places need not be found.
fn is_below(ordered: &Ordered, number: u64, below: u64) -> bool {
    below >= ordered.events().rows()
        || ordered
            .events()
            .of_number(number)
            .and_then(|event| ordered.row(event))
            .is_some_and(|row| row < below)
}

/// Place of a series among `series`, by the values of its keys.
fn series_of<'v>(
    keys: &[Keyed],
    series: &[(u64, u64)],
    named: impl Fn(usize) -> Option<&'v Value>,
) -> Option<usize> {
    let bits = |column| bits_of(keys.iter().find(|k| k.column == column)?.ty, named(column)?);
    let hash = key_hash(keys, bits)?;
    series.binary_search_by_key(&hash, |&(hash, _)| hash).ok()
}

/// Gives the columns back where none of them numbers the rows.
fn find_rows(generator: &RowGen, columns: Vec<Keyed>) -> Result<Finds, Vec<Keyed>> {
    let numbers = columns.iter().position(|keyed| number_of(generator, keyed).is_some());
    let Some(at) = numbers else { return uuid_of_rows(generator, columns) };
    let numbers = number_of(generator, &columns[at]).expect("found by it");
    let column = columns.into_iter().nth(at).expect("a position of it");
    Ok(Finds::Row { column, numbers })
}

/// A column of UUIDs, where a place is a row.
fn uuid_of_rows(generator: &RowGen, columns: Vec<Keyed>) -> Result<Finds, Vec<Keyed>> {
    let uuids =
        columns.iter().enumerate().find_map(|(at, keyed)| match generator.column_generator(keyed.column) {
            ColumnGenerator::Text(TextGenerator::Uuid(uuids)) if generator.series() == 1 => {
                Some((at, uuids.clone()))
            }
            _ => None,
        });
    let Some((at, uuids)) = uuids else { return chunk_key_of_rows(generator, columns) };
    let column = columns.into_iter().nth(at).expect("a position of it");
    Ok(Finds::Uuid { column, uuids })
}

/// A column of keys of a survey.
fn chunk_key_of_rows(generator: &RowGen, columns: Vec<Keyed>) -> Result<Finds, Vec<Keyed>> {
    let keys = columns.iter().map(|keyed| ChunkKey::of(generator.column_generator(keyed.column)));
    let Some((at, key)) = keys.enumerate().find_map(|(at, key)| Some((at, key?))) else {
        return Err(columns);
    };
    let column = columns.into_iter().nth(at).expect("a position of it");
    Ok(Finds::Chunk { column, key })
}

/// Of a column that numbers the rows.
fn number_of(generator: &RowGen, keyed: &Keyed) -> Option<Numbers> {
    match keyed.int_generator.as_deref()? {
        IntGenerator::Sequence { start, step } if *step != 0 => {
            Some(Numbers { base: *start, step: *step, jitters: false })
        }
        IntGenerator::Time { by, base, period, jitter_range, .. } if *period > 0 => {
            let numbers = Numbers { base: *base, step: *period as i64, jitters: *jitter_range > 1 };
            (*by == TimeBy::Row || generator.series() == 1).then_some(numbers)
        }
        _ => None,
    }
}

fn find_sweeps(generator: &RowGen, mut columns: Vec<Keyed>) -> Result<Finds, String> {
    let is_time = |keyed: &Keyed| {
        matches!(
            keyed.int_generator.as_deref(),
            Some(
                IntGenerator::Time { period: 1.., .. }
                    | IntGenerator::SeriesTime { .. }
                    | IntGenerator::EventTime { .. }
            )
        )
    };
    let at = columns.iter().position(is_time).ok_or(
        "it needs a `sequence` or `time` column, a `uuid` in a table of one series, the whole key of a `chunk`, or a `sweep_time` or `series_time` column beside keys of the series",
    )?;
    let time = columns.remove(at);
    if let Some(moves) = columns.iter().find(|k| !stays_with_series(generator.column_generator(k.column))) {
        return Err(format!("column {} of the table changes within a series", moves.column + 1));
    }
    let series = series_by_key(generator, &columns);
    if series.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err("two of its series have the same identity".into());
    }
    Ok(Finds::Sweep { time, keys: columns, series })
}

fn series_by_key(generator: &RowGen, keys: &[Keyed]) -> Vec<(u64, u64)> {
    const BATCH: u64 = 8192;
    let order = generator.needed(&keys.iter().map(|k| k.column).collect::<Vec<_>>());
    let mut batch = generator.columns(BATCH.min(generator.series()) as usize);
    let mut series = Vec::with_capacity(generator.series() as usize);
    for first in (0..generator.series()).step_by(BATCH as usize) {
        let n = (generator.series() - first).min(BATCH) as usize;
        generator.fill_some(&order, first, n, &mut batch);
        for i in 0..n {
            let bits = |column: usize| bits_of(generator.ty(column), &batch.columns[column].value(i));
            // A nullable key that is NULL here leads nowhere; callers then find no row.
            if let Some(hash) = key_hash(keys, bits) {
                series.push((hash, first + i as u64));
            }
        }
    }
    series.sort_unstable();
    series
}

/// Hash of the keys; jobs by their first place, which stays when the next job begins.
fn key_hash(keys: &[Keyed], bits: impl Fn(usize) -> Option<u64>) -> Option<u64> {
    keys.iter().try_fold(0, |hash, key| {
        let bits = bits(key.column)?;
        let stays = match key.int_generator.as_deref() {
            Some(IntGenerator::Job(job)) => job.first_place(bits as i64),
            _ => bits,
        };
        Some(mix(hash ^ mix(stays)))
    })
}

/// The sweep of a series at this time; jitter is below the period.
fn sweep_at(time: &IntGenerator, series: u64, at: i64) -> Option<u64> {
    match time {
        IntGenerator::Time { base, period, jitter_range, .. } => {
            Numbers { base: *base, step: i64::try_from(*period).ok()?, jitters: *jitter_range > 1 }.row(at)
        }
        IntGenerator::SeriesTime { key, base, period, .. } => {
            let (period, phase) = period_and_phase(*key, period, series);
            Some(u64::try_from(at.checked_sub(*base)?).ok()?.checked_sub(phase)? / period)
        }
        // Compiled so that the next event of the series is in a later unit than the jitter of this one reaches.
        IntGenerator::EventTime { ordered, base, unit_ns, .. } => {
            let units = u64::try_from(at.checked_sub(*base)?).ok()?;
            let end_ns = units.checked_add(1)?.checked_mul(*unit_ns)?;
            ordered.events().series()[series as usize].before(end_ns).checked_sub(1)
        }
        _ => None,
    }
}

fn stays_with_series(column_generator: &ColumnGenerator) -> bool {
    match column_generator {
        ColumnGenerator::Integers { int_generator: IntGenerator::Job(_) | IntGenerator::Rank(_), .. } => true,
        ColumnGenerator::Integers { int_generator, .. } => int_generator.is_by_place(),
        ColumnGenerator::Text(text) => text_stays(text),
        ColumnGenerator::List(_) => false,
    }
}

fn text_stays(text: &TextGenerator) -> bool {
    match text {
        TextGenerator::Constant(_) | TextGenerator::Uuid(_) => true,
        TextGenerator::Choice { int_generator, .. } => int_generator.is_by_place(),
        TextGenerator::Format { fields, .. } => fields.iter().all(IntGenerator::is_by_place),
        TextGenerator::Random { draw, .. }
        | TextGenerator::Bytes { draw, .. }
        | TextGenerator::Between { draw, .. } => draw.is_by_place(),
        TextGenerator::Document(documents) => documents.draw.is_by_place(),
        TextGenerator::Decimal(decimals) => decimals.is_by_place(),
        TextGenerator::Foreign { .. } => false,
    }
}
