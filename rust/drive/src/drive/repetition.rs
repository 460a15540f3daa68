//! One repetition of a segment: every role from the same start to its own end.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::RecvTimeoutError;

use super::barrier::Barrier;
use super::progress::ProgressMeter;
use super::source::TableCount;
use super::stage::{Report, RoleStage};
use super::watchdog::Shutdown;
use super::{panicked, Driven, Driver, EndedBy, TICK};
use crate::record::{Recorded, RoleEnd};
use inrush_engines::engine::Ns;
use inrush_engines::schedule;
use inrush_rows::clock::process_cpu_ns;
use inrush_rows::error::Error;
use inrush_rows::plan::{RolePlan, Until, Work};

/// Between the word to start and the first due: every session is awake by then.
const LEAD_NS: Ns = 5_000_000;
/// Sessions of paced roles make what is due first before the start, and have so long for a row: ten times what it
/// takes, for they share the cores.
const MAKING_ROW_NS: Ns = 1_000;
const LONGEST_MAKING_NS: Ns = 5_000_000_000;

/// A repetition in which every session has done its part.
struct Worked {
    /// By role: when its last session was done.
    ends: Vec<Ns>,
    /// Why a session gave up, if one did.
    fatal: Option<String>,
    /// Where it was ended early.
    shutdown: Option<Shutdown>,
}

impl Driver<'_> {
    /// How it ended, and how long its work took.
    pub(super) fn run_repetition(
        &mut self,
        barrier: &Barrier,
        repetition: u32,
    ) -> Result<(Driven, Ns), Error> {
        self.stages.iter().try_for_each(|stage| stage.restart(repetition))?;
        self.drive_target.counts.iter().for_each(TableCount::settle);
        let earliest = self.drive_target.context.clock.now() + LEAD_NS + making_ns(&self.segment.roles);
        let Some(t0) = self.observer.start_at(earliest)? else {
            return Ok((Driven { ended_by: EndedBy::Stop, ..Driven::default() }, 0));
        };
        self.collector.begin(repetition, t0);
        let cpu_before = process_cpu_ns();
        barrier.open(repetition, t0);
        let mut meter = ProgressMeter::new(t0, self.stages.len());
        let Worked { ends, fatal, shutdown } = self.until_done(repetition, t0, &mut meter)?;
        self.observer.spent(process_cpu_ns() - cpu_before);
        if let Some((first, last)) = self.began_between() {
            self.observer.began(repetition, t0, first, last);
        }
        let ended_by = shutdown.map_or_else(|| self.ended_by(), |h| h.why);
        self.stages.iter().for_each(RoleStage::cut_rows);
        self.stages.iter().for_each(RoleStage::count_calls);
        let recorded = self.recorded(repetition, t0, &ends, shutdown.is_some());
        let makespan_ns = self.makespan_ns(&recorded);
        self.observer.recorded(recorded)?;
        // The last interval is in no beat before.
        self.beat(&mut meter, self.drive_target.context.clock.now(), repetition, t0);
        // Whatever its rows ended with, that is why.
        self.stages.iter().filter_map(RoleStage::batch).try_for_each(|batch| batch.source.check())?;
        let batches = self.stages.iter().filter_map(RoleStage::batch);
        let files = batches.filter_map(|b| Some((b.table, b.source.summary()?))).collect();
        Ok((Driven { ended_by, fatal, files }, makespan_ns))
    }

    /// Watches over the sessions until all have done their part.
    fn until_done(&mut self, repetition: u32, t0: Ns, meter: &mut ProgressMeter) -> Result<Worked, Error> {
        let clock = self.drive_target.context.clock;
        let mut worked = Worked { ends: vec![t0; self.stages.len()], fatal: None, shutdown: None };
        let mut left = self.endings.len();
        while left > 0 {
            match self.inbox.recv_timeout(TICK) {
                Ok(Report::RepetitionDone { role, end_ns, fatal }) => {
                    left -= 1;
                    worked.ends[role] = worked.ends[role].max(end_ns);
                    if let Some(why) = fatal {
                        worked.fatal.get_or_insert(why);
                        self.halt.store(true, Relaxed);
                        worked.shutdown.get_or_insert(Shutdown::new(EndedBy::Error, clock.now()));
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
            self.watch(now, &mut worked.shutdown);
            self.stages.iter().for_each(|stage| stage.queue().look(self.queues, t0, now));
            if now >= meter.next {
                self.end_offers(t0);
                let recorded = self.collector.take();
                self.observer.recorded(recorded)?;
                self.beat(meter, now, repetition, t0);
            }
        }
        Ok(worked)
    }

    fn beat(&mut self, meter: &mut ProgressMeter, now: Ns, repetition: u32, t0: Ns) {
        let recent = self.collector.progress();
        let progress = meter.beat(now, repetition, t0, self, &recent);
        self.observer.progress(progress);
    }

    /// What is left to be recorded of a repetition that has ended. early: before its work and its time.
    fn recorded(&mut self, repetition: u32, t0: Ns, ends: &[Ns], early: bool) -> Recorded {
        let segment = self.drive_target.segment;
        let role_ends: Vec<RoleEnd> = self
            .stages
            .iter()
            .zip(ends)
            .flat_map(|(stage, &end_ns)| {
                let offer_end_ns = match self.offer_end(stage, t0) {
                    Some(ns) if !early => ns,
                    _ => end_ns,
                };
                std::iter::repeat_n(RoleEnd { offer_end_ns, end_ns }, stage.specs().len())
            })
            .collect();
        let mut recorded = self.collector.end(&role_ends);
        let sample_logs = self.stages.iter().filter_map(|stage| stage.queue().kept());
        recorded.samples =
            sample_logs.flat_map(|sample_log| sample_log.outcomes(segment, repetition)).collect();
        recorded.files = self.stages.iter().flat_map(|stage| stage.loaded(segment, repetition, t0)).collect();
        recorded
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
