//! What the server says when it refuses, and what we make of it.

use crate::engine::Outcome;

/// An ErrorResponse, as far as inrush reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// Five characters: class and condition.
    pub sqlstate: String,
    pub message: String,
    pub detail: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.sqlstate)?;
        match self.detail.is_empty() {
            true => Ok(()),
            false => write!(f, ": {}", self.detail),
        }
    }
}

impl Failure {
    /// Body of an ErrorResponse: fields of one letter and a text each.
    pub fn read(body: &[u8]) -> Failure {
        let mut failure = Failure::default();
        for field in body.split(|&byte| byte == 0).filter(|field| !field.is_empty()) {
            let text = String::from_utf8_lossy(&field[1..]).into_owned();
            match field[0] {
                b'C' => failure.sqlstate = text,
                b'M' => failure.message = text,
                b'D' => failure.detail = text,
                _ => {}
            }
        }
        failure
    }

    /// Class of an operation that ended so.
    pub fn outcome(&self) -> Outcome {
        match self.sqlstate.as_str() {
            "40001" | "40P01" => Outcome::Conflict,
            "57014" | "55P03" | "25P03" => Outcome::Timeout,
            "42501" => Outcome::Auth,
            "42P01" | "42703" | "42883" | "3D000" | "3F000" => Outcome::Undefined,
            "53200" => Outcome::TooLarge,
            "57P01" | "57P02" | "57P03" | "57P05" => Outcome::Lost,
            state => match state.get(..2) {
                Some("08") => Outcome::Lost,
                Some("28") => Outcome::Auth,
                Some("54") => Outcome::TooLarge,
                // A constraint, a full disk, a read-only server: refused as it stands.
                Some("23" | "25" | "53") => Outcome::Refused,
                _ => Outcome::Other,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_response_is_read_and_classed() {
        let failure = Failure::read(b"SERROR\0VERROR\0C23505\0Mduplicate key\0DKey (a)=(1) exists.\0\0");
        assert_eq!(failure.to_string(), "duplicate key (23505): Key (a)=(1) exists.");
        assert_eq!(failure.outcome(), Outcome::Refused);
    }

    #[test]
    fn every_class_has_its_outcome() {
        let of = |state: &str| Failure { sqlstate: state.into(), ..Failure::default() }.outcome();
        assert_eq!(of("40P01"), Outcome::Conflict);
        assert_eq!(of("57014"), Outcome::Timeout);
        assert_eq!(of("28P01"), Outcome::Auth);
        assert_eq!(of("42P01"), Outcome::Undefined);
        assert_eq!(of("54000"), Outcome::TooLarge);
        assert_eq!(of("57P01"), Outcome::Lost);
        assert_eq!(of("53100"), Outcome::Refused);
        assert_eq!(of("22P02"), Outcome::Other);
        assert_eq!(of(""), Outcome::Other);
    }
}
