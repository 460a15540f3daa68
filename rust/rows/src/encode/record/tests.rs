use super::*;
use crate::plan::LogicalType;
use crate::types::uuid::uuid_text;
use proptest::prelude::*;

const WIRES: [(&str, LogicalType, &str); 16] = [
    ("flag", LogicalType::Bool, "Tinyunsigned"),
    ("i16", LogicalType::I16, "Smallint"),
    ("i32", LogicalType::I32, "Int"),
    ("i64", LogicalType::I64, "Bigint"),
    ("u8", LogicalType::U8, "Tinyunsigned"),
    ("u16", LogicalType::U16, "Smallunsigned"),
    ("u32", LogicalType::U32, "Unsigned"),
    ("u64", LogicalType::U64, "Bigunsigned"),
    ("f32", LogicalType::F32, "Float"),
    ("f64", LogicalType::F64, "Double"),
    ("ms", LogicalType::TimeMs, "Bigint"),
    ("us", LogicalType::TimeUs, "Bigint"),
    ("name", LogicalType::Text, "Varbinary(12)"),
    ("long", LogicalType::Text, "Longvarbinary(300)"),
    ("fixed", LogicalType::Text, "Binary(9)"),
    ("uuid", LogicalType::Uuid, "Binary(16)"),
];

fn table() -> TablePlan {
    let columns: Vec<serde_json::Value> = WIRES
        .iter()
        .map(|(name, ty, wire)| serde_json::json!({"name": name, "type": ty, "wire": wire}))
        .collect();
    serde_json::from_value(serde_json::json!({"name": "t", "stream": "t", "columns": columns,
        "identity": ["i64"], "source": {"kind": "generated", "series": 1, "period_ns": 1}}))
    .expect("it is written here")
}

/// A row with numbers made of `n`, and NULL where the bit of its column is set.
fn row(n: u64, text: &str, nulls: u16) -> Columns {
    let mut columns = Columns::of(&table());
    for (k, column) in columns.columns.iter_mut().enumerate() {
        if nulls >> k & 1 == 1 {
            column.push_null(0);
            continue;
        }
        let signed = n as i64;
        match (&mut column.values, column.ty) {
            (Values::I32(v), LogicalType::Bool) => v.push((n & 1) as i32),
            (Values::I32(v), LogicalType::I16) => v.push(n as i16 as i32),
            (Values::I32(v), LogicalType::U8) => v.push(n as u8 as i32),
            (Values::I32(v), LogicalType::U16) => v.push(n as u16 as i32),
            (Values::I32(v), _) => v.push(n as i32),
            (Values::I64(v), LogicalType::U32) => v.push(n as u32 as i64),
            (Values::I64(v), _) => v.push(signed),
            (Values::F32(v), _) => v.push(n as i32 as f32),
            (Values::F64(v), _) => v.push(signed as f64),
            (Values::Text(v), LogicalType::Uuid) => {
                v.push(&uuid_text((u128::from(n) << 64 | u128::from(!n)).to_be_bytes()))
            }
            (Values::Text(v), _) => v.push(text.as_bytes()),
            (Values::List(_), _) => unreachable!("there is none"),
        }
    }
    columns.rows = 1;
    columns
}

fn values(columns: &Columns) -> Vec<Value> {
    columns.columns.iter().map(|column| column.value(0)).collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_as_values_and_as_columns(n: u64, text in "[a-c é]{0,3}[a-c]", nulls: u16) {
        let table = table();
        let (record, rows) = (Record::of(&table).unwrap(), row(n, &text, nulls));
        let mut image = Vec::new();
        Images::of(record.clone()).encode(&rows, &mut image).unwrap();
        prop_assert_eq!(image.len(), record.bytes as usize);
        let mut read = vec![Value::Null; WIRES.len()];
        record.read(&image, &mut read);
        prop_assert_eq!(&read, &values(&rows));
        let mut back = Columns::of(&table);
        record.append(&image, &mut back);
        record.append(&image, &mut back);
        prop_assert_eq!(back.rows, 2);
        prop_assert_eq!(values(&back), values(&rows));
        prop_assert_eq!(back.columns.iter().map(|c| c.value(1)).collect::<Vec<_>>(), values(&rows));
        // Of a call's values the same image is made, whatever the memory held before.
        let mut written = vec![0xa5; record.bytes as usize];
        let at = |field: &Field| field.offset as usize..(field.offset + field.kind.bytes()) as usize;
        for (field, value) in record.fields.iter().zip(&read) {
            field.write(value, &mut written).unwrap();
        }
        let mut again = vec![Value::Bool(true); WIRES.len()];
        record.read(&written, &mut again);
        prop_assert_eq!(again, read);
        for field in record.fields.iter().filter(|f| !matches!(f.kind, Kind::Variable(_)) && !f.is_null(&image)) {
            prop_assert_eq!(&written[at(field)], &image[at(field)], "{}", &field.name);
        }
    }
}

#[test]
fn no_two_values_share_a_byte_and_numbers_are_aligned() {
    let record = Record::of(&table()).unwrap();
    let mut taken = vec![false; record.bytes as usize];
    for field in &record.fields {
        for byte in &mut taken[field.offset as usize..][..field.kind.bytes() as usize] {
            assert!(!std::mem::replace(byte, true), "{}", field.name);
        }
        assert!(!taken[field.null.0 as usize], "{}", field.name);
        if let Kind::Signed(bytes) | Kind::Unsigned(bytes) = field.kind {
            assert_eq!(field.offset % u32::from(bytes), 0);
        }
    }
    let bits: std::collections::BTreeSet<_> = record.fields.iter().map(|field| field.null).collect();
    assert_eq!(bits.len(), record.fields.len());
}

#[test]
fn a_value_that_does_not_fit_is_refused_and_never_cut() {
    let record = Record::of(&table()).unwrap();
    let mut image = vec![0; record.bytes as usize];
    let long = "x".repeat(301);
    for (name, value) in [
        ("i16", Value::I64(32_768)),
        ("i16", Value::I64(-32_769)),
        ("u8", Value::I64(256)),
        ("u8", Value::I64(-1)),
        ("u32", Value::I64(1 << 32)),
        ("u32", Value::I64(-1)),
        ("u64", Value::I64(-1)),
        ("i64", Value::U64(1 << 63)),
        ("i64", Value::Text("7".into())),
        ("f64", Value::I64(7)),
        ("name", Value::Text("thirteen bytes".into())),
        ("long", Value::Text(long)),
        ("fixed", Value::Text("ten letters".into())),
        ("fixed", Value::Text("blank ".into())),
        ("uuid", Value::Text("no uuid".into())),
        ("name", Value::Bool(true)),
    ] {
        let field = &record.fields[record.place(name).unwrap()];
        let why = field.write(&value, &mut image).expect_err(name);
        assert!(why.starts_with(&format!("column {name}: ")), "{why}");
    }
}

#[test]
fn a_batch_with_a_text_too_long_is_refused_with_its_column() {
    let rows = row(1, "thirteen bytes", 0);
    let refused =
        Images::of(Record::of(&table()).unwrap()).encode(&rows, &mut Vec::new()).unwrap_err().to_string();
    assert!(refused.contains("column name: thirteen bytes does not fit"), "{refused}");
}

#[test]
fn where_a_column_takes_no_null_its_bit_says_nothing_and_null_is_refused() {
    let mut record = Record::of(&table()).unwrap();
    let mut image = vec![0xff; record.bytes as usize];
    let field = record.place("i32").unwrap();
    record.fields[field].write(&Value::Null, &mut image).expect("it takes NULL");
    record.fields[field].nullable = false;
    let mut read = vec![Value::Null; WIRES.len()];
    record.read(&image, &mut read);
    assert_eq!(read[field], Value::I64(-1));
    let refused = record.fields[field].write(&Value::Null, &mut image).expect_err("it takes none");
    assert!(refused.starts_with("column i32: null"), "{refused}");
    let rows = row(1, "a", 1 << field);
    let refused = Images::of(record).encode(&rows, &mut Vec::new()).unwrap_err().to_string();
    assert!(refused.contains("column i32: NULL does not fit"), "{refused}");
}

#[test]
fn types_are_ndbs_by_name_and_others_are_none() {
    for (wire, number, bytes) in [
        ("Tinyint", 1, 1),
        ("Tinyunsigned", 2, 1),
        ("Smallint", 3, 2),
        ("Smallunsigned", 4, 2),
        ("Int", 7, 4),
        ("Unsigned", 8, 4),
        ("Bigint", 9, 8),
        ("Bigunsigned", 10, 8),
        ("Float", 11, 4),
        ("Double", 12, 8),
        ("Binary(160)", 16, 160),
        ("Varbinary(255)", 17, 256),
        ("Longvarbinary(256)", 24, 258),
    ] {
        let kind = Kind::named(wire).expect(wire);
        assert_eq!((kind.number().0, kind.bytes()), (number, bytes), "{wire}");
    }
    for wire in
        ["", "int", "Blob", "Binary", "Binary(0)", "Varbinary(256)", "Longvarbinary(255)", "Binary(14001)"]
    {
        assert_eq!(Kind::named(wire), None, "{wire}");
    }
}
