//! Threads that place rows for all clients of an import; without them the thread of each connection does it.
//!
//! A reader hands each chunk over as it came and takes back the memory of one that was placed. As many chunks wait as there
//! are threads, so that a load server that waits for a shard still reads no more from its clients.

use std::io;
use std::sync::mpsc::{sync_channel, Receiver, Sender, SyncSender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;

use super::broken;
use super::frame::ChunkHead;
use super::listeners::Reply;
use super::placing::{Place, Placer};

/// More would wait for one another at the shards' queues.
pub const MOST_HASHERS: u32 = 64;

pub struct Hashers {
    jobs: SyncSender<Job>,
    threads: Vec<JoinHandle<()>>,
}

pub struct Job {
    head: ChunkHead,
    body: Vec<u8>,
    replies: Sender<Reply>,
    reader: Arc<Reader>,
}

/// Where a connection's chunks go.
pub struct Hand {
    jobs: SyncSender<Job>,
    reader: Arc<Reader>,
}

/// What the threads have of one connection.
#[derive(Default)]
struct Reader {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    under_way: usize,
    /// Memory of chunks that were placed.
    spare: Vec<Vec<u8>>,
    failure: Option<String>,
}

impl Hashers {
    pub fn start(placer: &Arc<Placer>, count: u32) -> Result<Hashers, Error> {
        if count > MOST_HASHERS {
            return Err(Error::Plan(format!("{count} hashing threads; at most {MOST_HASHERS}")));
        }
        let (jobs, taken) = sync_channel(count as usize);
        let taken = Arc::new(Mutex::new(taken));
        let mut threads = Vec::new();
        for _ in 0..count {
            let (placer, taken) = (placer.clone(), taken.clone());
            let hasher = move || work(&placer, &taken);
            // Those that were started end with `jobs`.
            let started = thread::Builder::new().name("hash".into()).spawn(hasher);
            threads.push(started.map_err(|e| Error::io("starting a hashing thread", e))?);
        }
        Ok(Hashers { jobs, threads })
    }

    pub fn hand(&self) -> Hand {
        Hand { jobs: self.jobs.clone(), reader: Arc::default() }
    }

    /// Once no client sends any more.
    pub fn end(self) {
        drop(self.jobs);
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

impl Hand {
    /// Waits while every thread has a chunk and as many wait. Memory for the next chunk; an error where one could not be
    /// placed.
    pub fn over(&self, head: ChunkHead, body: Vec<u8>, replies: &Sender<Reply>) -> io::Result<Vec<u8>> {
        {
            let mut state = self.reader.state.lock().unpoisoned();
            if let Some(failure) = &state.failure {
                return Err(io::Error::other(failure.clone()));
            }
            state.under_way += 1;
        }
        let job = Job { head, body, replies: replies.clone(), reader: self.reader.clone() };
        self.jobs.send(job).map_err(|_| io::Error::other(broken().to_string()))?;
        Ok(self.reader.state.lock().unpoisoned().spare.pop().unwrap_or_default())
    }

    /// Waits until all that was handed over waits for its shards.
    pub fn placed(&self) -> io::Result<()> {
        let mut state = self.reader.state.lock().unpoisoned();
        while state.under_way > 0 && state.failure.is_none() {
            state = self.reader.changed.wait(state).unpoisoned();
        }
        state.failure.take().map_or(Ok(()), |failure| Err(io::Error::other(failure)))
    }
}

fn work(placer: &Placer, jobs: &Mutex<Receiver<Job>>) {
    let mut place = Place::of(placer);
    loop {
        // The lock is held while one waits: the thread that has it takes the next chunk.
        let Ok(Job { head, body, replies, reader }) = jobs.lock().unpoisoned().recv() else { return };
        let mut done = Done { placer, reader: &reader, placed: None };
        done.placed = Some(placer.place(&mut place, &head, body, &replies).map_err(|e| e.to_string()));
    }
}

/// Says what became of a chunk, however its thread ended: a reader would wait for ever.
struct Done<'a> {
    placer: &'a Placer,
    reader: &'a Reader,
    placed: Option<Result<Vec<u8>, String>>,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        let placed = self.placed.take().unwrap_or_else(|| {
            let why = broken().to_string();
            self.placer.listeners.fail(&why);
            Err(why)
        });
        let mut state = self.reader.state.lock().unpoisoned();
        state.under_way -= 1;
        match placed {
            Ok(memory) => state.spare.push(memory),
            Err(why) => state.failure = state.failure.take().or(Some(why)),
        }
        drop(state);
        self.reader.changed.notify_all();
    }
}
