//! Lies about rows that are handed over as they come.

use super::rows::{change, gather};
use super::{strikes, Fault, Lie};
use crate::engine::extract::Sink;
use inrush_rows::rows::Columns;

/// Fault of an answer, and the one of rows that are stored which does the same.
const AS_STORED: [(Lie, Lie); 3] =
    [(Lie::AnswerDrop, Lie::Drop), (Lie::AnswerDouble, Lie::Double), (Lie::AnswerSwap, Lie::Swap)];

/// Between the engine and the driver that looks at its rows.
pub struct Lying<'a> {
    faults: Vec<Fault>,
    /// Rows of earlier answers.
    before: u64,
    seen: u64,
    handed_over: u64,
    sink: &'a mut dyn Sink,
}

impl<'a> Lying<'a> {
    pub fn new(faults: &[Fault], before: u64, sink: &'a mut dyn Sink) -> Lying<'a> {
        let as_stored = |fault: &Fault| {
            let lie = AS_STORED.iter().find(|(of_answers, _)| *of_answers == fault.lie).map(|(_, lie)| *lie);
            Fault { lie: lie.unwrap_or(fault.lie), ..*fault }
        };
        let of_answers = |fault: &&Fault| {
            fault.lie == Lie::AnswerTurn || AS_STORED.iter().any(|(lie, _)| *lie == fault.lie)
        };
        let faults = faults.iter().filter(of_answers).map(as_stored).collect();
        Lying { faults, before, seen: 0, handed_over: 0, sink }
    }

    /// Rows that came.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Rows that the engine says to have sent.
    pub fn claims(&self) -> u64 {
        self.handed_over
    }
}

impl Sink for Lying<'_> {
    fn first(&mut self) {
        self.sink.first();
    }

    fn rows(&mut self, batch: &Columns) {
        let before = self.before + self.seen;
        let mut shown = change(batch, &self.faults, before);
        let turned = |row: usize| strikes(&self.faults, Lie::AnswerTurn, before + row as u64 + 1);
        if let Some(row) = (1..shown.rows).find(|&row| turned(row)) {
            let mut order: Vec<usize> = (0..shown.rows).collect();
            order.swap(row - 1, row);
            let columns = shown.columns.iter().map(|column| gather(column, &order)).collect();
            shown = Columns::new(shown.rows, columns);
        }
        self.seen += batch.rows as u64;
        self.handed_over += shown.rows as u64;
        self.sink.rows(&shown);
    }
}
