//! Files as a source of rows: what was written is what is read, and what is no row is said to be none.

mod arrow;
mod feed;
mod styles;
mod tables;

use std::fs::File;
use std::io::Write;

use inrush_rows::error::Error;
use inrush_rows::plan::{LogicalType, RowSource, TimeForm};
use inrush_rows::rows::files::{FileRows, Position};
use inrush_rows::rows::Value;
use proptest::prelude::*;
use tempfile::TempDir;

use styles::{a_row, a_style, all_types, written, Style};
use tables::{
    csv_table, drain, failure, good_values, malformed, read_all, reject_text, table, values, with_header,
    without_text, GOOD, IDS, MALFORMED, MIXED,
};

#[test]
fn rows_behind_many_bytes_of_rejected_ones_are_no_end_of_the_files() {
    let dir = TempDir::new().unwrap();
    let paths = [dir.path().join("a.csv"), dir.path().join("b.csv")];
    let bad = format!("x{},1\n", "y".repeat(300));
    std::fs::write(&paths[0], bad.repeat(20) + "1,2\n3,4\n").unwrap();
    std::fs::write(&paths[1], bad.repeat(3) + "5,6\n").unwrap();
    let columns = [("a", LogicalType::I64), ("b", LogicalType::I64)];
    let plan = table(&dir, &[&paths[0], &paths[1]], &columns, &[], "csv", None);
    let mut rows = FileRows::open(&plan).unwrap().with_batch_bytes(500);
    let mut batch = rows.columns();
    let mut counts = Vec::new();
    while counts.last() != Some(&0) {
        counts.push(rows.next_batch(100, &mut batch).unwrap());
    }
    assert_eq!(counts.iter().sum::<usize>(), 3, "{counts:?}");
    assert_eq!((rows.position().stored, rows.position().rejected), (3, 23));
}

// What was written is what is read.

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_value_of_every_type_comes_back_from_every_format(
        rows in prop::collection::vec(a_row(), 0..40),
        style in a_style(),
        batch_rows in 1usize..50,
    ) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("rows");
        std::fs::write(&path, written(&rows, &style)).unwrap();
        let table = style.table(&dir, &[&path], all_types(), &[]);
        let read = read_all(&table, batch_rows);
        prop_assert_eq!(read.rejects, "");
        prop_assert_eq!(read.rows, rows);
    }

    #[test]
    fn going_on_from_any_position_gives_the_rest_and_the_same_rejects(
        rows in prop::collection::vec(a_row(), 0..30),
        bad in prop::collection::vec(0u8..3, 60),
        style in a_style(),
        batch_rows in 1usize..8,
        stop_after in 0usize..12,
    ) {
        // Bad rows between good ones, in two files.
        let dir = TempDir::new().unwrap();
        let paths = [dir.path().join("a"), dir.path().join("b")];
        for (path, rows) in paths.iter().zip(rows.chunks(rows.len() / 2 + 1).chain([&[][..], &[]])) {
            let mut text = Vec::new();
            for (row, bad) in rows.iter().zip(&bad) {
                let one = Style { header: false, ..style.clone() };
                text.extend(written(std::slice::from_ref(row), &one));
                match bad {
                    0 => {}
                    1 => text.extend(b"not a row\n"),
                    // Broken in a quoted field: of the second line, quotes say that it is the rest of the first.
                    _ => text.extend(b"1,\"a\" b\nrest\",5\"\n"),
                }
            }
            let head = written(&[], &style);
            std::fs::write(path, [head, text].concat()).unwrap();
        }
        let table = style.table(&dir, &[&paths[0], &paths[1]], all_types(), &[]);
        let whole = read_all(&table, batch_rows);
        prop_assert_eq!(whole.rows.len() as u64, whole.end.stored);

        let mut first = FileRows::open(&table).unwrap();
        let mut columns = first.columns();
        let mut parts = Vec::new();
        for _ in 0..stop_after {
            first.next_batch(batch_rows, &mut columns).unwrap();
            parts.extend(values(&columns));
        }
        let stopped = first.position();
        // What a killed load had read beyond its last ledger entry.
        first.next_batch(batch_rows, &mut columns).unwrap();
        drop(first);

        let mut second = FileRows::open(&table).unwrap();
        second.seek(&stopped).unwrap();
        while second.next_batch(batch_rows, &mut columns).unwrap() > 0 {
            parts.extend(values(&columns));
        }
        prop_assert_eq!(second.position(), whole.end);
        prop_assert_eq!(parts, whole.rows);
        prop_assert_eq!(reject_text(&dir), whole.rejects);
    }

    #[test]
    fn a_quote_inside_a_field_without_quotes_is_a_part_of_its_text(
        rows in prop::collection::vec(prop::array::uniform3("[a\"', é.\\t\n]{0,8}"), 0..40),
        batch_rows in 1usize..50,
    ) {
        // Quotes around a field where it could not be read without them, and nowhere else.
        let field = |text: &String| {
            let must = text.is_empty() || text.contains([',', '\n']) || text.trim_start_matches([' ', '\t']).starts_with('"');
            if must { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.clone() }
        };
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("rows.csv");
        let lines: Vec<String> = rows.iter().map(|row| row.each_ref().map(field).join(",") + "\n").collect();
        std::fs::write(&path, lines.concat()).unwrap();
        let columns = ["a", "b", "c"].map(|name| (name, LogicalType::Text));
        let read = read_all(&csv_table(&dir, &[&path], &columns, &[]), batch_rows);
        prop_assert_eq!(read.rejects, "");
        let expected: Vec<Vec<Value>> = rows.iter().map(|row| row.each_ref().map(|t| Value::Text(t.clone())).to_vec()).collect();
        prop_assert_eq!(read.rows, expected);
    }

    #[test]
    fn no_bytes_at_all_bring_the_reader_down(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(&b",\"\n\r\\\t0N"[..])], 0..400),
        style in a_style(),
    ) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("rows");
        std::fs::write(&path, &bytes).unwrap();
        let table = Style { header: false, ..style }.table(&dir, &[&path], all_types(), &[]);
        match FileRows::open(&table).map(|mut rows| {
            let mut columns = rows.columns();
            while rows.next_batch(3, &mut columns)? > 0 {}
            Ok::<_, Error>(rows.position())
        }) {
            Ok(Ok(end)) => {
                let rejected = reject_text(&dir).matches(&path.display().to_string()).count();
                prop_assert!(rejected as u64 >= end.rejected);
                prop_assert_eq!(end.offset == 0, bytes.is_empty() || end.file == 1);
            }
            Ok(Err(e)) => prop_assert!(e.to_string().contains("not text"), "{e}"),
            Err(e) => prop_assert!(false, "{e}"),
        }
    }
}

#[test]
fn a_thousand_malformed_rows_of_twenty_two_kinds_are_each_rejected_for_their_reason() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    let mut file = File::create(&path).unwrap();
    let mut expected = Vec::new();
    let (mut line, mut good) = (1, Vec::new());
    for k in 0..50u64 {
        for (kind, (column, reason)) in MALFORMED.iter().enumerate() {
            let id = (k * 100 + kind as u64) as i64;
            file.write_all(format!("{id},{GOOD}\n").as_bytes()).unwrap();
            good.push(id);
            file.write_all(&malformed(kind, id)).unwrap();
            expected.push(format!("{},{},{column},{reason}", path.display(), line + 1));
            line += 2;
        }
    }
    drop(file);
    let table = csv_table(&dir, &[&path], MIXED, &["name"]);
    let mut rows = FileRows::open_with_limit(&table, 60_000).unwrap();
    let read = drain(&mut rows, 7, &dir);
    assert_eq!(read.end.rejected, 50 * MALFORMED.len() as u64);
    assert!(read.end.rejected >= 1000);
    let found: Vec<String> = read.rejects.lines().filter_map(without_text).collect();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
    let ids: Vec<Value> = good.into_iter().map(Value::I64).collect();
    assert_eq!(read.rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>(), ids);
    for row in &read.rows {
        assert_eq!(row[1..], good_values());
    }
}

#[test]
fn a_mark_at_the_start_carriage_returns_and_a_missing_last_line_end_are_no_errors() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, b"\xef\xbb\xbf1,a\r\n2,\"b\"\r\n3,c").unwrap();
    let read = read_all(&csv_table(&dir, &[&path], IDS, &[]), 10);
    let expected = [(1, "a"), (2, "b"), (3, "c")];
    assert_eq!(read.rows, expected.map(|(id, t)| vec![Value::I64(id), Value::Text(t.into())]));
    // The last file stays the place: one that has grown goes on there.
    assert_eq!(read.end, Position { file: 0, offset: 18, line: 4, stored: 3, ..Position::default() });
}

#[test]
fn columns_are_found_by_the_names_in_each_file_s_header() {
    let dir = TempDir::new().unwrap();
    let (a, b) = (dir.path().join("a.csv"), dir.path().join("b.csv"));
    std::fs::write(&a, "other,name,id\nx,one,1\n").unwrap();
    std::fs::write(&b, "\"id\", name\n2,two\n").unwrap();
    let table = with_header(csv_table(&dir, &[&a, &b], IDS, &[]));
    let expected = [(1, "one"), (2, "two")];
    assert_eq!(
        read_all(&table, 10).rows,
        expected.map(|(id, t)| vec![Value::I64(id), Value::Text(t.into())])
    );

    std::fs::write(&b, "id,title\n2,two\n").unwrap();
    let message = failure(&table);
    assert!(message.ends_with("b.csv: the header has no column `name`; it has id, title"), "{message}");
}

#[test]
fn empty_and_null_are_what_the_format_says() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows");
    let name = |text: &[u8], format: &str, null: Option<&str>| {
        std::fs::write(
            &path,
            [&b"1"[..], if format == "csv" { &b","[..] } else { &b"\t"[..] }, text, b"\n"].concat(),
        )
        .unwrap();
        let read = read_all(&table(&dir, &[&path], IDS, &[], format, null), 10);
        assert_eq!(read.rejects, "");
        read.rows[0][1].clone()
    };
    let text = |t: &str| Value::Text(t.into());
    assert_eq!(name(b"", "csv", None), Value::Null);
    assert_eq!(name(b"\"\"", "csv", None), text(""));
    assert_eq!(name(b"NA", "csv", Some("NA")), Value::Null);
    assert_eq!(name(b"\"NA\"", "csv", Some("NA")), text("NA"));
    assert_eq!(name(b"", "csv", Some("NA")), text(""));
    assert_eq!(name(b"\\N", "mysql", None), Value::Null);
    assert_eq!(name(b"\\\\N", "mysql", None), text("\\N"));
    assert_eq!(name(b"", "tsv", None), text(""));
    assert_eq!(name(b"\\\\.", "tsv", None), text("\\."));
}

#[test]
fn times_are_read_in_the_form_that_the_plan_says_and_in_no_other() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, "1,03/01/2026\n2,2026-01-03\n3,20260103\n4,25/01/2026\n5,\n").unwrap();
    let columns = [("id", LogicalType::I64), ("at", LogicalType::TimeMs)];
    let ms = |day: i64| Value::TimeMs(1_767_225_600_000 + (day - 1) * 86_400_000);
    let cases = [
        (None, vec![(2, ms(3)), (3, Value::TimeMs(20_260_103))]),
        (Some(TimeForm::Iso), vec![(2, ms(3))]),
        (Some(TimeForm::Dmy), vec![(1, ms(3)), (4, ms(25))]),
        (Some(TimeForm::Mdy), vec![(1, ms(60))]),
        (Some(TimeForm::Pattern("%d/%m/%Y".into())), vec![(1, ms(3)), (4, ms(25))]),
        (Some(TimeForm::Pattern("%Y%m%d".into())), vec![(3, ms(3))]),
    ];
    for (form, expected) in cases {
        let mut table = csv_table(&dir, &[&path], &columns, &[]);
        let RowSource::Files { times, .. } = &mut table.source else { unreachable!() };
        times.extend(form.clone().map(|form| ("at".to_string(), form)));
        let read = read_all(&table, 10);
        let null = (5, Value::Null);
        let expected: Vec<Vec<Value>> =
            expected.into_iter().chain([null]).map(|(id, at)| vec![Value::I64(id), at]).collect();
        assert_eq!(read.rows, expected, "{form:?}");
        assert_eq!(read.end.rejected + read.end.stored, 5, "{form:?}");
    }
    let mut table = csv_table(&dir, &[&path], &columns, &[]);
    let RowSource::Files { times, .. } = &mut table.source else { unreachable!() };
    times.insert("id".into(), TimeForm::Dmy);
    assert!(failure(&table).contains("source.times names id; it is no column of times or dates"));
    let RowSource::Files { times, .. } = &mut table.source else { unreachable!() };
    *times = [("at".to_string(), TimeForm::Pattern("%d/%m".into()))].into();
    assert!(failure(&table).contains("source.times: \"%d/%m\" has no year, month and day"));
}

#[test]
fn times_without_a_zone_are_of_the_zone_that_the_plan_says() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    // At 1,000,000 s clocks are set back from 15:46:40 to 14:46:40.
    let texts =
        ["1970-01-12 15:46:40", "1970-01-12 14:46:40Z", "1970-01-12 14:46:40", "1970-01-12", "86400000"];
    let rows: String = texts.iter().enumerate().map(|(id, text)| format!("{id},{text}\n")).collect();
    std::fs::write(&path, rows).unwrap();
    let mut table = csv_table(&dir, &[&path], &[("id", LogicalType::I64), ("at", LogicalType::TimeMs)], &[]);
    let RowSource::Files { times, zone, .. } = &mut table.source else { unreachable!() };
    *times = [("at".to_string(), TimeForm::Iso)].into();
    *zone = vec![(0, 7_200), (1_000_000, 3_600)];
    let read = read_all(&table, 10);
    let at = |id, s: i64| vec![Value::I64(id), Value::TimeMs(s * 1_000)];
    assert_eq!(read.rows, [at(0, 1_003_600), at(1, 1_003_600), at(3, 11 * 86_400)]);
    assert_eq!(read.end.rejected, 2, "a time that was twice, and a number");
}

#[test]
fn records_that_cross_the_reader_s_window_stay_whole() {
    // Texts of up to 300 kB with line breaks and doubled quotes, 6 MB in all: every window ends inside one.
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    let text = |k: usize| "x\"\n,é".repeat(k * 997 % 50_000);
    let mut file = std::io::BufWriter::new(File::create(&path).unwrap());
    for k in 0..60 {
        writeln!(file, "{k},\"{}\"", text(k).replace('"', "\"\"")).unwrap();
    }
    file.flush().unwrap();
    let read = read_all(&csv_table(&dir, &[&path], IDS, &[]), 7);
    let expected = (0..60).map(|k| vec![Value::I64(k as i64), Value::Text(text(k))]);
    assert!(read.rows.into_iter().eq(expected));
}

#[test]
fn a_quote_left_open_costs_one_line_and_not_the_file() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    let mut text = String::from("0,\"open\n");
    for k in 1..50_000 {
        text += &format!("{k},plain\n");
    }
    std::fs::write(&path, text).unwrap();
    let table = csv_table(&dir, &[&path], IDS, &[]);
    let read = drain(&mut FileRows::open_with_limit(&table, 100_000).unwrap(), 1000, &dir);
    assert_eq!((read.end.stored, read.end.rejected), (49_999, 1));
    assert_eq!(read.rows[0][0], Value::I64(1));
}

#[test]
fn the_rest_of_a_broken_record_is_no_row_although_quotes_may_stand_in_fields() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    let text = "x,\"say \"hi\" to\nus\",5\" pipe\nlast,6\" pipe\nc,d\ne,7\" pipe\n";
    std::fs::write(&path, text).unwrap();
    let columns = [("id", LogicalType::Text), ("name", LogicalType::Text)];
    for batch_rows in [1, 2, 10] {
        let read = read_all(&csv_table(&dir, &[&path], &columns, &[]), batch_rows);
        let expected =
            [("c", "d"), ("e", "7\" pipe")].map(|row| <[&str; 2]>::from(row).map(|t| Value::Text(t.into())));
        assert_eq!(read.rows, expected);
        let reasons: Vec<&str> = read.rejects.lines().filter(|l| l.starts_with('/')).collect();
        let parts = [",1,,unbalanced quote,", ",2,,quote inside an unquoted field,", ",3,,quote inside"];
        assert_eq!(reasons.len(), parts.len(), "{reasons:?}");
        assert!(reasons.iter().zip(parts).all(|(found, part)| found.contains(part)), "{reasons:?}");
    }
}

#[test]
fn a_line_beyond_the_limit_is_rejected_and_the_next_is_read() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    let long = "x".repeat(3 << 20);
    std::fs::write(&path, format!("1,a\n2,{long}\n3,c\n4,{long}")).unwrap();
    let table = csv_table(&dir, &[&path], IDS, &[]);
    let read = drain(&mut FileRows::open_with_limit(&table, 1 << 20).unwrap(), 10, &dir);
    assert_eq!(read.rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>(), [Value::I64(1), Value::I64(3)]);
    let lines: Vec<&str> = read.rejects.lines().skip(1).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains(",2,,line longer than 1048576 bytes,\"2,xxx"), "{}", &lines[0][..100]);
    assert!(lines[1].contains(",4,,line longer"), "{}", &lines[1][..100]);
    assert!(lines.iter().all(|l| l.len() < 5000), "so much of a row is kept, and no more");
}

#[test]
fn more_rejects_than_the_limit_end_the_reading_with_the_place_and_the_reason() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, "1,a\nx,b\ny,c\n4,d\n").unwrap();
    let mut table = csv_table(&dir, &[&path], IDS, &[]);
    let RowSource::Files { reject_limit, .. } = &mut table.source else { unreachable!() };
    *reject_limit = 1;
    let message = failure(&table);
    assert!(message.contains("2 rows rejected, more than reject_limit = 1; the last is "), "{message}");
    assert!(message.contains("rows.csv, line 3, column id: not an integer"), "{message}");
    assert_eq!(reject_text(&dir).lines().count(), 3);
}

#[test]
fn what_cannot_be_read_is_said_with_its_name() {
    let dir = TempDir::new().unwrap();
    let missing = dir.path().join("missing.csv");
    assert!(failure(&csv_table(&dir, &[&missing], IDS, &[])).contains("missing.csv: No such file"));
    let packed = dir.path().join("packed.csv");
    std::fs::write(&packed, b"\x1f\x8b\x08rest").unwrap();
    assert!(failure(&csv_table(&dir, &[&packed], IDS, &[])).contains("packed.csv is gzip, not text"));
    assert!(failure(&table(&dir, &[&packed], IDS, &[], "xml", None))
        .contains("one of csv, tsv, mysql, ndjson, arrow"));
    assert!(failure(&csv_table(&dir, &[], IDS, &[])).contains("source.paths is empty"));
}
