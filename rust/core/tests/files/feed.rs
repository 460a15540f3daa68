//! One file, shared among sessions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use inrush_rows::plan::TablePlan;
use inrush_rows::rows::files::{FileFeed, FileRows};
use inrush_rows::rows::Value;
use tempfile::TempDir;

use super::tables::{csv_table, values, IDS};

#[test]
fn sessions_take_every_batch_once_whatever_their_number() {
    let dir = TempDir::new().unwrap();
    let path = numbered(&dir, 10_000);
    let plan = csv_table(&dir, &[&path], IDS, &[]);
    for sessions in [1, 3, 8] {
        let feed = feed(&plan, 64, sessions);
        let next = AtomicU64::new(0);
        let taken: Vec<(u64, i64)> = std::thread::scope(|scope| {
            let work = || {
                let mut columns = FileRows::open(&plan).unwrap().columns();
                let mut taken = Vec::new();
                loop {
                    let ticket = next.fetch_add(1, Ordering::Relaxed);
                    let Some(batch) = feed.take(ticket, &mut columns).unwrap() else { return taken };
                    assert_eq!(batch.proof, columns.rows as u64);
                    assert_eq!(columns.columns[0].value(0), Value::I64(ticket as i64 * 64), "its own rows");
                    assert_eq!(batch.after.stored, ticket * 64 + batch.proof);
                    taken.extend(values(&columns).iter().map(|r| (ticket, id_of(&r[0]))));
                }
            };
            let handles: Vec<_> = (0..sessions).map(|_| scope.spawn(work)).collect();
            handles.into_iter().flat_map(|h| h.join().unwrap()).collect()
        });
        let mut ids: Vec<i64> = taken.iter().map(|(_, id)| *id).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..10_000), "{sessions} sessions");
        let summary = feed.summary().unwrap();
        assert_eq!((summary.batches, summary.end.stored), (157, 10_000));
    }
}

#[test]
fn a_feed_reads_no_further_ahead_than_its_ring() {
    let dir = TempDir::new().unwrap();
    let path = numbered(&dir, 1000);
    let plan = csv_table(&dir, &[&path], IDS, &[]);
    let read = Arc::new(AtomicU64::new(0));
    let seen = read.clone();
    let rows = FileRows::open(&plan).unwrap();
    let mut columns = rows.columns();
    let feed = FileFeed::start(rows, 10, 4, move |_| seen.fetch_add(1, Ordering::SeqCst)).unwrap();
    for ticket in 0..50 {
        feed.take(ticket, &mut columns).unwrap().unwrap();
        assert!(read.load(Ordering::SeqCst) <= ticket + 1 + 4, "after ticket {ticket}");
    }
    feed.stop();
    assert!(feed.take(1000, &mut columns).unwrap().is_none(), "a stopped feed ends");
}

#[test]
fn a_failure_while_reading_reaches_a_session_and_ends_the_others() {
    let dir = TempDir::new().unwrap();
    let path = numbered(&dir, 100);
    let missing = dir.path().join("missing.csv");
    let plan = csv_table(&dir, &[&path, &missing], IDS, &[]);
    let feed = feed(&plan, 10, 3);
    let mut columns = FileRows::open(&plan).unwrap().columns();
    let mut taken = 0;
    let failure = loop {
        match feed.take(taken, &mut columns) {
            Ok(Some(_)) => taken += 1,
            Ok(None) => panic!("the failure comes first"),
            Err(e) => break e.to_string(),
        }
    };
    assert!(failure.contains("missing.csv"), "{failure}");
    assert_eq!(taken, 10, "all rows before it were handed out: the batch that met it is not");
    assert!(feed.take(taken + 1, &mut columns).unwrap().is_none());
}

fn feed(plan: &TablePlan, batch_rows: usize, ring: usize) -> FileFeed<u64> {
    FileFeed::start(FileRows::open(plan).unwrap(), batch_rows, ring, |c| c.rows as u64).unwrap()
}

fn numbered(dir: &TempDir, rows: usize) -> std::path::PathBuf {
    let path = dir.path().join("numbered.csv");
    let text: String = (0..rows).map(|k| format!("{k},name {k}\n")).collect();
    std::fs::write(&path, text).unwrap();
    path
}

fn id_of(value: &Value) -> i64 {
    match value {
        Value::I64(id) => *id,
        other => panic!("{other:?} is no id"),
    }
}
