//! What the simulation costs: CPU-seconds of a simulated minute of 32 data nodes and 40 client machines.
//!
//! `cargo bench --bench minute` prints one line per cluster; `--json` one JSON object per line, `--seconds S` simulates
//! another length than 5 s, from which a minute is reckoned; `--only flight` those clusters whose names have the word.

use inrush_rows::clock::thread_cpu_ns;
use inrush_simulate::{simulate, Cluster};

/// `python/benches/simulation.py` has the same; a test of Python compares the two.
const MINUTE: &str = include_str!("minute.json");
const MINUTE_S: f64 = 60.0;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let json = args.iter().any(|a| a == "--json");
    let seconds = args.iter().position(|a| a == "--seconds").map_or(5.0, |at| {
        args.get(at + 1).and_then(|n| n.parse().ok()).expect("--seconds takes a number of seconds")
    });
    let only = args.iter().position(|a| a == "--only").and_then(|at| args.get(at + 1));
    for (name, parallel, pieces) in
        [("4,096 in flight", 4096, 1), ("8,192 in flight", 8192, 1), ("4,096, in pieces", 4096, 12)]
    {
        if only.is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let mut cluster: Cluster = serde_json::from_str(MINUTE).expect("a cluster");
        (cluster.measure_s, cluster.parallel) = (if pieces > 1 { seconds / 10.0 } else { seconds }, parallel);
        cluster.interval_s = cluster.measure_s / 5.0;
        (cluster.tc.pieces, cluster.ldm.pieces) = (pieces, pieces);
        let start_ns = thread_cpu_ns();
        let found = simulate(&cluster).expect("a cluster");
        let cpu_s = (thread_cpu_ns() - start_ns) as f64 / 1e9;
        let minute_s = cpu_s * MINUTE_S / (cluster.measure_s + cluster.warm_s);
        let ns_per_event = cpu_s * 1e9 / found.events as f64;
        if json {
            println!(
                "{}",
                serde_json::json!({"cluster": name, "cpu_s": cpu_s, "minute_cpu_s": minute_s, "events": found.events,
                    "ns_per_event": ns_per_event, "ops_per_s": found.ops_per_s, "p99_s": found.latency.p99_s})
            );
        } else {
            println!(
                "{name:17} {minute_s:6.1} CPU-s for a minute, {:.1} M events of {ns_per_event:.1} ns, {:.2} M ops/s, p99 {:.3} ms",
                found.events as f64 / 1e6,
                found.ops_per_s / 1e6,
                found.latency.p99_s * 1e3
            );
        }
    }
}
