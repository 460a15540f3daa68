//! Where the server is, and where its password is found. The password is never part of any message.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::engine::secrets::usual_private_text;
use crate::engine::socket::{Endpoint, PATH_MOST};
use crate::engine::tls::{is_loopback, Check, Roots, Tls, TlsOptions, When};
use crate::engine::url::{escape, Url};
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
    /// Variables that every session sets for itself, as SQL behind a SET: `, name = value`.
    pub session: String,
    /// From the URL or the file that it names; see [`Address::password`].
    given: Option<String>,
}

impl std::fmt::Display for Address {
    /// As people may read it: without password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}@{}:{}/{}", self.engine, self.user, self.host, self.port, self.database)?;
        let Some(socket) = &self.socket else { return Ok(()) };
        let mut path = String::new();
        for name in socket.to_string_lossy().split('/').skip(1) {
            path.push('/');
            escape(name, &mut path);
        }
        write!(f, "?socket={path}")
    }
}

impl Address {
    /// `mysql://user@host:port/database`, or `mariadb://`. The user defaults to `root`; a database is not needed.
    ///
    /// With `?socket=/path/of/mysql.sock` the server is reached by that Unix socket, as its clients' `--socket` does.
    pub fn parse(engine: &str, url: &str) -> Result<Address, Error> {
        let mut url = Url::parse(url, &[engine], &format!("{engine}://user@host:port/database"))?;
        let socket = take_socket(&mut url.options)?;
        let named = |name: String, default: &str| if name.is_empty() { default.to_owned() } else { name };
        let host = named(std::mem::take(&mut url.host), "localhost");
        let (user, port) = (named(url.user.clone(), "root"), url.port.unwrap_or(3306));
        let allow_cleartext = taken(&mut url.options, "allow-cleartext-password")?;
        let trust_key = taken(&mut url.options, "get-server-public-key")?;
        let tls_options = tls_options(&host, &url.options)?;
        let given = url.password_of(&[&host], port, &url.path, &user)?;
        Ok(Address {
            allow_cleartext,
            trust_key,
            session: String::new(),
            tls: Tls::new(if socket.is_some() { &TlsOptions::NEVER } else { &tls_options }, "ssl-ca")?,
            host,
            port,
            socket,
            user,
            database: url.path,
            engine: engine.to_owned(),
            given,
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
        Endpoint { file: self.socket.clone(), ..Endpoint::new(&self.host, self.port, self.to_string()) }
    }

    /// From the URL, `MYSQL_PWD`, or `~/.my.cnf`, in this order; empty where none is given, as the clients do.
    pub fn password(&self) -> String {
        let file = || {
            let path = Path::new(&std::env::var_os("HOME")?).join(".my.cnf");
            password_in(&usual_private_text(&path)?, &self.engine)
        };
        self.given.clone().or_else(|| std::env::var("MYSQL_PWD").ok()).or_else(file).unwrap_or_default()
    }
}

/// The option `socket`, taken out of the others.
fn take_socket(options: &mut Vec<(String, String)>) -> Result<Option<PathBuf>, Error> {
    let Some(at) = options.iter().position(|(name, _)| name == "socket") else { return Ok(None) };
    let (_, path) = options.remove(at);
    if !path.starts_with('/') || path.len() > PATH_MOST {
        return Err(Error::Plan(format!(
            "target.url: socket={path} is no absolute path of at most {PATH_MOST} bytes; a symbolic link can shorten it"
        )));
    }
    Ok(Some(PathBuf::from(path)))
}

/// Whether an option that is there or not is set to true; it is taken out.
fn taken(options: &mut Vec<(String, String)>, name: &str) -> Result<bool, Error> {
    let mut set = false;
    for (_, value) in options.extract_if(.., |(found, _)| found == name) {
        set = match value.as_str() {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return Err(Error::Plan(format!("target.url: {name}={value}, but it is true or false"))),
        };
    }
    Ok(set)
}

/// What `ssl-mode` and `ssl-ca` mean to MySQL's clients.
///
/// They prefer TLS where nothing is said. So do we, but on this machine's own addresses nothing is encrypted then.
fn tls_options(host: &str, options: &[(String, String)]) -> Result<TlsOptions, Error> {
    let (mut mode, mut roots) = (None, None);
    for (name, value) in options {
        match name.as_str() {
            "ssl-mode" => mode = Some(value.to_ascii_uppercase()),
            "ssl-ca" => roots = Some(Roots::named(value)),
            _ => {
                return Err(Error::Plan(format!(
                    "target.url: option {name} is not known; known are socket, ssl-mode, ssl-ca, \
                     allow-cleartext-password, \
                     get-server-public-key"
                )))
            }
        }
    }
    let mode = mode.unwrap_or_else(|| {
        let usual = match roots {
            Some(_) => "VERIFY_CA",
            None if is_loopback(host) => "DISABLED",
            None => "PREFERRED",
        };
        usual.to_owned()
    });
    let (when, check) = match mode.as_str() {
        "DISABLED" => return Ok(TlsOptions::NEVER),
        "PREFERRED" => (When::IfOffered, Check::Nothing),
        "REQUIRED" => (When::Always, Check::Nothing),
        "VERIFY_CA" => (When::Always, Check::Chain),
        "VERIFY_IDENTITY" => (When::Always, Check::ChainAndName),
        _ => {
            return Err(Error::Plan(format!(
                "target.url: ssl-mode={mode} is not known; known are DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY"
            )))
        }
    };
    Ok(TlsOptions { when, check, roots: roots.unwrap_or(Roots::System) })
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
    fn modes_mean_what_they_mean_to_the_clients() {
        let of = |host: &str, query: &str| {
            let pairs = query.split_terminator('&').map(|pair| pair.split_once('=').expect("a pair"));
            let options: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            tls_options(host, &options).map(|tls_options| (tls_options.when, tls_options.check))
        };
        assert_eq!(of("127.0.0.1", "").unwrap(), (When::Never, Check::Nothing));
        assert_eq!(of("db.example", "").unwrap(), (When::IfOffered, Check::Nothing));
        assert_eq!(of("db.example", "ssl-mode=DISABLED").unwrap(), (When::Never, Check::Nothing));
        assert_eq!(of("localhost", "ssl-mode=preferred").unwrap(), (When::IfOffered, Check::Nothing));
        assert_eq!(of("h", "ssl-mode=REQUIRED&ssl-ca=/r").unwrap(), (When::Always, Check::Nothing));
        assert_eq!(of("localhost", "ssl-ca=/r").unwrap(), (When::Always, Check::Chain));
        assert_eq!(of("h", "ssl-mode=VERIFY_IDENTITY").unwrap(), (When::Always, Check::ChainAndName));
        assert!(of("h", "ssl-mode=ON").unwrap_err().to_string().contains("ssl-mode=ON is not known"));
        assert!(of("h", "ssl-key=/k").unwrap_err().to_string().contains("option ssl-key"));
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
