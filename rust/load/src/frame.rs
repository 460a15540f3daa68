//! What client and load server say to each other: frames over one TCP connection, rows as Arrow IPC.
//!
//! A frame is its kind (1 byte), the length of its head and of its body (u32 each, little-endian), a head in JSON
//! and a body: an Arrow IPC stream of one batch for [`Frame::Chunk`], nothing for the others. Any program that can
//! write Arrow IPC can feed the server.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use inrush_rows::rows::files::Position;

/// A longer frame is no frame of ours.
const FRAME_BYTES: u32 = 1 << 30;
/// Longest frame of an unauthenticated connection.
const UNAUTHENTICATED_BYTES: u32 = 4 << 10;
/// Of a frame's body, what is read before more memory is taken.
const FIRST_BYTES: usize = 64 << 10;
pub const VERSION: u32 = 5;

/// One part of a file: the smallest unit that is stored whole, acknowledged and noted in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkHead {
    pub file: u32,
    /// Counted from 0 within its file.
    pub chunk: u64,
    pub rows: u64,
    /// Where the chunk after this one begins.
    pub after: Position,
    /// Nothing follows in this file.
    pub last: bool,
    /// Sums of its rows, as `Checksums::text` has them; empty where none are made.
    #[serde(default)]
    pub sums: String,
    /// Rows that were read for it and are not in it, because a server refused them: their places, in order.
    #[serde(default)]
    pub left_out: Vec<u32>,
}

/// Rows of a chunk that a server refuses, by their places in it as it was read, each with its reason. Nothing of it is
/// acknowledged until it comes without them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub file: u32,
    pub chunk: u64,
    pub rows: Vec<(u32, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    pub file: u32,
    pub chunk: u64,
    pub rows: u64,
    /// Rows of these that the ledger had already: an earlier load or another one at the same time stored them.
    pub of_others: u64,
}

/// How far a file had come when an earlier import was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    pub file: u32,
    /// The first chunk that some shard may lack.
    pub chunk: u64,
    pub after: Position,
    pub done: bool,
    /// Those of the chunks before it together; empty where a ledger does not have them of all.
    #[serde(default)]
    pub sums: String,
    /// Rows of the chunks before it that a server refused.
    #[serde(default)]
    pub refused: u64,
    /// Chunks behind it that some shard has, without rows that a server refused: they must come without them again.
    #[serde(default)]
    pub lacking: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "says", rename_all = "snake_case")]
pub enum Message {
    /// First of all, in every version: other words are heard behind it only.
    Hello {
        version: u32,
        token: String,
    },
    /// What does this server store into?
    Targets,
    Serves {
        engine: String,
        shards: Vec<String>,
        coordinator: Option<String>,
    },
    /// A statement on a shard, or on the coordinator: how a client without a way to the database prepares a load.
    Ask {
        shard: Option<usize>,
        statement: String,
        limit_ns: u64,
    },
    /// What a table of this server's holds, read through the query path. scan: a [`super::readback::ScanPlan`].
    Scan {
        shard: usize,
        scan: serde_json::Value,
    },
    Answer {
        rows: serde_json::Value,
    },
    /// From here on chunks of this import. setup: an [`super::ImportPlan`], where the server was not started for one.
    Open {
        import: String,
        columns: Vec<String>,
        setup: Option<serde_json::Value>,
    },
    Welcome {
        reached: Vec<Reached>,
    },
    Acked {
        acks: Vec<Ack>,
    },
    Refused {
        refused: Vec<Refused>,
    },
    /// Nothing else is to be said; the other one answers it once.
    Alive,
    /// The client has sent everything and got every acknowledgement.
    End,
    Failed {
        message: String,
    },
}

pub enum Frame {
    Message(Message),
    Chunk(ChunkHead, Vec<u8>),
}

const MESSAGE: u8 = 1;
const CHUNK: u8 = 2;

pub fn is_message(first: u8) -> bool {
    first == MESSAGE
}

pub fn send_message(to: &mut impl Write, message: &Message) -> io::Result<()> {
    send(to, MESSAGE, &serde_json::to_vec(message)?, &[])
}

pub fn send_chunk(to: &mut impl Write, head: &ChunkHead, body: &[u8]) -> io::Result<()> {
    send(to, CHUNK, &serde_json::to_vec(head)?, body)
}

fn send(to: &mut impl Write, kind: u8, head: &[u8], body: &[u8]) -> io::Result<()> {
    let lengths = [head.len(), body.len()];
    if lengths.iter().any(|n| *n > FRAME_BYTES as usize) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a chunk of more than 1 GiB; take fewer rows",
        ));
    }
    let mut start = Vec::with_capacity(9 + head.len());
    start.push(kind);
    lengths.iter().for_each(|n| start.extend_from_slice(&(*n as u32).to_le_bytes()));
    start.extend_from_slice(head);
    to.write_all(&start)?;
    to.write_all(body)?;
    to.flush()
}

/// The next frame; `None` when the other side has ended the connection between two frames.
pub fn receive(from: &mut impl Read) -> io::Result<Option<Frame>> {
    receive_into(from, Vec::new())
}

/// As `receive`, with the body of a chunk in `spare`, whatever that held.
pub fn receive_into(from: &mut impl Read, spare: Vec<u8>) -> io::Result<Option<Frame>> {
    receive_up_to(from, FRAME_BYTES, spare)
}

/// The first message of an unauthenticated client: version and token. `Err` in words for it if it has another version.
pub fn receive_hello(from: &mut impl Read) -> io::Result<Result<String, String>> {
    let said = match receive_up_to(from, UNAUTHENTICATED_BYTES, Vec::new())? {
        Some(Frame::Message(Message::Hello { version: VERSION, token })) => return Ok(Ok(token)),
        Some(Frame::Message(Message::Hello { version, .. })) => version,
        _ => return Err(garbled("it did not say hello")),
    };
    Ok(Err(format!("the client speaks version {said}, the load server {VERSION}: update one of them")))
}

fn receive_up_to(from: &mut impl Read, limit_bytes: u32, mut rest: Vec<u8>) -> io::Result<Option<Frame>> {
    let mut start = [0u8; 9];
    if from.read(&mut start[..1])? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut start[1..])?;
    let length = |at: usize| u32::from_le_bytes(start[at..at + 4].try_into().expect("four bytes"));
    let (head, body) = (length(1), length(5));
    if !matches!(start[0], MESSAGE | CHUNK) || head > limit_bytes || body > limit_bytes {
        return Err(garbled("what came is no frame of inrush load"));
    }
    let mut bytes = Vec::new();
    fill(from, &mut bytes, head as usize)?;
    fill(from, &mut rest, body as usize)?;
    let frame = match start[0] {
        MESSAGE => Frame::Message(serde_json::from_slice(&bytes).map_err(|e| garbled(&e.to_string()))?),
        _ => Frame::Chunk(serde_json::from_slice(&bytes).map_err(|e| garbled(&e.to_string()))?, rest),
    };
    Ok(Some(frame))
}

/// The next `length` bytes, in `out` whatever that held. Memory that is not there yet comes as the bytes do: a length
/// is only announced.
fn fill(from: &mut impl Read, out: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let mut filled = 0;
    while filled < length {
        let room = length.min(out.capacity()).max(length.min(2 * filled.max(FIRST_BYTES)));
        if out.len() < room {
            out.reserve_exact(room - out.len());
            out.resize(room, 0);
        }
        from.read_exact(&mut out[filled..room])?;
        filled = room;
    }
    out.truncate(length);
    Ok(())
}

fn garbled(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_of_more_than_four_gibibytes_is_refused_and_not_announced_as_a_short_one() {
        let body = vec![0; (1 << 32) + 1]; // zeros that nothing reads: no memory is taken
        assert!(send(&mut io::sink(), CHUNK, &[], &body).is_err());
        assert!(send(&mut io::sink(), CHUNK, &[], &body[..10]).is_ok());
    }

    #[test]
    fn frames_come_out_as_they_went_in() {
        let head = ChunkHead {
            file: 3,
            chunk: 7,
            rows: 2,
            after: Position::default(),
            last: true,
            sums: String::new(),
            left_out: Vec::new(),
        };
        let mut wire = Vec::new();
        send_message(&mut wire, &Message::End).unwrap();
        send_chunk(&mut wire, &head, b"rows").unwrap();
        let mut from = &wire[..];
        assert!(matches!(receive(&mut from).unwrap(), Some(Frame::Message(Message::End))));
        match receive(&mut from).unwrap() {
            Some(Frame::Chunk(got, body)) => assert_eq!((got, body.as_slice()), (head, &b"rows"[..])),
            _ => panic!("a chunk was sent"),
        }
        assert!(receive(&mut from).unwrap().is_none());
    }

    #[test]
    fn nothing_of_an_earlier_chunk_is_left_in_its_memory() {
        let head = ChunkHead {
            file: 0,
            chunk: 0,
            rows: 0,
            after: Position::default(),
            last: true,
            sums: String::new(),
            left_out: Vec::new(),
        };
        for spare in [&b""[..], b"12", b"what was there before"] {
            let mut wire = Vec::new();
            send_chunk(&mut wire, &head, b"rows").unwrap();
            match receive_into(&mut &wire[..], spare.to_vec()).unwrap() {
                Some(Frame::Chunk(_, body)) => assert_eq!(body, b"rows"),
                _ => panic!("a chunk was sent"),
            }
        }
    }

    #[test]
    fn somebody_unknown_gets_no_memory_for_what_he_says_is_coming() {
        let mut wire = Vec::new();
        send_message(&mut wire, &Message::Hello { version: VERSION, token: "x".repeat(5_000) }).unwrap();
        assert!(receive_hello(&mut &wire[..]).unwrap_err().to_string().contains("no frame of inrush"));
        wire.clear();
        send_message(&mut wire, &Message::Hello { version: 99, token: "x".into() }).unwrap();
        let refused = receive_hello(&mut &wire[..]).unwrap().unwrap_err();
        assert_eq!(
            refused,
            format!("the client speaks version 99, the load server {VERSION}: update one of them")
        );
        wire.clear();
        send_message(&mut wire, &Message::End).unwrap();
        assert!(receive_hello(&mut &wire[..]).is_err());
    }

    #[test]
    fn rubbish_and_a_cut_frame_are_errors_and_never_frames() {
        assert!(receive(&mut &b"GET / HTTP/1.1\r\n\r\n"[..]).is_err());
        let mut wire = Vec::new();
        send_message(&mut wire, &Message::End).unwrap();
        assert!(receive(&mut &wire[..wire.len() - 1]).is_err());
    }
}
