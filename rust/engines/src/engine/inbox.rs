//! What has come from a server and was not taken yet. Shared by the wires.

use std::io::{self, Read};

/// Bytes in the order in which they came; its memory is kept.
pub struct Inbox {
    bytes: Vec<u8>,
    /// What was not taken yet.
    start: usize,
    end: usize,
}

impl Inbox {
    /// One read takes what has come, up to this much.
    pub fn new(bytes: usize) -> Inbox {
        Inbox { bytes: vec![0; bytes], start: 0, end: 0 }
    }

    #[inline]
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// The first bytes of what is unread, which they leave.
    ///
    /// Panics if fewer have come.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> &[u8] {
        let from = self.start;
        assert!(bytes <= self.end - from, "only what has come is taken");
        self.start += bytes;
        &self.bytes[from..self.start]
    }

    /// Where a read puts what comes; [`Inbox::came`] says how much it was.
    ///
    /// whole: bytes that must fit in all, those that are unread included. Grows for them alone: a wire that cannot wait
    /// for more than it has room for names 0, and gets an empty slice when all of it is unread.
    pub fn room(&mut self, whole: usize) -> &mut [u8] {
        if self.is_empty() {
            self.clear();
        } else if self.start > 0 && (self.end == self.bytes.len() || self.start + whole > self.bytes.len()) {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if whole > self.bytes.len() && self.end == self.bytes.len() {
            // Twice as much as came: a length is only announced, and a server that announces it may send nothing more.
            self.bytes.resize(2 * self.bytes.len(), 0);
        }
        &mut self.bytes[self.end..]
    }

    pub fn came(&mut self, bytes: usize) {
        self.end += bytes;
        assert!(self.end <= self.bytes.len(), "a read fills the room that it has");
    }

    /// Reads what has come, once; blocks until something has. `UnexpectedEof` where nothing will. A part of a record of
    /// TLS is something, though it adds no byte yet: callers look at their time limit before they wait for the rest.
    pub fn fill(&mut self, stream: &mut impl Read, whole: usize) -> io::Result<()> {
        match stream.read(self.room(whole)) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => {
                self.came(bytes);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives its bytes in pieces of these lengths, one a read.
    struct Dripping<'a>(&'a [u8], std::iter::Cycle<std::slice::Iter<'a, usize>>);

    impl Read for Dripping<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let piece = *self.1.next().expect("it has no end");
            let bytes = piece.min(room.len()).min(self.0.len());
            room[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    proptest! {
        #[test]
        fn messages_of_any_length_come_out_as_they_went_in(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..60), 1..30),
            pieces in prop::collection::vec(1usize..40, 1..10),
            first_bytes in 1usize..50,
        ) {
            let wire = messages.concat();
            let mut dripping = Dripping(&wire, pieces.iter().cycle());
            let mut inbox = Inbox::new(first_bytes);
            for message in &messages {
                while inbox.unread().len() < message.len() {
                    inbox.fill(&mut dripping, message.len()).unwrap();
                }
                prop_assert_eq!(inbox.take(message.len()), &message[..]);
            }
            prop_assert!(inbox.is_empty());
            prop_assert_eq!(inbox.fill(&mut dripping, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn an_inbox_grows_for_what_must_fit_and_not_without_need() {
        let mut inbox = Inbox::new(8);
        inbox.room(0).copy_from_slice(b"abcdefgh");
        inbox.came(8);
        assert_eq!(inbox.room(0).len(), 0, "full, and all of it unread");
        assert_eq!(inbox.take(6), b"abcdef");
        assert_eq!(inbox.room(8).len(), 6, "what is unread has moved to the front");
        assert_eq!(inbox.unread(), b"gh");
        assert_eq!(inbox.room(1 << 40).len(), 6, "what is announced takes no memory before it comes");
        inbox.came(6);
        assert_eq!(inbox.room(9).len(), 8, "full: twice as much");
        inbox.came(8);
        assert_eq!(inbox.room(1 << 40).len(), 16);
        assert_eq!(&inbox.unread()[..2], b"gh");
    }
}
