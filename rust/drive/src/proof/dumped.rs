//! Are the files of a dump the table: every row once, and unchanged? They are read as any reader would.

use std::path::Path;

use super::{compared, digest_text, BATCH_ROWS};
use crate::tables::ProofRow;
use inrush_rows::error::Error;
use inrush_rows::plan::{DumpPlan, RowSource, TablePlan};
use inrush_rows::rows::files::FileRows;
use inrush_rows::rows::{row_hashes, Digest, Expected};

/// One row: how many rows there are in the files, and their digest. `name`: of the operation.
pub(super) fn prove(
    table: &TablePlan,
    name: &str,
    dump: &DumpPlan,
    expected: &Expected,
) -> Result<ProofRow, Error> {
    let mut files = dump.as_files(table);
    let mut lacking = Vec::new();
    if let RowSource::Files { paths, .. } = &mut files.source {
        paths.retain(|path| {
            let there = Path::new(path).exists();
            if !there {
                lacking.push(path.clone());
            }
            there
        });
    }
    let digest = if lacking.len() as u64 == dump.files() { Digest::default() } else { read(&files)? };
    let lacks = match lacking.as_slice() {
        [] => String::new(),
        [first, ..] => format!("; {} files are not there, the first is {first}", lacking.len()),
    };
    let found = format!("{}{lacks}", digest_text(&digest));
    Ok(compared(&table.name, name.to_owned(), digest_text(&expected.digest), found))
}

fn read(files: &TablePlan) -> Result<Digest, Error> {
    let mut rows = FileRows::open(files)?;
    let mut columns = rows.columns();
    let (mut digest, mut hashes) = (Digest::default(), Vec::with_capacity(BATCH_ROWS));
    while rows.next_batch(BATCH_ROWS, &mut columns)? > 0 {
        row_hashes(&columns, &mut hashes);
        digest.add(&hashes);
    }
    Ok(digest)
}
