//! QuestDB: PostgreSQL's protocol, without COPY, without states of its refusals, and with rows that are seen some
//! milliseconds after they were acknowledged.

use super::postgresql::{Failure, Postgresql, Speaker};
use super::{Context, Outcome};
use crate::error::Error;

const SPEAKER: Speaker = Speaker {
    schemes: &["questdb"],
    port: 8812,
    user: "admin",
    database: "qdb",
    password: Some("quest"),
    copies: false,
    // It counts them as signed (32,767 at most), and takes up to a second to compile a statement of so many. Several
    // shorter statements are one transaction all the same, and go in twice as fast.
    most_params: 1_000,
    reads_late: true,
    outcome,
};

pub fn questdb(ctx: &Context) -> Result<Postgresql, Error> {
    Postgresql::speaking(ctx, &SPEAKER)
}

/// All of its refusals bear the state 00000: what they mean stands in their text.
///
/// Source: the messages of QuestDB 9.3 (`SqlException`, `CairoException`).
fn outcome(failure: &Failure) -> Outcome {
    const MEANING: [(&str, Outcome); 12] = [
        ("table does not exist", Outcome::Undefined),
        ("Invalid column", Outcome::Undefined),
        ("unknown function name", Outcome::Undefined),
        ("timeout, query aborted", Outcome::Timeout),
        ("cancelled by user", Outcome::Timeout),
        ("table busy", Outcome::Conflict),
        ("No space left", Outcome::Refused),
        ("could not", Outcome::Refused),
        ("is not allowed", Outcome::Refused),
        ("memory limit exceeded", Outcome::TooLarge),
        ("permission", Outcome::Auth),
        ("username/password", Outcome::Auth),
    ];
    let means = |words: &&(&str, Outcome)| failure.message.contains(words.0);
    MEANING.iter().find(means).map_or(Outcome::Other, |(_, outcome)| *outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_known_by_its_text() {
        let of = |text: &str| outcome(&Failure { message: text.into(), ..Failure::default() });
        assert_eq!(of("table does not exist [table=nowhere]"), Outcome::Undefined);
        assert_eq!(of("timeout, query aborted [fd=7, runtime=500us]"), Outcome::Timeout);
        assert_eq!(of("designated timestamp before 1970-01-01 is not allowed"), Outcome::Refused);
        assert_eq!(of("invalid username/password"), Outcome::Auth);
        assert_eq!(of("dangling literal"), Outcome::Other);
    }
}
