//! The writer of one shard: rows and their ledger line in one transaction, tried again until the ledger has both.

mod isolate;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Part, Shard, INSERT, LEDGER_NS};
use crate::frame::ChunkHead;
use crate::plan::MergeStep;
use crate::queue::Queue;
use crate::refusal::{is_final, is_of_a_row, places};
use crate::{pause, raw, Bucket, EventSender};
use inrush_engines::engine::shared::clear;
use inrush_engines::engine::whole_file::CLIENT_FILE;
use inrush_engines::engine::{Done, Ns, Outcome, Payload, Session, Submit, Work};
use inrush_rows::encode;
use inrush_rows::error::{Error, TargetFault};
use inrush_rows::placement::append;
use inrush_rows::rows::Columns;

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
        let Stored { others, mut refused } = writer.store(&waiting, event_sender)?;
        let rows_of = |chunks: &dyn Fn(&(u32, u64)) -> bool| -> usize {
            waiting.iter().filter(|part| chunks(&chunk_of(part))).map(|part| part.rows.rows).sum()
        };
        let theirs = rows_of(&|chunk| others.contains(chunk));
        let not_stored = rows_of(&|chunk| refused.contains_key(chunk));
        shard.stored.fetch_add((rows - theirs - not_stored) as u64, Ordering::Relaxed);
        shard.of_others.fetch_add(theirs as u64, Ordering::Relaxed);
        let has_stored = others.len() + refused.len() < waiting.len();
        shard.commits.fetch_add(u64::from(has_stored), Ordering::Relaxed);
        for part in waiting.drain(..) {
            match refused.remove(&chunk_of(&part)) {
                Some(rows) => part.refused(rows),
                None => part.stored(others.contains(&chunk_of(&part))),
            }
        }
    }
    Ok(())
}

/// By file and number.
type Chunks = HashSet<(u32, u64)>;

fn chunk_of(part: &Part) -> (u32, u64) {
    (part.head.file, part.head.chunk)
}

/// Rows that the server refuses, by their places in the part of a chunk, each with its reason.
type Refused = HashMap<(u32, u64), Vec<(usize, String)>>;

/// What became of parts: all are stored but those with refused rows, of which nothing is.
#[derive(Default)]
struct Stored {
    /// Chunks that the ledger had already.
    others: Chunks,
    refused: Refused,
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
    /// As `Again`, after COMMIT or the line of a ledger was sent: what the ledger has then is ours.
    Unanswered(String),
    Never(Error),
    /// Refused for good, in the server's words, unless the ledger has it: a load server that was killed may have stored the same
    /// rows meanwhile.
    Refused(String),
}

impl Writer<'_> {
    /// All of `parts`; on a slow shard that takes as long as their rows at its rate, the real storing included.
    fn store(&mut self, parts: &[Part], event_sender: &EventSender) -> Result<Stored, Error> {
        let begun = Instant::now();
        let rows: usize = parts.iter().map(|p| p.rows.rows).sum();
        let takes = self.bucket.as_mut().map_or(Duration::ZERO, |bucket| bucket.take(rows as f64));
        let stored = self.stored(parts, event_sender)?;
        pause(takes.saturating_sub(begun.elapsed()), event_sender);
        Ok(stored)
    }

    /// The same, in as many attempts as the shard's patience allows.
    fn stored(&mut self, parts: &[Part], event_sender: &EventSender) -> Result<Stored, Error> {
        let patience = Duration::from_nanos(self.shard.plan.patience_ns);
        let mut until = Instant::now() + patience;
        let mut todo: Vec<&Part> = parts.iter().collect();
        let mut wait = Duration::from_millis(50);
        let mut stored = Stored::default();
        // All that is left was in a COMMIT without an answer: what the ledger has of it, also later, is ours.
        let mut are_ours = false;
        loop {
            let why = match self.attempt(&todo) {
                Ok(()) => return Ok(stored),
                Err(Missed::Never(e)) => return Err(e),
                Err(Missed::Refused(why)) => {
                    self.session = None;
                    let before = todo.len();
                    let found = self.leave_stored(&mut todo)?;
                    stored.others.extend(found.into_iter().filter(|_| !are_ours));
                    if todo.len() == before {
                        if let Some(refused) = self.leave_refused(&mut todo, &why, until, event_sender)? {
                            stored.refused.extend(refused);
                            until = Instant::now() + patience;
                        }
                    }
                    if todo.is_empty() {
                        return Ok(stored);
                    }
                    continue;
                }
                Err(Missed::Again(why)) => why,
                Err(Missed::Unanswered(why)) => {
                    are_ours = true;
                    why
                }
            };
            // The connection may have gone between COMMIT and its answer: the ledger knows.
            self.session = None;
            let found = self.leave_stored_later(&mut todo, &why, (until, &mut wait), event_sender)?;
            stored.others.extend(found.into_iter().filter(|_| !are_ours));
            if todo.is_empty() {
                return Ok(stored);
            }
        }
    }

    /// `leave_stored` as soon as the ledger can be asked, after a pause that grows, and not beyond `until`.
    fn leave_stored_later(
        &mut self,
        todo: &mut Vec<&Part>,
        why: &str,
        (until, wait): (Instant, &mut Duration),
        event_sender: &EventSender,
    ) -> Result<Chunks, Error> {
        loop {
            if event_sender.stopped() {
                return Err(Error::Interrupted);
            }
            if Instant::now() >= until {
                return Err(self.gave_up(why));
            }
            pause(*wait, event_sender);
            *wait = (*wait * 2).min(Duration::from_secs(2));
            match self.leave_stored(todo) {
                Err(e) if is_passing(&e) => {}
                found => return found,
            }
        }
    }

    /// What is not stored of `parts`, and why.
    fn refused(&self, why: &str, parts: &[&Part]) -> Error {
        let heads: Vec<&ChunkHead> = parts.iter().map(|part| &part.head).collect();
        Error::Target {
            target: self.shard.plan.name.clone(),
            class: TargetFault::Other,
            message: format!("refused: {why}; {} are not stored", places(&heads)),
        }
    }

    /// Takes away what the ledger has by now, and gives it.
    fn leave_stored(&self, todo: &mut Vec<&Part>) -> Result<Chunks, Error> {
        let lines = self.shard.lines()?;
        let mut found = Chunks::new();
        todo.retain(|part| {
            let chunk = chunk_of(part);
            let is_stored = lines.contains_key(&chunk);
            found.extend(is_stored.then_some(chunk));
            !is_stored
        });
        Ok(found)
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
        let whole = self.begin()?;
        let filled: Vec<&Columns> =
            parts.iter().map(|part| &part.rows).filter(|rows| rows.rows > 0).collect();
        if !filled.is_empty() {
            self.put(&filled, Some(chunk_of(parts[0]))).map_err(|m| match m {
                // Stored or not: only a transaction could show which.
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
            // A line that is there by now was committed by a load server that was killed meanwhile: the ledger has it.
            self.execute(&lines).map_err(|m| match m {
                Missed::Never(Error::Statement { message, .. }) => Missed::Again(message),
                other => other,
            })?;
            let session = self.session.as_mut().expect("opened before the first statement");
            session.execute("COMMIT").map_err(|e| match e {
                // An answer: it is not stored, and what the ledger has by then is not ours.
                Error::Statement { .. } => missed(e),
                e => unanswered(missed(e)),
            })
        } else {
            self.shard.engine.control(&lines, LEDGER_NS).map(drop).map_err(|e| unanswered(missed(e)))
        }
    }

    /// Whether rows and ledger line can commit together: some sessions end a transaction with every batch.
    fn begin(&mut self) -> Result<bool, Missed> {
        if self.session.is_none() {
            self.session = Some(self.shard.engine.open(&[INSERT]).map_err(missed)?);
        }
        match self.session.as_mut().expect("opened before the first statement").execute("BEGIN") {
            Ok(()) => Ok(true),
            Err(Error::Plan(_)) => Ok(false),
            Err(e) => Err(missed(e)),
        }
    }

    fn execute(&mut self, text: &str) -> Result<(), Missed> {
        self.session.as_mut().expect("opened before the first statement").execute(text).map_err(missed)
    }

    /// All rows of these, of which each has some. first: of their chunks, where what a merge takes away is noted; `None`: nowhere.
    fn put(&mut self, filled: &[&Columns], first: Option<(u32, u64)>) -> Result<(), Missed> {
        self.insert(filled)?;
        let shard = self.shard;
        shard.plan.merge.iter().try_for_each(|MergeStep { text, noted }| {
            let said = match (noted, first) {
                (None, _) => self.execute(text),
                (Some(behind), Some((file, chunk))) => {
                    self.execute(&format!("{text}, {file}, {chunk}{behind}"))
                }
                (Some(_), None) => Ok(()),
            };
            said.map_err(refused)
        })
    }

    /// The same, into the table that the plan's statement names.
    fn insert(&mut self, filled: &[&Columns]) -> Result<(), Missed> {
        let session = self.session.as_mut().expect("opened before the first row");
        let method = &self.shard.plan.plan.operations[INSERT].method;
        self.payload.bytes.clear();
        self.payload.rows = 0;
        let rows = match filled {
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
                let as_text = method == CLIENT_FILE;
                raw::make_raw(&mut self.batch, &self.shard.plan.raw, as_text).map_err(Missed::Never)?;
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
        // The statement is ours, not the user's: it explains nothing.
        Err(Missed::Refused(why))
    }

    fn lines(&self, parts: &[&Part]) -> String {
        let ledger = &self.shard.plan.ledger;
        let values = parts.iter().map(|part| {
            let ChunkHead { file, chunk, last, after, sums, left_out, .. } = &part.head;
            let mut after = serde_json::to_string(after).expect("a position is numbers");
            if !left_out.is_empty() {
                after.truncate(after.len() - 1);
                after += &format!(",\"refused\":{}}}", left_out.len());
            }
            // A client's text: nothing but figures gets into a statement.
            let figure = |c: char| c.is_ascii_digit() || c == ' ' || c == '-';
            let sums: String = sums.chars().filter(|c| figure(*c)).collect();
            format!(
                "({}, {file}, {chunk}, {}, {}, '{after}', '{sums}')",
                ledger.import,
                part.rows.rows,
                u8::from(*last)
            )
        });
        format!("{} {}", ledger.insert, values.collect::<Vec<_>>().join(", "))
    }
}

fn unanswered(missed: Missed) -> Missed {
    match missed {
        Missed::Again(why) => Missed::Unanswered(why),
        other => other,
    }
}

/// What the server says to a statement over rows is said of the rows.
fn refused(missed: Missed) -> Missed {
    match missed {
        Missed::Never(Error::Statement { message, .. }) => Missed::Refused(message),
        other => other,
    }
}

fn missed(error: Error) -> Missed {
    if is_passing(&error) {
        Missed::Again(error.to_string())
    } else {
        Missed::Never(error)
    }
}

/// The shard may come back: it was restarted, or is starting. A disk may get room, also one that is full at COMMIT.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Statement { message, .. } => !is_final(Outcome::Refused, message),
        Error::Target { class, .. } => !matches!(class, TargetFault::Auth | TargetFault::MissingDatabase),
        Error::Deadline { .. } => true,
        _ => false,
    }
}
