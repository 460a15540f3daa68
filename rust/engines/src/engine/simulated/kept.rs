//! Rows that calls by key have added, changed or deleted: what a server without rows keeps of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{GenPlan, OpPlan, RowCall, RunPlan};
use inrush_rows::rows::asked::AskedRows;
use inrush_rows::rows::{RowGen, SeriesIndex, Value};

/// Row -> its version; None: it was deleted. Rows that are not in it are as they were loaded. Taken by every call on the
/// table: inside the "server", where a real one has locks of its own.
pub type Kept = Arc<Mutex<HashMap<u64, Option<u64>>>>;

/// A call by key that adds, changes or deletes a row.
pub struct RowChange {
    pub table: usize,
    does: RowCall,
    generator: RowGen,
    index: SeriesIndex,
    asked: AskedRows,
    /// Its parameter of the version.
    version: Option<usize>,
    /// Rows that there may be.
    rows: u64,
    numbers: Vec<u64>,
}

impl RowChange {
    /// Whether `op` is one.
    pub fn is_one(op: &OpPlan) -> bool {
        op.does.is_some_and(|does| does != RowCall::Read)
    }

    /// rows: that there may be in its table.
    pub fn new(plan: &RunPlan, op: &OpPlan, rows: u64) -> Result<RowChange, Error> {
        let refuse = |why: String| Error::Plan(format!("operation {}: {why}", op.name));
        let spec = op.table.and_then(|table| plan.tables.get(table));
        let (Some(table), Some(spec), Some(does)) = (op.table, spec, op.does) else {
            return Err(refuse("a call by key is of a table".into()));
        };
        let generator = RowGen::new(spec, plan.seed, plan.epoch_ns)?;
        let index = SeriesIndex::new(&generator, spec)?;
        let key = |name: &String| if spec.identity.contains(name) { name.clone() } else { String::new() };
        let keys: Vec<String> = op.params.iter().map(|param| key(&param.name)).collect();
        let asked = AskedRows::new(spec, &generator, &index, &keys).map_err(refuse)?;
        let version = spec.columns.iter().find(|column| column.gen == Some(GenPlan::Version {}));
        let version =
            version.and_then(|version| op.params.iter().position(|param| param.name == version.name));
        Ok(RowChange { table, does, generator, index, asked, version, rows, numbers: Vec::new() })
    }

    /// Rows that were changed. The first `stored` rows of the table were loaded.
    pub fn change(&mut self, params: &[Value], kept: &Kept, stored: u64) -> u64 {
        self.asked.fill(&self.generator, &self.index, params, self.rows, &mut self.numbers);
        let Some(&row) = self.numbers.first() else { return 0 };
        let version = match self.version.map(|at| &params[at]) {
            Some(Value::U64(version)) => *version,
            Some(Value::I64(version)) => *version as u64,
            _ => 0,
        };
        let mut kept = kept.lock().unpoisoned();
        let there = kept.get(&row).copied().unwrap_or_else(|| (row < stored).then_some(0));
        let after = match (self.does, there) {
            (RowCall::Delete, Some(_)) => None,
            (RowCall::Insert, None) => Some(0),
            (RowCall::Write, _) | (RowCall::Update, Some(_)) => Some(version),
            // A row that is there is not inserted again, one that is not is not changed.
            _ => return 0,
        };
        kept.insert(row, after);
        1
    }
}
