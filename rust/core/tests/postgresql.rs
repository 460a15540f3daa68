//! The wire half against a real server, named by INRUSH_POSTGRESQL_URL; pytest starts one and runs these
//! (`cargo test --test all -- --ignored postgresql::`).

use std::time::{Duration, Instant};

use crate::servers::{context, insert, keys, numbers, pipeline_answer, query, run, same, NO_LIMIT};
use inrush_engines::engine::{build, Outcome, Payload, Session, Submit, Work};
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::plan::RunPlan;
use inrush_rows::rows::{Column, Columns, ListValues, TextValues, Value, Values};
use serde_json::{json, Value as Json};

fn url() -> String {
    std::env::var("INRUSH_POSTGRESQL_URL")
        .expect("INRUSH_POSTGRESQL_URL names a server that may be written to")
}

const EVERY_TYPE: [(&str, &str, &str); 14] = [
    ("k", "i64", "int8"),
    ("b", "bool", "bool"),
    ("s", "i16", "int2"),
    ("i", "i32", "int4"),
    ("l", "i64", "int8"),
    ("u", "u64", "int8"),
    ("un", "u64", "numeric"),
    ("f", "f32", "float4"),
    ("d", "f64", "float8"),
    ("tm", "time_ms", "timestamptz"),
    ("tu", "time_us", "timestamptz"),
    ("t", "text", "text"),
    ("ld", "list_f64", "float8[]"),
    ("ll", "list_i64", "int8[]"),
];

type ColumnType = (&'static str, &'static str, &'static str);

/// Those that can be the items of an array: lists stand last.
fn scalars() -> &'static [ColumnType] {
    &EVERY_TYPE[..EVERY_TYPE.len() - 2]
}

fn table_of(name: &str, types: &[ColumnType]) -> (Json, String) {
    let columns: Vec<Json> = types
        .iter()
        .map(|(name, ty, wire)| json!({"name": name, "type": ty, "wire": wire, "null_ppm": 100_000}))
        .collect();
    let table = json!({"name": name, "stream": name, "columns": columns,
                       "source": {"kind": "generated", "series": 1, "period_ns": 1}});
    let ddl: Vec<String> = types.iter().map(|(name, _, wire)| format!("\"{name}\" {wire}")).collect();
    let create = format!("DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({})", ddl.join(", "));
    (table, create)
}

/// Rows `first..first + rows` with extremes, odd texts and NULLs in every column.
fn batch(plan: &RunPlan, first: usize, rows: usize) -> Columns {
    let mut columns = vec![];
    for (index, plan) in plan.tables[0].columns.iter().enumerate() {
        let mut column = Column::new(plan.name.clone(), plan.ty);
        if plan.name == "k" {
            column.values = Values::I64((first..first + rows).map(|row| row as i64).collect());
            columns.push(column);
            continue;
        }
        column.present = (first..first + rows).map(|row| u8::from((row + index) % 10 != 0)).collect();
        let at = |row: usize| !(row + index).is_multiple_of(10);
        let pick = |row: usize, n: usize| (row * 7 + index) % n;
        let rows = first..first + rows;
        match &mut column.values {
            Values::I32(v) => {
                let (low, high) = match plan.ty {
                    inrush_rows::plan::LogicalType::Bool => (0, 1),
                    inrush_rows::plan::LogicalType::I16 => (i16::MIN as i32, i16::MAX as i32),
                    _ => (i32::MIN, i32::MAX),
                };
                v.extend(rows.map(|r| if at(r) { [low, high, low, high, low][pick(r, 5)] } else { 0 }));
            }
            Values::I64(v) => {
                let time = matches!(
                    plan.ty,
                    inrush_rows::plan::LogicalType::TimeMs | inrush_rows::plan::LogicalType::TimeUs
                );
                let pool = if time {
                    [0, -1, 1_767_225_600_123, -62_135_596_800_000, 253_402_300_799_999]
                } else {
                    [0, -1, i64::MIN, i64::MAX, 10_000]
                };
                v.extend(rows.map(|r| if at(r) { pool[pick(r, 5)] } else { 0 }));
            }
            Values::F32(v) => {
                let pool = [0.0, -0.0, 0.1, f32::MAX, f32::NAN];
                v.extend(rows.map(|r| if at(r) { pool[pick(r, 5)] } else { 0.0 }));
            }
            Values::F64(v) => {
                let pool = [0.0, -0.0, 0.1, f64::MIN_POSITIVE, f64::INFINITY];
                v.extend(rows.map(|r| if at(r) { pool[pick(r, 5)] } else { 0.0 }));
            }
            Values::Text(v) => {
                let pool = ["", "\\N", "a\tb\nc\\", "é✓ 'x' \"y\"", "NULL"];
                *v = TextValues::default();
                rows.for_each(|r| v.push(if at(r) { pool[pick(r, 5)].as_bytes() } else { b"" }));
            }
            Values::List(ListValues { ends, items, .. }) => {
                for r in rows {
                    let n = if at(r) { pick(r, 3) } else { 0 };
                    match &mut **items {
                        Values::F64(v) => v.extend((0..n).map(|k| k as f64 / 4.0)),
                        Values::I64(v) => v.extend((0..n).map(|k| k as i64 - 1)),
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

fn inserts(table: &str) -> Json {
    let columns: Vec<String> = EVERY_TYPE.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
    let columns = columns.join(", ");
    let marks: Vec<String> = (1..=EVERY_TYPE.len()).map(|k| format!("${k}")).collect();
    json!([
        insert("bulk", "bulk", format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary)")),
        insert(
            "multirow",
            "multirow",
            format!("INSERT INTO {table} ({columns}) VALUES ({})", marks.join(", "))
        ),
    ])
}

#[test]
#[ignore = "needs INRUSH_POSTGRESQL_URL"]
fn every_type_reads_back_exactly_by_either_way_in() {
    let (table, create) = table_of("every_type", &EVERY_TYPE);
    reads_back_exactly("every_type", table, &create, inserts("every_type"), 2);
}

#[test]
#[ignore = "needs INRUSH_POSTGRESQL_URL"]
fn every_type_but_lists_reads_back_exactly_from_arrays() {
    let (table, create) = table_of("every_scalar", scalars());
    let names: Vec<String> = scalars().iter().map(|(name, ..)| format!("\"{name}\"")).collect();
    let arrays: Vec<String> =
        scalars().iter().enumerate().map(|(k, (_, _, wire))| format!("${}::{wire}[]", k + 1)).collect();
    let text = format!(
        "INSERT INTO every_scalar ({}) SELECT * FROM unnest({})",
        names.join(", "),
        arrays.join(", ")
    );
    let operations = json!([insert("unnest", "unnest", text)]);
    reads_back_exactly("every_scalar", table, &create, operations, 1);
}

/// By each of the first `ways` operations.
fn reads_back_exactly(name: &str, table: Json, create: &str, operations: Json, ways: usize) {
    // 14 columns: 5,100 rows are two statements of multirow; 2,500 and 1 are the remainder and an unannounced size.
    let ctx = context("postgresql", &url(), table, operations, 5_100, 1);
    let engine = build(&ctx).expect("a server");
    engine.control(create, NO_LIMIT).expect("created");
    let ops: Vec<usize> = (0..ways).collect();
    let mut session = engine.open(&ops).expect("a session");
    for op in ops {
        engine.control(&format!("TRUNCATE {name}"), NO_LIMIT).expect("emptied");
        let mut first = 0;
        for (ticket, rows) in [5_100, 2_500, 1].into_iter().enumerate() {
            let columns = batch(&ctx.plan, first, rows);
            let mut payload = Payload::default();
            session.encode(op, &columns, &mut payload).expect("encoded");
            let done =
                run(&mut *session, ticket as u64, op, Work::Rows { columns: &columns, payload: &payload });
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
            .scan(&format!("SELECT * FROM {name} ORDER BY k;").as_str().into(), &all, &mut |found| {
                for at in 0..found.rows {
                    for (a, b) in all.columns.iter().zip(&found.columns) {
                        let (a, b) = (a.value(row), b.value(at));
                        assert!(same(&a, &b), "op {op} row {row}: {a:?} came back as {b:?}");
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
#[ignore = "needs INRUSH_POSTGRESQL_URL"]
fn a_refused_batch_stores_nothing_and_the_session_goes_on() {
    let operations = json!([
        insert("bulk", "bulk", "COPY refused (k) FROM STDIN (FORMAT binary)".into()),
        insert("multirow", "multirow", "INSERT INTO refused (k) VALUES ($1)".into()),
        insert("nowhere", "bulk", "COPY no_such_table (k) FROM STDIN (FORMAT binary)".into()),
        insert("unnest", "unnest", "INSERT INTO refused (k) SELECT * FROM unnest($1::int8[])".into()),
    ]);
    let ctx = context("postgresql", &url(), numbers("refused", "int8"), operations, 3, 1);
    let engine = build(&ctx).expect("a server");
    engine
        .control("DROP TABLE IF EXISTS refused; CREATE TABLE refused (k int8 PRIMARY KEY)", NO_LIMIT)
        .expect("created");
    let mut session = engine.open(&[0, 1, 2, 3]).expect("a session");
    let mut send = |op, values: &[i64]| {
        let (columns, mut payload) = (keys(values), Payload::default());
        session.encode(op, &columns, &mut payload).expect("encoded");
        let done = run(&mut *session, 0, op, Work::Rows { columns: &columns, payload: &payload });
        (done.outcome, done.rows, session.failure(0).unwrap_or_default())
    };
    for op in [0, 1, 3] {
        let base = op as i64 * 10;
        let (outcome, _, why) = send(op, &[base + 1, base + 1, base + 2]);
        assert_eq!(outcome, Outcome::Refused);
        assert!(why.contains("duplicate key") && why.contains("23505"), "{why}");
        assert_eq!(send(op, &[base + 1, base + 2, base + 3]), (Outcome::Ok, 3, String::new()));
    }
    assert_eq!(send(2, &[1]).0, Outcome::Undefined);
    assert_eq!(send(0, &[100]).0, Outcome::Ok);
    let count = engine.control("SELECT count(*), sum(k) FROM refused", NO_LIMIT).expect("counted");
    assert_eq!(count.rows, [[Value::I64(10), Value::I64(1 + 2 + 3 + 11 + 12 + 13 + 31 + 32 + 33 + 100)]]);
}

#[test]
#[ignore = "needs INRUSH_POSTGRESQL_URL"]
fn a_pipeline_answers_every_ticket_in_order_and_an_error_ends_it() {
    let operations = json!([
        query(
            "series",
            "SELECT k, k::text, k / 2.0::float8 FROM generate_series(1, $1) AS k",
            &[("n", "i64")]
        ),
        query("ratio", "SELECT 10 / $1", &[("n", "i32")]),
        query("time", "SELECT $1 AS t, $2 AS u, 'x'::name AS other", &[("t", "time_ms"), ("u", "u64")]),
        query("root", "SELECT sqrt($1::int4)", &[("n", "i32")]),
    ]);
    let ctx = context("postgresql", &url(), numbers("none", "int8"), operations, 1, 64);
    let engine = build(&ctx).expect("a server");
    let mut session = engine.open(&[0, 1, 2, 3]).expect("a session");
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
    let ratio = |n| (1, vec![Value::I64(n)]);

    let calls: Vec<_> = (0..64).map(series).collect();
    let expected: Vec<_> = (0..64).map(|n| (Outcome::Ok, n as u64)).collect();
    assert_eq!(pipeline(&mut *session, &calls), expected);
    assert!(matches!(session.submit(0, 0, Work::Params(&[Value::I64(1)])), Submit::Queued));
    let answer = pipeline_answer(&mut *session);
    assert_eq!(answer, [[Value::I64(1), Value::Text("1".into()), Value::F64(0.5)]]);

    let broken = pipeline(&mut *session, &[series(2), ratio(0), series(3)]);
    assert_eq!(broken, [(Outcome::Ok, 2), (Outcome::Other, 0), (Outcome::Other, 0)]);
    assert!(session.failure(1).expect("said").starts_with("division by zero (22012)"));
    let skipped = session.failure(2).expect("said");
    assert!(skipped.starts_with("ended with call 1") && skipped.contains("(22012)"), "{skipped}");
    // Two pipelines that fail, both answered when they are looked at.
    for (ticket, op, n) in [(0, 1, 0), (1, 3, -1)] {
        session.submit(ticket, op, Work::Params(&[Value::I64(n)]));
        session.flush();
    }
    std::thread::sleep(Duration::from_millis(300));
    let mut ended = vec![];
    session.poll(u64::MAX, &mut ended);
    assert_eq!(ended.iter().map(|d| d.ticket).collect::<Vec<_>>(), [0, 1], "in one poll");
    let whys = [0, 1].map(|ticket| session.failure(ticket).expect("said"));
    assert!(whys[0].contains("division by zero") && whys[1].contains("square root"), "{whys:?}");
    assert_eq!(pipeline(&mut *session, &[ratio(5)]), [(Outcome::Ok, 1)]);

    let params = [Value::TimeMs(1_767_225_600_123), Value::U64(u64::MAX)];
    session.submit(7, 2, Work::Params(&params));
    let answer = pipeline_answer(&mut *session);
    assert_eq!(
        answer,
        [[Value::TimeUs(1_767_225_600_123_000), Value::I64(-1), Value::Text("x".into())]],
        "unsigned values come back as their bits"
    );
    session.close().expect("nothing is open");
}

#[test]
#[ignore = "needs INRUSH_POSTGRESQL_URL"]
fn a_cancelled_statement_is_a_timeout_and_a_killed_session_is_lost() {
    let operations =
        json!([query("sleep", "SELECT pg_sleep(60)", &[]), query("pid", "SELECT pg_backend_pid()", &[]),]);
    let ctx = context("postgresql", &url(), numbers("none", "int8"), operations, 1, 1);
    let engine = build(&ctx).expect("a server");
    let mut session = engine.open(&[0, 1]).expect("a session");
    let Value::I64(pid) =
        (run(&mut *session, 0, 1, Work::Params(&[])), session.answer(0).unwrap().rows[0][0].clone()).1
    else {
        panic!("a process id is a number")
    };

    let began = Instant::now();
    session.submit(1, 0, Work::Params(&[]));
    session.flush();
    let mut done = vec![];
    session.poll(ctx.clock.now() + 50_000_000, &mut done);
    assert!(done.is_empty(), "poll keeps its limit");
    session.canceller().expect("it can be cancelled")();
    while done.is_empty() {
        session.poll(u64::MAX, &mut done);
    }
    assert_eq!(done[0].outcome, Outcome::Timeout);
    assert!(began.elapsed() < Duration::from_secs(30));

    engine.control(&format!("SELECT pg_terminate_backend({pid})"), NO_LIMIT).expect("ended");
    assert_eq!(run(&mut *session, 2, 1, Work::Params(&[])).outcome, Outcome::Lost);
    assert_eq!(run(&mut *session, 3, 1, Work::Params(&[])).outcome, Outcome::Lost);
}

#[test]
#[ignore = "needs INRUSH_POSTGRESQL_URL"]
fn control_keeps_its_limit_and_survives_its_connection() {
    let ctx = context("postgresql", &url(), numbers("none", "int8"), json!([]), 1, 1);
    let engine = build(&ctx).expect("a server");
    let late = engine.control("SELECT pg_sleep(60)", 200_000_000).expect_err("cancelled");
    assert!(matches!(late, Error::Deadline { .. }), "{late}");
    let wrong = engine.control("SELECT nothing FROM nowhere", NO_LIMIT).expect_err("refused").to_string();
    assert!(wrong.contains("\"nowhere\" does not exist (42P01)") && wrong.contains("in: SELECT"), "{wrong}");

    let own = engine.control("SELECT pg_backend_pid()", NO_LIMIT).expect("answered").rows[0][0].clone();
    let Value::I64(pid) = own else { panic!("a process id is a number") };
    let other = build(&ctx).expect("a server");
    other.control(&format!("SELECT pg_terminate_backend({pid}, 5000)"), NO_LIMIT).expect("ended");
    let answer = engine
        .control("SELECT 1 AS one, 'x', NULL, true; SELECT 2 AS two", NO_LIMIT)
        .expect("connected again");
    assert_eq!((answer.names, answer.rows), (["two".to_string()].into(), vec![vec![Value::I64(2)]]));
}

#[test]
#[ignore = "needs INRUSH_POSTGRESQL_URL"]
fn a_wrong_address_says_what_is_wrong() {
    let fault = |url: &str| match build(&context("postgresql", url, numbers("none", "int8"), json!([]), 1, 1))
    {
        Err(Error::Target { class, message, .. }) => (class, message),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{url} took us in"),
    };
    let url = url();
    let (place, options) = url
        .split_once('?')
        .map_or((url.as_str(), String::new()), |(place, options)| (place, format!("?{options}")));
    let (class, message) = fault(&format!("{place}_not{options}"));
    assert_eq!(class, TargetFault::MissingDatabase, "{message}");

    let free =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its number").port();
    let (class, message) = fault(&format!("postgresql://postgres@127.0.0.1:{free}/postgres"));
    assert_eq!(class, TargetFault::Unreachable);
    assert!(message.contains("nothing listens on port"), "{message}");

    let http = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = http.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        let (mut stream, _) = http.accept().expect("a caller");
        let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let (_, message) = fault(&format!("postgresql://postgres@127.0.0.1:{port}/postgres"));
    assert!(message.contains("does not speak PostgreSQL"), "{message}");
}
