//! Rows one after another: what is made for one is kept for the next.

use super::files::Opened;
use super::time::Sorted;
use super::{By, Event, Ordered};

/// A place in the rows of one table. It changes what rows cost, never what they are.
#[derive(Debug, Clone, Default)]
pub struct Cursor {
    sorted: Sorted,
    opened: Opened,
}

impl Cursor {
    /// The events of rows `first_row …`, as many as `series` and `sweep` have room for. One cursor is for one `Ordered`.
    /// Panics if the table ends before.
    pub fn fill(&mut self, ordered: &Ordered, first_row: u64, series: &mut [u64], sweep: &mut [u64]) {
        let (events, rows) = (&ordered.events, ordered.events.rows());
        let n = series.len();
        assert_eq!(n, sweep.len(), "a sweep for each series");
        assert!(
            first_row <= rows && n as u64 <= rows - first_row,
            "rows {first_row} … of {rows}: {n} are asked for"
        );
        let mut done = 0;
        while done < n {
            let row = first_row + done as u64;
            let (series, sweep) = (&mut series[done..], &mut sweep[done..]);
            done += match &ordered.by {
                By::Key => along(ordered, row, series, sweep),
                By::Time(time) => time.fill(events, &mut self.sorted, row, series, sweep),
                By::File(files) => files.fill(events, &mut self.opened, row, series, sweep),
                By::Random(permutation) => {
                    for ((series, sweep), row) in series.iter_mut().zip(&mut *sweep).zip(row..) {
                        Event { series: *series, sweep: *sweep } = events.by_key(permutation.at(row));
                    }
                    series.len()
                }
            };
        }
    }
}

/// By key: the rows of one series, as far as there is room.
fn along(ordered: &Ordered, row: u64, series: &mut [u64], sweep: &mut [u64]) -> usize {
    let event = ordered.events.by_key(row);
    let n = (ordered.events.count(event.series) - event.sweep).min(series.len() as u64) as usize;
    series[..n].fill(event.series);
    sweep[..n].iter_mut().zip(event.sweep..).for_each(|(out, k)| *out = k);
    n
}
