//! One table as a file: columns that fill up, and the Arrow IPC stream they go to.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, ListArray, RecordBatch, StringArray};
use arrow_array::{UInt16Array, UInt32Array, UInt64Array, UInt8Array};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::SCHEMA_VERSION;
use crate::error::Error;

pub(super) type Column = (&'static str, Type);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    U8,
    U16,
    U32,
    U64,
    F64,
    Bool,
    Text,
    OptionalText,
    ListU32,
    ListU64,
}

pub(super) enum Cell<'a> {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F64(f64),
    Bool(bool),
    Text(&'a str),
    OptionalText(Option<&'a str>),
    ListU32(&'a [u32]),
    ListU64(&'a [u64]),
}

/// One file and the rows not yet in it.
pub(super) struct Table {
    name: &'static str,
    schema: Arc<Schema>,
    columns: Vec<Values>,
    writer: StreamWriter<File>,
}

enum Values {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    Text(Vec<Option<String>>),
    ListU32(Vec<u32>, Vec<usize>),
    ListU64(Vec<u64>, Vec<usize>),
}

impl Table {
    pub(super) fn create(dir: &Path, name: &'static str, columns: &[Column]) -> Result<Table, Error> {
        let path = dir.join(format!("{name}.arrows"));
        let file = File::create(&path).map_err(|e| Error::io(format!("{}", path.display()), e))?;
        let fields: Vec<Field> = columns.iter().map(|(name, ty)| field(name, *ty)).collect();
        let metadata =
            std::collections::HashMap::from([("inrush_schema".to_owned(), SCHEMA_VERSION.to_string())]);
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let writer = StreamWriter::try_new(file, &schema).map_err(|e| write_error(name, e))?;
        let columns = columns.iter().map(|(_, ty)| Values::new(*ty)).collect();
        Ok(Table { name, schema, columns, writer })
    }

    pub(super) fn append(&mut self, row: &[Cell<'_>]) {
        assert_eq!(row.len(), self.columns.len(), "a row of `{}` has every column", self.name);
        for (values, cell) in self.columns.iter_mut().zip(row) {
            values.push(cell);
        }
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        if self.columns[0].is_empty() {
            return Ok(());
        }
        let arrays = self.columns.iter_mut().map(Values::take).collect();
        let written = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .and_then(|batch| self.writer.write(&batch))
            .and_then(|()| self.writer.flush());
        written.map_err(|e| write_error(self.name, e))
    }

    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.writer.finish().map_err(|e| write_error(self.name, e))
    }
}

/// A full disk arrives here; the run ends with it, and what was flushed before stays readable.
fn write_error(table: &str, error: ArrowError) -> Error {
    let source = match error {
        ArrowError::IoError(_, source) => source,
        other => std::io::Error::other(other.to_string()),
    };
    Error::io(format!("writing the table `{table}` of the results"), source)
}

fn field(name: &str, ty: Type) -> Field {
    let list = |item| DataType::List(Arc::new(Field::new("item", item, false)));
    let data_type = match ty {
        Type::U8 => DataType::UInt8,
        Type::U16 => DataType::UInt16,
        Type::U32 => DataType::UInt32,
        Type::U64 => DataType::UInt64,
        Type::F64 => DataType::Float64,
        Type::Bool => DataType::Boolean,
        Type::Text | Type::OptionalText => DataType::Utf8,
        Type::ListU32 => list(DataType::UInt32),
        Type::ListU64 => list(DataType::UInt64),
    };
    Field::new(name, data_type, ty == Type::OptionalText)
}

impl Values {
    fn new(ty: Type) -> Values {
        match ty {
            Type::U8 => Values::U8(Vec::new()),
            Type::U16 => Values::U16(Vec::new()),
            Type::U32 => Values::U32(Vec::new()),
            Type::U64 => Values::U64(Vec::new()),
            Type::F64 => Values::F64(Vec::new()),
            Type::Bool => Values::Bool(Vec::new()),
            Type::Text | Type::OptionalText => Values::Text(Vec::new()),
            Type::ListU32 => Values::ListU32(Vec::new(), Vec::new()),
            Type::ListU64 => Values::ListU64(Vec::new(), Vec::new()),
        }
    }

    fn push(&mut self, cell: &Cell<'_>) {
        match (self, cell) {
            (Values::U8(values), Cell::U8(v)) => values.push(*v),
            (Values::U16(values), Cell::U16(v)) => values.push(*v),
            (Values::U32(values), Cell::U32(v)) => values.push(*v),
            (Values::U64(values), Cell::U64(v)) => values.push(*v),
            (Values::F64(values), Cell::F64(v)) => values.push(*v),
            (Values::Bool(values), Cell::Bool(v)) => values.push(*v),
            (Values::Text(values), Cell::Text(v)) => values.push(Some((*v).to_owned())),
            (Values::Text(values), Cell::OptionalText(v)) => values.push(v.map(str::to_owned)),
            (Values::ListU32(items, lengths), Cell::ListU32(v)) => {
                items.extend_from_slice(v);
                lengths.push(v.len());
            }
            (Values::ListU64(items, lengths), Cell::ListU64(v)) => {
                items.extend_from_slice(v);
                lengths.push(v.len());
            }
            _ => unreachable!("each append writes the types that `create` gave its columns"),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Values::U8(v) => v.is_empty(),
            Values::U16(v) => v.is_empty(),
            Values::U32(v) => v.is_empty(),
            Values::U64(v) => v.is_empty(),
            Values::F64(v) => v.is_empty(),
            Values::Bool(v) => v.is_empty(),
            Values::Text(v) => v.is_empty(),
            Values::ListU32(_, lengths) | Values::ListU64(_, lengths) => lengths.is_empty(),
        }
    }

    /// The values as an array; none are left.
    fn take(&mut self) -> ArrayRef {
        use std::mem::take;
        match self {
            Values::U8(v) => Arc::new(UInt8Array::from(take(v))),
            Values::U16(v) => Arc::new(UInt16Array::from(take(v))),
            Values::U32(v) => Arc::new(UInt32Array::from(take(v))),
            Values::U64(v) => Arc::new(UInt64Array::from(take(v))),
            Values::F64(v) => Arc::new(Float64Array::from(take(v))),
            Values::Bool(v) => Arc::new(BooleanArray::from(take(v))),
            Values::Text(v) => Arc::new(StringArray::from(take(v))),
            Values::ListU32(items, lengths) => {
                let items = Arc::new(UInt32Array::from(take(items)));
                list(DataType::UInt32, items, take(lengths))
            }
            Values::ListU64(items, lengths) => {
                let items = Arc::new(UInt64Array::from(take(items)));
                list(DataType::UInt64, items, take(lengths))
            }
        }
    }
}

fn list(item: DataType, items: ArrayRef, lengths: Vec<usize>) -> ArrayRef {
    let field = Arc::new(Field::new("item", item, false));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), items, None))
}
