//! A call of kind `extract`: rows of a statement, read off the wire as the server sends them.

use std::io;

use super::prepare::{Extract, Prepared, Statement, Way};
use super::reading::Reading;
use super::MySession;
use crate::engine::extract::{Extraction, Sink};
use crate::engine::messages::{self, Came, Messages};
use crate::engine::mysql::connection::garbled;
use crate::engine::mysql::decode;
use crate::engine::mysql::failure::Failure;
use crate::engine::mysql::message;
use crate::engine::{OpId, Outcome, Ticket};
use inrush_rows::rows::Value;

impl MySession {
    /// Runs the call to its end, and reports how it ended.
    pub(super) fn extract(&mut self, ticket: Ticket, op: OpId, params: &[Value], sink: &mut dyn Sink) {
        if let Err(error) = messages::drain(self) {
            return self.ended.lose(ticket, Outcome::Lost, 0, 0, &error);
        }
        let Some(Prepared::Extract(mut extract)) = self.ops[op].take() else {
            unreachable!("the driver submits what it has opened")
        };
        self.outbox.clear();
        let asked = match &extract.way {
            Way::Binary(Statement { id, types, .. }) => {
                message::execute(&mut self.outbox, *id, types, params)
            }
            Way::Cursor { statement: Statement { id, types, .. }, .. } => {
                message::execute_cursor(&mut self.outbox, *id, types, params)
            }
            Way::Text(written) => written.fill(params).map(|text| message::query(&mut self.outbox, &text)),
        };
        let came = match asked {
            Ok(()) => self.connection.send(&self.outbox).and_then(|()| self.read_all(&mut extract, sink)),
            Err(why) => Ok(Came { outcome: Outcome::Other, rows: 0, bytes: 0, why: Some(why) }),
        };
        self.outbox.clear();
        self.ops[op] = Some(Prepared::Extract(extract));
        self.ended.came(ticket, came);
    }

    fn read_all(&mut self, extract: &mut Extract, sink: &mut dyn Sink) -> io::Result<Came> {
        let wanted = extract.batch.columns.len();
        let push_row = match extract.way {
            Way::Binary(_) | Way::Cursor { .. } => decode::push_row,
            Way::Text(_) => decode::push_text_row,
        };
        let mut extraction = Extraction::new(&mut extract.batch, sink);
        let (mut reading, mut bytes, mut wrong) = (Reading::Head, 0u64, None);
        let leaves_out = self.connection.leaves_out();
        loop {
            let packet = self.connection.receive()?;
            if packet.first() == Some(&0xff) {
                let failure = Failure::read(packet);
                let (outcome, why) = (failure.outcome(), Some(failure.to_string()));
                return Ok(Came { outcome, rows: 0, bytes, why });
            }
            match reading {
                Reading::Head => {
                    let head = decode::head(packet, leaves_out).filter(|head| head.columns > 0);
                    let head = head.ok_or_else(garbled)?;
                    // An answer that is described brings its own.
                    if !head.described {
                        self.columns.clone_from(&extract.columns);
                    }
                    reading = Reading::behind_head(&head, &mut self.columns).ok_or_else(garbled)?;
                    wrong = reading.miscounted(self.columns.len(), wanted);
                }
                Reading::Columns(_) => {
                    self.columns.push(decode::column(packet).ok_or_else(garbled)?);
                    reading = reading.behind_column();
                    wrong = reading.miscounted(self.columns.len(), wanted);
                }
                Reading::Rows if decode::ends_rows(packet) => {
                    let okay = decode::okay(packet).ok_or_else(garbled)?;
                    match &extract.way {
                        // Also before the first fetch. A server without a cursor for it has sent all rows.
                        Way::Cursor { statement, fetch_rows } if okay.cursor && !okay.last_fetched => {
                            self.outbox.clear();
                            message::fetch(&mut self.outbox, statement.id, *fetch_rows);
                            self.connection.send(&self.outbox)?;
                        }
                        _ => break,
                    }
                }
                Reading::Rows => {
                    bytes += packet.len() as u64;
                    if wrong.is_none() {
                        wrong = push_row(packet, &self.columns, extraction.batch).err();
                        extraction.added();
                    }
                }
            }
        }
        let outcome = if wrong.is_some() { Outcome::Wrong } else { Outcome::Ok };
        Ok(Came { outcome, rows: extraction.end(), bytes, why: wrong })
    }
}
