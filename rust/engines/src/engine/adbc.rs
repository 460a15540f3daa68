//! Any database with an ADBC driver: rows go in as Arrow batches, answers come back as Arrow.
//!
//! Options of the target: `driver` (path of its library), `entrypoint` (its function, when not the usual one),
//! and any `adbc.<name>` for the database. Methods: `bulk` (ingest) and `multirow` (prepared INSERTs of many rows),
//! one transaction a batch. `on_open` is a statement for every new connection (a driver's own settings).
//! Look-ups of single keys cost several times a native client's.

mod prepare;
mod session;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use adbc_core::error::{Error as AdbcError, Status};
use adbc_core::options::{AdbcVersion, OptionDatabase, OptionValue};
use adbc_core::{CancelHandle, Connection, Database, Driver, Statement};
use adbc_driver_manager::{ManagedConnection, ManagedDatabase, ManagedDriver, ManagedStatement};

use self::prepare::Ready;
use self::session::{collect, AdbcSession};
use super::url::Url;
use super::{Answer, Caps, Context, Engine, OpId, Outcome, Session};
use inrush_rows::error::{AfterLimit, Error, TargetFault};
use inrush_rows::plan::{ColumnPlan, Target};

/// How soon a control statement that met a lock is tried again.
const AGAIN_AFTER: Duration = Duration::from_millis(20);

/// What the driver runs now; the watchdog reaches for it.
type Running = Arc<Mutex<Option<Box<dyn CancelHandle>>>>;

/// What one driver does differently from the standard.
#[derive(Clone, Copy)]
pub struct Driven {
    /// Statements for a new database: they make all its connections alike.
    pub prepare: &'static [&'static str],
    /// Classes that only the driver's message shows.
    pub classify: fn(&str) -> Option<Outcome>,
    pub in_process: bool,
    /// A failed ingest leaves nothing behind. SQLite's driver keeps its transaction, and its locks, when COMMIT
    /// finds the file busy; what follows would be acknowledged inside of it and never committed.
    pub ingest_is_atomic: bool,
    /// Rows that a batch of an ingest into these columns may have; `None`: any number.
    pub most_rows: fn(&[ColumnPlan]) -> Option<usize>,
}

/// Where a password of the driver's address is kept. Twin of `password_variable` in twin.py.
const PASSWORD: &str = "INRUSH_PASSWORD";

pub struct Adbc {
    ctx: Context,
    driven: Driven,
    database: ManagedDatabase,
    control: Mutex<ManagedConnection>,
}

impl Adbc {
    /// A database behind the driver that the target names, with its `adbc.<name>` options.
    pub fn new(ctx: &Context) -> Result<Adbc, Error> {
        let target = &ctx.plan.target;
        let named =
            target.options.iter().filter_map(|(name, value)| Some((name.strip_prefix("adbc.")?, value)));
        let mut options: Vec<(OptionDatabase, OptionValue)> =
            named.map(|(name, value)| (OptionDatabase::from(name), value.as_str().into())).collect();
        if let Some(uri) = target.url.strip_prefix("adbc:").map(|u| u.trim_start_matches("//")) {
            if !uri.is_empty() {
                let uri = with_password(uri, std::env::var(PASSWORD).ok());
                options.push((OptionDatabase::Uri, uri.as_str().into()));
            }
        }
        let driven = Driven {
            prepare: &[],
            classify: |_| None,
            in_process: false,
            ingest_is_atomic: false,
            most_rows: |_| None,
        };
        Adbc::with(ctx, driven, options)
    }

    pub fn with(
        ctx: &Context,
        driven: Driven,
        options: Vec<(OptionDatabase, OptionValue)>,
    ) -> Result<Adbc, Error> {
        let target = &ctx.plan.target;
        let Some(path) = target.options.get("driver") else {
            return Err(Error::Plan(
                "target.options.driver is missing; it is the path of an ADBC driver's library".into(),
            ));
        };
        let entry = target.options.get("entrypoint").map(String::as_bytes);
        let mut driver = ManagedDriver::load_dynamic_from_filename(path, entry, AdbcVersion::V110)
            .map_err(|e| unreachable(target, &e))?;
        let database = driver.new_database_with_opts(options).map_err(|e| unreachable(target, &e))?;
        let mut control = connect(target, &database)?;
        for text in driven.prepare {
            let ran = statement(&mut control, text).and_then(|mut s| s.execute_update());
            ran.map_err(|e| failed(target, text, &e))?;
        }
        Ok(Adbc { ctx: ctx.clone(), driven, database, control: Mutex::new(control) })
    }
}

impl Engine for Adbc {
    fn caps(&self) -> Caps {
        Caps {
            max_depth: 1,
            // What a driver of another server makes of a batch is its own affair.
            inserts_whole: self.driven.in_process,
            ..Caps::default()
        }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        let mut connection = connect(&self.ctx.plan.target, &self.database)?;
        let ready = ops
            .iter()
            .map(|&op| Ok((op, Ready::new(&self.ctx, self.driven, &mut connection, op)?)))
            .collect::<Result<HashMap<OpId, Ready>, Error>>()?;
        Ok(Box::new(AdbcSession::new(&self.ctx, connection, ready, self.driven)))
    }

    fn extracts(&self) -> bool {
        true
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        let mut connection = self.control.lock().expect("no holder of this lock panics");
        let target = &self.ctx.plan.target;
        let limit = Duration::from_nanos(limit_ns);
        let (answer, cut) = with_limit(&self.ctx, limit, |running, cut| loop {
            let answer = ask(&mut connection, text, running);
            match &answer {
                // Refused because another connection works there: nothing was done, and soon it may be.
                Err(error) if is_locked(error) && !cut.load(Relaxed) => std::thread::sleep(AGAIN_AFTER),
                _ => break answer,
            }
        });
        match (answer, cut) {
            (Ok(answer), _) => Ok(answer),
            (Err(_), Some(Cut::Stop)) => Err(Error::Interrupted),
            (Err(_), Some(Cut::Limit)) => Err(Error::Deadline {
                what: text.into(),
                limit_s: limit.as_secs_f64(),
                after: AfterLimit::Cancelled,
            }),
            (Err(error), None) => Err(failed(target, text, &error)),
        }
    }
}

fn connect(target: &Target, database: &ManagedDatabase) -> Result<ManagedConnection, Error> {
    let mut connection = database.new_connection().map_err(|e| unreachable(target, &e))?;
    if let Some(text) = target.options.get("on_open") {
        // Executed as a query: a setting may answer with its value.
        ask(&mut connection, text, &Running::default()).map_err(|e| failed(target, text, &e))?;
    }
    Ok(connection)
}

/// One statement to its end, where the watchdog can reach it.
fn ask(connection: &mut ManagedConnection, text: &str, running: &Running) -> Result<Answer, AdbcError> {
    let mut statement = statement(connection, text)?;
    set_running(running, Some(statement.get_cancel_handle()));
    let answer = statement.execute().and_then(collect);
    set_running(running, None);
    answer.map(|(answer, _)| answer)
}

fn statement(connection: &mut ManagedConnection, text: &str) -> Result<ManagedStatement, AdbcError> {
    let mut statement = connection.new_statement()?;
    statement.set_sql_query(text)?;
    Ok(statement)
}

/// Why a control statement was cut.
enum Cut {
    Limit,
    Stop,
}

/// Runs `work` beside a thread that cancels it after `limit` or when the run is asked to stop, and says so to it.
fn with_limit<T>(
    ctx: &Context,
    limit: Duration,
    work: impl FnOnce(&Running, &AtomicBool) -> T,
) -> (T, Option<Cut>) {
    let running = Running::default();
    let was_cut = AtomicBool::new(false);
    let cut = &was_cut;
    let (finished, wait) = channel::<()>();
    let reached = running.clone();
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let until = Instant::now() + limit;
            while wait.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
                let stop = ctx.stop.load(Relaxed);
                if stop || Instant::now() >= until {
                    cut.store(true, Relaxed);
                    cancel(&reached);
                    return Some(if stop { Cut::Stop } else { Cut::Limit });
                }
            }
            None
        });
        let result = work(&running, cut);
        drop(finished);
        (result, watch.join().expect("the watch does not panic"))
    })
}

fn set_running(running: &Running, handle: Option<Box<dyn CancelHandle>>) {
    *running.lock().expect("no holder of this lock panics") = handle;
}

/// A driver that cannot cancel says so; its caller then ends the worker process.
fn cancel(running: &Running) {
    if let Some(handle) = &*running.lock().expect("no holder of this lock panics") {
        let _ = handle.try_cancel();
    }
}

/// Another connection holds what this call needs, and the driver does not wait for it.
fn is_locked(error: &AdbcError) -> bool {
    let message = &error.message;
    message.contains("is locked") || message.contains("is busy")
}

fn unreachable(target: &Target, error: &AdbcError) -> Error {
    let class = match error.status {
        Status::Unauthenticated | Status::Unauthorized => TargetFault::Auth,
        Status::NotFound => TargetFault::MissingDatabase,
        _ => TargetFault::Unreachable,
    };
    Error::Target { target: target.url.clone(), class, message: error.message.clone() }
}

fn failed(target: &Target, text: &str, error: &AdbcError) -> Error {
    Error::Statement { target: target.url.clone(), statement: text.into(), message: error.message.clone() }
}

/// The driver's address as it was given: without the password it is in plans and messages.
fn with_password(uri: &str, password: Option<String>) -> String {
    match (Url::read(uri), password) {
        (Ok(url), Some(password)) if url.password.is_none() => url.with_password(&password),
        _ => uri.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use adbc_core::error::{Error, Status};

    use super::is_locked;

    #[test]
    fn a_lock_is_told_from_other_failures() {
        let says = |message: &str| is_locked(&Error::with_message_and_status(message, Status::IO));
        assert!(says("[SQLite] failed to execute: database is locked"));
        assert!(says("database table is locked: t"));
        assert!(!says("connection reset by peer"));
        assert!(!says("no such table: padlocks"));
    }
}
