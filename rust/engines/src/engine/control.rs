//! One target and its statements, outside a run.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use serde_json::json;

use super::{build, Answer, Context, Engine};
use inrush_rows::clock::Clock;
use inrush_rows::error::Error;
use inrush_rows::plan::{RunPlan, Statement, Target};
use inrush_rows::rows::{value_text, Value};

/// A target outside a run, for readiness checks, clean-up and what is asked beside a load.
pub struct Control {
    engine: Arc<dyn Engine>,
}

impl Control {
    /// An embedded database is open until this is dropped; a server is connected to as each statement wants it.
    pub fn open(target: Target) -> Result<Control, Error> {
        let plan = RunPlan::of_target(target, Vec::new());
        let context =
            Context { plan: Arc::new(plan), clock: Clock::start(), stop: Arc::new(AtomicBool::new(false)) };
        Ok(Control { engine: build(&context)? })
    }

    /// One statement: JSON {"names", "rows"}.
    pub fn ask(&self, statement: Statement, limit_ns: u64) -> Result<String, Error> {
        let Answer { names, rows } = self.engine.ask(&statement, limit_ns)?;
        let rows: Vec<Vec<Option<String>>> = rows
            .iter()
            .map(|row| row.iter().map(|v| (*v != Value::Null).then(|| value_text(v))).collect())
            .collect();
        Ok(json!({ "names": *names, "rows": rows }).to_string())
    }
}

/// One statement on a target that is opened for it.
pub fn control(target: Target, statement: Statement, limit_ns: u64) -> Result<String, Error> {
    Control::open(target)?.ask(statement, limit_ns)
}
