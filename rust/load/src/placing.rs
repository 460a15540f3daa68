//! Rows of a chunk on their way to the shards that they belong to: each one's part waits for a writer of the shard.

use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;

use super::frame::{Ack, ChunkHead};
use super::ipc;
use super::listeners::{Listeners, Reply};
use super::plan::ImportPlan;
use super::queue::{Queue, Size};
use super::shard::{Again, Lines, Part, Pending};
use inrush_engines::engine::arrow;
use inrush_engines::engine::shared::clear;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::placement::{route, Placement};
use inrush_rows::rows::files::Position;
use inrush_rows::rows::Columns;

/// Per shard, the queue of each of its writers.
pub type Queues = Vec<Vec<Arc<Queue<Part>>>>;

/// What the threads that place the rows of an import share.
pub struct Placer {
    pub plan: ImportPlan,
    placement: Placement,
    /// Per shard: chunks that its ledger had when this began, and how many rows servers had refused of them.
    known: Vec<HashMap<(u32, u64), (Position, u64)>>,
    /// Chunks that came since: a client that lost us may send them again.
    seen: Mutex<HashMap<(u32, u64), Arc<Pending>>>,
    pub listeners: Listeners,
    /// Gone once the import is closed: the writers end with what is queued.
    pub queues: Mutex<Option<Queues>>,
}

/// What a thread that places rows keeps from chunk to chunk.
pub struct Place {
    whole: Columns,
    hashes: Vec<u64>,
    shard_of: Vec<u32>,
    queues: Queues,
}

impl Placer {
    pub fn new(plan: ImportPlan, placement: Placement, ledgers: &[Lines]) -> Placer {
        Placer {
            plan,
            placement,
            known: ledgers
                .iter()
                .map(|l| l.iter().map(|(at, line)| (*at, (line.after, line.refused))).collect())
                .collect(),
            seen: Mutex::new(HashMap::new()),
            listeners: Listeners::default(),
            queues: Mutex::new(None),
        }
    }

    /// The rows of a chunk to the queues of their shards; its memory for the next one. Waits while queues are full.
    pub fn place(
        &self,
        place: &mut Place,
        head: &ChunkHead,
        body: Vec<u8>,
        replies: &Sender<Reply>,
    ) -> io::Result<Vec<u8>> {
        let Place { whole, hashes, shard_of, queues } = place;
        clear(whole);
        let spare = decode(body, whole).map_err(|e| self.failed(&e))?;
        if whole.rows as u64 != head.rows {
            let message = format!(
                "chunk {} of file {} has {} rows, its head says {}",
                head.chunk, head.file, whole.rows, head.rows
            );
            return Err(self.failed(&message));
        }
        let mut parts: Vec<Columns> = self.plan.shards.iter().map(|_| self.empty()).collect();
        let mut placed = None;
        if let [all] = parts.as_mut_slice() {
            // Nothing to place: the rows go on as they are.
            std::mem::swap(all, whole);
        } else {
            self.placement.shards_of(whole, hashes, shard_of).map_err(|e| self.failed(&e.to_string()))?;
            route(whole, shard_of, &mut parts);
            placed = Some(Arc::from(&shard_of[..]));
        }
        if !self.plan.replicas.is_empty() {
            parts.extend_from_within(..);
        }
        self.queue(head, (parts, placed), queues, replies)?;
        Ok(spare)
    }

    /// Ends the load with this failure.
    pub fn failed(&self, message: &str) -> io::Error {
        self.listeners.fail(message);
        io::Error::other(message.to_owned())
    }

    fn empty(&self) -> Columns {
        Columns::of(&self.plan.shards[0].plan.tables[0])
    }

    /// To every shard that does not have its part yet. Waits while queues are full.
    fn queue(
        &self,
        head: &ChunkHead,
        (parts, shard_of): (Vec<Columns>, Option<Arc<[u32]>>),
        queues: &Queues,
        replies: &Sender<Reply>,
    ) -> io::Result<()> {
        let ack = Ack { file: head.file, chunk: head.chunk, rows: head.rows, of_others: 0 };
        let chunk = match self.seen.lock().unpoisoned().entry((head.file, head.chunk)) {
            Entry::Occupied(mut earlier) => match earlier.get().again(ack, &head.left_out, replies) {
                Again::Stored(again) => {
                    earlier.insert(Arc::new(again));
                    earlier.get().clone()
                }
                Again::Answered => return Ok(()),
                Again::Other => return Err(self.failed(&other_rows(head))),
            },
            Entry::Vacant(free) => {
                let new = Pending::new(ack, &head.left_out, parts.len(), replies.clone());
                free.insert(Arc::new(new)).clone()
            }
        };
        for (k, ((rows, known), writers)) in parts.into_iter().zip(&self.known).zip(queues).enumerate() {
            let is_copy = k >= self.plan.shards.len();
            let (head, chunk, shard_of) = (head.clone(), chunk.clone(), shard_of.clone());
            let (size, part) = (Size::of(&rows), Part { head, rows, chunk, is_copy, shard: k, shard_of });
            let head = &part.head;
            if part.chunk.has(k) {
                part.stored(false);
                continue;
            }
            if let Some((after, refused)) = known.get(&(head.file, head.chunk)) {
                if (after.offset, after.stored) != (head.after.offset, head.after.stored) {
                    return Err(self.failed(&cut_elsewhere(head)));
                }
                if *refused > head.left_out.len() as u64 {
                    return Err(self.failed(&lacks_rows(head, *refused)));
                }
                part.stored(true);
                continue;
            }
            let writer = head.chunk.wrapping_add(u64::from(head.file)) as usize % writers.len();
            writers[writer].put(size, part).map_err(|_| io::Error::other("a shard was given up"))?;
        }
        Ok(())
    }
}

impl Place {
    pub fn of(placer: &Placer) -> Place {
        let queues = placer.queues.lock().unpoisoned().clone().unwrap_or_default();
        Place { whole: placer.empty(), hashes: Vec::new(), shard_of: Vec::new(), queues }
    }
}

/// By another version of the client, say: to the ledger a chunk is its number, and its rows are others now.
fn cut_elsewhere(head: &ChunkHead) -> String {
    format!(
        "chunk {} of file {} ends at another place than the one that the ledger has, so that rows would be lost or stored \
         twice: it was begun by another version; `inrush load --again` begins anew",
        head.chunk,
        u64::from(head.file) + 1
    )
}

/// Where the note of the rows that were refused is gone: they would be counted as stored.
fn lacks_rows(head: &ChunkHead, refused: u64) -> String {
    format!(
        "chunk {} of file {} is stored without {refused} of its rows, which the server refused, and which ones is not known here any \
         more: go on where the load was begun, with its results; `inrush load --again` begins anew",
        head.chunk,
        u64::from(head.file) + 1
    )
}

/// Two clients of one import, each with notes of its own.
fn other_rows(head: &ChunkHead) -> String {
    format!(
        "chunk {} of file {} came without rows that another command stored: let one command load these files at a time",
        head.chunk,
        u64::from(head.file) + 1
    )
}

/// Rows of one chunk; its memory for the next one. Errors: no Arrow stream, other columns, a value that does not fit.
pub fn decode(body: Vec<u8>, out: &mut Columns) -> Result<Vec<u8>, String> {
    let garbled = |e: arrow_schema::ArrowError| format!("a chunk is no Arrow IPC stream: {e}");
    ipc::check(&body).map_err(|what| format!("a chunk is no Arrow IPC stream: {what}"))?;
    let body = Buffer::from_vec(body);
    // Arrays of a batch are slices of the chunk as it came.
    let mut rest = body.clone();
    let mut stream = StreamDecoder::new();
    while let Some(batch) = stream.decode(&mut rest).map_err(garbled)? {
        let schema = batch.schema();
        let names = schema.fields().iter().map(|f| f.name());
        if !names.eq(out.columns.iter().map(|c| &c.name)) {
            return Err("a chunk has other columns than the table".into());
        }
        arrow::append(&batch, out)?;
    }
    stream.finish().map_err(garbled)?;
    drop((stream, rest));
    Ok(body.into_vec().unwrap_or_default())
}
