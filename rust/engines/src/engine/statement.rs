//! Statements of a plan on an engine, off the clock.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::{Answer, Engine};
use inrush_rows::error::{AfterLimit, Error};
use inrush_rows::plan::{Repeat, Statement};
use inrush_rows::rows::{value_text, Value};

const ASKED_AGAIN: Duration = Duration::from_millis(100);

/// Runs a statement as its `repeat` says. False: `stop` was set before it was done.
///
/// The limit is that of each text that is run, and of all the asking of `UntilNoRows`; 0 is none.
pub fn perform(
    engine: &dyn Engine,
    statement: &Statement,
    limit_ns: u64,
    stop: &AtomicBool,
) -> Result<bool, Error> {
    match statement.repeat {
        None => engine.ask(statement, limit_ns).map(|_| true),
        Some(Repeat::EachRow) => each_row(engine, statement, limit_ns),
        Some(Repeat::UntilNoRows) => until_no_rows(engine, statement, limit_ns, stop),
    }
}

fn each_row(engine: &dyn Engine, query: &Statement, limit_ns: u64) -> Result<bool, Error> {
    for statement in statements(query, engine.ask(query, limit_ns)?)? {
        engine.control(&statement, limit_ns)?;
    }
    Ok(true)
}

/// The first value of each row of `answer` to a query for statements; NULL is none. Errors: one that is no text.
pub fn statements(query: &Statement, answer: Answer) -> Result<Vec<String>, Error> {
    let text = |row: Vec<Value>| match row.into_iter().next() {
        Some(Value::Text(text)) => Some(Ok(text)),
        Some(Value::Null) | None => None,
        Some(other) => Some(Err(Error::Plan(format!(
            "{}: a row of it begins with {}, which is no statement",
            query.text,
            value_text(&other)
        )))),
    };
    answer.rows.into_iter().filter_map(text).collect()
}

fn until_no_rows(
    engine: &dyn Engine,
    query: &Statement,
    limit_ns: u64,
    stop: &AtomicBool,
) -> Result<bool, Error> {
    let until = (limit_ns > 0).then(|| Instant::now() + Duration::from_nanos(limit_ns));
    loop {
        let answer = engine.ask(query, limit_ns)?;
        let Some(row) = answer.rows.first() else { return Ok(true) };
        if stop.load(Relaxed) {
            return Ok(false);
        }
        if until.is_some_and(|until| Instant::now() > until) {
            // What is still there says more than the question: the table that is waited for, and why.
            let there: Vec<String> = row.iter().map(value_text).collect();
            let what = format!("{}; still there: {}", query.text, there.join(", "));
            return Err(Error::Deadline { what, limit_s: limit_ns as f64 / 1e9, after: AfterLimit::Idle });
        }
        std::thread::sleep(ASKED_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Caps, OpId, Session};
    use super::*;

    /// Has a table that is never ready.
    struct Suspended;

    impl Engine for Suspended {
        fn caps(&self) -> Caps {
            Caps::default()
        }
        fn open(&self, _ops: &[OpId]) -> Result<Box<dyn Session>, Error> {
            unreachable!("it is asked off the clock")
        }
        fn control(&self, _text: &str, _limit_ns: u64) -> Result<Answer, Error> {
            let row = vec![Value::Text("ports".into()), Value::Text("suspended".into())];
            Ok(Answer { names: ["name".into(), "state".into()].into(), rows: vec![row] })
        }
    }

    #[test]
    fn a_wait_ends_at_its_limit_and_says_what_it_waited_for() {
        let waited = Statement { repeat: Some(Repeat::UntilNoRows), ..Statement::from("SELECT unseen") };
        let ended = perform(&Suspended, &waited, 1, &AtomicBool::new(false)).expect_err("it waits for ever");
        assert_eq!(
            ended.to_string(),
            "SELECT unseen; still there: ports, suspended: not finished after 0.000000001 s"
        );
    }

    #[test]
    fn rows_of_a_query_for_statements_are_texts_or_null() {
        let query = Statement::from("SELECT s");
        let answer =
            |first: Value| Answer { names: ["s".into()].into(), rows: vec![vec![first, Value::I64(1)]] };
        assert_eq!(statements(&query, answer(Value::Text("DROP".into()))).expect("texts"), ["DROP"]);
        assert!(statements(&query, answer(Value::Null)).expect("none").is_empty());
        let refused = statements(&query, answer(Value::I64(7))).expect_err("no statement");
        assert!(refused.to_string().contains("SELECT s: a row of it begins with 7"), "{refused}");
    }
}
