//! Logging in: who the server is, whether the connection is encrypted, and how the password is proven.

use super::{packet_bytes, unreachable, Connection};
use crate::engine::messages::Messages;
use crate::engine::mysql::failure::Failure;
use crate::engine::mysql::message::{self, Login, HEAD_BYTES};
use crate::engine::mysql::{auth, decode, Address};
use crate::engine::tls::{is_loopback, When};
use inrush_rows::error::{Error, TargetFault};

/// A longer packet before login is no MySQL's.
const LOGIN_PACKET_BYTES: usize = 64 << 10;
const CHALLENGE_BYTES: usize = 20;
const UNVERIFIED: &str = "the server asks for the password itself, and its certificate is not verified, so any server \
    that answers would get it; name the certificate's root by ssl-ca=FILE (MySQL keeps its own in ca.pem of its data folder), or \
    allow it by allow-cleartext-password=true";
const UNKNOWN_KEY: &str =
    "the server asks for the password under a key that it sends itself, and without TLS that key \
    may be anyone's; use ssl-mode=VERIFY_CA with ssl-ca=FILE, or allow it by get-server-public-key=true";

/// What the server says first.
struct Greeting {
    version: String,
    id: u32,
    challenge: Vec<u8>,
    capabilities: u32,
    /// Of MariaDB's own.
    extended: u32,
    plugin: String,
}

impl Connection {
    pub(super) fn log_in(&mut self) -> Result<(), Error> {
        let address = self.address.clone();
        let greeting = match self.login_packet()? {
            packet if packet.first() == Some(&0xff) => return Err(Failure::read(packet).on_connect(&address)),
            packet => greeting(packet).ok_or_else(|| not_mysql(&address))?,
        };
        let mariadb = greeting.version.contains("MariaDB");
        check_server(&address, &greeting, mariadb)?;
        self.id = greeting.id;
        self.leaves_out = match mariadb {
            true => greeting.extended & message::CACHE_METADATA != 0,
            false => greeting.capabilities & message::OPTIONAL_METADATA != 0,
        };
        let secure = self.wants_tls(greeting.capabilities)?;
        let mut proving = Proving::new(&address, greeting, secure);
        let login = Login {
            user: &address.user,
            database: &address.database,
            plugin: &proving.plugin,
            proof: &proving.proof().expect("it speaks this plugin"),
            mariadb,
            secure,
            leaves_out: self.leaves_out,
        };
        let mut out = Vec::new();
        let mut number = self.number.wrapping_add(1);
        if secure {
            message::ask_for_tls(&mut out, number, &login);
            number = number.wrapping_add(1);
            self.send(&out).map_err(|e| unreachable(&address, &e))?;
            out.clear();
            self.stream.secure(&address.tls, &address.place())?;
        }
        message::login(&mut out, number, &login);
        loop {
            self.send(&out).map_err(|e| unreachable(&address, &e))?;
            out.clear();
            match proving.answer(self.login_packet()?)? {
                Answer::LoggedIn => return Ok(()),
                Answer::Nothing => {}
                Answer::Bytes(answer) => message::plain(&mut out, self.number.wrapping_add(1), &answer),
            }
        }
    }

    /// Whether the connection is to be encrypted, by what the server can do. Fails where it must be and cannot.
    fn wants_tls(&self, capabilities: u32) -> Result<bool, Error> {
        let address = &self.address;
        if address.tls.when == When::Never {
            return Ok(false);
        }
        if capabilities & message::TLS == 0 {
            address.tls.without(
                &address.place(),
                "let it have a certificate, or ask for less by ssl-mode=PREFERRED",
            )?;
            return Ok(false);
        }
        // A server is silent until it is asked: these bytes would come from an attacker in between.
        if !self.inbox.is_empty() {
            return Err(not_mysql(address));
        }
        Ok(true)
    }

    fn login_packet(&mut self) -> Result<&[u8], Error> {
        let address = self.address.clone();
        while !self.buffered() {
            let unread = self.inbox.unread();
            if unread.len() >= HEAD_BYTES && packet_bytes(unread) > LOGIN_PACKET_BYTES {
                return Err(not_mysql(&address));
            }
            self.fill().map_err(|e| unreachable(&address, &e))?;
        }
        Ok(self.take())
    }
}

/// How the user's password is proven, as far as the server has asked for it.
struct Proving<'a> {
    address: &'a Address,
    password: String,
    plugin: String,
    challenge: Vec<u8>,
    secure: bool,
    key_asked_for: bool,
}

/// What a packet of the server's is answered with.
enum Answer {
    LoggedIn,
    Nothing,
    Bytes(Vec<u8>),
}

impl Proving<'_> {
    /// A plugin that we do not speak is answered with one that we do: the server names the user's own next.
    fn new(address: &Address, greeting: Greeting, secure: bool) -> Proving<'_> {
        let Greeting { mut plugin, challenge, .. } = greeting;
        let password = address.password();
        if auth::proof(&plugin, &password, &challenge).is_none() {
            plugin = auth::NATIVE.to_owned();
        }
        Proving { address, password, plugin, challenge, secure, key_asked_for: false }
    }

    /// `None`: by a plugin that we do not speak.
    fn proof(&self) -> Option<Vec<u8>> {
        auth::proof(&self.plugin, &self.password, &self.challenge)
    }

    fn answer(&mut self, packet: &[u8]) -> Result<Answer, Error> {
        let answer = match packet.split_first() {
            Some((0x00, _)) => return Ok(Answer::LoggedIn),
            Some((0xff, _)) => return Err(Failure::read(packet).on_connect(self.address)),
            Some((0xfe, asked)) => self.by_another_plugin(asked)?,
            // The proof was enough: OK follows.
            Some((0x01, [3])) if self.plugin == auth::CACHING_SHA2 => return Ok(Answer::Nothing),
            Some((0x01, asked)) if self.plugin == auth::CACHING_SHA2 => self.password_itself(asked)?,
            _ => return Err(not_mysql(self.address)),
        };
        Ok(Answer::Bytes(answer))
    }

    fn by_another_plugin(&mut self, asked: &[u8]) -> Result<Vec<u8>, Error> {
        let plugin = asked.split(|&byte| byte == 0).next().unwrap_or_default();
        self.plugin = String::from_utf8_lossy(plugin).into_owned();
        self.challenge = asked.get(plugin.len() + 1..).unwrap_or_default().to_vec();
        self.challenge.truncate(CHALLENGE_BYTES);
        self.proof().ok_or_else(|| unknown_plugin(self.address, &self.plugin))
    }

    /// The proof was not enough: the password itself, where only the server can read it.
    fn password_itself(&mut self, asked: &[u8]) -> Result<Vec<u8>, Error> {
        let address = self.address;
        let in_clear = [self.password.as_bytes(), &[0]].concat();
        match asked {
            [4] if address.socket.is_some() => Ok(in_clear),
            [4] if self.secure && (address.tls.verifies() || address.allow_cleartext) => Ok(in_clear),
            [4] if self.secure => Err(refused(address, UNVERIFIED.to_owned())),
            // The password under the server's key, which is asked for.
            [4] if is_loopback(&address.host) || address.trust_key => {
                self.key_asked_for = true;
                Ok(vec![2])
            }
            [4] => Err(refused(address, UNKNOWN_KEY.to_owned())),
            _ if !self.key_asked_for => Err(not_mysql(address)),
            key => auth::encrypted(&self.password, &self.challenge, key).ok_or_else(|| {
                refused(address, "the server's key for passwords could not be read".to_owned())
            }),
        }
    }
}

fn greeting(packet: &[u8]) -> Option<Greeting> {
    let mut bytes = decode::Bytes(packet);
    if bytes.u8()? != 10 {
        return None;
    }
    let version = bytes.until_nul()?;
    let id = bytes.u32()?;
    let mut challenge = bytes.take(8)?.to_vec();
    bytes.take(1)?;
    let low = bytes.u16()? as u32;
    bytes.take(3)?; // character set, status
    let capabilities = low | (bytes.u16()? as u32) << 16;
    let length = bytes.u8()? as usize;
    bytes.take(6)?;
    let extended = if low & message::LONG_PASSWORD == 0 { bytes.u32()? } else { bytes.take(4).map(|_| 0)? };
    let rest = bytes.take(length.saturating_sub(8).max(13).min(bytes.0.len()))?;
    challenge.extend_from_slice(rest);
    challenge.truncate(CHALLENGE_BYTES);
    let plugin = bytes.until_nul().unwrap_or_default();
    Some(Greeting { version, id, challenge, capabilities, extended, plugin })
}

fn check_server(address: &Address, greeting: &Greeting, mariadb: bool) -> Result<(), Error> {
    let version = &greeting.version;
    let other = if mariadb { "mariadb" } else { "mysql" };
    let message = if other != address.engine {
        format!(
            "what listens there is {version}: name it {other}://, because the two differ in what is measured"
        )
    } else if greeting.capabilities & message::NEEDED != message::NEEDED {
        format!(
            "version {version} is too old; inrush speaks to MySQL from 8.0 on and to MariaDB from 10.2 on"
        )
    } else {
        return Ok(());
    };
    Err(Error::Target { target: address.to_string(), class: TargetFault::Other, message })
}

fn not_mysql(address: &Address) -> Error {
    Error::Target {
        target: address.to_string(),
        class: TargetFault::Other,
        message: format!(
            "what listens on port {} does not speak MySQL's protocol; check the port",
            address.port
        ),
    }
}

fn refused(address: &Address, message: String) -> Error {
    Error::Target { target: address.to_string(), class: TargetFault::Auth, message }
}

fn unknown_plugin(address: &Address, plugin: &str) -> Error {
    refused(
        address,
        format!(
            "user {} logs in by {plugin}; inrush knows {} and {}: choose another user, or ALTER USER … IDENTIFIED",
            address.user,
            auth::CACHING_SHA2,
            auth::NATIVE
        ),
    )
}
