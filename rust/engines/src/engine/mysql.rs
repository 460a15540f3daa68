//! MySQL and MariaDB: one blocking socket per session, packets made and read by hand. One wire, two engines.
//!
//! Rows go in by LOAD DATA LOCAL from memory (`load`), by prepared INSERTs of many rows (`multirow`), on MariaDB by
//! its bulk execute (`bulk`); an operation is done when its commit is acknowledged. Queries are prepared and may be
//! pipelined; each is a transaction of its own.

mod address;
mod auth;
mod connection;
mod decode;
mod failure;
#[cfg(test)]
mod fuzz;
mod insert;
mod message;
mod session;
mod written;

use std::io;
use std::sync::Arc;

pub use address::Address;

use connection::{garbled, Connection};
use failure::Failure;

use super::messages::{await_message, Control, Messages};
use super::shared::StatementLimit;
use super::{Answer, Caps, Context, Engine, OpId, Session};
use inrush_rows::error::Error;

/// Calls of one session in flight: queries, sent one behind the other.
pub const MAX_DEPTH: u32 = 1024;

pub struct Mysql {
    ctx: Context,
    address: Arc<Address>,
    /// For statements off the figures; opened again after the server was restarted.
    control: Control<Connection>,
}

impl Mysql {
    /// Connects once: a wrong port, password or database shows here, and a server of the other kind.
    pub fn new(ctx: &Context) -> Result<Mysql, Error> {
        let target = &ctx.plan.target;
        let address = Address::parse(&target.engine, &target.url)?.with_session(&target.options)?;
        let address = Arc::new(address);
        let control = Control::new(Connection::open(&address)?);
        Ok(Mysql { ctx: ctx.clone(), address, control })
    }
}

impl Engine for Mysql {
    fn caps(&self) -> Caps {
        Caps { max_depth: MAX_DEPTH, inserts_whole: true, ..Caps::default() }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::MySession::open(&self.ctx, &self.address, ops)?))
    }

    fn extracts(&self) -> bool {
        true
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        let open = || Connection::open(&self.address);
        self.control.ask(&self.address.to_string(), limit_ns, open, |connection| {
            text_query(connection, &self.address, text, limit_ns)
        })
    }
}

/// One text, several statements if need be; the last result set is the answer.
fn text_query(
    connection: &mut Connection,
    address: &Address,
    text: &str,
    limit_ns: u64,
) -> Result<Answer, Error> {
    let mut limit = StatementLimit::new(limit_ns);
    let mut out = Vec::new();
    message::query(&mut out, text);
    connection.send(&out).map_err(|e| lost(address, &e))?;
    match answers(connection, address, text, &mut limit)? {
        Ok(answer) => Ok(answer),
        Err(failure) if limit.has_cancelled(failure.outcome()) => Err(limit.cancelled(text)),
        Err(failure) => Err(statement_failed(address, text, &failure.to_string())),
    }
}

fn answers(
    connection: &mut Connection,
    address: &Address,
    text: &str,
    limit: &mut StatementLimit,
) -> Result<Result<Answer, Failure>, Error> {
    let lost = |e: io::Error| lost(address, &e);
    let mut last = Answer::default();
    loop {
        let packet = next(connection, address, text, limit)?;
        let columns = match packet.first() {
            Some(0xff) => return Ok(Err(Failure::read(packet))),
            // LOAD DATA LOCAL has no place in a control statement: an empty file, so that the server goes on.
            Some(0xfb) => {
                connection.send_file(&[]).map_err(lost)?;
                continue;
            }
            Some(0x00) => 0,
            _ => decode::column_count(packet).ok_or_else(|| lost(garbled()))?,
        };
        let more = if columns == 0 {
            decode::okay(packet)
        } else {
            let mut described = Vec::new();
            for _ in 0..columns {
                let packet = next(connection, address, text, limit)?;
                described.push(decode::column(packet).ok_or_else(|| lost(garbled()))?);
            }
            last = Answer { names: described.iter().map(|c| c.name.clone()).collect(), rows: Vec::new() };
            loop {
                let packet = next(connection, address, text, limit)?;
                match packet.first() {
                    Some(0xff) => return Ok(Err(Failure::read(packet))),
                    _ if decode::ends_rows(packet) => break decode::okay(packet),
                    _ => last.rows.push(decode::text_row(packet, &described).ok_or_else(|| lost(garbled()))?),
                }
            }
        };
        if !more.ok_or_else(|| lost(garbled()))?.more {
            return Ok(Ok(last));
        }
    }
}

/// The next packet of an answer, waited for in steps.
fn next<'a>(
    connection: &'a mut Connection,
    address: &Address,
    text: &str,
    limit: &mut StatementLimit,
) -> Result<&'a [u8], Error> {
    await_message(connection, limit, |c| c.canceller()(), text, &address.to_string())?;
    connection.receive().map_err(|e| lost(address, &e))
}

fn lost(address: &Address, error: &io::Error) -> Error {
    super::shared::lost(&address.to_string(), error)
}

fn statement_failed(address: &Address, statement: &str, message: &str) -> Error {
    Error::Statement {
        target: address.to_string(),
        statement: statement.to_owned(),
        message: message.to_owned(),
    }
}
