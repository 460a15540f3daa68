//! Calls of a dump: the rows of each are written to a file while they come.

use std::fs::{self, File};
use std::io::{self, Write};
use std::sync::Arc;

use crate::drive::live::Live;
use inrush_engines::engine::extract::Sink;
use inrush_engines::engine::{Done, Ns, Outcome, Ticket};
use inrush_rows::clock::Clock;
use inrush_rows::encode::{encoder, Encoder};
use inrush_rows::error::Error;
use inrush_rows::plan::{DumpPlan, TablePlan};
use inrush_rows::rows::Columns;

/// Text is written when there is so much of it.
const WRITE_BYTES: usize = 1 << 20;

/// One operation of one session.
pub struct Dump {
    clock: Clock,
    plan: DumpPlan,
    encoder: Box<dyn Encoder>,
    text: Vec<u8>,
    /// Of the present call. None of an engine without answers: there is nothing to write.
    file: Option<Open>,
    writes: bool,
    rows: u64,
    first_ns: Option<Ns>,
    /// Why its file cannot be written; the call is then cancelled.
    failure: Option<String>,
    live: Arc<Live>,
}

struct Open {
    file: File,
    path: String,
    bytes: u64,
}

impl Dump {
    /// Makes the folder. writes: the engine answers. Errors: a folder that cannot be made or written to.
    pub fn new(
        clock: Clock,
        plan: &DumpPlan,
        table: &TablePlan,
        writes: bool,
        live: Arc<Live>,
    ) -> Result<Dump, Error> {
        if writes {
            fs::create_dir_all(&plan.folder)
                .map_err(|e| Error::io(format!("making the folder {} of a dump", plan.folder), e))?;
            let tried = format!("{}/{}-tried", plan.folder, plan.name);
            File::create(&tried)
                .and_then(|_| fs::remove_file(&tried))
                .or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
                .map_err(|e| Error::io(format!("writing to the folder {} of a dump", plan.folder), e))?;
        }
        let encoder = encoder("csv", &plan.written(table))?;
        Ok(Dump {
            clock,
            plan: plan.clone(),
            encoder,
            text: Vec::with_capacity(2 * WRITE_BYTES),
            file: None,
            writes,
            rows: 0,
            first_ns: None,
            failure: None,
            live,
        })
    }

    /// Opens the file of a call, before it is sent.
    pub fn open(&mut self, ticket: Ticket) -> Result<(), Error> {
        self.discard();
        self.text.clear();
        (self.rows, self.first_ns) = (0, None);
        if self.writes {
            let path = self.plan.path(ticket);
            let file = File::create(&path).map_err(|e| Error::io(format!("writing {path}"), e))?;
            self.file = Some(Open { file, path, bytes: 0 });
        }
        Ok(())
    }

    pub fn first_ns(&self) -> Option<Ns> {
        self.first_ns
    }

    /// Why the run cannot go on.
    pub fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    /// The call as its file shows it: it has ended when the file lies on the disk, and its bytes are the file's.
    pub fn closed(&mut self, done: Done) -> Done {
        if done.outcome != Outcome::Ok || self.failure.is_some() {
            self.discard();
            return done;
        }
        self.write();
        let Some(open) = self.file.take() else { return done };
        if let Err(error) = open.file.sync_data() {
            self.failed(&open.path, &error);
        }
        if self.failure.is_some() {
            // Half a file would be taken for a whole one.
            let _ = fs::remove_file(&open.path);
        }
        Done { done_ns: self.clock.now(), bytes: open.bytes, ..done }
    }

    /// Whether the engine counted other rows than it handed over.
    pub fn broken(&self, rows: u64) -> Option<(Outcome, String)> {
        let why = || format!("{} rows were written of {rows} that the engine counted", self.rows);
        (self.writes && self.rows != rows).then(|| (Outcome::Wrong, why()))
    }

    fn write(&mut self) {
        let Some(open) = self.file.as_mut() else { return self.text.clear() };
        let written = open.file.write_all(&self.text);
        open.bytes += self.text.len() as u64;
        self.text.clear();
        if let Err(error) = written {
            let path = open.path.clone();
            self.failed(&path, &error);
        }
    }

    /// The rest of the answer is of no use.
    #[cold]
    fn failed(&mut self, path: &str, error: &dyn std::fmt::Display) {
        if self.failure.is_none() {
            self.failure = Some(format!("writing {path}: {error}"));
            if let Some(cancel) = self.live.canceller() {
                cancel();
            }
        }
    }

    /// A call that failed has no file.
    fn discard(&mut self) {
        if let Some(open) = self.file.take() {
            // Where it cannot be removed its rows are too few, and the proof says so.
            let _ = fs::remove_file(open.path);
        }
    }
}

impl Drop for Dump {
    fn drop(&mut self) {
        self.discard();
    }
}

impl Sink for Dump {
    fn first(&mut self) {
        self.first_ns = Some(self.clock.now());
    }

    fn rows(&mut self, batch: &Columns) {
        if self.failure.is_some() {
            return;
        }
        self.rows += batch.rows as u64;
        if let Err(error) = self.encoder.encode(batch, &mut self.text) {
            let path = self.file.as_ref().map_or(String::new(), |open| open.path.clone());
            self.failed(&path, &error);
        }
        if self.text.len() >= WRITE_BYTES {
            self.write();
        }
    }
}
