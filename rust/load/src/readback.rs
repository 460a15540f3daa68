//! The two sides of a proof that reads: what the files hold, and what the table holds through the query path.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{json, Value as Json};

use crate::client::without;
use inrush_engines::engine::{build, Context, OpId};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::{ChecksumItem, RowSource, RunPlan, TablePlan, Target};
use inrush_rows::rows::files::FileRows;
use inrush_rows::rows::{Columns, Expected};

const BATCH_ROWS: usize = 8192;

/// A table that is read as a whole.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanPlan {
    pub target: Target,
    /// The columns that `statement` reads, in its order.
    pub table: TablePlan,
    pub statement: String,
    /// What is summed over its rows, beside their digest.
    pub items: Vec<ChecksumItem>,
}

/// Files that are read as they are loaded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesPlan {
    /// Each with one file for its source.
    pub tables: Vec<TablePlan>,
    /// Columns that enter the digest; their order is the tables'.
    pub columns: Vec<String>,
    /// What is summed over these columns, beside their digest.
    #[serde(default)]
    pub items: Vec<ChecksumItem>,
    /// Path of a file -> good rows of it that a server refused, by their numbers, in order.
    #[serde(default)]
    pub without: BTreeMap<String, Vec<u64>>,
}

impl ScanPlan {
    /// Of a JSON document, on this target.
    pub fn at(target: &Target, document: &mut Json) -> Result<ScanPlan, Error> {
        let wrong = |e: serde_json::Error| Error::Plan(format!("a scan cannot be read: {e}"));
        document["target"] = serde_json::to_value(target).map_err(wrong)?;
        serde_json::from_value(document.take()).map_err(wrong)
    }
}

/// {"rows", "digest", "sums"} of all rows of the table.
pub fn table(plan: ScanPlan, stop: Arc<AtomicBool>) -> Result<Json, Error> {
    let like = Columns::of(&plan.table);
    let mut found = Expected::empty(&plan.items, &like)?;
    let run = Arc::new(RunPlan::of_target(plan.target, vec![plan.table]));
    let context = Context { plan: run, clock: Clock::start(), stop };
    let no_operations: [OpId; 0] = [];
    let mut session = build(&context)?.open(&no_operations)?;
    let mut hashes = Vec::new();
    session.scan(&plan.statement.as_str().into(), &like, &mut |rows| found.add(rows, &mut hashes))?;
    session.close()?;
    Ok(document(&found))
}

/// The same of all good rows of the files; rejected ones are in no figure.
pub fn files(plan: FilesPlan) -> Result<Json, Error> {
    let mut found: Option<Expected> = None;
    let mut hashes = Vec::new();
    for table in &parts_of(&plan) {
        let mut rows = FileRows::open(table)?;
        let mut batch = rows.columns();
        let refused = paths_of(table).first().and_then(|path| plan.without.get(path));
        let mut first = 0;
        while rows.next_batch(BATCH_ROWS, &mut batch)? > 0 {
            let places = refused.map_or_else(Vec::new, |rows| places_in(rows, first, batch.rows as u64));
            first += batch.rows as u64;
            let chosen = chosen(&batch, &plan.columns);
            let chosen = if places.is_empty() { chosen } else { without(&chosen, &places) };
            if found.is_none() {
                found = Some(Expected::empty(&plan.items, &chosen)?);
            }
            if let Some(found) = &mut found {
                found.add(&chosen, &mut hashes);
            }
        }
    }
    Ok(found
        .as_ref()
        .map_or_else(|| json!({"rows": 0, "digest": format!("{:032x}", 0), "sums": ""}), document))
}

/// The tables; where rows of files are left out, each file as one of its own.
fn parts_of(plan: &FilesPlan) -> Vec<TablePlan> {
    if plan.without.is_empty() {
        return plan.tables.clone();
    }
    let alone = |table: &TablePlan| {
        let of = |path: &String| {
            let mut own = table.clone();
            if let RowSource::Files { paths, .. } = &mut own.source {
                *paths = vec![path.clone()];
            }
            own
        };
        paths_of(table).iter().map(of).collect::<Vec<_>>()
    };
    plan.tables.iter().flat_map(alone).collect()
}

fn paths_of(table: &TablePlan) -> &[String] {
    match &table.source {
        RowSource::Files { paths, .. } => paths,
        RowSource::Generated { .. } => &[],
    }
}

/// Those of these rows that are among `count` from `first` on, by their places there.
fn places_in(rows: &[u64], first: u64, count: u64) -> Vec<u32> {
    let among = rows.iter().filter(|row| (first..first + count).contains(row));
    among.map(|row| (row - first) as u32).collect()
}

/// The columns of these names.
fn chosen(batch: &Columns, names: &[String]) -> Columns {
    let columns = batch.columns.iter().filter(|c| names.contains(&c.name)).cloned().collect();
    Columns::new(batch.rows, columns)
}

fn document(found: &Expected) -> Json {
    json!({
        "rows": found.digest.rows,
        "digest": format!("{:032x}", found.digest.sum),
        "sums": found.sums.text(),
    })
}
