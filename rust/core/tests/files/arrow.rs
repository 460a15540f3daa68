//! Arrow streams as a source of rows.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Float64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Int16Array, Int64Array, ListArray, RecordBatch, StringArray,
    TimestampMillisecondArray, UInt64Array,
};
use arrow_ipc::writer::StreamWriter;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::files::FileRows;
use inrush_rows::rows::Value;
use tempfile::TempDir;

use super::tables::{failure, read_all, table, values};

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

#[test]
fn a_batch_of_wide_rows_ends_by_its_bytes_and_what_is_rejected_is_none_of_them() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.arrows");
    let wide = "x".repeat(400);
    // Rows 0 to 4 have no number, as row 7 has none.
    let numbers = Int64Array::from_iter((0..12).map(|n| (n >= 5 && n != 7).then_some(n)));
    let texts = StringArray::from(vec![&*wide; 12]);
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>((0..12).map(|_| Some([Some(0.5); 20])));
    let batch = RecordBatch::try_from_iter([
        ("n", Arc::new(numbers) as ArrayRef),
        ("text", Arc::new(texts) as ArrayRef),
        ("list", Arc::new(lists) as ArrayRef),
    ])
    .unwrap();
    let mut writer = StreamWriter::try_new(File::create(&path).unwrap(), &batch.schema()).unwrap();
    for (from, rows) in [(0, 8), (8, 4)] {
        writer.write(&batch.slice(from, rows)).unwrap();
    }
    writer.finish().unwrap();
    let columns = [("n", LogicalType::I64), ("text", LogicalType::Text), ("list", LogicalType::ListF64)];
    let plan = table(&dir, &[&path], &columns, &["n"], "arrow", None);
    let open = || FileRows::open(&plan).unwrap().with_batch_bytes(1_000);
    let mut rows = open();
    let mut batch = rows.columns();
    // A row has 560 bytes: two pass 1,000.
    let (mut counts, mut positions) = (Vec::new(), vec![rows.position()]);
    loop {
        counts.push(rows.next_batch(100, &mut batch).unwrap());
        positions.push(rows.position());
        if counts.last() == Some(&0) {
            break;
        }
    }
    assert_eq!(counts, [2, 2, 2, 0]);
    assert_eq!((rows.position().stored, rows.position().rejected), (6, 6));
    for (k, position) in positions.iter().enumerate().take(3) {
        let mut again = open();
        again.seek(position).unwrap();
        assert_eq!(
            again.next_batch(100, &mut batch).unwrap(),
            counts[k],
            "from batch {k} on it is cut alike"
        );
        assert_eq!(again.position(), positions[k + 1]);
    }
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
