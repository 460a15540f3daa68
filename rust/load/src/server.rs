//! The load server: clients come in by the door, and each belongs to one of its imports.
//!
//! A connection is unauthenticated until it has shown the token. It gets a thread, 4 KiB and a few seconds. When too many
//! wait, the oldest one is closed.

mod door;
mod imports;

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use serde::Deserialize;
use serde_json::{json, Value as Json};

use super::frame::{self, Frame, Message};
use super::import::Import;
use super::plan::ImportPlan;
use super::readback::{self, ScanPlan};
use super::tls::{self, ServerTls};
use super::wire::{Reader, Writer};
use super::{broken, EventSender, PROGRESS_EVERY};
use inrush_engines::engine::control::control;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::Target;

use imports::{Entry, Guest};

/// How long the listening socket is waited for at a time.
const ACCEPT: Duration = Duration::from_millis(20);
/// Unauthenticated connections at once.
const UNAUTHENTICATED_MOST: usize = 64;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    /// `127.0.0.1:0` takes a free port.
    pub listen: String,
    /// What a client must know.
    pub token: String,
    pub tls: Option<ServerTls>,
    /// The one import that this server is there for.
    pub load: Option<ImportPlan>,
    /// Instead: where clients may store what they open imports for.
    pub serves: Option<Serves>,
    /// Threads that place the rows of an import on its shards; 0: the thread of each connection places its own.
    #[serde(default)]
    pub hash_threads: u32,
}

/// Targets of a server that waits for clients, with passwords in its own environment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serves {
    pub shards: Vec<Target>,
    pub coordinator: Option<Target>,
}

struct Server {
    token: String,
    hash_threads: u32,
    tls: Option<Arc<ServerConfig>>,
    serves: Option<Serves>,
    imports: Mutex<HashMap<String, Entry>>,
    changed: Condvar,
    /// All connections, to be closed at the end.
    open: Mutex<HashMap<u64, TcpStream>>,
    unauthenticated: Mutex<VecDeque<(u64, TcpStream)>>,
    turned_away: AtomicU64,
    event_sender: EventSender,
}

/// Until asked to stop; then what was acknowledged is stored, and the last event says how much.
pub fn run(plan: ServerPlan, event_sender: &EventSender) -> Result<Json, Error> {
    let listener =
        TcpListener::bind(&plan.listen).map_err(|e| Error::io(format!("listening on {}", plan.listen), e))?;
    listener.set_nonblocking(true).map_err(|e| Error::io("listening", e))?;
    let address = listener.local_addr().map_err(|e| Error::io("listening", e))?;
    let began = Instant::now();
    let hash_threads = plan.hash_threads;
    let own = plan.load.map(|load| Import::open(load, hash_threads, event_sender)).transpose()?;
    let server = Arc::new(Server {
        token: plan.token,
        hash_threads,
        tls: plan.tls.as_ref().map(tls::server_config).transpose()?,
        serves: plan.serves,
        imports: Mutex::new(HashMap::new()),
        changed: Condvar::new(),
        open: Mutex::new(HashMap::new()),
        unauthenticated: Mutex::new(VecDeque::new()),
        turned_away: AtomicU64::new(0),
        event_sender: event_sender.clone(),
    });
    if let Some(import) = &own {
        // One guest more than there are: it stays until the end.
        server
            .imports
            .lock()
            .unpoisoned()
            .insert(import.placer.plan.import.clone(), Entry::Open { import: import.clone(), guests: 1 });
    }
    let (resumed_files, resumed_rows) = own.as_ref().map_or((0, 0), |i| (i.resumed_files, i.resumed_rows));
    event_sender.send(json!({
        "event": "listening", "address": address.to_string(), "resumed_files": resumed_files, "resumed_rows": resumed_rows,
    }));
    let says = |event: &str| {
        let mut said = own.as_ref().map_or_else(|| json!({}), |import| import.says());
        said["event"] = event.into();
        said["seconds"] = began.elapsed().as_secs_f64().into();
        said["turned_away"] = server.turned_away.load(Relaxed).into();
        said
    };
    for guest in server.accept(&listener, &says)? {
        guest.join().map_err(|_| broken())?;
    }
    own.as_ref().map_or(Ok(()), |import| import.close())?;
    Ok(says("finished"))
}

impl Server {
    fn accept(
        self: &Arc<Server>,
        listener: &TcpListener,
        says: &dyn Fn(&str) -> Json,
    ) -> Result<Vec<JoinHandle<()>>, Error> {
        let mut last = Instant::now();
        let mut guests: Vec<JoinHandle<()>> = Vec::new();
        let mut number = 0;
        while !self.event_sender.stopped() {
            wait_for_guest(listener);
            match listener.accept() {
                Ok((stream, peer)) => {
                    number += 1;
                    let (server, number) = (self.clone(), number);
                    let message = move || server.message(stream, peer, number);
                    match thread::Builder::new().name("client".into()).spawn(message) {
                        Ok(guest) => guests.push(guest),
                        // Too many threads: this connection is closed, and others end soon.
                        Err(_) => drop(self.turned_away.fetch_add(1, Relaxed)),
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                // Too many files, or a client that has gone before it was let in: neither ends a server.
                Err(_) => thread::sleep(ACCEPT),
            }
            if last.elapsed() >= PROGRESS_EVERY {
                last = Instant::now();
                guests.retain(|guest| !guest.is_finished());
                self.event_sender.send(says("progress"));
            }
        }
        // Clients that are still there would keep their threads reading for ever.
        self.open.lock().unpoisoned().values().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        Ok(guests)
    }

    /// One client from its first word to its last.
    fn message(self: &Arc<Server>, stream: TcpStream, peer: SocketAddr, number: u64) {
        let known = self.let_in(&stream, number);
        self.unauthenticated.lock().unpoisoned().retain(|(of, _)| *of != number);
        let ended = match known {
            Err(_) if !self.open.lock().unpoisoned().contains_key(&number) => Ok(()),
            Err(why) => {
                // Unauthenticated connections are counted and not listed: a client that sends garbage all day would
                // fill the log.
                if self.turned_away.fetch_add(1, Relaxed) < UNAUTHENTICATED_MOST as u64 {
                    self.event_sender
                        .send(json!({"event": "note", "text": format!("{peer} was turned away: {why}")}));
                }
                Ok(())
            }
            Ok((reader, out)) => self.listen(BufReader::with_capacity(1 << 18, reader), out),
        };
        self.open.lock().unpoisoned().remove(&number);
        let _ = stream.shutdown(Shutdown::Both);
        if let Err(e) = ended {
            self.event_sender.send(json!({"event": "note", "text": format!("client {peer}: {e}")}));
        }
    }

    /// Answers an authenticated client, until it opens an import or leaves.
    fn listen(&self, mut reader: BufReader<Reader>, mut out: Writer) -> io::Result<()> {
        loop {
            let answer = match frame::receive(&mut reader)? {
                Some(Frame::Message(Message::Targets)) => self.targets(),
                Some(Frame::Message(Message::Ask { shard, statement, limit_ns })) => {
                    self.ask(shard, &statement, limit_ns)
                }
                Some(Frame::Message(Message::Scan { shard, scan })) => self.scan(shard, scan),
                Some(Frame::Message(Message::Open { import, columns, setup })) => {
                    match self.join(&import, setup) {
                        Ok(joined) => {
                            let _guest = Guest { server: self, import: &import };
                            return joined.serve(&columns, &mut reader, out);
                        }
                        Err(message) => Err(message),
                    }
                }
                Some(Frame::Message(Message::End)) | None => return Ok(()),
                Some(_) => return Err(io::Error::other("it sent a message out of turn")),
            };
            let failed = |message| Message::Failed { message };
            frame::send_message(&mut out, &answer.unwrap_or_else(failed))?;
        }
    }

    fn targets(&self) -> Result<Message, String> {
        let serves = self.serves.as_ref().ok_or(NOT_OPEN)?;
        let engine = serves.shards.first().map(|t| t.engine.clone()).unwrap_or_default();
        let urls = serves.shards.iter().map(|t| t.url.clone()).collect();
        Ok(Message::Serves {
            engine,
            shards: urls,
            coordinator: serves.coordinator.as_ref().map(|t| t.url.clone()),
        })
    }

    fn ask(&self, shard: Option<usize>, statement: &str, limit_ns: u64) -> Result<Message, String> {
        let serves = self.serves.as_ref().ok_or(NOT_OPEN)?;
        let target = match shard {
            Some(k) => serves.shards.get(k),
            None => serves.coordinator.as_ref(),
        };
        let target = target.ok_or("the load server has no such shard, or no coordinator")?;
        let answer = control(target.clone(), statement.into(), limit_ns).map_err(|e| e.to_string())?;
        let mut answer: Json = serde_json::from_str(&answer).map_err(|e| e.to_string())?;
        Ok(Message::Answer { rows: answer["rows"].take() })
    }

    /// A client's scan of this server's own target, whatever it calls it.
    fn scan(&self, shard: usize, mut scan: Json) -> Result<Message, String> {
        let serves = self.serves.as_ref().ok_or(NOT_OPEN)?;
        let target = serves.shards.get(shard).ok_or("the load server has no such shard")?;
        // The client's own target has no password; ours takes its place.
        let plan = ScanPlan::at(target, &mut scan).map_err(|e| e.to_string())?;
        let rows = readback::table(plan, self.event_sender.stop.clone()).map_err(|e| e.to_string())?;
        Ok(Message::Answer { rows })
    }
}

/// Waits for a connection, for a while.
fn wait_for_guest(listener: &TcpListener) {
    let mut poll = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd, alive during the call. Whatever ends the wait, `accept` says whether there is a connection.
    unsafe { libc::poll(&mut poll, 1, ACCEPT.as_millis() as libc::c_int) };
}

const NOT_OPEN: &str = "this load server is there for one import; `inrush load-server` waits for others";
