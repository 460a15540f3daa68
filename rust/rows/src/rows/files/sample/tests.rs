//! What decides is what the reader stores: the same records, by the same rules.

use super::kinds::{kind_of, QUOTED};
use super::*;

fn found(text: &[u8], said: &Said, rows: u64) -> Result<Sample, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    std::fs::write(&path, text).unwrap();
    let mut window = Window::unread(path.to_str().unwrap()).unwrap();
    match sample(&mut window, said, rows).unwrap() {
        Found::Sample(sample) => Ok(*sample),
        Found::Refused(why) | Found::Empty(why) => Err(why),
        Found::Other => Err("other".into()),
    }
}

fn found_with(text: &[u8], said: &Said) -> Result<Sample, String> {
    found(text, said, 10)
}

fn of(text: &str) -> Sample {
    found(text.as_bytes(), &Said::default(), 1_000).unwrap()
}

/// The numbers of the kinds of a column, and how many values each has.
fn kinds(column: &SampledColumn) -> Vec<(usize, u64)> {
    column.kinds.iter().map(|seen| (seen.of, seen.count)).collect()
}

#[test]
fn records_that_are_no_rows_decide_nothing_and_are_named() {
    let sample = of("a,b\n5,6\nx\n\n\"y\nz\",3,4\n5, \"6\"\n7,8\n");
    assert_eq!((sample.rows, sample.complete), (2, true));
    assert!(sample.columns.iter().all(|column| kinds(column) == [(kind_of(b"7"), 2)]));
    let said: Vec<_> = sample.problems.iter().map(|(line, why)| (*line, why.as_str())).collect();
    assert_eq!(
        said,
        [
            (3, "too few fields: 1 of 2"),
            (5, "too many fields: 3 for 2"),
            (7, "quote inside an unquoted field")
        ]
    );
}

#[test]
fn a_line_ends_where_the_reader_ends_it() {
    let sample = of("id,name\n1,a\rb\n2,\"c\r\nd\"\n");
    assert_eq!(sample.rows, 2);
    assert_eq!(sample.columns[1].longest, 4);
    assert_eq!(of("\"a\nb\",c\r\n1,2\r\n").columns[0].name, "a\nb");
}

#[test]
fn words_for_null_are_counted_apart_and_in_quotes_are_texts() {
    let sample = of("k,v\n1,NA\n2,\n3,\"\"\n4,NA\n");
    let words: Vec<_> = sample.columns[1].words.iter().map(|seen| (seen.of, seen.count, seen.line)).collect();
    assert_eq!(words, [(0, 1, 3), (1, 2, 2)]);
    assert_eq!(kinds(&sample.columns[1]), [(QUOTED, 1)]);
    assert_eq!(sample.columns[1].kinds[0].value, "\"\"");
}

#[test]
fn the_least_time_is_known_in_every_order_that_it_may_have() {
    let least = |text: &str| of(&format!("id,at\n1,{text}\n")).columns[1].least_us;
    let day = 86_400_000_000;
    assert_eq!(least("1970-01-02 00:00:00+01:00"), [Some(day - 3_600_000_000), None, None]);
    assert_eq!(least("02/03/1970"), [None, Some(60 * day), Some(33 * day)]);
    assert_eq!(least("31/01/1970"), [None, Some(30 * day), None]);
    assert_eq!(least("x"), [None; 3]);
}

#[test]
fn what_is_no_table_is_refused() {
    for (text, said) in [
        ("", "is empty"),
        ("{\n \"a\": 1\n}\n", "is JSON"),
        ("[\"a\", 1]\n[\"b\", 2]\n", "is JSON"),
        ("{\"data\": [\n{\"a\":1},\n{\"a\":2}\n]}\n", "is JSON"),
        ("{\"a\": 1,\n\"b\": 2}\n", "is JSON"),
        ("{\"a\": NaN}\r\n{\"a\": -Infinity}\r\n", "is JSON"),
        ("{\"a\":1}{\"a\":2}\n", "is JSON"),
        ("[\n1,\n2\n]\n", "is JSON"),
        ("{\"data\": [\n{\"a\":1},\n{\"a", "is JSON"),
        ("# made on Monday\nid,n\n1,x\n", "line 1 is a comment"),
        ("## a\n#id,n\n1,x\n", "line 1 is a comment"),
        ("# made on Monday, by Bob\nid,n\n1,x\n", "line 1 is a comment"),
        ("# a\n# b\n", "line 1 is a comment"),
        ("# id,n\n1,x\n", "give --header yes"),
        ("a\rb\r", "its lines end with CR only"),
        ("a,b\r", "its lines end with CR only"),
        ("x,y\r1,2\r3,4\n5,6\n", "some of its lines end with CR only"),
        ("id,n\n1,\0\n", "is not text: line 2 has a NUL"),
        ("\"ab\"c\n", "line 1 has a text behind a closing quotation mark"),
        ("\"a,b\n", "line 1 has a quotation mark without its partner"),
        ("\nid,n\n1,x\n", "the column names are not on line 1: it is blank or"),
        ("\"id,n\nid,n\n1,x\n", "line 1"),
        ("id,n\n", "has no rows below its header"),
        ("id,n\n1\n", "none of its rows can be read; line 2: too few fields: 1 of 2"),
    ] {
        let why = found(text.as_bytes(), &Said::default(), 10).unwrap_err();
        assert!(why.contains(said), "{text:?}: {why}");
    }
    assert!(found(b"\xff\xfea\0", &Said::default(), 10).unwrap_err().contains("--encoding utf-16"));
    assert!(found(b"gr\xf6\xdfe,n\n1,x\n", &Said::default(), 10).unwrap_err().contains("give --encoding"));
    for text in [
        "#id,n\n1,x\n",
        "x,\"a\rb\",y\n1,2,3\n",
        "id\t\"note\rmore\"\tz\n",
        "#foo,1\n#bar,2\n",
        "#\n",
        "# a,1\n# b,2\n",
        "[1,2]\n",
        "[1,NaN]\n[2,3]\n",
        "[id],[n]\n1,x\n",
        "\"{\"\"a\"\": 1}\",2\n",
        "{\"a\":1}\t5\n{\"a\":\n",
        "{\"a\": NaN}\t5\n",
        "{}|5\n",
    ] {
        let found = found(text.as_bytes(), &Said { header: Some(false), ..Said::default() }, 10);
        assert!(found.is_ok(), "{text}: {found:?}");
    }
    assert!(!of("#foo,1\n#bar,2\n").header, "a table of tags");
    let tsv = Said { format: Some("tsv".into()), ..Said::default() };
    assert!(found(b"{\"a\": 1}\n{\"a\": 2}\n", &tsv, 10).is_ok(), "the command line says what it is");
}

#[test]
fn a_line_of_any_length_takes_no_more_memory_than_the_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let long = "x".repeat(3 * LINE_LIMIT_BYTES);
    std::fs::write(&path, format!("a,b\n1,{long}\n2,y\n")).unwrap();
    let mut window = Window::unread(path.to_str().unwrap()).unwrap();
    let Found::Sample(sample) = sample(&mut window, &Said::default(), 10).unwrap() else { panic!("a table") };
    assert_eq!((sample.rows, sample.problems.len()), (1, 1));
    assert!(sample.problems[0].1.starts_with("line longer than"));
    let most = window.buffer_bytes();
    assert!((LINE_LIMIT_BYTES..3 * LINE_LIMIT_BYTES).contains(&most), "{most}");
    window.turn_to(path.to_str().unwrap()).unwrap();
    assert!(window.buffer_bytes() < 2 * WINDOW_BYTES, "the next file begins with a small one");
    let why = found(long.as_bytes(), &Said::default(), 10).unwrap_err();
    assert!(why.contains("line 1 is longer than 1 MiB"), "{why}");
}

#[test]
fn what_no_value_of_a_column_was_takes_no_memory() {
    let sample = of("id,n\n1,NA\n2,NA\n");
    let all = sample.columns.iter().map(|c| c.kinds.capacity() + c.words.capacity()).sum::<usize>();
    assert!(all <= 16, "{all} of which two are there");
}

#[test]
fn quotes_around_values_that_the_reader_leaves_there_are_found() {
    assert_eq!(of("id\tn\n5\t\"a b\"\n").quoted, "\"a b\"");
    assert_eq!(of("\"id\"\t\"n\"\n1\t2\n").quoted, "\"id\"");
    for none in ["id\tn\n5\t{\"a\": \"b\"}\n6\t\"\n", "id,n\n1,\"a b\"\n"] {
        assert_eq!(of(none).quoted, "", "{none}");
    }
    let tsv = Said { format: Some("tsv".into()), ..Said::default() };
    assert_eq!(found(b"id\tn\n5\t\"a b\"\n", &tsv, 10).unwrap().quoted, "", "the command line says so");
}

#[test]
fn json_lines_have_the_members_of_all_objects_that_were_looked_at() {
    let text = "{\"a\": 1, \"b\": \"5\"}\n\n{\"c\": {\"d\": 1}, \"a\": null}\n[1]\n{\"b\": \"2026-01-31\"}\n";
    let found = of(text);
    assert_eq!((found.format, found.header, found.rows), ("ndjson", false, 3));
    let names: Vec<_> = found.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(kinds(&found.columns[0]), [(kind_of(b"1"), 1)]);
    assert_eq!(found.columns[0].words.iter().map(|w| w.count).sum::<u64>(), 2, "null, and absent");
    assert_eq!(
        kinds(&found.columns[1]),
        [(kind_of(b"x"), 1), (kind_of(b"2026-01-31"), 1)],
        "in quotes no number"
    );
    assert_eq!(kinds(&found.columns[2]), [(kind_of(b"{}"), 1)]);
    assert_eq!(found.problems, [(4, "not a JSON object".into())]);
    assert_eq!(of("{\"a\": 1}").rows, 1);
}

#[test]
fn a_file_is_looked_at_as_it_is_said_to_be_written() {
    let with = |text: &str, written: WrittenAs| {
        let said = Said { written, ..Said::default() };
        found(text.as_bytes(), &said, 10).unwrap()
    };
    let mark = |text: &str| Some(text.to_string());
    let comma = || WrittenAs { decimal: mark(","), thousands: mark("."), ..WrittenAs::default() };
    let found = with("id;v\n1;1.234,5\n2;0,25\n", comma());
    let pointed = with("id;v\n1;1234.5\n2;0.25\n", WrittenAs::default());
    assert_eq!(kinds(&found.columns[1]), kinds(&pointed.columns[1]));
    assert_eq!(
        kinds(&with("v;w\n1.5;x\n", comma()).columns[0]),
        [(kind_of(b"x"), 1)],
        "no number with these marks"
    );
    assert!(
        kinds(&with("v;w\n31.01.2026;x\n", comma()).columns[0])[0].0 >= kind_of(b"2026-01-31"),
        "a date is one"
    );
    let bare = with("1;2,5\n2;3,5\n", comma());
    assert_eq!((bare.delimiter, bare.columns.len()), (Some(';'), 2), "a comma is in numbers here");
    let one = with("v\n1,5\n2,5\n", comma());
    assert_eq!(
        (one.format, one.columns.len(), kinds(&one.columns[0])),
        ("csv", 1, kinds(&pointed.columns[1]))
    );
    let apart = Said { written: comma(), ..Said::default() };
    assert!(found_with(b"id,v\n1,a\n2,b\n", &apart).unwrap_err().contains("--delimiter"));
    let json = Said { written: WrittenAs { null: mark("NA"), ..WrittenAs::default() }, ..Said::default() };
    assert!(found_with(b"{\"a\": 1}\n", &json).unwrap_err().contains("JSON's own"));
    let notes = WrittenAs { comment: mark("#"), skip: 1, ..WrittenAs::default() };
    let found = with("made by \"x\n# a\nid,n\n# b\n1,x\n", notes);
    assert_eq!((found.header, found.rows), (true, 1));
    let null = WrittenAs { null: mark("missing"), ..WrittenAs::default() };
    let found = with("id,n\n1,missing\n2,5\n", null);
    assert_eq!(
        (found.columns[1].words[0].of, kinds(&found.columns[1])),
        (super::kinds::GIVEN, vec![(kind_of(b"5"), 1)])
    );
    let quote = WrittenAs { quote: mark("'"), ..WrittenAs::default() };
    assert_eq!(with("a,b\n'x,y',1\n", quote).rows, 1);
}

#[test]
fn no_more_rows_are_looked_at_than_are_asked_for() {
    let text = "id\n1\n2\n3\n";
    let rows = |rows| found(text.as_bytes(), &Said::default(), rows).map(|s| (s.rows, s.complete)).unwrap();
    assert_eq!([rows(2), rows(3), rows(4)], [(2, false), (3, true), (3, true)]);
}
