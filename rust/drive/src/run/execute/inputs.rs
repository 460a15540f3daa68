//! Files that a later segment loads: made, and sorted.

use super::Running;
use crate::drive::{input, EndedBy};
use crate::run::{sorted, Event};
use inrush_rows::error::Error;
use inrush_rows::plan::{InputPlan, SortPlan};
use inrush_rows::rows::RowGen;

impl Running {
    pub(super) fn inputs(&mut self, inputs: &[InputPlan]) -> Result<EndedBy, Error> {
        for input in inputs {
            let kept = input::make(&self.context.plan, input, &self.context.stop)?;
            if kept > 0 {
                let text = format!(
                    "input files {}: {kept} bytes stay in memory, so that they are read warm",
                    input.folder
                );
                self.emit(Event::Note { text });
            }
        }
        Ok(EndedBy::Work)
    }

    pub(super) fn sort(&mut self, plan: &SortPlan) -> Result<EndedBy, Error> {
        let of = &self.context.plan;
        let rows = RowGen::new(&plan.from.written(&of.tables[plan.from.table]), of.seed, of.epoch_ns)?;
        sorted::sort(plan, &input::cuts(&plan.to, &rows), plan.limit_ns, &self.context.stop)
    }
}
