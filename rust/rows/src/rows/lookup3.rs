//! PostgreSQL's extended hash functions: Bob Jenkins' lookup3 with a seed of 64 bits, as `hash_any_extended` has it.
//!
//! Rows are placed on shards by them, and sums of them are compared with the server's own. Source: PostgreSQL,
//! src/common/hashfn.c and src/backend/access/hash/hashfunc.c; held against a server's answers in the tests of loads.

use super::simd::{vectorised, Level};

/// Seed of partition hashing, which PostgreSQL keeps for ever: data are stored by it.
pub const SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// `hashint8extended`: of an int8 or a timestamp in PostgreSQL's unit.
pub fn hash_i64(value: i64) -> u64 {
    hash_u32(folded(value))
}

#[inline(always)]
fn folded(value: i64) -> u32 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    low ^ if value >= 0 { high } else { !high }
}

/// `hashint4extended`: of four bytes.
pub fn hash_u32(value: u32) -> u64 {
    joined(halves_of_u32(value))
}

/// `hashtextextended` of a text that is compared byte by byte: any bytes, read as little-endian words.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
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

/// `hashfloat8extended`, and `hashfloat4extended` of a value that was widened: zeros are one value, and so is every NaN.
pub fn hash_f64(value: f64) -> u64 {
    joined(halves_of_f64(value))
}

/// Σ `hash_f64` as signed numbers: as many values at once as the machine's registers hold.
pub fn sum_f64(values: &[f64]) -> i128 {
    let level = Level::best();
    sum_of_halves(values, |values, sums| add_f64(level, values, sums))
}

/// Σ `hash_i64` as signed numbers.
pub fn sum_i64(values: &[i64]) -> i128 {
    let level = Level::best();
    sum_of_halves(values, |values, sums| add_i64(level, values, sums))
}

/// `hash_f64` of each value, as signed numbers.
pub fn hashes_of_f64(values: &[f64], hashes: &mut [i64]) {
    fill_f64(Level::best(), values, hashes);
}

vectorised! {
    fn add_i64(values: &[i64], sums: &mut Halves) {
        values.iter().for_each(|value| sums.add(halves_of_u32(folded(*value))));
    }
}

vectorised! {
    fn fill_f64(values: &[f64], hashes: &mut [i64]) {
        for (hash, value) in hashes.iter_mut().zip(values) {
            *hash = joined(halves_of_f64(*value)) as i64;
        }
    }
}

vectorised! {
    fn add_f64(values: &[f64], sums: &mut Halves) {
        values.iter().for_each(|value| sums.add(halves_of_f64(*value)));
    }
}

/// Sums of upper halves, with their sign, and of lower ones: of 2^30 hashes neither leaves 64 bits.
#[derive(Default)]
struct Halves {
    upper: i64,
    lower: i64,
}

impl Halves {
    #[inline(always)]
    fn add(&mut self, (upper, lower): (u32, u32)) {
        self.upper += i64::from(upper as i32);
        self.lower += i64::from(lower);
    }
}

fn sum_of_halves<T>(values: &[T], add: impl Fn(&[T], &mut Halves)) -> i128 {
    let sum = |values: &[T]| {
        let mut sums = Halves::default();
        add(values, &mut sums);
        (i128::from(sums.upper) << 32) + i128::from(sums.lower)
    };
    values.chunks(1 << 30).map(sum).sum()
}

/// Without a branch, so that many can be made at once.
#[inline(always)]
fn halves_of_f64(value: f64) -> (u32, u32) {
    let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    let mut s = EIGHT_BYTES;
    s.a = s.a.wrapping_add(bits as u32);
    s.b = s.b.wrapping_add((bits >> 32) as u32);
    let (upper, lower) = s.halves();
    match value == 0.0 {
        true => ((SEED >> 32) as u32, SEED as u32),
        false => (upper, lower),
    }
}

#[inline(always)]
fn halves_of_u32(value: u32) -> (u32, u32) {
    let mut s = FOUR_BYTES;
    s.a = s.a.wrapping_add(value);
    s.halves()
}

#[inline(always)]
fn joined((upper, lower): (u32, u32)) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
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

/// Before the first of four or eight bytes: numbers are hashed by the million.
const FOUR_BYTES: State = State::new(4);
const EIGHT_BYTES: State = State::new(8);

impl State {
    const fn new(len: u32) -> State {
        let start = 0x9e37_79b9_u32.wrapping_add(len).wrapping_add(3_923_095);
        let mut state = State { a: start, b: start, c: start };
        state.a = state.a.wrapping_add((SEED >> 32) as u32);
        state.b = state.b.wrapping_add(SEED as u32);
        state.mix();
        state
    }

    const fn mix(&mut self) {
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

    fn finish(self) -> u64 {
        joined(self.halves())
    }

    #[inline(always)]
    fn halves(mut self) -> (u32, u32) {
        let State { a, b, c } = &mut self;
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
        (*b, *c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_has_the_hash_of_its_eight_bytes() {
        for value in [1.0, -1.5, 1e-308, f64::MAX, f64::INFINITY, 0.1] {
            assert_eq!(hash_f64(value), hash_bytes(&value.to_bits().to_le_bytes()));
        }
        assert_eq!((hash_f64(0.0), hash_f64(-0.0)), (SEED, SEED));
        assert_eq!(hash_f64(f64::from_bits(0xfff0_dead_beef_0001)), hash_f64(f64::NAN));
    }

    #[test]
    fn the_sum_of_many_hashes_is_that_of_each_at_every_level() {
        let special = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::MIN, f64::MAX, 1e-308];
        let floats: Vec<f64> = (0..1_000).map(|k| k as f64 * 0.37 - 100.0).chain(special).collect();
        let one_by_one: i128 = floats.iter().map(|value| i128::from(hash_f64(*value) as i64)).sum();
        assert_eq!((sum_f64(&floats), sum_f64(&[])), (one_by_one, 0));
        for level in Level::supported() {
            let at_level = sum_of_halves(&floats, |values, sums| add_f64(level, values, sums));
            assert_eq!(at_level, one_by_one, "{level:?}");
        }
    }
}
