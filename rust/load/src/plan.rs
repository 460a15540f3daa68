//! What a load server is told of an import: by its own start, or by an authenticated client. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use inrush_rows::placement::Rule;
use inrush_rows::plan::RunPlan;

/// Writers of a shard: each is a thread and a connection.
const CONNECTIONS_MOST: u32 = 1024;
/// Rows wait in memory until a transaction has them.
const FLUSH_ROWS_MOST: usize = 10_000_000;
/// PostgreSQL's longest `bit(n)`.
const BITS_MOST: u32 = 83_886_080;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportPlan {
    pub import: String,
    /// Distribution key: columns with their types in the database; may be empty with one shard.
    pub key: Vec<(String, String)>,
    /// How the key places rows on them.
    #[serde(default)]
    pub rule: Rule,
    pub shards: Vec<ShardPlan>,
    /// Where the rows of each shard are stored once more, in the same order; empty without copies.
    #[serde(default)]
    pub replicas: Vec<ShardPlan>,
}

impl ImportPlan {
    /// Whether another command's plan stores the same rows in the same places: how many may be refused is no part of that.
    pub fn is_alike(&self, other: &ImportPlan) -> bool {
        let bare = |plan: &ImportPlan| {
            let mut plan = plan.clone();
            plan.shards.iter_mut().chain(&mut plan.replicas).for_each(|shard| shard.refused_most = 0);
            plan
        };
        bare(self) == bare(other)
    }

    /// Why there can be no such import; `None` where there can.
    pub fn problem(&self) -> Option<String> {
        let (partitions, copies) = (self.shards.len(), self.replicas.len());
        if partitions == 0 {
            return Some("a load needs one shard at least".into());
        }
        if copies != 0 && copies != partitions {
            return Some(format!("{copies} replicas of {partitions} shards"));
        }
        let columns = |shard: &ShardPlan| {
            let table = shard.plan.tables.first()?;
            Some(table.columns.iter().map(|c| (c.name.clone(), c.ty)).collect::<Vec<_>>())
        };
        let first = columns(&self.shards[0]);
        self.shards.iter().chain(&self.replicas).find_map(|shard| {
            let what = if shard.plan.tables.is_empty() {
                "its plan has no table".to_owned()
            } else if shard.plan.operations.is_empty() {
                "its plan has no operation".to_owned()
            } else if columns(shard) != first {
                "its table has other columns than the first shard's".to_owned()
            } else if shard.connections > CONNECTIONS_MOST {
                format!("{} connections; at most {CONNECTIONS_MOST}", shard.connections)
            } else if shard.flush_rows > FLUSH_ROWS_MOST {
                format!("{} rows in a transaction; at most {FLUSH_ROWS_MOST}", shard.flush_rows)
            } else {
                let (column, bits) = shard.raw.iter().find(|(_, bits)| **bits > BITS_MOST)?;
                format!("{bits} bits in column {column}; at most {BITS_MOST}")
            };
            Some(format!("shard {}: {what}", shard.name))
        })
    }
}

/// A shard as a plan of the core: its first table is loaded by its first operation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardPlan {
    pub name: String,
    pub plan: RunPlan,
    pub ledger: LedgerPlan,
    /// Writers at once.
    pub connections: u32,
    /// Rows of one transaction. Parts are not cut, so that it may be more; many bytes of texts make it fewer.
    pub flush_rows: usize,
    /// How long a shard may be away before the load ends.
    pub patience_ns: u64,
    /// Holds the shard to a rate.
    pub rows_per_s: Option<f64>,
    /// More rows of one chunk than this that the server refuses, each for itself, end the load; 0: the first one does.
    #[serde(default)]
    pub refused_most: u64,
    /// Columns of hexadecimal digits that are stored as what they stand for: see `raw`.
    #[serde(default)]
    pub raw: BTreeMap<String, u32>,
    /// Where rows may have keys that the table has already: what brings them from where the insert puts them into the table, and
    /// empties that place again. In the transaction that has the lines of the ledger.
    #[serde(default)]
    pub merge: Vec<MergeStep>,
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergeStep {
    pub text: String,
    /// Of a line in the ledger, about rows that the table loses or does not take: what follows `, file, chunk` behind the text.
    #[serde(default)]
    pub noted: Option<String>,
}

/// Statements about the ledger in the engine's dialect.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerPlan {
    /// Rows (file, chunk, rows, last, after, sums) of this import.
    pub read: String,
    /// Up to and with VALUES.
    pub insert: String,
    /// The import as a literal: first of the values.
    pub import: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value as Json};

    fn shard(name: &str) -> Json {
        json!({
            "name": name, "ledger": {"read": "", "insert": "", "import": ""}, "connections": 1, "flush_rows": 1,
            "patience_ns": 1, "rows_per_s": null,
            "plan": {
                "version": 1, "run_id": "r", "study": "s", "seed": 7, "epoch_ns": 0,
                "target": {"engine": "null", "url": ""}, "segments": [],
                "record": {"interval_ns": 1, "flush_ns": 1},
                "watch": {"every_ns": 0, "processes": {}, "data_dir": ""},
                "tables": [{"name": "t", "stream": "t", "source": {"kind": "generated", "series": 1, "period_ns": 1},
                            "columns": [{"name": "k", "type": "i64", "wire": ""}]}],
                "operations": [{"name": "i", "kind": "insert", "table": 0, "method": "bulk", "text": ""}],
            },
        })
    }

    fn problem(change: impl FnOnce(&mut Json)) -> Option<String> {
        let mut plan = json!({"import": "i", "key": [], "shards": [shard("a"), shard("b")]});
        change(&mut plan);
        serde_json::from_value::<ImportPlan>(plan).expect("it can be read").problem()
    }

    #[test]
    fn an_import_that_there_cannot_be_is_refused_before_anything_is_connected() {
        assert_eq!(problem(|_| ()), None);
        let says = |what: &str, change: fn(&mut Json)| {
            let found = problem(change).expect(what);
            assert!(found.contains(what), "{found}");
        };
        says("one shard at least", |plan| plan["shards"] = json!([]));
        says("1 replicas of 2 shards", |plan| plan["replicas"] = json!([shard("c")]));
        says("shard b: its plan has no table", |plan| plan["shards"][1]["plan"]["tables"] = json!([]));
        says("shard b: its plan has no operation", |plan| {
            plan["shards"][1]["plan"]["operations"] = json!([])
        });
        says("shard b: its table has other columns", |plan| {
            plan["shards"][1]["plan"]["tables"][0]["columns"][0]["type"] = json!("text")
        });
        says("shard a: 4294967295 connections", |plan| plan["shards"][0]["connections"] = json!(u32::MAX));
        says("4294967295 rows in a transaction", |plan| plan["shards"][1]["flush_rows"] = json!(u32::MAX));
        says("4294967295 bits in column k", |plan| plan["shards"][0]["raw"] = json!({"k": u32::MAX}));
    }
}
