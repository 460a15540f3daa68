//! Answers of calls, each kept under its own ticket until the driver has judged it.

use super::{Answer, Ticket};

/// Answers of one session: those of calls that have ended, in the order in which they ended.
///
/// An answer stays from the moment its call has ended until the `poll` after the one that handed the call over.
#[derive(Default)]
pub struct Answers {
    kept: Vec<(Ticket, Answer)>,
    /// The first so many belong to calls that a `poll` has handed over.
    handed_over: usize,
    /// Where the next one is expected: they are asked for in order.
    next: usize,
}

impl Answers {
    pub fn keep(&mut self, ticket: Ticket, answer: Answer) {
        self.kept.push((ticket, answer));
    }

    /// To be called by every `poll` before it returns: forgets what the `poll` before has handed over.
    #[inline]
    pub fn hand_over(&mut self) {
        if !self.kept.is_empty() {
            self.kept.drain(..self.handed_over);
            (self.handed_over, self.next) = (self.kept.len(), 0);
        }
    }

    pub fn of(&mut self, ticket: Ticket) -> Option<&Answer> {
        let is_its = |(of, _): &(Ticket, Answer)| *of == ticket;
        let at = match self.kept.get(self.next) {
            Some(next) if is_its(next) => self.next,
            _ => self.kept.iter().position(is_its)?,
        };
        self.next = at + 1;
        Some(&self.kept[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::rows::Value;

    fn answer(n: i64) -> Answer {
        Answer { names: vec!["n".into()], rows: vec![vec![Value::I64(n)]] }
    }

    #[test]
    fn every_call_has_its_own_answer_in_whatever_order_they_are_asked_for() {
        let mut answers = Answers::default();
        (0..64).for_each(|n| answers.keep(n, answer(n as i64)));
        answers.hand_over();
        for ticket in (0..64).chain((0..64).rev()) {
            assert_eq!(answers.of(ticket), Some(&answer(ticket as i64)));
            assert_eq!(answers.of(ticket), Some(&answer(ticket as i64)), "and it is still there");
        }
        assert_eq!(answers.of(64), None);
    }

    #[test]
    fn an_answer_goes_with_the_poll_after_its_own_and_not_before() {
        let mut answers = Answers::default();
        answers.keep(1, answer(1));
        answers.hand_over();
        answers.keep(2, answer(2));
        assert_eq!(answers.of(1), Some(&answer(1)));
        answers.hand_over();
        assert_eq!(answers.of(1), None);
        assert_eq!(answers.of(2), Some(&answer(2)));
    }
}
