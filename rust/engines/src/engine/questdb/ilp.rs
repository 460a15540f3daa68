//! A session whose inserts are requests of the line protocol: a kept HTTP connection with one request on its way.
//!
//! A request is one transaction of its table: it is done when it is in the table's log (204), or refused as a whole.

use std::time::Instant;

use serde::Deserialize;

use super::meaning;
use crate::engine::http::exchange::{Exchange, Flight};
use crate::engine::http::{Client, HttpError};
use crate::engine::shared::{columns_of, depth, send_limit};
use crate::engine::socket::CONNECT;
use crate::engine::{Canceller, Context, Done, Ns, OpId, Outcome, Payload, Session, Submit, Ticket, Work};
use inrush_rows::encode::line::Ilp;
use inrush_rows::encode::{Part, PART_ROWS};
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::plan::Statement;
use inrush_rows::rows::Columns;

/// Version of the protocol that has floats and lists in binary: QuestDB 9.0 or later.
const BINARY: u32 = 2;

/// Whether what listens there takes the lines that are sent; an error otherwise.
pub fn introduce(client: &mut Client) -> Result<(), Error> {
    let until = Some(Instant::now() + CONNECT);
    client.send("GET", "/settings", &[], until).map_err(|http_error| http_error.error(client.place()))?;
    introduced(client, until)
}

/// The same of the answer.
fn introduced(client: &mut Client, until: Option<Instant>) -> Result<(), Error> {
    #[derive(Default, Deserialize)]
    struct Settings {
        #[serde(default)]
        config: Config,
    }
    #[derive(Default, Deserialize)]
    struct Config {
        #[serde(default, rename = "line.proto.support.versions")]
        versions: Vec<u32>,
    }
    let mut body = Vec::new();
    let read = client.receive(until).and_then(|status| client.read_all(&mut body, until).map(|()| status));
    let status = read.map_err(|http_error| http_error.error(client.place()))?;
    let settings: Settings = serde_json::from_slice(&body).unwrap_or_default();
    let (class, message) = match outcome(status, "") {
        Outcome::Auth => (TargetFault::Auth, "HTTP refuses the user; check user and password".to_owned()),
        _ if settings.config.versions.contains(&BINARY) => return Ok(()),
        _ => {
            let port = client.place().port;
            let message = format!(
                "what listens on port {port} is not the HTTP of QuestDB 9.0 or later, which method ilp needs; add \
                 http=PORT to the URL, or take method multirow"
            );
            (TargetFault::Other, message)
        }
    };
    Err(Error::Target { target: client.place().target.clone(), class, message })
}

pub struct IlpSession {
    ctx: Context,
    /// The body of an answer is nothing, or why there are no rows.
    exchange: Exchange,
    /// By operation; `None` for those that this session does not use.
    encoders: Vec<Option<Box<Ilp>>>,
}

impl IlpSession {
    pub fn open(ctx: &Context, mut client: Client, ops: &[OpId]) -> Result<IlpSession, Error> {
        let calls = depth(ctx, ops);
        if calls > 1 {
            return Err(Error::Plan(format!(
                "depth {calls}: a session of method ilp has one call in flight; lower it, or use more sessions"
            )));
        }
        client.limit_sends(send_limit(ctx, ops));
        client.connect()?;
        let mut encoders: Vec<Option<Box<Ilp>>> = ctx.plan.operations.iter().map(|_| None).collect();
        for &op in ops {
            columns_of(ctx, ctx.op(op))?;
            let table = ctx.op(op).table.expect("`columns_of` found it");
            encoders[op] = Some(Box::new(Ilp::new(&ctx.plan.tables[table])));
        }
        Ok(IlpSession { ctx: ctx.clone(), exchange: Exchange::new(client, ctx.clock), encoders })
    }

    /// The answer is complete.
    fn finish(&mut self, flight: Flight, done_ns: Ns) {
        let Flight { ticket, rows, bytes, status, .. } = flight;
        if matches!(status, 200 | 204) {
            self.exchange.end(Done { ticket, done_ns, outcome: Outcome::Ok, rows, bytes });
            return;
        }
        let message = refusal(status, &self.exchange.body);
        let outcome = outcome(status, &message);
        self.exchange.fail(message);
        self.exchange.end(Done { ticket, done_ns, outcome, rows: 0, bytes });
    }
}

/// From the body of a refusal, `{"code":"…","message":"…","line":2,"errorId":"…"}`.
fn refusal(status: u16, body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        message: String,
    }
    let said = match serde_json::from_slice::<Refusal>(body) {
        Ok(refusal) => refusal.message,
        Err(_) => format!("HTTP {status}: {}", String::from_utf8_lossy(body)),
    };
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn outcome(status: u16, message: &str) -> Outcome {
    match status {
        401 | 403 => Outcome::Auth,
        413 => Outcome::TooLarge,
        _ => meaning(message),
    }
}

impl Session for IlpSession {
    fn part_rows(&self, _op: OpId) -> Option<usize> {
        Some(PART_ROWS)
    }

    fn encode_part(&mut self, op: OpId, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        match &mut self.encoders[op] {
            Some(encoder) => out.encode_part(encoder.as_mut(), rows, part),
            None => Err(Error::Plan(format!("operation {} takes no rows", self.ctx.op(op).name))),
        }
    }

    fn submit(&mut self, ticket: Ticket, op: OpId, work: Work<'_>) -> Submit {
        if !self.exchange.is_free() {
            return Submit::Full;
        }
        let (rows, bytes, sent) = match work {
            Work::Rows { payload, .. } => {
                // Times bear their own unit.
                let sent = self.exchange.client.send("POST", "/write", &[&payload.bytes], None);
                (payload.rows, payload.bytes.len() as u64, sent)
            }
            Work::Params(_) | Work::Extract { .. } => {
                (0, 0, Err(HttpError::Garbled("the operation takes rows, not parameters")))
            }
        };
        self.exchange.begin(Flight::new(ticket, op, rows, bytes), sent);
        Submit::Queued
    }

    fn poll(&mut self, until: Ns, done: &mut Vec<Done>) {
        if let Some((flight, done_ns)) = self.exchange.receive(until) {
            self.finish(flight, done_ns);
        }
        self.exchange.hand_over(done);
    }

    fn failure(&mut self, _ticket: Ticket) -> Option<String> {
        self.exchange.failure()
    }

    fn scan(&mut self, _: &Statement, _: &Columns, _: &mut dyn FnMut(&Columns)) -> Result<u64, Error> {
        unreachable!("rows are read back on a session without operations, which is PostgreSQL's")
    }

    fn canceller(&self) -> Option<Canceller> {
        Some(self.exchange.canceller())
    }

    fn close(mut self: Box<Self>) -> Result<(), Error> {
        let mut done = Vec::new();
        while self.exchange.is_busy() {
            self.poll(Ns::MAX, &mut done);
        }
        self.exchange.acknowledged(&done)
    }
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::fuzz::{http, introduce_to, REFUSED};
    use super::*;
    use crate::engine::conversation::{context, keys};
    use crate::engine::postgresql::Address;
    use crate::engine::questdb::{client, SPEAKER};

    #[test]
    fn a_refusal_is_one_line_with_its_outcome() {
        let message = refusal(400, REFUSED);
        assert!(
            message.starts_with("failed to parse line protocol:") && !message.contains('\n'),
            "{message}"
        );
        assert_eq!(outcome(400, &message), Outcome::Undefined);
        assert_eq!(refusal(502, b"<html>bad\ngateway</html>"), "HTTP 502: <html>bad gateway</html>");
        assert_eq!(outcome(401, ""), Outcome::Auth);
        assert_eq!(outcome(413, ""), Outcome::TooLarge);
    }

    #[test]
    fn what_does_not_take_the_lines_is_refused_with_its_remedy() {
        let of = |status: &str, body: &[u8]| introduce_to(&http(status, body)).map_err(|e| e.to_string());
        assert_eq!(of("200 OK", br#"{"config":{"line.proto.support.versions":[1,2,3]}}"#), Ok(()));
        for (status, body) in [("200 OK", "{\"config\":{}}"), ("404 Not Found", ""), ("200 OK", "<html>")] {
            assert!(of(status, body.as_bytes()).unwrap_err().contains("http=PORT"), "{status} {body}");
        }
        assert!(of("401 Unauthorized", b"").unwrap_err().contains("check user and password"));
    }

    /// Takes a request on each connection in turn: the first is stored, the second cut, the third refused.
    fn answers_in_turn(listener: &TcpListener) {
        let stored = http("204 OK", b"");
        let refused = http("400 Bad request", REFUSED);
        let mut room = [0; 4096];
        let mut kept = listener.accept().unwrap().0;
        assert!(kept.read(&mut room).unwrap() > 0);
        kept.write_all(&stored).unwrap();
        assert!(kept.read(&mut room).unwrap() > 0);
        drop(kept);
        let mut next = listener.accept().unwrap().0;
        assert!(next.read(&mut room).unwrap() > 0);
        next.write_all(&refused).unwrap();
        // Until the session has closed it.
        let _ = next.read(&mut room);
    }

    #[test]
    fn a_session_goes_on_behind_a_lost_connection_and_a_refusal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || answers_in_turn(&listener));
        let url = format!("questdb://127.0.0.1:1/?http={port}");
        let operations =
            serde_json::json!([{"name": "w", "kind": "insert", "table": 0, "method": "ilp", "text": "t"}]);
        let ctx = context("questdb", &url, keys("t", ""), operations, 1);
        let client = client(&Address::of(&url, &SPEAKER).unwrap()).unwrap();
        let mut session = IlpSession::open(&ctx, client, &[0]).unwrap();
        let columns = Columns::of(&ctx.plan.tables[0]);
        let payload = Payload { bytes: b"t k=1i\n".to_vec(), rows: 1, ..Payload::default() };
        let mut call = |ticket| {
            let mut done = Vec::new();
            let work = Work::Rows { columns: &columns, payload: &payload };
            assert!(matches!(session.submit(ticket, 0, work), Submit::Queued));
            while done.is_empty() {
                session.poll(Ns::MAX, &mut done);
            }
            (done[0].outcome, done[0].rows, session.failure(ticket).unwrap_or_default())
        };
        assert_eq!(call(1), (Outcome::Ok, 1, String::new()));
        let (outcome, rows, _) = call(2);
        assert_eq!((outcome, rows), (Outcome::Lost, 0));
        let (outcome, rows, why) = call(3);
        assert_eq!((outcome, rows), (Outcome::Undefined, 0));
        assert!(why.contains("column: nowhere does not exist"), "{why}");
        drop(session);
        server.join().unwrap();
    }
}
