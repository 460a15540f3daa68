//! Opening a session: the database of its tables, its operations prepared, and the memory of its calls.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use super::batch::WINDOW;
use super::operation::{Asked, Operation};
use super::slots::Slots;
use super::NdbSession;
use crate::engine::failures::Failures;
use crate::engine::ndb::address::Address;
use crate::engine::ndb::connection::Connection;
use crate::engine::ndb::failure::outcome;
use crate::engine::ndb::MAX_DEPTH;
use crate::engine::shared::depth;
use crate::engine::{Context, OpId, Outcome};
use inrush_rows::error::Error;

impl NdbSession {
    pub fn open(
        ctx: &Context,
        address: &Arc<Address>,
        connection: Arc<Connection>,
        ops: &[OpId],
    ) -> Result<NdbSession, Error> {
        let depth = depth(ctx, ops).min(MAX_DEPTH as usize);
        let asked: Vec<(OpId, Asked)> = ops
            .iter()
            .filter_map(|&op| Asked::of(ctx, op).map(|asked| asked.map(|a| (op, a))).transpose())
            .collect::<Result<_, _>>()?;
        let database = one_database(ctx, address, &asked)?;
        let keys = asked.iter().map(|(_, asked)| asked.rows).max().unwrap_or(1);
        let bytes =
            asked.iter().map(|(_, asked)| asked.rows * asked.record.bytes as usize).max().unwrap_or(8);
        let batches = asked.iter().any(|(_, asked)| asked.is_batch);
        let calls = if batches { depth.max(WINDOW) } else { depth };
        let opened = connection.open_session(&database, calls, keys)?;
        let mut prepared: Vec<Option<Operation>> = ctx.plan.operations.iter().map(|_| None).collect();
        for (op, asked) in asked {
            let name = ctx.op(op).name.clone();
            let made = Operation::new(asked, &opened, address);
            prepared[op] = Some(made.map_err(|why| match outcome(why.code, why.classification) {
                // Nothing is wrong with the operation.
                Outcome::Lost => connection.lost(&why.message),
                _ => Error::Statement {
                    target: address.to_string(),
                    statement: format!("operation {name}"),
                    message: why.message,
                },
            })?);
        }
        // What opening it has sent is none of its calls'.
        // SAFETY: the session is open.
        let sent_bytes = unsafe { (opened.connection.shim.sent_bytes)(opened.handle) };
        Ok(NdbSession {
            ctx: ctx.clone(),
            address: address.clone(),
            opened,
            database,
            ops: prepared,
            // Those that the last `poll` handed over are still read.
            slots: Slots::new(2 * depth, bytes, keys),
            depth,
            prepared: 0,
            in_flight: 0,
            sent_bytes,
            finished: Vec::with_capacity(2 * depth),
            ended: Vec::with_capacity(depth),
            handed_over: Vec::with_capacity(depth),
            next: 0,
            failures: Failures::default(),
            keep_answers: false,
            broken: false,
            abandoned: 0,
            cancelled: Arc::new(AtomicBool::new(false)),
        })
    }
}

/// The database of all tables; an error where they are in several.
fn one_database(ctx: &Context, address: &Address, asked: &[(OpId, Asked)]) -> Result<String, Error> {
    let mut names = asked.iter().map(|(_, asked)| address.parts(&asked.table).0.to_owned());
    let planned = || ctx.plan.tables.first().map(|table| address.parts(&table.name).0.to_owned());
    let first = names.next().or_else(planned).unwrap_or_else(|| address.database.clone());
    match names.find(|name| *name != first) {
        None => Ok(first),
        Some(other) => {
            Err(Error::Plan(format!("a session of ndb reaches one database, not {first} and {other}")))
        }
    }
}
