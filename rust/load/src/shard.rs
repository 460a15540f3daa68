//! Storing on one shard: rows and their ledger line together, again after a loss, never twice.

mod writer;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use serde::Deserialize;

use super::frame::{Ack, ChunkHead, Reached, Refused};
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
    /// Rows of the chunk that servers had refused when this was written.
    pub refused: u64,
}

pub type Lines = HashMap<(u32, u64), Line>;

/// The rows of one chunk that belong on one shard.
pub struct Part {
    pub head: ChunkHead,
    pub rows: Columns,
    pub chunk: Arc<Pending>,
    /// A copy on the shard after its own: its rows are counted there.
    pub is_copy: bool,
    /// Its shard, and those of all rows of the chunk where there are several.
    pub shard: usize,
    pub shard_of: Option<Arc<[u32]>>,
}

impl Part {
    /// One shard more has it. of_others: the ledger had it already.
    pub fn stored(&self, of_others: bool) {
        self.chunk.stored(self.shard, if of_others && !self.is_copy { self.rows.rows as u64 } else { 0 });
    }

    /// Its shard refuses these of its rows, by their places among them.
    pub fn refused(&self, rows: Vec<(usize, String)>) {
        let of_chunk = |place: usize| match &self.shard_of {
            None => place,
            Some(shards) => {
                let own = shards.iter().enumerate().filter(|(_, shard)| **shard as usize == self.shard);
                own.map(|(row, _)| row).nth(place).unwrap_or(place)
            }
        };
        self.chunk.refused(rows.into_iter().map(|(place, why)| (of_chunk(place), why)).collect());
    }
}

/// A chunk until its last shard has it.
pub struct Pending {
    ack: Ack,
    /// Rows that are not in it, by their places in the chunk as it was read, with the reasons that servers had; none where they
    /// were refused before this load server began.
    left_out: BTreeMap<u32, Option<String>>,
    state: Mutex<Waiting>,
}

struct Waiting {
    /// Shards that have neither stored nor refused it yet.
    left: usize,
    /// Those that have it.
    has: Vec<bool>,
    /// Rows of it that the ledgers had already.
    of_others: u64,
    /// Rows of it that shards refuse, by the same places.
    refused: BTreeMap<u32, String>,
    /// Where its answers go: first the client that sent it, then those that sent it again while it was under way.
    replies: Vec<Sender<Reply>>,
}

/// What is to be done with a chunk of which one came before.
pub enum Again {
    /// It has been answered, or will be.
    Answered,
    /// It is without all rows that were refused: it is stored.
    Stored(Pending),
    /// It is without rows that the other one has: two clients do not know of each other's rows.
    Other,
}

impl Pending {
    pub fn new(ack: Ack, left_out: &[u32], shards: usize, replies: Sender<Reply>) -> Pending {
        let (refused, replies) = (BTreeMap::new(), vec![replies]);
        let state = Waiting { left: shards, has: vec![false; shards], of_others: 0, refused, replies };
        let left_out = left_out.iter().map(|place| (*place, None)).collect();
        Pending { ack, left_out, state: Mutex::new(state) }
    }

    /// The same chunk comes again, without these rows.
    pub fn again(&self, ack: Ack, left_out: &[u32], replies: &Sender<Reply>) -> Again {
        let mut state = self.state.lock().unpoisoned();
        let lacks = |place: &u32| self.left_out.contains_key(place) || state.refused.contains_key(place);
        let known = self.left_out.len() + state.refused.len();
        if !left_out.iter().all(lacks) {
            return Again::Other;
        }
        if left_out.len() == self.left_out.len() && self.left_out.keys().eq(left_out) {
            if state.left > 0 {
                state.replies.push(replies.clone());
            } else {
                drop(replies.send(self.reply(&state, self.stored_for_another())));
            }
            return Again::Answered;
        }
        if state.left > 0 || left_out.len() < known {
            // Its sender does not know of rows that were refused.
            let rows = self.left_out.iter().map(|(place, why)| {
                (*place, why.clone().unwrap_or_else(|| "the server refused it before".into()))
            });
            let all = rows.chain(state.refused.iter().map(|(place, why)| (*place, why.clone())));
            let mut rows: Vec<_> = all.filter(|(place, _)| left_out.binary_search(place).is_err()).collect();
            rows.sort_by_key(|(place, _)| *place);
            drop(replies.send(Reply::Refused(self.refusal(rows))));
            return Again::Answered;
        }
        let left_out = self.left_out.iter().map(|(place, why)| (*place, why.clone()));
        let refused = state.refused.iter().map(|(place, why)| (*place, Some(why.clone())));
        Again::Stored(Pending {
            ack,
            left_out: left_out.chain(refused).collect(),
            state: Mutex::new(Waiting {
                left: state.has.len(),
                has: state.has.clone(),
                of_others: state.of_others,
                refused: BTreeMap::new(),
                replies: vec![replies.clone()],
            }),
        })
    }

    /// Whether this shard has its part, although others refused rows of theirs.
    pub fn has(&self, shard: usize) -> bool {
        self.state.lock().unpoisoned().has[shard]
    }

    /// One shard more has it. of_others: rows of this shard that its ledger had already.
    pub fn stored(&self, shard: usize, of_others: u64) {
        let mut state = self.state.lock().unpoisoned();
        state.has[shard] = true;
        state.of_others += of_others;
        self.answered(&mut state);
    }

    /// One shard more refuses rows, by their places in the chunk as it came, and has none of its part.
    pub fn refused(&self, rows: Vec<(usize, String)>) {
        let mut state = self.state.lock().unpoisoned();
        let read = (0..).filter(|place| !self.left_out.contains_key(place));
        let mut wanted = rows.into_iter().peekable();
        for (came, place) in read.enumerate() {
            match wanted.next_if(|(of_came, _)| *of_came == came) {
                Some((_, why)) => drop(state.refused.insert(place, why)),
                None if wanted.peek().is_none() => break,
                None => {}
            }
        }
        self.answered(&mut state);
    }

    /// The last shard's answer acknowledges the chunk, or says which rows are refused.
    fn answered(&self, state: &mut Waiting) {
        state.left -= 1;
        if state.left > 0 {
            return;
        }
        let own = Ack { of_others: state.of_others, ..self.ack };
        // A client that has gone asks the ledger when it comes again.
        for (k, replies) in std::mem::take(&mut state.replies).into_iter().enumerate() {
            let ack = if k == 0 { own } else { self.stored_for_another() };
            drop(replies.send(self.reply(state, ack)));
        }
    }

    fn reply(&self, state: &Waiting, ack: Ack) -> Reply {
        if state.refused.is_empty() {
            return Reply::Ack(ack);
        }
        Reply::Refused(self.refusal(state.refused.clone().into_iter().collect()))
    }

    fn refusal(&self, rows: Vec<(u32, String)>) -> Refused {
        Refused { file: self.ack.file, chunk: self.ack.chunk, rows }
    }

    /// Every row of it came from another client.
    fn stored_for_another(&self) -> Ack {
        Ack { of_others: self.ack.rows, ..self.ack }
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
    use std::sync::mpsc::{channel, Receiver};

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

    const ACK: Ack = Ack { file: 0, chunk: 3, rows: 10, of_others: 0 };

    /// Rows of others of an acknowledgement, or places of refused rows.
    fn told(replies: &Receiver<Reply>) -> Vec<Result<u64, Vec<u32>>> {
        let told = replies.try_iter().map(|reply| match reply {
            Reply::Ack(ack) => Ok(ack.of_others),
            Reply::Refused(refused) => Err(refused.rows.iter().map(|(place, _)| *place).collect()),
            Reply::Failed(message) => panic!("{message}"),
        });
        told.collect()
    }

    #[test]
    fn a_chunk_is_counted_by_the_client_that_sent_it_first_and_its_rows_of_others_by_none() {
        let ((first, to_first), (second, to_second)) = (channel(), channel());
        let pending = Pending::new(ACK, &[], 2, first);
        assert!(matches!(pending.again(ACK, &[], &second), Again::Answered));
        pending.stored(0, 0);
        pending.stored(1, 4);
        assert!(matches!(pending.again(ACK, &[], &second), Again::Answered));
        assert_eq!((told(&to_first), told(&to_second)), (vec![Ok(4)], vec![Ok(10), Ok(10)]));
    }

    #[test]
    fn a_chunk_of_which_one_shard_refuses_rows_comes_again_and_is_not_stored_twice() {
        let (replies, to_first) = channel();
        let pending = Pending::new(ACK, &[3], 2, replies.clone());
        pending.stored(1, 4);
        pending.refused(vec![(2, "too long".into()), (6, "a key".into())]);
        assert_eq!(
            told(&to_first),
            [Err(vec![2, 7])],
            "places of the chunk as it was read, which has a row more"
        );
        let fewer = Ack { rows: 8, ..ACK };
        let Again::Stored(again) = pending.again(fewer, &[2, 3, 7], &replies) else { panic!("it is stored") };
        assert_eq!((again.has(0), again.has(1)), (false, true));
        again.stored(1, 0);
        again.stored(0, 0);
        assert_eq!(told(&to_first), [Ok(4)]);
    }

    #[test]
    fn a_client_that_does_not_know_of_refused_rows_is_told_and_its_rows_are_not_taken_for_stored() {
        let ((first, to_first), (second, to_second)) = (channel(), channel());
        let pending = Pending::new(ACK, &[], 1, first.clone());
        pending.refused(vec![(5, "a key".into())]);
        assert_eq!(told(&to_first), [Err(vec![5])]);
        assert!(matches!(pending.again(ACK, &[], &second), Again::Answered));
        assert_eq!(told(&to_second), [Err(vec![5])], "before the first client has sent it again");
        let fewer = Ack { rows: 9, ..ACK };
        let Again::Stored(again) = pending.again(fewer, &[5], &first) else { panic!("it is stored") };
        assert!(matches!(again.again(ACK, &[], &second), Again::Answered));
        assert_eq!(told(&to_second), [Err(vec![5])], "while it is under way");
        assert!(matches!(again.again(fewer, &[5], &second), Again::Answered));
        again.stored(0, 0);
        assert_eq!((told(&to_first), told(&to_second)), (vec![Ok(0)], vec![Ok(9)]));
        assert!(matches!(again.again(ACK, &[], &second), Again::Answered));
        assert_eq!(told(&to_second), [Err(vec![5])], "after it was stored");
        assert!(matches!(again.again(fewer, &[4], &second), Again::Other), "row 4 is stored");
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
