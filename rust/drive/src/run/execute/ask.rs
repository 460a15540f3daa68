//! Answers for the oracle.

use std::collections::HashMap;

use super::Running;
use crate::drive::EndedBy;
use crate::tables::AnswerRow;
use inrush_engines::engine::{Answer, Context, Done, Ns, OpId, Outcome, Session, Submit, Work};
use inrush_engines::mix::{operation_id, Share, Shared};
use inrush_rows::error::Error;
use inrush_rows::plan::OpKind;
use inrush_rows::rows::value_text;
use inrush_rows::rows::{Generators, Value};

impl Running {
    /// Each query once, alone: what the oracle compares. Not timed.
    pub(super) fn ask(&mut self, index: usize, operations: &[String], now_ns: u64) -> Result<EndedBy, Error> {
        let engine = self.engine()?;
        let plan = self.context.plan.clone();
        let generators = Generators::new(plan.clone());
        for name in operations {
            let op = operation_id(&plan, name)?;
            if plan.operations[op].kind != OpKind::Query {
                continue;
            }
            let mut params = Shared::new(&generators, op, "oracle")?.in_session(Share::WHOLE)?;
            let mut values = params.values();
            params.fill(0, now_ns, &mut values);
            let mut session = engine.open(&[op])?;
            session.keep_answers();
            call(session.as_mut(), &self.context, op, &values)?;
            let answer =
                session.answer(0).ok_or_else(|| Error::Plan(format!("{name} keeps no answer to ask for")))?;
            let of_params = plan.operations[op].params.iter().zip(&values);
            let given: HashMap<&str, String> =
                of_params.map(|(p, v)| (p.name.as_str(), value_text(v))).collect();
            self.note(index, name, serde_json::to_string(&given).expect("a map of texts is JSON"), answer);
            session.close()?;
        }
        Ok(EndedBy::Work)
    }

    fn note(&mut self, index: usize, name: &str, params: String, answer: &Answer) {
        let mut cell = AnswerRow {
            segment: index as u16,
            op: name.to_owned(),
            params,
            // An empty answer is an answer: one cell without a place says that it was given.
            row: u32::MAX,
            col: 0,
            name: String::new(),
            value: None,
        };
        if answer.rows.is_empty() {
            self.tables.answer(&cell);
        }
        for (row, values) in answer.rows.iter().enumerate() {
            for (col, value) in values.iter().enumerate() {
                (cell.row, cell.col) = (row as u32, col as u32);
                cell.name = answer.names.get(col).cloned().unwrap_or_default();
                cell.value = (*value != Value::Null).then(|| value_text(value));
                self.tables.answer(&cell);
            }
        }
    }
}

/// One call, to its end.
fn call(session: &mut dyn Session, context: &Context, op: OpId, values: &[Value]) -> Result<(), Error> {
    let plan = context.op(op);
    let mut done: Vec<Done> = Vec::with_capacity(1);
    if matches!(session.submit(0, op, Work::Params(values)), Submit::Full) {
        return Err(Error::Plan(format!(
            "{}: a session that has nothing in flight takes no call",
            plan.name
        )));
    }
    session.flush();
    session.poll(Ns::MAX, &mut done);
    let [ended] = done.as_slice() else {
        return Err(Error::Plan(format!("{}: {} answers came to one call", plan.name, done.len())));
    };
    if ended.outcome == Outcome::Ok {
        return Ok(());
    }
    let message = session.failure(ended.ticket).unwrap_or_else(|| ended.outcome.name().to_owned());
    let target = context.plan.target.url.clone();
    Err(Error::Statement { target, statement: plan.text.clone(), message })
}
