//! Where the server is, the user, and what every request says. The password is never part of any message.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::engine::http::{options as http_options, Client};
use crate::engine::socket::Endpoint;
use crate::engine::tls::{Tls, When};
use crate::engine::url::{escape, host_and_port, Url};
use inrush_rows::error::Error;

/// The port that `http_port` is by default.
const PORT: u16 = 8123;
/// The port that `https_port` is by default.
const SECURE_PORT: u16 = 8443;
/// The server's own ports for programs of its own protocol.
const OTHER_PORTS: [u16; 2] = [9000, 9440];
/// Of drivers, for their own waits and logs.
const WITHOUT_EFFECT: [&str; 3] = ["client_name", "send_receive_timeout", "socket_timeout"];

pub struct Address {
    pub place: Endpoint,
    tls: Tls,
    user: String,
    password: String,
    /// `/?database=…&setting=…`, the same in every request.
    pub base: String,
}

/// What a URL says. Pure.
pub struct Spelled {
    pub host: String,
    pub port: u16,
    /// Empty: the user's own.
    pub database: String,
    pub said: http_options::Said,
}

impl Spelled {
    /// Fails with all that is wrong.
    pub fn of(url: &Url) -> Result<Spelled, Vec<String>> {
        let mut options = url.options();
        let said = http_options::said(&mut options);
        let database = options.text(&["database"]).unwrap_or_else(|| url.path.clone());
        options.only(&["compress"], &["false", "0", "none"], "inrush does not compress");
        options.without_effect(&WITHOUT_EFFECT);
        let mut problems = Vec::new();
        let host = url.one_host(&mut problems);
        let secure = said.tls_options.when != When::Never;
        let port = host.port.unwrap_or(if secure { SECURE_PORT } else { PORT });
        if OTHER_PORTS.contains(&port) {
            problems.push(format!(
                "port {port} is for ClickHouse's own protocol; inrush speaks HTTP, whose port is {PORT} as shipped"
            ));
        }
        problems.extend(options.end("; a setting is the target's option set.<name>"));
        if problems.is_empty() {
            Ok(Spelled { host: host.name, port, database, said })
        } else {
            Err(problems)
        }
    }
}

impl Address {
    /// `clickhouse://user:password@host:8123/database?secure=true`. What the URL leaves out: `CLICKHOUSE_USER` or `default`,
    /// `CLICKHOUSE_PASSWORD`, the user's own database. Options `set.<name>` are settings of every request.
    pub fn parse(url: &str, options: &BTreeMap<String, String>) -> Result<Address, Error> {
        let url = Url::parse(url, &["clickhouse"], "clickhouse://user@host:8123/database")?;
        let wrong = |problems: Vec<String>| Error::Plan(format!("target.url: {}", problems.join("; ")));
        let Spelled { host, port, database, said } = Spelled::of(&url).map_err(wrong)?;
        let user = match url.user.as_str() {
            "" => std::env::var("CLICKHOUSE_USER").unwrap_or_else(|_| "default".to_owned()),
            user => user.to_owned(),
        };
        let target = format!("clickhouse://{user}@{}/{database}", host_and_port(&host, port));
        let given = url.password_of(&[&host], port, &database, &user)?;
        Ok(Address {
            tls: Tls::new(&said.tls_options, http_options::ROOTS)?,
            place: Endpoint { limit: said.connect, ..Endpoint::new(host, port, target) },
            user,
            password: given.unwrap_or_else(|| std::env::var("CLICKHOUSE_PASSWORD").unwrap_or_default()),
            base: base(&database, options)?,
        })
    }

    pub fn client(&self) -> Client {
        Client::new(&self.place, &self.tls, Some((&self.user, &self.password)), &[])
    }

    /// Ends the queries that `which` says, by asking another connection; whether the server could be asked in time.
    pub fn kill(&self, which: &str, limit: Duration) -> bool {
        let until = Some(Instant::now() + limit);
        let mut client = self.client();
        let text = format!("KILL QUERY WHERE {which} ASYNC");
        client.send("POST", "/", &[text.as_bytes()], until).is_ok()
            && client.receive(until).is_ok_and(|status| status == 200)
    }
}

fn base(database: &str, options: &BTreeMap<String, String>) -> Result<String, Error> {
    let mut base = String::from("/?");
    let mut put = |name: &str, value: &str| {
        escape(name, &mut base);
        base.push('=');
        escape(value, &mut base);
        base.push('&');
    };
    if !database.is_empty() {
        put("database", database);
    }
    for (name, value) in options {
        match name.strip_prefix("set.") {
            Some(setting) => put(setting, value),
            None => {
                return Err(Error::Plan(format!(
                    "target.options.{name} is not known; a setting of ClickHouse is set.<name>"
                )))
            }
        }
    }
    Ok(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Address, Error> {
        Address::parse(url, &BTreeMap::new())
    }

    #[test]
    fn a_url_says_where_and_who_and_hides_its_password() {
        let address = parse("clickhouse://me:s%40crt@db.example:8124/my%20data").unwrap();
        assert_eq!(address.place.target, "clickhouse://me@db.example:8124/my data");
        assert_eq!((address.user.as_str(), address.password.as_str()), ("me", "s@crt"));
        assert_eq!(address.base, "/?database=my%20data&");
    }

    #[test]
    fn settings_are_part_of_every_request() {
        let options = BTreeMap::from([("set.max_threads".to_owned(), "2".to_owned())]);
        let address = Address::parse("clickhouse://me@h", &options).unwrap();
        assert_eq!((address.base.as_str(), address.place.port), ("/?max_threads=2&", 8123));
        let unknown = BTreeMap::from([("max_threads".to_owned(), "2".to_owned())]);
        assert!(Address::parse("clickhouse://h", &unknown).is_err());
    }

    #[test]
    fn tls_has_a_port_of_its_own() {
        let address = parse("clickhouse://h/d?secure=true&verify=false").unwrap();
        assert_eq!((address.place.port, address.tls.when), (8443, When::Always));
        assert_eq!(parse("clickhouse://h:8124?secure=true&verify=false").unwrap().place.port, 8124);
        let message = parse("clickhouse://h?gzip=1").err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message.contains("option gzip") && message.contains("set.<name>"), "{message}");
        assert_eq!(parse("clickhouse://h?compress=0&database=mine").unwrap().base, "/?database=mine&");
        let message = parse("clickhouse://h?compress=1").err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message.contains("does not compress"), "{message}");
    }

    #[test]
    fn the_port_of_the_other_protocol_is_refused_with_the_remedy() {
        let message = parse("clickhouse://h:9000/d").err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message.contains("speaks HTTP") && message.contains("8123"), "{message}");
    }
}
