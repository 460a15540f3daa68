//! ClickHouse's own rule for tables of engine Distributed: the sharding key's remainder by the sum of all weights.
//!
//! The hash functions are those of its SQL, which it keeps for ever: data are stored by them. Held against a server's own
//! answers in `tests/engines/test_load_shards_clickhouse.py`.

use serde::Deserialize;

use super::KeyColumn;
use crate::error::Error;
use crate::rows::city::{city_hash64, hash_two, int_hash64};
use crate::rows::{Column, Columns, Values};

/// What stands before the remainder is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hash {
    /// `intHash64(column)`.
    IntHash64,
    /// `cityHash64(column, …)`.
    CityHash64,
    /// The column itself.
    Value,
}

/// How a key column is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Whole { bits: u32 },
    Text,
}

/// The sharding key of a row, before its remainder.
#[derive(Debug, Clone)]
pub struct Distributed {
    hash: Hash,
    key: Vec<(usize, Kind)>,
}

/// More than any cluster has; each takes a place in memory.
const REMAINDERS_MOST: u64 = 1 << 20;

/// The shard of each remainder: as many as its weight, in the order of the shards.
pub fn slots(weights: &[u32], shards: u32) -> Result<Vec<u32>, Error> {
    let remainders = weights.iter().map(|weight| u64::from(*weight)).sum::<u64>();
    if weights.len() != shards as usize || !(1..=REMAINDERS_MOST).contains(&remainders) {
        return Err(Error::Plan(format!(
            "weights {weights:?} of {shards} shards: there is one of each shard, and together they are 1 to \
             {REMAINDERS_MOST}"
        )));
    }
    Ok((0..).zip(weights).flat_map(|(shard, weight)| (0..*weight).map(move |_| shard)).collect())
}

impl Distributed {
    /// Errors: a type that the function does not take, or that its table does not (NULL, floats, lists).
    pub fn new(hash: Hash, key: &[KeyColumn]) -> Result<Distributed, Error> {
        if hash != Hash::CityHash64 && key.len() != 1 {
            return Err(Error::Plan(
                "a sharding key of several columns is placed by cityHash64 alone".into(),
            ));
        }
        let kind = |&(at, column, declared): &KeyColumn| {
            match kind_of(declared) {
                Some(Kind::Text) if hash != Hash::CityHash64 => None,
                found => found,
            }
            .map(|kind| (at, kind))
            .ok_or_else(|| {
                Error::Plan(format!(
                    "distribution key {}: rows are not placed by {declared}; choose a column of whole numbers or String \
                     that takes no NULL",
                    column.name
                ))
            })
        };
        Ok(Distributed { hash, key: key.iter().map(kind).collect::<Result<_, Error>>()? })
    }

    /// Into `numbers` that of every row.
    pub fn fold(&self, rows: &Columns, numbers: &mut [u64]) -> Result<(), Error> {
        for (n, &(at, kind)) in self.key.iter().enumerate() {
            let column = &rows.columns[at];
            if let Some(row) = (0..rows.rows).find(|row| !column.is_present(*row)) {
                return Err(Error::Plan(format!(
                    "distribution key {}: row {row} of a chunk is NULL, which no shard has a place for",
                    column.name
                )));
            }
            let set =
                |row: usize, own: u64| numbers[row] = if n == 0 { own } else { hash_two(numbers[row], own) };
            match (&column.values, kind) {
                (Values::I32(values), Kind::Whole { bits }) => {
                    each(values.iter().map(|v| self.number(i64::from(*v), bits)), set);
                }
                (Values::I64(values), Kind::Whole { bits }) => {
                    each(values.iter().map(|v| self.number(*v, bits)), set);
                }
                (Values::Text(values), Kind::Text) => {
                    each((0..rows.rows).map(|row| city_hash64(values.get(row))), set);
                }
                _ => return Err(unplaceable(column)),
            }
        }
        Ok(())
    }

    /// Of one whole number, stored in so many bits.
    fn number(&self, value: i64, bits: u32) -> u64 {
        match self.hash {
            Hash::IntHash64 => int_hash64(value as u64),
            // Its bits as they are stored, and no sign before them.
            Hash::CityHash64 => int_hash64(value as u64 & (u64::MAX >> (64 - bits))),
            // The remainder is taken of 32 bits, or of 64 where the column has more.
            Hash::Value if bits <= 32 => u64::from(value as u32),
            Hash::Value => value as u64,
        }
    }
}

fn each(own: impl Iterator<Item = u64>, mut set: impl FnMut(usize, u64)) {
    own.enumerate().for_each(|(row, own)| set(row, own));
}

fn kind_of(declared: &str) -> Option<Kind> {
    let declared = declared.trim().to_ascii_lowercase();
    Some(match declared.as_str() {
        "string" => Kind::Text,
        "bool" | "uint8" | "int8" => Kind::Whole { bits: 8 },
        "uint16" | "int16" => Kind::Whole { bits: 16 },
        "uint32" | "int32" => Kind::Whole { bits: 32 },
        "uint64" | "int64" => Kind::Whole { bits: 64 },
        _ => return None,
    })
}

fn unplaceable(column: &Column) -> Error {
    Error::Plan(format!(
        "distribution key {}: values of {:?} do not go with its type in the database",
        column.name, column.ty
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_as_many_slots_as_they_weigh_in_their_order() {
        assert_eq!(slots(&[1, 1, 1], 3).unwrap(), [0, 1, 2]);
        assert_eq!(slots(&[2, 0, 1], 3).unwrap(), [0, 0, 2]);
        assert!(slots(&[1, 1], 3).is_err());
        assert!(slots(&[0, 0], 2).is_err());
        assert!(slots(&[u32::MAX, u32::MAX], 2).is_err(), "34 GB");
    }
}
