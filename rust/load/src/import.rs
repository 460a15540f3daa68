//! One import at the load server: its shards, a bounded queue per writer, and its clients.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::{json, Value as Json};

use super::frame::{self, Frame, Message};
use super::hashers::Hashers;
use super::listeners::{acknowledge, Reply};
use super::placing::{Place, Placer, Queues};
use super::plan::{ImportPlan, ShardPlan};
use super::queue::Queue;
use super::shard::{self, Lines, Part, Shard};
use super::wire::{Reader, Writer};
use super::{broken, EventSender};
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::placement::Placement;

/// To a client that comes too late.
const END: &str = "the load is at its end";

pub struct Import {
    pub placer: Arc<Placer>,
    columns: Vec<String>,
    /// The shards in the order of their partitions; behind them, where there are copies, that of each.
    shards: Vec<Arc<Shard>>,
    pub resumed_files: usize,
    pub resumed_rows: u64,
    bytes: AtomicU64,
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
        let resumed_rows = shard::rows(&ledgers[..plan.shards.len()]);
        let import = Arc::new(Import {
            placer: Arc::new(Placer::new(plan, placement, &ledgers)),
            columns,
            resumed_files: reached.len(),
            resumed_rows,
            shards,
            bytes: AtomicU64::new(0),
            writers: Mutex::new(Vec::new()),
            hashers: Mutex::new(None),
            event_sender: event_sender.clone(),
        });
        import.start_writers()?;
        if hash_threads > 0 {
            match Hashers::start(&import.placer, hash_threads) {
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
        *self.placer.queues.lock().unpoisoned() = Some(queues.clone());
        for (index, (shard, own)) in self.shards.iter().zip(queues).enumerate() {
            for (k, queue) in own.into_iter().enumerate() {
                let (import, shard) = (self.clone(), shard.clone());
                let writer = move || {
                    let _abandon = Abandon { import: &import, queue: &queue };
                    let ended = shard::write(&shard, &queue, &import.event_sender);
                    if let Err(e) = &ended {
                        import.placer.listeners.fail(&e.to_string());
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
        let queues = self.placer.queues.lock().unpoisoned().take();
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
            .map(|s| {
                json!({
                    "name": s.plan.name,
                    "rows": s.stored.load(Relaxed),
                    "rows_of_others": s.of_others.load(Relaxed),
                    "commits": s.commits.load(Relaxed),
                })
            })
            .collect();
        json!({"bytes": self.bytes.load(Relaxed), "shards": shards})
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
            self.placer.failed(&message)
        })?;
        frame::send_message(&mut out, &Message::Welcome { reached: shard::reached(&reached) })?;
        if self.placer.queues.lock().unpoisoned().is_none() {
            let message = END.into();
            return frame::send_message(&mut out, &Message::Failed { message });
        }

        let (replies, listeners) = channel();
        let number = match self.placer.listeners.enter(&replies) {
            Ok(number) => number,
            Err(message) => return frame::send_message(&mut out, &Message::Failed { message }),
        };
        let teller =
            thread::Builder::new().name("acks".into()).spawn(move || acknowledge(&listeners, &mut out))?;
        let read = self.read_chunks(reader, &replies);
        // The acknowledging thread ends with its last sender: ours, that in the list, those of chunks under way.
        self.placer.listeners.leave(number);
        drop(replies);
        let _ = teller.join();
        read
    }

    fn read_chunks(&self, reader: &mut impl io::Read, replies: &Sender<Reply>) -> io::Result<()> {
        let hand = self.hashers.lock().unpoisoned().as_ref().map(Hashers::hand);
        let mut place = Place::of(&self.placer);
        let mut spare = Vec::new();
        loop {
            match frame::receive_into(reader, std::mem::take(&mut spare))? {
                Some(Frame::Chunk(head, body)) => {
                    self.bytes.fetch_add(body.len() as u64, Relaxed);
                    spare = match &hand {
                        None => self.placer.place(&mut place, &head, body, replies)?,
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
            self.import.placer.listeners.fail(&broken().to_string());
        }
        self.queue.abandon();
    }
}

fn ledgers(shards: &[Arc<Shard>]) -> Result<Vec<Lines>, Error> {
    shards.iter().map(|shard| shard.lines()).collect()
}
