//! Values of single rows, anywhere in a table: what keys are made of, and what rows of answers are compared with.

use super::columns::{Columns, Value};
use super::generate::RowGen;
use super::integers::FEW;

/// Some columns of a few rows of one generator; made anew by each `pick`, in the buffers of the one before.
pub struct Picked {
    /// Columns to fill, sources before what derives from them.
    order: Vec<usize>,
    columns: Columns,
}

impl Picked {
    /// Most rows of one `pick`.
    pub const ROWS: usize = FEW;

    /// Room for `wanted` columns of `generator`.
    pub fn new(generator: &RowGen, wanted: &[usize]) -> Picked {
        let order = generator.needed(wanted);
        let columns = generator.some_columns(&order, FEW);
        Picked { order, columns }
    }

    /// Makes these rows, `ROWS` at most; they need not follow one another. `generator` is that of `new`.
    pub fn pick(&mut self, generator: &RowGen, rows: &[u64]) {
        generator.fill_single(&self.order, rows, &mut self.columns);
    }

    /// The values of these columns in row `at` of the last `pick`.
    pub fn values(&self, columns: &[usize], at: usize) -> Vec<Value> {
        columns.iter().map(|&column| self.columns.columns[column].value(at)).collect()
    }

    /// The value of `column` in row `at` of the last `pick`.
    pub fn write(&self, column: usize, at: usize, out: &mut Value) {
        self.columns.columns[column].write_value(at, out);
    }
}
