//! SQLite in the client's process: one file, many readers, one writer at a time.
//!
//! Options of the target: `journal` (WAL), `synchronous` (FULL), `busy_timeout_ms` (60000), and any
//! `pragma.<name>`. Unsigned 64-bit values are stored with their bits reinterpreted, times as integers.

mod connect;
mod failure;
mod insert;
mod interrupt;
mod lists;
mod session;
mod statement;

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use connect::{connect, path_of};
use failure::{over_limit, statement_failed};
use interrupt::{Interrupted, Over};
use session::SqliteSession;
use statement::run_all;

use super::{Answer, Caps, Context, Engine, OpId, Outcome, Session};
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;

pub struct Sqlite {
    ctx: Context,
    path: PathBuf,
    /// For statements off the clock; keeps the file open, so that a session that closes is not the last one
    /// and does not checkpoint inside its own close.
    control: Mutex<Connection>,
}

impl Sqlite {
    pub fn new(ctx: &Context) -> Result<Sqlite, Error> {
        let path = path_of(&ctx.plan.target.url)?;
        let control = connect(&ctx.plan.target, &path)?;
        Ok(Sqlite { ctx: ctx.clone(), path, control: Mutex::new(control) })
    }
}

impl Engine for Sqlite {
    fn caps(&self) -> Caps {
        Caps { max_depth: 1, inserts_whole: true, tells_changes: true, ..Caps::default() }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(SqliteSession::open(&self.ctx, &self.path, ops)?))
    }

    fn extracts(&self) -> bool {
        true
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        let db = self.control.lock().unpoisoned();
        let over = Over { until: Instant::now() + Duration::from_nanos(limit_ns), stop: &self.ctx.stop };
        let interrupted = Interrupted::when(&db, &over);
        let answer = run_all(&db, text);
        drop(interrupted);
        answer.map_err(|failure| {
            if failure.outcome() == Outcome::Timeout {
                return over_limit(&self.ctx, text, limit_ns);
            }
            statement_failed(&self.ctx.plan.target, text, failure.message)
        })
    }
}
