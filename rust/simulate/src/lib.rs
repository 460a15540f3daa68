//! A cluster of clients and data nodes, simulated event by event: one document in, one document out. Pure, off the clock.
//!
//! What travels is a *group*: operations of one client thread that go the same way together. Groups that wait for the same
//! destination leave as one *message* (a send); the network cuts a message into *packets*. Every server takes what came
//! first. It knows how long a group will keep it when the group arrives, so a visit of a station is one event:
//! the server is free again at `max(now, free) + work`. Work is a sum over operations, sends and packets, drawn
//! as a whole: no step of the loop is taken for each operation.

mod client;
mod cluster;
mod draw;
mod events;
mod node;
mod outcome;
mod station;
mod world;

pub use cluster::{Checkpoint, Cluster, Operation, Refill, Route, Service, Station};
pub use events::{Event, Events};
pub use outcome::{Latency, Outcome, StationOutcome, Traffic};

use inrush_rows::error::Error;

/// `Cluster` as JSON -> `Outcome` as JSON.
pub fn simulate_json(cluster: &str) -> Result<String, Error> {
    let cluster: Cluster = serde_json::from_str(cluster).map_err(|e| Error::Plan(format!("cluster: {e}")))?;
    let outcome = simulate(&cluster)?;
    Ok(serde_json::to_string(&outcome).expect("an outcome has no keys that are no text"))
}

/// The same cluster gives the same outcome.
pub fn simulate(cluster: &Cluster) -> Result<Outcome, Error> {
    cluster.check()?;
    Ok(world::World::new(cluster).run())
}
