//! Work in a thread of its own, as its starter sees it: events out of it, a wish to stop into it, its end.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::Error;

/// Events of work while it goes on; one of the last kind is its failure.
pub trait WorkEvent: Send + 'static {
    fn failed(kind: &'static str, message: String) -> Self;
}

/// An event as it crosses the border.
impl WorkEvent for serde_json::Value {
    fn failed(kind: &'static str, message: String) -> serde_json::Value {
        serde_json::json!({"event": "failed", "kind": kind, "message": message})
    }
}

/// Dropping it asks the work to stop and waits for it.
pub struct Handle<E: WorkEvent> {
    events: Receiver<E>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl<E: WorkEvent> Handle<E> {
    /// Starts `work` in a thread of this name. It sends `events`, and looks at `stop`.
    pub fn start(
        name: &str,
        events: Receiver<E>,
        stop: Arc<AtomicBool>,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<Handle<E>, Error> {
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)
            .map_err(|e| Error::io(format!("starting the thread {name}"), e))?;
        Ok(Handle { events, stop, thread: Some(thread) })
    }

    /// Events since the last call; waits up to `timeout` for the first.
    pub fn poll(&mut self, timeout: Duration) -> Vec<E> {
        let mut events = Vec::new();
        match self.events.recv_timeout(timeout) {
            Ok(event) => events.push(event),
            // The thread is gone without a last word only if it panicked.
            Err(RecvTimeoutError::Disconnected) => {
                if self.thread.take().is_some_and(|t| t.join().is_err()) {
                    let message = "the core broke an assumption of its own; see the lines above".to_owned();
                    events.push(E::failed("bug", message));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        events.extend(self.events.try_iter());
        events
    }

    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub fn done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl<E: WorkEvent> Drop for Handle<E> {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // Its panic, if any, was printed by the panic hook.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, Sender};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[derive(Debug, PartialEq)]
    enum Said {
        Step(u32),
        Failed(&'static str),
    }

    impl WorkEvent for Said {
        fn failed(kind: &'static str, _message: String) -> Said {
            Said::Failed(kind)
        }
    }

    fn started(work: impl FnOnce(Sender<Said>, Arc<AtomicBool>) + Send + 'static) -> Handle<Said> {
        let (send, events) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = stop.clone();
        Handle::start("work", events, stop, move || work(send, seen)).unwrap()
    }

    /// All events until it has ended.
    fn to_its_end(handle: &mut Handle<Said>) -> Vec<Said> {
        let mut events = Vec::new();
        loop {
            let done = handle.done();
            events.extend(handle.poll(if done { Duration::ZERO } else { LONG }));
            if done {
                return events;
            }
        }
    }

    #[test]
    fn events_come_in_order_and_a_panic_is_told_once_as_a_bug_of_ours() {
        let mut handle = started(|events, _| {
            events.send(Said::Step(1)).unwrap();
            events.send(Said::Step(2)).unwrap();
            panic!("on purpose");
        });
        assert_eq!(to_its_end(&mut handle), [Said::Step(1), Said::Step(2), Said::Failed("bug")]);
        assert!(handle.done() && handle.poll(Duration::ZERO).is_empty());
    }

    #[test]
    fn what_is_dropped_is_asked_to_stop_and_waited_for() {
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let handle = started(move |_, stop| {
            while !stop.load(Relaxed) {
                std::thread::yield_now();
            }
            end.store(true, Relaxed);
        });
        drop(handle);
        assert!(ended.load(Relaxed));
    }
}
