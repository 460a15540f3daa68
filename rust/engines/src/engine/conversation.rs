//! Plans of the conversations: one table, its operations, a role that uses all of them.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use serde_json::{json, Value as Json};

use crate::engine::Context;
use inrush_rows::clock::Clock;
use inrush_rows::plan::RunPlan;

pub fn context(engine: &str, url: &str, table: Json, operations: Json, depth: u32) -> Context {
    let names = operations.as_array().expect("a list").iter();
    let names: Vec<Json> = names.map(|op| json!({"operation": op["name"], "weight": 1})).collect();
    let plan = json!({
        "version": 1, "run_id": "r", "study": "s", "seed": 1, "epoch_ns": 0,
        "target": {"engine": engine, "url": url},
        "tables": [table],
        "operations": operations,
        "segments": [{"kind": "drive", "label": "all", "phase": "measure", "limit_ns": 0, "roles": [{
            "name": "all", "operations": names, "sessions": 1, "depth": depth, "schedule": {"kind": "closed", "think_ns": 0},
            "work": {"kind": "rows", "table": 0, "first_row": 0, "rows": 3, "batch_rows": 3},
            "until": {"kind": "work"},
        }]}],
        "record": {"interval_ns": 1, "flush_ns": 1},
        "watch": {"every_ns": 0, "processes": {}},
    });
    let plan = RunPlan::from_json(&plan.to_string()).expect("a plan");
    Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) }
}

/// A table with one column of 64-bit keys, `wire` in the engine's words.
pub fn keys(name: &str, wire: &str) -> Json {
    json!({"name": name, "stream": name, "columns": [{"name": "k", "type": "i64", "wire": wire}],
           "source": {"kind": "generated", "series": 1, "period_ns": 1}})
}
