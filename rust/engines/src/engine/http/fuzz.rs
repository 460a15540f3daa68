//! Answers in every form that HTTP/1.1 has for their end, and what becomes of them when their bytes change.

use super::*;
use crate::engine::tls::TlsOptions;
use inrush_fuzz::{self as fuzz, Memory, Replay};

const ANSWERS: [&[u8]; 6] = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\nX-Influxdb-Version: 1.6.7\r\n\r\nhello\nworld",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n\nworld\r\n0\r\n\r\n",
    b"HTTP/1.1 500 Internal Server Error\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n00a\r\nhello-----\r\n1\r\n!\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello world",
    b"HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n",
    b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 20\r\n\r\n{\"error\":\"no entry\"}",
];

/// The body is taken as it came; the inbox and the place of the head are there before.
const MEMORY: Memory = Memory { per_byte: 8, constant: INBOX_BYTES + (64 << 10) };

fn read(replay: Replay) -> bool {
    let place = Endpoint::new("localhost", 1, "test://localhost");
    let tls = Tls::new(&TlsOptions::NEVER, "ca_cert").unwrap();
    let mut client = Client::new(&place, &tls, None, &[]);
    client.replay(replay);
    let mut body = Vec::new();
    let answered = client.receive(None).and_then(|_| client.read_all(&mut body, None));
    let _ = (client.status(), client.header("connection"));
    answered.is_ok() && (client.status() == 204 || body.len() > 5)
}

#[test]
fn http_survives_mutated_answers() {
    fuzz::survives("http", &ANSWERS, MEMORY, read);
}

/// What comes of an answer: its body, or why there is none.
fn body(answer: &[u8]) -> Result<Vec<u8>, HttpError> {
    let place = Endpoint::new("localhost", 1, "test://localhost");
    let mut client = Client::new(&place, &Tls::new(&TlsOptions::NEVER, "ca_cert").unwrap(), None, &[]);
    client.replay(Replay::whole(answer.to_vec()));
    client.receive(None)?;
    let mut body = Vec::new();
    client.read_all(&mut body, None).map(|()| body)
}

fn garbled(answer: &[u8]) -> &'static str {
    match body(answer) {
        Err(HttpError::Garbled(what)) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_chunk_of_almost_all_numbers_is_an_error() {
    for size in ["fffffffffffffffe", "ffffffffffffffff"] {
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\nx\r\n0\r\n\r\n");
        garbled(answer.as_bytes());
    }
}

#[test]
fn a_chunk_that_does_not_end_where_its_size_says_is_an_error() {
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n";
    assert_eq!(garbled(answer), "a chunk of the answer does not end where its size says");
}

#[test]
fn two_lengths_that_differ_are_an_error() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nhello";
    assert_eq!(garbled(answer), "the answer has two lengths");
    assert_eq!(
        body(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello").unwrap(),
        b"hello"
    );
}

#[test]
fn a_size_of_a_chunk_is_a_short_line() {
    let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;".to_vec();
    answer.resize(answer.len() + 10_000, b'x');
    assert_eq!(garbled(&answer), "a chunk of the answer has no size");
}

#[test]
fn a_server_that_reads_no_more_ends_a_request_in_time() {
    let place = Endpoint::new("127.0.0.1", fuzz::stalled(b""), "test://localhost");
    let mut client = Client::new(&place, &Tls::new(&TlsOptions::NEVER, "ca_cert").unwrap(), None, &[]);
    client.limit_sends(Some(Duration::from_millis(300)));
    client.connect().unwrap();
    let began = Instant::now();
    let late = client.send("POST", "/", &[&fuzz::more_than_buffers()], None).unwrap_err();
    assert_eq!(late.outcome(), Outcome::Timeout);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
