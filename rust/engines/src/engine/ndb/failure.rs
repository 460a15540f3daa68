//! What NDB says when a call fails, and what is made of it.

use crate::engine::Outcome;

/// Rows: the one that is named is not there; one with its key is there already.
pub const NO_SUCH_ROW: i32 = 626;
/// The transaction was aborted since a node failed, or all of them have.
const CLUSTER_GONE: [i32; 4] = [4009, 4010, 4012, 4028];

/// Classes of `ndberror.h`.
mod class {
    pub const NO_DATA_FOUND: u8 = 2;
    pub const CONSTRAINT: u8 = 3;
    pub const SCHEMA: u8 = 4;
    pub const NO_SPACE: u8 = 6;
    pub const NO_RESOURCE: u8 = 7;
    pub const NODE_RECOVERY: u8 = 8;
    pub const OVERLOAD: u8 = 9;
    pub const TIMED_OUT: u8 = 10;
    pub const UNKNOWN_RESULT: u8 = 11;
    pub const NODE_SHUTDOWN: u8 = 15;
    pub const INTERNAL_TEMPORARY: u8 = 18;
}

/// Class of a call that ended with this code and classification.
pub fn outcome(code: i32, classification: u8) -> Outcome {
    if CLUSTER_GONE.contains(&code) {
        return Outcome::Lost;
    }
    match classification {
        class::NO_DATA_FOUND => Outcome::Missing,
        // A duplicate key, memory that is full: refused as it stands.
        class::CONSTRAINT | class::NO_SPACE => Outcome::Refused,
        class::SCHEMA => Outcome::Undefined,
        // Redo log or operation records are full: nothing was done, and the same call may go through a little later.
        class::OVERLOAD | class::NO_RESOURCE => Outcome::Overloaded,
        class::NODE_RECOVERY | class::UNKNOWN_RESULT | class::NODE_SHUTDOWN => Outcome::Lost,
        class::TIMED_OUT | class::INTERNAL_TEMPORARY => Outcome::Conflict,
        _ => Outcome::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_ndb_is_an_outcome() {
        for (code, classification, ended) in [
            (NO_SUCH_ROW, class::NO_DATA_FOUND, Outcome::Missing),
            (630, class::CONSTRAINT, Outcome::Refused),
            (410, class::OVERLOAD, Outcome::Overloaded),
            (233, class::NO_RESOURCE, Outcome::Overloaded),
            (1220, class::NO_RESOURCE, Outcome::Overloaded),
            (1221, class::OVERLOAD, Outcome::Overloaded),
            (1234, class::NO_RESOURCE, Outcome::Overloaded),
            (827, class::NO_SPACE, Outcome::Refused),
            (266, class::TIMED_OUT, Outcome::Conflict),
            (286, class::NODE_RECOVERY, Outcome::Lost),
            (4010, class::NODE_RECOVERY, Outcome::Lost),
            (4012, class::UNKNOWN_RESULT, Outcome::Lost),
            (4009, 1, Outcome::Lost),
            (723, class::SCHEMA, Outcome::Undefined),
            (4231, 1, Outcome::Other),
        ] {
            assert_eq!(outcome(code, classification), ended, "{code}");
        }
    }
}
