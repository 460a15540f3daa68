//! `cityHash64` of ClickHouse's SQL: CityHash of 2011 (version 1.0.2), which Google has changed since and ClickHouse kept.
//!
//! By Geoff Pike and Jyrki Alakuijala. Held against a server's own answers for texts of every length up to several blocks.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;
const MIX: u64 = 0x9ddf_ea08_eb38_2d69;

/// What a loop over long texts works on at once.
const BLOCK: usize = 64;

pub fn city_hash64(text: &[u8]) -> u64 {
    match text.len() {
        0..=16 => short(text),
        17..=32 => medium(text),
        33..=64 => two_halves(text),
        _ => long(text),
    }
}

/// `intHash64` of SQL: the last steps of MurmurHash3, of a number that is changed first.
pub fn int_hash64(value: u64) -> u64 {
    let mut x = value ^ 0x4CF2_D2BA_AE6D_A887;
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

/// Two hashes as one.
pub fn hash_two(low: u64, high: u64) -> u64 {
    let a = shift_mix((low ^ high).wrapping_mul(MIX));
    shift_mix((high ^ a).wrapping_mul(MIX)).wrapping_mul(MIX)
}

fn short(text: &[u8]) -> u64 {
    let len = text.len();
    match len {
        0 => K2,
        1..=3 => {
            let [first, middle, last] = [text[0], text[len >> 1], text[len - 1]].map(u64::from);
            let (y, z) = (first + (middle << 8), len as u64 + (last << 2));
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K3)).wrapping_mul(K2)
        }
        4..=8 => hash_two(len as u64 + (u64::from(word32(text, 0)) << 3), u64::from(word32(text, len - 4))),
        _ => {
            let (a, b) = (word(text, 0), word(text, len - 8));
            hash_two(a, b.wrapping_add(len as u64).rotate_right(len as u32)) ^ b
        }
    }
}

fn medium(text: &[u8]) -> u64 {
    let len = text.len();
    let a = word(text, 0).wrapping_mul(K1);
    let b = word(text, 8);
    let c = word(text, len - 8).wrapping_mul(K2);
    let d = word(text, len - 16).wrapping_mul(K0);
    hash_two(
        a.wrapping_sub(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d),
        a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(len as u64),
    )
}

fn two_halves(text: &[u8]) -> u64 {
    let len = text.len();
    let start = word(text, 0).wrapping_add((len as u64).wrapping_add(word(text, len - 16)).wrapping_mul(K0));
    let front = half(start, [word(text, 8), word(text, 16), word(text, 24)]);
    let start = word(text, 16).wrapping_add(word(text, len - 32));
    let back = half(start, [word(text, len - 24), word(text, len - 16), word(text, len - 8)]);
    let one = front.0.wrapping_add(back.1).wrapping_mul(K2);
    let other = back.0.wrapping_add(front.1).wrapping_mul(K0);
    let mixed = shift_mix(one.wrapping_add(other)).wrapping_mul(K0);
    shift_mix(mixed.wrapping_add(front.1)).wrapping_mul(K2)
}

fn half(start: u64, [second, third, last]: [u64; 3]) -> (u64, u64) {
    let b = start.wrapping_add(last).rotate_right(52);
    let c = start.rotate_right(37);
    let a = start.wrapping_add(second);
    let c = c.wrapping_add(a.rotate_right(7));
    let a = a.wrapping_add(third);
    (a.wrapping_add(last), b.wrapping_add(a.rotate_right(31)).wrapping_add(c))
}

fn long(text: &[u8]) -> u64 {
    let len = text.len();
    let mut x = word(text, 0);
    let mut y = word(text, len - 16) ^ K1;
    let mut z = word(text, len - 56) ^ K0;
    let mut v = weak(&text[len - 64..], len as u64, y);
    let mut w = weak(&text[len - 32..], (len as u64).wrapping_mul(K1), K0);
    z = z.wrapping_add(shift_mix(v.1).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    // Every block but the last, which was hashed first; a text of whole blocks has its last one left out.
    for block in text[..(len - 1) / BLOCK * BLOCK].chunks_exact(BLOCK) {
        x = x
            .wrapping_add(y)
            .wrapping_add(v.0)
            .wrapping_add(word(block, 16))
            .rotate_right(37)
            .wrapping_mul(K1);
        y = y.wrapping_add(v.1).wrapping_add(word(block, 48)).rotate_right(42).wrapping_mul(K1);
        x ^= w.1;
        y ^= v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak(block, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak(&block[32..], z.wrapping_add(w.1), y);
        (z, x) = (x, z);
    }
    hash_two(
        hash_two(v.0, w.0).wrapping_add(shift_mix(y).wrapping_mul(K1)).wrapping_add(z),
        hash_two(v.1, w.1).wrapping_add(x),
    )
}

/// Of 32 bytes and two seeds: quick, and not good on its own.
fn weak(bytes: &[u8], a: u64, b: u64) -> (u64, u64) {
    let a = a.wrapping_add(word(bytes, 0));
    let b = b.wrapping_add(a).wrapping_add(word(bytes, 24)).rotate_right(21);
    let c = a;
    let a = a.wrapping_add(word(bytes, 8)).wrapping_add(word(bytes, 16));
    (a.wrapping_add(word(bytes, 24)), b.wrapping_add(a.rotate_right(44)).wrapping_add(c))
}

fn shift_mix(value: u64) -> u64 {
    value ^ value >> 47
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn word32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_hashes_that_clickhouse_documents() {
        assert_eq!(city_hash64(b"Moscow"), 12_507_901_496_292_878_638);
        assert_eq!(
            city_hash64(b"How can you write a big system without C++?  -Paul Glick"),
            6_237_945_311_650_045_625
        );
    }
}
