//! Where a server of RESP is, the login, and what it means when that is refused.

use super::{outcome, put_command};
use crate::engine::http::options as url_options;
use crate::engine::secrets::without;
use crate::engine::socket::Endpoint;
use crate::engine::tls::Tls;
use crate::engine::url::{host_and_port, Host, Url};
use crate::engine::Outcome;
use inrush_rows::error::{Error, TargetFault};

/// Where the server is, and the login. Without `Debug`: a password is never part of a message.
#[derive(Clone)]
pub struct Address {
    pub place: Endpoint,
    pub(super) tls: Tls,
    user: String,
    pub(super) password: Option<String>,
    /// Number of the server's database; empty: the first.
    database: String,
    /// Variable that a password is read from; for messages too.
    variable: &'static str,
}

/// Host, port and options of a URL; fails with all that is wrong. Pure.
pub fn spelled(url: &Url, usual_port: u16) -> Result<(String, u16, url_options::Said), Vec<String>> {
    let mut options = url.options();
    let said = url_options::said(&mut options);
    let mut problems = Vec::new();
    let Host { name, port } = url.one_host(&mut problems);
    if !url.path.bytes().all(|byte| byte.is_ascii_digit()) {
        problems.push("the database behind the / is no number; write /0, or leave it out".to_owned());
    }
    problems.extend(options.end(""));
    if problems.is_empty() {
        Ok((name, port.unwrap_or(usual_port), said))
    } else {
        Err(problems)
    }
}

impl Address {
    /// `scheme://user:password@host:port/0?secure=true`. Without a password in it: that of `variable`, if it is set.
    pub fn parse(
        url: &str,
        schemes: &[&str],
        usual_port: u16,
        variable: &'static str,
    ) -> Result<Address, Error> {
        let scheme = schemes[0];
        let url = Url::parse(url, schemes, &format!("{scheme}://user@host:{usual_port}/0"))?;
        let wrong = |problems: Vec<String>| Error::Plan(format!("target.url: {}", problems.join("; ")));
        let (host, port, said) = spelled(&url, usual_port).map_err(wrong)?;
        let login = if url.user.is_empty() { String::new() } else { format!("{}@", url.user) };
        let target = format!("{scheme}://{login}{}/{}", host_and_port(&host, port), url.path);
        let user = if url.user.is_empty() { "default" } else { url.user.as_str() }.to_owned();
        let given = url.password_of(&[&host], port, &url.path, &user)?;
        Ok(Address {
            tls: Tls::new(&said.tls_options, url_options::ROOTS)?,
            place: Endpoint { limit: said.connect, ..Endpoint::new(host, port, target) },
            user,
            password: given.or_else(|| std::env::var(variable).ok().filter(|text| !text.is_empty())),
            database: url.path,
            variable,
        })
    }

    /// What every connection says first.
    pub(super) fn hello(&self, out: &mut Vec<u8>) -> usize {
        match &self.password {
            Some(password) => put_command(out, &["HELLO", "3", "AUTH", &self.user, password]),
            None => put_command(out, &["HELLO", "3"]),
        }
        if self.database.is_empty() {
            return 1;
        }
        put_command(out, &["SELECT", &self.database]);
        2
    }

    /// The failure to log in, with its remedy.
    pub(super) fn refused(&self, refusal: &str) -> Error {
        let (class, remedy) = match outcome(refusal) {
            Outcome::Auth => (
                TargetFault::Auth,
                format!("check the user in the URL and the password in {}", self.variable),
            ),
            Outcome::Undefined => {
                (TargetFault::Other, "inrush speaks RESP3, of Redis 6 and later".to_owned())
            }
            Outcome::Refused => {
                (TargetFault::Unreachable, "the server cannot work yet: try again shortly".to_owned())
            }
            _ if refusal.contains("DB index") => {
                (TargetFault::MissingDatabase, "name another database in the URL".to_owned())
            }
            _ => (TargetFault::Other, "see the server's log".to_owned()),
        };
        let refusal = without(refusal, self.password.as_deref(), &self.user);
        Error::Target { target: self.to_string(), class, message: format!("{refusal}; {remedy}") }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_and_who_and_hides_its_password() {
        let parse = |url: &str| Address::parse(url, &["valkey", "redis"], 6379, "INRUSH_TEST_NO_PASSWORD");
        let address = parse("redis://me:s%40crt@db.example/2").unwrap();
        assert_eq!(address.to_string(), "valkey://me@db.example:6379/2");
        let mut hello = Vec::new();
        assert_eq!(address.hello(&mut hello), 2);
        assert!(hello.ends_with(b"$5\r\ns@crt\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n"), "{hello:?}");
        let plain = parse("valkey://h").unwrap();
        assert_eq!((plain.user.as_str(), plain.password.as_deref()), ("default", None));
        for (wrong, says) in
            [("valkey://h/x", "no number"), ("valkey://h?gzip=1", "option gzip"), ("db://h", "valkey://")]
        {
            let message = parse(wrong).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(message.contains(says), "{wrong}: {message}");
        }
    }
}
