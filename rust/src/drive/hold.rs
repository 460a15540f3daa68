//! Promises about answers, checked between two calls and outside the timed part.

use crate::drive::source::TableCount;
use crate::engine::Answer;
use crate::error::Error;
use crate::plan::{Hold, OpPlan, RunPlan};
use crate::proof::value_text;
use crate::rows::{Columns, RowGen, SeriesIndex, Value};

pub enum Check {
    /// Every returned row is one that the generator makes.
    Regenerate {
        table: String,
        index: SeriesIndex,
        generator: Box<RowGen>,
        row: Columns,
        columns: Vec<usize>,
    },
    /// The number returned lies between rows acknowledged before and rows issued after.
    Count { table: usize },
}

impl Check {
    pub fn of(plan: &RunPlan, op: &OpPlan) -> Result<Vec<Check>, Error> {
        op.holds.iter().filter_map(|hold| Check::new(plan, op, hold).transpose()).collect()
    }

    /// `None` for a hold that promises nothing about a single answer.
    fn new(plan: &RunPlan, op: &OpPlan, hold: &Hold) -> Result<Option<Check>, Error> {
        match hold {
            Hold::Freshness { .. } => Ok(None),
            Hold::CountBounds { table } => Ok(Some(Check::Count { table: *table })),
            Hold::RowsRegenerate { table, columns } => {
                let table = &plan.tables[*table];
                let generator = RowGen::new(table, plan.seed, plan.epoch_ns)?;
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
                let index = SeriesIndex::new(&generator, table)?;
                let row = generator.columns(1);
                Ok(Some(Check::Regenerate {
                    table: table.name.clone(),
                    index,
                    generator: Box::new(generator),
                    row,
                    columns,
                }))
            }
        }
    }

    /// Rows of each table acknowledged so far: taken before the call is sent.
    pub fn floor(&self, counts: &[TableCount]) -> u64 {
        match self {
            Check::Count { table } => counts[*table].acknowledged(),
            Check::Regenerate { .. } => 0,
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
            Check::Regenerate { table, index, generator, row, columns } => {
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
                        (!same(&expected, found)).then(|| {
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
