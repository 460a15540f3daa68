//! What an address of PostgreSQL's says, by libpq's words. Pure: no file, no variable, no server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::speaker::Speaker;
use crate::engine::socket::PATH_MOST;
use crate::engine::tls::{is_loopback, Check, Roots, TlsOptions, When};
use crate::engine::url::{port_of, Host, Url};

/// `sslmode` by its words.
pub const MODES: [(&str, (When, Check)); 6] = [
    ("disable", (When::Never, Check::Nothing)),
    ("allow", (When::IfRefused, Check::Nothing)),
    ("prefer", (When::IfOffered, Check::Nothing)),
    ("require", (When::Always, Check::Nothing)),
    ("verify-ca", (When::Always, Check::Chain)),
    ("verify-full", (When::Always, Check::ChainAndName)),
];
/// Of libpq, and of no meaning to a client that inrush is: its sockets have limits of their own.
const WITHOUT_EFFECT: [&str; 8] = [
    "fallback_application_name",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
    "sslsni",
    "sslcompression",
];

/// Whether a password is proven together with the certificate of the connection: no machine in between can pass it on then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    Never,
    /// Where connection and server can.
    IfOffered,
    Always,
}

/// What a server must be, of those that a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    /// Any, where none is a standby.
    PreferStandby,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Spelled {
    /// In the order in which they are tried: a name or an address; or, from `/` on, the folder of a Unix socket.
    pub hosts: Vec<(String, u16)>,
    pub user: String,
    pub database: String,
    pub mode: Option<(When, Check)>,
    pub roots: Option<Roots>,
    pub connect: Duration,
    pub startup: Vec<(&'static str, String)>,
    pub binding: Binding,
    pub wanted: Wanted,
    /// Whether a pooler gives each transaction another session; `None`: to be found out.
    pub pooled: Option<bool>,
    pub http: Option<u16>,
}

impl Spelled {
    /// Fails with all that is wrong. As libpq: `host` and `port` among the options count before those in front.
    pub fn of(url: &Url, speaker: &'static Speaker) -> Result<Spelled, Vec<String>> {
        let named =
            |name: &str, default: &str| if name.is_empty() { default.to_owned() } else { name.to_owned() };
        let mut options = url.options();
        let (host, port) = (options.text(&["host"]), options.text(&["port"]));
        let database = options.text(&["dbname"]).unwrap_or_else(|| url.path.clone());
        let mode = options.word(&["sslmode"], &MODES);
        let roots =
            options.text(&["sslrootcert"]).filter(|text| !text.is_empty()).map(|text| Roots::named(&text));
        let connect = options.connect_limit(&["connect_timeout"], &[]);
        let startup = ["application_name", "options"]
            .into_iter()
            .filter_map(|name| Some((name, options.text(&[name])?)))
            .collect();
        let binding =
            [("disable", Binding::Never), ("prefer", Binding::IfOffered), ("require", Binding::Always)];
        let binding = options.word(&["channel_binding"], &binding).unwrap_or(Binding::IfOffered);
        let wanted = [
            ("any", Wanted::Any),
            ("read-write", Wanted::ReadWrite),
            ("read-only", Wanted::ReadOnly),
            ("primary", Wanted::Primary),
            ("standby", Wanted::Standby),
            ("prefer-standby", Wanted::PreferStandby),
        ];
        let wanted = options.word(&["target_session_attrs"], &wanted).unwrap_or(Wanted::Any);
        let pooled = options.word(&["pooler"], &[("transaction", true), ("none", false)]);
        options.only(&["client_encoding"], &["UTF8", "auto", "utf-8"], "inrush speaks UTF-8");
        options.only(&["gssencmode"], &["disable", "prefer"], "inrush does not encrypt by GSSAPI");
        options.only(&["load_balance_hosts"], &["disable"], "inrush tries hosts in their order");
        options.only(&["sslnegotiation"], &["postgres"], "inrush asks for TLS as PostgreSQL always had it");
        options.without_effect(&WITHOUT_EFFECT);
        let http = match speaker.has_http {
            true => options.text(&["http"]).map(|digits| {
                port_of(&digits).ok_or_else(|| options.problems.push("http is not a port".to_owned()))
            }),
            false => None,
        };
        let places = places(url, host.as_deref(), port.as_deref(), speaker.port).unwrap_or_else(|problem| {
            options.problems.push(problem);
            Vec::new()
        });
        options.problems.extend(places.iter().find_map(|(host, port)| only_here(&socket_file(host, *port)?)));
        options.problems.extend(unverified(mode, roots.as_ref()));
        let problems = options.end("");
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Spelled {
            hosts: places,
            user: named(&url.user, speaker.user),
            database: named(&database, speaker.database),
            mode,
            roots,
            connect,
            startup,
            binding,
            wanted,
            pooled,
            http: http.and_then(Result::ok),
        })
    }
}

/// Hosts with their ports: one port is that of all of them.
fn places(
    url: &Url,
    host: Option<&str>,
    port: Option<&str>,
    usual: u16,
) -> Result<Vec<(String, u16)>, String> {
    let front = url.hosts.first().and_then(|host| host.port);
    let mut hosts: Vec<Host> = match host {
        None => url.hosts.clone(),
        Some(list) => list
            .split(',')
            .map(|name| Host { name: name.trim_matches(['[', ']']).to_owned(), port: front })
            .collect(),
    };
    if let Some(list) = port {
        let ports: Vec<&str> = list.split(',').collect();
        if ports.len() != 1 && ports.len() != hosts.len() {
            return Err(format!("port has {} values for {} hosts", ports.len(), hosts.len()));
        }
        for (host, digits) in hosts.iter_mut().zip(ports.iter().cycle()) {
            host.port = match digits.is_empty() {
                true => None,
                false => Some(port_of(digits).ok_or("port is not a port from 1 to 65535")?),
            };
        }
    }
    let named = |name: String| if name.is_empty() { "localhost".to_owned() } else { name };
    Ok(hosts.into_iter().map(|host| (named(host.name), host.port.unwrap_or(usual))).collect())
}

/// The socket's file in the folder that `host` names; `None` for a host of the network.
pub fn socket_file(host: &str, port: u16) -> Option<PathBuf> {
    host.starts_with('/').then(|| Path::new(host).join(format!(".s.PGSQL.{port}")))
}

/// The kernel takes no longer paths, and a server could not have listened there.
fn only_here(file: &Path) -> Option<String> {
    let bytes = file.as_os_str().len();
    (bytes > PATH_MOST).then(|| {
        format!(
            "the server's socket has {bytes} bytes, and the path of a socket {PATH_MOST} at most; name a folder with a \
             shorter path (a symbolic link will do), or the server's port"
        )
    })
}

/// The system's roots sign every host's certificate: a mode that asks for no name would take any of them.
fn unverified(mode: Option<(When, Check)>, roots: Option<&Roots>) -> Option<String> {
    let weak = mode.is_some_and(|(when, check)| when != When::Never && check != Check::ChainAndName);
    (weak && roots == Some(&Roots::System)).then(|| {
        "with sslrootcert=system any host's certificate would do for this sslmode; use verify-full".to_owned()
    })
}

/// What mode and roots mean to libpq. It prefers TLS where nothing is said. So do we, but on this machine's own
/// addresses nothing is encrypted then. implied: a file of roots that is there is used without being named.
pub fn tls_options(
    host: &str,
    mode: Option<(When, Check)>,
    roots: Option<Roots>,
    implied: Option<PathBuf>,
) -> Result<TlsOptions, String> {
    if let Some(problem) = unverified(mode, roots.as_ref()) {
        return Err(problem);
    }
    let (when, check) = mode.unwrap_or(match roots {
        Some(Roots::System) => (When::Always, Check::ChainAndName),
        None if is_loopback(host) => (When::Never, Check::Nothing),
        _ => (When::IfOffered, Check::Nothing),
    });
    if when == When::Never {
        return Ok(TlsOptions::NEVER);
    }
    // As libpq: if roots are at hand the chain is checked, whatever the mode.
    let roots = roots.or(implied.map(Roots::File));
    let check = if roots.is_some() { check.max(Check::Chain) } else { check };
    Ok(TlsOptions { when, check, roots: roots.unwrap_or(Roots::System) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::postgresql::POSTGRESQL;

    fn spelled(text: &str) -> Result<Spelled, Vec<String>> {
        Url::read(text).and_then(|url| Spelled::of(&url, &POSTGRESQL))
    }

    #[test]
    fn what_clouds_put_into_their_addresses_is_known() {
        let of = spelled(
            "postgresql://me:pw@h.example/d?sslmode=verify-full&sslrootcert=system&channel_binding=require\
             &connect_timeout=7&application_name=mine&options=endpoint%3Dep-1&target_session_attrs=read-write\
             &keepalives=1&keepalives_idle=30&client_encoding=utf8&gssencmode=disable",
        )
        .unwrap();
        assert_eq!((of.binding, of.wanted), (Binding::Always, Wanted::ReadWrite));
        assert_eq!(of.connect, Duration::from_secs(7));
        let startup = vec![("application_name", "mine".to_owned()), ("options", "endpoint=ep-1".to_owned())];
        assert_eq!(of.startup, startup);
        assert_eq!((of.mode, of.roots), (Some((When::Always, Check::ChainAndName)), Some(Roots::System)));
    }

    #[test]
    fn several_hosts_stand_in_front_or_among_the_options() {
        let two = vec![("a".to_owned(), 1), ("b".to_owned(), 2)];
        assert_eq!(spelled("postgresql://a:1,b:2/d").unwrap().hosts, two);
        assert_eq!(spelled("postgresql:///d?host=a,b&port=1,2").unwrap().hosts, two);
        let same = vec![("a".to_owned(), 5432), ("::1".to_owned(), 5432)];
        assert_eq!(spelled("postgresql://a,[::1]/d").unwrap().hosts, same);
        assert_eq!(spelled("postgresql:///d?host=a,::1").unwrap().hosts, same);
        let problems = spelled("postgresql:///d?host=a,b,c&port=1,2").unwrap_err();
        assert_eq!(problems, ["port has 2 values for 3 hosts"]);
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once_by_name_and_without_a_value() {
        let url = "postgresql://h/d?sslmode=S3cr&gzip=S3cr&port=S3cr&zip=S3cr&connect_timeout=S3cr&channel_binding=S3cr";
        let problems = spelled(url).unwrap_err().join("; ");
        for name in [
            "sslmode is not",
            "option gzip",
            "port is not",
            "option zip",
            "connect_timeout",
            "channel_binding",
        ] {
            assert!(problems.contains(name), "{name}: {problems}");
        }
        assert!(!problems.contains("S3cr"), "{problems}");
    }

    #[test]
    fn modes_and_roots_mean_what_they_mean_to_libpq() {
        let of = |query: &str| {
            let of = spelled(&format!("postgresql://db.example/d?{query}")).map_err(|e| e.join("; "))?;
            tls_options("db.example", of.mode, of.roots, None)
                .map(|tls_options| (tls_options.when, tls_options.check))
        };
        assert_eq!(of("sslmode=disable&sslrootcert=/r").unwrap(), (When::Never, Check::Nothing));
        assert_eq!(of("sslmode=allow").unwrap(), (When::IfRefused, Check::Nothing));
        assert_eq!(of("sslmode=require").unwrap(), (When::Always, Check::Nothing));
        assert_eq!(of("sslmode=require&sslrootcert=/r").unwrap(), (When::Always, Check::Chain));
        assert_eq!(of("sslmode=verify-ca").unwrap(), (When::Always, Check::Chain));
        assert_eq!(of("sslmode=verify-full").unwrap(), (When::Always, Check::ChainAndName));
        assert_eq!(of("sslrootcert=system").unwrap(), (When::Always, Check::ChainAndName));
        assert!(of("sslmode=require&sslrootcert=system").unwrap_err().contains("use verify-full"));
        assert!(of("sslmode=on").unwrap_err().contains("sslmode is not one of disable"));
        assert!(of("sslcert=/c").unwrap_err().contains("option sslcert"));
    }

    #[test]
    fn nothing_said_prefers_tls_but_on_this_machine() {
        let prefer = Some((When::IfOffered, Check::Nothing));
        for host in ["localhost", "127.0.0.1", "127.1.2.3", "::1"] {
            assert_eq!(tls_options(host, None, None, None).unwrap(), TlsOptions::NEVER, "{host}");
            assert_eq!(tls_options(host, prefer, None, None).unwrap().when, When::IfOffered, "{host}");
        }
        let far = tls_options("db.example", None, None, None).unwrap();
        assert_eq!((far.when, far.check), (When::IfOffered, Check::Nothing));
    }

    #[test]
    fn a_folder_whose_path_is_too_long_for_a_socket_is_named_before_anybody_connects() {
        let of = |bytes: usize| spelled(&format!("postgresql:///db?host=/{}", "f".repeat(bytes)));
        // With `/` in front and `/.s.PGSQL.5432` behind.
        of(92).unwrap();
        let message = of(93).unwrap_err().join("; ");
        assert!(message.contains("has 108 bytes, and the path of a socket 107 at most"), "{message}");
    }
}
