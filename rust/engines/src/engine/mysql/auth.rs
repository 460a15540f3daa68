//! Proofs of a password: what the server may see of it. Pure, but for the random bytes of an encryption.
//!
//! The server knows a password by its double hash and sends a challenge; the answer can be checked and not replayed.
//! A server that has forgotten what it knew (`caching_sha2_password` after its start) wants the password itself,
//! under its public key.

use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::OsRng;
use rsa::traits::PublicKeyParts;
use rsa::{Oaep, RsaPublicKey};
use sha1::{Digest, Sha1};
use sha2::Sha256;

pub const NATIVE: &str = "mysql_native_password";
pub const CACHING_SHA2: &str = "caching_sha2_password";
/// Of a key that a password may be sent under.
const LEAST_KEY_BYTES: usize = 128;

/// The answer to a challenge; `None` for a plugin that we do not speak. An empty password proves itself by nothing.
pub fn proof(plugin: &str, password: &str, challenge: &[u8]) -> Option<Vec<u8>> {
    match plugin {
        NATIVE | CACHING_SHA2 if password.is_empty() => Some(Vec::new()),
        NATIVE => {
            let once = Sha1::digest(password);
            let twice = Sha1::digest(once);
            Some(xor(&once, &Sha1::new().chain_update(challenge).chain_update(twice).finalize()))
        }
        CACHING_SHA2 => {
            let once = Sha256::digest(password);
            let twice = Sha256::digest(once);
            Some(xor(&once, &Sha256::new().chain_update(twice).chain_update(challenge).finalize()))
        }
        _ => None,
    }
}

/// The password under the server's public key (PEM), for its eyes alone. `None` if this is no RSA key of 1,024 to
/// 4,096 bits, or too small a one for this password.
pub fn encrypted(password: &str, challenge: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let key = RsaPublicKey::from_public_key_pem(std::str::from_utf8(key).ok()?.trim()).ok()?;
    let mut plain: Vec<u8> = password.bytes().chain([0]).collect();
    plain.iter_mut().zip(challenge.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    (key.size() >= LEAST_KEY_BYTES)
        .then(|| key.encrypt(&mut OsRng, Oaep::new::<sha1_of_rsa::Sha1>(), &plain))?
        .ok()
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use rsa::pkcs8::{EncodePublicKey, LineEnding};
    use rsa::RsaPrivateKey;

    use super::*;

    #[test]
    fn proofs_can_be_checked_by_who_knows_the_double_hash() {
        let challenge = b"01234567890123456789";
        let native = proof(NATIVE, "secret", challenge).unwrap();
        let twice = Sha1::digest(Sha1::digest("secret"));
        let once = xor(&native, &Sha1::new().chain_update(challenge).chain_update(twice).finalize());
        assert_eq!(Sha1::digest(once), twice);
        let sha2 = proof(CACHING_SHA2, "secret", challenge).unwrap();
        let twice = Sha256::digest(Sha256::digest("secret"));
        let once = xor(&sha2, &Sha256::new().chain_update(twice).chain_update(challenge).finalize());
        assert_eq!(Sha256::digest(once), twice);
        assert_eq!(proof(NATIVE, "", challenge), Some(vec![]));
        assert_eq!(proof("unix_socket", "secret", challenge), None);
    }

    #[test]
    fn a_password_under_a_key_is_read_by_its_owner_alone() {
        let owner = RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
        let pem = owner.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        let challenge = b"01234567890123456789";
        let secret = encrypted("a secret that is long", challenge, pem.as_bytes()).unwrap();
        let plain = owner.decrypt(Oaep::new::<sha1_of_rsa::Sha1>(), &secret).unwrap();
        let masked: Vec<u8> = plain.iter().zip(challenge.iter().cycle()).map(|(a, b)| a ^ b).collect();
        assert_eq!(masked, b"a secret that is long\0");
        assert_ne!(
            encrypted("a secret that is long", challenge, pem.as_bytes()).unwrap(),
            secret,
            "a seed of its own"
        );
        assert_eq!(encrypted(&"x".repeat(100), challenge, pem.as_bytes()), None, "too long for the key");
        let small = RsaPrivateKey::new(&mut OsRng, 512).unwrap();
        let pem = small.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        assert_eq!(encrypted("x", challenge, pem.as_bytes()), None, "a key that is broken in an hour");
    }

    /// 1024 bits, made for this test.
    const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDXoy3YZTIsxLADsYNSsrJgFI9s
OmqbtE132TOMalgpSZdBpk3bv/Iwmd2QsA2rWwKBAcrdPoFiKzMYjJ3KUXlNJd6G
H+0/fgjRiTFcbgM/jHZ13obMDLeaTM2iWLQxvy2mXUv5ZYILYvqBp5GOTnSSyph7
bAcqYCT39D4gtec/NwIDAQAB
-----END PUBLIC KEY-----";

    #[test]
    fn a_public_key_is_read() {
        assert_eq!(encrypted("secret", b"0123", KEY.as_bytes()).unwrap().len(), 128);
        let cut = b"-----BEGIN PUBLIC KEY-----\nMIGf\n-----END PUBLIC KEY-----";
        assert_eq!(encrypted("secret", b"0123", cut), None);
        assert_eq!(encrypted("secret", b"0123", b""), None);
        assert_eq!(encrypted("secret", b"0123", &[0xff; 4]), None);
    }
}
