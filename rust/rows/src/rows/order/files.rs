//! Rows file by file, as a dump by partitions of time writes them: by series and then by sweep in each.

use super::events::{Event, Events};
use super::windows::{Found, Windows};

#[derive(Debug, Clone)]
pub struct FileOrder {
    windows: Windows,
}

/// What a file has of each series.
#[derive(Debug, Clone, Default)]
pub struct Opened {
    at: Option<Found>,
    /// By series: its first sweep in the file.
    sweep: Vec<u64>,
    /// Rows of the file before each series; one more than there are series.
    first: Vec<u64>,
}

impl FileOrder {
    /// Errors: no file.
    pub fn new(events: &Events, files: u64) -> Result<FileOrder, String> {
        if files == 0 {
            return Err("files is 0; rows are in one file at least".into());
        }
        Ok(FileOrder { windows: Windows::new(events.end_ns().div_ceil(files)) })
    }

    pub fn row(&self, events: &Events, event: Event) -> u64 {
        let mut opened = Opened::default();
        let start_ns = self.windows.start_ns(self.windows.of(events.time_ns(event)));
        opened.open(self, events, start_ns);
        let inside = event.sweep - opened.sweep[event.series as usize];
        events.before(start_ns) + opened.first[event.series as usize] + inside
    }

    /// As [`super::time::TimeOrder::fill`], to the end of the file at most.
    pub fn fill(
        &self,
        events: &Events,
        opened: &mut Opened,
        row: u64,
        series: &mut [u64],
        sweep: &mut [u64],
    ) -> usize {
        let mut inside = opened.reach(self, events, row);
        let mut at = opened.first.partition_point(|&first| first <= inside) - 1;
        let mut done = 0;
        while done < series.len() && at < events.series().len() {
            let run = ((opened.first[at + 1] - inside) as usize).min(series.len() - done);
            let from = opened.sweep[at] + (inside - opened.first[at]);
            series[done..done + run].fill(at as u64);
            sweep[done..done + run].iter_mut().zip(from..).for_each(|(out, k)| *out = k);
            (done, inside) = (done + run, inside + run as u64);
            at += (inside == opened.first[at + 1]) as usize;
        }
        done
    }
}

impl Opened {
    /// Opens the file of `row` if it is not the one at hand. Returns the row's place in it.
    fn reach(&mut self, order: &FileOrder, events: &Events, row: u64) -> u64 {
        let has = |at: &Found| (at.first_row..at.first_row + self.rows()).contains(&row);
        let at = match self.at.filter(has) {
            Some(at) => at,
            None => {
                let found = order.windows.of_row(events, row);
                self.open(order, events, order.windows.start_ns(found.window));
                self.at = Some(found);
                found
            }
        };
        row - at.first_row
    }

    fn rows(&self) -> u64 {
        self.first.last().copied().unwrap_or(0)
    }

    fn open(&mut self, order: &FileOrder, events: &Events, start_ns: u64) {
        let end_ns = start_ns.saturating_add(order.windows.width_ns());
        self.sweep.clear();
        self.first.clear();
        self.first.push(0);
        let mut sum = 0;
        for series in 0..events.series().len() as u64 {
            let (sweep, count) = events.range(series, start_ns, end_ns);
            sum += count;
            self.sweep.push(sweep);
            self.first.push(sum);
        }
    }
}
