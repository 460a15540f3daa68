//! From the parameters of a call to the rows that it asks for.

use super::alone::Alone;
use super::columns::Value;
use super::generate::RowGen;
use super::index::SeriesIndex;
use super::picked::Picked;
use super::value_bits::same_value;
use crate::plan::TablePlan;

/// The keys that a call names: one value of every key column, or lists of them that go side by side.
pub struct AskedKeys {
    keys: Vec<Key>,
    /// Keys of one call.
    count: usize,
}

/// A key column, and its parameters: one, which every key of the call shares, or one a key.
struct Key {
    column: usize,
    places: Vec<usize>,
}

impl AskedKeys {
    /// `by_param`: the column that each parameter is a value of; empty: it is no key. Errors: a column that is not
    /// there, no key at all, lists of different lengths.
    pub fn new(table: &TablePlan, by_param: &[String]) -> Result<AskedKeys, String> {
        let mut keys: Vec<Key> = Vec::new();
        for (place, name) in by_param.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let column = table.columns.iter().position(|c| &c.name == name);
            let column = column.ok_or_else(|| format!("{} has no column {name}", table.name))?;
            match keys.iter_mut().find(|key| key.column == column) {
                Some(key) => key.places.push(place),
                None => keys.push(Key { column, places: vec![place] }),
            }
        }
        let count = keys.iter().map(|key| key.places.len()).max().ok_or("none of its parameters is a key")?;
        if keys.iter().any(|key| key.places.len() != 1 && key.places.len() != count) {
            return Err("lists of keys have as many values of one column as of the other".into());
        }
        Ok(AskedKeys { keys, count })
    }

    pub fn columns(&self) -> Vec<usize> {
        self.keys.iter().map(|key| key.column).collect()
    }

    /// How many keys a call names; some may be equal.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The value of `column` in key `k` of a call.
    pub fn value<'v>(&self, params: &'v [Value], k: usize, column: usize) -> Option<&'v Value> {
        let key = self.keys.iter().find(|key| key.column == column)?;
        Some(&params[if key.places.len() == 1 { key.places[0] } else { key.places[k] }])
    }

    /// Whether a row with these values has one of the keys, by `same`.
    pub fn are_of<'v>(
        &self,
        params: &[Value],
        named: impl Fn(usize) -> Option<&'v Value>,
        same: impl Fn(&Value, &Value) -> bool,
    ) -> bool {
        (0..self.count).any(|k| {
            self.keys.iter().all(|key| {
                let asked = self.value(params, k, key.column).expect("it is a key column");
                named(key.column).is_some_and(|found| same(asked, found))
            })
        })
    }
}

/// Finds the rows of a call's keys in a generated table.
pub struct AskedRows {
    keys: AskedKeys,
    /// Rows that the index finds by a key may have another one, and are looked at.
    looks: Option<Looks>,
}

/// What the key columns of a row are compared with.
enum Looks {
    /// Each is a number that needs no other: in the order of the keys.
    Alone(Vec<Alone>),
    Picked(Picked, Value),
}

impl AskedRows {
    /// Errors: as [`AskedKeys::new`], and keys that do not lead to rows.
    pub fn new(
        table: &TablePlan,
        generator: &RowGen,
        index: &SeriesIndex,
        by_param: &[String],
    ) -> Result<AskedRows, String> {
        let keys = AskedKeys::new(table, by_param)?;
        let columns = keys.columns();
        index.takes_key(&columns)?;
        let looks = !index.finds_exactly(&columns);
        let alone = || columns.iter().map(|&column| generator.alone(column)).collect::<Option<Vec<_>>>();
        let looks = looks.then(|| match alone() {
            Some(alone) => Looks::Alone(alone),
            None => Looks::Picked(Picked::new(generator, &columns), Value::Null),
        });
        Ok(AskedRows { keys, looks })
    }

    pub fn keys(&self) -> &AskedKeys {
        &self.keys
    }

    /// Fills `out` with the numbers of the rows below `below` that have a key of the call: ascending, each once.
    pub fn fill(
        &mut self,
        generator: &RowGen,
        index: &SeriesIndex,
        params: &[Value],
        below: u64,
        out: &mut Vec<u64>,
    ) {
        out.clear();
        for k in 0..self.keys.count {
            index.numbers_of_key(|column| self.keys.value(params, k, column), below, out);
        }
        out.sort_unstable();
        out.dedup();
        let keys = &self.keys;
        let asked = |k: usize, key: &Key| keys.value(params, k, key.column).expect("it is a key column");
        match &mut self.looks {
            None => {}
            Some(Looks::Alone(alone)) => out.retain(|&number| {
                let has = |k: usize, key: &Key, alone: &Alone| {
                    let asked = asked(k, key);
                    alone.is(number, asked)
                        || same_value(generator.ty(key.column), asked, &alone.value(number))
                };
                (0..keys.count).any(|k| keys.keys.iter().zip(&*alone).all(|(key, alone)| has(k, key, alone)))
            }),
            Some(Looks::Picked(picked, made)) => out.retain(|&number| {
                picked.pick(generator, &[number]);
                let mut has = |k: usize, key: &Key| {
                    picked.write(key.column, 0, made);
                    same_value(generator.ty(key.column), asked(k, key), made)
                };
                (0..keys.count).any(|k| keys.keys.iter().all(|key| has(k, key)))
            }),
        }
    }
}
