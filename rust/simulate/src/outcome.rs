//! What a simulation found: the document out, and what it is made of while the loop runs.

use serde::Serialize;

use crate::station::Pool;
use crate::world::World;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    pub measured_s: f64,
    pub ops: u64,
    pub ops_per_s: f64,
    /// Half of the 95 % interval of the throughput by batch means, as a share of it; null with fewer than five intervals.
    pub half_width: Option<f64>,
    pub latency: Latency,
    /// Those with servers, in the order in which a request meets them.
    pub stations: Vec<StationOutcome>,
    pub requests: Traffic,
    pub replies: Traffic,
    /// Operations of each interval; operations in a packet of the answers in each, and in a send.
    pub series: Vec<u64>,
    pub packet_series: Vec<f64>,
    pub send_series: Vec<f64>,
    /// Share of the time of all LDM threads that checkpoints were given in each interval.
    pub checkpoint_series: Vec<f64>,
    /// Since the beginning, warm-up too: what was asked for, what was answered, what was under way at the end.
    pub issued: u64,
    pub answered: u64,
    pub in_flight: u64,
    pub events: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    pub mean_s: f64,
    pub p50_s: f64,
    pub p90_s: f64,
    pub p99_s: f64,
    pub p999_s: f64,
    pub max_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StationOutcome {
    pub name: &'static str,
    /// Of each node, connection or machine.
    pub servers: u32,
    /// Share of the time that a server is busy: of all, and of the busiest one.
    pub busy: f64,
    pub busiest: f64,
    /// Of groups and messages; their mean wait, and the share of them that waited.
    pub visits: u64,
    pub wait_s: f64,
    pub waited: f64,
}

/// Messages between clients and nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Traffic {
    pub sends: u64,
    pub packets: u64,
    pub ops: u64,
}

impl Traffic {
    pub fn add(&mut self, ops: u32, packets: u32) {
        self.sends += 1;
        self.packets += u64::from(packets);
        self.ops += u64::from(ops);
    }
}

/// Bits of a latency, in ns, that its bucket keeps below its highest one: within 1.6 %.
const PRECISION: u32 = 6;
/// Fewer intervals say nothing of the spread.
const LEAST_INTERVALS: usize = 5;

pub struct Record {
    begin_ps: u64,
    interval_ps: u64,
    pub series: Vec<u64>,
    packets: Vec<u64>,
    sends: Vec<u64>,
    maintenance_ps: Vec<u64>,
    measured: bool,
    pub requests: Traffic,
    pub replies: Traffic,
    pub issued: u64,
    answered: u64,
    buckets: Vec<u64>,
    counted: u64,
    latency_ps: u128,
    most_ps: u64,
}

impl Record {
    pub fn new(begin_ps: u64, interval_ps: u64, intervals: usize) -> Record {
        Record {
            begin_ps,
            interval_ps,
            series: vec![0; intervals],
            packets: vec![0; intervals],
            sends: vec![0; intervals],
            maintenance_ps: vec![0; intervals],
            measured: false,
            requests: Traffic::default(),
            replies: Traffic::default(),
            issued: 0,
            answered: 0,
            buckets: vec![0; ((64 - PRECISION as usize) + 1) << PRECISION],
            counted: 0,
            latency_ps: 0,
            most_ps: 0,
        }
    }

    pub fn begin(&mut self) {
        self.measured = true;
        (self.requests, self.replies) = (Traffic::default(), Traffic::default());
    }

    pub fn end(&mut self, intervals: usize) {
        self.series.truncate(intervals);
        self.packets.truncate(intervals);
        self.sends.truncate(intervals);
        self.maintenance_ps.truncate(intervals);
    }

    fn interval(&self, at_ps: u64) -> Option<usize> {
        let since = at_ps.checked_sub(self.begin_ps)? / self.interval_ps;
        (since < self.series.len() as u64).then_some(since as usize)
    }

    pub fn replied(&mut self, done_ps: u64, ops: u32, packets: u32) {
        self.replies.add(ops, packets);
        if let Some(at) = self.interval(done_ps) {
            self.series[at] += u64::from(ops);
            self.packets[at] += u64::from(packets);
            self.sends[at] += 1;
        }
    }

    pub fn maintained(&mut self, now_ps: u64, work_ps: u64) {
        if let Some(at) = self.interval(now_ps) {
            self.maintenance_ps[at] += work_ps;
        }
    }

    pub fn done(&mut self, born_ps: u64, done_ps: u64, ops: u32) {
        self.answered += u64::from(ops);
        if !self.measured {
            return;
        }
        let latency_ps = done_ps - born_ps;
        self.counted += u64::from(ops);
        self.latency_ps += u128::from(latency_ps) * u128::from(ops);
        self.most_ps = self.most_ps.max(latency_ps);
        self.buckets[bucket_of(latency_ps / 1000)] += u64::from(ops);
    }

    /// Half of the 95 % interval of the mean of the intervals so far, as a share of it.
    pub fn half_width(&self, intervals: usize) -> f64 {
        let of = &self.series[..intervals];
        if intervals < LEAST_INTERVALS {
            return f64::INFINITY;
        }
        let n = intervals as f64;
        let mean = of.iter().sum::<u64>() as f64 / n;
        let squares = of.iter().map(|x| (*x as f64 - mean).powi(2)).sum::<f64>();
        // Student's t of 0.975 within 1 % from four degrees of freedom on.
        let df = n - 1.0;
        let t = 1.96 + 2.37 / df + 3.0 / (df * df);
        t * (squares / df / n).sqrt() / mean
    }

    fn quantile_s(&self, q: f64) -> f64 {
        let wanted = (self.counted as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return middle_of(bucket) / 1e9;
            }
        }
        0.0
    }
}

fn bucket_of(ns: u64) -> usize {
    let over = (64 - ns.leading_zeros()).saturating_sub(PRECISION + 1);
    (((over as usize) << PRECISION) + (ns >> over) as usize)
        .min(((64 - PRECISION as usize + 1) << PRECISION) - 1)
}

fn middle_of(bucket: usize) -> f64 {
    let (over, kept) = match bucket >> PRECISION {
        0 | 1 => (0, bucket),
        high => (high - 1, bucket - ((high - 1) << PRECISION)),
    };
    (kept as f64 + 0.5) * (1_u64 << over) as f64
}

impl Outcome {
    pub fn of(world: &World, events: u64) -> Outcome {
        let record = &world.record;
        let measured_s = (record.series.len() as u64 * record.interval_ps) as f64 / 1e12;
        let ops = record.series.iter().sum::<u64>();
        let end_ps = record.begin_ps + record.series.len() as u64 * record.interval_ps;
        let half_width = record.half_width(record.series.len());
        let each = |of: &[u64]| {
            record.series.iter().zip(of).map(|(ops, n)| *ops as f64 / (*n).max(1) as f64).collect()
        };
        let ldm_ps = (u64::from(world.nodes * world.ldm.servers.max(1)) * record.interval_ps) as f64;
        Outcome {
            measured_s,
            ops,
            ops_per_s: ops as f64 / measured_s,
            half_width: half_width.is_finite().then_some(half_width),
            latency: Latency {
                mean_s: record.latency_ps as f64 / 1e12 / record.counted.max(1) as f64,
                p50_s: record.quantile_s(0.5),
                p90_s: record.quantile_s(0.9),
                p99_s: record.quantile_s(0.99),
                p999_s: record.quantile_s(0.999),
                max_s: record.most_ps as f64 / 1e12,
            },
            stations: world
                .pools()
                .into_iter()
                .filter(|pool| pool.servers > 0)
                .map(|pool| StationOutcome::of(pool, end_ps, measured_s))
                .collect(),
            requests: record.requests,
            replies: record.replies,
            series: record.series.clone(),
            packet_series: each(&record.packets),
            send_series: each(&record.sends),
            checkpoint_series: record.maintenance_ps.iter().map(|ps| *ps as f64 / ldm_ps).collect(),
            issued: record.issued,
            answered: record.answered,
            in_flight: record.issued - record.answered,
            events,
        }
    }
}

impl StationOutcome {
    fn of(pool: &Pool, end_ps: u64, measured_s: f64) -> StationOutcome {
        let busy: Vec<f64> = pool.busy_ps(end_ps).map(|ps| ps as f64 / 1e12 / measured_s).collect();
        let visits = pool.visits.max(1) as f64;
        StationOutcome {
            name: pool.name,
            servers: pool.servers,
            busy: busy.iter().sum::<f64>() / busy.len() as f64,
            busiest: busy.iter().copied().fold(0.0, f64::max),
            visits: pool.visits,
            wait_s: pool.wait_ps as f64 / 1e12 / visits,
            waited: pool.waited as f64 / visits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_within_two_percent_of_its_middle() {
        for ns in [0, 1, 63, 64, 127, 128, 1_000, 123_456, 1_930_000, 7_777_777_777] {
            let middle = middle_of(bucket_of(ns));
            assert!((middle - ns as f64).abs() <= 0.5 + 0.016 * ns as f64, "{ns} ns in a bucket of {middle}");
        }
    }
}
