//! What a run does while sessions drive: it hears, writes down, and empties the tables between repetitions.

use std::sync::Arc;
use std::time::Duration;

use super::{phase_name, Running, DEFAULT_LIMIT_NS};
use crate::drive::{Observer, Progress, STUCK_NS};
use crate::record::Recorded;
use crate::run::sampler::Sampler;
use crate::run::written::Written;
use crate::run::Event;
use crate::tables::ResourceRow;
use crate::watch::heartbeat::Heartbeat;
use inrush_engines::engine::statement::perform;
use inrush_engines::engine::{Engine, Ns};
use inrush_rows::clock::process_cpu_ns;
use inrush_rows::error::{AfterLimit, Error};
use inrush_rows::plan::DriveSegment;

/// How long a segment waits for the sizes that were asked for last.
const LAST_SAMPLE_MOST: Duration = Duration::from_secs(60);

/// Attends to one drive: progress, samples, and fresh tables between repetitions.
pub(super) struct RunObserver<'a> {
    run: &'a mut Running,
    engine: Arc<dyn Engine>,
    index: usize,
    segment: &'a DriveSegment,
    measured_ns: Ns,
    /// (time, process CPU) of the last progress.
    cpu: (Ns, u64),
    sampler: Option<Sampler>,
    heartbeat: Heartbeat,
}

impl<'a> RunObserver<'a> {
    /// From now on; a sampler and a thread that feels stalls work as long as it lives.
    pub fn start(
        run: &'a mut Running,
        engine: Arc<dyn Engine>,
        index: usize,
        segment: &'a DriveSegment,
    ) -> Result<RunObserver<'a>, Error> {
        let clock = run.context.clock;
        let cpu = (clock.now(), process_cpu_ns());
        let sampler = match &segment.sample {
            // The server is asked once, however many processes drive.
            Some(plan) if run.does_all() => Some(Sampler::start(plan, engine.clone(), clock, index as u16)?),
            _ => None,
        };
        let heartbeat = Heartbeat::start(clock)?;
        Ok(RunObserver { run, engine, index, segment, measured_ns: 0, cpu, sampler, heartbeat })
    }

    /// The sessions have ended; the sampler has not.
    pub fn ended(&mut self) {
        self.run.end(!self.segment.step.is_empty());
        self.run.ends(self.index);
    }

    /// Waits for the sessions of other processes, with the sampler at work; see `Running::meet_at_end`.
    pub fn others_end(&mut self, before: &[Written]) -> Result<bool, Error> {
        self.run.meet_at_end(self.index, before)
    }

    /// Takes the sampler's last answers. After a segment that was cut its current statement is not waited for: what
    /// held up the calls may hold it up, too.
    pub fn finish(mut self, cut: bool) {
        let patience = if cut { Duration::ZERO } else { LAST_SAMPLE_MOST };
        self.sampled(|sampler| sampler.stop(patience));
    }

    /// The sampler's answers go to the tables, after `first` was done to it.
    fn sampled(&mut self, first: impl FnOnce(&mut Sampler)) {
        if let Some(sampler) = &mut self.sampler {
            first(sampler);
            for (into, row) in sampler.drain() {
                self.run.tables.probe(into, &row);
            }
        }
    }
}

impl Observer for RunObserver<'_> {
    fn recorded(&mut self, recorded: Recorded) -> Result<(), Error> {
        self.run.tables.recorded(&recorded);
        self.sampled(|_| {});
        // A full disk ends the run here: figures that cannot be kept are not measured.
        self.run.write_out()
    }

    fn start_at(&mut self, earliest: Ns) -> Result<Option<Ns>, Error> {
        let at = self.run.start_at(self.index, earliest);
        // What stalled before a repetition, or between two, is in none.
        self.heartbeat.take();
        at
    }

    fn began(&mut self, repetition: u32, t0: Ns, first: Ns, last: Ns) {
        self.run.began(self.index, repetition, t0, first, last);
    }

    fn progress(&mut self, progress: Progress) {
        let (then, cpu_then) = self.cpu;
        let cpu = process_cpu_ns();
        let client_cpu = (cpu - cpu_then) as f64 / progress.t_ns.saturating_sub(then).max(1) as f64;
        self.cpu = (progress.t_ns, cpu);
        self.run.emit(Event::Progress {
            segment: self.index,
            label: self.segment.label.clone(),
            phase: phase_name(self.segment.phase),
            client_cpu,
            resources: self.run.usage.rows(),
            progress,
        });
    }

    fn spent(&mut self, cpu_ns: u64) {
        let t_ns = self.run.context.clock.now();
        let stalls = self.heartbeat.take();
        let s = |ns: u64| ns as f64 / 1e9;
        let figures = [
            ("repetition_cpu_s", s(cpu_ns)),
            ("stalls", stalls.count as f64),
            ("stall_longest_s", s(stalls.longest_ns)),
            ("stall_total_s", s(stalls.total_ns)),
        ];
        for (metric, value) in figures {
            self.run.tables.resource(&ResourceRow {
                role: "client".to_owned(),
                t_ns,
                metric,
                device: String::new(),
                value,
            });
        }
    }

    fn repeat(&mut self, repetition: u32, makespan_ns: Ns) -> Result<bool, Error> {
        let Some(repeat) = &self.segment.repeat else { return Ok(false) };
        self.measured_ns += makespan_ns;
        if !self.run.prove(self.index, repetition, &repeat.proofs)? {
            // Rows are missing or changed: repeating would only hide it.
            return Ok(false);
        }
        if self.measured_ns >= repeat.at_least_ns || repetition + 1 >= repeat.max {
            return Ok(false);
        }
        for statement in &repeat.fresh {
            perform(self.engine.as_ref(), statement, DEFAULT_LIMIT_NS, &self.run.context.stop)?;
        }
        Ok(true)
    }

    fn stuck(&mut self, role: &str) {
        let what = format!("a call of {role} that was cancelled");
        let error = Error::Deadline { what, limit_s: STUCK_NS as f64 / 1e9, after: AfterLimit::Running };
        self.run.emit(Event::Failed { kind: error.kind(), message: error.to_string() });
    }
}
