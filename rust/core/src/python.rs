//! The border. Nothing else knows Python; `python/inrush/_core.pyi` documents it.

mod control;
mod files;
mod stream;
mod work;

use pyo3::prelude::*;

use inrush_drive::calibrate;
use inrush_drive::run;
use inrush_engines::engine;
use inrush_load as load;
use inrush_rows::error::Error;
use inrush_rows::plan::RunPlan;
use inrush_rows::rows;

pyo3::create_exception!(_core, CoreFailure, pyo3::exceptions::PyException, "args: (kind, message)");

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("CoreFailure", m.py().get_type::<CoreFailure>())?;
    m.add_class::<work::Run>()?;
    m.add_class::<work::Load>()?;
    m.add_class::<stream::ArrowStream>()?;
    m.add_class::<control::Control>()?;
    m.add_function(wrap_pyfunction!(work::start, m)?)?;
    m.add_function(wrap_pyfunction!(work::start_load, m)?)?;
    m.add_function(wrap_pyfunction!(ask_load_server, m)?)?;
    m.add_function(wrap_pyfunction!(files::file_digest, m)?)?;
    m.add_function(wrap_pyfunction!(files::sample_files, m)?)?;
    m.add_function(wrap_pyfunction!(files::rounded_values, m)?)?;
    m.add_function(wrap_pyfunction!(files::date_format, m)?)?;
    m.add_function(wrap_pyfunction!(files::file_rows, m)?)?;
    m.add_function(wrap_pyfunction!(files::read_files, m)?)?;
    m.add_function(wrap_pyfunction!(files::read_table, m)?)?;
    m.add_function(wrap_pyfunction!(self_signed, m)?)?;
    m.add_function(wrap_pyfunction!(check_plan, m)?)?;
    m.add_function(wrap_pyfunction!(check_table, m)?)?;
    m.add_function(wrap_pyfunction!(generators, m)?)?;
    m.add_function(wrap_pyfunction!(types, m)?)?;
    m.add_function(wrap_pyfunction!(engines, m)?)?;
    m.add_function(wrap_pyfunction!(read_address, m)?)?;
    m.add_function(wrap_pyfunction!(max_depth, m)?)?;
    m.add_function(wrap_pyfunction!(stream::generate, m)?)?;
    m.add_function(wrap_pyfunction!(control::control, m)?)?;
    m.add_function(wrap_pyfunction!(calibrate_, m)?)?;
    m.add_function(wrap_pyfunction!(build_profile, m)?)?;
    m.add_function(wrap_pyfunction!(version, m)?)
}

/// Every `Error` variant by its remedy; `inrush.errors` makes the classes people see.
fn failure(error: Error) -> PyErr {
    CoreFailure::new_err((error.kind(), error.to_string()))
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
