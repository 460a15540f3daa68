//! Which tickets of a role are those of one process, where several processes drive it together.

use inrush_rows::plan::SharePlan;

/// Tickets are dealt out in turn: process `index` of `of` has `index`, `index + of`, `index + 2 * of`, …
///
/// So the tickets of all processes together are those of one process alone, each once: the same operations with the same
/// keys, due at the same times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stride {
    index: u64,
    of: u64,
}

impl Stride {
    /// Of a process that is alone.
    pub const WHOLE: Stride = Stride { index: 0, of: 1 };

    pub fn of_share(share: Option<SharePlan>) -> Stride {
        share.map_or(Stride::WHOLE, |s| Stride { index: u64::from(s.index), of: u64::from(s.of.max(1)) })
    }

    /// Its ticket number `own` (from 0) as a ticket of the role.
    #[inline]
    pub fn ticket(self, own: u64) -> u64 {
        own.wrapping_mul(self.of).wrapping_add(self.index)
    }

    /// How many of the role's first `tickets` are its own.
    pub fn among(self, tickets: u64) -> u64 {
        tickets.saturating_sub(self.index).div_ceil(self.of)
    }

    /// Number of a session of this process among those of all processes, of which each has `sessions`; and how many they are.
    pub fn session(self, session: u64, sessions: u64) -> (u64, u64) {
        (self.index * sessions + session, self.of * sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tickets_of_all_processes_are_those_of_one_each_once() {
        for of in [1u32, 2, 3, 16] {
            for tickets in [0u64, 1, 2, 15, 16, 17, 1_000] {
                let mut dealt: Vec<u64> = (0..of)
                    .map(|index| Stride::of_share(Some(SharePlan { index, of })))
                    .flat_map(|stride| (0..stride.among(tickets)).map(move |own| stride.ticket(own)))
                    .collect();
                dealt.sort_unstable();
                assert_eq!(dealt, (0..tickets).collect::<Vec<_>>(), "{of} processes, {tickets} tickets");
            }
        }
    }

    #[test]
    fn sessions_of_all_processes_are_numbered_once() {
        let number = |index| Stride::of_share(Some(SharePlan { index, of: 2 }));
        let all: Vec<_> = (0..2).flat_map(|i| (0..3).map(move |s| number(i).session(s, 3))).collect();
        assert_eq!(all, (0..6).map(|n| (n, 6)).collect::<Vec<_>>());
    }
}
