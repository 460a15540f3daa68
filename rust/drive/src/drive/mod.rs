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

use crate::record::{Collector, Recorded, RoleEnd};
use inrush_engines::engine::{Context, Engine, Ns};
use inrush_engines::schedule;
use inrush_rows::clock::process_cpu_ns;
use inrush_rows::error::{AfterLimit, Error};
use inrush_rows::plan::{DriveSegment, RolePlan, Until, Work};
use inrush_rows::rows::files::FileSummary;

use barrier::Barrier;
use cancel::Cancels;
use progress::ProgressMeter;
use source::TableCount;
use stage::{Report, RoleStage};
use watchdog::{Ending, Shutdown};

pub use progress::{Progress, RoleProgress};
pub use watchdog::STUCK_NS;

/// Between the word to start and the first due: every session is awake by then.
const LEAD_NS: Ns = 5_000_000;
/// Sessions of paced roles make what is due first before the start, and have so long for a row: ten times what it
/// takes, for they share the cores.
const MAKING_ROW_NS: Ns = 1_000;
const LONGEST_MAKING_NS: Ns = 5_000_000_000;
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

    /// One repetition: every role from the same start to its own end.
    fn run_repetition(&mut self, barrier: &Barrier, repetition: u32) -> Result<(Driven, Ns), Error> {
        let clock = self.drive_target.context.clock;
        self.stages.iter().try_for_each(|stage| stage.restart(repetition))?;
        self.drive_target.counts.iter().for_each(TableCount::settle);
        let earliest = clock.now() + LEAD_NS + making_ns(&self.segment.roles);
        let Some(t0) = self.observer.start_at(earliest)? else {
            return Ok((Driven { ended_by: EndedBy::Stop, ..Driven::default() }, 0));
        };
        self.collector.begin(repetition, t0);
        let cpu_before = process_cpu_ns();
        barrier.open(repetition, t0);
        let mut ends: Vec<Ns> = vec![t0; self.stages.len()];
        let mut left = self.endings.len();
        let mut fatal = None;
        let mut shutdown: Option<Shutdown> = None;
        let mut meter = ProgressMeter::new(t0, self.stages.len());
        while left > 0 {
            match self.inbox.recv_timeout(TICK) {
                Ok(Report::RepetitionDone { role, end_ns, fatal: why }) => {
                    left -= 1;
                    ends[role] = ends[role].max(end_ns);
                    if let Some(why) = why {
                        fatal.get_or_insert(why);
                        self.halt.store(true, Relaxed);
                        shutdown.get_or_insert(Shutdown::new(EndedBy::Error, clock.now()));
                    }
                }
                Ok(Report::Panicked) => return Err(panicked()),
                Ok(Report::Ready | Report::Failed(_)) => unreachable!("sessions are ready by now"),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    unreachable!("sessions live as long as the gate is open")
                }
            }
            clock.anchor();
            let now = clock.now();
            self.watch(now, &mut shutdown);
            self.stages.iter().for_each(|stage| stage.queue().look(self.queues, t0, now));
            if now >= meter.next {
                self.end_offers(t0);
                let recorded = self.collector.take();
                self.observer.recorded(recorded)?;
                let recent = self.collector.progress();
                let progress = meter.beat(now, repetition, t0, self, &recent);
                self.observer.progress(progress);
            }
        }
        self.observer.spent(process_cpu_ns() - cpu_before);
        if let Some((first, last)) = self.began_between() {
            self.observer.began(repetition, t0, first, last);
        }
        let ended_by = shutdown.map_or_else(|| self.ended_by(), |h| h.why);
        self.stages.iter().for_each(RoleStage::cut_rows);
        self.stages.iter().for_each(RoleStage::count_calls);
        let role_ends: Vec<RoleEnd> = self
            .stages
            .iter()
            .zip(&ends)
            .flat_map(|(stage, &end_ns)| {
                let offer_end_ns = match self.offer_end(stage, t0) {
                    Some(ns) if shutdown.is_none() => ns,
                    _ => end_ns,
                };
                std::iter::repeat_n(RoleEnd { offer_end_ns, end_ns }, stage.specs().len())
            })
            .collect();
        let mut recorded = self.collector.end(&role_ends);
        let sample_logs = self.stages.iter().filter_map(|stage| stage.queue().kept());
        recorded.samples = sample_logs
            .flat_map(|sample_log| sample_log.outcomes(self.drive_target.segment, repetition))
            .collect();
        let segment = self.drive_target.segment;
        recorded.files = self.stages.iter().flat_map(|stage| stage.loaded(segment, repetition, t0)).collect();
        let makespan_ns = self.makespan_ns(&recorded);
        self.observer.recorded(recorded)?;
        // The last interval is in no beat before.
        let recent = self.collector.progress();
        let progress = meter.beat(clock.now(), repetition, t0, self, &recent);
        self.observer.progress(progress);
        // Whatever its rows ended with, that is why.
        self.stages.iter().filter_map(RoleStage::batch).try_for_each(|batch| batch.source.check())?;
        let batches = self.stages.iter().filter_map(RoleStage::batch);
        let files = batches.filter_map(|b| Some((b.table, b.source.summary()?))).collect();
        Ok((Driven { ended_by, fatal, files }, makespan_ns))
    }

    fn offer_end(&self, stage: &RoleStage<'_>, t0: Ns) -> Option<Ns> {
        stage.queue().offer_end(self.queues, t0)
    }

    /// What is due after a role's end is no backlog of it either.
    fn end_offers(&mut self, t0: Ns) {
        let ends: Vec<Ns> = self
            .stages
            .iter()
            .flat_map(|stage| {
                let end_ns = self.offer_end(stage, t0).unwrap_or(Ns::MAX);
                std::iter::repeat_n(end_ns, stage.specs().len())
            })
            .collect();
        self.collector.end_offers(&ends);
    }

    /// When the first and the last session began.
    fn began_between(&self) -> Option<(Ns, Ns)> {
        let each = || {
            let lives = self.stages.iter().flat_map(|stage| stage.lives());
            lives.map(|live| live.began.load(Relaxed)).filter(|&at| at > 0)
        };
        Some((each().min()?, each().max()?))
    }

    /// Why a repetition ended that was not ended early.
    fn ended_by(&self) -> EndedBy {
        if self.stages.iter().any(|stage| stage.queue().is_full()) {
            return EndedBy::Queue;
        }
        let timed = self.segment.roles.iter().any(|r| matches!(r.until, Until::Time { .. }));
        if timed {
            EndedBy::Time
        } else {
            EndedBy::Work
        }
    }

    /// Of the roles that have work of their own, not of those that end with another.
    fn makespan_ns(&self, recorded: &Recorded) -> Ns {
        let working = |name: &str| {
            self.segment.roles.iter().any(|r| r.name == name && !matches!(r.until, Until::Role { .. }))
        };
        let repetitions = recorded.repetitions.iter().filter(|s| working(&s.role));
        repetitions.map(|s| s.end_ns - s.start_ns).max().unwrap_or(0)
    }
}

/// How long the sessions of paced roles may take to make their first batches.
fn making_ns(roles: &[RolePlan]) -> Ns {
    let rows = roles.iter().filter(|role| schedule::is_paced(&role.schedule)).map(|role| match role.work {
        Work::Rows { batch_rows, .. } => u64::from(role.sessions) * u64::from(batch_rows),
        _ => 0,
    });
    rows.sum::<u64>().saturating_mul(MAKING_ROW_NS).min(LONGEST_MAKING_NS)
}
