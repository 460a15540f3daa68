//! Keys as parameters: of one row where they are of one draw, and each with a draw of its own where they are not.

use std::collections::{BTreeMap, HashSet};

use serde_json::{json, Value as Json};

use super::*;
use crate::mix::{Params, Shared};
use crate::schedule::{ArrivalQueue, Batching, Stride};
use inrush_rows::plan::{RunPlan, SharePlan};
use inrush_rows::rows::SeriesIndex;

/// A table of ports over time: the identity is of three columns, one of them a text.
fn plan(series: u64, operation: Json) -> Arc<RunPlan> {
    let column = |name: &str, ty: &str, gen: Json| json!({"name": name, "type": ty, "wire": "", "gen": gen});
    let host = json!({"kind": "format", "pattern": "host-%05d", "fields": [{"kind": "cycle", "from": 0, "to": 99_999_999, "every": 2}]});
    let columns = [
        column("guid", "u64", json!({"kind": "pattern", "prefix": "b8599f03", "every": 40})),
        column("port", "i32", json!({"kind": "cycle", "from": 1, "to": 40})),
        column("at", "time_ms", json!({"kind": "sweep_time"})),
        column("host", "text", host),
        column("size", "i64", json!({"kind": "uniform", "from": 0, "to": 1_000_000})),
    ];
    let mut sometimes = column("sometimes", "i64", json!({"kind": "sequence", "start": 0, "step": 1}));
    sometimes["null_ppm"] = json!(500_000);
    let columns: Vec<Json> = columns.into_iter().chain([sometimes]).collect();
    let table = json!({"name": "t", "stream": "t", "identity": ["guid", "port", "at"], "columns": columns,
        "source": {"kind": "generated", "series": series, "period_ns": 1_000_000_000u64}});
    let plan = json!({"version": 1, "run_id": "", "study": "", "seed": 9, "epoch_ns": 0,
        "target": {"engine": "null", "url": ""}, "tables": [table], "operations": [operation],
        "segments": [], "record": {"interval_ns": 1, "flush_ns": 1}, "watch": {"every_ns": 0, "processes": {}}});
    Arc::new(serde_json::from_value(plan).expect("a plan of this build"))
}

fn params(plan: &Arc<RunPlan>, role: &str) -> Params {
    let shared = Shared::new(&Generators::new(plan.clone()), 0, role).expect("valid parameters");
    shared.in_session(Share::WHOLE).expect("valid keys")
}

fn key_param(name: &str, ty: &str, column: &str, draw: u32) -> Json {
    json!({"name": name, "type": ty, "gen": {"kind": "key", "keys": 0, "draw": draw, "column": column}})
}

fn looking(rows: u64, params: Vec<Json>) -> Json {
    let keys = json!([{"table": 0, "rows": rows, "by": {"kind": "uniform"}}]);
    json!({"name": "look", "kind": "query", "table": 0, "params": params, "keys": keys})
}

#[test]
fn several_processes_ask_for_the_keys_of_one_each_once() {
    let plan = plan(
        500,
        looking(2_000, vec![key_param("guid", "u64", "guid", 0), key_param("port", "i32", "port", 0)]),
    );
    let calls = 1_003;
    let asked = |process: Stride| {
        let (mut params, mut keys) = (params(&plan, "users"), Vec::new());
        let queue = ArrivalQueue::of_process(Some(process.among(calls)), 2, Batching::Guided, process);
        let (mut first, mut second) = (queue.tickets(), queue.tickets());
        let mut out = params.values();
        while let Some(ticket) = first.take().or_else(|| second.take()) {
            params.fill(ticket, 0, &mut out);
            keys.push((ticket, format!("{out:?}")));
        }
        assert_eq!(queue.taken(), keys.len() as u64);
        keys
    };
    let mut whole = asked(Stride::WHOLE);
    whole.sort();
    assert_eq!(whole.len() as u64, calls);
    for of in [2, 3, 16] {
        let share = |index| Stride::of_share(Some(SharePlan { index, of }));
        let mut together: Vec<_> = (0..of).flat_map(|index| asked(share(index))).collect();
        together.sort();
        assert_eq!(together, whole, "{of} processes");
    }
}

#[test]
fn a_value_of_a_series_is_of_any_series_however_many_there_are() {
    let series = 1_000_000;
    let gen = json!({"kind": "of_series", "table": 0, "column": "host"});
    let plan = plan(
        series,
        json!({"name": "q", "kind": "query", "params": [{"name": "h", "type": "text", "gen": gen}]}),
    );
    let mut params = params(&plan, "users");
    let mut out = params.values();
    let draws = 300_000u64;
    let mut found = HashSet::new();
    for ticket in 0..draws {
        params.fill(ticket, 0, &mut out);
        found.insert(format!("{:?}", out[0]));
    }
    // Two series have one host: n (1 - (1 - 1/n)^draws) of 500,000, with a spread below its root.
    let hosts = series as f64 / 2.0;
    let expected = hosts * (1.0 - (-(draws as f64) / hosts).exp());
    assert!((found.len() as f64 - expected).abs() < 4.0 * expected.sqrt(), "{} not {expected}", found.len());
}

#[test]
fn parameters_of_one_draw_are_of_one_row_and_those_of_others_are_not() {
    let rows = 1_000_000_000;
    // Any guid, port and time name a row of this table; `size` shows which one it was drawn with.
    let found = |size_draw: u32| {
        let params_of = vec![
            key_param("port", "i32", "port", 0),
            key_param("size", "i64", "size", size_draw),
            key_param("guid", "u64", "guid", 0),
            key_param("at", "time_ms", "at", 0),
        ];
        let plan = plan(50_000, looking(rows, params_of));
        let generator = RowGen::new(&plan.tables[0], plan.seed, 0).expect("valid");
        let index = SeriesIndex::new(&generator, &plan.tables[0]).expect("an identity");
        let mut params = params(&plan, "users");
        let mut out = params.values();
        let drawn = (0..1_000).map(|ticket| {
            params.fill(ticket, 0, &mut out);
            let row = index.number_of(|column| Some(&out[[2, 0, 3][column]])).expect("a row of the table");
            (row, generator.row(row)[4] == out[1])
        });
        drawn.collect::<Vec<(u64, bool)>>()
    };
    let whole = found(0);
    assert!(whole.iter().all(|(row, is_one_row)| *row < rows && *is_one_row));
    assert!(whole.iter().any(|(row, _)| *row > rows / 10 * 9));
    let distinct: HashSet<u64> = whole.iter().map(|(row, _)| *row).collect();
    assert!(distinct.len() >= 999, "rows of 10^9 hardly ever repeat: {}", distinct.len());
    let mixed = found(1).iter().filter(|(_, is_one_row)| *is_one_row).count();
    assert!(mixed < 10, "{mixed} of 1,000 pairs of rows are one row");
}

#[test]
fn a_list_draws_a_row_for_each_key() {
    let list = |n: u32| (0..n).map(|k| key_param(&format!("k_{k}"), "i64", "size", k)).collect::<Vec<_>>();
    let plan = plan(10_000_000, looking(10_000_000, list(1_000)));
    let mut params = params(&plan, "users");
    let mut out = params.values();
    params.fill(3, 0, &mut out);
    let distinct: HashSet<String> = out.iter().map(|v| format!("{v:?}")).collect();
    assert!(distinct.len() > 990, "{}", distinct.len());
}

#[test]
fn the_same_seed_gives_the_same_keys_and_another_role_has_its_own() {
    let plan = plan(1_000, looking(1_000_000, vec![key_param("size", "i64", "size", 0)]));
    let drawn = |role: &str, tickets: Vec<u64>| -> BTreeMap<u64, String> {
        let mut params = params(&plan, role);
        let mut out = params.values();
        let mut one = |t: u64| {
            params.fill(t, 0, &mut out);
            (t, format!("{out:?}"))
        };
        tickets.into_iter().map(&mut one).collect()
    };
    let forwards = drawn("users", (0..100).collect());
    assert_eq!(forwards, drawn("users", (0..100).rev().collect()));
    assert_ne!(forwards, drawn("others", (0..100).collect()));
}

#[test]
fn a_column_that_can_be_null_is_no_key() {
    let plan = plan(10, looking(10, vec![key_param("n", "i64", "sometimes", 0)]));
    let said = key_problems(&plan, &plan.operations[0]).join("; ");
    let error = Shared::new(&Generators::new(plan), 0, "users").err().expect("refused").to_string();
    for error in [said, error] {
        assert!(error.contains("sometimes") && error.contains("NULL"), "{error}");
    }
}

#[test]
fn keys_that_lead_nowhere_are_found_before_the_run() {
    let asked = |keys: Json, param: Json| {
        let plan = plan(10, json!({"name": "q", "kind": "query", "keys": keys, "params": [param]}));
        key_problems(&plan, &plan.operations[0]).join("; ")
    };
    let of = |table: u64, rows: u64| json!([{"table": table, "rows": rows, "by": {"kind": "uniform"}}]);
    assert_eq!(asked(of(0, 10), key_param("k", "i64", "size", 0)), "");
    assert!(asked(of(1, 10), key_param("k", "i64", "size", 0)).contains("table 1 of 1"));
    assert!(asked(of(0, 0), key_param("k", "i64", "size", 0)).contains("at least one"));
    assert!(asked(of(0, 10), key_param("k", "i64", "nothing", 0)).contains("no column nothing"));
    assert!(asked(json!([]), key_param("k", "i64", "size", 0)).contains("there are no keys 0"));
}
