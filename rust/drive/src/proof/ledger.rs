//! What calls by key have made of each row: which of its states may be the one that is stored.
//!
//! Sessions write it while they work, without a lock: two words a row, 16 bytes. A row has a state (absent, or there in a
//! version). When a call on it is acknowledged, and it was sent after every other call on that row had been acknowledged,
//! its own state is the only one that can be stored: the row is *known*. Calls on one row that overlap leave it *unsure*:
//! then every state may be stored that some call has made, until a call that overlaps with none is acknowledged. A call
//! that failed or got no answer may be done at any time, and its row stays unsure. So a right answer is never called wrong;
//! what is not distinguished is a state that is stale while another call on the same row is under way.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A word: calls that are open (14 bits), whether the row is unsure (1), its state (49).
const OPEN: u64 = 1 << 50;
const MOST_OPEN: u64 = u64::MAX >> 50;
const UNSURE: u64 = 1 << 49;
const STATE: u64 = UNSURE - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No call has been acknowledged: the row is as it was loaded, or was not.
    Untouched,
    Absent,
    /// 0: as it was inserted.
    There {
        version: u64,
    },
}

impl State {
    fn word(self) -> u64 {
        match self {
            State::Untouched => 0,
            State::Absent => 1,
            State::There { version } => version + 2,
        }
    }

    fn of(word: u64) -> State {
        match word & STATE {
            0 => State::Untouched,
            1 => State::Absent,
            more => State::There { version: more - 2 },
        }
    }
}

/// What is known of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It has this state, and nothing under way changes it.
    Is(State),
    /// It has this state or another one.
    Unsure(State),
}

#[derive(Default)]
struct Row {
    word: AtomicU64,
    /// When the last call on it was acknowledged.
    since: AtomicU64,
}

/// The rows of one table, from row 0 on.
pub struct Ledger {
    rows: Box<[Row]>,
}

impl Ledger {
    pub fn new(rows: u64) -> Ledger {
        Ledger { rows: (0..rows).map(|_| Row::default()).collect() }
    }

    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table is fresh.
    pub fn reset(&self) {
        for row in &self.rows {
            row.word.store(0, SeqCst);
            row.since.store(0, SeqCst);
        }
    }

    /// A call on `row` is about to be sent.
    pub fn begin(&self, row: u64) {
        let word = &self.rows[row as usize].word;
        // So many that they cannot be counted stay open.
        let _ = word.fetch_update(SeqCst, SeqCst, |w| (w >> 50 < MOST_OPEN).then(|| w + OPEN));
    }

    /// A call on `row` that was sent at `sent` was acknowledged at `done`. was_there: what an untouched row was to a call that
    /// makes none; None: it makes one where there is none.
    pub fn done(&self, row: u64, made: State, was_there: Option<bool>, sent: u64, done: u64) {
        let Row { word, since } = &self.rows[row as usize];
        let before = word.load(SeqCst);
        let earlier = since.fetch_max(done, SeqCst);
        let _ = word.fetch_update(SeqCst, SeqCst, |now| {
            let alone = sent > earlier && (now ^ before) & (STATE | UNSURE) == 0;
            let is_there = match State::of(now) {
                State::Untouched => was_there != Some(false),
                State::Absent => was_there.is_none(),
                State::There { .. } => true,
            };
            let state = match alone {
                // There is no row that it could have changed.
                true if now & UNSURE == 0 && !is_there => now & STATE,
                // Whether there is one is not known.
                true if now & UNSURE != 0 && was_there.is_some() => made.word() | UNSURE,
                true => made.word(),
                false => made.word() | UNSURE,
            };
            Some(closed(now) & !(STATE | UNSURE) | state)
        });
    }

    /// A call on `row` has changed nothing: the row is what it was.
    pub fn undone(&self, row: u64) {
        let word = &self.rows[row as usize].word;
        let _ = word.fetch_update(SeqCst, SeqCst, |now| Some(closed(now)));
    }

    /// What a call that was sent at `sent` finds in a row.
    #[inline]
    pub fn seen(&self, row: u64, sent: u64) -> Known {
        self.known(row, sent, 0)
    }

    /// The same of a call on `row` that was begun and has not ended yet.
    pub fn found(&self, row: u64, sent: u64) -> Known {
        self.known(row, sent, OPEN)
    }

    /// open: of the calls on the row that have not ended, those which change nothing of what is asked.
    #[inline]
    fn known(&self, row: u64, sent: u64, open: u64) -> Known {
        let Row { word, since } = &self.rows[row as usize];
        let before = word.load(SeqCst);
        let known = before & !STATE == open && since.load(SeqCst) < sent && word.load(SeqCst) == before;
        let state = State::of(before);
        if known {
            Known::Is(state)
        } else {
            Known::Unsure(state)
        }
    }

    /// What is stored now that nothing is under way.
    pub fn stored(&self, row: u64) -> Known {
        self.seen(row, u64::MAX)
    }
}

fn closed(word: u64) -> u64 {
    // Those that could not be counted stay open.
    if word >> 50 == 0 || word >> 50 == MOST_OPEN {
        word
    } else {
        word - OPEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(version: u64) -> State {
        State::There { version }
    }

    #[test]
    fn a_call_that_overlaps_with_none_makes_its_row_known() {
        let ledger = Ledger::new(2);
        assert_eq!(ledger.seen(0, 5), Known::Is(State::Untouched));
        ledger.begin(0);
        assert_eq!(ledger.seen(0, 15), Known::Unsure(State::Untouched), "it is under way");
        ledger.done(0, there(3), None, 10, 20);
        assert_eq!(ledger.seen(0, 21), Known::Is(there(3)));
        assert_eq!(ledger.seen(0, 20), Known::Unsure(there(3)), "it may have been read before");
        assert_eq!(ledger.stored(1), Known::Is(State::Untouched));
        ledger.begin(0);
        ledger.done(0, State::Absent, None, 30, 40);
        assert_eq!(ledger.stored(0), Known::Is(State::Absent));
        ledger.begin(0);
        ledger.done(0, there(9), Some(true), 50, 60);
        assert_eq!(ledger.stored(0), Known::Is(State::Absent), "an update of no row makes none");
        ledger.begin(1);
        ledger.done(1, there(9), Some(false), 50, 60);
        assert_eq!(ledger.stored(1), Known::Is(State::Untouched), "nor where none was loaded");
        ledger.begin(0);
        ledger.done(0, there(10), None, 70, 80);
        assert_eq!(ledger.stored(0), Known::Is(there(10)), "a write makes one");
        ledger.begin(0);
        ledger.done(0, there(11), Some(true), 90, 100);
        assert_eq!(ledger.stored(0), Known::Is(there(11)), "an update of a known row");
        ledger.reset();
        assert_eq!(ledger.stored(0), Known::Is(State::Untouched));
    }

    #[test]
    fn calls_that_overlap_leave_a_row_unsure_until_one_overlaps_with_none() {
        let ledger = Ledger::new(1);
        ledger.begin(0);
        ledger.begin(0);
        ledger.done(0, there(1), None, 10, 20);
        ledger.done(0, there(2), None, 15, 25);
        assert_eq!(ledger.seen(0, 99), Known::Unsure(there(2)), "either may have been stored last");
        ledger.begin(0);
        ledger.done(0, there(3), Some(true), 26, 28);
        assert_eq!(ledger.seen(0, 99), Known::Unsure(there(3)), "one of them may have deleted the row");
        ledger.begin(0);
        ledger.done(0, there(4), None, 30, 40);
        assert_eq!(ledger.seen(0, 99), Known::Is(there(4)));
    }

    #[test]
    fn a_call_without_an_answer_leaves_its_row_unsure() {
        let ledger = Ledger::new(1);
        ledger.begin(0);
        ledger.begin(0);
        ledger.done(0, there(4), None, 10, 20);
        assert_eq!(ledger.stored(0), Known::Unsure(there(4)));
    }

    #[test]
    fn a_call_that_changed_nothing_finds_and_leaves_the_row_as_it_was() {
        let ledger = Ledger::new(1);
        ledger.begin(0);
        assert_eq!(ledger.found(0, 5), Known::Is(State::Untouched), "its own call is the only one");
        ledger.done(0, there(3), None, 10, 20);
        ledger.begin(0);
        assert_eq!(ledger.found(0, 25), Known::Is(there(3)));
        assert_eq!(ledger.found(0, 20), Known::Unsure(there(3)), "it may have come before");
        ledger.begin(0);
        assert_eq!(ledger.found(0, 25), Known::Unsure(there(3)), "another one is under way");
        ledger.undone(0);
        ledger.undone(0);
        assert_eq!(ledger.stored(0), Known::Is(there(3)));
    }

    #[test]
    fn a_row_with_more_open_calls_than_are_counted_is_never_known_again() {
        let ledger = Ledger::new(1);
        (0..20_000).for_each(|_| ledger.begin(0));
        (0..20_000).for_each(|k| ledger.done(0, there(1), None, 10 * k + 1, 10 * k + 5));
        assert!(matches!(ledger.stored(0), Known::Unsure(_)));
    }
}
