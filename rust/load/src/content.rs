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
    digests(path, &[]).map(|(digest, bytes, _)| (digest, bytes))
}

/// The same of bytes that are all in memory.
pub fn digest_of(bytes: &[u8]) -> u128 {
    let mut hasher = Hasher::default();
    hasher.add(bytes);
    hasher.finish()
}

/// The first bytes of a file, as if it ended behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    pub bytes: u64,
    pub digest: u128,
    /// They end with the end of a line; otherwise it is the next byte.
    pub ended: bool,
}

/// `file_digest`, and in the same pass those of its starts of so many bytes, in ascending order, behind or before which a line ends.
pub fn digests(path: &Path, sizes: &[u64]) -> Result<(u128, u64, Vec<Start>), Error> {
    let failed = |e| Error::io(path.display().to_string(), e);
    let mut file = File::open(path).map_err(failed)?;
    let mut hasher = Hasher::default();
    let mut block = vec![0; BLOCK];
    let (mut starts, mut last) = (Vec::new(), b'\n');
    let mut sizes = sizes.iter().copied().peekable();
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
        let before = hasher.bytes;
        // Its next byte is in this block, so that a start is shorter than the file.
        while let Some(bytes) = sizes.next_if(|bytes| *bytes < before + filled as u64) {
            let at = (bytes - before) as usize;
            let ended = if at == 0 { last } else { block[at - 1] } == b'\n';
            if bytes > 0 && (ended || block[at] == b'\n') {
                hasher.add(&block[(hasher.bytes - before) as usize..at / STRIPE * STRIPE]);
                let mut start = hasher.clone();
                start.add(&block[at / STRIPE * STRIPE..at]);
                starts.push(Start { bytes, digest: start.finish(), ended });
            }
        }
        hasher.add(&block[(hasher.bytes - before) as usize..filled]);
        if filled < BLOCK {
            return Ok((hasher.finish(), hasher.bytes, starts));
        }
        last = block[BLOCK - 1];
    }
}

/// Eight lanes of 64 bits, each a bijection of itself for given input: a changed word always changes its lane.
#[derive(Clone)]
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

    #[test]
    fn a_start_has_the_digest_of_a_file_that_ends_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut content: Vec<u8> = (0..2 * BLOCK + 77).map(|k| ((k * 31) >> 3) as u8 | 0x20).collect();
        let ends = [1, 63, 64, 65, 200, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 70];
        for end in ends {
            content[end - 1] = b'\n';
        }
        std::fs::write(&path, &content).unwrap();
        let all: Vec<u64> = (0..=content.len() as u64 + 9).collect();
        let (whole, bytes, starts) = digests(&path, &all).unwrap();
        assert_eq!((whole, bytes), (digest(&content), content.len() as u64));
        let expected = (1..content.len()).filter(|at| ends.contains(at) || ends.contains(&(at + 1)));
        let start =
            |at| Start { bytes: at as u64, digest: digest(&content[..at]), ended: ends.contains(&at) };
        assert_eq!(starts, expected.map(start).collect::<Vec<_>>());
    }
}
