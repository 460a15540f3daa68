//! TLS of the loader: the load server's certificate, and by what a client knows it.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::ServerConfig;
use serde::Deserialize;

use inrush_engines::engine::tls::{Check, Roots, Tls, TlsOptions, When};
use inrush_rows::error::Error;

/// What the load server shows; PEM files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerTls {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// By what the client knows it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientTls {
    /// Signed by one of the certificates of a PEM file, and for the host that was named.
    Ca(PathBuf),
    /// SHA-256 of the certificate itself, hexadecimal.
    Fingerprint(String),
}

pub fn server_config(files: &ServerTls) -> Result<Arc<ServerConfig>, Error> {
    let wrong = |path: &PathBuf, what: String| Error::Plan(format!("{}: {what}", path.display()));
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| wrong(&files.certificate, format!("the certificate cannot be read: {e}")))?;
    if chain.is_empty() {
        return Err(wrong(&files.certificate, "there is no certificate in this file".into()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|e| wrong(&files.key, format!("the private key cannot be read: {e}")))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites for TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|e| {
            wrong(&files.key, format!("it does not go with {}: {e}", files.certificate.display()))
        })?;
    // No client resumes a session by a ticket: a connection lasts for a whole file.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

pub fn client(tls_options: &ClientTls) -> Result<Tls, Error> {
    match tls_options {
        ClientTls::Ca(path) => {
            let roots = Roots::File(path.clone());
            Tls::new(&TlsOptions { when: When::Always, check: Check::ChainAndName, roots }, "--ca")
        }
        ClientTls::Fingerprint(text) => {
            let wrong = || {
                Error::Plan(format!(
                    "--fingerprint {text}: it is `sha256:` and 64 hexadecimal digits, as the server shows it"
                ))
            };
            let pin = fingerprint_of(text).ok_or_else(wrong)?;
            Tls::new(&TlsOptions::pinned(pin), "--fingerprint")
        }
    }
}

/// `sha256:…`, with colons between the bytes or without.
fn fingerprint_of(text: &str) -> Option<[u8; 32]> {
    let text = text.trim();
    let digits: String = text.strip_prefix("sha256:").unwrap_or(text).chars().filter(|c| *c != ':').collect();
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut pin = [0; 32];
    for (byte, pair) in pin.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(pin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_is_shown_and_as_openssl_shows_it() {
        let plain = "0f".repeat(32);
        let colons = vec!["0F"; 32].join(":");
        for text in [format!("sha256:{plain}"), plain.clone(), colons, format!(" sha256:{plain}\n")] {
            assert_eq!(fingerprint_of(&text), Some([15; 32]), "{text}");
        }
        for text in ["", "sha256:", &plain[2..], &"zz".repeat(32), &"é".repeat(32)] {
            assert_eq!(fingerprint_of(text), None, "{text}");
        }
    }
}
