//! Mutated answers of QuestDB's HTTP; those over PostgreSQL's protocol are read by its decoder.

use super::*;
use crate::engine::postgresql::Address;
use crate::engine::questdb::{client, SPEAKER};
use inrush_fuzz::{self as fuzz, Memory, Replay};

const MEMORY: Memory = Memory { per_byte: 512, constant: 1 << 20 };
const SETTINGS: &[u8] =
    br#"{"config":{"release.type":"OSS","release.version":"9.3.1","acl.enabled":false,"line.proto.support.versions":[1,2,3],"posthog.enabled":false},"preferences.version":0,"preferences":{}}"#;
pub const REFUSED: &[u8] = br#"{"code":"invalid","message":"failed to parse line protocol:errors encountered on line(s):\nerror in line 2: table: inrush_ab.t, column: nowhere does not exist","line":2,"errorId":"b0331c4855c4-2"}"#;

fn replayed(replay: Replay) -> Client {
    let mut client = client(&Address::of("questdb://h/", &SPEAKER).unwrap()).unwrap();
    client.replay(replay);
    client
}

pub fn http(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

pub fn introduce_to(answer: &[u8]) -> Result<(), Error> {
    introduced(&mut replayed(Replay::whole(answer.to_vec())), None)
}

#[test]
fn a_refusal_survives_mutations() {
    fuzz::survives("questdb refusal", &[&http("400 Bad request", REFUSED)], MEMORY, |replay| {
        let (mut client, mut body) = (replayed(replay), Vec::new());
        let read = client.receive(None).and_then(|_| client.read_all(&mut body, None));
        read.is_ok() && outcome(client.status(), &refusal(client.status(), &body)) == Outcome::Undefined
    });
}

#[test]
fn what_a_server_says_of_itself_survives_mutations() {
    fuzz::survives("questdb settings", &[&http("200 OK", SETTINGS)], MEMORY, |replay| {
        introduced(&mut replayed(replay), None).map_err(|why| assert!(!why.to_string().is_empty())).is_ok()
    });
}
