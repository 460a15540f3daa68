//! Waiting until an operation is due: the thin half of `schedule`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use inrush_rows::clock::{monotonic_ns, Clock};

/// A sleeping session looks at the stop flag this often.
const LOOK_EVERY_NS: u64 = 40_000_000;
/// Sleep ends so much early where the rest is spun.
const SPIN_NS: u64 = 50_000;

/// What a session does in the last moments before an operation is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spin {
    /// Sleeps to the end, 20–70 µs late: cores are shared, and a spinning thread is the first to be
    /// taken off its core.
    Never,
    /// Spins the last 50 µs, some 0.2 µs late: the caller says that this core is ours.
    Owned,
}

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// It is due; the time now, ns, never before the time waited for.
    Due(u64),
    /// The run was asked to stop.
    Stopped,
}

/// In a process that is scheduled first in, first out, this thread comes before the others, which may hold a core for
/// as long as a batch takes to make. Elsewhere, and where it is not permitted, nothing changes.
pub fn raise_realtime_priority() {
    let mut held = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 is the calling thread; the parameters are ours and live across the calls.
    unsafe {
        if libc::sched_getscheduler(0) == libc::SCHED_FIFO && libc::sched_getparam(0, &mut held) == 0 {
            held.sched_priority += 1;
            libc::sched_setscheduler(0, libc::SCHED_FIFO, &held);
        }
    }
}

/// Whether this thread keeps its core until it waits for something.
pub fn keeps_its_core() -> bool {
    // SAFETY: 0 is the calling thread.
    unsafe { libc::sched_getscheduler(0) == libc::SCHED_FIFO }
}

/// Those of this thread's rank that are due begin before it goes on.
pub fn yield_core() {
    // SAFETY: no arguments; it cannot fail.
    unsafe { libc::sched_yield() };
}

/// One session's waiting. Made on the thread that waits.
pub struct Pacer {
    clock: Clock,
    stop: Arc<AtomicBool>,
    spin: Spin,
}

impl Pacer {
    /// Asks the kernel to wake this thread on time instead of up to 50 µs late.
    pub fn new(clock: Clock, stop: Arc<AtomicBool>, spin: Spin) -> Pacer {
        // SAFETY: PR_SET_TIMERSLACK takes one integer and concerns the calling thread alone.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
        Pacer { clock, stop, spin }
    }

    /// Waits until `due_ns` (run time), or until the stop flag is set, seen within 50 ms.
    ///
    /// An operation already due is never held up, not even by the flag: its caller decides.
    #[inline]
    pub fn wait_until(&self, due_ns: u64) -> Wake {
        let now = self.clock.now();
        if now >= due_ns {
            return Wake::Due(now);
        }
        self.wait(due_ns, now)
    }

    #[cold]
    fn wait(&self, due_ns: u64, mut now: u64) -> Wake {
        let early_ns = match self.spin {
            Spin::Never => 0,
            Spin::Owned => SPIN_NS,
        };
        while now < due_ns {
            if self.stop.load(Ordering::Relaxed) {
                return Wake::Stopped;
            }
            let left_ns = due_ns - now;
            if left_ns > early_ns {
                sleep_until(monotonic_ns() + (left_ns - early_ns).min(LOOK_EVERY_NS));
            } else {
                std::hint::spin_loop();
            }
            now = self.clock.now();
        }
        Wake::Due(now)
    }
}

/// Sleeps until CLOCK_MONOTONIC shows `monotonic_ns`; returns early on a signal.
///
/// Absolute, so that what the caller did between reading the clock and sleeping is not added.
fn sleep_until(monotonic_ns: u64) {
    let until = libc::timespec {
        tv_sec: (monotonic_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (monotonic_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `until` outlives the call; a null remainder is allowed with TIMER_ABSTIME.
    unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, std::ptr::null_mut())
    };
}

/// How late this machine wakes a session: `count` waits of `period_ns`, ns each, sorted.
pub fn lags_ns(clock: Clock, spin: Spin, period_ns: u64, count: usize) -> Vec<u64> {
    let pacer = Pacer::new(clock, Arc::new(AtomicBool::new(false)), spin);
    let start = clock.now();
    let mut lags: Vec<u64> = (1..=count as u64)
        .map(|k| {
            let ready = clock.now();
            let due = start + k * period_ns;
            match pacer.wait_until(due) {
                Wake::Due(now) => now - due.max(ready),
                Wake::Stopped => unreachable!("no other thread holds this flag"),
            }
        })
        .collect();
    lags.sort_unstable();
    lags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacer(spin: Spin) -> (Pacer, Clock, Arc<AtomicBool>) {
        let clock = Clock::start();
        let stop = Arc::new(AtomicBool::new(false));
        (Pacer::new(clock, Arc::clone(&stop), spin), clock, stop)
    }

    #[test]
    fn nothing_is_ever_sent_before_it_is_due() {
        for spin in [Spin::Never, Spin::Owned] {
            let (pacer, clock, _stop) = pacer(spin);
            for k in 1..50u64 {
                let due = clock.now() + k * 7_919;
                let Wake::Due(now) = pacer.wait_until(due) else { panic!("not stopped") };
                assert!(now >= due);
                assert!(clock.now() >= due);
            }
        }
    }

    #[test]
    fn what_is_already_due_is_not_held_up() {
        let (pacer, clock, stop) = pacer(Spin::Never);
        stop.store(true, Ordering::Relaxed);
        let due = clock.now();
        assert!(matches!(pacer.wait_until(due), Wake::Due(_)));
    }

    #[test]
    fn a_stop_ends_a_wait_of_an_hour() {
        let (pacer, clock, stop) = pacer(Spin::Never);
        let hour_ns = 3_600_000_000_000;
        let asleep = std::thread::spawn(move || pacer.wait_until(clock.now() + hour_ns));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(asleep.join().expect("no panic"), Wake::Stopped);
    }

    #[test]
    fn lags_are_as_many_as_asked_and_sorted() {
        let lags = lags_ns(Clock::start(), Spin::Never, 200_000, 20);
        assert_eq!(lags.len(), 20);
        assert!(lags.windows(2).all(|w| w[0] <= w[1]));
    }
}
