//! Calls of kind `extract`: their rows are added up while they come, and compared with the generator's afterwards.

use std::sync::Arc;

use super::assertion::Broken;
use inrush_engines::engine::extract::Sink;
use inrush_engines::engine::{Ns, Outcome, Ticket};
use inrush_engines::mix::{Params, Ranges};
use inrush_rows::clock::Clock;
use inrush_rows::rows::{row_hashes, Columns, Digest, Interval, Remade, Values};

/// One operation of one session.
pub struct Extract {
    clock: Clock,
    ranges: Arc<Ranges>,
    /// Place of the time in the answer.
    time: usize,
    came: Came,
    hashes: Vec<u128>,
    room: Remade,
    /// What the last range adds up to: calls that ask for the same one again need not be made again.
    known: Option<(Interval, Digest)>,
}

/// Of the present answer. Nothing of it grows with its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Came {
    /// When the first row came; None: no row has come.
    first_ns: Option<Ns>,
    digest: Digest,
    /// Time of the last row.
    last: i64,
    /// Rows before the first one that is earlier than the row before it.
    turned: Option<u64>,
    /// A row without a time came.
    timeless: bool,
}

impl Extract {
    pub fn new(clock: Clock, ranges: Arc<Ranges>) -> Extract {
        let room = ranges.rows().room(ranges.columns());
        let (time, came) = (ranges.time(), Came::default());
        Extract { clock, ranges, time, came, hashes: Vec::new(), room, known: None }
    }

    /// To be called before a call is sent.
    pub fn begin(&mut self) {
        self.came = Came { last: i64::MIN, ..Came::default() };
    }

    /// When the first row of the answer came.
    pub fn first_ns(&self) -> Option<Ns> {
        self.came.first_ns
    }

    /// Whether the answer was another than the rows of the range. rows: as the engine counted them.
    pub fn broken(&mut self, params: &Params, ticket: Ticket, rows: u64) -> Option<Broken> {
        let interval = params.interval(ticket).expect("its operation has a range");
        let expected = match self.known {
            Some((known, digest)) if known == interval => digest,
            _ => self.ranges.rows().add_up(&interval, self.ranges.columns(), &mut self.room),
        };
        self.known = Some((interval, expected));
        let Came { digest, turned, timeless, .. } = self.came;
        let Interval { series, from, to } = interval;
        let of = format!("of series {series}, times {from} to {to}");
        if digest.rows != rows {
            let why =
                format!("{} rows were handed over of {rows} that the engine counted, {of}", digest.rows);
            return Some((Outcome::Wrong, why));
        }
        if digest.rows < expected.rows {
            let why = format!("{rows} rows came of {} that are there, {of}", expected.rows);
            return Some((Outcome::Missing, why));
        }
        if digest.rows > expected.rows {
            let why = format!("{rows} rows came, and {} are there, {of}", expected.rows);
            return Some((Outcome::Wrong, why));
        }
        if timeless || digest != expected {
            let why = format!("{rows} rows came as expected, and the values of some are others, {of}");
            return Some((Outcome::Wrong, why));
        }
        let turned = turned?;
        let why = format!("row {turned} of the answer is earlier than the one before it, {of}");
        Some((Outcome::Wrong, why))
    }
}

impl Sink for Extract {
    fn first(&mut self) {
        self.came.first_ns = Some(self.clock.now());
    }

    fn rows(&mut self, batch: &Columns) {
        let came = &mut self.came;
        let time = &batch.columns[self.time];
        let Values::I64(times) = &time.values else { unreachable!("times are 64 bits wide") };
        let times = &times[..batch.rows];
        came.timeless |= time.present.contains(&0);
        if came.turned.is_none() {
            let mut last = came.last;
            // The whole batch first: where it is in order, no place in it has to be known.
            let in_order = times.iter().fold(true, |in_order, &at| {
                let holds = in_order & (last <= at);
                last = at;
                holds
            });
            if !in_order {
                let before = std::iter::once(&came.last).chain(times);
                let place = before.zip(times).position(|(before, at)| at < before);
                came.turned = place.map(|place| came.digest.rows + place as u64);
            }
            came.last = last;
        }
        row_hashes(batch, &mut self.hashes);
        came.digest.add(&self.hashes);
    }
}
