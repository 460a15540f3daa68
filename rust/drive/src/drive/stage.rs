//! Setting the stage: a thread, a connection and a recorder for every session, before the clock runs.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::Scope;

use crate::drive::assertion::Check;
use crate::drive::barrier::Barrier;
use crate::drive::dump::Dump;
use crate::drive::extract::Extract;
use crate::drive::freshness::{watched, Freshness};
use crate::drive::input::Loaded;
use crate::drive::page::{Member, PageBarrier, PageRepetition};
use crate::drive::role_queue::RoleQueue;
use crate::drive::session::Worker;
use crate::drive::source::Source;
use crate::drive::taken::Taken;
use crate::drive::work::{Batch, Live, OpWork, RoleWork};
use crate::drive::DriveTarget;
use crate::record::{FileRow, Looks, Recorder, RoleSpec};
use inrush_engines::engine::{Context, Ns, OpId, Session};
use inrush_engines::mix::{adds_or_changes, operation_id, Mix, Share, Shared};
use inrush_engines::pace::raise_realtime_priority;
use inrush_engines::schedule;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{DriveSegment, InputWay, OpKind, Phase, RolePlan, Schedule, Until, Work};
use inrush_rows::rows::{Columns, Generators};

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

/// One role with all that its sessions share.
pub struct RoleStage<'a> {
    at: usize,
    plan: &'a RolePlan,
    work: RoleWork<'a>,
    drive_target: &'a DriveTarget<'a>,
    /// One per thread: sessions × members.
    lives: Vec<Arc<Live>>,
    page_barriers: Vec<PageBarrier>,
    /// Operations that one session calls: those of the mix, or the members of its page.
    ops: Vec<OpId>,
    /// Shared by all sessions of the segment: a generator and its index can be tens of megabytes.
    generators: Arc<Generators>,
    /// By operation.
    params: Vec<Arc<Shared>>,
    page: Option<OpId>,
    first_thread: usize,
    deadline_ns: u64,
}

pub fn roles<'a>(
    drive_target: &'a DriveTarget<'a>,
    segment: &'a DriveSegment,
    queues: &'a [RoleQueue],
    halt: &Arc<AtomicBool>,
) -> Result<Vec<RoleStage<'a>>, Error> {
    let plan = &drive_target.context.plan;
    let generators = Arc::new(Generators::new(plan.clone()));
    let mut first_thread = 0;
    let mut stages = Vec::with_capacity(segment.roles.len());
    for (at, role) in segment.roles.iter().enumerate() {
        check_depth(drive_target, role)?;
        let mix = Mix::new(plan, role)?;
        let chosen = mix.operations();
        check_extracts(drive_target, &chosen)?;
        let page = chosen.iter().copied().find(|&op| plan.operations[op].kind == OpKind::Together);
        let ops = match page {
            Some(op) if chosen.len() == 1 => members(drive_target.context, op)?,
            Some(op) => {
                let name = &plan.operations[op].name;
                return Err(Error::Plan(format!(
                    "role {}: {name} is a page and cannot be mixed with others",
                    role.name
                )));
            }
            None => chosen,
        };
        let batch = match role.work {
            Work::Rows { table, first_row, rows, batch_rows, ref dump, ref input } => Some(Batch {
                source: Source::of(
                    &generators,
                    table,
                    batch_rows,
                    role.sessions,
                    dump.as_deref(),
                    input.as_ref(),
                )?,
                table,
                first_row,
                rows,
                batch_rows,
            }),
            _ => None,
        };
        let threads = role.sessions as usize * if page.is_some() { ops.len() } else { 1 };
        let deadline_ns =
            ops.iter().map(|&op| plan.operations[op].deadline_ns).filter(|&d| d > 0).min().unwrap_or(0);
        stages.push(RoleStage {
            at,
            plan: role,
            work: RoleWork {
                queue: &queues[at],
                queues,
                mix,
                counts: drive_target.counts,
                batch,
                engine: drive_target.engine,
                clock: drive_target.context.clock,
                name: &role.name,
                depth: role.depth.max(1) as usize,
                retry_ns: segment.retry_ns,
                is_measured: segment.phase == Phase::Measure && !is_read(&role.work),
                connects: role.connects,
                loaded: Mutex::default(),
                halt: halt.clone(),
            },
            drive_target,
            lives: (0..threads).map(|_| Arc::default()).collect(),
            page_barriers: (0..role.sessions).map(|_| PageBarrier::default()).collect(),
            generators: generators.clone(),
            params: ops
                .iter()
                .map(|&op| Shared::new(&generators, op, &role.name))
                .collect::<Result<_, _>>()?,
            ops,
            page,
            first_thread,
            deadline_ns,
        });
        first_thread += threads;
    }
    Ok(stages)
}

/// Whether its rows are read from files. What of them has no answer is no range of the generator's rows, which a proof could
/// look for.
fn is_read(work: &Work) -> bool {
    match work {
        Work::Rows { dump: Some(_), .. } => true,
        // Sorted files hold the rows in another order than the generator has them.
        Work::Rows { input: Some(input), .. } => input.way == InputWay::Parsed || input.sorted,
        _ => false,
    }
}

/// The twin refuses it when a study is planned; a plan may come from elsewhere.
fn check_depth(drive_target: &DriveTarget<'_>, role: &RolePlan) -> Result<(), Error> {
    let most = drive_target.engine.caps().max_depth;
    if role.depth <= most {
        return Ok(());
    }
    let (name, depth, engine) = (&role.name, role.depth, &drive_target.context.plan.target.engine);
    Err(Error::Plan(format!(
        "role {name}: depth {depth}; a session of {engine} has {most} call(s) in flight at most: lower `depth`, or use \
         more sessions"
    )))
}

/// The twin leaves out what its engine has not got; a plan may come from elsewhere.
fn check_extracts(drive_target: &DriveTarget<'_>, ops: &[OpId]) -> Result<(), Error> {
    let context = drive_target.context;
    let extract = ops.iter().map(|&op| context.op(op)).find(|op| op.kind == OpKind::Extract);
    match extract {
        Some(op) if !drive_target.engine.extracts() => {
            let engine = &context.plan.target.engine;
            Err(Error::Plan(format!("operation {}: {engine} hands over no rows as they come", op.name)))
        }
        _ => Ok(()),
    }
}

fn members(context: &Context, page: OpId) -> Result<Vec<OpId>, Error> {
    let op = context.op(page);
    if op.members.is_empty() {
        return Err(Error::Plan(format!("operation {} is a page without members", op.name)));
    }
    op.members.iter().map(|name| operation_id(&context.plan, name)).collect()
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

impl<'a> RoleStage<'a> {
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    pub fn queue(&self) -> &'a RoleQueue {
        self.work.queue
    }

    /// As before the first repetition.
    pub fn restart(&self, repetition: u32) -> Result<(), Error> {
        self.work.queue.reset();
        match &self.work.batch {
            Some(batch) if repetition > 0 => batch.source.restart(),
            _ => Ok(()),
        }
    }

    /// Says of a table whose writers' queue was full which rows were sent: tickets are taken in the order of the rows.
    pub fn cut_rows(&self) {
        if let (Some(batch), true) = (self.batch(), self.queue().is_full()) {
            self.work.counts[batch.table].cut(batch.first_row_from(self.queue().taken()));
        }
    }

    /// Calls that add or change rows have numbers of their own: those of the next repetition follow on.
    pub fn count_calls(&self) {
        let plan = &self.drive_target.context.plan;
        for &op in self.ops.iter().filter(|&&op| adds_or_changes(&plan.operations[op])) {
            let touched = plan.operations[op].table.and_then(|table| self.work.counts[table].touched());
            if let Some(touched) = touched {
                touched.add_calls(op, self.queue().taken());
            }
        }
    }

    /// Files that were loaded in this repetition, which began at `t0`, as rows of their table; none of them a second time.
    pub fn loaded(&self, segment: u16, repetition: u32, t0: Ns) -> Vec<FileRow> {
        let Some(batch) = self.batch() else { return Vec::new() };
        let mut loaded = std::mem::take(&mut *self.work.loaded.lock().unpoisoned());
        loaded.sort_unstable_by_key(|of| (of.sent_ns, of.file));
        let row = |of: &Loaded| FileRow {
            segment,
            repetition,
            role: self.plan.name.clone(),
            file: of.file as u32,
            pipeline: of.session,
            due_ns: t0,
            start_ns: of.sent_ns,
            sent_ns: of.sent_ns,
            end_ns: of.done_ns,
            bytes: batch.file_bytes(of.file).unwrap_or(0),
            rows: batch.range(of.file).1 as u64,
            rejected: 0,
            runs: batch.file_runs(of.file),
        };
        loaded.iter().map(row).collect()
    }

    pub fn batch(&self) -> Option<&Batch> {
        self.work.batch.as_ref()
    }

    pub fn threads(&self) -> usize {
        self.lives.len()
    }

    pub fn first_thread(&self) -> usize {
        self.first_thread
    }

    pub fn lives(&self) -> &[Arc<Live>] {
        &self.lives
    }

    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// 0…1 of this role's bounded work or time.
    pub fn share(&self, ops: u64, elapsed_ns: Ns) -> Option<f64> {
        match (&self.plan.until, self.queue().count()) {
            (Until::Time { ns }, _) => Some((elapsed_ns as f64 / (*ns).max(1) as f64).min(1.0)),
            (_, Some(count)) => Some((ops as f64 / count.max(1) as f64).min(1.0)),
            _ => None,
        }
    }

    /// The roles of the tables: this one, and one per member of its page.
    pub fn specs(&self) -> Vec<RoleSpec> {
        let name = |op: OpId| self.drive_target.context.op(op).name.clone();
        let spec = |role: String, ops: Vec<String>| RoleSpec {
            name: role,
            ops,
            sessions: self.plan.sessions,
            schedule: self.plan.schedule.clone(),
            seed: schedule::arrival_seed(self.drive_target.context.plan.seed, &self.plan.name),
            count: self.queue().count(),
            stride: self.queue().stride(),
            looks: Looks {
                freshness: self.ops.iter().any(|&op| watched(self.drive_target.context.op(op)).is_some()),
                first_row: self
                    .ops
                    .iter()
                    .any(|&op| self.drive_target.context.op(op).kind == OpKind::Extract),
            },
            choose: None,
        };
        match self.page {
            None => {
                let mut whole = spec(self.plan.name.clone(), self.ops.iter().map(|&op| name(op)).collect());
                let (mix, ops) = (self.work.mix.clone(), self.ops.clone());
                whole.choose = Some(Arc::new(move |ticket| {
                    let op = mix.operation(ticket);
                    ops.iter().position(|&o| o == op).expect("the mix draws from the role's own operations")
                }));
                vec![whole]
            }
            Some(page) => {
                let members = self
                    .ops
                    .iter()
                    .map(|&op| spec(format!("{}/{}", self.plan.name, name(op)), vec![name(op)]));
                std::iter::once(spec(self.plan.name.clone(), vec![name(page)])).chain(members).collect()
            }
        }
    }

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
