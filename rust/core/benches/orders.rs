//! What the order of rows costs: ns of thread CPU time for each row, and the memory of it, at 10^8 rows in each order.
//!
//! `cargo bench --bench orders` prints one line per order; `--json` one JSON object per line, `--rows N` other rows.
//! Exits with 1 where an order makes fewer than 5 M rows per CPU second, or the process holds more than 100 MB.

use inrush_rows::clock::thread_cpu_ns;
use inrush_rows::rows::order::{lognormal, Cursor, Events, Lognormal, Order, Ordered, Pinned};

const BATCH: usize = 8192;
const LEAST_ROWS_PER_CPU_S: f64 = 5e6;
const MOST_BYTES: u64 = 100_000_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let json = args.iter().any(|a| a == "--json");
    let rows = args.iter().position(|a| a == "--rows").map_or(100_000_000, |at| {
        args.get(at + 1).and_then(|n| n.parse().ok()).expect("--rows takes a number of rows")
    });
    let mut kept = true;
    for (name, order) in [
        ("key", Order::Key),
        ("time", Order::Time),
        ("file", Order::File { files: 24 }),
        ("random", Order::Random { key: 1 }),
    ] {
        let start = thread_cpu_ns();
        let ordered = Ordered::new(archive(rows), order).unwrap_or_else(|e| panic!("{name}: {e}"));
        let made_s = (thread_cpu_ns() - start) as f64 / 1e9;
        let ns_per_row = measure(&ordered, rows);
        let peak = peak_bytes();
        kept &= 1e9 / ns_per_row >= LEAST_ROWS_PER_CPU_S && peak <= MOST_BYTES;
        if json {
            println!(
                "{}",
                serde_json::json!({"order": name, "rows": rows, "ns_per_row": ns_per_row,
                    "rows_per_cpu_s": 1e9 / ns_per_row, "set_up_s": made_s, "peak_bytes": peak})
            );
        } else {
            println!(
                "{name:8} {rows} rows {ns_per_row:8.2} ns/row {:8.1} M rows/CPU-s, set up in {made_s:.4} s, peak {:.1} MB",
                1e3 / ns_per_row,
                peak as f64 / 1e6
            );
        }
    }
    std::process::exit(i32::from(!kept));
}

/// ns of CPU for each of the table's rows, by one cursor from the first to the last.
fn measure(ordered: &Ordered, rows: u64) -> f64 {
    let (mut series, mut sweep) = (vec![0; BATCH], vec![0; BATCH]);
    let mut cursor = Cursor::default();
    let start = thread_cpu_ns();
    let mut first = 0;
    while first < rows {
        let n = (rows - first).min(BATCH as u64) as usize;
        cursor.fill(ordered, first, &mut series[..n], &mut sweep[..n]);
        std::hint::black_box((&series, &sweep));
        first += n as u64;
    }
    (thread_cpu_ns() - start) as f64 / rows as f64
}

/// 4,000 attributes, 64.7 rows a second, one with 1.2 % of them.
fn archive(rows: u64) -> Events {
    let law = Lognormal { sigma: 1.5, pinned: Some(Pinned { series: 3467, share_ppm: 12_000 }) };
    let series = lognormal(7, 4000, 61_823_802_164, &law).expect("a law of rates");
    Events::new(series, rows).expect("fewer than 73 years")
}

/// Most memory that this process has held.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    let kb: u64 = line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("in kB");
    kb * 1024
}
