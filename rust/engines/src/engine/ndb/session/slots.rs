//! Memory of calls in flight, which stays where it is.

use crate::engine::{OpId, Ticket};

/// Memory of calls: images of keys, images of what is read, and a byte a row that is set where it is not there.
pub struct Slots {
    pub calls: Vec<Call>,
    pub free: Vec<u32>,
    /// In whole numbers of eight bytes, so that images are aligned.
    pub memory: Vec<u64>,
    pub absent: Vec<u8>,
    /// Of one slot: eights of the keys, which are as many as those of the rows; rows.
    eights: usize,
    rows: usize,
}

#[derive(Clone, Copy, Default)]
pub struct Call {
    pub ticket: Ticket,
    pub op: OpId,
}

impl Slots {
    /// count: calls. bytes, rows: the most of one.
    pub fn new(count: usize, bytes: usize, rows: usize) -> Slots {
        let eights = bytes.div_ceil(8).max(1);
        Slots {
            calls: vec![Call::default(); count],
            free: (0..count as u32).rev().collect(),
            memory: vec![0; 2 * count * eights],
            absent: vec![0; count * rows.max(1)],
            eights,
            rows: rows.max(1),
        }
    }

    /// Keys, what is read, and which rows are absent.
    pub fn of(&mut self, slot: u32) -> (&mut [u8], &mut [u8], &mut [u8]) {
        let (at, rows) = (slot as usize * 2 * self.eights, slot as usize * self.rows);
        let (keys, read) = self.memory[at..at + 2 * self.eights].split_at_mut(self.eights);
        (bytes_of(keys), bytes_of(read), &mut self.absent[rows..rows + self.rows])
    }
}

fn bytes_of(eights: &mut [u64]) -> &mut [u8] {
    // SAFETY: every byte of a number is a byte, and the slice is as long.
    unsafe { std::slice::from_raw_parts_mut(eights.as_mut_ptr().cast(), eights.len() * 8) }
}
