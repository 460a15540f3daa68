//! One table as a file: Arrow builders that fill up, and the IPC stream they go to.

use std::fs::File;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, ListBuilder, StringBuilder, UInt16Builder, UInt32Builder,
    UInt64Builder, UInt8Builder,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::SCHEMA_VERSION;
use inrush_rows::error::Error;

/// A row of a table: its columns and what they hold, declared together by `rows!`.
pub(super) trait Row {
    fn columns() -> Vec<Column>;
    /// Appends one value to each of `columns`, which are its own.
    fn append(&self, columns: &mut [Column]);
}

/// A value that a column can hold.
pub(super) trait Cell {
    type Builder: ArrayBuilder;
    const OPTIONAL: bool = false;
    fn builder() -> Self::Builder;
    fn append(&self, to: &mut Self::Builder);
}

pub(super) struct Column {
    name: &'static str,
    optional: bool,
    values: Box<dyn ArrayBuilder>,
}

impl Column {
    /// Empty, of the type that `get` takes out of a row.
    pub(super) fn of<R, C: Cell>(name: &'static str, _get: fn(&R) -> &C) -> Column {
        Column { name, optional: C::OPTIONAL, values: Box::new(C::builder()) }
    }

    pub(super) fn append<R, C: Cell>(&mut self, row: &R, get: fn(&R) -> &C) {
        let values = self.values.as_any_mut().downcast_mut().expect("`of` made it for this type");
        get(row).append(values);
    }

    fn field(&mut self) -> Field {
        let data_type = self.values.finish().data_type().clone();
        Field::new(self.name, data_type, self.optional)
    }
}

/// One file and the rows not yet in it.
pub(super) struct Table<R> {
    stream: Stream,
    row: PhantomData<R>,
}

pub(super) struct Stream {
    name: &'static str,
    schema: Arc<Schema>,
    columns: Vec<Column>,
    writer: StreamWriter<File>,
}

impl<R: Row> Table<R> {
    pub(super) fn create(dir: &Path, name: &'static str) -> Result<Table<R>, Error> {
        let path = dir.join(format!("{name}.arrows"));
        let file = File::create(&path).map_err(|e| Error::io(format!("{}", path.display()), e))?;
        let mut columns = R::columns();
        let fields: Vec<Field> = columns.iter_mut().map(Column::field).collect();
        let metadata =
            std::collections::HashMap::from([("inrush_schema".to_owned(), SCHEMA_VERSION.to_string())]);
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let writer = StreamWriter::try_new(file, &schema).map_err(|e| write_error(name, e))?;
        Ok(Table { stream: Stream { name, schema, columns, writer }, row: PhantomData })
    }

    pub(super) fn append(&mut self, row: &R) {
        row.append(&mut self.stream.columns);
    }

    pub(super) fn stream(&mut self) -> &mut Stream {
        &mut self.stream
    }
}

impl Stream {
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        if self.columns[0].values.is_empty() {
            return Ok(());
        }
        let arrays = self.columns.iter_mut().map(|column| column.values.finish()).collect();
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

macro_rules! plain {
    ($($value:ty => $builder:ty),+ $(,)?) => {$(
        impl Cell for $value {
            type Builder = $builder;
            fn builder() -> $builder {
                <$builder>::new()
            }
            fn append(&self, to: &mut $builder) {
                to.append_value(self.to_owned());
            }
        }
    )+};
}

plain! {
    u8 => UInt8Builder,
    u16 => UInt16Builder,
    u32 => UInt32Builder,
    u64 => UInt64Builder,
    f64 => Float64Builder,
    bool => BooleanBuilder,
    String => StringBuilder,
    &'static str => StringBuilder,
}

impl Cell for Option<u64> {
    type Builder = UInt64Builder;
    const OPTIONAL: bool = true;

    fn builder() -> UInt64Builder {
        UInt64Builder::new()
    }

    fn append(&self, to: &mut UInt64Builder) {
        to.append_option(*self);
    }
}

impl Cell for Option<String> {
    type Builder = StringBuilder;
    const OPTIONAL: bool = true;

    fn builder() -> StringBuilder {
        StringBuilder::new()
    }

    fn append(&self, to: &mut StringBuilder) {
        to.append_option(self.as_deref());
    }
}

macro_rules! list {
    ($item:ty, $builder:ty, $data_type:expr) => {
        impl Cell for Vec<$item> {
            type Builder = ListBuilder<$builder>;
            fn builder() -> ListBuilder<$builder> {
                ListBuilder::new(<$builder>::new()).with_field(Field::new("item", $data_type, false))
            }
            fn append(&self, to: &mut ListBuilder<$builder>) {
                to.values().append_slice(self);
                to.append(true);
            }
        }
    };
}

list!(u32, UInt32Builder, DataType::UInt32);
list!(u64, UInt64Builder, DataType::UInt64);
