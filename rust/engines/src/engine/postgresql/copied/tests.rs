use super::*;
use inrush_rows::encode::{encoder, pgcopy};
use inrush_rows::plan::{ColumnPlan, RowSource, TablePlan};
use inrush_rows::rows::Value;

#[test]
fn a_float_is_a_whole_number_of_64_bits_or_none() {
    assert_eq!(whole_float(-9223372036854775808.0), Some(i64::MIN));
    assert_eq!(whole_float(9223372036854774784.0), Some(9223372036854774784));
    for other in [9223372036854775808.0, 0.5, f64::NAN, f64::INFINITY, -1e300] {
        assert_eq!(whole_float(other), None, "{other}");
    }
}

#[test]
fn a_spelled_value_is_read_in_binary_and_where_the_server_keeps_it_as_text() {
    use inrush_rows::types::{Spelled, Visitor, TYPES};
    struct Read;
    impl Visitor for Read {
        type Out = Vec<Vec<u8>>;
        fn of<T: Spelled>(self) -> Vec<Vec<u8>> {
            let text = T::FORMS.zero.as_bytes();
            vec![T::cell(text).expect("a value").as_ref().to_vec(), text.to_vec()]
        }
    }
    for (ty, forms) in TYPES.iter().filter_map(|entry| Some((entry.ty, entry.ty.forms()?))) {
        let mut column = Column::new("c", ty);
        let cells = ty.visit(Read);
        cells.iter().for_each(|cell| push_cell(&mut column, cell).expect("it is read"));
        for row in 0..2 {
            assert_eq!(column.value(row), Value::Text(forms.zero.into()), "{ty:?}");
        }
        for broken in [&cells[0][..cells[0].len() - 1], b"", b"x"] {
            assert_eq!(push_cell(&mut column, broken), None, "{ty:?}");
        }
    }
}

#[test]
fn lists_of_u64_are_read_by_their_bits() {
    let head = [1u32, 0, 20, 2, 1].map(u32::to_be_bytes).concat();
    let item = |bits: u64| [&8u32.to_be_bytes()[..], &bits.to_be_bytes()].concat();
    let cell = [head, item(u64::MAX), item(7)].concat();
    let mut column = Column::new("c", LogicalType::ListU64);
    push_cell(&mut column, &cell).expect("44 bytes");
    assert_eq!(column.value(0), Value::List(vec![Value::U64(u64::MAX), Value::U64(7)]));
}

fn two_columns() -> (TablePlan, Columns) {
    let column = |name: &str, ty, wire: &str| ColumnPlan {
        name: name.into(),
        ty,
        wire: wire.into(),
        null_ppm: 0,
        not_finite: None,
        gen: None,
    };
    let plan = TablePlan {
        name: "t".into(),
        stream: "t".into(),
        columns: vec![
            column("n", LogicalType::U64, "numeric"),
            column("s", LogicalType::Text, "text"),
            column("t", LogicalType::TimeMs, "timestamptz"),
            column("l", LogicalType::ListF64, "float8[]"),
        ],
        source: RowSource::Generated { series: 1, period_ns: 1, events: None },
        identity: vec![],
    };
    let mut rows = Columns::new(3, vec![]);
    for c in &plan.columns {
        rows.columns.push(Column::new(c.name.clone(), c.ty));
    }
    rows.columns[0].values = Values::I64(vec![-1, 0, 10_000]);
    let Values::Text(text) = &mut rows.columns[1].values else { unreachable!() };
    for value in ["", "é\t", "x"] {
        text.push(value.as_bytes());
    }
    rows.columns[1].present = vec![0, 1, 1];
    rows.columns[2].values = Values::I64(vec![-1, 0, 1_767_225_600_123]);
    let items = Box::new(Values::F64(vec![0.5, -1.5]));
    rows.columns[3].values = Values::List(ListValues { ends: vec![0, 2, 2], items, present: vec![] });
    (plan, rows)
}

#[test]
fn a_copy_stream_cut_anywhere_reads_back_what_was_sent() {
    let (plan, rows) = two_columns();
    let mut stream = Vec::new();
    encoder("pgcopy", &plan).unwrap().encode(&rows, &mut stream).unwrap();
    for cut in 0..=stream.len() {
        let (mut reader, mut back) = (CopyReader::new(), Columns::empty_like(&rows));
        for piece in [&stream[..cut], &stream[cut..]] {
            assert!(!reader.is_complete() || piece.is_empty());
            reader.read(piece, &mut back).unwrap();
        }
        assert!(reader.is_complete());
        assert_eq!(back.rows, rows.rows);
        for (a, b) in rows.columns.iter().zip(&back.columns) {
            for row in 0..rows.rows {
                assert_eq!(a.value(row), b.value(row), "column {} row {row}, cut at {cut}", a.name);
            }
        }
    }
}

#[test]
fn bits_come_back_as_their_number_and_documents_without_blanks() {
    let mut column = Column::new("b", LogicalType::Bit);
    assert!(push_cell(&mut column, &[0, 0, 0, 12, 0x80, 0x10]).is_some());
    assert!(push_cell(&mut column, &[0, 0, 0, 64, 255, 255, 255, 255, 255, 255, 255, 254]).is_some());
    assert_eq!((column.value(0), column.value(1)), (Value::U64(0x801), Value::U64(u64::MAX - 1)));
    for none in [&[0, 0, 0, 12, 0x80][..], &[0, 0, 0, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[0, 0, 0, 0], &[1]] {
        assert!(push_cell(&mut column, none).is_none(), "{none:?}");
    }
    let mut column = Column::new("d", LogicalType::Json);
    push_cell(&mut column, b"\x01{\"a\": [1, 2], \"b\": \", \"}").expect("it is UTF-8");
    assert_eq!(column.value(0), Value::Text("{\"a\":[1,2],\"b\":\", \"}".into()));
}

#[test]
fn a_stream_without_its_trailer_is_not_complete() {
    let (plan, rows) = two_columns();
    let mut stream = Vec::new();
    encoder("pgcopy", &plan).unwrap().encode(&rows, &mut stream).unwrap();
    let (mut reader, mut back) = (CopyReader::new(), Columns::empty_like(&rows));
    reader.read(&stream[..stream.len() - pgcopy::TRAILER.len()], &mut back).unwrap();
    assert!(!reader.is_complete());
}

#[test]
fn what_was_not_stored_is_refused_and_not_rounded() {
    assert_eq!(whole_ms(1_000), Some(1));
    assert_eq!(whole_ms(1_001), None);
    assert_eq!(exact_f32(0.1), None);
    assert_eq!(numeric_bits(&[0, 1, 0, 0, 0x40, 0, 0, 0, 0, 1], true), None, "-1 is no u64");
    assert_eq!(numeric_bits(&[0, 1, 0xff, 0xff, 0, 0, 0, 1, 0, 1], false), None, "0.0001 is not whole");
    assert_eq!(numeric_bits(&[0, 1, 0, 1, 0, 0, 0, 0, 0, 7], false), Some(70_000));
}

#[test]
fn a_data_row_is_read_as_a_row_of_a_copy() {
    let mut batch = Columns::new(0, vec![Column::new("l", LogicalType::ListI64)]);
    let list = |item: f64| {
        let words = [1u32, 0, FLOAT8, 1, 1, 8];
        let mut cell: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        cell.extend_from_slice(&item.to_be_bytes());
        [&1u16.to_be_bytes()[..], &(cell.len() as u32).to_be_bytes(), &cell].concat()
    };
    push_data_row(&list(7.0), &mut batch).unwrap();
    assert_eq!((batch.rows, batch.columns[0].value(0)), (1, Value::ListI64(vec![7])));
    assert!(push_data_row(&list(7.5), &mut batch).unwrap_err().contains("column l"), "no whole number");
    assert!(push_data_row(&list(7.0)[..9], &mut batch).is_err(), "cut");
    assert!(push_data_row(&[list(7.0), vec![0]].concat(), &mut batch).is_err(), "too long");
}
