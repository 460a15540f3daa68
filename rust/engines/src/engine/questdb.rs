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
use std::time::{Duration, Instant};

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
                undisturbed(text, self.wire.address(), || self.wire.control(text, limit_ns), thread::sleep)
            }
            false => self.wire.control(text, limit_ns),
        }
    }
}

/// All its answers share one iterator of the server, so that two at a time take rows from each other, or fail with a cast
/// or an index out of bounds (questdb/questdb#6193).
const PARAMETERS: &str = "SHOW PARAMETERS";
const MOST_READINGS: usize = 100;
/// Two that lost the same row agree now and then; four did not.
const AGREEING: usize = 4;

/// Clients that ask all the time disturb each other for ever, unless each leaves the others alone for a while: as Ethernet
/// does, for a random part of so many times what a reading takes.
const PAUSE: u32 = 64;
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// The answer that several readings in a row agree on.
fn undisturbed(
    text: &str,
    target: impl Display,
    mut read: impl FnMut() -> Result<Answer, Error>,
    mut pause: impl FnMut(Duration),
) -> Result<Answer, Error> {
    let mut before: Option<(Answer, usize)> = None;
    let mut message = String::new();
    for _ in 0..MOST_READINGS {
        let start = Instant::now();
        match read() {
            Ok(answer) => match &mut before {
                Some((earlier, alike)) if *earlier == answer => {
                    *alike += 1;
                    if *alike == AGREEING {
                        return Ok(answer);
                    }
                    continue;
                }
                None => {
                    before = Some((answer, 1));
                    continue;
                }
                Some(_) => {
                    message = format!(
                        "no {AGREEING} of {MOST_READINGS} readings in a row agree: other clients ask all the time"
                    );
                }
            },
            Err(Error::Statement { message: said, .. }) => message = said,
            Err(e) => return Err(e),
        }
        before = None; // what was read before a pause counts no more
        pause(part_of((start.elapsed() * PAUSE).min(LONGEST_PAUSE)));
    }
    Err(Error::Statement { target: target.to_string(), statement: text.to_owned(), message })
}

/// A random part of `most`.
fn part_of(most: Duration) -> Duration {
    // Each state of a hasher has keys of its own.
    let random = RandomState::new().build_hasher().finish() as u32;
    most.mul_f64(f64::from(random) / f64::from(u32::MAX))
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
    fn parameters_are_read_until_two_readings_agree() {
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
        assert_eq!(run(alike(3).chain(alike(9)).collect()), (Ok(3), 0, AGREEING));
        // Rows that another client took, from two in a row, and a failure among those that agree.
        let lost = [Ok(answer(1)), Ok(answer(1)), Ok(answer(3))];
        assert_eq!(run(lost.into_iter().chain(alike(4)).collect()), (Ok(4), 1, 0));
        let cast = || failed("class java.lang.Object cannot be cast".into());
        assert_eq!(run([Ok(answer(3)), Err(cast())].into_iter().chain(alike(3)).collect()), (Ok(3), 1, 0));
        let gone = || Error::Interrupted;
        assert!(run(vec![Ok(answer(3)), Err(gone())]).0.is_err_and(|e| e.contains("interrupted")));
        let (said, pauses, left) = run((0..MOST_READINGS + 5).map(|n| Ok(answer(n % 2))).collect());
        assert!(said.is_err_and(|e| e.contains("no 4 of 100 readings in a row agree")));
        assert_eq!((pauses, left), (MOST_READINGS / 2, 5));
        assert!(run((0..100).map(|_| Err(cast())).collect()).0.is_err_and(|e| e.contains("cannot be cast")));
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
