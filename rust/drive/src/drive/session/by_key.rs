//! Calls by key that add rows, change or delete them: which row each is of.

use super::Worker;
use crate::drive::touched::Change;
use inrush_engines::engine::Ticket;

impl Worker<'_> {
    /// Tickets begin anew in each segment and repetition; versions and rows that are drawn once go on.
    pub(super) fn count_on(&mut self) {
        for op in &mut self.ops {
            let touched = op.alters.and_then(|(_, table)| self.role.counts[table].touched());
            op.params.begin(touched.map_or(0, |touched| touched.calls_before(op.op)));
        }
    }

    /// The row that the call changes; false where it is to be in a version that its column does not hold.
    pub(super) fn draw_change(&mut self, ticket: Ticket, at: usize) -> bool {
        match self.ops[at].params.changed(ticket) {
            Ok((row, version)) => self.change = Change { row, version },
            // What stores nothing may be asked again and again.
            Err(_) if !self.ops[at].is_answered => {}
            Err(why) => self.fatal = Some(format!("role {}: {why}", self.role.name)),
        }
        self.fatal.is_none()
    }
}
