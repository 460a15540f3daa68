//! Probes that are asked again and again while a segment drives: sizes as a curve over the rows.

use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::tables::{ProbeRow, ProbeTable};
use inrush_engines::engine::abort::Abort;
use inrush_engines::engine::{Answer, Engine};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::{ProbePlan, SamplePlan};
use inrush_rows::rows::value_text;

pub type Sampled = (ProbeTable, ProbeRow);

/// A thread that queries the server until it is dropped. Its answers wait in `drain`.
pub struct Sampler {
    sampled: Receiver<Sampled>,
    /// Dropping it ends the thread.
    asking: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    abort: Arc<Abort>,
}

impl Sampler {
    pub fn start(
        plan: &SamplePlan,
        engine: Arc<dyn Engine>,
        clock: Clock,
        segment: u16,
    ) -> Result<Sampler, Error> {
        let plan = plan.clone();
        let (samples, sampled) = channel();
        let (asking, ended) = channel();
        let abort = Arc::new(Abort::default());
        let work = {
            let abort = abort.clone();
            move || {
                abort.adopt();
                ask_until(&ended, &plan, engine.as_ref(), clock, segment, &samples);
            }
        };
        let thread = std::thread::Builder::new()
            .name("inrush-sampler".into())
            .spawn(work)
            .map_err(|e| Error::io("starting the thread that samples sizes", e))?;
        Ok(Sampler { sampled, asking: Some(asking), thread: Some(thread), abort })
    }

    /// The answers since the last call.
    pub fn drain(&self) -> impl Iterator<Item = Sampled> + '_ {
        self.sampled.try_iter()
    }

    /// Waits for the current statement, so long at most; all answers can then be drained. One that goes on is left
    /// to its own limit: its connection may be another thread's.
    pub fn stop(&mut self, patience: Duration) {
        self.asking = None;
        if let Some(thread) = self.thread.take() {
            let until = Instant::now() + patience;
            while !thread.is_finished() && Instant::now() < until {
                std::thread::sleep(LOOK_EVERY);
            }
            if !thread.is_finished() {
                self.abort.give_up();
                return;
            }
            // Its panic, if any, was printed by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

fn ask_until(
    ended: &Receiver<()>,
    plan: &SamplePlan,
    engine: &dyn Engine,
    clock: Clock,
    segment: u16,
    samples: &Sender<Sampled>,
) {
    let every = Duration::from_nanos(plan.every_ns);
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(every) {
        for probe in &plan.probes {
            // A table that is emptied at this moment has no size: a gap in the curve, and no reason to end the run.
            let Ok(answer) = asked(engine, probe, plan.every_ns.max(MOST_NS)) else { continue };
            let t_ns = clock.now();
            for row in rows(probe, &answer, segment, t_ns) {
                // No thread takes it any more when the segment has ended.
                let _ = samples.send(row);
            }
        }
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Limit of one statement, however often it is asked.
const MOST_NS: u64 = 60_000_000_000;

/// Sizes and counters are those of all servers together; a setting is each one's own.
pub fn asked(engine: &dyn Engine, probe: &ProbePlan, limit_ns: u64) -> Result<Answer, Error> {
    match ProbeTable::named(&probe.into)? {
        ProbeTable::Settings => engine.ask(&probe.statement, limit_ns),
        ProbeTable::Counters | ProbeTable::Sizes => engine.ask_sums(&probe.statement, limit_ns),
    }
}

/// Rows of (name, value) as a table keeps them.
pub fn rows<'a>(
    probe: &ProbePlan,
    answer: &'a Answer,
    segment: u16,
    t_ns: u64,
) -> impl Iterator<Item = Sampled> + 'a {
    // `problems` has refused any other table.
    let into = ProbeTable::named(&probe.into);
    answer.rows.iter().filter(|row| row.len() >= 2).filter_map(move |row| {
        let (name, value) = (value_text(&row[0]), value_text(&row[1]));
        Some((*into.as_ref().ok()?, ProbeRow { segment, t_ns, name, value }))
    })
}
