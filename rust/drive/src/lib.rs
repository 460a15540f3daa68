//! A run: sessions at work, what they record, what is watched meanwhile, and the proof of the rows.
//!
//! Reading order: `run`, `drive`, `record`, `tables`, `watch`, `proof`; `calibrate` measures the instrument itself.

pub mod calibrate;
pub mod drive;
pub mod proof;
pub mod record;
pub mod run;
pub mod tables;
pub mod watch;
