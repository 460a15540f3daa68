//! What the server says when it refuses, and what we make of it.

use super::address::Address;
use crate::engine::Outcome;
use inrush_rows::error::{Error, TargetFault};

/// An exception of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Of `ErrorCodes.cpp`; 0 where what answered names none.
    pub code: u32,
    pub message: String,
}

/// Longer messages hold the whole query again.
const MESSAGE_CHARS: usize = 1000;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.code {
            0 => write!(f, "{}", self.message),
            code => write!(f, "{} ({code})", self.message),
        }
    }
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { code: 0, message: message.into() }
    }

    /// The body of an answer that is not 200. `code` from its head, where the server sends it.
    pub fn read(status: u16, code: Option<u32>, body: &[u8]) -> Failure {
        let text = String::from_utf8_lossy(body);
        let failure = Failure::in_text(&text).unwrap_or_else(|| {
            let first = text.lines().next().unwrap_or_default();
            Failure::new(format!("HTTP status {status}: {first}"))
        });
        Failure { code: code.unwrap_or(failure.code), ..failure }
    }

    /// The exception that a text ends with: `Code: 60, e.displayText() = DB::Exception: …, e.what() = …` of 2018,
    /// `Code: 60. DB::Exception: … (UNKNOWN_TABLE) (version …)` of today. `None`: there is none.
    pub fn in_text(text: &str) -> Option<Failure> {
        let (_, rest) = text.split_once("Code: ")?;
        let digits = rest.find(|ch: char| !ch.is_ascii_digit()).unwrap_or(rest.len());
        let code = rest[..digits].parse().ok()?;
        let (_, message) = rest.split_once("DB::Exception: ")?;
        let message = message.split(", e.what() = ").next().unwrap_or(message);
        let message = message.split(" (version ").next().unwrap_or(message);
        let message = message.lines().next().unwrap_or_default().trim_end();
        Some(Failure { code, message: message.chars().take(MESSAGE_CHARS).collect() })
    }

    /// Class of an operation that ended so.
    pub fn outcome(&self) -> Outcome {
        match self.code {
            // Column, function, table, database, dictionary.
            8 | 10 | 16 | 36 | 46 | 47 | 60 | 81 | 218 => Outcome::Undefined,
            // User, password, address, rights.
            192..=195 | 291 | 492 | 497 | 516 => Outcome::Auth,
            // Over its time, too slow, killed.
            159 | 160 | 209 | 394 => Outcome::Timeout,
            // Over a limit of rows, bytes, memory, or of the size of a query.
            62 if self.message.contains("Max query size exceeded") => Outcome::TooLarge,
            158 | 161 | 167 | 168 | 173 | 191 | 223 | 241 | 290 | 307 | 396 => Outcome::TooLarge,
            473 => Outcome::Conflict,
            210 => Outcome::Lost,
            // Quota, too many queries or parts, read-only, no space, a constraint.
            164 | 201 | 202 | 203 | 242 | 243 | 252 | 254 | 319 | 469 => Outcome::Refused,
            _ => Outcome::Other,
        }
    }

    /// The failure to connect, with its remedy.
    pub fn on_connect(&self, address: &Address) -> Error {
        let (class, remedy) = match self.outcome() {
            Outcome::Auth => (
                TargetFault::Auth,
                "check the user in the URL or CLICKHOUSE_USER, and the password in CLICKHOUSE_PASSWORD",
            ),
            Outcome::Undefined if self.code == 81 => {
                (TargetFault::MissingDatabase, "create it, or name another one in the URL")
            }
            _ if self.code == 115 => (TargetFault::Other, "check the target's options set.<name>"),
            _ if self.code == 164 => {
                (TargetFault::Other, "use a user with the rights to write and to change settings")
            }
            _ => (
                TargetFault::Other,
                "check that the port is ClickHouse's HTTP port, and see the server's log",
            ),
        };
        Error::Target { target: address.place.target.clone(), class, message: format!("{self}; {remedy}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_is_read_in_the_words_of_2018_and_of_today() {
        let old = b"Code: 60, e.displayText() = DB::Exception: Table default.t doesn't exist., e.what() = DB::Exception\n";
        let new = b"Code: 60. DB::Exception: Unknown table expression identifier 't'. (UNKNOWN_TABLE) (version 25.8.1.1)\n";
        assert_eq!(Failure::read(404, None, old).to_string(), "Table default.t doesn't exist. (60)");
        assert_eq!(
            Failure::read(404, Some(60), new).to_string(),
            "Unknown table expression identifier 't'. (UNKNOWN_TABLE) (60)"
        );
        assert_eq!(Failure::read(404, None, new).outcome(), Outcome::Undefined);
    }

    #[test]
    fn what_is_no_exception_is_told_by_its_status() {
        let failure = Failure::read(502, None, b"<html>\nBad gateway");
        assert_eq!(failure.to_string(), "HTTP status 502: <html>");
        assert_eq!(failure.outcome(), Outcome::Other);
        assert_eq!(Failure::in_text("Code: none"), None);
    }

    #[test]
    fn every_class_has_its_outcome() {
        let of = |code: u32| Failure { code, message: String::new() }.outcome();
        assert_eq!(of(60), Outcome::Undefined);
        assert_eq!(of(193), Outcome::Auth);
        assert_eq!(of(394), Outcome::Timeout);
        assert_eq!(of(241), Outcome::TooLarge);
        assert_eq!(of(473), Outcome::Conflict);
        assert_eq!(of(210), Outcome::Lost);
        assert_eq!(of(202), Outcome::Refused);
        assert_eq!(of(27), Outcome::Other);
    }
}
