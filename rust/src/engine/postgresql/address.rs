//! Where the server is, and where its password is found. The password is never part of any message.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::engine::socket::Place;
use crate::engine::url::Url;
use crate::error::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub database: String,
    /// From the URL only; see [`Address::password`].
    given: Option<String>,
}

impl std::fmt::Display for Address {
    /// As people may read it: without password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "postgresql://{}@{}:{}/{}", self.user, self.host, self.port, self.database)
    }
}

impl Address {
    /// `postgresql://user@host:port/database`; `postgres://` too. User and database default to `postgres`.
    pub fn parse(url: &str) -> Result<Address, Error> {
        let url = Url::parse(
            url,
            &["postgresql", "postgres", "timescaledb"],
            "postgresql://user@host:port/database",
        )?;
        url.options.iter().try_for_each(|(name, value)| check_option(name, value))?;
        let named = |name: String, default: &str| if name.is_empty() { default.to_owned() } else { name };
        Ok(Address {
            host: named(url.host, "localhost"),
            port: url.port.unwrap_or(5432),
            user: named(url.user, "postgres"),
            database: named(url.path, "postgres"),
            given: url.password,
        })
    }

    pub fn place(&self) -> Place {
        Place { host: self.host.clone(), port: self.port, target: self.to_string() }
    }

    /// From the URL, `PGPASSWORD`, the file `PGPASSFILE`, or `~/.pgpass`, in this order.
    pub fn password(&self) -> Option<String> {
        let file = || {
            let path = std::env::var_os("PGPASSFILE")
                .map(PathBuf::from)
                .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass")))?;
            private_text(&path).and_then(|text| self.password_in(&text))
        };
        self.given.clone().or_else(|| std::env::var("PGPASSWORD").ok()).or_else(file)
    }

    /// The first line `host:port:database:user:password` that matches; `*` matches everything.
    fn password_in(&self, text: &str) -> Option<String> {
        let wanted = [&self.host, &self.port.to_string(), &self.database, &self.user];
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let fields = pgpass_fields(line);
            let matches = fields.len() == 5
                && wanted.iter().zip(&fields).all(|(wanted, field)| field == "*" || field == *wanted);
            matches.then(|| fields[4].clone())
        })
    }
}

fn check_option(name: &str, value: &str) -> Result<(), Error> {
    match (name, value) {
        ("sslmode", "disable" | "allow" | "prefer") => Ok(()),
        ("sslmode", _) => Err(Error::Plan(format!(
            "target.url: sslmode={value}, but inrush speaks to PostgreSQL without TLS; use sslmode=disable or a tunnel"
        ))),
        _ => Err(Error::Plan(format!("target.url: option {name} is not known; known is sslmode"))),
    }
}

/// As libpq: a password file that others can read is not used.
fn private_text(path: &Path) -> Option<String> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    (mode & 0o077 == 0).then(|| std::fs::read_to_string(path).ok()).flatten()
}

/// Split at colons; a backslash keeps the next character.
fn pgpass_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(ch) = chars.next() {
        let count = fields.len();
        let last = fields.last_mut().expect("starts with one field");
        match ch {
            '\\' => last.extend(chars.next()),
            ':' if count < 5 => fields.push(String::new()),
            _ => last.push(ch),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let address =
            Address::parse("postgresql://me:s%40crt@db.example:5433/my%20data?sslmode=prefer").unwrap();
        assert_eq!((address.host.as_str(), address.port), ("db.example", 5433));
        assert_eq!((address.user.as_str(), address.database.as_str()), ("me", "my data"));
        assert_eq!(address.password().as_deref(), Some("s@crt"));
        assert!(!address.to_string().contains("crt"), "a password is never shown");
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        assert_eq!(
            Address::parse("postgres://[::1]").unwrap().to_string(),
            "postgresql://postgres@::1:5432/postgres"
        );
        assert_eq!(
            Address::parse("postgresql:///db").unwrap().to_string(),
            "postgresql://postgres@localhost:5432/db"
        );
    }

    #[test]
    fn an_address_that_wants_tls_is_refused() {
        let message = Address::parse("postgresql://h/d?sslmode=require").unwrap_err().to_string();
        assert!(message.contains("without TLS"), "{message}");
    }

    #[test]
    fn a_password_file_is_read_as_libpq_does() {
        let address = Address::parse("postgresql://me@h:5433/d").unwrap();
        let file = "# comment\nother:*:*:*:no\nh:5433:d:you:no\nh:*:*:me:a\\:b\\\\c\n*:*:*:*:later\n";
        assert_eq!(address.password_in(file).as_deref(), Some("a:b\\c"));
        assert_eq!(address.password_in("h:1:d:me:no"), None);
    }
}
