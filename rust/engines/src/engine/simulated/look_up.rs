//! Answers of look-ups by key, made from the generator: a server without rows knows them all.

use super::kept::Kept;
use crate::engine::Answer;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{Assertion, LogicalType, OpPlan, RunPlan};
use inrush_rows::rows::asked::AskedRows;
use inrush_rows::rows::changes::Changes;
use inrush_rows::rows::{Picked, RowGen, SeriesIndex, Value};

pub struct LookUp {
    pub table: usize,
    generator: RowGen,
    index: SeriesIndex,
    asked: AskedRows,
    numbers: Vec<u64>,
    row: Picked,
    /// Places of the answer's columns in the table.
    columns: Vec<usize>,
    /// Where calls by key change rows.
    changes: Option<Changes>,
}

impl LookUp {
    /// Whether `op` promises the rows of its keys.
    pub fn is_one(op: &OpPlan) -> bool {
        op.holds.iter().any(|assertion| matches!(assertion, Assertion::Asked { .. }))
    }

    pub fn new(plan: &RunPlan, op: &OpPlan) -> Result<LookUp, Error> {
        let assertion = op.holds.iter().find_map(|assertion| match assertion {
            Assertion::Asked { table, columns, keys } => Some((*table, columns, keys)),
            _ => None,
        });
        let (table, columns, keys) = assertion.expect("`is_one` has found it");
        let refuse = |why: String| Error::Plan(format!("operation {}: asked: {why}", op.name));
        let spec = plan.tables.get(table).ok_or_else(|| refuse(format!("there is no table {table}")))?;
        let generator = RowGen::new(spec, plan.seed, plan.epoch_ns)?;
        let index = SeriesIndex::new(&generator, spec)?;
        let asked = AskedRows::new(spec, &generator, &index, keys).map_err(refuse)?;
        let place = |name: &String| {
            let found = spec.columns.iter().position(|c| &c.name == name);
            found.ok_or_else(|| refuse(format!("{} has no column {name}", spec.name)))
        };
        let columns = columns.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let row = Picked::new(&generator, &columns);
        let changes = Changes::of(plan, table).map_err(refuse)?;
        Ok(LookUp { table, generator, index, asked, numbers: Vec::new(), row, columns, changes })
    }

    /// The first `stored` rows of the table were loaded; `kept`: what became of them and of others.
    pub fn answer(&mut self, params: &[Value], stored: u64, kept: &Kept) -> Answer {
        let below = self.changes.as_ref().map_or(stored, |changes| changes.rows.max(stored));
        self.asked.fill(&self.generator, &self.index, params, below, &mut self.numbers);
        let names = self.columns.iter().map(|&at| self.generator.name(at).to_owned()).collect();
        let mut answer = Answer { names, rows: Vec::with_capacity(self.numbers.len()) };
        for at in 0..self.numbers.len() {
            let number = self.numbers[at];
            let as_loaded = (number < stored || self.changes.is_none()).then_some(0);
            let state = match &self.changes {
                Some(_) => kept.lock().unpoisoned().get(&number).copied().unwrap_or(as_loaded),
                None => as_loaded,
            };
            if let Some(version) = state {
                answer.rows.push(self.row_at(number, version));
            }
        }
        answer
    }

    fn row_at(&mut self, number: u64, version: u64) -> Vec<Value> {
        let Some(changes) = self.changes.as_ref().filter(|_| version > 0) else {
            self.row.pick(&self.generator, &[number]);
            return self.row.values(&self.columns, 0);
        };
        self.row.pick(&self.generator, &[number, changes.donor(number, version)]);
        let mut values = self.row.values(&self.columns, 0);
        for (value, &column) in values.iter_mut().zip(&self.columns) {
            if changes.version == Some(column) {
                *value = match self.generator.ty(column) {
                    LogicalType::U64 => Value::U64(version),
                    _ => Value::I64(version as i64),
                };
            } else if changes.is_donated(column) {
                self.row.write(column, 1, value);
            }
        }
        values
    }
}
