//! A chunk from its first coming until the last shard has it, also where shards refuse rows of it and it comes again.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use crate::frame::{Ack, ChunkHead, Refused};
use crate::listeners::Reply;
use inrush_rows::lock::Unpoisoned;
use inrush_rows::rows::Columns;

/// The rows of one chunk that belong on one shard.
pub struct Part {
    pub head: ChunkHead,
    pub rows: Columns,
    pub chunk: Arc<Pending>,
    /// A copy on the shard after its own: its rows are counted there.
    pub is_copy: bool,
    /// Its shard, and those of all rows of the chunk where there are several.
    pub shard: usize,
    pub shard_of: Option<Arc<[u32]>>,
}

impl Part {
    /// One shard more has it. of_others: the ledger had it already.
    pub fn stored(&self, of_others: bool) {
        self.chunk.stored(self.shard, if of_others && !self.is_copy { self.rows.rows as u64 } else { 0 });
    }

    /// Its shard refuses these of its rows, by their places among them.
    pub fn refused(&self, rows: Vec<(usize, String)>) {
        let of_chunk = |place: usize| match &self.shard_of {
            None => place,
            Some(shards) => {
                let own = shards.iter().enumerate().filter(|(_, shard)| **shard as usize == self.shard);
                own.map(|(row, _)| row).nth(place).unwrap_or(place)
            }
        };
        self.chunk.refused(rows.into_iter().map(|(place, why)| (of_chunk(place), why)).collect());
    }
}

/// A chunk until its last shard has it.
pub struct Pending {
    ack: Ack,
    /// Rows that are not in it, by their places in the chunk as it was read, with the reasons that servers had; none where they
    /// were refused before this load server began.
    left_out: BTreeMap<u32, Option<String>>,
    state: Mutex<Waiting>,
}

struct Waiting {
    /// Shards that have neither stored nor refused it yet.
    left: usize,
    /// Those that have it.
    has: Vec<bool>,
    /// Rows of it that the ledgers had already.
    of_others: u64,
    /// Rows of it that shards refuse, by the same places.
    refused: BTreeMap<u32, String>,
    /// Where its answers go: first the client that sent it, then those that sent it again while it was under way.
    replies: Vec<Sender<Reply>>,
}

/// What is to be done with a chunk of which one came before.
pub enum Again {
    /// It has been answered, or will be.
    Answered,
    /// It is without all rows that were refused: it is stored.
    Stored(Pending),
    /// It is without rows that the other one has: two clients do not know of each other's rows.
    Other,
}

impl Pending {
    pub fn new(ack: Ack, left_out: &[u32], shards: usize, replies: Sender<Reply>) -> Pending {
        let (refused, replies) = (BTreeMap::new(), vec![replies]);
        let state = Waiting { left: shards, has: vec![false; shards], of_others: 0, refused, replies };
        let left_out = left_out.iter().map(|place| (*place, None)).collect();
        Pending { ack, left_out, state: Mutex::new(state) }
    }

    /// The same chunk comes again, without these rows.
    pub fn again(&self, ack: Ack, left_out: &[u32], replies: &Sender<Reply>) -> Again {
        let mut state = self.state.lock().unpoisoned();
        let lacks = |place: &u32| self.left_out.contains_key(place) || state.refused.contains_key(place);
        let known = self.left_out.len() + state.refused.len();
        if !left_out.iter().all(lacks) {
            return Again::Other;
        }
        if left_out.len() == self.left_out.len() && self.left_out.keys().eq(left_out) {
            if state.left > 0 {
                state.replies.push(replies.clone());
            } else {
                drop(replies.send(self.reply(&state, self.stored_for_another())));
            }
            return Again::Answered;
        }
        if state.left > 0 || left_out.len() < known {
            // Its sender does not know of rows that were refused.
            let rows = self.left_out.iter().map(|(place, why)| {
                (*place, why.clone().unwrap_or_else(|| "the server refused it before".into()))
            });
            let all = rows.chain(state.refused.iter().map(|(place, why)| (*place, why.clone())));
            let mut rows: Vec<_> = all.filter(|(place, _)| left_out.binary_search(place).is_err()).collect();
            rows.sort_by_key(|(place, _)| *place);
            drop(replies.send(Reply::Refused(self.refusal(rows))));
            return Again::Answered;
        }
        let left_out = self.left_out.iter().map(|(place, why)| (*place, why.clone()));
        let refused = state.refused.iter().map(|(place, why)| (*place, Some(why.clone())));
        Again::Stored(Pending {
            ack,
            left_out: left_out.chain(refused).collect(),
            state: Mutex::new(Waiting {
                left: state.has.len(),
                has: state.has.clone(),
                of_others: state.of_others,
                refused: BTreeMap::new(),
                replies: vec![replies.clone()],
            }),
        })
    }

    /// Whether this shard has its part, although others refused rows of theirs.
    pub fn has(&self, shard: usize) -> bool {
        self.state.lock().unpoisoned().has[shard]
    }

    /// One shard more has it. of_others: rows of this shard that its ledger had already.
    pub fn stored(&self, shard: usize, of_others: u64) {
        let mut state = self.state.lock().unpoisoned();
        state.has[shard] = true;
        state.of_others += of_others;
        self.answered(&mut state);
    }

    /// One shard more refuses rows, by their places in the chunk as it came, and has none of its part.
    pub fn refused(&self, rows: Vec<(usize, String)>) {
        let mut state = self.state.lock().unpoisoned();
        let read = (0..).filter(|place| !self.left_out.contains_key(place));
        let mut wanted = rows.into_iter().peekable();
        for (came, place) in read.enumerate() {
            match wanted.next_if(|(of_came, _)| *of_came == came) {
                Some((_, why)) => drop(state.refused.insert(place, why)),
                None if wanted.peek().is_none() => break,
                None => {}
            }
        }
        self.answered(&mut state);
    }

    /// The last shard's answer acknowledges the chunk, or says which rows are refused.
    fn answered(&self, state: &mut Waiting) {
        state.left -= 1;
        if state.left > 0 {
            return;
        }
        let own = Ack { of_others: state.of_others, ..self.ack };
        // A client that has gone asks the ledger when it comes again.
        for (k, replies) in std::mem::take(&mut state.replies).into_iter().enumerate() {
            let ack = if k == 0 { own } else { self.stored_for_another() };
            drop(replies.send(self.reply(state, ack)));
        }
    }

    fn reply(&self, state: &Waiting, ack: Ack) -> Reply {
        if state.refused.is_empty() {
            return Reply::Ack(ack);
        }
        Reply::Refused(self.refusal(state.refused.clone().into_iter().collect()))
    }

    fn refusal(&self, rows: Vec<(u32, String)>) -> Refused {
        Refused { file: self.ack.file, chunk: self.ack.chunk, rows }
    }

    /// Every row of it came from another client.
    fn stored_for_another(&self) -> Ack {
        Ack { of_others: self.ack.rows, ..self.ack }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{channel, Receiver};

    use super::*;

    const ACK: Ack = Ack { file: 0, chunk: 3, rows: 10, of_others: 0 };

    /// Rows of others of an acknowledgement, or places of refused rows.
    fn told(replies: &Receiver<Reply>) -> Vec<Result<u64, Vec<u32>>> {
        let told = replies.try_iter().map(|reply| match reply {
            Reply::Ack(ack) => Ok(ack.of_others),
            Reply::Refused(refused) => Err(refused.rows.iter().map(|(place, _)| *place).collect()),
            Reply::Failed(message) => panic!("{message}"),
        });
        told.collect()
    }

    #[test]
    fn a_chunk_is_counted_by_the_client_that_sent_it_first_and_its_rows_of_others_by_none() {
        let ((first, to_first), (second, to_second)) = (channel(), channel());
        let pending = Pending::new(ACK, &[], 2, first);
        assert!(matches!(pending.again(ACK, &[], &second), Again::Answered));
        pending.stored(0, 0);
        pending.stored(1, 4);
        assert!(matches!(pending.again(ACK, &[], &second), Again::Answered));
        assert_eq!((told(&to_first), told(&to_second)), (vec![Ok(4)], vec![Ok(10), Ok(10)]));
    }

    #[test]
    fn a_chunk_of_which_one_shard_refuses_rows_comes_again_and_is_not_stored_twice() {
        let (replies, to_first) = channel();
        let pending = Pending::new(ACK, &[3], 2, replies.clone());
        pending.stored(1, 4);
        pending.refused(vec![(2, "too long".into()), (6, "a key".into())]);
        assert_eq!(
            told(&to_first),
            [Err(vec![2, 7])],
            "places of the chunk as it was read, which has a row more"
        );
        let fewer = Ack { rows: 8, ..ACK };
        let Again::Stored(again) = pending.again(fewer, &[2, 3, 7], &replies) else { panic!("it is stored") };
        assert_eq!((again.has(0), again.has(1)), (false, true));
        again.stored(1, 0);
        again.stored(0, 0);
        assert_eq!(told(&to_first), [Ok(4)]);
    }

    #[test]
    fn a_client_that_does_not_know_of_refused_rows_is_told_and_its_rows_are_not_taken_for_stored() {
        let ((first, to_first), (second, to_second)) = (channel(), channel());
        let pending = Pending::new(ACK, &[], 1, first.clone());
        pending.refused(vec![(5, "a key".into())]);
        assert_eq!(told(&to_first), [Err(vec![5])]);
        assert!(matches!(pending.again(ACK, &[], &second), Again::Answered));
        assert_eq!(told(&to_second), [Err(vec![5])], "before the first client has sent it again");
        let fewer = Ack { rows: 9, ..ACK };
        let Again::Stored(again) = pending.again(fewer, &[5], &first) else { panic!("it is stored") };
        assert!(matches!(again.again(ACK, &[], &second), Again::Answered));
        assert_eq!(told(&to_second), [Err(vec![5])], "while it is under way");
        assert!(matches!(again.again(fewer, &[5], &second), Again::Answered));
        again.stored(0, 0);
        assert_eq!((told(&to_first), told(&to_second)), (vec![Ok(0)], vec![Ok(9)]));
        assert!(matches!(again.again(ACK, &[], &second), Again::Answered));
        assert_eq!(told(&to_second), [Err(vec![5])], "after it was stored");
        assert!(matches!(again.again(fewer, &[4], &second), Again::Other), "row 4 is stored");
    }
}
