//! Rows by time: windows of a few thousand events, each made and sorted when it is needed.

use super::events::{Event, Events};
use super::windows::{Found, Windows};

/// Events of a window, on average, and at least one for each series.
const WINDOW_ROWS: u64 = 4096;

#[derive(Debug, Clone)]
pub struct TimeOrder {
    windows: Windows,
    /// A time in a window and a series make one number; the series has its low bits.
    series_bits: u32,
}

/// The events of one window in their order.
#[derive(Debug, Clone, Default)]
pub struct Sorted {
    at: Option<Found>,
    series: Vec<u32>,
    sweep: Vec<u64>,
    /// By series: its first event after the window, and when it is due.
    next: Vec<u64>,
    due_ns: Vec<u64>,
    /// Time from the window's start, and series.
    packed: Vec<u64>,
}

impl TimeOrder {
    pub fn new(events: &Events) -> TimeOrder {
        let series = events.series().len() as u64;
        let series_bits = 64 - (series - 1).leading_zeros();
        let rows = WINDOW_ROWS.max(series) as u128;
        let width_ns = rows * events.end_ns() as u128 / events.rows().max(1) as u128;
        let most = u64::MAX >> series_bits;
        TimeOrder { windows: Windows::new(width_ns.min(most as u128) as u64), series_bits }
    }

    pub fn row(&self, events: &Events, event: Event) -> u64 {
        let at_ns = events.time_ns(event);
        let sooner = &events.series()[..event.series as usize];
        let at_once = sooner.iter().filter(|s| s.before(at_ns + 1) > s.before(at_ns)).count();
        events.before(at_ns) + at_once as u64
    }

    /// Events of rows from `row` on, as many as `series` and `sweep` have room for or the window still has.
    pub fn fill(
        &self,
        events: &Events,
        sorted: &mut Sorted,
        row: u64,
        series: &mut [u64],
        sweep: &mut [u64],
    ) -> usize {
        let from = sorted.reach(self, events, row);
        let n = series.len().min(sorted.series.len() - from);
        series[..n].iter_mut().zip(&sorted.series[from..]).for_each(|(out, &s)| *out = s as u64);
        sweep[..n].copy_from_slice(&sorted.sweep[from..from + n]);
        n
    }
}

impl Sorted {
    /// Makes the window of `row` if it is not the one at hand. Returns the row's place in it.
    fn reach(&mut self, order: &TimeOrder, events: &Events, row: u64) -> usize {
        assert!(row < events.rows(), "row {row} of {}", events.rows());
        loop {
            let rows = self.series.len() as u64;
            match self.at {
                Some(at) if (at.first_row..at.first_row + rows).contains(&row) => {
                    return (row - at.first_row) as usize
                }
                Some(at) if row == at.first_row + rows => {
                    self.at = Some(Found { window: at.window + 1, first_row: row })
                }
                _ => self.seek(order, events, row),
            }
            self.make(order, events);
        }
    }

    /// To the start of the window of `row`.
    fn seek(&mut self, order: &TimeOrder, events: &Events, row: u64) {
        let found = order.windows.of_row(events, row);
        let start_ns = order.windows.start_ns(found.window);
        self.next.clear();
        self.next.extend(events.series().iter().map(|s| s.before(start_ns)));
        self.due_ns.clear();
        self.due_ns.extend(events.series().iter().zip(&self.next).map(|(s, &sweep)| s.time_ns(sweep)));
        self.at = Some(found);
    }

    /// The events of the window that `next` and `due_ns` stand at.
    fn make(&mut self, order: &TimeOrder, events: &Events) {
        let start_ns = order.windows.start_ns(self.at.expect("sought before").window);
        let end_ns = start_ns.saturating_add(order.windows.width_ns());
        let packed = &mut self.packed;
        packed.clear();
        for (at, (series, due_ns)) in events.series().iter().zip(&mut self.due_ns).enumerate() {
            while *due_ns < end_ns {
                packed.push((*due_ns - start_ns) << order.series_bits | at as u64);
                *due_ns += series.period_ns;
            }
        }
        packed.sort_unstable();
        let mask = (1u64 << order.series_bits) - 1;
        self.series.clear();
        self.series.extend(packed.iter().map(|at| (at & mask) as u32));
        let next = &mut self.next;
        self.sweep.clear();
        self.sweep.extend(self.series.iter().map(|&series| {
            let next = &mut next[series as usize];
            *next += 1;
            *next - 1
        }));
    }
}
