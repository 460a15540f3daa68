//! What can go wrong, by what the caller can do about it.
//!
//! A server that refuses, times out or answers wrongly is not an `Error`: it is an
//! outcome of its operation, recorded. An `Error` ends the run.

use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    /// The plan contradicts itself or this build: the remedy is in the study file.
    #[error("plan: {0}")]
    Plan(String),
    /// The target cannot be reached or refuses us: the remedy is the URL, the password or the server.
    #[error("{target}: {message}")]
    Target { target: String, class: TargetFault, message: String },
    /// A statement of the plan failed on a reachable target.
    #[error("{target}: statement failed: {message}\n  in: {statement}")]
    Statement { target: String, statement: String, message: String },
    /// The local machine: disk full, file missing, out of memory.
    #[error("{what}: {source}")]
    Io {
        what: String,
        #[source]
        source: std::io::Error,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A time limit of the plan passed.
    #[error("{what}: not finished after {limit_s} s")]
    Deadline { what: String, limit_s: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetFault {
    Unreachable,
    Auth,
    MissingDatabase,
    Lost,
    Other,
}

impl Error {
    /// The name under which it crosses the border; `inrush.errors` maps each to a class.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Plan(_) => "plan",
            Error::Target { .. } => "target",
            Error::Statement { .. } => "statement",
            Error::Io { .. } => "io",
            Error::Interrupted => "interrupted",
            Error::Deadline { .. } => "deadline",
        }
    }

    pub fn io(what: impl Into<String>, source: std::io::Error) -> Error {
        Error::Io { what: what.into(), source }
    }
}
