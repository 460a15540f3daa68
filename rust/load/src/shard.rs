//! Storing on one shard: rows and their ledger line together, again after a loss, never twice.

mod pending;
mod writer;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::Arc;

use serde::Deserialize;

use super::frame::Reached;
use super::plan::ShardPlan;
use inrush_engines::engine::{build, Context, Engine};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::rows::files::Position;
use inrush_rows::rows::Value;

pub use pending::{Again, Part, Pending};
pub use writer::write;

/// The one operation of a shard's plan.
const INSERT: usize = 0;
/// A ledger is small; a database that does not answer so long is gone.
const LEDGER_NS: u64 = 60_000_000_000;

/// One line of a shard's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub rows: u64,
    pub last: bool,
    pub after: Position,
    /// Of the whole chunk, whatever part of it lies on this shard; empty where the import makes none.
    pub sums: String,
    /// Rows of the chunk that servers had refused when this was written.
    pub refused: u64,
}

pub type Lines = HashMap<(u32, u64), Line>;

/// A shard as the server knows it.
pub struct Shard {
    pub plan: ShardPlan,
    pub engine: Arc<dyn Engine>,
    pub stored: AtomicU64,
    /// Rows that its ledger had already when they came.
    pub of_others: AtomicU64,
    pub commits: AtomicU64,
}

impl Shard {
    pub fn connect(plan: ShardPlan, stop: Arc<AtomicBool>) -> Result<Shard, Error> {
        let context = Context { plan: Arc::new(plan.plan.clone()), clock: Clock::start(), stop };
        let engine = build(&context)?;
        let [stored, of_others, commits] = [0; 3].map(AtomicU64::new);
        Ok(Shard { plan, engine, stored, of_others, commits })
    }

    /// What the ledger holds of this import.
    pub fn lines(&self) -> Result<Lines, Error> {
        let answer = self.engine.control(&self.plan.ledger.read, LEDGER_NS)?;
        let garbled = || {
            Error::Plan(format!("shard {}: a line of the load's ledger is not one of ours", self.plan.name))
        };
        answer.rows.iter().map(|row| line(row).ok_or_else(garbled)).collect()
    }
}

fn line(row: &[Value]) -> Option<((u32, u64), Line)> {
    let [file, chunk, rows, last, Value::Text(place), Value::Text(sums)] = row else { return None };
    let after = serde_json::from_str(place).ok()?;
    let Lack { refused } = serde_json::from_str(place).ok()?;
    let key = (u32::try_from(integer(file)?).ok()?, u64::try_from(integer(chunk)?).ok()?);
    Some((
        key,
        Line {
            rows: u64::try_from(integer(rows)?).ok()?,
            last: integer(last)? != 0,
            after,
            sums: sums.clone(),
            refused,
        },
    ))
}

/// Beside a position in a ledger.
#[derive(Deserialize)]
struct Lack {
    #[serde(default)]
    refused: u64,
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::I64(v) => Some(*v),
        Value::U64(v) => i64::try_from(*v).ok(),
        Value::Bool(v) => Some(i64::from(*v)),
        Value::Text(v) => v.parse().ok(),
        _ => None,
    }
}

/// What the ledgers hold, also of chunks behind one that is missing. A ledger can hold any line. Pure.
pub fn rows(ledgers: &[Lines]) -> u64 {
    ledgers.iter().flat_map(Lines::values).fold(0, |sum, line| sum.saturating_add(line.rows))
}

/// How far each file has come on every shard: what a client need not send again. Pure.
pub fn reached(ledgers: &[Lines]) -> Vec<Reached> {
    let files: HashSet<u32> = ledgers.iter().flat_map(|l| l.keys().map(|(file, _)| *file)).collect();
    let mut out: Vec<Reached> = files
        .into_iter()
        .filter_map(|file| {
            let (mut next, mut refused) = (0, 0u64);
            let mut end: Option<&Line> = None;
            let mut sums = Some(Vec::new());
            // On a shard that had its part before another one refused rows, the line still has them.
            let of_chunk = |chunk: u64| ledgers.iter().filter_map(move |l| l.get(&(file, chunk)));
            while of_chunk(next).count() == ledgers.len() {
                let Some(line) = of_chunk(next).max_by_key(|line| line.refused) else { break };
                sums = sums.and_then(|sums| added(sums, &line.sums));
                refused = refused.saturating_add(line.refused);
                end = Some(line);
                next += 1;
            }
            let chunks = ledgers.iter().flat_map(|l| l.iter());
            let behind =
                chunks.filter(|((of, chunk), line)| *of == file && *chunk >= next && line.refused > 0);
            let mut lacking: Vec<u64> = behind.map(|((_, chunk), _)| *chunk).collect();
            lacking.sort_unstable();
            lacking.dedup();
            if end.is_none() && lacking.is_empty() {
                return None;
            }
            let sums = sums.unwrap_or_default();
            let sums: Vec<String> = sums.iter().map(i128::to_string).collect();
            Some(Reached {
                file,
                chunk: next,
                after: end.map_or_else(Position::default, |line| line.after),
                done: end.is_some_and(|line| line.last),
                sums: sums.join(" "),
                refused,
                lacking,
            })
        })
        .collect();
    out.sort_by_key(|r| r.file);
    out
}

/// Figure by figure; `None` where one side has none, or not as many, or no sum of them is a figure: a ledger can hold any.
fn added(sums: Vec<i128>, more: &str) -> Option<Vec<i128>> {
    let more: Option<Vec<i128>> = more.split_ascii_whitespace().map(|figure| figure.parse().ok()).collect();
    let more = more.filter(|more| !more.is_empty())?;
    if sums.is_empty() {
        return Some(more);
    }
    let pairs = sums.iter().zip(more.iter());
    (sums.len() == more.len()).then(|| pairs.map(|(a, b)| a.checked_add(*b)).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(lines: &[(u32, u64, bool)]) -> Lines {
        lines
            .iter()
            .map(|(file, chunk, last)| {
                let after = Position { offset: chunk + 1, ..Position::default() };
                let sums = format!("1 {chunk}");
                ((*file, *chunk), Line { rows: 1, last: *last, after, sums, refused: 0 })
            })
            .collect()
    }

    #[test]
    fn sums_of_a_ledger_are_added_where_both_are_figures_of_as_many_items() {
        assert_eq!(added(vec![], "1 -2"), Some(vec![1, -2]));
        assert_eq!(added(vec![1, 2], "3 4"), Some(vec![4, 6]));
        let huge = i128::MAX.to_string();
        for other in ["3", "", "3 x", &format!("{huge} 4")] {
            assert_eq!(added(vec![1, 2], other), None, "{other}");
        }
    }

    #[test]
    fn what_was_refused_is_known_from_the_ledger() {
        let mut one = ledger(&[(0, 0, false), (0, 1, false), (0, 3, false)]);
        let mut two = one.clone();
        // Of chunk 0 the second shard refused two rows, after the first one had its part.
        let line = two.get_mut(&(0, 0)).unwrap();
        (line.refused, line.sums) = (2, "5 5".into());
        one.get_mut(&(0, 3)).unwrap().refused = 1;
        two.remove(&(0, 3));
        let got = &reached(&[one, two])[0];
        assert_eq!((got.chunk, got.refused, got.sums.as_str(), &got.lacking[..]), (2, 2, "6 6", &[3][..]));
    }

    #[test]
    fn a_file_goes_on_behind_the_last_chunk_that_every_shard_has() {
        let one = ledger(&[(0, 0, false), (0, 1, false), (0, 2, false), (1, 0, true)]);
        let two = ledger(&[(0, 0, false), (0, 2, false), (1, 0, true)]);
        let got = reached(&[one, two]);
        assert_eq!(
            got.iter().map(|r| (r.file, r.chunk, r.done)).collect::<Vec<_>>(),
            [(0, 1, false), (1, 1, true)]
        );
        assert_eq!(got[0].after.offset, 1);
    }

    #[test]
    fn what_a_file_has_reached_has_the_sums_of_its_chunks_or_none() {
        let mut lines = ledger(&[(0, 0, false), (0, 1, false), (0, 2, false)]);
        assert_eq!(reached(std::slice::from_ref(&lines))[0].sums, "3 3");
        // A ledger can hold any line.
        lines.get_mut(&(0, 1)).unwrap().sums.clear();
        assert_eq!(reached(&[lines])[0].sums, "");
    }

    #[test]
    fn a_file_that_one_shard_never_saw_begins_anew() {
        assert_eq!(reached(&[ledger(&[(0, 0, true)]), ledger(&[])]), []);
    }
}
