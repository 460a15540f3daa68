//! The border: the half of inrush that runs on the clock, as a module of Python.
//!
//! A plan comes in (`inrush_rows::plan`, JSON), tables go out (`inrush_drive::tables`, Arrow). The crates from below to
//! above: `inrush-rows`, `inrush-engines`, beside each other `inrush-drive` and `inrush-load`, and this one.

#[cfg(feature = "python")]
mod python;
