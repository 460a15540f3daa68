//! The one clock: monotonic nanoseconds since the run began.
//!
//! Where the CPU's time stamp counter is what the kernel itself keeps time with, a reading is the
//! counter times a factor (about 10 ns, half of `clock_gettime`). The factor is measured against
//! CLOCK_MONOTONIC over [`CALIBRATE_NS`], with pairs taken inside the narrowest of many brackets
//! (about ±20 ns, so about ±1 ppm), and corrected by [`Clock::anchor`] as the run goes on: the line
//! from counter to time stays continuous and rising, only its slope is bent (by 500 ppm at most,
//! what NTP may do to the kernel's own clock), so that the error is gone about a second later.
//! Without a trustworthy counter every reading is a `clock_gettime(CLOCK_MONOTONIC)`.

use std::sync::atomic::{fence, AtomicU64, Ordering};
use std::sync::OnceLock;

/// Length of the first calibration, once per process.
const CALIBRATE_NS: u64 = 20_000_000;
/// Two anchors closer than this would measure jitter, not drift.
const ANCHOR_EVERY_NS: u64 = 100_000_000;
/// A bend that takes longer, because its thread lost its core, is given up: the next one corrects the same error.
const PUBLISH_WITHIN_NS: u64 = 20_000;
/// Bound on the correction of the slope.
const BEND_MAX: f64 = 500e-6;

/// Copied into every session; `now` is cheap enough to read twice per operation.
#[derive(Clone, Copy)]
pub struct Clock {
    line: &'static Line,
    /// CLOCK_MONOTONIC at `start`, ns.
    zero_ns: u64,
}

impl Clock {
    pub fn start() -> Clock {
        let line = line();
        Clock { line, zero_ns: line.now() }
    }

    /// ns since `start`. Never goes back on one thread; between cores it agrees to a few ns.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.line.now().saturating_sub(self.zero_ns)
    }

    /// CLOCK_MONOTONIC at run time 0: what times of several processes of a machine are compared by.
    pub fn zero_ns(&self) -> u64 {
        self.zero_ns
    }

    /// Corrects the slope against CLOCK_MONOTONIC. Called by the thread that collects the tables,
    /// a few times a second; calls in quick succession do nothing.
    pub fn anchor(&self) {
        self.line.anchor();
    }

    /// True if `now` reads the time stamp counter.
    pub fn reads_tsc(&self) -> bool {
        self.line.tsc
    }

    /// Cost of one `now`, ns: the quietest of many short series.
    pub fn cost_ns(&self) -> f64 {
        const CALLS: u64 = 1000;
        (0..200)
            .map(|_| {
                let start = self.now();
                for _ in 0..CALLS {
                    std::hint::black_box(self.now());
                }
                (self.now() - start) as f64 / CALLS as f64
            })
            .fold(f64::INFINITY, f64::min)
    }
}

/// CPU time of the calling thread, ns. About 1 µs a call: once per interval, never per operation.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// What a thread computed, and how long it could have and did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadTime {
    pub cpu_ns: u64,
    /// Ready to run and waiting for a processor: others were on it, or a quota was used up. None where the kernel does
    /// not count it.
    pub queued_ns: Option<u64>,
}

impl ThreadTime {
    /// Of the calling thread, so far. Some 10 µs: at the ends of a repetition, never per operation.
    pub fn now() -> ThreadTime {
        let text = std::fs::read("/proc/thread-self/schedstat").unwrap_or_default();
        ThreadTime { cpu_ns: thread_cpu_ns(), queued_ns: queued_ns(&text) }
    }

    pub fn since(self, before: ThreadTime) -> ThreadTime {
        let queued_ns = self.queued_ns.zip(before.queued_ns).map(|(now, then)| now.saturating_sub(then));
        ThreadTime { cpu_ns: self.cpu_ns - before.cpu_ns, queued_ns }
    }
}

/// The second number of a thread's `schedstat`: ns in which it was ready to run and did not. A kernel that does not
/// count gives zeros, of which the third one, the number of times that it ran, can be none of a thread.
pub fn queued_ns(schedstat: &[u8]) -> Option<u64> {
    let mut numbers = std::str::from_utf8(schedstat).ok()?.split_whitespace().map(str::parse::<u64>);
    let (queued, times) = (numbers.nth(1)?.ok()?, numbers.next()?.ok()?);
    (times > 0).then_some(queued)
}

/// CPU time of this process with all its threads, ns.
pub fn process_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of this process, and of those that it has started and waited for, ns.
pub fn used_cpu_ns() -> u64 {
    // SAFETY: the structure is plain numbers, for which zeros are values, and it outlives the call.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut used) };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    process_cpu_ns() + ns(used.ru_utime) + ns(used.ru_stime)
}

/// CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

fn clock_ns(id: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` outlives the call and these clock ids exist on every Linux.
    unsafe { libc::clock_gettime(id, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// A line from counter to time, shared by every clock of the process; one writer at a time bends it.
///
/// A reader never waits for a writer, which may have lost its core in the middle of a bend to that very reader
/// (threads that come first: `pace::raise_realtime_priority`). So there are two slopes: the one that `version` points
/// at is whole, the other one is written.
#[repr(align(128))]
struct Line {
    tsc: bool,
    /// Its last bit is the place of the slope that holds.
    version: AtomicU64,
    slopes: [Slope; 2],
    /// Held by the one thread that bends.
    bending: std::sync::Mutex<Pair>,
}

/// `ns = ns0 + (tsc - tsc0) * factor / 2^32`.
#[derive(Default)]
struct Slope {
    tsc0: AtomicU64,
    ns0: AtomicU64,
    factor: AtomicU64,
}

impl Slope {
    #[inline(always)]
    fn at(&self, tsc: u64) -> u64 {
        at(
            tsc,
            self.tsc0.load(Ordering::Relaxed),
            self.ns0.load(Ordering::Relaxed),
            self.factor.load(Ordering::Relaxed),
        )
    }

    fn set(&self, tsc0: u64, ns0: u64, factor: u64) {
        self.tsc0.store(tsc0, Ordering::Relaxed);
        self.ns0.store(ns0, Ordering::Relaxed);
        self.factor.store(factor, Ordering::Relaxed);
    }
}

/// Two clocks read at one instant.
#[derive(Clone, Copy)]
struct Pair {
    tsc: u64,
    monotonic_ns: u64,
}

fn line() -> &'static Line {
    static LINE: OnceLock<Line> = OnceLock::new();
    LINE.get_or_init(Line::calibrated)
}

impl Line {
    fn calibrated() -> Line {
        let tsc = tsc_is_trusted();
        let first = if tsc { pair() } else { Pair { tsc: 0, monotonic_ns: monotonic_ns() } };
        let mut factor = 0.0;
        if tsc {
            while monotonic_ns() < first.monotonic_ns + CALIBRATE_NS {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            factor = slope(first, pair());
        }
        let line = Line {
            tsc,
            version: AtomicU64::new(0),
            slopes: Default::default(),
            bending: std::sync::Mutex::new(first),
        };
        line.slopes[0].set(first.tsc, first.monotonic_ns, factor as u64);
        line
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        if !self.tsc {
            return monotonic_ns();
        }
        loop {
            let version = self.version.load(Ordering::Acquire);
            let slope = &self.slopes[(version & 1) as usize];
            let (tsc0, ns0) = (slope.tsc0.load(Ordering::Relaxed), slope.ns0.load(Ordering::Relaxed));
            let factor = slope.factor.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            // Another version: a whole bend fell in between, and the next one writes the slope that was read.
            if self.version.load(Ordering::Relaxed) == version {
                return at(read_tsc(), tsc0, ns0, factor);
            }
        }
    }

    fn anchor(&self) {
        if !self.tsc {
            return;
        }
        // A second thread that wants to bend at the same time has nothing to add.
        let Ok(mut first) = self.bending.try_lock() else {
            return;
        };
        let here = pair();
        let version = self.version.load(Ordering::Relaxed);
        let (held, next) = (&self.slopes[(version & 1) as usize], &self.slopes[(!version & 1) as usize]);
        let ns = held.at(here.tsc);
        if ns < held.ns0.load(Ordering::Relaxed) + ANCHOR_EVERY_NS {
            return;
        }
        let bent = bent_factor(slope(*first, here), ns as f64 - here.monotonic_ns as f64);
        // The long baseline averages jitter out; a minute later NTP may have changed the rate.
        if here.monotonic_ns - first.monotonic_ns > 60_000_000_000 {
            *first = here;
        }
        let next_tsc = read_tsc();
        // A reader that sees a word of the next slope sees the version before it, and reads again.
        fence(Ordering::Release);
        next.set(next_tsc, held.at(next_tsc), bent as u64);
        // Meanwhile others read the slope that holds: one that begins long before it is published would take time back.
        if held.at(read_tsc()) - held.at(next_tsc) < PUBLISH_WITHIN_NS {
            self.version.store(version + 1, Ordering::Release);
        }
    }
}

/// The time of counter value `tsc` on the line through (`tsc0`, `ns0`). A core whose counter was
/// read just before a bend published by another may stand before `tsc0`: it gets `ns0`.
#[inline(always)]
fn at(tsc: u64, tsc0: u64, ns0: u64, factor: u64) -> u64 {
    ns0 + ((u128::from(tsc.saturating_sub(tsc0)) * u128::from(factor)) >> 32) as u64
}

/// ns per tick, times 2^32.
fn slope(from: Pair, to: Pair) -> f64 {
    let ns = (to.monotonic_ns - from.monotonic_ns) as f64;
    let ticks = (to.tsc - from.tsc) as f64;
    ns / ticks * 4_294_967_296.0
}

/// The slope that takes a line which is `ahead_ns` ahead back in one second.
fn bent_factor(factor: f64, ahead_ns: f64) -> f64 {
    factor * (1.0 - (ahead_ns / 1e9).clamp(-BEND_MAX, BEND_MAX))
}

/// Both clocks, from the narrowest of many brackets: a bracket widened by an interrupt is dropped.
fn pair() -> Pair {
    (0..100)
        .map(|_| {
            let before = read_tsc();
            let monotonic_ns = monotonic_ns();
            let width = read_tsc().saturating_sub(before);
            (width, Pair { tsc: before + width / 2, monotonic_ns })
        })
        .min_by_key(|(width, _)| *width)
        .expect("a hundred brackets are not none")
        .1
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_tsc() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction; `tsc_is_trusted` has checked its meaning.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn read_tsc() -> u64 {
    unreachable!("tsc_is_trusted is false here")
}

/// The counter runs at one rate in all states of the CPU, and the kernel, which watches it against
/// other clocks and across cores, keeps time with it.
#[cfg(target_arch = "x86_64")]
fn tsc_is_trusted() -> bool {
    const INVARIANT_TSC: u32 = 1 << 8;
    let highest = core::arch::x86_64::__cpuid(0x8000_0000).eax;
    let invariant =
        highest >= 0x8000_0007 && core::arch::x86_64::__cpuid(0x8000_0007).edx & INVARIANT_TSC != 0;
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    invariant && source.is_ok_and(|name| name.trim() == "tsc")
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_is_trusted() -> bool {
    false
}

#[cfg(test)]
mod tests;
