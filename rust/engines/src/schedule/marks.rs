//! Due times along a Poisson schedule, cached by the session that computed them first.
//!
//! An arrival is the sum of all gaps before it. A session takes every n-th ticket of n sessions, and would draw all the
//! gaps between by itself: with 1,000 sessions the client draws each gap 1,000 times.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Arrivals from one mark to the next.
pub(super) const EVERY: u64 = 32;
/// Marks that are kept: sessions stand within so many of each other, or walk by themselves.
const KEPT: usize = 64;
/// Marks before the wanted one that are looked at: it may not have been left yet.
const LOOKED_AT: u64 = 4;
const NONE: u64 = u64::MAX;
const BUSY: u64 = u64::MAX - 1;

/// Written by any session without a lock: one that finds a place taken goes on without it.
#[derive(Debug)]
pub struct Marks {
    kept: Box<[Mark]>,
}

#[derive(Debug)]
#[repr(align(64))]
struct Mark {
    /// Its arrival in `EVERY`s; only ever rises, so that a thread that reads it twice alike has read what belongs to it.
    number: AtomicU64,
    due_ns: AtomicU64,
}

impl Default for Marks {
    fn default() -> Marks {
        let mark = |_| Mark { number: AtomicU64::new(NONE), due_ns: AtomicU64::new(0) };
        Marks { kept: (0..KEPT).map(mark).collect() }
    }
}

impl Marks {
    /// Arrival `k`, a multiple of `EVERY`, is due at `due_ns`.
    pub(super) fn leave(&self, k: u64, due_ns: u64) {
        let (number, mark) = (k / EVERY, self.place(k / EVERY));
        let known = mark.number.load(Relaxed);
        if known == BUSY || (known != NONE && known >= number) {
            return;
        }
        if mark.number.compare_exchange(known, BUSY, Acquire, Relaxed).is_ok() {
            mark.due_ns.store(due_ns, Release);
            mark.number.store(number, Release);
        }
    }

    /// (arrival, its due) of the last mark that is known between `after` and `k`.
    pub(super) fn before(&self, k: u64, after: u64) -> Option<(u64, u64)> {
        let last = k / EVERY;
        (last.saturating_sub(LOOKED_AT)..=last).rev().take_while(|n| n * EVERY > after).find_map(|number| {
            let mark = self.place(number);
            let found = mark.number.load(Acquire);
            let due_ns = mark.due_ns.load(Acquire);
            (found == number && mark.number.load(Relaxed) == number).then_some((number * EVERY, due_ns))
        })
    }

    fn place(&self, number: u64) -> &Mark {
        &self.kept[number as usize % KEPT]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_mark_before_an_arrival_is_found_and_never_one_that_was_overwritten() {
        let marks = Marks::default();
        assert_eq!(marks.before(100, 0), None);
        marks.leave(0, 5);
        marks.leave(EVERY, 7);
        assert_eq!(marks.before(EVERY - 1, 0), None, "the session stands there itself");
        assert_eq!(marks.before(EVERY, 0), Some((EVERY, 7)));
        assert_eq!(marks.before(2 * EVERY + 3, 0), Some((EVERY, 7)), "the nearer one is not left yet");
        assert_eq!(marks.before(2 * EVERY + 3, EVERY), None);
        let round = KEPT as u64 * EVERY;
        marks.leave(round + EVERY, 9);
        assert_eq!(marks.before(EVERY, 0), None);
        marks.leave(EVERY, 7);
        assert_eq!(
            marks.before(round + EVERY, 0),
            Some((round + EVERY, 9)),
            "an older one does not replace it"
        );
    }

    #[test]
    fn sessions_that_write_and_read_at_once_find_only_what_was_left() {
        let marks = Marks::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for k in (0..2_000_000).step_by(EVERY as usize) {
                        marks.leave(k, k * 3);
                        if let Some((at, due_ns)) = marks.before(k + EVERY, 0) {
                            assert_eq!(due_ns, at * 3);
                        }
                    }
                });
            }
        });
    }
}
