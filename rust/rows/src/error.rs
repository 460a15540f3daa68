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
    /// A file that is read is not what it was, or not what it should be.
    #[error("{path}: {problem}")]
    File { path: String, problem: String },
    /// An input file of a load is not what it was when it was looked at.
    #[error(
        "{path}: it changed while it was loaded ({what}); nothing that was read of it since is stored. Leave input files alone \
         while they are loaded, and repeat the command"
    )]
    Changed { path: String, what: String },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A time limit of the plan passed.
    #[error("{what}: not finished after {limit_s} s{}", after.said())]
    Deadline { what: String, limit_s: f64, after: AfterLimit },
}

/// What is known of work whose limit has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLimit {
    /// Nothing was at work when it passed: it was asked again and again, or it had not begun.
    Idle,
    /// It was cancelled, and the engine says that it has ended.
    Cancelled,
    /// It was cancelled, and the engine goes on with it.
    Running,
    /// Its connection was closed; whether the engine goes on is not known.
    Unknown,
}

impl AfterLimit {
    fn said(self) -> &'static str {
        match self {
            AfterLimit::Idle => "",
            AfterLimit::Cancelled => "; it was cancelled",
            AfterLimit::Running => "; it was cancelled, and the server goes on with it",
            AfterLimit::Unknown => "; its connection was closed, and the server may go on with it",
        }
    }

    /// How a statement ended, in the table `steps`.
    pub fn name(self) -> &'static str {
        match self {
            AfterLimit::Idle | AfterLimit::Cancelled => "limit",
            AfterLimit::Running => "running",
            AfterLimit::Unknown => "unknown",
        }
    }
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
            Error::Target { class: TargetFault::Auth, .. } => "login",
            Error::Target { .. } => "target",
            Error::Statement { .. } => "statement",
            Error::Io { .. } | Error::File { .. } => "io",
            Error::Changed { .. } => "changed",
            Error::Interrupted => "interrupted",
            Error::Deadline { .. } => "deadline",
        }
    }

    pub fn io(what: impl Into<String>, source: std::io::Error) -> Error {
        Error::Io { what: what.into(), source }
    }
}
