//! What an address of MySQL's or MariaDB's says, by the words of their clients and drivers. Pure.

use std::path::PathBuf;
use std::time::Duration;

use crate::engine::socket::PATH_MOST;
use crate::engine::tls::{is_loopback, Check, Roots, TlsOptions, When};
use crate::engine::url::{Options, Url};

type Mode = (When, Check);

const MODES: [(&str, Mode); 5] = [
    ("DISABLED", (When::Never, Check::Nothing)),
    ("PREFERRED", (When::IfOffered, Check::Nothing)),
    ("REQUIRED", (When::Always, Check::Nothing)),
    ("VERIFY_CA", (When::Always, Check::Chain)),
    ("VERIFY_IDENTITY", (When::Always, Check::ChainAndName)),
];
/// `tls` of the driver for Go.
const GO_MODES: [(&str, Mode); 4] = [
    ("true", (When::Always, Check::ChainAndName)),
    ("false", (When::Never, Check::Nothing)),
    ("skip-verify", (When::Always, Check::Nothing)),
    ("preferred", (When::IfOffered, Check::Nothing)),
];
/// Of drivers: how values look in their language, or how they send statements. inrush has its own ways.
const WITHOUT_EFFECT: [&str; 13] = [
    "serverTimezone",
    "connectionTimeZone",
    "useUnicode",
    "zeroDateTimeBehavior",
    "tinyInt1isBit",
    "nullCatalogMeansCurrent",
    "useServerPrepStmts",
    "cachePrepStmts",
    "rewriteBatchedStatements",
    "parseTime",
    "loc",
    "interpolateParams",
    "multiStatements",
];

#[derive(Debug, PartialEq, Eq)]
pub struct Spelled {
    pub host: String,
    pub port: u16,
    pub socket: Option<PathBuf>,
    pub user: String,
    /// Empty: none is chosen.
    pub database: String,
    pub tls_options: TlsOptions,
    pub connect: Duration,
    pub allow_cleartext: bool,
    pub trust_key: bool,
}

impl Spelled {
    /// Fails with all that is wrong.
    pub fn of(url: &Url) -> Result<Spelled, Vec<String>> {
        let mut options = url.options();
        let socket = options.text(&["socket", "unix_socket"]).map(PathBuf::from);
        let wrong = |path: &PathBuf| !path.is_absolute() || path.as_os_str().len() > PATH_MOST;
        if socket.as_ref().is_some_and(wrong) {
            options.problems.push(format!(
                "socket is no absolute path of at most {PATH_MOST} bytes; a symbolic link can shorten it"
            ));
        }
        let mut problems = Vec::new();
        let host = url.one_host(&mut problems);
        let tls_options = tls_options(&host.name, &mut options);
        let connect = options.connect_limit(&["connect_timeout", "connect-timeout"], &["connectTimeout"]);
        let allow_cleartext = options.truth(&["allow-cleartext-password"]).unwrap_or(false);
        let trust_key = options.truth(&["get-server-public-key", "allowPublicKeyRetrieval"]).unwrap_or(false);
        options.only(&["charset", "characterEncoding"], &["utf8mb4", "utf8", "utf-8"], "inrush speaks UTF-8");
        options.only(&["compress", "useCompression"], &["false", "0"], "inrush does not compress");
        options.without_effect(&WITHOUT_EFFECT);
        problems.extend(options.end(""));
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Spelled {
            host: host.name,
            port: host.port.unwrap_or(3306),
            tls_options: if socket.is_some() { TlsOptions::NEVER } else { tls_options },
            socket,
            user: if url.user.is_empty() { "root".to_owned() } else { url.user.clone() },
            database: url.path.clone(),
            connect,
            allow_cleartext,
            trust_key,
        })
    }
}

/// What `ssl-mode` and `ssl-ca` mean to MySQL's clients, and other words to the drivers for Java and Go.
///
/// They prefer TLS where nothing is said. So do we, but on this machine's own addresses nothing is encrypted then.
fn tls_options(host: &str, options: &mut Options) -> TlsOptions {
    let mode = options.word(&["ssl-mode", "ssl_mode", "sslMode"], &MODES);
    let roots = options.text(&["ssl-ca", "ssl_ca"]).map(|text| Roots::named(&text));
    let java = java_mode(options);
    let go = options.word(&["tls"], &GO_MODES);
    let usual = match roots {
        Some(_) => (When::Always, Check::Chain),
        None if is_loopback(host) => (When::Never, Check::Nothing),
        None => (When::IfOffered, Check::Nothing),
    };
    match mode.or(java).or(go).unwrap_or(usual) {
        (When::Never, _) => TlsOptions::NEVER,
        (when, check) => TlsOptions { when, check, roots: roots.unwrap_or(Roots::System) },
    }
}

/// Source: Connector/J 8, table of `useSSL`, `requireSSL` and `verifyServerCertificate` in its manual, "Security".
fn java_mode(options: &mut Options) -> Option<Mode> {
    let uses = options.truth(&["useSSL"]);
    let requires = options.truth(&["requireSSL"]).unwrap_or(false);
    let verifies = options.truth(&["verifyServerCertificate"]).unwrap_or(false);
    match uses {
        Some(false) => Some((When::Never, Check::Nothing)),
        _ if verifies => Some((When::Always, Check::Chain)),
        _ if requires => Some((When::Always, Check::Nothing)),
        Some(true) => Some((When::IfOffered, Check::Nothing)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(host: &str, query: &str) -> Result<Spelled, String> {
        let url = Url::read(&format!("mysql://{host}/d?{query}")).unwrap();
        Spelled::of(&url).map_err(|problems| problems.join("; "))
    }

    #[test]
    fn modes_mean_what_they_mean_to_the_clients() {
        let of = |host: &str, query: &str| {
            spelled(host, query).map(|of| (of.tls_options.when, of.tls_options.check))
        };
        assert_eq!(of("127.0.0.1", "").unwrap(), (When::Never, Check::Nothing));
        assert_eq!(of("db.example", "").unwrap(), (When::IfOffered, Check::Nothing));
        assert_eq!(of("db.example", "ssl-mode=DISABLED").unwrap(), (When::Never, Check::Nothing));
        assert_eq!(of("localhost", "ssl-mode=preferred").unwrap(), (When::IfOffered, Check::Nothing));
        assert_eq!(of("h", "ssl-mode=REQUIRED&ssl-ca=/r").unwrap(), (When::Always, Check::Nothing));
        assert_eq!(of("localhost", "ssl-ca=/r").unwrap(), (When::Always, Check::Chain));
        assert_eq!(of("h", "ssl-mode=VERIFY_IDENTITY").unwrap(), (When::Always, Check::ChainAndName));
        assert!(of("h", "ssl-mode=ON").unwrap_err().contains("ssl-mode is not one of DISABLED"));
        assert!(of("h", "ssl-key=/k").unwrap_err().contains("option ssl-key"));
    }

    #[test]
    fn what_drivers_put_into_their_addresses_is_known() {
        let java = "useSSL=false&allowPublicKeyRetrieval=true&serverTimezone=UTC&useUnicode=true\
                    &characterEncoding=UTF-8&connectTimeout=3000&rewriteBatchedStatements=true";
        let of = spelled("h", java).unwrap();
        assert_eq!((of.tls_options.when, of.trust_key), (When::Never, true));
        assert_eq!(of.connect, Duration::from_secs(3));
        let of =
            |query: &str| spelled("h", query).map(|of| (of.tls_options.when, of.tls_options.check)).unwrap();
        assert_eq!(of("useSSL=true"), (When::IfOffered, Check::Nothing));
        assert_eq!(of("useSSL=true&requireSSL=true"), (When::Always, Check::Nothing));
        assert_eq!(of("useSSL=true&verifyServerCertificate=true"), (When::Always, Check::Chain));
        assert_eq!(of("tls=skip-verify&parseTime=true&charset=utf8mb4"), (When::Always, Check::Nothing));
        assert!(spelled("h", "charset=latin1").unwrap_err().contains("charset: inrush speaks UTF-8"));
        assert!(spelled("h", "useCompression=true").unwrap_err().contains("does not compress"));
    }
}
