//! A whole conversation with a server, mutated: log-in, look-ups, a batch, read-back, control.

use std::sync::Arc;

use serde_json::json;

use super::session::ValkeySession;
use super::{address, controlled};
use crate::engine::conversation::context;
use crate::engine::resp::{Address, Connection};
use crate::engine::socket::Socket;
use crate::engine::stream::Stream;
use crate::engine::{Context, Done, Outcome, Payload, Session, Work};
use inrush_fuzz::{self as fuzz, Memory, Replay};
use inrush_rows::error::Error;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, Columns, Value, Values};

const URL: &str = "valkey://me:secret@localhost/1";
/// A row of 9 bytes is a value and its name; a reply of many small values is a tree of them.
const MEMORY: Memory = Memory { per_byte: 256, constant: 1 << 20 };
/// `HELLO` and `SELECT`, as Valkey 8.1 answers them.
const LOG_IN: &[u8] = b"%7\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$5\r\n8.1.1\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:4\r\n\
    $4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n+OK\r\n";

fn plan() -> Context {
    let param = json!([{"name": "k", "type": "i64", "gen": {"kind": "uniform", "from": 0, "to": 1}}]);
    let table = json!({"name": "t", "stream": "t", "columns": [{"name": "k", "type": "i64", "wire": ""}],
                       "identity": ["k"], "source": {"kind": "generated", "series": 1, "period_ns": 1}});
    let operations = json!([
        {"name": "bulk", "kind": "insert", "table": 0, "method": "bulk"},
        {"name": "look_up", "kind": "query", "table": 0, "text": "HVALS t/$1", "params": param},
        {"name": "wrong", "kind": "query", "table": 0, "text": "SELEKT $1", "params": param},
        {"name": "change", "kind": "execute", "table": 0, "params": param,
         "directives": {"record": {"does": "update", "table": "t", "columns": ["k"]}}},
    ]);
    context("valkey", URL, table, operations, 8)
}

/// A row with one whole number, as it is packed, as a text of the protocol.
fn row(k: i64) -> Vec<u8> {
    [&b"$9\r\n\0"[..], &k.to_le_bytes(), b"\r\n"].concat()
}

/// What a server sends in [`converse`], after the log-in.
fn session() -> Vec<u8> {
    let looked_up = (0..4).map(|k| [&b"*1\r\n"[..], &row(k)].concat());
    let mut bytes = LOG_IN.to_vec();
    // The name of a script.
    bytes.extend_from_slice(b"$40\r\nc4fb43bbc5dbd5a4d4f3b5e0bd1cc8d3e9b8a5a1\r\n");
    bytes.extend(looked_up.collect::<Vec<_>>().concat());
    bytes.extend_from_slice(b":1\r\n:1\r\n:0\r\n");
    bytes.extend_from_slice(b":1\r\n:0\r\n");
    bytes.extend_from_slice(b"-ERR unknown command 'SELEKT', with args beginning with: '1' \r\n");
    bytes.extend_from_slice(b"*2\r\n$3\r\nt/1\r\n$3\r\nt/2\r\n");
    bytes.extend([&b"*1\r\n"[..], &row(1), b"*2\r\n", &row(2), &row(3)].concat());
    bytes
}

fn outcomes(session: &mut ValkeySession, calls: usize) -> Vec<Outcome> {
    ended(session, calls).iter().map(|d| d.outcome).collect()
}

fn ended(session: &mut ValkeySession, calls: usize) -> Vec<Done> {
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
    done
}

fn replayed(address: &Address, replay: Replay) -> Result<Connection, Error> {
    Connection::begin(address, Stream::plain(Socket::Replay(replay)), None)
}

/// Everything a session does; true where every answer was the one that belongs to it.
fn converse(ctx: &Context, address: &Arc<Address>, replay: Replay) -> Result<bool, Error> {
    let connection = replayed(address, replay)?;
    let mut session = ValkeySession::over(ctx, address, connection, &[0, 1, 2, 3])?;
    session.keep_answers();
    for k in 0..4 {
        session.submit(k, 1, Work::Params(&[Value::I64(k as i64)]));
    }
    let mut fine = outcomes(&mut session, 4) == [Outcome::Ok; 4];
    fine &= session.answer(3).is_some_and(|answer| answer.rows == [[Value::I64(3)]]);
    let mut column = Column::new("k", LogicalType::I64);
    column.values = Values::I64(vec![1, 2, 2]);
    let (columns, mut payload) = (Columns::new(3, vec![column]), Payload::default());
    session.encode(0, &columns, &mut payload)?;
    session.submit(4, 0, Work::Rows { columns: &columns, payload: &payload });
    fine &= outcomes(&mut session, 1) == [Outcome::Ok];
    // One row that is there and one that is not.
    for k in 5..7 {
        session.submit(k, 3, Work::Params(&[Value::I64(k as i64)]));
    }
    fine &=
        ended(&mut session, 2).iter().map(|d| (d.outcome, d.rows)).eq([(Outcome::Ok, 1), (Outcome::Ok, 0)]);
    session.submit(7, 2, Work::Params(&[Value::I64(1)]));
    fine &= outcomes(&mut session, 1) == [Outcome::Undefined];
    fine &= session.failure(7).is_some_and(|why| why.contains("SELEKT"));
    let mut sum = 0;
    let count = session.scan(
        &"KEYS t/?*".into(),
        &Columns::new(0, vec![Column::new("k", LogicalType::I64)]),
        &mut |found| {
            let Values::I64(values) = &found.columns[0].values else { panic!("a column keeps its type") };
            sum += values.iter().fold(0i64, |sum, v| sum.wrapping_add(*v));
        },
    )?;
    Ok(fine && (count, sum) == (3, 6))
}

#[test]
fn a_session_survives_mutations() {
    let (ctx, address) = (plan(), Arc::new(address(URL).unwrap()));
    fuzz::survives("valkey session", &[&session()], MEMORY, |replay| {
        converse(&ctx, &address, replay).is_ok_and(|fine| fine)
    });
}

#[test]
fn statements_survive_mutations() {
    let address = address(URL).unwrap();
    let settings = [LOG_IN, b"%2\r\n$4\r\nsave\r\n$0\r\n\r\n$4\r\nport\r\n$4\r\n6379\r\n"].concat();
    let report = [LOG_IN, b"=30\r\ntxt:# Server\r\nvalkey_version:8\r\n"].concat();
    for (text, capture, rows) in [("CONFIG GET *", settings, 2), ("INFO server", report, 1)] {
        fuzz::survives(text, &[&capture], MEMORY, |replay| {
            let answer = replayed(&address, replay).and_then(|mut c| controlled(&mut c, &address, text, 0));
            answer
                .is_ok_and(|answer| answer.rows.len() == rows && answer.rows.iter().all(|row| row.len() == 2))
        });
    }
}
