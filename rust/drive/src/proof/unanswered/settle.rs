//! Which rows of the inserts without an answer are there, by the hashes of what was read back.

use std::collections::HashMap;

/// How often the rows of inserts without an answer were seen.
#[derive(Default)]
pub struct Sightings {
    /// By hash. Rows that were acknowledged can equal one of them: tables need no key.
    seen: HashMap<u128, Seen>,
    batches: Vec<Vec<u128>>,
}

#[derive(Default, Clone, Copy)]
struct Seen {
    /// Equal rows that were acknowledged.
    acknowledged: u64,
    found: u64,
    /// Found beyond those, and not yet laid to a batch.
    left: u64,
}

/// What is there of one insert without an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// By row.
    pub there: Vec<bool>,
    /// Rows of it that are there beyond the first time.
    pub twice: u64,
}

impl Settled {
    pub fn rows(&self) -> usize {
        self.there.iter().filter(|there| **there).count()
    }

    pub fn is_part(&self) -> bool {
        (1..self.there.len()).contains(&self.rows())
    }

    /// Read by python/inrush/results/unanswered.py.
    pub fn text(&self) -> String {
        let of = self.there.len();
        let there = match self.rows() {
            0 => "none".to_owned(),
            rows if rows == of => "whole".to_owned(),
            rows => format!("in part, {rows} of {of} rows"),
        };
        match self.twice {
            0 => there,
            twice => format!("{there}, and {twice} rows more than once"),
        }
    }
}

impl Sightings {
    pub fn begin_batch(&mut self) {
        self.batches.push(Vec::new());
    }

    /// Rows of the batch that was begun last.
    pub fn may_be_there(&mut self, hashes: &[u128]) {
        let batch = self.batches.last_mut().expect("`begin_batch` comes first");
        batch.extend_from_slice(hashes);
        hashes.iter().for_each(|&hash| _ = self.seen.entry(hash).or_default());
    }

    /// A row that was acknowledged; whether one of an insert without an answer equals it.
    pub fn must_be_there(&mut self, hash: u128) -> bool {
        self.seen.get_mut(&hash).map(|seen| seen.acknowledged += 1).is_some()
    }

    /// A row that was read back; whether it equals one of an insert without an answer.
    pub fn is_there(&mut self, hash: u128) -> bool {
        self.seen.get_mut(&hash).map(|seen| seen.found += 1).is_some()
    }

    /// Rows found that equal one of an insert without an answer and were acknowledged.
    pub fn acknowledged_found(&self) -> u64 {
        self.seen.values().map(|seen| seen.found.min(seen.acknowledged)).sum()
    }

    /// Lays what was found to the batches, whole ones first: a part is a part only of what no other batch needs.
    pub fn settle(&mut self) -> Vec<Settled> {
        for seen in self.seen.values_mut() {
            seen.left = seen.found.saturating_sub(seen.acknowledged);
        }
        let mut settled: Vec<Option<Settled>> = vec![None; self.batches.len()];
        for (batch, settled) in self.batches.iter().zip(&mut settled) {
            let there = take(&mut self.seen, batch);
            match there.iter().all(|there| *there) {
                true => *settled = Some(Settled { there, twice: 0 }),
                false => give_back(&mut self.seen, batch, &there),
            }
        }
        for (batch, settled) in self.batches.iter().zip(&mut settled).filter(|(_, s)| s.is_none()) {
            *settled = Some(Settled { there: take(&mut self.seen, batch), twice: 0 });
        }
        let mut settled: Vec<Settled> = settled.into_iter().flatten().collect();
        for (batch, settled) in self.batches.iter().zip(&mut settled) {
            for hash in batch {
                let seen = self.seen.get_mut(hash).expect("every row of a batch is known");
                settled.twice += std::mem::take(&mut seen.left);
            }
        }
        settled
    }
}

/// Of each row of the batch: whether one was left, which it takes.
fn take(seen: &mut HashMap<u128, Seen>, batch: &[u128]) -> Vec<bool> {
    let one = |hash: &u128| match seen.get_mut(hash) {
        Some(seen) if seen.left > 0 => {
            seen.left -= 1;
            true
        }
        _ => false,
    };
    batch.iter().map(one).collect()
}

fn give_back(seen: &mut HashMap<u128, Seen>, batch: &[u128], there: &[bool]) {
    for (hash, _) in batch.iter().zip(there).filter(|(_, there)| **there) {
        seen.get_mut(hash).expect("it was taken").left += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sightings(batches: &[&[u128]], acknowledged: &[u128], found: &[u128]) -> Sightings {
        let mut sightings = Sightings::default();
        for batch in batches {
            sightings.begin_batch();
            sightings.may_be_there(batch);
        }
        acknowledged.iter().for_each(|&hash| _ = sightings.must_be_there(hash));
        found.iter().for_each(|&hash| _ = sightings.is_there(hash));
        sightings
    }

    fn texts(batches: &[&[u128]], acknowledged: &[u128], found: &[u128]) -> Vec<String> {
        sightings(batches, acknowledged, found).settle().iter().map(Settled::text).collect()
    }

    #[test]
    fn a_batch_is_whole_none_in_part_or_twice() {
        let batches: [&[u128]; 4] = [&[1, 2, 3], &[4, 5, 6], &[7, 8, 9], &[10, 11]];
        assert_eq!(
            texts(&batches, &[], &[1, 2, 3, 7, 9, 10, 11, 10, 11]),
            ["whole", "none", "in part, 2 of 3 rows", "whole, and 2 rows more than once"]
        );
    }

    #[test]
    fn equal_rows_are_the_acknowledged_ones_first() {
        let found = |found: &[u128]| {
            let mut sightings = sightings(&[&[1, 2]], &[1], found);
            (sightings.acknowledged_found(), sightings.settle()[0].text())
        };
        assert_eq!(found(&[1]), (1, "none".into()));
        assert_eq!(found(&[1, 1, 2]), (1, "whole".into()));
        assert_eq!(found(&[2]), (0, "in part, 1 of 2 rows".into()), "the acknowledged row is missing");
    }

    #[test]
    fn rows_that_two_batches_share_belong_to_the_one_that_is_whole() {
        assert_eq!(texts(&[&[1, 2], &[2, 3]], &[], &[2, 3]), ["none", "whole"]);
        assert_eq!(texts(&[&[1, 2], &[2, 3]], &[], &[1, 2, 2, 3]), ["whole", "whole"]);
    }
}
