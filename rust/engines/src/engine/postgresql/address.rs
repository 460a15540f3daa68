//! Where the server is, and where its password is found. The password is never part of any message.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::failure::Failure;
use super::speaker::Speaker;
#[cfg(test)]
use super::speaker::POSTGRESQL;
use super::spelled::{socket_file, tls_options, Binding, Spelled, Wanted, MODES};
use crate::engine::secrets::{password_in, usual_private_text, without, Secret};
use crate::engine::socket::Endpoint;
use crate::engine::tls::{Roots, Tls, TlsOptions};
use crate::engine::url::{escaped_path, host_and_port, Url};
use crate::engine::Outcome;
use inrush_rows::error::{Error, TargetFault};

/// Where its packages put the server's sockets: then a password file may call the host `localhost`.
const USUAL_FOLDERS: [&str; 3] = ["/tmp", "/var/run/postgresql", "/run/postgresql"];
/// Successful completion: no state of a refusal.
const NO_STATE: &str = "00000";
const CHECK_LOG_IN: &str = "check the user in the URL and the password in PGPASSWORD or PGPASSFILE";

#[derive(Debug, Clone)]
pub struct Address {
    /// A name or address; or, from `/` on, the folder of the server's Unix socket.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub database: String,
    pub tls: Tls,
    pub speaker: &'static Speaker,
    /// Port of its HTTP, where the URL names one and its speaker has it.
    pub http: Option<u16>,
    /// Settings of every session that the URL asks for, as the first message has them.
    pub startup: Vec<(&'static str, String)>,
    pub binding: Binding,
    /// What the server must be, of several that the URL names.
    pub wanted: Wanted,
    /// A pooler gives each transaction another session, which has no statement that was prepared in one before; `None`: to be
    /// found out.
    pub pooled: Option<bool>,
    /// Longest time to connect and to log in.
    pub connect: Duration,
    /// From the URL or the file that it names; see [`Address::password`].
    given: Option<Secret>,
}

impl std::fmt::Display for Address {
    /// As people may read it: without password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (user, host, port, database) = (&self.user, &self.host, self.port, &self.database);
        let scheme = self.speaker.schemes[0];
        if self.socket_file().is_none() {
            return write!(f, "{scheme}://{user}@{}/{database}", host_and_port(host, port));
        }
        write!(f, "{scheme}://{user}@:{port}/{database}?host={}", escaped_path(host))
    }
}

impl Address {
    /// `postgresql://user@host:port/database`; `postgres://` too. User and database default to `postgres`.
    ///
    /// A host that begins with `/` is the folder of a Unix socket, where nothing is encrypted whatever `sslmode` says.
    #[cfg(test)]
    pub fn parse(url: &str) -> Result<Address, Error> {
        Address::of(url, &POSTGRESQL)
    }

    #[cfg(test)]
    pub fn of(url: &str, speaker: &'static Speaker) -> Result<Address, Error> {
        Address::all(url, speaker).map(|mut all| all.remove(0))
    }

    /// The same of any speaker, one for each host that the URL names, in the order in which they are tried.
    pub fn all(url: &str, speaker: &'static Speaker) -> Result<Vec<Address>, Error> {
        let form = format!("{}://user@host:port/database", speaker.schemes[0]);
        let url = Url::parse(url, speaker.schemes, &form)?;
        let wrong = |problems: Vec<String>| Error::Plan(format!("target.url: {}", problems.join("; ")));
        let spelled = Spelled::of(&url, speaker).map_err(wrong)?;
        let hosts =
            spelled.hosts.iter().map(|(host, port)| Address::at(host, *port, &spelled, &url, speaker));
        hosts.collect()
    }

    fn at(
        host: &str,
        port: u16,
        spelled: &Spelled,
        url: &Url,
        speaker: &'static Speaker,
    ) -> Result<Address, Error> {
        let wrong = |problem: String| Error::Plan(format!("target.url: {problem}"));
        let tls_options = match socket_file(host, port) {
            Some(_) => TlsOptions::NEVER,
            None => with_variables(host, spelled, |name| std::env::var(name).ok(), implied_roots())
                .map_err(wrong)?,
        };
        let given = url.password_of(&Address::names(host), port, &spelled.database, &spelled.user)?;
        Ok(Address {
            tls: Tls::new(&tls_options, "sslrootcert")?,
            host: host.to_owned(),
            port,
            user: spelled.user.clone(),
            database: spelled.database.clone(),
            given: given.map(Secret),
            speaker,
            http: spelled.http,
            startup: spelled.startup.clone(),
            binding: spelled.binding,
            wanted: spelled.wanted,
            pooled: spelled.pooled,
            connect: spelled.connect,
        })
    }

    pub fn place(&self) -> Endpoint {
        Endpoint {
            file: self.socket_file(),
            limit: self.connect,
            ..Endpoint::new(&self.host, self.port, self.to_string())
        }
    }

    fn socket_file(&self) -> Option<PathBuf> {
        socket_file(&self.host, self.port)
    }

    /// From the URL, `PGPASSWORD`, the file `PGPASSFILE`, or `~/.pgpass`, in this order; else the one as shipped.
    pub fn password(&self) -> Option<String> {
        let file = || {
            let path = std::env::var_os("PGPASSFILE")
                .map(PathBuf::from)
                .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass")))?;
            usual_private_text(&path).and_then(|text| self.password_in(&text))
        };
        let given = self.given.as_ref().map(|Secret(given)| given.clone());
        given
            .or_else(|| std::env::var("PGPASSWORD").ok())
            .or_else(file)
            .or_else(|| self.speaker.password.map(str::to_owned))
    }

    /// The first line `host:port:database:user:password` that matches; `*` matches everything.
    fn password_in(&self, text: &str) -> Option<String> {
        password_in(text, &Address::names(&self.host), self.port, &self.database, &self.user)
    }

    /// Names of the host in a file of passwords.
    fn names(host: &str) -> Vec<&str> {
        let usual = USUAL_FOLDERS.contains(&host);
        [host].into_iter().chain(usual.then_some("localhost")).collect()
    }
}

impl Failure {
    /// The failure to connect, with its remedy.
    pub fn on_connect(&self, address: &Address) -> Error {
        let (class, remedy) = match self.sqlstate.as_str() {
            "3D000" => (TargetFault::MissingDatabase, "create it, or name another one in the URL"),
            "53300" => (TargetFault::Other, "use fewer sessions, or raise max_connections"),
            "57P03" => (TargetFault::Unreachable, "the server is starting or stopping: try again shortly"),
            // `NO_STATE`: of a speaker whose refusals all bear it.
            NO_STATE if (address.speaker.outcome)(self) == Outcome::Auth => (TargetFault::Auth, CHECK_LOG_IN),
            state if state.starts_with("28") => (TargetFault::Auth, CHECK_LOG_IN),
            _ => (TargetFault::Other, "see the server's log"),
        };
        let said = without(&self.to_string(), address.password().as_deref(), &address.user);
        Error::Target { target: address.to_string(), class, message: format!("{said}; {remedy}") }
    }
}

/// As libpq: a file of roots that is there is used without being named.
fn implied_roots() -> Option<PathBuf> {
    let path = Path::new(&std::env::var_os("HOME")?).join(".postgresql/root.crt");
    path.exists().then_some(path)
}

/// `PGSSLMODE` and `PGSSLROOTCERT` stand in for what the URL leaves out.
fn with_variables(
    host: &str,
    spelled: &Spelled,
    variable: impl Fn(&str) -> Option<String>,
    implied: Option<PathBuf>,
) -> Result<TlsOptions, String> {
    let said = |name: &str| variable(name).filter(|text| !text.is_empty());
    let mode = match (spelled.mode, said("PGSSLMODE")) {
        (None, Some(word)) => {
            let known = MODES.iter().find(|(known, _)| *known == word);
            Some(known.ok_or("the variable PGSSLMODE is no sslmode")?.1)
        }
        (mode, _) => mode,
    };
    let roots = spelled.roots.clone().or_else(|| said("PGSSLROOTCERT").map(|text| Roots::named(&text)));
    tls_options(host, mode, roots, implied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tls::{Check, When};

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
            "postgresql://postgres@[::1]:5432/postgres"
        );
        assert_eq!(
            Address::parse("postgresql:///db").unwrap().to_string(),
            "postgresql://postgres@localhost:5432/db"
        );
    }

    #[test]
    fn a_host_that_is_a_path_is_the_folder_of_a_socket_as_libpq_has_it() {
        let forms = [
            "postgresql://me@/db?host=/Var/My%20sockets&port=5433",
            "postgresql://me@:5433/db?host=/Var/My%20sockets",
            "postgresql://me@%2FVar%2FMy%20sockets:5433/db",
            "postgresql://me@elsewhere:1/db?host=/Var/My%20sockets&port=5433&sslmode=require",
        ];
        for url in forms {
            let address = Address::parse(url).unwrap();
            let place = address.place();
            let file = Path::new("/Var/My sockets/.s.PGSQL.5433");
            assert_eq!(place.file.as_deref(), Some(file), "{url}");
            assert_eq!(address.tls.when, When::Never, "{url}: nothing is encrypted there");
            let shown = "postgresql://me@:5433/db?host=/Var/My%20sockets";
            assert_eq!(address.to_string(), shown, "{url}");
            assert_eq!(Address::parse(shown).unwrap().place(), place, "what is shown can be used");
        }
        let network = Address::parse("postgresql://me@here:1/db?host=db.example&port=5433").unwrap();
        assert_eq!(network.to_string(), "postgresql://me@db.example:5433/db");
        assert_eq!(network.place().file, None);
        let message = Address::parse("postgresql:///db?port=sql").unwrap_err().to_string();
        assert!(message.contains("port is not a port"), "{message}");
    }

    #[test]
    fn the_environment_is_asked_where_the_url_says_nothing() {
        let of = |query: &str, mode: &str| {
            let url = Url::read(&format!("postgresql://localhost/d{query}")).unwrap();
            let variable = |name: &str| Some(if name == "PGSSLMODE" { mode } else { "/r" }.to_owned());
            with_variables("localhost", &Spelled::of(&url, &POSTGRESQL).unwrap(), variable, None)
        };
        let tls_options = of("", "verify-full").unwrap();
        assert_eq!((tls_options.when, tls_options.check), (When::Always, Check::ChainAndName));
        assert_eq!(tls_options.roots, Roots::File("/r".into()));
        assert_eq!(of("?sslmode=disable", "verify-full").unwrap(), TlsOptions::NEVER);
        assert_eq!(of("", "S3cr").unwrap_err(), "the variable PGSSLMODE is no sslmode");
    }

    #[test]
    fn roots_that_cannot_be_read_are_named_before_anybody_connects() {
        let url = "postgresql://h/d?sslmode=verify-full&sslrootcert=/no/such/root.crt";
        let message = Address::parse(url).unwrap_err().to_string();
        assert!(message.contains("sslrootcert=/no/such/root.crt"), "{message}");
    }

    #[test]
    fn a_password_file_is_read_as_libpq_does() {
        let address = Address::parse("postgresql://me@h:5433/d").unwrap();
        let file = "# comment\nother:*:*:*:no\nh:5433:d:you:no\nh:*:*:me:a\\:b\\\\c\n*:*:*:*:later\n";
        assert_eq!(address.password_in(file).as_deref(), Some("a:b\\c"));
        assert_eq!(address.password_in("h:1:d:me:no"), None);
        let of = |folder: &str, file: &str| {
            Address::parse(&format!("postgresql://me@/d?host={folder}")).unwrap().password_in(file)
        };
        for folder in ["/tmp", "/var/run/postgresql", "/elsewhere"] {
            assert_eq!(of(folder, &format!("{folder}:5432:d:me:mine")).as_deref(), Some("mine"));
            let usual = (folder != "/elsewhere").then(|| "usual".to_owned());
            assert_eq!(of(folder, "localhost:5432:d:me:usual"), usual, "{folder}");
        }
    }
}
