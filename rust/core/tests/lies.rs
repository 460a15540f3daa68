//! Look-ups on an engine that lies about single calls, at every depth: each lie has its own word.
//!
//! `simulated` and SQLite here; PostgreSQL and MySQL where INRUSH_POSTGRESQL_URL, INRUSH_MYSQL_URL name servers.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use inrush_drive::drive::source::TableCount;
use inrush_drive::drive::{drive, DriveTarget, Driven, EndedBy};
use inrush_drive::record::{Kind, Recorded};
use inrush_engines::engine::{build, Context};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::{RunPlan, Segment};
use serde_json::{json, Value as Json};

use crate::common::Seen;
use crate::servers;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;
const ROWS: u64 = 1_000;
const CALLS: u64 = 200;

/// An engine under test: its dialect, and what the table is called in it.
struct Dialect {
    engine: &'static str,
    url: String,
    table: String,
    marks: [&'static str; 2],
    wire: &'static str,
}

impl Dialect {
    fn plan(&self, depth: u32, faults: &[&str], deadline_ns: u64, limit_ns: u64) -> Json {
        let Dialect { table, marks: [first, second], wire, .. } = self;
        let columns = json!([
            {"name": "k", "type": "i64", "wire": wire, "gen": {"kind": "sequence", "start": 0, "step": 1}},
            {"name": "v", "type": "i64", "wire": wire, "gen": {"kind": "uniform", "from": 0, "to": 1_000_000_000}},
        ]);
        let operations = json!([
            {"name": "insert", "kind": "insert", "table": 0, "method": "multirow",
             "text": format!("INSERT INTO {table} (k, v) VALUES ({first}, {second})")},
            {"name": "look", "kind": "query", "table": 0, "deadline_ns": deadline_ns,
             "text": format!("SELECT k, v FROM {table} WHERE k = {first}"),
             "params": [{"name": "k", "type": "i64", "gen": {"kind": "uniform", "from": 0, "to": ROWS - 1}}],
             "holds": [{"kind": "asked", "table": 0, "columns": ["k", "v"], "keys": ["k"]}]},
        ]);
        let role = |name: &str, operation: &str, depth: u32, work: Json| {
            json!({"name": name, "operations": [{"operation": operation, "weight": 1}], "sessions": 1, "depth": depth,
                   "schedule": {"kind": "closed", "think_ns": 0}, "work": work, "until": {"kind": "work"}})
        };
        let load = json!({"kind": "rows", "table": 0, "first_row": 0, "rows": ROWS, "batch_rows": 100});
        let calls = json!({"kind": "calls", "count": CALLS});
        json!({
            "version": 1, "run_id": "r", "study": "s", "seed": 7, "epoch_ns": 0,
            "target": {"engine": self.engine, "url": self.url, "faults": faults, "options": self.options()},
            "tables": [{"name": table, "stream": "t", "columns": columns, "identity": ["k"],
                        "source": {"kind": "generated", "series": 1, "period_ns": 1}}],
            "operations": operations,
            "segments": [
                {"kind": "drive", "label": "load", "phase": "load", "limit_ns": 60 * S,
                 "roles": [role("load", "insert", 1, load)]},
                {"kind": "drive", "label": "measure", "phase": "measure", "limit_ns": limit_ns,
                 "roles": [role("users", "look", depth, calls)]},
            ],
            "record": {"interval_ns": S, "flush_ns": S},
            "watch": {"every_ns": 0, "processes": {}},
        })
    }

    fn options(&self) -> BTreeMap<&str, &str> {
        match self.engine {
            // Calls that were sent together end together: one poll hands over several.
            "simulated" => [("servers", "64"), ("service_ns", "200000"), ("distribution", "fixed")].into(),
            _ => BTreeMap::new(),
        }
    }

    fn create(&self, context: &Context) {
        let engine = build(context).expect("an engine");
        for statement in [
            format!("DROP TABLE IF EXISTS {}", self.table),
            format!("CREATE TABLE {} (k BIGINT NOT NULL PRIMARY KEY, v BIGINT NOT NULL)", self.table),
        ] {
            engine.control(&statement, 60 * S).expect("a table");
        }
    }
}

struct Ran {
    driven: Driven,
    recorded: Recorded,
}

impl Ran {
    /// Outcome -> calls, without those that ended ok.
    fn failures(&self) -> BTreeMap<&str, u64> {
        self.recorded.failures.iter().map(|f| (f.outcome, f.count)).collect()
    }

    fn message(&self, outcome: &str) -> &str {
        let found = self.recorded.failures.iter().find(|f| f.outcome == outcome);
        &found.expect("the outcome is there").first_message
    }
}

fn context(plan: &Json) -> Context {
    let plan = RunPlan::from_json(&plan.to_string()).expect("a plan");
    Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) }
}

/// Loads honestly, then looks up with the faults.
fn look_up(
    dialect: &Dialect,
    depth: u32,
    faults: &[&str],
    deadline_ns: u64,
    limit_ns: u64,
) -> Result<Ran, Error> {
    let plan = dialect.plan(depth, faults, deadline_ns, limit_ns);
    let context = context(&plan);
    let mut loading = plan.clone();
    loading["target"]["faults"] = json!([]);
    let honest = self::context(&loading);
    dialect.create(&honest);
    let counts = [TableCount::default()];
    let engine = build(if dialect.engine == "simulated" { &context } else { &honest })?;
    let segment = |context: &Context, at: usize| match context.plan.segments[at].clone() {
        Segment::Drive(segment) => segment,
        other => panic!("{other:?} is no drive"),
    };
    let drive_target = DriveTarget { context: &honest, engine: &*engine, segment: 0, counts: &counts };
    let loaded = drive(&drive_target, &segment(&honest, 0), &mut Seen::default())?;
    assert_eq!((loaded.ended_by, counts[0].acknowledged()), (EndedBy::Work, ROWS));

    let lying = if dialect.engine == "simulated" { engine } else { build(&context)? };
    let drive_target = DriveTarget { context: &context, engine: &*lying, segment: 1, counts: &counts };
    let mut seen = Seen::default();
    let driven = drive(&drive_target, &segment(&context, 1), &mut seen)?;
    let recorded = seen.0;
    let totals = &recorded.repetitions[0];
    let timed: u64 = recorded.hists.iter().filter(|h| h.kind == Kind::Latency).map(|h| h.hist.n).sum();
    assert_eq!(timed, totals.ok, "what failed has no latency");
    Ok(Ran { driven, recorded })
}

/// Every lie at `depth`, with the word for it.
fn every_lie_has_its_word(dialect: &Dialect, depth: u32) {
    let ran = |faults: &[&str], deadline_ns: u64, limit_ns: u64| {
        look_up(dialect, depth, faults, deadline_ns, limit_ns).expect("it runs")
    };
    let shown = |what: &str| format!("{what} on {} at depth {depth}", dialect.engine);

    let honest = ran(&[], 0, 60 * S);
    assert_eq!(honest.recorded.repetitions[0].ok, CALLS, "{}: {:?}", shown("no lie"), honest.failures());

    let short = ran(&["short:10"], 0, 60 * S);
    assert_eq!(short.failures(), [("missing", CALLS / 10)].into(), "{}", shown("a missing row"));
    assert!(short.message("missing").contains("is not in the answer"), "{}", short.message("missing"));
    assert_eq!(short.recorded.repetitions[0].wrong, CALLS / 10, "a missing row is a wrong answer");

    let wrong = ran(&["lie:10"], 0, 60 * S);
    assert_eq!(wrong.failures(), [("wrong", CALLS / 10)].into(), "{}", shown("a wrong row"));

    for lie in ["other_key:10", "swap_answers:10"] {
        let other = ran(&[lie], 0, 60 * S);
        let failures = other.failures();
        assert_eq!(failures.keys().collect::<Vec<_>>(), [&"wrong"], "{}", shown(lie));
        // Now and then the other key is the same one.
        assert!((CALLS / 10 - 3..=CALLS / 5).contains(&failures["wrong"]), "{}: {failures:?}", shown(lie));
        assert!(
            other.message("wrong").contains("a row that was not asked for"),
            "{}",
            other.message("wrong")
        );
    }

    // One in 150: the last call is past it, so that there is one at any depth.
    let swallowed = ran(&["swallow:150"], 100 * MS, 60 * S);
    let failures = swallowed.failures();
    assert_eq!(failures.get("timeout"), Some(&1), "{}: {failures:?}", shown("a swallowed call"));
    assert!(swallowed.message("timeout").contains("got no answer"), "{}", swallowed.message("timeout"));
    assert_eq!(swallowed.driven.ended_by, EndedBy::Work);
    assert_eq!(swallowed.recorded.repetitions[0].ops, CALLS, "and every call is counted");

    // The limit is what is waited for: long enough that a busy machine comes to that call.
    let cut = ran(&["swallow:150"], 0, 2 * S);
    assert_eq!(cut.driven.ended_by, EndedBy::Limit, "{}", shown("a swallowed call without deadline"));
    assert_eq!(cut.failures().get("timeout"), Some(&1), "{:?}", cut.failures());

    let late = ran(&["late:150"], 100 * MS, 60 * S);
    assert_eq!(late.failures().get("timeout"), Some(&1), "{}: {:?}", shown("a late call"), late.failures());
    assert_eq!(late.driven.ended_by, EndedBy::Work);

    let twice = ran(&["twice:150"], 0, 60 * S);
    let why = twice.driven.fatal.expect("a call that ends twice ends the run");
    assert!(why.contains("answered twice") && why.contains("role users"), "{why}");
    assert_eq!(twice.driven.ended_by, EndedBy::Error);
}

#[test]
fn calls_that_fail_together_have_messages_of_their_own() {
    // Calls are counted from the seed, and the ten inserts of the load end before the first strike.
    let ran = look_up(&simulated(), 8, &["refuse:18", "conflict:19"], 0, 60 * S).expect("it runs");
    assert_eq!(ran.failures(), [("conflict", (7 + CALLS) / 19), ("refused", (7 + CALLS) / 18)].into());
    for outcome in ["refused", "conflict"] {
        let message = ran.message(outcome);
        assert!(message.ends_with(&format!("was made to fail: {outcome}")), "{outcome}: {message}");
    }
}

fn simulated() -> Dialect {
    Dialect {
        engine: "simulated",
        url: "simulated:".into(),
        table: "t".into(),
        marks: ["?", "?"],
        wire: "i64",
    }
}

#[test]
fn every_lie_has_its_word_on_simulated_at_depth_1() {
    every_lie_has_its_word(&simulated(), 1);
}

#[test]
fn every_lie_has_its_word_on_simulated_at_depth_8() {
    every_lie_has_its_word(&simulated(), 8);
}

#[test]
fn every_lie_has_its_word_on_simulated_at_depth_64() {
    every_lie_has_its_word(&simulated(), 64);
}

#[test]
fn every_lie_has_its_word_on_sqlite_and_more_than_depth_1_is_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite://{}", place.path().join("x.db").display());
    let dialect = Dialect { engine: "sqlite", url, table: "t".into(), marks: ["?", "?"], wire: "integer" };
    every_lie_has_its_word(&dialect, 1);
    for depth in [8, 64] {
        let refused =
            look_up(&dialect, depth, &["short"], 0, 60 * S).map(|_| ()).expect_err("sqlite takes one call");
        let message = refused.to_string();
        let parts = ["role users", &format!("depth {depth}"), "sqlite", "lower `depth`"];
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

fn server(engine: &'static str, variable: &str, marks: [&'static str; 2], wire: &'static str) -> Dialect {
    let url = std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} names a server that may be written to"));
    Dialect { engine, url, table: format!("inrush_lies_{}", std::process::id()), marks, wire }
}

fn at_every_depth(dialect: &Dialect) {
    for depth in [1, 8, 64] {
        every_lie_has_its_word(dialect, depth);
    }
    let engine = build(&context(&dialect.plan(1, &[], 0, 0))).expect("a server");
    engine.control(&format!("DROP TABLE {}", dialect.table), 60 * S).expect("dropped");
}

#[test]
#[ignore = "needs INRUSH_POSTGRESQL_URL"]
fn every_lie_has_its_word_on_postgresql_at_every_depth() {
    at_every_depth(&server("postgresql", "INRUSH_POSTGRESQL_URL", ["$1", "$2"], "int8"));
}

#[test]
#[ignore = "needs INRUSH_MYSQL_URL"]
fn every_lie_has_its_word_on_mysql_at_every_depth() {
    let mut dialect = server("mysql", "INRUSH_MYSQL_URL", ["?", "?"], "BIGINT");
    let engine = build(&context(&dialect.plan(1, &[], 0, 0))).expect("a server");
    engine.control("CREATE DATABASE IF NOT EXISTS inrush_wire_test", 60 * S).expect("a database");
    dialect.url = servers::with_database(&dialect.url, "inrush_wire_test");
    at_every_depth(&dialect);
}
