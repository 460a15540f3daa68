//! Roles at work: one thread per session, one arrival queue per role, a barrier for each repetition.
//!
//! The driver's own thread starts the repetitions, watches deadlines and reports progress; it never
//! touches what the sessions time.

pub mod assertion;
mod barrier;
mod cancel;
mod dump;
mod extract;
pub mod freshness;
pub mod input;
pub mod live;
pub mod page;
mod progress;
mod repetition;
pub mod role_queue;
pub mod samples;
pub mod session;
pub mod source;
mod stage;
mod taken;
pub mod touched;
mod watchdog;
pub mod work;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::Duration;

use crate::record::{Collector, Recorded};
use inrush_engines::engine::{Context, Engine, Ns};
use inrush_rows::error::{AfterLimit, Error};
use inrush_rows::plan::DriveSegment;
use inrush_rows::rows::files::FileSummary;

use barrier::Barrier;
use cancel::Cancels;
use source::TableCount;
use stage::{Report, RoleStage};
use watchdog::Ending;

pub use progress::{Progress, RoleProgress};
pub use watchdog::STUCK_NS;

const TICK: Duration = Duration::from_millis(20);

/// Where a drive happens.
pub struct DriveTarget<'a> {
    pub context: &'a Context,
    pub engine: &'a dyn Engine,
    pub segment: u16,
    pub counts: &'a [TableCount],
}

/// What the driver asks of its caller while it works.
pub trait Observer {
    /// All sessions are connected and prepared: when they start, where that is not at `earliest`. `None`: the run is to stop.
    fn start_at(&mut self, earliest: Ns) -> Result<Option<Ns>, Error> {
        Ok(Some(earliest))
    }
    /// After a repetition: when the first and the last session began that should have begun at `t0`.
    fn began(&mut self, _repetition: u32, _t0: Ns, _first: Ns, _last: Ns) {}
    /// What the sessions have recorded, some times a second and at the end of each repetition.
    fn recorded(&mut self, recorded: Recorded) -> Result<(), Error>;
    /// About twice a second while sessions work, and when they have ended.
    fn progress(&mut self, progress: Progress);
    /// What this whole process computed from the start of a repetition to its end, an engine inside it included.
    fn spent(&mut self, _cpu_ns: u64) {}
    /// After each repetition, off the clock: true for another one (the tables are fresh again).
    fn repeat(&mut self, repetition: u32, makespan_ns: Ns) -> Result<bool, Error>;
    /// A call survived its cancellation; only the end of this process ends it.
    fn stuck(&mut self, role: &str);
}

#[derive(Debug, Clone, Default)]
pub struct Driven {
    pub ended_by: EndedBy,
    /// Why a session gave up, if one did.
    pub fatal: Option<String>,
    /// Tables fed from files: (table, how the reading of the last repetition ended).
    pub files: Vec<(usize, FileSummary)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EndedBy {
    #[default]
    Work,
    Time,
    /// More calls waited than the queue of a role holds.
    Queue,
    Limit,
    Stop,
    Error,
}

impl EndedBy {
    pub fn name(self) -> &'static str {
        match self {
            EndedBy::Work => "work",
            EndedBy::Time => "time",
            EndedBy::Queue => "queue",
            EndedBy::Limit => "limit",
            EndedBy::Stop => "stop",
            EndedBy::Error => "error",
        }
    }
}

/// Runs one drive segment with all its repetitions.
pub fn drive(
    drive_target: &DriveTarget<'_>,
    segment: &DriveSegment,
    observer: &mut dyn Observer,
) -> Result<Driven, Error> {
    let halt = Arc::new(AtomicBool::new(false));
    let queues = role_queue::queues(drive_target.context, segment)?;
    let stages = stage::roles(drive_target, segment, &queues, &halt)?;
    let specs = stages.iter().flat_map(RoleStage::specs).collect();
    let (collector, recorders) =
        Collector::new(drive_target.segment, drive_target.context.plan.record.interval_ns, specs);
    let barrier = Barrier::default();
    let (reports, inbox) = channel();
    std::thread::scope(|scope| {
        let mut driver = Driver {
            drive_target,
            segment,
            stages: &stages,
            queues: &queues,
            halt: &halt,
            inbox,
            collector,
            observer,
            began: drive_target.context.clock.now(),
            cancels: Cancels::new(),
            endings: Vec::new(),
        };
        let driven = stage::spawn(&stages, recorders, scope, &barrier, &reports).and_then(|threads| {
            match driver.assemble(threads)? {
                None => driver.shoot_all(&barrier),
                Some(ended_by) => Ok(Driven { ended_by, ..Driven::default() }),
            }
        });
        // The scope joins its threads: they must leave the gate, and whatever they wait for, whatever happened.
        halt.store(true, Relaxed);
        barrier.close();
        if driven.is_err() || driver.endings.is_empty() {
            driver.give_up();
        }
        driven
    })
}

struct Driver<'a> {
    drive_target: &'a DriveTarget<'a>,
    segment: &'a DriveSegment,
    stages: &'a [RoleStage<'a>],
    queues: &'a [role_queue::RoleQueue],
    halt: &'a AtomicBool,
    inbox: Receiver<Report>,
    collector: Collector,
    observer: &'a mut dyn Observer,
    began: Ns,
    cancels: Cancels,
    /// By thread; empty until all are connected.
    endings: Vec<Ending>,
}

/// The scope joins its threads and panics in turn: this error is how it gets there, and no one reads it.
fn panicked() -> Error {
    Error::Plan("a session broke an assumption of its own".into())
}

impl Driver<'_> {
    /// Waits until every session is connected and prepared; how it ended, if that was before.
    fn assemble(&mut self, threads: usize) -> Result<Option<EndedBy>, Error> {
        let mut left = threads;
        while left > 0 {
            match self.inbox.recv_timeout(TICK) {
                Ok(Report::Ready) => left -= 1,
                Ok(Report::Failed(error)) => return Err(error),
                Ok(Report::Panicked) => return Err(panicked()),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Report::RepetitionDone { .. }) | Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("every session reports once before the first repetition")
                }
            }
            match self.ends_early(self.drive_target.context.clock.now()) {
                None => {}
                Some(EndedBy::Limit) => return Err(self.not_connected(left, threads)),
                early => return Ok(early),
            }
        }
        self.endings = vec![Ending::default(); threads];
        Ok(None)
    }

    fn not_connected(&self, left: usize, threads: usize) -> Error {
        Error::Deadline {
            what: format!(
                "segment {}: connecting {left} of {threads} sessions; does the server answer, and has it room for them?",
                self.segment.label
            ),
            limit_s: self.segment.limit_ns as f64 / 1e9,
            after: AfterLimit::Unknown,
        }
    }

    fn shoot_all(&mut self, barrier: &Barrier) -> Result<Driven, Error> {
        for repetition in 0.. {
            let (driven, makespan_ns) = self.run_repetition(barrier, repetition)?;
            let whole = matches!(driven.ended_by, EndedBy::Work | EndedBy::Time);
            if !whole || self.segment.repeat.is_none() || !self.observer.repeat(repetition, makespan_ns)? {
                return Ok(driven);
            }
            // What other roles only read lies there as before.
            self.stages
                .iter()
                .filter_map(RoleStage::batch)
                .for_each(|b| self.drive_target.counts[b.table].reset());
        }
        unreachable!("the attendant bounds the repetitions")
    }
}
