//! The instrument measured by itself: what a clock read, a wait, a row, an encoding and a no-op cost.
//!
//! Rates are per second of client CPU, not of wall time: machines are shared.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use serde_json::{json, Value as Json};

use crate::drive::source::TableCount;
use crate::drive::{drive, DriveTarget, Observer, Progress};
use crate::record::Recorded;
use inrush_engines::engine::{self, Context, Ns};
use inrush_engines::pace::{lags_ns, Spin};
use inrush_rows::clock::{process_cpu_ns, thread_cpu_ns, Clock};
use inrush_rows::encode::encoder;
use inrush_rows::error::Error;
use inrush_rows::plan::{
    DriveSegment, OpKind, OpPlan, Phase, RecordPlan, RolePlan, RunPlan, Schedule, TablePlan, Target, Until,
    WatchPlan, Weighted, Work, PLAN_VERSION,
};
use inrush_rows::rows::RowGen;

const BATCH_ROWS: usize = 8_192;
/// A row is a function of its number: the hundred-millionth costs what the first does.
const LATE_ROW: u64 = 100_000_000;
/// Waits of a pacer's calibration, and their distance.
const WAITS: usize = 200;
const WAIT_NS: u64 = 2_000_000;
const NULL_SESSIONS: u32 = 2;

/// `clock`, `pacer`, `null`, `rows`, `encode_text` or `encode_binary`, for about `seconds` of CPU; JSON.
pub fn calibrate(what: &str, seconds: f64) -> Result<String, Error> {
    let figures = match what {
        "clock" => clock(),
        "pacer" => pacer(),
        "null" => null(seconds)?,
        "rows" => json!({ "rows_per_cpu_s": encode(None, 0, seconds)? }),
        "rows_late" => json!({ "rows_per_cpu_s": encode(None, LATE_ROW, seconds)? }),
        "encode_text" => json!({ "rows_per_cpu_s": encode(Some("text"), 0, seconds)? }),
        "encode_binary" => json!({ "rows_per_cpu_s": encode(Some("pgcopy"), 0, seconds)? }),
        other => return Err(Error::Plan(format!("calibrate {other}: known are {KNOWN}"))),
    };
    Ok(figures.to_string())
}

const KNOWN: &str = "clock, pacer, null, rows, rows_late, encode_text, encode_binary";

fn clock() -> Json {
    let clock = Clock::start();
    json!({ "clock_ns": clock.cost_ns(), "reads_tsc": clock.reads_tsc() })
}

fn pacer() -> Json {
    let lags = lags_ns(Clock::start(), Spin::Never, WAIT_NS, WAITS);
    let at = |q: f64| lags[((lags.len() - 1) as f64 * q) as usize] as f64 / 1e3;
    json!({ "lag_us_p50": at(0.5), "lag_us_p99": at(0.99), "waits": lags.len() })
}

/// The table of the floor figures: a time, an integer and eight monotone counters.
pub fn bench_table() -> TablePlan {
    let counters = (0..8).map(|k| {
        json!({"name": format!("c{k}"), "type": "i64", "wire": "int8", "gen": {
            "kind": "counter", "increment": "lognormal", "median_per_s": 50_000_000, "sigma": 1.5,
            "start_from": 1_000_000_000_000u64, "start_to": 300_000_000_000_000u64,
            "idle_ppm": 200_000, "cap_per_s": 3_125_000_000u64}})
    });
    let columns: Vec<Json> = [
        json!({"name": "at", "type": "time_ms", "wire": "timestamptz", "gen": {"kind": "sweep_time"}}),
        json!({"name": "port", "type": "i32", "wire": "int4", "gen": {"kind": "cycle", "from": 1, "to": 40}}),
    ]
    .into_iter()
    .chain(counters)
    .collect();
    let source = json!({"kind": "generated", "series": 50_000, "period_ns": 1_000_000_000});
    serde_json::from_value(json!({"name": "bench", "stream": "bench", "columns": columns, "source": source}))
        .expect("this table is written here and valid")
}

/// Rows generated, and encoded for `wire` if there is one, per second of this thread's CPU.
fn encode(wire: Option<&str>, first_row: u64, seconds: f64) -> Result<f64, Error> {
    let table = bench_table();
    let generator = RowGen::new(&table, 1, 0)?;
    let mut encoder = wire.map(|name| encoder(name, &table)).transpose()?;
    let mut columns = generator.columns(BATCH_ROWS);
    let mut bytes = Vec::new();
    let began = thread_cpu_ns();
    let mut rows = 0u64;
    loop {
        generator.fill(first_row + rows, BATCH_ROWS, &mut columns);
        if let Some(encoder) = &mut encoder {
            bytes.clear();
            encoder.encode(&columns, &mut bytes)?;
            std::hint::black_box(&bytes);
        }
        std::hint::black_box(&columns);
        rows += BATCH_ROWS as u64;
        let spent = thread_cpu_ns() - began;
        if spent as f64 >= seconds * 1e9 {
            return Ok(rows as f64 * 1e9 / spent as f64);
        }
    }
}

/// Closed no-op calls of two sessions with clocks and histograms on, through the whole driver.
fn null(seconds: f64) -> Result<Json, Error> {
    let (plan, segment) = (null_plan(), null_segment(seconds));
    let context =
        Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) };
    let engine = engine::build(&context)?;
    let counts: [TableCount; 0] = [];
    let drive_target =
        DriveTarget { context: &context, engine: engine.as_ref(), segment: 0, counts: &counts };
    let mut tally = Tally::default();
    let cpu_before = process_cpu_ns();
    drive(&drive_target, &segment, &mut tally)?;
    let cpu_s = (process_cpu_ns() - cpu_before) as f64 / 1e9;
    let ops_per_cpu_s = tally.ops as f64 / cpu_s;
    Ok(json!({ "ops": tally.ops, "cpu_s": cpu_s, "ops_per_cpu_s": ops_per_cpu_s, "sessions": NULL_SESSIONS }))
}

/// A run with one operation that does nothing.
fn null_plan() -> RunPlan {
    RunPlan {
        version: PLAN_VERSION,
        run_id: "calibrate".into(),
        study: "calibrate".into(),
        seed: 1,
        epoch_ns: 0,
        target: Target {
            engine: "null".into(),
            url: "null:".into(),
            options: Default::default(),
            faults: Vec::new(),
            shards: None,
        },
        tables: Vec::new(),
        operations: vec![OpPlan {
            name: "nothing".into(),
            kind: OpKind::Execute,
            table: None,
            does: None,
            text: String::new(),
            directives: None,
            method: String::new(),
            params: Vec::new(),
            range: None,
            dump: None,
            keys: Vec::new(),
            members: Vec::new(),
            holds: Vec::new(),
            deadline_ns: 0,
        }],
        segments: Vec::new(),
        record: RecordPlan { interval_ns: 1_000_000_000, flush_ns: 1_000_000_000 },
        watch: WatchPlan {
            every_ns: 0,
            processes: Default::default(),
            data_dir: String::new(),
            folders: Default::default(),
            threads: Default::default(),
            machine: false,
        },
        share: None,
        labels: Default::default(),
    }
}

fn null_segment(seconds: f64) -> DriveSegment {
    let role = RolePlan {
        name: "callers".into(),
        operations: vec![Weighted { operation: "nothing".into(), weight: 1 }],
        sessions: NULL_SESSIONS,
        depth: 1,
        schedule: Schedule::CLOSED,
        work: Work::Endless {},
        until: Until::Time { ns: (seconds * 1e9) as u64 },
        queue_calls: None,
        connects: false,
    };
    DriveSegment {
        step: String::new(),
        label: "null".into(),
        phase: Phase::Measure,
        roles: vec![role],
        limit_ns: ((seconds + 60.0) * 1e9) as u64,
        retry_ns: 0,
        repeat: None,
        sample: None,
    }
}

#[derive(Default)]
struct Tally {
    ops: u64,
}

impl Observer for Tally {
    fn recorded(&mut self, recorded: Recorded) -> Result<(), Error> {
        self.ops += recorded.repetitions.iter().map(|s| s.ok).sum::<u64>();
        Ok(())
    }

    fn progress(&mut self, _: Progress) {}

    fn repeat(&mut self, _: u32, _: Ns) -> Result<bool, Error> {
        Ok(false)
    }

    fn stuck(&mut self, _: &str) {}
}
