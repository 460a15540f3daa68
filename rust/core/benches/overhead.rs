//! What the instrument itself costs, per call, in CPU time of this thread: machines are shared.
//!
//! `cargo bench --bench overhead`. Each figure is the median of rounds, with the lowest and highest.

use std::hint::black_box;
use std::sync::Arc;

use inrush_drive::drive::assertion::{Asked, Check};
use inrush_drive::drive::session::flights::{Flight, Flights};
use inrush_drive::drive::source::TableCount;
use inrush_drive::drive::touched::{Change, Touched};
use inrush_drive::proof::{Known, State};
use inrush_drive::record::{Collector, Hist, Recorder, RoleSpec, Times};
use inrush_engines::engine::{Answer, Outcome};
use inrush_engines::mix::{Share, Shared};
use inrush_engines::schedule::{ArrivalQueue, Arrivals, Batching, Stride};
use inrush_rows::clock::{thread_cpu_ns, Clock};
use inrush_rows::plan::{RowCall, RunPlan, Schedule};
use inrush_rows::rows::{Generators, RowGen, Value};

const ROUNDS: usize = 11;
const CALLS: u64 = 2_000_000;
/// Of the table that a key is looked up in.
const ROWS: u64 = 1_000_000_000;

fn main() {
    if cfg!(debug_assertions) {
        eprintln!("a debug build: these figures mean nothing");
        std::process::exit(2);
    }
    println!("{:<32} {:>8} {:>8} {:>8}", "ns of CPU per call", "median", "lowest", "highest");
    let clock = Clock::start();
    measure("clock: now", || {
        (0..CALLS).for_each(|_| {
            black_box(clock.now());
        });
    });
    hist();
    closed(clock);
    paced();
    schedule();
    keys();
    judge();
    in_flight();
    println!(
        "null engine through the driver: {}",
        inrush_drive::calibrate::calibrate("null", 3.0).expect("null needs nothing")
    );
}

fn hist() {
    let mut hist = Hist::new();
    measure("hist: record", || (0..CALLS).for_each(|k| hist.record(black_box(40 + (k & 1023)))));
    black_box(hist.n());
}

/// Two clock readings and the record of one operation: what a closed call costs at least.
fn closed(clock: Clock) {
    let (mut collector, mut recorder) = recorder(Schedule::CLOSED);
    collector.begin(0, clock.now());
    recorder.begin(0, clock.now());
    measure("record: closed, with its clock", || {
        for _ in 0..CALLS {
            let sent_ns = clock.now();
            recorder.sent(0, sent_ns);
            let done_ns = clock.now();
            let (due_ns, ready_ns) = (sent_ns, sent_ns);
            let times = Times { due_ns, ready_ns, ready_on_time_ns: ready_ns, sent_ns, done_ns };
            recorder.record(0, times, Outcome::Ok, black_box(1), black_box(8));
        }
        black_box(collector.take().intervals.len());
    });
}

fn paced() {
    let (mut collector, mut recorder) = recorder(Schedule::Constant { rate_per_s: 1e6 });
    collector.begin(0, 0);
    recorder.begin(0, 0);
    let mut sent_ns = 0;
    measure("record: paced, without clock", || {
        for k in 0..CALLS {
            sent_ns += 100;
            recorder.sent(0, sent_ns);
            let times = Times {
                due_ns: sent_ns - (k & 63),
                ready_ns: sent_ns - (k & 31),
                ready_on_time_ns: sent_ns - (k & 127),
                sent_ns,
                done_ns: black_box(sent_ns + 20 + (k & 255)),
            };
            recorder.record(0, times, Outcome::Ok, black_box(1), black_box(8));
        }
        black_box(collector.take().intervals.len());
    });
}

fn recorder(schedule: Schedule) -> (Collector, Recorder) {
    let role = RoleSpec {
        name: "r".into(),
        ops: vec!["o".into()],
        sessions: 1,
        schedule,
        seed: 1,
        count: None,
        stride: Stride::WHOLE,
        looks: Default::default(),
        choose: None,
    };
    let (collector, mut recorders) = Collector::new(0, 1_000_000_000, vec![role]);
    (collector, recorders.remove(0).remove(0))
}

fn schedule() {
    let mut constant = Arrivals::new(&Schedule::Constant { rate_per_s: 12_345.678 }, 1);
    let mut k = 0;
    measure("schedule: constant", || {
        for _ in 0..CALLS {
            black_box(constant.due_ns(k));
            k += 1;
        }
    });
    let mut poisson = Arrivals::new(&Schedule::Poisson { rate_per_s: 12_345.678 }, 1);
    let mut k = 0;
    measure("schedule: Poisson", || {
        for _ in 0..CALLS {
            black_box(poisson.due_ns(k));
            k += 1;
        }
    });
    let mut tickets = ArrivalQueue::new(None, 2, Batching::Guided).tickets();
    measure("line: a closed ticket", || {
        (0..CALLS).for_each(|_| {
            black_box(tickets.take());
        });
    });
}

/// Parameters of a call from rows anywhere in a table of 10^9.
fn keys() {
    let text = serde_json::json!({"kind": "format", "pattern": "host-%05d", "fields": [{"kind": "cycle", "from": 0, "to": 99_999_999}]});
    let columns = [
        ("guid", "u64", serde_json::json!({"kind": "pattern", "prefix": "b8599f03", "every": 40})),
        ("port", "i32", serde_json::json!({"kind": "cycle", "from": 1, "to": 40})),
        ("at", "time_ms", serde_json::json!({"kind": "sweep_time"})),
        ("host", "text", text),
    ];
    let columns: Vec<_> = (columns.iter())
        .map(|(name, ty, gen)| serde_json::json!({"name": name, "type": ty, "wire": "", "gen": gen}))
        .collect();
    let table = serde_json::json!({"name": "t", "stream": "t", "columns": columns,
        "source": {"kind": "generated", "series": 50_000, "period_ns": 1_000_000_000}});
    let zipf = serde_json::json!({"kind": "zipf", "exponent": 1.1});
    let uniform = serde_json::json!({"kind": "uniform"});
    let list: Vec<(&str, usize)> = (0..256).map(|k| ("guid", k)).collect();
    for (what, by, params) in [
        ("keys: u64, uniform", &uniform, vec![("guid", 0)]),
        ("keys: text, uniform", &uniform, vec![("host", 0)]),
        ("keys: three columns of a row", &uniform, ["guid", "port", "at"].map(|column| (column, 0)).to_vec()),
        ("keys: u64, Zipf", &zipf, vec![("guid", 0)]),
        ("keys: a list of 256, each", &uniform, list),
    ] {
        let each = if params.len() == 256 { 256 } else { 1 };
        let params: Vec<_> = (params.iter().enumerate())
            .map(|(k, (column, draw))| {
                let ty = columns.iter().find(|c| c["name"] == *column).expect("one of them")["type"].clone();
                let gen = serde_json::json!({"kind": "key", "keys": 0, "draw": draw, "column": column});
                serde_json::json!({"name": format!("k{k}"), "type": ty, "gen": gen})
            })
            .collect();
        let operation = serde_json::json!({"name": "look", "kind": "query", "params": params,
            "keys": [{"table": 0, "rows": 1_000_000_000u64, "by": by}]});
        let plan = serde_json::json!({"version": 1, "run_id": "", "study": "", "seed": 1, "epoch_ns": 0,
            "target": {"engine": "null", "url": ""}, "tables": [table.clone()], "operations": [operation], "segments": [],
            "record": {"interval_ns": 1, "flush_ns": 1}, "watch": {"every_ns": 0, "processes": {}}});
        let plan = Arc::new(serde_json::from_value(plan).expect("a plan of this build"));
        let shared = Shared::new(&Generators::new(plan), 0, "users").expect("valid keys");
        let mut params = shared.in_session(Share::WHOLE).expect("valid keys");
        let mut values = params.values();
        measure(what, || {
            for ticket in 0..CALLS / each {
                params.fill(ticket, 0, &mut values);
                black_box(&values);
            }
        });
    }
}

/// An answer of one row, of one key, compared with the row that the generator makes.
fn judge() {
    let uniform = |to: i64| serde_json::json!({"kind": "uniform", "from": 0, "to": to});
    let column = |name: String, ty: &str, gen: serde_json::Value| serde_json::json!({"name": name, "type": ty, "wire": "", "gen": gen});
    let id = || column("id".into(), "i64", serde_json::json!({"kind": "sequence", "start": 0, "step": 1}));
    let numbers = |count: usize| (0..count).map(|k| column(format!("v{k}"), "i32", uniform(1 << 30)));
    let text = serde_json::json!({"kind": "text", "min_bytes": 160, "max_bytes": 160});
    const CHANGED: &str = "judge: a changed row, 2 + 25 of 4 B";
    let version = column("version".into(), "i64", serde_json::json!({"kind": "version"}));
    for (what, columns) in [
        ("judge: a key's row, 1 + 2 of 4 B", [id()].into_iter().chain(numbers(2)).collect::<Vec<_>>()),
        ("judge: a key's row, 1 + 25 of 4 B", [id()].into_iter().chain(numbers(25)).collect()),
        ("judge: a key's row, 1 + text of 160 B", vec![id(), column("v".into(), "text", text)]),
        (CHANGED, [id(), version].into_iter().chain(numbers(25)).collect()),
    ] {
        let (is_changed, rows) = (what == CHANGED, if what == CHANGED { 1_000_000 } else { ROWS });
        let names: Vec<_> = columns.iter().map(|c| c["name"].clone()).collect();
        let table = serde_json::json!({"name": "t", "stream": "t", "identity": ["id"], "columns": columns,
            "source": {"kind": "generated", "series": 1, "period_ns": 1_000_000_000}});
        let operation = serde_json::json!({"name": "look", "kind": "query", "table": 0,
            "params": [{"name": "k", "type": "i64", "gen": {"kind": "key", "keys": 0, "draw": 0, "column": "id"}}],
            "keys": [{"table": 0, "rows": rows, "by": {"kind": "uniform"}}],
            "holds": [{"kind": "asked", "table": 0, "columns": names, "keys": ["id"]}]});
        let changed = names.iter().filter(|name| **name != "id").map(|name| {
            serde_json::json!({"name": name, "type": "i64", "gen": {"kind": "changed", "keys": 0, "column": name}})
        });
        let change = serde_json::json!({"name": "change", "kind": "execute", "table": 0, "does": "update",
            "params": changed.collect::<Vec<_>>(),
            "keys": [{"table": 0, "rows": rows, "by": {"kind": "uniform"}}]});
        let operations = if is_changed { vec![operation, change] } else { vec![operation] };
        let plan = serde_json::json!({"version": 1, "run_id": "", "study": "", "seed": 1, "epoch_ns": 0,
            "target": {"engine": "null", "url": ""}, "tables": [table], "operations": operations, "segments": [],
            "record": {"interval_ns": 1, "flush_ns": 1}, "watch": {"every_ns": 0, "processes": {}}});
        let plan: Arc<RunPlan> = Arc::new(serde_json::from_value(plan).expect("a plan of this build"));
        let generators = Generators::new(plan.clone());
        let generator = generators.of(0).expect("a valid table");
        let counts = [TableCount::of(&generators, 0).expect("a valid table")];
        let mut checks =
            Check::of(&generators, &plan.operations[0], false, &counts).expect("a valid promise");
        let shared = Shared::new(&generators, 0, "users").expect("valid keys");
        let mut params = shared.in_session(Share::WHOLE).expect("valid keys");
        let mut values = params.values();
        let answers: Vec<Answer> = (0..CALLS / 32)
            .map(|ticket| {
                params.fill(ticket, 0, &mut values);
                let Value::I64(id) = values[0] else { unreachable!("an i64") };
                let row = match counts[0].touched() {
                    None => generator.row(id as u64),
                    Some(touched) => changed_row(touched, &generator, id as u64),
                };
                Answer { names: Default::default(), rows: vec![row] }
            })
            .collect();
        counts[0].issue(ROWS);
        counts[0].acknowledge(ROWS);
        counts[0].settle();
        // As the driver does it: the parameters are made again, and the promise is held against the answer.
        measure(what, || {
            for _ in 0..32 {
                for (ticket, answer) in (0..).zip(&answers) {
                    params.fill(ticket, 0, &mut values);
                    let broken =
                        checks[0].broken(answer, ROWS, &Asked { params: &values, sent: 10, counts: &counts });
                    assert!(black_box(broken).is_none(), "the row is right");
                }
            }
        });
    }
}

/// The row as one call has changed it, which was acknowledged.
fn changed_row(touched: &Touched, generator: &RowGen, row: u64) -> Vec<Value> {
    let version = row + 1;
    if touched.ledger.stored(row) == Known::Is(State::Untouched) {
        touched.ledger.begin(row);
        touched.done(RowCall::Update, Change { row, version }, ROWS, 1, 2);
    }
    let donor = generator.row(touched.changes.donor(row, version));
    let own = generator.row(row).into_iter().zip(donor).enumerate();
    own.map(|(column, (own, donor))| match column {
        _ if touched.changes.version == Some(column) => Value::I64(version as i64),
        _ if touched.changes.is_donated(column) => donor,
        _ => own,
    })
    .collect()
}

/// A call that begins and ends, beside all others that a session of depth 1,024 has in flight.
fn in_flight() {
    const DEPTH: u64 = 1_024;
    for (what, turned) in
        [("in flight: 1,024, first sent first", false), ("in flight: 1,024, last sent first", true)]
    {
        let mut flights = Flights::new(DEPTH as usize);
        measure(what, || {
            flights.restart(0);
            for batch in 0..CALLS / DEPTH {
                for ticket in batch * DEPTH..(batch + 1) * DEPTH {
                    flights.begin(Flight { ticket, ..Flight::default() });
                }
                for k in 0..DEPTH {
                    let ticket = batch * DEPTH + if turned { DEPTH - 1 - k } else { k };
                    assert!(flights.end(black_box(ticket), 1).is_some(), "it is in flight");
                }
            }
        });
    }
}

fn measure(what: &str, mut calls: impl FnMut()) {
    calls();
    let mut ns: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let before = thread_cpu_ns();
            calls();
            (thread_cpu_ns() - before) as f64 / CALLS as f64
        })
        .collect();
    ns.sort_by(f64::total_cmp);
    println!("{what:<32} {:>8.2} {:>8.2} {:>8.2}", ns[ROUNDS / 2], ns[0], ns[ROUNDS - 1]);
}
