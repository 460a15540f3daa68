//! A batch of rows to insert: a transaction a row, many of them in flight, and the batch is done with the last one.

use std::ffi::c_int;

use super::{NdbSession, OF_BATCH};
use crate::engine::ndb::failure::outcome;
use crate::engine::ndb::library::{does, Ended, Failure};
use crate::engine::{OpId, Outcome, Payload, Ticket};
use inrush_rows::plan::RowCall;

/// Rows of a batch in flight.
pub const WINDOW: usize = 256;
/// Rows that have ended when more are sent.
const REFILL: usize = WINDOW / 2;
/// So long nothing of a batch may end: its data nodes answer or fail within their own limits, which are shorter.
const SILENT_MS: c_int = 1_000;
const SILENCES: usize = 60;

/// What became of the rows of a batch.
#[derive(Default)]
pub struct Batch {
    pub stored: u64,
    failed: u64,
    /// How the first one failed.
    why: Option<(Outcome, i32)>,
}

impl Batch {
    pub fn note(&mut self, ended: &Ended) {
        match ended.code {
            0 => self.stored += 1,
            code => self.fail(outcome(code, ended.classification), code),
        }
    }

    fn fail(&mut self, how: Outcome, code: i32) {
        self.failed += 1;
        // A node that was lost says more than what else went wrong.
        if self.why.is_none() || how == Outcome::Lost {
            self.why = Some((how, code));
        }
    }

    fn ended(&self) -> u64 {
        self.stored + self.failed
    }
}

impl NdbSession {
    /// Stores the rows of an encoded batch, to the end.
    pub(super) fn store(&mut self, ticket: Ticket, op: OpId, payload: &Payload) {
        let Some(operation) = &self.ops[op] else {
            return self.fail(ticket, Outcome::Other, "the session has not opened it".into());
        };
        let (access, bytes) = (operation.access, operation.record.bytes as usize);
        let images = payload.bytes.chunks_exact(bytes);
        let (mut batch, mut issued, mut silences) = (Batch::default(), 0u64, 0);
        for image in images {
            issued += 1;
            if let Err((how, code)) = self.prepare_row(access, image, issued) {
                batch.fail(how, code);
            }
            if self.prepared + self.in_flight < WINDOW {
                continue;
            }
            self.send();
            if self.take(SILENT_MS, REFILL, &mut batch) == 0 {
                silences += 1;
            }
            if silences > SILENCES || matches!(batch.why, Some((Outcome::Lost, _))) {
                break;
            }
        }
        self.send();
        while batch.ended() < issued && silences <= SILENCES {
            let left = (issued - batch.ended()) as usize;
            silences += usize::from(self.take(SILENT_MS, left.min(REFILL), &mut batch) == 0);
        }
        self.conclude(ticket, &batch, payload);
    }

    /// The code of an error: then it has ended.
    fn prepare_row(&mut self, access: c_int, image: &[u8], number: u64) -> Result<(), (Outcome, i32)> {
        let (options, mut why) = (&self.address.options, Failure::none());
        // SAFETY: an insert has copied the image when this returns; it reads nothing and no row of it is absent.
        let end = unsafe {
            (self.opened.connection.shim.prepare)(
                self.opened.handle,
                access,
                does(RowCall::Insert),
                0,
                options.hint.into(),
                image.as_ptr(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                1,
                OF_BATCH | number,
                &mut why,
            )
        };
        if end != 0 {
            return Err((outcome(why.code, why.classification), why.code));
        }
        self.prepared += 1;
        Ok(())
    }

    fn conclude(&mut self, ticket: Ticket, batch: &Batch, payload: &Payload) {
        let bytes = payload.bytes.len() as u64;
        if batch.stored == payload.rows {
            return self.finish(ticket, Outcome::Ok, batch.stored, bytes);
        }
        let (how, code) = batch.why.unwrap_or((Outcome::Lost, 0));
        let said = match code {
            0 => "the cluster did not answer".to_owned(),
            code => self.opened.connection.shim.said(self.opened.handle, code),
        };
        self.broken |= how == Outcome::Lost;
        let why = format!("{} of {} rows were stored: {said}", batch.stored, payload.rows);
        self.failures.note(ticket, why);
        self.finish(ticket, how, batch.stored, 0);
    }
}
