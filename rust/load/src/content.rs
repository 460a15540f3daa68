//! What a file holds as one number: the same content is the same import, wherever it lies and whenever it was written.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use inrush_rows::error::Error;
use inrush_rows::rows::hash::STEP;
use inrush_rows::rows::Digest;

/// Bytes that are read at once: they are still in the processor's cache when they are hashed.
const BLOCK: usize = 1 << 18;
const LANES: usize = 8;
const WORD: usize = 8;
const STRIPE: usize = LANES * WORD;

/// Digest and length of a file: 128 bits over every byte, at the speed of memory.
///
/// Against accidents, not against a search for two files of one digest. Errors: a file that cannot be read.
pub fn file_digest(path: &Path) -> Result<(u128, u64), Error> {
    start_digest(path, u64::MAX)
}

/// The same of the first bytes of a file, as if it ended behind them.
pub fn start_digest(path: &Path, bytes: u64) -> Result<(u128, u64), Error> {
    let failed = |e| Error::io(path.display().to_string(), e);
    let mut file = File::open(path).map_err(failed)?.take(bytes);
    let mut hasher = Hasher::default();
    let mut block = vec![0; BLOCK];
    loop {
        let mut filled = 0;
        while filled < BLOCK {
            match file.read(&mut block[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(e)),
            }
        }
        hasher.add(&block[..filled]);
        if filled < BLOCK {
            return Ok((hasher.finish(), hasher.bytes));
        }
    }
}

/// Eight lanes of 64 bits, each a bijection of itself for given input: a changed word always changes its lane.
struct Hasher {
    lanes: [u64; LANES],
    bytes: u64,
}

impl Default for Hasher {
    fn default() -> Hasher {
        let lane = |k: usize| (k as u64 + 1).wrapping_mul(STEP);
        Hasher { lanes: std::array::from_fn(lane), bytes: 0 }
    }
}

impl Hasher {
    /// Whole stripes but for the last call, which is filled up with zeros: the length distinguishes them.
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let mut stripes = bytes.chunks_exact(STRIPE);
        for stripe in &mut stripes {
            self.stripe(stripe);
        }
        let rest = stripes.remainder();
        if !rest.is_empty() {
            let mut last = [0; STRIPE];
            last[..rest.len()].copy_from_slice(rest);
            self.stripe(&last);
        }
    }

    #[inline(always)]
    fn stripe(&mut self, stripe: &[u8]) {
        for (lane, word) in self.lanes.iter_mut().zip(stripe.chunks_exact(WORD)) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            let mixed = lane.wrapping_add(word.wrapping_mul(0xc2b2_ae3d_27d4_eb4f));
            *lane = mixed.rotate_left(31).wrapping_mul(0x9e37_79b1_85eb_ca87);
        }
    }

    fn finish(&self) -> u128 {
        let mut words = self.lanes.to_vec();
        words.push(self.bytes);
        Digest::of_words(&words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(bytes: &[u8]) -> u128 {
        let mut hasher = Hasher::default();
        bytes.chunks(BLOCK).for_each(|block| hasher.add(block));
        hasher.finish()
    }

    #[test]
    fn every_bit_and_every_byte_at_the_end_counts() {
        let content: Vec<u8> = (0..1000u32).flat_map(|k| k.to_le_bytes()).collect();
        let mut seen = std::collections::HashSet::from([digest(&content)]);
        for at in 0..content.len() {
            for bit in 0..8 {
                let mut other = content.clone();
                other[at] ^= 1 << bit;
                assert!(seen.insert(digest(&other)), "byte {at}, bit {bit}");
            }
        }
        for cut in 0..200 {
            assert!(seen.insert(digest(&content[..content.len() - 1 - cut])));
        }
        let mut longer = content.clone();
        for _ in 0..200 {
            longer.push(0);
            assert!(seen.insert(digest(&longer)));
        }
    }

    #[test]
    fn a_file_has_the_digest_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for bytes in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 77] {
            let content: Vec<u8> = (0..bytes).map(|k| ((k * 31) >> 3) as u8).collect();
            std::fs::write(&path, &content).unwrap();
            assert_eq!(file_digest(&path).unwrap(), (digest(&content), bytes as u64));
        }
    }
}
