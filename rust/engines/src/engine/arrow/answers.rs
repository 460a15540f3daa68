//! Answers that come as Arrow arrays: into our columns, or cell by cell.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Int8Type, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt16Type, UInt32Type, UInt64Type, UInt8Type,
};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch};
use arrow_schema::{DataType, TimeUnit};

use inrush_rows::plan::LogicalType;
use inrush_rows::rows::bits::bits_of_duckdb;
use inrush_rows::rows::decimals::decimal_text;
use inrush_rows::rows::{Column, Columns, ListValues, TextValues, Value, Values};
use inrush_rows::types::date::date_text;
use inrush_rows::types::hex::digits;

/// Bytes of a batch's values, without what its buffers have in reserve.
pub fn bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|c| c.to_data().get_slice_memory_size().unwrap_or(0) as u64).sum()
}

/// Cell (`row`) of an answer. Says which type it cannot read: the query casts it then.
pub fn value(array: &dyn Array, row: usize) -> Result<Value, String> {
    fn at<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
        array.as_primitive::<T>().value(row)
    }
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Value::I64(at::<Int8Type>(array, row).into()),
        DataType::Int16 => Value::I64(at::<Int16Type>(array, row).into()),
        DataType::Int32 => Value::I64(at::<Int32Type>(array, row).into()),
        DataType::Int64 => Value::I64(at::<Int64Type>(array, row)),
        DataType::UInt8 => Value::I64(at::<UInt8Type>(array, row).into()),
        DataType::UInt16 => Value::I64(at::<UInt16Type>(array, row).into()),
        DataType::UInt32 => Value::I64(at::<UInt32Type>(array, row).into()),
        DataType::UInt64 => Value::U64(at::<UInt64Type>(array, row)),
        DataType::Float32 => Value::F64(at::<Float32Type>(array, row).into()),
        DataType::Float64 => Value::F64(at::<Float64Type>(array, row)),
        // A sum of 64-bit integers is wider in some engines; where the value fits it is an integer again.
        DataType::Decimal128(_, 0) => {
            let wide = at::<Decimal128Type>(array, row);
            i64::try_from(wide).map(Value::I64).unwrap_or_else(|_| Value::Text(wide.to_string()))
        }
        DataType::Decimal128(_, scale) => Value::Text(decimal(at::<Decimal128Type>(array, row), *scale)),
        DataType::Date32 => Value::Text(day(at::<Date32Type>(array, row))?),
        DataType::Time64(TimeUnit::Microsecond) => {
            Value::Text(time(at::<Time64MicrosecondType>(array, row))?)
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            let s = at::<TimestampSecondType>(array, row);
            Value::TimeUs(
                s.checked_mul(1_000_000)
                    .ok_or_else(|| format!("the time {s} s, beyond microseconds of 64 bits"))?,
            )
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Value::TimeMs(at::<TimestampMillisecondType>(array, row))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Value::TimeUs(at::<TimestampMicrosecondType>(array, row))
        }
        DataType::Binary => Value::Text(digits(array.as_binary::<i32>().value(row))),
        DataType::Dictionary(_, _) => {
            // Of its row alone: keys of a whole array are copied.
            let cell = array.slice(row, 1);
            let labels = cell.as_any_dictionary();
            return value(labels.values(), labels.normalized_keys()[0]);
        }
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).into()),
        DataType::List(_) => list(&array.as_list::<i32>().value(row))?,
        other => return Err(format!("an answer holds {other}; cast it in the query")),
    })
}

fn list(items: &ArrayRef) -> Result<Value, String> {
    Ok(match items.data_type() {
        DataType::Float64 if items.null_count() == 0 => {
            Value::ListF64(items.as_primitive::<Float64Type>().values().to_vec())
        }
        DataType::Int64 if items.null_count() == 0 => {
            Value::ListI64(items.as_primitive::<Int64Type>().values().to_vec())
        }
        _ => Value::List((0..items.len()).map(|at| value(items, at)).collect::<Result<_, _>>()?),
    })
}

fn day(days: i32) -> Result<String, String> {
    date_text(days).ok_or_else(|| format!("day {days} since 1970, which is in no year from 1 to 9999"))
}

/// In microseconds since the day began, as PostgreSQL's cells have it.
fn time(us: i64) -> Result<String, String> {
    let (forms, mut text) = (LogicalType::Time.forms().expect("it has forms"), Vec::new());
    let read =
        (forms.postgresql.push)(&us.to_be_bytes(), &mut text).and_then(|()| String::from_utf8(text).ok());
    read.ok_or_else(|| format!("{us} us, which are in no day"))
}

fn decimal(unscaled: i128, scale: i8) -> String {
    let Ok(scale) = usize::try_from(scale) else {
        return format!("{unscaled}e{}", scale.unsigned_abs());
    };
    decimal_text(unscaled, scale)
}

/// Appends a batch's rows to `out`; says what does not fit its type, so that no value is cut to fit.
pub fn append(batch: &RecordBatch, out: &mut Columns) -> Result<(), String> {
    for (array, column) in batch.columns().iter().zip(&mut out.columns) {
        append_present(array, column, out.rows);
        let name = column.name.clone();
        append_values(array, &mut column.values, column.ty)
            .map_err(|what| format!("column {name} holds {what}"))?;
    }
    out.rows += batch.num_rows();
    Ok(())
}

fn append_present(array: &ArrayRef, column: &mut Column, rows_before: usize) {
    if array.null_count() == 0 && column.present.is_empty() {
        return;
    }
    column.present.resize(rows_before, 1);
    column.present.extend((0..array.len()).map(|row| array.is_valid(row) as u8));
}

fn append_values(array: &ArrayRef, values: &mut Values, ty: LogicalType) -> Result<(), String> {
    match (values, array.data_type()) {
        (Values::I32(v), _) => append_narrow(array, v, ty)?,
        (Values::I64(v), _) => append_wide(array, v, ty)?,
        (Values::F32(v), DataType::Float32) => extend::<Float32Type>(v, array),
        (Values::F32(v), DataType::Float64) => append_halved(array, v, ty)?,
        (Values::F64(v), DataType::Float64) => extend::<Float64Type>(v, array),
        (Values::Text(v), _) => append_text(array, v, ty)?,
        (Values::List(v), DataType::List(_)) => append_lists(v, ty, array.as_list::<i32>())?,
        _ => return Err(other(array, ty)),
    }
    Ok(())
}

fn other(array: &ArrayRef, ty: LogicalType) -> String {
    format!("{}, not {ty:?}", array.data_type())
}

fn append_narrow(array: &ArrayRef, v: &mut Vec<i32>, ty: LogicalType) -> Result<(), String> {
    match (array.data_type(), ty) {
        (DataType::Boolean, LogicalType::Bool) => {
            v.extend(array.as_boolean().iter().map(|x| x.unwrap_or(false) as i32));
        }
        (DataType::Int16, LogicalType::I16) => v.extend(or_zero::<Int16Type>(array).map(i32::from)),
        (DataType::Int32, LogicalType::I32) => extend::<Int32Type>(v, array),
        (DataType::UInt8, LogicalType::U8) => v.extend(or_zero::<UInt8Type>(array).map(i32::from)),
        (DataType::UInt16, LogicalType::U16) => v.extend(or_zero::<UInt16Type>(array).map(i32::from)),
        (DataType::Int16, LogicalType::U8) => {
            narrowed(v, ty, or_zero::<Int16Type>(array).map(i64::from))?;
        }
        (DataType::Int32, LogicalType::U16) => {
            narrowed(v, ty, or_zero::<Int32Type>(array).map(i64::from))?;
        }
        // Databases with one type of integer or float return the widest of it; what does not fit was never stored.
        (DataType::Int64, ty) if ty != LogicalType::Bool => narrowed(v, ty, or_zero::<Int64Type>(array))?,
        _ => return Err(other(array, ty)),
    }
    Ok(())
}

fn append_wide(array: &ArrayRef, v: &mut Vec<i64>, ty: LogicalType) -> Result<(), String> {
    match (array.data_type(), ty) {
        (DataType::UInt32, LogicalType::U32) => v.extend(or_zero::<UInt32Type>(array).map(i64::from)),
        (DataType::Int64, LogicalType::I64 | LogicalType::U32 | LogicalType::U64) => {
            extend::<Int64Type>(v, array);
        }
        (DataType::UInt64, LogicalType::U64) => v.extend(or_zero::<UInt64Type>(array).map(|x| x as i64)),
        (DataType::Binary, LogicalType::Bit) => {
            for cell in array.as_binary::<i32>() {
                let number = cell.map_or(Some(0), bits_of_duckdb);
                v.push(number.ok_or("bytes, which are no string of up to 64 bits")? as i64);
            }
        }
        (DataType::Timestamp(unit, _), _) => append_times(v, ty, array, unit)?,
        _ => return Err(other(array, ty)),
    }
    Ok(())
}

fn append_halved(array: &ArrayRef, v: &mut Vec<f32>, ty: LogicalType) -> Result<(), String> {
    for wide in or_zero::<Float64Type>(array) {
        let narrow = wide as f32;
        let exact = f64::from(narrow) == wide || wide.is_nan();
        v.push(if exact { narrow } else { return Err(format!("{wide}, which is no {ty:?}")) });
    }
    Ok(())
}

fn append_text(array: &ArrayRef, v: &mut TextValues, ty: LogicalType) -> Result<(), String> {
    match (array.data_type(), ty) {
        (DataType::Binary, LogicalType::Blob) => {
            array.as_binary::<i32>().iter().for_each(|bytes| v.push(bytes.unwrap_or(b"")));
        }
        (DataType::Date32, LogicalType::Date) => {
            for days in or_zero::<Date32Type>(array) {
                v.push(day(days)?.as_bytes());
            }
        }
        (DataType::Time64(TimeUnit::Microsecond), LogicalType::Time) => {
            for us in or_zero::<Time64MicrosecondType>(array) {
                v.push(time(us)?.as_bytes());
            }
        }
        (DataType::Dictionary(_, _), _) => {
            let labels = array.as_any_dictionary();
            let Some(texts) = labels.values().as_string_opt::<i32>() else { return Err(other(array, ty)) };
            if texts.is_empty() {
                // Every row is NULL, and there is nothing that a key could name.
                append_texts(v, (0..array.len()).map(|_| None));
                return Ok(());
            }
            for (row, key) in labels.normalized_keys().into_iter().enumerate() {
                v.push(if array.is_valid(row) { texts.value(key).as_bytes() } else { b"" });
            }
        }
        (DataType::Utf8, _) => append_texts(v, array.as_string::<i32>().iter()),
        (DataType::LargeUtf8, _) => append_texts(v, array.as_string::<i64>().iter()),
        (DataType::Utf8View, _) => append_texts(v, array.as_string_view().iter()),
        (DataType::Decimal128(_, scale), LogicalType::Decimal) => {
            let scale = usize::try_from(*scale).map_err(|_| format!("decimals of scale {scale}"))?;
            or_zero::<Decimal128Type>(array).for_each(|x| v.push(decimal_text(x, scale).as_bytes()));
        }
        _ => return Err(other(array, ty)),
    }
    Ok(())
}

/// Wider integers than their type, which hold no value beyond it.
fn narrowed(out: &mut Vec<i32>, ty: LogicalType, wide: impl Iterator<Item = i64>) -> Result<(), String> {
    let (least, most) = ty.range().expect("a whole number");
    for wide in wide {
        out.push(if (least..=most).contains(&wide) {
            wide as i32
        } else {
            return Err(format!("{wide}, which is no {ty:?}"));
        });
    }
    Ok(())
}

fn extend<T: ArrowPrimitiveType>(out: &mut Vec<T::Native>, array: &ArrayRef) {
    match array.null_count() {
        0 => out.extend_from_slice(array.as_primitive::<T>().values()),
        _ => out.extend(or_zero::<T>(array)),
    }
}

/// Values with a zero where there is none, as [`Values`] holds them.
fn or_zero<T: ArrowPrimitiveType>(array: &ArrayRef) -> impl Iterator<Item = T::Native> + '_ {
    array.as_primitive::<T>().iter().map(Option::unwrap_or_default)
}

fn append_times(
    out: &mut Vec<i64>,
    ty: LogicalType,
    array: &ArrayRef,
    unit: &TimeUnit,
) -> Result<(), String> {
    let per_unit_ns = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    let wanted_ns = match ty {
        LogicalType::TimeMs => 1_000_000,
        LogicalType::TimeUs => 1_000,
        _ => return Err(format!("times, not {ty:?}")),
    };
    let convert = |x: i64| {
        let ns = x as i128 * per_unit_ns;
        (ns % wanted_ns == 0).then(|| i64::try_from(ns / wanted_ns).ok())?
    };
    let mut push = |x: i64| {
        out.push(convert(x).ok_or_else(|| format!("the time {x} {unit:?}, finer than {ty:?} or beyond it"))?);
        Ok::<(), String>(())
    };
    match unit {
        TimeUnit::Second => or_zero::<TimestampSecondType>(array).try_for_each(&mut push),
        TimeUnit::Millisecond => or_zero::<TimestampMillisecondType>(array).try_for_each(&mut push),
        TimeUnit::Microsecond => or_zero::<TimestampMicrosecondType>(array).try_for_each(&mut push),
        TimeUnit::Nanosecond => or_zero::<TimestampNanosecondType>(array).try_for_each(&mut push),
    }
}

fn append_texts<'a>(out: &mut TextValues, texts: impl Iterator<Item = Option<&'a str>>) {
    texts.for_each(|text| out.push(text.unwrap_or("").as_bytes()));
}

fn append_lists(out: &mut ListValues, ty: LogicalType, lists: &ListArray) -> Result<(), String> {
    let item = ty.item().ok_or_else(|| format!("lists, not {ty:?}"))?;
    for row in 0..lists.len() {
        let items = lists.value(row);
        let len = if lists.is_null(row) { 0 } else { items.len() };
        if len > 0 && (items.null_count() > 0 || !out.present.is_empty()) {
            out.present.resize(out.items.count(), 1);
            out.present.extend((0..len).map(|at| u8::from(items.is_valid(at))));
        }
        match (&mut *out.items, items.data_type()) {
            _ if len == 0 => {}
            (Values::F64(v), DataType::Float64) if items.null_count() == 0 => {
                v.extend_from_slice(&items.as_primitive::<Float64Type>().values()[..len]);
            }
            (Values::I64(v), DataType::Int64) if item == LogicalType::I64 && items.null_count() == 0 => {
                v.extend_from_slice(&items.as_primitive::<Int64Type>().values()[..len]);
            }
            (values, _) => append_values(&items, values, item).map_err(|what| format!("lists of {what}"))?,
        }
        out.end();
    }
    Ok(())
}
