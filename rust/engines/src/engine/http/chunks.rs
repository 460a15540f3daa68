//! A body that is sent while it is made: in chunks, because its length is not known when its first bytes leave.

use std::io::{IoSlice, Write};
use std::time::Instant;

use super::{Client, HttpError};

impl Client {
    /// Begins a request with a body in chunks; its head leaves with the first of them. Connects as `send` does. The
    /// limit of sends counts from here to the end of the body.
    pub fn begin(&mut self, method: &str, path: &str) -> Result<(), HttpError> {
        self.ready()?;
        self.outbox.clear();
        write!(self.outbox, "{method} {path} HTTP/1.1\r\n{}Transfer-Encoding: chunked\r\n\r\n", self.headers)
            .expect("a vector takes what is written");
        self.body_until = self.send_limit.map(|limit| Instant::now() + limit);
        self.keep = false; // until the answer says otherwise
        Ok(())
    }

    /// Sends `bytes` behind what was sent before; `is_last` ends the body with them. False: the server has answered and
    /// reads no more, and its answer is to be received.
    pub fn chunk(&mut self, bytes: &[u8], is_last: bool) -> Result<bool, HttpError> {
        let end: &[u8] = match (bytes.is_empty(), is_last) {
            // A chunk of no bytes would be the end.
            (true, false) => return Ok(true),
            (true, true) => b"0\r\n\r\n",
            (false, false) => b"\r\n",
            (false, true) => b"\r\n0\r\n\r\n",
        };
        if !bytes.is_empty() {
            write!(self.outbox, "{:x}\r\n", bytes.len()).expect("a vector takes what is written");
        }
        let Some(connection) = &mut self.connection else {
            return Err(HttpError::Lost(std::io::ErrorKind::NotConnected.into()));
        };
        let mut parts = [IoSlice::new(&self.outbox), IoSlice::new(bytes), IoSlice::new(end)];
        let sent = connection.write(&mut parts, self.body_until);
        self.outbox.clear();
        self.sent(sent)
    }
}
