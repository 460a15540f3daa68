//! What comes back: each message, and what it means for the call it belongs to.

use std::io;

use super::prepare::Prepared;
use super::{PgSession, Sent};
use crate::engine::postgresql::decode;
use crate::engine::postgresql::failure::Failure;
use crate::engine::Outcome;

impl PgSession {
    /// Reads one message and does what it means for the operation it belongs to. waits: until it is there. False where it is
    /// not.
    pub(super) fn read_message(&mut self, waits: bool) -> io::Result<bool> {
        let at = self.unanswered();
        let (tag, body) = match self.connection.there()? {
            Some(message) => message,
            None if waits => self.connection.receive()?,
            None => return Ok(false),
        };
        match (tag, at) {
            (b'D', Some(at)) => {
                let sent = &mut self.sent[at];
                sent.rows += 1;
                sent.bytes += body.len() as u64;
                let Some(Prepared::Statement(statement)) = &self.ops[sent.op] else { return Ok(true) };
                if self.keep_answers || statement.keep_answer {
                    let answers = &mut self.ended.answers;
                    let mut row = answers.row();
                    decode::binary_row(body, &statement.columns, &mut row)
                        .ok_or_else(|| io::Error::other("an answer could not be read"))?;
                    sent.answer.get_or_insert_with(|| answers.begin(&statement.names)).rows.push(row);
                }
            }
            (b'C' | b'I', Some(at)) => {
                let sent = &mut self.sent[at];
                let Some(prepared) = &self.ops[sent.op] else { return Ok(true) };
                match prepared {
                    Prepared::Statement(statement) if !statement.changes => {
                        if self.keep_answers || statement.keep_answer {
                            let answers = &mut self.ended.answers;
                            let answer =
                                sent.answer.take().unwrap_or_else(|| answers.begin(&statement.names));
                            answers.keep(sent.ticket, answer);
                        }
                        self.finish(at, Outcome::Ok);
                    }
                    prepared => {
                        sent.rows = sent.rows.saturating_add(decode::command_rows(body));
                        // A batch may be several statements: it is answered by its Sync.
                        sent.answered = matches!(prepared, Prepared::Statement(_));
                    }
                }
            }
            (b'E', _) => {
                let failure = Failure::read(body);
                // The server skips the rest of the pipeline, and undoes what it had changed.
                let end = self.sent.iter().position(|sent| sent.last_before_sync);
                self.fail_all(end.map_or(0, |end| end + 1), at, &failure);
            }
            (b'Z', _) => self.committed()?,
            _ => {}
        }
        Ok(true)
    }

    /// The first `many` calls end with the failure of one of them, at place `failed`; where none is known, of their commit.
    fn fail_all(&mut self, many: usize, failed: Option<usize>, failure: &Failure) {
        let of = failed.filter(|&failed| failed < many).map(|failed| self.sent[failed].ticket);
        for at in (0..many).filter(|&at| !self.sent[at].finished).collect::<Vec<_>>() {
            let ticket = self.sent[at].ticket;
            let why = match of {
                Some(other) if other != ticket => {
                    format!("ended with call {other}, which shares its transaction: {failure}")
                }
                _ => failure.to_string(),
            };
            self.ended.failures.note(ticket, why);
            self.finish(at, (self.address.speaker.outcome)(failure));
        }
    }

    fn finish(&mut self, at: usize, outcome: Outcome) {
        let sent = &mut self.sent[at];
        if sent.finished {
            return;
        }
        (sent.answered, sent.finished) = (true, true);
        self.in_flight -= 1;
        let Sent { ticket, rows, bytes, .. } = *sent;
        self.ended.done(ticket, outcome, rows, bytes);
    }

    /// Ready for query: what stands before this Sync is committed.
    ///
    /// Fails where a statement was not answered at all: then no later answer can be known to be its own.
    fn committed(&mut self) -> io::Result<()> {
        let Some(end) = self.sent.iter().position(|sent| sent.last_before_sync) else { return Ok(()) };
        for at in 0..=end {
            let sent = &self.sent[at];
            if !sent.answered && matches!(self.ops[sent.op], Some(Prepared::Statement(_))) {
                return Err(io::Error::other("the server left out the answer to a statement"));
            }
            match sent.expected_rows {
                Some(expected) if !sent.finished && sent.rows != expected => {
                    let (ticket, stored) = (sent.ticket, sent.rows);
                    self.finish(at, Outcome::Wrong);
                    self.ended.failures.note(ticket, format!("{stored} rows were stored of {expected} sent"));
                }
                _ => self.finish(at, Outcome::Ok),
            }
        }
        self.sent.drain(..=end);
        self.answered = self.answered.saturating_sub(end + 1);
        Ok(())
    }

    /// The first call that is not answered: those before it are known from the message before.
    #[inline]
    fn unanswered(&mut self) -> Option<usize> {
        while self.sent.get(self.answered).is_some_and(|sent| sent.answered) {
            self.answered += 1;
        }
        (self.answered < self.sent.len()).then_some(self.answered)
    }
}
