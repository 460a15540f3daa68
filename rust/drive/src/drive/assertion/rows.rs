//! Rows of an answer against the rows that the generator makes.

use std::sync::Arc;

use crate::drive::source::TableCount;
use crate::proof::{Known, State};
use inrush_engines::engine::Ns;
use inrush_rows::encode::lists::push_json;
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::changes::Changes;
use inrush_rows::rows::documents::compact;
use inrush_rows::rows::value_text;
use inrush_rows::rows::{Alone, Column, Drawn, Generators, Picked, RowGen, SeriesIndex, Value, Values};
use inrush_rows::types::date::date_days;
use inrush_rows::types::hex::digits;

/// Makes rows of one table again, and compares returned ones with them.
pub struct Rows {
    pub table: String,
    /// Its place in the plan, and in the counts.
    pub at: usize,
    /// A row on its way may be seen in part: what is not yet there is NULL.
    torn: bool,
    /// Whether one may be while the present answer was made, and the first row that may: those before it lay there.
    partly: bool,
    whole_below: u64,
    pub index: Arc<SeriesIndex>,
    pub generator: Arc<RowGen>,
    /// Of the answer's columns, their places in the table.
    columns: Vec<usize>,
    /// Of those that are made without their row: how. Most of these are made at once; the places of all others.
    alone: Vec<Option<Alone>>,
    drawn: Drawn,
    others: Vec<usize>,
    all: Vec<usize>,
    /// The others, of one row; None: there are none. And the value of one of them.
    row: Option<Picked>,
    made: Value,
    /// Of a table whose rows change: what a change makes of one, and the place of its version in the answer.
    changes: Option<(Changes, usize)>,
}

impl Rows {
    pub fn new(
        generators: &Generators,
        at: usize,
        columns: &[String],
        torn: bool,
        count: &TableCount,
    ) -> Result<Rows, String> {
        let generator = generators.of(at).map_err(|e| e.to_string())?;
        let table = &generators.plan().tables[at];
        let place = |name: &String| {
            let found = table.columns.iter().position(|c| &c.name == name);
            found.ok_or_else(|| format!("{} has no column {name}", table.name))
        };
        let columns = columns.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let index = generators.index(at).map_err(|e| e.to_string())?;
        let alone: Vec<_> = columns.iter().map(|&at| generator.alone(at)).collect();
        let together = columns.iter().zip(&alone).filter(|(_, alone)| alone.is_none());
        let together: Vec<usize> = together.map(|(&at, _)| at).collect();
        let row = (!together.is_empty()).then(|| Picked::new(&generator, &together));
        let changes = count.touched().map(|touched| &touched.changes);
        let changes = changes.and_then(|changes| Some((changes, changes.version?)));
        let changes = changes.map(|(changes, version)| {
            let place = columns.iter().position(|&column| column == version);
            let name = &table.columns[version].name;
            let why = || format!("rows of {} change: what returns them returns {name}, too", table.name);
            place.map(|place| (changes.clone(), place)).ok_or_else(why)
        });
        let changes = changes.transpose()?;
        let is_donated = |column: usize| changes.as_ref().is_some_and(|(of, _)| of.is_donated(column));
        let (mut drawn, all) = (Drawn::default(), (0..columns.len()).collect::<Vec<_>>());
        let mut is_other = |&place: &usize| {
            let (alone, column) = (alone[place].as_ref(), columns[place]);
            !alone.is_some_and(|alone| drawn.take(place, alone, is_donated(column)))
        };
        let others = all.iter().copied().filter(|place| is_other(place)).collect();
        Ok(Rows {
            table: table.name.clone(),
            at,
            torn,
            partly: false,
            whole_below: 0,
            index,
            generator,
            columns,
            alone,
            drawn,
            others,
            all,
            row,
            made: Value::Null,
            changes,
        })
    }

    /// To be said of each answer before its rows: rows may have been written while it was made.
    pub fn is_on_its_way(&mut self, floor: u64, count: &TableCount) {
        self.partly = self.torn && count.issued() > floor;
        self.whole_below = count.settled();
    }

    /// The value that `returned` has in a column of the table.
    pub fn named<'v>(&self, returned: &'v [Value], column: usize) -> Option<&'v Value> {
        let place = self.columns.iter().position(|&c| c == column)?;
        returned.get(place)
    }

    /// Which row `returned` is; an error says why it is none that a call of then may find.
    pub fn number(&mut self, returned: &[Value], sent: Ns, count: &TableCount) -> Result<u64, String> {
        if returned.len() != self.columns.len() {
            return Err(format!("{} columns returned, {} promised", returned.len(), self.columns.len()));
        }
        let number = self.index.number_of(|column| self.named(returned, column));
        let number = number
            .ok_or_else(|| format!("no row of {} has the identity of {}", self.table, text(returned)))?;
        match self.difference(number, returned).or_else(|| self.foreign(number, returned, sent, count)) {
            Some(why) => Err(why),
            None => Ok(number),
        }
    }

    /// Whether `returned` is row `number`, in every column, as a call that was sent then may find it.
    pub fn is_whole(&mut self, number: u64, returned: &[Value], sent: Ns, count: &TableCount) -> bool {
        returned.len() == self.columns.len()
            && self.difference(number, returned).is_none()
            && self.foreign(number, returned, sent, count).is_none()
    }

    /// Why a row, which is whole, is none that may be found: it is not there, or in another version.
    #[inline]
    fn foreign(&self, number: u64, returned: &[Value], sent: Ns, count: &TableCount) -> Option<String> {
        let touched = count.touched()?;
        if number >= touched.ledger.len() {
            return Some(format!("row {number} of {} is none of this run's", self.table));
        }
        let known = touched.ledger.seen(number, sent);
        let version = self.version(returned).unwrap_or(0);
        // One that is loaded meanwhile may be there.
        if touched.may_be(number, version, known, count.issued()) {
            return None;
        }
        let is = match known {
            Known::Is(State::There { version }) => format!("{version} is the last"),
            Known::Is(State::Absent) => "it was deleted before".to_owned(),
            Known::Is(State::Untouched) if version == 0 => "it was not inserted".to_owned(),
            Known::Is(State::Untouched) => "0 is the last".to_owned(),
            Known::Unsure(_) => "no call has made that".to_owned(),
        };
        Some(format!("row {number} of {} in version {version}: {is}", self.table))
    }

    /// The version of a returned row, of a table whose rows change.
    #[inline]
    fn version(&self, returned: &[Value]) -> Option<u64> {
        let (_, place) = self.changes.as_ref()?;
        match returned[*place] {
            Value::I64(version) => u64::try_from(version).ok(),
            Value::U64(version) => Some(version),
            _ => None,
        }
    }

    fn difference(&mut self, number: u64, returned: &[Value]) -> Option<String> {
        let version = self.version(returned);
        let Rows { generator, row, made, changes, drawn, .. } = self;
        // The row that a column has its value of; the version is what it is.
        let changed = changes.as_ref().zip(version).filter(|(_, version)| *version > 0);
        let donor = changed.map_or(number, |((changes, _), version)| changes.donor(number, version));
        let is_version = |at| changed.is_some_and(|((changes, _), _)| changes.version == Some(at));
        let of = |at| match changed {
            Some(((changes, _), _)) if changes.is_donated(at) => donor,
            _ => number,
        };
        if let Some(row) = row {
            row.pick(generator, &[number, donor][..1 + usize::from(changed.is_some())]);
        }
        // Where all that are drawn are right, what is left are the others; else each is looked at, to say which is wrong.
        let places = if drawn.are(number, donor, returned) { &self.others } else { &self.all };
        let mut columns = places.iter().filter_map(|&place| {
            Some(((self.columns.get(place)?, self.alone.get(place)?), returned.get(place)?))
        });
        let ((at, _), found) = columns.find(|((&at, alone), found)| {
            let of = of(at);
            match (alone, &*row) {
                (Some(alone), _) if alone.is(of, found) || is_version(at) => return false,
                (Some(alone), _) => *made = alone.value(of),
                (None, Some(row)) => row.write(at, usize::from(of != number), made),
                (None, None) => unreachable!("what is not made alone is picked"),
            }
            let on_its_way =
                || self.partly && **found == Value::Null && !self.index.is_below(number, self.whole_below);
            !same_of(generator.ty(at), made, found) && !on_its_way()
        })?;
        let (table, column) = (&self.table, generator.name(*at));
        let (expected, found) = (value_text(made), value_text(found));
        Some(format!("row {number} of {table}: {column} is {expected}, not {found}"))
    }

    /// Row `number` with the values that an answer would have.
    pub fn described(&self, number: u64) -> String {
        let mut row = Picked::new(&self.generator, &self.columns);
        row.pick(&self.generator, &[number]);
        format!("row {number} of {} ({})", self.table, text(&row.values(&self.columns, 0)))
    }
}

/// As `same`, of a column: a decimal without digits behind its point may come back as a whole number.
fn same_of(ty: LogicalType, expected: &Value, found: &Value) -> bool {
    match (ty, expected, found) {
        (LogicalType::Decimal, Value::Text(a), Value::I64(b)) => *a == b.to_string(),
        // Engines answer with the midnight before a day, or with its text.
        (LogicalType::Date, Value::Text(day), Value::TimeMs(ms)) => is_midnight(day, *ms, 86_400_000),
        (LogicalType::Date, Value::Text(day), Value::TimeUs(us)) => is_midnight(day, *us, 86_400_000_000),
        // Engines that keep a list as JSON answer with its text.
        (list, expected, Value::Text(text)) if list.is_list() => {
            from_json(list, text).is_some_and(|found| same(expected, &found))
        }
        // Engines that parse a document write blanks between its values.
        (LogicalType::Json, Value::Text(a), Value::Text(b)) => a.as_bytes() == compact(b.as_bytes()),
        // Engines with a type of bits answer with their digits.
        (LogicalType::Bit, Value::U64(a), Value::Text(b)) => u64::from_str_radix(b, 2) == Ok(*a),
        // Answers of engines without a type of its own have the bytes where they are a text, else their digits.
        (LogicalType::Blob, Value::Text(a), Value::Text(b)) => a == b || *a == digits(b.as_bytes()),
        _ => same(expected, found),
    }
}

fn is_midnight(day: &str, at: i64, a_day: i64) -> bool {
    date_days(day.as_bytes()).is_some_and(|days| i64::from(days) * a_day == at)
}

fn from_json(list: LogicalType, text: &str) -> Option<Value> {
    let mut one = Column::new("", list);
    let Values::List(items) = &mut one.values else { return None };
    push_json(items, list.item()?, text)?;
    Some(one.value(0))
}

/// Engines without unsigned or millisecond types return the same number in another wrapping.
pub fn same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::U64(a), Value::I64(b)) => *a == *b as u64,
        (Value::I64(a), Value::U64(b)) => u64::try_from(*a) == Ok(*b),
        (Value::TimeMs(a), Value::TimeUs(b)) => *a * 1_000 == *b,
        (Value::TimeMs(a) | Value::TimeUs(a), Value::I64(b)) => a == b,
        (Value::Bool(a), Value::I64(b)) => i64::from(*a) == *b,
        // NaN equals nothing, and stands where it was stored.
        (Value::F64(a), Value::F64(b)) => a == b || (a.is_nan() && b.is_nan()),
        (a, b) => match (items(a), items(b)) {
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a, b)),
            _ => a == b,
        },
    }
}

/// Of a list; engines give lists of any width of number back in one wrapping.
fn items(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::ListF64(v) => Some(v.iter().map(|v| Value::F64(*v)).collect()),
        Value::ListI64(v) => Some(v.iter().map(|v| Value::I64(*v)).collect()),
        Value::List(v) => Some(v.clone()),
        _ => None,
    }
}

pub fn text(row: &[Value]) -> String {
    row.iter().map(value_text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_in_another_wrapping_is_the_same_and_another_number_is_not() {
        // Stored with its bits reinterpreted where there are no unsigned numbers; never the other way.
        assert!(same(&Value::U64(u64::MAX), &Value::I64(-1)));
        assert!(same(&Value::I64(7), &Value::U64(7)));
        assert!(!same(&Value::I64(-1), &Value::U64(u64::MAX)));
        assert!(
            same(&Value::TimeMs(5), &Value::TimeUs(5_000)) && !same(&Value::TimeMs(5), &Value::TimeUs(5_001))
        );
        assert!(!same(&Value::TimeUs(5_000), &Value::TimeMs(5_000)));
        assert!(same(&Value::Bool(true), &Value::I64(1)) && !same(&Value::Bool(true), &Value::I64(2)));
        assert!(same(&Value::F64(f64::NAN), &Value::F64(f64::NAN)));
        assert!(
            !same(&Value::F64(f64::NAN), &Value::F64(0.0)) && !same(&Value::F64(0.0), &Value::F64(f64::NAN))
        );
        assert!(!same(&Value::Null, &Value::I64(0)) && !same(&Value::I64(0), &Value::Null));
        let list = Value::List(vec![Value::Null, Value::U64(u64::MAX)]);
        assert!(same_of(LogicalType::ListU64, &list, &Value::Text("[null, 18446744073709551615]".into())));
        assert!(!same_of(LogicalType::ListU64, &list, &Value::Text("[null, 1]".into())));
        assert!(same(&list, &Value::List(vec![Value::Null, Value::I64(-1)])));
        assert!(!same(&list, &Value::List(vec![Value::Null])));
        let document = Value::Text(r#"{"a":[1,2]}"#.into());
        assert!(same_of(LogicalType::Json, &document, &Value::Text(r#"{"a": [1, 2]}"#.into())));
        assert!(!same_of(LogicalType::Json, &document, &Value::Text(r#"{"a": [2, 1]}"#.into())));
        assert!(same_of(LogicalType::Bit, &Value::U64(5), &Value::Text("0101".into())));
        assert!(!same_of(LogicalType::Bit, &Value::U64(5), &Value::Text("0111".into())));
        assert!(same_of(LogicalType::Blob, &Value::Text("6162".into()), &Value::Text("ab".into())));
        assert!(!same_of(LogicalType::Blob, &Value::Text("6162".into()), &Value::Text("ac".into())));
        let day = Value::Text("2026-01-31".into());
        assert!(same_of(LogicalType::Date, &day, &Value::TimeMs(1_769_817_600_000)));
        assert!(same_of(LogicalType::Date, &day, &Value::TimeUs(1_769_817_600_000_000)));
        assert!(!same_of(LogicalType::Date, &day, &Value::TimeMs(1_769_817_600_001)));
        assert!(!same_of(LogicalType::Date, &day, &Value::TimeUs(1_769_904_000_000_000)));
        assert!(!same(&Value::F64(1.0), &Value::I64(1)), "a float is not read as a whole number");
    }
}
