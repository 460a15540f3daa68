//! A whole conversation with a server, mutated: log-in, look-ups, batches, read-back, control.

use std::sync::Arc;

use serde_json::json;

use super::connection::Connection;
use super::session::MySession;
use super::{message, text_query, Address};
use crate::engine::conversation::{context, keys};
use crate::engine::messages::Messages;
use crate::engine::socket::Socket;
use crate::engine::stream::Stream;
use crate::engine::{Context, Done, Outcome, Payload, Session, Work};
use inrush_fuzz::{self as fuzz, Memory, Replay};
use inrush_rows::error::Error;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, Columns, Value, Values};

const SESSION: &[u8] = include_bytes!("../../../tests/captures/mysql-session.bin");
const CONTROL: &[u8] = include_bytes!("../../../tests/captures/mysql-control.bin");
/// One that sends statements alone: answers come without what describes their columns, until it reads a table back.
const BARE: &[u8] = include_bytes!("../../../tests/captures/mysql-bare.bin");
/// A log-in by `caching_sha2_password` where the server has forgotten the password's hash, and asks under its key.
const LOG_IN: &[u8] = include_bytes!("../../../tests/captures/mysql-log-in.bin");
const TABLE: &str = "inrush_capture.t";

/// A value of one byte is one of 32, in a vector that may have grown twice as long.
const MEMORY: Memory = Memory { per_byte: 96, constant: 1 << 20 };

const URL: &str = "mysql://me:secret@localhost/inrush_capture";
const COLUMNS: &str = "k, t, tm, f, n, l, b, d, s, u";

fn plan(url: &str) -> Context {
    let param = json!([{"name": "k", "type": "i64", "gen": {"kind": "uniform", "from": 0, "to": 1}}]);
    let operations = json!([
        {"name": "load", "kind": "insert", "table": 0, "method": "load",
         "text": format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {TABLE} (k)")},
        {"name": "multirow", "kind": "insert", "table": 0, "method": "multirow",
         "text": format!("INSERT INTO {TABLE} (k) VALUES (?)")},
        {"name": "look_up", "kind": "query", "text": format!("SELECT {COLUMNS} FROM {TABLE} WHERE k = ?"), "params": param},
        {"name": "refused", "kind": "query", "text": format!("SELECT (SELECT k FROM {TABLE} WHERE k >= ?)"), "params": param},
        {"name": "change", "kind": "execute", "text": format!("UPDATE {TABLE} SET t = 'u' WHERE k = ?"), "params": param},
    ]);
    context("mysql", url, keys(TABLE, "bigint"), operations, 8)
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
        [("k", I64), ("t", Text), ("tm", TimeMs), ("f", F64), ("u", U64), ("l", ListF64), ("s", I16)];
    Columns::new(0, columns.iter().map(|(name, ty)| Column::new(*name, *ty)).collect())
}

fn outcomes(session: &mut MySession, calls: usize) -> Vec<Outcome> {
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
    let mut session = MySession::over(ctx, address, connection, &[0, 1, 2, 3, 4])?;
    session.keep_answers();
    for k in 0..8 {
        session.submit(k, 2, Work::Params(&[Value::I64(k as i64 % 3)]));
    }
    let mut fine = outcomes(&mut session, 8) == [Outcome::Ok; 8];
    fine &= session.answer(7).is_some_and(|answer| answer.names.len() == 10);
    for (op, first) in [(0, 100), (1, 200)] {
        let (columns, mut payload) = (rows(first), Payload::default());
        session.encode(op, &columns, &mut payload)?;
        session.submit(9, op, Work::Rows { columns: &columns, payload: &payload });
        fine &= outcomes(&mut session, 1) == [Outcome::Ok];
    }
    session.submit(10, 3, Work::Params(&[Value::I64(1)]));
    fine &= outcomes(&mut session, 1) == [Outcome::Other] && session.failure(10).is_some();
    session.submit(11, 4, Work::Params(&[Value::I64(1)]));
    fine &= outcomes(&mut session, 1) == [Outcome::Ok] && session.failure(11).is_none();
    session.execute("BEGIN")?;
    session.execute("COMMIT")?;
    Ok(reads_back(&mut session, 9)? && fine)
}

/// As many rows as there are, with values.
fn reads_back(session: &mut MySession, rows: u64) -> Result<bool, Error> {
    let mut bytes = 0;
    let text = format!("SELECT k, t, tm, f, u, l, s FROM {TABLE} ORDER BY k");
    let count = session.scan(&text.as_str().into(), &read_back(), &mut |found| {
        for row in 0..found.rows {
            bytes += found
                .columns
                .iter()
                .map(|c| inrush_rows::rows::value_text(&c.value(row)).len())
                .sum::<usize>();
        }
    })?;
    Ok(count == rows && bytes > 0)
}

/// A session of statements alone; true where every answer was the one that belongs to it.
fn converse_bare(ctx: &Context, address: &Arc<Address>, connection: Connection) -> Result<bool, Error> {
    let mut session = MySession::over(ctx, address, connection, &[2, 4])?;
    session.keep_answers();
    for k in 0..8 {
        session.submit(k, 2, Work::Params(&[Value::I64(k as i64 % 3)]));
    }
    let mut fine = outcomes(&mut session, 8) == [Outcome::Ok; 8];
    fine &= session.answer(7).is_some_and(|answer| {
        let is_row = |row: &Vec<Value>| row.len() == 10 && row[0] == Value::I64(1);
        answer.names.len() == 10
            && answer.names[9] == "u"
            && answer.rows.len() == 1
            && is_row(&answer.rows[0])
    });
    session.submit(8, 4, Work::Params(&[Value::I64(2)]));
    fine &= outcomes(&mut session, 1) == [Outcome::Ok];
    fine &= reads_back(&mut session, 3)?;
    session.submit(9, 2, Work::Params(&[Value::I64(0)]));
    fine &=
        outcomes(&mut session, 1) == [Outcome::Ok] && session.answer(9).is_some_and(|a| a.rows.len() == 1);
    Ok(fine)
}

/// Payloads of packets, each with its number.
fn packets(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    while let [a, b, c, number, rest @ ..] = bytes {
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        found.push((*number, rest[..length].to_vec()));
        bytes = &rest[length..];
    }
    found
}

fn joined(packets: &[(u8, Vec<u8>)]) -> Vec<u8> {
    packets.iter().flat_map(|(number, of)| [&message::head(of.len(), *number)[..], of].concat()).collect()
}

/// What the server says of a session whose answers are not described.
const UNDESCRIBED: [u8; 2] = [10, 0];

#[test]
fn a_bare_session_survives_mutated_answers() {
    let (ctx, address) = (plan(URL), address(URL));
    fuzz::survives("mysql bare session", &[BARE], MEMORY, |replay| {
        replayed(&address, replay).and_then(|c| converse_bare(&ctx, &address, c)).unwrap_or(false)
    });
}

#[test]
fn columns_that_are_described_all_the_same_are_read_as_they_are_described() {
    let (ctx, address) = (plan(URL), address(URL));
    let read = |packets: &[(u8, Vec<u8>)]| {
        let bytes = joined(packets);
        replayed(&address, Replay::whole(bytes))
            .and_then(|c| converse_bare(&ctx, &address, c))
            .unwrap_or(false)
    };
    let bare = packets(BARE);
    assert!(read(&bare));
    let heads = bare.iter().filter(|(_, of)| *of == UNDESCRIBED).count();
    assert_eq!(heads, 8, "the look-ups before the table is read back");
    // Of the look-up: ten columns behind one parameter.
    let is_prepared =
        |(_, of): &(u8, Vec<u8>)| of.first() == Some(&0) && of.get(5..9) == Some(&[10, 0, 1, 0]);
    let at = bare.iter().position(is_prepared).expect("it was prepared");
    let definitions = &bare[at + 2..at + 12];
    let described = |packet: &(u8, Vec<u8>)| match packet.1 == UNDESCRIBED {
        true => [&[(packet.0, vec![10, 1])], definitions].concat(),
        false => vec![packet.clone()],
    };
    assert!(read(&bare.iter().flat_map(described).collect::<Vec<_>>()));
    for other in [[9, 0], [11, 0], [10, 2]] {
        let changed = |(number, of): &(u8, Vec<u8>)| match *of == UNDESCRIBED {
            true => (*number, other.to_vec()),
            false => (*number, of.clone()),
        };
        assert!(!read(&bare.iter().map(changed).collect::<Vec<_>>()), "{other:?}");
    }
}

/// Statements off the clock: several at once, one that is refused, one that asks for a file.
fn control(address: &Arc<Address>, mut connection: Connection) -> Result<bool, Error> {
    let mut ask = |text: &str| text_query(&mut connection, address, text, 0);
    let last = ask("SELECT 1 AS one; SELECT 2 AS two, 'x' AS t, NULL AS none, 0.5 AS n, 1e300 AS f")?;
    let refused = matches!(ask("SELECT nothing FROM nowhere"), Err(Error::Statement { .. }));
    let file = ask(&format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {TABLE} (k)"))?;
    Ok(refused && file.rows.is_empty() && last.rows.len() == 1 && last.names.len() == 5)
}

fn replayed(address: &Arc<Address>, replay: Replay) -> Result<Connection, Error> {
    Connection::begin(address, Stream::plain(Socket::Replay(replay)))
}

fn address(url: &str) -> Arc<Address> {
    Arc::new(Address::parse("mysql", url).unwrap())
}

#[test]
fn a_session_survives_mutated_answers() {
    let (ctx, address) = (plan(URL), address(URL));
    fuzz::survives("mysql session", &[SESSION], MEMORY, |replay| {
        replayed(&address, replay).and_then(|c| converse(&ctx, &address, c)).unwrap_or(false)
    });
}

#[test]
fn a_batch_of_which_fewer_rows_were_stored_than_sent_is_wrong() {
    let (ctx, address) = (plan(URL), address(URL));
    let read = |bytes: Vec<u8>| {
        replayed(&address, Replay::whole(bytes)).and_then(|c| converse(&ctx, &address, c)).ok()
    };
    assert_eq!(read(SESSION.to_vec()), Some(true));
    // The answers to LOAD DATA and to an INSERT of several rows: OK, of three rows.
    for count in [b"\x00\x03\x00\x01\x00\x00\x00/Records: 3", b"\x00\x03\x00\x02\x00\x00\x00&Records: 3"] {
        let at = SESSION.windows(count.len()).position(|found| found == count).expect("a batch was stored");
        let mut short = SESSION.to_vec();
        short[at + 1] = 2;
        assert_eq!(read(short), Some(false), "{}", String::from_utf8_lossy(count));
    }
}

#[test]
fn control_survives_mutated_answers() {
    let address = address(URL);
    fuzz::survives("mysql control", &[CONTROL], MEMORY, |replay| {
        replayed(&address, replay).and_then(|c| control(&address, c)).unwrap_or(false)
    });
}

#[test]
fn a_log_in_survives_mutated_answers() {
    let address = address(URL);
    fuzz::survives("mysql log-in", &[LOG_IN], MEMORY, |replay| replayed(&address, replay).is_ok());
}

#[test]
fn a_password_goes_under_a_key_of_the_servers_only_on_this_machine_or_where_that_is_allowed() {
    let log_in =
        |url: &str| replayed(&address(url), Replay::whole(LOG_IN.to_vec())).err().map(|e| e.to_string());
    assert_eq!(log_in("mysql://me:secret@127.0.0.1/d"), None);
    let refused = log_in("mysql://me:secret@db.example/d?ssl-mode=DISABLED").unwrap();
    assert!(refused.contains("get-server-public-key=true") && !refused.contains("secret"), "{refused}");
    assert_eq!(log_in("mysql://me:secret@db.example/d?ssl-mode=DISABLED&get-server-public-key=true"), None);
}

#[test]
fn a_key_that_was_not_asked_for_gets_no_password() {
    let asks =
        LOG_IN.windows(6).position(|packet| packet[..3] == [2, 0, 0] && packet[4..] == [1, 4]).unwrap();
    let unasked = [&LOG_IN[..asks], &LOG_IN[asks + 6..]].concat();
    let refused = replayed(&address(URL), Replay::whole(unasked)).err().unwrap().to_string();
    assert!(refused.contains("does not speak MySQL's protocol"), "{refused}");
}

#[test]
fn a_time_of_more_microseconds_than_there_are_is_an_error() {
    use super::decode::{binary_row, AnswerColumn};
    let column = AnswerColumn { name: "t".into(), ty: 11, unsigned: false, scaled: false, is_fixed: true };
    let row = [0, 0, 8, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0];
    assert_eq!(binary_row(&row, &[column], &mut Vec::new()), None);
}

#[test]
fn a_server_that_reads_no_more_ends_a_load_in_time() {
    let url = format!("mysql://me:secret@127.0.0.1:{}/d", fuzz::stalled(SESSION));
    let mut connection = Connection::open(&address(&url)).unwrap();
    connection.limit_sends(Some(std::time::Duration::from_millis(300))).unwrap();
    let began = std::time::Instant::now();
    let late = connection.send_file(&fuzz::more_than_buffers()).unwrap_err();
    assert_eq!(late.to_string(), "the server did not read a request within 0.3 s");
    assert!(began.elapsed() < std::time::Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
#[ignore = "writes the captures anew; needs INRUSH_MYSQL_URL with a user that may create users"]
fn capture_of_mysql() {
    let url = std::env::var("INRUSH_MYSQL_URL").expect("INRUSH_MYSQL_URL names a server");
    let own_address = address(&url);
    let mut own = Connection::open(&own_address).unwrap();
    let mut do_all = |texts: &[&str]| {
        for text in texts {
            text_query(&mut own, &own_address, text, 0).unwrap();
        }
    };
    do_all(&[
        "DROP DATABASE IF EXISTS inrush_capture",
        "CREATE DATABASE inrush_capture",
        &format!(
            "CREATE TABLE {TABLE} (k bigint PRIMARY KEY, t varchar(20), tm datetime(6), f double, n decimal(20), \
             l json, b bool, d date, s smallint, u bigint unsigned)"
        ),
        &format!(
            "INSERT INTO {TABLE} VALUES (0, 'a', '2026-01-01', 0.5, 18446744073709551615, '[0.5, -1.5]', 1, \
             '2026-02-03', -7, 18446744073709551615), (1, 'é', NULL, NULL, 0, '[]', NULL, NULL, NULL, 0), \
             (2, NULL, '1969-12-31 23:59:59.999', 1, 7, NULL, 0, '1970-01-01', 1, 1)"
        ),
        "DROP USER IF EXISTS inrush_capture",
        "CREATE USER inrush_capture IDENTIFIED WITH caching_sha2_password BY 'secret'",
        "GRANT ALL ON inrush_capture.* TO inrush_capture",
        "FLUSH PRIVILEGES",
    ]);
    // The capture is the same for `me`: only the client sends the name.
    let through =
        |port: u16| address(&format!("mysql://inrush_capture:secret@127.0.0.1:{port}/inrush_capture"));
    let (port, kept) = fuzz::recorded(&own_address.host, own_address.port);
    Connection::open(&through(port)).unwrap().close();
    fuzz::save("mysql-log-in.bin", &kept.join().unwrap());

    let (port, kept) = fuzz::recorded(&own_address.host, own_address.port);
    let proxied = through(port);
    assert!(converse_bare(&plan(&url), &proxied, Connection::open(&proxied).unwrap()).unwrap());
    fuzz::save("mysql-bare.bin", &kept.join().unwrap());

    let (port, kept) = fuzz::recorded(&own_address.host, own_address.port);
    let proxied = through(port);
    assert!(converse(&plan(&url), &proxied, Connection::open(&proxied).unwrap()).unwrap());
    fuzz::save("mysql-session.bin", &kept.join().unwrap());

    let (port, kept) = fuzz::recorded(&own_address.host, own_address.port);
    let proxied = through(port);
    assert!(control(&proxied, Connection::open(&proxied).unwrap()).unwrap());
    fuzz::save("mysql-control.bin", &kept.join().unwrap());
    do_all(&["DROP DATABASE inrush_capture", "DROP USER inrush_capture"]);
}
