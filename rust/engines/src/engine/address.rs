//! An address as Python asks for it: everything that is said about one without a connection. Pure: no file, no
//! variable, no server.

use serde_json::{json, Value as Json};

use super::clickhouse::Spelled as ClickhouseSpelled;
use super::mysql::Spelled as MysqlSpelled;
use super::postgresql::{socket_file, Spelled, POSTGRESQL};
use super::tls::When;
use super::url::{scheme_of, Url};
use super::{influxdb, questdb, resp, valkey};

/// Engines whose address is a file, or nothing; see [`file`].
const FILES: [&str; 5] = ["device", "duckdb", "null", "simulated", "sqlite"];
const ADBC: &str = "adbc";
/// Services that are no databases: schedulers of fleets, and what metrics are sent to.
const SERVICES: [&str; 4] = ["http", "https", "tcp", "tls"];
const SERVERS: [&str; 11] = [
    "clickhouse",
    "influxdb",
    "mariadb",
    "mysql",
    "ndb",
    "postgres",
    "postgresql",
    "questdb",
    "redis",
    "timescaledb",
    "valkey",
];
/// Of a driver's address: it cannot be known what they are called there.
const SECRET_WORDS: [&str; 7] = ["credential", "key", "pass", "pwd", "secret", "token", "auth"];

/// Where an address leads.
#[derive(Default)]
struct Place {
    hosts: Vec<(String, u16)>,
    /// Folder or file of a Unix socket.
    socket: Option<String>,
    /// Of the first host, or in the name of the socket.
    port: u16,
    /// As it is named: empty where it is left to the server.
    database: String,
    /// Encrypted from the first byte on.
    secure: bool,
}

/// `scheme`, `user`, `password`, `hosts` with ports, `socket`, `port`, `database`, `options`, `secure`; `shown` as people may read it,
/// `before` and `behind` its database; and `problems`. Where there are problems, nothing but the scheme is repeated.
pub fn read(text: &str) -> Json {
    let (scheme, _) = text.split_once(':').unwrap_or(("", ""));
    let found = match scheme {
        ADBC => driver(text),
        scheme if FILES.contains(&scheme) => file(text, scheme),
        _ => server(text),
    };
    found.unwrap_or_else(|problems| {
        let known = scheme_of(text).or_else(|| (scheme == ADBC || FILES.contains(&scheme)).then_some(scheme));
        let scheme = known.unwrap_or("");
        let shown = if scheme.is_empty() { "…".to_owned() } else { format!("{scheme}://…") };
        document(
            &Url { scheme: scheme.to_owned(), before: shown, ..Url::default() },
            Place::default(),
            problems,
        )
    })
}

fn document(url: &Url, place: Place, problems: Vec<String>) -> Json {
    json!({
        "scheme": url.scheme,
        "user": url.user,
        "password": url.password,
        "hosts": place.hosts,
        "socket": place.socket,
        "port": place.port,
        "database": place.database,
        "options": url.options.iter().cloned().collect::<std::collections::BTreeMap<String, String>>(),
        "secure": place.secure,
        "shown": url.shown(),
        "before": url.before,
        "behind": url.behind,
        "problems": problems,
    })
}

fn server(text: &str) -> Result<Json, Vec<String>> {
    let url = Url::read(text)?;
    let place = place(&url)?;
    Ok(document(&url, place, Vec::new()))
}

fn place(url: &Url) -> Result<Place, Vec<String>> {
    let secure = |said: &super::http::options::Said| said.tls_options.when != When::Never;
    let one = |(host, port, said): (String, u16, super::http::options::Said), database: &str| Place {
        secure: secure(&said),
        port,
        hosts: vec![(host, port)],
        database: database.to_owned(),
        socket: None,
    };
    match url.scheme.as_str() {
        "postgresql" | "postgres" | "timescaledb" => {
            Spelled::of(url, &POSTGRESQL).map(|of| of_postgresql(of, url))
        }
        "questdb" => Spelled::of(url, &questdb::SPEAKER).map(|of| of_postgresql(of, url)),
        "mysql" | "mariadb" => MysqlSpelled::of(url).map(|of| Place {
            hosts: if of.socket.is_some() { Vec::new() } else { vec![(of.host, of.port)] },
            socket: of.socket.map(|path| path.to_string_lossy().into_owned()),
            port: of.port,
            database: of.database,
            secure: false,
        }),
        "clickhouse" => ClickhouseSpelled::of(url).map(|of| one((of.host, of.port, of.said), &of.database)),
        "influxdb" => influxdb::spelled(url).map(|of| one(of, &url.path)),
        "valkey" | "redis" => resp::spelled(url, valkey::PORT).map(|of| one(of, &url.path)),
        "ndb" => of_ndb(url),
        service if SERVICES.contains(&service) => of_service(url),
        other => Err(vec![format!(
            "no engine speaks {other}://; known are {}",
            known().map(|scheme| format!("{scheme}://")).collect::<Vec<_>>().join(", ")
        )]),
    }
}

/// Schemes of all engines, in their order.
pub fn known() -> impl Iterator<Item = &'static str> {
    let mut all: Vec<&str> = SERVERS.into_iter().chain(FILES).chain([ADBC]).collect();
    all.sort_unstable();
    all.into_iter()
}

fn of_postgresql(of: Spelled, url: &Url) -> Place {
    let (sockets, hosts): (Vec<_>, Vec<_>) =
        of.hosts.into_iter().partition(|(host, port)| socket_file(host, *port).is_some());
    let named = url.options.iter().rfind(|(name, _)| name == "dbname").map(|(_, name)| name);
    let (socket, port) = sockets.into_iter().next().map_or((None, 0), |(folder, port)| (Some(folder), port));
    Place {
        port: hosts.first().map_or(port, |(_, port)| *port),
        hosts,
        socket,
        database: named.unwrap_or(&url.path).clone(),
        secure: false,
    }
}

#[cfg(feature = "ndb")]
fn of_ndb(url: &Url) -> Result<Place, Vec<String>> {
    super::ndb::spelled(url).map(|(hosts, database)| Place { hosts, database, ..Place::default() })
}

/// This build has no NDB: its runs are refused later, in a line that says so.
#[cfg(not(feature = "ndb"))]
fn of_ndb(url: &Url) -> Result<Place, Vec<String>> {
    of_service(url)
}

fn of_service(url: &Url) -> Result<Place, Vec<String>> {
    let problems = url.options().end("none");
    if !problems.is_empty() {
        return Err(problems);
    }
    let hosts = url.hosts.iter().map(|host| (host.name.clone(), host.port.unwrap_or(0))).collect();
    Ok(Place { hosts, database: url.path.clone(), ..Place::default() })
}

/// `sqlite:///absolute`, `sqlite://relative`, `sqlite:relative`: the path as it stands, since files are called anything.
fn file(text: &str, scheme: &str) -> Result<Json, Vec<String>> {
    let rest = &text[scheme.len() + 1..];
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let mut problems = Vec::new();
    if !path.starts_with(['/', '.']) && path.contains([':', '@']) {
        problems.push(format!("a file has no user and no password; write {scheme}:///folder/file"));
    }
    if path.split_once('?').is_some_and(|(_, query)| query.contains('=')) {
        problems.push(format!("a file has no options; write {scheme}:///folder/file"));
    }
    if path.contains('\0') {
        problems.push("a path has no zero byte".to_owned());
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let url = Url { scheme: scheme.to_owned(), before: text.to_owned(), ..Url::default() };
    Ok(document(&url, Place { database: path.to_owned(), ..Place::default() }, problems))
}

/// `adbc:` and what its driver takes for an address; a password in it is taken out, and put back by [`super::adbc`].
fn driver(text: &str) -> Result<Json, Vec<String>> {
    let rest = &text[ADBC.len() + 1..];
    let inner = rest.trim_start_matches('/');
    if scheme_of(inner).is_none() {
        return match inner.contains(['@', '=']) {
            true => Err(vec!["write the driver's address as adbc:scheme://user@host/database".to_owned()]),
            false => file(text, ADBC),
        };
    }
    let url = Url::read(inner)?;
    let secret = |name: &str| SECRET_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word));
    if let Some((name, _)) = url.options.iter().find(|(name, _)| secret(name)) {
        return Err(vec![format!(
            "option {name} may be a secret, and addresses are kept with results; leave it out"
        )]);
    }
    let hosts = url.hosts.iter().map(|host| (host.name.clone(), host.port.unwrap_or(0))).collect();
    let place = Place { hosts, database: url.path.clone(), ..Place::default() };
    let before = format!("{}{}", &text[..text.len() - inner.len()], url.before);
    Ok(document(&Url { scheme: ADBC.to_owned(), before, ..url }, place, Vec::new()))
}

#[cfg(test)]
mod tests;
