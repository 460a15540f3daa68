//! Mutated frames between client and load server, before and after the token.
//!
//! They are captures of our own writing: what either side sends in an import, made by the functions that send it.

use std::io::Read;

use arrow_ipc::writer::StreamWriter;
use serde_json::json;

use super::frame::{self, Ack, ChunkHead, Frame, Message, Reached, Refused, VERSION};
use super::placing::decode;
use inrush_engines::engine::arrow;
use inrush_fuzz::{self as fuzz, Memory, Replay};
use inrush_rows::plan::{ColumnPlan, LogicalType};
use inrush_rows::rows::files::Position;
use inrush_rows::rows::{Column, Columns, Value, Values};

/// Before a client has shown the token: nothing that grows.
const UNAUTHENTICATED: Memory = Memory { per_byte: 16, constant: 64 << 10 };
/// After it has: the chunk, its columns, and JSON, where `[{"":0},` is an object with a tree of its own.
const CLIENT: Memory = Memory { per_byte: 512, constant: 1 << 20 };

fn rows() -> Columns {
    use LogicalType::*;
    let types = [
        ("k", I64),
        ("b", Bool),
        ("s", I16),
        ("u", U64),
        ("f", F64),
        ("tm", TimeMs),
        ("t", Text),
        ("l", ListF64),
    ];
    let mut columns = Columns::new(0, types.iter().map(|(n, ty)| Column::new(*n, *ty)).collect());
    for row in 0..20i64 {
        for column in &mut columns.columns {
            if row % 7 == 3 {
                column.push_null(columns.rows);
                continue;
            }
            if !column.present.is_empty() {
                column.present.push(1);
            }
            match &mut column.values {
                Values::I32(v) => v.push(row as i32 % 2),
                Values::I64(v) => v.push(row),
                Values::F32(v) => v.push(row as f32),
                Values::F64(v) => v.push(row as f64 / 4.0),
                Values::Text(v) => v.push(format!("é{row}").as_bytes()),
                Values::List(v) => {
                    if let Values::F64(items) = &mut *v.items {
                        items.extend((0..row % 3).map(|x| x as f64));
                        v.ends.push(items.len() as u32);
                    }
                }
            }
        }
        columns.rows += 1;
    }
    columns
}

/// One batch as an Arrow IPC stream.
fn chunk(rows: &Columns) -> Vec<u8> {
    let plan = |c: &Column| ColumnPlan {
        name: c.name.clone(),
        ty: c.ty,
        wire: String::new(),
        null_ppm: 0,
        not_finite: None,
        gen: None,
    };
    let schema = arrow::schema_of(&rows.columns.iter().map(plan).collect::<Vec<_>>());
    let mut out = Vec::new();
    let mut writer = StreamWriter::try_new(&mut out, &schema).unwrap();
    writer.write(&arrow::record_batch(rows, &schema)).unwrap();
    writer.finish().unwrap();
    drop(writer);
    out
}

fn sent(messages: &[Message]) -> Vec<u8> {
    let mut wire = Vec::new();
    messages.iter().for_each(|message| frame::send_message(&mut wire, message).unwrap());
    wire
}

/// Sums of a chunk's rows, as they travel with it.
const SUMS: &str = "20 -4099 170141183460469231731687303715884105727";

fn head(chunk: u64) -> ChunkHead {
    ChunkHead {
        file: 1,
        chunk,
        rows: 20,
        after: Position::default(),
        last: false,
        sums: SUMS.into(),
        left_out: vec![7],
    }
}

fn from_client() -> Vec<u8> {
    let setup = json!({"import": "i", "key": [], "shards": [{"name": "s", "plan": {"version": 1}, "rows_per_s": null}]});
    let columns = rows().columns.iter().map(|c| c.name.clone()).collect();
    let mut wire = sent(&[
        Message::Targets,
        Message::Ask { shard: Some(0), statement: "SELECT 1".into(), limit_ns: 1 },
        Message::Open { import: "i".into(), columns, setup: Some(setup) },
        Message::Alive,
    ]);
    let body = chunk(&rows());
    for k in 0..2 {
        frame::send_chunk(&mut wire, &head(k), &body).unwrap();
    }
    wire.extend(sent(&[Message::End]));
    wire
}

fn from_server() -> Vec<u8> {
    let reached = vec![Reached {
        file: 1,
        chunk: 2,
        after: Position::default(),
        done: false,
        sums: SUMS.into(),
        refused: 1,
        lacking: vec![4],
    }];
    sent(&[
        Message::Serves {
            engine: "postgresql".into(),
            shards: vec!["postgresql://h/d".into()],
            coordinator: None,
        },
        Message::Answer { rows: json!([[1, "x", null, {"a": [0.5]}]]) },
        Message::Welcome { reached },
        Message::Acked {
            acks: vec![
                Ack { file: 1, chunk: 0, rows: 20, of_others: 0 },
                Ack { file: 1, chunk: 1, rows: 20, of_others: 7 },
            ],
        },
        Message::Refused {
            refused: vec![Refused { file: 1, chunk: 3, rows: vec![(7, "a key (23505)".into())] }],
        },
        Message::Alive,
        Message::Failed { message: "a shard was given up".into() },
    ])
}

/// All frames up to the end of the connection, chunks decoded as the server does.
fn listened(mut replay: Replay) -> Option<usize> {
    let (mut frames, mut spare) = (0, Vec::new());
    while let Some(next) = frame::receive_into(&mut replay, std::mem::take(&mut spare)).ok()? {
        if let Frame::Chunk(_, body) = next {
            let mut columns = Columns::empty_like(&rows());
            spare = decode(body, &mut columns).ok()?;
            looked_at(&columns);
        }
        frames += 1;
    }
    Some(frames)
}

fn looked_at(columns: &Columns) {
    for row in 0..columns.rows {
        let texts = columns.columns.iter().map(|c| inrush_rows::rows::value_text(&c.value(row)));
        assert!(texts.map(|text| text.len()).sum::<usize>() < usize::MAX);
    }
}

#[test]
fn the_hello_of_a_client_without_token_survives_mutations() {
    let hello =
        sent(&[Message::Hello { version: VERSION, token: "0123456789abcdef0123456789abcdef".into() }]);
    fuzz::survives(
        "load hello",
        &[&hello],
        UNAUTHENTICATED,
        |mut replay| matches!(frame::receive_hello(&mut replay), Ok(Ok(token)) if token.len() == 32),
    );
}

#[test]
fn frames_of_a_client_survive_mutations() {
    fuzz::survives("load client's frames", &[&from_client()], CLIENT, |replay| listened(replay) == Some(7));
}

#[test]
fn frames_of_a_server_survive_mutations() {
    fuzz::survives("load server's frames", &[&from_server()], CLIENT, |replay| listened(replay) == Some(7));
}

#[test]
fn chunks_of_arrow_survive_mutations() {
    fuzz::survives("load chunk", &[&chunk(&rows())], CLIENT, |mut replay| {
        let (mut body, mut columns) = (Vec::new(), Columns::empty_like(&rows()));
        replay.read_to_end(&mut body).unwrap();
        let read = decode(body, &mut columns).is_ok();
        if read {
            looked_at(&columns);
        }
        read && columns.rows == 20 && columns.columns[0].value(19) == Value::I64(19)
    });
}

#[test]
fn a_frame_gets_memory_as_its_bytes_come() {
    for at in [1, 5] {
        let mut wire = sent(&[Message::End]);
        wire[at..at + 4].copy_from_slice(&(1u32 << 30).to_le_bytes());
        let (read, bytes) = fuzz::peak_bytes(|| frame::receive(&mut &wire[..]).is_err());
        assert!(read && bytes < 1 << 20, "{bytes} bytes for a frame of {}", wire.len());
    }
}

#[test]
fn buffers_that_share_their_bytes_and_views_of_texts_are_refused() {
    let two = Columns::new(
        64,
        ["a", "b"]
            .map(|name| Column {
                name: name.into(),
                ty: LogicalType::I64,
                values: Values::I64(vec![7; 64]),
                present: vec![],
            })
            .into(),
    );
    let whole = chunk(&two);
    let into = || Columns::empty_like(&two);
    decode(whole.clone(), &mut into()).expect("as it was written");
    let mut sharing = whole;
    // Offset and length of each buffer, in 64 bits: which are NULL and the values of the one column, then of the other.
    let buffers = [0i64, 0, 0, 512, 512, 0, 512, 512].map(i64::to_le_bytes).concat();
    let first = sharing.windows(buffers.len()).position(|window| window == buffers).expect("they are there");
    for at in [first + 16, first + 48] {
        sharing[at..at + 8].copy_from_slice(&0i64.to_le_bytes());
        sharing[at + 8..at + 16].copy_from_slice(&1024i64.to_le_bytes());
    }
    let refused = decode(sharing, &mut into()).expect_err("each has the whole body");
    assert!(refused.contains("buffers of 2048 bytes in a body of 1024"), "{refused}");

    let schema = arrow_schema::Schema::new(vec![arrow_schema::Field::new(
        "t",
        arrow_schema::DataType::Utf8View,
        true,
    )]);
    let mut views = Vec::new();
    StreamWriter::try_new(&mut views, &schema).unwrap().finish().unwrap();
    let refused = decode(views, &mut into()).expect_err("one text may stand there many times");
    assert!(refused.contains("Utf8View"), "{refused}");
}
