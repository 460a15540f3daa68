//! What SQLite says when it refuses, and what we make of it.

use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

use rusqlite::ffi;

use crate::engine::{Context, Outcome};
use inrush_rows::error::{AfterLimit, Error, TargetFault};
use inrush_rows::plan::Target;

/// What SQLite said: extended result code and message.
#[derive(Debug, Clone)]
pub struct Failure {
    pub code: c_int,
    pub message: String,
}

impl Failure {
    /// The class of `code`. A lock that was not had within the busy timeout is a timeout, not a conflict:
    /// nothing was decided against the caller, it has only waited.
    pub fn outcome(&self) -> Outcome {
        match (self.code & 0xff, self.code) {
            (_, ffi::SQLITE_BUSY_SNAPSHOT) => Outcome::Conflict,
            (ffi::SQLITE_LOCKED, _) => Outcome::Conflict,
            (ffi::SQLITE_BUSY | ffi::SQLITE_INTERRUPT, _) => Outcome::Timeout,
            // A value came back that was never stored.
            (ffi::SQLITE_MISMATCH, _) => Outcome::Wrong,
            (ffi::SQLITE_TOOBIG, _) => Outcome::TooLarge,
            (ffi::SQLITE_CONSTRAINT | ffi::SQLITE_READONLY | ffi::SQLITE_AUTH | ffi::SQLITE_PERM, _) => {
                Outcome::Refused
            }
            (ffi::SQLITE_CANTOPEN | ffi::SQLITE_NOTADB, _) => Outcome::Undefined,
            (ffi::SQLITE_ERROR, _) if self.message.starts_with("no such") => Outcome::Undefined,
            _ => Outcome::Other,
        }
    }
}

pub fn refused(target: &Target, error: &rusqlite::Error) -> Error {
    Error::Target { target: target.url.clone(), class: TargetFault::Unreachable, message: error.to_string() }
}

pub fn statement_failed(target: &Target, text: &str, message: String) -> Error {
    Error::Statement { target: target.url.clone(), statement: text.into(), message }
}

pub fn over_limit(ctx: &Context, text: &str, limit_ns: u64) -> Error {
    if ctx.stop.load(Relaxed) {
        return Error::Interrupted;
    }
    Error::Deadline { what: text.into(), limit_s: limit_ns as f64 / 1e9, after: AfterLimit::Cancelled }
}
