//! What the server says when it refuses, and what we make of it.

use crate::engine::secrets::without;
use crate::engine::Outcome;
use inrush_rows::error::{Error, TargetFault};

/// An error packet, or a warning of an insert.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    pub code: u16,
    /// Five characters; empty where the server sent none.
    pub sqlstate: String,
    pub message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.sqlstate.is_empty() {
            true => write!(f, "{} ({})", self.message, self.code),
            false => write!(f, "{} ({}, {})", self.message, self.code, self.sqlstate),
        }
    }
}

impl Failure {
    /// An error packet from its first byte (0xff) on.
    pub fn read(packet: &[u8]) -> Failure {
        let code = packet.get(1..3).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
        let rest = packet.get(3..).unwrap_or_default();
        let (state, message) = match rest.split_first() {
            Some((b'#', rest)) if rest.len() >= 5 => rest.split_at(5),
            _ => (&rest[..0], rest),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Failure { code, sqlstate: text(state), message: text(message) }
    }

    /// Class of an operation that ended so.
    ///
    /// Source: server error references of MySQL 9 and MariaDB 11; codes below 2000 mean the same in both.
    pub fn outcome(&self) -> Outcome {
        match self.code {
            // Deadlock; the row has changed since the snapshot (MariaDB); a certification that failed.
            1213 | 1020 | 3101 | 3572 => Outcome::Conflict,
            // A lock not had in time.
            1205 => Outcome::Conflict,
            // Interrupted by KILL QUERY, or by a limit on the time of statements.
            1317 | 1969 | 3024 => Outcome::Timeout,
            1044 | 1045 | 1142 | 1143 | 1227 | 1370 | 1698 => Outcome::Auth,
            1046 | 1049 | 1051 | 1054 | 1109 | 1146 | 1243 | 1305 => Outcome::Undefined,
            // A packet or a row beyond a limit; too many locks or placeholders.
            1118 | 1153 | 1206 | 1301 | 1390 | 1426 | 3170 => Outcome::TooLarge,
            // The server stops, or has ended this connection.
            1053 | 1077 | 1079 | 1080 | 1152 | 1158..=1161 | 1184 | 1927 | 3169 | 4031 => Outcome::Lost,
            // A value that is not what the column holds, a constraint, a full table or disk, a read-only server,
            // LOAD DATA LOCAL switched off.
            1022
            | 1040
            | 1048
            | 1062
            | 1114
            | 1148
            | 1203
            | 1216
            | 1217
            | 1226
            | 1261..=1265
            | 1021
            | 1026 => Outcome::Refused,
            1290 | 1292 | 1364 | 1366 | 1406 | 1411 | 1451 | 1452 | 1526 | 1586 | 1836 | 3140 | 3819 => {
                Outcome::Refused
            }
            3948 | 4025 | 4166 => Outcome::Refused,
            _ => Outcome::Other,
        }
    }

    /// The failure to connect, with its remedy.
    pub fn on_connect(&self, address: &super::Address) -> Error {
        let (class, remedy) = match self.code {
            1049 => (TargetFault::MissingDatabase, "create it, or name another one in the URL"),
            1040 | 1203 | 1226 => (TargetFault::Other, "use fewer sessions, or raise max_connections"),
            1053 | 1077 => {
                (TargetFault::Unreachable, "the server is starting or stopping: try again shortly")
            }
            1129 | 1130 => (
                TargetFault::Auth,
                "the server accepts no login from this machine: create the user for this host",
            ),
            1044 | 1045 | 1698 => {
                (TargetFault::Auth, "check the user in the URL and the password in MYSQL_PWD or ~/.my.cnf")
            }
            _ => (TargetFault::Other, "see the server's log"),
        };
        let said = without(&self.to_string(), Some(&address.password()), &address.user);
        Error::Target { target: address.to_string(), class, message: format!("{said}; {remedy}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_packet_is_read_and_classed() {
        let failure = Failure::read(b"\xff\x26\x04#23000Duplicate entry '1' for key 'PRIMARY'");
        assert_eq!(failure.to_string(), "Duplicate entry '1' for key 'PRIMARY' (1062, 23000)");
        assert_eq!(failure.outcome(), Outcome::Refused);
    }

    #[test]
    fn an_error_before_the_greeting_has_no_state() {
        let failure = Failure::read(b"\xff\x10\x04Too many connections");
        assert_eq!(failure.to_string(), "Too many connections (1040)");
        assert_eq!(Failure::read(b"\xff"), Failure::default());
    }

    #[test]
    fn every_class_has_its_outcome() {
        let of = |code: u16| Failure { code, ..Failure::default() }.outcome();
        assert_eq!(of(1213), Outcome::Conflict);
        assert_eq!(of(1205), Outcome::Conflict);
        assert_eq!(of(1317), Outcome::Timeout);
        assert_eq!(of(1045), Outcome::Auth);
        assert_eq!(of(1146), Outcome::Undefined);
        assert_eq!(of(1153), Outcome::TooLarge);
        assert_eq!(of(1053), Outcome::Lost);
        assert_eq!(of(1114), Outcome::Refused);
        assert_eq!(of(1064), Outcome::Other);
        assert_eq!(of(0), Outcome::Other);
    }
}
