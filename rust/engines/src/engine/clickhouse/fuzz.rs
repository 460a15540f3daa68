//! Mutated answers of ClickHouse: as HTTP, and as Native alone.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use super::decode::{CountReader, ScanReader};
use super::*;
use inrush_fuzz::{self as fuzz, Memory, Replay};
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{Column, Columns};

/// An answer with a column of every type that we read.
const ANSWER: &[u8] = include_bytes!("../../../tests/captures/clickhouse-answer.bin");
/// Columns as they are stored, NULLs and lists among them.
const SCAN: &[u8] = include_bytes!("../../../tests/captures/clickhouse-scan.bin");
/// A refusal with its status, and one behind blocks that had been sent already.
const REFUSED: &[u8] = include_bytes!("../../../tests/captures/clickhouse-refused.bin");
const BROKEN_OFF: &[u8] = include_bytes!("../../../tests/captures/clickhouse-broken-off.bin");

/// A row of one byte is a vector with a value of 32, beside the column it was taken from.
const MEMORY: Memory = Memory { per_byte: 256, constant: 1 << 20 };
const URL: &str = "clickhouse://me:secret@localhost/default";

const EVERY_TYPE: &str = "SELECT number, toUInt8(number) AS u8, toInt16(-number) AS i16, toUInt32(number) AS u32, \
    toInt64(-number) AS i64, toFloat32(0.5) AS f32, number / 4 AS f64, toString(number) AS s, \
    toFixedString('ab', 4) AS fs, toDate('2026-01-01') AS d, toDateTime('2026-01-01 00:00:00', 'UTC') AS dt, \
    CAST('a' AS Enum8('a' = 1, 'b' = -2)) AS e, generateUUIDv4() AS uuid, toDecimal64(1.25, 4) AS dec, NULL AS none, \
    if(number = 1, NULL, number) AS maybe, [number, 1] AS list, [[0.5], []] AS lists, [toString(number)] AS texts \
    FROM system.numbers LIMIT 20";
const STORED: &str = "SELECT toInt64(number) AS k, toString(number) AS t, if(number = 3, NULL, toFloat64(number)) AS f, \
    [number / 2, 1.5] AS l, arrayFilter(x -> number % 2 = 0, [[toInt64(number)]]) AS ll, toInt16(number) AS s \
    FROM system.numbers LIMIT 50";
const THROWS: &str = "SELECT number, throwIf(number = 200000) FROM system.numbers LIMIT 1000000";

fn stored() -> Columns {
    use LogicalType::*;
    let columns = [("k", I64), ("t", Text), ("f", F64), ("l", ListF64), ("ll", ListI64), ("s", I16)];
    Columns::new(0, columns.iter().map(|(name, ty)| Column::new(*name, *ty)).collect())
}

fn client(replay: Replay) -> Client {
    let mut client = Address::parse(URL, &BTreeMap::new()).unwrap().client();
    client.replay(replay);
    client
}

/// Bytes of what was read, so that every value is looked at.
fn looked_at(columns: &Columns) -> usize {
    let row = |row| columns.columns.iter().map(move |c| inrush_rows::rows::value_text(&c.value(row)).len());
    (0..columns.rows).flat_map(row).sum()
}

fn answer(replay: Replay) -> Result<Result<Answer, Failure>, HttpError> {
    let mut client = client(replay);
    client.receive(None)?;
    let mut reader = AnswerReader::default();
    read_blocks(&mut client, &mut Stream::default(), None, &mut reader)
        .map(|read| read.map(|_| reader.answer))
}

fn scan(replay: Replay) -> bool {
    let mut client = client(replay);
    if client.receive(None).is_err() {
        return false;
    }
    let mut bytes = 0;
    let mut each = |found: &Columns| bytes += looked_at(found);
    let mut reader = ScanReader { batch: Columns::empty_like(&stored()), rows: 0, each: &mut each };
    let read = read_blocks(&mut client, &mut Stream::default(), None, &mut reader);
    matches!(read, Ok(Ok(_))) && reader.rows == 50 && bytes > 0
}

#[test]
fn an_answer_survives_mutations() {
    fuzz::survives(
        "clickhouse answer",
        &[ANSWER],
        MEMORY,
        |replay| matches!(answer(replay), Ok(Ok(answer)) if answer.rows.len() == 20 && answer.names.len() == 19),
    );
}

#[test]
fn a_refusal_survives_mutations() {
    fuzz::survives("clickhouse refusals", &[REFUSED, BROKEN_OFF], MEMORY, |replay| match answer(replay) {
        Ok(Err(failure)) => !failure.to_string().is_empty() && failure.code > 0,
        _ => false,
    });
}

#[test]
fn a_scan_survives_mutations() {
    fuzz::survives("clickhouse scan", &[SCAN], MEMORY, scan);
}

/// The body of a captured answer.
fn native(answer: &[u8]) -> Vec<u8> {
    let mut client = client(Replay::whole(answer.to_vec()));
    client.receive(None).unwrap();
    let mut body = Vec::new();
    client.read_all(&mut body, None).unwrap();
    body
}

/// Without HTTP around it: its lengths would hide most of what is wrong inside.
fn blocks(mut replay: Replay, reader: &mut dyn Reader) -> Result<(), Failure> {
    let (mut stream, mut room) = (Stream::default(), vec![0; 4096]);
    while let Ok(bytes @ 1..) = replay.read(&mut room) {
        stream.buffer().extend_from_slice(&room[..bytes]);
        stream.read(reader)?;
    }
    stream.end(reader)
}

#[test]
fn native_blocks_survive_mutations() {
    let (answer, scan) = (native(ANSWER), native(SCAN));
    fuzz::survives("native answer", &[&answer], MEMORY, |replay| {
        let mut reader = AnswerReader::default();
        blocks(replay, &mut reader).is_ok() && reader.answer.rows.len() == 20
    });
    fuzz::survives("native scan", &[&scan], MEMORY, |replay| {
        let mut bytes = 0;
        let mut each = |found: &Columns| bytes += looked_at(found);
        let mut reader = ScanReader { batch: Columns::empty_like(&stored()), rows: 0, each: &mut each };
        blocks(replay, &mut reader).is_ok() && reader.rows == 50 && bytes > 0
    });
    fuzz::survives("native count", &[&answer, &scan], MEMORY, |replay| {
        let mut reader = CountReader::default();
        blocks(replay, &mut reader).is_ok() && reader.rows > 0
    });
}

/// What is said of a block of one column, and what reading it allocated.
fn one_column(
    ty: &str,
    rows: u8,
    data: &[u8],
) -> (Result<Vec<Vec<inrush_rows::rows::Value>>, String>, usize) {
    let mut bytes = vec![1, rows, 1, b'c'];
    put_length(&mut bytes, ty.len());
    bytes.extend_from_slice(ty.as_bytes());
    bytes.extend_from_slice(data);
    fuzz::peak_bytes(|| {
        let mut reader = AnswerReader::default();
        let read = blocks(Replay::whole(bytes), &mut reader);
        read.map(|()| reader.answer.rows).map_err(|failure| failure.to_string())
    })
}

fn put_length(out: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

#[test]
fn a_type_nested_without_end_is_one_that_we_cannot_read() {
    let deep = format!("{}UInt8{}", "Array(".repeat(100_000), ")".repeat(100_000));
    let (read, _) = one_column(&deep, 0, &[]);
    assert!(read.unwrap_err().contains("cannot read"));
}

#[test]
fn a_scale_beyond_the_digits_makes_no_number_of_zeros() {
    for scale in ["4000000000", "18446744073709551615", "10"] {
        let (read, bytes) = one_column(&format!("Decimal(9, {scale})"), 1, &[1, 0, 0, 0]);
        assert!(read.unwrap_err().contains("cannot read"), "{scale}");
        assert!(bytes < 1 << 20, "{bytes}");
    }
}

#[test]
fn many_columns_that_are_announced_cost_nothing() {
    let (read, bytes) = fuzz::peak_bytes(|| {
        blocks(Replay::whole(vec![0xa0, 0x8d, 0x06, 1, 1, b'c']), &mut AnswerReader::default())
    });
    assert!(read.is_err());
    assert!(bytes < 64 << 10, "100,000 columns announced in six bytes took {bytes}");
}

#[test]
fn many_names_of_a_type_are_looked_up_in_no_time() {
    let names: Vec<String> = (-30_000..30_000).map(|n| format!("'{n}' = {n}")).collect();
    let data: Vec<u8> = std::iter::repeat_n((-30_000i16).to_le_bytes(), 100).flatten().collect();
    let (read, _) = one_column(&format!("Enum16({})", names.join(", ")), 100, &data);
    assert_eq!(read.unwrap()[0], [inrush_rows::rows::Value::Text("-30000".into())]);
}

#[test]
fn ends_of_lists_that_fall_are_an_error() {
    let words = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let scan = |ty: &str, name: &str, data: Vec<u8>| {
        let mut bytes = vec![1, 3, 1, b'c', ty.len() as u8];
        bytes.extend_from_slice(ty.as_bytes());
        bytes.extend_from_slice(&data);
        let column = Column::new(name, LogicalType::ListI64);
        let mut each = |found: &Columns| assert!(looked_at(found) < usize::MAX);
        let mut reader = ScanReader { batch: Columns::new(0, vec![column]), rows: 0, each: &mut each };
        blocks(Replay::whole(bytes), &mut reader)
    };
    assert!(scan("Array(Int64)", "l", words(&[2, 1, 2, 7, 8])).is_err());
    assert!(scan("Array(Int64)", "l", words(&[1, 1, 2, 7, 8])).is_ok());
    // Of lists that may be NULL, with an inner list that ends before the outer one says.
    assert!(scan("Array(Array(Int64))", "ll", words(&[1, 2, 0])).is_err());
    assert!(scan("Array(Array(Int64))", "ll", words(&[1, 0, 0])).is_err());
    assert!(scan("Array(Array(Int64))", "ll", words(&[1, 1, 2, 2, 1, 7])).is_err());
    assert!(scan("Array(Array(Int64))", "ll", words(&[1, 1, 2, 1, 2, 7, 8])).is_ok());
}

#[test]
fn text_that_is_not_utf8_is_no_text_of_a_table() {
    let bytes = vec![1, 1, 1, b't', 6, b'S', b't', b'r', b'i', b'n', b'g', 1, 0xff];
    let column = Column::new("t", LogicalType::Text);
    let mut each = |_: &Columns| panic!("it is not handed on");
    let mut reader = ScanReader { batch: Columns::new(0, vec![column]), rows: 0, each: &mut each };
    assert!(blocks(Replay::whole(bytes), &mut reader).unwrap_err().to_string().contains("column t"));
}

#[test]
#[ignore = "writes the captures anew; needs INRUSH_CLICKHOUSE_URL"]
fn capture_of_clickhouse() {
    let url = std::env::var("INRUSH_CLICKHOUSE_URL").expect("INRUSH_CLICKHOUSE_URL names a server");
    let direct = Address::parse(&url, &BTreeMap::new()).unwrap().place;
    let capture = |text: &str, query: &str| {
        let (port, kept) = fuzz::recorded(&direct.host, direct.port);
        let address =
            Arc::new(Address::parse(&format!("clickhouse://127.0.0.1:{port}/"), &BTreeMap::new()).unwrap());
        let (mut client, mut requests) = (address.client(), Requests::new(&address));
        client.connect().unwrap();
        requests.next_query();
        let path = format!("{}{query}", requests.path());
        drop(exchange(&mut client, &path, text, None));
        client.forget();
        unnamed(kept.join().unwrap())
    };
    fuzz::save("clickhouse-answer.bin", &capture(EVERY_TYPE, ""));
    fuzz::save("clickhouse-scan.bin", &capture(STORED, ""));
    fuzz::save("clickhouse-refused.bin", &capture("SELECT nothing FROM nowhere", ""));
    let broken_off = capture(THROWS, "&max_block_size=100&max_threads=1");
    fuzz::save("clickhouse-broken-off.bin", &shortened(&broken_off));
}

/// Without the name of the machine that the server ran on.
fn unnamed(answer: Vec<u8>) -> Vec<u8> {
    const NAME: &[u8] = b"X-ClickHouse-Server-Display-Name: ";
    let Some(at) = answer.windows(NAME.len()).position(|found| found == NAME) else { return answer };
    let end = at + answer[at..].iter().position(|&byte| byte == b'\n').unwrap() + 1;
    [&answer[..at], &answer[end..]].concat()
}

/// The server begins to answer with a megabyte: of its blocks, which are all alike, the first is kept.
fn shortened(answer: &[u8]) -> Vec<u8> {
    const BLOCK: &[u8] = b"\x02\x64\x06number";
    let body = native(answer);
    let second = 1 + body[1..].windows(BLOCK.len()).position(|found| found == BLOCK).unwrap();
    let exception = body.windows(6).rposition(|found| found == b"Code: ").unwrap();
    let head = answer.windows(4).position(|found| found == b"\r\n\r\n").unwrap() + 4;
    let mut out = answer[..head].to_vec();
    for chunk in [&body[..second], &body[exception..], &[]] {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// RowBinary of the rows 0..20, as `types` are written: u64, text, list, and a number that is NULL in every third.
fn row_binary() -> Vec<u8> {
    let mut out = Vec::new();
    for k in 0..20u64 {
        out.extend_from_slice(&k.to_le_bytes());
        out.extend_from_slice(&[2, b'a', b'b', 1]);
        out.extend_from_slice(&(k as f64).to_le_bytes());
        out.push(u8::from(k % 3 == 0));
        if k % 3 != 0 {
            out.extend_from_slice(&7i64.to_le_bytes());
        }
    }
    out
}

#[derive(Default)]
struct Seen(Vec<Vec<inrush_rows::rows::Value>>);

impl crate::engine::extract::Sink for Seen {
    fn first(&mut self) {}

    fn rows(&mut self, batch: &Columns) {
        let row = |row| batch.columns.iter().map(|c| c.value(row)).collect();
        self.0.extend((0..batch.rows).map(row));
    }
}

/// What is read of an answer in RowBinary, without HTTP around it.
fn rows_of(mut replay: Replay) -> (Result<(), Failure>, Seen) {
    use LogicalType::*;
    let types = ["UInt64", "String", "Array(Float64)", "Nullable(Int64)"];
    let types: Vec<_> = types.iter().map(|ty| decode::Type::parse(ty).unwrap()).collect();
    let columns = [("k", U64), ("t", Text), ("l", ListF64), ("n", I64)];
    let columns = columns.iter().map(|(name, ty)| Column::new(*name, *ty)).collect();
    let (mut batch, mut seen, mut buffer) = (Columns::new(0, columns), Seen::default(), Vec::new());
    let extraction = crate::engine::extract::Extraction::new(&mut batch, &mut seen);
    let mut reader = rowbinary::RowReader::new(extraction, &types, &mut buffer);
    let mut room = vec![0; 4096];
    let mut read = Ok(());
    while let (true, Ok(bytes @ 1..)) = (read.is_ok(), replay.read(&mut room)) {
        reader.buffer().extend_from_slice(&room[..bytes]);
        read = reader.read();
    }
    let read = read.and_then(|()| reader.end());
    reader.rows();
    (read, seen)
}

#[test]
fn rows_without_blocks_survive_mutations() {
    fuzz::survives("clickhouse rows", &[&row_binary()], MEMORY, |replay| {
        let (read, seen) = rows_of(replay);
        read.is_ok() && seen.0.len() == 20
    });
}

#[test]
fn rows_without_blocks_come_typed_and_cut_ones_are_no_answer() {
    use inrush_rows::rows::Value;
    let whole = row_binary();
    let (read, seen) = rows_of(Replay::whole(whole.clone()));
    assert!(read.is_ok());
    let first = [Value::U64(1), Value::Text("ab".into()), Value::ListF64(vec![1.0]), Value::I64(7)];
    assert_eq!((seen.0[1].as_slice(), &seen.0[0][3]), (first.as_slice(), &Value::Null));
    for cut in [1, 9, whole.len() - 1] {
        assert!(rows_of(Replay::whole(whole[..cut].to_vec())).0.is_err(), "{cut}");
    }
    for text in [
        "Code: 241. DB::Exception: Memory limit exceeded (version 25.8)\n",
        "\r\n__exception__\r\nabcd\r\nCode: 241. DB::Exception: Memory limit exceeded (version 26.1)\r\n",
    ] {
        let (read, seen) = rows_of(Replay::whole([&whole, text.as_bytes()].concat()));
        assert_eq!((read.unwrap_err().code, seen.0.len()), (241, 20), "{text}");
    }
}
