//! Rows that are handed over as they come: each way out, mutated, cut and changed.

use super::*;
use crate::engine::extract::Sink;

/// Rows, and when the first came.
#[derive(Default)]
struct Seen {
    firsts: usize,
    rows: Vec<Vec<Value>>,
    longest: usize,
}

impl Sink for Seen {
    fn first(&mut self) {
        self.firsts += 1;
    }

    fn rows(&mut self, batch: &Columns) {
        self.longest = self.longest.max(batch.rows);
        let row = |row| batch.columns.iter().map(|c| c.value(row)).collect();
        self.rows.extend((0..batch.rows).map(row));
    }
}

const COLUMNS: [(&str, &str, u32); 7] = [
    ("t", "time_ms", 1184),
    ("k", "i64", 20),
    ("s", "text", 25),
    ("f", "f64", 701),
    ("b", "bool", 16),
    ("i", "i16", 21),
    ("l", "list_f64", 1022),
];

fn plan_of(way: &str) -> Context {
    let column = |(name, ty, _): &(&str, &str, u32)| {
        let gen = match *ty {
            "time_ms" => json!({"kind": "sweep_time"}),
            "text" => json!({"kind": "text", "min_bytes": 0, "max_bytes": 3}),
            "list_f64" => json!({"kind": "array", "min_items": 0, "max_items": 2,
                                 "of": {"kind": "uniform", "from": 0, "to": 9}}),
            _ => json!({"kind": "uniform", "from": 0, "to": 1}),
        };
        json!({"name": name, "type": ty, "wire": "", "gen": gen})
    };
    let table = json!({"name": "t", "stream": "t", "identity": ["t"],
        "columns": COLUMNS.iter().map(column).collect::<Vec<_>>(),
        "source": {"kind": "generated", "series": 1, "period_ns": 1_000_000}});
    let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
    let range = json!({"table": 0, "rows": 9, "columns": names, "time": "t", "fetch_rows": 2,
        "length": {"kind": "rows", "rows": 3}});
    let operations = json!([{"name": "x", "kind": "extract", "table": 0, "method": way, "range": range,
        "text": "SELECT t, k, s, f, b, i, l FROM t WHERE t >= $1", "params": [
            {"name": "from", "type": "time_ms", "gen": {"kind": "range_from"}}]}]);
    context("postgresql", URL, table, operations, 1)
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

const READY: &[u8] = b"Z\0\0\0\x05I";

/// The log-in, and the statement as it is prepared.
fn opened() -> Vec<u8> {
    let log_in = CONTROL.windows(READY.len()).position(|found| found == READY).expect("it is ready");
    let mut described = (COLUMNS.len() as u16).to_be_bytes().to_vec();
    for (name, _, oid) in COLUMNS {
        described.extend([name.as_bytes(), b"\0", &[0; 6], &oid.to_be_bytes(), &[0; 8]].concat());
    }
    [&CONTROL[..log_in + READY.len()], &message(b'1', b""), &message(b'T', &described), READY].concat()
}

/// Row `k` as both COPY and DataRow have it; every third has NULLs.
fn row(k: i64) -> Vec<u8> {
    let list = [
        &1u32.to_be_bytes()[..],
        &[0; 4],
        &701u32.to_be_bytes(),
        &1u32.to_be_bytes(),
        &[0, 0, 0, 1],
        &8u32.to_be_bytes(),
        &0.5f64.to_be_bytes(),
    ]
    .concat();
    let cells: [&[u8]; 7] = [
        &(k * 1000).to_be_bytes(),
        &k.to_be_bytes(),
        "é".as_bytes(),
        &1.5f64.to_be_bytes(),
        &[1],
        &(-2i16).to_be_bytes(),
        &list,
    ];
    let mut out = (cells.len() as u16).to_be_bytes().to_vec();
    for (at, cell) in cells.iter().enumerate() {
        if k % 3 == 2 && at > 1 {
            out.extend((-1i32).to_be_bytes());
        } else {
            out.extend((cell.len() as u32).to_be_bytes());
            out.extend(*cell);
        }
    }
    out
}

const HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// What a server sends of so many rows.
fn answer(way: &str, rows: i64) -> Vec<u8> {
    let all = |tag| (0..rows).flat_map(|k| message(tag, &row(k))).collect::<Vec<u8>>();
    match way {
        "copy" => {
            // The first row comes with the head, as servers send it.
            let first = message(b'd', &[HEAD, &row(0)].concat());
            let others: Vec<u8> = (1..rows).flat_map(|k| message(b'd', &row(k))).collect();
            let end = message(b'd', &[0xff, 0xff]);
            [
                message(b'H', &[1, 0, 0]),
                first,
                others,
                end,
                message(b'c', b""),
                message(b'C', b"COPY 5\0"),
                READY.to_vec(),
            ]
            .concat()
        }
        "binary" => [message(b'2', b""), all(b'D'), message(b'C', b"SELECT 5\0"), READY.to_vec()].concat(),
        _ => {
            let mut out = message(b'2', b"");
            for k in 0..rows {
                out.extend(message(b'D', &row(k)));
                if k % 2 == 1 {
                    out.extend(message(b's', b""));
                }
            }
            [out, message(b'C', b"SELECT 1\0"), READY.to_vec()].concat()
        }
    }
}

/// A call over this answer: how it ended, and what was seen of it.
fn extracted(
    way: &str,
    address: &Arc<Address>,
    ctx: &Context,
    replay: Replay,
) -> Option<(Outcome, u64, Seen)> {
    let connection = replayed(address, replay).ok()?;
    let mut session = PgSession::over(ctx, address, connection, &[0]).ok()?;
    let mut seen = Seen::default();
    session.submit(1, 0, Work::Extract { params: &[Value::TimeMs(0)], sink: &mut seen });
    let mut done: Vec<Done> = vec![];
    session.poll(u64::MAX, &mut done);
    assert_eq!(done.len(), 1, "{way}: a call ends once");
    Some((done[0].outcome, done[0].rows, seen))
}

fn read(way: &str, answer: &[u8]) -> (Outcome, u64, Seen) {
    let (ctx, address) = (plan_of(way), Arc::new(Address::parse(URL).unwrap()));
    let stream = [&opened(), answer].concat();
    extracted(way, &address, &ctx, Replay::whole(stream)).expect("it is opened")
}

const WAYS: [&str; 3] = ["copy", "binary", "cursor"];

#[test]
fn each_way_out_survives_mutated_answers() {
    for way in WAYS {
        let (ctx, address) = (plan_of(way), Arc::new(Address::parse(URL).unwrap()));
        let stream = [opened(), answer(way, 5)].concat();
        fuzz::survives(&format!("postgresql extract by {way}"), &[&stream], MEMORY, |replay| {
            extracted(way, &address, &ctx, replay)
                .is_some_and(|(outcome, rows, _)| outcome == Outcome::Ok && rows == 5)
        });
    }
}

#[test]
fn rows_come_typed_in_order_and_with_their_nulls() {
    for way in WAYS {
        let (outcome, rows, seen) = read(way, &answer(way, 5));
        assert_eq!((outcome, rows, seen.firsts, seen.rows.len()), (Outcome::Ok, 5, 1, 5), "{way}");
        let epoch_ms = 946_684_800_000;
        assert_eq!(seen.rows[1][..3], [Value::TimeMs(epoch_ms + 1), Value::I64(1), Value::Text("é".into())]);
        let rest = [Value::F64(1.5), Value::Bool(true), Value::I64(-2), Value::ListF64(vec![0.5])];
        assert_eq!(seen.rows[1][3..], rest, "{way}");
        assert!(seen.rows[2][2..].iter().all(|value| *value == Value::Null), "{way}");
    }
}

#[test]
fn an_answer_that_is_cut_or_cannot_be_read_is_never_ok() {
    for way in WAYS {
        let whole = answer(way, 5);
        for cut in 0..whole.len() {
            assert_ne!(read(way, &whole[..cut]).0, Outcome::Ok, "{way}: cut at {cut}");
        }
        // Half of a cell is no cell of its type.
        let (long, short) = (8u32.to_be_bytes(), 4u32.to_be_bytes());
        let at = whole.windows(4).position(|found| found == long).expect("a cell of 8 bytes");
        let other = [&whole[..at], &short, &whole[at + 4..]].concat();
        assert_ne!(read(way, &other).0, Outcome::Ok, "{way}");
    }
    // Without its trailer a COPY has not ended.
    let end = message(b'd', &[0xff, 0xff]);
    let whole = answer("copy", 5);
    let at = whole.windows(end.len()).position(|found| found == end).expect("it ends");
    assert_eq!(read("copy", &[&whole[..at], &whole[at + end.len()..]].concat()).0, Outcome::Wrong);
}

#[test]
fn a_failure_amid_the_rows_ends_the_call_and_not_its_session() {
    for way in WAYS {
        let whole = answer(way, 5);
        let command: &[u8] = if way == "copy" { b"COPY 5\0" } else { b"SELECT 5\0" };
        let begun = &whole[..whole.len() - READY.len() - message(b'C', command).len()];
        let failure = message(b'E', b"SERROR\0C57014\0Mcancelled\0\0");
        let (outcome, rows, _) = read(way, &[begun, &failure, READY].concat());
        assert_eq!((outcome, rows), (Outcome::Timeout, 0), "{way}");
    }
}

#[test]
fn a_long_answer_is_handed_over_in_short_batches() {
    for way in WAYS {
        let (outcome, rows, seen) = read(way, &answer(way, 20_000));
        assert_eq!((outcome, rows, seen.firsts), (Outcome::Ok, 20_000, 1), "{way}");
        assert_eq!(seen.longest, crate::engine::extract::BATCH_ROWS, "{way}");
    }
}
