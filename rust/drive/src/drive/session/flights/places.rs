//! Where the call of a ticket is in flight.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use inrush_engines::engine::Ticket;

/// Ticket -> slot.
pub(super) type Places = HashMap<Ticket, u32, BuildHasherDefault<Spread>>;

/// Tickets are counted, so that they need no more than to be spread over the table.
#[derive(Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, ticket: u64) {
        // Both halves are looked at: the odd factor of the golden ratio spreads upwards, the rotation downwards.
        self.0 = ticket.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("a ticket is a number")
    }
}

/// With room for so many.
pub(super) fn places(room: usize) -> Places {
    Places::with_capacity_and_hasher(room, BuildHasherDefault::default())
}
