//! MySQL Cluster by its NDB API: rows by their keys, as the memory that the client library takes them from.
//!
//! A session is an `Ndb` object with transactions in flight. A call prepares one; what is prepared leaves together, when the
//! session is asked what has ended. There is no language: `directives.record` says what an operation does, and
//! `directives.ndb` what a statement does.

mod actions;
mod address;
mod connection;
mod failure;
#[cfg(test)]
mod fuzz;
mod kept;
mod library;
mod management;
mod session;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

use super::{Answer, Caps, Context, Engine, OpId, Session};
pub use address::spelled;
use address::Address;
use connection::Connection;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::Statement;

/// Transactions of one `Ndb` object, which a session has one of.
const MAX_DEPTH: u32 = super::NDB_DEPTH;

pub struct Ndb {
    ctx: Context,
    address: Arc<Address>,
    /// Of this process: sessions share them in turn. The first one also serves statements.
    connections: Mutex<Vec<Arc<Connection>>>,
    opened: AtomicUsize,
    /// The cluster had no slot for one more connection: others are not tried, each for seconds.
    is_full: OnceLock<String>,
}

impl Ndb {
    /// Loads the client library and joins the cluster: what is missing shows here.
    pub fn new(ctx: &Context) -> Result<Ndb, Error> {
        let target = &ctx.plan.target;
        let address = Arc::new(Address::of(target)?);
        let shim = library::load(target.options.get("library"))?;
        management::reached(&address)?;
        let first = match kept::take(shim, &address) {
            Some(first) => first,
            None => Connection::open(shim, &address)?,
        };
        let connections = Mutex::new(vec![first]);
        Ok(Ndb {
            ctx: ctx.clone(),
            address,
            connections,
            opened: AtomicUsize::new(0),
            is_full: OnceLock::new(),
        })
    }

    /// The first connection, for statements.
    fn first(&self) -> Arc<Connection> {
        self.connections.lock().unpoisoned()[0].clone()
    }

    /// The one that the next session has; it is made when a session wants it.
    fn next(&self) -> Result<Arc<Connection>, Error> {
        let turn = self.opened.fetch_add(1, Relaxed) % self.address.options.connections;
        let mut all = self.connections.lock().unpoisoned();
        while all.len() <= turn {
            if let Some(message) = self.is_full.get() {
                return Err(connection::said_of(&self.address, message.clone()));
            }
            let one = Connection::open(all[0].shim, &self.address).inspect_err(|error| self.note(error))?;
            all.push(one);
        }
        Ok(all[turn].clone())
    }
}

impl Ndb {
    fn note(&self, error: &Error) {
        if let Error::Target { message, .. } = error {
            if message.contains(connection::NO_SLOT) {
                let _ = self.is_full.set(message.clone());
            }
        }
    }
}

impl Drop for Ndb {
    fn drop(&mut self) {
        let mut all = std::mem::take(&mut *self.connections.lock().unpoisoned());
        // Sessions may have left calls in flight on theirs.
        if self.opened.load(Relaxed) == 0 && all.len() == 1 && Arc::strong_count(&all[0]) == 1 {
            kept::keep(&self.address, all.remove(0));
        }
    }
}

impl Engine for Ndb {
    fn caps(&self) -> Caps {
        Caps {
            max_depth: MAX_DEPTH,
            // A batch is a transaction a row.
            inserts_whole: false,
            tells_changes: true,
            ..Caps::default()
        }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::NdbSession::open(&self.ctx, &self.address, self.next()?, ops)?))
    }

    fn control(&self, text: &str, _limit_ns: u64) -> Result<Answer, Error> {
        Err(Error::Statement {
            target: self.address.to_string(),
            statement: text.to_owned(),
            message: "ndb has no language; directives say what it does".into(),
        })
    }

    fn ask(&self, statement: &Statement, limit_ns: u64) -> Result<Answer, Error> {
        match statement.directives.as_ref().and_then(|directives| directives.ndb.as_deref()) {
            Some(action) => actions::done(&self.first(), &self.address, action, &statement.text),
            None => Engine::control(self, &statement.text, limit_ns),
        }
    }
}
