//! Statements of a plan on an engine, off the clock.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::Engine;
use crate::error::Error;
use crate::plan::{Repeat, Statement};
use crate::rows::Value;

const ASKED_AGAIN: Duration = Duration::from_millis(100);

/// Runs a statement as its `repeat` says. False: `stop` was set before it was done.
///
/// The limit is that of each text that is run, and of all the asking of `UntilNoRows`; 0 is none.
pub fn perform(
    engine: &dyn Engine,
    statement: &Statement,
    limit_ns: u64,
    stop: &AtomicBool,
) -> Result<bool, Error> {
    match statement.repeat {
        None => engine.ask(statement, limit_ns).map(|_| true),
        Some(Repeat::EachRow) => each_row(engine, statement, limit_ns),
        Some(Repeat::UntilNoRows) => until_no_rows(engine, statement, limit_ns, stop),
    }
}

fn each_row(engine: &dyn Engine, query: &Statement, limit_ns: u64) -> Result<bool, Error> {
    for row in engine.ask(query, limit_ns)?.rows {
        if let Some(Value::Text(statement)) = row.first() {
            engine.control(statement, limit_ns)?;
        }
    }
    Ok(true)
}

fn until_no_rows(
    engine: &dyn Engine,
    query: &Statement,
    limit_ns: u64,
    stop: &AtomicBool,
) -> Result<bool, Error> {
    let until = (limit_ns > 0).then(|| Instant::now() + Duration::from_nanos(limit_ns));
    while !engine.ask(query, limit_ns)?.rows.is_empty() {
        if stop.load(Relaxed) {
            return Ok(false);
        }
        if until.is_some_and(|until| Instant::now() > until) {
            return Err(Error::Deadline { what: query.text.clone(), limit_s: limit_ns as f64 / 1e9 });
        }
        std::thread::sleep(ASKED_AGAIN);
    }
    Ok(true)
}
