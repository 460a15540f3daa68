//! The proof of a table of which some inserts got no answer: the connection was lost, and whether their rows are there
//! is what the proof finds out.
//!
//! All other rows must be there once and unchanged. An insert without an answer must be there whole or not at all, never
//! twice and never changed; where the engine stores a batch in parts (`Caps::inserts_whole` is false), each of its rows
//! may be there or not. Nothing else may be there.
//!
//! Rows that are read back decide, each by its hash. Where they are not read back whole (a large table), or were read
//! from files, which have no kept hashes, sums decide: those of some of the inserts and of all other rows together must
//! be what was found.

mod settle;
mod sums;

use std::ops::Range;

use super::{checksum_figures, compared, diagnose, digest_text, read_back_name, screened, BATCH_ROWS};
use crate::tables::ProofRow;
use inrush_engines::engine::{Engine, OpId};
use inrush_rows::error::Error;
use inrush_rows::plan::{ProofPlan, RunPlan, Segment, Statement};
use inrush_rows::rows::{row_hashes, Columns, Digest, Expected, RowGen};

use settle::{Settled, Sightings};

/// More rows without an answer than this are not distinguished: 48 bytes each.
const MOST_ROWS: u64 = 10_000_000;
/// What an insert without an answer may be.
const WHOLE_OR_NONE: &str = "whole or none";
const ONCE_OR_NOT: &str = "each row once or not at all";

/// A batch that was sent and of which no answer came.
#[derive(Clone)]
pub struct Unanswered {
    /// Of the generator; of files, by the order in which they are read.
    pub first_row: u64,
    pub rows: u64,
    /// What its rows add up to, where only reading them shows it.
    pub of_files: Option<Box<Expected>>,
}

impl Unanswered {
    pub(super) fn range(&self) -> Range<u64> {
        self.first_row..self.first_row.saturating_add(self.rows)
    }
}

/// Those of `unanswered` that this proof looks at, each cut to the rows that it looks at.
pub(super) fn of_proof(unanswered: &[Unanswered], proof: &ProofPlan, from_files: bool) -> Vec<Unanswered> {
    let mut found: Vec<Unanswered> = unanswered.to_vec();
    if !from_files {
        let end = proof.first_row + proof.rows;
        for batch in &mut found {
            let range = batch.range();
            batch.first_row = range.start.max(proof.first_row);
            batch.rows = range.end.min(end).saturating_sub(batch.first_row);
        }
    }
    found.retain(|batch| batch.rows > 0);
    found.sort_by_key(|batch| batch.first_row);
    found
}

/// Proves a table that `unanswered` inserts were to fill, too. They are those of `of_proof`.
pub(super) fn prove(
    plan: &RunPlan,
    engine: &dyn Engine,
    proof: &ProofPlan,
    stored: Option<&Expected>,
    unanswered: &[Unanswered],
    limit_ns: u64,
) -> Result<Vec<ProofRow>, Error> {
    if let Some(stored) = stored {
        return sums::of_files(plan, engine, proof, stored, unanswered, limit_ns);
    }
    let spec = &plan.tables[proof.table];
    let rows = unanswered.iter().map(|batch| batch.rows).sum::<u64>();
    if rows > MOST_ROWS {
        let most = format!("at most {MOST_ROWS} rows of inserts without an answer, to be distinguished");
        return Ok(vec![compared(&spec.name, "unanswered".into(), most, format!("{rows} rows"))]);
    }
    let generator = RowGen::new(spec, plan.seed, plan.epoch_ns)?;
    let table = Table { plan, engine, proof, generator, unanswered };
    match read_back(plan, proof) {
        Some(statement) => {
            let rows = table.by_rows(statement, limit_ns)?;
            // A server may not have missed the connection yet, and end the insert between the two: looked at once more.
            match rows.iter().all(|row| row.holds) {
                true => Ok(rows),
                false => table.by_rows(statement, limit_ns),
            }
        }
        None => sums::of_generated(&table, limit_ns),
    }
}

/// The statement that reads back what this proof looks at; between repetitions that of the table's last proof.
pub(super) fn read_back<'a>(plan: &'a RunPlan, proof: &'a ProofPlan) -> Option<&'a Statement> {
    if !proof.read_back.is_empty() {
        return Some(&proof.read_back);
    }
    let later = plan.segments.iter().filter_map(|segment| match segment {
        Segment::Proof { proofs, .. } => Some(proofs),
        _ => None,
    });
    // One with a checksum query is of the whole table.
    let whole = |other: &&ProofPlan| {
        other.table == proof.table && !other.checksum_query.is_empty() && !other.read_back.is_empty()
    };
    later.flatten().find(whole).map(|other| &other.read_back)
}

/// A generated table, some inserts of which got no answer.
struct Table<'a> {
    plan: &'a RunPlan,
    engine: &'a dyn Engine,
    proof: &'a ProofPlan,
    generator: RowGen,
    /// By their rows, of which no two share one.
    unanswered: &'a [Unanswered],
}

impl Table<'_> {
    fn name(&self) -> &str {
        &self.plan.tables[self.proof.table].name
    }

    /// Rows that were acknowledged.
    fn acknowledged(&self) -> u64 {
        self.proof.rows - self.unanswered.iter().map(|batch| batch.rows).sum::<u64>()
    }

    fn empty(&self) -> Result<Expected, Error> {
        Expected::empty(&self.proof.items, &Columns::of(&self.plan.tables[self.proof.table]))
    }

    /// The rows of `range`, some at a time.
    fn each(&self, range: Range<u64>, mut each: impl FnMut(&Columns)) {
        let most = range.end.saturating_sub(range.start).min(BATCH_ROWS as u64);
        let mut columns = self.generator.columns(most as usize);
        let mut row = range.start;
        while row < range.end {
            let rows = BATCH_ROWS.min((range.end - row) as usize);
            self.generator.fill(row, rows, &mut columns);
            each(&columns);
            row += rows as u64;
        }
    }

    /// The rows between the inserts without an answer, some at a time.
    fn each_acknowledged(&self, mut each: impl FnMut(&Columns)) {
        let mut from = self.proof.first_row;
        for batch in self.unanswered {
            self.each(from..batch.first_row, &mut each);
            from = batch.range().end;
        }
        self.each(from..self.proof.first_row + self.proof.rows, &mut each);
    }

    /// Every row that is read back is one that was acknowledged, or one of an insert without an answer.
    fn by_rows(&self, read_back: &Statement, limit_ns: u64) -> Result<Vec<ProofRow>, Error> {
        let mut hashes = Vec::with_capacity(BATCH_ROWS);
        let mut seen = Sightings::default();
        for batch in self.unanswered {
            seen.begin_batch();
            self.each(batch.range(), |columns| {
                row_hashes(columns, &mut hashes);
                seen.may_be_there(&hashes);
            });
        }
        let mut acknowledged = self.empty()?;
        self.each_acknowledged(|columns| {
            acknowledged.sums.add(columns);
            row_hashes(columns, &mut hashes);
            hashes.retain(|&hash| !seen.must_be_there(hash));
            acknowledged.digest.add(&hashes);
        });
        let mut found = Digest::default();
        let no_operations: [OpId; 0] = [];
        let mut session = self.engine.open(&no_operations)?;
        let like = Columns::of(&self.plan.tables[self.proof.table]);
        session.scan(read_back, &like, &mut |columns| {
            row_hashes(columns, &mut hashes);
            hashes.retain(|&hash| !seen.is_there(hash));
            found.add(&hashes);
        })?;
        let settled = seen.settle();
        let mut rows = self.inserts(&settled);
        let (must, is) = (self.acknowledged(), found.rows + seen.acknowledged_found());
        let whole_table = !self.proof.checksum_query.is_empty();
        rows.insert(0, compared(self.name(), "acknowledged".into(), must.to_string(), is.to_string()));
        let (expected, found) = (digest_text(&acknowledged.digest), digest_text(&found));
        rows.push(compared(self.name(), read_back_name(self.proof), expected, found));
        if rows.iter().any(|row| !row.holds) && self.proof.rows <= super::DIAGNOSE_ROWS {
            let open: Vec<Range<u64>> = self.unanswered.iter().map(Unanswered::range).collect();
            rows.push(diagnose(self.plan, self.proof, read_back, session.as_mut(), &open)?);
        }
        session.close()?;
        if !whole_table {
            // What holds is said once, by the proof of the whole table.
            let read_back = read_back_name(self.proof);
            rows.retain(|row| !row.holds || row.item == read_back);
            return Ok(rows);
        }
        for (batch, settled) in self.unanswered.iter().zip(&settled) {
            self.add_stored(batch, settled, &mut acknowledged);
        }
        rows.extend(screened(
            self.proof,
            self.name(),
            &acknowledged,
            &checksum_figures(self.engine, self.proof, limit_ns)?,
        ));
        Ok(rows)
    }

    /// One row for each insert without an answer.
    fn inserts(&self, settled: &[Settled]) -> Vec<ProofRow> {
        let whole = self.engine.caps().inserts_whole;
        let expected = if whole { WHOLE_OR_NONE } else { ONCE_OR_NOT };
        let of = self.unanswered.iter().zip(settled);
        of.map(|(batch, settled)| {
            let found = settled.text();
            let mut row = compared(self.name(), item(batch), expected.to_owned(), found);
            row.holds = settled.twice == 0 && !(whole && settled.is_part());
            row
        })
        .collect()
    }

    /// Adds the sums of those of its rows that are there.
    fn add_stored(&self, batch: &Unanswered, settled: &Settled, to: &mut Expected) {
        if settled.is_part() {
            let there = settled.there.iter().zip(batch.range()).filter(|(there, _)| **there);
            there.for_each(|(_, row)| self.each(row..row + 1, |columns| to.sums.add(columns)));
        } else if settled.rows() > 0 {
            self.each(batch.range(), |columns| to.sums.add(columns));
        }
    }
}

/// Read by python/inrush/results/unanswered.py.
fn item(batch: &Unanswered) -> String {
    let Range { start, end } = batch.range();
    format!("unanswered({start}..{end})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(first_row: u64, rows: u64) -> Unanswered {
        Unanswered { first_row, rows, of_files: None }
    }

    #[test]
    fn a_proof_looks_at_those_parts_of_inserts_that_are_among_its_rows() {
        let proof = ProofPlan {
            table: 0,
            first_row: 100,
            rows: 100,
            checksum_query: Statement::default(),
            items: Vec::new(),
            read_back: Statement::default(),
            unseen: String::new(),
            read_back_collapsed: Statement::default(),
            dump: None,
            series: None,
        };
        let inserts = [insert(190, 50), insert(50, 50), insert(90, 20), insert(120, 10), insert(200, 10)];
        let found: Vec<_> = of_proof(&inserts, &proof, false).iter().map(Unanswered::range).collect();
        assert_eq!(found, [100..110, 120..130, 190..200]);
        assert_eq!(
            of_proof(&inserts, &proof, true).len(),
            5,
            "rows of files have no numbers of the generator"
        );
    }
}
