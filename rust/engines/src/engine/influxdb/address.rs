//! Where the server is, and the user. The password is never part of any message.

use crate::engine::http::{options as http_options, Client};
use crate::engine::socket::Endpoint;
use crate::engine::tls::Tls;
use crate::engine::url::Url;
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
    /// From the URL or the file that it names; see [`Address::password`].
    given: Option<String>,
}

impl std::fmt::Display for Address {
    /// As people may read it: without password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = if self.user.is_empty() { "" } else { "@" };
        write!(f, "influxdb://{}{at}{}:{}/{}", self.user, self.host, self.port, self.database)
    }
}

impl Address {
    /// `influxdb://user@host:port/database?secure=true`. The user defaults to `INFLUX_USERNAME`, then to none.
    pub fn parse(url: &str) -> Result<Address, Error> {
        let url = Url::parse(url, &["influxdb"], "influxdb://user@host:port/database")?;
        let tls = http_options::tls(&url.options, "")?;
        let host = if url.host.is_empty() { "localhost".to_owned() } else { url.host.clone() };
        let user = match url.user.as_str() {
            "" => std::env::var("INFLUX_USERNAME").unwrap_or_default(),
            user => user.to_owned(),
        };
        let port = url.port.unwrap_or(8086);
        let given = url.password_of(&[&host], port, &url.path, &user)?;
        Ok(Address { host, port, user, database: url.path, tls, given })
    }

    /// Not yet connected.
    pub fn client(&self) -> Client {
        let place = Endpoint::new(&self.host, self.port, self.to_string());
        let password = self.password().unwrap_or_default();
        let login = (!self.user.is_empty()).then_some((self.user.as_str(), password.as_str()));
        Client::new(&place, &self.tls, login, &[])
    }

    /// From the URL, or `INFLUX_PASSWORD`.
    fn password(&self) -> Option<String> {
        self.given.clone().or_else(|| std::env::var("INFLUX_PASSWORD").ok())
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
