//! A hash of one value that a server's SQL can compute too, so that texts and floats have sums that both sides know.

use super::city::{city_hash64, int_hash64};
use super::columns::{Column, Values};
use super::crc32::crc32;
use super::digest::{hash_bytes, hash_items};
use super::hash::mix;
use super::lookup3;
use crate::plan::ValueHash;

impl ValueHash {
    /// Σ over the values that are there. trimmed: blanks at the end do not count, as in columns of type char(n).
    pub(super) fn sum(self, column: &Column, rows: usize, trimmed: bool) -> i128 {
        let there = (0..rows).filter(|&row| column.is_present(row));
        match &column.values {
            Values::F32(v) if self == ValueHash::CityHash64 || self == ValueHash::ReadBack => {
                there.map(|row| self.of_bits(u64::from(v[row].to_bits()))).sum()
            }
            Values::F32(v) => there.map(|row| self.of_float(f64::from(v[row]))).sum(),
            Values::F64(v) if self == ValueHash::Postgresql => {
                // All at once, less what stands in the places of NULLs.
                let nulls = (0..rows).filter(|&row| !column.is_present(row));
                lookup3::sum_f64(&v[..rows]) - nulls.map(|row| self.of_float(v[row])).sum::<i128>()
            }
            Values::F64(v) => there.map(|row| self.of_float(v[row])).sum(),
            Values::Text(v) if trimmed => there.map(|row| self.of_text(trim(v.get(row)))).sum(),
            Values::Text(v) => there.map(|row| self.of_text(v.get(row))).sum(),
            Values::List(v) => there.map(|row| i128::from(hash_items(v, row))).sum(),
            Values::I32(v) => there.map(|row| i128::from(mix(v[row] as i64 as u64))).sum(),
            Values::I64(v) => there.map(|row| i128::from(mix(v[row] as u64))).sum(),
        }
    }

    /// Of one value that is there.
    pub(super) fn of_value(self, values: &Values, row: usize, trimmed: bool) -> i128 {
        match values {
            Values::F32(v) if self == ValueHash::CityHash64 || self == ValueHash::ReadBack => {
                self.of_bits(u64::from(v[row].to_bits()))
            }
            Values::F32(v) => self.of_float(f64::from(v[row])),
            Values::F64(v) => self.of_float(v[row]),
            Values::Text(v) => self.of_text(if trimmed { trim(v.get(row)) } else { v.get(row) }),
            Values::List(v) => i128::from(hash_items(v, row)),
            Values::I32(v) => i128::from(mix(v[row] as i64 as u64)),
            Values::I64(v) => i128::from(mix(v[row] as u64)),
        }
    }

    /// The hashes of `hashes.len()` rows from `first` on, and Σ of those of values that are there: others are left as
    /// they come.
    pub(super) fn of_block(self, column: &Column, first: usize, trimmed: bool, hashes: &mut [i64]) -> i128 {
        let there = |row: usize| column.present.get(first + row).is_none_or(|present| *present != 0);
        match &column.values {
            Values::F64(v) if self == ValueHash::Postgresql => {
                lookup3::hashes_of_f64(&v[first..first + hashes.len()], hashes);
                let there = hashes.iter().enumerate().filter(|(row, _)| there(*row));
                there.map(|(_, hash)| i128::from(*hash)).sum()
            }
            values => {
                let mut sum = 0;
                for (row, kept) in hashes.iter_mut().enumerate().filter(|(row, _)| there(*row)) {
                    let hash = self.of_value(values, first + row, trimmed);
                    sum += hash;
                    *kept = hash as i64;
                }
                sum
            }
        }
    }

    /// Whether hashes are numbers with a sign; else they are of 64 bits without.
    pub(super) fn is_signed(self) -> bool {
        self == ValueHash::Postgresql
    }

    /// Σ `of_whole`.
    pub(super) fn sum_of_whole(self, values: &[i64]) -> i128 {
        match self {
            ValueHash::Postgresql => lookup3::sum_i64(values),
            _ => values.iter().map(|value| self.of_whole(*value)).sum(),
        }
    }

    /// Of a whole number: `hashint8extended`, `CRC32` of its decimal digits, `intHash64`.
    pub(super) fn of_whole(self, value: i64) -> i128 {
        match self {
            ValueHash::Postgresql => i128::from(lookup3::hash_i64(value) as i64),
            ValueHash::Crc32 => {
                let mut space = [0; 20];
                i128::from(crc32(decimal(value, &mut space)))
            }
            ValueHash::CityHash64 | ValueHash::ReadBack => self.of_bits(value as u64),
        }
    }

    /// Whether a column of these values has such a sum: lists and whole numbers are read back.
    pub(super) fn takes(self, values: &Values) -> bool {
        self == ValueHash::ReadBack || matches!(values, Values::F32(_) | Values::F64(_) | Values::Text(_))
    }

    /// What an engine keeps of a sum.
    pub(super) fn kept(self, sum: i128) -> i128 {
        match self {
            ValueHash::CityHash64 => i128::from(sum as u64),
            _ => sum,
        }
    }

    fn of_text(self, text: &[u8]) -> i128 {
        match self {
            ValueHash::Postgresql => i128::from(lookup3::hash_bytes(text) as i64),
            ValueHash::Crc32 => i128::from(crc32(text)),
            ValueHash::CityHash64 => i128::from(city_hash64(text)),
            ValueHash::ReadBack => i128::from(hash_bytes(text)),
        }
    }

    fn of_float(self, value: f64) -> i128 {
        match self {
            ValueHash::Postgresql => i128::from(lookup3::hash_f64(value) as i64),
            ValueHash::Crc32 => i128::from(crc32(&point(value))),
            ValueHash::CityHash64 | ValueHash::ReadBack => self.of_bits(value.to_bits()),
        }
    }

    fn of_bits(self, bits: u64) -> i128 {
        i128::from(if self == ValueHash::CityHash64 { int_hash64(bits) } else { mix(bits) })
    }
}

fn trim(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1)]
}

/// A number as text: every row of MySQL's has one.
fn decimal(value: i64, space: &mut [u8; 20]) -> &[u8] {
    let (mut rest, mut at) = (value.unsigned_abs(), space.len());
    loop {
        at -= 1;
        space[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        space[at] = b'-';
    }
    &space[at..]
}

/// `ST_AsBinary(Point(value + 0, 0))`: MySQL shows the bits of a float nowhere else. Adding zero makes -0 a 0.
fn point(value: f64) -> [u8; 21] {
    let mut wkb = [0; 21];
    (wkb[0], wkb[1]) = (1, 1);
    wkb[5..13].copy_from_slice(&(value + 0.0).to_le_bytes());
    wkb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_has_the_checksum_that_mysql_gave() {
        assert_eq!(ValueHash::Crc32.of_float(1.5), 1_235_926_589);
        assert_eq!(ValueHash::Crc32.of_float(-0.0), 3_149_495_635);
    }

    #[test]
    fn a_float_has_the_hash_that_clickhouse_gave() {
        assert_eq!(ValueHash::CityHash64.of_float(1.5), 7_287_324_520_655_339_053);
        assert_eq!(ValueHash::CityHash64.of_bits(u64::from(1.5f32.to_bits())), 17_641_193_269_776_743_632);
    }

    #[test]
    fn a_number_has_its_digits() {
        for value in [0, 7, -7, 10, 1_234_567_890, i64::MAX, i64::MIN] {
            assert_eq!(decimal(value, &mut [0; 20]), value.to_string().as_bytes());
        }
    }

    #[test]
    fn blanks_at_the_end_are_trimmed_and_no_others() {
        assert_eq!(trim(b" a b \t  "), b" a b \t");
        assert_eq!(trim(b"   "), b"");
    }
}
