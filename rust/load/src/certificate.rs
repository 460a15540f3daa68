//! A certificate that signs itself, for a load server that was given none. It is trusted by its fingerprint.

use rcgen::{date_time_ymd, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair};

use inrush_rows::error::Error;

/// Certificate and private key (PKCS #8), both DER.
pub struct SelfSigned {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

/// For hosts by name or address; it does not expire: a client trusts it by its fingerprint.
pub fn self_signed(hosts: &[String]) -> Result<SelfSigned, Error> {
    let failed = |e: rcgen::Error| Error::Plan(format!("a certificate for {}: {e}", hosts.join(", ")));
    let key = KeyPair::generate().map_err(failed)?;
    let mut asked = CertificateParams::new(hosts.to_vec()).map_err(failed)?;
    asked.distinguished_name = DistinguishedName::new();
    asked.distinguished_name.push(DnType::CommonName, "inrush load-server");
    // Said, not left out: it signs nothing but itself.
    asked.is_ca = IsCa::ExplicitNoCa;
    // 9999 is how X.509 writes: never.
    (asked.not_before, asked.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(9999, 12, 31));
    let certificate = asked.self_signed(&key).map_err(failed)?;
    Ok(SelfSigned { certificate: certificate.der().to_vec(), key: key.serialize_der() })
}
