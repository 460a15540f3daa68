//! Memory of a record that direct I/O takes, and blocks that name their own place.

use inrush_rows::plan::IO_BLOCK;
use inrush_rows::rows::hash::hash;

const BYTES: usize = IO_BLOCK as usize;

/// Direct I/O takes memory that begins at a block.
#[repr(C, align(4096))]
#[derive(Clone)]
struct Block([u8; BYTES]);

pub struct Blocks(Vec<Block>);

impl Blocks {
    /// So many bytes of zeros; a whole number of blocks.
    pub fn new(bytes: u64) -> Blocks {
        Blocks(vec![Block([0; BYTES]); (bytes / IO_BLOCK) as usize])
    }

    /// Bytes that no disk can compress, nor store once for several blocks: each is stamped before it is written.
    pub fn fill(&mut self, seed: u64) {
        for (b, block) in self.0.iter_mut().enumerate() {
            for (k, word) in block.0.chunks_exact_mut(8).enumerate() {
                word.copy_from_slice(&hash(seed, (b * BYTES + k) as u64).to_le_bytes());
            }
        }
    }

    pub fn bytes(&self, bytes: u64) -> &[u8] {
        assert!(bytes as usize <= self.0.len() * BYTES, "the record was made for the largest call");
        // SAFETY: blocks are bytes without padding, one behind the other, and there are so many.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), bytes as usize) }
    }

    pub fn bytes_mut(&mut self, bytes: u64) -> &mut [u8] {
        assert!(bytes as usize <= self.0.len() * BYTES, "the record was made for the largest call");
        // SAFETY: as of `bytes`; nothing else borrows them.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), bytes as usize) }
    }

    /// Every block of a record that is to lie at `at`.
    pub fn stamp(&mut self, at: u64, bytes: u64, seed: u64) {
        for (k, block) in self.0[..(bytes / IO_BLOCK) as usize].iter_mut().enumerate() {
            block.0[..16].copy_from_slice(&stamp(at + k as u64 * IO_BLOCK, seed));
        }
    }

    /// The place of a block that is not stamped as one of a record at `at`: its first and its last are looked at, since all
    /// of them would cost as much as a short read. `None`: both are.
    pub fn strange(&self, at: u64, bytes: u64, seed: u64) -> Option<u64> {
        let last = bytes / IO_BLOCK - 1;
        [0, last].into_iter().find_map(|k| {
            let place = at + k * IO_BLOCK;
            (self.0[k as usize].0[..16] != stamp(place, seed)).then_some(place)
        })
    }
}

/// The place, and a word that no other seed has there: a file of another run is not taken for this one's.
fn stamp(place: u64, seed: u64) -> [u8; 16] {
    let mut found = [0; 16];
    found[..8].copy_from_slice(&place.to_le_bytes());
    found[8..].copy_from_slice(&hash(seed, place).to_le_bytes());
    found
}
