//! What comes back: the head of an answer, then its body piece by piece, however the server marks its end.

use std::io;
use std::time::Instant;

use super::{Client, HttpError, INBOX_BYTES};

const HEADERS_MOST: usize = 64;
/// The line with a chunk's size, with whatever a server adds to it.
const CHUNK_LINE_BYTES: usize = 1 << 10;

/// What is still to come of an answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Ended,
    /// So many bytes.
    Length(u64),
    /// So many bytes of this chunk and the line end behind it.
    Chunk(u64),
    /// The next chunk's size; `Trailer`: lines behind the last one.
    ChunkSize,
    Trailer,
    /// Everything until the server hangs up.
    UntilClosed,
}

impl Client {
    /// The status of the answer, once its head is there.
    pub fn receive(&mut self, until: Option<Instant>) -> Result<u16, HttpError> {
        loop {
            if let Some(status) = self.take_head()? {
                if self.is_cut && (200..300).contains(&status) {
                    return Err(
                        self.garbled("the server says that it is done, and had not taken the whole request")
                    );
                }
                if status >= 200 {
                    return Ok(status);
                }
            } else if self.fill(until)? == 0 {
                self.forget();
                return Err(HttpError::Lost(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// Of the last answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// A header of the last answer, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.split(|&byte| byte == b'\n').skip(1);
        let pairs = lines.filter_map(|line| std::str::from_utf8(line).ok()?.split_once(':'));
        let mut values = pairs.filter(|(found, _)| found.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.trim())
    }

    /// The next piece of the answer's body as it came; `None` at its end.
    pub fn piece(&mut self, until: Option<Instant>) -> Result<Option<&[u8]>, HttpError> {
        loop {
            let unread = self.inbox.unread().len();
            match self.body {
                Body::Ended => return Ok(None),
                Body::Length(0) => self.body = Body::Ended,
                Body::Chunk(left) if left <= 2 => {
                    if unread < left as usize {
                        self.fill_body(until)?;
                        continue;
                    }
                    // Of what is behind the chunk's bytes, as much as was not taken yet.
                    if !b"\r\n".ends_with(self.inbox.take(left as usize)) {
                        return Err(self.garbled("a chunk of the answer does not end where its size says"));
                    }
                    self.body = Body::ChunkSize;
                }
                Body::Length(left) if unread > 0 => {
                    let taken = left.min(unread as u64);
                    self.body = Body::Length(left - taken);
                    return Ok(Some(self.inbox.take(taken as usize)));
                }
                // The line end behind the chunk is not handed out.
                Body::Chunk(left) if unread > 0 => {
                    let taken = (left - 2).min(unread as u64);
                    self.body = Body::Chunk(left - taken);
                    return Ok(Some(self.inbox.take(taken as usize)));
                }
                Body::UntilClosed if unread > 0 => return Ok(Some(self.inbox.take(unread))),
                Body::UntilClosed => {
                    if self.fill(until)? == 0 {
                        self.body = Body::Ended;
                    }
                }
                Body::ChunkSize => self.read_chunk_size(until)?,
                Body::Trailer => {
                    let rest = self.inbox.unread();
                    match rest.iter().position(|&byte| byte == b'\n') {
                        Some(at) => {
                            let is_last = rest[..at].is_empty() || rest[..at] == *b"\r";
                            self.inbox.take(at + 1);
                            if is_last {
                                self.body = Body::Ended;
                            }
                        }
                        None => self.fill_body(until)?,
                    }
                }
                Body::Length(_) | Body::Chunk(_) => self.fill_body(until)?,
            }
        }
    }

    /// The line in front of a chunk.
    fn read_chunk_size(&mut self, until: Option<Instant>) -> Result<(), HttpError> {
        match httparse::parse_chunk_size(self.inbox.unread()) {
            Ok(httparse::Status::Complete((used, size))) if used <= CHUNK_LINE_BYTES => {
                self.inbox.take(used);
                self.body = match size.checked_add(2) {
                    _ if size == 0 => Body::Trailer,
                    Some(bytes) => Body::Chunk(bytes),
                    None => return Err(self.garbled("a chunk of the answer has no size")),
                };
                Ok(())
            }
            Ok(httparse::Status::Partial) if self.inbox.unread().len() < CHUNK_LINE_BYTES => {
                self.fill_body(until)
            }
            Ok(_) | Err(_) => Err(self.garbled("a chunk of the answer has no size")),
        }
    }

    /// Appends the rest of the body to `out`.
    pub fn read_all(&mut self, out: &mut Vec<u8>, until: Option<Instant>) -> Result<(), HttpError> {
        while let Some(piece) = self.piece(until)? {
            out.extend_from_slice(piece);
        }
        Ok(())
    }

    /// The status of a head that is there as a whole; remembers it and what its body looks like.
    fn take_head(&mut self) -> Result<Option<u16>, HttpError> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MOST];
        let mut response = httparse::Response::new(&mut headers);
        let used = match response.parse(self.inbox.unread()) {
            Ok(httparse::Status::Complete(used)) => used,
            Ok(httparse::Status::Partial) if self.inbox.unread().len() < INBOX_BYTES => return Ok(None),
            Ok(httparse::Status::Partial) => return Err(self.garbled("the head of the answer has no end")),
            Err(_) => return Err(self.garbled("what answers does not speak HTTP")),
        };
        let status = response.code.expect("a complete head has a status");
        let mut keep = response.version == Some(1);
        let mut body = Body::UntilClosed;
        let mut announced: Option<u64> = None;
        for header in response.headers.iter() {
            let value = header.value.trim_ascii();
            if header.name.eq_ignore_ascii_case("connection") {
                keep = if keep {
                    !value.eq_ignore_ascii_case(b"close")
                } else {
                    value.eq_ignore_ascii_case(b"keep-alive")
                };
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                if value.eq_ignore_ascii_case(b"chunked") {
                    body = Body::ChunkSize;
                }
            } else if header.name.eq_ignore_ascii_case("content-length") {
                match std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()) {
                    Some(length) if announced.is_some_and(|other| other != length) => {
                        return Err(self.garbled("the answer has two lengths"))
                    }
                    Some(length) => announced = Some(length),
                    None => return Err(self.garbled("the answer has a length that is no number")),
                }
            }
        }
        // Where both are there, chunks count. Source: RFC 9112, section 6.3.
        if let Some(length) = announced.filter(|_| body == Body::UntilClosed) {
            body = Body::Length(length);
        }
        if status < 200 || matches!(status, 204 | 304) {
            body = Body::Ended;
        }
        let keep = keep && body != Body::UntilClosed && !self.is_cut;
        (self.status, self.body, self.keep) = (status, body, keep);
        self.head.clear();
        self.head.extend_from_slice(self.inbox.take(used));
        Ok(Some(status))
    }

    fn fill_body(&mut self, until: Option<Instant>) -> Result<(), HttpError> {
        if self.fill(until)? > 0 {
            return Ok(());
        }
        // Lost, not refused: a server that ends between its head and its last byte may have done what it was asked.
        self.forget();
        let cut = io::Error::new(io::ErrorKind::UnexpectedEof, "the answer ended before its last byte");
        Err(HttpError::Lost(cut))
    }
}
