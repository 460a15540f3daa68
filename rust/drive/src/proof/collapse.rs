//! Rows of equal identity where the engine keeps one of them (`Caps::identity_collapses`).
//!
//! What must be there is then one row for each identity, and each must be one of the rows that share it: which of
//! them was written last is for several sessions to settle, so that any is right. Sums depend on that and are not
//! compared.

use super::{compared, BATCH_ROWS};
use crate::tables::ProofRow;
use inrush_engines::engine::{Engine, OpId};
use inrush_rows::error::Error;
use inrush_rows::plan::{ProofPlan, RunPlan};
use inrush_rows::rows::{row_hashes, Columns, RowGen};

/// More rows than this are not looked through for equal identities: 32 bytes each.
const MOST_ROWS: u64 = 10_000_000;

/// (hash of the identity, hash of the row), sorted.
struct Points {
    pairs: Vec<(u128, u128)>,
    distinct: u64,
    identity: Vec<usize>,
}

/// The proof of a table with rows that collapse; `None` where no two rows have one identity. `counted`: rows by the
/// checksum query.
pub(super) fn prove(
    plan: &RunPlan,
    engine: &dyn Engine,
    proof: &ProofPlan,
    counted: Option<&ProofRow>,
) -> Result<Option<Vec<ProofRow>>, Error> {
    let Some(points) = Points::of(plan, proof)? else { return Ok(None) };
    let table = &plan.tables[proof.table].name;
    let item = format!("points of {} rows, those of equal identity are one", proof.rows);
    let mut found = Vec::new();
    if let Some(counted) = counted {
        found.push(compared(table, item, points.distinct.to_string(), counted.found.clone()));
    }
    if !proof.read_back.is_empty() {
        found.push(points.read(plan, engine, proof)?);
    }
    Ok(Some(found))
}

impl Points {
    fn of(plan: &RunPlan, proof: &ProofPlan) -> Result<Option<Points>, Error> {
        let spec = &plan.tables[proof.table];
        if spec.identity.is_empty() || proof.rows > MOST_ROWS {
            return Ok(None);
        }
        let generator = RowGen::new(spec, plan.seed, plan.epoch_ns)?;
        let mut columns = generator.columns(BATCH_ROWS);
        let position = |name: &String| spec.columns.iter().position(|c| &c.name == name);
        let identity: Vec<usize> = spec.identity.iter().filter_map(position).collect();
        let mut pairs = Vec::with_capacity(proof.rows as usize);
        let (mut keys, mut hashes) = (Vec::new(), Vec::new());
        let end = proof.first_row + proof.rows;
        let mut row = proof.first_row;
        while row < end {
            let rows = BATCH_ROWS.min((end - row) as usize);
            generator.fill(row, rows, &mut columns);
            hash(&columns, &identity, &mut keys, &mut hashes);
            pairs.extend(keys.iter().copied().zip(hashes.iter().copied()));
            row += rows as u64;
        }
        pairs.sort_unstable();
        let repeated = pairs.windows(2).filter(|two| two[0].0 == two[1].0).count() as u64;
        let distinct = proof.rows - repeated;
        Ok((repeated > 0).then_some(Points { pairs, distinct, identity }))
    }

    fn read(&self, plan: &RunPlan, engine: &dyn Engine, proof: &ProofPlan) -> Result<ProofRow, Error> {
        let spec = &plan.tables[proof.table];
        let no_operations: [OpId; 0] = [];
        let mut session = engine.open(&no_operations)?;
        let (mut keys, mut hashes) = (Vec::new(), Vec::new());
        let (mut seen, mut foreign) = (Vec::with_capacity(self.distinct as usize), 0u64);
        session.scan(&proof.read_back, &Columns::of(spec), &mut |columns| {
            hash(columns, &self.identity, &mut keys, &mut hashes);
            for pair in keys.iter().copied().zip(hashes.iter().copied()) {
                match self.pairs.binary_search(&pair) {
                    Ok(_) => seen.push(pair.0),
                    Err(_) => foreign += 1,
                }
            }
        })?;
        session.close()?;
        seen.sort_unstable();
        seen.dedup();
        let text =
            |points: u64, foreign: u64| format!("{points} points, {foreign} that are none of their rows");
        let found = text(seen.len() as u64, foreign);
        Ok(compared(&spec.name, "read_back".into(), text(self.distinct, 0), found))
    }
}

/// Of every row: the hash of its identity, and of all of it.
fn hash(columns: &Columns, identity: &[usize], keys: &mut Vec<u128>, hashes: &mut Vec<u128>) {
    let own = identity.iter().map(|&at| columns.columns[at].clone()).collect();
    row_hashes(&Columns::new(columns.rows, own), keys);
    row_hashes(columns, hashes);
}
