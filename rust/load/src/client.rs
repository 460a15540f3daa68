//! The client of a load: reads files, parses and checks their rows, sends them chunk by chunk.

mod plan;
mod refused;
mod wire;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use serde_json::{json, Value as Json};

use super::frame::{ChunkHead, Reached};
use super::{pause, Bucket, EventSender, PROGRESS_EVERY};
use inrush_engines::engine::arrow;
use inrush_rows::clock::monotonic_ns;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::files::{FileRows, Position};
use inrush_rows::rows::{Checksums, Columns};

pub use plan::{ClientFile, ClientPlan};
pub use refused::without;
use refused::{Noted, UnderWay};
use wire::Wire;

/// What all readers of one client share.
struct Shared {
    plan: ClientPlan,
    next: AtomicUsize,
    bytes: AtomicU64,
    rows_sent: AtomicU64,
    /// By us.
    rows_stored: AtomicU64,
    /// Rows that were sent and that the ledger had already, and the bytes behind them.
    rows_of_others: AtomicU64,
    bytes_of_others: AtomicU64,
    rejected: AtomicU64,
    files_done: AtomicUsize,
    /// Rows and rejects that an earlier attempt had brought to their end.
    rows_before: AtomicU64,
    /// Bytes behind them.
    bytes_before: AtomicU64,
    /// Of every row that is stored by now or was before; `None` where a ledger does not have those of before.
    sums: Mutex<Option<Checksums>>,
    bucket: Mutex<Option<Bucket>>,
    failed: AtomicBool,
}

/// Until every row of every file is stored or rejected.
pub fn run(plan: ClientPlan, event_sender: &EventSender) -> Result<Json, Error> {
    let began = Instant::now();
    let bucket = Mutex::new(Bucket::new(plan.bytes_per_s));
    let readers = (plan.parallel.max(1) as usize).min(plan.files.len().max(1));
    let sums = match plan.files.first() {
        Some(file) => Some(Checksums::new(&plan.items, &Columns::of(plan.table_of(file)?))?),
        None => None,
    };
    let shared = Arc::new(Shared {
        sums: Mutex::new(sums),
        plan,
        next: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        rows_sent: AtomicU64::new(0),
        rows_stored: AtomicU64::new(0),
        rows_of_others: AtomicU64::new(0),
        bytes_of_others: AtomicU64::new(0),
        rejected: AtomicU64::new(0),
        files_done: AtomicUsize::new(0),
        rows_before: AtomicU64::new(0),
        bytes_before: AtomicU64::new(0),
        bucket,
        failed: AtomicBool::new(false),
    });
    let start = |k: usize| {
        let (shared, event_sender) = (shared.clone(), event_sender.clone());
        let work = move || {
            let ended = read_files(&shared, k, &event_sender);
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
        if last.elapsed() >= PROGRESS_EVERY {
            last = Instant::now();
            event_sender.send(shared.says("progress", began));
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
        None => Ok(shared.finished(began)),
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
            "rows_of_others": self.rows_of_others.load(Relaxed),
            "bytes_of_others": self.bytes_of_others.load(Relaxed),
            "rows_before": self.rows_before.load(Relaxed),
            "bytes_before": self.bytes_before.load(Relaxed),
            "rejected": self.rejected.load(Relaxed),
            "files_done": self.files_done.load(Relaxed),
            "files": self.plan.files.len(),
        })
    }

    /// Its last word, with the sums of all its rows.
    fn finished(&self, began: Instant) -> Json {
        let mut said = self.says("finished", began);
        said["sums"] = self.sums.lock().unpoisoned().as_ref().map(Checksums::text).into();
        said
    }

    /// Figures of chunks; where a ledger has none, the whole has none.
    fn add_sums(&self, text: &str) {
        let mut sums = self.sums.lock().unpoisoned();
        if sums.as_mut().is_some_and(|sums| sums.merge_text(text).is_none()) {
            *sums = None;
        }
    }

    /// What of a file an earlier attempt had brought to its end.
    fn add_reached(&self, file: &ClientFile, reached: &Reached) {
        self.rows_before.fetch_add(reached.after.stored.saturating_sub(reached.refused), Relaxed);
        self.rejected.fetch_add(reached.after.rejected.saturating_add(reached.refused), Relaxed);
        // Of a file without a whole chunk there are none.
        if reached.chunk > 0 {
            self.add_sums(&reached.sums);
        }
        self.bytes_before.fetch_add(file.bytes_until(reached.after.offset), Relaxed);
    }

    /// Errors: they are too many.
    fn add_rejected(&self, rows: u64) -> Result<(), Error> {
        let limit = self.plan.reject_limit;
        match self.rejected.fetch_add(rows, Relaxed).saturating_add(rows) > limit {
            false => Ok(()),
            true => Err(Error::Plan(format!(
                "more than {limit} rows rejected; their files say which and why, --reject-limit allows more"
            ))),
        }
    }

    fn throttle(&self, bytes: u64, event_sender: &EventSender) {
        let wait = self.bucket.lock().unpoisoned().as_mut().map(|b| b.take(bytes as f64));
        if let Some(wait) = wait {
            pause(wait, event_sender);
        }
    }
}

/// One connection, file after file, while there are any. `reader`: its number among those of this client.
fn read_files(shared: &Arc<Shared>, reader: usize, event_sender: &EventSender) -> Result<(), Error> {
    let Some(first) = shared.plan.files.first() else { return Ok(()) };
    let (mut wire, mut schema) = (Wire::connect(shared, shared.plan.table_of(first)?)?, None);
    let mut bucket = Bucket::new(shared.plan.reader_bytes_per_s);
    loop {
        let at = shared.next.fetch_add(1, Relaxed);
        let Some(file) = shared.plan.files.get(at) else { break };
        let table = file.reads(shared.plan.table_of(file)?);
        let schema = schema.get_or_insert_with(|| arrow::schema_of(&logical(&table)));
        let start_ns = monotonic_ns();
        if shared.plan.file_by_file {
            event_sender.send(json!({
                "event": "begins", "number": file.number, "reader": reader, "start_ns": start_ns,
            }));
        }
        let read = send_file(shared, (at, &table), schema, &mut wire, &mut bucket, event_sender)?;
        if shared.plan.file_by_file {
            let sent_ns = monotonic_ns();
            let refused = all_stored(shared, schema, &mut wire, event_sender)?;
            event_sender.send(json!({
                "event": "file", "number": file.number, "reader": reader, "start_ns": start_ns, "sent_ns": sent_ns,
                "end_ns": monotonic_ns(), "bytes": read.bytes, "rows": read.rows.saturating_sub(refused),
                "rejected": read.rejected + refused,
            }));
        }
        shared.files_done.fetch_add(1, Relaxed);
    }
    if let Some(schema) = &schema {
        all_stored(shared, schema, &mut wire, event_sender)?;
    }
    wire.finish();
    Ok(())
}

/// Waits until all that was sent is stored; chunks with rows that a server refuses come again without them. Gives how many.
fn all_stored(
    shared: &Shared,
    schema: &SchemaRef,
    wire: &mut Wire,
    event_sender: &EventSender,
) -> Result<u64, Error> {
    let mut refused = 0;
    while !wire.stored(event_sender)? {
        refused += send_without_refused(shared, schema, wire)?;
    }
    Ok(refused)
}

/// Gives how many rows were refused.
fn send_without_refused(shared: &Shared, schema: &SchemaRef, wire: &mut Wire) -> Result<u64, Error> {
    let mut refused = 0;
    for (chunk, rows) in wire.refused() {
        let file = &shared.plan.files[chunk.at];
        let table = file.reads(shared.plan.table_of(file)?);
        // Its rows are read once more.
        file.check()?;
        let before = chunk.head.rows;
        let (chunk, batch) = chunk.without(&table, shared.plan.chunk_rows, rows)?;
        file.check()?;
        let count = before.saturating_sub(chunk.head.rows);
        refused += count;
        shared.add_rejected(count)?;
        shared.rows_sent.fetch_sub(count, Relaxed);
        let (mut sums, mut body) = (Checksums::new(&shared.plan.items, &batch)?, Vec::new());
        sums.add(&batch);
        encode(&batch, schema, &mut body);
        let head = ChunkHead { sums: sums.text(), ..chunk.head };
        wire.send(&body, UnderWay { head, ..chunk })?;
    }
    Ok(refused)
}

/// Columns as they travel: by what they mean, whatever an engine makes of them.
fn logical(table: &TablePlan) -> Vec<inrush_rows::plan::ColumnPlan> {
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

/// Waits as long as the bytes that were read take at the rates that were asked for.
fn pace(shared: &Shared, read: u64, bucket: &mut Option<Bucket>, event_sender: &EventSender) {
    shared.throttle(read, event_sender);
    if let Some(bucket) = bucket {
        pause(bucket.take(read as f64), event_sender);
    }
}

/// Opens a file behind what an earlier attempt has stored of it: its rows, the number of the next chunk, and where that begins.
/// `None`: all of it is stored.
fn open_behind(
    shared: &Shared,
    file: &ClientFile,
    table: &TablePlan,
    reached: Option<&Reached>,
) -> Result<Option<(FileRows, u64, Position)>, Error> {
    let mut rows = FileRows::open(table)?;
    if let Some(reached) = reached {
        shared.add_reached(file, reached);
        if reached.done {
            return Ok(None);
        }
    }
    file.check()?;
    let Some(reached) = reached else { return Ok(Some((rows, 0, Position::default()))) };
    rows.seek(&reached.after)?;
    Ok(Some((rows, reached.chunk, reached.after)))
}

fn send_file(
    shared: &Shared,
    (at, table): (usize, &TablePlan),
    schema: &SchemaRef,
    wire: &mut Wire,
    bucket: &mut Option<Bucket>,
    event_sender: &EventSender,
) -> Result<Read, Error> {
    let (mut sum, file) = (Read::default(), &shared.plan.files[at]);
    let reached = wire.reached.get(&file.number);
    // Of what no shard has, nothing is decided.
    let mut noted = Noted::of_stored(&file.reject_path, reached)?;
    let Some((mut rows, mut chunk, mut before)) = open_behind(shared, file, table, reached)? else {
        return Ok(sum);
    };
    let mut batch = rows.columns();
    let mut sums = Checksums::new(&shared.plan.items, &batch)?;
    let mut body = Vec::new();
    loop {
        if event_sender.stopped() || shared.failed.load(Relaxed) {
            return Err(Error::Interrupted);
        }
        let read = rows.next_batch(shared.plan.chunk_rows, &mut batch);
        // Before anything of it is sent, and before what its rows are rejected for is believed.
        file.check()?;
        let count = read?;
        let after = rows.position();
        let left_out = noted.take(chunk);
        let rejected = after.rejected.saturating_sub(before.rejected) + left_out.len() as u64;
        shared.add_rejected(rejected)?;
        let read = file.bytes_until(after.offset).saturating_sub(file.bytes_until(before.offset));
        pace(shared, read, bucket, event_sender);
        sum.bytes += read;
        let fewer = (!left_out.is_empty()).then(|| without(&batch, &left_out));
        let batch_sent = fewer.as_ref().unwrap_or(&batch);
        let sent = batch_sent.rows as u64;
        sum.rows += sent;
        sum.rejected += rejected;
        shared.bytes.fetch_add(read, Relaxed);
        encode(batch_sent, schema, &mut body);
        sums.clear();
        sums.add(batch_sent);
        let (last, sums) = (count == 0, sums.text());
        let head = ChunkHead { file: file.number, chunk, rows: sent, after, last, sums, left_out };
        shared.rows_sent.fetch_add(sent, Relaxed);
        wire.send(&body, UnderWay { at, before, read: count as u32, bytes: read, head })?;
        let refused = match shared.plan.in_order {
            true => all_stored(shared, schema, wire, event_sender)?,
            false => send_without_refused(shared, schema, wire)?,
        };
        (sum.rows, sum.rejected) = (sum.rows.saturating_sub(refused), sum.rejected + refused);
        if last {
            return Ok(sum);
        }
        (chunk, before) = (chunk + 1, after);
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
