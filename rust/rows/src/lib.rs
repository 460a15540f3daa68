//! The plan of a run, the rows that it describes, and their bytes in every wire format. No time, no connection.
//!
//! Reading order: `types` (of columns), `plan`, `rows`, `encode`, `placement` (which shard a row belongs to). `clock`, `error`, `handle` and `lock` are for every crate.

pub mod clock;
pub mod encode;
pub mod error;
pub mod handle;
pub mod lock;
pub mod placement;
pub mod plan;
pub mod rows;
pub mod types;
