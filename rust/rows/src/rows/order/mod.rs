//! The order of rows: which event of which series each row of a table is.
//!
//! An event is (series, sweep): the sweep-th of its series. Every value of a row is a function of its event, so all
//! orders of a table hold the same rows. An order is a bijection between the rows 0 … n-1 and the events of the table;
//! it needs memory for the series, none for the rows.
//!
//! Reading order: `rates` (how often each series has an event), `events` (which events a table has), `windows` (cuts of
//! time), `time` (sorted by time), `files` (cut by time, sorted by series inside), `cursor` (rows one after another).

mod cursor;
mod events;
mod files;
mod rates;
mod time;
mod windows;

use super::hash::Permutation;
use files::FileOrder;
use time::TimeOrder;

pub use cursor::Cursor;
pub use events::{Event, Events, Series, LAST_NS};
pub use rates::{equal, lognormal, Lognormal, Pinned};

/// How the rows of a table follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By series, then by sweep.
    Key,
    /// By time, then by series.
    Time,
    /// The time is cut into so many files of one length; by series, then by sweep, inside each.
    File { files: u64 },
    /// Scattered; the key seeds it.
    Random { key: u64 },
}

/// The events of a table in an order. It holds no state: rows that follow one another are cheaper with a [`Cursor`].
#[derive(Debug, Clone)]
pub struct Ordered {
    events: Events,
    by: By,
}

#[derive(Debug, Clone)]
enum By {
    Key,
    Time(TimeOrder),
    File(FileOrder),
    Random(Permutation),
}

impl Ordered {
    pub fn is_random(&self) -> bool {
        matches!(self.by, By::Random(_))
    }

    /// Errors: an order that these events cannot have.
    pub fn new(events: Events, order: Order) -> Result<Ordered, String> {
        let by = match order {
            Order::Key => By::Key,
            Order::Time => By::Time(TimeOrder::new(&events)),
            Order::File { files } => By::File(FileOrder::new(&events, files)?),
            Order::Random { key } => By::Random(Permutation::new(key, events.rows().max(1))),
        };
        Ok(Ordered { events, by })
    }

    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Of row `row`, alone. Panics if the table has no such row.
    pub fn event(&self, row: u64) -> Event {
        let (mut series, mut sweep) = ([0], [0]);
        Cursor::default().fill(self, row, &mut series, &mut sweep);
        Event { series: series[0], sweep: sweep[0] }
    }

    /// The row of an event; None: the table does not have it.
    pub fn row(&self, event: Event) -> Option<u64> {
        if !self.events.has(event) {
            return None;
        }
        let by_key = self.events.first_row(event.series) + event.sweep;
        Some(match &self.by {
            By::Key => by_key,
            By::Time(time) => time.row(&self.events, event),
            By::File(files) => files.row(&self.events, event),
            By::Random(permutation) => permutation.index_of(by_key),
        })
    }
}
