//! The proof of some series of a large table: all of their rows, wherever they stand in its order.
//!
//! Where rows are not by time at one rate, no two instants enclose rows that the generator can make again without
//! looking at the others; two keys do.

use std::ops::Range;

use super::diagnose;
use super::unanswered::Unanswered;
use crate::tables::ProofRow;
use inrush_engines::engine::{Engine, OpId};
use inrush_rows::error::Error;
use inrush_rows::plan::{ProofPlan, RunPlan, SeriesPart};
use inrush_rows::rows::{each_of_series, row_hashes, Columns, Expected, RowGen};

/// The table's rows that this proof is about; those of other series are among them.
fn among(proof: &ProofPlan) -> Range<u64> {
    proof.first_row..proof.first_row.saturating_add(proof.rows)
}

/// The rows of these series, each with its hash.
pub(super) fn each_row(
    generator: &RowGen,
    proof: &ProofPlan,
    part: SeriesPart,
    each: &mut dyn FnMut(u64, u128),
) {
    let (among, mut hashes) = (among(proof), Vec::new());
    let series = part.first..part.first.saturating_add(part.count);
    each_of_series(generator, among.end, series, |columns, places| {
        row_hashes(columns, &mut hashes);
        let rows = places.iter().zip(&hashes).filter(|(row, _)| among.contains(row));
        rows.for_each(|(&row, &hash)| each(row, hash));
    });
}

/// What they must add up to. Errors: figures of them that only a checksum query gives.
pub(super) fn expected(
    generator: &RowGen,
    plan: &RunPlan,
    proof: &ProofPlan,
    part: SeriesPart,
) -> Result<Expected, Error> {
    if !proof.checksum_query.is_empty() || !proof.items.is_empty() {
        return Err(Error::Plan(
            "rows of some series are read back; the checksum query is of the whole".into(),
        ));
    }
    let mut expected = Expected::empty(&[], &Columns::of(&plan.tables[proof.table]))?;
    each_row(generator, proof, part, &mut |_, hash| expected.digest.add(&[hash]));
    Ok(expected)
}

/// Beside inserts of which no answer came: their rows may be there or not, all others are there once, and nothing else.
pub(super) fn prove_beside(
    plan: &RunPlan,
    engine: &dyn Engine,
    proof: &ProofPlan,
    unanswered: &[Unanswered],
) -> Result<Vec<ProofRow>, Error> {
    let open: Vec<_> = unanswered.iter().map(Unanswered::range).collect();
    let no_operations: [OpId; 0] = [];
    let mut session = engine.open(&no_operations)?;
    let mut row = diagnose(plan, proof, &proof.read_back, session.as_mut(), &open)?;
    session.close()?;
    row.holds = row.expected == super::NONE_MISSING && row.found == super::NONE_FOREIGN;
    Ok(vec![row])
}
