//! Where the server is, and the user. The password is never part of any message.

use std::time::Duration;

use crate::engine::http::{options as http_options, Client};
use crate::engine::secrets::Secret;
use crate::engine::socket::Endpoint;
use crate::engine::tls::Tls;
use crate::engine::url::{host_and_port, Host, Url};
use inrush_rows::error::Error;

#[derive(Debug, Clone)]
pub struct Address {
    pub host: String,
    pub port: u16,
    /// Empty: no user, as a server without authentication accepts.
    pub user: String,
    /// Must be there when it is named; runs have databases of their own.
    pub database: String,
    tls: Tls,
    /// Longest time to connect.
    connect: Duration,
    /// From the URL or the file that it names; see [`Address::password`].
    given: Option<Secret>,
}

impl std::fmt::Display for Address {
    /// As people may read it: without password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = if self.user.is_empty() { "" } else { "@" };
        write!(f, "influxdb://{}{at}{}/{}", self.user, host_and_port(&self.host, self.port), self.database)
    }
}

/// Host, port and options of a URL; fails with all that is wrong. Pure.
pub fn spelled(url: &Url) -> Result<(String, u16, http_options::Said), Vec<String>> {
    let mut options = url.options();
    let said = http_options::said(&mut options);
    let mut problems = Vec::new();
    let Host { name, port } = url.one_host(&mut problems);
    problems.extend(options.end(""));
    if problems.is_empty() {
        Ok((name, port.unwrap_or(8086), said))
    } else {
        Err(problems)
    }
}

impl Address {
    /// `influxdb://user@host:port/database?secure=true`. The user defaults to `INFLUX_USERNAME`, then to none.
    pub fn parse(url: &str) -> Result<Address, Error> {
        let url = Url::parse(url, &["influxdb"], "influxdb://user@host:port/database")?;
        let wrong = |problems: Vec<String>| Error::Plan(format!("target.url: {}", problems.join("; ")));
        let (host, port, said) = spelled(&url).map_err(wrong)?;
        let user = match url.user.as_str() {
            "" => std::env::var("INFLUX_USERNAME").unwrap_or_default(),
            user => user.to_owned(),
        };
        let tls = Tls::new(&said.tls_options, http_options::ROOTS)?;
        let given = url.password_of(&[&host], port, &url.path, &user)?.map(Secret);
        Ok(Address { host, port, user, database: url.path, tls, connect: said.connect, given })
    }

    /// Not yet connected.
    pub fn client(&self) -> Client {
        let place =
            Endpoint { limit: self.connect, ..Endpoint::new(&self.host, self.port, self.to_string()) };
        let password = self.password().unwrap_or_default();
        let login = (!self.user.is_empty()).then_some((self.user.as_str(), password.as_str()));
        Client::new(&place, &self.tls, login, &[])
    }

    /// From the URL, or `INFLUX_PASSWORD`.
    fn password(&self) -> Option<String> {
        let given = self.given.as_ref().map(|Secret(given)| given.clone());
        given.or_else(|| std::env::var("INFLUX_PASSWORD").ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_and_shown_without_its_password() {
        let address = Address::parse("influxdb://me:hidden@db:9999/mine").unwrap();
        assert_eq!((address.host.as_str(), address.port, address.database.as_str()), ("db", 9999, "mine"));
        assert_eq!(address.password().as_deref(), Some("hidden"));
        assert_eq!(address.to_string(), "influxdb://me@db:9999/mine");
    }

    #[test]
    fn an_option_is_refused_and_named() {
        let message = Address::parse("influxdb://localhost?gzip=1").unwrap_err().to_string();
        assert!(message.contains("option gzip"), "{message}");
    }
}
