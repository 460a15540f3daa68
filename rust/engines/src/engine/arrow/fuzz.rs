//! Answers of ADBC's drivers: arrays of every type that is read, of values that bytes name, into every type of ours.

use std::io::Read;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Int8Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt16Type, UInt32Type, UInt64Type, UInt8Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, LargeStringArray, PrimitiveArray, RecordBatch,
    StringArray, StringViewArray,
};
use arrow_schema::{Field, Schema};

use super::{append, bytes, value};
use inrush_fuzz::{self as fuzz, Memory, Replay};
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::{value_text, Column, Columns};
use inrush_rows::types::TYPES;

const KINDS: u8 = 26;
/// A column of each type, and the texts of all values.
const MEMORY: Memory = Memory { per_byte: 4096, constant: 1 << 20 };

/// A value of 8 bytes, or NULL where the byte in front is odd.
type Cells = Vec<Option<[u8; 8]>>;

fn primitive<T: ArrowPrimitiveType>(cells: &Cells, of: impl Fn([u8; 8]) -> T::Native) -> PrimitiveArray<T> {
    cells.iter().map(|cell| cell.map(&of)).collect()
}

fn text(cell: [u8; 8]) -> String {
    String::from_utf8_lossy(&cell).into_owned()
}

fn list_of<T: ArrowPrimitiveType>(cells: &Cells, of: impl Fn([u8; 8]) -> T::Native) -> ArrayRef {
    let mut lists = ListBuilder::new(PrimitiveBuilder::<T>::new());
    for (at, cell) in cells.iter().enumerate() {
        lists.values().append_option(cell.map(&of));
        if at % 3 == 2 {
            lists.append(at % 2 == 0);
        }
    }
    lists.append(true);
    Arc::new(lists.finish())
}

fn array(kind: u8, scale: i8, cells: &Cells) -> ArrayRef {
    let long = i64::from_le_bytes;
    let texts = || cells.iter().map(|cell| cell.map(text));
    match kind % KINDS {
        0 => Arc::new(cells.iter().map(|c| c.map(|c| c[0] > 7)).collect::<BooleanArray>()),
        1 => Arc::new(primitive::<Int8Type>(cells, |c| long(c) as i8)),
        2 => Arc::new(primitive::<Int16Type>(cells, |c| long(c) as i16)),
        3 => Arc::new(primitive::<Int32Type>(cells, |c| long(c) as i32)),
        4 => Arc::new(primitive::<Int64Type>(cells, long)),
        5 => Arc::new(primitive::<UInt8Type>(cells, |c| long(c) as u8)),
        6 => Arc::new(primitive::<UInt16Type>(cells, |c| long(c) as u16)),
        7 => Arc::new(primitive::<UInt32Type>(cells, |c| long(c) as u32)),
        8 => Arc::new(primitive::<UInt64Type>(cells, u64::from_le_bytes)),
        9 => Arc::new(primitive::<Float32Type>(cells, |c| f64::from_le_bytes(c) as f32)),
        10 => Arc::new(primitive::<Float64Type>(cells, f64::from_le_bytes)),
        11 => Arc::new(primitive::<Date32Type>(cells, |c| long(c) as i32)),
        12 => Arc::new(primitive::<TimestampSecondType>(cells, long)),
        13 => Arc::new(primitive::<TimestampMillisecondType>(cells, long)),
        14 => Arc::new(primitive::<TimestampMicrosecondType>(cells, long)),
        15 => Arc::new(primitive::<TimestampNanosecondType>(cells, long)),
        16 => {
            // A number of 128 bits; a scale that Arrow does not take is none.
            let wide = primitive::<Decimal128Type>(cells, |c| i128::from(long(c)) << (c[7] % 64));
            Arc::new(wide.clone().with_precision_and_scale(38, scale).unwrap_or(wide))
        }
        17 => {
            let mut all = BinaryBuilder::new();
            cells.iter().for_each(|c| all.append_option(c.map(|c| c[usize::from(c[0] % 8)..].to_vec())));
            Arc::new(all.finish())
        }
        18 => Arc::new(texts().collect::<StringArray>()),
        19 => Arc::new(texts().collect::<LargeStringArray>()),
        20 => Arc::new(texts().collect::<StringViewArray>()),
        21 => {
            let texts: Vec<_> = texts().collect();
            Arc::new(texts.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>())
        }
        22 => {
            Arc::new(std::iter::repeat_n(None::<&str>, cells.len()).collect::<DictionaryArray<Int32Type>>())
        }
        23 => list_of::<Int64Type>(cells, long),
        24 => list_of::<Float64Type>(cells, f64::from_le_bytes),
        _ => {
            let mut lists = ListBuilder::new(StringBuilder::new());
            texts().for_each(|text| lists.append_value([text]));
            Arc::new(lists.finish())
        }
    }
}

/// The arrays that these bytes name: kind, scale and number of cells, then the cells.
fn arrays(mut bytes: &[u8]) -> Vec<ArrayRef> {
    let mut all = Vec::new();
    while let [kind, scale, count, rest @ ..] = bytes {
        let (taken, after) = rest.split_at(rest.len().min(9 * usize::from(*count % 16)));
        let cell = |c: &[u8]| {
            Some(<[u8; 8]>::try_from(&c[1..]).expect("nine bytes")).filter(|_| c[0].is_multiple_of(2))
        };
        all.push(array(*kind, *scale as i8, &taken.chunks_exact(9).map(cell).collect()));
        bytes = after;
    }
    all
}

/// Whether some type takes the array. What a session does with an answer: cell by cell, and as a column of each type.
fn is_taken(array: &ArrayRef) -> bool {
    for row in 0..array.len() {
        assert!(!value(array, row).map_or_else(|why| why, |value| value_text(&value) + " ").is_empty());
    }
    let schema = Schema::new(vec![Field::new("c", array.data_type().clone(), true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![array.clone()]).unwrap();
    let into = |ty: &LogicalType| {
        let mut columns = Columns::new(0, vec![Column::new("c", *ty)]);
        let taken = append(&batch, &mut columns).and_then(|()| append(&batch, &mut columns)).is_ok();
        if taken {
            assert_eq!(columns.rows, 2 * array.len());
            let texts = (0..columns.rows).map(|row| value_text(&columns.columns[0].value(row)).len());
            assert!(texts.sum::<usize>() < usize::MAX);
        }
        taken
    };
    let taken = TYPES.iter().filter(|entry| into(&entry.ty)).count();
    assert!(bytes(&batch) < 1 << 30);
    taken > 0
}

fn read(mut replay: Replay) -> bool {
    let mut came = Vec::new();
    replay.read_to_end(&mut came).unwrap();
    let taken: Vec<bool> = arrays(&came).iter().map(is_taken).collect();
    !taken.is_empty() && taken.iter().all(|taken| *taken)
}

#[test]
fn arrays_of_a_driver_survive_mutations() {
    let cells = [[0u8; 9], [1; 9], [0; 9]].concat();
    // No column of ours takes 8 bits with a sign.
    let kinds = (0..KINDS).filter(|kind| *kind != 1);
    let captures: Vec<Vec<u8>> = kinds.map(|kind| [&[kind, 2, 3][..], &cells].concat()).collect();
    let captures: Vec<&[u8]> = captures.iter().map(Vec::as_slice).collect();
    fuzz::survives("adbc arrays", &captures, MEMORY, read);
}

#[test]
fn a_time_beyond_ours_is_an_error_and_no_other_time() {
    let far: ArrayRef = Arc::new(PrimitiveArray::<TimestampSecondType>::from(vec![i64::MAX / 1000]));
    assert!(value(&far, 0).unwrap_err().contains("beyond"));
}
