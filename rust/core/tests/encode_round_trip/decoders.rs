//! A reader of each format: slow and plain on purpose, without any code of the encoders.

use inrush_rows::encode::pgcopy::{numeric_text, PgType};
use inrush_rows::plan::{ColumnPlan, LogicalType, TablePlan};
use inrush_rows::rows::Value;
use inrush_rows::types::hex;

use super::batches::LABELS;

/// A cell of a text format: `None` is NULL.
pub fn parse(cell: Option<&str>, ty: LogicalType, wire: &str) -> Value {
    let Some(text) = cell else { return Value::Null };
    let float = |t: &str| match t {
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ => t.parse().expect("a float"),
    };
    let items = || -> Vec<String> {
        let inner = &text[1..text.len() - 1];
        assert_eq!(&text[..1], if wire.ends_with("[]") { "{" } else { "[" });
        inner.split(',').filter(|t| !t.is_empty()).map(str::to_owned).collect()
    };
    match ty {
        LogicalType::Bool => Value::Bool(text == "1"),
        LogicalType::I16
        | LogicalType::I32
        | LogicalType::I64
        | LogicalType::U8
        | LogicalType::U16
        | LogicalType::U32 => Value::I64(text.parse().expect("an integer")),
        LogicalType::U64 if wire == "int8" => Value::U64(text.parse::<i64>().expect("signed") as u64),
        LogicalType::U64 => Value::U64(text.parse().expect("unsigned")),
        LogicalType::F32 => Value::F64(match text {
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            _ => text.parse::<f32>().expect("a float") as f64,
        }),
        LogicalType::F64 => Value::F64(float(text)),
        LogicalType::TimeMs => Value::TimeMs(parse_time(text, 3)),
        LogicalType::TimeUs => Value::TimeUs(parse_time(text, 6)),
        texts if texts.is_text() => Value::Text(text.to_owned()),
        LogicalType::ListF64 => Value::ListF64(items().iter().map(|t| float(t)).collect()),
        LogicalType::ListI64 => {
            Value::ListI64(items().iter().map(|t| t.parse().expect("an integer")).collect())
        }
        list => json_list(text, list.item().expect("every other type is of lists")),
    }
}

/// By a reader of JSON that knows nothing of lists.
fn json_list(text: &str, item: LogicalType) -> Value {
    let found: Vec<serde_json::Value> = serde_json::from_str(text).expect("a list of JSON");
    let value = |found: &serde_json::Value| match (found, item) {
        (serde_json::Value::Null, _) => Value::Null,
        (serde_json::Value::Bool(v), _) => Value::Bool(*v),
        (serde_json::Value::String(v), _) => Value::Text(v.clone()),
        (number, LogicalType::F32) => Value::F64(number.to_string().parse::<f32>().expect("a float").into()),
        (number, LogicalType::U64) => Value::U64(number.as_u64().expect("unsigned")),
        (number, _) => Value::I64(number.as_i64().expect("an integer")),
    };
    Value::List(found.iter().map(value).collect())
}

/// By counting years and months one by one.
pub fn parse_time(text: &str, places: usize) -> i64 {
    let number = |from: usize, to: usize| text[from..to].parse::<i64>().expect("digits");
    assert_eq!(text.len(), 20 + places);
    for (at, separator) in [(4, "-"), (7, "-"), (10, " "), (13, ":"), (16, ":"), (19, ".")] {
        assert_eq!(&text[at..=at], separator);
    }
    let leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let mut days = day - 1;
    days += (1970..year).map(|y| 365 + i64::from(leap(y))).sum::<i64>();
    days -= (year..1970).map(|y| 365 + i64::from(leap(y))).sum::<i64>();
    let months = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    days += months[..month as usize - 1].iter().sum::<i64>();
    let seconds = days * 86_400 + number(11, 13) * 3600 + number(14, 16) * 60 + number(17, 19);
    seconds * 10i64.pow(places as u32) + number(20, 20 + places)
}

pub fn decode_text(bytes: &[u8], plan: &TablePlan) -> Vec<Vec<Value>> {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'));
    let cell = |raw: &str, c: &ColumnPlan| {
        if raw == "\\N" {
            return Value::Null;
        }
        let mut plain = String::new();
        let mut chars = raw.chars();
        while let Some(ch) = chars.next() {
            match ch {
                '\\' => plain.push(match chars.next().expect("an escape has two") {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                }),
                _ => plain.push(ch),
            }
        }
        parse(Some(&plain), c.ty, &c.wire)
    };
    let row = |line: &str| -> Vec<Value> {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), plan.columns.len());
        cells.iter().zip(&plan.columns).map(|(raw, c)| cell(raw, c)).collect()
    };
    text.split_terminator('\n').map(row).collect()
}

pub fn decode_csv(bytes: &[u8], plan: &TablePlan) -> Vec<Vec<Value>> {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let mut rows = vec![];
    let mut row = vec![];
    let mut chars = text.chars().peekable();
    while chars.peek().is_some() {
        let mut cell = String::new();
        let quoted = chars.next_if_eq(&'"').is_some();
        if quoted {
            loop {
                match chars.next().expect("a quote is closed") {
                    '"' if chars.next_if_eq(&'"').is_some() => cell.push('"'),
                    '"' => break,
                    ch => cell.push(ch),
                }
            }
        } else {
            while let Some(ch) = chars.next_if(|ch| !matches!(ch, ',' | '\n')) {
                assert!(ch != '"' && ch != '\r');
                cell.push(ch);
            }
        }
        let c = &plan.columns[row.len()];
        row.push(parse((quoted || !cell.is_empty()).then_some(&cell), c.ty, &c.wire));
        match chars.next().expect("a line has an end") {
            ',' => {}
            '\n' => rows.push(std::mem::take(&mut row)),
            other => panic!("{other:?} after a cell"),
        }
    }
    assert!(row.is_empty());
    rows
}

pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        taken
    }
    fn i16(&mut self) -> i16 {
        i16::from_be_bytes(self.take(2).try_into().expect("2"))
    }
    fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().expect("4"))
    }
    fn i64(&mut self) -> i64 {
        i64::from_be_bytes(self.take(8).try_into().expect("8"))
    }
}

pub fn decode_pgcopy(bytes: &[u8], plan: &TablePlan) -> Vec<Vec<Value>> {
    let mut bytes = Bytes(bytes);
    assert_eq!(bytes.take(11), b"PGCOPY\n\xff\r\n\0");
    assert_eq!((bytes.i32(), bytes.i32()), (0, 0));
    let mut rows = vec![];
    loop {
        match bytes.i16() {
            -1 => break,
            fields => assert_eq!(fields as usize, plan.columns.len()),
        }
        rows.push(decode_cells(&mut bytes, plan));
    }
    assert!(bytes.0.is_empty());
    rows
}

pub fn decode_cells(bytes: &mut Bytes, plan: &TablePlan) -> Vec<Value> {
    let cell = |c: &ColumnPlan| match bytes.i32() {
        -1 => Value::Null,
        length => decode_binary(Bytes(bytes.take(length as usize)), c),
    };
    plan.columns.iter().map(cell).collect()
}

pub fn decode_binary(mut b: Bytes, c: &ColumnPlan) -> Value {
    const FROM_1970_US: i64 = 10_957 * 86_400 * 1_000_000;
    let integer = |v: i64| match c.ty {
        LogicalType::U64 => Value::U64(v as u64),
        _ => Value::I64(v),
    };
    let value = match PgType::of(c).expect("wires are valid here") {
        PgType::Bool => Value::Bool(b.take(1)[0] == 1),
        PgType::Int2 => integer(b.i16() as i64),
        PgType::Int4 if c.ty == LogicalType::Bool => Value::Bool(b.i32() == 1),
        PgType::Int4 => integer(b.i32() as i64),
        PgType::Int8 => integer(b.i64()),
        PgType::Numeric => {
            let (digits, weight, sign, scale) = (b.i16(), b.i16(), b.i16(), b.i16());
            assert_eq!((weight, scale), (digits - 1, 0));
            let size = (0..digits).fold(0i128, |n, _| n * 10_000 + b.i16() as i128);
            let value = if sign == 0x4000 { -size } else { size };
            match c.ty {
                LogicalType::U64 => Value::U64(value.try_into().expect("64 bits")),
                _ => Value::I64(value.try_into().expect("64 bits")),
            }
        }
        PgType::Float4 => Value::F64(f32::from_bits(b.i32() as u32) as f64),
        PgType::Float8 => Value::F64(f64::from_bits(b.i64() as u64)),
        PgType::Timestamptz if c.ty == LogicalType::TimeMs => Value::TimeMs((b.i64() + FROM_1970_US) / 1000),
        PgType::Timestamptz => Value::TimeUs(b.i64() + FROM_1970_US),
        PgType::Text => Value::Text(String::from_utf8(b.take(b.0.len()).to_vec()).expect("UTF-8")),
        PgType::Spelled(ty) => {
            let mut text = Vec::new();
            (ty.forms().expect("it has forms").postgresql.push)(b.take(b.0.len()), &mut text)
                .expect("a cell");
            Value::Text(String::from_utf8(text).expect("UTF-8"))
        }
        PgType::Bytea => Value::Text(hex::digits(b.take(b.0.len()))),
        PgType::Decimal => Value::Text(numeric_text(b.take(b.0.len())).expect("a decimal")),
        list if !matches!(list, PgType::Float8List | PgType::Int8List) || with_nulls(c) => {
            let (dimensions, _, oid, length, bound) = (b.i32(), b.i32(), b.i32(), b.i32(), b.i32());
            assert_eq!((dimensions, bound), (1, 1));
            let item = c.ty.item().expect("a list");
            let element = ColumnPlan { ty: item, wire: String::new(), gen: None, ..c.clone() };
            assert_eq!(oid as u32, PgType::of(&element).expect("an element").oid());
            let cell = |_| match b.i32() {
                -1 => Value::Null,
                bytes => decode_binary(Bytes(b.take(bytes as usize)), &element),
            };
            Value::List((0..length).map(cell).collect())
        }
        list => {
            let (dimensions, flags, element) = (b.i32(), b.i32(), b.i32());
            assert_eq!((flags, element), (0, if list == PgType::Float8List { 701 } else { 20 }));
            let length = if dimensions == 0 { 0 } else { (b.i32(), assert_eq!(b.i32(), 1)).0 };
            let mut bits = (0..length).map(|_| {
                assert_eq!(b.i32(), 8);
                b.i64()
            });
            match list {
                PgType::Float8List if c.ty == LogicalType::ListI64 => {
                    Value::ListI64(bits.by_ref().map(|v| f64::from_bits(v as u64) as i64).collect())
                }
                PgType::Float8List => {
                    Value::ListF64(bits.by_ref().map(|v| f64::from_bits(v as u64)).collect())
                }
                _ => Value::ListI64(bits.by_ref().collect()),
            }
        }
    };
    assert!(b.0.is_empty(), "a cell is read to its end");
    value
}

/// A list whose type says that there may be a NULL in it.
fn with_nulls(c: &ColumnPlan) -> bool {
    c.ty.is_list() && c.gen.is_some()
}

/// The same table without types of PostgreSQL's.
pub fn usual(plan: &TablePlan) -> TablePlan {
    let mut plan = plan.clone();
    plan.columns.iter_mut().for_each(|c| c.wire.clear());
    plan
}

/// ClickHouse's RowBinary: little-endian, a byte before what may be NULL, lists that may be NULL in a list.
pub fn decode_rowbinary(bytes: &[u8], plan: &TablePlan) -> Vec<Vec<Value>> {
    let mut at = 0;
    let mut rows = vec![];
    while at < bytes.len() {
        rows.push(plan.columns.iter().map(|c| rowbinary_cell(bytes, &mut at, c)).collect());
    }
    rows
}

pub fn rowbinary_cell(bytes: &[u8], at: &mut usize, column: &ColumnPlan) -> Value {
    fn take<const N: usize>(bytes: &[u8], at: &mut usize) -> [u8; N] {
        *at += N;
        bytes[*at - N..*at].try_into().expect("N bytes")
    }
    let length = |at: &mut usize| {
        let (mut length, mut shift) = (0usize, 0);
        loop {
            let [byte] = take(bytes, at);
            length |= usize::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return length;
            }
        }
    };
    let is_list = column.ty.is_list();
    if column.null_ppm > 0 {
        let [mark] = take(bytes, at);
        assert!(mark < 2);
        if (mark == 1) != is_list {
            return Value::Null;
        }
    }
    match column.ty {
        LogicalType::Bool => Value::Bool(take::<1>(bytes, at) == [1]),
        LogicalType::U8 => Value::I64(u8::from_le_bytes(take(bytes, at)).into()),
        LogicalType::U16 => Value::I64(u16::from_le_bytes(take(bytes, at)).into()),
        LogicalType::U32 => Value::I64(u32::from_le_bytes(take(bytes, at)).into()),
        LogicalType::I16 => Value::I64(i16::from_le_bytes(take(bytes, at)).into()),
        LogicalType::I32 => Value::I64(i32::from_le_bytes(take(bytes, at)).into()),
        LogicalType::I64 => Value::I64(i64::from_le_bytes(take(bytes, at))),
        LogicalType::U64 => Value::U64(u64::from_le_bytes(take(bytes, at))),
        LogicalType::F32 => Value::F64(f32::from_le_bytes(take(bytes, at)).into()),
        LogicalType::F64 => Value::F64(f64::from_le_bytes(take(bytes, at))),
        LogicalType::TimeMs => Value::TimeMs(i64::from_le_bytes(take(bytes, at))),
        LogicalType::TimeUs => Value::TimeUs(i64::from_le_bytes(take(bytes, at))),
        LogicalType::Enum => {
            let place = i16::from_le_bytes(take(bytes, at));
            Value::Text(LABELS[place as usize - 1].into())
        }
        LogicalType::Blob => {
            let end = length(at);
            *at += end;
            Value::Text(hex::digits(&bytes[*at - end..*at]))
        }
        text if text.is_text() => {
            let end = length(at);
            *at += end;
            Value::Text(String::from_utf8(bytes[*at - end..*at].to_vec()).expect("UTF-8"))
        }
        LogicalType::ListF64 => {
            Value::ListF64((0..length(at)).map(|_| f64::from_le_bytes(take(bytes, at))).collect())
        }
        LogicalType::ListI64 => {
            Value::ListI64((0..length(at)).map(|_| i64::from_le_bytes(take(bytes, at))).collect())
        }
        list => {
            let item = ColumnPlan {
                ty: list.item().expect("every other type is of lists"),
                null_ppm: 1,
                gen: None,
                ..column.clone()
            };
            Value::List((0..length(at)).map(|_| rowbinary_cell(bytes, at, &item)).collect())
        }
    }
}

pub fn decode_mysql(bytes: &[u8], plan: &TablePlan, rows: usize) -> Vec<Vec<Value>> {
    let mut b = Bytes(bytes);
    let row = |_| plan.columns.iter().map(|c| mysql_cell(&mut b, c.ty)).collect();
    let rows = (0..rows).map(row).collect();
    assert!(b.0.is_empty());
    rows
}

pub fn mysql_cell(b: &mut Bytes, ty: LogicalType) -> Value {
    match b.take(1)[0] {
        0 => {}
        1 => return Value::Null,
        other => panic!("{other} says neither value nor NULL"),
    }
    let mut low = |n: usize| b.take(n).iter().rev().fold(0u64, |v, &byte| v << 8 | byte as u64);
    match ty {
        LogicalType::Bool => Value::Bool(low(1) != 0),
        LogicalType::U8 => Value::I64(low(1) as i64),
        LogicalType::U16 => Value::I64(low(2) as i64),
        LogicalType::U32 => Value::I64(low(4) as i64),
        LogicalType::I16 => Value::I64(low(2) as i16 as i64),
        LogicalType::I32 => Value::I64(low(4) as i32 as i64),
        LogicalType::I64 => Value::I64(low(8) as i64),
        LogicalType::U64 => Value::U64(low(8)),
        LogicalType::F32 => Value::F64(f32::from_bits(low(4) as u32) as f64),
        LogicalType::F64 => Value::F64(f64::from_bits(low(8))),
        LogicalType::TimeMs | LogicalType::TimeUs => {
            assert_eq!(low(1), 11, "times have microseconds");
            let date = format!("{:04}-{:02}-{:02}", low(2), low(1), low(1));
            let clock = format!("{:02}:{:02}:{:02}", low(1), low(1), low(1));
            let mut text = format!("{date} {clock}.{:06}", low(4));
            if ty == LogicalType::TimeMs {
                assert!(text.ends_with("000"), "{text}");
                text.truncate(text.len() - 3);
            }
            parse(Some(&text), ty, "")
        }
        _ => {
            let length = match low(1) {
                0xfc => low(2),
                0xfd => low(3),
                short => short,
            };
            let bytes = b.take(length as usize);
            if ty == LogicalType::Blob {
                return Value::Text(hex::digits(bytes));
            }
            let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
            parse(Some(&text), ty, "")
        }
    }
}
