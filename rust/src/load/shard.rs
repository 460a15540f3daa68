//! Storing on one shard: rows and their ledger line together, again after a loss, never twice.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::frame::{Ack, ChunkHead, Reached};
use super::import::Reply;
use super::queue::Queue;
use super::raw;
use super::refusal::{is_final, places};
use super::route::append;
use super::{pause, Bucket, EventSender};
use crate::clock::Clock;
use crate::encode;
use crate::engine::shared::clear;
use crate::engine::{build, Context, Done, Engine, Ns, Outcome, Payload, Session, Submit, Work};
use crate::error::{Error, TargetFault};
use crate::lock::Unpoisoned;
use crate::plan::RunPlan;
use crate::rows::files::Position;
use crate::rows::{Columns, Value};

/// The one operation of a shard's plan.
const INSERT: usize = 0;
/// A ledger is small; a database that does not answer so long is gone.
const LEDGER_NS: u64 = 60_000_000_000;

/// A shard as a plan of the core: its first table is loaded by its first operation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardPlan {
    pub name: String,
    pub plan: RunPlan,
    pub ledger: LedgerPlan,
    /// Writers at once.
    pub connections: u32,
    /// Rows of one transaction; parts are not cut, so that it may be more.
    pub flush_rows: usize,
    /// How long a shard may be away before the load ends.
    pub patience_ns: u64,
    /// Holds the shard to a rate.
    #[serde(default)]
    pub rows_per_s: Option<f64>,
    /// Columns of hexadecimal digits that are stored as what they stand for: see `raw`.
    #[serde(default)]
    pub raw: BTreeMap<String, u32>,
}

/// Statements about the ledger in the engine's dialect.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerPlan {
    /// Rows (file, chunk, rows, last, after, and sums where it has them) of this import.
    pub read: String,
    /// Up to and with VALUES.
    pub insert: String,
    /// The import as a literal: first of the values.
    pub import: String,
    /// Lines hold the sums of their chunk: last of the values, and of what is read.
    #[serde(default)]
    pub sums: bool,
}

/// One line of a shard's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub rows: u64,
    pub last: bool,
    pub after: Position,
    /// Of the whole chunk, whatever part of it lies on this shard; empty in a line of an earlier version.
    pub sums: String,
}

pub type Lines = HashMap<(u32, u64), Line>;

/// The rows of one chunk that belong on one shard.
pub struct Part {
    pub head: ChunkHead,
    pub rows: Columns,
    pub chunk: Arc<Pending>,
}

/// A chunk until its last shard has it.
pub struct Pending {
    ack: Ack,
    state: Mutex<Waiting>,
}

struct Waiting {
    /// Shards that do not have it yet.
    left: usize,
    /// Who sent it; twice when a client came again while it was under way.
    replies: Vec<Sender<Reply>>,
}

impl Pending {
    pub fn new(ack: Ack, shards: usize, replies: Sender<Reply>) -> Pending {
        Pending { ack, state: Mutex::new(Waiting { left: shards, replies: vec![replies] }) }
    }

    /// One shard more has it; the last one acknowledges.
    pub fn stored(&self) {
        let mut state = self.state.lock().unpoisoned();
        state.left -= 1;
        if state.left == 0 {
            // A client that has gone asks the ledger when it comes again.
            state.replies.drain(..).for_each(|replies| drop(replies.send(Reply::Ack(self.ack))));
        }
    }

    /// It was sent again: acknowledged to this sender too, and not stored again.
    pub fn sent_again(&self, replies: &Sender<Reply>) {
        let mut state = self.state.lock().unpoisoned();
        if state.left == 0 {
            drop(replies.send(Reply::Ack(self.ack)));
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
    pub commits: AtomicU64,
}

impl Shard {
    pub fn connect(plan: ShardPlan, stop: Arc<AtomicBool>) -> Result<Shard, Error> {
        let context = Context { plan: Arc::new(plan.plan.clone()), clock: Clock::start(), stop };
        let engine = build(&context)?;
        Ok(Shard { plan, engine, stored: AtomicU64::new(0), commits: AtomicU64::new(0) })
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
    let (row, sums) = row.split_at_checked(5)?;
    let [file, chunk, rows, last, after] = row else { return None };
    let sums = match sums {
        [Value::Text(sums)] => sums.clone(),
        [] | [Value::Null] => String::new(),
        _ => return None,
    };
    let Value::Text(after) = after else { return None };
    let after = serde_json::from_str(after).ok()?;
    let key = (u32::try_from(integer(file)?).ok()?, u64::try_from(integer(chunk)?).ok()?);
    Some((key, Line { rows: u64::try_from(integer(rows)?).ok()?, last: integer(last)? != 0, after, sums }))
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

/// Stores what comes until nothing more does.
pub fn write(shard: &Shard, parts: &Queue<Part>, event_sender: &EventSender) -> Result<(), Error> {
    let mut writer = Writer {
        shard,
        session: None,
        payload: Payload::default(),
        batch: Columns::of(&shard.plan.plan.tables[0]),
        tickets: 0,
        bucket: Bucket::new(shard.plan.rows_per_s),
    };
    let mut waiting: Vec<Part> = Vec::new();
    while let Some(rows) = parts.take(shard.plan.flush_rows, &mut waiting) {
        writer.store(&waiting, event_sender)?;
        shard.stored.fetch_add(rows as u64, Ordering::Relaxed);
        shard.commits.fetch_add(1, Ordering::Relaxed);
        waiting.drain(..).for_each(|part| part.chunk.stored());
    }
    Ok(())
}

struct Writer<'a> {
    shard: &'a Shard,
    session: Option<Box<dyn Session>>,
    payload: Payload,
    batch: Columns,
    tickets: u64,
    bucket: Option<Bucket>,
}

/// Why an attempt did not succeed, and whether another may.
enum Missed {
    Again(String),
    Never(Error),
    /// Refused for good, unless the ledger has it: a load server that was killed may have stored the same rows meanwhile.
    Refused(Error),
}

impl Writer<'_> {
    /// All of `parts`; on a slow shard that takes as long as their rows at its rate, the real storing included.
    fn store(&mut self, parts: &[Part], event_sender: &EventSender) -> Result<(), Error> {
        let begun = Instant::now();
        let rows: usize = parts.iter().map(|p| p.rows.rows).sum();
        let takes = self.bucket.as_mut().map_or(Duration::ZERO, |bucket| bucket.take(rows as f64));
        self.stored(parts, event_sender)?;
        pause(takes.saturating_sub(begun.elapsed()), event_sender);
        Ok(())
    }

    /// The same, in as many attempts as the shard's patience allows.
    fn stored(&mut self, parts: &[Part], event_sender: &EventSender) -> Result<(), Error> {
        let until = Instant::now() + Duration::from_nanos(self.shard.plan.patience_ns);
        let mut todo: Vec<&Part> = parts.iter().collect();
        let mut wait = Duration::from_millis(50);
        loop {
            let why = match self.attempt(&todo) {
                Ok(()) => return Ok(()),
                Err(Missed::Never(e)) => return Err(e),
                Err(Missed::Refused(e)) => {
                    self.session = None;
                    let before = todo.len();
                    self.leave_stored(&mut todo)?;
                    match (todo.len(), before) {
                        (0, _) => return Ok(()),
                        (left, before) if left < before => continue,
                        _ => return Err(e),
                    }
                }
                Err(Missed::Again(why)) => why,
            };
            // The connection may have gone between COMMIT and its answer: the ledger knows.
            self.session = None;
            loop {
                if event_sender.stopped() {
                    return Err(Error::Interrupted);
                }
                if Instant::now() >= until {
                    return Err(self.gave_up(&why));
                }
                pause(wait, event_sender);
                wait = (wait * 2).min(Duration::from_secs(2));
                match self.leave_stored(&mut todo) {
                    Ok(()) => break,
                    Err(e) if is_passing(&e) => {}
                    Err(e) => return Err(e),
                }
            }
            if todo.is_empty() {
                return Ok(());
            }
        }
    }

    /// Takes away what the ledger has by now.
    fn leave_stored(&self, todo: &mut Vec<&Part>) -> Result<(), Error> {
        let lines = self.shard.lines()?;
        todo.retain(|part| !lines.contains_key(&(part.head.file, part.head.chunk)));
        Ok(())
    }

    fn gave_up(&self, why: &str) -> Error {
        Error::Target {
            target: self.shard.plan.name.clone(),
            class: TargetFault::Lost,
            message: format!(
                "not stored after {:.0} s of trying: {why}; what is stored is in the ledger, and the same command goes \
                 on from there",
                self.shard.plan.patience_ns as f64 / 1e9
            ),
        }
    }

    fn attempt(&mut self, parts: &[&Part]) -> Result<(), Missed> {
        if self.session.is_none() {
            self.session = Some(self.shard.engine.open(&[INSERT]).map_err(missed)?);
        }
        let whole = self.begin()?;
        let rows: usize = parts.iter().map(|part| part.rows.rows).sum();
        if rows > 0 {
            self.insert(parts).map_err(|m| match m {
                // Stored or not: only a transaction could tell.
                Missed::Again(why) if !whole => Missed::Never(Error::Target {
                    target: self.shard.plan.name.clone(),
                    class: TargetFault::Lost,
                    message: format!(
                        "{why}; this engine has no transactions, so that rows of the last {} may be stored without a \
                         line in the ledger: the same command compares its count and says so",
                        if parts.len() == 1 { "chunk" } else { "chunks" }
                    ),
                }),
                other => other,
            })?;
        }
        let lines = self.lines(parts);
        if whole {
            // A line that is there by now was committed by a load server that was killed meanwhile: the ledger tells.
            self.execute(&lines).map_err(|m| match m {
                Missed::Never(Error::Statement { message, .. }) => Missed::Again(message),
                other => other,
            })?;
            self.execute("COMMIT")
        } else {
            self.shard.engine.control(&lines, LEDGER_NS).map(drop).map_err(missed)
        }
    }

    /// Whether rows and ledger line can commit together: some sessions end a transaction with every batch.
    fn begin(&mut self) -> Result<bool, Missed> {
        match self.session.as_mut().expect("opened before the first statement").execute("BEGIN") {
            Ok(()) => Ok(true),
            Err(Error::Plan(_)) => Ok(false),
            Err(e) => Err(missed(e)),
        }
    }

    fn execute(&mut self, text: &str) -> Result<(), Missed> {
        self.session.as_mut().expect("opened before the first statement").execute(text).map_err(missed)
    }

    fn insert(&mut self, parts: &[&Part]) -> Result<(), Missed> {
        let session = self.session.as_mut().expect("opened before the first row");
        let method = &self.shard.plan.plan.operations[INSERT].method;
        let filled: Vec<&Columns> =
            parts.iter().map(|part| &part.rows).filter(|rows| rows.rows > 0).collect();
        self.payload.bytes.clear();
        self.payload.rows = 0;
        let rows = match filled.as_slice() {
            [only] if self.shard.plan.raw.is_empty() => {
                session.encode(INSERT, only, &mut self.payload).map_err(missed)?;
                *only
            }
            // Statements of many rows are better made of all rows: each part would end with some of a few.
            [.., last]
                if method == "bulk"
                    && session.part_rows(INSERT).is_some()
                    && self.shard.plan.raw.is_empty() =>
            {
                for (k, rows) in filled.iter().enumerate() {
                    let part = encode::Part { is_first: k == 0, is_last: k + 1 == filled.len() };
                    session.encode_part(INSERT, rows, part, &mut self.payload).map_err(missed)?;
                }
                *last
            }
            many => {
                clear(&mut self.batch);
                many.iter().for_each(|rows| append(&mut self.batch, rows));
                raw::make_raw(&mut self.batch, &self.shard.plan.raw).map_err(Missed::Never)?;
                session.encode(INSERT, &self.batch, &mut self.payload).map_err(missed)?;
                &self.batch
            }
        };
        self.tickets += 1;
        let mut done: Vec<Done> = Vec::new();
        if matches!(
            session.submit(self.tickets, INSERT, Work::Rows { columns: rows, payload: &self.payload }),
            Submit::Full
        ) {
            return Err(Missed::Again("the session was still busy".into()));
        }
        session.flush();
        while done.is_empty() {
            session.poll(Ns::MAX, &mut done);
        }
        let outcome = done[0].outcome;
        if outcome == Outcome::Ok {
            return Ok(());
        }
        let why = session.failure(done[0].ticket).unwrap_or_else(|| outcome.name().to_owned());
        if !is_final(outcome, &why) {
            return Err(Missed::Again(why));
        }
        let heads: Vec<&ChunkHead> = parts.iter().map(|part| &part.head).collect();
        // The statement is ours, not the user's: it explains nothing.
        Err(Missed::Refused(Error::Target {
            target: self.shard.plan.name.clone(),
            class: TargetFault::Other,
            message: format!("refused: {why}; {} are not stored", places(&heads)),
        }))
    }

    fn lines(&self, parts: &[&Part]) -> String {
        let ledger = &self.shard.plan.ledger;
        let values = parts.iter().map(|part| {
            let ChunkHead { file, chunk, last, after, sums, .. } = &part.head;
            let after = serde_json::to_string(after).expect("a position is numbers");
            // A client's text: nothing but figures gets into a statement.
            let figure = |c: char| c.is_ascii_digit() || c == ' ' || c == '-';
            let sums = match ledger.sums {
                true => format!(", '{}'", sums.chars().filter(|c| figure(*c)).collect::<String>()),
                false => String::new(),
            };
            format!(
                "({}, {file}, {chunk}, {}, {}, '{after}'{sums})",
                ledger.import,
                part.rows.rows,
                u8::from(*last)
            )
        });
        format!("{} {}", ledger.insert, values.collect::<Vec<_>>().join(", "))
    }
}

fn missed(error: Error) -> Missed {
    if is_passing(&error) {
        Missed::Again(error.to_string())
    } else {
        Missed::Never(error)
    }
}

/// The shard may come back: it was restarted, or is starting.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Target { class, .. } => !matches!(class, TargetFault::Auth | TargetFault::MissingDatabase),
        Error::Deadline { .. } => true,
        _ => false,
    }
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
        // A line of an earlier version.
        lines.get_mut(&(0, 1)).unwrap().sums.clear();
        assert_eq!(reached(&[lines])[0].sums, "");
    }

    #[test]
    fn a_file_that_one_shard_never_saw_begins_anew() {
        assert_eq!(reached(&[ledger(&[(0, 0, true)]), ledger(&[])]), []);
    }
}
