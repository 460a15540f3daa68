//! The generators by name and parameters, as they stand in a plan.

use serde::{Deserialize, Serialize};

/// One generator of one column. `kind` names it; parameters by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum GenPlan {
    /// `start + step * row`.
    Sequence { start: i64, step: i64 },
}
