//! Where the answer to a statement is: its head, what describes its columns, its rows.

use crate::engine::mysql::decode::{AnswerColumn, Head};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Nothing has come.
    Head,
    /// So many definitions of columns are to come.
    Columns(u64),
    Rows,
}

impl Reading {
    /// `columns`: of the answer, unless its head says that they are described. `None`: they are others.
    pub(super) fn behind_head(head: &Head, columns: &mut Vec<AnswerColumn>) -> Option<Reading> {
        if head.described {
            columns.clear();
            return Some(Reading::Columns(head.columns));
        }
        (columns.len() as u64 == head.columns).then_some(Reading::Rows)
    }

    #[inline]
    pub(super) fn behind_column(self) -> Reading {
        match self {
            Reading::Columns(left @ 2..) => Reading::Columns(left - 1),
            _ => Reading::Rows,
        }
    }

    /// What is wrong with the number of columns, once all have come.
    pub(super) fn miscounted(self, given: usize, wanted: usize) -> Option<String> {
        let all_came = self == Reading::Rows;
        (all_came && given != wanted).then(|| format!("gives {given} columns of {wanted}"))
    }
}
