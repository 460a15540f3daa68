//! The client of a load: reads files, parses and checks their rows, sends them chunk by chunk.

use std::collections::HashMap;
use std::io::{self, BufReader, BufWriter};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use serde::Deserialize;
use serde_json::{json, Value as Json};

use super::frame::{self, Ack, ChunkHead, Frame, Reached, Talk, VERSION};
use super::server::unreachable_server;
use super::{pause, Bucket, Desk, TELL};
use crate::clock::monotonic_ns;
use crate::engine::arrow;
use crate::error::{Error, TargetFault};
use crate::plan::{RowSource, TablePlan};
use crate::rows::files::{FileRows, Position};
use crate::rows::Columns;

const SOCKET_BYTES: usize = 1 << 18;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientPlan {
    /// Address of the load server.
    pub server: String,
    pub token: String,
    pub import: String,
    pub files: Vec<ClientFile>,
    /// Files read at once, each over a connection of its own.
    pub parallel: u32,
    pub chunk_rows: usize,
    /// More rejected rows than this in all files end the load.
    pub reject_limit: u64,
    /// Holds the reading to a rate, all files together.
    #[serde(default)]
    pub bytes_per_s: Option<f64>,
    /// Holds every reader to a rate of its own.
    #[serde(default)]
    pub reader_bytes_per_s: Option<f64>,
    /// A reader begins its next file when the one before is stored whole, and says how long each took.
    #[serde(default)]
    pub file_by_file: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientFile {
    /// Its number in the ledger.
    pub number: u32,
    /// Its source names this one file and a reject file of its own.
    pub table: TablePlan,
}

/// What all readers of one client share.
struct Shared {
    plan: ClientPlan,
    next: AtomicUsize,
    bytes: AtomicU64,
    rows_sent: AtomicU64,
    rows_stored: AtomicU64,
    rejected: AtomicU64,
    files_done: AtomicUsize,
    /// Rows and rejects that an earlier attempt had brought to their end.
    rows_before: AtomicU64,
    bucket: Mutex<Option<Bucket>>,
    failed: AtomicBool,
}

/// Until every row of every file is stored or rejected.
pub fn run(plan: ClientPlan, desk: &Desk) -> Result<Json, Error> {
    let began = Instant::now();
    let bucket = Mutex::new(Bucket::new(plan.bytes_per_s));
    let readers = (plan.parallel.max(1) as usize).min(plan.files.len().max(1));
    let shared = Arc::new(Shared {
        plan,
        next: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        rows_sent: AtomicU64::new(0),
        rows_stored: AtomicU64::new(0),
        rejected: AtomicU64::new(0),
        files_done: AtomicUsize::new(0),
        rows_before: AtomicU64::new(0),
        bucket,
        failed: AtomicBool::new(false),
    });
    let start = |k: usize| {
        let (shared, desk) = (shared.clone(), desk.clone());
        let work = move || {
            let ended = read_files(&shared, k, &desk);
            shared.failed.fetch_or(ended.is_err(), Relaxed);
            ended
        };
        thread::Builder::new()
            .name(format!("reader{k}"))
            .spawn(work)
            .map_err(|e| Error::io("starting a reader", e))
    };
    let threads = (0..readers).map(start).collect::<Result<Vec<_>, _>>()?;
    let mut last = Instant::now();
    while threads.iter().any(|t| !t.is_finished()) {
        thread::sleep(Duration::from_millis(5));
        if last.elapsed() >= TELL {
            last = Instant::now();
            desk.tell(shared.says("progress", began));
        }
    }
    let mut errors = Vec::new();
    for reader in threads {
        let broken = || Error::Plan("a reader broke an assumption of its own; see the lines above".into());
        errors.extend(reader.join().unwrap_or_else(|_| Err(broken())).err());
    }
    // What ended the load comes before what merely ended with it.
    errors.sort_by_key(|e| matches!(e, Error::Interrupted));
    match errors.into_iter().next() {
        Some(e) => Err(e),
        None => Ok(shared.says("finished", began)),
    }
}

impl Shared {
    fn says(&self, event: &str, began: Instant) -> Json {
        json!({
            "event": event,
            "seconds": began.elapsed().as_secs_f64(),
            "bytes": self.bytes.load(Relaxed),
            "rows_sent": self.rows_sent.load(Relaxed),
            "rows_stored": self.rows_stored.load(Relaxed),
            "rows_before": self.rows_before.load(Relaxed),
            "rejected": self.rejected.load(Relaxed),
            "files_done": self.files_done.load(Relaxed),
            "files": self.plan.files.len(),
        })
    }

    fn throttle(&self, bytes: u64, desk: &Desk) {
        let wait =
            self.bucket.lock().unwrap_or_else(|p| p.into_inner()).as_mut().map(|b| b.take(bytes as f64));
        if let Some(wait) = wait {
            pause(wait, desk);
        }
    }
}

/// One connection, file after file, while there are any. `reader`: its number among those of this client.
fn read_files(shared: &Arc<Shared>, reader: usize, desk: &Desk) -> Result<(), Error> {
    let Some(first) = shared.plan.files.first() else { return Ok(()) };
    let (mut wire, mut schema) = (Wire::connect(shared, &first.table)?, None);
    let mut bucket = Bucket::new(shared.plan.reader_bytes_per_s);
    loop {
        let at = shared.next.fetch_add(1, Relaxed);
        let Some(file) = shared.plan.files.get(at) else { break };
        let schema = schema.get_or_insert_with(|| arrow::schema_of(&logical(&file.table)));
        let start_ns = monotonic_ns();
        let read = send_file(shared, file, schema, &mut wire, &mut bucket, desk)?;
        if shared.plan.file_by_file {
            let sent_ns = monotonic_ns();
            wire.stored(desk)?;
            desk.tell(json!({
                "event": "file", "number": file.number, "reader": reader, "start_ns": start_ns, "sent_ns": sent_ns,
                "end_ns": monotonic_ns(), "bytes": read.bytes, "rows": read.rows, "rejected": read.rejected,
            }));
        }
        shared.files_done.fetch_add(1, Relaxed);
    }
    wire.finish(desk)
}

/// Columns as they travel: by what they mean, whatever an engine makes of them.
fn logical(table: &TablePlan) -> Vec<crate::plan::ColumnPlan> {
    let mut columns = table.columns.clone();
    columns.iter_mut().for_each(|c| c.wire.clear());
    columns
}

/// What was read of one file, leaving out what an earlier attempt had stored.
#[derive(Default)]
struct Read {
    bytes: u64,
    rows: u64,
    rejected: u64,
}

fn send_file(
    shared: &Shared,
    file: &ClientFile,
    schema: &SchemaRef,
    wire: &mut Wire,
    bucket: &mut Option<Bucket>,
    desk: &Desk,
) -> Result<Read, Error> {
    let mut sum = Read::default();
    let mut rows = FileRows::open(&file.table)?;
    let mut chunk = 0;
    let mut before = Position::default();
    if let Some(reached) = wire.reached.get(&file.number) {
        shared.rows_before.fetch_add(reached.after.stored, Relaxed);
        shared.rejected.fetch_add(reached.after.rejected, Relaxed);
        if reached.done {
            return Ok(sum);
        }
        rows.seek(&reached.after)?;
        (chunk, before) = (reached.chunk, reached.after);
    }
    let whole = file_bytes(&file.table);
    let mut batch = rows.columns();
    let mut body = Vec::new();
    loop {
        if desk.stopped() || shared.failed.load(Relaxed) {
            return Err(Error::Interrupted);
        }
        let count = rows.next_batch(shared.plan.chunk_rows, &mut batch)?;
        let after = rows.position();
        let rejected = after.rejected - before.rejected;
        if shared.rejected.fetch_add(rejected, Relaxed) + rejected > shared.plan.reject_limit {
            return Err(Error::Plan(format!(
                "more than {} rows rejected; their files say which and why, --reject-limit allows more",
                shared.plan.reject_limit
            )));
        }
        // Behind its last row a file's position is the beginning of the next one.
        let until = if after.file == before.file { after.offset } else { whole };
        let read = until.saturating_sub(before.offset);
        shared.throttle(read, desk);
        if let Some(bucket) = bucket {
            pause(bucket.take(read as f64), desk);
        }
        sum.bytes += read;
        sum.rows += count as u64;
        sum.rejected += rejected;
        shared.bytes.fetch_add(read, Relaxed);
        encode(&batch, schema, &mut body);
        let head = ChunkHead { file: file.number, chunk, rows: count as u64, after, last: count == 0 };
        wire.send(&head, &body)?;
        shared.rows_sent.fetch_add(count as u64, Relaxed);
        if head.last {
            return Ok(sum);
        }
        (chunk, before) = (chunk + 1, after);
    }
}

/// Size of the one text file of a table; 0 for an Arrow stream, whose positions count rows.
fn file_bytes(table: &TablePlan) -> u64 {
    match &table.source {
        RowSource::Files { paths, format, .. } if format != "arrow" => {
            paths.first().and_then(|path| std::fs::metadata(path).ok()).map_or(0, |m| m.len())
        }
        _ => 0,
    }
}

/// `batch` as an Arrow IPC stream; nothing for no rows.
fn encode(batch: &Columns, schema: &SchemaRef, out: &mut Vec<u8>) {
    out.clear();
    if batch.rows == 0 {
        return;
    }
    let write = |out: &mut Vec<u8>| {
        let mut writer = StreamWriter::try_new(out, schema)?;
        writer.write(&arrow::record_batch(batch, schema))?;
        writer.finish()
    };
    write(out).expect("memory takes what is written, and the schema is the batch's own");
}

/// The connection: chunks go out here, acknowledgements come in on a thread of its own.
struct Wire {
    out: BufWriter<TcpStream>,
    reached: HashMap<u32, Reached>,
    sent: u64,
    heard: Arc<Heard>,
    ears: Option<thread::JoinHandle<()>>,
    server: String,
}

#[derive(Default)]
struct Heard {
    state: Mutex<(u64, Option<String>)>,
    changed: Condvar,
}

impl Wire {
    fn connect(shared: &Arc<Shared>, table: &TablePlan) -> Result<Wire, Error> {
        let plan = &shared.plan;
        let lost = |e: io::Error| unreachable_server(&plan.server, &e);
        let stream = TcpStream::connect(&plan.server).map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        let mut reader = BufReader::new(stream.try_clone().map_err(lost)?);
        let mut out = BufWriter::with_capacity(SOCKET_BYTES, stream);
        let hello = Talk::Hello {
            version: VERSION,
            token: plan.token.clone(),
            import: plan.import.clone(),
            columns: table.columns.iter().map(|c| c.name.clone()).collect(),
            chunk_rows: plan.chunk_rows as u64,
        };
        frame::send_talk(&mut out, &hello).map_err(lost)?;
        let reached = match frame::receive(&mut reader).map_err(lost)? {
            Some(Frame::Talk(Talk::Welcome { reached })) => reached,
            Some(Frame::Talk(Talk::Failed { message })) => return Err(refused(&plan.server, message)),
            _ => return Err(refused(&plan.server, "what listens there is no load server of inrush".into())),
        };
        let heard = Arc::new(Heard::default());
        let (listening, stored) = (heard.clone(), shared.clone());
        let ears = thread::Builder::new()
            .name("ears".into())
            .spawn(move || listen(&mut reader, &listening, &stored))
            .map_err(|e| Error::io("starting a thread", e))?;
        let reached = reached.into_iter().map(|r| (r.file, r)).collect();
        Ok(Wire { out, reached, sent: 0, heard, ears: Some(ears), server: plan.server.clone() })
    }

    fn send(&mut self, head: &ChunkHead, body: &[u8]) -> Result<(), Error> {
        self.sent += 1;
        match frame::send_chunk(&mut self.out, head, body) {
            Ok(()) => Ok(()),
            Err(e) => Err(self.why(&e)),
        }
    }

    /// Waits until all that was sent is stored.
    fn stored(&self, desk: &Desk) -> Result<(), Error> {
        let heard = self.heard.clone();
        let mut state = heard.state.lock().unwrap_or_else(|p| p.into_inner());
        while state.0 < self.sent {
            if let Some(message) = state.1.take() {
                return Err(refused(&self.server, message));
            }
            if desk.stopped() {
                return Err(Error::Interrupted);
            }
            let waited = heard.changed.wait_timeout(state, Duration::from_millis(50));
            state = waited.unwrap_or_else(|p| p.into_inner()).0;
        }
        Ok(())
    }

    /// Waits until all that was sent is stored, and says goodbye.
    fn finish(mut self, desk: &Desk) -> Result<(), Error> {
        self.stored(desk)?;
        // The server may be gone already: everything is stored, and it knew.
        let _ = frame::send_talk(&mut self.out, &Talk::End);
        Ok(())
    }

    /// A server that gives up says why before it closes: that comes before the broken pipe.
    fn why(&self, e: &io::Error) -> Error {
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut state = self.heard.state.lock().unwrap_or_else(|p| p.into_inner());
        while state.1.is_none() && Instant::now() < deadline {
            let waited = self.heard.changed.wait_timeout(state, Duration::from_millis(50));
            state = waited.unwrap_or_else(|p| p.into_inner()).0;
        }
        match state.1.take() {
            Some(message) => refused(&self.server, message),
            None => unreachable_server(&self.server, e),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Ends the listening thread, whatever it waits for.
        let _ = self.out.get_ref().shutdown(Shutdown::Both);
        if let Some(ears) = self.ears.take() {
            let _ = ears.join();
        }
    }
}

fn listen(from: &mut impl io::Read, heard: &Heard, shared: &Shared) {
    loop {
        let (acks, failed): (Vec<Ack>, Option<String>) = match frame::receive(from) {
            Ok(Some(Frame::Talk(Talk::Acked { acks }))) => (acks, None),
            Ok(Some(Frame::Talk(Talk::Failed { message }))) => (Vec::new(), Some(message)),
            Ok(Some(_)) => (Vec::new(), Some("it said what only a client says".into())),
            Ok(None) => (Vec::new(), Some(GONE.into())),
            Err(e) => (Vec::new(), Some(format!("{GONE} ({e})"))),
        };
        shared.rows_stored.fetch_add(acks.iter().map(|a| a.rows).sum(), Relaxed);
        let mut state = heard.state.lock().unwrap_or_else(|p| p.into_inner());
        state.0 += acks.len() as u64;
        let ended = failed.is_some();
        state.1 = failed.or(state.1.take());
        heard.changed.notify_all();
        if ended {
            return;
        }
    }
}

const GONE: &str =
    "the load server is gone; what it acknowledged is stored, and the same command goes on from there";

fn refused(server: &str, message: String) -> Error {
    Error::Target { target: server.to_owned(), class: TargetFault::Other, message }
}
