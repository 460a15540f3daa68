//! The rows of a chunk that a server refuses, each for itself: found by halving, in a transaction that is not committed.

use std::time::Instant;

use super::{chunk_of, is_of_a_row, Missed, Refused, Writer};
use crate::shard::Part;
use crate::EventSender;
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::placement::picked;
use inrush_rows::rows::Columns;

const SAVEPOINT: &str = "SAVEPOINT inrush_row";
const UNDO: &str = "ROLLBACK TO SAVEPOINT inrush_row";

/// How what was refused is undone, and nothing else.
enum Undo {
    Savepoint,
    /// DuckDB has none: the transaction begins anew, with the rows that were taken.
    Anew(Vec<Columns>),
}

impl Writer<'_> {
    /// Leaves chunks with rows that the server refuses out of `todo`, and gives these rows. `None`: it is to be tried again.
    pub(super) fn leave_refused(
        &mut self,
        todo: &mut Vec<&Part>,
        why: &str,
        until: Instant,
        event_sender: &EventSender,
    ) -> Result<Option<Refused>, Error> {
        match self.refused_of(todo, why, event_sender) {
            Ok(mut refused) => {
                // What another load server stored meanwhile refuses the same rows.
                let lines = self.shard.lines()?;
                refused.retain(|chunk, _| !lines.contains_key(chunk));
                todo.retain(|part| !refused.contains_key(&chunk_of(part)));
                Ok(Some(refused))
            }
            Err(Missed::Never(e)) => Err(e),
            Err(Missed::Refused(why)) => Err(self.refused(&why, todo)),
            // Nothing of it was to be committed: it is tried again from the start.
            Err(Missed::Again(why) | Missed::Unanswered(why)) if Instant::now() >= until => {
                Err(self.gave_up(&why))
            }
            Err(Missed::Again(_) | Missed::Unanswered(_)) => {
                self.session = None;
                Ok(None)
            }
        }
    }

    /// The refused rows of these parts. why: the server's words for all of them.
    ///
    /// `Refused` where no row is refused for itself, the plan does not want to know which, or the engine has no transactions.
    fn refused_of(
        &mut self,
        todo: &[&Part],
        why: &str,
        event_sender: &EventSender,
    ) -> Result<Refused, Missed> {
        if self.shard.plan.refused_most == 0 || !is_of_a_row(why) || !self.begin()? {
            return Err(Missed::Refused(why.to_owned()));
        }
        let mut undo = match self.execute(SAVEPOINT) {
            Ok(()) => Undo::Savepoint,
            Err(_) => {
                self.session = None;
                self.begin()?;
                Undo::Anew(Vec::new())
            }
        };
        let mut refused = Refused::new();
        for part in todo {
            let rows = self.refused_rows(part, &mut undo, event_sender)?;
            if !rows.is_empty() {
                refused.insert(chunk_of(part), rows);
            }
        }
        // What was taken is stored by the next attempt, with its line.
        self.session = None;
        if refused.is_empty() {
            return Err(Missed::Refused(why.to_owned()));
        }
        Ok(refused)
    }

    /// Those of one part, by their places in it.
    fn refused_rows(
        &mut self,
        part: &Part,
        undo: &mut Undo,
        event_sender: &EventSender,
    ) -> Result<Vec<(usize, String)>, Missed> {
        let mut refused = Vec::new();
        let whole = 0..part.rows.rows;
        let mut ranges = vec![whole];
        while let Some(range) = ranges.pop().filter(|range| !range.is_empty()) {
            if event_sender.stopped() {
                return Err(Missed::Never(Error::Interrupted));
            }
            let chosen: Vec<u32> = range.clone().map(|row| row as u32).collect();
            let rows = picked(&part.rows, &chosen);
            let why = match self.put(&[&rows], None) {
                Ok(()) => {
                    self.keep(rows, undo)?;
                    continue;
                }
                Err(Missed::Refused(why)) if is_of_a_row(&why) => why,
                Err(other) => return Err(other),
            };
            self.undo(undo)?;
            if range.len() > 1 {
                let half = range.start + range.len() / 2;
                ranges.extend([half..range.end, range.start..half]);
                continue;
            }
            refused.push((range.start, why));
            if refused.len() as u64 > self.shard.plan.refused_most {
                return Err(Missed::Never(self.too_many(&refused)));
            }
        }
        Ok(refused)
    }

    fn keep(&mut self, rows: Columns, undo: &mut Undo) -> Result<(), Missed> {
        match undo {
            Undo::Savepoint => self.execute(SAVEPOINT),
            Undo::Anew(taken) => {
                taken.push(rows);
                Ok(())
            }
        }
    }

    fn undo(&mut self, undo: &mut Undo) -> Result<(), Missed> {
        match undo {
            Undo::Savepoint => self.execute(UNDO),
            Undo::Anew(taken) => {
                self.session = None;
                self.begin()?;
                let taken: Vec<&Columns> = taken.iter().collect();
                if taken.is_empty() {
                    return Ok(());
                }
                self.put(&taken, None)
            }
        }
    }

    fn too_many(&self, refused: &[(usize, String)]) -> Error {
        let most = self.shard.plan.refused_most;
        let (_, last) = refused.last().expect("they are too many");
        Error::Target {
            target: self.shard.plan.name.clone(),
            class: TargetFault::Other,
            message: format!(
                "refused more than {most} rows of one chunk, the last: {last}; --reject-limit allows more"
            ),
        }
    }
}
