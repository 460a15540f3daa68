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
mod spelled;
mod written;

use std::io;
use std::sync::Arc;

pub use address::Address;
pub use spelled::Spelled;

use connection::{garbled, Connection};
use failure::Failure;

use super::messages::{await_message, Control, Messages};
use super::shared::StatementLimit;
use super::{Answer, Caps, Context, Engine, OpId, Outcome, Session};
use inrush_rows::error::Error;
use inrush_rows::rows::{value_text, Value};

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
        Caps { max_depth: MAX_DEPTH, inserts_whole: true, tells_changes: true, ..Caps::default() }
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
        Ok(answer) => match failed_rows(&answer) {
            None => Ok(answer),
            // Its row has no code: an error after the cancel is taken for the cancel's.
            Some(_) if limit.has_cancelled(Outcome::Timeout) => Err(limit.cancelled(text)),
            Some(message) => Err(statement_failed(address, text, &message)),
        },
        Err(failure) if limit.has_cancelled(failure.outcome()) => Err(limit.cancelled(text)),
        Err(failure) => Err(statement_failed(address, text, &failure.to_string())),
    }
}

/// Maintenance of tables (OPTIMIZE, ANALYZE, CHECK, REPAIR) that failed or was cancelled is answered by OK, and by rows that
/// say so.
fn failed_rows(answer: &Answer) -> Option<String> {
    if *answer.names != ["Table", "Op", "Msg_type", "Msg_text"] {
        return None;
    }
    let is = |value: &Value, word: &str| value_text(value).eq_ignore_ascii_case(word);
    let failed: Vec<String> = answer
        .rows
        .iter()
        .filter(|row| is(&row[2], "error") || (is(&row[2], "status") && is(&row[3], "Operation failed")))
        .map(|row| value_text(&row[3]))
        .collect();
    (!failed.is_empty()).then(|| failed.join(", "))
}

fn answers(
    connection: &mut Connection,
    address: &Address,
    text: &str,
    limit: &mut StatementLimit,
) -> Result<Result<Answer, Failure>, Error> {
    let lost = |e: io::Error| lost(address, &e);
    let (mut last, leaves_out) = (Answer::default(), connection.leaves_out());
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
            _ => decode::described_head(packet, leaves_out).ok_or_else(|| lost(garbled()))?,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_was_not_maintained_is_an_error_though_its_answer_is_ok() {
        let of = |names: [&str; 4], rows: &[(&str, &str)]| {
            let text = |t: &str| Value::Text(t.to_owned());
            let row =
                |(kind, said): &(&str, &str)| vec![text("d.t"), text("optimize"), text(kind), text(said)];
            failed_rows(&Answer {
                names: names.map(str::to_owned).into(),
                rows: rows.iter().map(row).collect(),
            })
        };
        let names = ["Table", "Op", "Msg_type", "Msg_text"];
        let note = ("note", "Table does not support optimize, doing recreate + analyze instead");
        let cut = [note, ("error", "Query execution was interrupted"), ("status", "Operation failed")];
        assert_eq!(of(names, &cut).as_deref(), Some("Query execution was interrupted, Operation failed"));
        assert_eq!(of(names, &[("Error", "The table is full")]).as_deref(), Some("The table is full"));
        assert_eq!(of(names, &[note, ("status", "OK")]), None);
        assert_eq!(of(["a", "b", "c", "d"], &cut), None, "rows of a user's own");
    }
}
