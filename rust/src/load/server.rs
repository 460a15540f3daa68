//! The load server: places rows, keeps a bounded queue per writer, acknowledges what every shard has stored.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arrow_ipc::reader::StreamReader;
use serde::Deserialize;
use serde_json::{json, Value as Json};

use super::frame::{self, Ack, ChunkHead, Frame, Reached, Talk, VERSION};
use super::place::Placement;
use super::scatter::scatter;
use super::shard::{self, Lines, Part, Pending, Shard, ShardPlan};
use super::{Desk, TELL};
use crate::engine::arrow;
use crate::engine::shared::clear;
use crate::error::{Error, TargetFault};
use crate::rows::Columns;

/// How often the listening socket is asked.
const ACCEPT: Duration = Duration::from_millis(20);
/// Parts that wait for a writer; more would only be memory.
const QUEUE_PARTS: usize = 4;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    /// `127.0.0.1:0` takes a free port.
    pub listen: String,
    /// What a client must know.
    pub token: String,
    pub import: String,
    /// Distribution key: columns with their types in the database; may be empty with one shard.
    pub key: Vec<(String, String)>,
    pub shards: Vec<ShardPlan>,
}

/// What the thread that writes to a client is told.
#[derive(Debug, Clone)]
pub enum Told {
    Ack(Ack),
    Failed(String),
}

/// Clients by number, and the failure that ended the load.
#[derive(Default)]
struct Listeners {
    next: u64,
    clients: HashMap<u64, Sender<Told>>,
    failure: Option<String>,
}

struct Server {
    token: String,
    import: String,
    columns: Vec<String>,
    placement: Placement,
    shards: Vec<Arc<Shard>>,
    /// Per shard: chunks that its ledger had when this server began.
    known: Vec<HashSet<(u32, u64)>>,
    reached: Vec<Reached>,
    /// Chunks that came since: a client that lost us may send them again.
    seen: Mutex<HashMap<(u32, u64), Arc<Pending>>>,
    bytes: AtomicU64,
    /// Everybody who must hear of a failure, and the first one.
    told: Mutex<Listeners>,
    open: Mutex<Vec<TcpStream>>,
    desk: Desk,
}

/// Until asked to stop; then what was acknowledged is stored, and the last event says how much.
pub fn run(plan: ServerPlan, desk: &Desk) -> Result<Json, Error> {
    let listener =
        TcpListener::bind(&plan.listen).map_err(|e| Error::io(format!("listening on {}", plan.listen), e))?;
    listener.set_nonblocking(true).map_err(|e| Error::io("listening", e))?;
    let address = listener.local_addr().map_err(|e| Error::io("listening", e))?;
    let began = Instant::now();
    let server = Arc::new(Server::connect(plan, desk)?);
    let (queues, writers) = server.start_writers()?;
    desk.tell(json!({
        "event": "listening", "address": address.to_string(), "resumed_files": server.reached.len(),
        "resumed_rows": server.resumed_rows(),
    }));
    let clients = server.accept(&listener, &queues, desk)?;
    drop(queues);
    for client in clients {
        client.join().map_err(|_| broken())?;
    }
    let failures: Vec<Error> =
        writers.into_iter().filter_map(|w| w.join().unwrap_or_else(|_| Err(broken())).err()).collect();
    match failures.into_iter().find(|e| !matches!(e, Error::Interrupted)) {
        Some(e) => Err(e),
        None => Ok(server.says("finished", began)),
    }
}

fn broken() -> Error {
    Error::Plan("the load server broke an assumption of its own; see the lines above".into())
}

impl Server {
    fn connect(plan: ServerPlan, desk: &Desk) -> Result<Server, Error> {
        let Some(first) = plan.shards.first() else {
            return Err(Error::Plan("a load needs one shard at least".into()));
        };
        let table =
            first.plan.tables.first().ok_or_else(|| Error::Plan("a shard's plan has no table".into()))?;
        let placement = Placement::new(&table.columns, &plan.key, plan.shards.len() as u32);
        // One shard takes every row, whatever its key.
        let placement =
            if plan.shards.len() == 1 { Placement::new(&table.columns, &[], 1)? } else { placement? };
        let columns = table.columns.iter().map(|c| c.name.clone()).collect();
        let connect = |p: ShardPlan| Shard::connect(p, desk.stop.clone()).map(Arc::new);
        let shards = plan.shards.into_iter().map(connect).collect::<Result<Vec<_>, _>>()?;
        let ledgers = ledgers(&shards)?;
        Ok(Server {
            token: plan.token,
            import: plan.import,
            columns,
            placement,
            reached: shard::reached(&ledgers),
            known: ledgers.iter().map(|l| l.keys().copied().collect()).collect(),
            shards,
            seen: Mutex::new(HashMap::new()),
            bytes: AtomicU64::new(0),
            told: Mutex::new(Listeners::default()),
            open: Mutex::new(Vec::new()),
            desk: desk.clone(),
        })
    }

    fn resumed_rows(&self) -> u64 {
        self.reached.iter().map(|r| r.after.stored).sum()
    }

    fn says(&self, event: &str, began: Instant) -> Json {
        let shards: Vec<Json> = self
            .shards
            .iter()
            .map(|s| json!({"name": s.plan.name, "rows": s.stored.load(Relaxed), "commits": s.commits.load(Relaxed)}))
            .collect();
        json!({
            "event": event, "seconds": began.elapsed().as_secs_f64(), "bytes": self.bytes.load(Relaxed), "shards": shards,
        })
    }

    /// Per shard, the queue of each of its writers.
    #[allow(clippy::type_complexity)] // two lists, named where they are used
    fn start_writers(
        self: &Arc<Server>,
    ) -> Result<(Vec<Vec<SyncSender<Part>>>, Vec<JoinHandle<Result<(), Error>>>), Error> {
        let (mut queues, mut writers) = (Vec::new(), Vec::new());
        for (index, shard) in self.shards.iter().enumerate() {
            let mut own = Vec::new();
            for k in 0..shard.plan.connections.max(1) {
                let (queue, parts) = sync_channel(QUEUE_PARTS);
                own.push(queue);
                let (server, shard) = (self.clone(), shard.clone());
                let writer = move || {
                    let ended = shard::write(&shard, &parts, &server.desk);
                    if let Err(e) = &ended {
                        server.fail(&e.to_string());
                    }
                    ended
                };
                let started = thread::Builder::new().name(format!("shard{index}.{k}")).spawn(writer);
                writers.push(started.map_err(|e| Error::io("starting a writer", e))?);
            }
            queues.push(own);
        }
        Ok((queues, writers))
    }

    fn accept(
        self: &Arc<Server>,
        listener: &TcpListener,
        queues: &[Vec<SyncSender<Part>>],
        desk: &Desk,
    ) -> Result<Vec<JoinHandle<()>>, Error> {
        let (began, mut last) = (Instant::now(), Instant::now());
        let mut clients = Vec::new();
        while !desk.stopped() {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let (server, queues) = (self.clone(), queues.to_vec());
                    let talk = move || server.talk(&stream, peer, &queues);
                    let started = thread::Builder::new().name("client".into()).spawn(talk);
                    clients.push(started.map_err(|e| Error::io("starting a client's thread", e))?);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => thread::sleep(ACCEPT),
                Err(e) => return Err(Error::io("accepting a client", e)),
            }
            if last.elapsed() >= TELL {
                last = Instant::now();
                desk.tell(self.says("progress", began));
            }
        }
        // Clients that are still there would keep their threads reading for ever.
        for stream in lock(&self.open).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        Ok(clients)
    }

    /// The first failure is told to all clients; the load ends with it.
    fn fail(&self, message: &str) {
        let mut told = lock(&self.told);
        if told.failure.is_none() {
            told.failure = Some(message.to_owned());
            told.clients.values().for_each(|client| drop(client.send(Told::Failed(message.to_owned()))));
        }
    }

    /// One client from its first word to its last.
    fn talk(self: &Arc<Server>, stream: &TcpStream, peer: SocketAddr, queues: &[Vec<SyncSender<Part>>]) {
        let ended = self.talk_until_end(stream, queues);
        let _ = stream.shutdown(Shutdown::Both);
        if let Err(e) = ended {
            self.desk.tell(json!({"event": "note", "text": format!("client {peer}: {e}")}));
        }
    }

    fn talk_until_end(
        self: &Arc<Server>,
        stream: &TcpStream,
        queues: &[Vec<SyncSender<Part>>],
    ) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        lock(&self.open).push(stream.try_clone()?);
        let mut reader = BufReader::with_capacity(1 << 18, stream);
        let mut out = stream.try_clone()?;
        match frame::receive(&mut reader)? {
            Some(Frame::Talk(hello @ Talk::Hello { .. })) => {
                if let Some(message) = self.refusal(&hello) {
                    frame::send_talk(&mut out, &Talk::Failed { message: message.clone() })?;
                    return Err(io::Error::other(message));
                }
            }
            _ => return Err(io::Error::other("it did not say hello")),
        }
        let reached = ledgers(&self.shards).map_err(|e| self.failed(&e.to_string()))?;
        frame::send_talk(&mut out, &Talk::Welcome { reached: shard::reached(&reached) })?;

        let (tell, told) = channel();
        let number = match self.enter(&tell) {
            Ok(number) => number,
            Err(message) => return frame::send_talk(&mut out, &Talk::Failed { message }),
        };
        let teller =
            thread::Builder::new().name("acks".into()).spawn(move || acknowledge(&told, &mut out))?;
        let read = self.read_chunks(&mut reader, queues, &tell);
        // The acknowledging thread ends with its last sender: ours, that in the list, those of chunks under way.
        lock(&self.told).clients.remove(&number);
        drop(tell);
        let _ = teller.join();
        read
    }

    /// A client's number among those that hear of a failure; the failure when there was one.
    fn enter(&self, tell: &Sender<Told>) -> Result<u64, String> {
        let mut told = lock(&self.told);
        if let Some(message) = &told.failure {
            return Err(message.clone());
        }
        told.next += 1;
        let number = told.next;
        told.clients.insert(number, tell.clone());
        Ok(number)
    }

    fn refusal(&self, hello: &Talk) -> Option<String> {
        let Talk::Hello { version, token, import, columns, .. } = hello else { return None };
        if !equal_secrets(token, &self.token) {
            return Some("the token is not the load server's; give the one that it was started with".into());
        }
        if *version != VERSION {
            return Some(format!(
                "the client speaks version {version}, the load server {VERSION}: update one of them"
            ));
        }
        if import != &self.import {
            return Some(format!("the client loads import {import}, the load server {}", self.import));
        }
        (columns != &self.columns).then(|| {
            format!(
                "the client's columns are {}, the table's {}",
                columns.join(", "),
                self.columns.join(", ")
            )
        })
    }

    fn read_chunks(
        &self,
        reader: &mut impl io::Read,
        queues: &[Vec<SyncSender<Part>>],
        tell: &Sender<Told>,
    ) -> io::Result<()> {
        let (mut hashes, mut shard_of) = (Vec::new(), Vec::new());
        let mut whole = self.empty();
        loop {
            match frame::receive(reader)? {
                Some(Frame::Chunk(head, body)) => {
                    self.bytes.fetch_add(body.len() as u64, Relaxed);
                    clear(&mut whole);
                    if !body.is_empty() {
                        decode(&body, &mut whole).map_err(|e| self.failed(&e))?;
                    }
                    if whole.rows as u64 != head.rows {
                        let message = format!(
                            "chunk {} of file {} has {} rows, its head says {}",
                            head.chunk, head.file, whole.rows, head.rows
                        );
                        return Err(self.failed(&message));
                    }
                    self.placement
                        .shards_of(&whole, &mut hashes, &mut shard_of)
                        .map_err(|e| self.failed(&e.to_string()))?;
                    let mut parts: Vec<Columns> = self.shards.iter().map(|_| self.empty()).collect();
                    scatter(&whole, &shard_of, &mut parts);
                    self.queue(&head, parts, queues, tell)?;
                }
                Some(Frame::Talk(Talk::End)) => return Ok(()),
                Some(Frame::Talk(_)) => return Err(io::Error::other("it said what only a server says")),
                None => return Err(io::Error::other("gone before its end; what was acknowledged is stored")),
            }
        }
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
        queues: &[Vec<SyncSender<Part>>],
        tell: &Sender<Told>,
    ) -> io::Result<()> {
        let ack = Ack { file: head.file, chunk: head.chunk, rows: head.rows };
        let chunk = match lock(&self.seen).entry((head.file, head.chunk)) {
            Entry::Occupied(earlier) => {
                earlier.get().sent_again(tell);
                return Ok(());
            }
            Entry::Vacant(free) => {
                free.insert(Arc::new(Pending::new(ack, parts.len(), tell.clone()))).clone()
            }
        };
        for ((rows, known), writers) in parts.into_iter().zip(&self.known).zip(queues) {
            if known.contains(&(head.file, head.chunk)) {
                chunk.stored();
                continue;
            }
            let writer = (head.chunk as usize + head.file as usize) % writers.len();
            let part = Part { head: head.clone(), rows, chunk: chunk.clone() };
            writers[writer].send(part).map_err(|_| io::Error::other("a shard was given up"))?;
        }
        Ok(())
    }
}

fn ledgers(shards: &[Arc<Shard>]) -> Result<Vec<Lines>, Error> {
    shards.iter().map(|shard| shard.lines()).collect()
}

/// Rows of one chunk. Errors: no Arrow stream, other columns, a value that does not fit.
fn decode(body: &[u8], out: &mut Columns) -> Result<(), String> {
    let garbled = |e: arrow_schema::ArrowError| format!("a chunk is no Arrow IPC stream: {e}");
    for batch in StreamReader::try_new(body, None).map_err(garbled)? {
        let batch = batch.map_err(garbled)?;
        let schema = batch.schema();
        let names = schema.fields().iter().map(|f| f.name());
        if !names.eq(out.columns.iter().map(|c| &c.name)) {
            return Err("a chunk has other columns than the table".into());
        }
        arrow::append(&batch, out)?;
    }
    Ok(())
}

/// Acknowledgements as they come, several in a frame; ends with the last chunk or a failure.
fn acknowledge(told: &Receiver<Told>, out: &mut TcpStream) {
    while let Ok(first) = told.recv() {
        let (mut acks, mut failed) = (Vec::new(), None);
        for next in std::iter::once(first).chain(told.try_iter()) {
            match next {
                Told::Ack(ack) => acks.push(ack),
                Told::Failed(message) => failed = Some(message),
            }
        }
        // A client that has gone asks the ledger when it comes again.
        if !acks.is_empty() && frame::send_talk(out, &Talk::Acked { acks }).is_err() {
            return;
        }
        if let Some(message) = failed {
            let _ = frame::send_talk(out, &Talk::Failed { message });
            return;
        }
    }
}

/// In a time that does not tell how much of it was right.
fn equal_secrets(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub fn unreachable_server(address: &str, error: &io::Error) -> Error {
    Error::Target { target: address.to_owned(), class: TargetFault::Unreachable, message: error.to_string() }
}
