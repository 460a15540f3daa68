//! What waits for a writer: as many rows as one transaction takes, in however many parts they come.
//!
//! Bounded by rows and bytes, not by parts: a chunk that many shards share comes in many small parts, and a bound of a few
//! of them would make each commit as much smaller as there are shards.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};

use inrush_rows::lock::Unpoisoned;
use inrush_rows::rows::Columns;

/// So many parts wait whatever rows they have: small transactions, too, need the next one ready.
const PARTS: usize = 4;
/// Texts and lists of so many bytes are enough for a transaction, and to wait, however few rows and parts they are: a
/// reader's chunk has about as many at most.
const BYTES: usize = 256 << 20;

/// Of one part or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub rows: usize,
    pub bytes: usize,
}

impl Size {
    pub fn of(rows: &Columns) -> Size {
        Size { rows: rows.rows, bytes: rows.varying_bytes() }
    }

    fn and(self, other: Size) -> Size {
        Size { rows: self.rows + other.rows, bytes: self.bytes + other.bytes }
    }

    fn reaches(self, rows: usize) -> bool {
        self.rows >= rows || self.bytes >= BYTES
    }
}

pub struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Rows that may wait; a part is not cut, so that it may be more.
    rows: usize,
}

struct State<T> {
    parts: VecDeque<(Size, T)>,
    waiting: Size,
    ended: bool,
}

impl<T> State<T> {
    fn is_full(&self, rows: usize) -> bool {
        let are_enough = self.parts.len() >= PARTS && self.waiting.rows >= rows;
        are_enough || self.waiting.bytes >= BYTES
    }
}

/// No writer takes any more: the writer has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Abandoned;

impl<T> Queue<T> {
    pub fn new(rows: usize) -> Queue<T> {
        let state = State { parts: VecDeque::new(), waiting: Size::default(), ended: false };
        Queue { state: Mutex::new(state), changed: Condvar::new(), rows }
    }

    /// Waits for room.
    pub fn put(&self, size: Size, part: T) -> Result<(), Abandoned> {
        let mut state = self.lock();
        while !state.ended && state.is_full(self.rows) {
            state = self.changed.wait(state).unpoisoned();
        }
        if state.ended {
            return Err(Abandoned);
        }
        state.parts.push_back((size, part));
        state.waiting = state.waiting.and(size);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits for a part; appends it to `out` with those behind it until they have `rows` rows or many bytes. Their rows;
    /// `None` once there is none and none will come.
    pub fn take(&self, rows: usize, out: &mut Vec<T>) -> Option<usize> {
        let mut state = self.lock();
        while state.parts.is_empty() {
            if state.ended {
                return None;
            }
            state = self.changed.wait(state).unpoisoned();
        }
        let mut taken = Size::default();
        while !taken.reaches(rows.max(1)) {
            let Some((size, part)) = state.parts.pop_front() else { break };
            taken = taken.and(size);
            out.push(part);
        }
        state.waiting.rows -= taken.rows;
        state.waiting.bytes -= taken.bytes;
        self.changed.notify_all();
        Some(taken.rows)
    }

    /// Nothing more will come; what is there is still taken.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// No writer takes any more: what is there is dropped, a reader that waits for room gets an error.
    pub fn abandon(&self) {
        let mut state = self.lock();
        (state.ended, state.waiting) = (true, Size::default());
        let left = std::mem::take(&mut state.parts);
        drop(state);
        self.changed.notify_all();
        drop(left);
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unpoisoned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::plan::LogicalType;
    use inrush_rows::rows::{Column, Values};
    use std::sync::Arc;
    use std::thread;

    fn of_rows(rows: usize) -> Size {
        Size { rows, bytes: 0 }
    }

    fn filled(rows: usize, parts: &[usize]) -> Queue<usize> {
        let queue = Queue::new(rows);
        for part in parts {
            queue.put(of_rows(*part), *part).unwrap();
        }
        queue
    }

    #[test]
    fn a_transaction_takes_parts_until_it_has_its_rows() {
        let queue = filled(1_000, &[300, 300, 300, 300]);
        let mut out = Vec::new();
        assert_eq!(queue.take(500, &mut out), Some(600));
        assert_eq!(queue.take(10_000, &mut out), Some(600), "what is there, and no waiting for more");
        assert_eq!(out, [300, 300, 300, 300]);
    }

    #[test]
    fn small_parts_wait_until_they_are_the_rows_of_a_transaction() {
        let queue = filled(1_000, &[10; 100]);
        let mut out = Vec::new();
        assert_eq!(queue.take(1_000, &mut out), Some(1_000));
    }

    #[test]
    fn a_queue_is_full_with_the_rows_of_a_transaction_and_a_few_parts() {
        let is_full = |parts: &[usize]| filled(100, parts).lock().is_full(100);
        assert!(is_full(&[50, 50, 50, 50]));
        assert!(!is_full(&[50, 50, 50]), "a writer always finds the next ones ready");
        assert!(!is_full(&[10; 9]) && is_full(&[10; 10]));
    }

    #[test]
    fn a_part_is_as_large_as_its_texts_and_lists() {
        let mut rows = Columns::new(
            2,
            [("k", LogicalType::I64), ("t", LogicalType::Text), ("l", LogicalType::ListF64)]
                .map(|(name, ty)| Column::new(name, ty))
                .into(),
        );
        rows.columns[0].values = Values::I64(vec![1, 2]);
        let Values::Text(texts) = &mut rows.columns[1].values else { panic!("a column of texts") };
        ["abc", "de"].iter().for_each(|text| texts.push(text.as_bytes()));
        let Values::List(lists) = &mut rows.columns[2].values else { panic!("a column of lists") };
        *lists.items = Values::F64(vec![0.5; 3]);
        assert_eq!(Size::of(&rows), Size { rows: 2, bytes: 5 + 3 * 8 });
    }

    #[test]
    fn wide_rows_fill_a_queue_and_a_transaction_by_their_bytes() {
        let queue = Queue::new(100_000);
        let wide = Size { rows: 100, bytes: BYTES / 2 };
        for part in 0..2 {
            assert!(!queue.lock().is_full(100_000));
            queue.put(wide, part).unwrap();
        }
        assert!(queue.lock().is_full(100_000));
        let mut out = Vec::new();
        assert_eq!(queue.take(50, &mut out), Some(100));
        queue.put(wide, 2).unwrap();
        queue.lock().parts.push_back((wide, 3));
        queue.lock().waiting = Size { rows: 300, bytes: BYTES / 2 * 3 };
        assert_eq!(queue.take(100_000, &mut out), Some(200), "two are enough");
        assert_eq!(out, [0, 1, 2]);
        assert_eq!(queue.lock().waiting, Size { rows: 100, bytes: BYTES / 2 });
    }

    #[test]
    fn a_full_queue_makes_wait_until_something_is_taken() {
        let queue = Arc::new(filled(100, &[50; 4]));
        let full = queue.clone();
        let putting = thread::spawn(move || full.put(of_rows(7), 7));
        let mut out = Vec::new();
        while out.len() < 5 {
            queue.take(1, &mut out).unwrap();
        }
        assert_eq!(putting.join().unwrap(), Ok(()));
        assert_eq!(out, [50, 50, 50, 50, 7]);
    }

    #[test]
    fn empty_parts_are_taken_with_the_rows_behind_them() {
        let queue = filled(100, &[0, 0, 5]);
        let mut out = Vec::new();
        assert_eq!(queue.take(1, &mut out), Some(5));
        assert_eq!(out, [0, 0, 5]);
    }

    #[test]
    fn at_its_end_what_is_there_is_taken_and_nothing_more_comes_in() {
        let queue = filled(100, &[5]);
        queue.end();
        assert_eq!(queue.put(of_rows(1), 1), Err(Abandoned));
        let mut out = Vec::new();
        assert_eq!(queue.take(100, &mut out), Some(5));
        assert_eq!(queue.take(100, &mut out), None);
    }

    #[test]
    fn whoever_waits_for_room_hears_that_the_writer_has_ended() {
        let queue = Arc::new(filled(1, &[1; 4]));
        let full = queue.clone();
        let putting = thread::spawn(move || full.put(of_rows(1), 1));
        queue.abandon();
        assert_eq!(putting.join().unwrap(), Err(Abandoned));
        assert_eq!(queue.take(1, &mut Vec::new()), None);
    }
}
