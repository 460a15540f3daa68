//! A batch of rows stored: whole, once, and as it was sent, or not at all.

use std::io;

use super::{MySession, Prepared};
use crate::engine::messages::{InOrder, Messages};
use crate::engine::mysql::connection::garbled;
use crate::engine::mysql::decode::{self, Okay};
use crate::engine::mysql::failure::Failure;
use crate::engine::mysql::{insert, lost, message, statement_failed};
use crate::engine::whole_file::at_path;
use crate::engine::{OpId, Outcome, Payload, Ticket};
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::rows::Value;

/// What became of the statements of a batch.
#[derive(Debug, Clone, Default)]
struct Stored {
    rows: u64,
    warnings: u64,
    /// The first of them.
    failure: Option<Failure>,
}

impl Stored {
    fn add(&mut self, answer: Result<Okay, Failure>) {
        match answer {
            Ok(okay) => {
                self.rows = self.rows.saturating_add(okay.affected);
                self.warnings += okay.warnings as u64;
            }
            Err(failure) => {
                self.failure.get_or_insert(failure);
            }
        }
    }
}

/// As a batch of several statements begins and ends. Without autocommit, if the server has ended
/// a transaction (after a deadlock), the next statement begins another one, which is undone as well.
const BEGIN: &str = "SET autocommit = 0";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";
const END: &str = "SET autocommit = 1";

impl MySession {
    /// Sends an encoded batch and waits for what the server says of it.
    pub(super) fn store(&mut self, ticket: Ticket, op: OpId, payload: &Payload) {
        let bytes = payload.bytes.len() as u64;
        match self.try_store(op, payload) {
            Ok((outcome, rows, message)) => {
                message.into_iter().for_each(|why| self.ended.failures.note(ticket, why));
                self.ended.done(ticket, outcome, rows, bytes);
            }
            Err(error) => {
                self.break_off(&error);
                self.ended.lose(ticket, Outcome::Lost, 0, bytes, &error);
            }
        }
    }

    fn try_store(&mut self, op: OpId, payload: &Payload) -> io::Result<(Outcome, u64, Option<String>)> {
        if payload.rows == 0 {
            return Ok((Outcome::Ok, 0, None));
        }
        if let Some(Prepared::Load(load)) = &self.ops[op] {
            let mut out = if self.held { Vec::new() } else { transaction(BEGIN) };
            out.extend_from_slice(&load.command);
            return self.load(&out, payload);
        }
        if let Some(Prepared::ServerFile(text)) = &self.ops[op] {
            let mut out = if self.held { Vec::new() } else { transaction(BEGIN) };
            message::query(&mut out, &at_path(text, &payload.bytes, true));
            return self.read_by_server(&out, payload);
        }
        let (statements, longest) = insert::measure(&payload.bytes);
        if longest > self.longest {
            let message = format!(
                "a statement of {longest} bytes is longer than the server's max_allowed_packet of {}; \
                 choose smaller batches, or raise it",
                self.longest
            );
            return Ok((Outcome::TooLarge, 0, Some(message)));
        }
        let whole = statements == 1 || self.held;
        match whole {
            true => self.connection.send(&payload.bytes)?,
            false => self.connection.send_both(&transaction(BEGIN), &payload.bytes)?,
        }
        let mut stored = Stored::default();
        for _ in 0..statements + usize::from(!whole) {
            stored.add(self.connection.okay()?);
        }
        self.judged(stored, payload, statements > 1 || self.held)
    }

    /// LOAD DATA LOCAL stores what it can and warns of the rest: only without a warning is it committed.
    fn load(&mut self, command: &[u8], payload: &Payload) -> io::Result<(Outcome, u64, Option<String>)> {
        self.connection.send(command)?;
        let mut stored = Stored::default();
        if !self.held {
            stored.add(self.connection.okay()?);
        }
        let packet = self.connection.receive()?;
        match packet.first() {
            Some(0xfb) => {
                self.connection.send_file(&payload.bytes)?;
                stored.add(self.connection.okay()?);
            }
            Some(0xff) => stored.add(Err(Failure::read(packet))),
            _ => return Err(garbled()),
        }
        self.judged(stored, payload, true)
    }

    /// As `load`, of a file that the server opens.
    fn read_by_server(
        &mut self,
        command: &[u8],
        payload: &Payload,
    ) -> io::Result<(Outcome, u64, Option<String>)> {
        self.connection.send(command)?;
        let mut stored = Stored::default();
        for _ in 0..1 + usize::from(!self.held) {
            stored.add(self.connection.okay()?);
        }
        self.judged(stored, payload, true)
    }

    /// Commits what is right, where the batch is a transaction; undoes it else.
    fn judged(
        &mut self,
        stored: Stored,
        payload: &Payload,
        in_transaction: bool,
    ) -> io::Result<(Outcome, u64, Option<String>)> {
        let wrong = if stored.failure.is_some() {
            stored.failure
        } else if stored.warnings > 0 {
            Some(self.first_warning()?)
        } else if stored.rows != payload.rows {
            let message = format!("{} rows were stored of {} sent", stored.rows, payload.rows);
            Some(Failure { message, ..Failure::default() })
        } else {
            None
        };
        let mut outcome = match &wrong {
            None => Outcome::Ok,
            // A code decides the outcome; without one, or if the rows are stored already, the answer is wrong.
            Some(failure) if failure.code != 0 && (in_transaction || stored.rows == 0) => failure.outcome(),
            Some(_) => Outcome::Wrong,
        };
        let mut message = wrong.map(|failure| failure.to_string());
        // In a transaction of the caller's, so is its end.
        if in_transaction && !self.held {
            let end = if outcome == Outcome::Ok { COMMIT } else { ROLLBACK };
            let mut out = transaction(end);
            message::query(&mut out, END);
            self.connection.send(&out)?;
            for _ in 0..2 {
                if let Err(failure) = self.connection.okay()? {
                    outcome = failure.outcome();
                    message = Some(failure.to_string());
                }
            }
        }
        let rows = if outcome == Outcome::Ok { stored.rows } else { 0 };
        Ok((outcome, rows, message))
    }

    /// A statement of a transaction over several batches: BEGIN, what belongs to it, COMMIT.
    pub(super) fn in_transaction(&mut self, text: &str) -> Result<(), Error> {
        let mut out = Vec::new();
        match text {
            "BEGIN" => message::query(&mut out, BEGIN),
            "COMMIT" | "ROLLBACK" => {
                message::query(&mut out, text);
                message::query(&mut out, END);
            }
            _ => message::query(&mut out, text),
        }
        let statements = if matches!(text, "COMMIT" | "ROLLBACK") { 2 } else { 1 };
        let mut stored = Stored::default();
        let mut exchange = || -> io::Result<()> {
            self.connection.send(&out)?;
            (0..statements).try_for_each(|_| self.connection.okay().map(|answer| stored.add(answer)))
        };
        if let Err(error) = exchange() {
            self.break_off(&error);
            return Err(lost(&self.address, &error));
        }
        self.held = text == "BEGIN" || (self.held && statements == 1);
        match stored.failure {
            None => Ok(()),
            // The server has undone it all, and another attempt may succeed.
            Some(failure) if failure.outcome() == Outcome::Conflict => Err(Error::Target {
                target: self.address.to_string(),
                class: TargetFault::Other,
                message: failure.to_string(),
            }),
            Some(failure) => Err(statement_failed(&self.address, text, &failure.to_string())),
        }
    }

    fn first_warning(&mut self) -> io::Result<Failure> {
        let rows = self.ask("SHOW WARNINGS LIMIT 1")?.unwrap_or_default();
        let Some([_, code, Value::Text(message)]) = rows.first().map(Vec::as_slice) else {
            return Ok(Failure {
                message: "the server warned and did not say why".into(),
                ..Failure::default()
            });
        };
        let code = match code {
            Value::I64(code) => u16::try_from(*code).unwrap_or(0),
            Value::U64(code) => u16::try_from(*code).unwrap_or(0),
            _ => 0,
        };
        Ok(Failure { code, message: message.clone(), ..Failure::default() })
    }

    /// Rows of a short answer, between two operations.
    pub(super) fn ask(&mut self, statement: &str) -> io::Result<Result<Vec<Vec<Value>>, Failure>> {
        self.connection.send(&transaction(statement))?;
        let leaves_out = self.connection.leaves_out();
        let packet = self.connection.receive()?;
        if packet.first() == Some(&0xff) {
            return Ok(Err(Failure::read(packet)));
        }
        let count = decode::described_head(packet, leaves_out).ok_or_else(garbled)?;
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push(decode::column(self.connection.receive()?).ok_or_else(garbled)?);
        }
        let mut rows = Vec::new();
        loop {
            let packet = self.connection.receive()?;
            if packet.first() == Some(&0xff) {
                return Ok(Err(Failure::read(packet)));
            }
            if decode::ends_rows(packet) {
                return Ok(Ok(rows));
            }
            rows.push(decode::text_row(packet, &columns).ok_or_else(garbled)?);
        }
    }
}

fn transaction(statement: &str) -> Vec<u8> {
    let mut out = Vec::new();
    message::query(&mut out, statement);
    out
}
