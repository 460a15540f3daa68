//! Whether this process runs when it wants to: a thread that wakes at fixed times and notes how late it was.
//!
//! Between two calls a client that stands still is not seen: a closed schedule has no lag, and on a paced one
//! only the first call after a stall has any. Here a stall shows whatever the sessions do.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::thread::JoinHandle;

use inrush_engines::pace::{raise_realtime_priority, Pacer, Spin, Wake};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;

/// Fifty wake-ups a second cost less than a thousandth of a core.
const PERIOD_NS: u64 = 20_000_000;
/// Lateness below this is an ordinarily busy machine: a thread that wakes among ten others of its core waits some
/// tens of ms, and one that has used up its quota of CPU waits for the rest of its period of 100 ms. Beyond it, the
/// process was stopped, swapped out or starved.
const STALL_NS: u64 = 200_000_000;

/// Stalls since they were last taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    pub longest_ns: u64,
    pub total_ns: u64,
}

pub struct Heartbeat {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    longest_ns: AtomicU64,
    total_ns: AtomicU64,
}

impl Heartbeat {
    pub fn start(clock: Clock) -> Result<Heartbeat, Error> {
        let (shared, stop) = (Arc::new(Shared::default()), Arc::new(AtomicBool::new(false)));
        let (noted, stopped) = (shared.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("inrush-heartbeat".into())
            .spawn(move || {
                // A hundred sessions that encode at once are no stall of the process.
                raise_realtime_priority();
                let pacer = Pacer::new(clock, stopped, Spin::Never);
                let mut due_ns = clock.now() + PERIOD_NS;
                while let Wake::Due(woke_ns) = pacer.wait_until(due_ns) {
                    noted.note(stalled_ns(due_ns, woke_ns));
                    due_ns = next_due_ns(due_ns, woke_ns);
                }
            })
            .map_err(|e| Error::io("starting the heartbeat", e))?;
        Ok(Heartbeat { shared, stop, thread: Some(thread) })
    }

    pub fn take(&self) -> Stalls {
        Stalls {
            longest_ns: self.shared.longest_ns.swap(0, Relaxed),
            total_ns: self.shared.total_ns.swap(0, Relaxed),
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // It holds nothing that a panic could have broken.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn note(&self, stalled_ns: u64) {
        if stalled_ns > 0 {
            self.longest_ns.fetch_max(stalled_ns, Relaxed);
            self.total_ns.fetch_add(stalled_ns, Relaxed);
        }
    }
}

/// How long the process stood still before it woke, 0 where it was merely late.
fn stalled_ns(due_ns: u64, woke_ns: u64) -> u64 {
    let late_ns = woke_ns.saturating_sub(due_ns);
    if late_ns >= STALL_NS {
        late_ns
    } else {
        0
    }
}

/// The next beat after `woke_ns`: beats that fell into a stall are that one stall.
fn next_due_ns(due_ns: u64, woke_ns: u64) -> u64 {
    due_ns + ((woke_ns.saturating_sub(due_ns)) / PERIOD_NS + 1) * PERIOD_NS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_busy_machine_is_late_and_a_stopped_process_has_stalled() {
        assert_eq!(stalled_ns(1_000 * MS, 1_150 * MS), 0);
        assert_eq!(stalled_ns(1_000 * MS, 1_400 * MS), 400 * MS);
    }

    #[test]
    fn stalls_are_told_once() {
        let clock = Clock::start();
        let beat = Heartbeat::start(clock).unwrap();
        beat.take();
        beat.shared.note(300 * MS);
        beat.shared.note(0);
        beat.shared.note(200 * MS);
        let stalls = beat.take();
        assert!(stalls.longest_ns >= 300 * MS && stalls.total_ns >= 500 * MS, "{stalls:?}");
    }

    proptest! {
        /// The machine that runs this test may be slow: it is asked of numbers, not of time.
        #[test]
        fn beats_keep_their_times_and_never_look_back(due in 0u64..1 << 40, late in 0u64..1 << 40) {
            let next = next_due_ns(due, due + late);
            prop_assert!(next > due + late && next <= due + late + PERIOD_NS);
            prop_assert_eq!((next - due) % PERIOD_NS, 0);
        }
    }
}
