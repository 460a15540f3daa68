//! What a target asks of TLS: when a connection is encrypted, which certificates it trusts, and the message when that fails.
//!
//! The words for it are each engine's own and read by its `address.rs`; what they come to is here.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use sha2::{Digest, Sha256};

use super::socket::{unreachable, Endpoint};
use inrush_rows::error::{Error, TargetFault};

/// Names another file with the system's roots, as OpenSSL has it.
const SYSTEM_ROOTS_VARIABLE: &str = "SSL_CERT_FILE";
/// Where systems keep their roots: Debian, Fedora, SUSE, Alpine.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How the checks of chains call a certificate that signs others, itself as well, and stands for a server.
const SIGNED_BY_ITSELF: &str = "CaUsedAsEndEntity";

/// When a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Never,
    /// Where the server does not take us without.
    IfRefused,
    /// Where the server can.
    IfOffered,
    Always,
}

/// What the server's certificate must show. More is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// The connection is encrypted; any server may answer.
    Nothing,
    /// A root that we trust has signed it.
    Chain,
    /// And it is this host's.
    ChainAndName,
    /// It is this very one, by its SHA-256, with any signature.
    Fingerprint([u8; 32]),
}

impl Check {
    fn needs_roots(self) -> bool {
        matches!(self, Check::Chain | Check::ChainAndName)
    }
}

/// The roots that are trusted to sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    System,
    File(PathBuf),
}

impl Roots {
    /// `system`, or a file of certificates in PEM.
    pub fn named(text: &str) -> Roots {
        match text {
            "system" => Roots::System,
            path => Roots::File(path.into()),
        }
    }
}

/// What a URL and its environment ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    pub when: When,
    pub check: Check,
    pub roots: Roots,
}

impl TlsOptions {
    pub const NEVER: TlsOptions =
        TlsOptions { when: When::Never, check: Check::Nothing, roots: Roots::System };

    /// Always, with the one certificate that has this SHA-256.
    pub fn pinned(sha256: [u8; 32]) -> TlsOptions {
        TlsOptions { when: When::Always, check: Check::Fingerprint(sha256), roots: Roots::System }
    }
}

/// Whether what is sent to this host stays on this machine: then nothing is encrypted unless asked for.
pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// A wish with its roots read: what every connection to a target shares.
#[derive(Debug, Clone)]
pub struct Tls {
    pub when: When,
    check: Check,
    config: Option<Arc<ClientConfig>>,
    /// The option that names the roots or the certificate, and where roots came from: for messages.
    roots_option: &'static str,
    roots_from: String,
}

impl Tls {
    /// roots_option: its name in a URL of this engine, or on the command line. Fails where the roots cannot be read.
    pub fn new(tls_options: &TlsOptions, roots_option: &'static str) -> Result<Tls, Error> {
        let (config, roots_from) = match tls_options {
            TlsOptions { when: When::Never, .. } => (None, String::new()),
            TlsOptions { check, .. } if !check.needs_roots() => {
                (Some(config(*check, Vec::new(), roots_option)?), String::new())
            }
            TlsOptions { check, roots, .. } => {
                let path = match roots {
                    Roots::File(path) => path.clone(),
                    Roots::System => system_roots(roots_option)?,
                };
                let shown = path.display().to_string();
                (Some(config(*check, certificates(&path, roots_option)?, roots_option)?), shown)
            }
        };
        Ok(Tls { when: tls_options.when, check: tls_options.check, config, roots_option, roots_from })
    }

    /// Whether an encrypted connection is to the server that was named, and not to any that answers.
    pub fn verifies(&self) -> bool {
        self.check != Check::Nothing
    }

    /// With TLS or without: what is tried, one after the other where the server refuses.
    pub fn attempts(&self) -> &'static [bool] {
        match self.when {
            When::Never => &[false],
            When::IfRefused => &[false, true],
            When::IfOffered => &[true, false],
            When::Always => &[true],
        }
    }

    /// The server has no TLS: an error where it must have.
    pub fn without(&self, place: &Endpoint, remedy: &str) -> Result<(), Error> {
        if self.when != When::Always {
            return Ok(());
        }
        Err(fault(place, TargetFault::Other, format!("the server does not speak TLS; {remedy}")))
    }

    /// Our side of a handshake with this host, nothing sent yet.
    ///
    /// Panics where `when` is never: no caller asks for it then.
    pub fn session(&self, place: &Endpoint) -> Result<ClientConnection, Error> {
        let config = self.config.clone().expect("a target without TLS makes no session");
        let name = ServerName::try_from(place.host.clone()).map_err(|_| {
            fault(place, TargetFault::Other, format!("{} is no host that TLS can name", place.host))
        })?;
        ClientConnection::new(config, name)
            .map_err(|e| fault(place, TargetFault::Other, format!("TLS cannot begin: {e}")))
    }

    /// Why a handshake failed, in one line with its remedy.
    pub fn failed(&self, place: &Endpoint, error: &io::Error) -> Error {
        let Some(tls) = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>()) else {
            return match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => fault(
                    place,
                    TargetFault::Other,
                    "the server ended the TLS handshake; see its log".to_owned(),
                ),
                _ => unreachable(place, error),
            };
        };
        let (option, from) = (self.roots_option, &self.roots_from);
        let (class, message) = match tls {
            rustls::Error::InvalidCertificate(reason) => (
                TargetFault::Auth,
                match reason {
                    CertificateError::UnknownIssuer => format!(
                        "the server's certificate is signed by no authority in {from}; name a file with its root: {option}="
                    ),
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                        format!(
                            "the server's certificate is not for host {}; write the host as the certificate's \
                             subjectAltName has it",
                            place.host
                        )
                    }
                    CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                        "the server's certificate has expired".to_owned()
                    }
                    CertificateError::Other(other) if other.0.to_string() == SIGNED_BY_ITSELF => format!(
                        "the server's certificate is signed by itself, and it is not in {from}; name a file with it: {option}="
                    ),
                    CertificateError::ApplicationVerificationFailure => {
                        format!("the server's certificate is not the one that {option} names")
                    }
                    other => format!("the server's certificate is not accepted: {other}"),
                },
            ),
            rustls::Error::InvalidMessage(_) => {
                (TargetFault::Other, format!("what listens {} does not speak TLS", place.listens()))
            }
            other => (TargetFault::Other, format!("the TLS handshake failed: {other}")),
        };
        fault(place, class, message)
    }
}

fn fault(place: &Endpoint, class: TargetFault, message: String) -> Error {
    Error::Target { target: place.target.clone(), class, message }
}

fn system_roots(option: &str) -> Result<PathBuf, Error> {
    let named = std::env::var_os(SYSTEM_ROOTS_VARIABLE).map(PathBuf::from);
    let usual = || SYSTEM_ROOTS.iter().map(PathBuf::from).find(|path| path.exists());
    named.or_else(usual).ok_or_else(|| {
        Error::Plan(format!(
            "target.url: this machine has no roots to trust ({}, …); install ca-certificates, or name a file: {option}=",
            SYSTEM_ROOTS[0]
        ))
    })
}

/// All certificates of a PEM file; other things in it are passed over.
fn certificates(path: &Path, option: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong = |what: String| Error::Plan(format!("target.url: {option}={}: {what}", path.display()));
    let found = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| wrong(format!("roots cannot be read: {e}")))?;
    match found.is_empty() {
        true => Err(wrong("there is no certificate in this file".to_owned())),
        false => Ok(found),
    }
}

fn config(
    check: Check,
    trusted: Vec<CertificateDer<'static>>,
    option: &str,
) -> Result<Arc<ClientConfig>, Error> {
    let mut roots = RootCertStore::empty();
    if check.needs_roots() && roots.add_parsable_certificates(trusted.iter().cloned()).0 == 0 {
        return Err(Error::Plan(format!("target.url: {option}: no certificate there can be a root")));
    }
    let provider = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let verifier = Verifier { check, roots, trusted, algorithms };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for TLS 1.2 and 1.3")
        .dangerous() // the name of the method: what the verifier accepts is in our hands
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Verifier {
    check: Check,
    roots: RootCertStore,
    /// The same certificates, as they are.
    trusted: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self.check {
            Check::Nothing => return Ok(ServerCertVerified::assertion()),
            Check::Fingerprint(sha256) if Sha256::digest(certificate)[..] == sha256 => {
                return Ok(ServerCertVerified::assertion())
            }
            Check::Fingerprint(_) => return Err(CertificateError::ApplicationVerificationFailure.into()),
            Check::Chain | Check::ChainAndName => {}
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        // A self-signed certificate that the user has named is its own root, which the rules of chains do not know.
        if !self.trusted.contains(certificate) {
            let algorithms = self.algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, intermediates, now, algorithms)?;
        }
        if self.check == Check::ChainAndName {
            verify_server_name(&parsed, host)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.check {
            // Any server may answer, so its key proves nothing; old certificates (X.509 v1) cannot even be parsed.
            Check::Nothing => Ok(HandshakeSignatureValid::assertion()),
            _ => verify_tls12_signature(message, certificate, signed, &self.algorithms),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.check {
            Check::Nothing => Ok(HandshakeSignatureValid::assertion()),
            _ => verify_tls13_signature(message, certificate, signed, &self.algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
