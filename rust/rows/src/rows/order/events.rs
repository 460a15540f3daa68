//! The events of a table: a series has one every period. Integers only, so that all machines agree.

/// No event is later, in ns from the epoch: 73 years.
pub const LAST_NS: u64 = 1 << 61;
/// Most series of a table, and most rows times series: numbers of events have 63 bits.
const MOST_SERIES: u64 = 1 << 32;
const MOST_NUMBERS: u64 = 1 << 63;

/// The `sweep`-th event of `series`, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event {
    pub series: u64,
    pub sweep: u64,
}

/// Event `k` of a series is `phase_ns + k * period_ns` after the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series {
    pub period_ns: u64,
    pub phase_ns: u64,
}

impl Series {
    /// Events before `at_ns`.
    #[inline(always)]
    pub fn before(&self, at_ns: u64) -> u64 {
        if at_ns <= self.phase_ns {
            0
        } else {
            (at_ns - 1 - self.phase_ns) / self.period_ns + 1
        }
    }

    #[inline(always)]
    pub fn time_ns(&self, sweep: u64) -> u64 {
        self.phase_ns + sweep * self.period_ns
    }
}

/// The first `rows` events of all series, by time and then by series: what a table of `rows` rows holds, in every order.
#[derive(Debug, Clone)]
pub struct Events {
    series: Vec<Series>,
    /// Rows of the series before each; one more than there are series, the last is all rows.
    first: Vec<u64>,
    /// After the last event.
    end_ns: u64,
}

impl Events {
    /// Errors: no series, a period of 0, more than can be counted, an event after [`LAST_NS`].
    pub fn new(series: Vec<Series>, rows: u64) -> Result<Events, String> {
        if series.is_empty() || series.len() as u64 > MOST_SERIES {
            return Err(format!("series is {}; a table has 1 to 2^32", series.len()));
        }
        if rows.checked_mul(series.len() as u64).is_none_or(|numbers| numbers > MOST_NUMBERS) {
            return Err(format!(
                "{rows} rows of {} series are too many; their product is up to 2^63",
                series.len()
            ));
        }
        if let Some(at) = series.iter().position(|s| s.period_ns == 0 || s.period_ns > LAST_NS) {
            return Err(format!(
                "series {at} has an event every {} ns; a period is 1 ns to 73 years",
                series[at].period_ns
            ));
        }
        let end_ns = end_of(&series, rows)
            .ok_or(format!("the last of {rows} rows is more than 73 years after the epoch; give fewer rows or a shorter period"))?;
        let first = firsts(&series, rows, end_ns);
        Ok(Events { series, first, end_ns })
    }

    pub fn rows(&self) -> u64 {
        *self.first.last().expect("one more than there are series")
    }

    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// After the last event, in ns from the epoch; 0: there is none.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Rows of a series.
    pub fn count(&self, series: u64) -> u64 {
        self.first[series as usize + 1] - self.first[series as usize]
    }

    /// Rows of the series before this one.
    pub fn first_row(&self, series: u64) -> u64 {
        self.first[series as usize]
    }

    pub fn has(&self, event: Event) -> bool {
        event.series < self.series.len() as u64 && event.sweep < self.count(event.series)
    }

    /// Of an event that the table has, in ns from the epoch.
    pub fn time_ns(&self, event: Event) -> u64 {
        self.series[event.series as usize].time_ns(event.sweep)
    }

    /// Names the event among all of this many series, however many rows there are: draws are made by it.
    #[inline(always)]
    pub fn number(&self, event: Event) -> u64 {
        event.sweep * self.series.len() as u64 + event.series
    }

    /// The event with this number; None: the table does not have it.
    pub fn of_number(&self, number: u64) -> Option<Event> {
        let series = self.series.len() as u64;
        Some(Event { series: number % series, sweep: number / series }).filter(|&event| self.has(event))
    }

    /// Event of row `row` by series and then by sweep. Panics if the table has no such row.
    #[inline]
    pub fn by_key(&self, row: u64) -> Event {
        assert!(row < self.rows(), "row {row} of {}", self.rows());
        // The last series that begins at the row or before: those without rows begin where the next one does.
        let series = self.first.partition_point(|&first| first <= row) - 1;
        Event { series: series as u64, sweep: row - self.first[series] }
    }

    /// Events of a series from `from_ns` on and before `to_ns`: the first sweep, and how many.
    pub fn range(&self, series: u64, from_ns: u64, to_ns: u64) -> (u64, u64) {
        let (of, count) = (self.series[series as usize], self.count(series));
        let (from, to) = (of.before(from_ns).min(count), of.before(to_ns).min(count));
        (from, to.saturating_sub(from))
    }

    /// Events of all series before `at_ns`. It does not stop at the table's last row.
    pub fn before(&self, at_ns: u64) -> u64 {
        before(&self.series, at_ns)
    }
}

fn before(series: &[Series], at_ns: u64) -> u64 {
    series.iter().map(|s| s.before(at_ns)).sum()
}

/// The earliest time with `rows` events before it. Doubled from 1, so that the sum stays below `2 * (rows + series)`.
fn end_of(series: &[Series], rows: u64) -> Option<u64> {
    if rows == 0 {
        return Some(0);
    }
    let mut high = 1;
    while before(series, high) < rows {
        high *= 2;
        if high > LAST_NS {
            return None;
        }
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if before(series, middle) < rows {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// All events before the last instant, and those at it by series until there are `rows`.
fn firsts(series: &[Series], rows: u64, end_ns: u64) -> Vec<u64> {
    let last_ns = end_ns.saturating_sub(1);
    let mut left = rows - before(series, last_ns);
    let mut first = Vec::with_capacity(series.len() + 1);
    first.push(0);
    let mut sum = 0;
    for s in series {
        let earlier = s.before(last_ns);
        let at_last = (s.before(end_ns) - earlier).min(left);
        left -= at_last;
        sum += earlier + at_last;
        first.push(sum);
    }
    first
}
