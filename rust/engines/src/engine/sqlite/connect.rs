//! The file of an address, opened by the options of its target.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::failure::refused;
use inrush_rows::error::Error;
use inrush_rows::plan::Target;

const BUSY_TIMEOUT_MS: u64 = 60_000;

pub fn connect(target: &Target, path: &Path) -> Result<Connection, Error> {
    let db = Connection::open(path).map_err(|e| refused(target, &e))?;
    db.busy_timeout(busy_timeout(target)?).map_err(|e| refused(target, &e))?;
    let option = |name: &str, default: &str| target.options.get(name).cloned().unwrap_or(default.into());
    let journal = option("journal", "WAL");
    let found: String = db
        .pragma_update_and_check(None, "journal_mode", &journal, |row| row.get(0))
        .map_err(|e| refused(target, &e))?;
    if !found.eq_ignore_ascii_case(&journal) {
        return Err(Error::Plan(format!(
            "target.options.journal is {journal}, but {} keeps {found}",
            target.url
        )));
    }
    let synchronous = option("synchronous", "FULL");
    db.pragma_update(None, "synchronous", &synchronous).map_err(|e| refused(target, &e))?;
    for (name, value) in &target.options {
        if let Some(pragma) = name.strip_prefix("pragma.") {
            db.pragma_update(None, pragma, value).map_err(|e| refused(target, &e))?;
        }
    }
    Ok(db)
}

pub fn busy_timeout(target: &Target) -> Result<Duration, Error> {
    let Some(text) = target.options.get("busy_timeout_ms") else {
        return Ok(Duration::from_millis(BUSY_TIMEOUT_MS));
    };
    let ms = text.parse().map_err(|_| {
        Error::Plan(format!("target.options.busy_timeout_ms is {text}; it is a number of milliseconds"))
    })?;
    Ok(Duration::from_millis(ms))
}

/// `sqlite:///absolute/file`, `sqlite://relative/file` or `sqlite:file`.
pub fn path_of(url: &str) -> Result<PathBuf, Error> {
    let path = url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")).unwrap_or("");
    if path.is_empty() || path == ":memory:" {
        return Err(Error::Plan(format!(
            "target.url is {url}; sqlite needs a file that sessions share: sqlite:///dir/file.db"
        )));
    }
    Ok(PathBuf::from(path))
}
