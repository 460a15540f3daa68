//! Valkey, and Redis from version 6: rows are packed into hashes, and calls in flight share a pipeline.
//!
//! A batch is one `HSET` a row, sent at once and done with the last reply. A query is one command or more
//! ([`Template`]); every text of its replies is a packed row, and an integer is a row of one number.

#[cfg(test)]
mod fuzz;
mod session;
mod template;

use std::sync::Arc;
use std::time::Instant;

use super::messages::{Control, Messages};
use super::resp::{Address, Connection, Reply};
use super::shared::{limit_of, lost};
use super::{Answer, Caps, Context, Engine, OpId, Session};
use inrush_rows::error::{AfterLimit, Error};
use template::Template;

/// Calls of one session in flight.
pub const MAX_DEPTH: u32 = 1024;
/// Schemes of its URLs. Twin of `schemes` in valkey.py.
const SCHEMES: [&str; 2] = ["valkey", "redis"];
pub const PORT: u16 = 6379;
/// As the servers' own clients read it. Twin of `password_variable` in valkey.py.
const PASSWORD: &str = "REDISCLI_AUTH";

pub struct Valkey {
    ctx: Context,
    address: Arc<Address>,
    /// For statements off the figures; opened again after the server was restarted.
    control: Control<Connection>,
}

impl Valkey {
    /// Connects once: a wrong port, password or database shows here.
    pub fn new(ctx: &Context) -> Result<Valkey, Error> {
        let address = Arc::new(address(&ctx.plan.target.url)?);
        let control = Control::new(Connection::open(&address)?);
        Ok(Valkey { ctx: ctx.clone(), address, control })
    }
}

fn address(url: &str) -> Result<Address, Error> {
    Address::parse(url, &SCHEMES, PORT, PASSWORD)
}

impl Engine for Valkey {
    fn caps(&self) -> Caps {
        Caps {
            max_depth: MAX_DEPTH,
            // A batch is many commands, of which a lost connection may leave some.
            inserts_whole: false,
            identity_collapses: true,
            tells_changes: true,
            ..Caps::default()
        }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(session::ValkeySession::open(&self.ctx, &self.address, ops)?))
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        let open = || Connection::open(&self.address);
        self.control.ask(&self.address.to_string(), limit_ns, open, |connection| {
            controlled(connection, &self.address, text, limit_ns)
        })
    }
}

/// All commands of `text`; the last reply is the answer.
fn controlled(
    connection: &mut Connection,
    address: &Address,
    text: &str,
    limit_ns: u64,
) -> Result<Answer, Error> {
    let failed = |message: String| Error::Statement {
        target: address.to_string(),
        statement: text.to_owned(),
        message,
    };
    let commands = Template::parse(text).map_err(failed)?;
    let mut out = Vec::new();
    commands.bound(&[], &mut out, &mut Default::default()).map_err(failed)?;
    let until = limit_of(limit_ns).map(|limit| Instant::now() + limit);
    connection.send(&out).map_err(|e| lost(&address.to_string(), &e))?;
    let (mut last, mut refusal) = (Reply::Null, None);
    for _ in 0..commands.commands() {
        last = connection.reply(until).map_err(|e| match e.kind() {
            std::io::ErrorKind::TimedOut => Error::Deadline {
                what: text.to_owned(),
                limit_s: limit_ns as f64 / 1e9,
                after: AfterLimit::Unknown,
            },
            _ => lost(&address.to_string(), &e),
        })?;
        if let Reply::Error(message) = &last {
            refusal.get_or_insert_with(|| message.clone());
        }
    }
    match refusal {
        Some(message) => Err(failed(message)),
        None => Ok(last.answer()),
    }
}
