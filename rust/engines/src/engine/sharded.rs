//! Several servers that share the rows of every table, as one engine: over the engine that each of them is.
//!
//! A session is either at their coordinator, and then one of the wrapped engine; or it is a session at each of them, and its
//! calls go to the shard of their key. Statements off the figures go to all, the coordinator last: it may look at them.

mod router;
mod session;
mod sums;

use std::sync::Arc;

use super::{Answer, Caps, Context, Engine, OpId, Session};
use inrush_rows::error::Error;
use inrush_rows::plan::{OpKind, RunPlan, Shards, Statement, Target};

use router::Router;
use session::ShardedSession;

type Build = fn(&Context) -> Result<Arc<dyn Engine>, Error>;

pub struct Sharded {
    ctx: Context,
    shards: Vec<Arc<dyn Engine>>,
    /// Where sessions are, if not at the shards.
    coordinator: Option<Arc<dyn Engine>>,
    keys: Vec<Vec<(String, String)>>,
}

impl Sharded {
    /// build: the wrapped engine at an address.
    pub fn new(ctx: &Context, shards: &Shards, build: Build) -> Result<Sharded, Error> {
        if shards.urls.is_empty() {
            return Err(Error::Plan("target.shards has no urls".to_owned()));
        }
        let at = |url: &String| build(&at(ctx, url));
        let straight = !shards.keys.is_empty();
        Ok(Sharded {
            ctx: ctx.clone(),
            shards: shards.urls.iter().map(at).collect::<Result<_, Error>>()?,
            coordinator: if straight { None } else { Some(at(&ctx.plan.target.url)?) },
            keys: shards.keys.clone(),
        })
    }

    /// The shards, and the coordinator behind them where it takes part.
    fn all(&self) -> impl Iterator<Item = &Arc<dyn Engine>> {
        self.shards.iter().chain(&self.coordinator)
    }

    fn router(&self, op: OpId) -> Result<Router, Error> {
        let of = self.ctx.op(op);
        let placed = of.does.is_some() || of.kind == OpKind::Insert;
        let table = of.table.filter(|_| placed).and_then(|table| Some((table, self.keys.get(table)?)));
        let Some((table, key)) = table else {
            return Err(Error::Plan(format!(
                "operation {}: straight to shards go rows and calls by key, which have a shard; call others at the coordinator",
                of.name
            )));
        };
        Router::new(&self.ctx.plan.tables[table], of, key, self.shards.len())
    }
}

/// The same plan at one server.
fn at(ctx: &Context, url: &str) -> Context {
    let plan = &ctx.plan;
    let target = Target { url: url.to_owned(), shards: None, faults: Vec::new(), ..plan.target.clone() };
    Context { plan: Arc::new(RunPlan { target, ..(**plan).clone() }), ..ctx.clone() }
}

impl Engine for Sharded {
    /// A batch is stored by several servers, each of which stores its part whole.
    fn caps(&self) -> Caps {
        Caps { inserts_whole: false, ..self.shards[0].caps() }
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        if let Some(coordinator) = &self.coordinator {
            return coordinator.open(ops);
        }
        let mut routers: Vec<Option<Router>> = self.ctx.plan.operations.iter().map(|_| None).collect();
        for &op in ops {
            routers[op] = Some(self.router(op)?);
        }
        let sessions = self.shards.iter().map(|shard| shard.open(ops)).collect::<Result<_, Error>>()?;
        Ok(Box::new(ShardedSession::new(self.ctx.clock, sessions, routers)))
    }

    fn answers(&self, op: OpId) -> bool {
        self.shards[0].answers(op)
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        self.ask(&Statement::from(text), limit_ns)
    }

    /// The rows of all; equal ones are one, as of settings that all have alike.
    fn ask(&self, statement: &Statement, limit_ns: u64) -> Result<Answer, Error> {
        let mut together = Answer::default();
        for server in self.all() {
            let answer = server.ask(statement, limit_ns)?;
            together.names = answer.names;
            for row in answer.rows {
                if !together.rows.contains(&row) {
                    together.rows.push(row);
                }
            }
        }
        Ok(together)
    }

    fn ask_sums(&self, statement: &Statement, limit_ns: u64) -> Result<Answer, Error> {
        let answers = self.all().map(|server| server.ask(statement, limit_ns));
        answers.collect::<Result<Vec<_>, Error>>().map(sums::by_name)
    }

    fn shards(&self) -> &[Arc<dyn Engine>] {
        &self.shards
    }
}

#[cfg(test)]
mod tests;
