//! `inrush load`: client (read, parse) → load server (place, buffer, several writers) → shards.
//!
//! Both ends are processes of their own. A file is cut into chunks, the same ones each time. A chunk's rows are
//! stored on a shard together with its line in that shard's ledger, in one transaction where the engine has them,
//! so that a load killed anywhere goes on without a row lost or doubled. Backpressure is TCP's: queues are
//! bounded, and a server that waits for a shard reads no more from its clients.
//!
//! Reading order: `frame` (the messages), `wire`, `tls` and `certificate` (how they travel), `client`, `link` (the way to a
//! server), `server` (which clients may connect), `import`, `hashers`, `queue`, `raw` (bytes
//! out of their digits), `shard` (storing); `content` (which file is it), `look` (which files are alike),
//! `readback` (is the table what the files are).

pub mod certificate;
mod client;
pub mod content;
mod frame;
#[cfg(test)]
mod fuzz;
mod hashers;
mod import;
mod ipc;
pub mod link;
mod listeners;
pub mod look;
mod placing;
mod plan;
mod queue;
mod raw;
pub mod readback;
mod refusal;
mod server;
mod shard;
mod tls;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value as Json;

use inrush_rows::error::Error;
use inrush_rows::handle::{self, WorkEvent};

pub use client::{ClientFile, ClientPlan};
pub use plan::{ImportPlan, LedgerPlan, ShardPlan};
pub use server::ServerPlan;

/// How often both ends say how far they are.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// One end of a load, fully spelled out.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum LoadPlan {
    Client(ClientPlan),
    Server(ServerPlan),
}

/// A running end.
pub type Handle = handle::Handle<Json>;

/// Where an end reports events, and learns that it should stop.
#[derive(Clone)]
pub(crate) struct EventSender {
    events: Sender<Json>,
    pub stop: Arc<AtomicBool>,
}

impl EventSender {
    pub fn send(&self, event: Json) {
        // There is no receiver any more: the process is about to end.
        let _ = self.events.send(event);
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

pub fn start(plan_json: &str) -> Result<Handle, Error> {
    let plan: LoadPlan = serde_json::from_str(plan_json).map_err(|e| Error::Plan(e.to_string()))?;
    let (events, receiver) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let event_sender = EventSender { events, stop: stop.clone() };
    Handle::start("inrush-load", receiver, stop, move || {
        let ended = match plan {
            LoadPlan::Client(plan) => client::run(plan, &event_sender),
            LoadPlan::Server(plan) => server::run(plan, &event_sender),
        };
        event_sender.send(ended.unwrap_or_else(|e| Json::failed(e.kind(), e.to_string())));
    })
}

/// A thread of the load server panicked, and has said why.
pub(crate) fn broken() -> Error {
    Error::Plan("the load server broke an assumption of its own; see the lines above".into())
}

/// What a bucket saves up at most, in seconds of its rate: enough to make up for a sleep that lasted too long, and far less
/// than a file takes, or files that follow a wait would pass as if nothing held them. A block larger than that waits.
const BURST_S: f64 = 0.05;

/// A token bucket: holds its user to a rate, so that a slow device or a slow shard can be had on any machine.
pub(crate) struct Bucket {
    per_s: f64,
    began: Instant,
    taken: f64,
}

impl Bucket {
    pub fn new(per_s: Option<f64>) -> Option<Bucket> {
        per_s.filter(|rate| *rate > 0.0).map(|per_s| Bucket { per_s, began: Instant::now(), taken: 0.0 })
    }

    /// Takes `amount`; says how long a device of this rate is at it from now.
    pub fn take(&mut self, amount: f64) -> Duration {
        self.take_at(self.began.elapsed().as_secs_f64(), amount)
    }

    /// `take` at `now_s` seconds after it was made. What was not used while idle is not saved up beyond BURST_S.
    fn take_at(&mut self, now_s: f64, amount: f64) -> Duration {
        let earned = now_s * self.per_s;
        self.taken = self.taken.max(earned - BURST_S * self.per_s) + amount;
        Duration::try_from_secs_f64((self.taken - earned) / self.per_s).unwrap_or(Duration::ZERO)
    }
}

/// A slower rate than one row a year is no rate; a clock has no instant behind all of time.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// Sleeps in steps, so that a stop is seen.
pub(crate) fn pause(wait: Duration, event_sender: &EventSender) {
    let until = Instant::now() + wait.min(LONGEST);
    while !event_sender.stopped() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(per_s: f64) -> Bucket {
        Bucket::new(Some(per_s)).unwrap()
    }

    #[test]
    fn no_rate_and_a_rate_of_nothing_are_no_bucket() {
        assert!(Bucket::new(None).is_none() && Bucket::new(Some(0.0)).is_none());
    }

    #[test]
    fn a_small_file_after_a_long_wait_takes_its_time_less_the_burst() {
        let mut held = bucket(1e6);
        // A tenth of a second of bytes, ten seconds after nothing was asked for.
        let wait = held.take_at(10.0, 1e5);
        assert!((wait.as_secs_f64() - (0.1 - BURST_S)).abs() < 1e-6, "{wait:?}");
    }

    #[test]
    fn blocks_of_any_size_come_at_the_rate_though_every_sleep_is_late() {
        for block in [10.0, 1e4, 5e6] {
            let (mut held, mut now_s, mut taken) = (bucket(1e6), 0.0, 0.0);
            while now_s < 20.0 {
                now_s += held.take_at(now_s, block).as_secs_f64() + 1e-3;
                taken += block;
            }
            // A block that is smaller than what a late sleep lets through is limited only by the sleep.
            let rate = taken / now_s;
            assert!(
                rate <= 1e6 * (1.0 + BURST_S / 20.0) && rate >= f64::min(0.99e6, block / 1e-3 * 0.99),
                "{block}: {rate}"
            );
        }
    }

    #[test]
    fn who_waited_longer_than_the_burst_earned_no_more_than_it() {
        let mut held = bucket(100.0);
        assert_eq!(held.take_at(1.0, 5.0), Duration::ZERO);
        assert_eq!(held.take_at(1.0, 1.0), Duration::from_millis(10));
    }
}
