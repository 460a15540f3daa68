//! SQLite through the traits, and the liar in front of it. DuckDB needs a Python process: see python/tests/engines.

mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;

use inrush_engines::engine::statement::perform;
use inrush_engines::engine::{build, Answer, Context, Done, Engine, Outcome, Payload, Session, Work};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::{
    Assertion, ColumnPlan, LogicalType, OpKind, OpPlan, RecordPlan, Repeat, RowSource, RunPlan, Statement,
    TablePlan, Target, WatchPlan, PLAN_VERSION,
};
use inrush_rows::rows::{Columns, Value};
use proptest::prelude::*;
use values::{columns, extreme_row, row};

const TYPES: [(LogicalType, &str); 21] = [
    (LogicalType::Bool, "BOOLEAN INTEGER"),
    (LogicalType::I16, "SMALLINT"),
    (LogicalType::I32, "INTEGER"),
    (LogicalType::I64, "BIGINT"),
    (LogicalType::U64, "UNSIGNED BIGINT"),
    (LogicalType::F32, "REAL"),
    (LogicalType::F64, "REAL"),
    (LogicalType::TimeMs, "INTEGER MILLISECONDS"),
    (LogicalType::TimeUs, "INTEGER MICROSECONDS"),
    (LogicalType::Text, "TEXT"),
    (LogicalType::ListF64, "BLOB F64"),
    (LogicalType::ListI64, "BLOB I64"),
    (LogicalType::ListBool, "BLOB BOOL"),
    (LogicalType::ListI16, "BLOB I16"),
    (LogicalType::ListI32, "BLOB I32"),
    (LogicalType::ListU8, "BLOB U8"),
    (LogicalType::ListU16, "BLOB U16"),
    (LogicalType::ListU32, "BLOB U32"),
    (LogicalType::ListU64, "BLOB U64"),
    (LogicalType::ListF32, "BLOB F32"),
    (LogicalType::ListText, "TEXT LIST"),
];
const SECOND_NS: u64 = 1_000_000_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_type_is_read_back_as_it_was_stored(
        rows in prop::collection::vec(row(), 0..40), batch in 1usize..25, multirow in any::<bool>()
    ) {
        let place = tempfile::tempdir().unwrap();
        let method = if multirow { "multirow" } else { "bulk" };
        let engine = engine(place.path(), &TYPES, method, &[]).unwrap();
        let mut session = engine.open(&[0]).unwrap();
        for part in rows.chunks(batch) {
            let done = insert(&mut *session, &columns(&TYPES, part));
            prop_assert_eq!((done.outcome, done.rows), (Outcome::Ok, part.len() as u64));
        }
        prop_assert_eq!(read_back(&mut *session, &TYPES), rows);
    }
}

#[test]
fn a_batch_longer_than_one_statement_is_stored_whole_by_both_methods() {
    for method in ["bulk", "multirow"] {
        let place = tempfile::tempdir().unwrap();
        let types = [(LogicalType::I64, "BIGINT"); 6];
        let engine = engine(place.path(), &types, method, &[]).unwrap();
        let mut session = engine.open(&[0]).unwrap();
        let rows: Vec<Vec<Value>> = (0..13_001).map(|k| vec![Value::I64(k); 6]).collect();
        let done = insert(&mut *session, &columns(&types, &rows));
        assert_eq!((done.outcome, done.rows, done.bytes), (Outcome::Ok, 13_001, 13_001 * 48));
        assert_eq!(read_back(&mut *session, &types), rows);
    }
}

#[test]
fn a_batch_that_breaks_a_promise_of_the_table_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let types = [(LogicalType::I64, "BIGINT NOT NULL PRIMARY KEY")];
    let engine = engine(place.path(), &types, "bulk", &[]).unwrap();
    let mut session = engine.open(&[0]).unwrap();
    let mut rows: Vec<Vec<Value>> = (0..100).map(|k| vec![Value::I64(k)]).collect();
    rows.push(vec![Value::I64(0)]);
    let done = insert(&mut *session, &columns(&types, &rows));
    assert_eq!((done.outcome, done.rows), (Outcome::Refused, 0));
    assert!(session.failure(42).unwrap().contains("UNIQUE constraint failed"));
    assert_eq!(count(&*engine), 0);
    rows.pop();
    assert_eq!(insert(&mut *session, &columns(&types, &rows)).outcome, Outcome::Ok);
    assert_eq!(count(&*engine), 100);
}

#[test]
fn a_writer_that_waits_too_long_for_the_other_times_out_and_stores_nothing() {
    let place = tempfile::tempdir().unwrap();
    let types = [(LogicalType::I64, "BIGINT")];
    let options = [("busy_timeout_ms", "20")];
    let engine = engine(place.path(), &types, "bulk", &options).unwrap();
    let other = rusqlite::Connection::open(place.path().join("x.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)").unwrap();
    let mut session = engine.open(&[0]).unwrap();
    let rows = columns(&types, &[vec![Value::I64(2)]]);
    assert_eq!(insert(&mut *session, &rows).outcome, Outcome::Timeout);
    assert!(session.failure(42).unwrap().contains("locked"));
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(insert(&mut *session, &rows).outcome, Outcome::Ok);
    assert_eq!(count(&*engine), 2);
}

#[test]
fn sixteen_writers_of_one_file_store_every_row_once() {
    let place = tempfile::tempdir().unwrap();
    let types = [(LogicalType::I64, "BIGINT NOT NULL PRIMARY KEY")];
    let engine = engine(place.path(), &types, "bulk", &[]).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let engine = &engine;
            scope.spawn(move || {
                let mut session = engine.open(&[0]).unwrap();
                for batch in 0..5 {
                    let rows: Vec<_> =
                        (0..20).map(|k| vec![Value::I64(writer * 100 + batch * 20 + k)]).collect();
                    assert_eq!(insert(&mut *session, &columns(&types, &rows)).outcome, Outcome::Ok);
                }
                session.close().unwrap();
            });
        }
    });
    assert_eq!(count(&*engine), 1600);
}

#[test]
fn a_query_counts_its_rows_and_keeps_them_only_when_asked() {
    let place = tempfile::tempdir().unwrap();
    let engine = engine(place.path(), &TYPES, "bulk", &[]).unwrap();
    let mut session = engine.open(&[0, 1]).unwrap();
    insert(&mut *session, &columns(&TYPES, &[extreme_row(), vec![Value::Null; TYPES.len()]]));
    let params = [Value::U64(u64::MAX)];
    let done = call(&mut *session, 1, Work::Params(&params));
    assert_eq!((done.outcome, done.rows, done.bytes), (Outcome::Ok, 1, 16));
    assert_eq!(session.answer(42), None);
    session.keep_answers();
    call(&mut *session, 1, Work::Params(&params));
    let expected = Answer {
        names: ["c4".into(), "c7".into()].into(),
        rows: vec![vec![Value::U64(u64::MAX), Value::TimeMs(i64::MIN)]],
    };
    assert_eq!(session.answer(42), Some(&expected));
}

#[test]
fn an_answer_that_must_hold_is_kept_without_asking() {
    let place = tempfile::tempdir().unwrap();
    let engine = engine(place.path(), &TYPES, "bulk", &[]).unwrap();
    let mut session = engine.open(&[2]).unwrap();
    call(&mut *session, 2, Work::Params(&[]));
    assert_eq!(session.answer(42).unwrap().rows, [[Value::I64(0)]]);
}

#[test]
fn a_query_is_cancelled_from_another_thread() {
    let place = tempfile::tempdir().unwrap();
    let engine = engine(place.path(), &TYPES, "bulk", &[]).unwrap();
    let mut session = engine.open(&[3]).unwrap();
    let cancel = session.canceller().unwrap();
    let done = std::thread::scope(|scope| {
        let (ended, wait) = std::sync::mpsc::channel::<()>();
        // Again and again: an interrupt that comes before the statement runs is forgotten.
        scope.spawn(move || {
            while wait.recv_timeout(Duration::from_millis(5))
                == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                cancel();
            }
        });
        let done = call(&mut *session, 3, Work::Params(&[]));
        drop(ended);
        done
    });
    assert_eq!(done.outcome, Outcome::Timeout);
    assert_eq!(session.failure(42).unwrap(), "interrupted");
}

#[test]
fn control_gives_the_last_answer_of_its_statements_and_ends_at_its_limit() {
    let place = tempfile::tempdir().unwrap();
    let engine = engine(place.path(), &TYPES, "bulk", &[]).unwrap();
    let answer =
        engine.control("CREATE TABLE a (x); INSERT INTO a VALUES (7); SELECT x FROM a; -- end", SECOND_NS);
    assert_eq!(answer.unwrap().rows, [[Value::I64(7)]]);
    let error = engine.control(ENDLESS, 20_000_000).unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error}");
    let error = engine.control("SELECT 1\0", SECOND_NS).unwrap_err();
    assert!(error.to_string().contains("a NUL character"), "{error}");
    let error = engine.control("SELECT * FROM missing", SECOND_NS).unwrap_err();
    assert!(
        matches!(&error, Error::Statement { message, .. } if message == "no such table: missing"),
        "{error}"
    );
}

#[test]
fn a_query_for_statements_runs_each_of_them() {
    let place = tempfile::tempdir().unwrap();
    let engine = engine(place.path(), &TYPES, "bulk", &[]).unwrap();
    engine.control("CREATE TABLE a (x); CREATE TABLE b (x)", SECOND_NS).unwrap();
    let text = "SELECT 'DROP TABLE ' || name FROM sqlite_schema WHERE name IN ('a', 'b')".to_owned();
    let drop = Statement { text, repeat: Some(Repeat::EachRow), directives: None };
    assert!(perform(engine.as_ref(), &drop, SECOND_NS, &AtomicBool::new(false)).unwrap());
    let left = engine.control("SELECT name FROM sqlite_schema", SECOND_NS).unwrap();
    assert_eq!(left.rows, [[Value::Text("t".into())]]);
}

#[test]
fn settings_are_those_of_the_target_and_the_strict_ones_without() {
    let place = tempfile::tempdir().unwrap();
    let asked = |options: &[(&str, &str)], pragma: &str| {
        let engine = engine(place.path(), &TYPES, "bulk", options).unwrap();
        engine.control("DROP TABLE t", SECOND_NS).unwrap();
        engine.control(&format!("PRAGMA {pragma}"), SECOND_NS).unwrap().rows[0][0].clone()
    };
    assert_eq!(asked(&[], "journal_mode"), Value::Text("wal".into()));
    assert_eq!(asked(&[], "synchronous"), Value::I64(2));
    assert_eq!(asked(&[("synchronous", "NORMAL")], "synchronous"), Value::I64(1));
    assert_eq!(asked(&[("pragma.cache_size", "-1234")], "cache_size"), Value::I64(-1234));
    assert_eq!(asked(&[("journal", "DELETE")], "journal_mode"), Value::Text("delete".into()));
}

#[test]
fn a_target_that_cannot_be_is_refused_with_its_reason() {
    let refused = |url: &str, options: &[(&str, &str)]| {
        let ctx = context(url.into(), &TYPES, "bulk", options, &[]);
        build(&ctx).map(|_| ()).unwrap_err().to_string()
    };
    assert!(refused("sqlite:///missing/folder/x.db", &[]).contains("unable to open database file"));
    assert!(refused("sqlite://", &[]).contains("sqlite needs a file"));
    assert!(refused("sqlite:///tmp/x.db", &[("busy_timeout_ms", "soon")]).contains("number of milliseconds"));
}

#[test]
fn a_liar_claims_the_rows_that_it_does_not_store() {
    for (fault, stored) in
        [("drop:10", 90), ("double:10", 110), ("lose:1", 0), ("swap:10", 100), ("cut_ms", 100)]
    {
        let place = tempfile::tempdir().unwrap();
        let types = [(LogicalType::I64, "BIGINT")];
        let ctx = context(url(place.path()), &types, "bulk", &[], &[fault]);
        let engine = create(&ctx, &types).unwrap();
        let mut session = engine.open(&[0]).unwrap();
        let rows: Vec<_> = (0..100).map(|k| vec![Value::I64(k)]).collect();
        let done = insert(&mut *session, &columns(&types, &rows));
        assert_eq!((done.outcome, done.rows), (Outcome::Ok, 100), "{fault}");
        assert_eq!(count(&*engine), stored, "{fault}");
    }
}

#[test]
fn a_liar_answers_with_another_row() {
    let place = tempfile::tempdir().unwrap();
    let ctx = context(url(place.path()), &TYPES, "bulk", &[], &["lie"]);
    let engine = create(&ctx, &TYPES).unwrap();
    let mut session = engine.open(&[2]).unwrap();
    call(&mut *session, 2, Work::Params(&[]));
    assert_eq!(session.answer(42).unwrap().rows, [[Value::I64(1)]]);
}

// --- a plan with one table, `t`, of columns c0, c1, … ----------------------------------------------------

const ENDLESS: &str =
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";

fn url(place: &Path) -> String {
    format!("sqlite://{}/x.db", place.display())
}

fn engine(
    place: &Path,
    types: &[(LogicalType, &str)],
    method: &str,
    options: &[(&str, &str)],
) -> Result<Arc<dyn Engine>, Error> {
    create(&context(url(place), types, method, options, &[]), types)
}

fn create(ctx: &Context, types: &[(LogicalType, &str)]) -> Result<Arc<dyn Engine>, Error> {
    let engine = build(ctx)?;
    let columns: Vec<String> = types.iter().enumerate().map(|(k, (_, ty))| format!("c{k} {ty}")).collect();
    engine.control(&format!("CREATE TABLE t ({})", columns.join(", ")), SECOND_NS)?;
    Ok(engine)
}

/// Operations: 0 insert, 1 a query with a parameter, 2 a query whose answer must hold, 3 one without end.
fn context(
    url: String,
    types: &[(LogicalType, &str)],
    method: &str,
    options: &[(&str, &str)],
    faults: &[&str],
) -> Context {
    let marks = vec!["?"; types.len()].join(", ");
    let mut insert = op(OpKind::Insert, format!("INSERT INTO t VALUES ({marks})"));
    insert.method = method.into();
    let by_guid = op(OpKind::Query, "SELECT c4, c7 FROM t WHERE c4 = ?".into());
    let mut holding = op(OpKind::Query, "SELECT count(*) FROM t".into());
    holding.holds = vec![Assertion::CountBounds { table: 0 }];
    let column = |(k, (ty, wire)): (usize, &(LogicalType, &str))| ColumnPlan {
        name: format!("c{k}"),
        ty: *ty,
        wire: wire.to_string(),
        null_ppm: 0,
        not_finite: None,
        gen: None,
    };
    let table = TablePlan {
        name: "t".into(),
        stream: "t".into(),
        columns: types.iter().enumerate().map(column).collect(),
        source: RowSource::Generated { series: 1, period_ns: 1, events: None },
        identity: vec![],
    };
    let plan = RunPlan {
        version: PLAN_VERSION,
        run_id: "r".into(),
        study: "s".into(),
        seed: 0,
        epoch_ns: 0,
        target: Target {
            engine: "sqlite".into(),
            url,
            options: options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            faults: faults.iter().map(|f| f.to_string()).collect(),
            shards: None,
        },
        tables: vec![table],
        operations: vec![insert, by_guid, holding, op(OpKind::Query, ENDLESS.into())],
        segments: vec![],
        record: RecordPlan { interval_ns: SECOND_NS, flush_ns: SECOND_NS },
        watch: WatchPlan {
            every_ns: 0,
            processes: BTreeMap::new(),
            data_dir: String::new(),
            folders: BTreeMap::new(),
            threads: BTreeMap::new(),
            machine: false,
        },
        share: None,
        labels: BTreeMap::new(),
    };
    Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) }
}

fn op(kind: OpKind, text: String) -> OpPlan {
    OpPlan {
        name: "op".into(),
        kind,
        table: Some(0),
        does: None,
        text,
        directives: None,
        method: String::new(),
        params: vec![],
        range: None,
        dump: None,
        keys: Vec::new(),
        members: vec![],
        holds: vec![],
        deadline_ns: 0,
    }
}

fn insert(session: &mut dyn Session, columns: &Columns) -> Done {
    let mut payload = Payload::default();
    session.encode(0, columns, &mut payload).unwrap();
    assert_eq!(payload.rows, columns.rows as u64);
    call(session, 0, Work::Rows { columns, payload: &payload })
}

fn call(session: &mut dyn Session, op: usize, work: Work<'_>) -> Done {
    session.submit(42, op, work);
    session.flush();
    let mut done = Vec::new();
    session.poll(0, &mut done);
    assert_eq!((done.len(), done[0].ticket), (1, 42));
    done[0]
}

fn count(engine: &dyn Engine) -> i64 {
    match engine.control("SELECT count(*) FROM t", SECOND_NS).unwrap().rows[0][0] {
        Value::I64(rows) => rows,
        ref other => panic!("a count is no {other:?}"),
    }
}

fn read_back(session: &mut dyn Session, types: &[(LogicalType, &str)]) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let total = session
        .scan(&"SELECT * FROM t ORDER BY rowid".into(), &columns(types, &[]), &mut |part| {
            rows.extend(
                (0..part.rows).map(|row| part.columns.iter().map(|c| c.value(row)).collect::<Vec<_>>()),
            );
        })
        .unwrap();
    assert_eq!(total, rows.len() as u64);
    rows
}
