//! Passwords outside of their protocols: the files that hold them, and the warning where one travels in clear.

use std::collections::HashSet;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;

use super::socket::Endpoint;
use super::tls::is_loopback;
use inrush_rows::lock::Unpoisoned;

/// A password that an address gave: it is in no message, and not shown where a value is printed for its finder.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// What a server said of a log-in, without the password that it was sent: some servers repeat what they refuse.
pub fn without(said: &str, password: Option<&str>, user: &str) -> String {
    /// A shorter one is a part of many words.
    const SHORTEST: usize = 6;
    match password.filter(|password| password.len() >= SHORTEST && *password != user) {
        Some(password) => said.replace(password, "…"),
        None => said.to_owned(),
    }
}

const OPEN_TO_OTHERS: &str = "other users can read it; run chmod 600 on it";

/// Text of a file with passwords. As libpq: one that others can read is refused.
pub fn private_text(path: &Path) -> Result<String, std::io::Error> {
    let mut file = std::fs::File::open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(std::io::Error::new(ErrorKind::PermissionDenied, OPEN_TO_OTHERS));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// The same of a file at its usual place: if it is not there, nothing is said. A line on stderr says that others can read it.
pub fn usual_private_text(path: &Path) -> Option<String> {
    private_text(path)
        .map_err(|e| {
            if e.to_string() == OPEN_TO_OTHERS {
                warn_once(format!("{} is not used: {e}", path.display()));
            }
        })
        .ok()
}

/// The first line `host:port:database:user:password` that matches; `*` matches everything. hosts: names of the one host.
pub fn password_in(text: &str, hosts: &[&str], port: u16, database: &str, user: &str) -> Option<String> {
    let port = port.to_string();
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [host, rest @ .., password] = fields.as_slice() else { return None };
        let wanted = [port.as_str(), database, user];
        let matches = rest.len() == wanted.len()
            && (host == "*" || hosts.contains(&host.as_str()))
            && rest.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        matches.then(|| password.clone())
    })
}

/// Split at the first four colons; a backslash keeps the next character.
fn fields(line: &str) -> Vec<String> {
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

/// Warns that `what` (`the password`) can be read on its way, where it leaves this machine.
pub fn sent_in_clear(place: &Endpoint, what: &str, remedy: &str) {
    if let Some(warning) = clear_warning(place, what, remedy) {
        warn_once(warning);
    }
}

fn clear_warning(place: &Endpoint, what: &str, remedy: &str) -> Option<String> {
    let stays_here = place.file.is_some() || is_loopback(&place.host);
    let Endpoint { target, host, .. } = place;
    (!stays_here)
        .then(|| format!("{target}: {what} goes to {host} in clear and can be read on its way; {remedy}"))
}

/// On stderr, once per process: sessions connect by the hundred. Never while a clock runs but for what is new.
pub fn warn_once(text: String) {
    static WARNED: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let mut warned = WARNED.lock().unpoisoned();
    if warned.get_or_insert_default().insert(text.clone()) {
        eprintln!("inrush: {text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_repeats_a_password_is_quoted_without_it() {
        assert_eq!(without("no user hidden1", Some("hidden1"), "me"), "no user …");
        assert_eq!(without("no user me", Some("me"), "me"), "no user me");
        assert_eq!(without("no", None, "me"), "no");
    }

    #[test]
    fn what_stays_on_this_machine_is_not_warned_about() {
        let of = |host: &str| clear_warning(&Endpoint::new(host, 1, "db://h"), "the password", "use TLS");
        assert_eq!(
            of("db.example").as_deref(),
            Some("db://h: the password goes to db.example in clear and can be read on its way; use TLS")
        );
        for host in ["localhost", "127.0.0.1", "::1"] {
            assert_eq!(of(host), None, "{host}");
        }
        let socket = Endpoint { file: Some("/run/s".into()), ..Endpoint::new("/run", 1, "db://h") };
        assert_eq!(clear_warning(&socket, "the password", "use TLS"), None);
    }

    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("passwords");
        std::fs::write(&file, "secret").unwrap();
        for (mode, read) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o660, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(private_text(&file).is_ok(), read, "{mode:o}");
            assert_eq!(usual_private_text(&file).is_some(), read, "{mode:o}");
        }
        assert_eq!(usual_private_text(&folder.path().join("none")), None);
    }
}
