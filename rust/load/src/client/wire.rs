//! The connection of one reader to the load server: its chunks go out, their acknowledgements come in.

use std::collections::HashMap;
use std::io::{self, BufReader, BufWriter};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::refused::UnderWay;
use super::Shared;
use crate::frame::{self, Ack, Frame, Message, Reached, Refused};
use crate::link::{unreachable_server, Link, LinkPlan, NO_SERVER};
use crate::wire::{Reader, Writer};
use crate::EventSender;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::TablePlan;

const GONE: &str =
    "the load server is gone; what it acknowledged is stored, and the same command goes on from there";

/// Chunks go out here, acknowledgements come in on a thread of its own.
pub struct Wire {
    out: Arc<Mutex<BufWriter<Writer>>>,
    pub reached: HashMap<u32, Reached>,
    sent: u64,
    heard: Arc<Heard>,
    ears: Option<thread::JoinHandle<()>>,
    link: LinkPlan,
}

#[derive(Default)]
struct Heard {
    state: Mutex<State>,
    changed: Condvar,
    /// Each chunk that has no answer yet.
    under_way: Mutex<HashMap<(u32, u64), UnderWay>>,
}

#[derive(Default)]
struct State {
    /// Chunks that were acknowledged or refused.
    answered: u64,
    refused: Vec<Refused>,
    failure: Option<String>,
}

impl Wire {
    pub fn connect(shared: &Arc<Shared>, table: &TablePlan) -> Result<Wire, Error> {
        let plan = &shared.plan;
        let mut link = plan.link.connect()?;
        let open = Message::Open {
            import: plan.import.clone(),
            columns: table.columns.iter().map(|c| c.name.clone()).collect(),
            setup: plan.setup.clone(),
        };
        let Message::Welcome { reached } = link.ask(&plan.link, &open)? else {
            return Err(plan.link.refused(NO_SERVER.into()));
        };
        let Link { mut reader, out } = link;
        let limit = Duration::from_nanos(plan.silence_ns);
        reader.get_ref().set_limit(Some(limit)).map_err(|e| unreachable_server(&plan.link.server, &e))?;
        let out = Arc::new(Mutex::new(out));
        let heard = Arc::new(Heard::default());
        let (listening, stored, mouth) = (heard.clone(), shared.clone(), out.clone());
        let ears = thread::Builder::new()
            .name("ears".into())
            .spawn(move || {
                listen(&mut reader, &mouth, &listening, &stored);
                // Wakes the sender if it still sends to a load server that has stopped answering.
                reader.get_ref().shutdown();
            })
            .map_err(|e| Error::io("starting a thread", e))?;
        let reached = reached.into_iter().map(|r| (r.file, r)).collect();
        Ok(Wire { out, reached, sent: 0, heard, ears: Some(ears), link: plan.link.clone() })
    }

    pub fn send(&mut self, body: &[u8], chunk: UnderWay) -> Result<(), Error> {
        self.sent += 1;
        let head = chunk.head.clone();
        self.heard.under_way.lock().unpoisoned().insert((head.file, head.chunk), chunk);
        let sent = frame::send_chunk(&mut *self.out.lock().unpoisoned(), &head, body);
        sent.map_err(|e| self.why(&e))
    }

    /// Chunks with rows that a server refused since this was asked last: they are to be sent without them.
    pub fn refused(&self) -> Vec<(UnderWay, Refused)> {
        let refused = std::mem::take(&mut self.heard.state.lock().unpoisoned().refused);
        let mut under_way = self.heard.under_way.lock().unpoisoned();
        let with_chunk = |r: Refused| under_way.remove(&(r.file, r.chunk)).map(|chunk| (chunk, r));
        refused.into_iter().filter_map(with_chunk).collect()
    }

    /// Waits until all that was sent is stored, or rows of it are refused. Gives whether it is stored.
    pub fn stored(&self, event_sender: &EventSender) -> Result<bool, Error> {
        let heard = self.heard.clone();
        let mut state = heard.state.lock().unpoisoned();
        while state.answered < self.sent {
            if !state.refused.is_empty() {
                return Ok(false);
            }
            if let Some(message) = state.failure.take() {
                return Err(self.link.refused(message));
            }
            if event_sender.stopped() {
                return Err(Error::Interrupted);
            }
            let waited = heard.changed.wait_timeout(state, Duration::from_millis(50));
            state = waited.unpoisoned().0;
        }
        Ok(state.refused.is_empty())
    }

    /// Says goodbye, once all that was sent is stored.
    pub fn finish(self) {
        // The server may be gone already: everything is stored, and it knew.
        let _ = frame::send_message(&mut *self.out.lock().unpoisoned(), &Message::End);
    }

    /// A server that gives up says why before it closes: that comes before the broken pipe.
    fn why(&self, e: &io::Error) -> Error {
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut state = self.heard.state.lock().unpoisoned();
        while state.failure.is_none() && Instant::now() < deadline {
            let waited = self.heard.changed.wait_timeout(state, Duration::from_millis(50));
            state = waited.unpoisoned().0;
        }
        match state.failure.take() {
            Some(message) => self.link.refused(message),
            None => unreachable_server(&self.link.server, e),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // Ends the listening thread, whatever it waits for.
        self.out.lock().unpoisoned().get_ref().shutdown();
        if let Some(ears) = self.ears.take() {
            let _ = ears.join();
        }
    }
}

fn listen(from: &mut BufReader<Reader>, mouth: &Mutex<BufWriter<Writer>>, heard: &Heard, shared: &Shared) {
    loop {
        let mut rows = Vec::new();
        let (acks, failed): (Vec<Ack>, Option<String>) = match frame::receive(from) {
            Ok(Some(Frame::Message(Message::Acked { acks }))) => (acks, None),
            Ok(Some(Frame::Message(Message::Refused { refused }))) => {
                rows = refused;
                (Vec::new(), None)
            }
            Ok(Some(Frame::Message(Message::Alive))) => {
                // Where chunks are on their way they say it; to wait for them here would be to stop listening.
                if let Some(mut out) = mouth.try_lock().ok().filter(|out| out.get_ref().has_room()) {
                    let _ = frame::send_message(&mut *out, &Message::Alive);
                }
                continue;
            }
            Ok(Some(Frame::Message(Message::Failed { message }))) => (Vec::new(), Some(message)),
            Ok(Some(_)) => (Vec::new(), Some("it said what only a client says".into())),
            Ok(None) => (Vec::new(), Some(GONE.into())),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                let limit_s = shared.plan.silence_ns as f64 / 1e9;
                (Vec::new(), Some(format!("{GONE} (no word for {limit_s} s)")))
            }
            Err(e) => (Vec::new(), Some(format!("{GONE} ({e})"))),
        };
        acks.iter().for_each(|ack| count(ack, &mut heard.under_way.lock().unpoisoned(), shared));
        let mut state = heard.state.lock().unpoisoned();
        state.answered += (acks.len() + rows.len()) as u64;
        state.refused.append(&mut rows);
        let ended = failed.is_some();
        state.failure = failed.or(state.failure.take());
        heard.changed.notify_all();
        if ended {
            return;
        }
    }
}

/// Rows of an acknowledged chunk: ours, or of others; the bytes behind them in the same parts.
fn count(ack: &Ack, under_way: &mut HashMap<(u32, u64), UnderWay>, shared: &Shared) {
    let chunk = under_way.remove(&(ack.file, ack.chunk));
    let bytes = chunk.as_ref().map_or(0, |chunk| chunk.bytes);
    if let Some(chunk) = &chunk {
        shared.add_sums(&chunk.head.sums);
    }
    let of_others = ack.of_others.min(ack.rows);
    shared.rows_stored.fetch_add(ack.rows - of_others, Relaxed);
    shared.rows_of_others.fetch_add(of_others, Relaxed);
    if of_others > 0 {
        let share = of_others as f64 / ack.rows as f64;
        shared.bytes_of_others.fetch_add((bytes as f64 * share).round() as u64, Relaxed);
    }
}
