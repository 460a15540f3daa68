//! Roles at work against an engine of the test's own, whose behaviour is known exactly.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inrush_core::clock::Clock;
use inrush_core::drive::source::TableCount;
use inrush_core::drive::{drive, DriveTarget, Driven, EndedBy, Observer, Progress};
use inrush_core::engine::{
    Answer, Canceller, Caps, Context, Done, Engine, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work,
};
use inrush_core::plan::{DriveSegment, RunPlan};
use inrush_core::record::{Hist, Kind, Recorded};
use inrush_core::rows::{Columns, Value};
use inrush_core::Error;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const EPOCH_MS: i64 = 1_000_000_000_000;

/// What the engine of the test does; times are run time.
#[derive(Default)]
struct Behaviour {
    /// Calls begun inside answer at its end, like a stopped server.
    frozen: Option<(Ns, Ns)>,
    /// Encoding begun inside ends at its end, like a stopped client.
    client_frozen: Option<(Ns, Ns)>,
    service_ns: u64,
    encode_ns: u64,
    /// The client takes so long to look at an answer.
    look_ns: u64,
    /// No answer is kept.
    forgets: bool,
    /// When encoding of each batch had ended.
    encoded: Mutex<Vec<Ns>>,
    /// What it says its sessions can hold; they hold one call.
    claims_depth: u32,
    /// Never answers until cancelled.
    hangs: bool,
    fails: bool,
    /// Rows the engine holds.
    stored: AtomicU64,
    cancelled: Arc<AtomicBool>,
    /// First values of parameters seen.
    params: Mutex<Vec<Value>>,
    /// A row of series 3 can be seen so long after it was acknowledged.
    visible_after_ns: Option<Ns>,
    /// It shows also those that were asked to be left out.
    shows_again: bool,
    /// Of series 3: (visible from, data time in ms).
    visible: Mutex<Vec<(Ns, i64)>>,
}

struct Known {
    clock: Clock,
    behaviour: Arc<Behaviour>,
}

struct KnownSession {
    clock: Clock,
    behaviour: Arc<Behaviour>,
    ready: Vec<Done>,
    answer: Answer,
}

fn sleep_until(clock: Clock, until: Ns) {
    let now = clock.now();
    if until > now {
        std::thread::sleep(Duration::from_nanos(until - now));
    }
}

impl Engine for Known {
    fn caps(&self) -> Caps {
        Caps { max_depth: self.behaviour.claims_depth.max(1), ..Caps::default() }
    }

    fn open(&self, _: &[OpId]) -> Result<Box<dyn Session>, Error> {
        let answer = Answer { names: vec!["n".into()], rows: vec![vec![Value::I64(0)]] };
        Ok(Box::new(KnownSession {
            clock: self.clock,
            behaviour: self.behaviour.clone(),
            ready: Vec::new(),
            answer,
        }))
    }

    fn control(&self, _: &str, _: u64) -> Result<Answer, Error> {
        Ok(Answer::default())
    }
}

impl KnownSession {
    /// Keeps when rows of series 3 can be seen, or answers with those that can be and were not yet.
    fn show_series(&mut self, work: &Work<'_>, after: Ns) {
        let now = self.clock.now();
        let mut visible = self.behaviour.visible.lock().unwrap();
        match work {
            Work::Rows { columns, .. } => visible.extend((0..columns.rows).filter_map(|row| {
                let Value::I64(k) = columns.columns[0].value(row) else { panic!("k is an i64") };
                (k % 10 == 3).then_some((now + after, EPOCH_MS + k / 10 * 1000))
            })),
            Work::Params(values) => {
                let Value::TimeMs(seen) = values[0] else { panic!("{values:?}") };
                let again = self.behaviour.shows_again;
                let new = visible.iter().filter(|(from, ms)| *from <= now && (again || *ms > seen));
                self.answer.rows = new.map(|(_, ms)| vec![Value::TimeMs(*ms)]).collect();
            }
        }
    }
}

impl Session for KnownSession {
    fn encode(&mut self, _: OpId, _: &Columns, _: &mut Payload) -> Result<(), Error> {
        if let Some((from, to)) = self.behaviour.client_frozen {
            if (from..to).contains(&self.clock.now()) {
                sleep_until(self.clock, to);
            }
        }
        sleep_until(self.clock, self.clock.now() + self.behaviour.encode_ns);
        self.behaviour.encoded.lock().unwrap().push(self.clock.now());
        Ok(())
    }

    fn submit(&mut self, ticket: Ticket, _: OpId, work: Work<'_>) -> Submit {
        if !self.ready.is_empty() {
            return Submit::Full;
        }
        let rows = match &work {
            Work::Rows { columns, .. } => columns.rows as u64,
            Work::Params(values) => {
                self.behaviour.params.lock().unwrap().extend(values.first().cloned());
                0
            }
        };
        if let Some((from, to)) = self.behaviour.frozen {
            if (from..to).contains(&self.clock.now()) {
                sleep_until(self.clock, to);
            }
        }
        if self.behaviour.service_ns > 0 {
            sleep_until(self.clock, self.clock.now() + self.behaviour.service_ns);
        }
        while self.behaviour.hangs && !self.behaviour.cancelled.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let outcome = if self.behaviour.fails || self.behaviour.hangs { Outcome::Other } else { Outcome::Ok };
        let stored = self.behaviour.stored.fetch_add(rows, SeqCst) + rows;
        match self.behaviour.visible_after_ns {
            Some(after) => self.show_series(&work, after),
            None => self.answer.rows[0][0] = Value::I64(stored as i64),
        }
        self.ready.push(Done { ticket, done_ns: self.clock.now(), outcome, rows, bytes: rows * 8 });
        Submit::Queued
    }

    fn poll(&mut self, _: Ns, done: &mut Vec<Done>) {
        done.append(&mut self.ready);
    }

    fn answer(&mut self, _: Ticket) -> Option<&Answer> {
        sleep_until(self.clock, self.clock.now() + self.behaviour.look_ns);
        (!self.behaviour.forgets).then_some(&self.answer)
    }

    fn failure(&mut self, _: Ticket) -> Option<String> {
        Some("told to fail".into())
    }

    fn scan(&mut self, _: &str, _: &Columns, _: &mut dyn FnMut(&Columns)) -> Result<u64, Error> {
        Ok(0)
    }

    fn canceller(&self) -> Option<Canceller> {
        let flag = self.behaviour.cancelled.clone();
        Some(Box::new(move || flag.store(true, SeqCst)))
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

#[derive(Default)]
struct Notes {
    recorded: Recorded,
    progress: Vec<Progress>,
    /// Repetitions to allow.
    repetitions: u32,
    makespans: Vec<Ns>,
}

impl Observer for Notes {
    fn recorded(&mut self, recorded: Recorded) -> Result<(), Error> {
        self.recorded.repetitions.extend(recorded.repetitions);
        self.recorded.hists.extend(recorded.hists);
        self.recorded.intervals.extend(recorded.intervals);
        self.recorded.failures.extend(recorded.failures);
        self.recorded.sessions.extend(recorded.sessions);
        self.recorded.samples.extend(recorded.samples);
        Ok(())
    }

    fn progress(&mut self, progress: Progress) {
        self.progress.push(progress);
    }

    fn repeat(&mut self, repetition: u32, makespan_ns: Ns) -> Result<bool, Error> {
        self.makespans.push(makespan_ns);
        Ok(repetition + 1 < self.repetitions)
    }

    fn stuck(&mut self, role: &str) {
        panic!("{role} is stuck");
    }
}

impl Notes {
    fn hist(&self, role: &str, kind: Kind) -> Hist {
        let mut whole = Hist::new();
        for row in self.recorded.hists.iter().filter(|h| h.role == role && h.kind == kind) {
            whole.merge(&Hist::from_sparse(&row.hist));
        }
        whole
    }

    fn totals(&self, role: &str) -> &inrush_core::record::RepetitionRow {
        self.recorded.repetitions.iter().find(|s| s.role == role).expect("every role has a repetition")
    }
}

const TABLE: &str = r#"{"name": "t", "stream": "t", "source": {"kind": "generated", "series": 10, "period_ns": 1000000000},
  "columns": [{"name": "k", "type": "i64", "wire": "int8", "gen": {"kind": "sequence", "start": 0, "step": 1}}]}"#;

const OPERATIONS: &str = r#"[
  {"name": "insert", "kind": "insert", "table": 0},
  {"name": "ask", "kind": "query", "params": [{"name": "now", "type": "time_ms", "gen": {"kind": "now_minus", "ns": 0}}]},
  {"name": "count", "kind": "query", "holds": [{"kind": "count_bounds", "table": 0}]},
  {"name": "fresh", "kind": "query", "holds": [{"kind": "freshness", "table": 0, "series": 3}],
   "params": [{"name": "seen", "type": "time_ms", "gen": {"kind": "seen_until"}}]},
  {"name": "other", "kind": "query"},
  {"name": "page", "kind": "together", "members": ["ask", "other"]},
  {"name": "judged", "kind": "together", "members": ["count", "other"]},
  {"name": "limited", "kind": "query", "deadline_ns": 100000000}
]"#;

fn run(roles: &str, limit_ns: u64, behaviour: Behaviour, notes: &mut Notes) -> (Driven, Arc<Behaviour>) {
    let (driven, behaviour) = try_run(roles, limit_ns, behaviour, notes);
    (driven.unwrap(), behaviour)
}

fn try_run(
    roles: &str,
    limit_ns: u64,
    behaviour: Behaviour,
    notes: &mut Notes,
) -> (Result<Driven, Error>, Arc<Behaviour>) {
    let context = plan_of(TABLE, roles, limit_ns, notes.repetitions);
    let inrush_core::plan::Segment::Drive(segment) = context.plan.segments[0].clone() else {
        panic!("a drive")
    };
    let segment: DriveSegment = segment;
    let behaviour = Arc::new(behaviour);
    let engine = Known { clock: context.clock, behaviour: behaviour.clone() };
    let counts = [TableCount::default()];
    let drive_target = DriveTarget { context: &context, engine: &engine, segment: 0, counts: &counts };
    let driven = drive(&drive_target, &segment, notes);
    (driven, behaviour)
}

fn plan_of(tables: &str, roles: &str, limit_ns: u64, repetitions: u32) -> Context {
    let repeat = match repetitions {
        0 => "null".to_owned(),
        n => format!(r#"{{"at_least_ns": 0, "max": {n}, "fresh": [], "proofs": []}}"#),
    };
    let plan = format!(
        r#"{{"version": 1, "run_id": "r", "study": "s", "seed": 7, "epoch_ns": 1000000000000000000,
        "target": {{"engine": "test", "url": "test:"}}, "tables": [{tables}], "operations": {OPERATIONS},
        "segments": [{{"kind": "drive", "label": "d", "phase": "measure", "limit_ns": {limit_ns},
                       "repeat": {repeat}, "roles": [{roles}]}}],
        "record": {{"interval_ns": 200000000, "flush_ns": 1000000000}},
        "watch": {{"every_ns": 0, "processes": {{}}}}}}"#
    );
    let plan = RunPlan::from_json(&plan).unwrap();
    Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) }
}

fn role(name: &str, operation: &str, sessions: u32, schedule: &str, work: &str, until: &str) -> String {
    format!(
        r#"{{"name": "{name}", "operations": [{{"operation": "{operation}", "weight": 1}}], "sessions": {sessions},
        "depth": 1, "schedule": {schedule}, "work": {work}, "until": {until}}}"#
    )
}

const CLOSED: &str = r#"{"kind": "closed", "think_ns": 0}"#;
const THOUSAND_PER_S: &str = r#"{"kind": "constant", "rate_per_s": 1000.0}"#;
const ENDLESS: &str = r#"{"kind": "endless"}"#;

fn for_time(ns: u64) -> String {
    format!(r#"{{"kind": "time", "ns": {ns}}}"#)
}

fn rows(rows: u64, batch: u32) -> String {
    format!(r#"{{"kind": "rows", "table": 0, "first_row": 0, "rows": {rows}, "batch_rows": {batch}}}"#)
}

#[test]
fn a_stalled_server_delays_every_operation_that_was_due() {
    let mut notes = Notes::default();
    let frozen = Some((2 * S, 3 * S));
    let roles = role("readers", "ask", 4, THOUSAND_PER_S, ENDLESS, &for_time(5 * S));
    let (driven, _) = run(&roles, 60 * S, Behaviour { frozen, ..Default::default() }, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Time);
    let totals = notes.totals("readers");
    assert_eq!((totals.ops + totals.unsent, totals.unsent), (5000, 0));
    assert!(totals.late >= 900, "only {} late", totals.late);
    let p99 = notes.hist("readers", Kind::Latency).quantile(0.99).unwrap();
    assert!(p99 >= 900 * MS, "p99 {p99}");
    let lag = notes.hist("readers", Kind::Lag).quantile(0.99).unwrap();
    assert!(lag < 20 * MS, "the instrument is blamed for the server's stall: lag {lag}");
}

#[test]
fn a_frozen_client_shows_as_lag() {
    let mut notes = Notes::default();
    let client_frozen = Some((S, 2 * S));
    let roles = role("writers", "insert", 2, THOUSAND_PER_S, &rows(3000, 1), r#"{"kind": "work"}"#);
    let (_, behaviour) = run(&roles, 60 * S, Behaviour { client_frozen, ..Default::default() }, &mut notes);
    assert_eq!(behaviour.stored.load(SeqCst), 3000);
    let lag = notes.hist("writers", Kind::Lag);
    assert!(lag.max() >= 900 * MS, "lag {}", lag.max());
}

#[test]
fn an_answer_that_is_not_there_keeps_no_promise() {
    let calls = r#"{"kind": "calls", "count": 20}"#;
    for (operation, role_of_calls) in
        [("count", "readers"), ("judged", "readers/count"), ("fresh", "readers")]
    {
        let mut notes = Notes::default();
        let readers = role("readers", operation, 1, CLOSED, calls, r#"{"kind": "work"}"#);
        run(&readers, 60 * S, Behaviour { forgets: true, ..Default::default() }, &mut notes);
        let totals = notes.totals(role_of_calls);
        assert_eq!((totals.ops, totals.ok, totals.wrong), (20, 0, 20), "{operation}: {totals:?}");
    }
}

#[test]
fn a_client_that_is_slow_to_look_at_answers_is_late_itself_and_so_is_every_member_of_its_pages() {
    let ten_ms = r#"{"kind": "constant", "rate_per_s": 100.0}"#;
    for (operation, roles) in
        [("count", &["readers"][..]), ("judged", &["readers", "readers/count", "readers/other"][..])]
    {
        let mut notes = Notes::default();
        let behaviour = Behaviour { service_ns: MS, look_ns: 30 * MS, ..Default::default() };
        let readers = role("readers", operation, 1, ten_ms, ENDLESS, &for_time(2 * S));
        run(&readers, 60 * S, behaviour, &mut notes);
        for name in roles {
            let median = |kind| notes.hist(name, kind).quantile(0.5).unwrap();
            let (latency, on_time) = (median(Kind::Latency), median(Kind::OnTime));
            assert!(latency > 200 * MS, "{name} of {operation}: a queue grows, {latency} ns");
            // The server took 1 ms, and what this machine adds to that.
            assert!(on_time < latency / 4, "{name} of {operation}: {on_time} ns of {latency} on time");
        }
    }
}

#[test]
fn every_row_of_a_volume_is_sent_once_whatever_the_sessions() {
    for sessions in [1, 3, 16] {
        let mut notes = Notes::default();
        let roles = role("writers", "insert", sessions, CLOSED, &rows(10_007, 100), r#"{"kind": "work"}"#);
        let (driven, behaviour) = run(&roles, 60 * S, Behaviour::default(), &mut notes);
        assert_eq!(driven.ended_by, EndedBy::Work);
        assert_eq!(behaviour.stored.load(SeqCst), 10_007);
        let totals = notes.totals("writers");
        assert_eq!((totals.rows, totals.ops, totals.bytes), (10_007, 101, 80_056));
    }
}

#[test]
fn readers_end_with_their_writers_and_answer_between_acknowledged_and_issued() {
    let mut notes = Notes::default();
    let writers = role("writers", "insert", 2, CLOSED, &rows(200, 1), r#"{"kind": "work"}"#);
    let readers = role("readers", "count", 1, CLOSED, ENDLESS, r#"{"kind": "role", "name": "writers"}"#);
    let behaviour = Behaviour { service_ns: 2 * MS, ..Default::default() };
    run(&format!("{writers}, {readers}"), 60 * S, behaviour, &mut notes);
    let (writers, readers) = (notes.totals("writers"), notes.totals("readers"));
    assert!(readers.ops > 0 && readers.wrong == 0, "{readers:?}");
    assert!(readers.end_ns < writers.end_ns + 100 * MS);
}

#[test]
fn readers_of_a_role_that_is_one_per_table_end_with_the_last_of_its_parts() {
    let mut notes = Notes::default();
    let until_work = r#"{"kind": "work"}"#;
    let quick = role("writers/a", "insert", 1, CLOSED, &rows(5, 1), until_work);
    let slow = role("writers/b", "insert", 1, CLOSED, &rows(100, 1), until_work);
    let readers = role("readers", "ask", 1, CLOSED, ENDLESS, r#"{"kind": "role", "name": "writers"}"#);
    let behaviour = Behaviour { service_ns: 2 * MS, ..Default::default() };
    run(&format!("{quick}, {slow}, {readers}"), 60 * S, behaviour, &mut notes);
    let (quick, slow, readers) =
        (notes.totals("writers/a"), notes.totals("writers/b"), notes.totals("readers"));
    assert!(readers.end_ns > quick.end_ns + 100 * MS, "{readers:?} ended with the first of them");
    assert!(readers.end_ns < slow.end_ns + 100 * MS, "{readers:?} went on alone");
}

#[test]
fn an_answer_that_breaks_its_promise_has_no_latency() {
    let mut notes = Notes::default();
    let readers =
        role("readers", "count", 1, CLOSED, r#"{"kind": "calls", "count": 50}"#, r#"{"kind": "work"}"#);
    let behaviour = Behaviour { stored: AtomicU64::new(77), ..Default::default() };
    run(&readers, 60 * S, behaviour, &mut notes);
    assert_eq!(notes.totals("readers").wrong, 50);
    assert_eq!(notes.hist("readers", Kind::Latency).n(), 0);
    assert_eq!(notes.recorded.failures[0].outcome, "wrong");
    assert!(notes.recorded.failures[0].first_message.contains("77 rows counted"));
}

/// A sweep of 10 rows every 50 ms, in 2 parts, collected in 20 ms exactly.
const SAMPLES: &str = r#"{"kind": "samples", "every_ns": 50000000, "parts": 2,
    "collect": {"name": "known", "median_ns": 20000000, "sigma": 0.0, "most_ns": 20000000}}"#;

#[test]
fn a_sample_is_stored_when_its_last_part_is_and_is_never_sent_before_it_was_collected() {
    let mut notes = Notes::default();
    let roles = role("writers", "insert", 2, SAMPLES, &rows(100, 5), r#"{"kind": "work"}"#);
    let behaviour = Behaviour { service_ns: 5 * MS, ..Default::default() };
    run(&roles, 60 * S, behaviour, &mut notes);
    let samples = &notes.recorded.samples;
    assert_eq!(samples.iter().map(|s| s.sample).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    for (k, sample) in samples.iter().enumerate() {
        assert_eq!(sample.due_ns, samples[0].due_ns + k as u64 * 50 * MS);
        assert_eq!(sample.collected_ns, sample.due_ns + 20 * MS);
        assert!(sample.sent_ns >= sample.collected_ns && sample.done_ns >= sample.sent_ns + 5 * MS);
        assert_eq!((sample.rows, sample.missing, sample.seen_ns), (10, 0, 0));
        // On time its parts had gone out when they were collected, and no end is later than as it was.
        assert!(sample.collected_ns <= sample.sent_on_time_ns && sample.sent_on_time_ns <= sample.sent_ns);
        assert!(sample.sent_on_time_ns + 5 * MS <= sample.done_on_time_ns);
        assert!(sample.done_on_time_ns <= sample.done_ns);
    }
    // Collecting is in the latency; it is not the instrument's lateness.
    assert!(notes.hist("writers", Kind::Latency).min() >= 25 * MS);
    assert!(notes.hist("writers", Kind::Lag).quantile(0.5).unwrap() < 20 * MS);
}

#[test]
fn what_is_due_at_the_start_is_made_before_it() {
    let every = r#"{"kind": "samples", "every_ns": 500000000, "parts": 2}"#;
    let mut notes = Notes::default();
    let roles = role("writers", "insert", 2, every, &rows(300_000, 50_000), r#"{"kind": "work"}"#);
    let behaviour = Behaviour { encode_ns: 20 * MS, ..Default::default() };
    let (_, behaviour) = run(&roles, 60 * S, behaviour, &mut notes);
    let samples = &notes.recorded.samples;
    let mut encoded = behaviour.encoded.lock().unwrap().clone();
    encoded.sort_unstable();
    assert_eq!((samples.len(), encoded.len()), (3, 6));
    for (sample, parts) in samples.iter().zip(encoded.chunks(2)) {
        assert!(parts[1] <= sample.due_ns, "made {} ns, due {} ns", parts[1], sample.due_ns);
    }
}

#[test]
fn a_sample_with_a_part_that_failed_is_not_stored() {
    let mut notes = Notes::default();
    let roles = role("writers", "insert", 2, SAMPLES, &rows(20, 5), r#"{"kind": "work"}"#);
    run(&roles, 60 * S, Behaviour { fails: true, ..Default::default() }, &mut notes);
    let outcomes: Vec<_> = notes.recorded.samples.iter().map(|s| (s.done_ns, s.rows, s.missing)).collect();
    assert_eq!(outcomes, [(0, 0, 2), (0, 0, 2)]);
}

#[test]
fn freshness_counts_from_a_rows_due_until_the_first_answer_that_holds_it() {
    for (schedule, shows_again) in [(SAMPLES, false), (CLOSED, false), (CLOSED, true)] {
        let mut notes = Notes::default();
        let writers = role("writers", "insert", 1, schedule, &rows(100, 5), r#"{"kind": "work"}"#);
        let follows = r#"{"kind": "role", "name": "writers"}"#;
        let readers =
            role("readers", "fresh", 1, r#"{"kind": "closed", "think_ns": 1000000}"#, ENDLESS, follows);
        let after = 120 * MS;
        let visible_after_ns = Some(after);
        let behaviour = Behaviour { service_ns: MS, visible_after_ns, shows_again, ..Default::default() };
        run(&format!("{writers}, {readers}"), 60 * S, behaviour, &mut notes);
        // The last rows become visible after their writers have ended: the reader waits for them.
        let fresh = notes.hist("readers", Kind::Freshness);
        assert_eq!(fresh.n(), 10, "every sweep is seen once");
        let collected = if schedule == CLOSED { 0 } else { 20 * MS };
        assert!(fresh.min() >= after + collected, "{} is before it could be seen", fresh.min());
        // Series 3 is in the first half of every sweep.
        let seen: Vec<_> = notes.recorded.samples.iter().filter(|s| s.seen_ns > 0).collect();
        assert_eq!(seen.len(), 10);
        assert!(seen.iter().all(|s| s.seen_ns >= s.due_ns + after), "{seen:?}");
    }
}

#[test]
fn a_row_that_never_shows_ends_the_reader_all_the_same() {
    let mut notes = Notes::default();
    let writers = role("writers", "insert", 1, CLOSED, &rows(10, 5), r#"{"kind": "work"}"#);
    let follows = r#"{"kind": "role", "name": "writers"}"#;
    let readers = role("readers", "fresh", 1, CLOSED, ENDLESS, follows);
    let behaviour = Behaviour { service_ns: MS, visible_after_ns: Some(3600 * S), ..Default::default() };
    let (driven, _) = run(&format!("{writers}, {readers}"), 2 * S, behaviour, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Limit);
    assert_eq!(notes.hist("readers", Kind::Freshness).n(), 0);
    assert!(notes.recorded.samples.iter().all(|s| s.missing == 0 && s.seen_ns == 0));
}

#[test]
fn a_page_is_as_slow_as_its_slowest_member_and_counted_once() {
    let mut notes = Notes::default();
    let readers =
        role("readers", "page", 3, CLOSED, r#"{"kind": "calls", "count": 30}"#, r#"{"kind": "work"}"#);
    run(&readers, 60 * S, Behaviour { service_ns: 5 * MS, ..Default::default() }, &mut notes);
    assert_eq!(notes.totals("readers").ops, 30);
    assert_eq!(notes.totals("readers/ask").ops, 30);
    assert_eq!(notes.totals("readers/other").ops, 30);
    let page = notes.hist("readers", Kind::Latency);
    assert!(
        page.min() >= 5 * MS && page.quantile(0.5).unwrap() < 10 * MS,
        "members run at once, not in turn"
    );
}

#[test]
fn repetitions_start_afresh_and_are_told_apart() {
    let mut notes = Notes { repetitions: 3, ..Notes::default() };
    let writers = role("writers", "insert", 2, CLOSED, &rows(100, 10), r#"{"kind": "work"}"#);
    let pages = role("readers", "page", 1, CLOSED, ENDLESS, r#"{"kind": "role", "name": "writers"}"#);
    let behaviour = Behaviour { service_ns: MS, ..Default::default() };
    run(&format!("{writers}, {pages}"), 60 * S, behaviour, &mut notes);
    let of: Vec<(u32, u64)> = notes
        .recorded
        .repetitions
        .iter()
        .filter(|s| s.role == "writers")
        .map(|s| (s.repetition, s.rows))
        .collect();
    assert_eq!(of, [(0, 100), (1, 100), (2, 100)]);
    assert_eq!(notes.makespans.len(), 3);
    assert!(notes.makespans.iter().all(|&ns| ns >= 5 * MS));
}

#[test]
fn a_limit_cuts_a_segment_and_says_so() {
    let mut notes = Notes::default();
    let writers = role("writers", "insert", 1, CLOSED, &rows(1_000_000, 1), r#"{"kind": "work"}"#);
    let (driven, _) =
        run(&writers, 300 * MS, Behaviour { service_ns: 5 * MS, ..Default::default() }, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Limit);
    assert!(notes.totals("writers").rows < 1000);
}

#[test]
fn a_call_past_its_deadline_is_cancelled_and_counted_as_timeout() {
    let mut notes = Notes::default();
    let readers =
        role("readers", "limited", 1, CLOSED, r#"{"kind": "calls", "count": 1}"#, r#"{"kind": "work"}"#);
    run(&readers, 60 * S, Behaviour { hangs: true, ..Default::default() }, &mut notes);
    assert_eq!(notes.recorded.failures[0].outcome, "timeout");
    assert_eq!(notes.hist("readers", Kind::Service).n(), 0);
}

#[test]
fn endless_failure_ends_the_session_instead_of_spinning() {
    let mut notes = Notes::default();
    let readers = role("readers", "ask", 1, CLOSED, ENDLESS, &for_time(30 * S));
    let (driven, _) = run(&readers, 60 * S, Behaviour { fails: true, ..Default::default() }, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Error);
    assert!(driven.fatal.unwrap().contains("told to fail"));
    assert_eq!(notes.totals("readers").errors, notes.totals("readers").ops);
}

#[test]
fn more_arrivals_than_the_server_can_serve_are_unsent_not_forgotten() {
    let mut notes = Notes::default();
    let readers = role("readers", "ask", 1, THOUSAND_PER_S, ENDLESS, &for_time(S));
    run(&readers, 60 * S, Behaviour { service_ns: 10 * MS, ..Default::default() }, &mut notes);
    let totals = notes.totals("readers");
    assert_eq!(totals.ops + totals.unsent, 1000);
    assert!(totals.unsent > 800, "{totals:?}");
}

#[test]
fn now_is_the_epoch_plus_due() {
    let mut notes = Notes::default();
    let readers =
        role("readers", "ask", 1, THOUSAND_PER_S, r#"{"kind": "calls", "count": 3}"#, r#"{"kind": "work"}"#);
    let (_, behaviour) = run(&readers, 60 * S, Behaviour::default(), &mut notes);
    let seen = behaviour.params.lock().unwrap().clone();
    let epoch_ms = 1_000_000_000_000;
    assert_eq!(seen, [Value::TimeMs(epoch_ms), Value::TimeMs(epoch_ms + 1), Value::TimeMs(epoch_ms + 2)]);
}

fn deep(depth: u32) -> String {
    let calls = r#"{"kind": "calls", "count": 50}"#;
    role("readers", "ask", 1, CLOSED, calls, r#"{"kind": "work"}"#)
        .replace(r#""depth": 1"#, &format!(r#""depth": {depth}"#))
}

#[test]
fn a_role_deeper_than_its_engine_is_refused_with_engine_depth_and_remedy() {
    let (driven, _) = try_run(&deep(4), 60 * S, Behaviour::default(), &mut Notes::default());
    let why = driven.unwrap_err().to_string();
    for part in ["role readers", "depth 4", "test", "lower `depth`"] {
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn an_engine_that_takes_no_call_ends_the_run_and_every_call_is_counted() {
    let mut notes = Notes::default();
    let behaviour = Behaviour { claims_depth: 4, ..Default::default() };
    let (driven, _) = run(&deep(4), 60 * S, behaviour, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Error);
    let why = driven.fatal.unwrap();
    assert!(why.contains("took no call beside 1 in flight") && why.contains("role readers"), "{why}");
    let totals = notes.totals("readers");
    assert_eq!((totals.ops, totals.errors), (2, 2), "{totals:?}");
}

#[test]
fn what_a_role_only_reads_is_still_there_in_the_second_repetition() {
    let mut notes = Notes { repetitions: 3, ..Notes::default() };
    let writers = role("writers", "insert", 1, CLOSED, &rows(20, 10), r#"{"kind": "work"}"#);
    let other = TABLE.replace(r#""name": "t", "stream": "t""#, r#""name": "u", "stream": "u""#);
    let counts = [TableCount::default(), TableCount::default()];
    counts[1].issue(77);
    counts[1].acknowledge(77);
    let context = plan_of(&format!("{TABLE}, {other}"), &writers, 60 * S, 3);
    let inrush_core::plan::Segment::Drive(segment) = context.plan.segments[0].clone() else {
        panic!("a drive")
    };
    let engine = Known { clock: context.clock, behaviour: Arc::new(Behaviour::default()) };
    let drive_target = DriveTarget { context: &context, engine: &engine, segment: 0, counts: &counts };
    drive(&drive_target, &segment, &mut notes).unwrap();
    assert_eq!(notes.makespans.len(), 3);
    assert_eq!((counts[0].acknowledged(), counts[1].acknowledged(), counts[1].settled()), (20, 77, 77));
}
