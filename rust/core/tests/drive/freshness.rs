//! Readers that look for rows which others write: what they see, how long they look, and what they count.

use inrush_drive::drive::EndedBy;
use inrush_drive::record::Kind;

use super::known::{for_time, role, rows, run, Behaviour, Notes, CLOSED, ENDLESS, MS, S, THOUSAND_PER_S};
use super::SAMPLES;

const AFTER_WRITERS: &str = r#"{"kind": "role", "name": "writers"}"#;
const WORK: &str = r#"{"kind": "work"}"#;
const TEN_PER_S: &str = r#"{"kind": "constant", "rate_per_s": 10.0}"#;
/// Thinks for 1 ms.
const SOON: &str = r#"{"kind": "closed", "think_ns": 1000000}"#;

#[test]
fn freshness_counts_from_a_rows_due_until_the_first_answer_that_holds_it() {
    for (schedule, shows_again) in [(SAMPLES, false), (CLOSED, false), (CLOSED, true)] {
        let mut notes = Notes::default();
        let writers = role("writers", "insert", 1, schedule, &rows(100, 5), WORK);
        let readers = role("readers", "fresh", 1, SOON, ENDLESS, AFTER_WRITERS);
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
    let writers = role("writers", "insert", 1, CLOSED, &rows(10, 5), WORK);
    let readers = role("readers", "fresh", 1, CLOSED, ENDLESS, AFTER_WRITERS);
    let behaviour = Behaviour { service_ns: MS, visible_after_ns: Some(3600 * S), ..Default::default() };
    let (driven, _) = run(&format!("{writers}, {readers}"), 2 * S, behaviour, &mut notes);
    assert_eq!(driven.ended_by, EndedBy::Limit);
    assert_eq!(notes.hist("readers", Kind::Freshness).n(), 0);
    assert!(notes.recorded.samples.iter().all(|s| s.missing == 0 && s.seen_ns == 0));
    let (writers, readers) = (notes.totals("writers"), notes.totals("readers"));
    assert_eq!(readers.unseen, 1, "the row of series 3");
    assert!(readers.end_ns < writers.end_ns + 100 * MS, "calls after the writers' end are in no figure");
}

/// Ten rows are due in the reader's second, and it sees them all, however seldom it looks and however late they come.
/// What it does for that after its second is in no figure but theirs.
#[test]
fn a_reader_with_a_time_of_its_own_sees_what_was_due_before_its_end_and_counts_nothing_else() {
    let paced = |rate: f64| format!(r#"{{"kind": "constant", "rate_per_s": {rate:?}}}"#);
    // The last ones leave 200 ms after the reader's end where each batch takes 120 ms to make.
    for (schedule, calls, encode_ns, after) in [
        (paced(3.0), Some(3), 0, 0),
        (paced(50.0), Some(50), 0, 250 * MS),
        (paced(50.0), Some(50), 120 * MS, 0),
        (SOON.to_owned(), None, 120 * MS, 0),
    ] {
        let mut notes = Notes::default();
        let writers = role("writers", "insert", 1, TEN_PER_S, &rows(200, 10), &for_time(1_500 * MS));
        let readers = role("readers", "fresh", 1, &schedule, ENDLESS, &for_time(S));
        let visible_after_ns = Some(after);
        let behaviour = Behaviour { service_ns: MS, encode_ns, visible_after_ns, ..Default::default() };
        run(&format!("{writers}, {readers}"), 60 * S, behaviour, &mut notes);
        let (readers, fresh) = (notes.totals("readers"), notes.hist("readers", Kind::Freshness));
        assert_eq!((fresh.n(), readers.unseen), (10, 0), "{schedule}: sweeps that were due in its second");
        assert_eq!(calls.unwrap_or(readers.ops), readers.ops, "{schedule}: {readers:?}");
        assert_eq!(
            (notes.hist("readers", Kind::Latency).n(), readers.unsent),
            (readers.ops, 0),
            "{schedule}"
        );
        assert!(readers.end_ns < readers.start_ns + 1_100 * MS, "{schedule}: {readers:?}");
    }
}

/// Whether their writers end by themselves or with another role.
#[test]
fn rows_that_were_due_and_never_sent_were_never_seen() {
    let others = role("others", "ask", 1, CLOSED, ENDLESS, &for_time(500 * MS));
    for until in [for_time(500 * MS), r#"{"kind": "role", "name": "others"}"#.to_owned()] {
        let mut notes = Notes::default();
        let writers = role("writers", "insert", 1, THOUSAND_PER_S, &rows(5_000, 10), &until);
        let readers = role("readers", "fresh", 1, CLOSED, ENDLESS, AFTER_WRITERS);
        let behaviour = Behaviour { service_ns: 20 * MS, visible_after_ns: Some(MS), ..Default::default() };
        run(&format!("{others}, {writers}, {readers}"), 60 * S, behaviour, &mut notes);
        let (writers, readers) = (notes.totals("writers"), notes.totals("readers"));
        let seen = notes.hist("readers", Kind::Freshness).n();
        assert!(writers.unsent > 300, "{until}: {writers:?}");
        assert_eq!((seen, readers.unseen), (writers.ops, writers.unsent), "{until}");
    }
}
