//! Answers of look-ups by key, made from the generator: a server without rows knows them all.

use crate::engine::Answer;
use inrush_rows::error::Error;
use inrush_rows::plan::{Assertion, OpPlan, RunPlan};
use inrush_rows::rows::asked::AskedRows;
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
        Ok(LookUp { table, generator, index, asked, numbers: Vec::new(), row, columns })
    }

    /// The first `stored` rows of the table are there.
    pub fn answer(&mut self, params: &[Value], stored: u64) -> Answer {
        self.asked.fill(&self.generator, &self.index, params, stored, &mut self.numbers);
        let names = self.columns.iter().map(|&at| self.generator.name(at).to_owned()).collect();
        let mut answer = Answer { names, rows: Vec::with_capacity(self.numbers.len()) };
        for &number in &self.numbers {
            self.row.pick(&self.generator, &[number]);
            answer.rows.push(self.row.values(&self.columns, 0));
        }
        answer
    }
}
