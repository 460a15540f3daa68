//! Every engine by its name, and how it is made.

use std::sync::Arc;

#[cfg(feature = "ndb")]
use super::ndb;
use super::{
    adbc, clickhouse, device, duckdb, faulty, influxdb, mysql, null, postgresql, questdb, sharded, simulated,
    sqlite, valkey, Context, Engine, NDB_DEPTH,
};
use inrush_rows::error::Error;

/// What `build` knows of an engine.
struct Known {
    /// Of its Python twin.
    name: &'static str,
    /// Its `Caps::max_depth`, known without a connection.
    max_depth: u32,
    new: fn(&Context) -> Result<Arc<dyn Engine>, Error>,
}

/// Every engine, in the order of their names.
const KNOWN: [Known; 15] = [
    Known { name: "adbc", max_depth: 1, new: |ctx| Ok(Arc::new(adbc::Adbc::new(ctx)?)) },
    Known { name: "clickhouse", max_depth: 1, new: |ctx| Ok(Arc::new(clickhouse::Clickhouse::new(ctx)?)) },
    Known { name: "device", max_depth: 1, new: |ctx| Ok(Arc::new(device::Device::new(ctx)?)) },
    Known { name: "duckdb", max_depth: 1, new: |ctx| Ok(Arc::new(duckdb::duckdb(ctx)?)) },
    Known { name: "influxdb", max_depth: 1, new: |ctx| Ok(Arc::new(influxdb::Influxdb::new(ctx)?)) },
    Known { name: "mariadb", max_depth: mysql::MAX_DEPTH, new: |ctx| Ok(Arc::new(mysql::Mysql::new(ctx)?)) },
    Known { name: "mysql", max_depth: mysql::MAX_DEPTH, new: |ctx| Ok(Arc::new(mysql::Mysql::new(ctx)?)) },
    Known { name: "ndb", max_depth: NDB_DEPTH, new: ndb_engine },
    Known { name: "null", max_depth: null::MAX_DEPTH, new: |ctx| Ok(Arc::new(null::Null::new(ctx)?)) },
    Known {
        name: "postgresql",
        max_depth: postgresql::MAX_DEPTH,
        new: |ctx| Ok(Arc::new(postgresql::Postgresql::new(ctx)?)),
    },
    Known {
        name: "questdb",
        max_depth: postgresql::MAX_DEPTH,
        new: |ctx| Ok(Arc::new(questdb::Questdb::new(ctx)?)),
    },
    Known {
        name: "simulated",
        max_depth: simulated::MAX_DEPTH,
        new: |ctx| Ok(Arc::new(simulated::Simulated::new(ctx)?)),
    },
    Known { name: "sqlite", max_depth: 1, new: |ctx| Ok(Arc::new(sqlite::Sqlite::new(ctx)?)) },
    Known {
        name: "timescaledb",
        max_depth: postgresql::MAX_DEPTH,
        new: |ctx| Ok(Arc::new(postgresql::Postgresql::new(ctx)?)),
    },
    Known {
        name: "valkey",
        max_depth: valkey::MAX_DEPTH,
        new: |ctx| Ok(Arc::new(valkey::Valkey::new(ctx)?)),
    },
];

#[cfg(feature = "ndb")]
fn ndb_engine(ctx: &Context) -> Result<Arc<dyn Engine>, Error> {
    Ok(Arc::new(ndb::Ndb::new(ctx)?))
}

#[cfg(not(feature = "ndb"))]
fn ndb_engine(_: &Context) -> Result<Arc<dyn Engine>, Error> {
    Err(Error::Plan("this inrush was built without its feature `ndb`; build it with it".to_owned()))
}

/// Names of the engines that this build knows.
pub fn names() -> Vec<&'static str> {
    KNOWN.iter().map(|known| known.name).collect()
}

/// `null:<wire>` is `null` behind a wire's encoder.
fn known(engine: &str) -> Option<&'static Known> {
    let name = if engine.starts_with("null:") { "null" } else { engine };
    KNOWN.iter().find(|known| known.name == name)
}

/// The greatest depth of a role on an engine: its `Caps::max_depth`, known without a connection.
pub fn max_depth(engine: &str) -> Option<u32> {
    known(engine).map(|known| known.max_depth)
}

/// The engine that the plan's target names, connected; one that lies where the plan asks for faults.
pub fn build(ctx: &Context) -> Result<Arc<dyn Engine>, Error> {
    let engine: Arc<dyn Engine> = match &ctx.plan.target.shards {
        None => honest(ctx)?,
        Some(shards) => Arc::new(sharded::Sharded::new(ctx, shards, honest)?),
    };
    if ctx.plan.target.faults.is_empty() {
        return Ok(engine);
    }
    Ok(Arc::new(faulty::Faulty::new(engine, ctx)?))
}

fn honest(ctx: &Context) -> Result<Arc<dyn Engine>, Error> {
    let engine = &ctx.plan.target.engine;
    match known(engine) {
        Some(known) => (known.new)(ctx),
        None => Err(Error::Plan(format!("target.engine is {engine}, which this build does not know"))),
    }
}
