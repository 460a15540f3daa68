//! The pieces of a reply: each is read from what has come by itself, and says how much it needs where it is not whole.

use std::io;

/// The longest text that a server sends. Source: `proto-max-bulk-len` as shipped.
const TEXT_BYTES: usize = 512 << 20;
/// A longer line is no server's.
const LINE_BYTES: usize = 64 << 10;

/// What a token is, without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text or bytes, in whatever form they came.
    Text,
    /// Lines `name:value` for people: a server's report on itself.
    Lines,
    Integer(i64),
    Null,
    /// So many values follow.
    Array(usize),
    /// So many pairs follow.
    Map(usize),
    Error,
}

/// A piece of a reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    /// Of a text or an error.
    pub bytes: &'a [u8],
}

/// Where a token lies in what has come, from its first byte: its text, and the bytes of all of it.
pub(super) struct Front {
    pub(super) kind: Kind,
    pub(super) text: std::ops::Range<usize>,
    pub(super) bytes: usize,
}

/// The token in front; `Err`: bytes that must have come before it can be read. Fails where no server sends such bytes.
pub(super) fn front(unread: &[u8]) -> io::Result<Result<Front, usize>> {
    let Some(end) = unread.iter().take(LINE_BYTES).position(|&byte| byte == b'\r') else {
        return match unread.len() {
            ..LINE_BYTES => Ok(Err(unread.len() + 1)),
            _ => Err(garbled("a line has no end")),
        };
    };
    if unread.len() < end + 2 {
        return Ok(Err(end + 2));
    }
    if end == 0 || unread[end + 1] != b'\n' {
        return Err(garbled("a line ends wrongly"));
    }
    let line = &unread[1..end];
    let whole = |kind: Kind| Ok(Ok(Front { kind, text: 1..end, bytes: end + 2 }));
    match unread[0] {
        b'+' | b',' | b'#' | b'(' => whole(Kind::Text),
        b'-' => whole(Kind::Error),
        b'_' => whole(Kind::Null),
        b':' => whole(Kind::Integer(number(line)?)),
        b'*' | b'~' => whole(counted(line)?.map_or(Kind::Null, Kind::Array)),
        b'%' => whole(counted(line)?.map_or(Kind::Null, Kind::Map)),
        mark @ (b'$' | b'!' | b'=') => {
            let Some(length) = counted(line)? else { return whole(Kind::Null) };
            if length > TEXT_BYTES {
                return Err(garbled("a text is longer than any server sends"));
            }
            let (start, bytes) = (end + 2, end + 2 + length + 2);
            if unread.len() < bytes {
                return Ok(Err(bytes));
            }
            if &unread[bytes - 2..bytes] != b"\r\n" {
                return Err(garbled("a text does not end where it says"));
            }
            // In front of lines for people stands their form, `txt:`.
            let form = if mark == b'=' { length.min(4) } else { 0 };
            let kind = match mark {
                b'!' => Kind::Error,
                b'=' => Kind::Lines,
                _ => Kind::Text,
            };
            Ok(Ok(Front { kind, text: start + form..start + length, bytes }))
        }
        _ => Err(garbled("a reply begins with no mark of RESP3")),
    }
}

#[inline]
fn number(line: &[u8]) -> io::Result<i64> {
    // Of a length or a count; nearly every line is that short.
    if (1..=4).contains(&line.len()) && line.iter().all(u8::is_ascii_digit) {
        return Ok(line.iter().fold(0, |number, digit| 10 * number + i64::from(digit - b'0')));
    }
    let text = std::str::from_utf8(line).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| garbled("a number is none"))
}

/// A length or a count; `None`: −1, which is NULL.
#[inline]
fn counted(line: &[u8]) -> io::Result<Option<usize>> {
    match number(line)? {
        -1 => Ok(None),
        count @ 0..=0x7fff_ffff => Ok(Some(count as usize)),
        _ => Err(garbled("a length is none")),
    }
}

pub fn garbled(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what}: is this a server of RESP3?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8]) -> Kind {
        front(bytes).unwrap().unwrap_or_else(|whole| panic!("{whole} bytes wanted")).kind
    }

    #[test]
    fn every_token_is_read_from_its_mark_on() {
        let cases: [(&[u8], Kind, &[u8]); 14] = [
            (b"+OK\r\n", Kind::Text, b"OK"),
            (b"-ERR no\r\n", Kind::Error, b"ERR no"),
            (b":-7\r\n", Kind::Integer(-7), b"-7"),
            (b":0012\r\n", Kind::Integer(12), b"0012"),
            (b":9876\r\n", Kind::Integer(9876), b"9876"),
            (b":10234\r\n", Kind::Integer(10234), b"10234"),
            (b"$3\r\na\rb\r\n", Kind::Text, b"a\rb"),
            (b"$0\r\n\r\n", Kind::Text, b""),
            (b"$-1\r\n", Kind::Null, b"-1"),
            (b"_\r\n", Kind::Null, b""),
            (b"=6\r\ntxt:a:\r\n", Kind::Lines, b"a:"),
            (b"!5\r\nERR x\r\n", Kind::Error, b"ERR x"),
            (b"*2\r\n", Kind::Array(2), b"2"),
            (b"%1\r\n", Kind::Map(1), b"1"),
        ];
        for (bytes, kind, text) in cases {
            let front = front(bytes).unwrap().unwrap_or_else(|_| panic!("{bytes:?} is whole"));
            assert_eq!((front.kind, &bytes[front.text], front.bytes), (kind, text, bytes.len()));
        }
        assert_eq!(
            (kind(b"#t\r\n"), kind(b",1.5\r\n"), kind(b"~1\r\n")),
            (Kind::Text, Kind::Text, Kind::Array(1))
        );
    }

    #[test]
    fn a_token_that_has_not_come_whole_says_how_much_it_needs() {
        for whole in [&b"$3\r\nabc\r\n"[..], b":12\r\n", b"*1\r\n"] {
            for cut in 0..whole.len() {
                let wanted = front(&whole[..cut]).unwrap().err().expect("it is not whole");
                assert!(cut < wanted && wanted <= whole.len(), "{wanted} of {}", whole.len());
            }
        }
    }

    #[test]
    fn what_no_server_sends_is_an_error_and_takes_no_memory() {
        let wrong: [&[u8]; 8] = [
            b"HTTP/1.1 400\r\n",
            b"\r\n",
            b":x\r\n",
            b"$-2\r\n",
            b"$999999999999\r\n",
            b"$1\r\nabc",
            b"*99999999999\r\n",
            b"+a\rb\r\n",
        ];
        for bytes in wrong {
            assert!(front(bytes).is_err(), "{bytes:?}");
        }
        assert!(front(&[b'+'; LINE_BYTES]).is_err());
    }
}
