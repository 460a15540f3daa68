//! UUIDs of version 4's shape: a function of key and place, no two of one key equal, and each leads back to its place.
//!
//! Of the 122 bits that are free in this shape 62 are the place, scattered by a permutation; the others are hashed from
//! it. So a table of any size has unique keys, and the row of a key is found without an index.

use super::hash::{hash, Permutation};

/// Bits below the variant.
const SCATTERED: u32 = 62;
const VERSION: u64 = 0x4000;
const VARIANT: u64 = 0b10 << SCATTERED;

#[derive(Debug, Clone)]
pub struct Uuids {
    key: u64,
    order: Permutation,
}

impl Uuids {
    pub fn new(key: u64) -> Uuids {
        Uuids { key, order: Permutation::new(key, 1 << SCATTERED) }
    }

    /// `place` is below 2^62.
    #[inline]
    pub fn at(&self, place: u64) -> [u8; 16] {
        let high = hash(self.key, place) & !0xf000 | VERSION;
        let low = self.order.at(place) | VARIANT;
        (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
    }

    /// `None`: none of these.
    pub fn place_of(&self, uuid: [u8; 16]) -> Option<u64> {
        let low = u128::from_be_bytes(uuid) as u64;
        let place = self.order.index_of(low & !(0b11 << SCATTERED));
        (self.at(place) == uuid).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::uuid::uuid_text;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_uuid_has_the_shape_of_version_4_and_leads_back(key: u64, place in 0u64..1 << SCATTERED) {
            let uuids = Uuids::new(key);
            let text = String::from_utf8(uuid_text(uuids.at(place)).to_vec()).unwrap();
            prop_assert_eq!(&text[14..15], "4");
            prop_assert!("89ab".contains(&text[19..20]), "{}", text);
            prop_assert_eq!(uuids.place_of(uuids.at(place)), Some(place));
        }

        #[test]
        fn another_uuid_leads_nowhere(key: u64, place in 0u64..1 << 40, bit in 0usize..128) {
            let uuids = Uuids::new(key);
            let mut other = uuids.at(place);
            other[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(uuids.place_of(other), None);
        }
    }

    #[test]
    fn bits_are_as_often_set_as_not() {
        let uuids = Uuids::new(7);
        let n = 20_000u64;
        let mut set = [0u64; 128];
        for place in 0..n {
            let bits = u128::from_be_bytes(uuids.at(place));
            (0..128).for_each(|bit| set[bit] += (bits >> bit & 1) as u64);
        }
        // Five standard deviations of a fair coin; version and variant are what they are.
        let fair = |count: u64| (count as f64 - n as f64 / 2.0).abs() < 5.0 * (n as f64).sqrt() / 2.0;
        let fixed: Vec<usize> = (0..128).filter(|&bit| !fair(set[bit])).collect();
        assert_eq!(fixed, [62, 63, 76, 77, 78, 79]);
    }
}
