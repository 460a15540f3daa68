//! The one clock: monotonic nanoseconds since the run began.

use std::time::Instant;

/// Copied into every session; `now` is cheap enough to read twice per operation.
#[derive(Clone, Copy)]
pub struct Clock {
    zero: Instant,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { zero: Instant::now() }
    }

    /// ns since `start`.
    #[inline]
    pub fn now(&self) -> u64 {
        self.zero.elapsed().as_nanos() as u64
    }
}

/// CPU time of the calling thread, ns. About 1 µs a call: once per interval, never per operation.
pub fn thread_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of this process with all its threads, ns.
pub fn process_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn cpu_ns(id: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` outlives the call and both clock ids exist on every Linux.
    unsafe { libc::clock_gettime(id, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
