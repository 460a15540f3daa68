//! Clients: threads that ask, and connections that take the answers.

use crate::cluster::Refill;
use crate::station::Load;
use crate::world::{kind, Group, World, NONE};

#[derive(Debug, Clone, Default)]
pub struct Thread {
    /// Operations that are back and were not asked for again.
    pub returned: u32,
    /// A delay has begun.
    pub waiting: bool,
}

impl World {
    pub fn offered(&mut self, connection: u32, now_ps: u64) {
        let next_ps = now_ps + (self.random.exponential() * self.offered_ps) as u64;
        self.at(next_ps, kind::OFFERED, connection);
        self.issue(connection * self.threads, 1, now_ps, None);
    }

    pub fn issue_returned(&mut self, thread: u32, now_ps: u64) {
        let of = &mut self.clients[thread as usize];
        of.waiting = false;
        let ops = std::mem::take(&mut of.returned);
        self.issue(thread, ops, now_ps, None);
    }

    /// A thread asks for so many operations, of keys that lie anywhere. `server`: the one that is at work for it already.
    fn issue(&mut self, thread: u32, ops: u32, now_ps: u64, server: Option<usize>) {
        let connection = thread / self.threads;
        let begins = server.is_none();
        let server = match (server, self.client.servers) {
            (Some(server), _) => Some(server),
            (None, 0) => None,
            (None, _) => Some(self.client.server(connection, connection, thread)),
        };
        self.record.issued += u64::from(ops);
        let (first, mut left, mut free_ps) = (self.random.below(self.nodes), ops, now_ps);
        if let Some(server) = server {
            // Behind its answers, and behind what other threads of the same answers asked for.
            free_ps = if begins { self.client.serve(server, now_ps, 0) } else { self.client.free_ps(server) };
        }
        if ops == 1 {
            self.ask(thread, 1, first, now_ps, free_ps, server);
            return;
        }
        for n in 0..self.nodes {
            let share = self.random.binomial(left, 1.0 / f64::from(self.nodes - n));
            left -= share;
            let node = (first + n) % self.nodes;
            let mut rest = share;
            while rest > 0 {
                let of_message = rest.min(self.message_ops);
                rest -= of_message;
                free_ps = self.ask(thread, of_message, node, now_ps, free_ps, server);
            }
        }
    }

    /// One message to one node; when it has left.
    fn ask(
        &mut self,
        thread: u32,
        ops: u32,
        node: u32,
        born_ps: u64,
        free_ps: u64,
        server: Option<usize>,
    ) -> u64 {
        let packets = self.packets(ops);
        let mut left_ps = free_ps;
        if let Some(server) = server {
            let work_ps = self.client.work(Load { ops: 0, sends: 1, packets }, &mut self.random);
            left_ps = self.client.add(server, free_ps, work_ps);
        }
        self.record.requests.add(ops, packets);
        let place = self.group(Group::asked(thread, thread / self.threads, ops, node, born_ps));
        let line = server.map_or(NONE, |server| self.client.line(server));
        self.group_at(line, left_ps + self.wire_ps, kind::AT_NODE, place);
        left_ps
    }

    /// A message has reached its client's machine.
    pub fn at_client(&mut self, head: u32, now_ps: u64) {
        let of = &self.groups[head as usize];
        let (connection, ops) = (of.connection, of.message_ops);
        let packets = self.packets(ops);
        let mut done_ps = now_ps;
        if self.client_interrupts.servers > 0 {
            let machine = connection / self.machine_connections;
            let server = self.client_interrupts.server(machine, connection, connection);
            let work_ps = self.client_interrupts.work(Load { ops, sends: 0, packets }, &mut self.random);
            done_ps = self.client_interrupts.serve(server, done_ps, work_ps);
        }
        // Answers leave the interrupts of their machine in the order in which they came: so no event lies between.
        let mut server = None;
        if self.client.servers > 0 {
            let taken = self.client.server(connection, connection, of_key(head));
            let work_ps = self.client.work(Load { ops, sends: 0, packets }, &mut self.random);
            done_ps = self.client.serve(taken, done_ps, work_ps);
            server = Some(taken);
        }
        self.record.replied(done_ps, ops, packets);
        if self.buffer_packets > 0 {
            let node = u32::from(self.groups[head as usize].node);
            let at = node * (self.connections + self.nodes) + connection;
            self.known_later[at as usize].push_back(packets);
            self.at(done_ps + self.wire_ps, kind::READ, at);
        }
        let mut place = head;
        while place != NONE {
            let (born_ps, ops, thread, next) = {
                let group = &self.groups[place as usize];
                (group.born_ps, group.ops, group.thread, group.next)
            };
            self.free.push(place);
            self.record.done(born_ps, done_ps, ops);
            if self.offered_ps == 0.0 {
                self.returned(thread, ops, done_ps, server);
            }
            place = next;
        }
    }

    fn returned(&mut self, thread: u32, ops: u32, now_ps: u64, server: Option<usize>) {
        let of = &mut self.clients[thread as usize];
        of.returned += ops;
        let enough = match self.refill {
            Refill::Round => self.parallel,
            Refill::Half => self.parallel.div_ceil(2),
            Refill::Each => 1,
        };
        if of.waiting || of.returned < enough {
            return;
        }
        if self.client_delay_ps > 0.0 {
            of.waiting = true;
            let delay_ps = self.client_delay.of(1, &mut self.random) * self.client_delay_ps;
            self.at(now_ps + delay_ps as u64, kind::ISSUE, thread);
            return;
        }
        let ops = std::mem::take(&mut of.returned);
        self.issue(thread, ops, now_ps, server);
    }
}

/// Answers of one message belong to one reading: any number will do.
fn of_key(head: u32) -> u32 {
    head
}
