//! The proof of a table whose rows calls by key insert, change and delete.
//!
//! Each row that is read back is found by its identity and made again in its version: it must be whole, come once, and be
//! in a state that may be the last one. Every row that must be there comes. The sums of the engine are those of the rows
//! that came.

use super::{checksum_figures, compared, screened, unanswered, Unanswered};
use crate::tables::ProofRow;
use inrush_engines::engine::{Engine, OpId};
use inrush_rows::error::Error;
use inrush_rows::plan::{ProofPlan, RunPlan};
use inrush_rows::rows::changes::Changes;
use inrush_rows::rows::{row_text, value_text, Columns, Expected, Picked, RowGen, SeriesIndex, Value};

/// What the calls of a run have left of a table.
pub struct Left<'a> {
    pub changes: &'a Changes,
    /// Whether row and version may be there.
    pub may_be: &'a dyn Fn(u64, u64) -> bool,
    /// Whether the row must be there.
    pub must_be: &'a dyn Fn(u64) -> bool,
}

/// What holds is said so.
const ALL: &str = "every row once, as calls have left it";

pub fn prove(
    plan: &RunPlan,
    engine: &dyn Engine,
    proof: &ProofPlan,
    left: &Left<'_>,
    unanswered: &[Unanswered],
    limit_ns: u64,
) -> Result<Vec<ProofRow>, Error> {
    let spec = &plan.tables[proof.table];
    let Some(statement) = unanswered::read_back(plan, proof) else {
        return Err(Error::Plan(format!(
            "{}: rows change by key, and nothing reads them back to prove them",
            spec.name
        )));
    };
    let like = Columns::of(spec);
    let mut came = Came::new(plan, proof.table, left, unanswered)?;
    let mut sums = Expected::empty(&proof.items, &like)?;
    let no_operations: [OpId; 0] = [];
    let mut session = engine.open(&no_operations)?;
    session.scan(statement, &like, &mut |columns| {
        sums.sums.add(columns);
        (0..columns.rows).for_each(|at| came.row(columns, at));
    })?;
    session.close()?;
    let mut rows = vec![compared(&spec.name, "rows_by_key".into(), ALL.into(), came.said())];
    if !proof.checksum_query.is_empty() {
        rows.extend(screened(proof, &spec.name, &sums, &checksum_figures(engine, proof, limit_ns)?));
    }
    Ok(rows)
}

/// The rows that came.
struct Came<'a> {
    left: &'a Left<'a>,
    unanswered: &'a [Unanswered],
    generator: RowGen,
    index: SeriesIndex,
    picked: Picked,
    /// Of the row in hand.
    values: Vec<Value>,
    made: Value,
    seen: Vec<bool>,
    wrong: u64,
    first_wrong: Option<String>,
}

impl<'a> Came<'a> {
    fn new(
        plan: &RunPlan,
        table: usize,
        left: &'a Left<'a>,
        unanswered: &'a [Unanswered],
    ) -> Result<Came<'a>, Error> {
        let spec = &plan.tables[table];
        let generator = RowGen::new(spec, plan.seed, plan.epoch_ns)?;
        let index = SeriesIndex::new(&generator, spec)?;
        let all: Vec<usize> = (0..spec.columns.len()).collect();
        Ok(Came {
            left,
            unanswered,
            picked: Picked::new(&generator, &all),
            generator,
            index,
            values: vec![Value::Null; all.len()],
            made: Value::Null,
            seen: vec![false; left.changes.rows as usize],
            wrong: 0,
            first_wrong: None,
        })
    }

    fn row(&mut self, columns: &Columns, at: usize) {
        for (column, value) in columns.columns.iter().zip(&mut self.values) {
            column.write_value(at, value);
        }
        if let Some(why) = self.wrong() {
            self.wrong += 1;
            self.first_wrong.get_or_insert_with(|| format!("{} ({why})", row_text(columns, at)));
        }
    }

    fn wrong(&mut self) -> Option<String> {
        let values = &self.values;
        let number = self.index.number_of(|column| values.get(column));
        let Some(number) = number.filter(|&number| number < self.left.changes.rows) else {
            return Some("no row has its identity".into());
        };
        let version = match self.left.changes.version.map(|column| &values[column]) {
            None => 0,
            Some(Value::I64(version)) if *version >= 0 => *version as u64,
            Some(Value::U64(version)) => *version,
            Some(other) => return Some(format!("{} is no version", value_text(other))),
        };
        if std::mem::replace(&mut self.seen[number as usize], true) {
            return Some(format!("row {number} again"));
        }
        let donor = self.left.changes.donor(number, version);
        self.picked.pick(&self.generator, &[number, donor]);
        for (column, found) in values.iter().enumerate() {
            if version > 0 && self.left.changes.version == Some(column) {
                continue;
            }
            let of_donor = version > 0 && self.left.changes.is_donated(column);
            self.picked.write(column, usize::from(of_donor), &mut self.made);
            if !is_same(&self.made, found) {
                let (name, made) = (self.generator.name(column), value_text(&self.made));
                return Some(format!("row {number} in version {version} has {name} {made}"));
            }
        }
        let is_open = self.unanswered.iter().any(|batch| batch.range().contains(&number));
        if is_open || (self.left.may_be)(number, version) {
            return None;
        }
        Some(format!("row {number} is not to be there in version {version}"))
    }

    fn said(&self) -> String {
        let missed = |row: &u64| !self.seen[*row as usize] && (self.left.must_be)(*row);
        let answered = |row: &u64| !self.unanswered.iter().any(|batch| batch.range().contains(row));
        let mut missing = (0..self.left.changes.rows).filter(missed).filter(answered);
        let first = missing.next();
        let mut said = Vec::new();
        if let Some(first) = first {
            said.push(format!("{} rows missing, the first is row {first}", 1 + missing.count()));
        }
        if let Some(first) = &self.first_wrong {
            said.push(format!("{} rows wrong, first: {first}", self.wrong));
        }
        if said.is_empty() {
            ALL.into()
        } else {
            said.join("; ")
        }
    }
}

/// Both are as they are stored; NaN equals nothing, and stands where it was stored.
fn is_same(made: &Value, found: &Value) -> bool {
    match (made, found) {
        (Value::F64(a), Value::F64(b)) => a == b || (a.is_nan() && b.is_nan()),
        (a, b) => a == b,
    }
}
