//! inrush-core: everything that happens while the clock runs.
//!
//! A plan comes in ([`plan::RunPlan`], JSON), tables go out ([`tables`], Arrow).
//! Reading order: `plan`, `rows`, `engine`, `schedule`, `drive`, `record`, `run`.

pub mod calibrate;
pub mod clock;
pub mod drive;
pub mod encode;
pub mod engine;
pub mod error;
#[cfg(test)]
mod fuzz;
pub mod handle;
pub mod load;
mod lock;
pub mod mix;
pub mod pace;
pub mod plan;
pub mod proof;
#[cfg(feature = "python")]
mod python;
pub mod record;
pub mod rows;
pub mod run;
pub mod schedule;
pub mod tables;
pub mod watch;

pub use error::Error;
