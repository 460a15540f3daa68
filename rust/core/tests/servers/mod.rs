//! What the tests of the wires against real servers share: a plan around one table, calls that are waited for.
#![allow(dead_code)] // each test uses its part

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use inrush_engines::engine::{Context, Done, Outcome, Session, Submit, Work};
use inrush_rows::clock::Clock;
use inrush_rows::plan::RunPlan;
use inrush_rows::rows::{Column, Columns, Value, Values};
use serde_json::{json, Value as Json};

pub const NO_LIMIT: u64 = 0;

/// A plan with one table, its operations, and a role that uses all of them.
pub fn context(
    engine: &str,
    url: &str,
    table: Json,
    operations: Json,
    batch_rows: u32,
    depth: u32,
) -> Context {
    let names: Vec<Json> = operations
        .as_array()
        .expect("a list")
        .iter()
        .map(|op| json!({"operation": op["name"], "weight": 1}))
        .collect();
    let plan = json!({
        "version": 1, "run_id": "r", "study": "s", "seed": 1, "epoch_ns": 0,
        "target": {"engine": engine, "url": url},
        "tables": [table],
        "operations": operations,
        "segments": [{"kind": "drive", "label": "all", "phase": "measure", "limit_ns": 0, "roles": [{
            "name": "all", "operations": names, "sessions": 1, "depth": depth, "schedule": {"kind": "closed", "think_ns": 0},
            "work": {"kind": "rows", "table": 0, "first_row": 0, "rows": 2500, "batch_rows": batch_rows},
            "until": {"kind": "work"},
        }]}],
        "record": {"interval_ns": 1, "flush_ns": 1},
        "watch": {"every_ns": 0, "processes": {}},
    });
    let plan = RunPlan::from_json(&plan.to_string()).expect("a plan");
    Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) }
}

/// The same server by another of its databases, whether the URL names one or not.
pub fn with_database(url: &str, name: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (place, options) = rest.split_once('?').map_or((rest, None), |(place, named)| (place, Some(named)));
    let host = place.split('/').next().expect("a part");
    let options = options.map(|named| format!("?{named}")).unwrap_or_default();
    format!("{scheme}://{host}/{name}{options}")
}

pub fn insert(name: &str, method: &str, text: String) -> Json {
    json!({"name": name, "kind": "insert", "table": 0, "method": method, "text": text})
}

/// One operation, waited for.
pub fn run(session: &mut dyn Session, ticket: u64, op: usize, work: Work<'_>) -> Done {
    assert!(matches!(session.submit(ticket, op, work), Submit::Queued));
    session.flush();
    let mut done = vec![];
    while done.is_empty() {
        session.poll(u64::MAX, &mut done);
    }
    assert_eq!((done.len(), done[0].ticket), (1, ticket));
    done[0]
}

pub fn same(a: &Value, b: &Value) -> bool {
    let float = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => float(*a, *b),
        _ => a == b,
    }
}

pub fn numbers(name: &str, wire: &str) -> Json {
    json!({"name": name, "stream": name, "columns": [{"name": "k", "type": "i64", "wire": wire}],
           "source": {"kind": "generated", "series": 1, "period_ns": 1}})
}

pub fn keys(values: &[i64]) -> Columns {
    let mut column = Column::new("k", inrush_rows::plan::LogicalType::I64);
    column.values = Values::I64(values.to_vec());
    Columns::new(values.len(), vec![column])
}

pub fn query(name: &str, text: &str, params: &[(&str, &str)]) -> Json {
    let params: Vec<Json> = params
        .iter()
        .map(|(name, ty)| json!({"name": name, "type": ty, "gen": {"kind": "uniform", "from": 0, "to": 1}}))
        .collect();
    json!({"name": name, "kind": "query", "text": text, "params": params,
           "holds": [{"kind": "count_bounds", "table": 0}]})
}

pub fn pipeline_answer(session: &mut dyn Session) -> Vec<Vec<Value>> {
    let mut done = vec![];
    while done.is_empty() {
        session.poll(u64::MAX, &mut done);
    }
    assert_eq!(done[0].outcome, Outcome::Ok);
    session.answer(done[0].ticket).expect("kept").rows.clone()
}
