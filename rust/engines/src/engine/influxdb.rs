//! InfluxDB 1.x over HTTP: rows go in as line protocol, questions as InfluxQL, answers come back as JSON.
//!
//! A write is one request without compression and done with its 204. Answers are asked for in chunks, because a
//! server cuts other answers at a number of rows of its own, and with times in nanoseconds.

mod address;
mod answer;
mod failure;
#[cfg(test)]
mod fuzz;
mod session;
mod statement;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub use address::{spelled, Address};

use answer::Reader;
use failure::Failure;
use statement::Influxql;

use super::http::{Client, HttpError};
use super::url::escape;
use super::{Answer, Caps, Context, Engine, OpId, Session};
use inrush_rows::error::{AfterLimit, Error, TargetFault};
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::Statement;

/// A database of ours has this retention policy, and it is its default one. Twin of MARK in influxdb.py.
const MARK: &str = "made_by_inrush";

pub struct Influxdb {
    ctx: Context,
    address: Arc<Address>,
    /// For statements off the figures.
    control: Mutex<Client>,
}

impl Influxdb {
    /// Asks the server for its identity: a wrong port, password or database shows here.
    pub fn new(ctx: &Context) -> Result<Influxdb, Error> {
        let address = Arc::new(Address::parse(&ctx.plan.target.url)?);
        let mut client = address.client();
        client.connect()?;
        introduce(&mut client, &address)?;
        Ok(Influxdb { ctx: ctx.clone(), address, control: Mutex::new(client) })
    }
}

impl Engine for Influxdb {
    fn caps(&self) -> Caps {
        Caps {
            max_depth: 1,
            // The lines of a batch go to a shard for each stretch of time, each with a log of its own.
            inserts_whole: false,
            identity_collapses: true,
            reads_torn: true,
            tells_changes: false,
            reads_late: false,
        }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::InfluxSession::open(&self.ctx, &self.address, ops)?))
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        self.ask(&Statement::from(text), limit_ns)
    }

    fn ask(&self, statement: &Statement, limit_ns: u64) -> Result<Answer, Error> {
        let mut client = self.control.lock().unpoisoned();
        let until = (limit_ns > 0).then(|| Instant::now() + Duration::from_nanos(limit_ns));
        controlled(&mut client, &Influxql::of(statement), until).map_err(|failed| match failed {
            Failed::HttpError(HttpError::Late) => {
                client.forget(); // the server ends a query without a client
                Error::Deadline {
                    what: statement.text.clone(),
                    limit_s: limit_ns as f64 / 1e9,
                    after: AfterLimit::Unknown,
                }
            }
            Failed::HttpError(http_error) => http_error.error(client.place()),
            Failed::Failure(failure) => Error::Statement {
                target: self.address.to_string(),
                statement: statement.text.clone(),
                message: failure.message,
            },
        })
    }
}

/// Why a statement has no answer.
enum Failed {
    HttpError(HttpError),
    Failure(Failure),
}

impl From<HttpError> for Failed {
    fn from(http_error: HttpError) -> Failed {
        Failed::HttpError(http_error)
    }
}

fn introduce(client: &mut Client, address: &Address) -> Result<(), Error> {
    let until = Some(Instant::now() + super::socket::CONNECT);
    let refused = |class, message: String| Error::Target { target: address.to_string(), class, message };
    let asked = client.send("GET", "/ping", &[], until).and_then(|()| client.receive(until));
    asked.map_err(|http_error| http_error.error(client.place()))?;
    if client.header("X-Influxdb-Version").is_none() {
        let port = address.port;
        let message = format!("what listens on port {port} is not InfluxDB 1.x; is it its HTTP port?");
        return Err(refused(TargetFault::Other, message));
    }
    // Any question shows whether the user may ask; one of the database whether it is there.
    let question = match address.database.as_str() {
        "" => "SHOW DATABASES".to_owned(),
        database => format!("SHOW RETENTION POLICIES ON {}", quoted(database)),
    };
    match ask(client, None, &question, until, &mut Reader::kept()) {
        Ok(()) => Ok(()),
        Err(Failed::HttpError(http_error)) => Err(http_error.error(client.place())),
        Err(Failed::Failure(failure)) => Err(refused(failure.fault(), failure.with_remedy())),
    }
}

fn controlled(client: &mut Client, statement: &Influxql, until: Option<Instant>) -> Result<Answer, Failed> {
    if let Some(database) = statement.only_marked() {
        if !is_marked(client, database, until)? {
            return Ok(Answer::default());
        }
    }
    let mut reader = Reader::kept();
    ask(client, statement.database(), &statement.text(), until, &mut reader)?;
    Ok(statement.answer(reader.series(), &|_| None))
}

/// False when there is no such database. A database without inrush's mark is a failure.
fn is_marked(client: &mut Client, database: &str, until: Option<Instant>) -> Result<bool, Failed> {
    let mut reader = Reader::kept();
    match ask(client, None, &format!("SHOW RETENTION POLICIES ON {}", quoted(database)), until, &mut reader) {
        Err(Failed::Failure(failure)) if failure.is_missing() => return Ok(false),
        asked => asked?,
    }
    let marked = reader
        .series()
        .iter()
        .flat_map(|series| &series.values)
        .any(|row| row.first().and_then(serde_json::Value::as_str).is_some_and(|name| name == MARK));
    match marked {
        true => Ok(true),
        false => Err(Failed::Failure(Failure::of(format!(
            "database {database} does not bear the mark of inrush (retention policy {MARK}) and is left alone"
        )))),
    }
}

/// Asks one question and reads its whole answer.
fn ask(
    client: &mut Client,
    database: Option<&str>,
    text: &str,
    until: Option<Instant>,
    reader: &mut Reader,
) -> Result<(), Failed> {
    let mut path = String::new();
    query_path(database, text, &mut path);
    client.send("POST", &path, &[], until)?;
    let status = client.receive(until)?;
    while let Some(piece) = client.piece(until)? {
        reader.read(piece);
    }
    reader.end(status).map_err(Failed::Failure)
}

/// `/query` with its arguments: a statement is a part of the address, so that it needs no body.
fn query_path(database: Option<&str>, text: &str, path: &mut String) {
    path.clear();
    path.push_str("/query?epoch=ns&chunked=true");
    if let Some(database) = database {
        path.push_str("&db=");
        escape(database, path);
    }
    path.push_str("&q=");
    escape(text, path);
}

/// A name of InfluxQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
