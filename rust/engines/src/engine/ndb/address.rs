//! `ndb://host:port[,host:port]/database`: management servers, and what the options of a target say.

use std::collections::BTreeMap;

use crate::engine::url::{host_and_port, Url};
use inrush_rows::error::Error;
use inrush_rows::plan::Target;

const PORT: u16 = 1186;
const FORM: &str = "ndb://host:port[,host:port]/database";
/// Where names without a database are.
const DATABASE: &str = "inrush";
/// Connections of one process: each takes a node id of the cluster.
const MOST_CONNECTIONS: usize = 64;

/// The locks that a read takes, with their numbers in `NdbOperation::LockMode`.
const LOCKS: [(&str, i32); 3] = [("committed", 2), ("shared", 0), ("exclusive", 1)];
const SENDS: [(&str, i32); 2] = [("adaptive", 0), ("force", 1)];
/// What a table is spread over data nodes by: its whole key, or the first column of it.
const DISTRIBUTED: [(&str, bool); 2] = [("key", false), ("first", true)];
const BOOLS: [(&str, bool); 2] = [("true", true), ("false", false)];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// As NDB takes it: `host:port,host:port`.
    pub management: String,
    pub database: String,
    pub options: Options,
}

/// Names are those of the target's options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub connections: usize,
    pub lock: i32,
    pub send: i32,
    pub hint: bool,
    pub logging: bool,
    pub by_first: bool,
    /// Longest wait of one poll, ms.
    pub poll_ms: u32,
    /// As they stand, for the settings of a run.
    pub said: Vec<(String, String)>,
}

/// Names of the options, and the value of each that is not given.
const USUAL: [(&str, &str); 7] = [
    ("connections", "1"),
    ("lock", "committed"),
    ("send", "adaptive"),
    ("hint", "true"),
    ("logging", "true"),
    ("distribution", "key"),
    ("poll_ms", "200"),
];

impl Address {
    /// Options of the target come before those of its URL.
    pub fn of(target: &Target) -> Result<Address, Error> {
        let url = Url::parse(&target.url, &["ndb"], FORM)?;
        let wrong =
            |problems: Vec<String>| Error::Plan(format!("target.url: {}; write {FORM}", problems.join("; ")));
        let (servers, database) = spelled(&url).map_err(wrong)?;
        let servers: Vec<String> = servers.iter().map(|(host, port)| host_and_port(host, *port)).collect();
        let mut options: BTreeMap<String, String> = url.options.into_iter().collect();
        options.extend(target.options.clone());
        Ok(Address { management: servers.join(","), database, options: Options::of(&options)? })
    }

    /// Host and port of each management server.
    pub fn servers(&self) -> impl Iterator<Item = (&str, u16)> {
        self.management.split(',').map(|server| {
            let (host, port) = server.rsplit_once(':').unwrap_or((server, ""));
            (host, port.parse().unwrap_or(PORT))
        })
    }

    /// Database and table of a name, which has the database in front where it is another one.
    pub fn parts<'n>(&'n self, name: &'n str) -> (&'n str, &'n str) {
        name.split_once('.').unwrap_or((&self.database, name))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ndb://{}/", self.management)
    }
}

/// Management servers and database of a URL; fails with all that is wrong. Pure.
#[allow(clippy::type_complexity)]
pub fn spelled(url: &Url) -> Result<(Vec<(String, u16)>, String), Vec<String>> {
    let mut problems = Vec::new();
    if !url.user.is_empty() || url.password.is_some() {
        problems.push("a management server takes no user and no password".to_owned());
    }
    if url.hosts.iter().any(|host| host.name.is_empty() || host.name.contains([';', ' '])) {
        problems.push("a host is no management server".to_owned());
    }
    let database = if url.path.is_empty() { DATABASE } else { &url.path };
    if !database.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        problems.push("what stands behind the / is no name of a database".to_owned());
    }
    let known = |name: &str| name == "library" || USUAL.iter().any(|(known, _)| *known == name);
    if url.guarded || url.options.iter().any(|(name, _)| !known(name)) {
        let names: Vec<&str> = USUAL.iter().map(|(name, _)| *name).collect();
        let strange = url.options.iter().find(|(name, _)| !known(name) && !url.guarded);
        let strange = strange.map_or("an option", |(name, _)| name);
        problems.push(format!("{strange} is not known; options of ndb are {}", names.join(", ")));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let servers = url.hosts.iter().map(|host| (host.name.clone(), host.port.unwrap_or(PORT))).collect();
    Ok((servers, database.to_owned()))
}

impl Options {
    fn of(given: &BTreeMap<String, String>) -> Result<Options, Error> {
        let known = |name: &str| name == "library" || USUAL.iter().any(|(known, _)| *known == name);
        if let Some(strange) = given.keys().find(|name| !known(name)) {
            let names: Vec<&str> = USUAL.iter().map(|(name, _)| *name).collect();
            return Err(Error::Plan(format!(
                "target.options has {strange}; options of ndb are {}",
                names.join(", ")
            )));
        }
        let value = |name: &str| {
            let usual = USUAL.iter().find(|(known, _)| *known == name).map_or("", |(_, usual)| usual);
            given.get(name).map_or(usual, String::as_str)
        };
        let number = |name: &str, range: std::ops::RangeInclusive<usize>| {
            value(name).parse().ok().filter(|n| range.contains(n)).ok_or_else(|| {
                let (from, to) = (range.start(), range.end());
                Error::Plan(format!("target.options.{name} is {}; it is {from} to {to}", value(name)))
            })
        };
        Ok(Options {
            connections: number("connections", 1..=MOST_CONNECTIONS)?,
            lock: word("lock", value("lock"), &LOCKS)?,
            send: word("send", value("send"), &SENDS)?,
            hint: word("hint", value("hint"), &BOOLS)?,
            logging: word("logging", value("logging"), &BOOLS)?,
            by_first: word("distribution", value("distribution"), &DISTRIBUTED)?,
            poll_ms: number("poll_ms", 1..=10_000)? as u32,
            said: USUAL.iter().map(|(name, _)| (name.to_string(), value(name).to_owned())).collect(),
        })
    }
}

fn word<T: Copy>(name: &str, value: &str, words: &[(&str, T)]) -> Result<T, Error> {
    let found = words.iter().find(|(word, _)| *word == value);
    found.map(|(_, of)| *of).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Error::Plan(format!("target.options.{name} is {value}; it is one of {}", words.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str, options: &[(&str, &str)]) -> Result<Address, String> {
        let options = options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let target =
            Target { engine: "ndb".into(), url: url.into(), options, faults: Vec::new(), shards: None };
        Address::of(&target).map_err(|e| e.to_string())
    }

    #[test]
    fn a_url_names_management_servers_and_a_database() {
        let one = address("ndb://one", &[]).unwrap();
        assert_eq!((one.management.as_str(), one.database.as_str()), ("one:1186", "inrush"));
        let two =
            address("ndb://one:1,two:2/mine?send=force&connections=4", &[("connections", "8")]).unwrap();
        assert_eq!((two.management.as_str(), two.servers().next().unwrap()), ("one:1,two:2", ("one", 1)));
        assert_eq!((two.options.connections, two.options.send), (8, 1));
        assert_eq!((two.parts("t"), two.parts("home.t")), (("mine", "t"), ("home", "t")));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        for (url, options, why) in [
            ("mysql://one", ("hint", "true"), "does not begin with ndb://"),
            ("ndb://one:port/", ("hint", "true"), "not a port"),
            ("ndb:///database", ("hint", "true"), "no management server"),
            ("ndb://one/a b", ("hint", "true"), "no name of a database"),
            ("ndb://one", ("lock", "none"), "one of committed, shared, exclusive"),
            ("ndb://one", ("connections", "0"), "it is 1 to 64"),
            ("ndb://one", ("depth", "1"), "options of ndb are connections, lock, send"),
        ] {
            let refused = address(url, &[options]).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
