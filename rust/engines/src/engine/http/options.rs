//! What the URLs of all engines behind HTTP have in common: `secure`, `ca_cert` and `verify`.

use crate::engine::tls::{Check, Roots, Tls, TlsOptions, When};
use inrush_rows::error::Error;

/// The option that names the roots.
const ROOTS: &str = "ca_cert";

/// TLS as the options ask for it. Any other option is refused; `remedy` says what to write instead.
pub fn tls(options: &[(String, String)], remedy: &str) -> Result<Tls, Error> {
    Tls::new(&tls_options(options, remedy)?, ROOTS)
}

/// `secure=true`: TLS with a certificate that is checked, `verify=false`: with any. `ca_cert=FILE`: roots that
/// count instead of the system's.
fn tls_options(options: &[(String, String)], remedy: &str) -> Result<TlsOptions, Error> {
    let (mut secure, mut verify, mut roots) = (false, true, None);
    for (name, value) in options {
        match name.as_str() {
            "secure" => secure = truth(name, value)?,
            "verify" => verify = truth(name, value)?,
            ROOTS => roots = Some(Roots::named(value)),
            _ => {
                return Err(Error::Plan(format!(
                    "target.url: option {name} is not known; known are secure, verify, {ROOTS}{remedy}"
                )))
            }
        }
    }
    if !secure && (roots.is_some() || !verify) {
        return Err(Error::Plan(format!("target.url: {ROOTS} and verify are for TLS; add secure=true")));
    }
    if !secure {
        return Ok(TlsOptions::NEVER);
    }
    let check = if verify { Check::ChainAndName } else { Check::Nothing };
    Ok(TlsOptions { when: When::Always, check, roots: roots.unwrap_or(Roots::System) })
}

fn truth(name: &str, value: &str) -> Result<bool, Error> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Error::Plan(format!("target.url: {name}={value}, but it is true or false"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Result<TlsOptions, String> {
        let pairs = query.split_terminator('&').map(|pair| pair.split_once('=').expect("a pair"));
        let options: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        tls_options(&options, "").map_err(|e| e.to_string())
    }

    #[test]
    fn tls_is_asked_for_and_then_checked_unless_that_is_given_up() {
        assert_eq!(of(""), Ok(TlsOptions::NEVER));
        assert_eq!(of("secure=false"), Ok(TlsOptions::NEVER));
        let checked = TlsOptions { when: When::Always, check: Check::ChainAndName, roots: Roots::System };
        assert_eq!(of("secure=true"), Ok(checked.clone()));
        assert_eq!(
            of("secure=1&ca_cert=/r"),
            Ok(TlsOptions { roots: Roots::File("/r".into()), ..checked.clone() })
        );
        assert_eq!(of("secure=true&verify=false"), Ok(TlsOptions { check: Check::Nothing, ..checked }));
    }

    #[test]
    fn an_option_that_would_do_nothing_is_refused_with_its_remedy() {
        assert!(of("ca_cert=/r").unwrap_err().contains("add secure=true"));
        assert!(of("verify=false").unwrap_err().contains("add secure=true"));
        assert!(of("secure=yes").unwrap_err().contains("true or false"));
        assert!(of("gzip=1").unwrap_err().contains("option gzip is not known"));
    }
}
