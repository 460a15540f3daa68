//! Files of `/proc`, kept open and read again from the start; and the few formats they have.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A file of `/proc`, opened once. A process's file fails with ESRCH once the process is gone, even
/// when its number has been given to another.
pub struct KeptFile(File);

impl KeptFile {
    pub fn open(path: &str) -> io::Result<KeptFile> {
        File::open(path).map(KeptFile)
    }

    /// The first piece: all of a file that fits one page, and the first lines of any.
    pub fn head<'a>(&self, scratch: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let n = self.0.read_at(scratch, 0)?;
        Ok(&scratch[..n])
    }

    /// All that fits into `scratch`.
    pub fn whole<'a>(&self, scratch: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let mut filled = 0;
        while filled < scratch.len() {
            let n = self.0.read_at(&mut scratch[filled..], filled as u64)?;
            if n == 0 {
                break;
            }
            filled += n;
        }
        Ok(&scratch[..filled])
    }
}

/// Non-empty words between blanks.
pub fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty())
}

pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'\n').filter(|l| !l.is_empty())
}

/// An unsigned decimal; `None` for anything else.
pub fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |n, b| match b {
        b'0'..=b'9' => n.checked_mul(10)?.checked_add(u64::from(b - b'0')),
        _ => None,
    })
}

/// The number that follows `key` on its line, e.g. `MemAvailable:` or `write_bytes:`.
pub fn keyed(text: &[u8], key: &[u8]) -> Option<u64> {
    let line = lines(text).find(|l| l.starts_with(key))?;
    number(words(&line[key.len()..]).next()?)
}

/// What is needed of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    pub ppid: i32,
    /// Pages of its program, and of files that it maps, that were read from a disk.
    pub major_faults: u64,
    /// Of the process, ticks in the kernel.
    pub system_ticks: u64,
    /// User and system time of children that were waited for, ticks.
    pub reaped_ticks: u64,
    /// The part of it in the kernel.
    pub reaped_system_ticks: u64,
    pub threads: u64,
}

/// The name may hold blanks and parentheses: fields are counted from the last `)`.
pub fn process_stat(text: &[u8]) -> Option<ProcessStat> {
    let close = text.iter().rposition(|b| *b == b')')?;
    let mut fields = words(&text[close + 1..]);
    let ppid = number(fields.nth(1)?)? as i32;
    let major_faults = number(fields.nth(7)?)?;
    let system_ticks = number(fields.nth(2)?)?;
    let (cutime, cstime) = (number(fields.next()?)?, number(fields.next()?)?);
    let threads = number(fields.nth(2)?)?;
    let reaped_ticks = cutime + cstime;
    Some(ProcessStat { ppid, major_faults, system_ticks, reaped_ticks, reaped_system_ticks: cstime, threads })
}

/// CPU time of a whole process, ns, its ended threads included; `None` when there is no such process.
///
/// The kernel's own account, exact to the switch, where `/proc/PID/stat` counts in 10-ms ticks and
/// `/proc/PID/schedstat` sees the first thread only. Source: clock_getcpuclockid(3), CPUCLOCK_SCHED.
pub fn process_cpu_ns(pid: i32) -> Option<u64> {
    clock_ns(((!pid) << 3) | 2)
}

/// CPU time of one thread of this process, ns; `None` when it has ended.
pub fn own_thread_cpu_ns(tid: i32) -> Option<u64> {
    clock_ns(((!tid) << 3) | 6)
}

fn clock_ns(id: libc::clockid_t) -> Option<u64> {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` outlives the call; an unknown clock is an error, not undefined.
    let failed = unsafe { libc::clock_gettime(id, &mut t) } != 0;
    (!failed).then(|| t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Length of a tick of `/proc`, ns.
pub fn tick_ns() -> u64 {
    // SAFETY: sysconf reads a constant of the system.
    let hz = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    1_000_000_000 / hz.max(1) as u64
}

pub fn page_bytes() -> u64 {
    // SAFETY: sysconf reads a constant of the system.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_blanks_and_parentheses_moves_no_field() {
        let text = b"42 (a) b (c)) S 7 42 42 0 -1 4194304 102 0 5 0 11 12 130 40 20 0 9 0 105066 3133440 416";
        let stat = process_stat(text).unwrap();
        let expected = ProcessStat {
            ppid: 7,
            major_faults: 5,
            system_ticks: 12,
            reaped_ticks: 170,
            reaped_system_ticks: 40,
            threads: 9,
        };
        assert_eq!(stat, expected);
    }

    #[test]
    fn numbers_are_decimal_or_nothing() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b"-1"), None);
        assert_eq!(number(b""), None);
    }

    #[test]
    fn a_key_is_found_at_the_start_of_its_line_only() {
        let text = b"rchar: 7\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 9\n";
        assert_eq!(keyed(text, b"write_bytes:"), Some(6));
        assert_eq!(keyed(text, b"absent:"), None);
    }
}
