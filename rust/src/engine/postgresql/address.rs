//! Where the server is, and where its password is found. The password is never part of any message.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
        // The URL itself may hold a password: it is not repeated in the message.
        let wrong = |what: &str| {
            Error::Plan(format!("target.url: {what}; write postgresql://user@host:port/database"))
        };
        let rest = url
            .strip_prefix("postgresql://")
            .or_else(|| url.strip_prefix("postgres://"))
            .ok_or_else(|| wrong("not a PostgreSQL address"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        for option in query.split('&').filter(|o| !o.is_empty()) {
            check_option(option)?;
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, given) = match login.split_once(':') {
            Some((user, password)) => {
                (user, Some(decoded(password).ok_or_else(|| wrong("broken %-escape"))?))
            }
            None => (login, None),
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(v6) => v6.split_once(']').ok_or_else(|| wrong("an IPv6 address has no closing bracket"))?,
            None => place.find(':').map_or((place, ""), |at| place.split_at(at)),
        };
        let port = match port.strip_prefix(':') {
            Some(digits) if !digits.is_empty() => {
                digits.parse().map_err(|_| wrong(&format!("{digits} is not a port")))?
            }
            _ => 5432,
        };
        let named = |text: &str, default: &str| -> Result<String, Error> {
            let name = decoded(text).ok_or_else(|| wrong("broken %-escape"))?;
            Ok(if name.is_empty() { default.to_owned() } else { name })
        };
        Ok(Address {
            host: named(host, "localhost")?,
            port,
            user: named(user, "postgres")?,
            database: named(path, "postgres")?,
            given,
        })
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

fn check_option(option: &str) -> Result<(), Error> {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
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

/// `%41` is `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let hex = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
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
    fn a_wrong_url_is_refused_without_its_password() {
        for url in ["mysql://u:hidden@h/d", "postgresql://u:hidden@h:port/d", "postgresql://u:hid%den@h/d"] {
            let message = Address::parse(url).unwrap_err().to_string();
            assert!(message.starts_with("plan: target.url: ") && !message.contains("hid"), "{message}");
        }
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
