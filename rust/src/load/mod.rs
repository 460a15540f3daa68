//! `inrush load`: client (read, parse) → load server (place, buffer, several writers) → shards.
//!
//! Both ends are processes of their own. A file is cut into chunks, the same ones each time. A chunk's rows are
//! stored on a shard together with its line in that shard's ledger, in one transaction where the engine has them,
//! so that a load killed anywhere goes on without a row lost or doubled. Backpressure is TCP's: queues are
//! bounded, and a server that waits for a shard reads no more from its clients.
//!
//! Reading order: `frame` (what they say), `wire`, `tls` and `certificate` (how it gets there), `client`, `link` (the way to a
//! server), `server` (who may come in), `import`, `place` and `scatter` (which shard), `queue`, `shard` (storing).

pub mod certificate;
mod client;
mod frame;
mod import;
pub mod link;
pub mod place;
mod queue;
mod scatter;
mod server;
mod shard;
mod tls;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{json, Value as Json};

use crate::error::Error;
use crate::handle::{self, Told};

pub use client::{ClientFile, ClientPlan};
pub use import::ImportPlan;
pub use server::ServerPlan;
pub use shard::{LedgerPlan, ShardPlan};

/// How often both ends say how far they are.
const TELL: Duration = Duration::from_millis(250);

/// One end of a load, fully spelled out.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum LoadPlan {
    Client(ClientPlan),
    Server(ServerPlan),
}

/// A running end.
pub type Handle = handle::Handle<Json>;

/// Where an end tells what happens, and learns that it should stop.
#[derive(Clone)]
pub(crate) struct Desk {
    events: Sender<Json>,
    pub stop: Arc<AtomicBool>,
}

impl Desk {
    pub fn tell(&self, event: Json) {
        // Nobody listens any more: the process is about to end.
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
    let desk = Desk { events, stop: stop.clone() };
    Handle::start("inrush-load", receiver, stop, move || {
        let ended = match plan {
            LoadPlan::Client(plan) => client::run(plan, &desk),
            LoadPlan::Server(plan) => server::run(plan, &desk),
        };
        desk.tell(ended.unwrap_or_else(|e| Json::failed(e.kind(), e.to_string())));
    })
}

impl Told for Json {
    fn failed(kind: &'static str, message: String) -> Json {
        json!({"event": "failed", "kind": kind, "message": message})
    }
}

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

    /// Takes `amount`; says how long to wait first. What was not used while idle is not saved up beyond a second.
    pub fn take(&mut self, amount: f64) -> Duration {
        let earned = self.began.elapsed().as_secs_f64() * self.per_s;
        if earned - self.taken > self.per_s {
            self.taken = earned - self.per_s;
        }
        self.taken += amount;
        Duration::try_from_secs_f64((self.taken - earned) / self.per_s).unwrap_or(Duration::ZERO)
    }
}

/// Sleeps in steps, so that a stop is seen.
pub(crate) fn pause(wait: Duration, desk: &Desk) {
    let until = Instant::now() + wait;
    while !desk.stopped() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}
