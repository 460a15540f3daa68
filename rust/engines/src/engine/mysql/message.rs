//! Packets to the server (protocol 10). Pure: each appends to a buffer.

use inrush_rows::encode::mysql::{param, MyType};
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::Value;

/// A packet of this length is followed by another that continues it.
pub const PACKET_MOST: usize = 0xff_ffff;
pub const HEAD_BYTES: usize = 4;

// Capabilities, as in the greeting and in our answer to it.
pub const LONG_PASSWORD: u32 = 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DB: u32 = 1 << 3;
const LOCAL_FILES: u32 = 1 << 7;
pub const PROTOCOL_41: u32 = 1 << 9;
pub const TLS: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_STATEMENTS: u32 = 1 << 16;
const MULTI_RESULTS: u32 = 1 << 17;
const PLUGIN_AUTH: u32 = 1 << 19;
const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
pub const DEPRECATE_EOF: u32 = 1 << 24;
/// MySQL's: an answer says whether its columns are described. They are, unless the session asks for it otherwise.
pub const OPTIONAL_METADATA: u32 = 1 << 25;
/// What we cannot do without.
pub const NEEDED: u32 = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | DEPRECATE_EOF;
/// MariaDB's own, 32 bits higher.
pub const BULK_OPERATIONS: u32 = 1 << 2;
/// As MySQL's `OPTIONAL_METADATA`: columns of a prepared statement are described again where they have changed.
pub const CACHE_METADATA: u32 = 1 << 4;

const UTF8MB4_GENERAL_CI: u8 = 45;

/// `body` behind its head; one that is too long for a packet is continued in others.
pub fn packet<E>(
    out: &mut Vec<u8>,
    number: u8,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    body(out)?;
    let length = out.len() - start - HEAD_BYTES;
    if length < PACKET_MOST {
        out[start..start + HEAD_BYTES].copy_from_slice(&head(length, number));
        return Ok(());
    }
    let whole = out.split_off(start);
    let (mut rest, mut number) = (&whole[HEAD_BYTES..], number);
    loop {
        let (part, after) = rest.split_at(rest.len().min(PACKET_MOST));
        out.extend_from_slice(&head(part.len(), number));
        out.extend_from_slice(part);
        if part.len() < PACKET_MOST {
            return Ok(());
        }
        (rest, number) = (after, number.wrapping_add(1));
    }
}

pub fn head(length: usize, number: u8) -> [u8; HEAD_BYTES] {
    let length = (length as u32).to_le_bytes();
    [length[0], length[1], length[2], number]
}

fn sure(out: &mut Vec<u8>, number: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let done: Result<(), std::convert::Infallible> = packet(out, number, |out| {
        body(out);
        Ok(())
    });
    done.expect("the body cannot fail");
}

pub fn text(out: &mut Vec<u8>, text: &str) {
    // A NUL would end the text early for the server.
    out.extend(text.bytes().filter(|&byte| byte != 0));
    out.push(0);
}

/// User, database, and the answer to the server's challenge.
pub struct Login<'a> {
    pub user: &'a str,
    pub database: &'a str,
    pub plugin: &'a str,
    pub proof: &'a [u8],
    /// The server is MariaDB: its extended capabilities are spoken.
    pub mariadb: bool,
    /// The log-in goes through TLS, which was asked for before.
    pub secure: bool,
    /// The server can leave out what describes the columns of an answer.
    pub leaves_out: bool,
}

/// The head of a log-in alone: the handshake of TLS follows, then the whole log-in through it.
pub fn ask_for_tls(out: &mut Vec<u8>, number: u8, login: &Login<'_>) {
    sure(out, number, |out| login_head(out, login));
}

pub fn login(out: &mut Vec<u8>, number: u8, login: &Login<'_>) {
    sure(out, number, |out| {
        login_head(out, login);
        text(out, login.user);
        out.push(u8::try_from(login.proof.len()).expect("proofs have 32 bytes at most"));
        out.extend_from_slice(login.proof);
        if !login.database.is_empty() {
            text(out, login.database);
        }
        text(out, login.plugin);
    });
}

/// What we can do.
fn login_head(out: &mut Vec<u8>, login: &Login<'_>) {
    let mut caps = NEEDED
        | LONG_FLAG
        | LOCAL_FILES
        | TRANSACTIONS
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PLUGIN_AUTH_LENENC;
    if !login.database.is_empty() {
        caps |= CONNECT_WITH_DB;
    }
    if !login.mariadb {
        caps |= LONG_PASSWORD; // without it, MariaDB reads its own capabilities behind
    }
    if login.secure {
        caps |= TLS;
    }
    let own = match (login.mariadb, login.leaves_out) {
        (true, true) => BULK_OPERATIONS | CACHE_METADATA,
        (true, false) => BULK_OPERATIONS,
        (false, leaves_out) => {
            caps |= if leaves_out { OPTIONAL_METADATA } else { 0 };
            0
        }
    };
    out.extend_from_slice(&caps.to_le_bytes());
    out.extend_from_slice(&(1u32 << 30).to_le_bytes()); // largest packet we take
    out.push(UTF8MB4_GENERAL_CI);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&own.to_le_bytes());
}

/// A step of a log-in, or a piece of what LOAD DATA reads: bytes as they are.
pub fn plain(out: &mut Vec<u8>, number: u8, bytes: &[u8]) {
    sure(out, number, |out| out.extend_from_slice(bytes));
}

/// Statements as text, answers as text.
pub fn query(out: &mut Vec<u8>, statement: &str) {
    command(out, 0x03, statement.as_bytes());
}

pub fn prepare(out: &mut Vec<u8>, statement: &str) {
    command(out, 0x16, statement.as_bytes());
}

pub fn close_statement(out: &mut Vec<u8>, id: u32) {
    command(out, 0x19, &id.to_le_bytes());
}

pub fn quit(out: &mut Vec<u8>) {
    command(out, 0x01, &[]);
}

fn command(out: &mut Vec<u8>, command: u8, rest: &[u8]) {
    sure(out, 0, |out| {
        out.push(command);
        out.extend_from_slice(rest);
    });
}

/// Head of an execution without a cursor: everything before the bitmap of NULLs.
pub fn execute_head(out: &mut Vec<u8>, statement: u32) {
    head_of_execution(out, statement, NO_CURSOR);
}

const NO_CURSOR: u8 = 0;
const CURSOR_READ_ONLY: u8 = 1;

fn head_of_execution(out: &mut Vec<u8>, statement: u32, cursor: u8) {
    out.push(0x17);
    out.extend_from_slice(&statement.to_le_bytes());
    out.push(cursor);
    out.extend_from_slice(&1u32.to_le_bytes()); // iterations
}

/// A prepared query or change with its parameters; an error says which does not fit, and nothing is appended.
pub fn execute(
    out: &mut Vec<u8>,
    statement: u32,
    types: &[LogicalType],
    values: &[Value],
) -> Result<(), String> {
    executed(out, statement, NO_CURSOR, types, values)
}

/// The same with a cursor: its rows are asked for by `fetch`.
pub fn execute_cursor(
    out: &mut Vec<u8>,
    statement: u32,
    types: &[LogicalType],
    values: &[Value],
) -> Result<(), String> {
    executed(out, statement, CURSOR_READ_ONLY, types, values)
}

/// The next rows of a statement's cursor.
pub fn fetch(out: &mut Vec<u8>, statement: u32, rows: u32) {
    command(out, 0x1c, &[statement.to_le_bytes(), rows.to_le_bytes()].concat());
}

fn executed(
    out: &mut Vec<u8>,
    statement: u32,
    cursor: u8,
    types: &[LogicalType],
    values: &[Value],
) -> Result<(), String> {
    let before = out.len();
    let done = packet(out, 0, |out| {
        head_of_execution(out, statement, cursor);
        if types.is_empty() {
            return Ok(());
        }
        let bitmap = out.len();
        out.resize(bitmap + types.len().div_ceil(8), 0);
        out.push(1); // types follow
        for ty in types {
            out.extend_from_slice(&MyType::of(*ty).code());
        }
        for (at, (value, ty)) in values.iter().zip(types).enumerate() {
            if *value == Value::Null {
                out[bitmap + at / 8] |= 1 << (at % 8);
            }
            param(out, value, *ty)?;
        }
        Ok(())
    });
    if done.is_err() {
        out.truncate(before);
    }
    done
}

/// Head of MariaDB's bulk execution: everything before the rows.
pub fn bulk_head(out: &mut Vec<u8>, statement: u32, types: &[MyType]) {
    const TYPES_FOLLOW: u16 = 128;
    out.push(0xfa);
    out.extend_from_slice(&statement.to_le_bytes());
    out.extend_from_slice(&TYPES_FOLLOW.to_le_bytes());
    for ty in types {
        out.extend_from_slice(&ty.code());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_carries_its_length_and_number() {
        let mut out = Vec::new();
        query(&mut out, "SELECT 1");
        assert_eq!(out, b"\x09\0\0\0\x03SELECT 1");
        out.clear();
        plain(&mut out, 3, b"");
        assert_eq!(out, [0, 0, 0, 3]);
    }

    #[test]
    fn a_body_of_exactly_a_packets_length_is_ended_by_an_empty_packet() {
        for extra in [0, 1, PACKET_MOST] {
            let mut out = vec![7];
            plain(&mut out, 254, &vec![1; PACKET_MOST + extra]);
            let first = &out[1..1 + HEAD_BYTES];
            assert_eq!(first, head(PACKET_MOST, 254));
            let second = 1 + HEAD_BYTES + PACKET_MOST;
            assert_eq!(out[second..second + HEAD_BYTES], head(extra, 255));
            if extra == PACKET_MOST {
                assert_eq!(out[out.len() - HEAD_BYTES..], head(0, 0), "numbers go round");
            }
            assert!(out[second + HEAD_BYTES..].iter().filter(|&&b| b == 1).count() >= extra);
        }
    }

    #[test]
    fn an_execution_holds_its_nulls_types_and_values() {
        let mut out = Vec::new();
        let types = [LogicalType::U64, LogicalType::I16];
        execute(&mut out, 5, &types, &[Value::U64(u64::MAX), Value::Null]).unwrap();
        let body = b"\x17\x05\0\0\0\0\x01\0\0\0\x02\x01\x08\x80\x02\0\xff\xff\xff\xff\xff\xff\xff\xff";
        assert_eq!(out[HEAD_BYTES..], body[..]);
        assert_eq!(out[0] as usize, body.len());
        out.clear();
        execute(&mut out, 5, &[], &[]).unwrap();
        assert_eq!(out.len(), HEAD_BYTES + 10, "without parameters, no bitmap");
        out.clear();
        assert!(execute(&mut out, 5, &types, &[Value::Null, Value::I64(1 << 40)]).is_err());
        assert!(out.is_empty(), "nothing of a refused call is sent");
    }

    #[test]
    fn a_cursor_is_asked_for_and_fetched_from() {
        let mut out = Vec::new();
        execute_cursor(&mut out, 5, &[], &[]).unwrap();
        fetch(&mut out, 5, 10_000);
        assert_eq!(out, b"\x0a\0\0\0\x17\x05\0\0\0\x01\x01\0\0\0\x09\0\0\0\x1c\x05\0\0\0\x10\x27\0\0");
    }
}
