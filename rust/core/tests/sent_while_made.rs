//! Large batches of closed roles leave while they are made: same bytes, little memory, and the same judgement of what fails.

mod common;
#[path = "sent/server.rs"]
mod server;

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use inrush_drive::drive::source::TableCount;
use inrush_drive::drive::{drive, DriveTarget, Driven};
use inrush_drive::record::Recorded;
use inrush_engines::engine::{build, Context};
use inrush_rows::clock::Clock;
use inrush_rows::encode::{encoder, parts, PART_ROWS};
use inrush_rows::plan::{RunPlan, Segment};
use inrush_rows::rows::RowGen;
use serde_json::{json, Value as Json};

use common::Seen;
use server::{Body, Deed, Hash, Server};

const COLUMNS: usize = 8;
/// Of which a session may hold a few blocks, and never all.
const MANY_ROWS: u64 = 1_000_000;

fn table() -> Json {
    let column = |k| {
        let gen = json!({"kind": "sequence", "start": k * 1_000_003, "step": 1});
        json!({"name": format!("c{k}"), "type": "i64", "wire": "", "gen": gen})
    };
    json!({"name": "t", "stream": "t", "columns": (0..COLUMNS).map(column).collect::<Vec<_>>(),
           "source": {"kind": "generated", "series": 1, "period_ns": 1}})
}

const CLOSED: &str = r#"{"kind": "closed", "think_ns": 0}"#;

fn plan(url: &str, method: &str, schedule: &str, rows: u64, batch_rows: u64) -> RunPlan {
    let schedule: Json = serde_json::from_str(schedule).expect("JSON");
    let plan = json!({
        "version": 1, "run_id": "r", "study": "s", "seed": 7, "epoch_ns": 0,
        "target": {"engine": "clickhouse", "url": url}, "tables": [table()],
        "operations": [{"name": "insert", "kind": "insert", "table": 0, "method": method, "text": "INSERT INTO t"}],
        "segments": [{"kind": "drive", "label": "d", "phase": "measure", "limit_ns": 60_000_000_000u64, "roles": [{
            "name": "writers", "operations": [{"operation": "insert", "weight": 1}], "sessions": 1, "depth": 1,
            "schedule": schedule, "until": {"kind": "work"},
            "work": {"kind": "rows", "table": 0, "first_row": 5, "rows": rows, "batch_rows": batch_rows}}]}],
        "record": {"interval_ns": 1_000_000_000u64, "flush_ns": 1_000_000_000u64},
        "watch": {"every_ns": 0, "processes": {}}});
    RunPlan::from_json(&plan.to_string()).expect("a plan")
}

fn run(plan: RunPlan) -> (Driven, Recorded, u64) {
    let context =
        Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) };
    let Segment::Drive(segment) = context.plan.segments[0].clone() else { panic!("a drive") };
    let engine = build(&context).expect("connected");
    let counts = [TableCount::default()];
    let drive_target =
        DriveTarget { context: &context, engine: engine.as_ref(), segment: 0, counts: &counts };
    let mut seen = Seen::default();
    let driven = drive(&drive_target, &segment, &mut seen).expect("driven");
    (driven, seen.0, counts[0].acknowledged())
}

/// What rows `first ..` of the table are on the wire, made part by part.
fn expected(wire: &str, first: u64, rows: usize) -> (u64, u64) {
    let plan = serde_json::from_value(table()).expect("a table");
    let generator = RowGen::new(&plan, 7, 0).expect("a table");
    let (mut columns, mut encoder) = (generator.columns(PART_ROWS), encoder(wire, &plan).expect("known"));
    let (mut hash, mut bytes, mut out) = (Hash::default(), 0, Vec::new());
    for (at, count, part) in parts(rows, PART_ROWS) {
        generator.fill(first + at as u64, count, &mut columns);
        out.clear();
        encoder.encode_part(&columns, part, &mut out).expect("it fits");
        hash.add(&out);
        bytes += out.len() as u64;
    }
    (hash.0, bytes)
}

/// MB of this process: resident now, and at most so far.
fn memory_mb() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let of = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).expect("a line");
        line.split_whitespace().nth(1).expect("a figure").parse::<u64>().expect("kB") / 1024
    };
    (of("VmRSS:"), of("VmHWM:"))
}

#[test]
fn a_batch_of_a_million_rows_leaves_while_it_is_made_and_a_session_holds_little_of_it() {
    for (method, wire) in [("native", "native"), ("rowbinary", "rowbinary"), ("tsv", "text")] {
        let server = Server::start(Deed::Store);
        let (before, _) = memory_mb();
        let (driven, recorded, acknowledged) = run(plan(&server.url, method, CLOSED, MANY_ROWS, MANY_ROWS));
        let (_, most) = memory_mb();
        assert_eq!(driven.fatal, None);
        assert!(most < before + 32, "{method}: {before} MB before, {most} MB at most");
        let (hash, bytes) = expected(wire, 5, MANY_ROWS as usize);
        assert_eq!(*server.bodies.lock().unwrap(), [Body { hash, bytes, in_chunks: true }], "{method}");
        let totals = &recorded.repetitions[0];
        assert_eq!((acknowledged, totals.rows, totals.bytes, totals.ok), (MANY_ROWS, MANY_ROWS, bytes, 1));
        assert!(bytes > 60_000_000, "a batch that would be seen: {bytes} bytes");
    }
}

#[test]
fn what_is_small_or_due_at_a_time_is_made_before_it_is_sent() {
    let paced = r#"{"kind": "constant", "rate_per_s": 100.0}"#;
    let thinks = r#"{"kind": "closed", "think_ns": 1000000}"#;
    let (few, many) = (20_000, 100_000);
    for (schedule, batch_rows, in_chunks) in
        [(CLOSED, few, false), (CLOSED, many, true), (paced, many, false), (thinks, many, false)]
    {
        let server = Server::start(Deed::Store);
        let (driven, recorded, acknowledged) =
            run(plan(&server.url, "native", schedule, 2 * batch_rows + 1, batch_rows));
        assert_eq!((driven.fatal, acknowledged), (None, 2 * batch_rows + 1));
        let bodies = server.bodies.lock().unwrap();
        let body = |first: u64, rows: u64, in_chunks| {
            let (hash, bytes) = expected("native", 5 + first, rows as usize);
            Body { hash, bytes, in_chunks }
        };
        // The last batch is one row.
        let (first, second) = (body(0, batch_rows, in_chunks), body(batch_rows, batch_rows, in_chunks));
        assert_eq!(*bodies, [first, second, body(2 * batch_rows, 1, false)], "{schedule}, {batch_rows}");
        assert_eq!(recorded.repetitions[0].bytes, bodies.iter().map(|body| body.bytes).sum::<u64>());
    }
}

#[test]
fn a_batch_that_is_lost_on_its_way_is_lost_and_the_next_one_is_stored() {
    let server = Server::start(Deed::Leave);
    let (driven, recorded, acknowledged) = run(plan(&server.url, "native", CLOSED, 2 * MANY_ROWS, MANY_ROWS));
    assert_eq!((driven.fatal, acknowledged), (None, MANY_ROWS));
    let failures: Vec<_> = recorded.failures.iter().map(|f| (f.outcome, f.count)).collect();
    assert_eq!(failures, [("lost", 1)]);
    let (hash, bytes) = expected("native", 5 + MANY_ROWS, MANY_ROWS as usize);
    assert_eq!(
        *server.bodies.lock().unwrap(),
        [Body { hash, bytes, in_chunks: true }],
        "nothing is sent again"
    );
    assert_eq!((recorded.repetitions[0].rows, recorded.repetitions[0].bytes), (MANY_ROWS, bytes));
}

#[test]
fn a_server_that_answers_within_a_batch_is_heard_and_believed_only_where_it_refuses() {
    for (deed, outcome) in [(Deed::Refuse, "undefined"), (Deed::Lie, "other")] {
        let server = Server::start(deed);
        let (driven, recorded, acknowledged) =
            run(plan(&server.url, "native", CLOSED, 2 * MANY_ROWS, MANY_ROWS));
        assert_eq!((driven.fatal, acknowledged), (None, MANY_ROWS));
        let failures: Vec<_> = recorded.failures.iter().map(|f| (f.outcome, f.count)).collect();
        // A reset can overtake the answer: then the connection was lost, which is no less a failure.
        assert!(failures == [(outcome, 1)] || failures == [("lost", 1)], "{failures:?}");
    }
}
