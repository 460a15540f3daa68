//! PostgreSQL: one blocking socket per session, messages made and read by hand.
//!
//! Rows go in by binary COPY (`bulk`), by prepared INSERTs of many rows (`multirow`) or from arrays (`unnest`);
//! an operation is done when its commit is acknowledged. Queries are prepared, bound in binary and may be
//! pipelined: all that was submitted before a `flush` shares one Sync, which to PostgreSQL is one transaction.

mod address;
mod binding;
mod choice;
mod connection;
mod copied;
mod decode;
mod extract;
mod failure;
#[cfg(test)]
mod fuzz;
mod insert;
mod message;
mod session;
mod speaker;
mod spelled;

use std::sync::Arc;

pub use address::Address;
pub use failure::Failure;
pub use speaker::{Speaker, POSTGRESQL};
pub use spelled::{socket_file, Spelled};

use connection::Connection;
use decode::AnswerColumn;

use super::messages::{await_message, Control, Messages};
use super::secrets::warn_once;
use super::shared::StatementLimit;
use super::{Answer, Caps, Context, Engine, OpId, Session};
use inrush_rows::error::{Error, TargetFault};

/// Calls of one session in flight.
pub const MAX_DEPTH: u32 = 1024;

pub struct Postgresql {
    ctx: Context,
    address: Arc<Address>,
    /// For statements off the figures; opened again after the server was restarted.
    control: Control<Connection>,
}

impl Postgresql {
    pub fn new(ctx: &Context) -> Result<Postgresql, Error> {
        Postgresql::speaking(ctx, &POSTGRESQL)
    }

    /// Connects once: a wrong port, password or database shows here. Of several hosts the one that answers is used by all
    /// sessions, so that the figures are those of one server.
    pub fn speaking(ctx: &Context, speaker: &'static Speaker) -> Result<Postgresql, Error> {
        let (mut address, connection) = choice::first(Address::all(&ctx.plan.target.url, speaker)?)?;
        // Who cannot copy is no PostgreSQL, and has none of its poolers.
        if address.pooled.is_none() && speaker.copies && connection.is_pooled() {
            address.pooled = Some(true);
            warn_once(format!(
                "{address}: a pooler stands before the server; each call sends its statement anew, for the next one may come to \
                 another session (?pooler=none: each connection has its own)"
            ));
        }
        let (address, control) = (Arc::new(address), Control::new(connection));
        Ok(Postgresql { ctx: ctx.clone(), address, control })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }
}

impl Engine for Postgresql {
    fn caps(&self) -> Caps {
        let reads_late = self.address.speaker.reads_late;
        Caps { max_depth: MAX_DEPTH, inserts_whole: true, tells_changes: true, reads_late, ..Caps::default() }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::PgSession::open(&self.ctx, &self.address, ops)?))
    }

    fn extracts(&self) -> bool {
        self.address.speaker.copies
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        let open = || Connection::open(&self.address);
        self.control.ask(&self.address.to_string(), limit_ns, open, |connection| {
            simple_query(connection, &self.address, text, limit_ns)
        })
    }
}

/// One text, several statements if need be; the last result set is the answer.
fn simple_query(
    connection: &mut Connection,
    address: &Address,
    text: &str,
    limit_ns: u64,
) -> Result<Answer, Error> {
    let lost = |e: std::io::Error| lost(address, &e);
    let mut out = Vec::new();
    message::query(&mut out, text);
    connection.send(&out).map_err(lost)?;

    let mut answer = Answer::default();
    let mut columns: Vec<AnswerColumn> = Vec::new();
    let mut failure: Option<Failure> = None;
    let (mut limit, target) = (StatementLimit::new(limit_ns), address.to_string());
    loop {
        await_message(connection, &mut limit, |c| c.canceller(address)(), text, &target)?;
        let (tag, body) = connection.receive().map_err(lost)?;
        match tag {
            b'T' => {
                columns = decode::row_description(body).ok_or_else(|| garbled(address))?;
                answer = Answer { names: columns.iter().map(|c| c.name.clone()).collect(), rows: Vec::new() };
            }
            b'D' => {
                let mut row = Vec::new();
                let read = decode::data_row(body, &columns, |_| message::Format::Text, &mut row);
                read.ok_or_else(|| garbled(address))?;
                answer.rows.push(row);
            }
            b'E' => failure = Some(Failure::read(body)),
            b'Z' => break,
            // COPY has no place in a control statement: refuse the data, so that the server goes on.
            b'G' => connection.send(b"f\0\0\0\x05\0").map_err(lost)?,
            _ => {}
        }
    }
    match failure {
        None => Ok(answer),
        Some(failure) if limit.has_cancelled((address.speaker.outcome)(&failure)) => {
            Err(limit.cancelled(text))
        }
        Some(failure) => Err(Error::Statement {
            target: address.to_string(),
            statement: text.to_owned(),
            message: failure.to_string(),
        }),
    }
}

fn lost(address: &Address, error: &std::io::Error) -> Error {
    super::shared::lost(&address.to_string(), error)
}

fn garbled(address: &Address) -> Error {
    Error::Target {
        target: address.to_string(),
        class: TargetFault::Other,
        message: "an answer could not be read; what listens there may be a proxy that is not PostgreSQL"
            .into(),
    }
}
