//! What a call does with a file in place of a table, and what is done to that file off the clock.

use serde::{Deserialize, Serialize};

/// One record of a file for each call, of the engine `device`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IoPlan {
    pub does: IoKind,
    pub order: IoOrder,
    /// A whole number of [`IO_BLOCK`]s.
    pub record_bytes: u64,
    /// What is left of it behind the last whole record is not touched.
    pub file_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoKind {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoOrder {
    /// Call after call through the file, and again from its beginning.
    Sequential,
    /// Each call anywhere, every record alike: a function of seed, operation and call.
    Random,
}

/// Of a statement: what is done to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FileAction {
    /// Made anew, and written from its first byte to its last.
    LayOut { bytes: u64 },
    /// One row of (name, value): how large it is.
    Size {},
}

/// Offsets and lengths of direct I/O are multiples of it, and each block of the file names its own place.
pub const IO_BLOCK: u64 = 4096;
