//! A server of our own, and the certificates that openssl makes for it.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::engine::socket::Endpoint;
use crate::engine::tls::{Check, Roots, Tls, TlsOptions, When};

/// So long for what surely comes.
pub const LONG: Duration = Duration::from_secs(60);

pub type Served = StreamOwned<ServerConnection, TcpStream>;

static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();

/// A static is never dropped: its folder would stay.
extern "C" fn remove_certificates() {
    let _ = MADE.get().map(|made| std::fs::remove_dir_all(made.path()));
}

/// `ca`, `server` signed by it, `alone` signed by itself: each `.crt` and `.key`, for localhost.
pub fn certificates() -> &'static Path {
    let made = MADE.get_or_init(|| {
        // SAFETY: the function takes nothing, does not unwind, and touches a static that lives as long as the process.
        unsafe { libc::atexit(remove_certificates) };
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
pub fn serve<T: Send + 'static>(
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

pub fn tls(check: Check, roots: &str) -> Tls {
    let roots = Roots::File(certificates().join(roots));
    Tls::new(&TlsOptions { when: When::Always, check, roots }, "roots").unwrap()
}
