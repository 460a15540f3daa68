//! The load server: which clients may connect, and to which import each of them belongs.
//!
//! A connection is unauthenticated until it has shown the token. It gets a thread, 4 KiB and a few seconds. When too many
//! wait, the oldest one is closed.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection};
use serde::Deserialize;
use serde_json::{json, Value as Json};

use super::frame::{self, Frame, Message};
use super::import::Import;
use super::plan::ImportPlan;
use super::readback::{self, ScanPlan};
use super::tls::{self, ServerTls};
use super::wire::{self, wait_until, Reader, Until, Writer, SILENCE};
use super::{broken, EventSender, PROGRESS_EVERY};
use inrush_engines::engine::control::control;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::Target;

/// How long the listening socket is waited for at a time.
const ACCEPT: Duration = Duration::from_millis(20);
/// How long a connection may take to show the token.
const HELLO: Duration = Duration::from_secs(5);
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

enum Entry {
    /// Being connected, or stored to its end: a client that wants it waits.
    Busy,
    Open {
        import: Arc<Import>,
        guests: usize,
    },
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
        server.imports.lock().unpoisoned()
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

    /// Both halves of the connection, once its client has shown the token.
    fn let_in(&self, stream: &TcpStream, number: u64) -> io::Result<(Reader, Writer)> {
        let until = Instant::now() + HELLO;
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(HELLO))?;
        self.open.lock().unpoisoned().insert(number, stream.try_clone()?);
        self.make_room(number, stream.try_clone()?);
        let mut first = [0u8];
        wait_until(stream, until)?;
        if stream.peek(&mut first)? == 0 {
            return Err(io::Error::other("it said nothing"));
        }
        let (mut reader, mut out) = match &self.tls {
            None => wire::plain(stream)?,
            Some(_) if frame::is_message(first[0]) => {
                let message = "the load server speaks TLS only: give --ca FILE or --fingerprint SHA256";
                frame::send_message(
                    &mut wire::plain(stream)?.1,
                    &Message::Failed { message: message.into() },
                )?;
                return Err(io::Error::other("it speaks without TLS"));
            }
            Some(config) => {
                let session = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
                wire::secure(stream, session.into(), until)?
            }
        };
        let said = frame::receive_hello(&mut Until { reader: &mut reader, until })?;
        let wrong_token = "the token is not the load server's; give the one that it was started with";
        let refused = match said {
            Ok(token) if equal_secrets(&token, &self.token) => None,
            Ok(_) => Some(wrong_token.to_owned()),
            Err(message) => Some(message),
        };
        if let Some(message) = refused {
            frame::send_message(&mut out, &Message::Failed { message: message.clone() })?;
            drain(&mut Until { reader: &mut reader, until });
            return Err(io::Error::other(message));
        }
        // Someone known is waited for longer; that he is still there he says himself.
        reader.set_limit(Some(SILENCE * 2))?;
        stream.set_write_timeout(Some(SILENCE * 2))?;
        Ok((reader, out))
    }

    /// The oldest unauthenticated connections are closed when there are too many.
    fn make_room(&self, number: u64, stream: TcpStream) {
        let mut unauthenticated = self.unauthenticated.lock().unpoisoned();
        unauthenticated.push_back((number, stream));
        while unauthenticated.len() > UNAUTHENTICATED_MOST {
            if let Some((_, oldest)) = unauthenticated.pop_front() {
                let _ = oldest.shutdown(Shutdown::Both);
            }
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

    /// The import of that name, opened if `setup` describes it. `Err` in words for the client.
    fn join(&self, name: &str, setup: Option<Json>) -> Result<Arc<Import>, String> {
        let plan = setup.map(|setup| self.plan_of(name, setup)).transpose()?;
        let mut imports = self.imports.lock().unpoisoned();
        loop {
            match (imports.get_mut(name), &plan) {
                (Some(Entry::Open { import, .. }), Some(plan)) if import.placer.plan != *plan => {
                    return Err(format!(
                        "import {name} is being loaded with other options; wait for its end"
                    ));
                }
                (Some(Entry::Open { import, guests }), _) => {
                    *guests += 1;
                    return Ok(import.clone());
                }
                (Some(Entry::Busy), _) => {
                    let waited = self.changed.wait_timeout(imports, Duration::from_millis(100));
                    imports = waited.unpoisoned().0;
                    if self.event_sender.stopped() {
                        return Err("the load server is being stopped".into());
                    }
                }
                (None, None) => {
                    let own: Vec<&str> = imports.keys().map(String::as_str).collect();
                    return Err(format!(
                        "the client loads import {name}, the load server {}",
                        own.join(", ")
                    ));
                }
                (None, Some(plan)) => {
                    imports.insert(name.to_owned(), Entry::Busy);
                    drop(imports);
                    let mut becomes = Becomes { server: self, name, entry: None };
                    let opened = Import::open(plan.clone(), self.hash_threads, &self.event_sender);
                    let import = opened.map_err(|e| e.to_string())?;
                    becomes.entry = Some(Entry::Open { import: import.clone(), guests: 1 });
                    return Ok(import);
                }
            }
        }
    }

    /// A client's import on this server's own targets, whatever it calls them.
    fn plan_of(&self, name: &str, setup: Json) -> Result<ImportPlan, String> {
        let serves = self.serves.as_ref().ok_or(NOT_OPEN)?;
        let mut plan: ImportPlan =
            serde_json::from_value(setup).map_err(|e| format!("the client's import cannot be read: {e}"))?;
        if plan.import != name || plan.shards.len() != serves.shards.len() {
            let (theirs, ours) = (plan.shards.len(), serves.shards.len());
            return Err(format!("the client places rows on {theirs} shards, the load server has {ours}"));
        }
        for (shard, target) in plan.shards.iter_mut().zip(&serves.shards) {
            shard.plan.target = target.clone();
        }
        // A copy is on the shard after its own, those of the last on the first.
        for (copy, target) in plan.replicas.iter_mut().zip(serves.shards.iter().cycle().skip(1)) {
            copy.plan.target = target.clone();
        }
        Ok(plan)
    }

    /// The last client to leave waits until its rows are stored; a client that comes meanwhile begins after that.
    fn leave(&self, name: &str) {
        let mut imports = self.imports.lock().unpoisoned();
        let Some(Entry::Open { import, guests }) = imports.get_mut(name) else { return };
        *guests -= 1;
        if *guests > 0 {
            return;
        }
        let import = import.clone();
        imports.insert(name.to_owned(), Entry::Busy);
        drop(imports);
        let _becomes = Becomes { server: self, name, entry: None };
        if let Err(e) = import.close() {
            self.event_sender.send(json!({"event": "note", "text": format!("import {name}: {e}")}));
        }
    }
}

/// A client of an import: it leaves also where its thread broke an assumption, for others would wait for it for ever.
struct Guest<'a> {
    server: &'a Server,
    import: &'a str,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.server.leave(self.import);
    }
}

/// What an import becomes that is busy, being opened or closed: none, however that ended, unless it is open.
struct Becomes<'a> {
    server: &'a Server,
    name: &'a str,
    entry: Option<Entry>,
}

impl Drop for Becomes<'_> {
    fn drop(&mut self) {
        let mut imports = self.server.imports.lock().unpoisoned();
        match self.entry.take() {
            Some(entry) => imports.insert(self.name.to_owned(), entry),
            None => imports.remove(self.name),
        };
        self.server.changed.notify_all();
    }
}

/// Waits for a connection, for a while.
fn wait_for_guest(listener: &TcpListener) {
    let mut poll = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd, alive during the call. Whatever ends the wait, `accept` says whether there is a connection.
    unsafe { libc::poll(&mut poll, 1, ACCEPT.as_millis() as libc::c_int) };
}

const NOT_OPEN: &str = "this load server is there for one import; `inrush load-server` waits for others";

/// What a refused client has sent already: closing on it would reset the connection, and the reason with it.
fn drain(from: &mut impl io::Read) {
    let mut rest = [0u8; 4096];
    for _ in 0..64 {
        if !matches!(from.read(&mut rest), Ok(1..)) {
            return;
        }
    }
}

/// In a time that does not report how much of it was right.
fn equal_secrets(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}
