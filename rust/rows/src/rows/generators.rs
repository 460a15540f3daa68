//! The generators of a plan's tables, each made once and shared by all threads that make its rows again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::generate::RowGen;
use super::index::SeriesIndex;
use crate::error::Error;
use crate::lock::Unpoisoned;
use crate::plan::{RunPlan, TablePlan};

/// Made when first asked for, before the clock runs; threads that ask at the same time wait for one another.
pub struct Generators {
    plan: Arc<RunPlan>,
    generators: Mutex<HashMap<usize, Arc<RowGen>>>,
    indexes: Mutex<HashMap<usize, Arc<SeriesIndex>>>,
}

impl Generators {
    pub fn new(plan: Arc<RunPlan>) -> Generators {
        Generators { plan, generators: Mutex::default(), indexes: Mutex::default() }
    }

    pub fn plan(&self) -> &RunPlan {
        &self.plan
    }

    /// Of table `table` of the plan. Errors: as `RowGen::new`; no such table.
    pub fn of(&self, table: usize) -> Result<Arc<RowGen>, Error> {
        let spec = self.table(table)?;
        once(&self.generators, table, || RowGen::new(spec, self.plan.seed, self.plan.epoch_ns))
    }

    /// From identities of table `table` back to its rows. Errors: as `SeriesIndex::new`.
    pub fn index(&self, table: usize) -> Result<Arc<SeriesIndex>, Error> {
        let (generator, spec) = (self.of(table)?, self.table(table)?);
        once(&self.indexes, table, || SeriesIndex::new(&generator, spec))
    }

    fn table(&self, table: usize) -> Result<&TablePlan, Error> {
        let tables = &self.plan.tables;
        tables.get(table).ok_or_else(|| Error::Plan(format!("there is no table {table} of {}", tables.len())))
    }
}

fn once<T>(
    made: &Mutex<HashMap<usize, Arc<T>>>,
    table: usize,
    make: impl FnOnce() -> Result<T, Error>,
) -> Result<Arc<T>, Error> {
    let mut made = made.lock().unpoisoned();
    if let Some(known) = made.get(&table) {
        return Ok(known.clone());
    }
    let new = Arc::new(make()?);
    made.insert(table, new.clone());
    Ok(new)
}
