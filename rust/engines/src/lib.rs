//! Databases as the clock sees them: their protocols, when an operation is due, and which operation it is.
//!
//! Reading order: `engine`, `schedule`, `pace`, `mix`.

pub mod engine;
pub mod mix;
pub mod pace;
pub mod schedule;
