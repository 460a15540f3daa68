//! Which shard a row belongs to: by the rule of the server that shows the shards as one table.
//!
//! A row placed by any other rule would lie where a look-up by key does not look. Each rule gives a row a number; its
//! remainder by the number of slots names the slot, and each shard has one slot or, where shards have weights, several.

mod distributed;
mod hash_partitions;
mod route;

use serde::Deserialize;

use crate::error::Error;
use crate::plan::ColumnPlan;
use crate::rows::Columns;
use distributed::{Distributed, Hash};
use hash_partitions::HashPartitions;
pub use route::{append, picked, route};

/// The engine that gives the rule by which rows are placed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// PostgreSQL's partitions by hash.
    HashPartitions {},
    /// ClickHouse's tables of engine Distributed. weights: of the shards, in their order.
    Distributed { hash: Hash, weights: Vec<u32> },
}

impl Default for Rule {
    fn default() -> Rule {
        Rule::HashPartitions {}
    }
}

/// Rows to shards, by one distribution key.
#[derive(Debug, Clone)]
pub struct Placement {
    numbers: Numbers,
    /// The shard of each remainder.
    slots: Vec<u32>,
}

#[derive(Debug, Clone)]
enum Numbers {
    /// One shard takes every row, whatever its key.
    Zero,
    HashPartitions(HashPartitions),
    Distributed(Distributed),
}

impl Placement {
    /// Errors: no such column, or a type that the rule does not take.
    /// key: column and its type in the database, which says more than the type on the wire (char is text there).
    pub fn new(
        rule: &Rule,
        columns: &[ColumnPlan],
        key: &[(String, String)],
        shards: u32,
    ) -> Result<Placement, Error> {
        if shards <= 1 {
            return Ok(Placement { numbers: Numbers::Zero, slots: vec![0] });
        }
        if key.is_empty() {
            return Err(Error::Plan("several shards need a distribution key; name its columns".into()));
        }
        let key = key.iter().map(|part| found(columns, part)).collect::<Result<Vec<_>, Error>>()?;
        Ok(match rule {
            Rule::HashPartitions {} => Placement {
                numbers: Numbers::HashPartitions(HashPartitions::new(&key)?),
                slots: (0..shards).collect(),
            },
            Rule::Distributed { hash, weights } => Placement {
                numbers: Numbers::Distributed(Distributed::new(*hash, &key)?),
                slots: distributed::slots(weights, shards)?,
            },
        })
    }

    /// The shard of every row, in row order. numbers: kept between calls for its memory alone.
    pub fn shards_of(&self, rows: &Columns, numbers: &mut Vec<u64>, out: &mut Vec<u32>) -> Result<(), Error> {
        numbers.clear();
        numbers.resize(rows.rows, 0);
        match &self.numbers {
            Numbers::Zero => {}
            Numbers::HashPartitions(rule) => rule.fold(rows, numbers)?,
            Numbers::Distributed(rule) => rule.fold(rows, numbers)?,
        }
        let slots = self.slots.len() as u64;
        out.clear();
        out.extend(numbers.iter().map(|number| self.slots[(number % slots) as usize]));
        Ok(())
    }
}

/// A key column: its place in a row, its plan, its type in the database.
type KeyColumn<'a> = (usize, &'a ColumnPlan, &'a str);

fn found<'a>(
    columns: &'a [ColumnPlan],
    (name, declared): &'a (String, String),
) -> Result<KeyColumn<'a>, Error> {
    let at = columns
        .iter()
        .position(|c| &c.name == name)
        .ok_or_else(|| Error::Plan(format!("distribution key {name}: the table has no such column")))?;
    Ok((at, &columns[at], declared))
}
