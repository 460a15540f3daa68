//! Where the server is, and where its password is found. The password is never part of any message.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::spelled::Spelled;
use crate::engine::secrets::{usual_private_text, Secret};
use crate::engine::socket::Endpoint;
use crate::engine::tls::Tls;
use crate::engine::url::{escaped_path, host_and_port, Url};
use inrush_rows::error::Error;

#[derive(Debug, Clone)]
pub struct Address {
    pub host: String,
    pub port: u16,
    /// The server's Unix socket: then host and port say no more, and nothing is encrypted.
    pub socket: Option<PathBuf>,
    pub user: String,
    /// Empty: none is chosen.
    pub database: String,
    /// `mysql` or `mariadb`: what the server must be.
    pub engine: String,
    pub tls: Tls,
    /// The password itself may go through TLS to a server that is not verified.
    pub allow_cleartext: bool,
    /// Without TLS the password may go under a key that the server has just sent.
    pub trust_key: bool,
    /// Longest time to connect and to log in.
    pub connect: Duration,
    /// Variables that every session sets for itself, as SQL behind a SET: `, name = value`.
    pub session: String,
    /// From the URL or the file that it names; see [`Address::password`].
    given: Option<Secret>,
}

impl std::fmt::Display for Address {
    /// As people may read it: without password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = host_and_port(&self.host, self.port);
        write!(f, "{}://{}@{place}/{}", self.engine, self.user, self.database)?;
        match &self.socket {
            None => Ok(()),
            Some(socket) => write!(f, "?socket={}", escaped_path(&socket.to_string_lossy())),
        }
    }
}

impl Address {
    /// `mysql://user@host:port/database`, or `mariadb://`. The user defaults to `root`; a database is not needed.
    ///
    /// With `?socket=/path/of/mysql.sock` the server is reached by that Unix socket, as its clients' `--socket` does.
    pub fn parse(engine: &str, url: &str) -> Result<Address, Error> {
        let url = Url::parse(url, &[engine], &format!("{engine}://user@host:port/database"))?;
        let wrong = |problems: Vec<String>| Error::Plan(format!("target.url: {}", problems.join("; ")));
        let spelled = Spelled::of(&url).map_err(wrong)?;
        let given = url.password_of(&[&spelled.host], spelled.port, &spelled.database, &spelled.user)?;
        Ok(Address {
            allow_cleartext: spelled.allow_cleartext,
            trust_key: spelled.trust_key,
            connect: spelled.connect,
            session: String::new(),
            tls: Tls::new(&spelled.tls_options, "ssl-ca")?,
            host: spelled.host,
            port: spelled.port,
            socket: spelled.socket,
            user: spelled.user,
            database: spelled.database,
            engine: engine.to_owned(),
            given: given.map(Secret),
        })
    }

    /// With the options `set.<name>` of a target: session variables and their values.
    pub fn with_session(mut self, options: &BTreeMap<String, String>) -> Result<Address, Error> {
        for (name, value) in
            options.iter().filter_map(|(name, value)| Some((name.strip_prefix("set.")?, value)))
        {
            let of_words = |text: &str| {
                !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
            };
            if !of_words(name) || !of_words(value) {
                return Err(Error::Plan(format!(
                    "target.options: set.{name} = {value}; names and values are letters, digits, _, . and -"
                )));
            }
            let value = if value.parse::<f64>().is_ok() { value.clone() } else { format!("'{value}'") };
            self.session.push_str(&format!(", {name} = {value}"));
        }
        Ok(self)
    }

    pub fn place(&self) -> Endpoint {
        Endpoint {
            file: self.socket.clone(),
            limit: self.connect,
            ..Endpoint::new(&self.host, self.port, self.to_string())
        }
    }

    /// From the URL, `MYSQL_PWD`, or `~/.my.cnf`, in this order; empty where none is given, as the clients do.
    pub fn password(&self) -> String {
        let file = || {
            let path = Path::new(&std::env::var_os("HOME")?).join(".my.cnf");
            password_in(&usual_private_text(&path)?, &self.engine)
        };
        let given = self.given.as_ref().map(|Secret(given)| given.clone());
        given.or_else(|| std::env::var("MYSQL_PWD").ok()).or_else(file).unwrap_or_default()
    }
}

/// `password` of an option file's section `[client]` or of the engine's own; the last one counts.
fn password_in(text: &str, engine: &str) -> Option<String> {
    let own = ["client".to_owned(), format!("client-{engine}"), engine.to_owned()];
    let (mut ours, mut found) = (false, None);
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            ours = own.iter().any(|name| name == section.trim());
        } else if let Some((key, value)) = line.split_once('=').filter(|_| ours && !line.starts_with('#')) {
            if key.trim() == "password" {
                found = Some(option_value(value.trim()));
            }
        }
    }
    found
}

/// Without quotes, escapes undone; a `#` outside of quotes begins a comment.
fn option_value(text: &str) -> String {
    let quoted = |quote: char| text.strip_prefix(quote)?.rsplit_once(quote).map(|(inner, _)| inner);
    let plain = || text.split('#').next().unwrap_or("").trim_end();
    let text = quoted('"').or_else(|| quoted('\'')).unwrap_or_else(plain);
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(ch) = chars.next() {
        match (ch, chars.as_str().chars().next()) {
            ('\\', Some(next)) => {
                chars.next();
                value.push(match next {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    's' => ' ',
                    other => other,
                });
            }
            _ => value.push(ch),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::socket::PATH_MOST;
    use crate::engine::tls::When;

    #[test]
    fn a_url_is_taken_apart_and_defaults_are_those_of_the_clients() {
        let address = Address::parse("mysql", "mysql://me:s%40crt@db.example:3307/my%20data").unwrap();
        assert_eq!((address.host.as_str(), address.port), ("db.example", 3307));
        assert_eq!((address.user.as_str(), address.database.as_str()), ("me", "my data"));
        assert_eq!(address.password(), "s@crt");
        assert!(!address.to_string().contains("crt"), "a password is never shown");
        let address = Address::parse("mariadb", "mariadb://h").unwrap();
        assert_eq!(address.to_string(), "mariadb://root@h:3306/");
    }

    #[test]
    fn a_socket_is_a_file_beside_which_nothing_is_encrypted() {
        let url = "mysql://me@localhost/d?socket=/var/My%20data/mysql.sock&ssl-mode=REQUIRED";
        let address = Address::parse("mysql", url).unwrap();
        assert_eq!(address.place().file.as_deref(), Some(Path::new("/var/My data/mysql.sock")));
        assert_eq!(address.tls.when, When::Never);
        assert_eq!(address.to_string(), "mysql://me@localhost:3306/d?socket=/var/My%20data/mysql.sock");
        for wrong in ["mysql.sock".to_owned(), format!("/{}", "d".repeat(PATH_MOST))] {
            let message =
                Address::parse("mysql", &format!("mysql://h/?socket={wrong}")).unwrap_err().to_string();
            assert!(message.contains("is no absolute path"), "{message}");
        }
    }

    #[test]
    fn an_address_of_the_other_engine_is_refused() {
        assert!(Address::parse("mysql", "mariadb://h").unwrap_err().to_string().contains("mysql://"));
    }

    #[test]
    fn an_option_file_is_read_as_the_clients_do() {
        let file = "[mysqld]\npassword=no\n[client] # ours\nuser = x\npassword = \"a b#\\\\c\" # comment\n";
        assert_eq!(password_in(file, "mysql").as_deref(), Some("a b#\\c"));
        assert_eq!(
            password_in("[client]\npassword=a#b\n[mysql]\npassword=d\n", "mysql").as_deref(),
            Some("d")
        );
        assert_eq!(
            password_in("[client]\npassword=a#b\n[mysql]\npassword=d\n", "mariadb").as_deref(),
            Some("a")
        );
        assert_eq!(password_in("[client]\n#password=a\n", "mysql"), None);
    }
}
