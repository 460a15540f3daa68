//! A whole conversation with a server, mutated: log-in, look-ups, batches, read-back, control.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::connection::Connection;
use super::session::PgSession;
use super::{simple_query, Address, Speaker, POSTGRESQL};
use crate::engine::conversation::{context, keys};
use crate::engine::socket::{Peer, Socket};
use crate::engine::stream::Stream;
use crate::engine::{Context, Done, Outcome, Payload, Session, Work};
use inrush_fuzz::{self as fuzz, Memory, Replay};
use inrush_rows::error::Error;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, Columns, Value, Values};

mod extracts;

const SESSION: &[u8] = include_bytes!("../../../tests/captures/postgresql-session.bin");
const CONTROL: &[u8] = include_bytes!("../../../tests/captures/postgresql-control.bin");
const TABLE: &str = "inrush_capture";

/// A NULL of four bytes is a value of 32, in a vector that may have grown twice as long.
const MEMORY: Memory = Memory { per_byte: 64, constant: 1 << 20 };

fn plan(url: &str) -> Context {
    let look_up = format!("SELECT k, t, tm, f, n, l, b FROM {TABLE} WHERE k = $1");
    let param = json!([{"name": "k", "type": "i64", "gen": {"kind": "uniform", "from": 0, "to": 1}}]);
    let operations = json!([
        {"name": "bulk", "kind": "insert", "table": 0, "method": "bulk",
         "text": format!("COPY {TABLE} (k) FROM STDIN (FORMAT binary)")},
        {"name": "multirow", "kind": "insert", "table": 0, "method": "multirow",
         "text": format!("INSERT INTO {TABLE} (k) VALUES ($1)")},
        {"name": "look_up", "kind": "query", "text": look_up, "params": param},
        {"name": "ratio", "kind": "query", "text": "SELECT 10 / $1", "params": param},
        {"name": "change", "kind": "execute", "text": format!("UPDATE {TABLE} SET t = 'u' WHERE k = $1"), "params": param},
    ]);
    context("postgresql", url, keys(TABLE, "int8"), operations, 8)
}

fn rows(first: i64) -> Columns {
    let mut column = Column::new("k", LogicalType::I64);
    column.values = Values::I64((first..first + 3).collect());
    Columns::new(3, vec![column])
}

/// What is read back, in columns of every kind.
fn read_back() -> Columns {
    use LogicalType::*;
    let columns =
        [("k", I64), ("t", Text), ("tm", TimeMs), ("f", F64), ("n", U64), ("l", ListF64), ("b", Bool)];
    Columns::new(0, columns.iter().map(|(name, ty)| Column::new(*name, *ty)).collect())
}

fn outcomes(session: &mut PgSession, calls: usize) -> Vec<Outcome> {
    session.flush();
    let mut done: Vec<Done> = vec![];
    // A session that answers nothing more has nothing more on its way.
    while done.len() < calls {
        let before = done.len();
        session.poll(u64::MAX, &mut done);
        if done.len() == before {
            break;
        }
    }
    done.iter().map(|d| d.outcome).collect()
}

/// Everything a session does; true where every answer was the one that belongs to it.
fn converse(ctx: &Context, address: &Arc<Address>, connection: Connection) -> Result<bool, Error> {
    let mut session = PgSession::over(ctx, address, connection, &[0, 1, 2, 3, 4])?;
    session.keep_answers();
    for k in 0..8 {
        session.submit(k, 2, Work::Params(&[Value::I64(k as i64 % 3)]));
    }
    let mut fine = outcomes(&mut session, 8) == [Outcome::Ok; 8];
    fine &= session.answer(7).is_some_and(|answer| answer.names.len() == 7);
    for (op, first) in [(0, 100), (1, 200)] {
        let (columns, mut payload) = (rows(first), Payload::default());
        session.encode(op, &columns, &mut payload)?;
        session.submit(9, op, Work::Rows { columns: &columns, payload: &payload });
        fine &= outcomes(&mut session, 1) == [Outcome::Ok];
    }
    for (ticket, op) in [(10, 3), (11, 3), (12, 4)] {
        session.submit(ticket, op, Work::Params(&[Value::I64(0)]));
    }
    fine &= outcomes(&mut session, 3) == [Outcome::Other; 3];
    fine &= session.failure(12).is_some();
    session.submit(13, 4, Work::Params(&[Value::I64(1)]));
    fine &= outcomes(&mut session, 1) == [Outcome::Ok];
    session.execute("BEGIN")?;
    session.execute("COMMIT")?;
    let mut texts = 0;
    let text = format!("SELECT k, t, tm, f, n, l, b FROM {TABLE} ORDER BY k");
    let count = session.scan(&text.as_str().into(), &read_back(), &mut |found| {
        texts += (0..found.rows)
            .map(|row| found.columns.iter().map(|c| show(&c.value(row))).sum::<usize>())
            .sum::<usize>();
    })?;
    Ok(fine && count == 9 && texts > 0)
}

fn show(value: &Value) -> usize {
    inrush_rows::rows::value_text(value).len()
}

fn replayed(address: &Arc<Address>, replay: Replay) -> Result<Connection, Error> {
    Connection::begin(address, Stream::plain(Socket::Replay(replay)), Peer::Unix("/".into()))
}

const URL: &str = "postgresql://me:secret@localhost/postgres";

#[test]
fn a_session_survives_mutated_answers() {
    let (ctx, address) = (plan(URL), Arc::new(Address::parse(URL).unwrap()));
    fuzz::survives("postgresql session", &[SESSION], MEMORY, |replay| {
        replayed(&address, replay).and_then(|c| converse(&ctx, &address, c)).unwrap_or(false)
    });
}

#[test]
fn control_survives_mutated_answers() {
    let address = Arc::new(Address::parse(URL).unwrap());
    fuzz::survives("postgresql control", &[CONTROL], MEMORY, |replay| {
        replayed(&address, replay).and_then(|c| control(&address, c)).unwrap_or(false)
    });
}

/// A server that has no COPY: its rows are read back by a query.
#[test]
fn a_read_back_by_a_query_survives_mutated_answers() {
    static WITHOUT_COPY: Speaker = Speaker { copies: false, ..POSTGRESQL };
    let (ctx, address) = (plan(URL), Arc::new(Address::of(URL, &WITHOUT_COPY).unwrap()));
    let ready = b"Z\0\0\0\x05I";
    let log_in =
        CONTROL.windows(ready.len()).position(|found| found == ready).expect("it is ready") + ready.len();
    let message = |tag: u8, body: &[u8]| [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat();
    let row =
        |k: i64| message(b'D', &[&1u16.to_be_bytes()[..], &8u32.to_be_bytes(), &k.to_be_bytes()].concat());
    let (parsed, bound) = (message(b'1', b""), message(b'2', b""));
    let answer = [parsed, bound, row(7), row(8), message(b'C', b"SELECT 2\0")].concat();
    let stream = [&CONTROL[..log_in], &answer, ready].concat();
    let like = Columns::new(0, vec![Column::new("k", LogicalType::I64)]);
    let read_back = |connection| {
        let mut session = PgSession::over(&ctx, &address, connection, &[])?;
        session.scan(&"SELECT k FROM t".into(), &like, &mut |_| ())
    };
    fuzz::survives("postgresql read-back", &[&stream], MEMORY, |replay| {
        replayed(&address, replay).and_then(read_back).is_ok_and(|rows| rows == 2)
    });
    let cut = [&CONTROL[..log_in], &row(7), ready].concat();
    let connection = replayed(&address, Replay::whole(cut)).unwrap();
    assert!(read_back(connection).unwrap_err().to_string().contains("ended before its last row"));
}

/// Statements off the clock: several at once, one that is refused, one that begins a COPY.
fn control(address: &Arc<Address>, mut connection: Connection) -> Result<bool, Error> {
    let mut ask = |text: &str| simple_query(&mut connection, address, text, 0);
    let last = ask(
        "SELECT 1 AS one; SELECT 2 AS two, 'x' AS t, NULL AS none, true AS b, 0.5 AS n, 1e300::float8 AS f",
    )?;
    let refused = matches!(ask("SELECT nothing FROM nowhere"), Err(Error::Statement { .. }));
    let copy = matches!(ask(&format!("COPY {TABLE} (k) FROM STDIN")), Err(Error::Statement { .. }));
    Ok(refused && copy && last.rows.len() == 1 && last.names.len() == 6)
}

/// What a server's message is answered with when it comes first in a session.
fn asked(message: &[u8]) -> String {
    let address = Arc::new(Address::parse(URL).unwrap());
    replayed(&address, Replay::whole(message.to_vec())).err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn a_length_that_no_message_has_is_an_error() {
    let address = Arc::new(Address::parse(URL).unwrap());
    for length in [0u32, 1, 3, 0x4000_0000, u32::MAX] {
        let message = [CONTROL, b"T", &length.to_be_bytes(), b"rest"].concat();
        let mut connection = replayed(&address, Replay::whole(message)).unwrap();
        let (read, bytes) = fuzz::peak_bytes(|| loop {
            match connection.receive() {
                Ok(_) => {}
                Err(e) => break e.to_string(),
            }
        });
        assert!(read.contains(&format!("a message of {length} bytes")), "{read}");
        assert!(bytes < 1 << 20, "{bytes}");
        assert!(
            asked(&[b"R", &length.to_be_bytes()[..], b"rest"].concat()).contains("does not speak PostgreSQL")
        );
    }
}

#[test]
fn an_announced_message_that_does_not_come_takes_no_memory() {
    let address = Arc::new(Address::parse(URL).unwrap());
    let message = [CONTROL, b"D", &0x3000_0000u32.to_be_bytes(), b"rest"].concat();
    let mut connection = replayed(&address, Replay::whole(message)).unwrap();
    let (_, bytes) = fuzz::peak_bytes(|| while connection.receive().is_ok() {});
    assert!(bytes < 1 << 20, "{bytes}");
}

/// What the server sends up to the last of the statements that are prepared.
fn prepared() -> &'static [u8] {
    let ready = b"Z\0\0\0\x05I";
    let mut at = 0;
    // One after the log-in, one after each of the four that are prepared.
    for _ in 0..5 {
        let rest = &SESSION[at..];
        at += rest.windows(ready.len()).position(|found| found == ready).expect("it is ready") + ready.len();
    }
    &SESSION[..at]
}

#[test]
fn an_answer_that_stops_within_a_message_is_waited_for_no_longer_than_asked() {
    let half = b"D\0\0\x01\0half";
    let port = fuzz::stops(prepared(), b"E\0\0\0\x09\0\0\0\0\0", half);
    let url = format!("postgresql://me:secret@127.0.0.1:{port}/postgres");
    let (ctx, address) = (plan(&url), Arc::new(Address::parse(&url).unwrap()));
    let mut session = PgSession::open(&ctx, &address, &[0, 1, 2, 3, 4]).unwrap();
    session.submit(1, 2, Work::Params(&[Value::I64(1)]));
    let (began, mut done) = (Instant::now(), vec![]);
    // The half comes while the first of them waits.
    for limit_ns in [400_000_000, 1_000_000] {
        session.poll(ctx.clock.now() + limit_ns, &mut done);
        assert!(done.is_empty(), "{done:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn a_statement_whose_answer_stops_within_a_message_is_given_up_after_its_limit() {
    let ready = b"Z\0\0\0\x05I";
    let log_in = SESSION.windows(ready.len()).position(|found| found == ready).unwrap() + ready.len();
    let port = fuzz::stops(&SESSION[..log_in], b"SELECT 1\0", b"T\0\0\x01\0half");
    let url = format!("postgresql://me:secret@127.0.0.1:{port}/postgres");
    let address = Arc::new(Address::parse(&url).unwrap());
    let mut connection = Connection::open(&address).unwrap();
    let began = Instant::now();
    let late = simple_query(&mut connection, &address, "SELECT 1", 300_000_000).unwrap_err();
    assert!(matches!(late, Error::Deadline { .. }), "{late}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn a_server_that_takes_a_connection_at_its_socket_and_says_nothing_ends_a_log_in_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let silent = std::os::unix::net::UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let address = Address::parse(&format!("postgresql://me@/db?host={}", folder.path().display())).unwrap();
    let server = std::thread::spawn(move || silent.accept().unwrap().0);
    let began = Instant::now();
    let late = Connection::open(&address).err().expect("nothing answers").to_string();
    assert!(late.contains("no answer within 10 s; does the server hang?"), "{late}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    drop(server.join().unwrap());
}

#[test]
fn a_statement_without_answer_is_not_done_by_the_next_ready() {
    // The log-in and two prepared statements, then nothing but "ready".
    let (ctx, address) = (plan(URL), Arc::new(Address::parse(URL).unwrap()));
    let prepared = [prepared(), &b"Z\0\0\0\x05I"[..]].concat();
    let connection = replayed(&address, Replay::whole(prepared)).unwrap();
    let mut session = PgSession::over(&ctx, &address, connection, &[0, 1, 2, 3, 4]).unwrap();
    session.submit(1, 2, Work::Params(&[Value::I64(1)]));
    assert_eq!(outcomes(&mut session, 1), [Outcome::Lost]);
    assert!(session.failure(1).unwrap().contains("left out the answer"));
}

#[test]
fn a_batch_of_which_fewer_rows_were_stored_than_sent_is_wrong() {
    let (ctx, address) = (plan(URL), Arc::new(Address::parse(URL).unwrap()));
    let read = |bytes: Vec<u8>| {
        replayed(&address, Replay::whole(bytes)).and_then(|c| converse(&ctx, &address, c)).ok()
    };
    assert_eq!(read(SESSION.to_vec()), Some(true));
    for (count, fewer) in [("COPY 3\0", "COPY 2\0"), ("INSERT 0 3\0", "INSERT 0 2\0")] {
        let (count, fewer) = (count.as_bytes(), fewer.as_bytes());
        let at = SESSION.windows(count.len()).position(|found| found == count).expect("a batch was stored");
        let short = [&SESSION[..at], fewer, &SESSION[at + count.len()..]].concat();
        assert_eq!(read(short), Some(false), "{}", String::from_utf8_lossy(count));
    }
}

#[test]
fn no_server_keeps_us_computing_for_its_rounds_of_scram() {
    let sasl = b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0";
    let next = b"\0\0\0\x0br=abc,s=c2FsdA==,i=2000000000";
    let message = [&sasl[..], b"R", &(next.len() as u32 + 4).to_be_bytes(), next].concat();
    let refused = asked(&message);
    assert!(refused.contains("2000000000 rounds of SCRAM"), "{refused}");
}

#[test]
fn a_server_that_reads_no_more_ends_a_copy_by_its_deadline() {
    let url = format!("postgresql://me@127.0.0.1:{}/postgres", fuzz::stalled(SESSION));
    let mut ctx = plan(&url);
    Arc::get_mut(&mut ctx.plan).unwrap().operations[0].deadline_ns = 300_000_000;
    let mut session = PgSession::open(&ctx, &Arc::new(Address::parse(&url).unwrap()), &[0]).unwrap();
    let payload = Payload { bytes: fuzz::more_than_buffers(), rows: 1, parcel: None };
    let began = Instant::now();
    session.submit(1, 0, Work::Rows { columns: &rows(0), payload: &payload });
    assert_eq!(outcomes(&mut session, 1), [Outcome::Lost]);
    assert!(session.failure(1).unwrap().contains("did not read a request within 0.3 s"));
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
#[ignore = "writes the captures anew; needs INRUSH_POSTGRESQL_URL"]
fn capture_of_postgresql() {
    let url = std::env::var("INRUSH_POSTGRESQL_URL").expect("INRUSH_POSTGRESQL_URL names a server");
    let address = Address::parse(&url).unwrap();
    let mut own = Connection::open(&address).unwrap();
    let create = format!(
        "DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE} (k int8 PRIMARY KEY, t text, tm timestamptz, f float8, \
         n numeric, l float8[], b bool); INSERT INTO {TABLE} VALUES (0, 'a', '2026-01-01', 0.5, 18446744073709551615, \
         '{{0.5,-1.5}}', true), (1, 'é', NULL, NULL, 0, '{{}}', NULL), (2, NULL, 'epoch', 1, 7, NULL, false)"
    );
    simple_query(&mut own, &address, &create, 0).unwrap();
    let through = |port| {
        let mut through = address.clone();
        (through.host, through.port) = ("127.0.0.1".into(), port);
        Arc::new(through)
    };

    let (port, kept) = fuzz::recorded(&address.host, address.port);
    let proxied = through(port);
    assert!(converse(&plan(&url), &proxied, Connection::open(&proxied).unwrap()).unwrap());
    fuzz::save("postgresql-session.bin", &kept.join().unwrap());

    let (port, kept) = fuzz::recorded(&address.host, address.port);
    let proxied = through(port);
    assert!(control(&proxied, Connection::open(&proxied).unwrap()).unwrap());
    fuzz::save("postgresql-control.bin", &kept.join().unwrap());
    simple_query(&mut own, &address, &format!("DROP TABLE {TABLE}"), 0).unwrap();
}
