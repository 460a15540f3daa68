//! What comes back of a request, read to its end.

use super::prepare::{Kind, Prepared};
use super::{ChSession, Ended, Flight};
use crate::engine::clickhouse::decode::{AnswerReader, CountReader};
use crate::engine::clickhouse::extract::ExtractReader;
use crate::engine::clickhouse::failure::Failure;
use crate::engine::clickhouse::rowbinary::RowReader;
use crate::engine::clickhouse::{read_blocks, read_pieces};
use crate::engine::extract::{Extraction, Sink};
use crate::engine::http::HttpError;
use crate::engine::{Answer, OpId, Outcome, Ticket};
use inrush_rows::rows::Value;

impl ChSession {
    /// Reads the answer to its end.
    pub(super) fn read_answer(&mut self, flight: &Flight) -> Result<Ended, HttpError> {
        let kind = match &self.ops[flight.op] {
            Some(Prepared::Statement { kind: Kind::Counted, .. }) if self.keep_answers => Kind::Kept,
            Some(Prepared::Statement { kind, .. }) => *kind,
            // Nothing comes back but a failure that the server had no other place for.
            _ => {
                let read =
                    read_blocks(&mut self.client, &mut self.stream, None, &mut CountReader::default())?;
                return Ok(read.map(|_| (flight.rows, flight.bytes)));
            }
        };
        if kind == Kind::Counted {
            let mut count = CountReader::default();
            let read = read_blocks(&mut self.client, &mut self.stream, None, &mut count)?;
            return Ok(read.map(|bytes| (count.rows, bytes)));
        }
        let mut kept = AnswerReader::default();
        let read = read_blocks(&mut self.client, &mut self.stream, None, &mut kept)?;
        match (kind, read) {
            (Kind::Each, Ok(bytes)) => self.run_each(kept.answer, bytes),
            (_, read) => {
                let rows = kept.answer.rows.len() as u64;
                self.answers.keep(flight.ticket, kept.answer);
                Ok(read.map(|bytes| (rows, bytes)))
            }
        }
    }

    /// Runs the statements of an answer, one after the other; they are its rows.
    fn run_each(&mut self, statements: Answer, bytes: u64) -> Result<Ended, HttpError> {
        let rows = statements.rows.len() as u64;
        for statement in statements.rows {
            let Some(Value::Text(text)) = statement.first() else {
                return Ok(Err(Failure::new("the answer is not statements")));
            };
            self.requests.next_query();
            self.client.send("POST", self.requests.path(), &[text.as_bytes()], None)?;
            self.client.receive(None)?;
            let read = read_blocks(&mut self.client, &mut self.stream, None, &mut CountReader::default())?;
            if let Err(failure) = read {
                return Ok(Err(failure));
            }
        }
        Ok(Ok((rows, bytes)))
    }

    /// Runs the call to its end, and reports how it ended.
    pub(super) fn extract(&mut self, ticket: Ticket, op: OpId, params: &[Value], sink: &mut dyn Sink) {
        let Some(Prepared::Extract { template, batch, types }) = &mut self.ops[op] else {
            unreachable!("the driver submits what it has opened")
        };
        if let Err(message) = template.fill(params, &mut self.text) {
            return self.fail_in(op, ticket, Outcome::Other, &message);
        }
        self.requests.next_answer(if types.is_some() { "RowBinary" } else { "Native" });
        let client = &mut self.client;
        let asked = client
            .send("POST", self.requests.path(), &[&self.text], None)
            .and_then(|()| client.receive(None).map(drop));
        let extraction = Extraction::new(batch, sink);
        let (read, rows, unread) = match types {
            Some(types) => {
                let mut reader = RowReader::new(extraction, types, self.stream.buffer());
                let read = asked.and_then(|()| read_pieces(client, None, &mut reader));
                (read, reader.rows(), reader.unread)
            }
            None => {
                let mut reader = ExtractReader::new(extraction);
                let read = asked.and_then(|()| read_blocks(client, &mut self.stream, None, &mut reader));
                (read, reader.end(), reader.unread)
            }
        };
        match read {
            Ok(Ok(bytes)) => self.finish(ticket, Outcome::Ok, rows, bytes),
            Ok(Err(failure)) => {
                let outcome = if unread { Outcome::Wrong } else { failure.outcome() };
                if unread {
                    // What follows on this connection is the rest of an answer that is not read.
                    self.client.forget();
                }
                self.fail(ticket, outcome, failure.to_string());
            }
            Err(http_error) => {
                self.client.forget();
                self.fail(ticket, http_error.outcome(), http_error.to_string());
            }
        }
    }
}
