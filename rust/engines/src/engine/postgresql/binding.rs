//! SCRAM with channel binding (RFC 5929, `tls-server-end-point`): the proof of a password is for the server whose
//! certificate the connection has, so that no machine in between can pass it on.

use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::spelled::Binding;

/// Mechanism and binding, of those that a server offers; what is missing where there is none. certificate: of the
/// server, in a connection with TLS.
pub fn chosen(
    wanted: Binding,
    offered: &[u8],
    certificate: Option<&[u8]>,
) -> Result<(&'static str, ChannelBinding), &'static str> {
    let offers = |mechanism: &str| offered.split(|&byte| byte == 0).any(|name| name == mechanism.as_bytes());
    let bound = certificate.filter(|_| wanted != Binding::Never);
    let hash = bound.and_then(hash);
    match (offers(SCRAM_SHA_256_PLUS), hash) {
        (true, Some(hash)) => Ok((SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash))),
        _ if wanted == Binding::Always && certificate.is_none() => Err("channel_binding=require needs TLS; add sslmode=require"),
        (true, None) if wanted == Binding::Always => Err("the server's certificate is signed in a way that names no hash, which channel_binding=require needs"),
        (false, _) if wanted == Binding::Always => Err("the server offers no SCRAM-SHA-256-PLUS, which channel_binding=require asks for"),
        _ if !offers(SCRAM_SHA_256) => Err("the server offers no SCRAM-SHA-256"),
        // The server learns that we could: it refuses us where a machine in between has hidden its own ability.
        (false, Some(_)) => Ok((SCRAM_SHA_256, ChannelBinding::unrequested())),
        _ => Ok((SCRAM_SHA_256, ChannelBinding::unsupported())),
    }
}

/// By the hash of the certificate's own signature, or by SHA-256 where that is weaker; `None` where it has none.
fn hash(certificate: &[u8]) -> Option<Vec<u8>> {
    let (whole, _) = element(certificate)?;
    let (_, behind) = element(whole)?;
    let (algorithm, _) = element(behind)?;
    let (oid, _) = element(algorithm)?;
    // RSA: PKCS #1 (RFC 8017). ECDSA: RFC 5758 and ANSI X9.62.
    Some(match oid {
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4 | 5 | 11]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1] => Sha256::digest(certificate).to_vec(),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12] | [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3] => {
            Sha384::digest(certificate).to_vec()
        }
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13] | [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4] => {
            Sha512::digest(certificate).to_vec()
        }
        _ => return None,
    })
}

/// Content of the first element of DER, and what stands behind it.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (first as usize, rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked((first & 0x7f) as usize)?;
            (digits.iter().fold(0, |length, &digit| length << 8 | digit as usize), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLUS: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
    const PLAIN: &[u8] = b"SCRAM-SHA-256\0\0";

    /// A sequence of an empty one and of one with this algorithm: enough of a certificate.
    fn certificate(oid: &[u8]) -> Vec<u8> {
        let mut algorithm = vec![0x30, oid.len() as u8 + 2, 6, oid.len() as u8];
        algorithm.extend_from_slice(oid);
        let mut whole = vec![0x30, 0x81, algorithm.len() as u8 + 2, 0x30, 0];
        whole.extend(algorithm);
        whole
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        for (oid, bytes) in [
            (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5][..], Some(32)),
            (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11][..], Some(32)),
            (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2][..], Some(32)),
            (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3][..], Some(48)),
            (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13][..], Some(64)),
            (&[0x2b, 0x65, 0x70][..], None), // Ed25519
        ] {
            let certificate = certificate(oid);
            assert_eq!(hash(&certificate).map(|hash| hash.len()), bytes, "{oid:?}");
            for end in 0..certificate.len() {
                assert_eq!(hash(&certificate[..end]), None, "cut after {end} bytes");
            }
        }
    }

    #[test]
    fn what_is_asked_for_is_used_or_refused() {
        let signed = certificate(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11]);
        let mechanism =
            |wanted, offered, certificate| chosen(wanted, offered, certificate).map(|(name, _)| name);
        assert_eq!(mechanism(Binding::IfOffered, PLUS, Some(&signed)), Ok(SCRAM_SHA_256_PLUS));
        assert_eq!(mechanism(Binding::IfOffered, PLUS, None), Ok(SCRAM_SHA_256));
        assert_eq!(mechanism(Binding::Never, PLUS, Some(&signed)), Ok(SCRAM_SHA_256));
        assert_eq!(mechanism(Binding::Always, PLUS, Some(&signed)), Ok(SCRAM_SHA_256_PLUS));
        assert!(mechanism(Binding::Always, PLAIN, Some(&signed)).unwrap_err().contains("offers no"));
        assert!(mechanism(Binding::Always, PLUS, None).unwrap_err().contains("needs TLS"));
        let nameless = certificate(&[0x2b, 0x65, 0x70]);
        assert!(mechanism(Binding::Always, PLUS, Some(&nameless)).unwrap_err().contains("no hash"));
        assert_eq!(mechanism(Binding::IfOffered, PLUS, Some(&nameless)), Ok(SCRAM_SHA_256));
        assert!(mechanism(Binding::IfOffered, b"OTHER\0\0", None).unwrap_err().contains("no SCRAM"));
    }
}
