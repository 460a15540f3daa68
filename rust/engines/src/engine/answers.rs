//! Answers of calls, each kept under its own ticket until the driver has judged it.

use std::sync::Arc;

use super::{Answer, Ticket};
use inrush_rows::rows::Value;

/// Rows whose room is kept for later ones.
const SPARE_ROWS: usize = 4096;

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
    /// Room of answers that are gone: lists without rows, and rows as they were.
    spare_lists: Vec<Vec<Vec<Value>>>,
    spare_rows: Vec<Vec<Value>>,
}

/// Value `at` of a row that has all before it.
#[inline]
pub fn put(row: &mut Vec<Value>, at: usize, value: Value) {
    match row.get_mut(at) {
        Some(kept) => *kept = value,
        None => row.push(value),
    }
}

/// The same of a whole number: where one stands already, its eight bytes are all that is written.
#[inline(always)]
pub fn put_whole(row: &mut Vec<Value>, at: usize, value: i64) {
    match row.get_mut(at) {
        Some(Value::I64(kept)) => *kept = value,
        _ => put(row, at, Value::I64(value)),
    }
}

impl Answers {
    /// An answer without rows.
    #[inline]
    pub fn begin(&mut self, names: &Arc<[String]>) -> Answer {
        Answer { names: names.clone(), rows: self.spare_lists.pop().unwrap_or_default() }
    }

    /// A row to be written over ([`put`], [`put_whole`]) and then cut to its length: it may hold values of an answer that
    /// is gone.
    #[inline]
    pub fn row(&mut self) -> Vec<Value> {
        self.spare_rows.pop().unwrap_or_default()
    }

    #[inline]
    pub fn keep(&mut self, ticket: Ticket, answer: Answer) {
        self.kept.push((ticket, answer));
    }

    /// To be called by every `poll` before it returns: forgets what the `poll` before has handed over.
    #[inline]
    pub fn hand_over(&mut self) {
        if !self.kept.is_empty() {
            for (_, Answer { mut rows, .. }) in self.kept.drain(..self.handed_over) {
                let room = SPARE_ROWS - self.spare_rows.len();
                self.spare_rows.extend(rows.drain(..).take(room));
                if self.spare_lists.len() < SPARE_ROWS {
                    self.spare_lists.push(rows);
                }
            }
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

    fn answer(n: i64) -> Answer {
        Answer { names: ["n".into()].into(), rows: vec![vec![Value::I64(n)]] }
    }

    #[test]
    fn the_room_of_an_answer_that_is_gone_is_that_of_later_ones() {
        let (mut answers, names) = (Answers::default(), Arc::from(["n".to_owned()]));
        answers.keep(1, Answer { rows: vec![vec![Value::I64(1); 26]; 3], ..answer(1) });
        answers.hand_over();
        assert_eq!(answers.row().capacity(), 0, "it is still to be judged");
        answers.hand_over();
        let next = answers.begin(&names);
        assert!(next.rows.is_empty() && next.rows.capacity() >= 3 && next.names == names);
        for row in [answers.row(), answers.row(), answers.row()] {
            assert!(row.capacity() >= 26);
        }
        assert_eq!(answers.row().capacity(), 0);
    }

    #[test]
    fn values_are_written_over_those_of_an_answer_that_is_gone_whatever_they_were() {
        let gone =
            [vec![], vec![Value::I64(9); 3], vec![Value::Text("a".into()), Value::Null, Value::U64(1)]];
        for mut row in gone {
            put_whole(&mut row, 0, 1);
            put(&mut row, 1, Value::Text("b".into()));
            put_whole(&mut row, 2, -1);
            assert_eq!(row, [Value::I64(1), Value::Text("b".into()), Value::I64(-1)]);
        }
    }

    #[test]
    fn room_is_kept_of_so_many_rows_and_no_more() {
        let mut answers = Answers::default();
        answers.keep(1, Answer { rows: vec![vec![Value::Null]; SPARE_ROWS + 1], ..answer(1) });
        (0..3).for_each(|_| answers.hand_over());
        assert_eq!(answers.spare_rows.len(), SPARE_ROWS);
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
