//! PostgreSQL's own rule for hash partitions.
//!
//! Each key column is hashed by its type's extended hash function with one fixed seed, the hashes are combined, and the
//! remainder names the partition (PostgreSQL 11 and later; `satisfies_hash_partition` says the same in a test).

use super::KeyColumn;
use crate::encode::pgcopy::POSTGRES_EPOCH_US;
use crate::error::Error;
use crate::plan::ColumnPlan;
use crate::rows::lookup3::{hash_bytes, hash_i64, hash_u32};
use crate::rows::{Column, Columns, Values};
use crate::types::date::{date_days, POSTGRES_EPOCH_DAYS};
use crate::types::uuid::uuid_bytes;

/// How the values of one key column are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// int2 and int4.
    Narrow,
    /// Hashed as the int4 that PostgreSQL stores.
    Date,
    /// int8 and timestamps, in PostgreSQL's unit.
    Wide {
        per_us: i64,
        epoch_us: i64,
    },
    Bool,
    Text,
    /// char(n): trailing blanks do not count.
    Padded,
    Uuid,
}

/// The hash of a row's key.
#[derive(Debug, Clone)]
pub struct HashPartitions {
    key: Vec<(usize, Kind)>,
}

impl HashPartitions {
    /// Errors: a type that PostgreSQL hashes by a rule we do not have (floats, numeric, lists).
    pub fn new(key: &[KeyColumn]) -> Result<HashPartitions, Error> {
        let kind = |&(at, column, declared): &KeyColumn| Ok((at, kind_of(column, declared)?));
        Ok(HashPartitions { key: key.iter().map(kind).collect::<Result<_, Error>>()? })
    }

    /// Into `hashes`, which are zero, that of every row.
    pub fn fold(&self, rows: &Columns, hashes: &mut [u64]) -> Result<(), Error> {
        self.key.iter().try_for_each(|&(at, kind)| fold(&rows.columns[at], kind, hashes))
    }
}

fn kind_of(column: &ColumnPlan, declared: &str) -> Result<Kind, Error> {
    let declared = declared.trim().to_ascii_lowercase();
    let name = declared.split('(').next().unwrap_or_default().trim();
    Ok(match name {
        "int2" | "int4" | "smallint" | "integer" => Kind::Narrow,
        "date" => Kind::Date,
        "int8" | "bigint" => Kind::Wide { per_us: 1, epoch_us: 0 },
        "timestamptz" | "timestamp" | "timestamp with time zone" | "timestamp without time zone" => {
            let per_us = if column.ty == crate::plan::LogicalType::TimeMs { 1_000 } else { 1 };
            Kind::Wide { per_us, epoch_us: POSTGRES_EPOCH_US }
        }
        "bool" | "boolean" => Kind::Bool,
        "text" | "varchar" | "character varying" => Kind::Text,
        "char" | "bpchar" | "character" => Kind::Padded,
        "uuid" => Kind::Uuid,
        _ => {
            return Err(Error::Plan(format!(
                "distribution key {}: rows are not placed by {}; choose a column of int2, int4, int8, text, char, \
                 uuid, bool, date or timestamp",
                column.name, declared
            )))
        }
    })
}

fn unplaceable(column: &Column) -> Error {
    Error::Plan(format!(
        "distribution key {}: values of {:?} do not go with its type in the database",
        column.name, column.ty
    ))
}

/// Combines the hash of each row's value into `hashes`; NULL changes nothing, as in PostgreSQL.
fn fold(column: &Column, kind: Kind, hashes: &mut [u64]) -> Result<(), Error> {
    let add = |row: usize, hash: u64, hashes: &mut [u64]| {
        if column.is_present(row) {
            hashes[row] = combine(hashes[row], hash);
        }
    };
    let rows = hashes.len();
    match (&column.values, kind) {
        (Values::I32(values), Kind::Bool) => {
            (0..rows).for_each(|row| add(row, hash_u32(u32::from(values[row] != 0)), hashes));
        }
        (Values::I32(values), _) => (0..rows).for_each(|row| add(row, hash_u32(values[row] as u32), hashes)),
        (Values::I64(values), Kind::Wide { per_us, epoch_us }) => {
            for (row, value) in values.iter().enumerate() {
                add(row, hash_i64(value.wrapping_mul(per_us).wrapping_sub(epoch_us)), hashes);
            }
        }
        (Values::Text(values), Kind::Text) => {
            (0..rows).for_each(|row| add(row, hash_bytes(values.get(row)), hashes));
        }
        (Values::Text(values), Kind::Padded) => {
            (0..rows).for_each(|row| add(row, hash_bytes(values.get(row).trim_ascii_end()), hashes));
        }
        (Values::Text(_), Kind::Uuid) => {
            fold_spelled(column, "UUID", hashes, |text| Some(hash_bytes(&uuid_bytes(text)?)))?;
        }
        (Values::Text(_), Kind::Date) => {
            let stored = |text: &[u8]| Some((date_days(text)? - POSTGRES_EPOCH_DAYS) as u32);
            fold_spelled(column, "date", hashes, |text| stored(text).map(hash_u32))?;
        }
        _ => return Err(unplaceable(column)),
    }
    Ok(())
}

/// As `fold`, of values that stand as text for what is hashed.
fn fold_spelled(
    column: &Column,
    what: &str,
    hashes: &mut [u64],
    hash_of: impl Fn(&[u8]) -> Option<u64>,
) -> Result<(), Error> {
    let Values::Text(values) = &column.values else { unreachable!("called for texts") };
    for (row, hash) in hashes.iter_mut().enumerate().filter(|(row, _)| column.is_present(*row)) {
        let own = hash_of(values.get(row)).ok_or_else(|| {
            let text = String::from_utf8_lossy(values.get(row)).into_owned();
            Error::Plan(format!("distribution key {}: {text:?} is no {what}", column.name))
        })?;
        *hash = combine(*hash, own);
    }
    Ok(())
}

fn combine(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(a << 54).wrapping_add(a >> 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_column_rule_agrees_with_the_constant_that_was_checked_on_a_server() {
        // For one column: (hash + 5305509591434766563) mod N.
        assert_eq!(combine(0, 1), 5_305_509_591_434_766_563 + 1);
    }
}
