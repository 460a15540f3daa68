//! Promises about answers, checked between two calls and outside the timed part.

use std::sync::Arc;

use crate::drive::source::TableCount;
use crate::engine::Answer;
use crate::error::Error;
use crate::plan::{Hold, OpPlan};
use crate::proof::value_text;
use crate::rows::{Columns, Generators, RowGen, SeriesIndex, Value};

pub enum Check {
    /// Every returned row is one that the generator makes.
    Regenerate {
        table: String,
        /// Its place in the plan, and in the counts.
        at: usize,
        /// A row on its way may be seen in part: what is not yet there is NULL.
        torn: bool,
        index: Arc<SeriesIndex>,
        generator: Arc<RowGen>,
        row: Columns,
        columns: Vec<usize>,
    },
    /// The number returned lies between rows acknowledged before and rows issued after.
    Count { table: usize },
}

impl Check {
    /// `torn`: the engine's `Caps::reads_torn`.
    pub fn of(generators: &Generators, op: &OpPlan, torn: bool) -> Result<Vec<Check>, Error> {
        op.holds.iter().filter_map(|hold| Check::new(generators, op, hold, torn).transpose()).collect()
    }

    /// `None` for a hold that promises nothing about a single answer.
    fn new(generators: &Generators, op: &OpPlan, hold: &Hold, torn: bool) -> Result<Option<Check>, Error> {
        match hold {
            Hold::Freshness { .. } => Ok(None),
            Hold::CountBounds { table } => Ok(Some(Check::Count { table: *table })),
            Hold::RowsRegenerate { table: at, columns } => {
                let generator = generators.of(*at)?;
                let table = &generators.plan().tables[*at];
                let columns = columns
                    .iter()
                    .map(|name| {
                        table.columns.iter().position(|c| &c.name == name).ok_or_else(|| {
                            Error::Plan(format!(
                                "operation {}: rows_regenerate: {} has no column {name}",
                                op.name, table.name
                            ))
                        })
                    })
                    .collect::<Result<_, _>>()?;
                let index = generators.index(*at)?;
                let row = generator.columns(1);
                Ok(Some(Check::Regenerate {
                    table: table.name.clone(),
                    at: *at,
                    torn,
                    index,
                    generator,
                    row,
                    columns,
                }))
            }
        }
    }

    /// Rows of each table acknowledged so far: taken before the call is sent.
    pub fn floor(&self, counts: &[TableCount]) -> u64 {
        match self {
            Check::Count { table } | Check::Regenerate { at: table, .. } => counts[*table].acknowledged(),
        }
    }

    /// `Some(why)` when the answer breaks the promise.
    pub fn broken(&mut self, answer: &Answer, floor: u64, counts: &[TableCount]) -> Option<String> {
        match self {
            Check::Count { table } => {
                let ceiling = counts[*table].issued();
                let found = match answer.rows.first().and_then(|r| r.first()) {
                    Some(Value::I64(n)) => *n as u64,
                    Some(Value::U64(n)) => *n,
                    other => return Some(format!("a count was expected, the answer is {other:?}")),
                };
                (found < floor || found > ceiling).then(|| {
                    format!("{found} rows counted; {floor} were acknowledged before, {ceiling} issued after")
                })
            }
            Check::Regenerate { table, at, torn, index, generator, row, columns } => {
                // Some row may have been on its way while the answer was made.
                let partly = *torn && counts[*at].issued() > floor;
                answer.rows.iter().find_map(|returned| {
                    if returned.len() != columns.len() {
                        return Some(format!(
                            "{} columns returned, {} promised",
                            returned.len(),
                            columns.len()
                        ));
                    }
                    let named =
                        |at: usize| columns.iter().position(|&c| c == at).map(|place| &returned[place]);
                    let Some(number) = index.row_of(named) else {
                        return Some(format!("no row of {table} has the identity of {}", text(returned)));
                    };
                    generator.fill(number, 1, row);
                    columns.iter().zip(returned).find_map(|(&at, found)| {
                        let expected = row.columns[at].value(0);
                        let on_its_way = partly && *found == Value::Null;
                        (!same(&expected, found) && !on_its_way).then(|| {
                            format!(
                                "row {number} of {table}: {} is {}, not {}",
                                row.columns[at].name,
                                value_text(&expected),
                                value_text(found)
                            )
                        })
                    })
                })
            }
        }
    }
}

/// Engines without unsigned or millisecond types return the same number in another wrapping.
fn same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::U64(a), Value::I64(b)) => *a == *b as u64,
        (Value::I64(a), Value::U64(b)) => *a as u64 == *b,
        (Value::TimeMs(a), Value::TimeUs(b)) => *a * 1_000 == *b,
        (Value::TimeMs(a) | Value::TimeUs(a), Value::I64(b)) => a == b,
        (Value::Bool(a), Value::I64(b)) => i64::from(*a) == *b,
        (a, b) => a == b,
    }
}

fn text(row: &[Value]) -> String {
    row.iter().map(value_text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(torn: bool) -> Check {
        let table = serde_json::json!({"name": "t", "stream": "t", "identity": ["id"],
            "columns": [
                {"name": "id", "type": "i64", "wire": "", "gen": {"kind": "sequence", "start": 0, "step": 1}},
                {"name": "v", "type": "i64", "wire": "", "gen": {"kind": "constant", "value": 7}}],
            "source": {"kind": "generated", "series": 1, "period_ns": 1}});
        let hold = Hold::RowsRegenerate { table: 0, columns: vec!["id".into(), "v".into()] };
        let operation = serde_json::json!({"name": "q", "kind": "query", "table": 0, "holds": [hold]});
        let plan = serde_json::json!({"version": 1, "run_id": "", "study": "", "seed": 1, "epoch_ns": 0,
            "target": {"engine": "null", "url": ""}, "tables": [table], "operations": [operation],
            "segments": [], "record": {"interval_ns": 1, "flush_ns": 1},
            "watch": {"every_ns": 0, "processes": {}}});
        let generators = Generators::new(Arc::new(serde_json::from_value(plan).expect("it is written here")));
        Check::of(&generators, &generators.plan().operations[0], torn).expect("it is valid").remove(0)
    }

    fn answer(v: Value) -> Answer {
        Answer { names: vec!["id".into(), "v".into()], rows: vec![vec![Value::I64(0), v]] }
    }

    #[test]
    fn a_torn_row_breaks_its_promise_unless_rows_are_on_their_way() {
        let counts = [TableCount::default()];
        counts[0].issue(10);
        counts[0].acknowledge(10);
        for torn in [false, true] {
            let mut check = check(torn);
            assert_eq!(check.broken(&answer(Value::I64(7)), check.floor(&counts), &counts), None);
            assert!(check.broken(&answer(Value::Null), check.floor(&counts), &counts).is_some());
            let floor = check.floor(&counts);
            counts[0].issue(5);
            assert_eq!(check.broken(&answer(Value::Null), floor, &counts).is_none(), torn);
            assert!(
                check.broken(&answer(Value::I64(8)), floor, &counts).is_some(),
                "another value is never right"
            );
            counts[0].acknowledge(5);
        }
    }
}
