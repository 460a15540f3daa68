//! A call of kind `extract`: sent, and read to its end.

use std::io;

use super::prepare::{Extract, Prepared, Way};
use super::PgSession;
use crate::engine::extract::{Extraction, Sink};
use crate::engine::messages::{self, Came, Messages};
use crate::engine::postgresql::copied::{push_data_row, CopyReader};
use crate::engine::postgresql::failure::Failure;
use crate::engine::postgresql::message;
use crate::engine::{OpId, Outcome, Ticket};
use inrush_rows::rows::Value;

impl PgSession {
    /// Runs the call to its end, and reports how it ended.
    pub(super) fn extract(&mut self, ticket: Ticket, op: OpId, params: &[Value], sink: &mut dyn Sink) {
        if let Err(error) = messages::drain(self) {
            return self.ended.lose(ticket, Outcome::Lost, 0, 0, &error);
        }
        let Some(Prepared::Extract(mut extract)) = self.ops[op].take() else {
            unreachable!("the driver submits what it has opened")
        };
        let came = match self.ask(&extract.way, params) {
            Ok(()) => self.read_all(&mut extract, sink),
            Err(Unsent::Unfit(message)) => {
                Ok(Came { outcome: Outcome::Other, rows: 0, bytes: 0, why: Some(message) })
            }
            Err(Unsent::Lost(error)) => Err(error),
        };
        self.ops[op] = Some(Prepared::Extract(extract));
        self.outbox.clear();
        self.ended.came(ticket, came);
    }

    fn ask(&mut self, way: &Way, params: &[Value]) -> Result<(), Unsent> {
        match way {
            Way::Copy { text, types } => {
                let mut query = String::from("COPY (");
                text.fill(params, types, &mut query).map_err(Unsent::Unfit)?;
                query.push_str(") TO STDOUT (FORMAT binary)");
                message::query(&mut self.outbox, &query);
            }
            Way::Rows { statement, fetch_rows } => {
                let (name, formats) = (&statement.name, &statement.formats);
                self.outbox.extend_from_slice(&statement.parse);
                message::bind(&mut self.outbox, name, params.len(), formats, |out| {
                    let mut params = params.iter().zip(&statement.types);
                    params.try_for_each(|(value, ty)| message::param(out, value, *ty))
                })
                .map_err(Unsent::Unfit)?;
                fetch(&mut self.outbox, *fetch_rows);
            }
        }
        self.connection.send(&self.outbox).map_err(Unsent::Lost)
    }

    fn read_all(&mut self, extract: &mut Extract, sink: &mut dyn Sink) -> io::Result<Came> {
        let Extract { way, batch } = extract;
        let (mut extraction, mut copy) = (Extraction::new(batch, sink), CopyReader::new());
        let (mut bytes, mut ended) = (0u64, false);
        let (mut wrong, mut failure): (Option<String>, Option<Failure>) = (None, None);
        let copies = matches!(way, Way::Copy { .. });
        loop {
            let tag = if copies { b'd' } else { b'D' };
            // All that is there, without a look at each message by itself.
            bytes += self.connection.each_there(tag, |body| {
                if wrong.is_some() {
                    return;
                }
                let pushed = match copies {
                    true => copy.read(body, extraction.batch),
                    false => push_data_row(body, extraction.batch),
                };
                wrong = pushed.err();
                extraction.added();
            });
            if self.connection.may_start_with(tag) {
                self.connection.fill_soon()?;
                continue;
            }
            let (tag, body) = self.connection.receive()?;
            match (tag, &*way) {
                (b's', Way::Rows { fetch_rows, .. }) => {
                    self.outbox.clear();
                    fetch(&mut self.outbox, *fetch_rows);
                    self.connection.send(&self.outbox)?;
                }
                (b'C', _) => {
                    ended = true;
                    self.close_fetches(way)?;
                }
                (b'E', _) => {
                    failure = Some(Failure::read(body));
                    self.close_fetches(way)?;
                }
                (b'Z', _) => break,
                _ => {}
            }
        }
        if let Some(failure) = failure {
            let outcome = (self.address.speaker.outcome)(&failure);
            return Ok(Came { outcome, rows: 0, bytes, why: Some(failure.to_string()) });
        }
        if wrong.is_none() && !(ended && (copy.is_complete() || !copies)) {
            wrong = Some("the answer ended before its last row".into());
        }
        let rows = extraction.end();
        let outcome = if wrong.is_some() { Outcome::Wrong } else { Outcome::Ok };
        Ok(Came { outcome, rows, bytes, why: wrong })
    }

    /// Between fetches there was no Sync, for it would have closed the portal.
    fn close_fetches(&mut self, way: &Way) -> io::Result<()> {
        match way {
            Way::Rows { fetch_rows, .. } if *fetch_rows > 0 => {
                self.outbox.clear();
                message::sync(&mut self.outbox);
                self.connection.send(&self.outbox)
            }
            _ => Ok(()),
        }
    }
}

/// The next rows of the portal; 0: all of them, and the end of the call.
fn fetch(out: &mut Vec<u8>, rows: u32) {
    message::execute_rows(out, rows);
    match rows {
        0 => message::sync(out),
        _ => message::flush(out),
    }
}

/// Why a call was not sent.
enum Unsent {
    Unfit(String),
    Lost(io::Error),
}
