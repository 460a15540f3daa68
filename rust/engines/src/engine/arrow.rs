//! Columns as Arrow arrays and back: whole buffers are copied, values are touched only where widths differ.

mod answers;
#[cfg(test)]
mod fuzz;

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, ListBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt16Type, UInt32Type,
    UInt64Type, UInt8Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, PrimitiveArray, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use inrush_rows::plan::{ColumnPlan, GenPlan, LogicalType};
use inrush_rows::rows::{Column, Columns, TextValues, Value, Values};

pub use answers::{append, bytes, value};

const UTC: &str = "UTC";
/// Of a field with bits, which travel as their digits: how many.
const BITS: &str = "bits";

/// Arrow schema of a table. An unsigned column travels as the signed bits of one of 64, or
/// as a wider signed one, where its wire type has no `U`; a text of wire type
/// `BLOB` travels as bytes, a time of wire type `TIMESTAMP` without a zone.
pub fn schema_of(columns: &[ColumnPlan]) -> SchemaRef {
    let field = |c: &ColumnPlan| {
        let signed = !c.wire.is_empty() && !c.wire.to_uppercase().contains('U');
        let ty = match c.ty {
            LogicalType::U8 if signed => DataType::Int16,
            LogicalType::U16 if signed => DataType::Int32,
            LogicalType::U32 | LogicalType::U64 if signed => DataType::Int64,
            LogicalType::Text if c.wire == "BLOB" => DataType::Binary,
            // A cast from one with a zone fails for a vector of NULL alone (DuckDB 2.0).
            LogicalType::TimeMs if c.wire == "TIMESTAMP" => DataType::Timestamp(TimeUnit::Millisecond, None),
            LogicalType::TimeUs if c.wire == "TIMESTAMP" => DataType::Timestamp(TimeUnit::Microsecond, None),
            ty => ty.arrow(),
        };
        let field = Field::new(&c.name, ty, true);
        match c.gen.as_ref().and_then(GenPlan::bits).filter(|_| c.ty == LogicalType::Bit) {
            Some(bits) => field.with_metadata([(BITS.to_owned(), bits.to_string())]),
            None => field,
        }
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// One batch of `schema`, which is `schema_of` the columns' table.
pub fn record_batch(columns: &Columns, schema: &SchemaRef) -> RecordBatch {
    let arrays = columns.columns.iter().zip(schema.fields()).map(|(c, f)| array(c, f)).collect();
    RecordBatch::try_new(schema.clone(), arrays).expect("the schema is made from the columns' own types")
}

/// Schema of `rows` rows laid side by side: the parameters of an INSERT of so many rows.
pub fn side_by_side(schema: &SchemaRef, rows: usize) -> SchemaRef {
    let fields = (0..rows).flat_map(|_| schema.fields().iter());
    let named = fields.enumerate().map(|(k, f)| Field::new(format!("{k}"), f.data_type().clone(), true));
    Arc::new(Schema::new(named.collect::<Vec<_>>()))
}

/// Rows `first …` of `batch` as one row of `wide`, which says how many they are. Values are shared, not copied.
pub fn one_row(batch: &RecordBatch, first: usize, wide: &SchemaRef) -> RecordBatch {
    let rows = wide.fields().len() / batch.num_columns();
    let cells = (first..first + rows).flat_map(|row| batch.columns().iter().map(move |c| c.slice(row, 1)));
    RecordBatch::try_new(wide.clone(), cells.collect()).expect("the schema repeats the batch's own")
}

fn array(column: &Column, field: &Field) -> ArrayRef {
    match &column.values {
        Values::I64(v) if column.ty == LogicalType::Bit => {
            let bits = field.metadata().get(BITS).and_then(|bits| bits.parse().ok()).unwrap_or(64usize);
            let (mut texts, mut digits) = (TextValues::default(), String::new());
            for number in v {
                digits.clear();
                write!(digits, "{number:0bits$b}").expect("a text in memory takes everything");
                texts.push(digits.as_bytes());
            }
            array_of(&Values::Text(texts), field.data_type(), nulls(&column.present))
        }
        values => array_of(values, field.data_type(), nulls(&column.present)),
    }
}

fn array_of(values: &Values, ty: &DataType, nulls: Option<NullBuffer>) -> ArrayRef {
    match (values, ty) {
        (Values::I32(v), DataType::Boolean) => {
            Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(v.len(), |k| v[k] != 0), nulls))
        }
        (Values::I32(v), DataType::Int16) => {
            let narrow = ScalarBuffer::from_iter(v.iter().map(|&x| x as i16));
            Arc::new(PrimitiveArray::<Int16Type>::new(narrow, nulls))
        }
        (Values::I32(v), DataType::UInt8) => {
            let narrow = ScalarBuffer::from_iter(v.iter().map(|&x| x as u8));
            Arc::new(PrimitiveArray::<UInt8Type>::new(narrow, nulls))
        }
        (Values::I32(v), DataType::UInt16) => {
            let narrow = ScalarBuffer::from_iter(v.iter().map(|&x| x as u16));
            Arc::new(PrimitiveArray::<UInt16Type>::new(narrow, nulls))
        }
        (Values::I32(v), _) => primitive::<Int32Type, _>(v, nulls),
        (Values::I64(v), DataType::UInt32) => {
            let narrow = ScalarBuffer::from_iter(v.iter().map(|&x| x as u32));
            Arc::new(PrimitiveArray::<UInt32Type>::new(narrow, nulls))
        }
        (Values::I64(v), DataType::UInt64) => primitive::<UInt64Type, _>(v, nulls),
        (Values::I64(v), DataType::Timestamp(TimeUnit::Millisecond, zone)) => {
            Arc::new(TimestampMillisecondArray::new(copied(v), nulls).with_timezone_opt(zone.clone()))
        }
        (Values::I64(v), DataType::Timestamp(_, zone)) => {
            Arc::new(TimestampMicrosecondArray::new(copied(v), nulls).with_timezone_opt(zone.clone()))
        }
        (Values::I64(v), _) => primitive::<Int64Type, _>(v, nulls),
        (Values::F32(v), _) => primitive::<Float32Type, _>(v, nulls),
        (Values::F64(v), _) => primitive::<Float64Type, _>(v, nulls),
        (Values::Text(v), DataType::Binary) => {
            Arc::new(BinaryArray::new(offsets(&v.ends), Buffer::from_slice_ref(&v.bytes), nulls))
        }
        (Values::Text(v), _) => {
            // SAFETY: columns hold UTF-8 by contract (`TextValues`), and `ends` do not fall.
            Arc::new(unsafe {
                StringArray::new_unchecked(offsets(&v.ends), Buffer::from_slice_ref(&v.bytes), nulls)
            })
        }
        (Values::List(v), DataType::List(field)) => {
            let items = array_of(&v.items, field.data_type(), self::nulls(&v.present));
            Arc::new(ListArray::new(field.clone(), offsets(&v.ends), items, nulls))
        }
        (Values::List(_), other) => unreachable!("a list is no {other}"),
    }
}

/// Reinterprets values of equal width (i64 as u64).
fn primitive<T: ArrowPrimitiveType, V: ArrowNativeType>(values: &[V], nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(copied(values), nulls))
}

fn copied<V: ArrowNativeType, N: ArrowNativeType>(values: &[V]) -> ScalarBuffer<N> {
    debug_assert_eq!(size_of::<V>(), size_of::<N>());
    ScalarBuffer::new(Buffer::from_slice_ref(values), 0, values.len())
}

fn offsets(ends: &[u32]) -> OffsetBuffer<i32> {
    let starts = std::iter::once(0).chain(ends.iter().map(|&end| end as i32));
    OffsetBuffer::new(ScalarBuffer::from_iter(starts))
}

fn nulls(present: &[u8]) -> Option<NullBuffer> {
    (!present.is_empty())
        .then(|| NullBuffer::new(BooleanBuffer::collect_bool(present.len(), |k| present[k] != 0)))
}

/// Parameters of a query as a batch of one row.
pub fn parameters(values: &[Value]) -> RecordBatch {
    let arrays: Vec<ArrayRef> = values.iter().map(parameter).collect();
    let fields =
        arrays.iter().enumerate().map(|(k, a)| Field::new(format!("{k}"), a.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, arrays).expect("every array has one value")
}

fn parameter(value: &Value) -> ArrayRef {
    match value {
        Value::Null => arrow_array::new_null_array(&DataType::Int64, 1),
        Value::Bool(v) => Arc::new(BooleanArray::from(vec![*v])),
        Value::I64(v) => primitive::<Int64Type, _>(&[*v], None),
        Value::U64(v) => primitive::<UInt64Type, _>(&[*v], None),
        Value::F64(v) => primitive::<Float64Type, _>(&[*v], None),
        Value::TimeMs(v) => Arc::new(TimestampMillisecondArray::from(vec![*v]).with_timezone(UTC)),
        Value::TimeUs(v) => Arc::new(TimestampMicrosecondArray::from(vec![*v]).with_timezone(UTC)),
        Value::Text(v) => Arc::new(StringArray::from(vec![v.as_str()])),
        Value::ListF64(v) => {
            let mut list = ListBuilder::new(Float64Builder::new());
            list.append_value(v.iter().map(|&x| Some(x)));
            Arc::new(list.finish())
        }
        // Keys are no lists.
        Value::List(v) => {
            Arc::new(StringArray::from(vec![inrush_rows::rows::value_text(&Value::List(v.clone()))]))
        }
        Value::ListI64(v) => {
            let mut list = ListBuilder::new(Int64Builder::new());
            list.append_value(v.iter().map(|&x| Some(x)));
            Arc::new(list.finish())
        }
    }
}
