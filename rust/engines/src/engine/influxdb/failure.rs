//! Refusals of the server and their outcomes. They have no codes: the text decides.

use crate::engine::Outcome;
use inrush_rows::error::TargetFault;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Of HTTP; 200 when a statement failed inside an answer.
    pub status: u16,
    pub message: String,
}

impl Failure {
    /// Of a statement, reported inside an answer.
    pub fn of(message: String) -> Failure {
        Failure { status: 200, message }
    }

    /// From the body of a refusal, `{"error":"…"}`.
    pub fn read(status: u16, body: &[u8]) -> Failure {
        #[derive(serde::Deserialize)]
        struct Refusal {
            error: String,
        }
        let message = match serde_json::from_slice::<Refusal>(body) {
            Ok(refusal) => refusal.error,
            Err(_) => format!("HTTP {status}: {}", String::from_utf8_lossy(body).trim()),
        };
        Failure { status, message }
    }

    /// Class of an operation that ended so.
    pub fn outcome(&self) -> Outcome {
        match self.status {
            401 | 403 => Outcome::Auth,
            404 => Outcome::Undefined,
            413 => Outcome::TooLarge,
            _ if self.says("authoriz") => Outcome::Auth,
            _ if self.is_missing() => Outcome::Undefined,
            _ if self.says("timeout") || self.says("query interrupted") => Outcome::Timeout,
            // Some points were stored and others not, or the server has no room for more.
            _ if self.says("partial write") || self.says("exceeded") || self.says("no space left") => {
                Outcome::Refused
            }
            503 => Outcome::Refused,
            _ => Outcome::Other,
        }
    }

    pub fn is_missing(&self) -> bool {
        self.says("database not found") || self.says("retention policy not found")
    }

    /// Of a failure to begin.
    pub fn fault(&self) -> TargetFault {
        match self.outcome() {
            Outcome::Auth => TargetFault::Auth,
            Outcome::Undefined => TargetFault::MissingDatabase,
            _ => TargetFault::Other,
        }
    }

    /// The failure to begin, with what to do about it.
    pub fn with_remedy(&self) -> String {
        let remedy = match self.fault() {
            TargetFault::Auth => {
                "check the user in the URL or INFLUX_USERNAME, and the password in INFLUX_PASSWORD"
            }
            TargetFault::MissingDatabase => "create it, or leave it out of the URL: runs have their own",
            _ => "see the server's log",
        };
        format!("{}; {remedy}", self.message)
    }

    fn says(&self, words: &str) -> bool {
        self.message.contains(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_its_outcome() {
        let of = |status, message: &str| {
            Failure::read(status, format!("{{\"error\":{message:?}}}\n").as_bytes()).outcome()
        };
        assert_eq!(of(400, "partial write: field type conflict: input field dropped=1"), Outcome::Refused);
        assert_eq!(of(400, "partial write: max-values-per-tag limit exceeded dropped=3"), Outcome::Refused);
        assert_eq!(of(500, "engine: cache-max-memory-size exceeded: (1/1)"), Outcome::Refused);
        assert_eq!(of(500, "write wal: no space left on device"), Outcome::Refused);
        assert_eq!(of(400, "unable to parse 'x': missing fields"), Outcome::Other);
        assert_eq!(of(401, "authorization failed"), Outcome::Auth);
        assert_eq!(of(403, "me not authorized to write"), Outcome::Auth);
        assert_eq!(of(404, "database not found: \"x\""), Outcome::Undefined);
        assert_eq!(of(413, "Request Entity Too Large"), Outcome::TooLarge);
        assert_eq!(of(500, "timeout"), Outcome::Timeout);
        assert_eq!(of(503, "hinted handoff queue not empty"), Outcome::Refused);
        assert_eq!(of(200, "query-timeout limit exceeded"), Outcome::Timeout);
        assert_eq!(of(200, "query interrupted"), Outcome::Timeout);
    }

    #[test]
    fn a_refusal_without_json_is_told_as_it_came() {
        let failure = Failure::read(502, b"<html>bad gateway</html>\n");
        assert_eq!(failure.message, "HTTP 502: <html>bad gateway</html>");
    }
}
