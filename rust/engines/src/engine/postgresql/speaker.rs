//! What a server that speaks PostgreSQL's protocol may do otherwise than PostgreSQL. Nothing else here names an engine.

use super::failure::Failure;
use crate::engine::Outcome;

#[derive(Debug)]
pub struct Speaker {
    /// Of its URLs; the first one stands in messages.
    pub schemes: &'static [&'static str],
    pub port: u16,
    pub user: &'static str,
    pub database: &'static str,
    /// That of a server as shipped, where it asks for one.
    pub password: Option<&'static str>,
    /// Binary COPY in both directions. Without it, rows are read back by a query with binary values.
    pub copies: bool,
    /// Parameters of one statement.
    pub most_params: usize,
    /// See [`crate::engine::Caps::reads_late`].
    pub reads_late: bool,
    /// HTTP on a port of its own, which the option `http` of its URLs names.
    pub has_http: bool,
    /// What a refusal means.
    pub outcome: fn(&Failure) -> Outcome,
}

/// PostgreSQL, and what is built of it.
pub const POSTGRESQL: Speaker = Speaker {
    schemes: &["postgresql", "postgres", "timescaledb"],
    port: 5432,
    user: "postgres",
    database: "postgres",
    password: None,
    copies: true,
    // As many as the protocol can count.
    most_params: u16::MAX as usize,
    reads_late: false,
    has_http: false,
    outcome: Failure::outcome,
};
