//! A certificate that signs itself, for a load server that was given none. It is trusted by its fingerprint.
//!
//! X.509 version 3, one key of P-256, one signature: a list of a dozen fields. A crate for it brings four more.

use ring::rand::SystemRandom;
use ring::signature::{EcdsaKeyPair, KeyPair, ECDSA_P256_SHA256_ASN1_SIGNING};

use crate::error::Error;

/// Certificate and private key (PKCS #8), both DER.
pub struct Made {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

// Object identifiers, as DER writes them.
const EC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

// Tags.
const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8: u8 = 0x0c;
/// With two digits of the year: as it must be before 2050.
const SHORT_TIME: u8 = 0x17;
const TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;
const ADDRESS: u8 = 0x87;

/// For hosts by name or address; it does not expire: who trusts it has compared its fingerprint.
pub fn self_signed(hosts: &[String]) -> Result<Made, Error> {
    let random = SystemRandom::new();
    let failed = |_| Error::Plan("the system has no random bytes for a key".into());
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).map_err(failed)?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random)
        .expect("ring reads the key that it has just made");
    let mut serial = [0u8; 16];
    ring::rand::SecureRandom::fill(&random, &mut serial).map_err(failed)?;
    serial[0] = serial[0] & 0x7f | 0x40; // positive, and of full length
    let body = body(hosts, pair.public_key().as_ref(), &serial);
    let signature = pair.sign(&random, &body).map_err(failed)?;
    let certificate = der(SEQUENCE, &[&body, &algorithm(), &bits(signature.as_ref())]);
    Ok(Made { certificate, key: key.as_ref().to_vec() })
}

/// What is signed.
fn body(hosts: &[String], public: &[u8], serial: &[u8]) -> Vec<u8> {
    let name = der(SEQUENCE, &[&der(OBJECT, &[COMMON_NAME]), &der(UTF8, &[b"inrush load-server"])]);
    let name = der(SEQUENCE, &[&der(SET, &[&name])]);
    // 9999 is how X.509 writes: never.
    let valid = der(SEQUENCE, &[&der(SHORT_TIME, &[b"200101000000Z"]), &der(TIME, &[b"99991231235959Z"])]);
    let kind = der(SEQUENCE, &[&der(OBJECT, &[EC_KEY]), &der(OBJECT, &[P256])]);
    let key = der(SEQUENCE, &[&kind, &bits(public)]);
    let names: Vec<u8> = hosts.iter().flat_map(|host| alternative(host)).collect();
    let no_authority = extension(BASIC_CONSTRAINTS, true, &der(SEQUENCE, &[]));
    let alternatives = extension(ALTERNATIVE_NAMES, false, &der(SEQUENCE, &[&names]));
    let extensions = der(EXTENSIONS, &[&der(SEQUENCE, &[&no_authority, &alternatives])]);
    let version = der(VERSION, &[&der(INTEGER, &[&[2]])]);
    der(
        SEQUENCE,
        &[&version, &der(INTEGER, &[serial]), &algorithm(), &name, &valid, &name, &key, &extensions],
    )
}

fn algorithm() -> Vec<u8> {
    der(SEQUENCE, &[&der(OBJECT, &[ECDSA_SHA256])])
}

fn alternative(host: &str) -> Vec<u8> {
    match host.parse() {
        Ok(std::net::IpAddr::V4(address)) => der(ADDRESS, &[&address.octets()]),
        Ok(std::net::IpAddr::V6(address)) => der(ADDRESS, &[&address.octets()]),
        Err(_) => der(DNS_NAME, &[host.as_bytes()]),
    }
}

fn extension(which: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let critical = if critical { der(BOOLEAN, &[&[0xff]]) } else { Vec::new() };
    der(SEQUENCE, &[&der(OBJECT, &[which]), &critical, &der(OCTET_STRING, &[value])])
}

/// A string of whole bytes.
fn bits(bytes: &[u8]) -> Vec<u8> {
    der(BIT_STRING, &[&[0], bytes])
}

/// Tag, length, contents one behind the other.
fn der(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
    let len: usize = contents.iter().map(|c| c.len()).sum();
    let mut out = vec![tag];
    match len {
        0..=0x7f => out.push(len as u8),
        _ => {
            let bytes = len.to_be_bytes();
            let digits = &bytes[bytes.iter().position(|b| *b != 0).expect("it is not 0")..];
            out.push(0x80 | digits.len() as u8);
            out.extend_from_slice(digits);
        }
    }
    contents.iter().for_each(|c| out.extend_from_slice(c));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        assert_eq!(der(SEQUENCE, &[&[0; 127]])[..2], [0x30, 0x7f]);
        assert_eq!(der(SEQUENCE, &[&[0; 128]])[..3], [0x30, 0x81, 0x80]);
        assert_eq!(der(SEQUENCE, &[&[0; 300]])[..4], [0x30, 0x82, 0x01, 0x2c]);
    }
}
