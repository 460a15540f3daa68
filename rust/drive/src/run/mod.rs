//! A plan executed once, in a thread of its own: start, poll, resume, stop.

mod dumps;
mod execute;
mod sampler;
mod shares;
mod sorted;
mod usage;
mod written;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

pub use usage::Usage;
pub use written::{Start, Written};

use crate::drive::Progress;
use crate::tables::{ProbeTable, Tables};
use crate::watch::{Processes, ThreadNames};
use inrush_engines::engine::Context;
use inrush_engines::{mix, schedule};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::handle::{self, WorkEvent};
use inrush_rows::plan::{RowSource, RunPlan, SamplePlan, Segment, TablePlan};
use inrush_rows::rows;
use inrush_rows::rows::files::FileRows;

/// Events of a run while it goes on, as they cross the border: JSON with the kind as `event`.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Segment {
        index: usize,
        label: String,
        kind: &'static str,
        phase: &'static str,
        t_ns: u64,
    },
    Progress {
        segment: usize,
        label: String,
        phase: &'static str,
        /// Busy cores.
        client_cpu: f64,
        /// Of every role and of the machine, as they were last sampled.
        resources: Vec<Usage>,
        #[serde(flatten)]
        progress: Progress,
    },
    Note {
        text: String,
    },
    Paused {
        index: usize,
        action: String,
    },
    /// This process has come to where it waits for the other processes of its run.
    Barrier {
        index: usize,
        point: Point,
        /// Between the word to start and the start: its sessions are awake, and have made their first rows, by then.
        needs_ns: u64,
        /// CLOCK_MONOTONIC at its run time 0.
        zero_ns: u64,
        /// At the end of a segment: what its sessions have written in it.
        written: Vec<Written>,
    },
    /// Of a process that started with others, when a repetition has ended: how late its sessions began.
    Began {
        index: usize,
        repetition: u32,
        t_ns: u64,
        first_late_ns: u64,
        last_late_ns: u64,
    },
    Finished {
        ended_by: &'static str,
    },
    Failed {
        kind: &'static str,
        message: String,
    },
}

/// Where the processes of a run wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    /// The tables are there, and sessions may connect.
    Connect,
    /// All sessions are connected and prepared.
    Start,
    /// All sessions have ended.
    End,
}

/// What a run waits for.
pub struct Commands {
    pub resumed: Receiver<Resumed>,
    /// To go on from a barrier.
    pub starts: Receiver<Start>,
}

/// The server's processes after a pause, and what their threads are.
pub type Resumed = (Processes, ThreadNames);

/// A running plan. Dropping it asks the run to stop and waits for it.
pub struct Handle {
    thread: handle::Handle<Event>,
    resume: Sender<Resumed>,
    start: Sender<Start>,
}

/// Starts `plan`; its tables are appended to files in `parts_dir`.
pub fn start(plan: RunPlan, parts_dir: &Path) -> Result<Handle, Error> {
    let problems = problems(&plan);
    if !problems.is_empty() {
        return Err(Error::Plan(problems.join("\n")));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let context = Context { plan: Arc::new(plan), clock: Clock::start(), stop: stop.clone() };
    let tables = Tables::create(parts_dir)?;
    let (send, events) = channel();
    let (resume, resumed) = channel();
    let (start, starts) = channel();
    let run = move || execute::execute(context, tables, send, Commands { resumed, starts });
    Ok(Handle { thread: handle::Handle::start("inrush-run", events, stop, run)?, resume, start })
}

impl Handle {
    /// Events since the last call; waits up to `timeout` for the first.
    pub fn poll(&mut self, timeout: Duration) -> Vec<Event> {
        self.thread.poll(timeout)
    }

    /// Goes on after a `paused`; `processes` are the server's now, and `threads` what theirs are.
    pub fn resume(&self, processes: Processes, threads: ThreadNames) {
        // A run that has ended meanwhile has nothing to resume.
        let _ = self.resume.send((processes, threads));
    }

    /// Goes on after a `barrier`: where sessions start, at that instant of CLOCK_MONOTONIC.
    pub fn start_at(&self, start: Start) {
        // A run that has ended meanwhile starts nothing.
        let _ = self.start.send(start);
    }

    pub fn stop(&self) {
        self.thread.stop();
        self.resume(Processes::new(), ThreadNames::new());
    }

    pub fn done(&self) -> bool {
        self.thread.done()
    }
}

impl Drop for Handle {
    /// A paused run hears that it should stop; then the work itself is waited for.
    fn drop(&mut self) {
        self.stop();
    }
}

impl WorkEvent for Event {
    fn failed(kind: &'static str, message: String) -> Event {
        Event::Failed { kind, message }
    }
}

/// What is wrong with a table before its first row is made or read.
fn table_problems(plan: &RunPlan, table: &TablePlan) -> Vec<String> {
    match table.source {
        RowSource::Generated { .. } => rows::problems(table, plan.seed, plan.epoch_ns),
        RowSource::Files { .. } => FileRows::open(table).err().map(|e| e.to_string()).into_iter().collect(),
    }
}

/// What is wrong with a segment's samples of sizes and counters.
fn sample_problems(label: &str, sample: &SamplePlan) -> Vec<String> {
    let never = (sample.every_ns == 0).then(|| format!("segment {label}: sample.every_ns is 0"));
    let tables = sample.probes.iter().filter_map(|p| ProbeTable::named(&p.into).err());
    never.into_iter().chain(tables.map(|e| format!("segment {label}: {e}"))).collect()
}

/// What is wrong with a segment. tables: how many there are; known: whether there is an operation of this name.
fn segment_problems(segment: &Segment, tables: usize, known: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    match segment {
        Segment::Drive(drive) => {
            let sample = drive.sample.iter();
            found.extend(sample.flat_map(|sample| sample_problems(&drive.label, sample)));
            for role in &drive.roles {
                let unknown = role.operations.iter().filter(|w| !known(&w.operation));
                found.extend(unknown.map(|w| format!("role {}: no operation {}", role.name, w.operation)));
                if role.sessions == 0 {
                    found.push(format!("role {}: sessions is 0; leave the role out", role.name));
                }
                let schedule = schedule::check(&role.schedule).err();
                found.extend(schedule.map(|error| format!("role {}: {error}", role.name)));
            }
        }
        Segment::Statement(statement) => {
            if statement.limit_ns == 0 {
                found.push(format!("segment {}: limit_ns is 0; a step ends in some time", statement.label));
            }
            let sample = statement.sample.iter();
            found.extend(sample.flat_map(|sample| sample_problems(&statement.label, sample)));
        }
        Segment::Proof { label, proofs } => {
            let unknown = proofs.iter().filter(|p| p.table >= tables);
            found.extend(unknown.map(|p| format!("segment {label}: proof of table {} of {tables}", p.table)));
        }
        Segment::Ask { label, operations: asked, .. } => {
            let unknown = asked.iter().filter(|o| !known(o));
            found.extend(unknown.map(|o| format!("segment {label}: no operation {o}")));
        }
        _ => {}
    }
    found
}

/// Everything the core would refuse before it starts.
pub fn problems(plan: &RunPlan) -> Vec<String> {
    let mut found: Vec<String> = plan.tables.iter().flat_map(|table| table_problems(plan, table)).collect();
    found.extend(rows::counted_problems(plan));
    let tables = plan.tables.len();
    let operations: Vec<&str> = plan.operations.iter().map(|o| o.name.as_str()).collect();
    let known = |name: &str| operations.contains(&name);
    for op in &plan.operations {
        if op.table.is_some_and(|t| t >= tables) {
            found.push(format!("operation {}: table {} of {tables}", op.name, op.table.unwrap_or_default()));
        }
        found.extend(
            op.members.iter().filter(|m| !known(m)).map(|m| format!("operation {}: no member {m}", op.name)),
        );
    }
    found.extend(plan.operations.iter().flat_map(|op| mix::key_problems(plan, op)));
    found.extend(plan.operations.iter().flat_map(|op| mix::range_problems(plan, op)));
    found.extend(dumps::problems(plan));
    found.extend(shares::problems(plan));
    found.extend(plan.segments.iter().flat_map(|segment| segment_problems(segment, tables, &known)));
    if plan.record.interval_ns == 0 {
        found.push("record.interval_ns is 0; intervals are at least 1 ms".into());
    }
    found
}

impl Event {
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("its keys are texts")
    }
}
