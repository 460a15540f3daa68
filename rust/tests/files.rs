//! Files as a source of rows: what was written is what is read, and what is no row is said to be none.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Int16Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMillisecondArray, UInt64Array,
};
use arrow_ipc::writer::StreamWriter;
use inrush_core::plan::{ColumnPlan, LogicalType, RowSource, TablePlan, TimeForm};
use inrush_core::rows::files::{FileFeed, FileRows, Position};
use inrush_core::rows::{Columns, Value};
use inrush_core::Error;
use proptest::prelude::*;
use tempfile::TempDir;

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
    assert_eq!(read.end, Position { file: 1, offset: 0, line: 1, stored: 3, ..Position::default() });
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
    ];
    for (form, expected) in cases {
        let mut table = csv_table(&dir, &[&path], &columns, &[]);
        let RowSource::Files { times, .. } = &mut table.source else { unreachable!() };
        times.extend(form.map(|form| ("at".to_string(), form)));
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
    assert!(
        failure(&table(&dir, &[&packed], IDS, &[], "xml", None)).contains("one of csv, tsv, mysql, arrow")
    );
    assert!(failure(&csv_table(&dir, &[], IDS, &[])).contains("source.paths is empty"));
}

// Arrow streams.

#[test]
fn arrow_streams_give_their_values_and_reject_nulls_where_none_may_be() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.arrows");
    write_arrow(&path);
    let columns = [
        ("id", LogicalType::I64),
        ("small", LogicalType::I16),
        ("guid", LogicalType::U64),
        ("ok", LogicalType::Bool),
        ("at", LogicalType::TimeMs),
        ("name", LogicalType::Text),
        ("floats", LogicalType::ListF64),
    ];
    let plan = table(&dir, &[&path], &columns, &["small"], "arrow", None);
    for batch_rows in [1, 2, 3, 100] {
        let read = read_all(&plan, batch_rows);
        let rows: Vec<Vec<Value>> = [0i64, 1, 3, 4, 5, 7].into_iter().map(arrow_row).collect();
        assert_eq!(read.rows, rows, "in batches of {batch_rows}");
        assert_eq!((read.end.stored, read.end.rejected), (6, 2));
        let reasons: Vec<&str> =
            read.rejects.lines().skip(1).map(|l| l.split(".arrows,").nth(1).unwrap()).collect();
        assert_eq!(reasons, ["3,small,null in a required column,", "7,small,null in a required column,"]);
    }
    let mut rows = FileRows::open(&plan).unwrap();
    let mut batch = rows.columns();
    rows.next_batch(4, &mut batch).unwrap();
    let stopped = rows.position();
    let mut again = FileRows::open(&plan).unwrap();
    again.seek(&stopped).unwrap();
    assert_eq!(again.next_batch(100, &mut batch).unwrap(), 2);
    assert_eq!(values(&batch), [arrow_row(5), arrow_row(7)]);

    let wrong = table(&dir, &[&path], &[("id", LogicalType::I32)], &[], "arrow", None);
    assert!(failure(&wrong).contains("column `id` is Int64, not i32"));
}

/// Rows 2 and 6 have no `small`; row 4 has nothing but its id and `small`.
fn arrow_row(id: i64) -> Vec<Value> {
    let mut row = vec![
        Value::I64(id),
        Value::I64(-id),
        Value::U64(u64::MAX - id as u64),
        Value::Bool(id % 2 == 1),
        Value::TimeMs(1_000 + id),
        Value::Text(format!("n{id}")),
        Value::ListF64(vec![0.5; id as usize]),
    ];
    if id == 4 {
        row[2..].fill(Value::Null);
    }
    row
}

fn write_arrow(path: &Path) {
    let ids: Vec<i64> = (0..8).collect();
    let known = |id: &i64| *id != 4;
    let arrays: Vec<(&str, ArrayRef)> = vec![
        ("name", Arc::new(ids.iter().map(|n| known(n).then(|| format!("n{n}"))).collect::<StringArray>())),
        ("small", Arc::new(ids.iter().map(|n| (n % 4 != 2).then_some(-*n as i16)).collect::<Int16Array>())),
        ("id", Arc::new(Int64Array::from(ids.clone()))),
        (
            "guid",
            Arc::new(ids.iter().map(|n| known(n).then_some(u64::MAX - *n as u64)).collect::<UInt64Array>()),
        ),
        ("ok", Arc::new(ids.iter().map(|n| known(n).then_some(n % 2 == 1)).collect::<BooleanArray>())),
        (
            "at",
            Arc::new(ids.iter().map(|n| known(n).then_some(1000 + n)).collect::<TimestampMillisecondArray>()),
        ),
        (
            "floats",
            Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(
                ids.iter().map(|n| known(n).then(|| vec![Some(0.5); *n as usize])),
            )),
        ),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(arrays.into_iter().map(|(n, a)| (n, a, true))).unwrap();
    let mut writer = StreamWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch.slice(0, 5)).unwrap();
    writer.write(&batch.slice(5, 0)).unwrap();
    writer.write(&batch.slice(5, 3)).unwrap();
    writer.finish().unwrap();
}

// Sharing among sessions.

#[test]
fn sessions_take_every_batch_once_whatever_their_number() {
    let dir = TempDir::new().unwrap();
    let path = numbered(&dir, 10_000);
    let plan = csv_table(&dir, &[&path], IDS, &[]);
    for sessions in [1, 3, 8] {
        let feed = feed(&plan, 64, sessions);
        let next = AtomicU64::new(0);
        let taken: Vec<(u64, i64)> = std::thread::scope(|scope| {
            let work = || {
                let mut columns = FileRows::open(&plan).unwrap().columns();
                let mut taken = Vec::new();
                loop {
                    let ticket = next.fetch_add(1, Ordering::Relaxed);
                    let Some(batch) = feed.take(ticket, &mut columns).unwrap() else { return taken };
                    assert_eq!(batch.proof, columns.rows as u64);
                    assert_eq!(columns.columns[0].value(0), Value::I64(ticket as i64 * 64), "its own rows");
                    assert_eq!(batch.after.stored, ticket * 64 + batch.proof);
                    taken.extend(values(&columns).iter().map(|r| (ticket, id_of(&r[0]))));
                }
            };
            let handles: Vec<_> = (0..sessions).map(|_| scope.spawn(work)).collect();
            handles.into_iter().flat_map(|h| h.join().unwrap()).collect()
        });
        let mut ids: Vec<i64> = taken.iter().map(|(_, id)| *id).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..10_000), "{sessions} sessions");
        let summary = feed.summary().unwrap();
        assert_eq!((summary.batches, summary.end.stored), (157, 10_000));
    }
}

#[test]
fn a_feed_reads_no_further_ahead_than_its_ring() {
    let dir = TempDir::new().unwrap();
    let path = numbered(&dir, 1000);
    let plan = csv_table(&dir, &[&path], IDS, &[]);
    let read = Arc::new(AtomicU64::new(0));
    let seen = read.clone();
    let rows = FileRows::open(&plan).unwrap();
    let mut columns = rows.columns();
    let feed = FileFeed::start(rows, 10, 4, move |_| seen.fetch_add(1, Ordering::SeqCst)).unwrap();
    for ticket in 0..50 {
        feed.take(ticket, &mut columns).unwrap().unwrap();
        assert!(read.load(Ordering::SeqCst) <= ticket + 1 + 4, "after ticket {ticket}");
    }
    feed.stop();
    assert!(feed.take(1000, &mut columns).unwrap().is_none(), "a stopped feed ends");
}

#[test]
fn a_failure_while_reading_reaches_a_session_and_ends_the_others() {
    let dir = TempDir::new().unwrap();
    let path = numbered(&dir, 100);
    let missing = dir.path().join("missing.csv");
    let plan = csv_table(&dir, &[&path, &missing], IDS, &[]);
    let feed = feed(&plan, 10, 3);
    let mut columns = FileRows::open(&plan).unwrap().columns();
    let mut taken = 0;
    let failure = loop {
        match feed.take(taken, &mut columns) {
            Ok(Some(_)) => taken += 1,
            Ok(None) => panic!("the failure comes first"),
            Err(e) => break e.to_string(),
        }
    };
    assert!(failure.contains("missing.csv"), "{failure}");
    assert_eq!(taken, 10, "all rows before it were handed out: the batch that met it is not");
    assert!(feed.take(taken + 1, &mut columns).unwrap().is_none());
}

fn feed(plan: &TablePlan, batch_rows: usize, ring: usize) -> FileFeed<u64> {
    FileFeed::start(FileRows::open(plan).unwrap(), batch_rows, ring, |c| c.rows as u64).unwrap()
}

fn numbered(dir: &TempDir, rows: usize) -> std::path::PathBuf {
    let path = dir.path().join("numbered.csv");
    let text: String = (0..rows).map(|k| format!("{k},name {k}\n")).collect();
    std::fs::write(&path, text).unwrap();
    path
}

fn id_of(value: &Value) -> i64 {
    match value {
        Value::I64(id) => *id,
        other => panic!("{other:?} is no id"),
    }
}

// Tables, and reading them whole.

const IDS: &[(&str, LogicalType)] = &[("id", LogicalType::I64), ("name", LogicalType::Text)];

const MIXED: &[(&str, LogicalType)] = &[
    ("id", LogicalType::I64),
    ("small", LogicalType::I16),
    ("int", LogicalType::I32),
    ("guid", LogicalType::U64),
    ("f", LogicalType::F32),
    ("d", LogicalType::F64),
    ("at", LogicalType::TimeMs),
    ("ok", LogicalType::Bool),
    ("name", LogicalType::Text),
    ("list", LogicalType::ListF64),
];

/// All of a good row of `MIXED` but its id.
const GOOD: &str =
    "-32768,7,18446744073709551615,0.5,0.25,2026-01-01T00:00:00.123Z,true,\"a \"\"b\"\", c\",\"[1,2.5]\"";

fn good_values() -> [Value; 9] {
    [
        Value::I64(-32768),
        Value::I64(7),
        Value::U64(u64::MAX),
        Value::F64(0.5),
        Value::F64(0.25),
        Value::TimeMs(1_767_225_600_123),
        Value::Bool(true),
        Value::Text("a \"b\", c".into()),
        Value::ListF64(vec![1.0, 2.5]),
    ]
}

/// Column and reason of each kind of `malformed`.
const MALFORMED: [(&str, &str); 22] = [
    ("", "too few fields: 3 of 10"),
    ("", "too many fields: 11 for 10"),
    ("", "unbalanced quote"),
    ("", "text after a closing quote"),
    ("", "quote inside an unquoted field"),
    ("id", "not an integer"),
    ("id", "out of range of i64"),
    ("small", "out of range of i16"),
    ("int", "out of range of i32"),
    ("guid", "out of range of u64"),
    ("f", "out of range of f32"),
    ("d", "not a number"),
    ("at", "not a time"),
    ("at", "not a time"),
    ("at", "time finer than the column"),
    ("ok", "not a truth value"),
    ("list", "not a list of numbers"),
    ("name", "not UTF-8"),
    ("name", "NUL byte in a text"),
    ("name", "null in a required column"),
    ("", "line longer than 60000 bytes"),
    ("", "too few fields: 1 of 10"),
];

/// A row that is wrong in one way, with its line end.
fn malformed(kind: usize, id: i64) -> Vec<u8> {
    let row = format!("{id},{GOOD}\n");
    let quoted = "\"a \"\"b\"\", c\"";
    let with = |from: &str, to: &str| row.replacen(from, to, 1).into_bytes();
    match kind {
        0 => b"1,2,3\n".to_vec(),
        1 => with("\n", ",more\n"),
        2 => with(quoted, "\"open"),
        3 => with(quoted, "\"a\"b"),
        4 => with(quoted, " \"pipe\""),
        5 => with(&format!("{id},"), "12x,"),
        6 => with(&format!("{id},"), "9223372036854775808,"),
        7 => with("-32768", "-32769"),
        8 => with(",7,", ",2147483648,"),
        9 => with("18446744073709551615", "-1"),
        10 => with(",0.5,", ",1e39,"),
        11 => with(",0.25,", ",0.2.5,"),
        12 => with("2026-01-01", "2026-13-01"),
        13 => with("2026-01-01", "2026-02-30"),
        14 => with(".123Z", ".1234Z"),
        15 => with("true", "maybe"),
        16 => with("[1,2.5]", "[1,two]"),
        17 => [row.split(quoted).next().unwrap().as_bytes(), b"\xff\xfe,\"[]\"\n"].concat(),
        18 => with(quoted, "a\0b"),
        19 => with(quoted, ""),
        20 => with(quoted, &"x".repeat(60_000)),
        21 => b"\n".to_vec(),
        _ => unreachable!("there are 22 kinds"),
    }
}

struct Read {
    rows: Vec<Vec<Value>>,
    end: Position,
    rejects: String,
}

fn read_all(table: &TablePlan, batch_rows: usize) -> Read {
    let RowSource::Files { reject_path, .. } = &table.source else { unreachable!() };
    let _ = std::fs::remove_file(reject_path);
    let mut rows = FileRows::open(table).unwrap();
    let mut read = Read { rows: Vec::new(), end: Position::default(), rejects: String::new() };
    drain_into(&mut rows, batch_rows, &mut read);
    read.rejects = std::fs::read_to_string(reject_path).unwrap_or_default();
    read
}

fn drain(rows: &mut FileRows, batch_rows: usize, dir: &TempDir) -> Read {
    let mut read = Read { rows: Vec::new(), end: Position::default(), rejects: String::new() };
    drain_into(rows, batch_rows, &mut read);
    read.rejects = reject_text(dir);
    read
}

fn drain_into(rows: &mut FileRows, batch_rows: usize, read: &mut Read) {
    let mut columns = rows.columns();
    loop {
        let n = rows.next_batch(batch_rows, &mut columns).unwrap();
        assert!(n <= batch_rows);
        if n == 0 {
            break;
        }
        read.rows.extend(values(&columns));
    }
    read.end = rows.position();
    assert_eq!(read.end.stored, read.rows.len() as u64);
}

fn values(columns: &Columns) -> Vec<Vec<Value>> {
    (0..columns.rows).map(|r| columns.columns.iter().map(|c| c.value(r)).collect()).collect()
}

fn failure(table: &TablePlan) -> String {
    let read = FileRows::open(table).and_then(|mut rows| {
        let mut columns = rows.columns();
        while rows.next_batch(10, &mut columns)? > 0 {}
        Ok(())
    });
    read.unwrap_err().to_string()
}

fn reject_text(dir: &TempDir) -> String {
    std::fs::read_to_string(dir.path().join("rejects.csv")).unwrap_or_default()
}

/// The first four fields of a line of the reject file; `None` for its heading and for the further
/// lines of a text.
fn without_text(line: &str) -> Option<String> {
    let fields: Vec<&str> = line.splitn(5, ',').collect();
    (fields.len() == 5 && fields[0].starts_with('/')).then(|| fields[..4].join(","))
}

fn csv_table(
    dir: &TempDir,
    paths: &[&Path],
    columns: &[(&str, LogicalType)],
    required: &[&str],
) -> TablePlan {
    table(dir, paths, columns, required, "csv", None)
}

fn table(
    dir: &TempDir,
    paths: &[&Path],
    columns: &[(&str, LogicalType)],
    required: &[&str],
    format: &str,
    null: Option<&str>,
) -> TablePlan {
    let column = |(name, ty): &(&str, LogicalType)| ColumnPlan {
        name: name.to_string(),
        ty: *ty,
        wire: String::new(),
        null_ppm: 0,
        gen: None,
    };
    TablePlan {
        name: "t".into(),
        stream: "t".into(),
        columns: columns.iter().map(column).collect(),
        source: RowSource::Files {
            paths: paths.iter().map(|p| p.display().to_string()).collect(),
            format: format.into(),
            delimiter: None,
            header: false,
            null: null.map(str::to_string),
            reject_path: dir.path().join("rejects.csv").display().to_string(),
            reject_limit: 1_000_000,
            required: required.iter().map(|c| c.to_string()).collect(),
            limits: Default::default(),
            times: Default::default(),
            bytes: Vec::new(),
        },
        identity: vec!["id".into()],
    }
}

fn with_header(mut table: TablePlan) -> TablePlan {
    let RowSource::Files { header, .. } = &mut table.source else { unreachable!() };
    *header = true;
    table
}

// Random rows, and their text in every format.

fn all_types() -> &'static [(&'static str, LogicalType)] {
    &[
        ("id", LogicalType::I64),
        ("bool", LogicalType::Bool),
        ("i16", LogicalType::I16),
        ("i32", LogicalType::I32),
        ("u64", LogicalType::U64),
        ("f32", LogicalType::F32),
        ("f64", LogicalType::F64),
        ("ms", LogicalType::TimeMs),
        ("us", LogicalType::TimeUs),
        ("text", LogicalType::Text),
        ("floats", LogicalType::ListF64),
        ("ints", LogicalType::ListI64),
    ]
}

const YEAR_1_MS: i64 = -62_135_596_800_000;
const YEAR_9999_MS: i64 = 253_402_300_799_999;

fn a_row() -> impl Strategy<Value = Vec<Value>> {
    let float = any::<f64>().prop_filter("NaN equals nothing", |f| !f.is_nan());
    let single = any::<f32>().prop_filter("NaN equals nothing", |f| !f.is_nan());
    let text = prop_oneof![
        any::<String>().prop_map(|t| t.replace('\0', "0")),
        "[a-z,;|\"\\\\\t\r\n ]{0,12}",
        Just("\\N".to_string()),
        Just("NA".to_string()),
        Just(String::new()),
    ];
    (
        any::<i64>(),
        or_null(any::<bool>().prop_map(Value::Bool)),
        or_null(any::<i16>().prop_map(|n| Value::I64(n.into()))),
        or_null(any::<i32>().prop_map(|n| Value::I64(n.into()))),
        or_null(any::<u64>().prop_map(Value::U64)),
        or_null(single.prop_map(|f| Value::F64(f.into()))),
        or_null(float.clone().prop_map(Value::F64)),
        or_null((YEAR_1_MS..=YEAR_9999_MS).prop_map(Value::TimeMs)),
        or_null((YEAR_1_MS * 1000..=YEAR_9999_MS * 1000).prop_map(Value::TimeUs)),
        or_null(text.prop_map(Value::Text)),
        or_null(prop::collection::vec(float, 0..4).prop_map(Value::ListF64)),
        or_null(prop::collection::vec(any::<i64>(), 0..4).prop_map(Value::ListI64)),
    )
        .prop_map(|(id, b, i16_, i32_, u, f, d, ms, us, text, floats, ints)| {
            vec![Value::I64(id), b, i16_, i32_, u, f, d, ms, us, text, floats, ints]
        })
}

fn or_null(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop_oneof![4 => value, 1 => Just(Value::Null)]
}

#[derive(Debug, Clone)]
struct Style {
    format: &'static str,
    delimiter: u8,
    crlf: bool,
    header: bool,
    null: Option<&'static str>,
    quote_all: bool,
    iso_times: bool,
    final_line_end: bool,
}

fn a_style() -> impl Strategy<Value = Style> {
    (
        prop::sample::select(&["csv", "tsv", "mysql"][..]),
        prop::sample::select(&b",;|\t"[..]),
        any::<(bool, bool, bool, bool, bool)>(),
        prop::sample::select(&[None, Some("NA"), Some("\\N")][..]),
    )
        .prop_map(|(format, delimiter, (crlf, header, quote_all, iso_times, final_line_end), null)| {
            Style {
                format,
                delimiter,
                crlf: crlf && format == "csv",
                header,
                null: if format == "csv" { null } else { None },
                quote_all,
                iso_times,
                final_line_end,
            }
        })
}

impl Style {
    fn table(
        &self,
        dir: &TempDir,
        paths: &[&Path],
        columns: &[(&str, LogicalType)],
        required: &[&str],
    ) -> TablePlan {
        let mut plan = table(dir, paths, columns, required, self.format, self.null);
        let RowSource::Files { delimiter, header, .. } = &mut plan.source else { unreachable!() };
        *delimiter = Some((self.delimiter as char).to_string());
        *header = self.header;
        plan
    }

    fn null_text(&self) -> &'static str {
        self.null.unwrap_or(if self.format == "csv" { "" } else { "\\N" })
    }

    fn field(&self, value: &Value) -> String {
        let text = match value {
            Value::Null => return self.null_text().into(),
            Value::Text(text) => text.clone(),
            other => plain(other, self.iso_times),
        };
        if self.format == "csv" {
            let special =
                text.contains([self.delimiter as char, '"', '\n', '\r']) || text == self.null_text();
            return if special || self.quote_all {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text
            };
        }
        let mut escaped = String::new();
        for c in text.chars() {
            match c {
                '\\' => escaped += "\\\\",
                '\n' if self.quote_all => escaped += "\\\n",
                '\n' => escaped += "\\n",
                '\r' => escaped += "\\r",
                '\t' => escaped += "\\t",
                '\u{8}' => escaped += "\\b",
                c if c as u32 == u32::from(self.delimiter) => escaped.extend(['\\', c]),
                c => escaped.push(c),
            }
        }
        escaped
    }
}

fn written(rows: &[Vec<Value>], style: &Style) -> Vec<u8> {
    let end = if style.crlf { "\r\n" } else { "\n" };
    let delimiter = (style.delimiter as char).to_string();
    let mut text = String::new();
    if style.header {
        let names: Vec<&str> = all_types().iter().map(|(name, _)| *name).collect();
        text += &(names.join(&delimiter) + end);
    }
    for row in rows {
        let fields: Vec<String> = row.iter().map(|v| style.field(v)).collect();
        text += &(fields.join(&delimiter) + end);
    }
    if !style.final_line_end && rows.len() > 1 {
        text.truncate(text.len() - end.len());
    }
    text.into_bytes()
}

fn plain(value: &Value, iso_times: bool) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    match value {
        Value::Bool(b) => b.to_string(),
        Value::I64(n) => n.to_string(),
        Value::U64(n) => n.to_string(),
        Value::F64(f) => f.to_string(),
        Value::TimeMs(t) if iso_times => iso(*t, 1000, 3),
        Value::TimeUs(t) if iso_times => iso(*t, 1_000_000, 6),
        Value::TimeMs(t) | Value::TimeUs(t) => t.to_string(),
        Value::ListF64(items) => list(items.iter().map(f64::to_string).collect()),
        Value::ListI64(items) => list(items.iter().map(i64::to_string).collect()),
        Value::Null | Value::Text(_) => unreachable!("written by the format"),
    }
}

/// By counting days year by year: slow, and not the reader's way.
fn iso(t: i64, per_second: i64, digits: usize) -> String {
    let (seconds, fraction) = (t.div_euclid(per_second), t.rem_euclid(per_second));
    let (mut days, second) = (seconds.div_euclid(86_400) + 719_162, seconds.rem_euclid(86_400));
    let leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let mut year = 1;
    while days >= 365 + i64::from(leap(year)) {
        days -= 365 + i64::from(leap(year));
        year += 1;
    }
    let months = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    format!(
        "{year:04}-{:02}-{:02} {:02}:{:02}:{:02}.{fraction:0digits$}",
        month + 1,
        days + 1,
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}
