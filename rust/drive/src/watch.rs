//! What the run costs: CPU, memory, disk and network, per role and device, sampled while it runs.
//!
//! One thread wakes every `every_ns`, reads kept-open files of `/proc` and appends samples to a
//! buffer of fixed size that the writer drains. Values are cumulative where they can be, so a late or
//! lost sample changes no sum. Nothing here ends a run: what cannot be read is a note.

mod devices;
pub mod heartbeat;
mod host;
mod procfs;
mod quota;
mod threads;
mod tree;

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use inrush_rows::clock::{thread_cpu_ns, Clock};
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::WatchPlan;

use host::Host;
use quota::Quotas;
use tree::Role;

/// Below this the watch would disturb what it watches.
pub const SHORTEST_NS: u64 = 100_000_000;
/// Process trees and threads of servers change slowly and cost more to list.
const RESCAN_NS: u64 = 1_000_000_000;
/// About half a minute of a run with 50 metrics at 10 Hz between two drains.
const BUFFER_SAMPLES: usize = 16_384;

/// How often a thread that waits for a sample checks whether the sampler still runs.
const ASK: Duration = Duration::from_millis(100);

/// Role -> its processes.
pub type Processes = BTreeMap<String, Vec<i32>>;

/// Thread -> what it is, where its process says more than the kernel.
pub type ThreadNames = BTreeMap<i32, String>;

/// A role, device or thread name, made once.
pub type Name = Arc<str>;

/// One row of the table `resources` (`docs/results.md`).
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub role: Name,
    /// ns since the run's clock started, read just before the value was.
    pub t_ns: u64,
    pub metric: &'static str,
    /// Block device, interface or thread; empty for the role as a whole.
    pub device: Name,
    pub value: f64,
}

/// The sampling thread of one run.
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    inbox: Mutex<Inbox>,
    wake: Condvar,
    looked: Condvar,
    samples: Mutex<Buffer>,
    notes: Mutex<Vec<String>>,
}

#[derive(Default)]
struct Inbox {
    stop: bool,
    added: Vec<(String, i32)>,
    named: ThreadNames,
    /// The run waits for a look.
    asked: bool,
    /// At the host too.
    whole: bool,
    /// Looks that were asked for, so far.
    asked_looks: u64,
}

/// Samples not yet drained; never grows.
pub(crate) struct Buffer {
    samples: Vec<Sample>,
    dropped: u64,
}

impl Watch {
    /// Starts sampling the processes of `plan` and this process as role `client`.
    ///
    /// The first sample is taken before this returns. `every_ns` of 0 gives a watch that samples
    /// nothing. Processes that do not exist are notes, not errors.
    pub fn start(plan: &WatchPlan, clock: Clock) -> Result<Watch, Error> {
        Watch::of(plan, clock, true)
    }

    /// The same without the machine, which another process watches.
    pub fn of_client(plan: &WatchPlan, clock: Clock) -> Result<Watch, Error> {
        Watch::of(plan, clock, false)
    }

    fn of(plan: &WatchPlan, clock: Clock, at_host: bool) -> Result<Watch, Error> {
        if plan.every_ns != 0 && plan.every_ns < SHORTEST_NS {
            return Err(Error::Plan(format!(
                "watch.every_ns is {}; the shortest is {SHORTEST_NS} (100 ms)",
                plan.every_ns
            )));
        }
        let shared = Arc::new(Shared {
            inbox: Mutex::default(),
            wake: Condvar::new(),
            looked: Condvar::new(),
            samples: Mutex::new(Buffer::new()),
            notes: Mutex::default(),
        });
        if plan.every_ns == 0 {
            return Ok(Watch { shared, thread: None });
        }
        let mut eye = Eye::new(plan, clock, shared.clone(), at_host);
        eye.look(true);
        let every_ns = plan.every_ns;
        let thread = std::thread::Builder::new()
            .name("inrush-watch".into())
            .spawn(move || eye.watch(every_ns))
            .map_err(|e| Error::io("starting the watch thread", e))?;
        Ok(Watch { shared, thread: Some(thread) })
    }

    /// Also watches the trees of these processes, all they have used so far included; those that it knows stay as they are.
    ///
    /// Returns after a sample of them: what they use from now on is what the samples rise by.
    pub fn add(&self, processes: &Processes) {
        let each = processes.iter().flat_map(|(role, pids)| pids.iter().map(|pid| (role.clone(), *pid)));
        let each: Vec<(String, i32)> = each.collect();
        if !each.is_empty() {
            self.ask_for_look(each, false);
        }
    }

    /// What threads of processes are that are added next; those that it knows stay as they are.
    pub fn name_threads(&self, names: ThreadNames) {
        self.shared.inbox().named.extend(names);
    }

    /// Returns after a sample of every role: what they use from now on, or used until now, is what the samples rise by.
    /// The host is not looked at, whose clock ticks are longer than what may lie between two such looks.
    pub fn look_now(&self) {
        self.ask_for_look(Vec::new(), false);
    }

    /// The same with the host, where what it counts from now on, or has counted until now, is of seconds.
    pub fn look_at_all(&self) {
        self.ask_for_look(Vec::new(), true);
    }

    fn ask_for_look(&self, added: Vec<(String, i32)>, whole: bool) {
        let Some(thread) = &self.thread else { return };
        let mut inbox = self.shared.inbox();
        inbox.added.extend(added);
        inbox.asked = true;
        inbox.whole |= whole;
        let before = inbox.asked_looks;
        self.shared.wake.notify_all();
        while inbox.asked_looks == before && !thread.is_finished() {
            let waited = self.shared.looked.wait_timeout(inbox, ASK);
            inbox = waited.expect("nothing panics while it holds the inbox").0;
        }
    }

    /// Moves all samples taken since the last call to the end of `out`.
    pub fn drain(&self, out: &mut Vec<Sample>) {
        let mut buffer = self.shared.samples.lock().expect("the watch thread does not panic");
        out.append(&mut buffer.samples);
        buffer.samples.reserve(BUFFER_SAMPLES);
    }

    /// What could not be watched and why, as sentences.
    pub fn notes(&self) -> Vec<String> {
        self.shared.notes.lock().expect("the watch thread does not panic").clone()
    }

    /// Takes a last sample and ends the thread; `drain` then gives the rest.
    pub fn stop(&mut self) {
        self.shared.inbox().stop = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            if thread.join().is_err() {
                let mut notes = self.shared.notes.lock().unpoisoned();
                notes.push("the watch thread ended early: resources are incomplete".into());
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn inbox(&self) -> std::sync::MutexGuard<'_, Inbox> {
        self.inbox.lock().expect("nothing panics while it holds the inbox")
    }
}

impl Buffer {
    fn new() -> Buffer {
        Buffer { samples: Vec::with_capacity(BUFFER_SAMPLES), dropped: 0 }
    }

    /// Keeps the sample, or counts it as dropped when no thread has drained for long.
    pub(crate) fn push(&mut self, role: &Name, t_ns: u64, metric: &'static str, device: &Name, value: f64) {
        if self.samples.len() == BUFFER_SAMPLES {
            self.dropped += 1;
            return;
        }
        self.samples.push(Sample { role: role.clone(), t_ns, metric, device: device.clone(), value });
    }
}

/// Why the sampling thread does not sleep any more.
struct Woken {
    stop: bool,
    asked: bool,
    whole: bool,
}

/// The state of the sampling thread.
struct Eye {
    clock: Clock,
    shared: Arc<Shared>,
    roles: Vec<Role>,
    thread_names: ThreadNames,
    /// None: another process watches the machine.
    host: Option<Host>,
    quotas: Quotas,
    client: Name,
    none: Name,
    next_scan_ns: u64,
    /// CPU of this thread alone; the first look happens on the caller's.
    cost_zero_ns: Option<u64>,
    /// Reused for every file.
    scratch: Vec<u8>,
    fresh_notes: Vec<String>,
}

impl Eye {
    fn new(plan: &WatchPlan, clock: Clock, shared: Arc<Shared>, at_host: bool) -> Eye {
        let mut notes = Vec::new();
        let mut roles = vec![Role::client(std::process::id() as i32, &mut notes)];
        for (name, pids) in &plan.processes {
            let role = role_named(&mut roles, name);
            for pid in pids {
                role.add(*pid, &mut notes);
            }
        }
        let host = at_host.then(|| Host::open(&plan.data_dir, &plan.folders, &mut notes));
        Eye {
            clock,
            shared,
            roles,
            thread_names: plan
                .threads
                .iter()
                .filter_map(|(tid, name)| Some((tid.parse().ok()?, name.clone())))
                .collect(),
            host,
            quotas: Quotas::of_this_process(),
            client: "client".into(),
            none: "".into(),
            next_scan_ns: 0,
            cost_zero_ns: None,
            scratch: vec![0; 1 << 16],
            fresh_notes: notes,
        }
    }

    /// Looks at every multiple of `every_ns`, and when it is asked; a missed one is skipped, never made up for.
    fn watch(mut self, every_ns: u64) {
        self.cost_zero_ns = Some(thread_cpu_ns());
        let next = |now_ns: u64| (now_ns / every_ns + 1) * every_ns;
        let mut due = next(self.clock.now());
        loop {
            let Woken { stop, asked, whole } = self.wait_until(due);
            // The looks that are due keep their times: they alone see the host.
            let is_due = stop || whole || self.clock.now() >= due;
            self.look(is_due);
            if asked {
                self.shared.inbox().asked_looks += 1;
                self.shared.looked.notify_all();
            }
            if is_due {
                due = next(self.clock.now());
            }
            if stop {
                return;
            }
        }
    }

    /// Sleeps until `due`, or until it is asked to stop or to look; takes in what was added.
    fn wait_until(&mut self, due: u64) -> Woken {
        let shared = self.shared.clone();
        let mut inbox = shared.inbox();
        while !inbox.stop && !inbox.asked {
            let left = due.saturating_sub(self.clock.now());
            if left == 0 {
                break;
            }
            let waited = shared.wake.wait_timeout(inbox, Duration::from_nanos(left));
            inbox = waited.expect("nothing panics while it holds the inbox").0;
        }
        self.thread_names.append(&mut inbox.named);
        let (asked, whole) = (std::mem::take(&mut inbox.asked), std::mem::take(&mut inbox.whole));
        let woken = Woken { stop: inbox.stop, asked, whole };
        for (role, pid) in inbox.added.drain(..) {
            role_named(&mut self.roles, &role).add(pid, &mut self.fresh_notes);
        }
        if woken.asked {
            self.next_scan_ns = 0; // their children belong to the same look
        }
        woken
    }

    /// `whole`: at the host too.
    fn look(&mut self, whole: bool) {
        let scan = self.clock.now() >= self.next_scan_ns;
        if scan {
            self.next_scan_ns = self.clock.now() + RESCAN_NS;
            self.find_processes();
        }
        let shared = self.shared.clone();
        let mut out = shared.samples.lock().expect("the writer does not panic while draining");
        for role in &mut self.roles {
            role.sample(&self.clock, scan, &self.thread_names, &mut self.scratch, &mut out);
        }
        if let (true, Some(host)) = (whole, &mut self.host) {
            host.sample(&self.clock, &mut self.scratch, &mut out);
        }
        if scan {
            self.quotas.sample(&self.client, &self.clock, &self.none, &mut self.scratch, &mut out);
        }
        self.sample_cost(&mut out);
        drop(out);
        if !self.fresh_notes.is_empty() {
            let mut notes = shared.notes.lock().expect("readers of the notes do not panic");
            for note in self.fresh_notes.drain(..) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }

    /// Children of watched processes join their role, unless another role has named them.
    fn find_processes(&mut self) {
        let claimed: Vec<i32> = self.roles.iter().flat_map(|r| r.pids()).collect();
        for role in &mut self.roles {
            role.find_children(&claimed, &mut self.fresh_notes);
        }
    }

    fn sample_cost(&self, out: &mut Buffer) {
        let t_ns = self.clock.now();
        if let Some(zero) = self.cost_zero_ns {
            let cost_s = (thread_cpu_ns() - zero) as f64 * 1e-9;
            out.push(&self.client, t_ns, "watch_cpu_s", &self.none, cost_s);
        }
        let dropped = out.dropped;
        if dropped > 0 {
            out.push(&self.client, t_ns, "watch_dropped", &self.none, dropped as f64);
        }
    }
}

fn role_named<'a>(roles: &'a mut Vec<Role>, name: &str) -> &'a mut Role {
    let at = roles.iter().position(|r| r.name() == name).unwrap_or_else(|| {
        roles.push(Role::servers(name));
        roles.len() - 1
    });
    &mut roles[at]
}
