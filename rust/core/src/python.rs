//! The border. The only file that knows Python; `python/inrush/_core.pyi` documents it.

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value as Json;

use inrush_drive::calibrate;
use inrush_drive::run;
use inrush_drive::watch::{Processes, ThreadNames};
use inrush_engines::engine::{self, arrow};
use inrush_load as load;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{RunPlan, Statement, TablePlan, Target};
use inrush_rows::rows::files::sample::Found;
use inrush_rows::rows::{self, RowGen};
use load::look::Like;

pyo3::create_exception!(_core, CoreFailure, pyo3::exceptions::PyException, "args: (kind, message)");

const STREAM_BATCH_ROWS: usize = 65_536;
/// How often a waiting `poll` looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("CoreFailure", m.py().get_type::<CoreFailure>())?;
    m.add_class::<Run>()?;
    m.add_class::<Load>()?;
    m.add_class::<ArrowStream>()?;
    m.add_class::<Control>()?;
    m.add_function(wrap_pyfunction!(start, m)?)?;
    m.add_function(wrap_pyfunction!(start_load, m)?)?;
    m.add_function(wrap_pyfunction!(ask_load_server, m)?)?;
    m.add_function(wrap_pyfunction!(file_digest, m)?)?;
    m.add_function(wrap_pyfunction!(sample_files, m)?)?;
    m.add_function(wrap_pyfunction!(rounded_values, m)?)?;
    m.add_function(wrap_pyfunction!(file_rows, m)?)?;
    m.add_function(wrap_pyfunction!(read_files, m)?)?;
    m.add_function(wrap_pyfunction!(read_table, m)?)?;
    m.add_function(wrap_pyfunction!(self_signed, m)?)?;
    m.add_function(wrap_pyfunction!(check_plan, m)?)?;
    m.add_function(wrap_pyfunction!(check_table, m)?)?;
    m.add_function(wrap_pyfunction!(generators, m)?)?;
    m.add_function(wrap_pyfunction!(types, m)?)?;
    m.add_function(wrap_pyfunction!(engines, m)?)?;
    m.add_function(wrap_pyfunction!(read_address, m)?)?;
    m.add_function(wrap_pyfunction!(max_depth, m)?)?;
    m.add_function(wrap_pyfunction!(generate, m)?)?;
    m.add_function(wrap_pyfunction!(control, m)?)?;
    m.add_function(wrap_pyfunction!(calibrate_, m)?)?;
    m.add_function(wrap_pyfunction!(build_profile, m)?)?;
    m.add_function(wrap_pyfunction!(version, m)?)
}

/// Every `Error` variant by its remedy; `inrush.errors` makes the classes people see.
fn failure(error: Error) -> PyErr {
    CoreFailure::new_err((error.kind(), error.to_string()))
}

#[pyclass]
struct Run {
    handle: Mutex<run::Handle>,
}

#[pymethods]
impl Run {
    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<String>> {
        polled(py, timeout_s, |tick| {
            locked(&self.handle).poll(tick).iter().map(run::Event::to_json).collect()
        })
    }

    #[pyo3(signature = (processes=None, threads=None))]
    fn resume(&self, processes: Option<Processes>, threads: Option<ThreadNames>) {
        locked(&self.handle).resume(processes.unwrap_or_default(), threads.unwrap_or_default());
    }

    #[pyo3(signature = (at_ns, others_json=None))]
    fn start_at(&self, at_ns: u64, others_json: Option<&str>) -> PyResult<()> {
        let others = serde_json::from_str(others_json.unwrap_or("[]"));
        let others = others.map_err(|e| PyValueError::new_err(format!("others_json: {e}")))?;
        locked(&self.handle).start_at(run::Start { at_ns, others });
        Ok(())
    }

    fn stop(&self) {
        locked(&self.handle).stop();
    }

    fn done(&self) -> bool {
        locked(&self.handle).done()
    }
}

#[pyfunction]
fn start(py: Python<'_>, plan_json: &str, parts_dir: PathBuf) -> PyResult<Run> {
    let handle = py
        .detach(|| RunPlan::from_json(plan_json).and_then(|plan| run::start(plan, &parts_dir)))
        .map_err(failure)?;
    Ok(Run { handle: Mutex::new(handle) })
}

#[pyclass]
struct Load {
    handle: Mutex<load::Handle>,
}

#[pymethods]
impl Load {
    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<String>> {
        polled(py, timeout_s, |tick| locked(&self.handle).poll(tick).iter().map(Json::to_string).collect())
    }

    fn stop(&self) {
        locked(&self.handle).stop();
    }

    fn done(&self) -> bool {
        locked(&self.handle).done()
    }
}

#[pyfunction]
fn start_load(py: Python<'_>, plan_json: &str) -> PyResult<Load> {
    let handle = py.detach(|| load::start(plan_json)).map_err(failure)?;
    Ok(Load { handle: Mutex::new(handle) })
}

fn locked<H>(handle: &Mutex<H>) -> MutexGuard<'_, H> {
    handle.lock().unpoisoned()
}

/// Events of a handle within so long; others may use the interpreter meanwhile, and Ctrl-C is seen.
fn polled(
    py: Python<'_>,
    timeout_s: f64,
    mut poll: impl FnMut(Duration) -> Vec<String> + Send,
) -> PyResult<Vec<String>> {
    let mut left =
        Duration::try_from_secs_f64(timeout_s).map_err(|e| PyValueError::new_err(e.to_string()))?;
    loop {
        let tick = TICK.min(left);
        let events = py.detach(|| poll(tick));
        py.check_signals()?;
        if !events.is_empty() || left <= tick {
            return Ok(events);
        }
        left -= tick;
    }
}

/// Bytes of a start of a file, their digest, and whether they end with a line.
type ToldStart = (u64, String, bool);

#[pyfunction]
#[pyo3(signature = (path, sizes = Vec::new()))]
fn file_digest(py: Python<'_>, path: PathBuf, sizes: Vec<u64>) -> PyResult<(String, u64, Vec<ToldStart>)> {
    let (digest, bytes, starts) = py.detach(|| load::content::digests(&path, &sizes)).map_err(failure)?;
    let shown = |start: load::content::Start| (start.bytes, format!("{:032x}", start.digest), start.ended);
    Ok((format!("{digest:032x}"), bytes, starts.into_iter().map(shown).collect()))
}

/// Bytes, times of the last write and the last change in ns, number on its disk; then digest, the place of the file that
/// stands for it, and what was found of it as JSON.
type Looked = ((u64, i64, i64, u64), Option<String>, Option<usize>, Option<String>);

/// What is told of one file: a text where it cannot be read.
#[derive(IntoPyObject)]
enum Told {
    Looked(Looked),
    Unread(String),
}

#[pyfunction]
fn sample_files(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    said_json: &str,
    rows: u64,
    alike: bool,
) -> PyResult<Vec<Told>> {
    let said = serde_json::from_str(said_json).map_err(unread)?;
    let found = py.detach(|| load::look::look(&paths, &said, rows, alike));
    let shown = |look: load::look::Look| {
        let stamp = (look.stamp.bytes, look.stamp.mtime_ns, look.stamp.ctime_ns, look.stamp.inode);
        let (like, sampled) = match look.found {
            Like::Other(k) => (Some(k), None),
            Like::Itself(Found::Other) => (None, None),
            Like::Itself(Found::Refused(why)) => {
                (None, Some(serde_json::json!({ "refused": why }).to_string()))
            }
            Like::Itself(Found::Sample(sample)) => {
                (None, Some(serde_json::to_string(&sample).expect("it is plain data")))
            }
        };
        Told::Looked((stamp, look.digest.map(|d| format!("{d:032x}")), like, sampled))
    };
    Ok(found.into_iter().map(|look| look.map_or_else(Told::Unread, shown)).collect())
}

/// Values of a file that are other numbers as floats, of each column.
#[pyfunction]
fn rounded_values(py: Python<'_>, floats_json: &str) -> PyResult<Vec<u64>> {
    let floats = serde_json::from_str(floats_json).map_err(unread)?;
    py.detach(|| rows::files::sample::rounded(&floats)).map_err(failure)
}

#[pyfunction]
fn read_files(py: Python<'_>, plan_json: &str) -> PyResult<String> {
    let plan = serde_json::from_str(plan_json).map_err(|e| failure(Error::Plan(e.to_string())))?;
    py.detach(|| load::readback::files(plan)).map(|found| found.to_string()).map_err(failure)
}

#[pyfunction]
fn read_table(py: Python<'_>, scan_json: &str) -> PyResult<String> {
    let plan = serde_json::from_str(scan_json).map_err(|e| failure(Error::Plan(e.to_string())))?;
    py.detach(|| load::readback::table(plan, Default::default()))
        .map(|found| found.to_string())
        .map_err(failure)
}

#[pyfunction]
fn ask_load_server(py: Python<'_>, link_json: &str, question_json: &str) -> PyResult<String> {
    py.detach(|| load::link::ask(link_json, question_json)).map_err(failure)
}

#[pyfunction]
fn self_signed(hosts: Vec<String>) -> PyResult<(Vec<u8>, Vec<u8>)> {
    let made = load::certificate::self_signed(&hosts).map_err(failure)?;
    Ok((made.certificate, made.key))
}

#[pyfunction]
fn check_plan(plan_json: &str) -> Vec<String> {
    match RunPlan::from_json(plan_json) {
        Ok(plan) => run::problems(&plan),
        Err(error) => vec![error.to_string()],
    }
}

#[pyfunction]
fn check_table(table_json: &str, seed: u64, epoch_ns: i64) -> PyResult<Vec<(String, String)>> {
    rows::check_table(table_json, seed, epoch_ns).map_err(failure)
}

#[pyfunction]
fn file_rows(py: Python<'_>, table_json: &str, seed: u64, epoch_ns: i64) -> PyResult<Vec<u64>> {
    py.detach(|| rows::file_rows(table_json, seed, epoch_ns)).map_err(failure)
}

#[pyfunction]
fn generators() -> String {
    rows::generators_json()
}

#[pyfunction]
fn types() -> String {
    inrush_rows::types::types_json()
}

#[pyfunction]
fn engines() -> Vec<&'static str> {
    engine::names()
}

#[pyfunction]
fn read_address(text: &str) -> String {
    engine::address::read(text).to_string()
}

#[pyfunction]
fn max_depth(engine: &str) -> Option<u32> {
    engine::max_depth(engine)
}

#[pyfunction]
fn generate(table_json: &str, seed: u64, epoch_ns: i64, first_row: u64, rows: u64) -> PyResult<ArrowStream> {
    let mut table: TablePlan =
        serde_json::from_str(table_json).map_err(|e| failure(Error::Plan(e.to_string())))?;
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
struct ArrowStream {
    source: Mutex<Option<Generated>>,
}

const STREAM_NAME: &CStr = c"arrow_array_stream";

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

#[pyfunction]
#[pyo3(signature = (target_json, text, limit_s, directives_json=None))]
fn control(
    py: Python<'_>,
    target_json: &str,
    text: &str,
    limit_s: f64,
    directives_json: Option<&str>,
) -> PyResult<String> {
    let (target, statement) = (target_of(target_json)?, statement_of(text, directives_json)?);
    py.detach(|| engine::control::control(target, statement, (limit_s * 1e9) as u64)).map_err(failure)
}

#[pyclass]
struct Control {
    open: Mutex<Option<engine::control::Control>>,
}

#[pymethods]
impl Control {
    #[new]
    fn new(py: Python<'_>, target_json: &str) -> PyResult<Control> {
        let target = target_of(target_json)?;
        let open = py.detach(|| engine::control::Control::open(target)).map_err(failure)?;
        Ok(Control { open: Mutex::new(Some(open)) })
    }

    #[pyo3(signature = (text, limit_s, directives_json=None))]
    fn ask(
        &self,
        py: Python<'_>,
        text: &str,
        limit_s: f64,
        directives_json: Option<&str>,
    ) -> PyResult<String> {
        let statement = statement_of(text, directives_json)?;
        py.detach(|| match &*self.open.lock().unpoisoned() {
            Some(open) => open.ask(statement, (limit_s * 1e9) as u64),
            None => Err(Error::Plan("this target was closed; open it again".into())),
        })
        .map_err(failure)
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.open.lock().unpoisoned().take()));
    }
}

fn target_of(json: &str) -> PyResult<Target> {
    serde_json::from_str(json).map_err(unread)
}

fn statement_of(text: &str, directives_json: Option<&str>) -> PyResult<Statement> {
    let directives = directives_json.map(serde_json::from_str).transpose().map_err(unread)?;
    Ok(Statement { directives, ..Statement::from(text) })
}

fn unread(error: serde_json::Error) -> PyErr {
    failure(Error::Plan(error.to_string()))
}

#[pyfunction]
#[pyo3(name = "calibrate")]
fn calibrate_(py: Python<'_>, what: &str, seconds: f64) -> PyResult<String> {
    py.detach(|| calibrate::calibrate(what, seconds)).map_err(failure)
}

#[pyfunction]
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    }
}

#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
