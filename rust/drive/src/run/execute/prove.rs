//! Tables are proven: what is stored is compared with what the sessions were answered.

use std::time::Duration;

use super::Running;
use crate::drive::touched::Touched;
use crate::proof::{self, prove, FromSessions, Left};
use inrush_engines::engine::abort;
use inrush_engines::engine::statement::perform;
use inrush_engines::engine::Engine;
use inrush_rows::error::{AfterLimit, Error};
use inrush_rows::plan::{ProofPlan, Repeat, RowSource, Segment, Statement};
use inrush_rows::rows::{Columns, Expected};

impl Running {
    /// Proves every table of `proofs`; false when one does not hold.
    pub(super) fn prove(
        &mut self,
        index: usize,
        repetition: u32,
        proofs: &[ProofPlan],
    ) -> Result<bool, Error> {
        let engine = self.engine()?;
        let plan = self.context.plan.clone();
        let mut holds = true;
        for proof in proofs {
            self.see(engine.as_ref(), proof)?;
            let asked = self.counts[proof.table].asked(proof);
            let proof = asked.as_ref();
            let stored = match plan.tables[proof.table].source {
                RowSource::Generated { .. } => None,
                // No row of the files was acknowledged: none may be there.
                RowSource::Files { .. } => Some(match self.counts[proof.table].stored() {
                    Some(stored) => stored,
                    None => Expected::empty(&proof.items, &Columns::of(&plan.tables[proof.table]))?,
                }),
            };
            let many = stored.as_ref().map_or(proof.rows, |s| s.digest.rows);
            let limit_ns = proof::limit_ns(many).min(self.most_ns);
            let most_ns = proof::read_back_limit_ns(many, limit_ns);
            let count = &self.counts[proof.table];
            let (unanswered, loaded) = (count.unanswered(), count.issued());
            let touched = count.touched();
            let may_be = |row, version| {
                touched.is_some_and(|of| of.may_be(row, version, of.ledger.stored(row), loaded))
            };
            let must_be =
                |row| touched.is_some_and(|of| Touched::must_be(of.ledger.stored(row), row, loaded));
            let left = touched.map(|of| Left { changes: &of.changes, may_be: &may_be, must_be: &must_be });
            let (expectations, stored) = (&mut self.expectations, stored.as_ref());
            let of = FromSessions { stored, left: left.as_ref(), unanswered: &unanswered };
            // Reading back is no statement that an engine could be given a limit for.
            let (proven, cut) = abort::limited(Duration::from_nanos(most_ns), || {
                prove(&plan, engine.as_ref(), proof, of, expectations, limit_ns)
            });
            let rows = match proven {
                Err(_) if cut => {
                    let what = format!("proving table {}", plan.tables[proof.table].name);
                    return Err(Error::Deadline {
                        what,
                        limit_s: most_ns as f64 / 1e9,
                        after: AfterLimit::Unknown,
                    });
                }
                proven => proven?,
            };
            holds &= rows.iter().all(|r| r.holds);
            for mut row in rows {
                (row.segment, row.repetition) = (index as u16, repetition);
                self.tables.proof(&row);
            }
        }
        Ok(holds)
    }

    /// Returns when queries see what was acknowledged of the proof's table.
    fn see(&self, engine: &dyn Engine, proof: &ProofPlan) -> Result<(), Error> {
        if proof.unseen.is_empty() {
            return Ok(());
        }
        let asked = Statement { repeat: Some(Repeat::UntilNoRows), ..Statement::from(proof.unseen.as_str()) };
        // What took so long at most to be written is seen in that time too, or never.
        let written_in = self.context.plan.segments.iter().filter_map(|segment| match segment {
            Segment::Drive(drive) if drive.limit_ns > 0 => Some(drive.limit_ns),
            _ => None,
        });
        let limit_ns = written_in.max().unwrap_or_else(|| proof::limit_ns(proof.rows)).min(self.most_ns);
        // A run that is asked to stop is proven as far as it is seen.
        perform(engine, &asked, limit_ns, &self.context.stop).map(drop)
    }
}
