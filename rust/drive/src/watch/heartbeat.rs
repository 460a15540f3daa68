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

/// Fifty wake-ups a second cost less than a thousandth of a core.
const PERIOD_NS: u64 = 20_000_000;
/// Lateness below this is the timer's, or a processor's that has to be woken.
const STALL_NS: u64 = 1_000_000;

/// Stalls since they were last taken.
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
                    noted.note(stalled_ns(due_ns, woke_ns, queue.grown_ns()));
                    due_ns = next_due_ns(due_ns, woke_ns);
                }
            })
            .map_err(|e| Error::io("starting the heartbeat", e))?;
        Ok(Heartbeat { shared, stop, thread: Some(thread) })
    }

    pub fn take(&self) -> Stalls {
        Stalls {
            count: self.shared.count.swap(0, Relaxed),
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
            self.count.fetch_add(1, Relaxed);
            self.longest_ns.fetch_max(stalled_ns, Relaxed);
            self.total_ns.fetch_add(stalled_ns, Relaxed);
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

    /// Since it was last asked; 0 where the kernel does not count it.
    fn grown_ns(&mut self) -> u64 {
        let mut text = [0; 128];
        let read = self.file.as_ref().and_then(|f| f.head(&mut text).ok()).and_then(queued_ns);
        let now_ns = read.unwrap_or(self.seen_ns);
        now_ns.saturating_sub(std::mem::replace(&mut self.seen_ns, now_ns))
    }
}

/// How long the process stood still before it woke, 0 where it was merely late. A stall of a period or more began before
/// its first beat was due: by half a period on average.
fn stalled_ns(due_ns: u64, woke_ns: u64, queued_ns: u64) -> u64 {
    let late_ns = woke_ns.saturating_sub(due_ns).saturating_sub(queued_ns);
    match late_ns {
        0..STALL_NS => 0,
        STALL_NS..PERIOD_NS => late_ns,
        PERIOD_NS.. => late_ns + PERIOD_NS / 2,
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
        assert_eq!(stalled_ns(1_000 * MS, 1_150 * MS, 150 * MS), 0);
        assert_eq!(stalled_ns(1_000 * MS, 1_000 * MS + 300_000, 0), 0);
        assert_eq!(stalled_ns(1_000 * MS, 1_015 * MS, 0), 15 * MS);
        assert_eq!(stalled_ns(1_000 * MS, 1_400 * MS, 100 * MS), 310 * MS);
    }

    /// 140 ms of every 280, wherever the beats fall.
    #[test]
    fn short_stalls_add_up_to_their_share() {
        let (mut due_ns, mut stood_ns) = (7 * MS, 0);
        let awake_ns =
            |t: u64| if t % (281 * MS) < 140 * MS { t / (281 * MS) * (281 * MS) + 140 * MS } else { t };
        while due_ns < 1_000 * 281 * MS {
            let woke_ns = awake_ns(due_ns);
            stood_ns += stalled_ns(due_ns, woke_ns, 0);
            due_ns = next_due_ns(due_ns, woke_ns);
        }
        let share = stood_ns as f64 / (1_000 * 281 * MS) as f64;
        assert!((share / (140.0 / 281.0) - 1.0).abs() < 0.01, "{share}");
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
            let began_ns = clock.now();
            std::thread::spawn(move || while clock.now() < began_ns + 200 * MS {});
            while clock.now() < began_ns + 200 * MS {}
            (clock.now() - began_ns, queue.grown_ns())
        };
        let clock = Clock::start();
        let waiter = std::thread::spawn(move || computes(clock));
        let (took_ns, queued_ns) = waiter.join().unwrap();
        assert!(queued_ns > 20 * MS && queued_ns < took_ns, "{queued_ns} of {took_ns}");
        assert_eq!(stalled_ns(0, queued_ns, queued_ns), 0);
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
