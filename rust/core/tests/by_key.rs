//! Calls by key on an engine that lies: a change that is forgotten, a value of another version, an answer of before.
//!
//! `simulated` at depth 1 and 64, SQLite at the one that it has, with the proof of what is left of the table; Valkey where
//! INRUSH_VALKEY_URL names a server, at both depths and with the proof.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use inrush_drive::drive::source::TableCount;
use inrush_drive::drive::touched::Touched;
use inrush_drive::drive::{drive, DriveTarget};
use inrush_drive::proof::{prove, Expectations, FromSessions, Known, Left, State};
use inrush_drive::record::Recorded;
use inrush_engines::engine::{build, Context, Engine};
use inrush_rows::clock::Clock;
use inrush_rows::plan::{ProofPlan, RunPlan, Segment};
use inrush_rows::rows::Generators;
use serde_json::{json, Value as Json};

use crate::common::Seen;

const S: u64 = 1_000_000_000;
/// Loaded; as many again may be inserted by key.
const ROWS: u64 = 100;
const CALLS: u64 = 2_000;

fn column(name: &str, ty: &str, wire: &str, gen: Json) -> Json {
    json!({"name": name, "type": ty, "wire": wire, "gen": gen})
}

fn param(name: &str, ty: &str, kind: &str) -> Json {
    match kind {
        "key" => {
            json!({"name": name, "type": ty, "gen": {"kind": "key", "keys": 0, "draw": 0, "column": name}})
        }
        _ => json!({"name": name, "type": ty, "gen": {"kind": "changed", "keys": 0, "column": name}}),
    }
}

fn keys(first_row: u64, rows: u64, by: &str) -> Json {
    json!([{"table": 0, "first_row": first_row, "rows": rows, "by": {"kind": by}}])
}

/// The operations of a role, by weight.
fn plan(engine: &str, url: &str, depth: u32, users: &[(&str, u32)], calls: u64, faults: &[&str]) -> RunPlan {
    let changed =
        [param("v", "i64", "changed"), param("w", "text", "changed"), param("version", "u64", "changed")];
    let k = param("k", "i64", "key");
    let role = |name: &str, operations: &[(&str, u32)], depth: u32, work: Json| {
        let each = operations.iter().map(|(name, weight)| json!({"operation": name, "weight": weight}));
        json!({"name": name, "operations": each.collect::<Json>(), "sessions": 1, "depth": depth,
               "schedule": {"kind": "closed", "think_ns": 0}, "work": work, "until": {"kind": "work"}})
    };
    let load = json!({"kind": "rows", "table": 0, "first_row": 0, "rows": ROWS, "batch_rows": ROWS});
    let options = match engine {
        "simulated" => json!({"servers": "64", "service_ns": "20000", "distribution": "fixed"}),
        _ => json!({}),
    };
    let mut plan = json!({
        "version": 1, "run_id": "r", "study": "s", "seed": 7, "epoch_ns": 0,
        "target": {"engine": engine, "url": url, "faults": faults, "options": options},
        "tables": [{"name": "t", "stream": "t", "identity": ["k"],
            "source": {"kind": "generated", "series": 1, "period_ns": 1},
            "columns": [
                column("k", "i64", "BIGINT", json!({"kind": "sequence", "start": 5, "step": 2})),
                column("v", "i64", "BIGINT", json!({"kind": "uniform", "from": 0, "to": 1_000_000_000})),
                column("w", "text", "TEXT", json!({"kind": "text", "min_bytes": 4, "max_bytes": 9})),
                column("fixed", "i64", "BIGINT", json!({"kind": "uniform", "from": 0, "to": 1_000_000_000})),
                column("version", "u64", "UNSIGNED BIGINT", json!({"kind": "version"}))]}],
        "operations": [
            {"name": "load", "kind": "insert", "table": 0, "method": "multirow",
             "text": "INSERT INTO t (k, v, w, fixed, version) VALUES (?, ?, ?, ?, ?)"},
            {"name": "read", "kind": "query", "table": 0, "does": "read", "params": [k],
             "text": "SELECT k, v, w, fixed, version FROM t WHERE k = ?", "keys": keys(0, ROWS, "uniform"),
             "holds": [{"kind": "asked", "table": 0, "columns": ["k", "v", "w", "fixed", "version"], "keys": ["k"]}]},
            {"name": "read_new", "kind": "query", "table": 0, "does": "read", "params": [k],
             "text": "SELECT k, v, w, fixed, version FROM t WHERE k = ?", "keys": keys(ROWS, ROWS, "uniform"),
             "holds": [{"kind": "asked", "table": 0, "columns": ["k", "v", "w", "fixed", "version"], "keys": ["k"]}]},
            {"name": "change", "kind": "execute", "table": 0, "does": "update",
             "params": [changed[0], changed[1], changed[2], k],
             "text": "UPDATE t SET v = ?, w = ?, version = ? WHERE k = ?", "keys": keys(0, ROWS, "uniform")},
            {"name": "put", "kind": "execute", "table": 0, "does": "insert",
             "params": [k, param("v", "i64", "key"), param("w", "text", "key"), param("fixed", "i64", "key"),
                        param("version", "u64", "key")],
             "text": "INSERT INTO t (k, v, w, fixed, version) VALUES (?, ?, ?, ?, ?)",
             "keys": keys(ROWS, ROWS, "each_once")},
            {"name": "take", "kind": "execute", "table": 0, "does": "delete", "params": [k],
             "text": "DELETE FROM t WHERE k = ?", "keys": keys(0, ROWS, "each_once")},
        ],
        "segments": [
            {"kind": "drive", "label": "load", "phase": "load", "limit_ns": 60 * S,
             "roles": [role("load", &[("load", 1)], 1, load)]},
            {"kind": "drive", "label": "measure", "phase": "measure", "limit_ns": 60 * S,
             "roles": [role("users", users, depth, json!({"kind": "calls", "count": calls}))]},
            {"kind": "drive", "label": "after", "phase": "measure", "limit_ns": 60 * S,
             "roles": [role("readers", &[("read", 1), ("read_new", 1)], depth, json!({"kind": "calls", "count": 400}))]},
        ],
        "record": {"interval_ns": S, "flush_ns": S}, "watch": {"every_ns": 0, "processes": {}},
    });
    // As a plan of a study has those alone that its roles call.
    let called = |name: &Json| {
        ["load", "read", "read_new"].iter().chain(users.iter().map(|(user, _)| user)).any(|one| name == one)
    };
    plan["operations"].as_array_mut().expect("a list").retain(|operation| called(&operation["name"]));
    if engine == "valkey" {
        as_commands(&mut plan);
    }
    RunPlan::from_json(&plan.to_string()).expect("a plan")
}

/// The calls as Valkey takes them: a row that is set is set whole.
fn as_commands(plan: &mut Json) {
    let table = table_of("valkey");
    plan["tables"][0]["name"] = json!(table);
    for operation in plan["operations"].as_array_mut().expect("a list") {
        let does = operation["does"].as_str().unwrap_or_default().to_owned();
        match does.as_str() {
            "read" => operation["text"] = json!(format!("HGET {table}/$1 \"\"")),
            "delete" => operation["text"] = json!(format!("HDEL {table}/$1 \"\"")),
            "insert" | "update" => {
                let params = operation["params"].as_array_mut().expect("a list");
                if does == "update" {
                    params.push(param("fixed", "i64", "key"));
                }
                let columns: Json = params.iter().map(|param| param["name"].clone()).collect();
                operation["directives"] =
                    json!({"record": {"does": does, "table": table, "columns": columns}});
                operation["text"] = json!("");
            }
            _ => {}
        }
    }
}

/// On a server that others use, too, one of this process.
fn table_of(engine: &str) -> String {
    match engine {
        "valkey" => format!("t_{}", std::process::id()),
        _ => "t".into(),
    }
}

/// Statements before the rows are loaded.
fn fresh(engine: &str) -> Vec<String> {
    match engine {
        "sqlite" => vec![
            "DROP TABLE IF EXISTS t".into(),
            "CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT, w TEXT, fixed BIGINT, version UNSIGNED BIGINT)"
                .into(),
        ],
        "valkey" => vec![each_key("redis.call('UNLINK', key)")],
        _ => vec![],
    }
}

/// A script that does something with each key of Valkey's table, and answers with a number.
fn each_key(lua: &str) -> String {
    let table = table_of("valkey");
    let each = "local n = 0 for _, key in ipairs(redis.call('KEYS', ARGV[1])) do";
    format!("EVAL \"{each} {lua} end return n\" 0 {table}/*")
}

struct Ran {
    engine: Arc<dyn Engine>,
    plan: Arc<RunPlan>,
    count: Vec<TableCount>,
    users: Recorded,
    after: Recorded,
}

/// Loads, lets the users work, and reads afterwards.
fn run(engine: &str, url: &str, depth: u32, users: &[(&str, u32)], calls: u64, faults: &[&str]) -> Ran {
    let plan = Arc::new(plan(engine, url, depth, users, calls, faults));
    let context =
        Context { plan: plan.clone(), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) };
    let engine = build(&context).expect("an engine");
    for text in fresh(&plan.target.engine) {
        engine.control(&text, 60 * S).expect("a table");
    }
    let generators = Generators::new(plan.clone());
    let count = vec![TableCount::of(&generators, 0).expect("a table that is kept track of")];
    let mut found = Vec::new();
    for (at, segment) in plan.segments.iter().enumerate() {
        let Segment::Drive(segment) = segment else { panic!("drives alone") };
        let target = DriveTarget { context: &context, engine: &*engine, segment: at as u16, counts: &count };
        let mut seen = Seen::default();
        let driven = drive(&target, segment, &mut seen).expect("it runs");
        assert_eq!(driven.fatal, None);
        found.push(seen.0);
    }
    let after = found.pop().expect("three segments");
    let users = found.pop().expect("three segments");
    Ran { engine, plan, count, users, after }
}

impl Ran {
    /// Outcome -> calls, of both segments, without those that ended ok.
    fn failures(&self) -> BTreeMap<&str, u64> {
        let mut found = BTreeMap::new();
        for failure in self.users.failures.iter().chain(&self.after.failures) {
            *found.entry(failure.outcome).or_default() += failure.count;
        }
        found
    }

    fn messages(&self) -> Vec<&str> {
        let all = self.users.failures.iter().chain(&self.after.failures);
        all.map(|failure| failure.first_message.as_str()).collect()
    }

    /// What does not hold of the table that is left.
    fn unproven(&self) -> Vec<String> {
        let proof = match self.plan.target.engine.as_str() {
            "valkey" => json!({"table": 0, "first_row": 0, "rows": 2 * ROWS, "items": [{"kind": "rows"}],
                "screen": each_key("n = n + redis.call('HLEN', key)"),
                "read_back": format!("KEYS {}/*", table_of("valkey"))}),
            _ => {
                json!({"table": 0, "first_row": 0, "rows": 2 * ROWS, "screen": "SELECT count(*), sum(v) FROM t",
                "items": [{"kind": "rows"}, {"kind": "sum_wrapped", "column": "v"}],
                "read_back": "SELECT k, v, w, fixed, version FROM t"})
            }
        };
        let proof: ProofPlan = serde_json::from_value(proof).expect("a proof");
        let touched = self.count[0].touched().expect("rows change");
        let may_be = |row, version| touched.may_be(row, version, touched.ledger.stored(row), ROWS);
        let must_be = |row| Touched::must_be(touched.ledger.stored(row), row, ROWS);
        let left = Left { changes: &touched.changes, may_be: &may_be, must_be: &must_be };
        let of = FromSessions { left: Some(&left), ..FromSessions::default() };
        let mut known = Expectations::default();
        let rows = prove(&self.plan, &*self.engine, &proof, of, &mut known, 60 * S);
        let rows = rows.expect("it is proven or not");
        let items = rows.iter().map(|row| row.item.as_str()).collect::<Vec<_>>();
        let all = ["rows_by_key", "rows", "sum_wrapped(v)"];
        assert_eq!(items, all[..1 + proof.items.len()]);
        rows.into_iter().filter(|row| !row.holds).map(|row| row.found).collect()
    }
}

const CHANGING: &[(&str, u32)] = &[("read", 1), ("change", 1)];

fn honest_calls_are_right_and_every_lie_is_told(engine: &str, url: &str, depth: u32) {
    let shown = |what: &str| format!("{what} on {engine} at depth {depth}");
    let honest = run(engine, url, depth, CHANGING, CALLS, &[]);
    assert!(honest.failures().is_empty(), "{}: {:?}", shown("no lie"), honest.messages());
    for users in [&[("put", 1)][..], &[("take", 1)]] {
        let honest = run(engine, url, depth, users, ROWS, &[]);
        assert!(honest.failures().is_empty(), "{}: {:?}", shown(users[0].0), honest.messages());
    }
    for (lie, says) in [
        ("forget:10", "is the last"),
        ("stale:10", "is the last"),
        ("other_version:10", "row "),
        ("lie:10", "no row of t"),
        ("short:10", "is not in the answer"),
        ("other_key:11", ""),
        ("swap_answers:11", "a row that was not asked for"),
    ] {
        let lying = run(engine, url, depth, CHANGING, CALLS, &[lie]);
        let failures = lying.failures();
        let told: u64 = failures.values().sum();
        assert!(told > 0, "{}", shown(lie));
        assert!(
            failures.keys().all(|outcome| ["wrong", "missing"].contains(outcome)),
            "{}: {failures:?}",
            shown(lie)
        );
        assert!(
            lying.messages().iter().any(|text| text.contains(says)),
            "{}: {:?}",
            shown(lie),
            lying.messages()
        );
    }
    for (users, says) in [
        (CHANGING, "no row was changed; row "),
        (&[("put", 1)][..], "no row was added; it was row "),
        (&[("take", 1)], "no row was deleted; row "),
    ] {
        let calls = if users.len() > 1 { CALLS } else { ROWS };
        let idle = run(engine, url, depth, users, calls, &["undone:10"]);
        assert_eq!(idle.failures().into_keys().collect::<Vec<_>>(), ["missing"], "{}", shown("idle"));
        // At once: it is the call itself that is told, and the row is what it was.
        assert!(idle.users.failures.iter().any(|f| f.first_message.contains(says)), "{:?}", idle.messages());
    }
    let lost = run(engine, url, depth, &[("put", 1)], ROWS, &["forget:10"]);
    assert!(lost.failures().contains_key("missing"), "{}: {:?}", shown("a lost insert"), lost.failures());
    let kept = run(engine, url, depth, &[("take", 1)], ROWS, &["forget:10"]);
    assert!(
        kept.messages().iter().any(|text| text.contains("it was deleted before")),
        "{}",
        shown("a kept row")
    );
}

#[test]
fn lies_about_calls_by_key_are_told_on_simulated_at_depth_1() {
    honest_calls_are_right_and_every_lie_is_told("simulated", "simulated:", 1);
}

#[test]
fn lies_about_calls_by_key_are_told_on_simulated_at_depth_64() {
    honest_calls_are_right_and_every_lie_is_told("simulated", "simulated:", 64);
}

#[test]
fn lies_about_calls_by_key_are_told_on_sqlite_and_the_proof_finds_what_they_left() {
    let place = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite://{}", place.path().join("x.db").display());
    honest_calls_are_right_and_every_lie_is_told("sqlite", &url, 1);
    the_proof_finds_what_lies_left("sqlite", &url, 1);
}

#[test]
#[ignore = "needs INRUSH_VALKEY_URL"]
fn lies_about_calls_by_key_are_told_on_valkey_at_depth_1_and_64_and_the_proof_finds_what_they_left() {
    let url =
        std::env::var("INRUSH_VALKEY_URL").expect("INRUSH_VALKEY_URL names a server that may be written to");
    for depth in [1, 64] {
        honest_calls_are_right_and_every_lie_is_told("valkey", &url, depth);
        the_proof_finds_what_lies_left("valkey", &url, depth);
    }
    let left = run("valkey", &url, 1, CHANGING, 1, &[]);
    left.engine.control(&each_key("redis.call('UNLINK', key)"), 60 * S).expect("dropped");
}

fn the_proof_finds_what_lies_left(engine: &str, url: &str, depth: u32) {
    for users in [CHANGING, &[("put", 1)], &[("take", 1)]] {
        let calls = if users.len() > 1 { CALLS } else { ROWS - 10 };
        let honest = run(engine, url, depth, users, calls, &[]);
        assert_eq!(honest.unproven(), Vec::<String>::new(), "{users:?}");
        let forgot = run(engine, url, depth, users, calls, &["forget:7"]);
        let unproven = forgot.unproven().join("; ");
        let says = match users[0].0 {
            "put" => "rows missing, the first is row 1",
            _ => "is not to be there in version",
        };
        assert!(unproven.contains(says), "{users:?}: {unproven}");
    }
    let other = run(engine, url, depth, CHANGING, CALLS, &["other_version:3"]).unproven().join("; ");
    assert!(other.contains("in version"), "{other}");
}

#[test]
fn a_value_that_is_none_of_its_rows_version_is_found_in_changed_rows_and_in_others() {
    let place = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite://{}", place.path().join("x.db").display());
    for which in ["> 0", "= 0"] {
        for (set, says) in
            [("v = v + 1", "has v "), ("fixed = fixed + 1", "has fixed "), ("w = 'x'", "has w ")]
        {
            let ran = run("sqlite", &url, 1, CHANGING, 60, &[]);
            assert_eq!(ran.unproven(), Vec::<String>::new());
            let spoil = format!("UPDATE t SET {set} WHERE k = (SELECT min(k) FROM t WHERE version {which})");
            ran.engine.control(&spoil, 60 * S).expect("one row is changed");
            let unproven = ran.unproven().join("; ");
            assert!(
                unproven.contains(says) && unproven.contains("1 rows wrong"),
                "version {which}, {set}: {unproven}"
            );
        }
    }
}

#[test]
fn rows_that_are_drawn_once_have_an_end() {
    let plan = Arc::new(plan("simulated", "simulated:", 1, &[("put", 1)], ROWS + 1, &[]));
    let context =
        Context { plan: plan.clone(), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) };
    let count = vec![TableCount::of(&Generators::new(plan.clone()), 0).expect("a table")];
    let engine = build(&context).expect("an engine");
    let target = DriveTarget { context: &context, engine: &*engine, segment: 1, counts: &count };
    let Segment::Drive(segment) = &plan.segments[1] else { panic!("a drive") };
    let why = drive(&target, segment, &mut Seen::default()).expect("it ends").fatal.expect("too many calls");
    assert!(
        why.contains("role users: its keys are 100 rows, each once, and all have had their call"),
        "{why}"
    );
}

/// The users alone, all of whose calls the server has no time for; how the segment ended, after how long, and what is known
/// of the rows then.
fn overloaded(retry_ns: u64, limit_ns: u64) -> (Option<String>, u64, Recorded, TableCount) {
    let mut plan = plan("simulated", "simulated:", 1, &[("change", 1)], u64::MAX, &["overload:1"]);
    let Segment::Drive(segment) = &mut plan.segments[1] else { panic!("a drive") };
    (segment.retry_ns, segment.limit_ns) = (retry_ns, limit_ns);
    let plan = Arc::new(plan);
    let context =
        Context { plan: plan.clone(), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) };
    let count = vec![TableCount::of(&Generators::new(plan.clone()), 0).expect("a table")];
    let engine = build(&context).expect("an engine");
    let target = DriveTarget { context: &context, engine: &*engine, segment: 1, counts: &count };
    let Segment::Drive(segment) = &plan.segments[1] else { panic!("a drive") };
    let (began, mut seen) = (context.clock.now(), Seen::default());
    let fatal = drive(&target, segment, &mut seen).expect("it ends").fatal;
    let took = context.clock.now() - began;
    (fatal, took, seen.0, count.into_iter().next().expect("one table"))
}

#[test]
fn a_server_that_is_overloaded_is_waited_for_as_one_that_is_away() {
    let (fatal, took, seen, count) = overloaded(2 * S, 60 * S);
    let why = fatal.expect("it does not recover");
    assert!(why.contains("failures in a row, the last: call "), "{why}");
    assert!((2 * S..30 * S).contains(&took), "{took}");
    let told: u64 = seen.failures.iter().map(|failure| failure.count).sum();
    assert!(told > 1_000 && seen.failures.iter().all(|failure| failure.outcome == "overloaded"), "{told}");
    assert!(seen.repetitions.iter().all(|of| of.ok == 0), "what was refused is no work");
    let touched = count.touched().expect("rows change");
    assert!(
        (0..ROWS).all(|row| touched.ledger.stored(row) == Known::Is(State::Untouched)),
        "nothing was done"
    );
    let (fatal, _, seen, _) = overloaded(60 * S, 2 * S);
    assert_eq!(fatal, None, "the segment ends before");
    assert!(seen.failures.iter().map(|failure| failure.count).sum::<u64>() > 1_000);
}
