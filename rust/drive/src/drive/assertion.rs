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
mod tests {
    use super::*;

    const OF_V: i64 = 7;

    /// Rows 0…: id = row, v = 7.
    fn check(assertion: Assertion, params: serde_json::Value, torn: bool) -> Check {
        let table = serde_json::json!({"name": "t", "stream": "t", "identity": ["id"],
            "columns": [
                {"name": "id", "type": "i64", "wire": "", "gen": {"kind": "sequence", "start": 0, "step": 1}},
                {"name": "v", "type": "i64", "wire": "", "gen": {"kind": "constant", "value": OF_V}}],
            "source": {"kind": "generated", "series": 10, "period_ns": 1}});
        let operation = serde_json::json!(
            {"name": "q", "kind": "query", "table": 0, "holds": [assertion], "params": params});
        let plan = serde_json::json!({"version": 1, "run_id": "", "study": "", "seed": 1, "epoch_ns": 0,
            "target": {"engine": "null", "url": ""}, "tables": [table], "operations": [operation],
            "segments": [], "record": {"interval_ns": 1, "flush_ns": 1},
            "watch": {"every_ns": 0, "processes": {}}});
        let plan: RunPlan = serde_json::from_value(plan).expect("it is written here");
        let plan = std::sync::Arc::new(plan);
        let generators = Generators::new(plan.clone());
        Check::of(&generators, &plan.operations[0], torn, &[TableCount::default()])
            .expect("it is valid")
            .remove(0)
    }

    fn keys(count: usize) -> serde_json::Value {
        let key = |k| {
            serde_json::json!({"name": format!("k{k}"), "type": "i64",
            "gen": {"kind": "of_series", "table": 0, "column": "id"}})
        };
        (0..count).map(key).collect()
    }

    fn regenerate(count: usize, may_be_empty: bool) -> Check {
        let (columns, names) = (vec!["id".into(), "v".into()], vec!["id".into(); count]);
        check(Assertion::RowsRegenerate { table: 0, columns, keys: names, may_be_empty }, keys(count), false)
    }

    fn asked(count: usize) -> Check {
        let (columns, names) = (vec!["id".into(), "v".into()], vec!["id".into(); count]);
        check(Assertion::Asked { table: 0, columns, keys: names }, keys(count), false)
    }

    fn answer(rows: &[(i64, Value)]) -> Answer {
        let rows = rows.iter().map(|(id, v)| vec![Value::I64(*id), v.clone()]).collect();
        Answer { names: ["id".into(), "v".into()].into(), rows }
    }

    fn ids(ids: &[i64]) -> Answer {
        answer(&ids.iter().map(|&id| (id, Value::I64(OF_V))).collect::<Vec<_>>())
    }

    /// A table of which so many rows lay there before, and so many are written meanwhile.
    fn counts(settled: u64, meanwhile: u64) -> [TableCount; 1] {
        let counts = [TableCount::default()];
        counts[0].issue(settled);
        counts[0].acknowledge(settled);
        counts[0].settle();
        counts[0].issue(meanwhile);
        counts
    }

    fn outcome(check: &mut Check, answer: &Answer, params: &[i64], counts: &[TableCount]) -> Option<Outcome> {
        let params: Vec<Value> = params.iter().map(|&id| Value::I64(id)).collect();
        let floor = check.floor(counts);
        check.broken(answer, floor, &Asked { params: &params, sent: 0, counts }).map(|(outcome, _)| outcome)
    }

    #[test]
    fn an_engine_whose_reads_are_late_is_held_to_the_rows_that_lay_there_before() {
        let counts = counts(100, 50);
        counts[0].acknowledge(50);
        let count = check(Assertion::CountBounds { table: 0 }, keys(0), false);
        assert_eq!((count.floor(&counts), count.settled(&counts)), (150, 100));
        let outside = |found: i64, floor| {
            let answer = Answer { names: ["n".into()].into(), rows: vec![vec![Value::I64(found)]] };
            count_outside(&answer, floor, counts[0].issued()).is_some()
        };
        assert!(outside(120, count.floor(&counts)) && !outside(120, count.settled(&counts)));
        assert!(outside(99, count.settled(&counts)), "those that lay there are seen");
    }

    #[test]
    fn asked_is_kept_by_the_rows_of_the_keys_alone() {
        let counts = counts(100, 0);
        let (mut one, mut three) = (asked(1), asked(3));
        assert_eq!(outcome(&mut one, &ids(&[5]), &[5], &counts), None);
        assert_eq!(outcome(&mut one, &ids(&[]), &[5], &counts), Some(Outcome::Missing));
        assert_eq!(outcome(&mut one, &ids(&[6]), &[5], &counts), Some(Outcome::Wrong), "another key");
        assert_eq!(outcome(&mut one, &ids(&[5, 5]), &[5], &counts), Some(Outcome::Wrong), "twice");
        assert_eq!(outcome(&mut one, &ids(&[5, 6]), &[5], &counts), Some(Outcome::Wrong), "one too many");
        assert_eq!(outcome(&mut one, &answer(&[(5, Value::I64(8))]), &[5], &counts), Some(Outcome::Wrong));
        assert_eq!(outcome(&mut one, &answer(&[(5, Value::Null)]), &[5], &counts), Some(Outcome::Wrong));
        let mut narrow = ids(&[5]);
        narrow.rows[0].pop();
        assert_eq!(outcome(&mut one, &narrow, &[5], &counts), Some(Outcome::Wrong), "a column short");
        assert_eq!(outcome(&mut one, &ids(&[]), &[500], &counts), None, "no such row");
        assert_eq!(outcome(&mut three, &ids(&[9, 5, 7]), &[5, 7, 9], &counts), None, "in any order");
        assert_eq!(outcome(&mut three, &ids(&[5, 9]), &[9, 5, 9], &counts), None, "an equal key counts once");
        assert_eq!(outcome(&mut three, &ids(&[5, 9]), &[5, 7, 9], &counts), Some(Outcome::Missing));
    }

    #[test]
    fn a_row_that_is_written_meanwhile_may_be_in_the_answer_or_not() {
        let counts = counts(100, 10);
        let mut one = asked(1);
        assert_eq!(outcome(&mut one, &ids(&[105]), &[105], &counts), None);
        assert_eq!(outcome(&mut one, &ids(&[]), &[105], &counts), None);
        assert_eq!(outcome(&mut one, &ids(&[]), &[99], &counts), Some(Outcome::Missing));
        assert_eq!(outcome(&mut one, &ids(&[110]), &[110], &counts), Some(Outcome::Wrong), "never sent");
    }

    #[test]
    fn rows_regenerate_is_broken_by_no_row_and_by_a_row_of_another_key() {
        let there = counts(100, 0);
        let mut keyed = regenerate(1, false);
        assert_eq!(outcome(&mut keyed, &ids(&[5]), &[5], &there), None);
        assert_eq!(outcome(&mut keyed, &ids(&[6]), &[5], &there), Some(Outcome::Wrong));
        assert_eq!(outcome(&mut keyed, &ids(&[]), &[5], &there), Some(Outcome::Missing));
        assert_eq!(outcome(&mut keyed, &ids(&[]), &[5], &counts(9, 91)), None, "not all series were there");
        let meanwhile = counts(9, 91);
        meanwhile[0].acknowledge(91);
        assert_eq!(outcome(&mut keyed, &ids(&[]), &[5], &meanwhile), None, "which were there is not known");
        assert_eq!(outcome(&mut regenerate(1, true), &ids(&[]), &[5], &there), None);
        let mut all = regenerate(0, false);
        assert_eq!(outcome(&mut all, &ids(&[9, 5, 7]), &[], &there), None);
        assert_eq!(outcome(&mut all, &ids(&[9, 5, 9]), &[], &there), Some(Outcome::Wrong), "one came twice");
        assert_eq!(outcome(&mut all, &ids(&[]), &[], &there), Some(Outcome::Missing));
        assert_eq!(outcome(&mut all, &ids(&[]), &[], &counts(0, 10)), None, "nothing was acknowledged");
    }

    #[test]
    fn a_count_without_a_row_is_missing_and_one_outside_its_bounds_wrong() {
        let mut count = Check::Count { table: 0 };
        let counts = counts(10, 5);
        let found = |n| Answer { names: ["n".into()].into(), rows: vec![vec![n]] };
        assert_eq!(outcome(&mut count, &found(Value::I64(12)), &[], &counts), None);
        assert_eq!(outcome(&mut count, &found(Value::U64(9)), &[], &counts), Some(Outcome::Wrong));
        assert_eq!(outcome(&mut count, &found(Value::I64(16)), &[], &counts), Some(Outcome::Wrong));
        assert_eq!(outcome(&mut count, &found(Value::Null), &[], &counts), Some(Outcome::Wrong));
        assert_eq!(outcome(&mut count, &ids(&[]), &[], &counts), Some(Outcome::Missing));
    }

    #[test]
    fn a_torn_row_breaks_its_promise_unless_rows_are_on_their_way() {
        for torn in [false, true] {
            let columns = vec!["id".into(), "v".into()];
            let assertion =
                Assertion::RowsRegenerate { table: 0, columns, keys: Vec::new(), may_be_empty: false };
            let mut check = check(assertion, serde_json::json!([]), torn);
            let (quiet, busy) = (counts(10, 0), counts(10, 5));
            let torn_row = |id| answer(&[(id, Value::Null)]);
            assert_eq!(outcome(&mut check, &ids(&[0]), &[], &quiet), None);
            assert_eq!(outcome(&mut check, &torn_row(0), &[], &quiet), Some(Outcome::Wrong));
            assert_eq!(outcome(&mut check, &torn_row(12), &[], &busy).is_none(), torn);
            let before = outcome(&mut check, &torn_row(9), &[], &busy);
            assert_eq!(before, Some(Outcome::Wrong), "it lay there before any was on its way");
            let other = outcome(&mut check, &answer(&[(12, Value::I64(8))]), &[], &busy);
            assert_eq!(other, Some(Outcome::Wrong), "another value is never right");
        }
    }
}
