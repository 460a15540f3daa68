//! The wire half against real servers, named by INRUSH_MYSQL_URL or INRUSH_MARIADB_URL; pytest starts them and runs
//! these once for each (`cargo test --test all -- --ignored mysql::`).

mod logins;

use crate::servers;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::servers::{insert, keys, numbers, pipeline_answer, query, run, same, NO_LIMIT};
use inrush_engines::engine::statement::perform;
use inrush_engines::engine::{build, Context, Outcome, Payload, Session, Submit, Work};
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::plan::{LogicalType, Repeat, RunPlan, Statement};
use inrush_rows::rows::{Column, Columns, ListValues, TextValues, Value, Values};
use serde_json::{json, Value as Json};

/// Engine and URL of the server that is there, with a database of these tests' own.
fn server() -> (&'static str, String) {
    let named = [("mysql", "INRUSH_MYSQL_URL"), ("mariadb", "INRUSH_MARIADB_URL")];
    let found = named.into_iter().find_map(|(engine, name)| Some((engine, std::env::var(name).ok()?)));
    found.expect("INRUSH_MYSQL_URL or INRUSH_MARIADB_URL names a server that may be written to")
}

fn context(table: Json, operations: Json, batch_rows: u32, depth: u32) -> Context {
    let (engine, url) = server();
    let ctx = servers::context(engine, &url, table.clone(), json!([]), 1, 1);
    let create = "CREATE DATABASE IF NOT EXISTS inrush_wire_test";
    build(&ctx).expect("a server").control(create, NO_LIMIT).expect("a database");
    let url = servers::with_database(&url, "inrush_wire_test");
    servers::context(engine, &url, table, operations, batch_rows, depth)
}

fn methods() -> &'static [&'static str] {
    if server().0 == "mariadb" {
        &["bulk", "load", "multirow"]
    } else {
        &["load", "multirow"]
    }
}

fn inserts(table: &str, columns: &[&str]) -> Json {
    let names: Vec<String> = columns.iter().map(|name| format!("\"{name}\"")).collect();
    let names = names.join(", ");
    let marks = vec!["?"; columns.len()].join(", ");
    let one_row = format!("INSERT INTO {table} ({names}) VALUES ({marks})");
    let load = format!("LOAD DATA LOCAL INFILE 'batch' INTO TABLE {table} CHARACTER SET utf8mb4 ({names})");
    let of = |method: &&str| {
        insert(method, method, if *method == "load" { load.clone() } else { one_row.clone() })
    };
    methods().iter().map(of).collect()
}

const EVERY_TYPE: [(&str, &str, &str); 13] = [
    ("k", "i64", "BIGINT"),
    ("b", "bool", "BOOLEAN"),
    ("s", "i16", "SMALLINT"),
    ("i", "i32", "INT"),
    ("l", "i64", "BIGINT"),
    ("u", "u64", "BIGINT UNSIGNED"),
    ("f", "f32", "FLOAT"),
    ("d", "f64", "DOUBLE"),
    ("tm", "time_ms", "DATETIME(3)"),
    ("tu", "time_us", "DATETIME(6)"),
    ("t", "text", "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
    ("ld", "list_f64", "JSON"),
    ("ll", "list_i64", "JSON"),
];

fn every_type() -> (Json, String) {
    let columns: Vec<Json> = EVERY_TYPE
        .iter()
        .map(|(name, ty, wire)| json!({"name": name, "type": ty, "wire": wire, "null_ppm": 100_000}))
        .collect();
    let table = json!({"name": "every_type", "stream": "every_type", "columns": columns,
                       "source": {"kind": "generated", "series": 1, "period_ns": 1}});
    let ddl: Vec<String> = EVERY_TYPE.iter().map(|(name, _, wire)| format!("\"{name}\" {wire}")).collect();
    let create = format!("DROP TABLE IF EXISTS every_type; CREATE TABLE every_type ({})", ddl.join(", "));
    (table, create)
}

/// Rows `first..first + rows` with extremes, odd texts and NULLs in every column.
fn batch(plan: &RunPlan, first: usize, rows: usize) -> Columns {
    let mut columns = vec![];
    for (index, plan) in plan.tables[0].columns.iter().enumerate() {
        let mut column = Column::new(plan.name.clone(), plan.ty);
        let all = first..first + rows;
        if plan.name == "k" {
            column.values = Values::I64(all.map(|row| row as i64).collect());
            columns.push(column);
            continue;
        }
        let is = |row: usize| !(row + index).is_multiple_of(10);
        column.present = all.clone().map(|row| u8::from(is(row))).collect();
        let pick = |row: usize, n: usize| (row * 7 + index) % n;
        match &mut column.values {
            Values::I32(v) => {
                let (low, high) = match plan.ty {
                    LogicalType::Bool => (0, 1),
                    LogicalType::I16 => (i16::MIN as i32, i16::MAX as i32),
                    _ => (i32::MIN, i32::MAX),
                };
                v.extend(all.map(|r| if is(r) { [low, high][pick(r, 2)] } else { 0 }));
            }
            Values::I64(v) => {
                let pool = match plan.ty {
                    LogicalType::TimeMs => {
                        [0, -1, 1_767_225_600_123, -30_610_224_000_000, 253_402_300_799_999]
                    }
                    LogicalType::TimeUs => {
                        [0, -1, 1_767_225_600_123_456, -30_610_224_000_000_000, 253_402_300_799_999_999]
                    }
                    _ => [0, -1, i64::MIN, i64::MAX, 10_000],
                };
                v.extend(all.map(|r| if is(r) { pool[pick(r, 5)] } else { 0 }));
            }
            Values::F32(v) => {
                let pool = [0.0, -0.5, 0.1, 1.5e38, f32::MIN_POSITIVE];
                v.extend(all.map(|r| if is(r) { pool[pick(r, 5)] } else { 0.0 }));
            }
            Values::F64(v) => {
                let pool = [0.0, -0.5, 0.1, f64::MIN_POSITIVE, f64::MAX];
                v.extend(all.map(|r| if is(r) { pool[pick(r, 5)] } else { 0.0 }));
            }
            Values::Text(v) => {
                let long = "x".repeat(70_000);
                let pool = ["", "\\N", "a\tb\nc\\\r\0", "é✓😀 'x' \"y\"", "NULL", &long, &long[..255]];
                *v = TextValues::default();
                // The long ones are rare, so that a batch stays small.
                let place = |r: usize| if r.is_multiple_of(500) { 5 } else { [0, 1, 2, 3, 4, 6][pick(r, 6)] };
                all.for_each(|r| v.push(if is(r) { pool[place(r)].as_bytes() } else { b"" }));
            }
            Values::List(ListValues { ends, items, .. }) => {
                for r in all {
                    let n = if is(r) { pick(r, 3) } else { 0 };
                    match &mut **items {
                        Values::F64(v) => v.extend((0..n).map(|k| 0.1 + k as f64 * 1e30)),
                        Values::I64(v) => v.extend((0..n).map(|k| k as i64 - i64::MAX)),
                        _ => unreachable!("lists hold I64 or F64"),
                    }
                    ends.push(ends.last().copied().unwrap_or(0) + n as u32);
                }
            }
        }
        columns.push(column);
    }
    Columns::new(rows, columns)
}

#[test]
#[ignore = "needs INRUSH_MYSQL_URL or INRUSH_MARIADB_URL"]
fn every_type_reads_back_exactly_by_every_way_in() {
    let (table, create) = every_type();
    let names = EVERY_TYPE.map(|(name, ..)| name);
    // 5,100 rows are five statements of multirow; 2,500 is a size that was not announced, and so is 1.
    let ctx = context(table, inserts("every_type", &names), 5_100, 1);
    let engine = build(&ctx).expect("a server");
    engine.control(&create, NO_LIMIT).expect("created");
    let ops: Vec<usize> = (0..methods().len()).collect();
    let mut session = engine.open(&ops).expect("a session");
    for op in ops {
        engine.control("TRUNCATE every_type", NO_LIMIT).expect("emptied");
        let mut first = 0;
        for (ticket, rows) in [5_100, 2_500, 1].into_iter().enumerate() {
            let columns = batch(&ctx.plan, first, rows);
            let mut payload = Payload::default();
            session.encode(op, &columns, &mut payload).expect("encoded");
            let work = Work::Rows { columns: &columns, payload: &payload };
            let done = run(&mut *session, ticket as u64, op, work);
            assert_eq!(
                (done.outcome, done.rows),
                (Outcome::Ok, rows as u64),
                "{:?}",
                session.failure(ticket as u64)
            );
            first += rows;
        }
        let all = batch(&ctx.plan, 0, first);
        let mut row = 0;
        let rows = session
            .scan(&"SELECT * FROM every_type ORDER BY k;".into(), &all, &mut |found| {
                for at in 0..found.rows {
                    for (a, b) in all.columns.iter().zip(&found.columns) {
                        let (a, b) = (a.value(row), b.value(at));
                        assert!(same(&a, &b), "{} row {row}: {a:?} came back as {b:?}", methods()[op]);
                    }
                    row += 1;
                }
            })
            .expect("read back");
        assert_eq!((rows, row), (first as u64, first));
    }
    session.close().expect("all acknowledged");
}

#[test]
#[ignore = "needs INRUSH_MYSQL_URL or INRUSH_MARIADB_URL"]
fn a_refused_batch_stores_nothing_and_the_session_goes_on() {
    let mut operations = inserts("refused", &["k"]);
    let listed = operations.as_array_mut().expect("a list");
    listed.push(insert("nowhere", "load", "LOAD DATA LOCAL INFILE 'x' INTO TABLE no_such_table".into()));
    let nowhere = listed.len() - 1;
    let ctx = context(numbers("refused", "BIGINT"), operations, 3, 1);
    let engine = build(&ctx).expect("a server");
    let create =
        "DROP TABLE IF EXISTS refused; CREATE TABLE refused (k BIGINT PRIMARY KEY CHECK (k < 1000000))";
    engine.control(create, NO_LIMIT).expect("created");
    let ops: Vec<usize> = (0..=nowhere).collect();
    let mut session = engine.open(&ops).expect("a session");
    let mut send = |op, values: &[i64]| {
        let (columns, mut payload) = (keys(values), Payload::default());
        session.encode(op, &columns, &mut payload).expect("encoded");
        let done = run(&mut *session, 0, op, Work::Rows { columns: &columns, payload: &payload });
        (done.outcome, done.rows, session.failure(0).unwrap_or_default())
    };
    let mut stored = 0;
    for op in 0..nowhere {
        let base = op as i64 * 100_000;
        let (outcome, rows, why) = send(op, &[base + 1, base + 1, base + 2]);
        assert_eq!((outcome, rows), (Outcome::Refused, 0), "{why}");
        assert!(why.contains("Duplicate entry") && why.contains("1062"), "{why}");
        assert_eq!(send(op, &[base + 1, base + 2, base + 3]), (Outcome::Ok, 3, String::new()));
        // Several statements, the last of which holds the double: the first ones are undone.
        let mut many: Vec<i64> = (base + 10..base + 20_000).collect();
        many.push(base + 10);
        assert_eq!(send(op, &many).0, Outcome::Refused);
        assert_eq!(send(op, &many[..many.len() - 1]).0, Outcome::Ok);
        assert_eq!(
            send(op, &[base + 50_000, 1_000_000]).0,
            Outcome::Refused,
            "a value that the table refuses"
        );
        stored += 3 + 19_990;
    }
    assert_eq!(send(nowhere, &[1]).0, Outcome::Undefined);
    assert_eq!(send(0, &[99_000]).0, Outcome::Ok);
    let count = engine.control("SELECT COUNT(*) FROM refused", NO_LIMIT).expect("counted");
    assert_eq!(count.rows, [[Value::I64(stored + 1)]]);
}

#[test]
#[ignore = "needs INRUSH_MYSQL_URL or INRUSH_MARIADB_URL"]
fn a_batch_beyond_the_servers_packet_is_too_large_and_the_session_goes_on() {
    let table = json!({"name": "wide", "stream": "wide", "columns": [{"name": "t", "type": "text", "wire": "LONGTEXT"}],
                       "source": {"kind": "generated", "series": 1, "period_ns": 1}});
    let ctx = context(table, inserts("wide", &["t"]), 10, 1);
    let engine = build(&ctx).expect("a server");
    engine.control("DROP TABLE IF EXISTS wide; CREATE TABLE wide (t LONGTEXT)", NO_LIMIT).expect("created");
    let multirow = methods().len() - 1;
    let mut session = engine.open(&[multirow]).expect("a session");
    for (bytes, outcome) in [(80 << 20, Outcome::TooLarge), (10, Outcome::Ok)] {
        let mut column = Column::new("t", LogicalType::Text);
        let mut texts = TextValues::default();
        texts.push(&vec![b'x'; bytes]);
        column.values = Values::Text(texts);
        let columns = Columns::new(1, vec![column]);
        let mut payload = Payload::default();
        session.encode(multirow, &columns, &mut payload).expect("encoded");
        let done = run(&mut *session, 0, multirow, Work::Rows { columns: &columns, payload: &payload });
        let why = session.failure(0).unwrap_or_default();
        assert_eq!(done.outcome, outcome, "{why}");
        assert_eq!(why.contains("max_allowed_packet"), outcome == Outcome::TooLarge);
    }
}

#[test]
#[ignore = "needs INRUSH_MYSQL_URL or INRUSH_MARIADB_URL"]
fn a_pipeline_answers_every_ticket_in_order_and_an_error_ends_its_own() {
    let series = "WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < ?) \
                  SELECT k, CAST(k AS CHAR) AS t, k / 2e0 AS h FROM n";
    let operations = json!([
        query("series", series, &[("n", "i64")]),
        query("broken", "SELECT JSON_EXTRACT(CONCAT('{\"a\": ', ?), '$[') AS j", &[("n", "i32")]),
        query(
            "time",
            "SELECT CAST(? AS DATETIME(6)) AS t, CAST(? AS UNSIGNED) AS u, CAST(? AS CHAR) AS x",
            &[("t", "time_ms"), ("u", "u64"), ("x", "text")]
        ),
        json!({"name": "change", "kind": "execute", "text": "DELETE FROM pipe WHERE k < ?",
               "params": [{"name": "k", "type": "i64", "gen": {"kind": "uniform", "from": 0, "to": 1}}]}),
        query("large", "SELECT EXP(? + 5000)", &[("n", "i32")]),
        query("larger", "SELECT EXP(? + 6000)", &[("n", "i32")]),
    ]);
    let ctx = context(numbers("pipe", "BIGINT"), operations, 1, 64);
    let engine = build(&ctx).expect("a server");
    let create =
        "DROP TABLE IF EXISTS pipe; CREATE TABLE pipe (k BIGINT); INSERT INTO pipe VALUES (1), (2), (3)";
    engine.control(create, NO_LIMIT).expect("created");
    let mut session = engine.open(&[0, 1, 2, 3, 4, 5]).expect("a session");
    let mut done = vec![];
    let mut pipeline = |session: &mut dyn Session, calls: &[(usize, Vec<Value>)]| {
        done.clear();
        for (ticket, (op, params)) in calls.iter().enumerate() {
            assert!(matches!(session.submit(ticket as u64, *op, Work::Params(params)), Submit::Queued));
        }
        session.flush();
        while done.len() < calls.len() {
            session.poll(u64::MAX, &mut done);
        }
        assert!(done.iter().enumerate().all(|(k, d)| d.ticket == k as u64), "in order");
        done.iter().map(|d| (d.outcome, d.rows)).collect::<Vec<_>>()
    };
    let series = |n| (0, vec![Value::I64(n)]);
    let calls: Vec<_> = (1..=64).map(series).collect();
    let expected: Vec<_> = (1..=64).map(|n| (Outcome::Ok, n as u64)).collect();
    assert_eq!(pipeline(&mut *session, &calls), expected);
    session.submit(0, 0, Work::Params(&[Value::I64(1)]));
    assert_eq!(pipeline_answer(&mut *session), [[Value::I64(1), Value::Text("1".into()), Value::F64(0.5)]]);

    let broken = pipeline(&mut *session, &[series(2), (1, vec![Value::I64(1)]), series(3)]);
    assert_eq!(
        (broken[0], broken[2]),
        ((Outcome::Ok, 2), (Outcome::Ok, 3)),
        "each is a transaction of its own"
    );
    // Two that fail, both answered when they are looked at.
    for (ticket, op) in [(0, 4), (1, 5)] {
        session.submit(ticket, op, Work::Params(&[Value::I64(1)]));
    }
    session.flush();
    std::thread::sleep(Duration::from_millis(300));
    let mut ended = vec![];
    session.poll(u64::MAX, &mut ended);
    assert_eq!(ended.iter().map(|d| d.ticket).collect::<Vec<_>>(), [0, 1], "in one poll");
    let whys = [0, 1].map(|ticket| session.failure(ticket).expect("said"));
    assert!(whys[0].contains("5000") && whys[1].contains("6000"), "{whys:?}");
    let unfit = pipeline(&mut *session, &[(0, vec![Value::Text("x".into())])]);
    assert_eq!(unfit, [(Outcome::Other, 0)]);
    assert!(session.failure(0).expect("said").contains("is not a I64"));

    let params = [Value::TimeMs(1_767_225_600_123), Value::U64(u64::MAX), Value::Text("é".into())];
    session.submit(7, 2, Work::Params(&params));
    let answer = pipeline_answer(&mut *session);
    let expected = [Value::TimeUs(1_767_225_600_123_000), Value::U64(u64::MAX), Value::Text("é".into())];
    assert_eq!(answer, [expected], "unsigned values come back as they are");
    assert_eq!(
        pipeline(&mut *session, &[(3, vec![Value::I64(3)]), series(1)]),
        [(Outcome::Ok, 2), (Outcome::Ok, 1)]
    );
    session.close().expect("nothing is open");
}

#[test]
#[ignore = "needs INRUSH_MYSQL_URL or INRUSH_MARIADB_URL"]
fn a_cancelled_statement_is_a_timeout_and_a_killed_session_is_lost() {
    let sleep = "SELECT COUNT(*) AS n FROM information_schema.columns a, information_schema.columns b WHERE SLEEP(60) = 7";
    let operations = json!([query("sleep", sleep, &[]), query("id", "SELECT CONNECTION_ID() AS id", &[])]);
    let ctx = context(numbers("none", "BIGINT"), operations, 1, 1);
    let engine = build(&ctx).expect("a server");
    let mut session = engine.open(&[0, 1]).expect("a session");
    run(&mut *session, 0, 1, Work::Params(&[]));
    let (Value::I64(_) | Value::U64(_)) = session.answer(0).unwrap().rows[0][0] else {
        panic!("a connection's id is a number")
    };
    let id = inrush_rows::rows::value_text(&session.answer(0).unwrap().rows[0][0]);

    let began = Instant::now();
    session.submit(1, 0, Work::Params(&[]));
    session.flush();
    let mut done = vec![];
    session.poll(ctx.clock.now() + 50_000_000, &mut done);
    assert!(done.is_empty(), "poll keeps its limit");
    // The server may not have begun yet: what it does not run cannot be cancelled.
    while done.is_empty() {
        session.canceller().expect("it can be cancelled")();
        session.poll(ctx.clock.now() + 200_000_000, &mut done);
    }
    assert_eq!(done[0].outcome, Outcome::Timeout, "{:?}", session.failure(1));
    assert!(began.elapsed() < Duration::from_secs(30));

    engine.control(&format!("KILL {id}"), NO_LIMIT).expect("ended");
    assert_eq!(run(&mut *session, 2, 1, Work::Params(&[])).outcome, Outcome::Lost);
    assert_eq!(run(&mut *session, 3, 1, Work::Params(&[])).outcome, Outcome::Lost);
}

#[test]
#[ignore = "needs INRUSH_MYSQL_URL or INRUSH_MARIADB_URL"]
fn a_deadlock_is_a_conflict_that_stores_nothing() {
    let ctx = context(numbers("locked", "BIGINT"), inserts("locked", &["k"]), 3, 1);
    let engine = build(&ctx).expect("a server");
    let create = "DROP TABLE IF EXISTS locked; CREATE TABLE locked (k BIGINT PRIMARY KEY)";
    engine.control(create, NO_LIMIT).expect("created");
    let ops: Vec<usize> = (0..methods().len()).collect();
    let mut session = engine.open(&ops).expect("a session");
    // Another session holds a key that the batch wants, for longer than the batch may wait.
    let other = build(&ctx).expect("a server");
    engine.control("SET GLOBAL innodb_lock_wait_timeout = 1", NO_LIMIT).expect("set");
    let mut hurried = engine.open(&ops).expect("a session that reads the limit");
    engine.control("SET GLOBAL innodb_lock_wait_timeout = 50", NO_LIMIT).expect("set back");
    for op in ops {
        let base = op as i64 * 10;
        other
            .control(&format!("START TRANSACTION; INSERT INTO locked VALUES ({})", base + 1), NO_LIMIT)
            .expect("held");
        let (columns, mut payload) = (keys(&[base, base + 1]), Payload::default());
        hurried.encode(op, &columns, &mut payload).expect("encoded");
        let done = run(&mut *hurried, 0, op, Work::Rows { columns: &columns, payload: &payload });
        assert_eq!(done.outcome, Outcome::Conflict, "{:?}", hurried.failure(0));
        other.control("ROLLBACK", NO_LIMIT).expect("let go");
        session.encode(op, &columns, &mut payload).expect("encoded");
        let done = run(&mut *session, 0, op, Work::Rows { columns: &columns, payload: &payload });
        assert_eq!((done.outcome, done.rows), (Outcome::Ok, 2), "{:?}", session.failure(0));
    }
}

#[test]
#[ignore = "needs INRUSH_MYSQL_URL or INRUSH_MARIADB_URL"]
fn control_keeps_its_limit_and_survives_its_connection() {
    let ctx = context(numbers("none", "BIGINT"), json!([]), 1, 1);
    let engine = build(&ctx).expect("a server");
    let sleep = "SELECT COUNT(*) FROM information_schema.columns a WHERE SLEEP(60) = 7";
    let late = engine.control(sleep, 300_000_000).expect_err("cancelled");
    assert!(matches!(late, Error::Deadline { .. }), "{late}");
    let wrong = engine.control("SELECT nothing FROM nowhere", NO_LIMIT).expect_err("refused").to_string();
    assert!(
        wrong.contains("nowhere' doesn't exist (1146, 42S02)") && wrong.contains("in: SELECT"),
        "{wrong}"
    );

    let own = engine.control("SELECT CONNECTION_ID()", NO_LIMIT).expect("answered").rows[0][0].clone();
    let other = build(&ctx).expect("a server");
    other.control(&format!("KILL {}", inrush_rows::rows::value_text(&own)), NO_LIMIT).expect("ended");
    let limit = Instant::now() + Duration::from_secs(20);
    let answer = loop {
        // KILL returns before the connection has gone.
        match engine
            .control("SELECT 1 AS one, 'x', NULL; SELECT 18446744073709551615 AS two, 0.5 AS h", NO_LIMIT)
        {
            Ok(answer) => break answer,
            Err(error) => assert!(Instant::now() < limit, "{error}"),
        }
    };
    assert_eq!(*answer.names, ["two", "h"]);
    assert_eq!(answer.rows, [[Value::U64(u64::MAX), Value::F64(0.5)]]);
    let text = "SELECT 'SET @inrush = 7' UNION ALL SELECT 'SET @inrush = @inrush + 1'".to_owned();
    let each = Statement { text, repeat: Some(Repeat::EachRow), directives: None };
    assert!(perform(engine.as_ref(), &each, NO_LIMIT, &AtomicBool::new(false)).expect("each is run"));
    assert_eq!(engine.control("SELECT @inrush", NO_LIMIT).expect("set").rows, [[Value::I64(8)]]);
}
