//! Data nodes: what a message meets from its first interrupt to the send of its answers.

use crate::station::Load;
use crate::world::{kind, ps, BoxState, Step, World, NONE};

impl World {
    /// A message has reached a node.
    #[inline]
    pub fn at_node(&mut self, head: u32, now_ps: u64) {
        let (node, connection, ops) = self.message(head);
        let packets = self.packets(ops);
        if self.interrupts.servers == 0 {
            return self.received(head, now_ps);
        }
        let server = self.interrupts.server(node, connection, connection);
        let work_ps = self.interrupts.work(Load { ops, sends: 1, packets }, &mut self.random);
        let done_ps = self.interrupts.serve(server, now_ps, work_ps);
        // One server hands on in the order in which it was given: then no event need lie between.
        if self.interrupts.servers == 1 {
            self.received(head, done_ps);
        } else {
            self.group_at(self.received_lines + server as u32, done_ps, kind::RECEIVED, head);
        }
    }

    /// A receive thread reads a message; its groups go on one after the other.
    pub fn received(&mut self, head: u32, now_ps: u64) {
        let (node, connection, ops) = self.message(head);
        let mut server = None;
        let mut done_ps = now_ps;
        if self.recv.servers > 0 {
            let packets = self.packets(ops);
            let work_ps = self.recv.work(Load { ops: 0, sends: 1, packets }, &mut self.random);
            let taken = self.recv.server(node, connection, connection);
            done_ps = self.recv.serve(taken, now_ps, work_ps);
            server = Some(taken);
        }
        let mut place = head;
        while place != NONE {
            let group = &mut self.groups[place as usize];
            let (ops, next) = (group.ops, group.next);
            group.next = NONE;
            if let Some(server) = server {
                let work_ps = self.recv.work(Load { ops, sends: 0, packets: 0 }, &mut self.random);
                done_ps = self.recv.add(server, done_ps, work_ps);
            }
            let line = server.map_or(NONE, |server| self.recv.line(server));
            self.group_at(line, done_ps, kind::VISIT, place);
            place = next;
        }
    }

    /// A group is at the station that its route names.
    #[inline]
    pub fn visit(&mut self, place: u32, now_ps: u64) {
        let group = &mut self.groups[place as usize];
        let step = self.route[group.step as usize];
        if !matches!(step, Step::Tc | Step::Ldm) {
            return self.post(place, now_ps);
        }
        group.step += 1;
        let pool = if step == Step::Tc { &self.tc } else { &self.ldm };
        if pool.servers == 0 {
            return self.visit(place, now_ps);
        }
        let pieces = pool.pieces.min(self.groups[place as usize].ops);
        let key = self.random.below(pool.servers);
        if pieces > 1 {
            self.cut(place, pieces, key, step, now_ps);
        } else {
            self.work_on(place, key, step, now_ps);
        }
    }

    /// Pieces as equal as can be, for servers side by side.
    fn cut(&mut self, place: u32, pieces: u32, key: u32, step: Step, now_ps: u64) {
        let whole = self.groups[place as usize].clone();
        let (each, more) = (whole.ops / pieces, whole.ops % pieces);
        for n in 0..pieces {
            let ops = each + u32::from(n < more);
            let piece = if n == 0 {
                self.groups[place as usize].ops = ops;
                place
            } else {
                let mut group = whole.clone();
                group.ops = ops;
                self.group(group)
            };
            self.work_on(piece, key + n, step, now_ps);
        }
    }

    #[inline]
    fn work_on(&mut self, place: u32, key: u32, step: Step, now_ps: u64) {
        let group = &self.groups[place as usize];
        let (node, connection) = (u32::from(group.node), group.connection);
        let next = self.route[group.step as usize];
        let load = Load { ops: group.ops, sends: 1, packets: 0 };
        let pool = if step == Step::Tc { &mut self.tc } else { &mut self.ldm };
        let work_ps = pool.work(load, &mut self.random);
        let server = pool.server(node, connection, key);
        let done_ps = pool.serve(server, now_ps, work_ps);
        let kind = if matches!(next, Step::Tc | Step::Ldm) { kind::VISIT } else { kind::TO_SEND };
        let line = pool.line(server);
        self.group_at(line, done_ps, kind, place);
    }

    /// A group has to leave its node.
    #[inline]
    pub fn post(&mut self, place: u32, now_ps: u64) {
        let group = &mut self.groups[place as usize];
        let (node, ops) = (u32::from(group.node), group.ops);
        let to = match self.route[group.step as usize] {
            Step::Reply => group.connection,
            _ => self.connections + (node ^ 1),
        };
        group.step += 1;
        group.next = NONE;
        if self.send.servers == 0 {
            group.message_ops = ops;
            return self.leave(place, node, to, now_ps);
        }
        let at = node * (self.connections + self.nodes) + to;
        let outbox = &mut self.outboxes[at as usize];
        outbox.ops += ops;
        if outbox.head == NONE {
            outbox.head = place;
        } else {
            self.groups[outbox.tail as usize].next = place;
        }
        outbox.tail = place;
        match outbox.state {
            BoxState::Queued | BoxState::Blocked => {}
            BoxState::Empty if self.send_delay_ps > 0 && outbox.ops < self.send_ops => {
                outbox.state = BoxState::Waiting;
                outbox.deadline_ps = now_ps + self.send_delay_ps;
                self.at(now_ps + self.send_delay_ps, kind::DELAYED, at);
            }
            BoxState::Waiting if outbox.ops < self.send_ops => {}
            _ => self.queue(at, now_ps),
        }
    }

    /// The delay of an outbox is over, unless it was sent before.
    pub fn delayed(&mut self, at: u32, now_ps: u64) {
        let outbox = &self.outboxes[at as usize];
        if outbox.state == BoxState::Waiting && outbox.deadline_ps == now_ps {
            self.queue(at, now_ps);
        }
    }

    #[inline]
    fn queue(&mut self, at: u32, now_ps: u64) {
        self.outboxes[at as usize].state = BoxState::Queued;
        let destinations = self.connections + self.nodes;
        let (node, to) = (at / destinations, at % destinations);
        let sender = node * self.send.servers + to % self.send.servers;
        self.senders[sender as usize].line.push_back(at);
        if self.senders[sender as usize].message == NONE {
            self.send_next(sender, now_ps);
        }
    }

    /// A send thread takes what waits for the next destination in its line: all of it, up to the size of a message and to what
    /// the destination has room for.
    fn send_next(&mut self, sender: u32, now_ps: u64) {
        let Some(at) = self.next_with_room(sender) else { return };
        let limit = self.message_ops.min(self.room_ops(at));
        let outbox = &mut self.outboxes[at as usize];
        let head = outbox.head;
        let mut ops = outbox.ops;
        if ops <= limit {
            (outbox.head, outbox.tail, outbox.ops) = (NONE, NONE, 0);
            outbox.state = BoxState::Empty;
        } else {
            ops = self.split(at, limit);
            self.senders[sender as usize].line.push_back(at);
        }
        self.groups[head as usize].message_ops = ops;
        let packets = self.packets(ops);
        let work_ps = self.send.work(Load { ops, sends: 1, packets }, &mut self.random);
        let done_ps = self.send.serve(sender as usize, now_ps, work_ps);
        if self.ends(at) {
            self.outboxes[at as usize].unread += packets;
        }
        let of = &mut self.senders[sender as usize];
        of.message = head;
        of.to = at % (self.connections + self.nodes);
        self.at(done_ps, kind::SENT, sender);
    }

    /// The next outbox in the line of a sender; those whose destination has no room are left for when it has.
    fn next_with_room(&mut self, sender: u32) -> Option<u32> {
        loop {
            let at = self.senders[sender as usize].line.pop_front()?;
            if self.room_ops(at) > 0 {
                return Some(at);
            }
            self.outboxes[at as usize].state = BoxState::Blocked;
        }
    }

    /// Operations that the destination has room for.
    fn room_ops(&self, at: u32) -> u32 {
        match self.ends(at) {
            true => (self.buffer_packets - self.outboxes[at as usize].unread).saturating_mul(self.packet_ops),
            false => u32::MAX,
        }
    }

    /// Whether what the destination holds has an end: nodes read at once what they are sent.
    fn ends(&self, at: u32) -> bool {
        self.buffer_packets > 0 && at % (self.connections + self.nodes) < self.connections
    }

    /// A node learns that a message was read: what waits for room goes.
    pub fn read(&mut self, at: u32, now_ps: u64) {
        let packets = self.known_later[at as usize].pop_front().expect("a message that was read");
        let outbox = &mut self.outboxes[at as usize];
        outbox.unread -= packets;
        if outbox.state == BoxState::Blocked {
            self.queue(at, now_ps);
        }
    }

    /// Takes one message of `limit` operations off an outbox that holds more; its operations.
    fn split(&mut self, at: u32, limit: u32) -> u32 {
        let (mut place, mut taken) = (self.outboxes[at as usize].head, 0);
        let last = loop {
            let ops = self.groups[place as usize].ops;
            if taken + ops >= limit {
                break place;
            }
            taken += ops;
            place = self.groups[place as usize].next;
        };
        let over = taken + self.groups[last as usize].ops - limit;
        let rest = if over > 0 {
            let mut group = self.groups[last as usize].clone();
            group.ops = over;
            self.groups[last as usize].ops -= over;
            let rest = self.group(group);
            if self.outboxes[at as usize].tail == last {
                self.outboxes[at as usize].tail = rest;
            }
            rest
        } else {
            self.groups[last as usize].next
        };
        self.groups[last as usize].next = NONE;
        let outbox = &mut self.outboxes[at as usize];
        outbox.head = rest;
        outbox.ops -= limit;
        limit
    }

    pub fn sent(&mut self, sender: u32, now_ps: u64) {
        let of = &mut self.senders[sender as usize];
        let (head, to) = (std::mem::replace(&mut of.message, NONE), of.to);
        self.leave(head, sender / self.send.servers, to, now_ps);
        self.send_next(sender, now_ps);
    }

    /// A message goes out: by the node's interrupts, then over the wire.
    #[inline]
    fn leave(&mut self, head: u32, node: u32, to: u32, now_ps: u64) {
        let (mut done_ps, mut line) = (now_ps, NONE);
        if self.interrupts.servers > 0 {
            let ops = self.groups[head as usize].message_ops;
            let load = Load { ops, sends: 1, packets: self.packets(ops) };
            let work_ps = self.interrupts.work(load, &mut self.random);
            let server = self.interrupts.server(node, to, to);
            done_ps = self.interrupts.serve(server, now_ps, work_ps);
            line = self.interrupts.line(server);
        }
        let there_ps = done_ps + self.wire_ps;
        if to < self.connections {
            return self.group_at(line, there_ps, kind::AT_CLIENT, head);
        }
        let mut place = head;
        while place != NONE {
            let group = &mut self.groups[place as usize];
            group.node = (to - self.connections) as u16;
            place = group.next;
        }
        self.group_at(line, there_ps, kind::AT_NODE, head);
    }

    /// A slice of a checkpoint begins, on every LDM thread of every node: what comes later waits for it.
    pub fn checkpoint(&mut self, now_ps: u64) {
        let of = self.checkpoint;
        let (every_ps, slice_ps) = (ps(of.every_s), ps(of.slice_s));
        let since_ps = now_ps % every_ps;
        let length_ps = slice_ps.min(ps(of.lasts_s) - since_ps);
        let work_ps = (length_ps as f64 * of.share).round() as u64;
        let servers = (self.nodes * self.ldm.servers) as usize;
        for server in 0..servers {
            let start_ps = self.ldm.free_ps(server).max(now_ps);
            self.ldm.add(server, start_ps, work_ps);
        }
        self.record.maintained(now_ps, work_ps * servers as u64);
        let goes_on = since_ps + slice_ps < ps(of.lasts_s);
        let next_ps = if goes_on { now_ps + slice_ps } else { now_ps - since_ps + every_ps };
        self.at(next_ps, kind::CHECKPOINT, 0);
    }

    /// Node, connection and operations of a message.
    fn message(&self, head: u32) -> (u32, u32, u32) {
        let group = &self.groups[head as usize];
        (u32::from(group.node), group.connection, group.message_ops)
    }
}
