//! A thread, a connection and a recorder for every session of a role, and what each thread does until the segment ends.

use std::sync::mpsc::Sender;
use std::thread::Scope;

use super::RoleStage;
use crate::drive::assertion::Check;
use crate::drive::barrier::Barrier;
use crate::drive::dump::Dump;
use crate::drive::extract::Extract;
use crate::drive::freshness::Freshness;
use crate::drive::page::{Member, PageRepetition};
use crate::drive::session::Worker;
use crate::drive::taken::Taken;
use crate::drive::work::OpWork;
use crate::record::Recorder;
use inrush_engines::engine::{Ns, OpId, Session};
use inrush_engines::mix::{adds_or_changes, Share};
use inrush_engines::pace::raise_realtime_priority;
use inrush_rows::error::Error;
use inrush_rows::plan::{OpKind, Schedule};
use inrush_rows::rows::Columns;

/// From a session's thread to the driver.
pub enum Report {
    Ready,
    Failed(Error),
    RepetitionDone {
        role: usize,
        end_ns: Ns,
        fatal: Option<String>,
    },
    /// A session broke an assumption of its own: the panic hook has said which.
    Panicked,
}

/// Reports a panic of its thread, for which the others would wait without end.
struct ReportsPanic(Sender<Report>);

impl Drop for ReportsPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send(Report::Panicked);
        }
    }
}

/// Starts a thread for every session of every role; returns how many.
pub fn spawn<'scope, 'env>(
    stages: &'env [RoleStage<'env>],
    mut recorders: Vec<Vec<Recorder>>,
    scope: &'scope Scope<'scope, 'env>,
    barrier: &'env Barrier,
    reports: &Sender<Report>,
) -> Result<usize, Error> {
    for stage in stages {
        let rest = recorders.split_off(stage.specs().len());
        stage.spawn(std::mem::replace(&mut recorders, rest), scope, barrier, reports)?;
    }
    Ok(stages.iter().map(RoleStage::threads).sum())
}

fn start<'scope, F: FnOnce() + Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: F,
) -> Result<(), Error> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
    started.map(drop).map_err(|e| Error::io(format!("starting session {name}"), e))
}

impl RoleStage<'_> {
    /// Ready and waiting at the gate; `recorders` by spec, then by session.
    fn spawn<'scope, 'env>(
        &'env self,
        mut recorders: Vec<Vec<Recorder>>,
        scope: &'scope Scope<'scope, 'env>,
        barrier: &'env Barrier,
        reports: &Sender<Report>,
    ) -> Result<(), Error> {
        // Taken from the back: the last session first.
        for session in (0..self.plan.sessions as usize).rev() {
            let mut mine: Vec<Recorder> = recorders
                .iter_mut()
                .map(|of_spec| of_spec.pop().expect("one recorder per session"))
                .collect();
            if self.page.is_none() {
                let recorder = mine.pop().expect("a plain role has one spec");
                let reports = reports.clone();
                let work = move || {
                    let tells = ReportsPanic(reports);
                    self.run_session(session, recorder, barrier, &tells.0);
                };
                start(scope, &format!("{}/{session}", self.plan.name), work)?;
                continue;
            }
            let of_members = mine.split_off(1);
            let mut pages = mine.pop();
            for (member, recorder) in of_members.into_iter().enumerate() {
                let reports = reports.clone();
                let pages = if member == 0 { pages.take() } else { None };
                let work = move || {
                    let tells = ReportsPanic(reports);
                    self.run_member(session, member, recorder, pages, barrier, &tells.0);
                };
                start(scope, &format!("{}/{session}.{member}", self.plan.name), work)?;
            }
        }
        Ok(())
    }

    fn run_session(&self, session: usize, recorder: Recorder, barrier: &Barrier, reports: &Sender<Report>) {
        let made = self.open(&self.ops, session).and_then(|connection| {
            let ops = (0..self.ops.len()).map(|at| self.op_work(session, at, at));
            Ok((connection, ops.collect::<Result<Vec<_>, _>>()?))
        });
        let Some((connection, ops)) = self.ready(made, reports) else { return };
        self.come_first();
        let think_ns = match self.plan.schedule {
            Schedule::Closed { think_ns, .. } => think_ns,
            _ => 0,
        };
        let live = &self.lives[session];
        let mut worker = Worker::new(&self.work, connection, ops, think_ns, recorder, live, self.columns());
        worker.number = session as u32;
        let mut seen = 0;
        while let Some((repetition, t0)) = barrier.wait(seen) {
            seen += 1;
            let fatal = worker.shoot(repetition, t0);
            if self.report(fatal, reports).is_none() {
                break;
            }
        }
        worker.close();
    }

    /// Single calls at their times wait for no batch of another session.
    fn come_first(&self) {
        if matches!(self.plan.schedule, Schedule::Constant { .. } | Schedule::Poisson { .. }) {
            raise_realtime_priority();
        }
    }

    fn run_member(
        &self,
        session: usize,
        member: usize,
        recorder: Recorder,
        mut pages: Option<Recorder>,
        barrier: &Barrier,
        reports: &Sender<Report>,
    ) {
        let op = self.ops[member];
        let thread = session * self.ops.len() + member;
        let made = self
            .open(&[op], thread)
            .and_then(|connection| Ok((connection, self.op_work(session, member, 0)?)));
        let Some((connection, work)) = self.ready(made, reports) else { return };
        self.come_first();
        let mut reader = Member::new(&self.work, connection, work, recorder, &self.lives[thread]);
        let page_barrier = &self.page_barriers[session];
        let mut seen = 0;
        while let Some((repetition, t0)) = barrier.wait(seen) {
            seen += 1;
            let start =
                PageRepetition { number: seen, repetition, t0, members: self.ops.len(), page_barrier };
            let fatal = match &mut pages {
                Some(pages) => reader.lead(start, pages),
                None => reader.follow(start),
            };
            if self.report(fatal, reports).is_none() {
                break;
            }
        }
        reader.close();
    }

    fn report(&self, fatal: Option<String>, reports: &Sender<Report>) -> Option<()> {
        let end_ns = self.work.clock.now();
        reports.send(Report::RepetitionDone { role: self.at, end_ns, fatal }).ok()
    }

    /// The connection of this thread; `thread` counts within the role.
    fn open(&self, ops: &[OpId], thread: usize) -> Result<Box<dyn Session>, Error> {
        let live = &self.lives[thread];
        live.abort.adopt();
        let connection = self.work.engine.open(ops)?;
        live.connected(connection.canceller());
        Ok(connection)
    }

    fn ready<T>(
        &self,
        made: Result<(Box<dyn Session>, T), Error>,
        reports: &Sender<Report>,
    ) -> Option<(Box<dyn Session>, T)> {
        match made {
            Ok(ready) => {
                reports.send(Report::Ready).ok()?;
                Some(ready)
            }
            Err(error) => {
                // The driver may have given up already because of another session.
                let _ = reports.send(Report::Failed(error));
                None
            }
        }
    }

    /// `at`: the operation's place among those of the role; `slot`: in the recorder.
    fn op_work(&self, session: usize, at: usize, slot: usize) -> Result<OpWork, Error> {
        let op = self.ops[at];
        let plan = &self.drive_target.context.plan;
        let (session_of_all, sessions) =
            self.queue().stride().session(session as u64, u64::from(self.plan.sessions));
        let share = Share { session: session_of_all, sessions };
        let params = self.params[at].in_session(share)?;
        let of = &plan.operations[op];
        let answers = self.drive_target.engine.answers(op);
        let caps = self.drive_target.engine.caps();
        let checks = if answers {
            Check::of(&self.generators, of, caps.reads_torn, self.work.counts)?
        } else {
            Vec::new()
        };
        let freshness = Freshness::of(&self.generators, of)?;
        let extract = match (&of.dump, params.ranges()) {
            (Some(dump), _) => {
                let (table, live) = (&plan.tables[dump.table], self.lives[session].clone());
                Some(Taken::Written(Dump::new(self.work.clock, dump, table, answers, live)?))
            }
            (None, Some(ranges)) if of.kind == OpKind::Extract => {
                Some(Taken::Compared(Extract::new(self.work.clock, ranges)))
            }
            (None, _) => None,
        };
        Ok(OpWork {
            op,
            slot,
            values: params.values(),
            asked: params.values(),
            params,
            is_judged: answers && (!checks.is_empty() || freshness.is_some()),
            checks,
            freshness,
            extract: extract.map(Box::new),
            is_answered: answers,
            deadline_ns: of.deadline_ns,
            is_insert: of.kind == OpKind::Insert,
            alters: of.does.filter(|_| adds_or_changes(of)).zip(of.table),
            tells_changes: answers && caps.tells_changes,
            reads_late: caps.reads_late,
        })
    }

    fn columns(&self) -> Columns {
        match &self.work.batch {
            Some(batch) => batch.source.columns(batch.batch_rows as usize),
            None => Columns::default(),
        }
    }
}
