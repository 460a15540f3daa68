//! QuestDB: PostgreSQL's protocol, without COPY, without states of its refusals, and with rows that are seen some
//! milliseconds after they were acknowledged. Beside it HTTP, where rows go in as line protocol (`ilp`).

mod ilp;

use super::http::Client;
use super::postgresql::{Address, Failure, Postgresql, Speaker};
use super::socket::Endpoint;
use super::tls::{Tls, TlsOptions, When};
use super::{Answer, Caps, Context, Engine, OpId, Outcome, Session};
use ilp::IlpSession;
use inrush_rows::error::Error;
use std::fmt::Display;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::thread;
use std::time::Duration;

/// The port of its HTTP as shipped.
const HTTP: u16 = 9000;
/// The insert method that goes there.
const ILP: &str = "ilp";

pub const SPEAKER: Speaker = Speaker {
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
    has_http: true,
    outcome: |failure: &Failure| meaning(&failure.message),
};

/// PostgreSQL's protocol for all but sessions that insert by `ilp`.
pub struct Questdb {
    ctx: Context,
    wire: Postgresql,
}

impl Questdb {
    /// Connects once, and to HTTP too where the plan inserts that way.
    pub fn new(ctx: &Context) -> Result<Questdb, Error> {
        let wire = Postgresql::speaking(ctx, &SPEAKER)?;
        if ctx.plan.operations.iter().any(|op| op.method == ILP) {
            let mut client = client(wire.address())?;
            client.connect()?;
            ilp::introduce(&mut client)?;
        }
        Ok(Questdb { ctx: ctx.clone(), wire })
    }
}

impl Engine for Questdb {
    fn caps(&self) -> Caps {
        self.wire.caps()
    }

    fn open(&self, ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
        match ops.iter().any(|&op| self.ctx.op(op).method == ILP) {
            true => Ok(Box::new(IlpSession::open(&self.ctx, client(self.wire.address())?, ops)?)),
            false => self.wire.open(ops),
        }
    }

    fn control(&self, text: &str, limit_ns: u64) -> Result<Answer, Error> {
        match text.contains(PARAMETERS) {
            true => {
                let read = || self.wire.control(text, limit_ns);
                undisturbed(text, self.wire.address(), read, thread::sleep).map(without_count)
            }
            false => self.wire.control(text, limit_ns),
        }
    }
}

/// All its answers share one iterator of the server, so that two at a time take rows from each other, or fail with a cast
/// or an index out of bounds (questdb/questdb#6193). A statement's last column counts the whole list, also what it does not
/// ask for, so that readings which lost rows hardly ever agree: without it four did, where 32 clients asked.
const PARAMETERS: &str = "SHOW PARAMETERS";
const MOST_READINGS: usize = 100;
const AGREEING: usize = 4;
/// Clients that ask all the time disturb each other for ever, unless each leaves the others alone for a while: a random
/// part of this, of twice this after the second answer that no earlier one agrees with, and so on.
const PAUSE: Duration = Duration::from_millis(4);

/// The answer that so many readings agree on.
fn undisturbed(
    text: &str,
    target: impl Display,
    mut read: impl FnMut() -> Result<Answer, Error>,
    mut pause: impl FnMut(Duration),
) -> Result<Answer, Error> {
    let mut seen: Vec<(Answer, usize)> = Vec::new();
    let mut message =
        format!("no {AGREEING} of {MOST_READINGS} readings agree: other clients ask all the time");
    let mut alone = 0;
    for _ in 0..MOST_READINGS {
        match read() {
            Ok(answer) => match seen.iter_mut().find(|(earlier, _)| *earlier == answer) {
                Some((_, alike)) if *alike + 1 == AGREEING => return Ok(answer),
                Some((_, alike)) => {
                    *alike += 1;
                    continue;
                }
                None => seen.push((answer, 1)),
            },
            Err(Error::Statement { message: said, .. }) if seen.is_empty() => message = said,
            Err(Error::Statement { .. }) => {}
            Err(e) => return Err(e),
        }
        alone += 1;
        pause(PAUSE.mul_f64(f64::from(alone) * random_share()));
    }
    Err(Error::Statement { target: target.to_string(), statement: text.to_owned(), message })
}

fn random_share() -> f64 {
    // Each state of a hasher has keys of its own.
    f64::from(RandomState::new().build_hasher().finish() as u32) / f64::from(u32::MAX)
}

/// The answer without its last column.
fn without_count(answer: Answer) -> Answer {
    let names = answer.names.iter().take(answer.names.len().saturating_sub(1)).cloned().collect();
    let mut rows = answer.rows;
    rows.iter_mut().for_each(|row| drop(row.pop()));
    Answer { names, rows }
}

/// For the server's HTTP, not yet connected: with the same user, and encrypted where the URL insists on it.
fn client(address: &Address) -> Result<Client, Error> {
    let port = address.http.unwrap_or(HTTP);
    let tls = match address.tls.when {
        When::Always => address.tls.clone(),
        _ => Tls::new(&TlsOptions::NEVER, "sslrootcert")?,
    };
    let place =
        Endpoint { limit: address.connect, ..Endpoint::new(&address.host, port, address.to_string()) };
    let password = address.password().unwrap_or_default();
    Ok(Client::new(&place, &tls, Some((&address.user, &password)), &[]))
}

/// Refusals have no codes, and over PostgreSQL's protocol all of them the state 00000: their text decides.
///
/// Source: the messages of QuestDB 9.3 (`SqlException`, `CairoException`, `LineProtocolException`).
fn meaning(message: &str) -> Outcome {
    const MEANING: [(&str, Outcome); 12] = [
        ("does not exist", Outcome::Undefined),
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
    let means = |words: &&(&str, Outcome)| message.contains(words.0);
    MEANING.iter().find(means).map_or(Outcome::Other, |(_, outcome)| *outcome)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Value;
    use std::sync::Arc;

    fn port_of(url: &str) -> Result<u16, String> {
        let address = Address::of(url, &SPEAKER).map_err(|e| e.to_string())?;
        client(&address).map(|client| client.place().port).map_err(|e| e.to_string())
    }

    #[test]
    fn http_is_where_the_url_says_or_as_shipped() {
        assert_eq!(port_of("questdb://h:8813/qdb"), Ok(9000));
        assert_eq!(port_of("questdb://h:8813/qdb?http=9001"), Ok(9001));
        assert!(port_of("questdb://h/?http=x").unwrap_err().contains("http is not a port"));
        let other = Address::of("postgresql://h/?http=9001", &crate::engine::postgresql::POSTGRESQL);
        assert!(other.unwrap_err().to_string().contains("option http is not known"));
    }

    #[test]
    fn parameters_are_read_until_four_readings_agree() {
        let answer = |rows: usize| Answer { names: Arc::from([]), rows: vec![vec![Value::Null]; rows] };
        let failed =
            |message: String| Error::Statement { target: "t".into(), statement: "s".into(), message };
        let run = |readings: Vec<Result<Answer, Error>>| {
            let mut readings = readings.into_iter();
            let mut pauses = 0;
            let next = || readings.next().unwrap_or_else(|| Err(failed("no more".into())));
            let read = undisturbed("s", "t", next, |_| pauses += 1);
            (read.map(|a| a.rows.len()).map_err(|e| e.to_string()), pauses, readings.count())
        };
        let alike = |rows: usize| (0..AGREEING).map(move |_| Ok(answer(rows)));
        assert_eq!(run(alike(3).chain(alike(9)).collect()), (Ok(3), 1, AGREEING));
        // Rows that other clients took, and a failure among those that agree.
        let cast = || failed("class java.lang.Object cannot be cast".into());
        let lost = [Ok(answer(1)), Ok(answer(4)), Err(cast()), Ok(answer(1)), Ok(answer(3)), Ok(answer(1))];
        assert_eq!(run(lost.into_iter().chain(alike(4)).collect()), (Ok(4), 4, 1));
        let gone = || Error::Interrupted;
        assert!(run(vec![Ok(answer(3)), Err(gone())]).0.is_err_and(|e| e.contains("interrupted")));
        let (said, pauses, left) = run((0..MOST_READINGS + 5).map(|n| Ok(answer(n / 3))).collect());
        assert!(said.is_err_and(|e| e.contains("no 4 of 100 readings agree")));
        assert_eq!((pauses, left), (34, 5));
        assert!(run((0..100).map(|_| Err(cast())).collect()).0.is_err_and(|e| e.contains("cannot be cast")));
    }

    #[test]
    fn the_number_of_all_parameters_is_not_handed_on() {
        let row = |name: &str| vec![Value::Text(name.into()), Value::Null, Value::U64(554)];
        let answer = Answer {
            names: Arc::from(["path".to_owned(), "value".to_owned(), "listed".to_owned()]),
            rows: vec![row("a"), row("b")],
        };
        let left = without_count(answer);
        assert_eq!(left.names.join(" "), "path value");
        assert_eq!(left.rows.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn a_refusal_is_known_by_its_text() {
        let of = meaning;
        assert_eq!(of("table does not exist [table=nowhere]"), Outcome::Undefined);
        let column = "column: port does not exist, creating new columns is disabled";
        assert_eq!(of(column), Outcome::Undefined);
        assert_eq!(of("timeout, query aborted [fd=7, runtime=500us]"), Outcome::Timeout);
        assert_eq!(of("designated timestamp before 1970-01-01 is not allowed"), Outcome::Refused);
        assert_eq!(of("invalid username/password"), Outcome::Auth);
        assert_eq!(of("dangling literal"), Outcome::Other);
    }
}
