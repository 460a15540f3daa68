//! Long sends of a client that comes before all else: a piece at a time, so that others which are due begin meanwhile.
//!
//! The kernel takes no core away in the middle of a call, not even for a thread of real-time priority: a session that
//! copies a batch of a megabyte into a socket holds up every session that is due at the same instant.

use std::io::{self, IoSlice};

use crate::pace::{keeps_its_core, yield_core};

/// Copied in some 50 µs.
const PIECE: usize = 128 << 10;
/// Of one call; what is behind them goes with the next.
const PARTS: usize = 8;

/// Bytes taken by `call`, which gets all of `parts`, or the first piece of them where the thread would keep its core.
pub fn send(
    parts: &[IoSlice<'_>],
    call: impl FnOnce(&[IoSlice<'_>]) -> io::Result<usize>,
) -> io::Result<usize> {
    send_as(bytes(parts) > PIECE && keeps_its_core(), parts, call)
}

fn send_as(
    in_pieces: bool,
    parts: &[IoSlice<'_>],
    call: impl FnOnce(&[IoSlice<'_>]) -> io::Result<usize>,
) -> io::Result<usize> {
    if !in_pieces {
        return call(parts);
    }
    let mut room = [IoSlice::new(&[]); PARTS];
    let taken = call(piece(parts, &mut room))?;
    yield_core();
    Ok(taken)
}

fn bytes(parts: &[IoSlice<'_>]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

/// The first `PIECE` bytes, or fewer, and never none of some.
fn piece<'a, 'b>(parts: &'b [IoSlice<'b>], room: &'a mut [IoSlice<'b>; PARTS]) -> &'a [IoSlice<'b>] {
    let mut left = PIECE;
    let mut used = 0;
    for part in parts.iter().filter(|part| !part.is_empty()).take(PARTS) {
        let take = part.len().min(left);
        if take == 0 {
            break;
        }
        room[used] = IoSlice::new(&part[..take]);
        (left, used) = (left - take, used + 1);
    }
    &room[..used]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(of: &[usize]) -> Vec<usize> {
        let bytes = vec![7; 4 * PIECE];
        let parts: Vec<IoSlice<'_>> = of.iter().map(|&n| IoSlice::new(&bytes[..n])).collect();
        let mut room = [IoSlice::new(&[]); PARTS];
        piece(&parts, &mut room).iter().map(|part| part.len()).collect()
    }

    #[test]
    fn a_piece_is_the_first_bytes_in_order() {
        assert_eq!(lengths(&[100, 2 * PIECE, 5]), [100, PIECE - 100]);
        assert_eq!(lengths(&[3 * PIECE]), [PIECE]);
        assert_eq!(lengths(&[0, PIECE, 5]), [PIECE]);
        assert_eq!(lengths(&[5, 0, 6]), [5, 6]);
        assert_eq!(lengths(&[PIECE / 4; 12]).len(), 4);
        assert_eq!(lengths(&[1; 12]), [1; PARTS]);
    }

    #[test]
    fn only_a_thread_that_keeps_its_core_sends_in_pieces() {
        let bytes = vec![7; 4 * PIECE];
        let sent = |in_pieces, n: usize| {
            send_as(in_pieces, &[IoSlice::new(&bytes[..n])], |parts| Ok(super::bytes(parts)))
        };
        assert_eq!(sent(false, 4 * PIECE).unwrap(), 4 * PIECE);
        assert_eq!(sent(true, 4 * PIECE).unwrap(), PIECE);
        assert_eq!(sent(true, PIECE).unwrap(), PIECE);
    }
}
