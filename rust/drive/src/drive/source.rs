//! Where a role's rows come from, and how many of each table are on their way or acknowledged.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use crate::drive::input::{Unchanged, WholeFiles};
use crate::drive::touched::Touched;
use crate::proof::Unanswered;
use inrush_engines::engine::Ticket;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{
    ChecksumItem, InputPlan, InputWay, ProofPlan, RowSource, RunPlan, Segment, TablePlan,
};
use inrush_rows::rows::files::{FileFeed, FileRows, FileSummary};
use inrush_rows::rows::{Columns, Expected, Generators, RowGen};

/// Batches read ahead of the sessions, beyond one for each.
const AHEAD: usize = 4;

/// Rows of one table, by batch.
pub enum Source {
    Generated(Arc<RowGen>),
    Files(Box<Files>),
    /// Files as they are: a call has the bytes of one.
    Whole(Box<WholeFiles>),
}

/// The user's files, read once per repetition.
pub struct Files {
    table: TablePlan,
    items: Vec<ChecksumItem>,
    batch_rows: usize,
    ring: usize,
    feed: Mutex<Arc<FileFeed<Expected>>>,
    /// Where they were made for the run.
    made: Option<Unchanged>,
}

impl Source {
    pub fn of(
        generators: &Generators,
        table: usize,
        batch_rows: u32,
        sessions: u32,
        dump: Option<&str>,
        input: Option<&InputPlan>,
    ) -> Result<Source, Error> {
        let plan = generators.plan();
        let spec = &plan.tables[table];
        let files = |spec, made| -> Result<Source, Error> {
            Ok(Source::Files(Box::new(Files {
                made,
                ..Files::open(plan, table, spec, batch_rows, sessions)?
            })))
        };
        if let Some(input) = input {
            return match input.way {
                InputWay::Parsed => files(input.as_files(spec), Some(Unchanged::open(input)?)),
                InputWay::Client | InputWay::Server => {
                    Ok(Source::Whole(Box::new(WholeFiles::open(input, generators.of(table)?.as_ref())?)))
                }
            };
        }
        match (dump, &spec.source) {
            (Some(dump), _) => files(dumped(plan, dump, spec)?, None),
            (None, RowSource::Generated { .. }) => Ok(Source::Generated(generators.of(table)?)),
            (None, RowSource::Files { .. }) => files(spec.clone(), None),
        }
    }

    /// Room for a batch.
    pub fn columns(&self, batch_rows: usize) -> Columns {
        match self {
            Source::Generated(generator) => generator.columns(batch_rows),
            Source::Files(files) => Columns::of(&files.table),
            Source::Whole(_) => Columns::default(),
        }
    }

    /// The rows of the next repetition are those of the first again.
    pub fn restart(&self) -> Result<(), Error> {
        match self {
            Source::Generated(_) | Source::Whole(_) => Ok(()),
            Source::Files(files) => files.restart(),
        }
    }

    /// Fills `out` with rows `first .. first + rows`, or with batch `ticket` of the files.
    ///
    /// Returns what they must add up to if only reading them shows that, or `None` when the files have ended.
    pub fn fill(&self, ticket: Ticket, first: u64, rows: usize, out: &mut Columns) -> Result<Filled, Error> {
        match self {
            Source::Generated(generator) => {
                generator.fill(first, rows, out);
                Ok(Filled::Rows)
            }
            Source::Files(files) => {
                let feed = files.feed.lock().unpoisoned().clone();
                Ok(feed.take(ticket, out)?.map_or(Filled::End, |batch| Filled::Proven(batch.proof)))
            }
            Source::Whole(_) => unreachable!("the bytes of a file are sent, and its rows are not made"),
        }
    }

    /// After a repetition. Errors: a file that was made for the run is not what it was.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Source::Generated(_) => Ok(()),
            Source::Files(files) => files.made.as_ref().map_or(Ok(()), Unchanged::check),
            Source::Whole(files) => files.check(),
        }
    }

    /// Rows stored and rejected so far; `None` for generated rows.
    pub fn summary(&self) -> Option<FileSummary> {
        match self {
            Source::Generated(_) | Source::Whole(_) => None,
            Source::Files(files) => files.feed.lock().unpoisoned().summary(),
        }
    }
}

/// What `Source::fill` did.
pub enum Filled {
    Rows,
    /// Rows of a file, and what they add up to.
    Proven(Expected),
    End,
}

impl Files {
    fn open(
        plan: &RunPlan,
        table: usize,
        spec: TablePlan,
        batch_rows: u32,
        sessions: u32,
    ) -> Result<Files, Error> {
        let (items, batch_rows, ring) =
            (checksum_items(plan, table), batch_rows as usize, sessions as usize + AHEAD);
        let feed = Mutex::new(Arc::new(Files::feed(&spec, &items, batch_rows, ring)?));
        Ok(Files { table: spec, items, batch_rows, ring, feed, made: None })
    }

    fn restart(&self) -> Result<(), Error> {
        let mut feed = self.feed.lock().unpoisoned();
        *feed = Arc::new(Files::feed(&self.table, &self.items, self.batch_rows, self.ring)?);
        Ok(())
    }

    fn feed(
        table: &TablePlan,
        items: &[ChecksumItem],
        batch_rows: usize,
        ring: usize,
    ) -> Result<FileFeed<Expected>, Error> {
        let empty = Expected::empty(items, &Columns::of(table))?;
        let mut hashes = Vec::with_capacity(batch_rows);
        FileFeed::start(FileRows::open(table)?, batch_rows, ring, move |columns| {
            let mut proof = empty.clone();
            proof.add(columns, &mut hashes);
            proof
        })
    }
}

/// The table with the files of a dump as its rows: those that it has left, where it was cut.
fn dumped(plan: &RunPlan, dump: &str, spec: &TablePlan) -> Result<TablePlan, Error> {
    let found = plan.operations.iter().find(|op| op.name == dump).and_then(|op| op.dump.as_ref());
    let found = found.ok_or_else(|| Error::Plan(format!("there is no dump {dump}")))?;
    let mut table = found.as_files(spec);
    if let RowSource::Files { paths, .. } = &mut table.source {
        paths.retain(|path| Path::new(path).exists());
        if paths.is_empty() {
            return Err(Error::Plan(format!("{dump} has left no file in {} to load from", found.folder)));
        }
    }
    Ok(table)
}

/// The items of the first proof of `table`: what every batch is summed for while it is read.
fn checksum_items(plan: &RunPlan, table: usize) -> Vec<ChecksumItem> {
    plan.segments
        .iter()
        .flat_map(|segment| match segment {
            Segment::Proof { proofs, .. } => proofs.as_slice(),
            Segment::Drive(drive) => drive.repeat.as_ref().map_or(&[][..], |r| r.proofs.as_slice()),
            _ => &[],
        })
        .find(|proof| proof.table == table)
        .map_or(Vec::new(), |proof| proof.items.clone())
}

/// Rows of one table since it was fresh: sent, acknowledged, and what acknowledged file rows add up to.
#[derive(Default)]
#[repr(align(64))]
pub struct TableCount {
    issued: AtomicU64,
    acknowledged: AtomicU64,
    /// Rows that are known to have lain in the table when the present repetition began: the first ones.
    settled: AtomicU64,
    /// Touched once per session and repetition, never between calls.
    stored: Mutex<Option<Expected>>,
    /// Where a full queue ended the role that writes: no row from here on was sent.
    cut: Mutex<Option<u64>>,
    /// As `stored`: measured inserts that may be there or not.
    unanswered: Mutex<Vec<Unanswered>>,
    /// Where calls by key change rows.
    touched: Option<Box<Touched>>,
}

impl TableCount {
    /// Of a table of the plan, for the whole run. Errors: calls by key that cannot be kept track of.
    pub fn of(generators: &Generators, table: usize) -> Result<TableCount, Error> {
        let touched = Touched::of(generators, table)?.map(Box::new);
        Ok(TableCount { touched, ..TableCount::default() })
    }

    #[inline]
    pub fn touched(&self) -> Option<&Touched> {
        self.touched.as_deref()
    }

    pub fn issue(&self, rows: u64) {
        self.issued.fetch_add(rows, Relaxed);
    }

    pub fn acknowledge(&self, rows: u64) {
        self.acknowledged.fetch_add(rows, Relaxed);
    }

    pub fn issued(&self) -> u64 {
        self.issued.load(Relaxed)
    }

    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Relaxed)
    }

    /// No row from `end` on was sent.
    pub fn cut(&self, end: u64) {
        *self.cut.lock().unpoisoned() = Some(end);
    }

    /// What a proof asks of the table: of one that was cut, the rows that were sent.
    pub fn asked<'a>(&self, proof: &'a ProofPlan) -> Cow<'a, ProofPlan> {
        match *self.cut.lock().unpoisoned() {
            Some(end) if end < proof.first_row.saturating_add(proof.rows) => {
                let rows = end.saturating_sub(proof.first_row);
                Cow::Owned(ProofPlan { rows, ..proof.clone() })
            }
            _ => Cow::Borrowed(proof),
        }
    }

    /// Between two repetitions, nothing being on its way: the rows acknowledged so far are the table's first ones.
    ///
    /// Where some were not acknowledged, which of them are there is not known; those that lay there before still do.
    pub fn settle(&self) {
        let acknowledged = self.acknowledged();
        if self.issued() == acknowledged {
            self.settled.store(acknowledged, Relaxed);
        }
    }

    pub fn settled(&self) -> u64 {
        self.settled.load(Relaxed)
    }

    /// A session's share of what was read from files and acknowledged.
    pub fn store(&self, share: Expected) {
        let mut stored = self.stored.lock().unpoisoned();
        match stored.as_mut() {
            Some(sum) => sum.merge(&share),
            None => *stored = Some(share),
        }
    }

    pub fn stored(&self) -> Option<Expected> {
        self.stored.lock().unpoisoned().clone()
    }

    /// A session's inserts of which no answer came; leaves none behind.
    pub fn leave_open(&self, inserts: &mut Vec<Unanswered>) {
        self.unanswered.lock().unpoisoned().append(inserts);
    }

    pub fn unanswered(&self) -> Vec<Unanswered> {
        self.unanswered.lock().unpoisoned().clone()
    }

    pub fn reset(&self) {
        self.issued.store(0, Relaxed);
        self.acknowledged.store(0, Relaxed);
        self.settled.store(0, Relaxed);
        *self.cut.lock().unpoisoned() = None;
        *self.stored.lock().unpoisoned() = None;
        self.unanswered.lock().unpoisoned().clear();
        if let Some(touched) = &self.touched {
            touched.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_was_lost_unsettles_none_of_the_rows_before_it() {
        let count = TableCount::default();
        count.issue(100);
        count.settle();
        assert_eq!(count.settled(), 0, "none was acknowledged");
        count.acknowledge(100);
        count.settle();
        assert_eq!(count.settled(), 100);
        count.issue(20);
        count.acknowledge(10);
        count.settle();
        assert_eq!(count.settled(), 100);
        count.reset();
        assert_eq!(count.settled(), 0, "the table is fresh");
    }

    #[test]
    fn of_a_table_that_was_cut_a_proof_asks_for_the_rows_that_were_sent() {
        let count = TableCount::default();
        let proof: ProofPlan = serde_json::from_value(serde_json::json!({
            "table": 0, "first_row": 20, "rows": 100, "screen": "SELECT 1", "items": []}))
        .expect("a proof");
        assert_eq!(count.asked(&proof).rows, 100);
        for (end, rows) in [(70, 50), (120, 100), (500, 100), (10, 0)] {
            count.cut(end);
            let asked = count.asked(&proof);
            assert_eq!((asked.first_row, asked.rows), (20, rows), "cut at {end}");
        }
        // The next repetition fills the table anew.
        count.cut(70);
        count.reset();
        assert_eq!(count.asked(&proof).rows, 100);
    }
}
