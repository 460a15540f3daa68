//! CPU of named threads: those of the client at every look, those of servers once a second.

use std::fs;

use super::procfs::{number, own_thread_cpu_ns, words};
use super::{Buffer, Name, ThreadNames};

/// A server with a thread per connection may name each: beyond this they are `others`.
const MAX_NAMES: usize = 64;
/// A thread that ended before its name was read, or that has none: without a name its rows would be those of its process.
const UNNAMED: &str = "unnamed";
/// A new thread bears its parent's name for a moment.
const LOOKS_UNTIL_NAMED: u8 = 2;

pub struct Threads {
    own: bool,
    live: Vec<Thread>,
    names: Vec<Named>,
    round: u64,
}

struct Thread {
    tid: i32,
    name: usize,
    cpu_ns: u64,
    looks: u8,
    round: u64,
}

/// All threads, living and ended, of one name.
struct Named {
    name: Name,
    ended_ns: u64,
    shown_ns: u64,
}

impl Threads {
    /// Read by their own clocks, to the ns.
    pub fn of_this_process() -> Threads {
        Threads { own: true, live: Vec::new(), names: Vec::new(), round: 0 }
    }

    /// Read from `schedstat`.
    pub fn of_servers() -> Threads {
        Threads { own: false, live: Vec::new(), names: Vec::new(), round: 0 }
    }

    /// named: threads whose names are known better than the kernel knows them.
    pub fn read(&mut self, pids: impl Iterator<Item = i32>, named: &ThreadNames) {
        self.round += 1;
        for pid in pids {
            let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
            for task in tasks.flatten() {
                let tid = task.file_name().to_str().and_then(|t| number(t.as_bytes()));
                if let Some(tid) = tid {
                    self.see(pid, tid as i32, named);
                }
            }
        }
        let round = self.round;
        for thread in self.live.iter().filter(|t| t.round != round) {
            self.names[thread.name].ended_ns += thread.cpu_ns;
        }
        self.live.retain(|t| t.round == round);
    }

    pub fn show(&mut self, role: &Name, t_ns: u64, out: &mut Buffer) {
        for (at, named) in self.names.iter_mut().enumerate() {
            let live_ns: u64 = self.live.iter().filter(|t| t.name == at).map(|t| t.cpu_ns).sum();
            named.shown_ns = named.shown_ns.max(named.ended_ns + live_ns);
            out.push(role, t_ns, "cpu_s", &named.name, named.shown_ns as f64 * 1e-9);
        }
    }

    fn see(&mut self, pid: i32, tid: i32, named: &ThreadNames) {
        let cpu_ns = if self.own { own_thread_cpu_ns(tid) } else { schedstat_ns(pid, tid) };
        let Some(cpu_ns) = cpu_ns else { return };
        let known = self.live.iter().position(|t| t.tid == tid);
        // A number given to a new thread starts again at zero.
        let known = known.filter(|&at| self.live[at].cpu_ns <= cpu_ns);
        match known {
            Some(at) => {
                if self.live[at].looks < LOOKS_UNTIL_NAMED {
                    self.live[at].looks += 1;
                    self.live[at].name = self.name_of(pid, tid, named);
                }
                self.live[at].cpu_ns = cpu_ns;
                self.live[at].round = self.round;
            }
            None => {
                let name = self.name_of(pid, tid, named);
                self.live.push(Thread { tid, name, cpu_ns, looks: 0, round: self.round });
            }
        }
    }

    fn name_of(&mut self, pid: i32, tid: i32, named: &ThreadNames) -> usize {
        let text = match named.get(&tid) {
            Some(name) => name.as_bytes().to_vec(),
            None => fs::read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default(),
        };
        let text = String::from_utf8_lossy(&text);
        let name = match text.trim_end_matches('\n') {
            "" => UNNAMED,
            name => name,
        };
        let find = |names: &[Named], name: &str| names.iter().position(|n| &*n.name == name);
        if let Some(at) = find(&self.names, name) {
            return at;
        }
        let name = if self.names.len() < MAX_NAMES { name } else { "others" };
        find(&self.names, name).unwrap_or_else(|| {
            self.names.push(Named { name: name.into(), ended_ns: 0, shown_ns: 0 });
            self.names.len() - 1
        })
    }
}

fn schedstat_ns(pid: i32, tid: i32) -> Option<u64> {
    let text = fs::read(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    let first = words(&text).next().and_then(number);
    first
}
