//! Storing on one shard: rows and their ledger line together, again after a loss, never twice.

mod writer;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use super::frame::{Ack, ChunkHead, Reached};
use super::listeners::Reply;
use super::plan::ShardPlan;
use inrush_engines::engine::{build, Context, Engine};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::rows::files::Position;
use inrush_rows::rows::{Columns, Value};

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
}

pub type Lines = HashMap<(u32, u64), Line>;

/// The rows of one chunk that belong on one shard.
pub struct Part {
    pub head: ChunkHead,
    pub rows: Columns,
    pub chunk: Arc<Pending>,
    /// A copy on the shard after its own: its rows are counted there.
    pub is_copy: bool,
}

impl Part {
    /// One shard more has it. of_others: the ledger had it already.
    pub fn stored(&self, of_others: bool) {
        self.chunk.stored(if of_others && !self.is_copy { self.rows.rows as u64 } else { 0 });
    }
}

/// A chunk until its last shard has it.
pub struct Pending {
    ack: Ack,
    state: Mutex<Waiting>,
}

struct Waiting {
    /// Shards that do not have it yet.
    left: usize,
    /// Rows of it that the ledgers had already.
    of_others: u64,
    /// Where its answers go: first the client that sent it, then those that sent it again while it was under way.
    replies: Vec<Sender<Reply>>,
}

impl Pending {
    pub fn new(ack: Ack, shards: usize, replies: Sender<Reply>) -> Pending {
        Pending { ack, state: Mutex::new(Waiting { left: shards, of_others: 0, replies: vec![replies] }) }
    }

    /// One shard more has it; the last one acknowledges. of_others: rows of this shard that its ledger had already.
    pub fn stored(&self, of_others: u64) {
        let mut state = self.state.lock().unpoisoned();
        state.left -= 1;
        state.of_others += of_others;
        if state.left == 0 {
            let own = Ack { of_others: state.of_others, ..self.ack };
            // A client that has gone asks the ledger when it comes again.
            for (k, replies) in state.replies.drain(..).enumerate() {
                drop(replies.send(Reply::Ack(if k == 0 { own } else { self.stored_for_another() })));
            }
        }
    }

    /// Every row of it came from another client.
    fn stored_for_another(&self) -> Ack {
        Ack { of_others: self.ack.rows, ..self.ack }
    }

    /// It was sent again: acknowledged to this sender too, and not stored again.
    pub fn sent_again(&self, replies: &Sender<Reply>) {
        let mut state = self.state.lock().unpoisoned();
        if state.left == 0 {
            drop(replies.send(Reply::Ack(self.stored_for_another())));
        } else {
            state.replies.push(replies.clone());
        }
    }
}

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
    let [file, chunk, rows, last, Value::Text(after), Value::Text(sums)] = row else { return None };
    let after = serde_json::from_str(after).ok()?;
    let key = (u32::try_from(integer(file)?).ok()?, u64::try_from(integer(chunk)?).ok()?);
    Some((
        key,
        Line {
            rows: u64::try_from(integer(rows)?).ok()?,
            last: integer(last)? != 0,
            after,
            sums: sums.clone(),
        },
    ))
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
            let mut next = 0;
            let mut end: Option<&Line> = None;
            let mut sums = Some(Vec::new());
            while let Some(first) = ledgers[0].get(&(file, next)) {
                if !ledgers.iter().all(|l| l.contains_key(&(file, next))) {
                    break;
                }
                sums = sums.and_then(|sums| added(sums, &first.sums));
                end = Some(first);
                next += 1;
            }
            let sums = sums.unwrap_or_default();
            let sums: Vec<String> = sums.iter().map(i128::to_string).collect();
            end.map(|line| Reached {
                file,
                chunk: next,
                after: line.after,
                done: line.last,
                sums: sums.join(" "),
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
    use std::sync::mpsc::{channel, Receiver};

    use super::*;

    fn ledger(lines: &[(u32, u64, bool)]) -> Lines {
        lines
            .iter()
            .map(|(file, chunk, last)| {
                let after = Position { offset: chunk + 1, ..Position::default() };
                let sums = format!("1 {chunk}");
                ((*file, *chunk), Line { rows: 1, last: *last, after, sums })
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
    fn a_chunk_is_counted_by_the_client_that_sent_it_first_and_its_rows_of_others_by_none() {
        let (ack, (first, to_first), (second, to_second)) =
            (Ack { file: 0, chunk: 3, rows: 10, of_others: 0 }, channel(), channel());
        let pending = Pending::new(ack, 2, first);
        pending.sent_again(&second);
        pending.stored(0);
        pending.stored(4);
        pending.sent_again(&second);
        let of_others = |replies: Receiver<Reply>| -> Vec<u64> {
            let acks = replies.try_iter().map(|reply| match reply {
                Reply::Ack(ack) => ack.of_others,
                Reply::Failed(message) => panic!("{message}"),
            });
            acks.collect()
        };
        assert_eq!((of_others(to_first), of_others(to_second)), (vec![4], vec![10, 10]));
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
