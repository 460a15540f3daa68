//! A server that speaks as much of ClickHouse's HTTP as it takes to store batches: what it was sent, and when it began.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// What the server does with the body of an INSERT.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Store,
    /// Closes the connection of the first INSERT within its body.
    Leave,
    /// Says that the table is missing as soon as the first INSERT begins, and closes the connection.
    Refuse,
    /// Says that all is stored as soon as the first INSERT begins, and closes the connection.
    Lie,
}

/// Of one INSERT that was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    pub hash: u64,
    pub bytes: u64,
    pub in_chunks: bool,
}

pub struct Server {
    pub url: String,
    pub bodies: Arc<Mutex<Vec<Body>>>,
}

/// A hash of bytes in their order, however they are cut.
#[derive(Default, Clone, Copy)]
pub struct Hash(pub u64);

impl Hash {
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }
}

impl Server {
    pub fn start(deed: Deed) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("clickhouse://me@{}/", listener.local_addr().expect("bound"));
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let (stored, inserts) = (bodies.clone(), Arc::new(AtomicU64::new(0)));
        // For as long as the process of the test: what ends a connection is the client.
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (stored, inserts) = (stored.clone(), inserts.clone());
                std::thread::spawn(move || drop(serve(socket, deed, &stored, &inserts)));
            }
        });
        Server { url, bodies }
    }
}

fn serve(socket: TcpStream, deed: Deed, stored: &Mutex<Vec<Body>>, inserts: &AtomicU64) -> io::Result<()> {
    let mut answers = socket.try_clone()?;
    let mut asked = BufReader::with_capacity(64 << 10, socket);
    loop {
        let (mut length, mut in_chunks, mut is_insert) = (0, false, false);
        loop {
            let mut line = String::new();
            if asked.read_line(&mut line)? == 0 {
                return Ok(());
            }
            is_insert |= line.contains("query=INSERT");
            in_chunks |= line.starts_with("Transfer-Encoding: chunked");
            if let Some(bytes) = line.strip_prefix("Content-Length: ") {
                length = bytes.trim().parse().expect("a number");
            }
            if line == "\r\n" {
                break;
            }
        }
        let first = is_insert && inserts.fetch_add(1, SeqCst) == 0;
        if first && deed == Deed::Leave {
            asked.read_exact(&mut [0; 1000])?;
            return Ok(());
        }
        if first && deed != Deed::Store {
            asked.read_exact(&mut [0; 1000])?;
            let said = match deed {
                Deed::Refuse => "404 Not Found\r\nX-ClickHouse-Exception-Code: 60\r\n",
                _ => "200 OK\r\n",
            };
            return write!(answers, "HTTP/1.1 {said}Content-Length: 0\r\nConnection: close\r\n\r\n");
        }
        let (mut hash, mut bytes) = (Hash::default(), 0);
        while in_chunks || length > 0 {
            if in_chunks {
                let mut line = String::new();
                asked.read_line(&mut line)?;
                length = u64::from_str_radix(line.trim(), 16).expect("the size of a chunk");
            }
            bytes += length;
            let is_end = in_chunks && length == 0;
            while length > 0 {
                let there = asked.fill_buf()?;
                let taken = there.len().min(length as usize);
                if taken == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                hash.add(&there[..taken]);
                asked.consume(taken);
                length -= taken as u64;
            }
            if in_chunks {
                asked.read_exact(&mut [0; 2])?;
            }
            if is_end || !in_chunks {
                break;
            }
        }
        if is_insert {
            stored.lock().expect("no panic").push(Body { hash: hash.0, bytes, in_chunks });
        }
        answers.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
}
