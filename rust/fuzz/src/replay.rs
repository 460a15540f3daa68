//! A server that was captured: its bytes in pieces, then the end of the connection. What it is sent is dropped.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::OnceLock;

use super::mutate::Random;

#[derive(Debug)]
pub struct Replay {
    bytes: Vec<u8>,
    at: usize,
    /// Longest pieces, taken in turn.
    pieces: [usize; 4],
    reads: usize,
}

impl Replay {
    pub fn whole(bytes: Vec<u8>) -> Replay {
        Replay { bytes, at: 0, pieces: [usize::MAX; 4], reads: 0 }
    }

    /// As segments of a network come: all at once, or cut anywhere.
    pub fn in_pieces(bytes: Vec<u8>, random: &mut Random) -> Replay {
        let most = [usize::MAX, usize::MAX, 1448, 16][random.below(4)];
        let pieces = [(); 4].map(|()| if most == usize::MAX { most } else { 1 + random.below(most) });
        Replay { bytes, at: 0, pieces, reads: 0 }
    }

    /// For readers that wait for bytes: they are always there, or the end is.
    pub fn fd() -> RawFd {
        static ALWAYS_READABLE: OnceLock<File> = OnceLock::new();
        ALWAYS_READABLE.get_or_init(|| File::open("/dev/null").expect("every machine has it")).as_raw_fd()
    }
}

impl Read for Replay {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let bytes = rest.len().min(room.len()).min(self.pieces[self.reads % 4]);
        room[..bytes].copy_from_slice(&rest[..bytes]);
        self.at += bytes;
        self.reads += 1;
        Ok(bytes)
    }
}

/// The port of a server that says this to each connection, and reads nothing.
pub fn stalled(says: &'static [u8]) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        while let Ok((mut socket, _)) = listener.accept() {
            socket.write_all(says).expect("it fits into the buffers");
            open.push(socket);
        }
    });
    port
}

/// The port of a server that says `first` to each connection, `then` once it was asked so, and nothing more.
pub fn stops(first: &'static [u8], asked: &'static [u8], then: &'static [u8]) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let serve = move |mut socket: std::net::TcpStream| -> io::Result<()> {
        let (mut requests, mut room) = (Vec::new(), [0; 4096]);
        socket.write_all(first)?;
        while !requests.windows(asked.len()).any(|found| found == asked) {
            match socket.read(&mut room)? {
                0 => return Ok(()),
                bytes => requests.extend_from_slice(&room[..bytes]),
            }
        }
        socket.write_all(then)?;
        while socket.read(&mut room)? > 0 {}
        Ok(())
    };
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            std::thread::spawn(move || drop(serve(socket)));
        }
    });
    port
}

/// More than the buffers of both ends take.
pub fn more_than_buffers() -> Vec<u8> {
    vec![0; 64 << 20]
}
