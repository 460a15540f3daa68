//! ClickHouse over its HTTP interface, which servers of 2018 and of today share.
//!
//! Rows go in as the body of an INSERT, in the format that the method names; an operation is done when the server
//! says that it has stored them. Queries, statements and scans are answered in Native, whose blocks carry names and
//! types and are exact for every number. One connection per session, one request at a time.

mod address;
mod decode;
mod failure;
mod request;
mod session;
mod statement;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use address::Address;
use decode::{AnswerReader, Reader, Stream};
use failure::Failure;
use request::Requests;

use super::http::{Client, Trouble};
use super::{Answer, Caps, Context, Engine, OpId, Session};
use crate::error::Error;

pub struct Clickhouse {
    ctx: Context,
    address: Arc<Address>,
    /// For statements off the figures.
    control: Mutex<Control>,
}

struct Control {
    client: Client,
    requests: Requests,
}

/// What a server is given to end a statement that was cancelled, and to say so.
const CANCEL: Duration = Duration::from_secs(5);

impl Clickhouse {
    /// Connects once: a wrong port, password or database shows here.
    pub fn new(ctx: &Context) -> Result<Clickhouse, Error> {
        let target = &ctx.plan.target;
        let address = Arc::new(Address::parse(&target.url, &target.options)?);
        let mut control = Control { client: address.client(), requests: Requests::new(&address) };
        control.client.connect()?;
        control.ask(&address, "SELECT 1", Some(Instant::now() + CANCEL), true)?;
        Ok(Clickhouse { ctx: ctx.clone(), address, control: Mutex::new(control) })
    }
}

impl Engine for Clickhouse {
    fn caps(&self) -> Caps {
        Caps {
            methods: vec!["native", "rowbinary", "tsv", "values"],
            max_sessions: None,
            max_depth: 1,
            cancel: true,
            transactions: false,
            identity_collapses: false,
            reads_torn: false,
            in_process: false,
        }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::ChSession::open(&self.ctx, &self.address, ops)?))
    }

    /// Several statements stand behind one another with `;`; the first that fails ends them, the last one's answer is given.
    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        let mut control = self.control.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let until = (limit_ns > 0).then(|| Instant::now() + Duration::from_nanos(limit_ns));
        let mut answer = Answer::default();
        for one in statement::split(text) {
            answer = control.ask(&self.address, one, until, false).map_err(|error| match error {
                Error::Deadline { what, .. } => Error::Deadline { what, limit_s: limit_ns as f64 / 1e9 },
                error => error,
            })?;
        }
        Ok(answer)
    }
}

impl Control {
    /// `connecting`: a refusal is the target's fault, not the statement's.
    fn ask(
        &mut self,
        address: &Address,
        text: &str,
        until: Option<Instant>,
        connecting: bool,
    ) -> Result<Answer, Error> {
        self.requests.next_query();
        let asked = exchange(&mut self.client, self.requests.path(), text, until);
        match asked {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(failure)) if connecting => Err(failure.on_connect(address)),
            Ok(Err(failure)) => Err(statement_failed(address, text, &failure.to_string())),
            Err(Trouble::Late) => {
                self.client.forget();
                address.kill(&self.requests.own_queries(), CANCEL);
                Err(Error::Deadline { what: text.to_owned(), limit_s: 0.0 })
            }
            Err(trouble) => Err(trouble.error(&address.place)),
        }
    }
}

/// One statement and its whole answer.
fn exchange(
    client: &mut Client,
    path: &str,
    text: &str,
    until: Option<Instant>,
) -> Result<Result<Answer, Failure>, Trouble> {
    client.send("POST", path, &[text.as_bytes()], until)?;
    client.receive(until)?;
    let mut reader = AnswerReader::default();
    let read = read_blocks(client, &mut Stream::default(), until, &mut reader)?;
    Ok(read.map(|_| reader.answer))
}

/// Hands the blocks of an answer whose head has come to `reader`. Gives its bytes, or what the server says instead.
fn read_blocks(
    client: &mut Client,
    stream: &mut Stream,
    until: Option<Instant>,
    reader: &mut dyn Reader,
) -> Result<Result<u64, Failure>, Trouble> {
    stream.buffer().clear();
    if client.status() != 200 {
        let code = client.header("X-ClickHouse-Exception-Code").and_then(|code| code.parse().ok());
        client.read_all(stream.buffer(), until)?;
        return Ok(Err(Failure::read(client.status(), code, stream.buffer())));
    }
    let mut bytes = 0;
    while let Some(piece) = client.piece(until)? {
        bytes += piece.len() as u64;
        stream.buffer().extend_from_slice(piece);
        if let Err(failure) = stream.read(reader) {
            // The rest of an answer that cannot be read is of no use.
            client.forget();
            return Ok(Err(failure));
        }
    }
    Ok(stream.end().map(|()| bytes))
}

fn statement_failed(address: &Address, statement: &str, message: &str) -> Error {
    Error::Statement {
        target: address.place.target.clone(),
        statement: statement.to_owned(),
        message: message.to_owned(),
    }
}
