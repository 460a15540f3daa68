//! Promises about answers, checked between two calls and outside the timed part.

mod rows;

use crate::drive::source::TableCount;
use crate::drive::touched::Touched;
use inrush_engines::engine::{Answer, Ns, Outcome};
use inrush_rows::error::Error;
use inrush_rows::plan::{Assertion, OpPlan, ParamGen, RowSource, RunPlan};
use inrush_rows::rows::asked::{AskedKeys, AskedRows};
use inrush_rows::rows::{Generators, Value};

use rows::{same, text, Rows};

/// Promises of one operation that are checked answer by answer.
pub const CHECKS_MAX: usize = 4;

/// Of each check, the rows of its table that were acknowledged before the call was sent.
pub type Floors = [u64; CHECKS_MAX];

/// How an answer breaks a promise: `wrong` or `missing`, and why.
pub type Broken = (Outcome, String);

pub enum Check {
    /// Every returned row is one that the generator makes, of a key that was asked for, and comes once.
    Regenerate {
        rows: Rows,
        keys: Option<AskedKeys>,
        /// An answer without rows is right until so many rows were there before.
        full_from: Option<u64>,
        /// Of the present answer: the rows that came.
        came: Vec<u64>,
    },
    /// The answer is the rows of the keys that were asked for.
    Asked {
        rows: Rows,
        asked: AskedRows,
        /// Of the present answer: the rows that belong into it, and which of them came.
        expected: Vec<u64>,
        came: Vec<bool>,
    },
    /// The number returned lies between rows acknowledged before and rows issued after.
    Count { table: usize },
}

/// What a check knows of the call that an answer belongs to.
pub struct Asked<'a> {
    pub params: &'a [Value],
    /// When it was sent.
    pub sent: Ns,
    pub counts: &'a [TableCount],
}

impl Check {
    /// `torn`: the engine's `Caps::reads_torn`.
    pub fn of(
        generators: &Generators,
        op: &OpPlan,
        torn: bool,
        counts: &[TableCount],
    ) -> Result<Vec<Check>, Error> {
        let check = |assertion| Check::new(generators, op, assertion, torn, counts).transpose();
        let checks = op.holds.iter().filter_map(check);
        let checks = checks.collect::<Result<Vec<_>, Error>>()?;
        if checks.len() > CHECKS_MAX {
            let (name, many) = (&op.name, checks.len());
            return Err(Error::Plan(format!(
                "operation {name} has {many} promises; {CHECKS_MAX} are checked"
            )));
        }
        Ok(checks)
    }

    /// `None` for a hold that promises nothing about a single answer.
    fn new(
        generators: &Generators,
        op: &OpPlan,
        assertion: &Assertion,
        torn: bool,
        counts: &[TableCount],
    ) -> Result<Option<Check>, Error> {
        let plan = generators.plan();
        let refuse =
            |assertion: &str, why: String| Error::Plan(format!("operation {}: {assertion}: {why}", op.name));
        match assertion {
            Assertion::Freshness { .. } => Ok(None),
            Assertion::CountBounds { table } => Ok(Some(Check::Count { table: *table })),
            Assertion::RowsRegenerate { table, columns, keys, may_be_empty } => {
                let refuse = |why| refuse("rows_regenerate", why);
                let rows = Rows::new(generators, *table, columns, torn, &counts[*table]).map_err(refuse)?;
                let keys = match keys.iter().all(String::is_empty) {
                    true => None,
                    false => Some(AskedKeys::new(&plan.tables[*table], keys).map_err(refuse)?),
                };
                let full_from = if *may_be_empty { None } else { drawn_from(plan, *table, op) };
                Ok(Some(Check::Regenerate { rows, keys, full_from, came: Vec::new() }))
            }
            Assertion::Asked { table, columns, keys } => {
                let refuse = |why| refuse("asked", why);
                let rows = Rows::new(generators, *table, columns, torn, &counts[*table]).map_err(refuse)?;
                if keys.len() != op.params.len() {
                    return Err(refuse(format!("{} keys for {} parameters", keys.len(), op.params.len())));
                }
                let asked = AskedRows::new(&plan.tables[*table], &rows.generator, &rows.index, keys);
                let asked = asked.map_err(refuse)?;
                Ok(Some(Check::Asked { rows, asked, expected: Vec::new(), came: Vec::new() }))
            }
        }
    }

    /// Rows of its table acknowledged so far: taken before the call is sent.
    #[inline]
    pub fn floor(&self, counts: &[TableCount]) -> u64 {
        counts[self.table()].acknowledged()
    }

    /// The same where an acknowledged row may not be seen yet: those that lay in the table when this repetition began.
    #[inline]
    pub fn settled(&self, counts: &[TableCount]) -> u64 {
        counts[self.table()].settled()
    }

    fn table(&self) -> usize {
        match self {
            Check::Count { table } => *table,
            Check::Regenerate { rows, .. } | Check::Asked { rows, .. } => rows.at,
        }
    }

    /// `Some` when the answer breaks the promise.
    pub fn broken(&mut self, answer: &Answer, floor: u64, of: &Asked<'_>) -> Option<Broken> {
        match self {
            Check::Count { table } => count_outside(answer, floor, of.counts[*table].issued()),
            Check::Regenerate { rows, keys, full_from, came } => {
                not_regenerated(rows, keys.as_ref(), *full_from, came, answer, floor, of)
            }
            Check::Asked { rows, asked, expected, came } => {
                not_asked(rows, asked, expected, came, answer, floor, of)
            }
        }
    }
}

/// `came`: memory for the rows that came.
fn not_regenerated(
    rows: &mut Rows,
    keys: Option<&AskedKeys>,
    full_from: Option<u64>,
    came: &mut Vec<u64>,
    answer: &Answer,
    floor: u64,
    of: &Asked<'_>,
) -> Option<Broken> {
    let count = &of.counts[rows.at];
    let there_before = if of.params.is_empty() { floor } else { count.settled() };
    // Rows that may have been deleted need not be there.
    let full_from = full_from.filter(|_| count.touched().is_none());
    if answer.rows.is_empty() && full_from.is_some_and(|from| there_before >= from) {
        let table = &rows.table;
        let why = format!("an answer without rows; {there_before} of {table} were there before");
        return Some((Outcome::Missing, why));
    }
    rows.is_on_its_way(floor, count);
    came.clear();
    for row in &answer.rows {
        match rows.number(row, of.sent, count) {
            Ok(number) => came.push(number),
            Err(why) => return Some((Outcome::Wrong, why)),
        }
        let named = |column: usize| rows.named(row, column);
        if keys.is_some_and(|keys| !keys.are_of(of.params, named, same)) {
            let why = format!("a row that was not asked for: {}", text(row));
            return Some((Outcome::Wrong, why));
        }
    }
    came.sort_unstable();
    let twice = came.windows(2).find(|pair| pair[0] == pair[1])?;
    Some((Outcome::Wrong, format!("a row came twice: {}", rows.described(twice[0]))))
}

/// `expected`, `came`: memory for the rows that belong into the answer, and which of them came.
fn not_asked(
    rows: &mut Rows,
    asked: &mut AskedRows,
    expected: &mut Vec<u64>,
    came: &mut Vec<bool>,
    answer: &Answer,
    floor: u64,
    of: &Asked<'_>,
) -> Option<Broken> {
    let count = &of.counts[rows.at];
    rows.is_on_its_way(floor, count);
    let below = count.touched().map_or(count.issued(), |touched| touched.changes.rows);
    asked.fill(&rows.generator, &rows.index, of.params, below, expected);
    if let ([number], [row]) = (expected.as_slice(), answer.rows.as_slice()) {
        if rows.is_whole(*number, row, of.sent, count) {
            return None;
        }
    }
    came.clear();
    came.resize(expected.len(), false);
    for row in &answer.rows {
        let place = match rows.number(row, of.sent, count) {
            Ok(number) => expected.binary_search(&number),
            Err(why) => return Some((Outcome::Wrong, why)),
        };
        let again = match place {
            Ok(place) => std::mem::replace(&mut came[place], true),
            Err(_) => {
                let why = format!("a row that was not asked for: {}", text(row));
                return Some((Outcome::Wrong, why));
            }
        };
        if again {
            return Some((Outcome::Wrong, format!("a row came twice: {}", text(row))));
        }
    }
    // Rows that are written meanwhile may be in the answer or not.
    let settled = count.settled();
    let must_be = |number| match count.touched() {
        None => rows.index.is_below(number, settled),
        Some(touched) => Touched::must_be(touched.ledger.seen(number, of.sent), number, settled),
    };
    let gone = |(_, (&number, &came)): &(usize, (&u64, &bool))| !came && must_be(number);
    let mut missing = expected.iter().zip(came.iter()).enumerate().filter(gone);
    let (_, (&first, _)) = missing.next()?;
    let more = missing.count();
    let why = format!("{} is not in the answer, and {more} more", rows.described(first));
    Some((Outcome::Missing, why))
}

fn count_outside(answer: &Answer, floor: u64, ceiling: u64) -> Option<Broken> {
    let found = match answer.rows.first().and_then(|r| r.first()) {
        Some(Value::I64(n)) => *n as u64,
        Some(Value::U64(n)) => *n,
        None => return Some((Outcome::Missing, "a count was expected, the answer has no row".to_owned())),
        other => return Some((Outcome::Wrong, format!("a count was expected, the answer is {other:?}"))),
    };
    (found < floor || found > ceiling).then(|| {
        let why = format!("{found} rows counted; {floor} were acknowledged before, {ceiling} issued after");
        (Outcome::Wrong, why)
    })
}

/// Rows of `table` from which on every call of `op` has a row to return: those that its parameters are drawn from.
/// None where a parameter may name no row.
fn drawn_from(plan: &RunPlan, table: usize, op: &OpPlan) -> Option<u64> {
    let RowSource::Generated { series, events, .. } = &plan.tables[table].source else { return None };
    // Any row may be the last one in an order of its own.
    let last = events.as_ref().map(|events| events.rows);
    let series = *series;
    op.params.iter().try_fold(1, |rows: u64, param| match &param.gen {
        ParamGen::OfSeries { table: of, .. } | ParamGen::SeriesAt { table: of, .. } if *of == table => {
            // Where series differ in rate, one may have no row.
            events
                .as_ref()
                .is_none_or(|events| events.rates.is_none() && events.rows >= series)
                .then_some(())?;
            Some(rows.max(last.unwrap_or(series)))
        }
        ParamGen::Key { keys, .. } => {
            let keys = op.keys.get(*keys).filter(|keys| keys.table == table)?;
            Some(rows.max(last.unwrap_or(keys.first_row + keys.rows)))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests;
