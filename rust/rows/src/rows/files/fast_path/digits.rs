//! Eight bytes at a time: digits into numbers, and the end of a text. The bytes end with zeros, so that all reading does.

pub const ONES: u64 = 0x0101_0101_0101_0101;
pub const HIGH: u64 = ONES << 7;
/// Powers of ten that a u64 holds as far as digits are counted here.
pub const TENS: [u64; 19] = {
    let mut tens = [1u64; 19];
    let mut k = 1;
    while k < 19 {
        tens[k] = tens[k - 1] * 10;
        k += 1;
    }
    tens
};

#[inline(always)]
pub fn eight(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The first of `wanted` at or after `from` (one is there: the zeros at the end), and whether all before it is ASCII.
#[inline]
pub fn find_end(bytes: &[u8], from: usize, wanted: [u8; 4]) -> (usize, bool) {
    let patterns = wanted.map(|b| u64::from(b) * ONES);
    let (mut at, mut seen) = (from, 0);
    loop {
        let word = eight(bytes, at);
        let hits = patterns.iter().fold(0, |hits, pattern| {
            let x = word ^ pattern;
            hits | (x.wrapping_sub(ONES) & !x & HIGH)
        });
        if hits != 0 {
            let before = hits.trailing_zeros() & !7;
            seen |= word & ((1u64 << before) - 1);
            return (at + before as usize / 8, seen & HIGH == 0);
        }
        seen |= word;
        at += 8;
    }
}

/// Value and number of the digits at `at`; `None` for more than 18, which may not fit.
#[inline(always)]
pub fn digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (mut value, mut found) = (0u64, 0usize);
    loop {
        let x = eight(bytes, at + found) ^ (ONES * b'0' as u64);
        // The lowest high bit is that of the first byte that is no digit; above it may be false ones.
        let others = (x.wrapping_add(ONES * 0x76) | x) & HIGH;
        if others == 0 {
            if found > 8 {
                return None;
            }
            value = value * TENS[8] + eight_digits(x);
            found += 8;
            continue;
        }
        let more = (others.trailing_zeros() / 8) as usize;
        if found + more > 18 {
            return None;
        }
        if more > 0 {
            value = value * TENS[more] + eight_digits(x << (64 - 8 * more));
        }
        return Some((value, found + more));
    }
}

/// Eight digits, the first in the lowest byte: pairs, fours, all, by two multiplications.
/// Source: D. Lemire, "Number parsing at a gigabyte per second", section 4 (`parse_eight_digits_unrolled`).
#[inline(always)]
fn eight_digits(x: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let pairs = x.wrapping_mul(10).wrapping_add(x >> 8);
    let high = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let low = ((pairs >> 16) & PAIRS).wrapping_mul(1 + (10_000 << 32));
    u64::from((high.wrapping_add(low) >> 32) as u32)
}
