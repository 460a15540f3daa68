//! Roles with several calls in flight, on servers whose service times are known.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use inrush_drive::drive::source::TableCount;
use inrush_drive::drive::{drive, DriveTarget, EndedBy, Observer, Progress};
use inrush_drive::record::{Hist, Kind, Recorded, RepetitionRow};
use inrush_engines::engine::{build, Context, Ns};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::{RunPlan, Segment};
use serde_json::{json, Value as Json};

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

#[derive(Default)]
struct Seen {
    recorded: Recorded,
    repetitions: u32,
}

impl Observer for Seen {
    fn recorded(&mut self, recorded: Recorded) -> Result<(), Error> {
        self.recorded.repetitions.extend(recorded.repetitions);
        self.recorded.hists.extend(recorded.hists);
        Ok(())
    }

    fn progress(&mut self, _: Progress) {}

    fn repeat(&mut self, repetition: u32, _: Ns) -> Result<bool, Error> {
        Ok(repetition + 1 < self.repetitions)
    }

    fn stuck(&mut self, role: &str) {
        panic!("{role} is stuck");
    }
}

impl Seen {
    fn median(&self, kind: Kind) -> Ns {
        let mut whole = Hist::new();
        let of_readers = self.recorded.hists.iter().filter(|h| h.role == "readers" && h.kind == kind);
        of_readers.for_each(|row| whole.merge(&Hist::from_sparse(&row.hist)));
        whole.quantile(0.5).expect("calls ended")
    }

    fn repetitions(&self, role: &str) -> Vec<&RepetitionRow> {
        self.recorded.repetitions.iter().filter(|s| s.role == role).collect()
    }
}

fn role(name: &str, operation: &str, depth: u32, schedule: Json, work: Json, until: Json) -> Json {
    json!({"name": name, "operations": [{"operation": operation, "weight": 1}], "sessions": 1, "depth": depth,
           "schedule": schedule, "work": work, "until": until})
}

/// On enough servers that each call takes `service_ns` exactly.
fn run(service_ns: Ns, roles: &[Json], repetitions: u32) -> Seen {
    run_on(64, service_ns, roles, repetitions)
}

fn run_on(servers: u32, service_ns: Ns, roles: &[Json], repetitions: u32) -> Seen {
    let repeat = match repetitions {
        0 | 1 => Json::Null,
        n => json!({"at_least_ns": 0, "max": n, "fresh": [], "proofs": []}),
    };
    let plan = json!({
        "version": 1, "run_id": "r", "study": "s", "seed": 7, "epoch_ns": 0,
        "target": {"engine": "simulated", "url": "", "options": {
            "servers": servers.to_string(), "service_ns": service_ns.to_string(), "distribution": "fixed"}},
        "tables": [{"name": "t", "stream": "t", "source": {"kind": "generated", "series": 1, "period_ns": 1},
                    "columns": [{"name": "k", "type": "i64", "wire": "i64",
                                 "gen": {"kind": "sequence", "start": 0, "step": 1}}]}],
        "operations": [{"name": "ask", "kind": "query"}, {"name": "insert", "kind": "insert", "table": 0}],
        "segments": [{"kind": "drive", "label": "d", "phase": "measure", "limit_ns": 60 * S, "repeat": repeat,
                      "roles": roles}],
        "record": {"interval_ns": S, "flush_ns": S},
        "watch": {"every_ns": 0, "processes": {}},
    });
    let plan = RunPlan::from_json(&plan.to_string()).expect("a plan");
    let Segment::Drive(segment) = plan.segments[0].clone() else { panic!("a drive") };
    let context =
        Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) };
    let engine = build(&context).expect("it is built in");
    let counts = [TableCount::default()];
    let drive_target = DriveTarget { context: &context, engine: &*engine, segment: 0, counts: &counts };
    let mut seen = Seen { repetitions, ..Seen::default() };
    let driven = drive(&drive_target, &segment, &mut seen).expect("it runs");
    assert!(matches!(driven.ended_by, EndedBy::Work | EndedBy::Time), "{driven:?}");
    seen
}

fn every(ms: f64) -> Json {
    json!({"kind": "constant", "rate_per_s": 1000.0 / ms})
}

#[test]
fn a_paced_call_at_depth_8_does_not_wait_for_another_to_end() {
    let time = json!({"kind": "time", "ns": 2 * S});
    let seen = run(70 * MS, &[role("readers", "ask", 8, every(10.0), json!({"kind": "endless"}), time)], 1);
    let totals = seen.repetitions("readers")[0];
    assert_eq!((totals.ops + totals.unsent, totals.ok), (200, totals.ops), "{totals:?}");
    // Seven calls are in flight at once; one that waited for the next of them to end would be 5 ms late in the mean.
    let (wait, lag) = (seen.median(Kind::Wait), seen.median(Kind::Lag));
    assert!(wait < 3 * MS && lag < 3 * MS, "sent {wait} ns after due, lag {lag} ns");
    assert!(seen.median(Kind::Service) >= 70 * MS);
}

#[test]
fn a_paced_call_that_waits_for_a_slot_waits_for_the_server_and_not_for_the_client() {
    let time = json!({"kind": "time", "ns": 2 * S});
    let seen = run(70 * MS, &[role("readers", "ask", 2, every(10.0), json!({"kind": "endless"}), time)], 1);
    let (wait, lag) = (seen.median(Kind::Wait), seen.median(Kind::Lag));
    assert!(wait > 100 * MS, "two slots serve 29 of 100 calls a second: {wait}");
    assert!(lag < 10 * MS, "lag {lag}");
}

#[test]
fn a_call_held_back_at_the_end_of_a_repetition_is_not_the_first_of_the_next() {
    let rows = json!({"kind": "rows", "table": 0, "first_row": 0, "rows": 20, "batch_rows": 1});
    let writers =
        role("writers", "insert", 1, json!({"kind": "closed", "think_ns": 0}), rows, json!({"kind": "work"}));
    let until = json!({"kind": "role", "name": "writers"});
    let readers = role("readers", "ask", 8, every(7.0), json!({"kind": "endless"}), until);
    let seen = run(20 * MS, &[writers, readers], 3);
    let repetitions = seen.repetitions("readers");
    assert_eq!(repetitions.len(), 3);
    assert!(
        repetitions.iter().all(|totals| totals.ops > 30),
        "400 ms of writing, about 57 calls: {repetitions:?}"
    );
    // One left over, due when its repetition ended, would make the calls before it wait until then: 200 ms in the mean.
    let wait = seen.median(Kind::Wait);
    assert!(wait < 60 * MS, "sent {wait} ns after due");
}

#[test]
fn a_thinking_user_at_depth_4_does_not_keep_the_answers_of_the_others_waiting() {
    let think = json!({"kind": "closed", "think_ns": 50 * MS});
    let calls = json!({"kind": "calls", "count": 40});
    let seen = run(20 * MS, &[role("readers", "ask", 4, think, calls, json!({"kind": "work"}))], 1);
    let service = seen.median(Kind::Service);
    assert!((20 * MS..35 * MS).contains(&service), "{service}");
    let totals = seen.repetitions("readers")[0];
    assert!(totals.end_ns - totals.start_ns < 1500 * MS, "ten rounds of 70 ms: {totals:?}");
}

/// Forty calls of one session of depth 4.
fn refilled(servers: u32, refill: Option<&str>, delay_ns: Ns) -> Seen {
    let closed = json!({"kind": "closed", "think_ns": 0, "refill": refill, "delay_ns": delay_ns});
    let calls = json!({"kind": "calls", "count": 40});
    run_on(servers, 20 * MS, &[role("readers", "ask", 4, closed, calls, json!({"kind": "work"}))], 1)
}

#[test]
fn a_session_sends_again_when_one_call_or_half_or_all_have_ended() {
    // One server, 20 ms a call: a call takes as many times 20 ms as were in flight when it was sent, itself included.
    let median = |refill| refilled(1, refill, 0).median(Kind::Service);
    let (each, half, round) = (median(None), median(Some("half")), median(Some("round")));
    assert!((76 * MS..100 * MS).contains(&each), "always three before it: {each}");
    assert!((56 * MS..76 * MS).contains(&half), "two or three before it: {half}");
    assert!((36 * MS..56 * MS).contains(&round), "none to three before it: {round}");
}

#[test]
fn a_delay_stands_before_every_batch_but_the_first_and_in_no_latency() {
    for refill in [None, Some("half"), Some("round")] {
        let seen = refilled(64, refill, 50 * MS);
        let totals = seen.repetitions("readers")[0];
        let took = totals.end_ns - totals.start_ns;
        assert!(
            (650 * MS..790 * MS).contains(&took),
            "{refill:?}: ten batches of 20 ms, nine delays: {took}"
        );
        assert!((20 * MS..35 * MS).contains(&seen.median(Kind::Service)), "{refill:?}");
    }
}

#[test]
fn a_session_that_thinks_does_not_send_its_calls_together() {
    let of = |more: Json| {
        let mut closed = json!({"kind": "closed", "think_ns": 1});
        closed.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        inrush_engines::schedule::check(&serde_json::from_value(closed).unwrap())
    };
    assert!(of(json!({})).is_ok());
    for more in [json!({"refill": "half"}), json!({"delay_ns": 5})] {
        let refused = of(more).expect_err("one of the two").to_string();
        assert!(refused.contains("think_ns is 1, beside refill or delay_ns"), "{refused}");
    }
}

/// What a run on the clock took in all, from its first call to when its last session was done.
fn lasted(roles: &[Json]) -> (Seen, Ns) {
    let clock = Clock::start();
    let seen = run(20 * MS, roles, 1);
    (seen, clock.now())
}

#[test]
fn a_delay_behind_the_last_call_or_the_end_of_the_time_is_not_waited_for() {
    let closed = json!({"kind": "closed", "think_ns": 0, "refill": "round", "delay_ns": 3 * S});
    let (work, calls) = (json!({"kind": "work"}), json!({"kind": "calls", "count": 4}));
    let (seen, took) = lasted(&[role("readers", "ask", 4, closed.clone(), calls, work)]);
    assert_eq!(seen.repetitions("readers")[0].ops, 4);
    assert!(took < 2 * S, "there was no fifth call to wait for: {took}");
    let time = json!({"kind": "time", "ns": S / 2});
    let (seen, took) = lasted(&[role("readers", "ask", 4, closed, json!({"kind": "endless"}), time)]);
    assert_eq!(seen.repetitions("readers")[0].ops, 4, "the second batch would be sent after the end");
    assert!(took < 2 * S, "{took}");
}

#[test]
fn no_batch_begins_after_the_end_of_the_time() {
    // Batches of 150 ms on one server begin at 0, 150, 300 and 450 ms. The next one would have its first slot since 500 ms,
    // before the end, and the last since 600.
    let closed = json!({"kind": "closed", "think_ns": 0, "refill": "round"});
    let time = json!({"kind": "time", "ns": 560 * MS});
    let seen = run_on(1, 50 * MS, &[role("readers", "ask", 3, closed, json!({"kind": "endless"}), time)], 1);
    let totals = seen.repetitions("readers")[0];
    let took = totals.end_ns - totals.start_ns;
    assert!((600 * MS..700 * MS).contains(&took), "twelve calls of 50 ms: {took}");
}
