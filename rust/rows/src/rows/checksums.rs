//! Sums over the rows of a table that an engine computes too.

use super::columns::{Column, Columns, Values};
use super::row_sum::{add_hashed, Part, RowSum};
use super::simd::{vectorised, Level};
use crate::error::Error;
use crate::plan::{ChecksumItem, ValueHash};

/// The figures of a checksum query proof, summed over rows; see [`ChecksumItem`].
#[derive(Debug, Clone)]
pub struct Checksums {
    items: Vec<Item>,
    sums: Vec<i128>,
    /// Memory of `Item::Row`: a number for each row of a batch.
    numbers: Vec<i64>,
}

#[derive(Debug, Clone)]
enum Item {
    Rows,
    NotNull(usize),
    Whole {
        column: usize,
        signed: bool,
    },
    Low(usize),
    High {
        column: usize,
        signed: bool,
    },
    Wrapped(usize),
    Product(usize, usize),
    Scaled {
        column: usize,
        unit: f64,
    },
    Length(usize),
    True(usize),
    /// weight: of its hashes in the numbers of rows.
    Hash {
        column: usize,
        hash: ValueHash,
        trimmed: bool,
        weight: Option<i64>,
    },
    Row {
        hash: ValueHash,
        row: RowSum,
    },
}

impl Checksums {
    /// `like` gives the columns by name and type. Errors: a column that is not there, or of a type without that sum.
    pub fn new(items: &[ChecksumItem], like: &Columns) -> Result<Checksums, Error> {
        let mut items = items.iter().map(|item| Item::of(item, like)).collect::<Result<Vec<_>, Error>>()?;
        hash_once(&mut items);
        Ok(Checksums { sums: vec![0; items.len()], items, numbers: Vec::new() })
    }

    pub fn add(&mut self, columns: &Columns) {
        if matches!(self.items.last(), Some(Item::Row { row, .. }) if row.begun) {
            self.numbers.clear();
            self.numbers.resize(columns.rows, 0);
        }
        for (item, sum) in self.items.iter().zip(&mut self.sums) {
            *sum = item.kept(sum.wrapping_add(item.sum(columns, &mut self.numbers)));
        }
    }

    pub fn merge(&mut self, other: &Checksums) {
        for ((item, sum), other) in self.items.iter().zip(&mut self.sums).zip(&other.sums) {
            *sum = item.kept(sum.wrapping_add(*other));
        }
    }

    /// Back to those of no rows.
    pub fn clear(&mut self) {
        self.sums.fill(0);
    }

    /// In the order of the items, separated by blanks: as ledgers keep them.
    pub fn text(&self) -> String {
        let figures: Vec<String> = self.sums.iter().map(i128::to_string).collect();
        figures.join(" ")
    }

    /// As `merge`, of figures that `text` gave for the same items; `None`: it did not.
    pub fn merge_text(&mut self, text: &str) -> Option<()> {
        let figures = text.split_ascii_whitespace().map(|figure| figure.parse().ok());
        let figures: Vec<i128> = figures.collect::<Option<_>>()?;
        if figures.len() != self.sums.len() {
            return None;
        }
        for ((item, sum), figure) in self.items.iter().zip(&mut self.sums).zip(figures) {
            // A ledger or a frame can hold any figure.
            *sum = item.kept(sum.checked_add(figure)?);
        }
        Some(())
    }

    /// In the order of the items.
    pub fn sums(&self) -> &[i128] {
        &self.sums
    }
}

/// Place of the column that a sum is of.
fn place(like: &Columns, name: &str, what: &str, fits: fn(&Values) -> bool) -> Result<usize, Error> {
    let at = like.columns.iter().position(|c| c.name == name);
    let at =
        at.ok_or_else(|| Error::Plan(format!("checksum query: {what} of `{name}`, which is not a column")))?;
    if fits(&like.columns[at].values) {
        return Ok(at);
    }
    let ty = like.columns[at].ty;
    Err(Error::Plan(format!(
        "checksum query: {what} of `{name}`, which is {ty:?}; leave it out of the proof"
    )))
}

/// The one sum over whole rows, where it is the last item, takes the hashes of columns from their own sums.
fn hash_once(items: &mut [Item]) {
    let Some((Item::Row { row, .. }, before)) = items.split_last_mut() else { return };
    if before.iter().any(|item| matches!(item, Item::Row { .. })) {
        return;
    }
    for item in before {
        if let Item::Hash { column, hash, trimmed, weight } = item {
            *weight = row.take(*column, *hash, *trimmed);
        }
    }
}

impl Item {
    fn of(item: &ChecksumItem, like: &Columns) -> Result<Item, Error> {
        let column = |name: &str, what: &str, fits: fn(&Values) -> bool| place(like, name, what, fits);
        let integer: fn(&Values) -> bool = |v| matches!(v, Values::I32(_) | Values::I64(_));
        Ok(match item {
            ChecksumItem::Rows {} => Item::Rows,
            ChecksumItem::NotNull { column: name } => Item::NotNull(column(name, "not_null", |_| true)?),
            ChecksumItem::Sum { column: name, signed } => {
                Item::Whole { column: column(name, "sum", integer)?, signed: *signed }
            }
            ChecksumItem::SumLow { column: name } => Item::Low(column(name, "sum_low", integer)?),
            ChecksumItem::SumHigh { column: name, signed } => {
                Item::High { column: column(name, "sum_high", integer)?, signed: *signed }
            }
            ChecksumItem::SumWrapped { column: name } => Item::Wrapped(column(name, "sum_wrapped", integer)?),
            ChecksumItem::Product { key, value } => {
                Item::Product(column(key, "product", integer)?, column(value, "product", integer)?)
            }
            ChecksumItem::SumScaled { column: name, bits } => Item::Scaled {
                column: column(name, "sum_scaled", |v| matches!(v, Values::F32(_) | Values::F64(_)))?,
                unit: (1u64 << bits) as f64,
            },
            ChecksumItem::CountTrue { column: name } => {
                Item::True(column(name, "count_true", |v| matches!(v, Values::I32(_)))?)
            }
            ChecksumItem::SumHash { column: name, hash, trimmed } => {
                let at = column(name, "sum_hash", |_| true)?;
                if !hash.takes(&like.columns[at].values) {
                    return Err(Error::Plan(format!(
                        "checksum query: {hash:?} of `{name}`, which is {:?}; read it back instead",
                        like.columns[at].ty
                    )));
                }
                Item::Hash { column: at, hash: *hash, trimmed: *trimmed, weight: None }
            }
            ChecksumItem::SumRows { hash, columns, unsigned, trimmed } => {
                let fits: fn(&Values) -> bool = match hash {
                    ValueHash::ReadBack => |_| true,
                    _ => |v| !matches!(v, Values::List(_)),
                };
                let part = |name: &String| {
                    let column = column(name, "sum_rows", fits)?;
                    Ok(Part::new(column, unsigned.contains(name), trimmed.contains(name)))
                };
                let parts = columns.iter().map(part).collect::<Result<Vec<_>, Error>>()?;
                Item::Row { hash: *hash, row: RowSum::new(*hash, parts) }
            }
            ChecksumItem::SumLength { column: name } => {
                Item::Length(column(name, "sum_length", |v| matches!(v, Values::Text(_)))?)
            }
        })
    }

    /// What is kept of a sum.
    fn kept(&self, sum: i128) -> i128 {
        match self {
            Item::Wrapped(_) => sum as i64 as i128,
            Item::Hash { hash, .. } | Item::Row { hash, .. } => hash.kept(sum),
            _ => sum,
        }
    }

    /// numbers: memory for one of each row.
    fn sum(&self, columns: &Columns, numbers: &mut Vec<i64>) -> i128 {
        let n = columns.rows;
        let column = |at: usize| &columns.columns[at];
        match *self {
            Item::Row { ref row, .. } => row.sum(columns, numbers),
            Item::Rows => n as i128,
            Item::NotNull(at) if column(at).present.is_empty() => n as i128,
            Item::NotNull(at) => column(at).present[..n].iter().filter(|&&p| p == 1).count() as i128,
            // In halves, of which many are summed at once.
            Item::Whole { column: at, signed } => low(column(at), n) + (high(column(at), n, signed) << 32),
            Item::Low(at) => low(column(at), n),
            Item::High { column: at, signed } => high(column(at), n, signed),
            Item::Wrapped(at) => (0..n).map(|row| integer(column(at), row) as i128).sum(),
            Item::Product(key, value) => {
                let (key, value) = (column(key), column(value));
                let both = (0..n).filter(|&i| key.is_present(i) && value.is_present(i));
                both.map(|i| ((integer(key, i) & 0xffff) * (integer(value, i) & 0xffff)) as i128).sum()
            }
            Item::Scaled { column: at, unit } => {
                let column = column(at);
                let present = (0..n).filter(|&i| column.is_present(i));
                present.fold(0, |sum: i128, i| sum.wrapping_add((float(column, i) * unit).round() as i128))
            }
            Item::True(at) => sum_of(column(at), n, all_of_i32, all_of_i64),
            Item::Hash { column: at, hash, trimmed, weight: None } => hash.sum(column(at), n, trimmed),
            Item::Hash { column: at, hash, trimmed, weight: Some(weight) } => {
                add_hashed(column(at), weight, hash, trimmed, numbers)
            }
            Item::Length(at) => {
                let Values::Text(texts) = &column(at).values else { unreachable!("checked by new") };
                // Null texts are empty.
                n.checked_sub(1).map_or(0, |last| texts.ends[last] as i128)
            }
        }
    }
}

fn low(column: &Column, n: usize) -> i128 {
    sum_of(column, n, low_of_i32, low_of_i64)
}

fn high(column: &Column, n: usize, signed: bool) -> i128 {
    match signed {
        true => sum_of(column, n, high_of_i32, high_of_i64),
        false => sum_of(column, n, unsigned_high_of_i32, unsigned_high_of_i64),
    }
}

/// Adds to a sum at the machine's best level.
type Add<T> = fn(Level, &[T], &mut i64);

/// Parts of 2^16 values below 2^32 each cannot leave an i64; null positions hold 0.
fn sum_of(column: &Column, n: usize, of_i32: Add<i32>, of_i64: Add<i64>) -> i128 {
    let level = Level::best();
    match &column.values {
        Values::I32(v) => sum_of_parts(&v[..n], |part, sum| of_i32(level, part, sum)),
        Values::I64(v) => sum_of_parts(&v[..n], |part, sum| of_i64(level, part, sum)),
        _ => unreachable!("checked by new"),
    }
}

fn sum_of_parts<T>(values: &[T], add: impl Fn(&[T], &mut i64)) -> i128 {
    let sum = |part: &[T]| {
        let mut sum = 0;
        add(part, &mut sum);
        i128::from(sum)
    };
    values.chunks(1 << 16).map(sum).sum()
}

macro_rules! added {
    ($of_i32:ident, $of_i64:ident, $part:expr) => {
        vectorised! {
            fn $of_i32(values: &[i32], sum: &mut i64) {
                *sum += values.iter().map(|&v| $part(i64::from(v))).sum::<i64>();
            }
        }
        vectorised! {
            fn $of_i64(values: &[i64], sum: &mut i64) {
                *sum += values.iter().map(|&v| $part(v)).sum::<i64>();
            }
        }
    };
}

added!(low_of_i32, low_of_i64, |v: i64| v & 0xffff_ffff);
added!(high_of_i32, high_of_i64, |v: i64| v >> 32);
added!(unsigned_high_of_i32, unsigned_high_of_i64, |v: i64| (v as u64 >> 32) as i64);
added!(all_of_i32, all_of_i64, |v: i64| v);

fn integer(column: &Column, row: usize) -> i64 {
    match &column.values {
        Values::I32(v) => v[row] as i64,
        Values::I64(v) => v[row],
        _ => unreachable!("checked by new"),
    }
}

fn float(column: &Column, row: usize) -> f64 {
    match &column.values {
        Values::F32(v) => v[row] as f64,
        Values::F64(v) => v[row],
        _ => unreachable!("checked by new"),
    }
}
