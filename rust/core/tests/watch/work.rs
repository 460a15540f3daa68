//! Work of known size, of this process and of children.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use inrush_rows::clock::{process_cpu_ns, thread_cpu_ns};

/// A forked child that works and then waits to be killed.
pub struct Child {
    pub pid: i32,
    worked: File,
}

impl Child {
    pub fn start(work: impl FnOnce()) -> Child {
        let (reader, mut writer) = pipe();
        let pid = fork(move || {
            work();
            writer.write_all(b"w").unwrap();
            loop {
                // SAFETY: waits for the signal that ends this process.
                unsafe { libc::pause() };
            }
        });
        Child { pid, worked: reader }
    }

    pub fn wait_until_worked(&self) {
        let mut poll = libc::pollfd { fd: self.worked.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, alive for the call.
        let ready = unsafe { libc::poll(&mut poll, 1, 60_000) };
        assert_eq!(
            (ready, poll.revents & libc::POLLIN),
            (1, libc::POLLIN),
            "the child worked within a minute"
        );
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: our own child, not yet waited for.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        reap(self.pid);
    }
}

pub fn pipe() -> (File, File) {
    let (reader, writer) = std::io::pipe().unwrap();
    (File::from(OwnedFd::from(reader)), File::from(OwnedFd::from(writer)))
}

pub fn fork(work: impl FnOnce()) -> i32 {
    // SAFETY: the child only computes, writes to open files and ends without unwinding.
    match unsafe { libc::fork() } {
        0 => {
            work();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(0) }
        }
        pid => pid,
    }
}

pub fn reap(pid: i32) {
    let mut status = 0;
    // SAFETY: waits for our own child.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
}

/// Works until this process has used `seconds` of CPU since it was forked.
pub fn burn(seconds: f64) {
    while (process_cpu_ns() as f64) < seconds * 1e9 {
        std::hint::black_box(0);
    }
}

/// The same, with few calls of the kernel: to ask for the time is one.
pub fn burn_outside(seconds: f64) {
    while (process_cpu_ns() as f64) < seconds * 1e9 {
        for k in 0..1_000_000 {
            std::hint::black_box(k);
        }
    }
}

/// The same, in calls of the kernel that take long.
pub fn burn_in_kernel(seconds: f64) {
    let mut zeros = File::open("/dev/zero").unwrap();
    let mut block = vec![0; 1 << 20];
    while (process_cpu_ns() as f64) < seconds * 1e9 {
        std::io::Read::read_exact(&mut zeros, &mut block).unwrap();
    }
}

/// Uses `cpu_s` of CPU, spread evenly over `time`.
pub fn burn_for(time: Duration, cpu_s: f64) {
    let started = Instant::now();
    while started.elapsed() < time {
        burn((started.elapsed().as_secs_f64() / time.as_secs_f64()).min(1.0) * cpu_s);
        std::thread::sleep(Duration::from_millis(5));
    }
    burn(cpu_s);
}

pub fn burn_thread(seconds: f64) {
    let zero = thread_cpu_ns();
    while ((thread_cpu_ns() - zero) as f64) < seconds * 1e9 {
        std::hint::black_box(0);
    }
}

pub fn rusage_s() -> f64 {
    // SAFETY: all zeros is a valid rusage, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Fields 14 and 15 of stat, in 10-ms ticks.
pub fn stat_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) * 0.01
}
