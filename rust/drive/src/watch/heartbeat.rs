//! Whether this process runs when it wants to: a thread that wakes at fixed times and notes how late it was.
//!
//! Between two calls a client that stands still is not seen: a closed schedule has no lag, and on a paced one
//! only the first call after a stall has any. Here a stall shows whatever the sessions do: stopped, frozen, or with the
//! whole machine. Lateness in which this thread was ready to run and waited for a processor is none: sessions have their
//! own account of that ([`ThreadTime`](inrush_rows::clock::ThreadTime)), and a machine that the run itself fills has
//! some of it at every wake-up.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::thread::JoinHandle;

use inrush_engines::pace::{raise_realtime_priority, Pacer, Spin, Wake};
use inrush_rows::clock::{queued_ns, Clock};
use inrush_rows::error::Error;

use super::procfs::KeptFile;

/// Some fifty wake-ups a second cost less than a thousandth of a core. Their period goes into no round time: what stops a
/// process every 100 ms falls between beats as often as chance has it, and not always or never.
const PERIOD_NS: u64 = 19_100_000;
/// Lateness below this is the timer's, or a processor's that has to be woken.
const STALL_NS: u64 = 1_000_000;

/// Beats since they were last taken that came late because the process stood still, and by how much. What it stood still
/// for in all is estimated of them (`python/inrush/stats/stalls.py`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    pub count: u64,
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
    count: AtomicU64,
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
                let mut queue = Queue::of_this_thread();
                let mut due_ns = clock.now() + PERIOD_NS;
                while let Wake::Due(woke_ns) = pacer.wait_until(due_ns) {
                    noted.note(late_ns(due_ns, woke_ns, queue.grown_ns()));
                    due_ns = next_due_ns(due_ns, woke_ns);
                }
            })
            .map_err(|e| Error::io("starting the heartbeat", e))?;
        Ok(Heartbeat { shared, stop, thread: Some(thread) })
    }

    pub fn take(&self) -> Stalls {
        self.shared.take()
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
    fn take(&self) -> Stalls {
        Stalls {
            count: self.count.swap(0, Relaxed),
            longest_ns: self.longest_ns.swap(0, Relaxed),
            total_ns: self.total_ns.swap(0, Relaxed),
        }
    }

    fn note(&self, late_ns: u64) {
        if late_ns >= STALL_NS {
            self.count.fetch_add(1, Relaxed);
            self.longest_ns.fetch_max(late_ns, Relaxed);
            self.total_ns.fetch_add(late_ns, Relaxed);
        }
    }
}

/// How long this thread has waited for a processor: one file of `/proc`, read at each beat in about 1 µs.
struct Queue {
    file: Option<KeptFile>,
    seen_ns: u64,
}

impl Queue {
    fn of_this_thread() -> Queue {
        let mut queue = Queue { file: KeptFile::open("/proc/thread-self/schedstat").ok(), seen_ns: 0 };
        queue.grown_ns();
        queue
    }

    /// Since it was last asked; 0 where the kernel does not count it: lateness may be waiting there.
    fn grown_ns(&mut self) -> u64 {
        let mut text = [0; 128];
        let read = self.file.as_ref().and_then(|f| f.head(&mut text).ok()).and_then(queued_ns);
        let now_ns = read.unwrap_or(self.seen_ns);
        now_ns.saturating_sub(std::mem::replace(&mut self.seen_ns, now_ns))
    }
}

/// How late a beat came, without the time in which it was ready and waited for a processor.
fn late_ns(due_ns: u64, woke_ns: u64, queued_ns: u64) -> u64 {
    woke_ns.saturating_sub(due_ns).saturating_sub(queued_ns)
}

/// The next beat after `woke_ns`: beats that fell into a stall are that one stall.
fn next_due_ns(due_ns: u64, woke_ns: u64) -> u64 {
    due_ns + ((woke_ns.saturating_sub(due_ns)) / PERIOD_NS + 1) * PERIOD_NS
}

#[cfg(test)]
mod tests {
    use inrush_rows::clock::thread_cpu_ns;
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_busy_machine_is_late_and_a_stopped_process_has_stalled() {
        assert_eq!(late_ns(1_000 * MS, 1_150 * MS, 150 * MS), 0);
        assert_eq!(late_ns(1_000 * MS, 1_015 * MS, 0), 15 * MS);
        assert_eq!(late_ns(1_000 * MS, 1_400 * MS, 100 * MS), 300 * MS);
    }

    /// A process that stands still at the end of each cycle: what is noted of so many cycles.
    fn noted(stall_ns: u64, cycle_ns: u64, cycles: u64) -> Stalls {
        let (shared, mut due_ns) = (Shared::default(), PERIOD_NS);
        while due_ns < cycles * cycle_ns {
            let left_ns = cycle_ns - due_ns % cycle_ns;
            let woke_ns = if left_ns <= stall_ns { due_ns + left_ns } else { due_ns };
            shared.note(late_ns(due_ns, woke_ns, 0));
            due_ns = next_due_ns(due_ns, woke_ns);
        }
        shared.take()
    }

    /// Short ones are met as often as beats fall into them, though they come at round times; each long one is met once.
    #[test]
    fn stalls_are_noted_by_the_beats_that_fall_into_them() {
        for (stall_ms, cycle_ms) in
            [(3, 50), (10, 100), (15, 20), (19, 250), (40, 100), (140, 281), (500, 1_000)]
        {
            let found = noted(stall_ms * MS, cycle_ms * MS, 1_000);
            let (stall, period) = (stall_ms as f64 * 1e6, PERIOD_NS as f64);
            let met = 1_000.0 * ((stall - STALL_NS as f64) / period).min(1.0);
            let mean_ns = if stall < period { (stall + STALL_NS as f64) / 2.0 } else { stall - period / 2.0 };
            let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.1;
            assert!(close(found.count as f64, met), "{stall_ms} of {cycle_ms} ms: {found:?}, not {met}");
            assert!(close(found.total_ns as f64, met * mean_ns), "{stall_ms} of {cycle_ms} ms: {found:?}");
            assert!(found.longest_ns <= stall_ms * MS, "{found:?}");
        }
    }

    #[test]
    fn what_a_timer_is_late_is_no_stall() {
        assert_eq!(noted(MS - 1, 10 * MS, 1_000), Stalls::default());
    }

    /// Two threads compute on one processor: each waits for the other, and neither stands still.
    #[test]
    fn waiting_for_a_processor_is_counted_and_is_no_stall() {
        let computes = |clock: Clock| {
            // SAFETY: the set is plain bits, for which zeros are none, and it outlives the call.
            unsafe {
                let mut one: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(libc::sched_getcpu() as usize, &mut one);
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &one);
            }
            let mut queue = Queue::of_this_thread();
            let (began_ns, cpu_before_ns) = (clock.now(), thread_cpu_ns());
            std::thread::spawn(move || while clock.now() < began_ns + 200 * MS {});
            while clock.now() < began_ns + 200 * MS {}
            let cpu_ns = thread_cpu_ns() - cpu_before_ns;
            (clock.now() - began_ns - cpu_ns, queue.grown_ns())
        };
        let clock = Clock::start();
        let waiter = std::thread::spawn(move || computes(clock));
        let (waited_ns, queued_ns) = waiter.join().unwrap();
        assert!(queued_ns > 20 * MS, "{queued_ns}");
        assert!(late_ns(0, waited_ns, queued_ns) < waited_ns / 2, "{queued_ns} of {waited_ns}");
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
        assert!(
            stalls.count >= 2 && stalls.longest_ns >= 300 * MS && stalls.total_ns >= 500 * MS,
            "{stalls:?}"
        );
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
