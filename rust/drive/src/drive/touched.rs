//! Rows of a table that calls by key insert, change and delete, and what an answer or a proof may find of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::proof::{Known, Ledger, State};
use inrush_engines::engine::{Ns, OpId};
use inrush_engines::mix::Shared;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{OpPlan, RowCall, Segment};
use inrush_rows::rows::changes::{Changes, Versions};
use inrush_rows::rows::Generators;

/// Of one table, for the whole run.
pub struct Touched {
    pub ledger: Ledger,
    pub changes: Changes,
    /// The operations that change rows of it.
    changing: Vec<Changing>,
    /// Some delete rows of it.
    deletes: bool,
    /// Calls of an operation that earlier segments have made. Touched once per segment, never between calls.
    calls: Mutex<HashMap<OpId, u64>>,
}

struct Changing {
    versions: Versions,
    params: Arc<Shared>,
    /// Of the roles that call it.
    sessions: Vec<u64>,
}

impl Touched {
    /// None: no call by key changes the table.
    pub fn of(generators: &Generators, table: usize) -> Result<Option<Touched>, Error> {
        let plan = generators.plan();
        let Some(changes) = Changes::of(plan, table).map_err(Error::Plan)? else { return Ok(None) };
        let mut changing = Vec::new();
        for (id, op) in plan.operations.iter().enumerate().filter(|(_, op)| op.table == Some(table)) {
            let Some(versions) = Versions::of(plan, op) else { continue };
            let drives = plan.segments.iter().filter_map(|segment| match segment {
                Segment::Drive(drive) => Some(drive),
                _ => None,
            });
            let roles = drives.flat_map(|drive| &drive.roles);
            let calling = roles.filter(|role| role.operations.iter().any(|w| w.operation == op.name));
            let mut sessions: Vec<u64> = calling.map(|role| u64::from(role.sessions)).collect();
            sessions.sort_unstable();
            sessions.dedup();
            changing.push(Changing { versions, params: Shared::new(generators, id, "")?, sessions });
        }
        let ledger = Ledger::new(changes.rows);
        let deletes = |op: &OpPlan| op.table == Some(table) && op.does == Some(RowCall::Delete);
        let deletes = plan.operations.iter().any(deletes);
        Ok(Some(Touched { ledger, changes, changing, deletes, calls: Mutex::default() }))
    }

    /// The table is fresh.
    pub fn reset(&self) {
        self.ledger.reset();
        self.calls.lock().unpoisoned().clear();
    }

    /// Calls of `op` before the present repetition of the present segment.
    pub fn calls_before(&self, op: OpId) -> u64 {
        self.calls.lock().unpoisoned().get(&op).copied().unwrap_or(0)
    }

    /// So many tickets were taken by a role that calls `op`.
    pub fn add_calls(&self, op: OpId, taken: u64) {
        *self.calls.lock().unpoisoned().entry(op).or_default() += taken;
    }

    /// Whether a call that makes `version` has drawn `row`.
    pub fn is_of(&self, row: u64, version: u64) -> bool {
        self.changing.iter().any(|of| {
            let call = of.versions.call(version);
            call.is_some_and(|call| of.sessions.iter().any(|&sessions| of.params.draws(call, row, sessions)))
        })
    }

    /// Whether row `row` may be there in `version`, by what is known of it. loaded: rows of the table that were loaded, the
    /// first ones.
    #[inline]
    pub fn may_be(&self, row: u64, version: u64, known: Known, loaded: u64) -> bool {
        match known {
            Known::Is(State::There { version: is }) => is == version,
            Known::Is(State::Untouched) => version == 0 && row < loaded,
            Known::Is(State::Absent) => false,
            Known::Unsure(_) => version == 0 || self.is_of(row, version),
        }
    }

    /// Whether a row must be there.
    pub fn must_be(known: Known, row: u64, loaded: u64) -> bool {
        match known {
            Known::Is(State::There { .. }) => true,
            Known::Is(State::Untouched) => row < loaded,
            Known::Is(State::Absent) | Known::Unsure(_) => false,
        }
    }
}

impl Touched {
    /// A call was acknowledged. loaded: as of `may_be`.
    pub fn done(&self, does: RowCall, change: Change, loaded: u64, sent: Ns, done: Ns) {
        let may_be_gone = self.deletes || change.row >= loaded;
        let was_there = (does == RowCall::Update && may_be_gone).then_some(change.row < loaded);
        self.ledger.done(change.row, made(does, change.version), was_there, sent, done);
    }

    /// Why an acknowledged call that has changed no row has not done what it was to do; `None`: it may have found none.
    /// settled: rows of the table that were loaded before.
    #[cold]
    pub fn idle(&self, does: RowCall, row: u64, settled: u64, sent: Ns) -> Option<String> {
        // A row that was loaded stays where nothing deletes, whatever else is under way.
        let stays = !self.deletes && row < settled;
        let was_there = || stays || Self::must_be(self.ledger.found(row, sent), row, settled);
        match does {
            RowCall::Read => None,
            RowCall::Insert => Some(format!("no row was added; it was row {row} of the table")),
            RowCall::Write => Some(format!("no row was added or changed; it was row {row} of the table")),
            RowCall::Update => was_there().then(|| format!("no row was changed; row {row} was there before")),
            RowCall::Delete => was_there().then(|| format!("no row was deleted; row {row} was there before")),
        }
    }
}

/// The row of a call that adds, changes or deletes it, and the version that it makes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Change {
    pub row: u64,
    pub version: u64,
}

/// What an acknowledged call has made of its row.
fn made(does: RowCall, version: u64) -> State {
    match does {
        RowCall::Delete => State::Absent,
        RowCall::Insert => State::There { version: 0 },
        RowCall::Update | RowCall::Write | RowCall::Read => State::There { version },
    }
}
