//! Against a server of our own, with certificates that openssl has made for this run.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use proptest::prelude::*;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sha2::{Digest, Sha256};

use super::*;
use crate::engine::tls::{Check, Roots, TlsOptions, When};

/// So long for what surely comes.
const LONG: Duration = Duration::from_secs(60);

type Served = StreamOwned<ServerConnection, TcpStream>;

/// `ca`, `server` signed by it, `alone` signed by itself: each `.crt` and `.key`, for localhost.
fn certificates() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, more: &[&str]| {
            let done = Command::new("openssl")
                .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
                .args(["-days", "30", "-subj", &format!("/CN={name}"), "-keyout", &format!("{name}.key")])
                .args([
                    "-out",
                    &format!("{name}.crt"),
                    "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1",
                ])
                .args(more)
                .current_dir(folder.path())
                .output()
                .expect("openssl is there");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        make("ca", &[]);
        make("alone", &[]);
        make(
            "server",
            &["-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE"],
        );
        folder
    });
    made.path()
}

/// A place where one connection is served with this certificate, and what `serve` made of it.
fn serve<T: Send + 'static>(
    certificate: &str,
    serve: impl FnOnce(Served) -> T + Send + 'static,
) -> (Endpoint, JoinHandle<T>) {
    let file = |end: &str| certificates().join(format!("{certificate}.{end}"));
    let chain = vec![CertificateDer::from_pem_file(file("crt")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(file("key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let session = ServerConnection::new(Arc::new(config)).unwrap();
        serve(StreamOwned::new(session, listener.accept().unwrap().0))
    });
    (Endpoint::new("localhost", port, format!("test://localhost:{port}")), thread)
}

fn tls(check: Check, roots: &str) -> Tls {
    let roots = Roots::File(certificates().join(roots));
    Tls::new(&TlsOptions { when: When::Always, check, roots }, "roots").unwrap()
}

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
    let late = stream.send_parts(&mut [IoSlice::new(&crate::fuzz::more_than_buffers())]).unwrap_err();
    assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    drop(end);
    server.join().unwrap();
}
