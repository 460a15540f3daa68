use std::fs::{read, File};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;

use super::*;
use crate::record::{Hist, HistRow, IntervalRow, Kind};

/// Whole batches of a stream, and whether it ended as it should.
fn batches(stream: impl std::io::Read) -> (Vec<RecordBatch>, bool) {
    let reader = StreamReader::try_new(stream, None).expect("a schema");
    let mut whole = Vec::new();
    for batch in reader {
        match batch {
            Ok(batch) => whole.push(batch),
            Err(_) => return (whole, false),
        }
    }
    (whole, true)
}

fn open(dir: &Path, table: &str) -> File {
    File::open(dir.join(format!("{table}.arrows"))).expect("there")
}

fn interval(t_ns: u64) -> IntervalRow {
    IntervalRow {
        segment: 1,
        repetition: 2,
        role: "writers".into(),
        op: "insert".into(),
        t_ns,
        dt_ns: 10,
        rows: 11,
        bytes: 12,
        ops: 13,
        errors: 14,
        late: 15,
        in_flight: 16,
        backlog: 17,
        cum_rows: 18,
    }
}

fn intervals(rows: impl IntoIterator<Item = u64>) -> Recorded {
    Recorded { intervals: rows.into_iter().map(interval).collect(), ..Recorded::default() }
}

#[test]
fn every_table_of_the_border_is_there_with_its_columns_before_a_row_is() {
    let dir = tempfile::tempdir().expect("a directory");
    Tables::create(dir.path()).expect("created").finish().expect("finished");
    let border = include_str!("../../../../docs/results.md");
    let after = border.lines().skip_while(|line| !line.starts_with("| table | one row is"));
    let rows = after.take_while(|line| !line.is_empty()).filter(|line| line.starts_with("| `"));
    let mut tables = 0;
    for line in rows {
        let cells: Vec<&str> = line.split('|').collect();
        let mut columns = cells[3].to_owned();
        for (from, to) in [('(', ')'), ('<', '>')] {
            while let (Some(start), Some(end)) = (columns.find(from), columns.find(to)) {
                columns.replace_range(start..=end, "");
            }
        }
        let expected: Vec<&str> = columns.split(',').filter_map(|c| c.split_whitespace().next()).collect();
        for name in cells[1].split(',').map(|name| name.trim().trim_matches('`')) {
            let file = File::open(dir.path().join(format!("{name}.arrows"))).expect(name);
            let schema = StreamReader::try_new(file, None).expect(name).schema();
            let found: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            assert_eq!(found, expected, "{name}");
            assert_eq!(schema.metadata()["inrush_schema"], "9");
            tables += 1;
        }
    }
    assert_eq!(tables, std::fs::read_dir(dir.path()).expect("a directory").count());
}

#[test]
fn a_stream_cut_anywhere_is_read_up_to_its_last_whole_batch() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("intervals.arrows");
    let mut tables = Tables::create(dir.path()).expect("created");
    let mut ends = vec![read(&path).expect("there").len()];
    for batch in 0..3u64 {
        tables.recorded(&intervals(10 * batch..10 * batch + 10));
        tables.flush().expect("flushed");
        ends.push(read(&path).expect("there").len());
    }
    drop(tables); // As a kill does: no end of stream.
    let bytes = read(&path).expect("there");
    assert_eq!(bytes.len(), ends[3], "a flush leaves nothing in the process");
    for cut in ends[0]..=ends[3] {
        let whole = ends[1..].iter().filter(|end| **end <= cut).count();
        let (found, _) = batches(&bytes[..cut]);
        assert_eq!(found.len(), whole, "cut at {cut} of {:?}", ends);
        assert!(found.iter().all(|batch| batch.num_rows() == 10));
    }
}

#[test]
fn a_histogram_comes_back_as_it_was_recorded() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut tables = Tables::create(dir.path()).expect("created");
    let mut hist = Hist::new();
    [0, 5, 300, 1 << 40, 5].into_iter().for_each(|v| hist.record(v));
    let row = |hist: &Hist| HistRow {
        segment: 0,
        repetition: 0,
        role: "r".into(),
        op: "o".into(),
        kind: Kind::Wait,
        t_ns: 0,
        dt_ns: 1,
        hist: hist.to_sparse(),
    };
    let hists = vec![row(&Hist::new()), row(&hist)];
    tables.recorded(&Recorded { hists, ..Recorded::default() });
    tables.finish().expect("finished");

    let (found, ended) = batches(open(dir.path(), "hist"));
    assert!(ended);
    let batch = &found[0];
    let list = |name: &str, row: usize| batch.column_by_name(name).expect(name).as_list::<i32>().value(row);
    let number = |name: &str| batch.column_by_name(name).expect(name).as_primitive::<UInt64Type>().value(1);
    assert_eq!(batch.column_by_name("kind").expect("kind").as_string::<i32>().value(1), "wait");
    assert!(list("bucket", 0).is_empty());
    let sparse = crate::record::SparseHist {
        bucket: list("bucket", 1).as_primitive::<UInt32Type>().values().to_vec(),
        count: list("count", 1).as_primitive::<UInt64Type>().values().to_vec(),
        n: number("n"),
        min: number("min_ns"),
        max: number("max_ns"),
        sum: number("sum_ns"),
    };
    assert_eq!(Hist::from_sparse(&sparse), hist);
}

#[test]
fn an_absent_answer_is_null_and_an_empty_one_is_empty() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut tables = Tables::create(dir.path()).expect("created");
    let row = |value: Option<&str>| AnswerRow {
        segment: 0,
        op: "page".into(),
        params: "{}".into(),
        row: 0,
        col: 0,
        name: "n".into(),
        value: value.map(str::to_owned),
    };
    tables.answer(&row(None));
    tables.answer(&row(Some("")));
    tables.finish().expect("finished");
    let (found, _) = batches(open(dir.path(), "answers"));
    let values = found[0].column_by_name("value").expect("value").as_string_opt::<i32>().expect("text");
    assert_eq!(values.iter().collect::<Vec<_>>(), [None, Some("")]);
}

#[test]
fn a_full_disk_is_an_error_that_says_which_table() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().expect("a directory");
    symlink("/dev/full", dir.path().join("segments.arrows")).expect("linked");
    let Err(error) = Tables::create(dir.path()) else { panic!("/dev/full takes nothing") };
    let message = error.to_string();
    assert!(matches!(error, Error::Io { .. }), "{message}");
    assert!(message.contains("segments") && message.contains("No space left"), "{message}");
}

#[test]
fn a_probe_into_an_unknown_table_is_an_error_of_the_plan() {
    assert_eq!(ProbeTable::named("sizes").expect("known"), ProbeTable::Sizes);
    let message = ProbeTable::named("size").unwrap_err().to_string();
    assert!(message.contains("`size`") && message.contains("sizes"), "{message}");
}
