//! Rows of a generator as an Arrow stream.

use std::ffi::CStr;
use std::sync::Mutex;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::{failure, unread};
use inrush_engines::engine::arrow;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::TablePlan;
use inrush_rows::rows::RowGen;

const STREAM_BATCH_ROWS: usize = 65_536;
const STREAM_NAME: &CStr = c"arrow_array_stream";

#[pyfunction]
pub(super) fn generate(
    table_json: &str,
    seed: u64,
    epoch_ns: i64,
    first_row: u64,
    rows: u64,
) -> PyResult<ArrowStream> {
    let mut table: TablePlan = serde_json::from_str(table_json).map_err(unread)?;
    // Logical types, whatever an engine makes of them.
    table.columns.iter_mut().for_each(|c| c.wire.clear());
    let schema = arrow::schema_of(&table.columns);
    let generator = RowGen::new(&table, seed, epoch_ns).map_err(failure)?;
    Ok(ArrowStream {
        source: Mutex::new(Some(Generated { generator, schema, next: first_row, end: first_row + rows })),
    })
}

struct Generated {
    generator: RowGen,
    schema: SchemaRef,
    next: u64,
    end: u64,
}

impl Iterator for Generated {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        let rows = STREAM_BATCH_ROWS.min((self.end - self.next) as usize);
        if rows == 0 {
            return None;
        }
        let mut columns = self.generator.columns(rows);
        self.generator.fill(self.next, rows, &mut columns);
        self.next += rows as u64;
        Some(arrow::record_batch(&columns, &self.schema))
    }
}

/// One Arrow stream, handed over once.
#[pyclass]
pub(super) struct ArrowStream {
    source: Mutex<Option<Generated>>,
}

#[pymethods]
impl ArrowStream {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The consumer casts: a producer may ignore the wish (Arrow PyCapsule interface).
        drop(requested_schema);
        let source = self.source.lock().unpoisoned().take();
        let source =
            source.ok_or_else(|| PyValueError::new_err("this stream was already read; generate again"))?;
        let schema = source.schema.clone();
        let reader: Box<dyn RecordBatchReader + Send> =
            Box::new(RecordBatchIterator::new(source.map(Ok), schema));
        // FFI_ArrowArrayStream releases itself when dropped, unless the consumer has moved it out.
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM_NAME)
    }
}
