//! Against a listener of our own that says exactly what a test wants said, in whatever pieces.

use std::io::Read;
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::engine::tls::TlsOptions;

/// Answers one request after the other, each with the next of `answers`, cut into pieces; on one connection, or each on
/// its own.
fn serve(answers: Vec<Vec<Vec<u8>>>, then_close: bool) -> (Client, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let place = Endpoint::new("127.0.0.1", port, format!("test://127.0.0.1:{port}"));
    let thread = std::thread::spawn(move || {
        let mut requests = Vec::new();
        let mut held = None;
        for pieces in answers {
            let mut socket = held.take().unwrap_or_else(|| listener.accept().unwrap().0);
            requests.push(read_request(&mut socket));
            for piece in pieces {
                socket.write_all(&piece).unwrap();
                socket.flush().unwrap();
            }
            held = (!then_close).then_some(socket);
        }
        requests
    });
    (Client::new(&place, &without_tls(), Some(("me", "s:crt")), &[("X-Test", "1")]), thread)
}

fn without_tls() -> Tls {
    Tls::new(&TlsOptions::NEVER, "").unwrap()
}

fn read_request(socket: &mut TcpStream) -> Vec<u8> {
    socket.set_nodelay(true).unwrap();
    let (mut bytes, mut room) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length: usize =
                head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok()).unwrap();
            if bytes.len() >= head.len() + 4 + length {
                return bytes;
            }
        }
        let read = socket.read(&mut room).unwrap();
        assert!(read > 0, "the client closed the connection inside a request");
        bytes.extend_from_slice(&room[..read]);
    }
}

fn exchange(client: &mut Client, slices: &[&[u8]]) -> Result<(u16, Vec<u8>), HttpError> {
    client.send("POST", "/?a=b", slices, None)?;
    let status = client.receive(None)?;
    let mut body = Vec::new();
    client.read_all(&mut body, None)?;
    Ok((status, body))
}

fn chunked(pieces: &[&[u8]]) -> Vec<u8> {
    let mut answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
        answer.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        answer.extend_from_slice(piece);
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    answer
}

fn with_length(body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    answer.extend_from_slice(body);
    answer
}

#[test]
fn a_request_says_who_asks_and_its_slices_arrive_as_one_body() {
    let (mut client, thread) = serve(vec![vec![with_length(b"yes")]], false);
    assert_eq!(exchange(&mut client, &[b"INSERT ", b"", b"rows"]).unwrap(), (200, b"yes".to_vec()));
    let request = String::from_utf8(thread.join().unwrap().remove(0)).unwrap();
    assert!(request.starts_with("POST /?a=b HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
    assert!(request.contains("\r\nAuthorization: Basic bWU6czpjcnQ=\r\n"), "{request}");
    assert!(request.contains("\r\nX-Test: 1\r\nContent-Length: 11\r\n\r\nINSERT rows"), "{request}");
}

#[test]
fn a_body_in_chunks_leaves_as_it_is_made_and_its_connection_stays() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Endpoint::new("127.0.0.1", listener.local_addr().unwrap().port(), "test");
    let mut client = Client::new(&place, &without_tls(), None, &[]);
    client.connect().unwrap();
    let (mut socket, _) = listener.accept().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut came = move |bytes: &[u8]| {
        let mut room = vec![0; bytes.len()];
        socket.read_exact(&mut room).unwrap();
        assert_eq!(String::from_utf8_lossy(&room), String::from_utf8_lossy(bytes));
        socket.try_clone().unwrap()
    };
    let head =
        format!("POST /?q HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nTransfer-Encoding: chunked\r\n\r\n", place.port);
    for body in ["", "the last"] {
        client.begin("POST", "/?q").unwrap();
        assert!(client.chunk(b"", false).unwrap(), "no chunk without bytes: it would be the end");
        assert!(client.chunk(&[b'a'; 17], false).unwrap());
        came(format!("{head}11\r\naaaaaaaaaaaaaaaaa\r\n").as_bytes());
        assert!(client.chunk(body.as_bytes(), true).unwrap());
        let end: &[u8] = if body.is_empty() { b"0\r\n\r\n" } else { b"8\r\nthe last\r\n0\r\n\r\n" };
        came(end).write_all(&with_length(b"")).unwrap();
        assert_eq!(client.receive(None).unwrap(), 200);
        assert_eq!(client.piece(None).unwrap(), None);
    }
}

#[test]
fn one_connection_serves_many_requests() {
    let answers = vec![vec![with_length(b"one")], vec![chunked(&[b"t", b"wo"])], vec![with_length(b"")]];
    let (mut client, thread) = serve(answers, false);
    for expected in ["one", "two", ""] {
        assert_eq!(exchange(&mut client, &[b"?"]).unwrap(), (200, expected.into()));
    }
    assert_eq!(thread.join().unwrap().len(), 3);
}

#[test]
fn an_idle_connection_that_the_server_closed_is_opened_again() {
    let (mut client, thread) = serve(vec![vec![with_length(b"1")], vec![with_length(b"2")]], true);
    assert_eq!(exchange(&mut client, &[b"?"]).unwrap().1, b"1");
    while client.is_idle() {
        std::thread::yield_now();
    }
    assert_eq!(exchange(&mut client, &[b"?"]).unwrap().1, b"2");
    drop(client);
    assert_eq!(thread.join().unwrap().len(), 2);
}

#[test]
fn headers_are_found_whatever_their_case() {
    let answer = b"HTTP/1.1 500 Error\r\nX-Code: 241\r\nContent-Length: 0\r\n\r\n".to_vec();
    let (mut client, thread) = serve(vec![vec![answer]], false);
    assert_eq!(exchange(&mut client, &[]).unwrap().0, 500);
    assert_eq!((client.header("x-code"), client.header("other")), (Some("241"), None));
    thread.join().unwrap();
}

#[test]
fn an_answer_without_length_ends_with_its_connection() {
    let (mut client, thread) =
        serve(vec![vec![b"HTTP/1.0 200 OK\r\n\r\nall".to_vec(), b" of it".to_vec()]], false);
    client.send("GET", "/", &[], None).unwrap();
    assert_eq!(client.receive(None).unwrap(), 200);
    thread.join().unwrap();
    let mut body = Vec::new();
    client.read_all(&mut body, None).unwrap();
    assert_eq!(body, b"all of it");
}

#[test]
fn an_answer_that_stops_in_its_middle_is_no_answer() {
    for answer in [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".to_vec(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf".to_vec(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n".to_vec(),
    ] {
        let (mut client, thread) = serve(vec![vec![answer]], false);
        client.send("POST", "/", &[], None).unwrap();
        thread.join().unwrap();
        client.receive(None).unwrap();
        let http_error = client.read_all(&mut Vec::new(), None).unwrap_err();
        // Nothing says that the server had not done what it was asked.
        assert_eq!(http_error.outcome(), Outcome::Lost, "{http_error}");
        assert_eq!(http_error.to_string(), "the connection was lost: the answer ended before its last byte");
    }
}

#[test]
fn what_is_not_http_is_said_to_be_so() {
    let (mut client, thread) = serve(vec![vec![b"E\0\0\0\x08oops".to_vec()]], false);
    let http_error = exchange(&mut client, &[]).unwrap_err();
    assert_eq!(http_error.to_string(), "what answers does not speak HTTP");
    assert!(http_error.error(client.place()).to_string().contains("HTTP port?"));
    thread.join().unwrap();
}

#[test]
fn a_late_answer_can_be_waited_for_again() {
    let (mut client, thread) = serve(vec![vec![with_length(b"at last")]], false);
    client.send("POST", "/", &[], None).unwrap();
    // A moment ago: late unless everything is there already.
    let first = client.receive(Some(Instant::now() - Duration::from_secs(1)));
    assert!(matches!(first, Err(HttpError::Late) | Ok(200)), "{first:?}");
    if first.is_err() {
        assert_eq!(client.receive(None).unwrap(), 200);
    }
    let mut body = Vec::new();
    client.read_all(&mut body, None).unwrap();
    assert_eq!(body, b"at last");
    thread.join().unwrap();
}

#[test]
fn hanging_up_ends_a_wait_from_another_thread() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let place = Endpoint::new("127.0.0.1", port, "test");
    let mut client = Client::new(&place, &without_tls(), None, &[]);
    client.send("POST", "/", &[b"?"], None).unwrap();
    let hang_up = client.hang_up();
    let thread = std::thread::spawn(move || hang_up.now());
    let http_error = client.receive(None).unwrap_err();
    assert_eq!(http_error.outcome(), Outcome::Lost);
    thread.join().unwrap();
}

#[test]
fn a_port_where_nobody_listens_is_said_with_its_remedy() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = Endpoint::new("127.0.0.1", port, "test://h");
    let message = Client::new(&place, &without_tls(), None, &[]).connect().unwrap_err().to_string();
    assert_eq!(
        message,
        format!("test://h: nothing listens on port {port}; is the server running, and is the port right?")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_body_is_the_same_however_it_is_cut(
        body in prop::collection::vec(any::<u8>(), 0..2000),
        chunk in 1usize..300,
        cuts in prop::collection::vec(1usize..200, 0..12),
        in_chunks: bool,
    ) {
        let chunks: Vec<&[u8]> = body.chunks(chunk).collect();
        let mut answer = if in_chunks { chunked(&chunks) } else { with_length(&body) };
        let mut pieces = Vec::new();
        for cut in cuts {
            let rest = answer.split_off(cut.min(answer.len()));
            pieces.push(std::mem::replace(&mut answer, rest));
        }
        pieces.push(answer);
        let (mut client, thread) = serve(vec![pieces], false);
        prop_assert_eq!(exchange(&mut client, &[b"?"]).unwrap(), (200, body));
        thread.join().unwrap();
    }
}
