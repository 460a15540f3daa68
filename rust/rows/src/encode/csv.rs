//! Comma-separated values: quotes only where needed, NULL empty and unquoted, an empty text as `""`.

use super::delimited::Style;
use super::tail::Tail;

pub(super) struct CommaSeparated;

impl Style for CommaSeparated {
    const SEPARATOR: u8 = b',';
    const NULL: &'static [u8] = b"";
    const TEXT_GROWTH: usize = 2;
    const TEXT_AROUND: usize = 2;
    const AROUND_LIST: &'static [u8] = b"\"";

    #[inline(always)]
    unsafe fn text(tail: &mut Tail, text: &[u8]) {
        if is_plain(text) {
            tail.bytes(text);
            return;
        }
        tail.byte(b'"');
        for &byte in text {
            if byte == b'"' {
                tail.byte(b'"');
            }
            tail.byte(byte);
        }
        tail.byte(b'"');
    }
}

/// Whether every reader takes `text` as it stands.
///
/// Blanks at an end are quoted as some readers trim them; a leading backslash because `\.` alone ends
/// PostgreSQL's CSV and `\N` is NULL to others; `NULL` and the like because DuckDB's sniffer may believe them.
fn is_plain(text: &[u8]) -> bool {
    let Some((first, last)) = text.first().zip(text.last()) else {
        return false;
    };
    let odd_end = |byte: &u8| matches!(byte, b' ' | b'\\');
    !odd_end(first)
        && !odd_end(last)
        && !text.eq_ignore_ascii_case(b"null")
        && !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'))
}
