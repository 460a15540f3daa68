//! Where in the file a call's record lies: a function of the call's number.

use crate::schedule::arrival_seed;
use inrush_rows::plan::{IoOrder, IoPlan, IO_BLOCK};
use inrush_rows::rows::hash::hash;

pub struct Place {
    order: IoOrder,
    record_bytes: u64,
    records: u64,
    seed: u64,
}

impl Place {
    /// operation: two that are random are so independently. Fails, with the reason, where no record fits.
    pub fn new(io: &IoPlan, seed: u64, operation: &str) -> Result<Place, String> {
        if io.record_bytes == 0 || !io.record_bytes.is_multiple_of(IO_BLOCK) {
            return Err(format!(
                "record_bytes is {}; direct I/O takes multiples of {IO_BLOCK}",
                io.record_bytes
            ));
        }
        if io.file_bytes < io.record_bytes {
            return Err(format!(
                "file_bytes is {}, less than a record of {}",
                io.file_bytes, io.record_bytes
            ));
        }
        Ok(Place {
            order: io.order,
            record_bytes: io.record_bytes,
            records: io.file_bytes / io.record_bytes,
            seed: arrival_seed(seed, operation),
        })
    }

    #[inline]
    pub fn offset(&self, call: u64) -> u64 {
        let record = match self.order {
            IoOrder::Sequential => call % self.records,
            // The high half of the product is below `records`, each number as often as any other.
            IoOrder::Random => {
                let draw = hash(self.seed, call.wrapping_add(1));
                ((u128::from(draw) * u128::from(self.records)) >> 64) as u64
            }
        };
        record * self.record_bytes
    }
}
