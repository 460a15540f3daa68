//! A run and a load in a thread of their own, as Python sees them.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value as Json;

use super::failure;
use inrush_drive::run;
use inrush_drive::watch::{Processes, ThreadNames};
use inrush_load as load;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::plan::RunPlan;

/// How often a waiting `poll` looks for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);

#[pyclass]
pub(super) struct Run {
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
pub(super) fn start(py: Python<'_>, plan_json: &str, parts_dir: PathBuf) -> PyResult<Run> {
    let handle = py
        .detach(|| RunPlan::from_json(plan_json).and_then(|plan| run::start(plan, &parts_dir)))
        .map_err(failure)?;
    Ok(Run { handle: Mutex::new(handle) })
}

#[pyclass]
pub(super) struct Load {
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
pub(super) fn start_load(py: Python<'_>, plan_json: &str) -> PyResult<Load> {
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
