//! How a text file writes its rows, where that is not usual for its format.

use serde::{Deserialize, Serialize};

use super::segment::is_zero;

/// Each is one ASCII character, but `null` and `thousands`, which are texts. Absent: as is usual.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenAs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<String>,
    /// A field without quotes that is this text has no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null: Option<String>,
    /// What stands around a field; an empty text: nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Before a quote that is a part of a quoted field, beside the quote itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escape: Option<String>,
    /// A line that begins with it is no row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Lines before the first row, or before the header.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip: u64,
    /// Before the fraction of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decimal: Option<String>,
    /// Between three digits and three digits of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thousands: Option<String>,
}

impl WrittenAs {
    pub fn is_usual(&self) -> bool {
        *self == WrittenAs::default()
    }
}
