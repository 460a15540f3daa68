//! A session as the driver's own thread sees it while it works, and how that thread ends its calls.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use inrush_engines::engine::abort::Abort;
use inrush_engines::engine::{Canceller, Ns};
use inrush_rows::lock::Unpoisoned;

/// What the driver's own thread sees of a session while it works. One writer, relaxed.
#[derive(Default)]
#[repr(align(64))]
pub struct Live {
    /// When the running call was sent; 0 between calls.
    pub busy_since: AtomicU64,
    pub rows: AtomicU64,
    pub ops: AtomicU64,
    pub errors: AtomicU64,
    /// When it began with the present repetition; 0: not known.
    pub began: AtomicU64,
    /// Set by the watchdog when it has cancelled the running call.
    pub cancelled: AtomicBool,
    /// When the call was sent that did not end and lost its connection for it; 0: no such call.
    closed: AtomicU64,
    /// Of the present connection; taken when one is made or a call is to be cancelled, never between calls.
    canceller: Mutex<Option<Arc<Canceller>>>,
    /// Closes the sockets of the session's thread.
    pub abort: Arc<Abort>,
}

impl Live {
    pub fn clear(&self) {
        for counter in [&self.busy_since, &self.rows, &self.ops, &self.errors, &self.began, &self.closed] {
            counter.store(0, Relaxed);
        }
        self.cancelled.store(false, Relaxed);
    }

    /// The session has a connection; its calls are cancelled in this way.
    pub fn connected(&self, canceller: Option<Canceller>) {
        *self.present() = canceller.map(Arc::new);
    }

    /// It has none: no call is under way.
    pub fn disconnected(&self) {
        self.busy_since.store(0, Relaxed);
        *self.present() = None;
    }

    pub fn canceller(&self) -> Option<Arc<Canceller>> {
        self.present().clone()
    }

    /// The call sent at `sent_ns` still runs.
    pub fn is_calling(&self, sent_ns: Ns) -> bool {
        self.busy_since.load(Relaxed) == sent_ns
    }

    /// Ends the call sent at `sent_ns` with its connection.
    pub fn close(&self, sent_ns: Ns) {
        self.closed.store(sent_ns, Relaxed);
        self.abort.close();
    }

    pub fn was_closed(&self, sent_ns: Ns) -> bool {
        self.closed.load(Relaxed) == sent_ns
    }

    /// Whether the call that has just failed, or was the oldest in flight, is the one that the watchdog cancelled.
    #[inline]
    pub fn was_cancelled(&self, failed: bool, oldest: bool) -> bool {
        // Looked at before it is taken: the exchange alone is a seventh of a no-op call.
        let cancelled = self.cancelled.load(Relaxed) && (failed || oldest);
        cancelled && self.cancelled.swap(false, Relaxed) && failed
    }

    fn present(&self) -> MutexGuard<'_, Option<Arc<Canceller>>> {
        self.canceller.lock().unpoisoned()
    }
}
