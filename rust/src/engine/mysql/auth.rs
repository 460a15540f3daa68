//! Proofs of a password: what the server may see of it. Pure, but for the seed that the caller brings.
//!
//! The server knows a password by its double hash and sends a challenge; the answer can be checked and not replayed.
//! A server that has forgotten what it knew (`caching_sha2_password` after its start) wants the password itself,
//! under its public key.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use sha1::{Digest, Sha1};
use sha2::Sha256;

pub const NATIVE: &str = "mysql_native_password";
pub const CACHING_SHA2: &str = "caching_sha2_password";

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

/// The password under the server's public key (PEM), for its eyes alone. `None` if this is no RSA key that fits.
///
/// seed: 20 random bytes, never used twice.
pub fn encrypted(password: &str, challenge: &[u8], key: &[u8], seed: &[u8; HASH_BYTES]) -> Option<Vec<u8>> {
    let (modulus, exponent) = public_key(key)?;
    let mut plain: Vec<u8> = password.bytes().chain([0]).collect();
    plain.iter_mut().zip(challenge.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    let padded = oaep(&plain, modulus.len(), seed)?;
    Some(power(&padded, exponent, &modulus))
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

const HASH_BYTES: usize = 20;
/// Of an RSA key's modulus. Larger ones would keep us computing for whoever sends them.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 128..=1024;

/// Message padded to the modulus' length. Source: RFC 8017, section 7.1.1, with SHA-1 and an empty label.
fn oaep(message: &[u8], bytes: usize, seed: &[u8; HASH_BYTES]) -> Option<Vec<u8>> {
    let zeros = bytes.checked_sub(message.len() + 2 * HASH_BYTES + 2)?;
    let mut data = Sha1::digest(b"").to_vec();
    data.resize(HASH_BYTES + zeros, 0);
    data.push(1);
    data.extend_from_slice(message);
    let data = xor(&data, &mask(seed, data.len()));
    let seed = xor(seed, &mask(&data, HASH_BYTES));
    Some([&[0], seed.as_slice(), data.as_slice()].concat())
}

/// MGF1. Source: RFC 8017, appendix B.2.1.
fn mask(seed: &[u8], bytes: usize) -> Vec<u8> {
    let block = |k: u32| Sha1::new().chain_update(seed).chain_update(k.to_be_bytes()).finalize();
    (0..).flat_map(block).take(bytes).collect()
}

/// Modulus (big-endian, without leading zeros) and exponent of a SubjectPublicKeyInfo in PEM.
fn public_key(pem: &[u8]) -> Option<(Vec<u8>, u32)> {
    let text = std::str::from_utf8(pem).ok()?;
    let body = text.split("-----BEGIN PUBLIC KEY-----").nth(1)?.split("-----END").next()?;
    let der = STANDARD.decode(body.split_whitespace().collect::<String>()).ok()?;
    const SEQUENCE: u8 = 0x30;
    const INTEGER: u8 = 2;
    const BIT_STRING: u8 = 3;
    let (outer, _) = element(&der, SEQUENCE)?;
    let (_algorithm, rest) = element(outer, SEQUENCE)?;
    let (bits, _) = element(rest, BIT_STRING)?;
    let (numbers, _) = element(bits.strip_prefix(&[0])?, SEQUENCE)?;
    let (modulus, rest) = element(numbers, INTEGER)?;
    let (exponent, _) = element(rest, INTEGER)?;
    let modulus: Vec<u8> = modulus.iter().copied().skip_while(|&byte| byte == 0).collect();
    let exponent = exponent.iter().try_fold(0u32, |n, &byte| n.checked_mul(256)?.checked_add(byte as u32))?;
    let is_odd = modulus.last().is_some_and(|byte| byte & 1 == 1);
    (KEY_BYTES.contains(&modulus.len()) && is_odd && exponent > 1).then_some((modulus, exponent))
}

/// Content of the DER element in front, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let rest = der.strip_prefix(&[tag])?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (first as usize, rest),
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(first as usize & 3)?;
            (bytes.iter().fold(0, |n, &byte| n << 8 | byte as usize), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// base^exponent mod modulus, as long as the modulus, which is odd; all big-endian.
///
/// Some µs for the one login that needs it. Nothing of it is secret but the base.
fn power(base: &[u8], exponent: u32, modulus: &[u8]) -> Vec<u8> {
    let modulus = limbs(modulus);
    let factor = Montgomery::new(&modulus);
    let base = factor.times(&limbs_of(base, modulus.len()), &factor.square);
    let mut result = base.clone();
    let top = 31 - exponent.leading_zeros();
    for bit in (0..top).rev() {
        result = factor.times(&result, &result);
        if exponent >> bit & 1 == 1 {
            result = factor.times(&result, &base);
        }
    }
    let mut one = vec![0; modulus.len()];
    one[0] = 1;
    let result = factor.times(&result, &one);
    let bytes: Vec<u8> = result.iter().rev().flat_map(|limb| limb.to_be_bytes()).collect();
    let spare = (modulus.len() - 1) * 4;
    bytes[bytes.len() - spare..].to_vec()
}

/// Little-endian, with a spare limb for sums.
fn limbs(bytes: &[u8]) -> Vec<u32> {
    limbs_of(bytes, bytes.len().div_ceil(4) + 1)
}

fn limbs_of(bytes: &[u8], count: usize) -> Vec<u32> {
    let limb = |chunk: &[u8]| chunk.iter().fold(0u32, |n, &byte| n << 8 | byte as u32);
    let mut limbs: Vec<u32> = bytes.rchunks(4).map(limb).collect();
    limbs.resize(count, 0);
    limbs
}

/// Products modulo an odd number without a division: numbers travel multiplied by r, 2^32 to the number of limbs.
struct Montgomery<'a> {
    modulus: &'a [u32],
    /// -1/modulus modulo 2^32.
    inverse: u32,
    /// r² modulo modulus.
    square: Vec<u32>,
}

impl Montgomery<'_> {
    fn new(modulus: &[u32]) -> Montgomery<'_> {
        // Newton's steps double the right bits: 1 is right in the lowest.
        let inverse = (0..5).fold(1u32, |x, _| x.wrapping_mul(2u32.wrapping_sub(modulus[0].wrapping_mul(x))));
        let mut square = vec![0; modulus.len()];
        square[0] = 1;
        for _ in 0..64 * modulus.len() {
            let same = square.clone();
            add(&mut square, &same, modulus);
        }
        Montgomery { modulus, inverse: inverse.wrapping_neg(), square }
    }

    /// a * b / r mod modulus; both are below it. Source: Koç et al., "Analyzing and comparing Montgomery multiplication
    /// algorithms", IEEE Micro 1996, CIOS.
    fn times(&self, a: &[u32], b: &[u32]) -> Vec<u32> {
        let n = self.modulus;
        let mut sum = vec![0u32; n.len() + 2];
        for &limb in b {
            let mut carry = 0u64;
            for (at, &a) in a.iter().enumerate() {
                carry += u64::from(sum[at]) + u64::from(a) * u64::from(limb);
                sum[at] = carry as u32;
                carry >>= 32;
            }
            carry += u64::from(sum[n.len()]);
            (sum[n.len()], sum[n.len() + 1]) = (carry as u32, (carry >> 32) as u32);
            let m = u64::from(sum[0].wrapping_mul(self.inverse));
            let mut carry = (u64::from(sum[0]) + m * u64::from(n[0])) >> 32;
            for at in 1..n.len() {
                carry += u64::from(sum[at]) + m * u64::from(n[at]);
                sum[at - 1] = carry as u32;
                carry >>= 32;
            }
            carry += u64::from(sum[n.len()]);
            sum[n.len() - 1] = carry as u32;
            sum[n.len()] = sum[n.len() + 1] + (carry >> 32) as u32;
        }
        // The modulus has a spare limb, so that the sum, below twice the modulus, fits into as many.
        sum.truncate(n.len());
        let zero = vec![0; n.len()];
        add(&mut sum, &zero, n);
        sum
    }
}

/// sum + other mod modulus, where both together are below twice the modulus.
fn add(sum: &mut [u32], other: &[u32], modulus: &[u32]) {
    let mut carry = 0;
    for (limb, other) in sum.iter_mut().zip(other) {
        carry += *limb as u64 + *other as u64;
        *limb = carry as u32;
        carry >>= 32;
    }
    if sum.iter().rev().cmp(modulus.iter().rev()).is_ge() {
        let mut borrow = 0;
        for (limb, other) in sum.iter_mut().zip(modulus) {
            let left = *limb as i64 - *other as i64 + borrow;
            *limb = left as u32;
            borrow = left >> 32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

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
    fn powers_are_those_of_small_numbers() {
        let modulus = 4_000_000_007u64; // a prime above 2^31
        for (base, exponent) in [(2u64, 10), (3, 65_537), (3_999_999_999, 65_537), (12_345, 3)] {
            let expected =
                (0..exponent).fold(1u64, |n, _| (n as u128 * base as u128 % modulus as u128) as u64);
            let found = power(&(base as u32).to_be_bytes(), exponent, &(modulus as u32).to_be_bytes());
            assert_eq!(found, (expected as u32).to_be_bytes());
        }
    }

    #[test]
    fn a_padded_message_gives_itself_back() {
        let padded = oaep(b"message", 128, &[7; HASH_BYTES]).unwrap();
        assert_eq!((padded.len(), padded[0]), (128, 0));
        let (seed, data) = padded[1..].split_at(HASH_BYTES);
        let seed = xor(seed, &mask(data, HASH_BYTES));
        assert_eq!(seed, [7; HASH_BYTES]);
        let data = xor(data, &mask(&seed, data.len()));
        assert_eq!(hex(&data[..HASH_BYTES]), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert!(data.ends_with(b"\x01message"));
        assert_eq!(oaep(&[0; 100], 128, &[0; HASH_BYTES]), None, "too long for the key");
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
        let (modulus, exponent) = public_key(KEY.as_bytes()).unwrap();
        assert_eq!((modulus.len(), exponent), (128, 65_537));
        let secret = encrypted("secret", b"0123", KEY.as_bytes(), &[1; HASH_BYTES]).unwrap();
        assert_eq!(secret.len(), 128);
        assert_eq!(public_key(b"-----BEGIN PUBLIC KEY-----\nMIGf\n-----END PUBLIC KEY-----"), None);
        assert_eq!(public_key(b""), None);
    }
}
