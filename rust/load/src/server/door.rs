//! Who may come in: a client shows the token, within seconds and among few others.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use rustls::ServerConnection;

use super::{Server, UNAUTHENTICATED_MOST};
use crate::frame::{self, Message};
use crate::wire::{self, wait_until, Reader, Until, Writer, SILENCE};
use inrush_rows::lock::Unpoisoned;

/// How long a connection may take to show the token.
const HELLO: Duration = Duration::from_secs(5);

impl Server {
    /// Both halves of the connection, once its client has shown the token.
    pub(super) fn let_in(&self, stream: &TcpStream, number: u64) -> io::Result<(Reader, Writer)> {
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
}

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
