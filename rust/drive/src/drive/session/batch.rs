//! Batches: made before they are sent, or the rest of a large one while its beginning is on its way.

use super::{ReadyCall, Worker};
use crate::drive::source::{Filled, Source};
use crate::drive::work::Batch;
use inrush_engines::engine::{OpId, Ticket};
use inrush_rows::encode::parts;
use inrush_rows::error::Error;

/// Rows of a batch that are made before it is sent, where the rest is made meanwhile. So many are on their way before
/// the server could wait for us, and a session holds no more of a batch than these.
const AHEAD_ROWS: usize = 32_768;

/// Of a batch: what it has, and what is made of it.
#[derive(Clone, Copy, Default)]
pub(super) struct Rows {
    pub count: u64,
    /// Rows from here on are made while those before them are sent; `count` where all are made.
    made: usize,
}

impl Rows {
    pub fn are_made(&self) -> bool {
        self.made as u64 >= self.count
    }
}

impl Worker<'_> {
    /// The whole batch of `ticket`, encoded, or its beginning; false when the rows have ended.
    pub(super) fn make_rows(&mut self, batch: &Batch, ticket: Ticket, at: usize) -> Result<bool, Error> {
        let op = self.ops[at].op;
        let (first, rows) = batch.range(ticket);
        if let Source::Whole(_) = &batch.source {
            // Reading it is part of the call. Nothing is read of a file without rows: no bytes of the one before may be sent.
            self.payload.bytes.clear();
            self.payload.rows = 0;
            self.rows = Rows { count: rows as u64, made: 0 };
            return Ok(true);
        }
        if let (Source::Generated(generator), Some(part_rows)) = (&batch.source, self.session.part_rows(op)) {
            let ahead = if self.sends_while_made(op) { AHEAD_ROWS } else { rows };
            for (at, count, part) in parts(rows, part_rows).take_while(|(at, ..)| *at == 0 || *at < ahead) {
                generator.fill(first + at as u64, count, &mut self.columns);
                self.session.encode_part(op, &self.columns, part, &mut self.payload)?;
            }
            self.rows = Rows { count: rows as u64, made: ahead.min(rows) };
            return Ok(true);
        }
        let (columns, payload) = (&mut self.columns, &mut self.payload);
        match batch.source.fill(ticket, first, rows, columns)? {
            Filled::End => return Ok(false),
            Filled::Rows => {}
            Filled::Proven(proof) => self.proof = Some(Box::new(proof)),
        }
        payload.bytes.clear();
        payload.rows = columns.rows as u64;
        self.session.encode(op, columns, payload)?;
        self.rows = Rows { count: payload.rows, made: payload.rows as usize };
        Ok(true)
    }

    /// Makes what is left of a batch while the rows before are on their way, or reads its file. False where the call ends
    /// without `submit`: it failed meanwhile, or the run did.
    #[cold]
    pub(super) fn send_rest(&mut self, call: &ReadyCall) -> bool {
        self.send_parts(call).unwrap_or_else(|error| {
            self.fatal = Some(error.to_string());
            false
        })
    }

    fn send_parts(&mut self, call: &ReadyCall) -> Result<bool, Error> {
        let (op, role) = (self.ops[call.at].op, self.role);
        let Some(batch) = &role.batch else { return Ok(true) };
        if let Source::Whole(files) = &batch.source {
            files.read(call.ticket, &mut self.payload.bytes)?;
            self.payload.rows = self.rows.count;
            return Ok(true);
        }
        let (Source::Generated(generator), Some(part_rows)) = (&batch.source, self.session.part_rows(op))
        else {
            unreachable!("only generated rows are sent while they are made");
        };
        let (first, rows) = batch.range(call.ticket);
        let made_rows = self.rows.made;
        for (at, count, part) in parts(rows, part_rows).skip_while(|(at, ..)| *at < made_rows) {
            if !self.session.send_part(call.ticket, op, &mut self.payload) {
                return Ok(false);
            }
            generator.fill(first + at as u64, count, &mut self.columns);
            self.session.encode_part(op, &self.columns, part, &mut self.payload)?;
        }
        Ok(true)
    }

    /// A call that is due at a time, or after its user has thought, is made before: it is to leave as soon as it may.
    fn sends_while_made(&self, op: OpId) -> bool {
        let at_once = !self.role.queue.is_paced() && self.think_ns == 0;
        at_once && self.role.depth == 1 && self.session.sends_parts(op)
    }
}
