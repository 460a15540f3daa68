//! Statements as a step of the run: each is timed, and the one that runs at the limit is cancelled.

use std::time::Duration;

use super::Running;
use crate::drive::EndedBy;
use crate::run::sampler::Sampler;
use crate::tables::StepRow;
use inrush_engines::engine::statement::{perform, statements};
use inrush_engines::engine::{self, Engine, Ns};
use inrush_rows::error::{AfterLimit, Error};
use inrush_rows::plan::{Repeat, Statement, StatementSegment};

/// How long the step waits for the sizes that were asked for last.
const LAST_SAMPLE_MOST: Duration = Duration::from_secs(5);

/// What probes and proofs are given at least beside a statement that was not ended at its limit.
const BESIDE_LEAST_NS: u64 = 60_000_000_000;

/// One step at work.
struct Step<'a> {
    run: &'a mut Running,
    engine: &'a dyn Engine,
    plan: &'a StatementSegment,
    segment: u16,
    /// Of the run's clock.
    until_ns: Ns,
    statements: u32,
}

impl Running {
    /// `Limit`: the statement in hand was cancelled and those behind it did not run. The run goes on, for what is left is
    /// looked at by its probes and proofs.
    pub(super) fn statements(&mut self, index: usize, plan: &StatementSegment) -> Result<EndedBy, Error> {
        let engine = self.engine()?;
        let segment = index as u16;
        let mut sampler = match &plan.sample {
            // Statements off the clock share one connection of an engine, and this step keeps it busy.
            Some(sample) => {
                Some(Sampler::start(sample, engine::build(&self.context)?, self.context.clock, segment)?)
            }
            None => None,
        };
        self.begin(true);
        let until_ns = self.context.clock.now().saturating_add(plan.limit_ns);
        let mut step = Step { run: self, engine: engine.as_ref(), plan, segment, until_ns, statements: 0 };
        let ended = step.all(&mut sampler);
        // Before the sampler has taken its last answer: that is waited for, and no part of the work.
        self.end(true);
        if let Some(mut sampler) = sampler {
            sampler.stop(LAST_SAMPLE_MOST);
            self.keep(&sampler);
        }
        ended
    }

    fn keep(&mut self, sampler: &Sampler) {
        for (into, row) in sampler.drain() {
            self.tables.probe(into, &row);
        }
    }
}

impl Step<'_> {
    fn all(&mut self, sampler: &mut Option<Sampler>) -> Result<EndedBy, Error> {
        for statement in &self.plan.statements {
            let ended = self.one(statement)?;
            if let Some(sampler) = sampler {
                self.run.keep(sampler);
            }
            self.run.write_out()?;
            if !matches!(ended, EndedBy::Work) {
                return Ok(ended);
            }
        }
        Ok(EndedBy::Work)
    }

    fn one(&mut self, statement: &Statement) -> Result<EndedBy, Error> {
        let (engine, stop) = (self.engine, self.run.context.stop.clone());
        match statement.repeat {
            Some(Repeat::EachRow) => {
                let (ended, texts) = self.timed(&statement.text, |limit_ns| {
                    let texts = statements(statement, engine.ask(statement, limit_ns)?)?;
                    Ok((texts.len() as u64, Some(texts)))
                })?;
                if !matches!(ended, EndedBy::Work) {
                    return Ok(ended);
                }
                for text in texts.into_iter().flatten() {
                    let ended = self.one(&Statement::from(text.as_str()))?;
                    if !matches!(ended, EndedBy::Work) {
                        return Ok(ended);
                    }
                }
                Ok(EndedBy::Work)
            }
            Some(Repeat::UntilNoRows) => {
                let (ended, done) = self.timed(&statement.text, |limit_ns| {
                    Ok((0, Some(perform(engine, statement, limit_ns, &stop)?)))
                })?;
                Ok(if done == Some(false) { EndedBy::Stop } else { ended })
            }
            None => {
                let (ended, _) = self.timed(&statement.text, |limit_ns| {
                    Ok((engine.ask(statement, limit_ns)?.rows.len() as u64, Some(())))
                })?;
                Ok(ended)
            }
        }
    }

    /// Runs `work` in what is left of the step's time and writes down how long it took and how it ended. A failure that is
    /// not the limit's is the run's.
    fn timed<T>(
        &mut self,
        text: &str,
        work: impl FnOnce(u64) -> Result<(u64, Option<T>), Error>,
    ) -> Result<(EndedBy, Option<T>), Error> {
        let clock = self.run.context.clock;
        let start_ns = clock.now();
        let left_ns = self.until_ns.saturating_sub(start_ns);
        let worked = match left_ns {
            // 0 would be no limit at all.
            0 => Err(Error::Deadline {
                what: text.to_owned(),
                limit_s: self.plan.limit_ns as f64 / 1e9,
                after: AfterLimit::Idle,
            }),
            left_ns => work(left_ns),
        };
        let ended = match &worked {
            Ok(_) => EndedBy::Work,
            Err(Error::Deadline { after, .. }) => {
                if matches!(after, AfterLimit::Running | AfterLimit::Unknown) {
                    // It may hold what probes and proofs wait for.
                    self.run.most_ns = self.run.most_ns.min(self.plan.limit_ns.max(BESIDE_LEAST_NS));
                }
                EndedBy::Limit
            }
            Err(_) => EndedBy::Error,
        };
        let ended_by = match &worked {
            Err(Error::Deadline { after, .. }) => after.name(),
            _ => ended.name(),
        };
        let rows = worked.as_ref().map_or(0, |(rows, _)| *rows);
        self.run.tables.step(&StepRow {
            segment: self.segment,
            step: self.plan.step.clone(),
            statement: self.statements,
            text: text.to_owned(),
            start_ns,
            end_ns: clock.now(),
            ended_by,
            rows,
            message: worked.as_ref().err().map(Error::to_string).unwrap_or_default(),
        });
        self.statements += 1;
        match worked {
            Ok((_, value)) => Ok((ended, value)),
            Err(Error::Deadline { .. }) => Ok((ended, None)),
            Err(error) => Err(error),
        }
    }
}
