//! Ending calls off the driver's thread, because a server that hangs also hangs the thread that asks it to cancel.
//!
//! First the server is asked: a few threads, each request limited in time. A call that runs on all the same loses its
//! connection, which needs no answer ([`inrush_engines::engine::abort`]).

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::drive::live::Live;
use inrush_engines::engine::abort::Abort;
use inrush_engines::engine::{Canceller, Ns};
use inrush_rows::lock::Unpoisoned;

/// Requests at once: a server is not to be flooded by them.
const THREADS: usize = 16;
/// One request, its connection and login included.
const REQUEST_MOST: Duration = Duration::from_secs(2);
/// A request that has waited so long is dropped.
const WAIT_MOST: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A call that was to be cancelled has so long to end before its connection is closed.
pub const CANCELLED_MOST_NS: Ns = 300_000_000;

/// Threads that ask servers to cancel. They start with the first requests; none is ever waited for, and each ends by
/// itself when this is dropped, what was requested before included.
pub struct Cancels {
    requests: Sender<Request>,
    shared: Arc<Shared>,
    threads: usize,
}

/// The call that a session sent at `sent_ns`, by the connection that it had then.
struct Request {
    live: Arc<Live>,
    sent_ns: Ns,
    canceller: Arc<Canceller>,
    made: Instant,
}

type Running = Mutex<Option<(Instant, Arc<Abort>)>>;

struct Shared {
    waiting: Mutex<Receiver<Request>>,
    /// By thread: what it does, since when, and how that is ended.
    running: [Running; THREADS],
    alive: AtomicUsize,
}

impl Cancels {
    pub fn new() -> Cancels {
        let (requests, waiting) = channel();
        let shared =
            Shared { waiting: Mutex::new(waiting), running: Default::default(), alive: AtomicUsize::new(0) };
        Cancels { requests, shared: Arc::new(shared), threads: 0 }
    }

    /// Asks the server, soon, to end the call that `live` sent at `sent_ns`. Never blocks.
    pub fn request(&mut self, live: &Arc<Live>, sent_ns: Ns) {
        let Some(canceller) = live.canceller() else { return };
        if self.threads < THREADS {
            self.start_thread();
        }
        let request = Request { live: live.clone(), sent_ns, canceller, made: Instant::now() };
        // The receiver lives as long as `shared`.
        let _ = self.requests.send(request);
    }

    /// Without a thread the server is not asked; the connection is closed in any case.
    fn start_thread(&mut self) {
        let (at, shared) = (self.threads, self.shared.clone());
        shared.alive.fetch_add(1, SeqCst);
        let ask = move || {
            shared.ask(at);
            shared.alive.fetch_sub(1, SeqCst);
        };
        if spawn(ask) {
            self.threads += 1;
        } else {
            self.shared.alive.fetch_sub(1, SeqCst);
        }
        if at == 0 {
            let shared = self.shared.clone();
            spawn(move || shared.limit());
        }
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> bool {
    std::thread::Builder::new().name("inrush-cancel".into()).spawn(work).is_ok()
}

impl Shared {
    /// Request after request, until no more can come.
    fn ask(&self, at: usize) {
        loop {
            let next = locked(&self.waiting).recv();
            let Ok(Request { live, sent_ns, canceller, made }) = next else { return };
            // The connection's next call is not to be hit. One that lost its connection may still run in the server.
            if made.elapsed() > WAIT_MOST || !live.is_calling(sent_ns) && !live.was_closed(sent_ns) {
                continue;
            }
            let abort = Arc::new(Abort::default());
            abort.adopt();
            *locked(&self.running[at]) = Some((Instant::now(), abort));
            canceller();
            *locked(&self.running[at]) = None;
        }
    }

    /// Ends requests that take too long, as long as there are threads.
    fn limit(&self) {
        while self.alive.load(SeqCst) > 0 {
            std::thread::sleep(LOOK_EVERY);
            for running in &self.running {
                if let Some((since, abort)) = &*locked(running) {
                    if since.elapsed() > REQUEST_MOST {
                        abort.give_up();
                    }
                }
            }
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unpoisoned()
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use inrush_engines::engine::abort::register;

    /// A session in a call that was sent at 7, and how often it was cancelled.
    fn calling() -> (Arc<Live>, Arc<AtomicU32>) {
        let (live, cancelled) = (Arc::new(Live::default()), Arc::new(AtomicU32::new(0)));
        let count = cancelled.clone();
        live.connected(Some(Box::new(move || {
            count.fetch_add(1, SeqCst);
        })));
        live.busy_since.store(7, Relaxed);
        (live, cancelled)
    }

    fn wait_for(mut condition: impl FnMut() -> bool) {
        let began = Instant::now();
        while !condition() {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn only_the_call_that_was_meant_is_cancelled() {
        let (meant, hit) = calling();
        let (other, missed) = calling();
        let mut cancels = Cancels::new();
        cancels.request(&other, 6);
        cancels.request(&meant, 7);
        wait_for(|| hit.load(SeqCst) == 1);
        let shared = cancels.shared.clone();
        drop(cancels);
        wait_for(|| shared.alive.load(SeqCst) == 0);
        assert_eq!((hit.load(SeqCst), missed.load(SeqCst)), (1, 0));
    }

    #[test]
    fn a_request_that_a_server_leaves_without_an_answer_is_ended() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (live, _) = calling();
        let ended = Arc::new(AtomicU32::new(0));
        let count = ended.clone();
        live.connected(Some(Box::new(move || {
            let mut socket = TcpStream::connect(address).expect("the kernel answers");
            let _registration = register(socket.as_raw_fd());
            let _ = socket.read(&mut [0; 1]);
            count.fetch_add(1, SeqCst);
        })));
        let mut cancels = Cancels::new();
        let began = Instant::now();
        cancels.request(&live, 7);
        wait_for(|| ended.load(SeqCst) == 1);
        assert!(began.elapsed() > REQUEST_MOST, "it had its time: {:?}", began.elapsed());
    }

    #[test]
    fn requests_that_block_are_few_and_hold_up_none_that_asks_for_more() {
        let (live, _) = calling();
        let blocked = Arc::new(AtomicU32::new(0));
        let count = blocked.clone();
        live.connected(Some(Box::new(move || {
            count.fetch_add(1, SeqCst);
            std::thread::sleep(Duration::from_secs(1));
        })));
        let mut cancels = Cancels::new();
        let began = Instant::now();
        (0..1000).for_each(|_| cancels.request(&live, 7));
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        wait_for(|| blocked.load(SeqCst) == THREADS as u32);
        assert_eq!(cancels.threads, THREADS);
    }
}
