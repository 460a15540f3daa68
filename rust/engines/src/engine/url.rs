//! Addresses of servers: `scheme://user:password@host:port/path?option=value`. The one place that takes them apart.
//!
//! A password is never part of a message: until an address is read, nothing of it but its scheme is repeated, and no
//! value of an option ever.

mod options;

use std::path::Path;

use super::secrets::{password_in, private_text};
use inrush_rows::error::Error;

pub use options::Options;

/// What is said of a part that may be a piece of a password.
const ESCAPES: &str = "in a password write # as %23, / as %2F, ? as %3F, @ as %40 and % as %25";
const NO_SCHEME: &str = "it does not begin with a scheme, as in postgresql://user@host:port/database";
const NO_ESCAPE: &str = "a % is not followed by two hex digits, or they make no text; write % itself as %25";
/// Options of every server's address that name the user and its password.
const USER: &str = "user";
const PASSWORD: &str = "password";
/// A file with the password, in the format of `~/.pgpass`. As libpq has it; [`Url::password_of`] reads it.
const PASSFILE: &str = "passfile";

/// An address taken apart, %-escapes decoded; what was left out is empty.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Url {
    pub scheme: String,
    pub user: String,
    pub password: Option<String>,
    /// One at least, in their order.
    pub hosts: Vec<Host>,
    /// Without its first slash.
    pub path: String,
    /// Without user and password.
    pub options: Vec<(String, String)>,
    /// A password stood among the options: what follows may be a piece of it.
    pub guarded: bool,
    /// As it was written, without password: up to the path, and behind it.
    pub before: String,
    pub written_path: String,
    pub behind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// A name, an address, or the folder of a socket.
    pub name: String,
    pub port: Option<u16>,
}

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Url({})", self.shown())
    }
}

impl Url {
    /// Of any scheme. Fails with all that is wrong, without a word of the address.
    pub fn read(text: &str) -> Result<Url, Vec<String>> {
        let scheme = scheme_of(text).ok_or_else(|| vec![format!("{NO_SCHEME}; {ESCAPES}")])?;
        let rest = &text[scheme.len() + 3..];
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if path.contains('@') || query.contains('@') {
            return Err(vec![format!(
                "an @ stands behind the first / or ?; {ESCAPES}, and so everywhere behind the host"
            )]);
        }
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        let (mut problems, mut broken, mut bare) = (Vec::new(), false, false);
        let mut decoded = |text: &str| {
            decoded(text).unwrap_or_else(|| {
                broken = true;
                String::new()
            })
        };
        let mut url = Url {
            scheme: scheme.to_owned(),
            user: decoded(user),
            password: password.map(&mut decoded),
            path: decoded(path),
            ..Url::default()
        };
        let mut kept = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                bare = true;
                continue;
            };
            if url.take(decoded(name), decoded(value)) {
                kept.push(pair);
            }
        }
        for written in place.split(',') {
            match host(written) {
                Ok((name, port)) => url.hosts.push(Host { name: decoded(name), port }),
                Err(problem) => problems.push(problem),
            }
        }
        if bare {
            problems.push("an option has no value: write name=value, and & in a password as %26".to_owned());
        }
        if broken {
            problems.push(NO_ESCAPE.to_owned());
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let user = if user.is_empty() { String::new() } else { format!("{user}@") };
        url.before = format!("{scheme}://{user}{place}");
        url.written_path = if rest.contains('/') { format!("/{path}") } else { String::new() };
        url.behind = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
        Ok(url)
    }

    /// Takes an option; whether it may be repeated: not where it is the password.
    fn take(&mut self, name: String, value: String) -> bool {
        match name.as_str() {
            PASSWORD => {
                self.guarded = true;
                if !value.is_empty() || self.password.is_none() {
                    self.password = Some(value);
                }
                return false;
            }
            USER => self.user = value,
            _ => self.options.push((name, value)),
        }
        true
    }

    /// `schemes` without `://`; `form` is how a right one is written, for the message.
    pub fn parse(text: &str, schemes: &[&str], form: &str) -> Result<Url, Error> {
        let wrong =
            |problems: Vec<String>| Error::Plan(format!("target.url: {}; write {form}", problems.join("; ")));
        let url = Url::read(text).map_err(wrong)?;
        if schemes.contains(&url.scheme.as_str()) {
            return Ok(url);
        }
        Err(wrong(vec![format!("it does not begin with {}://", schemes[0])]))
    }

    /// As it was written, without password.
    pub fn shown(&self) -> String {
        format!("{}{}{}", self.before, self.written_path, self.behind)
    }

    /// With a password that it has not: for a driver that takes it there alone, and in no message.
    pub fn with_password(&self, password: &str) -> String {
        let mut escaped = String::new();
        escape(password, &mut escaped);
        let (login, place) = match self.before.rsplit_once('@') {
            Some((login, place)) => (login.to_owned(), place),
            None => (format!("{}://", self.scheme), &self.before[self.scheme.len() + 3..]),
        };
        format!("{login}:{escaped}@{place}{}{}", self.written_path, self.behind)
    }

    /// What its options say; [`Options::end`] names those that are not known.
    pub fn options(&self) -> Options {
        let others = self.options.iter().filter(|(name, _)| name != PASSFILE);
        Options::new(others.cloned().collect(), self.guarded)
    }

    /// The password that the URL gives: its own, else the one in the file that it names. `None`: it gives none.
    ///
    /// The place is the one that the URL means, with what it leaves out. A file that is named and has no password for
    /// that place is an error: the log-in would fail anyway, for a reason that is harder to find.
    pub fn password_of(
        &self,
        hosts: &[&str],
        port: u16,
        database: &str,
        user: &str,
    ) -> Result<Option<String>, Error> {
        let file = self.options.iter().rfind(|(name, _)| name == PASSFILE).map(|(_, path)| Path::new(path));
        let (None, Some(path)) = (&self.password, file) else { return Ok(self.password.clone()) };
        let wrong = |why: String| Error::Plan(format!("target.url: {PASSFILE}={}: {why}", path.display()));
        let text = private_text(path).map_err(|e| wrong(e.to_string()))?;
        let found = password_in(&text, hosts, port, database, user);
        found.map(Some).ok_or_else(|| {
            let host = hosts.first().copied().unwrap_or_default();
            wrong(format!("no line of it is for {host}:{port}:{database}:{user}; the last field of a line is the password"))
        })
    }

    /// Of an engine whose server is one: its host, and its port where it is named.
    pub fn one_host(&self, problems: &mut Vec<String>) -> Host {
        if self.hosts.len() > 1 {
            problems.push("it names several hosts, and the engine takes one".to_owned());
        }
        let host = self.hosts.first().cloned().unwrap_or_default();
        Host { name: if host.name.is_empty() { "localhost".to_owned() } else { host.name }, ..host }
    }
}

/// What stands before `://`, where it is a scheme: then it is no part of a password.
pub fn scheme_of(text: &str) -> Option<&str> {
    let scheme = text.split_once("://")?.0;
    let mut bytes = scheme.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase());
    (begins && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte)))
        .then_some(scheme)
}

/// `name`, `name:port`, `[address]:port`.
fn host(written: &str) -> Result<(&str, Option<u16>), String> {
    let (name, port) = match written.strip_prefix('[') {
        Some(v6) => v6.split_once(']').ok_or("an IPv6 address has no closing bracket: write [::1]")?,
        None => written.find(':').map_or((written, ""), |at| written.split_at(at)),
    };
    let wrong = || {
        format!("what stands behind the colon of a host is not a port from 1 to 65535; an IPv6 address is written [::1], and {ESCAPES}")
    };
    match port.strip_prefix(':') {
        Some(digits) => port_of(digits).map(|port| (name, Some(port))).ok_or_else(wrong),
        None if port.is_empty() => Ok((name, None)),
        None => Err(wrong()),
    }
}

pub fn port_of(digits: &str) -> Option<u16> {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
        .filter(|&port| port > 0)
}

/// `%41` is `A`. No text holds a zero byte: neither variables nor protocols can carry it.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let hex = after.get(..2).filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Appends `text` so that it may stand in a query string.
pub fn escape(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte as char),
            _ => {
                out.push('%');
                out.push(HEX[byte as usize >> 4] as char);
                out.push(HEX[byte as usize & 15] as char);
            }
        }
    }
}

/// A host and its port as an address has them.
pub fn host_and_port(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// A path as it may stand behind `=`: its slashes stay.
pub fn escaped_path(path: &str) -> String {
    let mut escaped = String::new();
    for name in path.split('/').skip(1) {
        escaped.push('/');
        escape(name, &mut escaped);
    }
    escaped
}

#[cfg(test)]
mod tests;
