//! A role's processes: the named ones, their children, and what ended ones have used.

use inrush_rows::clock::Clock;

use super::procfs::{keyed, number, page_bytes, process_cpu_ns, process_stat, tick_ns, words, KeptFile};
use super::threads::Threads;
use super::{Buffer, Name, ThreadNames};

/// Three files are kept open for each; more would meet the usual limit of 1024.
const MAX_PROCESSES: usize = 256;

pub struct Role {
    name: Name,
    none: Name,
    /// Parents before their children.
    members: Vec<Process>,
    threads: Threads,
    /// The client is this process alone: its children are servers under test, or belong to no role.
    alone: bool,
    /// Of ended processes with a parent that is not a member.
    gone: Used,
    /// Last figures given out; they never fall.
    shown: Used,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Used {
    cpu_ns: u64,
    /// The part of it in the kernel, in whole ticks.
    system_ns: u64,
    read_bytes: u64,
    write_bytes: u64,
    major_faults: u64,
}

struct Process {
    pid: i32,
    ppid: i32,
    stat: KeptFile,
    statm: KeptFile,
    /// Absent where another user's process may not be read.
    io: Option<KeptFile>,
    threads: u64,
    /// `cpu_ns` of the process alone; the bytes include children it has waited for (Linux adds them).
    used: Used,
    /// CPU of children the kernel has seen waited for, in whole ticks.
    reaped_ns: u64,
    /// The same from what we saw: before we came, plus members that ended.
    ended_ns: u64,
    /// The parts of both in the kernel.
    reaped_system_ns: u64,
    ended_system_ns: u64,
    resident_bytes: u64,
    shared_bytes: u64,
}

impl Role {
    pub fn client(pid: i32, notes: &mut Vec<String>) -> Role {
        let mut role = Role::new("client", Threads::of_this_process(), true);
        role.add(pid, notes);
        role
    }

    pub fn servers(name: &str) -> Role {
        Role::new(name, Threads::of_servers(), false)
    }

    fn new(name: &str, threads: Threads, alone: bool) -> Role {
        Role {
            name: name.into(),
            none: "".into(),
            members: Vec::new(),
            threads,
            alone,
            gone: Used::default(),
            shown: Used::default(),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn pids(&self) -> Vec<i32> {
        self.members.iter().map(|p| p.pid).collect()
    }

    pub fn add(&mut self, pid: i32, notes: &mut Vec<String>) {
        if let Some(at) = self.members.iter().position(|p| p.pid == pid) {
            if self.members[at].is_there() {
                return;
            }
            self.bury(at); // its number is another's by now
        }
        if self.members.len() == MAX_PROCESSES {
            notes.push(format!(
                "role {}: more than {MAX_PROCESSES} processes; of the others only the CPU of ended ones is counted",
                self.name
            ));
            return;
        }
        match Process::open(pid) {
            Ok(process) => {
                if process.io.is_none() {
                    notes.push(format!(
                        "role {}: /proc/{pid}/io may not be read: its bytes are missing",
                        self.name
                    ));
                }
                self.members.push(process);
            }
            Err(e) => notes.push(format!("role {}: process {pid} is not watched: {e}", self.name)),
        }
    }

    /// Adds the children of members, and theirs, but none of `claimed` (all processes of all roles).
    pub fn find_children(&mut self, claimed: &[i32], notes: &mut Vec<String>) {
        if self.alone {
            return;
        }
        let mut at = 0;
        while at < self.members.len() && self.members.len() < MAX_PROCESSES {
            for child in children(self.members[at].pid) {
                if !claimed.contains(&child) && !self.members.iter().any(|p| p.pid == child) {
                    // A child that ended since it was listed is in its parent's account.
                    if let Ok(process) = Process::open(child) {
                        self.members.push(process);
                    }
                }
            }
            at += 1;
        }
        if self.members.len() == MAX_PROCESSES {
            notes.push(format!(
                "role {}: {MAX_PROCESSES} processes or more; of further ones only the CPU of ended ones is counted",
                self.name
            ));
        }
    }

    /// Reads every member and appends the role's figures; `scan` when threads of servers are due too.
    pub fn sample(
        &mut self,
        clock: &Clock,
        scan: bool,
        names: &ThreadNames,
        scratch: &mut [u8],
        out: &mut Buffer,
    ) {
        let t_ns = clock.now();
        let (tick, page) = (tick_ns(), page_bytes());
        let mut at = 0;
        while at < self.members.len() {
            if self.members[at].read(tick, page, scratch) {
                at += 1;
            } else {
                self.bury(at);
            }
        }
        if self.members.is_empty() && self.shown == Used::default() {
            return;
        }
        self.show(t_ns, out);
        if scan || self.alone {
            let threaded = self.members.iter().filter(|p| self.alone || p.threads > 1);
            self.threads.read(threaded.map(|p| p.pid), names);
            self.threads.show(&self.name, t_ns, out);
        }
    }

    /// An ended process leaves its CPU to the member that waits for it, else to the role.
    ///
    /// Its bytes are the kernel's to hand on: Linux adds them to the parent that waits.
    fn bury(&mut self, at: usize) {
        let ended = self.members.remove(at);
        self.gone.major_faults += ended.used.major_faults;
        match self.members.iter_mut().find(|p| p.pid == ended.ppid) {
            Some(parent) => {
                parent.ended_ns += ended.total_cpu_ns();
                parent.ended_system_ns += ended.total_system_ns();
            }
            None => {
                self.gone.cpu_ns += ended.total_cpu_ns();
                self.gone.system_ns += ended.total_system_ns();
                self.gone.read_bytes += ended.used.read_bytes;
                self.gone.write_bytes += ended.used.write_bytes;
            }
        }
    }

    fn show(&mut self, t_ns: u64, out: &mut Buffer) {
        let mut now = self.gone;
        let (mut private, mut shared) = (0, 0);
        for p in &self.members {
            now.cpu_ns += if self.alone { p.used.cpu_ns } else { p.total_cpu_ns() };
            now.system_ns += if self.alone { p.used.system_ns } else { p.total_system_ns() };
            now.read_bytes += p.used.read_bytes;
            now.write_bytes += p.used.write_bytes;
            now.major_faults += p.used.major_faults;
            private += p.resident_bytes - p.shared_bytes;
            shared = p.shared_bytes.max(shared);
        }
        self.shown.cpu_ns = self.shown.cpu_ns.max(now.cpu_ns);
        self.shown.system_ns = self.shown.system_ns.max(now.system_ns);
        self.shown.read_bytes = self.shown.read_bytes.max(now.read_bytes);
        self.shown.write_bytes = self.shown.write_bytes.max(now.write_bytes);
        self.shown.major_faults = self.shown.major_faults.max(now.major_faults);
        let mut push = |metric, value| out.push(&self.name, t_ns, metric, &self.none, value);
        push("cpu_s", self.shown.cpu_ns as f64 * 1e-9);
        push("cpu_system_s", self.shown.system_ns as f64 * 1e-9);
        push("rss_bytes", (private + shared) as f64);
        push("major_faults", self.shown.major_faults as f64);
        if self.members.iter().any(|p| p.io.is_some()) || self.shown.write_bytes > 0 {
            push("read_bytes", self.shown.read_bytes as f64);
            push("write_bytes", self.shown.write_bytes as f64);
        }
    }
}

impl Process {
    fn open(pid: i32) -> std::io::Result<Process> {
        let mut process = Process {
            pid,
            ppid: 0,
            stat: KeptFile::open(&format!("/proc/{pid}/stat"))?,
            statm: KeptFile::open(&format!("/proc/{pid}/statm"))?,
            io: KeptFile::open(&format!("/proc/{pid}/io")).ok(),
            threads: 1,
            used: Used::default(),
            reaped_ns: 0,
            ended_ns: 0,
            reaped_system_ns: 0,
            ended_system_ns: 0,
            resident_bytes: 0,
            shared_bytes: 0,
        };
        let mut scratch = [0; 4096];
        if !process.read(tick_ns(), page_bytes(), &mut scratch) {
            return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
        }
        process.ended_ns = process.reaped_ns;
        process.ended_system_ns = process.reaped_system_ns;
        Ok(process)
    }

    /// Whether it is still the process that it was.
    fn is_there(&self) -> bool {
        self.stat.head(&mut [0; 512]).is_ok()
    }

    /// Takes new figures; false when the process is gone.
    fn read(&mut self, tick_ns: u64, page_bytes: u64, scratch: &mut [u8]) -> bool {
        let Some(stat) = self.stat.head(scratch).ok().and_then(process_stat) else { return false };
        let Some(cpu_ns) = process_cpu_ns(self.pid) else { return false };
        self.ppid = stat.ppid;
        self.threads = stat.threads;
        self.reaped_ns = stat.reaped_ticks * tick_ns;
        self.reaped_system_ns = stat.reaped_system_ticks * tick_ns;
        self.used.cpu_ns = cpu_ns;
        self.used.system_ns = stat.system_ticks * tick_ns;
        self.used.major_faults = stat.major_faults;
        if let Ok(text) = self.statm.head(scratch) {
            let mut pages = words(text).skip(1).map(|w| number(w).unwrap_or(0));
            self.resident_bytes = pages.next().unwrap_or(0) * page_bytes;
            self.shared_bytes = (pages.next().unwrap_or(0) * page_bytes).min(self.resident_bytes);
        }
        if let Some(Ok(text)) = self.io.as_ref().map(|io| io.head(scratch)) {
            self.used.read_bytes = keyed(text, b"read_bytes:").unwrap_or(self.used.read_bytes);
            self.used.write_bytes = keyed(text, b"write_bytes:").unwrap_or(self.used.write_bytes);
        }
        true
    }

    /// With all children that have ended. The kernel counts every child that was waited for, also
    /// those too short-lived to be seen, in whole ticks; we know those we saw, waited for or not.
    fn total_cpu_ns(&self) -> u64 {
        self.used.cpu_ns + self.reaped_ns.max(self.ended_ns)
    }

    /// The part of it in the kernel. Never more than the whole: each of its parts is at most that of the whole.
    fn total_system_ns(&self) -> u64 {
        self.used.system_ns + self.reaped_system_ns.max(self.ended_system_ns)
    }
}

/// Children of all threads of `pid`; empty when it is gone.
fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        // The file exists on kernels with CONFIG_PROC_CHILDREN: all distributions since 2013.
        if let Ok(text) = std::fs::read(thread.path().join("children")) {
            found.extend(words(&text).filter_map(number).map(|n| n as i32));
        }
    }
    found
}
