//! The two sides of a proof that reads: what the files hold, and what the table holds through the query path.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{json, Value as Json};

use inrush_engines::engine::{build, Context, OpId};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::{ChecksumItem, RunPlan, TablePlan, Target};
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
    for table in &plan.tables {
        let mut rows = FileRows::open(table)?;
        let mut batch = rows.columns();
        while rows.next_batch(BATCH_ROWS, &mut batch)? > 0 {
            let chosen = chosen(&batch, &plan.columns);
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
