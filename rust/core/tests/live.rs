//! The engines without a database, driven in real time.

use crate::common;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use inrush_drive::drive::source::TableCount;
use inrush_drive::drive::{drive, DriveTarget};
use inrush_drive::record::{Hist, Kind, Recorded};
use inrush_engines::engine::{build, Context};
use inrush_rows::clock::Clock;
use inrush_rows::plan::{RunPlan, Segment};

use crate::common::Seen;

/// One role at `engine`; `role` completes the role's JSON.
fn plan(engine: &str, options: &[(&str, u64)], role: &str) -> RunPlan {
    let options: BTreeMap<&str, String> = options.iter().map(|(k, v)| (*k, v.to_string())).collect();
    let options = serde_json::to_string(&options).expect("text");
    let wire = if engine == "null:record" { "Bigint" } else { "int8" };
    let text = format!(
        r#"{{"version": 1, "run_id": "r", "study": "s", "seed": 7, "epoch_ns": 0,
        "target": {{"engine": "{engine}", "url": "{engine}:", "options": {options}}},
        "tables": [{{"name": "t", "stream": "t",
                     "source": {{"kind": "generated", "series": 10, "period_ns": 1000000000}},
                     "columns": [{{"name": "k", "type": "i64", "wire": "{wire}",
                                   "gen": {{"kind": "sequence", "start": 0, "step": 1}}}}]}}],
        "operations": [{{"name": "insert", "kind": "insert", "table": 0}},
                       {{"name": "call", "kind": "query"}},
                       {{"name": "limited", "kind": "query", "deadline_ns": 50000000}}],
        "segments": [{{"kind": "drive", "label": "d", "phase": "measure", "limit_ns": 60000000000,
                       "roles": [{{"name": "r", "depth": 1, {role}}}]}}],
        "record": {{"interval_ns": 200000000, "flush_ns": 1000000000}},
        "watch": {{"every_ns": 0, "processes": {{}}}}}}"#
    );
    RunPlan::from_json(&text).expect("a plan")
}

fn context(plan: RunPlan) -> Context {
    Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) }
}

fn run(plan: RunPlan) -> Recorded {
    let context = context(plan);
    let Segment::Drive(segment) = context.plan.segments[0].clone() else { panic!("a drive") };
    let engine = build(&context).expect("an engine without a database");
    let counts = [TableCount::default()];
    let drive_target =
        DriveTarget { context: &context, engine: engine.as_ref(), segment: 0, counts: &counts };
    let mut notes = Seen::default();
    drive(&drive_target, &segment, &mut notes).expect("driven");
    notes.0
}

fn hist(recorded: &Recorded, kind: Kind) -> Hist {
    common::hist(recorded, "r", kind)
}

const INSERTS: &str = r#""operations": [{"operation": "insert", "weight": 1}], "sessions": 1,
    "schedule": {"kind": "closed", "think_ns": 0}, "until": {"kind": "work"},
    "work": {"kind": "rows", "table": 0, "first_row": 0, "rows": 20000, "batch_rows": 100}"#;

#[test]
fn a_server_frozen_for_a_second_makes_wait_and_no_lag() {
    let recorded = run(plan(
        "simulated",
        &[
            ("servers", 4),
            ("service_ns", 100_000),
            ("freeze_at_ns", 1_000_000_000),
            ("freeze_for_ns", 1_000_000_000),
        ],
        r#""operations": [{"operation": "call", "weight": 1}], "sessions": 4,
           "schedule": {"kind": "constant", "rate_per_s": 400.0}, "work": {"kind": "endless"},
           "until": {"kind": "time", "ns": 3000000000}"#,
    ));
    let totals = &recorded.repetitions[0];
    assert_eq!(totals.ops + totals.unsent, 1200, "nothing offered is missing");
    assert!(totals.late >= 390, "{} late of the 400 due while the server stood", totals.late);
    assert!(hist(&recorded, Kind::Latency).quantile(0.99).expect("some") >= 900_000_000);
    assert!(hist(&recorded, Kind::Wait).quantile(0.99).expect("some") >= 900_000_000);
    let lag_ns = hist(&recorded, Kind::Lag).quantile(0.5).expect("some");
    assert!(lag_ns < 10_000_000, "the client's own lateness is {lag_ns} ns");
}

#[test]
fn a_known_demand_of_the_engine_is_found_within_a_tenth() {
    const BURN_NS_PER_ROW: u64 = 20_000;
    let cpu_ns = |engine, options: &[(&str, u64)]| run(plan(engine, options, INSERTS)).sessions[0].cpu_ns;
    let options = [("service_ns", 0), ("burn_ns_per_row", BURN_NS_PER_ROW)];
    let with = cpu_ns("simulated", &options);
    let without = cpu_ns("null:text", &[]);
    let found_ns_per_row = (with - without) as f64 / 20_000.0;
    let ratio = found_ns_per_row / BURN_NS_PER_ROW as f64;
    assert!((0.9..1.1).contains(&ratio), "{found_ns_per_row} ns per row of {BURN_NS_PER_ROW}");
}

#[test]
fn null_takes_every_row_and_its_wires_encode_them() {
    let bytes: Vec<u64> = ["null", "null:text", "null:csv", "null:pgcopy", "null:record"]
        .into_iter()
        .map(|engine| {
            let totals = run(plan(engine, &[], INSERTS)).repetitions.remove(0);
            assert_eq!((totals.rows, totals.ops, totals.errors), (20_000, 200, 0), "{engine}");
            totals.bytes
        })
        .collect();
    // Numbers of up to five digits and a line end; 2 + 4 + 8 bytes a row, and each COPY's own 21; 8 bytes of a record,
    // and a byte for NULL in a row that ends on whole words of 8.
    let digits: u64 = (0..20_000u64).map(|k| k.to_string().len() as u64 + 1).sum();
    assert_eq!(bytes, [0, digits, digits, 20_000 * 14 + 200 * 21, 20_000 * 16]);
}

#[test]
fn a_call_by_key_on_null_record_is_written_and_one_that_does_not_fit_fails() {
    let called = |engine: &str, column: &str, value: &str| {
        let role = r#""operations": [{"operation": "call", "weight": 1}], "sessions": 1,
            "schedule": {"kind": "closed", "think_ns": 0}, "until": {"kind": "work"},
            "work": {"kind": "calls", "count": 50}"#;
        let mut plan = plan(engine, &[], role);
        plan.tables[0].identity = vec!["k".into()];
        let of = if value.starts_with('"') { "text" } else { "i64" };
        let call = format!(
            r#"{{"name": "call", "kind": "query", "table": 0, "does": "read",
                 "params": [{{"name": "k", "type": "{of}", "gen": {{"kind": "constant", "value": {value}}}}}],
                 "directives": {{"record": {{"does": "read", "table": "t", "columns": ["{column}"]}}}}}}"#
        );
        plan.operations[1] = serde_json::from_str(&call).expect("it is written here");
        plan
    };
    let totals = |plan: RunPlan| run(plan).repetitions.remove(0);
    let written = totals(called("null:record", "k", "7"));
    assert_eq!((written.ops, written.errors, written.bytes), (50, 0, 50 * 16));
    let plain = totals(called("null", "k", "7"));
    assert_eq!((plain.ops, plain.errors, plain.bytes), (50, 0, 0), "the floor writes nothing");
    let unfit = totals(called("null:record", "k", "\"seven\""));
    assert_eq!((unfit.ops, unfit.errors, unfit.bytes), (50, 50, 0));
    let Err(error) = build(&context(called("null:record", "v", "7"))).and_then(|e| e.open(&[1])) else {
        panic!("refused")
    };
    assert!(error.to_string().contains("its table has no column v"), "{error}");
}

#[test]
fn a_wire_that_nobody_writes_is_refused_with_the_known_ones() {
    let Err(error) = build(&context(plan("null:morse", &[], INSERTS))) else { panic!("refused") };
    let message = error.to_string();
    assert!(message.contains("null:morse") && message.contains("pgcopy"), "{message}");
}

#[test]
fn a_call_that_would_take_an_hour_is_cancelled_at_its_deadline() {
    let recorded = run(plan(
        "simulated",
        &[("service_ns", 3_600_000_000_000)],
        r#""operations": [{"operation": "limited", "weight": 1}], "sessions": 1,
           "schedule": {"kind": "closed", "think_ns": 0}, "work": {"kind": "calls", "count": 1},
           "until": {"kind": "work"}"#,
    ));
    assert_eq!(recorded.failures[0].outcome, "timeout");
    assert_eq!((recorded.repetitions[0].ok, recorded.repetitions[0].errors), (0, 1));
}
