//! Batches of files for many sessions: one thread reads ahead into a ring, each ticket has its slot.
//!
//! Sessions share no lock with each other: ticket `k` waits at slot `k mod ring` alone, and only the
//! reading thread meets it there. A full ring holds the reader back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use crate::error::Error;

use super::super::columns::Columns;
use super::{FileRows, Position};

/// What a session takes for one ticket, beside the rows themselves.
#[derive(Debug, Clone)]
pub struct FileBatch<P> {
    /// Where the batch after this one begins: what a ledger keeps to go on from.
    pub after: Position,
    /// What `prove` made of the rows; to be merged once they are acknowledged.
    pub proof: P,
}

/// How much there was, known once the last batch has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSummary {
    pub batches: u64,
    pub end: Position,
}

/// A reader of files and its ring. Dropping it ends the thread.
pub struct FileFeed<P> {
    ring: Arc<Ring<P>>,
    reader: Option<JoinHandle<()>>,
}

struct Ring<P> {
    slots: Vec<Slot<P>>,
    /// Number of batches; `u64::MAX` until known.
    batches: AtomicU64,
    stop: AtomicBool,
    end: Mutex<End>,
}

#[derive(Default)]
struct End {
    summary: Option<FileSummary>,
    failure: Option<Error>,
}

struct Slot<P> {
    state: Mutex<SlotState<P>>,
    changed: Condvar,
}

struct SlotState<P> {
    full: Option<(u64, FileBatch<P>)>,
    /// The rows of `full`, or memory to read into.
    columns: Columns,
}

impl<P: Send + 'static> FileFeed<P> {
    /// Reads `rows` in batches of `batch_rows`, at most `ring` ahead of the slowest session.
    ///
    /// `prove` sees every batch on the reading thread. `ring` is at least the number of sessions.
    pub fn start(
        rows: FileRows,
        batch_rows: usize,
        ring: usize,
        prove: impl FnMut(&Columns) -> P + Send + 'static,
    ) -> Result<FileFeed<P>, Error> {
        let slot = |_| Slot {
            state: Mutex::new(SlotState { full: None, columns: rows.columns() }),
            changed: Condvar::new(),
        };
        let ring = Arc::new(Ring {
            slots: (0..ring.max(1)).map(slot).collect(),
            batches: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
            end: Mutex::default(),
        });
        let shared = ring.clone();
        let reader = std::thread::Builder::new()
            .name("inrush-files".into())
            .spawn(move || shared.read(rows, batch_rows, prove))
            .map_err(|e| Error::io("starting the reader of files", e))?;
        Ok(FileFeed { ring, reader: Some(reader) })
    }

    /// Batch `ticket` into `columns`, using its old memory again; `None` behind the last batch.
    ///
    /// Blocks until it has been read. Each ticket is taken once. When reading fails, one caller gets
    /// the error and the others the end.
    pub fn take(&self, ticket: u64, columns: &mut Columns) -> Result<Option<FileBatch<P>>, Error> {
        let slot = self.ring.slot(ticket);
        let mut state = slot.lock();
        loop {
            match state.full.take() {
                Some((held, batch)) if held == ticket => {
                    std::mem::swap(columns, &mut state.columns);
                    slot.changed.notify_all();
                    return Ok(Some(batch));
                }
                other => state.full = other,
            }
            if ticket >= self.ring.batches.load(Ordering::Acquire) || self.ring.stop.load(Ordering::Acquire) {
                return self.ring.end().failure.take().map_or(Ok(None), Err);
            }
            state = slot.changed.wait(state).expect("nothing panics while it holds a slot");
        }
    }

    /// Known once the last batch has been read; also after a failure, up to where it happened.
    pub fn summary(&self) -> Option<FileSummary> {
        self.ring.end().summary
    }

    /// Ends reading; sessions that wait find the end.
    pub fn stop(&self) {
        self.ring.stop.store(true, Ordering::Release);
        self.ring.wake_all();
    }
}

impl<P> Drop for FileFeed<P> {
    fn drop(&mut self) {
        self.ring.stop.store(true, Ordering::Release);
        self.ring.wake_all();
        if let Some(reader) = self.reader.take() {
            // A panic of the reader has left its message; there is no caller to hand it to.
            let _ = reader.join();
        }
    }
}

impl<P> Ring<P> {
    fn read(&self, mut rows: FileRows, batch_rows: usize, mut prove: impl FnMut(&Columns) -> P) {
        let _last = CloseOnExit(self);
        for ticket in 0.. {
            let Some(mut columns) = self.free_slot(ticket) else { return };
            let read = rows.next_batch(batch_rows, &mut columns);
            if !matches!(read, Ok(1..)) {
                let mut end = self.end();
                end.summary = Some(FileSummary { batches: ticket, end: rows.position() });
                end.failure = read.err();
                drop(end);
                self.batches.store(ticket, Ordering::Release);
                return;
            }
            let batch = FileBatch { after: rows.position(), proof: prove(&columns) };
            let slot = self.slot(ticket);
            let mut state = slot.lock();
            state.columns = columns;
            state.full = Some((ticket, batch));
            slot.changed.notify_all();
        }
    }

    /// Memory for batch `ticket` once its slot has been emptied; `None` when asked to stop.
    fn free_slot(&self, ticket: u64) -> Option<Columns> {
        let slot = self.slot(ticket);
        let mut state = slot.lock();
        loop {
            if self.stop.load(Ordering::Acquire) {
                return None;
            }
            if state.full.is_none() {
                return Some(std::mem::take(&mut state.columns));
            }
            state = slot.changed.wait(state).expect("nothing panics while it holds a slot");
        }
    }

    fn slot(&self, ticket: u64) -> &Slot<P> {
        &self.slots[(ticket % self.slots.len() as u64) as usize]
    }

    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().expect("nothing panics while it holds the end")
    }

    /// Taking each lock before waking makes sure that no thread has looked and not yet begun to wait.
    fn wake_all(&self) {
        for slot in &self.slots {
            let _state = slot.lock();
            slot.changed.notify_all();
        }
    }
}

impl<P> Slot<P> {
    fn lock(&self) -> MutexGuard<'_, SlotState<P>> {
        self.state.lock().expect("nothing panics while it holds a slot")
    }
}

/// However the reader ends, no thread waits for it any longer.
struct CloseOnExit<'a, P>(&'a Ring<P>);

impl<P> Drop for CloseOnExit<'_, P> {
    fn drop(&mut self) {
        let ring = self.0;
        if std::thread::panicking() {
            let failure = "the reader of files ended early; this is a fault of inrush";
            ring.end().failure = Some(Error::Plan(failure.into()));
        }
        if ring.batches.load(Ordering::Acquire) == u64::MAX {
            ring.stop.store(true, Ordering::Release);
        }
        ring.wake_all();
    }
}
