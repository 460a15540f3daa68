//! The state of a simulated cluster and the loop over its events.

use std::collections::VecDeque;

use crate::client::Thread;
use crate::cluster::{Checkpoint, Cluster, Operation, Refill};
use crate::draw::{Random, Sum};
use crate::events::{Event, Events};
use crate::outcome::{Outcome, Record};
use crate::station::{Pool, PS};

pub const NONE: u32 = u32::MAX;

pub fn ps(seconds: f64) -> u64 {
    (seconds * PS).round() as u64
}

pub mod kind {
    //! What an event is; its index says of what.
    pub const MARK: u32 = 0;
    /// Of a thread: its delay is over.
    pub const ISSUE: u32 = 1;
    /// Of a connection: the next operation that it is offered.
    pub const OFFERED: u32 = 2;
    /// Of a message (its first group).
    pub const AT_NODE: u32 = 3;
    pub const RECEIVED: u32 = 4;
    /// Of a group.
    pub const VISIT: u32 = 5;
    pub const TO_SEND: u32 = 6;
    /// Of an outbox.
    pub const DELAYED: u32 = 7;
    /// Of a send thread.
    pub const SENT: u32 = 8;
    pub const AT_CLIENT: u32 = 9;
    /// The next slice of a checkpoint, on every node.
    pub const CHECKPOINT: u32 = 10;
    /// Of an outbox: its destination has read a message of it.
    pub const READ: u32 = 11;
}

/// Operations of one thread that travel together.
#[derive(Debug, Clone)]
pub struct Group {
    /// When its thread asked for it.
    pub born_ps: u64,
    pub ops: u32,
    /// Of all threads of all connections, and its connection.
    pub thread: u32,
    pub connection: u32,
    /// Where it is.
    pub node: u16,
    /// Place in the route.
    pub step: u8,
    /// The next group of its message.
    pub next: u32,
    /// Operations of the message, where this group is its first one.
    pub message_ops: u32,
    /// What happens to it next, and when.
    pub kind: u8,
    pub due_ps: u64,
    /// The line that it is in, and what is behind it there.
    pub line: u32,
    pub behind: u32,
}

impl Group {
    pub fn asked(thread: u32, connection: u32, ops: u32, node: u32, born_ps: u64) -> Group {
        Group {
            born_ps,
            due_ps: 0,
            ops,
            thread,
            connection,
            next: NONE,
            message_ops: ops,
            line: NONE,
            behind: NONE,
            node: node as u16,
            step: 0,
            kind: 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Tc,
    Ldm,
    /// To the other node of the pair.
    Across,
    Reply,
}

const READ: &[Step] = &[Step::Tc, Step::Ldm, Step::Reply];
/// Prepare: coordinator, primary, backup, coordinator. Commit: backup, primary, coordinator, answer.
const UPDATE: &[Step] = &[
    Step::Tc,
    Step::Ldm,
    Step::Across,
    Step::Ldm,
    Step::Across,
    Step::Tc,
    Step::Across,
    Step::Ldm,
    Step::Across,
    Step::Ldm,
    Step::Tc,
    Step::Reply,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxState {
    Empty,
    /// For the end of a delay.
    Waiting,
    /// For its send thread.
    Queued,
    /// For room at its destination.
    Blocked,
}

/// What waits on a node for one destination.
#[derive(Debug, Clone)]
pub struct Outbox {
    pub head: u32,
    pub tail: u32,
    pub ops: u32,
    pub state: BoxState,
    pub deadline_ps: u64,
    /// Packets that its destination has not read, as its node knows.
    pub unread: u32,
}

/// A send thread: the outboxes in its line, and the message that it is at.
pub struct Sender {
    pub line: VecDeque<u32>,
    pub message: u32,
    pub to: u32,
}

pub struct World {
    pub nodes: u32,
    pub connections: u32,
    pub machine_connections: u32,
    pub threads: u32,
    pub parallel: u32,
    pub refill: Refill,
    pub packet_ops: u32,
    pub message_ops: u32,
    pub send_ops: u32,
    pub wire_ps: u64,
    pub send_delay_ps: u64,
    pub buffer_packets: u32,
    pub client_delay_ps: f64,
    pub client_delay: Sum,
    /// Mean time between two offered operations of a connection; 0: closed.
    pub offered_ps: f64,
    pub route: &'static [Step],
    pub checkpoint: Checkpoint,

    pub client: Pool,
    pub client_interrupts: Pool,
    pub interrupts: Pool,
    pub recv: Pool,
    pub tc: Pool,
    pub ldm: Pool,
    pub send: Pool,
    pub senders: Vec<Sender>,
    /// By node and destination: every connection, then every node.
    pub outboxes: Vec<Outbox>,
    /// Packets of each message that a connection has read and whose node does not know it yet; by outbox, where a buffer has
    /// an end.
    pub known_later: Vec<VecDeque<u32>>,
    pub clients: Vec<Thread>,

    pub random: Random,
    pub events: Events,
    /// The last group in the line of what each server has done: only the first one is among the events.
    lines: Vec<u32>,
    /// Of what the interrupts of each node have taken in, by the way of `RECEIVED`; the pool's own lines are of what went out.
    pub received_lines: u32,
    pub groups: Vec<Group>,
    pub free: Vec<u32>,
    pub record: Record,
    warm_ps: u64,
    end_ps: u64,
    interval_ps: u64,
    within: f64,
}

impl World {
    pub fn new(c: &Cluster) -> World {
        let connections = c.machines * c.connections;
        let boxes = (c.nodes * (connections + c.nodes)) as usize;
        let empty =
            Outbox { head: NONE, tail: NONE, ops: 0, state: BoxState::Empty, deadline_ps: 0, unread: 0 };
        let senders = (c.nodes * c.send.servers) as usize;
        let (warm_ps, interval_ps) = (ps(c.warm_s), ps(c.interval_s));
        let intervals = (c.measure_s / c.interval_s * (1.0 + 1e-9)).floor() as u64;
        let mut lines = 0;
        let mut pool = |name, station, instances| Pool::new(name, station, instances, &mut lines);
        let [client, client_interrupts, interrupts, recv, tc, ldm, send] = [
            pool("client", &c.client, connections),
            pool("client_interrupts", &c.client_interrupts, c.machines),
            pool("interrupts", &c.interrupts, c.nodes),
            pool("recv", &c.recv, c.nodes),
            pool("tc", &c.tc, c.nodes),
            pool("ldm", &c.ldm, c.nodes),
            pool("send", &c.send, c.nodes),
        ];
        let received_lines = lines;
        lines += c.interrupts.servers * c.nodes;
        World {
            nodes: c.nodes,
            connections,
            machine_connections: c.connections,
            threads: c.threads,
            parallel: c.parallel,
            refill: c.refill,
            packet_ops: c.packet_ops,
            message_ops: c.message_ops,
            send_ops: c.send_ops,
            wire_ps: ps(c.wire_s),
            send_delay_ps: ps(c.send_delay_s),
            buffer_packets: c.buffer_packets,
            client_delay_ps: c.client_delay_s * PS,
            client_delay: Sum::new(&c.client_delay),
            offered_ps: if c.offered_per_s > 0.0 { PS / c.offered_per_s } else { 0.0 },
            route: match c.operation {
                Operation::Read => READ,
                Operation::Update => UPDATE,
            },
            checkpoint: c.checkpoint,
            client,
            client_interrupts,
            interrupts,
            recv,
            tc,
            ldm,
            send,
            senders: (0..senders)
                .map(|_| Sender { line: VecDeque::new(), message: NONE, to: NONE })
                .collect(),
            outboxes: vec![empty; boxes],
            known_later: vec![VecDeque::new(); if c.buffer_packets > 0 { boxes } else { 0 }],
            clients: vec![Thread::default(); (connections * c.threads) as usize],
            random: Random::new(c.seed),
            events: Events::new(),
            lines: vec![NONE; lines as usize],
            received_lines,
            groups: Vec::new(),
            free: Vec::new(),
            record: Record::new(warm_ps, interval_ps, intervals as usize),
            warm_ps,
            end_ps: warm_ps + intervals * interval_ps,
            interval_ps,
            within: c.within,
        }
    }

    pub fn run(mut self) -> Outcome {
        self.begin();
        let mut handled = 0_u64;
        while let Some(event) = self.events.pop() {
            handled += 1;
            let now_ps = event.time_ps;
            match event.kind() {
                kind::MARK => {
                    if self.mark(now_ps) {
                        break;
                    }
                }
                kind::ISSUE => self.issue_returned(event.index(), now_ps),
                kind::OFFERED => self.offered(event.index(), now_ps),
                kind::DELAYED => self.delayed(event.index(), now_ps),
                kind::SENT => self.sent(event.index(), now_ps),
                kind::READ => self.read(event.index(), now_ps),
                kind::CHECKPOINT => self.checkpoint(now_ps),
                kind::AT_NODE => {
                    self.leave_line(event.index());
                    self.at_node(event.index(), now_ps);
                }
                kind::RECEIVED => {
                    self.leave_line(event.index());
                    self.received(event.index(), now_ps);
                }
                kind::VISIT => {
                    self.leave_line(event.index());
                    self.visit(event.index(), now_ps);
                }
                kind::TO_SEND => {
                    self.leave_line(event.index());
                    self.post(event.index(), now_ps);
                }
                _ => {
                    self.leave_line(event.index());
                    self.at_client(event.index(), now_ps);
                }
            }
        }
        Outcome::of(&self, handled)
    }

    /// Threads begin one after the other, over a quarter of the time that is left out.
    fn begin(&mut self) {
        self.at(self.warm_ps, kind::MARK, 0);
        if self.checkpoint.every_s > 0.0 {
            self.at(0, kind::CHECKPOINT, 0);
        }
        if self.offered_ps > 0.0 {
            for connection in 0..self.connections {
                let first_ps = (self.random.exponential() * self.offered_ps) as u64;
                self.at(first_ps, kind::OFFERED, connection);
            }
            return;
        }
        for thread in 0..self.clients.len() as u32 {
            self.clients[thread as usize].returned = self.parallel;
            let first_ps = (self.random.unit() * self.warm_ps as f64 / 4.0) as u64;
            self.at(first_ps, kind::ISSUE, thread);
        }
    }

    /// An interval is over; whether it was the last one.
    fn mark(&mut self, now_ps: u64) -> bool {
        if now_ps == self.warm_ps {
            for pool in self.pools_mut() {
                pool.begin(now_ps);
            }
            self.record.begin();
        }
        let intervals = ((now_ps - self.warm_ps) / self.interval_ps) as usize;
        let narrow = self.within > 0.0 && self.record.half_width(intervals) <= self.within;
        if now_ps >= self.end_ps || narrow {
            self.record.end(intervals);
            return true;
        }
        self.at(now_ps + self.interval_ps, kind::MARK, 0);
        false
    }

    #[inline(always)]
    pub fn at(&mut self, time_ps: u64, kind: u32, index: u32) {
        self.events.push(Event::new(time_ps, kind, index));
    }

    /// What happens to a group when a server is done with it. Servers are done in the order in which they were given, so
    /// only the first group in the line of a server has to be among the events; each lets the next one in. Without a
    /// server, `line` is `NONE`.
    #[inline(always)]
    pub fn group_at(&mut self, line: u32, time_ps: u64, kind: u32, place: u32) {
        let group = &mut self.groups[place as usize];
        (group.kind, group.due_ps, group.line, group.behind) = (kind as u8, time_ps, line, NONE);
        if line != NONE {
            let last = self.lines[line as usize];
            if last == NONE {
                self.lines[line as usize] = place;
            } else if self.groups[last as usize].due_ps < time_ps {
                self.groups[last as usize].behind = place;
                self.lines[line as usize] = place;
                return;
            } else {
                // Of one time: their kinds and indices say which comes first.
                self.groups[place as usize].line = NONE;
            }
        }
        self.at(time_ps, kind, place);
    }

    #[inline(always)]
    fn leave_line(&mut self, place: u32) {
        let Group { line, behind, .. } = self.groups[place as usize];
        if line == NONE {
            return;
        }
        if behind == NONE {
            self.lines[line as usize] = NONE;
        } else {
            let Group { due_ps, kind, .. } = self.groups[behind as usize];
            self.at(due_ps, u32::from(kind), behind);
        }
    }

    pub fn group(&mut self, group: Group) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.groups[place as usize] = group;
                place
            }
            None => {
                self.groups.push(group);
                (self.groups.len() - 1) as u32
            }
        }
    }

    pub fn packets(&self, ops: u32) -> u32 {
        ops.div_ceil(self.packet_ops)
    }

    pub fn pools(&self) -> [&Pool; 7] {
        [&self.client, &self.client_interrupts, &self.interrupts, &self.recv, &self.tc, &self.ldm, &self.send]
    }

    fn pools_mut(&mut self) -> [&mut Pool; 7] {
        [
            &mut self.client,
            &mut self.client_interrupts,
            &mut self.interrupts,
            &mut self.recv,
            &mut self.tc,
            &mut self.ldm,
            &mut self.send,
        ]
    }
}
