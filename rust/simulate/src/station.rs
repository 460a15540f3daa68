//! A station of a simulated cluster: its servers, what comes to which of them, and what they did.

use crate::cluster::{Route, Station};
use crate::draw::{Random, Sum};

/// Picoseconds of a second.
pub const PS: f64 = 1e12;

/// The servers of one station on every node (or of every client), and what they did.
pub struct Pool {
    pub name: &'static str,
    pub servers: u32,
    pub pieces: u32,
    route: Route,
    sum: Sum,
    op_ps: f64,
    send_ps: f64,
    packet_ps: f64,
    of: Vec<Server>,
    /// Work of each before the measured time.
    before_ps: Vec<u64>,
    /// Place of its first server among the lines of what servers have done.
    lines: u32,
    pub visits: u64,
    pub waited: u64,
    pub wait_ps: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Server {
    /// When it is free again.
    free_ps: u64,
    /// Work that it was given.
    work_ps: u64,
}

/// What a station has to do at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Load {
    pub ops: u32,
    pub sends: u32,
    pub packets: u32,
}

impl Pool {
    pub fn new(name: &'static str, station: &Station, instances: u32, lines: &mut u32) -> Pool {
        let servers = station.servers * instances;
        let first = *lines;
        *lines += servers;
        Pool {
            name,
            servers: station.servers,
            pieces: station.pieces.max(1),
            route: station.route,
            sum: Sum::new(&station.service),
            op_ps: station.per_op_s * PS,
            send_ps: station.per_send_s * PS,
            packet_ps: station.per_packet_s * PS,
            of: vec![Server::default(); servers as usize],
            before_ps: vec![0; servers as usize],
            lines: first,
            visits: 0,
            waited: 0,
            wait_ps: 0,
        }
    }

    /// Place of the server that takes what comes; `piece`: of how many cut from one.
    #[inline(always)]
    pub fn server(&self, instance: u32, connection: u32, key: u32) -> usize {
        let first = (instance * self.servers) as usize;
        match self.route {
            Route::Connection => first + (connection % self.servers) as usize,
            Route::Key => first + (key % self.servers) as usize,
            Route::FirstFree if self.servers == 1 => first,
            Route::FirstFree => {
                let of = &self.of[first..first + self.servers as usize];
                let (at, _) = of.iter().enumerate().min_by_key(|(_, s)| s.free_ps).expect("servers > 0");
                first + at
            }
        }
    }

    /// The line of what this server has done.
    #[inline]
    pub fn line(&self, server: usize) -> u32 {
        self.lines + server as u32
    }

    #[inline(always)]
    pub fn work(&self, load: Load, random: &mut Random) -> u64 {
        let ops = if self.op_ps > 0.0 && load.ops > 0 { self.sum.of(load.ops, random) } else { 0.0 };
        let fixed = f64::from(load.sends) * self.send_ps + f64::from(load.packets) * self.packet_ps;
        (ops * self.op_ps + fixed + 0.5) as i64 as u64
    }

    /// Serves what arrives; when it is done.
    #[inline(always)]
    pub fn serve(&mut self, server: usize, now_ps: u64, work_ps: u64) -> u64 {
        let start_ps = self.of[server].free_ps.max(now_ps);
        self.visits += 1;
        self.waited += u64::from(start_ps > now_ps);
        self.wait_ps += start_ps - now_ps;
        self.add(server, start_ps, work_ps)
    }

    /// More work of the visit that a server is at.
    #[inline(always)]
    pub fn add(&mut self, server: usize, start_ps: u64, work_ps: u64) -> u64 {
        let of = &mut self.of[server];
        of.work_ps += work_ps;
        of.free_ps = start_ps + work_ps;
        of.free_ps
    }

    pub fn free_ps(&self, server: usize) -> u64 {
        self.of[server].free_ps
    }

    pub fn begin(&mut self, now_ps: u64) {
        (self.visits, self.waited, self.wait_ps) = (0, 0, 0);
        self.before_ps = self.of.iter().map(|server| server.done_ps(now_ps)).collect();
    }

    /// Busy time of each server since `begin`.
    pub fn busy_ps(&self, now_ps: u64) -> impl Iterator<Item = u64> + '_ {
        self.of
            .iter()
            .zip(&self.before_ps)
            .map(move |(s, before_ps)| s.done_ps(now_ps).saturating_sub(*before_ps))
    }
}

impl Server {
    /// Work done until now: what was given, less what lies ahead.
    fn done_ps(&self, now_ps: u64) -> u64 {
        self.work_ps - (self.free_ps.saturating_sub(now_ps)).min(self.work_ps)
    }
}
