//! Where the server is, and where its password is found. The password is never part of any message.

use std::path::{Path, PathBuf};

use super::speaker::Speaker;
#[cfg(test)]
use super::speaker::POSTGRESQL;
use crate::engine::secrets::{password_in, usual_private_text};
use crate::engine::socket::{Endpoint, PATH_MOST};
use crate::engine::tls::{is_loopback, Check, Roots, Tls, TlsOptions, When};
use crate::engine::url::{escape, Url};
use inrush_rows::error::Error;

/// Where its packages put the server's sockets: then a password file may call the host `localhost`.
const USUAL_FOLDERS: [&str; 3] = ["/tmp", "/var/run/postgresql", "/run/postgresql"];

#[derive(Debug, Clone)]
pub struct Address {
    /// A name or address; or, from `/` on, the folder of the server's Unix socket.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub database: String,
    pub tls: Tls,
    pub speaker: &'static Speaker,
    /// Those of the URL that its speaker has beside PostgreSQL's.
    pub more_options: Vec<(String, String)>,
    /// From the URL or the file that it names; see [`Address::password`].
    given: Option<String>,
}

impl std::fmt::Display for Address {
    /// As people may read it: without password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (user, host, port, database) = (&self.user, &self.host, self.port, &self.database);
        let scheme = self.speaker.schemes[0];
        if self.socket_file().is_none() {
            return write!(f, "{scheme}://{user}@{host}:{port}/{database}");
        }
        let mut folder = String::new();
        for name in host.split('/').skip(1) {
            folder.push('/');
            escape(name, &mut folder);
        }
        write!(f, "{scheme}://{user}@:{port}/{database}?host={folder}")
    }
}

impl Address {
    /// `postgresql://user@host:port/database`; `postgres://` too. User and database default to `postgres`.
    ///
    /// As libpq: `host` and `port` among the options count before those in front, and a host that begins with `/` is
    /// the folder of a Unix socket, where nothing is encrypted whatever `sslmode` says.
    #[cfg(test)]
    pub fn parse(url: &str) -> Result<Address, Error> {
        Address::of(url, &POSTGRESQL)
    }

    /// The same of any speaker: its schemes, and what it has where the URL says nothing.
    pub fn of(url: &str, speaker: &'static Speaker) -> Result<Address, Error> {
        let form = format!("{}://user@host:port/database", speaker.schemes[0]);
        let mut url = Url::parse(url, speaker.schemes, &form)?;
        let named = |name: String, default: &str| if name.is_empty() { default.to_owned() } else { name };
        let mut more_options = Vec::new();
        for (name, value) in std::mem::take(&mut url.options) {
            match name.as_str() {
                own if speaker.more_options.contains(&own) => more_options.push((name, value)),
                "host" => url.host = value,
                "port" => url.port = Some(port(&value)?),
                _ => url.options.push((name, value)),
            }
        }
        let host = named(std::mem::take(&mut url.host), "localhost");
        let port = url.port.unwrap_or(speaker.port);
        let tls_options = tls_options(&host, &url.options, |name| std::env::var(name).ok(), implied_roots())?;
        let tls_options = match socket_file(&host, port) {
            None => tls_options,
            Some(file) => only_here(&file).map(|()| TlsOptions::NEVER)?,
        };
        let user = named(url.user.clone(), speaker.user);
        let database = named(url.path.clone(), speaker.database);
        let given = url.password_of(&Address::names(&host), port, &database, &user)?;
        Ok(Address {
            tls: Tls::new(&tls_options, "sslrootcert")?,
            host,
            port,
            user,
            database,
            given,
            speaker,
            more_options,
        })
    }

    pub fn place(&self) -> Endpoint {
        Endpoint { file: self.socket_file(), ..Endpoint::new(&self.host, self.port, self.to_string()) }
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
        self.given
            .clone()
            .or_else(|| std::env::var("PGPASSWORD").ok())
            .or_else(file)
            .or_else(|| self.speaker.password.map(str::to_owned))
    }

    fn password_in(&self, text: &str) -> Option<String> {
        password_in(text, &Address::names(&self.host), self.port, &self.database, &self.user)
    }

    /// Names of the host in a file of passwords.
    fn names(host: &str) -> Vec<&str> {
        let usual = USUAL_FOLDERS.contains(&host);
        [host].into_iter().chain(usual.then_some("localhost")).collect()
    }
}

/// The socket's file in the folder that `host` names; `None` for a host of the network.
fn socket_file(host: &str, port: u16) -> Option<PathBuf> {
    host.starts_with('/').then(|| Path::new(host).join(format!(".s.PGSQL.{port}")))
}

/// The kernel takes no longer paths, and a server could not have listened there.
fn only_here(file: &Path) -> Result<(), Error> {
    let bytes = file.as_os_str().len();
    if bytes <= PATH_MOST {
        return Ok(());
    }
    Err(Error::Plan(format!(
        "target.url: {} has {bytes} bytes, and the path of a socket {PATH_MOST} at most; name a folder with a shorter \
         path (a symbolic link will do), or the server's port",
        file.display()
    )))
}

fn port(text: &str) -> Result<u16, Error> {
    text.parse().map_err(|_| Error::Plan(format!("target.url: port={text} is not a port")))
}

/// As libpq: a file of roots that is there is used without being named.
fn implied_roots() -> Option<PathBuf> {
    let path = Path::new(&std::env::var_os("HOME")?).join(".postgresql/root.crt");
    path.exists().then_some(path)
}

/// What `sslmode` and `sslrootcert` mean to libpq; `PGSSLMODE` and `PGSSLROOTCERT` where the URL has none.
///
/// libpq prefers TLS where nothing is said. So do we, but on this machine's own addresses nothing is encrypted then.
fn tls_options(
    host: &str,
    options: &[(String, String)],
    variable: impl Fn(&str) -> Option<String>,
    implied: Option<PathBuf>,
) -> Result<TlsOptions, Error> {
    let (mut mode, mut roots) = (variable("PGSSLMODE"), variable("PGSSLROOTCERT"));
    for (name, value) in options {
        match name.as_str() {
            "sslmode" => mode = Some(value.clone()),
            "sslrootcert" => roots = Some(value.clone()),
            _ => {
                return Err(Error::Plan(format!(
                    "target.url: option {name} is not known; known are host, port, passfile, sslmode, sslrootcert"
                )))
            }
        }
    }
    let roots = roots.filter(|text| !text.is_empty()).map(|text| Roots::named(&text));
    let mode = mode.filter(|text| !text.is_empty()).unwrap_or_else(|| {
        let usual = match roots {
            Some(Roots::System) => "verify-full",
            None if is_loopback(host) => "disable",
            _ => "prefer",
        };
        usual.to_owned()
    });
    let (when, check) = match mode.as_str() {
        "disable" => return Ok(TlsOptions::NEVER),
        "allow" => (When::IfRefused, Check::Nothing),
        "prefer" => (When::IfOffered, Check::Nothing),
        "require" => (When::Always, Check::Nothing),
        "verify-ca" => (When::Always, Check::Chain),
        "verify-full" => (When::Always, Check::ChainAndName),
        _ => {
            return Err(Error::Plan(format!(
                "target.url: sslmode={mode} is not known; known are disable, allow, prefer, require, verify-ca, verify-full"
            )))
        }
    };
    if roots == Some(Roots::System) && check != Check::ChainAndName {
        return Err(Error::Plan(format!(
            "target.url: with sslrootcert=system any host's certificate would do for sslmode={mode}; use verify-full"
        )));
    }
    // As libpq: if roots are at hand the chain is checked, whatever the mode.
    let roots = roots.or(implied.map(Roots::File));
    let check = if roots.is_some() { check.max(Check::Chain) } else { check };
    Ok(TlsOptions { when, check, roots: roots.unwrap_or(Roots::System) })
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
        assert!(message.contains("port=sql is not a port"), "{message}");
    }

    #[test]
    fn a_folder_whose_path_is_too_long_for_a_socket_is_named_before_anybody_connects() {
        let of = |bytes: usize| Address::parse(&format!("postgresql:///db?host=/{}", "f".repeat(bytes)));
        // With `/` in front and `/.s.PGSQL.5432` behind.
        of(92).unwrap();
        let message = of(93).unwrap_err().to_string();
        assert!(message.contains("has 108 bytes, and the path of a socket 107 at most"), "{message}");
    }

    fn tls_options_of(host: &str, query: &str, environment: &[(&str, &str)]) -> Result<TlsOptions, Error> {
        let options: Vec<_> = query.split_terminator('&').filter_map(|pair| pair.split_once('=')).collect();
        let options: Vec<_> = options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let variable =
            |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
        tls_options(host, &options, variable, None)
    }

    #[test]
    fn nothing_said_prefers_tls_but_on_this_machine() {
        for host in ["localhost", "127.0.0.1", "127.1.2.3", "::1"] {
            assert_eq!(tls_options_of(host, "", &[]).unwrap(), TlsOptions::NEVER, "{host}");
            assert_eq!(tls_options_of(host, "sslmode=prefer", &[]).unwrap().when, When::IfOffered, "{host}");
        }
        let far = tls_options_of("db.example", "", &[]).unwrap();
        assert_eq!((far.when, far.check), (When::IfOffered, Check::Nothing));
    }

    #[test]
    fn modes_and_roots_mean_what_they_mean_to_libpq() {
        let of = |query: &str| {
            tls_options_of("db.example", query, &[]).map(|tls_options| (tls_options.when, tls_options.check))
        };
        assert_eq!(of("sslmode=disable&sslrootcert=/r").unwrap(), (When::Never, Check::Nothing));
        assert_eq!(of("sslmode=allow").unwrap(), (When::IfRefused, Check::Nothing));
        assert_eq!(of("sslmode=require").unwrap(), (When::Always, Check::Nothing));
        assert_eq!(of("sslmode=require&sslrootcert=/r").unwrap(), (When::Always, Check::Chain));
        assert_eq!(of("sslmode=verify-ca").unwrap(), (When::Always, Check::Chain));
        assert_eq!(of("sslmode=verify-full").unwrap(), (When::Always, Check::ChainAndName));
        assert_eq!(of("sslrootcert=system").unwrap(), (When::Always, Check::ChainAndName));
        let message = of("sslmode=require&sslrootcert=system").unwrap_err().to_string();
        assert!(message.contains("use verify-full"), "{message}");
        let message = of("sslmode=on").unwrap_err().to_string();
        assert!(message.contains("sslmode=on is not known"), "{message}");
        assert!(of("sslcert=/c").unwrap_err().to_string().contains("option sslcert"));
    }

    #[test]
    fn the_environment_is_asked_where_the_url_says_nothing() {
        let environment = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", "/r")];
        let tls_options = tls_options_of("localhost", "", &environment).unwrap();
        assert_eq!((tls_options.when, tls_options.check), (When::Always, Check::ChainAndName));
        assert_eq!(tls_options.roots, Roots::File("/r".into()));
        assert_eq!(tls_options_of("localhost", "sslmode=disable", &environment).unwrap(), TlsOptions::NEVER);
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
