//! Mutated answers of InfluxDB: as HTTP, and as JSON alone.

use std::io::Read;

use super::answer::append;
use super::*;
use crate::engine::shared::clear;
use crate::engine::Outcome;
use inrush_fuzz::{self as fuzz, Memory, Replay};
use inrush_rows::plan::{Directives, LogicalType, Pick};
use inrush_rows::rows::{Column, Columns};

const ANSWER: &[u8] = include_bytes!("../../../tests/captures/influxdb-answer.bin");
const REFUSED: &[u8] = include_bytes!("../../../tests/captures/influxdb-refused.bin");

/// `[{"":0},` is an object with a tree of its own.
const MEMORY: Memory = Memory { per_byte: 512, constant: 1 << 20 };
const URL: &str = "influxdb://me:secret@localhost/";
const DATABASE: &str = "inrush_capture";
const POINTS: &str =
    "t,port=1 d=1i,f=0.5,s=\"a\",b=true 1767225600000000000\nt,port=2 d=-1i,f=1e300 1767225601000000000\n\
    t,port=1 d=9007199254740993i,f=0.25,s=\"é\" 1767225602000000000\n";
const QUESTION: &str = "SELECT * FROM t GROUP BY port";

fn columns() -> Columns {
    use LogicalType::*;
    let columns = [("time", TimeMs), ("port", Text), ("d", I64), ("f", F64), ("s", Text), ("b", Bool)];
    Columns::new(0, columns.iter().map(|(name, ty)| Column::new(*name, *ty)).collect())
}

fn ty(name: &str) -> Option<LogicalType> {
    columns().columns.iter().find(|c| c.name == name).map(|c| c.ty)
}

fn of_columns(names: &[String]) -> Directives {
    Directives { columns: Some(names.to_vec()), ..Directives::default() }
}

/// What a session does with an answer: as values, and as columns.
fn taken(reader: &mut Reader) -> bool {
    let names: Vec<String> = columns().columns.iter().map(|c| c.name.clone()).collect();
    let statement = Influxql::new(QUESTION, Some(&of_columns(&names)));
    let answer = statement.answer(reader.series(), &ty);
    let any = Influxql::new(QUESTION, None).answer(reader.series(), &|_| None);
    let pick = |name: &str, prefix, shown| Pick { name: name.to_owned(), prefix, shown };
    let picks = vec![pick("t.d", false, Some("d".into())), pick("t.", true, None)];
    let in_pairs = Directives { pairs: Some(picks), ..Directives::default() };
    let pairs = Influxql::new("SELECT * FROM t", Some(&in_pairs)).answer(reader.series(), &|_| None);
    let (mut batch, mut appended) = (Columns::empty_like(&columns()), true);
    for series in reader.take_series() {
        appended &= append(&series, &names, &mut batch).is_ok();
        // A batch that could not be appended is not looked at.
        if appended {
            let row =
                |row| batch.columns.iter().map(move |c| inrush_rows::rows::value_text(&c.value(row)).len());
            assert!((0..batch.rows).flat_map(row).sum::<usize>() < usize::MAX);
        } else {
            clear(&mut batch);
        }
    }
    appended && answer.rows.len() == 3 && any.rows.len() == 3 && !pairs.rows.is_empty() && batch.rows == 3
}

fn answered(replay: Replay) -> Result<Reader, Failed> {
    let mut client = Address::parse(URL).unwrap().client();
    client.replay(replay);
    let status = client.receive(None)?;
    let mut reader = Reader::kept();
    while let Some(piece) = client.piece(None)? {
        reader.read(piece);
    }
    reader.end(status).map_err(Failed::Failure).map(|()| reader)
}

#[test]
fn an_answer_survives_mutations() {
    fuzz::survives("influxdb answer", &[ANSWER], MEMORY, |replay| {
        answered(replay).is_ok_and(|mut reader| taken(&mut reader))
    });
}

#[test]
fn a_refusal_survives_mutations() {
    fuzz::survives("influxdb refusal", &[REFUSED], MEMORY, |replay| match answered(replay) {
        Err(Failed::Failure(failure)) => {
            !failure.with_remedy().is_empty() && failure.outcome() != Outcome::Ok
        }
        _ => false,
    });
}

fn read(mut replay: Replay, mut reader: Reader) -> Option<Reader> {
    let mut room = vec![0; 4096];
    while let Ok(bytes @ 1..) = replay.read(&mut room) {
        reader.read(&room[..bytes]);
    }
    reader.end(200).ok().map(|()| reader)
}

#[test]
fn json_survives_mutations() {
    let mut client = Address::parse(URL).unwrap().client();
    client.replay(Replay::whole(ANSWER.to_vec()));
    client.receive(None).unwrap();
    let mut json = Vec::new();
    client.read_all(&mut json, None).unwrap();
    fuzz::survives("influxdb json", &[&json], MEMORY, |replay| {
        read(replay, Reader::kept()).is_some_and(|mut reader| taken(&mut reader))
    });
    fuzz::survives("influxdb count", &[&json], MEMORY, |replay| {
        read(replay, Reader::new(false)).is_some_and(|reader| reader.rows() == 3)
    });
}

#[test]
fn a_row_with_fewer_cells_than_columns_is_an_error_and_in_an_answer_null() {
    let json =
        r#"{"results":[{"series":[{"name":"t","columns":["time","d"],"values":[[1767225600000000000]]}]}]}"#;
    let reader = read(Replay::whole(json.into()), Reader::kept()).unwrap();
    let names = ["time".to_owned(), "d".to_owned()];
    let answer = Influxql::new("SELECT d FROM t", Some(&of_columns(&names))).answer(reader.series(), &ty);
    assert_eq!(
        answer.rows,
        [[inrush_rows::rows::Value::TimeMs(1_767_225_600_000), inrush_rows::rows::Value::Null]]
    );
    let mut batch =
        Columns::new(0, vec![Column::new("time", LogicalType::TimeMs), Column::new("d", LogicalType::I64)]);
    let wrong = append(&reader.series()[0], &names, &mut batch).unwrap_err();
    assert!(wrong.contains("fewer cells"), "{wrong}");
}

#[test]
#[ignore = "writes the captures anew; needs INRUSH_INFLUXDB_URL"]
fn capture_of_influxdb() {
    let url = std::env::var("INRUSH_INFLUXDB_URL").expect("INRUSH_INFLUXDB_URL names a server");
    let direct = Address::parse(&url).unwrap();
    let mut own = direct.client();
    own.connect().unwrap();
    let mut ask_own = |text: &str| drop(ask(&mut own, None, text, None, &mut Reader::kept()));
    ask_own(&format!("DROP DATABASE {DATABASE}"));
    ask_own(&format!("CREATE DATABASE {DATABASE}"));
    let mut writer = direct.client();
    writer.connect().unwrap();
    writer.send("POST", &format!("/write?db={DATABASE}"), &[POINTS.as_bytes()], None).unwrap();
    assert_eq!(writer.receive(None).unwrap(), 204);
    for (name, question) in [("influxdb-answer.bin", QUESTION), ("influxdb-refused.bin", "SELEKT")] {
        let (port, kept) = fuzz::recorded(&direct.host, direct.port);
        let mut client = Address::parse(&format!("influxdb://127.0.0.1:{port}/")).unwrap().client();
        client.connect().unwrap();
        drop(ask(&mut client, Some(DATABASE), question, None, &mut Reader::kept()));
        client.forget();
        fuzz::save(name, &kept.join().unwrap());
    }
    ask_own(&format!("DROP DATABASE {DATABASE}"));
}
