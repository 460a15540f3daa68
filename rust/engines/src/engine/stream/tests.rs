//! Against a server of our own, with certificates that openssl has made for this run.

mod served;

use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};

use proptest::prelude::*;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};

use super::*;
use crate::engine::inbox::Inbox;
use crate::engine::tls::{Check, Roots, TlsOptions, When};
use served::{certificates, serve, tls, Served, LONG};

fn connect(place: &Endpoint, tls: &Tls) -> Result<Stream, Error> {
    let socket = TcpStream::connect(("127.0.0.1", place.port)).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    let mut stream = Stream::plain(socket);
    stream.secure(tls, place)?;
    Ok(stream)
}

/// What a client that asks for `check` by `roots` makes of a server with this certificate, at this host.
fn outcome(certificate: &str, check: Check, roots: &str, host: &str) -> Result<(), String> {
    let (mut place, thread) = serve(certificate, |mut served| served.read(&mut [0; 1]).is_ok());
    place.host = host.to_owned();
    let done = connect(&place, &tls(check, roots)).map_err(|e| e.to_string());
    let done = done.map(|mut stream| stream.write_all(b"!").unwrap());
    assert_eq!(thread.join().unwrap(), done.is_ok(), "both sides know");
    done
}

#[test]
fn a_certificate_known_by_its_fingerprint_needs_no_root_and_no_name_and_no_other_will_do() {
    let sha256 = |name: &str| {
        let der = CertificateDer::from_pem_file(certificates().join(format!("{name}.crt"))).unwrap();
        Check::Fingerprint(Sha256::digest(der).into())
    };
    for certificate in ["server", "alone"] {
        assert_eq!(outcome(certificate, sha256(certificate), "ca.crt", "other.example"), Ok(()));
    }
    let message = outcome("server", sha256("alone"), "ca.crt", "localhost").unwrap_err();
    assert!(message.contains("is not the one that roots names"), "{message}");
}

#[test]
fn who_has_signed_and_whose_name_it_is_count_as_far_as_they_are_asked_for() {
    use Check::{Chain, ChainAndName, Nothing};
    assert_eq!(outcome("server", Nothing, "alone.crt", "other.example"), Ok(()));
    assert_eq!(outcome("server", Chain, "ca.crt", "other.example"), Ok(()));
    assert_eq!(outcome("server", ChainAndName, "ca.crt", "localhost"), Ok(()));
    assert_eq!(outcome("server", ChainAndName, "ca.crt", "127.0.0.1"), Ok(()));
    assert_eq!(outcome("alone", ChainAndName, "alone.crt", "localhost"), Ok(()), "it is its own root");

    let untrusted =
        [("server", "alone.crt", "signed by no authority in "), ("alone", "ca.crt", "signed by itself")];
    for (certificate, roots, why) in untrusted {
        let message = outcome(certificate, Chain, roots, "localhost").unwrap_err();
        assert!(message.contains(why) && message.ends_with("roots="), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    for (certificate, roots) in [("server", "ca.crt"), ("alone", "alone.crt")] {
        let message = outcome(certificate, ChainAndName, roots, "other.example").unwrap_err();
        assert!(message.contains("not for host other.example"), "{message}");
    }
}

#[test]
fn a_file_without_certificates_is_no_file_of_roots() {
    let roots = Roots::File(certificates().join("ca.key"));
    let tls_options = TlsOptions { when: When::Always, check: Check::Chain, roots };
    let message = Tls::new(&tls_options, "roots").unwrap_err().to_string();
    assert!(message.contains("ca.key: there is no certificate"), "{message}");
}

#[test]
fn a_server_without_tls_is_named_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut socket = listener.accept().unwrap().0;
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        while matches!(socket.read(&mut [0; 512]), Ok(1..)) {}
    });
    let place = Endpoint::new("localhost", port, "test://");
    let message = connect(&place, &tls(Check::Nothing, "ca.crt")).err().unwrap().to_string();
    assert!(message.contains("does not speak TLS"), "{message}");
    thread.join().unwrap();
}

#[test]
fn what_keeps_tls_going_is_no_answer_and_an_end_is_one() {
    let (place, thread) = serve("server", |mut served| {
        served.read_exact(&mut [0; 1]).unwrap();
        served.write_all(b"yes").unwrap();
        served.conn.send_close_notify();
        served.flush().unwrap();
    });
    let mut stream = connect(&place, &tls(Check::Chain, "ca.crt")).unwrap();
    assert!(socket::readable(stream.socket(), LONG).unwrap(), "tickets to resume by have come");
    assert!(!stream.readable(Duration::ZERO).unwrap());
    stream.write_all(b"?").unwrap();
    assert!(stream.readable(LONG).unwrap());
    let mut answer = [0; 3];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"yes");
    assert!(stream.readable(LONG).unwrap());
    assert_eq!(stream.read(&mut answer).unwrap(), 0);
    thread.join().unwrap();
}

#[test]
fn bytes_that_have_been_decrypted_are_readable_though_the_socket_is_not() {
    let (place, thread) = serve("server", |mut served| {
        served.write_all(b"two").unwrap();
        served.read(&mut [0; 1]).is_ok()
    });
    let mut stream = connect(&place, &tls(Check::Nothing, "ca.crt")).unwrap();
    let mut byte = [0; 1];
    for expected in b"two" {
        assert!(stream.readable(LONG).unwrap());
        stream.read_exact(&mut byte).unwrap();
        assert_eq!(byte[0], *expected);
    }
    assert!(!stream.readable(Duration::ZERO).unwrap());
    stream.close();
    assert!(thread.join().unwrap(), "a goodbye is no broken connection");
}

#[test]
fn a_limit_of_the_socket_is_kept() {
    let (place, thread) = serve("server", |mut served| served.read(&mut [0; 1]).is_ok());
    let mut stream = connect(&place, &tls(Check::Nothing, "ca.crt")).unwrap();
    stream.socket().set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let late = loop {
        match stream.read(&mut [0; 1]) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => break done.unwrap_err(),
        }
    };
    assert_eq!(late.kind(), io::ErrorKind::WouldBlock);
    stream.close();
    assert!(thread.join().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn bytes_arrive_whole_and_in_order_both_ways(
        lengths in proptest::collection::vec(0usize..100_000, 1..6), room in 1usize..70_000,
    ) {
        let parts: Vec<Vec<u8>> =
            lengths.iter().enumerate().map(|(k, &n)| (0..n).map(|at| (at * 7 + k * 31) as u8).collect()).collect();
        let sent = parts.concat();
        let bytes = sent.len();
        let (place, thread) = serve("server", move |mut served| {
            let mut all = vec![0; bytes];
            served.read_exact(&mut all).unwrap();
            served.write_all(&all).unwrap();
            all
        });
        let mut stream = connect(&place, &tls(Check::Chain, "ca.crt")).unwrap();
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        stream.send_parts(&mut slices).unwrap();
        let mut back = vec![0; bytes];
        back.chunks_mut(room).for_each(|piece| stream.read_exact(piece).unwrap());
        prop_assert!(back == sent);
        prop_assert!(thread.join().unwrap() == sent);
    }
}

#[test]
fn a_server_that_reads_no_more_ends_a_send_through_tls_in_time() {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (place, server) = serve("server", move |mut served: Served| {
        served.conn.complete_io(&mut served.sock).expect("a handshake");
        let _ = ended.recv();
    });
    let (socket, _) = socket::dial(&place).unwrap();
    let mut stream = Stream::plain(socket);
    stream.secure(&tls(Check::ChainAndName, "ca.crt"), &place).unwrap();
    stream.limit_sends(Some(Duration::from_millis(300))).unwrap();
    let began = Instant::now();
    let late = stream.send_parts(&mut [IoSlice::new(&inrush_fuzz::more_than_buffers())]).unwrap_err();
    assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    drop(end);
    server.join().unwrap();
}

/// What a server that has shaken hands sends for these bytes, from its first record's head to its last byte.
fn encrypted(served: &mut Served, bytes: &[u8]) -> Vec<u8> {
    served.conn.complete_io(&mut served.sock).expect("a handshake");
    served.conn.writer().write_all(bytes).unwrap();
    let mut records = Vec::new();
    while served.conn.wants_write() {
        served.conn.write_tls(&mut records).unwrap();
    }
    records
}

/// One byte every ten milliseconds, until the other side is gone or has said enough.
fn drip(bytes: &[u8], socket: &mut TcpStream, enough: &Receiver<()>) {
    for byte in bytes {
        if enough.recv_timeout(Duration::from_millis(10)) != Err(RecvTimeoutError::Timeout)
            || socket.write_all(&[*byte]).is_err()
        {
            return;
        }
    }
}

#[test]
fn a_handshake_whose_bytes_come_one_by_one_ends_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Endpoint::new("localhost", listener.local_addr().unwrap().port(), "test://");
    let (_end, enough) = channel();
    let server = std::thread::spawn(move || {
        // The head of a record of a handshake, which has 16 KiB.
        let record = [&[22, 3, 3, 0x40, 0][..], &[2; 1 << 14]].concat();
        drip(&record, &mut listener.accept().unwrap().0, &enough);
    });
    let mut stream = Stream::plain(TcpStream::connect(("127.0.0.1", place.port)).unwrap());
    let began = Instant::now();
    let until = began + Duration::from_millis(300);
    let late = stream.secure_by(until, &tls(Check::Nothing, "ca.crt"), &place).unwrap_err().to_string();
    assert!(late.contains("no answer within"), "{late}");
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    drop(stream);
    server.join().unwrap();
}

#[test]
fn a_server_that_stops_within_a_record_is_waited_for_no_longer_than_asked() {
    let (go_on, goes_on) = channel();
    let (place, server) = serve("server", move |mut served| {
        let records = encrypted(&mut served, b"answer");
        let (first, rest) = records.split_at(records.len() / 2);
        served.sock.write_all(first).unwrap();
        goes_on.recv().unwrap();
        served.sock.write_all(rest).unwrap();
        served.read(&mut [0; 1]).is_ok()
    });
    let mut stream = connect(&place, &tls(Check::Chain, "ca.crt")).unwrap();
    let began = Instant::now();
    assert!(!stream.readable(Duration::from_millis(100)).unwrap());
    stream.socket().set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut inbox = Inbox::new(64);
    for _ in 0..3 {
        // What came of the record is something the first time at most; then there is nothing.
        let came = socket::came(inbox.fill(&mut stream, 1));
        assert!(came.is_ok() && inbox.is_empty(), "{came:?}");
    }
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    go_on.send(()).unwrap();
    assert!(stream.readable(LONG).unwrap());
    inbox.fill(&mut stream, 1).unwrap();
    assert_eq!(inbox.unread(), b"answer");
    stream.close();
    assert!(server.join().unwrap());
}

#[test]
fn a_record_that_comes_byte_by_byte_lets_its_reader_look_at_the_time() {
    let (end, enough) = channel();
    let (place, server) = serve("server", move |mut served| {
        let records = encrypted(&mut served, &[7; 12_000]);
        drip(&records, &mut served.sock, &enough);
    });
    let mut stream = connect(&place, &tls(Check::Chain, "ca.crt")).unwrap();
    let mut inbox = Inbox::new(64);
    let began = Instant::now();
    inbox.fill(&mut stream, 1).unwrap();
    assert!(inbox.is_empty(), "a part of a record holds no byte that can be shown");
    assert!(began.elapsed() < LONG, "the whole record takes two minutes: {:?}", began.elapsed());
    drop(end);
    server.join().unwrap();
}

/// A small buffer for what is sent or received, so that few bytes are on their way at once.
fn buffer(socket: &TcpStream, which: libc::c_int) {
    let bytes: libc::c_int = 4096;
    let length = size_of_val(&bytes) as libc::socklen_t;
    // SAFETY: an option of one integer, alive during the call, on a socket of ours.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, which, (&raw const bytes).cast(), length)
    };
    assert_eq!(set, 0);
}

#[test]
fn a_server_that_reads_a_little_now_and_then_ends_a_send_through_tls_in_time() {
    let (end, ended) = channel::<()>();
    let (place, server) = serve("server", move |mut served: Served| {
        buffer(&served.sock, libc::SO_RCVBUF);
        served.conn.complete_io(&mut served.sock).expect("a handshake");
        let mut room = [0; 256];
        while ended.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
            if served.sock.read(&mut room).unwrap_or(0) == 0 {
                break;
            }
        }
    });
    let (socket, _) = socket::dial(&place).unwrap();
    buffer(&socket, libc::SO_SNDBUF);
    let mut stream = Stream::plain(socket);
    stream.secure(&tls(Check::ChainAndName, "ca.crt"), &place).unwrap();
    stream.limit_sends(Some(Duration::from_secs(1))).unwrap();
    let began = Instant::now();
    let late = stream.send_parts(&mut [IoSlice::new(&inrush_fuzz::more_than_buffers())]).unwrap_err();
    assert_eq!(late.to_string(), "the server did not read a request within 1 s");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    drop((end, stream));
    server.join().unwrap();
}

#[test]
fn what_a_thread_sends_is_counted_by_calls_and_bytes_and_not_what_another_does() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut ours = Stream::plain(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
    let (mut theirs, _) = listener.accept().unwrap();
    let before = socket::sent();
    ours.send_parts(&mut [IoSlice::new(b"one"), IoSlice::new(b""), IoSlice::new(b"call")]).unwrap();
    ours.write_all(b"!").unwrap();
    let sent = socket::sent();
    assert_eq!((sent.sends - before.sends, sent.bytes - before.bytes), (2, 8));
    std::thread::spawn(move || {
        assert_eq!(socket::sent(), socket::Sent::default());
        ours.write_all(b"another").unwrap();
        assert_eq!(socket::sent(), socket::Sent { sends: 1, bytes: 7 });
    })
    .join()
    .unwrap();
    assert_eq!(socket::sent(), sent);
    let mut came = Vec::new();
    theirs.read_to_end(&mut came).unwrap();
    assert_eq!(came, b"onecall!another");
}
