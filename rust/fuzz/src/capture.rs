//! Captures of real servers: a proxy that keeps what the server sends.
//!
//! `INRUSH_POSTGRESQL_URL=… cargo test -p inrush-engines capture -- --ignored` makes those of an engine anew: the tests
//! named `capture_…` beside each decoder, which hold the conversation that the replay then has with the file.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;

/// The port of a proxy to `host:port` for one connection, and what the server has sent when that has ended.
pub fn recorded(host: &str, port: u16) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = listener.local_addr().expect("its number").port();
    let server = (host.to_owned(), port);
    let proxy = std::thread::spawn(move || {
        let client = listener.accept().expect("a client").0;
        let server = TcpStream::connect((server.0.as_str(), server.1)).expect("a server");
        let (from, mut to) = (client.try_clone().expect("a clone"), server.try_clone().expect("a clone"));
        let sent = std::thread::spawn(move || {
            let _ = std::io::copy(&mut &from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        let (mut kept, mut room) = (Vec::new(), [0; 64 << 10]);
        while let Ok(bytes @ 1..) = (&server).read(&mut room) {
            kept.extend_from_slice(&room[..bytes]);
            if (&client).write_all(&room[..bytes]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        sent.join().expect("it only copies");
        kept
    });
    (own, proxy)
}

/// Writes a capture to `rust/engines/tests/captures`.
pub fn save(name: &str, bytes: &[u8]) {
    let path = Path::new("../engines/tests/captures").join(name);
    std::fs::write(&path, bytes).expect("the folder is there");
    eprintln!("{}: {} bytes", path.display(), bytes.len());
}
