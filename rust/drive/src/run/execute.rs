//! The segments of a plan, one after the other. The top function reads as what a run is.

mod ask;
mod barrier;
mod drive;
mod inputs;
mod observer;
mod prove;
mod statement;
mod stop;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::Duration;

use crate::drive::source::TableCount;
use crate::drive::EndedBy;
use crate::proof::Expectations;
use crate::run::sampler;
use crate::run::usage::Latest;
use crate::run::{Commands, Event};
use crate::tables::{ResourceRow, SegmentRow, Tables};
use crate::watch::{Sample, Watch};

use inrush_engines::engine::statement::perform;
use inrush_engines::engine::{self, Context, Engine};
use inrush_rows::clock::used_cpu_ns;
use inrush_rows::error::Error;
use inrush_rows::plan::{Phase, ProbePlan, RunPlan, Segment, Statement};
use inrush_rows::rows::Generators;

use stop::heed_stop;

/// Statements without a limit of their own.
const DEFAULT_LIMIT_NS: u64 = 3_600_000_000_000;

/// Runs the plan to its end and says how it ended; the last event is `Finished` or `Failed`.
pub fn execute(context: Context, tables: Tables, events: Sender<Event>, commands: Commands) {
    let _stopping = heed_stop(&context);
    let ended = Running::new(context, tables, events.clone(), commands).and_then(|mut run| {
        let ended = run.segments();
        // A failure of the plan says more than what may follow from it at the end.
        let finished = run.finish();
        ended.and_then(|ended_by| finished.map(|()| ended_by))
    });
    // There is no receiver any more when the handle was dropped.
    let _ = events.send(match ended {
        Ok(ended_by) => Event::Finished { ended_by: ended_by.name() },
        Err(error) => Event::Failed { kind: error.kind(), message: error.to_string() },
    });
}

#[derive(Default)]
struct Work {
    begun_ns: u64,
    /// Processes have started together: a later repetition is not where the work began.
    started: bool,
    ended_ns: Option<u64>,
}

struct Running {
    context: Context,
    engine: Option<Arc<dyn Engine>>,
    tables: Tables,
    samples: Vec<Sample>,
    usage: Latest,
    watch: Option<Watch>,
    counts: Arc<[TableCount]>,
    expectations: Expectations,
    /// A server over which a segment was cut by its limit is given no longer for proofs and probes.
    most_ns: u64,
    /// When the work of the segment in hand began and ended, where that is not when the segment did.
    work: Work,
    events: Sender<Event>,
    commands: Commands,
}

impl Running {
    fn new(
        context: Context,
        tables: Tables,
        events: Sender<Event>,
        commands: Commands,
    ) -> Result<Running, Error> {
        let plan = context.plan.clone();
        let watch = match plan.watch.every_ns {
            0 => None,
            // The machine is watched by the first process of a run on each.
            _ if plan.share.is_some_and(|share| share.index > 0) && !plan.watch.machine => {
                Some(Watch::of_client(&plan.watch, context.clock)?)
            }
            _ => Some(Watch::start(&plan.watch, context.clock)?),
        };
        Ok(Running {
            engine: None,
            tables,
            samples: Vec::new(),
            usage: Latest::default(),
            watch,
            counts: counts_of(&plan)?,
            expectations: Expectations::default(),
            most_ns: u64::MAX,
            work: Work::default(),
            context,
            events,
            commands,
        })
    }

    fn segments(&mut self) -> Result<EndedBy, Error> {
        let plan = self.context.plan.clone();
        for (index, segment) in plan.segments.iter().enumerate() {
            if !self.does(segment) {
                self.hear_of(segment);
                continue;
            }
            let ended_by = match self.segment(index, segment) {
                // What failed because it was ended is no failure.
                Err(_) if self.context.stop.load(Relaxed) => EndedBy::Stop,
                ended => ended?,
            };
            if matches!(ended_by, EndedBy::Stop) || self.context.stop.load(Relaxed) {
                return Ok(EndedBy::Stop);
            }
        }
        Ok(EndedBy::Work)
    }

    /// Runs one segment and writes down that it ran, also when it failed.
    fn segment(&mut self, index: usize, segment: &Segment) -> Result<EndedBy, Error> {
        self.work = Work::default();
        // A pause may be a load that is all of a run: what its processes used since the last look dies with them.
        let looks = match segment {
            Segment::Probe { .. } => false,
            Segment::Pause { .. } => true,
            _ => !segment.step().is_empty(),
        };
        self.begin(looks && !matches!(segment, Segment::Statement(_)));
        let start_ns = self.context.clock.now();
        let cpu_before = used_cpu_ns();
        let (kind, label, phase) = name(segment);
        let label = label.to_owned();
        self.emit(Event::Segment { index, label: label.clone(), kind, phase, t_ns: start_ns });
        let ended = match segment {
            Segment::Control { statements, limit_ns, .. } => self.control(statements, *limit_ns),
            Segment::Drive(drive) => self.drive(index, drive),
            Segment::Statement(statement) => self.statements(index, statement),
            Segment::Proof { proofs, .. } => self.prove(index, 0, proofs).map(|_| EndedBy::Work),
            Segment::Probe { probes, .. } => self.probe(index, probes),
            Segment::Ask { operations, now_ns, .. } => self.ask(index, operations, *now_ns),
            Segment::Settle { ns, .. } => self.settle(*ns),
            Segment::Inputs { inputs, .. } => self.inputs(inputs),
            Segment::Sort(plan) => self.sort(plan),
            Segment::Pause { action, .. } => self.pause(index, action),
        };
        if self.work.ended_ns.is_none() {
            self.end(looks);
        }
        let Work { begun_ns, ended_ns, .. } = std::mem::take(&mut self.work);
        let row = SegmentRow {
            segment: index as u16,
            kind,
            label,
            phase,
            start_ns: begun_ns,
            end_ns: ended_ns.unwrap_or_else(|| self.context.clock.now()),
            ended_by: ended.as_ref().map_or(EndedBy::Error, |e| *e).name(),
            client_cpu_ns: used_cpu_ns() - cpu_before,
            step: segment.step().to_owned(),
        };
        self.tables.segment(&row);
        self.write_out()?;
        ended
    }

    /// The work of a segment begins now; `looks`: after a look at what everyone has used so far.
    fn begin(&mut self, looks: bool) {
        if looks {
            self.look();
        }
        self.work.begun_ns = self.context.clock.now();
    }

    /// It has ended now: what is done from now on is not its own.
    fn end(&mut self, looks: bool) {
        self.work.ended_ns = Some(self.context.clock.now());
        if looks {
            self.look();
        }
    }

    /// A step may be shorter than the time between two looks of the watch.
    fn look(&self) {
        if let Some(watch) = &self.watch {
            watch.look_now();
        }
    }

    fn control(&mut self, statements: &[Statement], limit_ns: u64) -> Result<EndedBy, Error> {
        let engine = self.engine()?;
        for statement in statements {
            if !perform(engine.as_ref(), statement, limit_ns, &self.context.stop)? {
                return Ok(EndedBy::Stop);
            }
        }
        Ok(EndedBy::Work)
    }

    fn probe(&mut self, index: usize, probes: &[ProbePlan]) -> Result<EndedBy, Error> {
        let engine = self.engine()?;
        for probe in probes {
            let answer = sampler::asked(engine.as_ref(), probe, DEFAULT_LIMIT_NS.min(self.most_ns))?;
            let t_ns = self.context.clock.now();
            for (into, row) in sampler::rows(probe, &answer, index as u16, t_ns) {
                self.tables.probe(into, &row);
            }
        }
        Ok(EndedBy::Work)
    }

    fn settle(&mut self, ns: u64) -> Result<EndedBy, Error> {
        let until = self.context.clock.now() + ns;
        while self.context.clock.now() < until && !self.context.stop.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(20).min(Duration::from_nanos(ns)));
            self.write_out()?;
        }
        Ok(EndedBy::Work)
    }

    /// Python acts on the server, which may have other processes then; the engine is connected anew after it.
    fn pause(&mut self, index: usize, action: &str) -> Result<EndedBy, Error> {
        self.engine = None;
        self.emit(Event::Paused { index, action: action.to_owned() });
        loop {
            match self.commands.resumed.recv_timeout(Duration::from_millis(100)) {
                Ok((processes, threads)) => {
                    if let Some(watch) = &self.watch {
                        watch.name_threads(threads);
                        watch.add(&processes);
                    }
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.write_out()?,
            }
        }
        Ok(if self.context.stop.load(Relaxed) { EndedBy::Stop } else { EndedBy::Work })
    }

    fn engine(&mut self) -> Result<Arc<dyn Engine>, Error> {
        if let Some(engine) = &self.engine {
            return Ok(engine.clone());
        }
        let engine = engine::build(&self.context)?;
        self.engine = Some(engine.clone());
        Ok(engine)
    }

    /// What was sampled and recorded so far goes to the files.
    fn write_out(&mut self) -> Result<(), Error> {
        if let Some(watch) = &self.watch {
            watch.drain(&mut self.samples);
        }
        for s in self.samples.drain(..) {
            self.usage.see(&s);
            self.tables.resource(&ResourceRow {
                role: s.role.to_string(),
                t_ns: s.t_ns,
                metric: s.metric,
                device: s.device.to_string(),
                value: s.value,
            });
        }
        self.tables.flush()
    }

    fn finish(mut self) -> Result<(), Error> {
        if let Some(watch) = &mut self.watch {
            watch.stop();
        }
        self.write_out()?;
        for text in self.watch.iter().flat_map(|w| w.notes()) {
            self.emit(Event::Note { text });
        }
        self.tables.finish()
    }

    fn emit(&self, event: Event) {
        // There is no receiver any more when the handle was dropped; the tables are written all the same.
        let _ = self.events.send(event);
    }
}

fn name(segment: &Segment) -> (&'static str, &str, &'static str) {
    match segment {
        Segment::Control { label, .. } => ("control", label, ""),
        Segment::Drive(drive) => ("drive", &drive.label, phase_name(drive.phase)),
        Segment::Statement(statement) => ("statement", &statement.label, ""),
        Segment::Proof { label, .. } => ("proof", label, ""),
        Segment::Probe { label, .. } => ("probe", label, ""),
        Segment::Ask { label, .. } => ("ask", label, ""),
        Segment::Settle { label, .. } => ("settle", label, ""),
        Segment::Pause { label, .. } => ("pause", label, ""),
        Segment::Inputs { label, .. } => ("inputs", label, ""),
        Segment::Sort(plan) => ("sort", &plan.label, ""),
    }
}

fn counts_of(plan: &Arc<RunPlan>) -> Result<Arc<[TableCount]>, Error> {
    let generators = Generators::new(plan.clone());
    (0..plan.tables.len()).map(|table| TableCount::of(&generators, table)).collect()
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Load => "load",
        Phase::Warm => "warm",
        Phase::Measure => "measure",
        Phase::Cool => "cool",
    }
}
