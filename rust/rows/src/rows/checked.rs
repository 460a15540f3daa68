//! A table as it stands in JSON: what is wrong with its generators, all of it at once, each with its column; and the files
//! that its rows lie in.

use serde::Deserialize;
use serde_json::{json, Value as Json};

use super::compile::placed_problems;
use super::generate::RowGen;
use crate::error::Error;
use crate::plan::{GenPlan, TablePlan};

/// (column, problem) of each mistake; the column is empty for one of the whole table.
///
/// A generator that cannot even be read hides no mistake of another column.
/// Errors: a document that is no `TablePlan` for another reason than its generators.
pub fn check_table(json: &str, seed: u64, epoch_ns: i64) -> Result<Vec<(String, String)>, Error> {
    let unread = |e: serde_json::Error| Error::Plan(e.to_string());
    let mut document: Json = serde_json::from_str(json).map_err(unread)?;
    let mut found = Vec::new();
    for column in document["columns"].as_array_mut().into_iter().flatten() {
        let Some(gen) = column.get("gen") else { continue };
        if let Err(problem) = GenPlan::deserialize(gen) {
            let name = column["name"].as_str().unwrap_or_default();
            found.push((name.to_string(), problem.to_string()));
            // Stands in for it, so that columns which derive from it are looked at.
            column["gen"] = json!({ "kind": "constant", "value": 0 });
        }
    }
    let table: TablePlan = serde_json::from_value(document).map_err(unread)?;
    let unreadable: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
    for (column, problem) in placed_problems(&table, seed, epoch_ns) {
        let column = column.unwrap_or_default();
        if !unreadable.contains(&column) {
            found.push((column, problem));
        }
    }
    Ok(found)
}

/// First row of each file of a table whose rows lie in files, and the end.
///
/// Errors: what `check_table` finds, and a table without files.
pub fn file_rows(json: &str, seed: u64, epoch_ns: i64) -> Result<Vec<u64>, Error> {
    let table: TablePlan = serde_json::from_str(json).map_err(|e| Error::Plan(e.to_string()))?;
    let generator = RowGen::new(&table, seed, epoch_ns)?;
    let first = generator.files().ok_or_else(|| {
        Error::Plan(format!(
            "{}: its rows lie in no files; write [tables.{}.chunks]",
            table.name, table.stream
        ))
    })?;
    Ok(first.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, ty: &str, gen: Json) -> Json {
        json!({ "name": name, "type": ty, "wire": "", "gen": gen })
    }

    fn found(columns: &[Json]) -> Vec<(String, String)> {
        let source = json!({ "kind": "generated", "series": 4, "period_ns": 1_000_000_000 });
        let table = json!({ "name": "t", "stream": "t", "columns": columns, "source": source });
        check_table(&table.to_string(), 1, 0).unwrap()
    }

    #[test]
    fn every_mistake_of_a_table_is_said_with_its_column() {
        let found = found(&[
            column("id", "i64", json!({ "kind": "sequence", "start": 0, "step": 1 })),
            column("small", "u8", json!({ "kind": "uniform", "from": 0, "to": 256 })),
            column("unread", "i64", json!({ "kind": "uniform", "from": 0 })),
            column("text", "text", json!({ "kind": "format", "pattern": "D%s", "fields": [] })),
        ]);
        let columns: Vec<&str> = found.iter().map(|(column, _)| column.as_str()).collect();
        assert_eq!(columns, ["unread", "small", "text"], "{found:?}");
        assert!(found[0].1.contains("missing field `to`"), "{found:?}");
    }

    #[test]
    fn a_column_of_one_that_cannot_be_read_is_no_second_mistake() {
        let found = found(&[
            column("of", "i64", json!({ "kind": "uniform", "from": 0 })),
            column("sum", "i64", json!({ "kind": "sum", "of": ["of", "nobody"] })),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].1.contains("nobody"), "{found:?}");
    }

    #[test]
    fn a_mistake_of_the_table_has_no_column() {
        let source = json!({ "kind": "generated", "series": 0, "period_ns": 1 });
        let table = json!({ "name": "t", "stream": "t", "columns": [], "source": source });
        assert_eq!(check_table(&table.to_string(), 1, 0).unwrap()[0].0, "");
        assert!(check_table("{}", 1, 0).is_err());
    }
}
