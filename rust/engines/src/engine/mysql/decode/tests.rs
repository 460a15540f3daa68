use super::messages::Head;
use super::*;

fn of(ty: u8, unsigned: bool) -> AnswerColumn {
    AnswerColumn { name: "c".into(), ty, unsigned, scaled: false, is_fixed: true }
}

#[test]
fn an_ok_packet_is_read() {
    let found = okay(b"\x00\xfc\x10\x27\x00\x0a\x00\x02\x00").unwrap();
    assert_eq!(found, Okay { affected: 10_000, warnings: 2, more: true, cursor: false, last_fetched: false });
    assert_eq!(okay(b"\xff"), None);
    assert_eq!(okay(b"\x00\x01"), None);
}

#[test]
fn a_column_definition_is_read() {
    let packet = b"\x03def\0\x01t\x01t\x01n\x01n\x0c\x3f\0\x14\0\0\0\x08\x20\0\0\0\0";
    assert_eq!(
        column(packet).unwrap(),
        AnswerColumn { name: "n".into(), ty: LONGLONG, unsigned: true, scaled: false, is_fixed: true }
    );
}

#[test]
fn a_binary_row_of_every_kind_is_read() {
    let columns =
        [of(LONGLONG, true), of(TINY, false), of(NEWDECIMAL, false), of(DATETIME, false), of(253, false)];
    let row = b"\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x0312.\x04\xea\x07\x01\x01\x02hi";
    let read = |row: &[u8]| {
        let mut values = Vec::new();
        binary_row(row, &columns, &mut values).map(|()| values)
    };
    let values = read(row).unwrap();
    let expected = [
        Value::U64(u64::MAX),
        Value::I64(-1),
        Value::F64(12.0),
        Value::TimeUs(1_767_225_600_000_000),
        Value::Text("hi".into()),
    ];
    assert_eq!(values, expected);
    assert_eq!(read(b"\x00\x7c").unwrap(), [const { Value::Null }; 5]);
    assert_eq!(read(&row[..row.len() - 1]), None);
}

#[test]
fn a_text_row_of_every_kind_is_what_the_binary_one_is() {
    let (columns, types): (Vec<_>, Vec<_>) = [
        (of(LONGLONG, true), LogicalType::U64),
        (of(TINY, false), LogicalType::I16),
        (of(DOUBLE, false), LogicalType::F64),
        (of(DATETIME, false), LogicalType::TimeMs),
        (of(253, false), LogicalType::Text),
        (of(BIT, true), LogicalType::Bit),
        (of(253, false), LogicalType::Text),
    ]
    .into_iter()
    .unzip();
    let mut batch = Columns::new(0, types.iter().map(|ty| Column::new("c", *ty)).collect());
    let row = b"\x1418446744073709551615\x02-1\x051e-07\x172026-01-01 00:00:00.007\x02hi\x02\x0f\xfe\xfb";
    push_text_row(row, &columns, &mut batch).expect("a row");
    let found: Vec<Value> = batch.columns.iter().map(|c| c.value(0)).collect();
    let expected = [
        Value::U64(u64::MAX),
        Value::I64(-1),
        Value::F64(1e-7),
        Value::TimeMs(1_767_225_600_007),
        Value::Text("hi".into()),
        Value::U64(0xffe),
        Value::Null,
    ];
    assert_eq!(found, expected);
    for cut in 1..row.len() {
        let mut batch = Columns::new(0, types.iter().map(|ty| Column::new("c", *ty)).collect());
        assert!(push_text_row(&row[..cut], &columns, &mut batch).is_err(), "cut at {cut}");
    }
}

#[test]
fn written_times_are_microseconds() {
    assert_eq!(written_us(b"1970-01-02"), Some(86_400_000_000));
    assert_eq!(written_us(b"1970-01-01 00:00:01"), Some(1_000_000));
    assert_eq!(written_us(b"1969-12-31 23:59:59.5"), Some(-500_000));
    assert_eq!(written_us(b"1970-01-01 00:00:00.000001"), Some(1));
    for wrong in [
        "0000-00-00 00:00:00",
        "1970-01-01 00:00",
        "1970-01-01 00:00:00.",
        "1970-01-01 00:00:00.1234567",
        "1970-01-01 00:00:00.99999999999999999999",
        "x",
    ] {
        assert_eq!(written_us(wrong.as_bytes()), None, "{wrong}");
    }
}

#[test]
fn numbers_beyond_64_bits_stay_exact_text() {
    assert_eq!(text_value("42", NEWDECIMAL), Value::I64(42));
    assert_eq!(text_value("18446744073709551615", NEWDECIMAL), Value::U64(u64::MAX));
    assert_eq!(text_value("18446744073709551616", NEWDECIMAL), Value::Text("18446744073709551616".into()));
    assert_eq!(text_value("0.5000", NEWDECIMAL), Value::F64(0.5));
    assert_eq!(text_value("2026-01-01", DATE), Value::Text("2026-01-01".into()));
}

#[test]
fn what_was_not_stored_is_refused_and_not_rounded() {
    let push = |ty, cell| push_cell(&mut Column::new("c", ty), &cell);
    assert_eq!(push(LogicalType::TimeMs, Cell::Time(1_001)), None);
    assert_eq!(push(LogicalType::TimeMs, Cell::Time(1_000)), Some(()));
    assert_eq!(push(LogicalType::U64, Cell::Signed(-1)), None);
    assert_eq!(push(LogicalType::I64, Cell::Unsigned(1 << 63)), None);
    assert_eq!(push(LogicalType::F32, Cell::F64(0.5)), None, "a column of another width");
    assert_eq!(push(LogicalType::ListF64, Cell::Text(b"[0.5, 1e3]")), Some(()));
    assert_eq!(push(LogicalType::ListI64, Cell::Text(b"[]")), Some(()));
    assert_eq!(push(LogicalType::ListI64, Cell::Text(b"[0.5]")), None);
    assert_eq!(push(LogicalType::ListI64, Cell::Text(b"5")), None);
}

#[test]
fn times_and_spans_are_microseconds() {
    let time = |packet: &[u8]| time_us(&mut Bytes(packet));
    assert_eq!(time(b"\x0b\xb2\x07\x01\x01\x00\x00\x01\x40\x42\x0f\x00"), Some(2_000_000));
    assert_eq!(time(b"\x07\xb1\x07\x0c\x1f\x17\x3b\x3b"), Some(-1_000_000));
    assert_eq!(time(b"\x00"), None, "the zero date");
    assert_eq!(span_us(&mut Bytes(b"\x08\x01\x01\0\0\0\x00\x00\x01")), Some(-86_401_000_000));
}

#[test]
fn a_head_says_whether_columns_are_described_where_that_was_agreed_and_nowhere_else() {
    assert_eq!(head(&[26], false), Some(Head { columns: 26, described: true }));
    assert_eq!(head(&[26, 1], true), Some(Head { columns: 26, described: true }));
    assert_eq!(head(&[26, 0], true), Some(Head { columns: 26, described: false }));
    assert_eq!(head(&[0xfc, 0x10, 0x27, 0], true), Some(Head { columns: 10_000, described: false }));
    assert_eq!(head(&[26, 2], true), None);
    assert_eq!(head(&[26], true), None, "it was to say so");
    assert_eq!(described_head(&[26, 0], true), None);
    assert_eq!(described_head(&[26, 1], true), Some(26));
}

#[test]
fn a_column_of_a_table_is_fixed_and_one_of_an_expression_or_of_bits_is_not() {
    let of = |table: &str, own: &str, ty: u8| {
        let mut packet = Vec::new();
        for text in ["def", "d", "t", table, "a", own] {
            packet.push(text.len() as u8);
            packet.extend_from_slice(text.as_bytes());
        }
        packet.extend_from_slice(&[12, 63, 0, 20, 0, 0, 0, ty, 0, 0, 0, 0, 0]);
        column(&packet).expect("it can be read")
    };
    assert!(of("t", "a", LONGLONG).is_fixed);
    assert!(!of("", "", LONGLONG).is_fixed && !of("t", "", LONGLONG).is_fixed);
    assert!(!of("t", "a", BIT).is_fixed);
    assert_eq!(of("", "", LONGLONG).ty, LONGLONG, "what stands behind an empty name is read");
}
