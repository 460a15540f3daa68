//! Rows as functions of (seed, stream, row): any row can be made again, alone, anywhere.

mod columns;
pub mod files;
mod spec;

pub use columns::{Column, Columns, ListValues, TextValues, Value, Values};
pub use spec::{AtLimit, CounterPlan, GenPlan, Increment, Per, DEFAULT_BITS};
