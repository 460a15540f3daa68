//! The time of a table cut into windows of one length, and which of them holds a row.

use super::events::{Events, LAST_NS};

#[derive(Debug, Clone, Copy)]
pub struct Windows {
    width_ns: u64,
}

/// A window, and the events before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub window: u64,
    pub first_row: u64,
}

impl Windows {
    /// Of this length, at least 1 ns.
    pub fn new(width_ns: u64) -> Windows {
        Windows { width_ns: width_ns.clamp(1, LAST_NS) }
    }

    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    pub fn start_ns(&self, window: u64) -> u64 {
        window.saturating_mul(self.width_ns)
    }

    pub fn of(&self, at_ns: u64) -> u64 {
        at_ns / self.width_ns
    }

    /// The window of row `row`, where windows follow one another. Guessed by the mean rate, then searched.
    pub fn of_row(&self, events: &Events, row: u64) -> Found {
        assert!(row < events.rows(), "row {row} of {}", events.rows());
        let at_ns = row as u128 * events.end_ns() as u128 / events.rows() as u128;
        let before = |window: u64| events.before(self.start_ns(window));
        let mut low = self.of(at_ns as u64);
        let mut first_row = before(low);
        let mut step = 1;
        while first_row > row {
            low = low.saturating_sub(step);
            first_row = before(low);
            step *= 2;
        }
        // Ends: all rows are before the end.
        let (mut high, mut step) = (low + 1, 1);
        loop {
            let more = before(high);
            if more > row {
                break;
            }
            (low, first_row) = (high, more);
            high += step;
            step *= 2;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let events = before(middle);
            if events > row {
                high = middle;
            } else {
                (low, first_row) = (middle, events);
            }
        }
        Found { window: low, first_row }
    }
}
