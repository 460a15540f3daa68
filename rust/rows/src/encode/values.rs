//! Rows of an SQL INSERT as text: `(1,'it\'s',NULL),`. Backslash escapes; the comma behind the last row is allowed.

use super::delimited::Style;
use super::tail::Tail;

pub(super) struct ValueGroups;

impl Style for ValueGroups {
    const SEPARATOR: u8 = b',';
    const NULL: &'static [u8] = b"NULL";
    const BEFORE_ROW: &'static [u8] = b"(";
    const AFTER_ROW: &'static [u8] = b"),";
    const TIMES_AS_NUMBERS: bool = true;
    const TEXT_GROWTH: usize = 2;
    const TEXT_AROUND: usize = 2;
    const AROUND_LIST: &'static [u8] = b"";

    #[inline(always)]
    unsafe fn text(tail: &mut Tail, text: &[u8]) {
        tail.byte(b'\'');
        for &byte in text {
            if matches!(byte, b'\'' | b'\\') {
                tail.byte(b'\\');
            }
            tail.byte(byte);
        }
        tail.byte(b'\'');
    }
}
