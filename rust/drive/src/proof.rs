//! Is everything there, once, and unchanged? Two independent answers, compared.
//!
//! The *checksum query* is one statement in the engine (counts, sums of integer halves, key × value
//! products) against the generator's own sums. The *read-back* fetches every column of every
//! row through the query path and compares a multiset digest, so that order does not matter
//! and a row lost, doubled, mixed with another or rounded shows.

mod by_key;
mod collapse;
mod dumped;
mod ledger;
mod of_series;
mod unanswered;

use std::collections::HashMap;
use std::ops::Range;

use crate::tables::ProofRow;
use inrush_engines::engine::{Engine, OpId, Session};
use inrush_rows::error::Error;
use inrush_rows::plan::{ChecksumItem, ProofPlan, RunPlan, SeriesPart, Statement, ValueHash};
use inrush_rows::rows::{row_hashes, row_text, value_text, Columns, Digest, Expected, RowGen, Value};

pub use by_key::Left;
pub use ledger::{Known, Ledger, State};
pub use unanswered::Unanswered;

const BATCH_ROWS: usize = 8192;
/// Beyond this many rows the digest says that something is wrong but not which row.
const DIAGNOSE_ROWS: u64 = 2_000_000;

/// How long a statement over so many rows may take: an hour, and as long as the slowest engine needs for the rows.
///
/// An engine that counts fewer than 10,000 rows a second is taken to stand still.
pub fn limit_ns(rows: u64) -> u64 {
    const HOUR_NS: u64 = 3_600_000_000_000;
    HOUR_NS.saturating_add(rows.saturating_mul(ROW_NS))
}

/// How long a whole proof of so many rows may take, where a statement may take `statement_ns`: two statements, and the
/// rows once more that are read back.
pub fn read_back_limit_ns(rows: u64, statement_ns: u64) -> u64 {
    statement_ns.saturating_mul(2).saturating_add(rows.saturating_mul(ROW_NS))
}

/// What a difference that is none says.
const NONE_MISSING: &str = "no row is missing";
const NONE_FOREIGN: &str = "no row is foreign";

const ROW_NS: u64 = 100_000;

/// (table, first row, rows, series, items): sums of other items are other figures, though the rows are the same.
type OfRows = (usize, u64, u64, Option<SeriesPart>, Vec<ChecksumItem>);

/// Expected figures, computed once per (table, range, items): repetitions of a volume share them.
#[derive(Default)]
pub struct Expectations {
    known: HashMap<OfRows, Expected>,
    hashes: Vec<u128>,
}

impl Expectations {
    /// Of generated rows.
    fn generated(&mut self, plan: &RunPlan, proof: &ProofPlan, read_back: bool) -> Result<Expected, Error> {
        let key = (proof.table, proof.first_row, proof.rows, proof.series, proof.items.clone());
        if let Some(known) = self.known.get(&key) {
            // Rows of some series are always read back.
            if !read_back || proof.series.is_some() || known.digest.rows == proof.rows {
                return Ok(known.clone());
            }
        }
        let generator = RowGen::new(&plan.tables[proof.table], plan.seed, plan.epoch_ns)?;
        if let Some(part) = proof.series {
            let expected = of_series::expected(&generator, plan, proof, part)?;
            self.known.insert(key, expected.clone());
            return Ok(expected);
        }
        let mut columns = generator.columns(BATCH_ROWS);
        let mut expected = Expected::empty(&proof.items, &columns)?;
        let mut row = proof.first_row;
        let end = proof.first_row + proof.rows;
        while row < end {
            let rows = BATCH_ROWS.min((end - row) as usize);
            generator.fill(row, rows, &mut columns);
            if read_back {
                expected.add(&columns, &mut self.hashes);
            } else {
                expected.sums.add(&columns);
            }
            row += rows as u64;
        }
        self.known.insert(key, expected.clone());
        Ok(expected)
    }
}

/// What the sessions have made of a table.
#[derive(Clone, Copy, Default)]
pub struct FromSessions<'a> {
    /// Of one fed from files: in place of the generator's figures.
    pub stored: Option<&'a Expected>,
    /// Of one whose rows change by key.
    pub left: Option<&'a Left<'a>>,
    /// Measured inserts of which no answer came.
    pub unanswered: &'a [Unanswered],
}

/// Proves one table.
///
/// The rows returned go to the table `proofs`; the table is proven when all of them hold.
pub fn prove(
    plan: &RunPlan,
    engine: &dyn Engine,
    proof: &ProofPlan,
    of: FromSessions<'_>,
    expectations: &mut Expectations,
    limit_ns: u64,
) -> Result<Vec<ProofRow>, Error> {
    let FromSessions { stored, left, unanswered } = of;
    if let Some(name) = &proof.dump {
        let dump = plan.operations.iter().find(|op| op.name == *name).and_then(|op| op.dump.as_ref());
        let dump = dump.ok_or_else(|| Error::Plan(format!("there is no dump {name}")))?;
        let expected = expectations.generated(plan, proof, true)?;
        return Ok(vec![dumped::prove(&plan.tables[proof.table], name, dump, &expected)?]);
    }
    if let Some(left) = left {
        return by_key::prove(plan, engine, proof, left, unanswered, limit_ns);
    }
    let unanswered = unanswered::of_proof(unanswered, proof, stored.is_some());
    if proof.series.is_some() && !unanswered.is_empty() {
        // Whether each of them is there whole or not at all is for the proof of the whole table.
        return of_series::prove_beside(plan, engine, proof, &unanswered);
    }
    if !unanswered.is_empty() {
        return unanswered::prove(plan, engine, proof, stored, &unanswered, limit_ns);
    }
    let read_back = !proof.read_back.is_empty();
    let expected = match stored {
        Some(expected) => expected.clone(),
        None => expectations.generated(plan, proof, read_back)?,
    };
    let table = &plan.tables[proof.table].name;
    // A range of a large table is only read back: the checksum query counts the whole.
    let mut found = match proof.checksum_query.is_empty() {
        true => Vec::new(),
        false => screened(proof, table, &expected, &checksum_figures(engine, proof, limit_ns)?),
    };
    if read_back {
        found.extend(read(plan, engine, proof, table, &expected, stored.is_none())?);
    }
    // Looked for only where something is wrong: equal identities are rare, and finding them costs memory.
    let collapses = engine.caps().identity_collapses && proof.series.is_none();
    if stored.is_none() && collapses && found.iter().any(|row| !row.holds) {
        let counted = found.iter().find(|row| row.item == item_name(&ChecksumItem::Rows {}));
        if let Some(collapsed) = collapse::prove(plan, engine, proof, counted)? {
            return Ok(collapsed);
        }
    }
    Ok(found)
}

/// What the engine's own sums are, in the order of the items; over shards those of all of them together.
fn checksum_figures(engine: &dyn Engine, proof: &ProofPlan, limit_ns: u64) -> Result<Vec<String>, Error> {
    let Some((first, others)) = engine.shards().split_first() else {
        return figures_of(engine, proof, limit_ns);
    };
    let mut figures = figures_of(first.as_ref(), proof, limit_ns)?;
    for shard in others {
        let own = figures_of(shard.as_ref(), proof, limit_ns)?;
        for ((figure, own), item) in figures.iter_mut().zip(&own).zip(&proof.items) {
            *figure = added(item, figure, own);
        }
    }
    Ok(figures)
}

fn figures_of(engine: &dyn Engine, proof: &ProofPlan, limit_ns: u64) -> Result<Vec<String>, Error> {
    let answer = engine.ask(&proof.checksum_query, limit_ns)?;
    let row = answer.rows.first();
    let figure = |at: usize| match row.and_then(|r| r.get(at)) {
        // An empty table sums to NULL.
        Some(Value::Null) => "0".to_owned(),
        Some(value) => integer_text(value),
        None => "no answer".to_owned(),
    };
    Ok((0..proof.items.len()).map(figure).collect())
}

/// The figure of two servers together. What is no number stays as it is: it equals no expectation.
fn added(item: &ChecksumItem, a: &str, b: &str) -> String {
    let number = |figure: &str| figure.parse::<i128>().ok();
    let Some(sum) = number(a).zip(number(b)).and_then(|(a, b)| a.checked_add(b)) else {
        return format!("{a} and {b}");
    };
    match item {
        ChecksumItem::SumWrapped { .. } => (sum as i64).to_string(),
        // Both wrap at 2^64, without a sign.
        ChecksumItem::SumHash { hash: ValueHash::CityHash64, .. }
        | ChecksumItem::SumRows { hash: ValueHash::CityHash64, .. } => (sum as u64).to_string(),
        _ => sum.to_string(),
    }
}

fn screened(proof: &ProofPlan, table: &str, expected: &Expected, figures: &[String]) -> Vec<ProofRow> {
    let sums = expected.sums.sums().iter().zip(figures);
    let items = proof.items.iter().zip(sums);
    items
        .map(|(item, (expected, found))| {
            compared(table, item_name(item), expected.to_string(), found.clone())
        })
        .collect()
}

fn read(
    plan: &RunPlan,
    engine: &dyn Engine,
    proof: &ProofPlan,
    table: &str,
    expected: &Expected,
    regenerates: bool,
) -> Result<Vec<ProofRow>, Error> {
    let (digest, mut session) = read_digest(plan, engine, proof)?;
    let holds = digest == expected.digest;
    let mut rows =
        vec![compared(table, read_back_name(proof), digest_text(&expected.digest), digest_text(&digest))];
    if !holds && regenerates && expected.digest.rows <= DIAGNOSE_ROWS {
        rows.push(diagnose(plan, proof, &proof.read_back, session.as_mut(), &[])?);
    }
    session.close()?;
    Ok(rows)
}

/// Of all rows that the proof reads back, and the session that has read them.
fn read_digest(
    plan: &RunPlan,
    engine: &dyn Engine,
    proof: &ProofPlan,
) -> Result<(Digest, Box<dyn Session>), Error> {
    let mut digest = Digest::default();
    let mut hashes = Vec::with_capacity(BATCH_ROWS);
    let no_operations: [OpId; 0] = [];
    let mut session = engine.open(&no_operations)?;
    session.scan(&proof.read_back, &Columns::of(&plan.tables[proof.table]), &mut |columns| {
        row_hashes(columns, &mut hashes);
        digest.add(&hashes);
    })?;
    Ok((digest, session))
}

/// Which rows differ: the first missing and the first that should not be there, spelled out. Those of `open` may be missing.
fn diagnose(
    plan: &RunPlan,
    proof: &ProofPlan,
    read_back: &Statement,
    session: &mut dyn Session,
    open: &[Range<u64>],
) -> Result<ProofRow, Error> {
    let spec = &plan.tables[proof.table];
    let generator = RowGen::new(spec, plan.seed, plan.epoch_ns)?;
    let mut hashes = Vec::new();
    let mut missing: HashMap<u128, (u64, i64)> = HashMap::new();
    each_row(&generator, proof, &mut |row, hash| missing.entry(hash).or_insert((row, 0)).1 += 1);
    let (mut extra, mut first_extra) = (0u64, None);
    session.scan(read_back, &Columns::of(spec), &mut |columns| {
        row_hashes(columns, &mut hashes);
        for (at, hash) in hashes.iter().enumerate() {
            match missing.get_mut(hash) {
                Some((_, left)) if *left > 0 => *left -= 1,
                _ => {
                    extra += 1;
                    first_extra.get_or_insert_with(|| row_text(columns, at));
                }
            }
        }
    })?;
    missing.retain(|_, &mut (row, left)| left > 0 && !open.iter().any(|range| range.contains(&row)));
    let lost: u64 = missing.values().map(|&(_, left)| left as u64).sum();
    let first_lost = missing.values().map(|&(row, _)| row).min();
    let expected = first_lost.map_or(NONE_MISSING.to_owned(), |row| {
        let mut columns = generator.columns(1);
        generator.fill(row, 1, &mut columns);
        format!("{lost} rows missing, first row {row}: {}", row_text(&columns, 0))
    });
    let found =
        first_extra.map_or(NONE_FOREIGN.to_owned(), |text| format!("{extra} foreign rows, first: {text}"));
    Ok(compared(&spec.name, "difference".into(), expected, found))
}

/// The rows that a proof looks at, each with its hash.
fn each_row(generator: &RowGen, proof: &ProofPlan, each: &mut dyn FnMut(u64, u128)) {
    if let Some(part) = proof.series {
        return of_series::each_row(generator, proof, part, each);
    }
    let (mut columns, mut hashes) = (generator.columns(BATCH_ROWS), Vec::new());
    let (mut row, end) = (proof.first_row, proof.first_row + proof.rows);
    while row < end {
        let rows = BATCH_ROWS.min((end - row) as usize);
        generator.fill(row, rows, &mut columns);
        row_hashes(&columns, &mut hashes);
        hashes.iter().zip(row..).for_each(|(&hash, row)| each(row, hash));
        row += rows as u64;
    }
}

/// Segment and repetition are the caller's to fill in.
fn compared(table: &str, item: String, expected: String, found: String) -> ProofRow {
    let holds = expected == found;
    ProofRow { segment: 0, repetition: 0, table: table.to_owned(), item, expected, found, holds }
}

fn digest_text(digest: &Digest) -> String {
    format!("{} rows, {:032x}", digest.rows, digest.sum)
}

/// Engines return big sums as numeric, hugeint or text: `12`, `12.0` and `12.000` are one figure.
fn integer_text(value: &Value) -> String {
    let text = value_text(value);
    match text.split_once('.') {
        Some((whole, rest)) if rest.bytes().all(|b| b == b'0') => whole.to_owned(),
        _ => text,
    }
}

fn read_back_name(proof: &ProofPlan) -> String {
    if let Some(SeriesPart { first, count }) = proof.series {
        format!("read_back(series {first}..{})", first + count)
    } else if proof.checksum_query.is_empty() {
        format!("read_back({}..{})", proof.first_row, proof.first_row + proof.rows)
    } else {
        "read_back".into()
    }
}

fn item_name(item: &ChecksumItem) -> String {
    match item {
        ChecksumItem::Rows {} => "rows".into(),
        ChecksumItem::NotNull { column } => format!("not_null({column})"),
        ChecksumItem::Sum { column, .. } => format!("sum({column})"),
        ChecksumItem::SumLow { column } => format!("sum_low({column})"),
        ChecksumItem::SumHigh { column, .. } => format!("sum_high({column})"),
        ChecksumItem::SumWrapped { column } => format!("sum_wrapped({column})"),
        ChecksumItem::Product { key, value } => format!("product({key},{value})"),
        ChecksumItem::SumScaled { column, bits } => format!("sum_scaled({column},{bits})"),
        ChecksumItem::SumLength { column } => format!("sum_length({column})"),
        ChecksumItem::CountTrue { column } => format!("count_true({column})"),
        ChecksumItem::SumHash { column, .. } => format!("sum_hash({column})"),
        ChecksumItem::SumRows { columns, .. } => format!("sum_rows({})", columns.join(",")),
    }
}

#[cfg(test)]
mod tests;
