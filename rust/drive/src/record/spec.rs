//! A role as its recorders and their collector need it.

use std::sync::Arc;

use inrush_engines::schedule::Stride;
use inrush_rows::plan::Schedule;

/// Which of the role's operations ticket `k` is.
pub type Choose = Arc<dyn Fn(u64) -> usize + Send + Sync>;

/// The role, as far as the record needs it.
#[derive(Clone)]
pub struct RoleSpec {
    pub name: String,
    /// Names of its operations; `Recorder` counts by index into these.
    pub ops: Vec<String>,
    pub sessions: u32,
    pub schedule: Schedule,
    /// `schedule::arrival_seed`.
    pub seed: u64,
    /// Tickets there are for this process; `None`: without end.
    pub count: Option<u64>,
    /// Which of the role's tickets they are.
    pub stride: Stride,
    pub looks: Looks,
    /// Needed for the backlog by operation, where there are several.
    pub choose: Option<Choose>,
}

impl RoleSpec {
    /// Of the first tickets of the role so many as are this process's own.
    pub(super) fn own(&self, tickets: u64) -> u64 {
        self.stride.among(tickets).min(self.count.unwrap_or(u64::MAX))
    }
}

/// What the answers of a role are looked at for, beside how long they take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Looks {
    /// Rows that others write.
    pub freshness: bool,
    /// When the first row has come.
    pub first_row: bool,
}
