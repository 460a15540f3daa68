//! Decoders against hostile bytes: answers captured from real servers, mutated at random, read by the real sessions.
//!
//! Each decoder has a test beside its engine (`fuzz.rs`), which names its captures (`rust/engines/tests/captures`) and what
//! is done with the bytes. A mutated stream may decode or fail; it must not panic, not hang, and not make us allocate
//! what the bytes that came do not justify. `INRUSH_MUTATIONS` is the number of mutations per decoder (`make fuzz`).

mod allocator;
mod capture;
mod mutate;
mod replay;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use capture::{recorded, save};
pub use replay::{more_than_buffers, stalled, stops, Replay};

use inrush_rows::clock::thread_cpu_ns;
use mutate::Random;

const MUTATIONS: u64 = 2_000;
/// CPU time of one case. A case of real captures takes microseconds.
const CASE_NS: u64 = 2_000_000_000;
/// A case that runs so long does not end.
const HANGS: Duration = Duration::from_secs(120);
/// Messages of failing cases that are shown.
const SHOWN: usize = 5;

/// What a decoder may allocate: so many bytes for each that came, and what it has whatever comes.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub per_byte: usize,
    pub constant: usize,
}

/// Mutates `captures` and gives each stream to `decode`, which says whether it was read to its end without an error.
///
/// Panics where a case did, took too long or allocated too much, with the seed that makes it again
/// (`INRUSH_MUTATION`), and where an unchanged capture is not read: then nothing would be tested.
pub fn survives(name: &str, captures: &[&[u8]], memory: Memory, decode: impl Fn(Replay) -> bool) {
    for (at, capture) in captures.iter().enumerate() {
        assert!(decode(Replay::whole(capture.to_vec())), "{name}: capture {at} is not read as it came");
    }
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (first, last) = match variable("INRUSH_MUTATION") {
        Some(only) => (only, only + 1),
        None => (0, variable("INRUSH_MUTATIONS").unwrap_or(MUTATIONS)),
    };
    let watchdog = Watchdog::start(name);
    let began = Instant::now();
    let (mut failures, mut failed, mut fine) = (Vec::new(), 0u64, 0u64);
    let (mut slowest, mut largest) = ((0, 0), (0usize, 0));
    for case in first..last {
        watchdog.case.store(case, Relaxed);
        let mut random = Random::new(name, case);
        let bytes = mutate::mutated(&mut random, captures);
        let came = bytes.len();
        let stream = Replay::in_pieces(bytes, &mut random);
        let cpu = thread_cpu_ns();
        let (ended, peak) = allocator::peak(|| catch_unwind(AssertUnwindSafe(|| decode(stream))));
        let took = thread_cpu_ns() - cpu;
        let allowed = memory.per_byte * came + memory.constant;
        let wrong = match ended {
            Err(panic) => Some(format!("panicked: {}", text(&*panic))),
            Ok(_) if took > CASE_NS => Some(format!("took {} ms", took / 1_000_000)),
            Ok(_) if peak > allowed => Some(format!("allocated {peak} bytes for {came}, {allowed} allowed")),
            Ok(read) => {
                fine += u64::from(read);
                None
            }
        };
        slowest = slowest.max((took, case));
        largest = largest.max((peak, case));
        if let Some(wrong) = wrong {
            failed += 1;
            if failures.len() < SHOWN {
                failures.push(format!("INRUSH_MUTATION={case}: {wrong}"));
            }
        }
    }
    watchdog.stop();
    eprintln!(
        "{name}: {} mutations in {:.1} s, {fine} of them read, slowest {:.1} ms (case {}), most memory {} KiB (case {})",
        last - first,
        began.elapsed().as_secs_f64(),
        slowest.0 as f64 / 1e6,
        slowest.1,
        largest.0 >> 10,
        largest.1,
    );
    assert!(failures.is_empty(), "{name}: {failed} cases failed:\n{}", failures.join("\n"));
}

/// What `decode` allocated at most, for the tests of single streams.
pub fn peak_bytes<T>(decode: impl FnOnce() -> T) -> (T, usize) {
    allocator::peak(decode)
}

fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let owned = panic.downcast_ref::<String>().cloned();
    owned.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// Ends this process when one case does not end: a test that hangs says nothing.
struct Watchdog {
    case: Arc<AtomicU64>,
    ended: std::sync::mpsc::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Watchdog {
    fn start(name: &str) -> Watchdog {
        let case = Arc::new(AtomicU64::new(0));
        let (ended, end) = std::sync::mpsc::channel::<()>();
        let (watched, name) = (case.clone(), name.to_owned());
        let thread = std::thread::spawn(move || {
            let (mut last, mut since) = (u64::MAX, Instant::now());
            while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = end.recv_timeout(HANGS / 120) {
                let now = watched.load(Relaxed);
                if now != last {
                    (last, since) = (now, Instant::now());
                } else if since.elapsed() > HANGS {
                    eprintln!("{name}: INRUSH_MUTATION={now} hangs");
                    std::process::abort();
                }
            }
        });
        Watchdog { case, ended, thread }
    }

    fn stop(self) {
        drop(self.ended);
        self.thread.join().expect("the watchdog only waits");
    }
}
