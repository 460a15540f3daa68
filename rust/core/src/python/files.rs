//! What users' files hold, and what a table holds that they were loaded into.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::{failure, unread};
use inrush_load::look::{look, Like, Look};
use inrush_load::{content, readback};
use inrush_rows::rows;
use inrush_rows::rows::files::sample::Found;

/// Bytes of a start of a file, their digest, and whether they end with a line.
type ToldStart = (u64, String, bool);

#[pyfunction]
#[pyo3(signature = (path, sizes = Vec::new()))]
pub(super) fn file_digest(
    py: Python<'_>,
    path: PathBuf,
    sizes: Vec<u64>,
) -> PyResult<(String, u64, Vec<ToldStart>)> {
    let (digest, bytes, starts) = py.detach(|| content::digests(&path, &sizes)).map_err(failure)?;
    let shown = |start: content::Start| (start.bytes, format!("{:032x}", start.digest), start.ended);
    Ok((format!("{digest:032x}"), bytes, starts.into_iter().map(shown).collect()))
}

/// Bytes, times of the last write and the last change in ns, number on its disk; then digest, the place of the file that
/// stands for it, and what was found of it as JSON.
type Looked = ((u64, i64, i64, u64), Option<String>, Option<usize>, Option<String>);

/// What is told of one file: a text where it cannot be read.
#[derive(IntoPyObject)]
pub(super) enum Told {
    Looked(Looked),
    Unread(String),
}

#[pyfunction]
pub(super) fn sample_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    said_json: &str,
    rows: u64,
    alike: bool,
) -> PyResult<Vec<Told>> {
    let said = serde_json::from_str(said_json).map_err(unread)?;
    let found = py.detach(|| look(&paths, &said, rows, alike));
    let shown = |look: Look| {
        let stamp = (look.stamp.bytes, look.stamp.mtime_ns, look.stamp.ctime_ns, look.stamp.inode);
        let (like, sampled) = match look.found {
            Like::Other(k) => (Some(k), None),
            Like::Itself(Found::Other) => (None, None),
            Like::Itself(Found::Refused(why)) => {
                (None, Some(serde_json::json!({ "refused": why }).to_string()))
            }
            Like::Itself(Found::Empty(why)) => (None, Some(serde_json::json!({ "empty": why }).to_string())),
            Like::Itself(Found::Sample(sample)) => {
                (None, Some(serde_json::to_string(&sample).expect("it is plain data")))
            }
        };
        Told::Looked((stamp, look.digest.map(|d| format!("{d:032x}")), like, sampled))
    };
    Ok(found.into_iter().map(|look| look.map_or_else(Told::Unread, shown)).collect())
}

/// Values of a file that are other numbers as floats, of each column.
#[pyfunction]
pub(super) fn rounded_values(py: Python<'_>, floats_json: &str) -> PyResult<Vec<u64>> {
    let floats = serde_json::from_str(floats_json).map_err(unread)?;
    py.detach(|| rows::files::sample::rounded(&floats)).map_err(failure)
}

/// What a pattern of dates makes: `date`, `time_ms` or `time_us`; and of each text, whether it is of this form.
#[pyfunction]
pub(super) fn date_format(pattern: &str, texts: Vec<String>) -> PyResult<(&'static str, Vec<bool>)> {
    rows::files::sample::by_pattern(pattern, &texts).map_err(failure)
}

#[pyfunction]
pub(super) fn read_files(py: Python<'_>, plan_json: &str) -> PyResult<String> {
    let plan = serde_json::from_str(plan_json).map_err(unread)?;
    py.detach(|| readback::files(plan)).map(|found| found.to_string()).map_err(failure)
}

#[pyfunction]
pub(super) fn read_table(py: Python<'_>, scan_json: &str) -> PyResult<String> {
    let plan = serde_json::from_str(scan_json).map_err(unread)?;
    py.detach(|| readback::table(plan, Default::default())).map(|found| found.to_string()).map_err(failure)
}

#[pyfunction]
pub(super) fn file_rows(py: Python<'_>, table_json: &str, seed: u64, epoch_ns: i64) -> PyResult<Vec<u64>> {
    py.detach(|| rows::file_rows(table_json, seed, epoch_ns)).map_err(failure)
}
