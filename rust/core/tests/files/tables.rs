//! Tables of files, good and malformed rows of them, and reading them whole.

use std::path::Path;

use inrush_rows::plan::{ColumnPlan, LogicalType, RowSource, TablePlan, WrittenAs};
use inrush_rows::rows::files::{FileRows, Position};
use inrush_rows::rows::{Columns, Value};
use tempfile::TempDir;

pub const IDS: &[(&str, LogicalType)] = &[("id", LogicalType::I64), ("name", LogicalType::Text)];

pub const MIXED: &[(&str, LogicalType)] = &[
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
pub const GOOD: &str =
    "-32768,7,18446744073709551615,0.5,0.25,2026-01-01T00:00:00.123Z,true,\"a \"\"b\"\", c\",\"[1,2.5]\"";

pub fn good_values() -> [Value; 9] {
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
pub const MALFORMED: [(&str, &str); 22] = [
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
pub fn malformed(kind: usize, id: i64) -> Vec<u8> {
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

pub struct Read {
    pub rows: Vec<Vec<Value>>,
    pub end: Position,
    pub rejects: String,
}

pub fn read_all(table: &TablePlan, batch_rows: usize) -> Read {
    let RowSource::Files { reject_path, .. } = &table.source else { unreachable!() };
    let _ = std::fs::remove_file(reject_path);
    let mut rows = FileRows::open(table).unwrap();
    let mut read = Read { rows: Vec::new(), end: Position::default(), rejects: String::new() };
    drain_into(&mut rows, batch_rows, &mut read);
    read.rejects = std::fs::read_to_string(reject_path).unwrap_or_default();
    read
}

pub fn drain(rows: &mut FileRows, batch_rows: usize, dir: &TempDir) -> Read {
    let mut read = Read { rows: Vec::new(), end: Position::default(), rejects: String::new() };
    drain_into(rows, batch_rows, &mut read);
    read.rejects = reject_text(dir);
    read
}

pub fn drain_into(rows: &mut FileRows, batch_rows: usize, read: &mut Read) {
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

pub fn values(columns: &Columns) -> Vec<Vec<Value>> {
    (0..columns.rows).map(|r| columns.columns.iter().map(|c| c.value(r)).collect()).collect()
}

pub fn failure(table: &TablePlan) -> String {
    let read = FileRows::open(table).and_then(|mut rows| {
        let mut columns = rows.columns();
        while rows.next_batch(10, &mut columns)? > 0 {}
        Ok(())
    });
    read.unwrap_err().to_string()
}

/// Rows stand there byte by byte, whatever their encoding.
pub fn reject_text(dir: &TempDir) -> String {
    let bytes = std::fs::read(dir.path().join("rejects.csv")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first four fields of a line of the reject file; `None` for its heading and for the further
/// lines of a text.
pub fn without_text(line: &str) -> Option<String> {
    let fields: Vec<&str> = line.splitn(5, ',').collect();
    (fields.len() == 5 && fields[0].starts_with('/')).then(|| fields[..4].join(","))
}

pub fn csv_table(
    dir: &TempDir,
    paths: &[&Path],
    columns: &[(&str, LogicalType)],
    required: &[&str],
) -> TablePlan {
    table(dir, paths, columns, required, "csv", None)
}

pub fn table(
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
        not_finite: None,
        gen: None,
    };
    TablePlan {
        name: "t".into(),
        stream: "t".into(),
        columns: columns.iter().map(column).collect(),
        source: RowSource::Files {
            paths: paths.iter().map(|p| p.display().to_string()).collect(),
            format: format.into(),
            header: false,
            written: WrittenAs { null: null.map(str::to_string), ..WrittenAs::default() },
            reject_path: dir.path().join("rejects.csv").display().to_string(),
            reject_limit: 1_000_000,
            required: required.iter().map(|c| c.to_string()).collect(),
            limits: Default::default(),
            times: Default::default(),
            zone: Vec::new(),
            bytes: Vec::new(),
        },
        identity: vec!["id".into()],
    }
}

pub fn with_header(mut table: TablePlan) -> TablePlan {
    let RowSource::Files { header, .. } = &mut table.source else { unreachable!() };
    *header = true;
    table
}
