//! PostgreSQL's own rule for hash partitions.
//!
//! Each key column is hashed by its type's extended hash function with one fixed seed, the hashes are combined, and the
//! remainder names the partition (PostgreSQL 11 and later; `satisfies_hash_partition` says the same in a test).

use super::KeyColumn;
use crate::encode::pgcopy::{POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_US};
use crate::error::Error;
use crate::plan::ColumnPlan;
use crate::rows::spelled::{date_days, uuid_bytes};
use crate::rows::{Column, Columns, Values};

/// Seed of partition hashing, which PostgreSQL keeps for ever: data are stored by it.
const SEED: u64 = 0x7A5B_2236_7996_DCFD;

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

fn hash_i64(value: i64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    hash_u32(low ^ if value >= 0 { high } else { !high })
}

/// Bob Jenkins' lookup3 as PostgreSQL seeds it, for four bytes.
fn hash_u32(value: u32) -> u64 {
    let mut s = State::new(4);
    s.a = s.a.wrapping_add(value);
    s.finish()
}

/// The same for any bytes, read as little-endian words.
fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut s = State::new(bytes.len() as u32);
    let mut blocks = bytes.chunks_exact(12);
    for block in &mut blocks {
        s.a = s.a.wrapping_add(word(&block[..4]));
        s.b = s.b.wrapping_add(word(&block[4..8]));
        s.c = s.c.wrapping_add(word(&block[8..]));
        s.mix();
    }
    let rest = blocks.remainder();
    s.a = s.a.wrapping_add(word(&rest[..rest.len().min(4)]));
    s.b = s.b.wrapping_add(word(&rest[rest.len().min(4)..rest.len().min(8)]));
    // The lowest byte of the third word stands for the length, which is in already.
    s.c = s.c.wrapping_add(word(&rest[rest.len().min(8)..]) << 8);
    s.finish()
}

/// Up to four bytes, little-endian, zeros above.
fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

struct State {
    a: u32,
    b: u32,
    c: u32,
}

impl State {
    fn new(len: u32) -> State {
        let start = 0x9e37_79b9_u32.wrapping_add(len).wrapping_add(3_923_095);
        let mut state = State { a: start, b: start, c: start };
        state.a = state.a.wrapping_add((SEED >> 32) as u32);
        state.b = state.b.wrapping_add(SEED as u32);
        state.mix();
        state
    }

    fn mix(&mut self) {
        let State { a, b, c } = self;
        *a = a.wrapping_sub(*c) ^ c.rotate_left(4);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(6);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(8);
        *b = b.wrapping_add(*a);
        *a = a.wrapping_sub(*c) ^ c.rotate_left(16);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(19);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(4);
        *b = b.wrapping_add(*a);
    }

    fn finish(mut self) -> u64 {
        let State { a, b, c } = &mut self;
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
        u64::from(*b) << 32 | u64::from(*c)
    }
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
