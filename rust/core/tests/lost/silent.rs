//! A server that speaks as much PostgreSQL as it takes to hang: it lets sessions log in and prepare, and then is silent.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Silent {
    /// To all but the first connection, which is the one that the engine itself makes.
    AtLogin,
    /// To calls of the session's first statement (`q0`); others are answered at once.
    AtFirstStatement,
    /// Not silent: it cuts the connection at the first statement.
    Cuts,
}

pub struct Server {
    pub url: String,
    /// Connections that asked to cancel a call; none is answered.
    pub cancels: Arc<AtomicUsize>,
}

impl Server {
    pub fn start(silent: Silent) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("postgresql://me@{}/db?sslmode=disable", listener.local_addr().expect("bound"));
        let cancels = Arc::new(AtomicUsize::new(0));
        let seen = cancels.clone();
        // For as long as the process of the test: what ends a connection is the client.
        std::thread::spawn(move || {
            for (number, socket) in listener.incoming().flatten().enumerate() {
                let seen = seen.clone();
                let served = if number == 0 { Silent::AtFirstStatement } else { silent };
                let serve = move || drop(serve(socket, served, &seen));
                std::thread::Builder::new().stack_size(128 << 10).spawn(serve).expect("a thread");
            }
        });
        Server { url, cancels }
    }

    /// Cuts its second connection, which is the first session's, and answers no login from then on.
    pub fn losing() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("postgresql://me@{}/db?sslmode=disable", listener.local_addr().expect("bound"));
        let cancels = Arc::new(AtomicUsize::new(0));
        let seen = cancels.clone();
        std::thread::spawn(move || {
            for (number, socket) in listener.incoming().flatten().enumerate() {
                let served =
                    *[Silent::AtFirstStatement, Silent::Cuts].get(number).unwrap_or(&Silent::AtLogin);
                let seen = seen.clone();
                std::thread::spawn(move || drop(serve(socket, served, &seen)));
            }
        });
        Server { url, cancels }
    }

    /// Takes one connection. Those that the kernel keeps for it are never answered, further ones not even by the kernel.
    pub fn taking_one() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("postgresql://me@{}/db?sslmode=disable", listener.local_addr().expect("bound"));
        let cancels = Arc::new(AtomicUsize::new(0));
        let seen = cancels.clone();
        std::thread::spawn(move || {
            let (socket, _) = listener.accept().expect("one");
            let _ = serve(socket, Silent::AtFirstStatement, &seen);
            // Open for as long as the test.
            std::mem::forget(listener);
        });
        Server { url, cancels }
    }
}

const CANCEL: u32 = 80_877_102;

fn serve(mut socket: TcpStream, silent: Silent, cancels: &AtomicUsize) -> io::Result<()> {
    let startup = body(&mut socket)?;
    if startup[..4] == CANCEL.to_be_bytes() {
        cancels.fetch_add(1, SeqCst);
        return wait_for_end(socket);
    }
    if silent == Silent::AtLogin {
        return wait_for_end(socket);
    }
    // Welcome, the key of a cancel request, ready.
    socket.write_all(b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I")?;
    loop {
        let mut tag = [0];
        socket.read_exact(&mut tag)?;
        let body = body(&mut socket)?;
        match tag[0] {
            b'P' => socket.write_all(b"1\0\0\0\x04")?,
            b'D' => socket.write_all(b"t\0\0\0\x06\0\0n\0\0\0\x04")?,
            // Portal and statement, each ended by a zero.
            b'B' if body.starts_with(b"\0q0\0") && silent == Silent::Cuts => return Ok(()),
            b'B' if body.starts_with(b"\0q0\0") => return wait_for_end(socket),
            b'B' => socket.write_all(b"2\0\0\0\x04")?,
            b'E' => socket.write_all(b"C\0\0\0\x0dSELECT 0\0")?,
            b'Q' => return wait_for_end(socket),
            b'S' => socket.write_all(b"Z\0\0\0\x05I")?,
            _ => return Ok(()),
        }
    }
}

fn body(socket: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    socket.read_exact(&mut body)?;
    Ok(body)
}

fn wait_for_end(mut socket: TcpStream) -> io::Result<()> {
    while socket.read(&mut [0; 4096])? > 0 {}
    Ok(())
}
