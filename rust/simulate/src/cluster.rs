//! What is simulated: the document in.

use inrush_rows::error::Error;
use serde::Deserialize;

use crate::events::MOST_THINGS;

/// Seconds are f64 here and whole picoseconds inside.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    pub seed: u64,
    /// Left out of every figure.
    pub warm_s: f64,
    pub measure_s: f64,
    /// Of the series; also the batches that the interval of the throughput comes from.
    pub interval_s: f64,
    /// Ends the measured time early once the 95 % interval of the throughput is within this share of it; 0: never.
    #[serde(default)]
    pub within: f64,

    pub nodes: u32,
    pub operation: Operation,
    /// Client machines; each has `connections`, each of them `threads` with `parallel` operations in flight.
    pub machines: u32,
    pub connections: u32,
    pub threads: u32,
    pub parallel: u32,
    pub refill: Refill,
    /// Before a thread sends again.
    #[serde(default)]
    pub client_delay_s: f64,
    #[serde(default)]
    pub client_delay: Service,
    /// Instead of threads that wait for answers: operations a second that each connection is offered (Poisson); 0: closed.
    #[serde(default)]
    pub offered_per_s: f64,

    /// One way between a client and a node, or two nodes.
    #[serde(default)]
    pub wire_s: f64,
    /// Operations in one packet of the network, at most; and in one message.
    pub packet_ops: u32,
    pub message_ops: u32,
    /// A node waits so long for more of the same destination …
    #[serde(default)]
    pub send_delay_s: f64,
    /// … unless so many operations wait already.
    #[serde(default = "most")]
    pub send_ops: u32,
    /// Packets of a node that a connection has not read yet, at most: beyond, answers wait on the node until it has read
    /// some. 0: it takes all that it is given.
    #[serde(default)]
    pub buffer_packets: u32,

    pub client: Station,
    /// Of a client machine, shared by its connections.
    #[serde(default)]
    pub client_interrupts: Station,
    /// Of a data node: packets that come and go.
    #[serde(default)]
    pub interrupts: Station,
    #[serde(default)]
    pub recv: Station,
    #[serde(default)]
    pub tc: Station,
    #[serde(default)]
    pub ldm: Station,
    #[serde(default)]
    pub send: Station,

    #[serde(default)]
    pub checkpoint: Checkpoint,
}

/// What data nodes do beside operations, all of them at the same times: each LDM thread spends a share of its time on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Checkpoint {
    /// From the begin of one to the begin of the next; 0: there are none.
    pub every_s: f64,
    pub lasts_s: f64,
    /// Of the time of each LDM thread, while it lasts.
    pub share: f64,
    /// It comes in slices, one each so many seconds: what waits is served between them.
    pub slice_s: f64,
}

impl Checkpoint {
    /// What is wrong with it; empty where there is none.
    fn wrong(&self, ldm_servers: u32) -> Option<String> {
        let Checkpoint { every_s, lasts_s, share, slice_s } = *self;
        if every_s == 0.0 {
            return None;
        }
        let sizes = slice_s >= 1e-9 && slice_s <= lasts_s && lasts_s <= every_s && every_s <= 1e6;
        if sizes && share > 0.0 && share <= 1.0 && ldm_servers > 0 {
            return None;
        }
        Some(format!(
            "checkpoint takes a share of {share} of {ldm_servers} LDM threads for {lasts_s} of {every_s} s in slices of {slice_s} \
             s; a share is above 0 and at most 1, and a slice at most as long as a checkpoint, which ends before the next one"
        ))
    }
}

fn most() -> u32 {
    u32::MAX
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// recv, tc, ldm, send on the node of the key.
    Read,
    /// Prepared on the key's node, then on its partner; committed on the partner, then on the key's node.
    Update,
}

/// When a thread sends again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refill {
    /// All of its operations are back.
    Round,
    /// Half of them are.
    Half,
    /// Any is.
    Each,
}

/// How much the work of one operation differs from another's.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    #[default]
    Fixed,
    Exponential,
    /// Quantiles at equal steps of probability, measured, in units of their mean; at least two.
    Measured(Vec<f64>),
}

/// Which server of a station takes a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Whichever is free first: one line for all.
    FirstFree,
    /// Always the same for a connection.
    Connection,
    /// That of the key.
    #[default]
    Key,
}

/// Servers of one kind. None (0): nothing happens here.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Station {
    pub servers: u32,
    pub per_op_s: f64,
    pub per_send_s: f64,
    pub per_packet_s: f64,
    pub service: Service,
    pub route: Route,
    /// A group is cut into at most so many, each for another server; 0 or 1: it stays whole.
    pub pieces: u32,
}

impl Cluster {
    pub fn check(&self) -> Result<(), Error> {
        let mut wrong = vec![];
        for (name, value) in [
            ("nodes", self.nodes),
            ("machines", self.machines),
            ("connections", self.connections),
            ("threads", self.threads),
            ("parallel", self.parallel),
            ("packet_ops", self.packet_ops),
            ("message_ops", self.message_ops),
            ("send_ops", self.send_ops),
        ] {
            if value == 0 {
                wrong.push(format!("{name} is 0; it is at least 1"));
            }
        }
        for (name, value) in [
            ("warm_s", self.warm_s),
            ("client_delay_s", self.client_delay_s),
            ("offered_per_s", self.offered_per_s),
            ("wire_s", self.wire_s),
            ("send_delay_s", self.send_delay_s),
            ("within", self.within),
        ] {
            if !(0.0..=1e9).contains(&value) {
                wrong.push(format!("{name} is {value}; it is 0 or more"));
            }
        }
        if !(self.interval_s > 1e-9 && self.measure_s >= self.interval_s && self.measure_s <= 1e6) {
            wrong.push(format!(
                "measure_s is {} and interval_s {}: the measured time holds at least one interval",
                self.measure_s, self.interval_s
            ));
        }
        let connections = u64::from(self.machines) * u64::from(self.connections);
        let boxes = u64::from(self.nodes) * (connections + u64::from(self.nodes));
        let in_flight = connections * u64::from(self.threads) * u64::from(self.parallel);
        if self.nodes > u32::from(u16::MAX) || boxes.max(in_flight) >= u64::from(MOST_THINGS) {
            wrong.push(format!(
                "{} nodes, {connections} connections and {in_flight} operations in flight are too many",
                self.nodes
            ));
        }
        if self.operation == Operation::Update && self.nodes % 2 == 1 {
            wrong.push(format!("nodes is {}: updates need nodes in pairs", self.nodes));
        }
        let stations = self.stations();
        for (name, station) in &stations {
            let costs = [station.per_op_s, station.per_send_s, station.per_packet_s];
            if costs.iter().any(|c| !(0.0..=1e3).contains(c)) {
                wrong.push(format!("{name} costs {costs:?} s; each is 0 or more"));
            }
            if let Service::Measured(quantiles) = &station.service {
                if quantiles.len() < 2 || quantiles.iter().any(|q| !(0.0..=1e6).contains(q)) {
                    wrong.push(format!("{name}.service has no two quantiles of 0 or more"));
                }
            }
        }
        wrong.extend(self.checkpoint.wrong(self.ldm.servers));
        if self.buffer_packets > 0 && self.send.servers == 0 {
            wrong.push("buffer_packets needs send threads, which wait for room".to_owned());
        }
        if self.buffer_packets > 0 && self.client.servers.max(self.client_interrupts.servers) > 1 {
            wrong.push(
                "buffer_packets needs connections that read one message after the other: one server each"
                    .to_owned(),
            );
        }
        // A closed client that nothing keeps would go round without any time passing.
        let works =
            stations.iter().any(|(_, s)| s.servers > 0 && s.per_op_s + s.per_send_s + s.per_packet_s > 0.0);
        if !works && self.wire_s + self.client_delay_s <= 0.0 {
            wrong.push("no station, wire or delay takes any time".to_owned());
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(Error::Plan(format!("cluster: {}", wrong.join("; ")))),
        }
    }

    pub fn stations(&self) -> [(&'static str, &Station); 7] {
        [
            ("client", &self.client),
            ("client_interrupts", &self.client_interrupts),
            ("interrupts", &self.interrupts),
            ("recv", &self.recv),
            ("tc", &self.tc),
            ("ldm", &self.ldm),
            ("send", &self.send),
        ]
    }
}
