//! What an encoder writes, a reader of that format reads back exactly: every type, NULL, extremes, odd texts.
//!
//! The decoders below are slow and plain on purpose, and share no code with the encoders.

use inrush_core::encode::pgcopy::{Cells, PgType, RowHead};
use inrush_core::encode::{encoder, parts, KEYED_WIRES, PART_ROWS, WIRES};
use inrush_core::plan::{ColumnPlan, LogicalType, RowSource, TablePlan};
use inrush_core::rows::spelled;
use inrush_core::rows::{Column, Columns, RowGen, Value, Values};
use proptest::prelude::*;

// ---- batches ----

const TYPES: [LogicalType; 14] = [
    LogicalType::Bool,
    LogicalType::I16,
    LogicalType::I32,
    LogicalType::I64,
    LogicalType::U64,
    LogicalType::F32,
    LogicalType::F64,
    LogicalType::TimeMs,
    LogicalType::TimeUs,
    LogicalType::Text,
    LogicalType::ListF64,
    LogicalType::ListI64,
    LogicalType::Date,
    LogicalType::Uuid,
];

/// Years 0001 to 9999, which all wires hold.
const TIME_S: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

fn value_of(ty: LogicalType) -> BoxedStrategy<Value> {
    let time = |per_s: i64| {
        prop_oneof![
            Just(0),
            Just(-1),
            Just(TIME_S.start * per_s),
            Just(TIME_S.end * per_s - 1),
            TIME_S.start * per_s..TIME_S.end * per_s
        ]
    };
    let float =
        prop_oneof![any::<f64>(), Just(f64::NAN), Just(-0.0), (-4096i32..4096).prop_map(|k| k as f64 / 64.0)];
    match ty {
        LogicalType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        LogicalType::I16 => any::<i16>().prop_map(|v| Value::I64(v as i64)).boxed(),
        LogicalType::I32 => {
            prop_oneof![any::<i32>(), Just(i32::MIN), -9..9i32].prop_map(|v| Value::I64(v as i64)).boxed()
        }
        LogicalType::I64 => {
            prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -9..9i64].prop_map(Value::I64).boxed()
        }
        LogicalType::U64 => {
            prop_oneof![any::<u64>(), Just(u64::MAX), Just(1 << 63), 0..9u64].prop_map(Value::U64).boxed()
        }
        LogicalType::F32 => {
            prop_oneof![any::<f32>(), Just(f32::NAN), Just(0.25)].prop_map(|v| Value::F64(v as f64)).boxed()
        }
        LogicalType::F64 => float.prop_map(Value::F64).boxed(),
        LogicalType::TimeMs => time(1_000).prop_map(Value::TimeMs).boxed(),
        LogicalType::TimeUs => time(1_000_000).prop_map(Value::TimeUs).boxed(),
        LogicalType::Text => text().prop_map(Value::Text).boxed(),
        LogicalType::ListF64 => prop::collection::vec(float, 0..4).prop_map(Value::ListF64).boxed(),
        LogicalType::ListI64 => prop::collection::vec(any::<i64>(), 0..4).prop_map(Value::ListI64).boxed(),
        LogicalType::Date => (-719_162i32..2_932_897)
            .prop_map(|days| Value::Text(spelled::date_text(days).expect("years 1 to 9999")))
            .boxed(),
        LogicalType::Uuid => any::<[u8; 16]>().prop_map(|bytes| Value::Text(uuid_text(bytes))).boxed(),
    }
}

fn uuid_text(bytes: [u8; 16]) -> String {
    String::from_utf8(spelled::uuid_text(bytes).to_vec()).expect("digits and hyphens")
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9:.-]{0,30}",
        "[\\t\\n\\r\\\\\",' N.x]{0,12}",
        any::<String>().prop_map(|s| s.replace('\0', "0")),
        prop::sample::select(vec![
            "", "\\N", "\\.", "NULL", "null", "\"", ",", " x ", "\r\n", "é\t✓", "{}", "1e9999"
        ])
        .prop_map(str::to_owned),
    ]
}

/// Columns of eight bytes without NULL side by side, in runs of every length up to twenty.
fn words() -> impl Strategy<Value = (TablePlan, Columns)> {
    let types = prop::sample::select(vec![LogicalType::I64, LogicalType::U64, LogicalType::F64]);
    let column = prop_oneof![9 => types, 1 => Just(LogicalType::I32)];
    (1usize..140, prop::collection::vec((column, any::<u64>()), 1..21)).prop_map(|(rows, columns)| {
        let source = RowSource::Generated { series: 1, period_ns: 1 };
        let mut plan =
            TablePlan { name: "t".into(), stream: "t".into(), columns: vec![], source, identity: vec![] };
        let mut batch = Columns { rows, columns: vec![] };
        for (index, (ty, salt)) in columns.into_iter().enumerate() {
            let name = format!("c{index}");
            plan.columns.push(ColumnPlan {
                name: name.clone(),
                ty,
                wire: String::new(),
                null_ppm: 0,
                gen: None,
            });
            let mut column = Column::new(name, ty);
            for row in 0..rows as u64 {
                let bits = (row ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                match &mut column.values {
                    Values::I32(v) => v.push(bits as i32),
                    Values::F64(v) => v.push(f64::from_bits(bits)),
                    Values::I64(v) => v.push(bits as i64),
                    other => panic!("{other:?}"),
                }
            }
            batch.columns.push(column);
        }
        (plan, batch)
    })
}

/// A table and a batch of it; `rows` crosses the block sizes of the encoders.
fn batch() -> impl Strategy<Value = (TablePlan, Columns)> {
    let rows = prop_oneof![0usize..6, 120usize..140, Just(1030usize)];
    let column = prop::sample::select(&TYPES[..]).prop_flat_map(|ty| {
        let wires: &[&str] = match ty {
            LogicalType::U64 => &["", "int8", "numeric"],
            LogicalType::I64 => &["", "numeric"],
            LogicalType::I32 | LogicalType::I16 => &["", "int4", "int8"],
            LogicalType::F32 => &["", "float8"],
            LogicalType::ListF64 => &["", "float8[]"],
            _ => &[""],
        };
        (
            Just(ty),
            prop::sample::select(wires),
            prop::collection::vec(value_of(ty), 1..6),
            any::<bool>(),
            any::<u64>(),
        )
    });
    (rows, prop::collection::vec(column, 1..7)).prop_map(|(rows, columns)| {
        let mut plan = TablePlan {
            name: "t".into(),
            stream: "t".into(),
            columns: vec![],
            source: RowSource::Generated { series: 1, period_ns: 1 },
            identity: vec![],
        };
        let mut batch = Columns { rows, columns: vec![] };
        for (index, (ty, wire, pool, nullable, salt)) in columns.into_iter().enumerate() {
            let name = format!("c{index}");
            let null_ppm = u32::from(nullable) * 250_000;
            plan.columns.push(ColumnPlan { name: name.clone(), ty, wire: wire.into(), null_ppm, gen: None });
            let mut column = Column::new(name, ty);
            for row in 0..rows as u64 {
                let mix = (row ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
                let here = !(nullable && mix % 4 == 0);
                if nullable {
                    column.present.push(u8::from(here));
                }
                push(&mut column.values, here.then(|| &pool[mix as usize % pool.len()]));
            }
            batch.columns.push(column);
        }
        (plan, batch)
    })
}

fn push(values: &mut Values, value: Option<&Value>) {
    match (values, value) {
        (Values::I32(v), None) => v.push(0),
        (Values::I64(v), None) => v.push(0),
        (Values::F32(v), None) => v.push(0.0),
        (Values::F64(v), None) => v.push(0.0),
        (Values::Text(v), None) => v.push(b""),
        (Values::List(v), None) => v.ends.push(v.ends.last().copied().unwrap_or(0)),
        (Values::I32(v), Some(Value::Bool(x))) => v.push(i32::from(*x)),
        (Values::I32(v), Some(Value::I64(x))) => v.push(*x as i32),
        (Values::I64(v), Some(Value::I64(x) | Value::TimeMs(x) | Value::TimeUs(x))) => v.push(*x),
        (Values::I64(v), Some(Value::U64(x))) => v.push(*x as i64),
        (Values::F32(v), Some(Value::F64(x))) => v.push(*x as f32),
        (Values::F64(v), Some(Value::F64(x))) => v.push(*x),
        (Values::Text(v), Some(Value::Text(x))) => v.push(x.as_bytes()),
        (Values::List(v), Some(list)) => {
            let added = match (&mut *v.items, list) {
                (Values::F64(items), Value::ListF64(x)) => {
                    items.extend(x);
                    x.len()
                }
                (Values::I64(items), Value::ListI64(x)) => {
                    items.extend(x);
                    x.len()
                }
                other => panic!("{other:?}"),
            };
            v.ends.push(v.ends.last().copied().unwrap_or(0) + added as u32);
        }
        other => panic!("{other:?}"),
    }
}

fn same_float(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => same_float(*a, *b),
        (Value::ListF64(a), Value::ListF64(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_float(*a, *b))
        }
        _ => a == b,
    }
}

fn expect_same(batch: &Columns, found: Vec<Vec<Value>>) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), batch.rows);
    for (row, cells) in found.iter().enumerate() {
        prop_assert_eq!(cells.len(), batch.columns.len());
        for (column, cell) in batch.columns.iter().zip(cells) {
            let wanted = column.value(row);
            prop_assert!(same(&wanted, cell), "row {row}: {wanted:?} came back as {cell:?}");
        }
    }
    Ok(())
}

// ---- decoders ----

/// A cell of a text format: `None` is NULL.
fn parse(cell: Option<&str>, ty: LogicalType, wire: &str) -> Value {
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
        LogicalType::I16 | LogicalType::I32 | LogicalType::I64 => {
            Value::I64(text.parse().expect("an integer"))
        }
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
        LogicalType::Text | LogicalType::Date | LogicalType::Uuid => Value::Text(text.to_owned()),
        LogicalType::ListF64 => Value::ListF64(items().iter().map(|t| float(t)).collect()),
        LogicalType::ListI64 => {
            Value::ListI64(items().iter().map(|t| t.parse().expect("an integer")).collect())
        }
    }
}

/// By counting years and months one by one.
fn parse_time(text: &str, places: usize) -> i64 {
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

fn decode_text(bytes: &[u8], plan: &TablePlan) -> Vec<Vec<Value>> {
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

fn decode_csv(bytes: &[u8], plan: &TablePlan) -> Vec<Vec<Value>> {
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

struct Bytes<'a>(&'a [u8]);

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

fn decode_pgcopy(bytes: &[u8], plan: &TablePlan) -> Vec<Vec<Value>> {
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

fn decode_cells(bytes: &mut Bytes, plan: &TablePlan) -> Vec<Value> {
    let cell = |c: &ColumnPlan| match bytes.i32() {
        -1 => Value::Null,
        length => decode_binary(Bytes(bytes.take(length as usize)), c),
    };
    plan.columns.iter().map(cell).collect()
}

fn decode_binary(mut b: Bytes, c: &ColumnPlan) -> Value {
    const FROM_1970_US: i64 = 10_957 * 86_400 * 1_000_000;
    let integer = |v: i64| match c.ty {
        LogicalType::U64 => Value::U64(v as u64),
        _ => Value::I64(v),
    };
    let value = match PgType::of(c).expect("wires are valid here") {
        PgType::Bool => Value::Bool(b.take(1)[0] == 1),
        PgType::Int2 => integer(b.i16() as i64),
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
        PgType::Date => {
            let days = b.i32() + 10_957;
            Value::Text(spelled::date_text(days).expect("years 1 to 9999"))
        }
        PgType::Uuid => Value::Text(uuid_text(b.take(16).try_into().expect("16 bytes"))),
        list => {
            let (dimensions, flags, element) = (b.i32(), b.i32(), b.i32());
            assert_eq!((flags, element), (0, if list == PgType::Float8List { 701 } else { 20 }));
            let length = if dimensions == 0 { 0 } else { (b.i32(), assert_eq!(b.i32(), 1)).0 };
            let mut bits = (0..length).map(|_| {
                assert_eq!(b.i32(), 8);
                b.i64()
            });
            match list {
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

/// The same table without types of PostgreSQL's.
fn usual(plan: &TablePlan) -> TablePlan {
    let mut plan = plan.clone();
    plan.columns.iter_mut().for_each(|c| c.wire.clear());
    plan
}

/// ClickHouse's RowBinary: little-endian, a byte before what may be NULL, lists that may be NULL in a list.
fn decode_rowbinary(bytes: &[u8], plan: &TablePlan) -> Vec<Vec<Value>> {
    let mut at = 0;
    let mut rows = vec![];
    while at < bytes.len() {
        rows.push(plan.columns.iter().map(|c| rowbinary_cell(bytes, &mut at, c)).collect());
    }
    rows
}

fn rowbinary_cell(bytes: &[u8], at: &mut usize, column: &ColumnPlan) -> Value {
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
    let is_list = matches!(column.ty, LogicalType::ListF64 | LogicalType::ListI64);
    if column.null_ppm > 0 {
        let [mark] = take(bytes, at);
        assert!(mark < 2);
        if (mark == 1) != is_list {
            return Value::Null;
        }
    }
    match column.ty {
        LogicalType::Bool => Value::Bool(take::<1>(bytes, at) == [1]),
        LogicalType::I16 => Value::I64(i16::from_le_bytes(take(bytes, at)).into()),
        LogicalType::I32 => Value::I64(i32::from_le_bytes(take(bytes, at)).into()),
        LogicalType::I64 => Value::I64(i64::from_le_bytes(take(bytes, at))),
        LogicalType::U64 => Value::U64(u64::from_le_bytes(take(bytes, at))),
        LogicalType::F32 => Value::F64(f32::from_le_bytes(take(bytes, at)).into()),
        LogicalType::F64 => Value::F64(f64::from_le_bytes(take(bytes, at))),
        LogicalType::TimeMs => Value::TimeMs(i64::from_le_bytes(take(bytes, at))),
        LogicalType::TimeUs => Value::TimeUs(i64::from_le_bytes(take(bytes, at))),
        LogicalType::Text | LogicalType::Date | LogicalType::Uuid => {
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
    }
}

fn decode_mysql(bytes: &[u8], plan: &TablePlan, rows: usize) -> Vec<Vec<Value>> {
    let mut b = Bytes(bytes);
    let row = |_| plan.columns.iter().map(|c| mysql_cell(&mut b, c.ty)).collect();
    let rows = (0..rows).map(row).collect();
    assert!(b.0.is_empty());
    rows
}

fn mysql_cell(b: &mut Bytes, ty: LogicalType) -> Value {
    match b.take(1)[0] {
        0 => {}
        1 => return Value::Null,
        other => panic!("{other} says neither value nor NULL"),
    }
    let mut low = |n: usize| b.take(n).iter().rev().fold(0u64, |v, &byte| v << 8 | byte as u64);
    match ty {
        LogicalType::Bool => Value::Bool(low(1) != 0),
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
            let text = String::from_utf8(b.take(length as usize).to_vec()).expect("UTF-8");
            parse(Some(&text), ty, "")
        }
    }
}

/// MySQL has no NaN and no infinity.
fn finite(mut batch: Columns) -> Columns {
    fn tame(values: &mut Values) {
        match values {
            Values::F32(v) => v.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 1.5),
            Values::F64(v) => v.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 1.5),
            Values::List(list) => tame(&mut list.items),
            _ => {}
        }
    }
    batch.columns.iter_mut().for_each(|column| tame(&mut column.values));
    batch
}

// ---- laws ----

fn encoded(wire: &str, plan: &TablePlan, batch: &Columns) -> Vec<u8> {
    let mut out = Vec::new();
    encoder(wire, plan).expect("wires are valid here").encode(batch, &mut out).expect("every value fits");
    out
}

proptest! {
    #[test]
    fn text_reads_back_exactly((plan, batch) in batch()) {
        expect_same(&batch, decode_text(&encoded("text", &plan, &batch), &plan))?;
    }

    #[test]
    fn csv_reads_back_exactly((plan, batch) in batch()) {
        expect_same(&batch, decode_csv(&encoded("csv", &plan, &batch), &plan))?;
    }

    #[test]
    fn binary_copy_reads_back_exactly((plan, batch) in batch()) {
        expect_same(&batch, decode_pgcopy(&encoded("pgcopy", &plan, &batch), &plan))?;
    }

    #[test]
    fn values_of_mysqls_protocol_read_back_exactly((plan, batch) in batch()) {
        let batch = finite(batch);
        expect_same(&batch, decode_mysql(&encoded("mysql", &plan, &batch), &plan, batch.rows))?;
    }

    #[test]
    fn neighbouring_words_of_a_binary_copy_read_back_exactly((plan, batch) in words()) {
        expect_same(&batch, decode_pgcopy(&encoded("pgcopy", &plan, &batch), &plan))?;
    }

    #[test]
    fn bind_cells_are_the_copy_without_its_counts((plan, batch) in batch(), cut in 0usize..2000) {
        let cut = cut.min(batch.rows);
        let mut cells = Cells::new(&plan, RowHead::Nothing).expect("wires are valid here");
        let mut out = Vec::new();
        cells.append(&batch, 0..cut, &mut out).expect("every value fits");
        cells.append(&batch, cut..batch.rows, &mut out).expect("every value fits");
        let mut bytes = Bytes(&out);
        expect_same(&batch, (0..batch.rows).map(|_| decode_cells(&mut bytes, &plan)).collect())?;
        prop_assert!(bytes.0.is_empty());
    }

    #[test]
    fn row_binary_reads_back_exactly((plan, batch) in batch()) {
        let plan = usual(&plan);
        expect_same(&batch, decode_rowbinary(&encoded("rowbinary", &plan, &batch), &plan))?;
    }

    #[test]
    fn encoding_appends_and_repeats((plan, batch) in batch()) {
        let batch = finite(batch);
        // These tables have no identity: the readers of keyed wires are in line.rs and encode/resp.rs.
        for wire in WIRES.into_iter().filter(|wire| !KEYED_WIRES.contains(wire)) {
            let plan = if matches!(wire, "native" | "rowbinary") { usual(&plan) } else { plan.clone() };
            let once = encoded(wire, &plan, &batch);
            let mut encoder = encoder(wire, &plan).expect("wires are valid here");
            let mut out = b"before".to_vec();
            encoder.encode(&batch, &mut out).expect("every value fits");
            encoder.encode(&batch, &mut out).expect("every value fits");
            prop_assert_eq!(&out, &[b"before".to_vec(), once.clone(), once].concat());
        }
    }
}

#[test]
fn rows_made_and_encoded_in_parts_are_the_bytes_of_the_whole_batch() {
    let column = |name: &str, ty: &str, null_ppm: u32, gen: serde_json::Value| serde_json::json!({"name": name, "type": ty, "wire": "", "null_ppm": null_ppm, "gen": gen});
    let words = serde_json::json!({"kind": "text", "min_bytes": 1, "max_bytes": 20});
    let normal = serde_json::json!({"kind": "normal", "mean": 50.0, "sd": 10.0, "bits": 10});
    let counter = serde_json::json!({"kind": "counter", "start_from": 0, "start_to": 10, "increment": "lognormal",
                                     "median_per_s": 1000, "sigma": 1.2});
    let plan: TablePlan = serde_json::from_value(serde_json::json!({
        "name": "t", "stream": "t", "source": {"kind": "generated", "series": 7, "period_ns": 1_000_000_000u64},
        "columns": [column("key", "text", 0, words), column("at", "time_ms", 0, serde_json::json!({"kind": "time", "period_us": 1_000_000})),
                    column("load", "f64", 100_000, normal), column("n", "u64", 0, counter)],
        "identity": ["key", "at"],
    }))
    .expect("this table is written here and valid");
    let generator = RowGen::new(&plan, 1, 0).expect("this table is written here and valid");
    let mut columns = generator.columns(10_000);
    for wire in WIRES {
        let mut encoder = encoder(wire, &plan).expect("wires are valid here");
        let any = [(0, 5), (1, 5), (5, 5), (3_000, 1), (3_000, 128), (3_000, 1_000), (10_000, PART_ROWS)];
        // A part of Native is a block of its own, so that other parts are other bytes of the same rows.
        let blocks = [(0, PART_ROWS), (1, PART_ROWS), (PART_ROWS, PART_ROWS), (10_000, PART_ROWS)];
        for (rows, part_rows) in if wire == "native" { blocks.to_vec() } else { any.to_vec() } {
            generator.fill(100, rows, &mut columns);
            let whole = encoded(wire, &plan, &columns);
            let mut out = Vec::new();
            for (first, count, part) in parts(rows, part_rows) {
                generator.fill(100 + first as u64, count, &mut columns);
                encoder.encode_part(&columns, part, &mut out).expect("every value fits");
            }
            assert!(out == whole, "{wire}: {rows} rows in parts of {part_rows}");
        }
    }
}

// ---- refusals ----

fn one_column(ty: LogicalType, wire: &str, value: Value) -> (TablePlan, Columns) {
    let column = ColumnPlan { name: "c".into(), ty, wire: wire.into(), null_ppm: 0, gen: None };
    let plan = TablePlan {
        name: "t".into(),
        stream: "t".into(),
        columns: vec![column],
        source: RowSource::Generated { series: 1, period_ns: 1 },
        identity: vec![],
    };
    let mut column = Column::new("c", ty);
    push(&mut column.values, Some(&value));
    (plan, Columns { rows: 1, columns: vec![column] })
}

#[test]
fn a_value_that_its_wire_cannot_hold_is_refused_and_named() {
    let refused = |wire: &str, ty, column_wire, value| {
        let (plan, batch) = one_column(ty, column_wire, value);
        let mut out = Vec::new();
        encoder(wire, &plan)
            .expect("the pair is valid")
            .encode(&batch, &mut out)
            .expect_err("too large")
            .to_string()
    };
    assert_eq!(
        refused("pgcopy", LogicalType::I32, "int2", Value::I64(40_000)),
        "plan: column c: I64(40000) does not fit int2; narrow the generator or choose a wider type"
    );
    for time in [i64::MAX, i64::MIN, 9_224_318_016_000_000] {
        assert!(refused("pgcopy", LogicalType::TimeMs, "", Value::TimeMs(time))
            .contains("does not fit timestamptz"));
    }
    for wire in ["text", "csv"] {
        assert!(
            refused(wire, LogicalType::TimeMs, "", Value::TimeMs(i64::MAX)).contains("the years 0 to 9999")
        );
    }
}

#[test]
fn mysql_has_no_nan_and_no_year_10000() {
    for (ty, value) in [
        (LogicalType::F64, Value::F64(f64::NAN)),
        (LogicalType::F32, Value::F64(f64::INFINITY)),
        (LogicalType::TimeMs, Value::TimeMs(253_402_300_800_000)),
    ] {
        let (plan, batch) = one_column(ty, "", value);
        let refused = encoder("mysql", &plan).expect("valid").encode(&batch, &mut Vec::new());
        assert!(refused.expect_err("none of them").to_string().contains("does not fit"));
    }
}

#[test]
fn a_null_may_stand_on_any_value() {
    let (plan, mut batch) = one_column(LogicalType::TimeMs, "", Value::TimeMs(i64::MAX));
    batch.columns[0].present = vec![0];
    assert_eq!(decode_pgcopy(&encoded("pgcopy", &plan, &batch), &plan), [[Value::Null]]);
}

#[test]
fn a_batch_of_another_table_is_refused() {
    let (plan, _) = one_column(LogicalType::I64, "", Value::I64(1));
    let (_, texts) = one_column(LogicalType::Text, "", Value::Text("1".into()));
    let mut out = Vec::new();
    assert!(encoder("pgcopy", &plan).expect("valid").encode(&texts, &mut out).is_err());
    let short = Columns { rows: 2, ..one_column(LogicalType::I64, "", Value::I64(1)).1 };
    assert!(encoder("pgcopy", &plan).expect("valid").encode(&short, &mut out).is_err());
    let wrong = one_column(LogicalType::I64, "money", Value::I64(1)).0;
    assert!(encoder("pgcopy", &wrong).err().expect("refused").to_string().contains("\"money\""));
    assert!(encoder("carrier-pigeon", &plan)
        .err()
        .expect("refused")
        .to_string()
        .contains("text, csv, pgcopy"));
}
