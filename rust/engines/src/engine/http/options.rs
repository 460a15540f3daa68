//! What the URLs of all engines behind HTTP and RESP have in common: `secure`, `ca_cert`, `verify` and a limit of connecting.

use std::time::Duration;

use crate::engine::tls::{Check, Roots, TlsOptions, When};
use crate::engine::url::Options;

/// The option that names the roots.
pub const ROOTS: &str = "ca_cert";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub tls_options: TlsOptions,
    /// Longest time to connect and to log in.
    pub connect: Duration,
}

/// `secure=true`: TLS with a certificate that is checked, `verify=false`: with any. `ca_cert=FILE`: roots that
/// count instead of the system's. Pure.
pub fn said(options: &mut Options) -> Said {
    let secure = options.truth(&["secure", "ssl"]).unwrap_or(false);
    let verify = options.truth(&["verify"]).unwrap_or(true);
    let roots = options.text(&[ROOTS]).map(|text| Roots::named(&text));
    let connect = options.connect_limit(&["connect_timeout"], &["connection_timeout"]);
    if !secure && (roots.is_some() || !verify) {
        options.problems.push(format!("{ROOTS} and verify are for TLS; add secure=true"));
    }
    let check = if verify { Check::ChainAndName } else { Check::Nothing };
    let tls_options = match secure {
        false => TlsOptions::NEVER,
        true => TlsOptions { when: When::Always, check, roots: roots.unwrap_or(Roots::System) },
    };
    Said { tls_options, connect }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::url::Url;

    fn of(query: &str) -> Result<TlsOptions, String> {
        let mut options = Url::read(&format!("http://h?{query}")).unwrap().options();
        let said = said(&mut options);
        let problems = options.end("");
        if problems.is_empty() {
            Ok(said.tls_options)
        } else {
            Err(problems.join("; "))
        }
    }

    #[test]
    fn tls_is_asked_for_and_then_checked_unless_that_is_given_up() {
        assert_eq!(of(""), Ok(TlsOptions::NEVER));
        assert_eq!(of("secure=false&connect_timeout=3"), Ok(TlsOptions::NEVER));
        let checked = TlsOptions { when: When::Always, check: Check::ChainAndName, roots: Roots::System };
        assert_eq!(of("secure=true"), Ok(checked.clone()));
        assert_eq!(of("ssl=true"), Ok(checked.clone()));
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
