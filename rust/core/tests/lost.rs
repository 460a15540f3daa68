//! Connections that are lost, calls that hang, and servers that never answer: whose time it is, and what ends it.

#[path = "lost/busy.rs"]
mod busy;
mod common;
#[path = "lost/lossy.rs"]
mod lossy;
#[path = "lost/silent.rs"]
mod silent;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;
use std::time::{Duration, Instant};

use busy::{alone, beside_others, soon};
use inrush_drive::drive::source::TableCount;
use inrush_drive::drive::{drive, DriveTarget, Driven, EndedBy, Observer, Progress};
use inrush_drive::record::{Hist, Kind, Recorded, RepetitionRow};
use inrush_engines::engine::{build, Context, Engine, Ns};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::{DriveSegment, RunPlan, Segment};
use lossy::{Behaviour, Lossy};
use silent::{Server, Silent};

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// A thousand sessions, and what holds for them.
const MANY: u32 = 1000;
struct Notes {
    clock: Clock,
    recorded: Recorded,
    progress: Vec<Ns>,
    /// By role: how long after its end the latest interval came.
    latest: BTreeMap<String, Ns>,
}

impl Notes {
    fn new(clock: Clock) -> Notes {
        Notes { clock, recorded: Recorded::default(), progress: Vec::new(), latest: BTreeMap::new() }
    }

    fn hist(&self, role: &str, kind: Kind) -> Hist {
        common::hist(&self.recorded, role, kind)
    }

    fn totals(&self, role: &str) -> &RepetitionRow {
        common::totals(&self.recorded, role)
    }

    /// (outcome, calls) of a role's failures.
    fn failures(&self, role: &str) -> Vec<(&str, u64)> {
        let of = self.recorded.failures.iter().filter(|f| f.role == role);
        of.map(|f| (f.outcome, f.count)).collect()
    }

    /// The longest time without progress.
    fn longest_gap(&self) -> Ns {
        self.progress.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
    }
}

impl Observer for Notes {
    fn recorded(&mut self, recorded: Recorded) -> Result<(), Error> {
        let now = self.clock.now();
        for row in &recorded.intervals {
            let late = now.saturating_sub(row.t_ns + row.dt_ns);
            let latest = self.latest.entry(row.role.clone()).or_default();
            *latest = late.max(*latest);
        }
        common::keep(&mut self.recorded, recorded);
        Ok(())
    }

    fn progress(&mut self, _: Progress) {
        self.progress.push(self.clock.now());
    }

    fn repeat(&mut self, _: u32, _: Ns) -> Result<bool, Error> {
        Ok(false)
    }

    fn stuck(&mut self, role: &str) {
        panic!("{role} is stuck");
    }
}

const OPERATIONS: &str = r#"[
  {"name": "hang", "kind": "query", "text": "hang"},
  {"name": "quick", "kind": "query", "text": "quick"},
  {"name": "limited", "kind": "query", "deadline_ns": 200000000, "text": "limited"},
  {"name": "page", "kind": "together", "members": ["quick", "limited"]}
]"#;

fn plan(engine: &str, url: &str, roles: &str, limit_ns: u64, more: &str, hang_deadline_ns: u64) -> RunPlan {
    let hang = format!(r#""name": "hang", "deadline_ns": {hang_deadline_ns},"#);
    let operations = OPERATIONS.replace(r#""name": "hang","#, &hang);
    let text = format!(
        r#"{{"version": 1, "run_id": "r", "study": "s", "seed": 7, "epoch_ns": 0,
        "target": {{"engine": "{engine}", "url": "{url}"}}, "tables": [], "operations": {operations},
        "segments": [{{"kind": "drive", "label": "d", "phase": "measure", "limit_ns": {limit_ns} {more},
                       "roles": [{roles}]}}],
        "record": {{"interval_ns": 200000000, "flush_ns": 1000000000}},
        "watch": {{"every_ns": 0, "processes": {{}}}}}}"#
    );
    RunPlan::from_json(&text).expect("a plan")
}

fn run_on(context: &Context, engine: &dyn Engine) -> (Result<Driven, Error>, Notes) {
    let Segment::Drive(segment) = context.plan.segments[0].clone() else { panic!("a drive") };
    let segment: DriveSegment = segment;
    let mut notes = Notes::new(context.clock);
    let counts: [TableCount; 0] = [];
    let drive_target = DriveTarget { context, engine, segment: 0, counts: &counts };
    let driven = drive(&drive_target, &segment, &mut notes);
    (driven, notes)
}

fn context(plan: RunPlan) -> Context {
    Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::default() }
}

fn run_lossy(roles: &str, more: &str, behaviour: Behaviour) -> (Driven, Notes, Arc<Behaviour>) {
    let context = context(plan("test", "test:", roles, 60 * S, more, 0));
    let behaviour = Arc::new(behaviour);
    let engine = Lossy { clock: context.clock, behaviour: behaviour.clone() };
    let (driven, notes) = run_on(&context, &engine);
    (driven.expect("driven"), notes, behaviour)
}

fn role(name: &str, operation: &str, sessions: u32, schedule: &str, work: &str, until: &str) -> String {
    format!(
        r#"{{"name": "{name}", "operations": [{{"operation": "{operation}", "weight": 1}}], "sessions": {sessions},
        "depth": 1, "schedule": {schedule}, "work": {work}, "until": {until}}}"#
    )
}

const CLOSED: &str = r#"{"kind": "closed", "think_ns": 0}"#;
const HUNDRED_PER_S: &str = r#"{"kind": "constant", "rate_per_s": 100.0}"#;
const ENDLESS: &str = r#"{"kind": "endless"}"#;
const UNTIL_WORK: &str = r#"{"kind": "work"}"#;

fn for_time(ns: u64) -> String {
    format!(r#"{{"kind": "time", "ns": {ns}}}"#)
}

fn calls(count: u64) -> String {
    format!(r#"{{"kind": "calls", "count": {count}}}"#)
}

#[test]
fn an_outage_is_the_calls_wait_and_not_the_instruments_lag() {
    let _lock = beside_others();
    let roles = role("readers", "quick", 4, HUNDRED_PER_S, ENDLESS, &for_time(4 * S));
    let behaviour = Behaviour { down: Some((S, 2 * S)), service_ns: MS, ..Behaviour::default() };
    let (driven, notes, _) = run_lossy(&roles, "", behaviour);
    assert_eq!((driven.ended_by, driven.fatal), (EndedBy::Time, None));
    let totals = notes.totals("readers");
    assert_eq!((totals.ops + totals.unsent, totals.unsent), (400, 0), "every call that was due was made");
    assert_eq!(notes.failures("readers"), [("lost", 4)], "one of each session");
    assert_eq!(totals.errors, 4);
    let latency = notes.hist("readers", Kind::Latency);
    assert!(latency.max() >= 900 * MS, "the outage is in the latency: {}", latency.max());
    let on_time = notes.hist("readers", Kind::OnTime).max();
    assert!(on_time >= 900 * MS, "and it is no lateness of the instrument: {on_time}");
    let lag = notes.hist("readers", Kind::Lag).max();
    assert!(lag < 200 * MS, "the instrument is blamed for the server's outage: lag {lag}");
}

#[test]
fn a_page_reader_comes_back_and_its_outage_is_wait() {
    let _lock = beside_others();
    let roles = role("readers", "page", 2, HUNDRED_PER_S, ENDLESS, &for_time(3 * S));
    let behaviour = Behaviour { down: Some((S, 2 * S)), service_ns: MS, ..Behaviour::default() };
    let (driven, notes, _) = run_lossy(&roles, "", behaviour);
    assert_eq!((driven.ended_by, driven.fatal), (EndedBy::Time, None));
    let totals = notes.totals("readers");
    assert_eq!((totals.ops, totals.unsent), (300, 0));
    assert!(notes.hist("readers", Kind::Latency).max() >= 900 * MS);
    assert!(notes.hist("readers", Kind::OnTime).max() >= 900 * MS);
    let lag = notes.hist("readers", Kind::Lag).max();
    assert!(lag < 200 * MS, "lag {lag}");
    assert_eq!(notes.failures("readers"), [("lost", 2)], "one page of each session");
}

#[test]
fn how_long_a_session_tries_to_come_back_is_the_plans() {
    let _lock = beside_others();
    let roles = role("readers", "quick", 1, HUNDRED_PER_S, ENDLESS, &for_time(3 * S));
    let down = |ns| Behaviour { down: Some((S / 2, S / 2 + ns)), ..Behaviour::default() };
    let (driven, notes, _) = run_lossy(&roles, r#", "retry_ns": 300000000"#, down(20 * S));
    assert_eq!(driven.ended_by, EndedBy::Error);
    let why = driven.fatal.expect("it gave up");
    assert!(why.contains("not back after 0.3 s") && why.contains("retry_s"), "{why}");
    let totals = notes.totals("readers");
    assert!(totals.end_ns - totals.start_ns < 2 * S, "{totals:?}");
    // Longer than the usual five seconds.
    let (driven, ..) = run_lossy(&roles, r#", "retry_ns": 20000000000"#, down(6 * S));
    assert_eq!(driven.fatal, None);
}

#[test]
fn a_session_that_came_back_is_cancelled_by_its_present_connection() {
    let _lock = beside_others();
    let roles = role("readers", "limited", 2, CLOSED, &calls(4), UNTIL_WORK);
    let behaviour = Behaviour { loses_first: true, hangs_from: Some(0), ..Behaviour::default() };
    // The first connections (0 and 1) are lost as soon as they are cancelled; the next ones hang, too.
    let (driven, notes, behaviour) = run_lossy(&roles, "", behaviour);
    assert_eq!(driven.fatal, None);
    assert_eq!(notes.failures("readers"), [("timeout", 4)]);
    let cancelled = behaviour.cancelled.lock().unwrap().clone();
    assert!(cancelled.iter().any(|&number| number >= 2), "only the first connections: {cancelled:?}");
}

#[test]
fn a_canceller_that_blocks_holds_up_no_other_call() {
    let _lock = beside_others();
    let slow = role("slow", "hang", 8, CLOSED, &calls(8), UNTIL_WORK);
    let quick = role("quick", "limited", 4, CLOSED, &calls(4), UNTIL_WORK);
    let behaviour =
        Behaviour { hangs_from: Some(0), cancel_takes: Duration::from_secs(4), ..Behaviour::default() };
    let context = context(plan("test", "test:", &format!("{slow}, {quick}"), 60 * S, "", 100 * MS));
    let engine = Lossy { clock: context.clock, behaviour: Arc::new(behaviour) };
    let (driven, notes) = run_on(&context, &engine);
    assert_eq!(driven.expect("driven").fatal, None);
    assert_eq!(notes.failures("quick"), [("timeout", 4)]);
    let totals = notes.totals("quick");
    assert!(totals.end_ns - totals.start_ns < 200 * MS + soon(), "{totals:?}");
    assert!(
        notes.longest_gap() < soon(),
        "progress stood still for {} ns of {} allowed",
        notes.longest_gap(),
        soon()
    );
}

/// Two roles of a silent server: a thousand calls that hang, and one session that is served.
fn many_and_one(hang_work: &str) -> String {
    let many = role("many", "hang", MANY, CLOSED, hang_work, UNTIL_WORK);
    let one = role("one", "quick", 1, HUNDRED_PER_S, ENDLESS, r#"{"kind": "role", "name": "many"}"#);
    format!("{many}, {one}")
}

#[test]
fn a_thousand_hung_calls_end_within_a_second_of_their_deadline() {
    let _alone = alone();
    let server = Server::start(Silent::AtFirstStatement);
    let plan = plan("postgresql", &server.url, &many_and_one(&calls(u64::from(MANY))), 60 * S, "", 500 * MS);
    let context = context(plan);
    let engine = build(&context).expect("an engine");
    let (driven, notes) = run_on(&context, engine.as_ref());
    assert_eq!(driven.expect("driven").fatal, None);
    assert_eq!(notes.failures("many"), [("timeout", u64::from(MANY))]);
    for session in notes.recorded.sessions.iter().filter(|s| s.role == "many" && s.ops > 0) {
        assert!(session.busy_ns < session.ops * (500 * MS + soon()), "{session:?}");
    }
    assert!(server.cancels.load(SeqCst) > 0, "they were cancelled before they were cut");
    assert!(notes.totals("one").ok > 0);
    assert!(
        notes.longest_gap() < soon(),
        "progress stood still for {} ns of {} allowed",
        notes.longest_gap(),
        soon()
    );
}

/// An interval ends up to its length before the limit that cuts its call, and is looked at up to 300 ms after its end.
const LAST_INTERVAL: u64 = 500 * MS;

/// How late came, at the worst, what a thousand calls that hang must not delay. ns.
#[derive(Debug)]
struct Delays {
    limit: u64,
    intervals: u64,
    progress: u64,
}

impl Delays {
    fn with_a_thousand_hung_calls() -> Delays {
        let server = Server::start(Silent::AtFirstStatement);
        let limit = 4 * S;
        let context = context(plan("postgresql", &server.url, &many_and_one(&calls(5000)), limit, "", 0));
        let engine = build(&context).expect("an engine");
        let began = Instant::now();
        let (driven, notes) = run_on(&context, engine.as_ref());
        let took = began.elapsed().as_nanos() as u64;
        assert_eq!(driven.expect("driven").ended_by, EndedBy::Limit);
        assert_eq!(notes.failures("many"), [("timeout", u64::from(MANY))], "each attempt is counted");
        Delays {
            limit: took.saturating_sub(limit),
            intervals: notes.latest.values().copied().max().expect("intervals"),
            progress: notes.longest_gap(),
        }
    }

    fn are_short(&self) -> bool {
        self.limit.max(self.progress) < soon() && self.intervals < soon() + LAST_INTERVAL
    }
}

#[test]
fn a_thousand_hung_calls_delay_neither_a_limit_nor_the_tables() {
    let _alone = alone();
    // A delay of ours is there each time; one of the machine's other users is not.
    let first = Delays::with_a_thousand_hung_calls();
    if !first.are_short() {
        let second = Delays::with_a_thousand_hung_calls();
        assert!(second.are_short(), "{first:?}, then {second:?}; allowed {} ns", soon());
    }
}

/// Stops the run after so long.
fn stop_after(context: &Context, time: Duration) {
    let stop = context.stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(time);
        stop.store(true, SeqCst);
    });
}

#[test]
fn a_stop_is_heeded_within_a_second_although_a_thousand_calls_hang() {
    let _alone = alone();
    let server = Server::start(Silent::AtFirstStatement);
    let context = context(plan("postgresql", &server.url, &many_and_one(&calls(5000)), 60 * S, "", 0));
    let engine = build(&context).expect("an engine");
    let after = Duration::from_secs(4);
    stop_after(&context, after);
    let began = Instant::now();
    let (driven, notes) = run_on(&context, engine.as_ref());
    let took = began.elapsed();
    assert_eq!(driven.expect("driven").ended_by, EndedBy::Stop);
    assert!(
        took < after + Duration::from_nanos(soon()),
        "{took:?}, allowed {} ns more than {after:?}",
        soon()
    );
    assert_eq!(notes.failures("many"), [("timeout", u64::from(MANY))]);
}

/// Sessions that are to connect to a server which takes one connection and no more.
fn stopped_and_limited_while_connecting(start: fn() -> Server) {
    let _alone = alone();
    let roles = role("many", "quick", MANY, CLOSED, ENDLESS, &for_time(S));
    let server = start();
    let stopped = context(plan("postgresql", &server.url, &roles, 60 * S, "", 0));
    let engine = build(&stopped).expect("an engine");
    let after = Duration::from_secs(2);
    stop_after(&stopped, after);
    let began = Instant::now();
    let (driven, _) = run_on(&stopped, engine.as_ref());
    assert_eq!(driven.expect("a stop is no error").ended_by, EndedBy::Stop);
    assert!(began.elapsed() < after + Duration::from_nanos(soon()), "{:?}", began.elapsed());

    let server = start();
    let limited = context(plan("postgresql", &server.url, &roles, 2 * S, "", 0));
    let engine = build(&limited).expect("an engine");
    let began = Instant::now();
    let (driven, _) = run_on(&limited, engine.as_ref());
    assert!(began.elapsed() < Duration::from_nanos(2 * S + soon()), "{:?}", began.elapsed());
    let why = driven.expect_err("nothing was measured").to_string();
    assert!(why.contains("connecting 1000 of 1000 sessions") && why.contains("after 2 s"), "{why}");
}

#[test]
fn a_server_that_never_answers_a_login_holds_up_neither_stop_nor_limit() {
    stopped_and_limited_while_connecting(|| Server::start(Silent::AtLogin));
}

#[test]
fn a_server_whose_queue_is_full_holds_up_neither_stop_nor_limit() {
    stopped_and_limited_while_connecting(Server::taking_one);
}

#[test]
fn a_session_that_connects_again_to_a_server_that_is_silent_delays_no_limit() {
    let _lock = beside_others();
    let server = Server::losing();
    let roles = role("one", "hang", 1, CLOSED, &calls(5), UNTIL_WORK);
    let retry = r#", "retry_ns": 60000000000"#;
    let context = context(plan("postgresql", &server.url, &roles, 2 * S, retry, 0));
    let engine = build(&context).expect("an engine");
    let began = Instant::now();
    let (driven, notes) = run_on(&context, engine.as_ref());
    assert_eq!(driven.expect("driven").ended_by, EndedBy::Limit);
    assert_eq!(notes.failures("one"), [("lost", 1)]);
    // A log-in may take ten seconds.
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn a_read_back_that_hangs_after_a_cut_segment_ends_as_soon_as_a_statement_would() {
    let _lock = beside_others();
    let server = Server::start(Silent::AtFirstStatement);
    let roles = role("many", "hang", 1, CLOSED, ENDLESS, &for_time(60 * S));
    let mut plan = plan("postgresql", &server.url, &roles, S, "", 0);
    let table = serde_json::json!({"name": "t", "stream": "t", "source": {"kind": "generated", "series": 1, "period_ns": 1},
        "columns": [{"name": "k", "type": "i64", "wire": "int8", "gen": {"kind": "sequence", "start": 0, "step": 1}}]});
    plan.tables.push(serde_json::from_value(table).expect("a table"));
    let proof = serde_json::json!({"kind": "proof", "label": "proof", "proofs": [
        {"table": 0, "first_row": 0, "rows": 10, "screen": "", "items": [], "read_back": "SELECT k FROM t"}]});
    plan.segments.push(serde_json::from_value(proof).expect("a segment"));
    let folder = tempfile::tempdir().expect("a folder");
    let mut handle = inrush_drive::run::start(plan, folder.path()).expect("started");
    let (began, mut events) = (Instant::now(), Vec::new());
    while !handle.done() && began.elapsed() < Duration::from_secs(60) {
        events.extend(handle.poll(Duration::from_millis(10)));
    }
    events.extend(handle.poll(Duration::ZERO));
    let last = events.last().expect("a last word").to_json();
    assert!(last.contains("proving table t") && last.contains("deadline"), "{last}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn a_stop_is_heeded_while_a_statement_of_the_run_itself_hangs() {
    let _lock = beside_others();
    let server = Server::start(Silent::AtFirstStatement);
    let roles = role("many", "quick", 1, CLOSED, ENDLESS, &for_time(S));
    let mut plan = plan("postgresql", &server.url, &roles, 60 * S, "", 0);
    let statements = vec!["CREATE TABLE t ()".into()];
    plan.segments.insert(0, Segment::Control { label: "create".into(), statements, limit_ns: 60 * S });
    let folder = tempfile::tempdir().expect("a folder");
    let mut handle = inrush_drive::run::start(plan, folder.path()).expect("started");
    let mut events = handle.poll(Duration::from_secs(60));
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    handle.stop();
    while !handle.done() {
        events.extend(handle.poll(Duration::from_millis(10)));
    }
    assert!(began.elapsed() < Duration::from_nanos(soon()), "{:?}", began.elapsed());
    events.extend(handle.poll(Duration::ZERO));
    let last = events.last().expect("a last word").to_json();
    assert!(last.contains("finished") && last.contains("stop"), "{last}");
}
