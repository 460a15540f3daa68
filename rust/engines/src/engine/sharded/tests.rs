//! Over an engine that keeps what it is given, and answers when it is asked to.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use super::*;
use crate::engine::{Done, Ns, Outcome, Payload, Submit, Ticket, Work};
use inrush_rows::clock::Clock;
use inrush_rows::placement::{Placement, Rule};
use inrush_rows::rows::{Columns, Value, Values};

const SHARDS: usize = 3;

/// One server: the keys of its rows and calls, in their order, and the end of the socket by which it answers.
#[derive(Default)]
struct Server {
    rows: Vec<i64>,
    calls: Vec<i64>,
    answers: Option<UnixStream>,
    fails: bool,
}

struct Keeps(Arc<Mutex<Server>>);

struct KeepsSession {
    server: Arc<Mutex<Server>>,
    socket: UnixStream,
    sent: Vec<Done>,
}

impl Engine for Keeps {
    fn caps(&self) -> Caps {
        Caps { inserts_whole: true, max_depth: 8, ..Caps::default() }
    }

    fn open(&self, _ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        let (socket, answers) = UnixStream::pair().unwrap();
        self.0.lock().unwrap().answers = Some(answers);
        Ok(Box::new(KeepsSession { server: self.0.clone(), socket, sent: Vec::new() }))
    }

    fn control(&self, text: &str, _limit_ns: u64) -> Result<Answer, Error> {
        let mut server = self.0.lock().unwrap();
        server.calls.push(0);
        let count = Value::I64(server.rows.len() as i64);
        Ok(Answer {
            names: ["name".into(), "n".into()].into(),
            rows: vec![vec![Value::Text(text.into()), count]],
        })
    }
}

impl Session for KeepsSession {
    fn encode(&mut self, _op: OpId, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        let Values::I64(keys) = &rows.columns[0].values else { unreachable!("keys are numbers") };
        out.bytes = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
        Ok(())
    }

    fn submit(&mut self, ticket: Ticket, _op: OpId, work: Work<'_>) -> Submit {
        let mut server = self.server.lock().unwrap();
        let rows = match work {
            Work::Params(params) => {
                let Value::I64(key) = params[1] else { unreachable!("the key is the second parameter") };
                server.calls.push(key);
                1
            }
            Work::Rows { columns, payload } => {
                let keys = payload.bytes.chunks(8).map(|key| i64::from_le_bytes(key.try_into().unwrap()));
                server.rows.extend(keys);
                assert_eq!(columns.rows as u64, payload.rows);
                payload.rows
            }
            Work::Extract { .. } => unreachable!("none is asked for"),
        };
        let outcome = if server.fails { Outcome::Overloaded } else { Outcome::Ok };
        self.sent.push(Done { ticket, done_ns: 0, outcome, rows, bytes: 8 });
        Submit::Queued
    }

    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        self.socket.set_nonblocking(until == 0).unwrap();
        let limit = std::time::Duration::from_millis(if until == Ns::MAX { 10_000 } else { 1 });
        self.socket.set_read_timeout(Some(limit)).unwrap();
        let mut events = [0; 1];
        if self.socket.read(&mut events).is_ok_and(|bytes| bytes == 1) {
            done.append(&mut self.sent);
        }
    }

    fn socket(&mut self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }

    fn failure(&mut self, ticket: Ticket) -> Option<String> {
        Some(format!("call {ticket} was too much"))
    }

    fn scan(&mut self, _: &Statement, _: &Columns, _: &mut dyn FnMut(&Columns)) -> Result<u64, Error> {
        Ok(self.server.lock().unwrap().rows.len() as u64)
    }

    fn close(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

fn plan() -> RunPlan {
    let op = |name: &str, kind: &str, more: serde_json::Value| {
        let mut op = serde_json::json!({"name": name, "kind": kind, "table": 0});
        op.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(op).unwrap()
    };
    let param = |name: &str| serde_json::json!({"name": name, "type": "i64", "gen": {"kind": "uniform", "from": 0, "to": 9}});
    let table = serde_json::json!({"name": "t", "stream": "t", "source": {"kind": "generated", "series": 1, "period_ns": 1},
        "columns": [{"name": "k", "type": "i64", "wire": "int8", "gen": {"kind": "sequence", "start": 1, "step": 1}}]});
    let target = serde_json::json!({"engine": "null", "url": "c"});
    let target = serde_json::from_value(target).unwrap();
    let mut plan = RunPlan::of_target(target, vec![serde_json::from_value(table).unwrap()]);
    plan.operations = vec![
        op("load", "insert", serde_json::json!({})),
        op("change", "execute", serde_json::json!({"does": "update", "params": [param("v"), param("k")]})),
        op("sum", "query", serde_json::json!({})),
    ];
    plan
}

/// Three servers as one, straight; and what each has of it.
fn sharded() -> (Sharded, Vec<Arc<Mutex<Server>>>) {
    let servers: Vec<Arc<Mutex<Server>>> = (0..SHARDS).map(|_| Arc::default()).collect();
    let ctx = Context { plan: Arc::new(plan()), clock: Clock::start(), stop: Arc::default() };
    let engine = |server: &Arc<Mutex<Server>>| Arc::new(Keeps(server.clone())) as Arc<dyn Engine>;
    let keys = vec![vec![("k".to_owned(), "int8".to_owned())]];
    (Sharded { ctx, shards: servers.iter().map(engine).collect(), coordinator: None, keys }, servers)
}

fn rows(keys: &[i64]) -> Columns {
    let mut columns = Columns::of(&plan().tables[0]);
    columns.columns[0].values = Values::I64(keys.to_vec());
    columns.rows = keys.len();
    columns
}

/// By the loader's rule, of a column as it stands in a batch.
fn shard_of(keys: &[i64]) -> Vec<u32> {
    let key = [("k".to_owned(), "int8".to_owned())];
    let placement = Placement::new(&Rule::default(), &plan().tables[0].columns, &key, SHARDS as u32).unwrap();
    let (mut numbers, mut found) = (Vec::new(), Vec::new());
    placement.shards_of(&rows(keys), &mut numbers, &mut found).unwrap();
    found
}

fn answer(server: &Arc<Mutex<Server>>) {
    server.lock().unwrap().answers.as_mut().unwrap().write_all(&[1]).unwrap();
}

fn call(session: &mut dyn Session, ticket: Ticket, key: i64) {
    session.submit(ticket, 1, Work::Params(&[Value::I64(-7), Value::I64(key)]));
}

#[test]
fn rows_and_calls_go_where_the_loader_would_place_their_key() {
    let (sharded, servers) = sharded();
    let mut session = sharded.open(&[0, 1]).unwrap();
    let keys: Vec<i64> = (0..200).collect();
    let (batch, mut payload, mut done) = (rows(&keys), Payload::default(), Vec::new());
    session.encode(0, &batch, &mut payload).unwrap();
    session.submit(1, 0, Work::Rows { columns: &batch, payload: &payload });
    servers.iter().for_each(answer);
    session.poll(Ns::MAX, &mut done);
    assert_eq!(
        done.iter().map(|done| (done.ticket, done.outcome, done.rows)).collect::<Vec<_>>(),
        [(1, Outcome::Ok, 200)]
    );
    for (ticket, key) in (2..).zip(keys.iter().copied()) {
        call(session.as_mut(), ticket, key);
        answer(&servers[shard_of(&[key])[0] as usize]);
        done.clear();
        session.poll(Ns::MAX, &mut done);
        assert_eq!(done[0].ticket, ticket);
    }
    let placed: HashMap<i64, u32> = keys.iter().copied().zip(shard_of(&keys)).collect();
    for (at, server) in (0..).zip(&servers) {
        let server = server.lock().unwrap();
        let own: Vec<i64> = keys.iter().copied().filter(|key| placed[key] == at).collect();
        assert!(own.len() > 20, "every shard has its share: {own:?}");
        assert_eq!((&server.rows, &server.calls), (&own, &own));
    }
    assert_eq!(session.scan(&Statement::default(), &batch, &mut |_| ()).unwrap(), 200);
}

#[test]
fn the_answer_that_comes_first_is_handed_over_first_whichever_call_was_first() {
    let (sharded, servers) = sharded();
    let mut session = sharded.open(&[1]).unwrap();
    let key_of = |at: u32| (0..).find(|key| shard_of(&[*key])[0] == at).unwrap();
    let mut done = Vec::new();
    call(session.as_mut(), 1, key_of(0));
    call(session.as_mut(), 2, key_of(1));
    call(session.as_mut(), 3, key_of(2));
    session.poll(1, &mut done);
    assert!(done.is_empty(), "no server has answered: {done:?}");
    answer(&servers[2]);
    session.poll(Ns::MAX, &mut done);
    assert_eq!(done.iter().map(|done| done.ticket).collect::<Vec<_>>(), [3]);
    answer(&servers[1]);
    answer(&servers[0]);
    while done.len() < 3 {
        session.poll(Ns::MAX, &mut done);
    }
    assert_eq!(
        done[1..].iter().map(|done| done.ticket).collect::<std::collections::BTreeSet<_>>(),
        [1, 2].into()
    );
    session.poll(Ns::MAX, &mut done);
    assert_eq!(done.len(), 3, "nothing is in flight, so that nothing is waited for");
}

#[test]
fn a_batch_that_one_shard_refuses_has_failed_and_says_why() {
    let (sharded, servers) = sharded();
    let mut session = sharded.open(&[0]).unwrap();
    servers[1].lock().unwrap().fails = true;
    let (batch, mut payload, mut done) = (rows(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), Payload::default(), Vec::new());
    session.encode(0, &batch, &mut payload).unwrap();
    session.submit(4, 0, Work::Rows { columns: &batch, payload: &payload });
    answer(&servers[1]);
    answer(&servers[0]);
    session.poll(50_000_000, &mut done);
    assert!(done.is_empty(), "a part of it is on its way");
    answer(&servers[2]);
    session.poll(Ns::MAX, &mut done);
    assert_eq!((done.len(), done[0].ticket, done[0].outcome), (1, 4, Outcome::Overloaded));
    assert_eq!(session.failure(4).as_deref(), Some("call 4 was too much"));
    assert!(!sharded.caps().inserts_whole, "the other shards have stored their parts");
}

#[test]
fn what_is_no_call_by_key_has_no_shard() {
    let (sharded, _) = sharded();
    let refused = sharded.open(&[2]).err().expect("a sum is over all rows").to_string();
    assert!(refused.contains("operation sum") && !refused.contains('\n'), "{refused}");
}

#[test]
fn statements_go_to_all_and_numbers_are_added_where_they_are_asked_for_so() {
    let (sharded, servers) = sharded();
    servers[0].lock().unwrap().rows = vec![1, 2];
    servers[2].lock().unwrap().rows = vec![3];
    let of = |answer: Answer| {
        answer.rows.into_iter().map(|row| inrush_rows::rows::value_text(&row[1])).collect::<Vec<_>>()
    };
    assert_eq!(of(sharded.control("n", 0).unwrap()), ["2", "0", "1"]);
    assert_eq!(of(sharded.ask_sums(&Statement::from("n"), 0).unwrap()), ["3"]);
    assert!(servers.iter().all(|server| server.lock().unwrap().calls.len() == 2));
}
