//! Rows of equal identity where the engine keeps one of them (`Caps::identity_collapses`).
//!
//! What must be there is then one row for each identity, and each must be one of the rows that share it: which of
//! them was written last is for several sessions to settle, so that any is right. Sums depend on that and are not
//! compared. So the rows are read back: how many there are says nothing of their values, and is no proof by itself.

use super::{compared, BATCH_ROWS};
use crate::tables::ProofRow;
use inrush_engines::engine::{Engine, OpId};
use inrush_rows::error::Error;
use inrush_rows::plan::{ProofPlan, RunPlan, Statement};
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
    let read_back = if proof.read_back.is_empty() { &proof.read_back_collapsed } else { &proof.read_back };
    found.push(if read_back.is_empty() {
        compared(table, READ_BACK.into(), points_text(points.distinct, 0), NOT_READ.into())
    } else {
        points.read(plan, engine, proof, read_back)?
    });
    Ok(Some(found))
}

const READ_BACK: &str = "read_back";
const NOT_READ: &str = "not read back: their sums cannot show that they are right";

fn points_text(points: u64, foreign: u64) -> String {
    format!("{points} points, {foreign} that are none of their rows")
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

    fn read(
        &self,
        plan: &RunPlan,
        engine: &dyn Engine,
        proof: &ProofPlan,
        read_back: &Statement,
    ) -> Result<ProofRow, Error> {
        let spec = &plan.tables[proof.table];
        let no_operations: [OpId; 0] = [];
        let mut session = engine.open(&no_operations)?;
        let (mut keys, mut hashes) = (Vec::new(), Vec::new());
        let (mut seen, mut foreign) = (Vec::with_capacity(self.distinct as usize), 0u64);
        session.scan(read_back, &Columns::of(spec), &mut |columns| {
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
        let found = points_text(seen.len() as u64, foreign);
        Ok(compared(&spec.name, READ_BACK.into(), points_text(self.distinct, 0), found))
    }
}

/// Of every row: the hash of its identity, and of all of it.
fn hash(columns: &Columns, identity: &[usize], keys: &mut Vec<u128>, hashes: &mut Vec<u128>) {
    let own = identity.iter().map(|&at| columns.columns[at].clone()).collect();
    row_hashes(&Columns::new(columns.rows, own), keys);
    row_hashes(columns, hashes);
}

#[cfg(test)]
mod tests {
    use super::super::{prove, Expectations, FromSessions};
    use super::*;
    use inrush_engines::engine::{Answer, Caps, Session};
    use inrush_rows::rows::Value;

    /// It has counted as many rows as there are identities. Nothing more is known of them.
    struct Counts(i64);

    impl Engine for Counts {
        fn caps(&self) -> Caps {
            Caps { identity_collapses: true, ..Caps::default() }
        }

        fn open(&self, _: &[OpId]) -> Result<Box<dyn Session>, Error> {
            unreachable!("nothing is read back")
        }

        fn control(&self, _: &str, _: u64) -> Result<Answer, Error> {
            let row = vec![Value::I64(self.0), Value::I64(77)];
            Ok(Answer { names: ["n".into(), "sum".into()].into(), rows: vec![row] })
        }
    }

    fn ten_rows_of_five_keys() -> (RunPlan, ProofPlan) {
        let table = serde_json::json!({"name": "t", "stream": "t", "identity": ["k"],
            "source": {"kind": "generated", "series": 1, "period_ns": 1}, "columns": [
            {"name": "k", "type": "i64", "wire": "", "gen": {"kind": "cycle", "from": 0, "to": 4}},
            {"name": "v", "type": "i64", "wire": "", "gen": {"kind": "sequence", "start": 1, "step": 1}}]});
        let target =
            serde_json::from_value(serde_json::json!({"engine": "null", "url": ""})).expect("a target");
        let plan = RunPlan::of_target(target, vec![serde_json::from_value(table).expect("a table")]);
        let proof = serde_json::json!({"table": 0, "first_row": 0, "rows": 10, "screen": "q", "read_back": "",
            "items": [{"kind": "rows"}, {"kind": "sum_wrapped", "column": "v"}]});
        let proof: ProofPlan = serde_json::from_value(proof).expect("a proof");
        (plan, proof)
    }

    #[test]
    fn as_many_rows_as_identities_are_no_proof_of_their_values() {
        let (plan, proof) = ten_rows_of_five_keys();
        let found =
            prove(&plan, &Counts(5), &proof, FromSessions::default(), &mut Expectations::default(), 1)
                .expect("it answers");
        assert!(found[0].holds && found[0].found == "5", "{found:?}");
        assert!(found.iter().any(|row| !row.holds && row.found == NOT_READ), "{found:?}");
    }

    #[test]
    fn rows_that_were_not_read_back_are_said_by_their_points_and_too_many_are_not_looked_through() {
        let (plan, mut proof) = ten_rows_of_five_keys();
        let points = Points::of(&plan, &proof).expect("a table").expect("keys come twice");
        assert_eq!((points.pairs.len(), points.distinct), (10, 5));
        assert_eq!(points_text(points.distinct, 2), "5 points, 2 that are none of their rows");
        proof.rows = MOST_ROWS + 1;
        assert!(Points::of(&plan, &proof).expect("a table").is_none());
    }
}
