//! Why calls failed, each kept under its own ticket until the driver has asked.

use super::Ticket;

/// Messages of one session: of several calls that end together each has its own.
///
/// A message stays from the moment its call has failed until the `poll` after the one that handed the call over.
#[derive(Default)]
pub struct Failures {
    kept: Vec<(Ticket, String)>,
    /// The first so many belong to calls that a `poll` has handed over.
    handed_over: usize,
}

impl Failures {
    /// The last word on a call counts.
    pub fn note(&mut self, ticket: Ticket, why: String) {
        match self.kept[self.handed_over..].iter_mut().find(|(of, _)| *of == ticket) {
            Some((_, known)) => *known = why,
            None => self.kept.push((ticket, why)),
        }
    }

    /// To be called by every `poll` before it returns: forgets what the `poll` before has handed over.
    #[inline]
    pub fn hand_over(&mut self) {
        if !self.kept.is_empty() {
            self.kept.drain(..self.handed_over);
            self.handed_over = self.kept.len();
        }
    }

    pub fn of(&self, ticket: Ticket) -> Option<String> {
        // The newest: a ticket counts from 0 again in every repetition.
        self.kept.iter().rev().find(|(of, _)| *of == ticket).map(|(_, why)| why.clone())
    }

    /// Of any call, where one stands for all.
    pub fn any(&self) -> Option<&str> {
        self.kept.last().map(|(_, why)| why.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_its_own_message_in_whatever_order_they_are_asked_for() {
        let mut failures = Failures::default();
        (0..8).for_each(|ticket| failures.note(ticket, format!("why {ticket}")));
        failures.hand_over();
        for ticket in (0..8).rev() {
            assert_eq!(failures.of(ticket), Some(format!("why {ticket}")));
        }
        assert_eq!(failures.of(8), None, "a call that did not fail has no other's message");
    }

    #[test]
    fn a_message_goes_with_the_poll_after_its_own_and_a_later_word_replaces_it() {
        let mut failures = Failures::default();
        failures.note(1, "first".into());
        failures.note(1, "second".into());
        failures.hand_over();
        failures.note(2, "other".into());
        assert_eq!(failures.of(1).as_deref(), Some("second"));
        failures.hand_over();
        assert_eq!((failures.of(1), failures.of(2).as_deref()), (None, Some("other")));
    }
}
