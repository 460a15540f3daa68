//! PostgreSQL's extended hash functions: Bob Jenkins' lookup3 with a seed of 64 bits, as `hash_any_extended` has it.
//!
//! Rows are placed on shards by them, and sums of them are compared with the server's own. Source: PostgreSQL,
//! src/common/hashfn.c and src/backend/access/hash/hashfunc.c; held against a server's answers in the tests of loads.

/// Seed of partition hashing, which PostgreSQL keeps for ever: data are stored by it.
pub const SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// `hashint8extended`: of an int8 or a timestamp in PostgreSQL's unit.
pub fn hash_i64(value: i64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    hash_u32(low ^ if value >= 0 { high } else { !high })
}

/// `hashint4extended`: of four bytes.
pub fn hash_u32(value: u32) -> u64 {
    let mut s = State::new(4);
    s.a = s.a.wrapping_add(value);
    s.finish()
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
    if value == 0.0 {
        return SEED;
    }
    let value = if value.is_nan() { f64::NAN } else { value };
    let bits = value.to_bits();
    let mut s = EIGHT_BYTES;
    s.a = s.a.wrapping_add(bits as u32);
    s.b = s.b.wrapping_add((bits >> 32) as u32);
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

/// Before the first of eight bytes: floats are hashed by the million.
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
    fn a_float_has_the_hash_of_its_eight_bytes() {
        for value in [1.0, -1.5, 1e-308, f64::MAX, f64::INFINITY, 0.1] {
            assert_eq!(hash_f64(value), hash_bytes(&value.to_bits().to_le_bytes()));
        }
        assert_eq!((hash_f64(0.0), hash_f64(-0.0)), (SEED, SEED));
    }
}
