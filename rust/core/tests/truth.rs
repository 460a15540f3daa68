//! What the instrument reports where the answer is known: the simulated engine in simulated time.
//!
//! c sessions at c exponential servers, fed by one Poisson line, are the M/M/c queue. With arrival
//! rate l, service rate m of one server, a = l/m and load r = a/c, the probability to wait is
//! Erlang's C = B / (1 - r (1 - B)), B by the recursion B(0) = 1, B(k) = a B(k-1) / (k + a B(k-1));
//! a wait is longer than t with probability C exp(-(c m - l) t), and C / (c m - l) in the mean.

mod virtual_time;

use inrush_drive::record::{bucket_of, bucket_range, Hist, Kind, Recorded};
use inrush_engines::engine::simulated::{Distribution, Options};
use inrush_rows::plan::Schedule;

use virtual_time::{simulate, Simulation};

const SERVICE_NS: u64 = 1_000_000;
const REPLICATIONS: u64 = 24;
/// Student's t, 23 degrees of freedom, two-sided 99.9 %.
const T_999: f64 = 3.768;

struct Queue {
    servers: u32,
    load: f64,
}

impl Queue {
    /// Per ns.
    fn arrival_rate(&self) -> f64 {
        self.load * f64::from(self.servers) / SERVICE_NS as f64
    }

    /// Per ns: how fast a line that has formed gets shorter.
    fn drain_rate(&self) -> f64 {
        (1.0 - self.load) * f64::from(self.servers) / SERVICE_NS as f64
    }

    fn probability_to_wait(&self) -> f64 {
        let offered = self.load * f64::from(self.servers);
        let blocked = (1..=self.servers).fold(1.0, |b, k| offered * b / (f64::from(k) + offered * b));
        blocked / (1.0 - self.load * (1.0 - blocked))
    }

    fn mean_wait_ns(&self) -> f64 {
        self.probability_to_wait() / self.drain_rate()
    }

    fn tail(&self, t_ns: u64) -> f64 {
        self.probability_to_wait() * (-self.drain_rate() * t_ns as f64).exp()
    }

    /// The recorded waits and services after the start-up, a fifth of the run.
    ///
    /// A queue forgets its empty start within some 1 / (m (1 - sqrt r)^2): 1,560 services at load
    /// 0.95, a 25th of that fifth.
    fn observe(&self, seed: u64) -> (Hist, Hist) {
        let count = if self.load > 0.9 { 200_000 } else { 60_000 };
        let run_ns = count as f64 / self.arrival_rate();
        let interval_ns = (run_ns / 20.0) as u64;
        let recorded = simulate(&Simulation {
            schedule: Schedule::Poisson { rate_per_s: self.arrival_rate() * 1e9 },
            seed,
            sessions: self.servers,
            servers: Options {
                servers: self.servers as usize,
                service_ns: SERVICE_NS,
                distribution: Distribution::Exponential,
                ..Options::default()
            },
            count,
            interval_ns,
        });
        let steady = |kind| merged(&recorded, kind, 4 * interval_ns);
        (steady(Kind::Wait), steady(Kind::Service))
    }
}

fn merged(recorded: &Recorded, kind: Kind, from_ns: u64) -> Hist {
    let mut all = Hist::new();
    for row in recorded.hists.iter().filter(|row| row.kind == kind && row.t_ns >= from_ns) {
        all.merge(&Hist::from_sparse(&row.hist));
    }
    all
}

/// Asserts that the mean of independent replications agrees with theory.
fn agrees(what: &str, replications: &[f64], expected: f64) {
    let n = replications.len() as f64;
    let mean = replications.iter().sum::<f64>() / n;
    let variance = replications.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half_width = T_999 * (variance / n).sqrt();
    assert!(
        (mean - expected).abs() <= half_width,
        "{what}: {mean:.6} ± {half_width:.6}, theory {expected:.6}"
    );
    assert!(half_width < 0.15 * expected, "{what}: ± {half_width:.6} of {expected:.6} would prove nothing");
}

fn check(servers: u32, load: f64) {
    let queue = Queue { servers, load };
    let seen: Vec<(Hist, Hist)> =
        (0..REPLICATIONS).map(|k| queue.observe(1000 * u64::from(servers) + k)).collect();
    let of = |f: &dyn Fn(&(Hist, Hist)) -> f64| seen.iter().map(f).collect::<Vec<f64>>();
    let name = format!("M/M/{servers} at {load}");

    agrees(&format!("{name}: mean wait, ns"), &of(&|(wait, _)| wait.mean()), queue.mean_wait_ns());
    let waited = of(&|(wait, _)| 1.0 - wait.count(0) as f64 / wait.n() as f64);
    agrees(&format!("{name}: P(wait > 0)"), &waited, queue.probability_to_wait());
    // The mean wait of those that wait, at a bucket's end so that the count is exact.
    let t_ns = bucket_range(bucket_of((1.0 / queue.drain_rate()) as u64)).1;
    let longer = of(&|(wait, _)| wait.count_above(t_ns) as f64 / wait.n() as f64);
    agrees(&format!("{name}: P(wait > {t_ns} ns)"), &longer, queue.tail(t_ns));
    agrees(&format!("{name}: mean service, ns"), &of(&|(_, service)| service.mean()), SERVICE_NS as f64);
}

#[test]
fn waits_at_half_load_are_erlangs() {
    [1, 2, 4].into_iter().for_each(|servers| check(servers, 0.5));
}

#[test]
fn waits_at_four_fifths_load_are_erlangs() {
    [1, 2, 4].into_iter().for_each(|servers| check(servers, 0.8));
}

#[test]
fn waits_near_saturation_are_erlangs() {
    [1, 2, 4].into_iter().for_each(|servers| check(servers, 0.95));
}

#[test]
fn a_closed_loop_keeps_every_server_busy_and_obeys_littles_law() {
    let recorded = simulate(&Simulation {
        schedule: Schedule::CLOSED,
        seed: 5,
        sessions: 6,
        servers: Options { servers: 2, service_ns: SERVICE_NS, ..Options::default() },
        count: 100_000,
        interval_ns: 1_000_000_000,
    });
    let totals = &recorded.repetitions[0];
    let throughput_per_ns = totals.ops as f64 / (totals.end_ns - totals.start_ns) as f64;
    let latency = merged(&recorded, Kind::Latency, 0);
    let in_system = throughput_per_ns * latency.mean();
    assert!((in_system / 6.0 - 1.0).abs() < 0.001, "{in_system} of 6 sessions");
    let busy = throughput_per_ns * SERVICE_NS as f64;
    // 99.9 %: the mean of 100,000 exponential times is within 3.3 / sqrt(100,000) of theirs.
    assert!((busy / 2.0 - 1.0).abs() < 0.0105, "{busy} of 2 servers");
    assert_eq!((totals.late, totals.unsent), (0, 0));
}

#[test]
fn a_server_that_stops_for_a_second_delays_every_operation_that_was_due() {
    let freeze = |freeze_for_ns| {
        simulate(&Simulation {
            schedule: Schedule::Constant { rate_per_s: 1000.0 },
            seed: 1,
            sessions: 4,
            servers: Options {
                servers: 4,
                service_ns: 200_000,
                distribution: Distribution::Fixed,
                freeze_at_ns: 2_000_000_000,
                freeze_for_ns,
                ..Options::default()
            },
            count: 5000,
            interval_ns: 250_000_000,
        })
    };
    let (frozen, flowing) = (freeze(1_000_000_000), freeze(0));
    let quantile = |recorded: &Recorded, kind, q| merged(recorded, kind, 0).quantile(q).expect("not empty");

    assert!(quantile(&frozen, Kind::Latency, 0.99) >= 900_000_000);
    assert!(quantile(&flowing, Kind::Latency, 0.99) <= 201_600);
    // Due in the frozen second, less the four that were at the servers and the last milliseconds.
    let late = frozen.repetitions[0].late;
    assert!((990..=1060).contains(&late), "{late} late");
    assert_eq!(flowing.repetitions[0].late, 0);
    assert_eq!(quantile(&frozen, Kind::Lag, 1.0), 0, "the client was never late itself");
    assert_eq!(frozen.repetitions[0].ops, 5000, "nothing offered is missing");
    assert_eq!(frozen.repetitions[0].unsent, 0);
    let worst = frozen.intervals.iter().max_by_key(|row| row.backlog).expect("rows");
    assert!((740..=1000).contains(&worst.backlog), "{} in backlog", worst.backlog);
    let idle = frozen.intervals.iter().filter(|row| row.ops == 0).count();
    assert!((3..=4).contains(&idle), "{idle} quarter seconds without an answer have their rows");
}

#[test]
fn failures_come_at_their_rate_and_have_no_latency() {
    let recorded = simulate(&Simulation {
        schedule: Schedule::Constant { rate_per_s: 1000.0 },
        seed: 9,
        sessions: 2,
        servers: Options { servers: 2, service_ns: 1000, fail_ppm: 50_000, ..Options::default() },
        count: 40_000,
        interval_ns: 1_000_000_000,
    });
    let totals = &recorded.repetitions[0];
    // 99.9 %: 2000 ± 3.3 sqrt(40,000 * 0.05 * 0.95).
    assert!((1856..=2144).contains(&totals.errors), "{}", totals.errors);
    assert_eq!(merged(&recorded, Kind::Latency, 0).n(), totals.ok);
    assert_eq!((recorded.failures[0].outcome, recorded.failures[0].count), ("other", totals.errors));
}

#[test]
fn the_same_seed_gives_the_same_tables() {
    let simulation = |seed| Simulation {
        schedule: Schedule::Poisson { rate_per_s: 900.0 },
        seed,
        sessions: 3,
        servers: Options { servers: 1, ..Options::default() },
        count: 5000,
        interval_ns: 500_000_000,
    };
    let (once, again, other) = (simulate(&simulation(1)), simulate(&simulation(1)), simulate(&simulation(2)));
    assert_eq!(once.hists, again.hists);
    assert_eq!(once.intervals, again.intervals);
    assert_ne!(once.hists, other.hists);
}

/// Half an hour of Poisson arrivals in simulated time, in intervals of a second: what a run leaves behind.
#[test]
fn half_an_hour_has_an_interval_for_each_second_and_loses_no_arrival() {
    let rate_per_s = 200.0;
    let count = (1_800.0 * rate_per_s) as u64;
    let recorded = simulate(&Simulation {
        schedule: Schedule::Poisson { rate_per_s },
        seed: 5,
        sessions: 50,
        servers: Options { servers: 4, service_ns: 10 * SERVICE_NS, ..Options::default() },
        count,
        interval_ns: 1_000_000_000,
    });
    let totals = &recorded.repetitions[0];
    assert_eq!((totals.ops, totals.ok, totals.unsent), (count, count, 0));
    let span_s = (totals.end_ns - totals.start_ns) as f64 / 1e9;
    assert!((span_s / 1_800.0 - 1.0).abs() < 4.0 / (count as f64).sqrt(), "{span_s}");
    assert_eq!(recorded.intervals.iter().map(|row| row.ops).sum::<u64>(), count);
    assert!((1_790..=1_830).contains(&recorded.intervals.len()), "{}", recorded.intervals.len());
    let buckets: usize = recorded.hists.iter().map(|row| row.hist.bucket.len()).sum();
    println!(
        "{} intervals, {} histograms, {buckets} buckets",
        recorded.intervals.len(),
        recorded.hists.len()
    );
}
