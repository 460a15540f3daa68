//! Arrow IPC streams as rows: what Parquet files are turned into before the clock starts.
//!
//! Each column must have the one Arrow type of its logical type; Python casts before.

use std::fs::File;
use std::io::BufReader;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, UInt16Type, UInt32Type, UInt64Type, UInt8Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;

use crate::error::Error;
use crate::plan::{LogicalType, Spelling};

use super::super::columns::{Column, Columns, Values};
use super::limit;
use super::parse::{self, Reason};
use super::reject::Rejects;
use super::{Layout, Position};

pub struct ArrowFiles {
    pub(super) layout: Layout,
    index: usize,
    open: Option<Stream>,
}

struct Stream {
    path: String,
    reader: StreamReader<BufReader<File>>,
    /// Column of the file for each column of the table.
    order: Vec<usize>,
    batch: Option<RecordBatch>,
    /// Next row within `batch`, and within the file.
    at: usize,
    row: u64,
}

impl ArrowFiles {
    pub fn new(layout: Layout) -> ArrowFiles {
        ArrowFiles { layout, index: 0, open: None }
    }

    /// Appends rows until `out` holds `rows` of them, they are many bytes, or the files end.
    pub fn fill(&mut self, rows: usize, out: &mut Columns, rejects: &mut Rejects) -> Result<(), Error> {
        let mut room_bytes = self.layout.batch_bytes;
        while out.rows < rows && room_bytes > 0 {
            if self.open.is_none() && !self.open_next()? {
                break;
            }
            let stream = self.open.as_mut().expect("opened just above");
            let Some(batch) = stream.current()? else {
                if self.index + 1 >= self.layout.paths.len() {
                    break; // and stays open: its position is behind its last row
                }
                self.open = None;
                self.index += 1;
                continue;
            };
            let arrays: Vec<ArrayRef> = stream.order.iter().map(|at| batch.column(*at).clone()).collect();
            let most = batch.num_rows().min(stream.at + rows - out.rows);
            let (mut good, mut end) = (stream.at, stream.at);
            let mut scratch = Vec::new();
            while end < most && room_bytes > 0 {
                let row = end;
                end += 1;
                if let Some((column, reason)) = problem(&self.layout, &arrays, row, &mut scratch) {
                    append(&self.layout, &arrays, good..row, out);
                    let line = stream.row + (row - stream.at) as u64 + 1;
                    let name = &self.layout.columns[column].name;
                    rejects.add(&stream.path, line, name, reason, b"")?;
                    good = row + 1;
                } else {
                    room_bytes = room_bytes.saturating_sub(varying_bytes(&arrays, row));
                }
            }
            append(&self.layout, &arrays, good..end, out);
            stream.row += (end - stream.at) as u64;
            stream.at = end;
        }
        Ok(())
    }

    fn open_next(&mut self) -> Result<bool, Error> {
        let Some(path) = self.layout.paths.get(self.index) else { return Ok(false) };
        self.open = Some(Stream::open(path, &self.layout)?);
        Ok(true)
    }

    /// File, row and line (rows count from 1) of the next row.
    pub fn place(&self) -> (usize, u64, u64) {
        self.open.as_ref().map_or((self.index, 0, 1), |s| (self.index, s.row, s.row + 1))
    }

    pub fn seek(&mut self, to: &Position) -> Result<(), Error> {
        self.index = to.file;
        self.open = None;
        if to.offset > 0 && self.open_next()? {
            self.open.as_mut().expect("opened just above").skip(to.offset)?;
        }
        Ok(())
    }
}

impl Stream {
    fn open(path: &str, layout: &Layout) -> Result<Stream, Error> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let reader = StreamReader::try_new(BufReader::new(file), None)
            .map_err(|e| Error::Plan(format!("{path} is not an Arrow IPC stream: {e}")))?;
        let schema = reader.schema();
        let mut order = Vec::new();
        for column in &layout.columns {
            let at = schema.index_of(&column.name).map_err(|_| {
                let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
                Error::Plan(format!("{path}: no column `{}`; it has {}", column.name, names.join(", ")))
            })?;
            let found = schema.field(at).data_type();
            if !holds(found, column.ty) {
                let wanted = column.ty.name();
                return Err(Error::Plan(format!(
                    "{path}: column `{}` is {found}, not {wanted}",
                    column.name
                )));
            }
            order.push(at);
        }
        Ok(Stream { path: path.to_string(), reader, order, batch: None, at: 0, row: 0 })
    }

    /// The batch with the next row; `None` at the end of the file.
    fn current(&mut self) -> Result<Option<RecordBatch>, Error> {
        while self.batch.as_ref().is_none_or(|b| self.at == b.num_rows()) {
            let damaged = |e| Error::Plan(format!("{}: damaged Arrow stream: {e}", self.path));
            (self.batch, self.at) = (self.reader.next().transpose().map_err(damaged)?, 0);
            if self.batch.is_none() {
                break;
            }
        }
        Ok(self.batch.clone())
    }

    fn skip(&mut self, rows: u64) -> Result<(), Error> {
        while self.row < rows {
            let Some(batch) = self.current()? else {
                return Err(Error::Plan(format!(
                    "{}: fewer than {rows} rows: it has changed since",
                    self.path
                )));
            };
            let step = (batch.num_rows() - self.at).min((rows - self.row) as usize);
            self.at += step;
            self.row += step as u64;
        }
        Ok(())
    }
}

/// True when arrays of `found` can be taken over as `ty` without a change of any value.
fn holds(found: &DataType, ty: LogicalType) -> bool {
    let same = match (ty.arrow(), found) {
        (DataType::Timestamp(unit, _), DataType::Timestamp(found, _)) => unit == *found,
        (DataType::List(item), DataType::List(found)) => item.data_type() == found.data_type(),
        (own, found) => own == *found,
    };
    same && (ty.entry().fed || ty.forms().is_some())
}

fn problem(
    layout: &Layout,
    arrays: &[ArrayRef],
    row: usize,
    scratch: &mut Vec<u8>,
) -> Option<(usize, Reason)> {
    arrays.iter().enumerate().find_map(|(at, array)| {
        if array.is_null(row) {
            return layout.required[at].then_some((at, Reason::Null));
        }
        let ty = layout.columns[at].ty;
        let text = || array.as_string::<i32>().value(row);
        let wrong = match ty {
            LogicalType::Text => {
                let limits = layout.limits[at];
                let long = || limits.and_then(|l| limit::text(&l, text().as_bytes()));
                let mut misspelled = |spelling| {
                    scratch.clear();
                    parse::spelled(text().as_bytes(), spelling, scratch).err()
                };
                let wrong = text().contains('\0').then_some(Reason::NulByte).or_else(long);
                wrong.or_else(|| misspelled(limits?.number?))
            }
            LogicalType::ListF64 | LogicalType::ListI64 => {
                (array.as_list::<i32>().value(row).null_count() > 0).then_some(Reason::NotList)
            }
            LogicalType::F32 | LogicalType::F64 => {
                layout.limits[at].and_then(|l| limit::float(&l, float(array, ty, row)).err())
            }
            _ => match ty.forms() {
                Some(forms) => {
                    scratch.clear();
                    let read = (forms.push)(text().as_bytes().trim_ascii(), scratch);
                    read.is_none().then_some(Reason::NotOf(ty))
                }
                None => {
                    layout.limits[at].and_then(|l| limit::integer(&l, ty, integer(array, ty, row)?).err())
                }
            },
        };
        wrong.map(|reason| (at, reason))
    })
}

/// A float that is not null.
fn float(array: &ArrayRef, ty: LogicalType, row: usize) -> f64 {
    match ty {
        LogicalType::F32 => array.as_primitive::<Float32Type>().value(row).into(),
        _ => array.as_primitive::<Float64Type>().value(row),
    }
}

/// An integer or a time that is not null; `None` for what else there is.
fn integer(array: &ArrayRef, ty: LogicalType, row: usize) -> Option<i64> {
    Some(match ty {
        LogicalType::I16 => array.as_primitive::<Int16Type>().value(row).into(),
        LogicalType::I32 => array.as_primitive::<Int32Type>().value(row).into(),
        LogicalType::I64 => array.as_primitive::<Int64Type>().value(row),
        LogicalType::U8 => array.as_primitive::<UInt8Type>().value(row).into(),
        LogicalType::U16 => array.as_primitive::<UInt16Type>().value(row).into(),
        LogicalType::U32 => array.as_primitive::<UInt32Type>().value(row).into(),
        LogicalType::TimeMs => array.as_primitive::<TimestampMillisecondType>().value(row),
        LogicalType::TimeUs => array.as_primitive::<TimestampMicrosecondType>().value(row),
        _ => return None,
    })
}

/// Of the texts and lists of a row.
fn varying_bytes(arrays: &[ArrayRef], row: usize) -> usize {
    let of = |array: &ArrayRef| match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value_length(row) as usize,
        DataType::List(_) => array.as_list::<i32>().value_length(row) as usize * 8,
        _ => 0,
    };
    arrays.iter().map(of).sum()
}

fn append(layout: &Layout, arrays: &[ArrayRef], rows: Range<usize>, out: &mut Columns) {
    for ((array, column), limits) in arrays.iter().zip(&mut out.columns).zip(&layout.limits) {
        append_column(array, rows.clone(), out.rows, column, limits.and_then(|limits| limits.number));
    }
    out.rows += rows.len();
}

fn append_column(
    array: &ArrayRef,
    rows: Range<usize>,
    before: usize,
    column: &mut Column,
    number: Option<Spelling>,
) {
    let ty = column.ty;
    match &mut column.values {
        Values::I32(v) => match ty {
            LogicalType::Bool => {
                let bits = array.as_boolean();
                v.extend(rows.clone().map(|r| i32::from(!bits.is_null(r) && bits.value(r))));
            }
            LogicalType::I16 => extend::<Int16Type, _>(array, rows.clone(), v, i32::from),
            LogicalType::U8 => extend::<UInt8Type, _>(array, rows.clone(), v, i32::from),
            LogicalType::U16 => extend::<UInt16Type, _>(array, rows.clone(), v, i32::from),
            _ => extend::<Int32Type, _>(array, rows.clone(), v, |n| n),
        },
        Values::I64(v) => match ty {
            LogicalType::U32 => extend::<UInt32Type, _>(array, rows.clone(), v, i64::from),
            LogicalType::U64 => extend::<UInt64Type, _>(array, rows.clone(), v, |n| n as i64),
            LogicalType::TimeMs => extend::<TimestampMillisecondType, _>(array, rows.clone(), v, |n| n),
            LogicalType::TimeUs => extend::<TimestampMicrosecondType, _>(array, rows.clone(), v, |n| n),
            _ => extend::<Int64Type, _>(array, rows.clone(), v, |n| n),
        },
        Values::F32(v) => extend::<Float32Type, _>(array, rows.clone(), v, |n| n),
        Values::F64(v) => extend::<Float64Type, _>(array, rows.clone(), v, |n| n),
        Values::Text(v) => {
            let texts = array.as_string::<i32>();
            for row in rows.clone() {
                let text = if texts.is_null(row) { b"" } else { texts.value(row).as_bytes() };
                // NULL is an empty text, and all others were judged.
                let pushed = match (ty.forms(), number) {
                    (Some(forms), _) => parse::push_form(v, ty, forms, text).is_ok(),
                    (None, Some(spelling)) => parse::push_number(v, text, spelling).is_ok(),
                    (None, None) => false,
                };
                if !pushed {
                    v.push(text);
                }
            }
        }
        Values::List(v) => {
            let lists = array.as_list::<i32>();
            for row in rows.clone().map(|r| (!lists.is_null(r)).then(|| lists.value(r))) {
                let end = match (&mut *v.items, row) {
                    (Values::I64(items), Some(list)) => {
                        items.extend_from_slice(list.as_primitive::<Int64Type>().values());
                        items.len()
                    }
                    (Values::F64(items), Some(list)) => {
                        items.extend_from_slice(list.as_primitive::<Float64Type>().values());
                        items.len()
                    }
                    _ => v.ends.last().map_or(0, |e| *e as usize),
                };
                v.ends.push(end as u32);
            }
        }
    }
    let has_null = rows.clone().any(|r| array.is_null(r));
    if has_null && column.present.is_empty() {
        column.present.resize(before, 1);
    }
    if has_null || !column.present.is_empty() {
        column.present.extend(rows.map(|r| u8::from(!array.is_null(r))));
    }
}

/// Null positions hold a zero, as everywhere.
fn extend<T: ArrowPrimitiveType, U: Default>(
    array: &ArrayRef,
    rows: Range<usize>,
    out: &mut Vec<U>,
    convert: impl Fn(T::Native) -> U,
) {
    let values = array.as_primitive::<T>();
    out.extend(rows.map(|r| if values.is_null(r) { U::default() } else { convert(values.value(r)) }));
}
