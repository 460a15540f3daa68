//! Statements off the clock, on a target that is opened for one of them or for several.

use std::sync::Mutex;

use pyo3::prelude::*;

use super::{failure, unread};
use inrush_engines::engine;
use inrush_rows::error::Error;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::{Statement, Target};

#[pyfunction]
#[pyo3(signature = (target_json, text, limit_s, directives_json=None))]
pub(super) fn control(
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
pub(super) struct Control {
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
