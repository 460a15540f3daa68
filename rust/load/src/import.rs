//! One import at the load server: placing rows, a bounded queue per writer, acknowledging what every shard has stored.

use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use serde_json::{json, Value as Json};

use super::frame::{self, Ack, ChunkHead, Frame, Message};
use super::hashers::Hashers;
use super::ipc;
use super::plan::{ImportPlan, ShardPlan};
use super::queue::{Queue, Size};
use super::server::broken;
use super::shard::{self, Lines, Part, Pending, Shard};
use super::wire::{Reader, Writer, ALIVE};
use super::EventSender;
use inrush_engines::engine::arrow;
use inrush_engines::engine::shared::clear;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::placement::{route, Placement};
use inrush_rows::rows::files::Position;
use inrush_rows::rows::Columns;

/// Messages to the thread that writes to a client.
#[derive(Debug, Clone)]
pub enum Reply {
    Ack(Ack),
    Failed(String),
}

/// Clients by number, and the failure that ended the load.
#[derive(Default)]
struct Listeners {
    next: u64,
    clients: HashMap<u64, Sender<Reply>>,
    failure: Option<String>,
}

/// To a client that comes too late.
const END: &str = "the load is at its end";

/// Per shard, the queue of each of its writers.
type Queues = Vec<Vec<Arc<Queue<Part>>>>;

pub struct Import {
    pub plan: ImportPlan,
    columns: Vec<String>,
    placement: Placement,
    /// The shards in the order of their partitions; behind them, where there are copies, that of each.
    shards: Vec<Arc<Shard>>,
    /// Per shard: chunks that its ledger had when this began.
    known: Vec<HashMap<(u32, u64), Position>>,
    pub resumed_files: usize,
    pub resumed_rows: u64,
    /// Chunks that came since: a client that lost us may send them again.
    seen: Mutex<HashMap<(u32, u64), Arc<Pending>>>,
    bytes: AtomicU64,
    /// All clients that must learn of a failure, and the first failure.
    listeners: Mutex<Listeners>,
    /// Gone once it is closed: the writers end with what is queued.
    queues: Mutex<Option<Queues>>,
    writers: Mutex<Vec<JoinHandle<Result<(), Error>>>>,
    /// Where there are threads that place rows; gone once it is closed.
    hashers: Mutex<Option<Hashers>>,
    event_sender: EventSender,
}

impl Import {
    /// Connected to every shard, its writers at work. hash_threads: that place rows; 0: the thread of each connection does.
    pub fn open(
        plan: ImportPlan,
        hash_threads: u32,
        event_sender: &EventSender,
    ) -> Result<Arc<Import>, Error> {
        if let Some(problem) = plan.problem() {
            return Err(Error::Plan(problem));
        }
        let table = &plan.shards[0].plan.tables[0];
        let placement = Placement::new(&plan.rule, &table.columns, &plan.key, plan.shards.len() as u32)?;
        let columns = table.columns.iter().map(|c| c.name.clone()).collect();
        let connect = |p: &ShardPlan| Shard::connect(p.clone(), event_sender.stop.clone()).map(Arc::new);
        let shards = plan.shards.iter().chain(&plan.replicas).map(connect).collect::<Result<Vec<_>, _>>()?;
        let ledgers = ledgers(&shards)?;
        let reached = shard::reached(&ledgers);
        let import = Arc::new(Import {
            columns,
            placement,
            resumed_files: reached.len(),
            resumed_rows: reached.iter().fold(0, |sum: u64, r| sum.saturating_add(r.after.stored)),
            known: ledgers.iter().map(|l| l.iter().map(|(at, line)| (*at, line.after)).collect()).collect(),
            shards,
            seen: Mutex::new(HashMap::new()),
            bytes: AtomicU64::new(0),
            listeners: Mutex::new(Listeners::default()),
            queues: Mutex::new(None),
            writers: Mutex::new(Vec::new()),
            hashers: Mutex::new(None),
            event_sender: event_sender.clone(),
            plan,
        });
        import.start_writers()?;
        if hash_threads > 0 {
            match Hashers::start(&import, hash_threads) {
                Ok(hashers) => *import.hashers.lock().unpoisoned() = Some(hashers),
                Err(e) => {
                    // Its writers would wait for ever.
                    let _ = import.close();
                    return Err(e);
                }
            }
        }
        Ok(import)
    }

    fn start_writers(self: &Arc<Import>) -> Result<(), Error> {
        let of = |shard: &Arc<Shard>| {
            let queue = |_| Arc::new(Queue::new(shard.plan.flush_rows));
            (0..shard.plan.connections.max(1)).map(queue).collect()
        };
        let queues: Queues = self.shards.iter().map(of).collect();
        *self.queues.lock().unpoisoned() = Some(queues.clone());
        for (index, (shard, own)) in self.shards.iter().zip(queues).enumerate() {
            for (k, queue) in own.into_iter().enumerate() {
                let (import, shard) = (self.clone(), shard.clone());
                let writer = move || {
                    let _abandon = Abandon { import: &import, queue: &queue };
                    let ended = shard::write(&shard, &queue, &import.event_sender);
                    if let Err(e) = &ended {
                        import.fail(&e.to_string());
                    }
                    ended
                };
                match thread::Builder::new().name(format!("shard{index}.{k}")).spawn(writer) {
                    Ok(started) => self.writers.lock().unpoisoned().push(started),
                    Err(e) => {
                        // Those that were started would wait for ever.
                        let _ = self.close();
                        return Err(Error::io("starting a writer", e));
                    }
                }
            }
        }
        Ok(())
    }

    /// Once no client sends any more: waits until what is queued is stored. The failure that ended the load, if one
    /// did.
    pub fn close(&self) -> Result<(), Error> {
        if let Some(hashers) = self.hashers.lock().unpoisoned().take() {
            hashers.end();
        }
        let queues = self.queues.lock().unpoisoned().take();
        queues.iter().flatten().flatten().for_each(|queue| queue.end());
        let writers: Vec<_> = self.writers.lock().unpoisoned().drain(..).collect();
        let failures: Vec<Error> =
            writers.into_iter().filter_map(|w| w.join().unwrap_or_else(|_| Err(broken())).err()).collect();
        failures.into_iter().find(|e| !matches!(e, Error::Interrupted)).map_or(Ok(()), Err)
    }

    /// How far it is, beside `event` and the time.
    pub fn says(&self) -> Json {
        let shards: Vec<Json> = self
            .shards
            .iter()
            .map(|s| json!({"name": s.plan.name, "rows": s.stored.load(Relaxed), "commits": s.commits.load(Relaxed)}))
            .collect();
        json!({"bytes": self.bytes.load(Relaxed), "shards": shards})
    }

    /// Sends the first failure to all clients; the load ends with it.
    pub(super) fn fail(&self, message: &str) {
        let mut listeners = self.listeners.lock().unpoisoned();
        if listeners.failure.is_none() {
            listeners.failure = Some(message.to_owned());
            listeners
                .clients
                .values()
                .for_each(|client| drop(client.send(Reply::Failed(message.to_owned()))));
        }
    }

    /// One client from its welcome to its end.
    pub fn serve(
        &self,
        columns: &[String],
        reader: &mut io::BufReader<Reader>,
        mut out: Writer,
    ) -> io::Result<()> {
        if columns != self.columns {
            let message = format!(
                "the client's columns are {}, the table's {}",
                columns.join(", "),
                self.columns.join(", ")
            );
            frame::send_message(&mut out, &Message::Failed { message: message.clone() })?;
            return Err(io::Error::other(message));
        }
        let reached = ledgers(&self.shards).map_err(|e| {
            let message = e.to_string();
            let _ = frame::send_message(&mut out, &Message::Failed { message: message.clone() });
            self.failed(&message)
        })?;
        frame::send_message(&mut out, &Message::Welcome { reached: shard::reached(&reached) })?;
        if self.queues.lock().unpoisoned().is_none() {
            let message = END.into();
            return frame::send_message(&mut out, &Message::Failed { message });
        }

        let (replies, listeners) = channel();
        let number = match self.enter(&replies) {
            Ok(number) => number,
            Err(message) => return frame::send_message(&mut out, &Message::Failed { message }),
        };
        let teller =
            thread::Builder::new().name("acks".into()).spawn(move || acknowledge(&listeners, &mut out))?;
        let read = self.read_chunks(reader, &replies);
        // The acknowledging thread ends with its last sender: ours, that in the list, those of chunks under way.
        self.listeners.lock().unpoisoned().clients.remove(&number);
        drop(replies);
        let _ = teller.join();
        read
    }

    /// A client's number among those that hear of a failure; the failure when there was one.
    fn enter(&self, replies: &Sender<Reply>) -> Result<u64, String> {
        let mut listeners = self.listeners.lock().unpoisoned();
        if let Some(message) = &listeners.failure {
            return Err(message.clone());
        }
        listeners.next += 1;
        let number = listeners.next;
        listeners.clients.insert(number, replies.clone());
        Ok(number)
    }

    fn read_chunks(&self, reader: &mut impl io::Read, replies: &Sender<Reply>) -> io::Result<()> {
        let hand = self.hashers.lock().unpoisoned().as_ref().map(Hashers::hand);
        let mut place = Place::of(self);
        let mut spare = Vec::new();
        loop {
            match frame::receive_into(reader, std::mem::take(&mut spare))? {
                Some(Frame::Chunk(head, body)) => {
                    self.bytes.fetch_add(body.len() as u64, Relaxed);
                    spare = match &hand {
                        None => self.place(&mut place, &head, body, replies)?,
                        Some(hand) => hand.over(head, body, replies)?,
                    };
                }
                Some(Frame::Message(Message::Alive)) => {}
                Some(Frame::Message(Message::End)) => return hand.map_or(Ok(()), |hand| hand.placed()),
                Some(Frame::Message(_)) => return Err(io::Error::other("it said what only a server says")),
                None => return Err(io::Error::other("gone before its end; what was acknowledged is stored")),
            }
        }
    }

    /// The rows of a chunk to the queues of their shards; its memory for the next one. Waits while queues are full.
    pub(super) fn place(
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
        if let [all] = parts.as_mut_slice() {
            // Nothing to place: the rows go on as they are.
            std::mem::swap(all, whole);
        } else {
            self.placement.shards_of(whole, hashes, shard_of).map_err(|e| self.failed(&e.to_string()))?;
            route(whole, shard_of, &mut parts);
        }
        if !self.plan.replicas.is_empty() {
            parts.extend_from_within(..);
        }
        self.queue(head, parts, queues, replies)?;
        Ok(spare)
    }

    fn failed(&self, message: &str) -> io::Error {
        self.fail(message);
        io::Error::other(message.to_owned())
    }

    fn empty(&self) -> Columns {
        Columns::of(&self.shards[0].plan.plan.tables[0])
    }

    /// To every shard that does not have its part yet. Waits while queues are full.
    fn queue(
        &self,
        head: &ChunkHead,
        parts: Vec<Columns>,
        queues: &Queues,
        replies: &Sender<Reply>,
    ) -> io::Result<()> {
        let ack = Ack { file: head.file, chunk: head.chunk, rows: head.rows };
        let chunk = match self.seen.lock().unpoisoned().entry((head.file, head.chunk)) {
            Entry::Occupied(earlier) => {
                earlier.get().sent_again(replies);
                return Ok(());
            }
            Entry::Vacant(free) => {
                free.insert(Arc::new(Pending::new(ack, parts.len(), replies.clone()))).clone()
            }
        };
        for ((rows, known), writers) in parts.into_iter().zip(&self.known).zip(queues) {
            if let Some(after) = known.get(&(head.file, head.chunk)) {
                if (after.offset, after.stored) != (head.after.offset, head.after.stored) {
                    return Err(self.failed(&cut_elsewhere(head)));
                }
                chunk.stored();
                continue;
            }
            let writer = head.chunk.wrapping_add(u64::from(head.file)) as usize % writers.len();
            let size = Size::of(&rows);
            let part = Part { head: head.clone(), rows, chunk: chunk.clone() };
            writers[writer].put(size, part).map_err(|_| io::Error::other("a shard was given up"))?;
        }
        Ok(())
    }
}

/// What a thread that places rows keeps from chunk to chunk.
pub(super) struct Place {
    whole: Columns,
    hashes: Vec<u64>,
    shard_of: Vec<u32>,
    queues: Queues,
}

impl Place {
    pub(super) fn of(import: &Import) -> Place {
        let queues = import.queues.lock().unpoisoned().clone().unwrap_or_default();
        Place { whole: import.empty(), hashes: Vec::new(), shard_of: Vec::new(), queues }
    }
}

/// Wakes clients that wait for room in the queue of a writer, however the writer ended. The failure itself is sent first:
/// a client that ended before it would wait for a message that never comes.
struct Abandon<'a> {
    import: &'a Import,
    queue: &'a Queue<Part>,
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.import.fail(&broken().to_string());
        }
        self.queue.abandon();
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

fn ledgers(shards: &[Arc<Shard>]) -> Result<Vec<Lines>, Error> {
    shards.iter().map(|shard| shard.lines()).collect()
}

/// Rows of one chunk; its memory for the next one. Errors: no Arrow stream, other columns, a value that does not fit.
pub(super) fn decode(body: Vec<u8>, out: &mut Columns) -> Result<Vec<u8>, String> {
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

/// Acknowledgements as they come, several in a frame, and a word now and then; ends with the last chunk or a failure.
fn acknowledge(listeners: &Receiver<Reply>, out: &mut Writer) {
    loop {
        let first = match listeners.recv_timeout(ALIVE) {
            Ok(first) => first,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                if frame::send_message(out, &Message::Alive).is_err() {
                    return;
                }
                continue;
            }
        };
        let (mut acks, mut failed) = (Vec::new(), None);
        for next in std::iter::once(first).chain(listeners.try_iter()) {
            match next {
                Reply::Ack(ack) => acks.push(ack),
                Reply::Failed(message) => failed = Some(message),
            }
        }
        // A client that has gone asks the ledger when it comes again.
        if !acks.is_empty() && frame::send_message(out, &Message::Acked { acks }).is_err() {
            return;
        }
        if let Some(message) = failed {
            let _ = frame::send_message(out, &Message::Failed { message });
            return;
        }
    }
}
