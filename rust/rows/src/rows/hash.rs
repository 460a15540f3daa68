//! Counter-based randomness: SplitMix64 of a key and an index. No state, integers only.

/// From one index to the next: 2^64 by the golden ratio.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const LOW: u64 = 0xffff_ffff;

/// SplitMix64's finaliser: a bijection of 64 bits. Source: Steele, Lea, Flood, OOPSLA 2014.
#[inline(always)]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Draw `index` of the stream `key`.
#[inline(always)]
pub fn hash(key: u64, index: u64) -> u64 {
    mix(place(key, index))
}

/// What `mix` makes draw `index` of; the next index is `STEP` further.
#[inline(always)]
pub fn place(key: u64, index: u64) -> u64 {
    key.wrapping_add(index.wrapping_mul(STEP))
}

/// A second draw from a hash: its high bits depend on all bits of `h`, at the price of one multiplication.
#[inline(always)]
pub fn second(h: u64) -> u64 {
    (h ^ (h >> 32)).wrapping_mul(0xd134_2543_de82_ef95)
}

/// The key of a stream named by a path, e.g. stream, column, purpose.
pub fn key(seed: u64, path: &[&str]) -> u64 {
    path.iter().fold(mix(seed ^ STEP), |key, name| {
        // FNV-1a over the name; the length keeps ("ab", "c") and ("a", "bc") apart.
        let start = 0xcbf2_9ce4_8422_2325 ^ name.len() as u64;
        let name = name.bytes().fold(start, |h, b| (h ^ b as u64).wrapping_mul(0x100_0000_01b3));
        mix(key.rotate_left(17) ^ mix(name))
    })
}

/// `floor(h * range / 2^64)`: a uniform number below `range`.
#[inline(always)]
pub fn scale(h: u64, range: u64) -> u64 {
    ((h as u128 * range as u128) >> 64) as u64
}

/// A range in two halves, for loops: vector units multiply 32 bits. Kept apart because the compiler,
/// where it can see that they are one number, goes back to the scalar 64-bit product.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    high: u64,
    low: u64,
}

impl Range {
    pub fn new(range: u64) -> Range {
        Range { high: range >> 32, low: range & LOW }
    }

    /// High and low half, for loops over ranges.
    pub fn halves(&self) -> (u64, u64) {
        (self.high, self.low)
    }

    #[inline(always)]
    pub fn of_halves(high: u64, low: u64) -> Range {
        Range { high, low }
    }

    /// As `scale`.
    #[inline(always)]
    pub fn scale(&self, h: u64) -> u64 {
        let (h1, h0, r1, r0) = (h >> 32, h & LOW, self.high & LOW, self.low & LOW);
        let middle = h1 * r0 + ((h0 * r0) >> 32);
        h1 * r1 + (middle >> 32) + ((h0 * r1 + (middle & LOW)) >> 32)
    }
}

/// `floor(value * part / 2^32)` for `part < 2^32`, exact for any signed value.
#[inline(always)]
pub fn fraction_of(value: i64, part: u64) -> i64 {
    let low = ((value as u64 & LOW) * (part & LOW)) >> 32;
    (value >> 32).wrapping_mul((part & LOW) as i64).wrapping_add(low as i64)
}

/// The same for an unsigned value.
#[inline(always)]
pub fn fraction_of_unsigned(value: u64, part: u64) -> u64 {
    let part = part & LOW;
    (value >> 32).wrapping_mul(part).wrapping_add(((value & LOW) * part) >> 32)
}

/// A seeded bijection of `0 … n-1`, any value alone.
#[derive(Debug, Clone)]
pub struct Permutation {
    n: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 3],
}

impl Permutation {
    /// Of `0 … n-1`; `n` = 0 stands for 2^64.
    pub fn new(key: u64, n: u64) -> Permutation {
        let bits = if n == 0 { 64 } else { (64 - (n - 1).leading_zeros()).max(1) };
        let mask = u64::MAX >> (64 - bits);
        Permutation {
            n,
            mask,
            shift: bits.div_ceil(2),
            keys: [hash(key, 0), hash(key, 1) | 1, hash(key, 2) | 1],
        }
    }

    /// Each step is a bijection of the mask's width; walking on until inside `n` keeps it one of `n`.
    pub fn at(&self, index: u64) -> u64 {
        let mut x = index;
        loop {
            x = (x ^ self.keys[0]) & self.mask;
            x = (x ^ (x >> self.shift)).wrapping_mul(self.keys[1]) & self.mask;
            x = (x ^ (x >> self.shift)).wrapping_mul(self.keys[2]) & self.mask;
            x ^= x >> self.shift;
            if self.n == 0 || x < self.n {
                return x;
            }
        }
    }

    /// The index that has this value; for a value outside of the permutation some other index.
    pub fn index_of(&self, value: u64) -> u64 {
        let mut x = value & self.mask;
        loop {
            // The shift is half of the width or more, so that each of these steps undoes itself.
            x ^= x >> self.shift;
            x = x.wrapping_mul(inverse(self.keys[2])) & self.mask;
            x = (x ^ (x >> self.shift)).wrapping_mul(inverse(self.keys[1])) & self.mask;
            x = (x ^ (x >> self.shift) ^ self.keys[0]) & self.mask;
            if self.n == 0 || x < self.n {
                return x;
            }
        }
    }
}

/// Of an odd number modulo 2^64, by Newton: each step doubles the bits that are right.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |found, _| found.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(found))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_range_in_halves_scales_as_the_whole(h: u64, range: u64) {
            prop_assert_eq!(Range::new(range).scale(h), scale(h, range));
        }

        #[test]
        fn fractions_are_floors(value: i64, part: u32) {
            let exact = (value as i128 * part as i128) >> 32;
            prop_assert_eq!(fraction_of(value, part as u64) as i128, exact);
            prop_assert_eq!(fraction_of_unsigned(value as u64, part as u64) as u128, (value as u64 as u128 * part as u128) >> 32);
        }

        #[test]
        fn a_permutation_visits_every_value_once(key: u64, n in 1u64..3000) {
            let p = Permutation::new(key, n);
            let mut seen: Vec<u64> = (0..n).map(|i| p.at(i)).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }

        #[test]
        fn a_permutation_leads_back(key: u64, n: u64, index: u64) {
            let p = Permutation::new(key, n);
            let index = if n == 0 { index } else { index % n };
            prop_assert_eq!(p.index_of(p.at(index)), index);
        }
    }

    #[test]
    fn paths_are_told_apart_by_where_names_end() {
        assert_ne!(key(1, &["ab", "c"]), key(1, &["a", "bc"]));
        assert_ne!(key(1, &["a"]), key(2, &["a"]));
    }
}
