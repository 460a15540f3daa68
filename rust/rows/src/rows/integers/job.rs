//! Jobs: which places work together, and for how many sweeps.

use std::sync::Arc;

use super::super::hash::{hash, scale, second};
use super::super::table::Alias;
use super::counted::each_with;
use super::Chunk;

/// Blocks of 2^block_bits places; each block has one job size and one life.
#[derive(Clone)]
pub struct Job {
    pub key: u64,
    pub from: i64,
    /// Places rounded up to whole blocks: job numbers of one generation.
    pub capacity: u64,
    pub block_bits: u32,
    pub smallest_bits: u32,
    pub sizes: Arc<Alias>,
    /// Sweeps of the shortest life; longer ones are 2, 4, … `2^life_doublings` times that.
    pub shortest_life: u64,
    pub life_doublings: u64,
}

impl Job {
    #[inline]
    fn size_of(&self, block: u64) -> u64 {
        1 << (self.smallest_bits as u64 + self.sizes.at(hash(self.key, block)))
    }

    pub(super) fn fill(&self, chunk: &Chunk, out: &mut [i64]) {
        let mut last = None;
        let (mut size, mut generation) = (1, 0);
        for (i, out) in out.iter_mut().enumerate() {
            let (place, sweep) = (chunk.series[i], chunk.sweep[i]);
            let block = place >> self.block_bits;
            if last != Some((block, sweep)) {
                last = Some((block, sweep));
                size = self.size_of(block);
                generation = self.generation(block, sweep);
            }
            let number = generation * self.capacity + (place & !(size - 1));
            *out = self.from.wrapping_add(number as i64);
        }
    }

    /// Of each row: which of its job's places it is.
    pub(super) fn ranks(&self, chunk: &Chunk, out: &mut [i64]) {
        each_with(chunk.series, chunk.sweep, out, |series, _| {
            (series & (self.size_of(series >> self.block_bits) - 1)) as i64
        })
    }

    fn generation(&self, block: u64, sweep: u64) -> u64 {
        let h = hash(!self.key, block);
        let life = self.shortest_life << scale(h, self.life_doublings + 1);
        (sweep + scale(second(h), life)) / life
    }

    /// The job's first place, from its number.
    pub fn first_place(&self, number: i64) -> u64 {
        (number.wrapping_sub(self.from) as u64) % self.capacity
    }
}
