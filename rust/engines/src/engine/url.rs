//! Addresses of servers: `scheme://user:password@host:port/path?option=value`. A password is never part of a message.

use std::path::PathBuf;

use super::secrets::{password_in, private_text};
use inrush_rows::error::Error;

/// Option of every engine's URL: a file with its password, in the format of `~/.pgpass`. As libpq has it.
const PASSFILE: &str = "passfile";

/// A URL taken apart, %-escapes decoded; what was left out is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    pub user: String,
    pub password: Option<String>,
    pub host: String,
    pub port: Option<u16>,
    /// Without its first slash.
    pub path: String,
    /// All but `passfile`, which [`Url::password_of`] reads.
    pub options: Vec<(String, String)>,
    passfile: Option<PathBuf>,
}

impl Url {
    /// `schemes` without `://`; `form` is how a right one is written, for the message.
    pub fn parse(url: &str, schemes: &[&str], form: &str) -> Result<Url, Error> {
        // The URL itself may hold a password: it is not repeated.
        let wrong = |what: &str| Error::Plan(format!("target.url: {what}; write {form}"));
        let decoded = |text: &str| decoded(text).ok_or_else(|| wrong("broken %-escape"));
        let rest = schemes
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme)?.strip_prefix("://"))
            .ok_or_else(|| wrong(&format!("it does not begin with {}://", schemes[0])))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decoded(password)?)),
            None => (login, None),
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(v6) => v6.split_once(']').ok_or_else(|| wrong("an IPv6 address has no closing bracket"))?,
            None => place.find(':').map_or((place, ""), |at| place.split_at(at)),
        };
        let port = match port.strip_prefix(':') {
            Some(digits) if !digits.is_empty() => {
                Some(digits.parse().map_err(|_| wrong(&format!("{digits} is not a port")))?)
            }
            _ => None,
        };
        let pairs = query.split('&').filter(|option| !option.is_empty());
        let mut options = pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Ok((decoded(name)?, decoded(value)?))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let passfile =
            options.extract_if(.., |(name, _)| name == PASSFILE).last().map(|(_, path)| path.into());
        let (user, host, path) = (decoded(user)?, decoded(host)?, decoded(path)?);
        Ok(Url { user, password, host, port, path, options, passfile })
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
        let (None, Some(path)) = (&self.password, &self.passfile) else { return Ok(self.password.clone()) };
        let wrong = |why: String| Error::Plan(format!("target.url: {PASSFILE}={}: {why}", path.display()));
        let text = private_text(path).map_err(|e| wrong(e.to_string()))?;
        let found = password_in(&text, hosts, port, database, user);
        found.map(Some).ok_or_else(|| {
            let host = hosts.first().copied().unwrap_or_default();
            wrong(format!("no line of it is for {host}:{port}:{database}:{user}; the last field of a line is the password"))
        })
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORM: &str = "db://user@host:port/database";

    #[test]
    fn a_url_is_taken_apart() {
        let url = Url::parse("db://me:s%40crt@db.example:5433/my%20data?a=1&b", &["db"], FORM).unwrap();
        assert_eq!((url.user.as_str(), url.password.as_deref()), ("me", Some("s@crt")));
        assert_eq!((url.host.as_str(), url.port, url.path.as_str()), ("db.example", Some(5433), "my data"));
        assert_eq!(url.options, [("a".into(), "1".into()), ("b".into(), String::new())]);
    }

    #[test]
    fn what_is_left_out_is_empty() {
        let url = Url::parse("other://[::1]", &["db", "other"], FORM).unwrap();
        assert_eq!((url.user.as_str(), url.password, url.host.as_str()), ("", None, "::1"));
        assert_eq!((url.port, url.path.as_str(), url.options), (None, "", Vec::new()));
    }

    #[test]
    fn a_wrong_url_is_refused_without_its_password() {
        for url in ["mysql://u:hidden@h/d", "db://u:hidden@h:port/d", "db://u:hid%den@h/d", "db://[::1"] {
            let message = Url::parse(url, &["db"], FORM).unwrap_err().to_string();
            assert!(message.starts_with("plan: target.url: ") && !message.contains("hid"), "{message}");
            assert!(message.ends_with(FORM), "{message}");
        }
    }

    #[test]
    fn a_file_that_the_url_names_has_the_password_for_its_place() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file");
        std::fs::write(&file, "# ours\nh:1:d:other:wrong\nh:*:d:u:hid\\:den:too\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let name = file.display().to_string().replace(' ', "%20");
        let of = |login: &str, user: &str| {
            let url = Url::parse(&format!("db://{login}@h/d?a=1&passfile={name}"), &["db"], FORM).unwrap();
            assert_eq!(url.options, [("a".into(), "1".into())], "an engine does not see it");
            url.password_of(&["h"], 1, "d", user).map_err(|e| e.to_string())
        };
        mode(0o600);
        assert_eq!(of("u", "u"), Ok(Some("hid:den:too".into())));
        assert_eq!(of("u:own", "u"), Ok(Some("own".into())), "the one in the URL counts before it");
        let message = of("me", "me").unwrap_err();
        assert!(
            message.contains("a file: no line of it is for h:1:d:me") && !message.contains("hid"),
            "{message}"
        );
        mode(0o640);
        let message = of("u", "u").unwrap_err();
        assert!(message.contains("other users can read it; run chmod 600"), "{message}");
        std::fs::remove_file(&file).unwrap();
        assert!(of("u", "u").unwrap_err().contains("a file: No such file"));
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_read_back(user in ".*", password in ".*", path in ".*") {
            let mut url = String::from("db://");
            escape(&user, &mut url);
            url.push(':');
            escape(&password, &mut url);
            url.push_str("@h/");
            escape(&path, &mut url);
            let read = Url::parse(&url, &["db"], FORM).unwrap();
            prop_assert_eq!((read.user, read.password, read.path), (user, Some(password), path));
        }
    }
}
