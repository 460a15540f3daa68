//! Mutations of captured streams. Pure: a name and a number give the same stream again.

use inrush_rows::rows::hash::{mix, STEP};

/// SplitMix64.
pub struct Random(u64);

/// What length fields and counts are set to, besides what stands near a limit of the stream itself.
const EXTREMES: [u64; 18] = [
    0,
    1,
    2,
    3,
    4,
    5,
    0x7f,
    0x80,
    0xfb,
    0xff,
    0x7fff,
    0xffff,
    0xff_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];
/// Texts that mean a length or a number in some protocol.
const TEXTS: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"18446744073709551615",
    b"ffffffffffffffff",
    b"fffffffffffffffd",
    b"9223372036854775808",
    b"1e999",
    b"Array(",
    b"[[[[[[[[",
    b"\r\n\r\n",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
];
const LONGEST: usize = 64 << 10;

impl Random {
    pub fn new(name: &str, case: u64) -> Random {
        let name = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mut random = Random(name ^ case.wrapping_mul(STEP));
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// Below `n`; 0 for 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            return 0;
        }
        (self.next() % n as u64) as usize
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// One of the captures with one to four mutations.
pub fn mutated(random: &mut Random, captures: &[&[u8]]) -> Vec<u8> {
    let mut bytes = random.of(captures).to_vec();
    for _ in 0..1 + random.below(4) {
        mutate(random, &mut bytes, captures);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>, captures: &[&[u8]]) {
    let at = random.below(bytes.len());
    // Short pieces are headers, longer ones whole messages.
    let most = [4, 16, 256, 4096][random.below(4)];
    let end = (at + 1 + random.below(most)).min(bytes.len());
    match random.below(10) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.next() as u8;
            }
        }
        2 | 3 => set_number(random, bytes, at),
        4 => bytes.truncate(at),
        5 => drop(bytes.drain(at.min(end)..end)),
        6 => {
            let piece = bytes[at.min(end)..end].to_vec();
            for _ in 0..1 + random.below(8) {
                bytes.splice(at..at, piece.iter().copied());
            }
        }
        7 => {
            let other = *random.of(captures);
            let from = random.below(other.len());
            let piece = &other[from..(from + 1 + random.below(most)).min(other.len())];
            bytes.splice(at.min(end)..end, piece.iter().copied());
        }
        8 => {
            let text = *random.of(&TEXTS);
            let end = if random.below(2) == 0 { at } else { (at + text.len()).min(bytes.len()) };
            bytes.splice(at.min(end)..end, text.iter().copied());
        }
        _ => {
            let fresh: Vec<u8> = (0..1 + random.below(16)).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, fresh);
        }
    }
}

/// A field of 1, 2, 4 or 8 bytes, of either byte order, becomes an extreme, or a little more or less than it was.
fn set_number(random: &mut Random, bytes: &mut [u8], at: usize) {
    let width = [1, 2, 4, 8][random.below(4)];
    let Some(field) = bytes.get_mut(at..at + width) else { return };
    let big = random.below(2) == 0;
    let mut word = [0u8; 8];
    if random.below(3) == 0 {
        let was = field
            .iter()
            .enumerate()
            .fold(0u64, |n, (k, &byte)| n | u64::from(byte) << (8 * if big { width - 1 - k } else { k }));
        word = was.wrapping_add(random.next() % 9).wrapping_sub(4).to_le_bytes();
    } else {
        word[..8].copy_from_slice(&random.of(&EXTREMES).to_le_bytes());
    }
    if big {
        word[..width].reverse();
    }
    field.copy_from_slice(&word[..width]);
}

#[test]
fn a_number_gives_the_same_mutation_again_and_another_one_another() {
    let captures: [&[u8]; 2] = [b"a stream that was captured", b"another one"];
    let of = |case| mutated(&mut Random::new("name", case), &captures);
    assert_eq!(of(7), of(7));
    let different = (0..1000).filter(|&case| of(case) != of(case + 1)).count();
    assert!(different > 950, "{different}");
    assert!((0..1000).any(|case| of(case).len() > 30) && (0..1000).any(|case| of(case).len() < 5));
}
