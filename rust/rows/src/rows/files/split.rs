//! Bytes into records and fields. Pure: what to read next is the caller's affair.

use super::dialect::{Dialect, Quoting};
use super::json;
use super::parse::Reason;

/// Where a field lies in its record, delimiters and quotes left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub start: usize,
    pub end: usize,
    pub quoted: bool,
    /// Holds doubled quotes or escapes.
    pub escaped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// A record of `len` bytes with its line end; `lines` line breaks inside and after it.
    Record { len: usize, lines: u64 },
    /// The first line is no record; it ends after `len` bytes with its line end.
    Broken { len: usize, reason: Reason },
    /// The record does not end in these bytes.
    More,
}

/// What is known of the bytes before and behind those that are split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Around {
    /// No further bytes follow.
    pub last: bool,
    /// Lines end with CR and LF.
    pub crlf: bool,
    /// The record before was given up: these lines may be the rest of its quoted field.
    pub given_up: bool,
}

/// The first record of `bytes`.
///
/// A record that is broken in a quoted field may have swallowed good lines: only its first line is
/// given up, and reading goes on with the second.
pub fn split(d: &Dialect, bytes: &[u8], around: Around, fields: &mut Vec<Field>) -> Split {
    fields.clear();
    match d.quoting {
        Quoting::Quotes => split_quoted(d, bytes, around, fields),
        Quoting::Json => json::split(&d.keys, bytes, around.last, fields),
        _ => split_escaped(d.delimiter, bytes, around, fields),
    }
}

fn split_quoted(d: &Dialect, bytes: &[u8], around: Around, fields: &mut Vec<Field>) -> Split {
    let (mut at, mut lines, last) = (0, 0, around.last);
    let Dialect { delimiter, quote, .. } = *d;
    let mut stray = Stray::None;
    loop {
        let field = if bytes.get(at).is_some_and(|byte| Some(*byte) == quote) {
            let Some((field, breaks)) = quoted_field(d, bytes, at + 1) else {
                return if last { broken(bytes, Reason::UnbalancedQuote) } else { Split::More };
            };
            lines += breaks;
            at = field.end + 1;
            field
        } else {
            let start = at;
            let found;
            (at, found) = plain_end(delimiter, quote, bytes, at);
            stray = stray.max(found);
            Field { start, end: at, quoted: false, escaped: false }
        };
        fields.push(field);
        let ends = match bytes.get(at) {
            Some(b) if *b == delimiter => {
                at += 1;
                continue;
            }
            Some(b'\n') => at + 1,
            Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => at + 2,
            Some(b'\r') if at + 1 == bytes.len() && !last => return Split::More,
            Some(b'\r') if at + 1 == bytes.len() && around.crlf => at + 1,
            Some(_) => {
                return match first_line(bytes).or(last.then_some(bytes.len())) {
                    Some(len) => {
                        // An odd number of quotes cannot all be pairs.
                        let odd = bytes[..len].iter().filter(|b| Some(**b) == quote).count() % 2 == 1;
                        let reason = if odd { Reason::UnbalancedQuote } else { Reason::TextAfterQuote };
                        Split::Broken { len, reason }
                    }
                    None => Split::More,
                };
            }
            None if last => at,
            None => return Split::More,
        };
        trim_carriage_return(bytes, fields, at, around.crlf);
        if stray == Stray::BehindBlanks || (stray == Stray::Inside && around.given_up) {
            let (len, reason) = match lines {
                0 => (ends, Reason::QuoteInField),
                _ => (first_line(bytes).unwrap_or(ends), Reason::UnbalancedQuote),
            };
            return Split::Broken { len, reason };
        }
        return Split::Record { len: ends, lines: lines + 1 };
    }
}

/// The field that opened before `start`, up to its closing quote, and the line breaks in it.
fn quoted_field(d: &Dialect, bytes: &[u8], start: usize) -> Option<(Field, u64)> {
    let (mut at, mut breaks, mut escaped) = (start, 0, false);
    let quote = d.quote?;
    loop {
        at = find(bytes, at, [quote, b'\n', d.escape.unwrap_or(quote)]);
        match bytes.get(at)? {
            b'\n' => breaks += 1,
            byte if d.escape == Some(*byte) => {
                breaks += u64::from(*bytes.get(at + 1)? == b'\n');
                escaped = true;
                at += 1;
            }
            _ if bytes.get(at + 1) == Some(&quote) => {
                escaped = true;
                at += 1;
            }
            // A quote at the end of what was read may be the first of two: the caller finds no
            // delimiter behind it and asks for more.
            _ => return Some((Field { start, end: at, quoted: true, escaped }, breaks)),
        }
        at += 1;
    }
}

/// Quotes in the unquoted fields of a record; of several kinds the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stray {
    None,
    /// `5" pipe`: a part of the text.
    Inside,
    /// `1, "a"`: it may be meant as the quote around the field.
    BehindBlanks,
}

/// End of an unquoted field, and the quotes in it.
fn plain_end(delimiter: u8, quote: Option<u8>, bytes: &[u8], start: usize) -> (usize, Stray) {
    let (mut at, mut stray) = (start, Stray::None);
    loop {
        at = find(bytes, at, [delimiter, b'\n', quote.unwrap_or(delimiter)]);
        if bytes.get(at).is_none_or(|byte| Some(*byte) != quote) {
            return (at, stray);
        }
        let blank = bytes[start..at].iter().all(|b| b" \t".contains(b));
        stray = stray.max(if blank { Stray::BehindBlanks } else { Stray::Inside });
        at += 1;
    }
}

/// Before a line feed, an unquoted carriage return belongs to the line end. crlf: and at the end of the file, which was cut there.
fn trim_carriage_return(bytes: &[u8], fields: &mut [Field], at: usize, crlf: bool) {
    if let Some(field) = fields.last_mut().filter(|f| !f.quoted && f.end == at && f.end > f.start) {
        if bytes[field.end - 1] == b'\r' && bytes.get(at).map_or(crlf, |byte| *byte == b'\n') {
            field.end -= 1;
        }
    }
}

fn split_escaped(delimiter: u8, bytes: &[u8], around: Around, fields: &mut Vec<Field>) -> Split {
    let Around { last, crlf, .. } = around;
    let (mut at, mut lines, mut start, mut escaped) = (0, 0, 0, false);
    loop {
        at = find(bytes, at, [delimiter, b'\n', b'\\']);
        match bytes.get(at) {
            Some(b'\\') => {
                match bytes.get(at + 1) {
                    Some(b'\n') => lines += 1,
                    Some(_) => {}
                    None if last => return broken(bytes, Reason::UnfinishedEscape),
                    None => return Split::More,
                }
                escaped = true;
                at += 2;
                continue;
            }
            Some(b'\n') | None => {
                if at >= bytes.len() && !last {
                    return Split::More;
                }
                let ends_crlf = crlf && at > start && bytes[at - 1] == b'\r';
                let end = if ends_crlf { at - 1 } else { at };
                fields.push(Field { start, end, quoted: false, escaped });
                return Split::Record { len: (at + 1).min(bytes.len()), lines: lines + 1 };
            }
            Some(_) => {
                fields.push(Field { start, end: at, quoted: false, escaped });
                at += 1;
                (start, escaped) = (at, false);
            }
        }
    }
}

fn broken(bytes: &[u8], reason: Reason) -> Split {
    Split::Broken { len: first_line(bytes).unwrap_or(bytes.len()), reason }
}

/// Length of the first line with its line feed.
pub fn first_line(bytes: &[u8]) -> Option<usize> {
    let at = find(bytes, 0, [b'\n'; 3]);
    (at < bytes.len()).then_some(at + 1)
}

/// Position of the first of three bytes at or after `from`; the length when there is none.
///
/// Eight bytes at a time: a byte of `x ^ pattern` is zero where it matches, and the lowest zero byte
/// is the lowest high bit of `(x - 0x01…) & !x & 0x80…`, with nothing false below it.
pub(super) fn find(bytes: &[u8], from: usize, wanted: [u8; 3]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let patterns = wanted.map(|b| u64::from(b) * ONES);
    let mut at = from;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
        let hits = patterns.iter().fold(0, |hits, pattern| {
            let x = word ^ pattern;
            hits | (x.wrapping_sub(ONES) & !x & (ONES << 7))
        });
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let tail = bytes.get(at..).unwrap_or_default();
    at.min(bytes.len()) + tail.iter().position(|b| wanted.contains(b)).unwrap_or(tail.len())
}

#[cfg(test)]
mod tests {
    use super::super::escapes::unescaped;
    use super::*;

    fn csv() -> Dialect {
        Dialect::usual("csv").unwrap()
    }

    fn escapes(quoting: Quoting) -> Dialect {
        Dialect { quoting, ..Dialect::usual("tsv").unwrap() }
    }

    fn texts(d: &Dialect, bytes: &[u8], crlf: bool) -> (Split, Vec<String>) {
        let mut fields = Vec::new();
        let split = split(d, bytes, Around { last: true, crlf, given_up: false }, &mut fields);
        let mut scratch = Vec::new();
        let text = |f: &Field| String::from_utf8_lossy(unescaped(d, bytes, *f, &mut scratch)).into_owned();
        (split, fields.iter().map(text).collect())
    }

    #[test]
    fn quoted_fields_hold_delimiters_quotes_and_line_breaks() {
        let bytes = b"a,\"b,\"\"c\"\"\nd\",,\"\"\r\nnext";
        let (split, fields) = texts(&csv(), bytes, false);
        assert_eq!(fields, ["a", "b,\"c\"\nd", "", ""]);
        assert_eq!(split, Split::Record { len: bytes.len() - 4, lines: 2 });
        let (_, fields) = texts(&csv(), b"\"\"\"\"\"\",\"x\"\"\"\n", false);
        assert_eq!(fields, ["\"\"", "x\""]);
    }

    #[test]
    fn a_quote_of_its_own_and_an_escape_stand_for_themselves_elsewhere() {
        let d = Dialect { quote: Some(b'\''), escape: Some(b'\\'), ..csv() };
        let (split, fields) = texts(&d, b"'it\\'s, ''\\\\','a\\\nb',\"x\\\"\n", false);
        assert_eq!(fields, ["it's, '\\", "a\nb", "\"x\\\""]);
        assert_eq!(split, Split::Record { len: 26, lines: 2 });
        let unended = texts(&d, b"'a\\'\nb\n", false).0;
        assert_eq!(unended, Split::Broken { len: 5, reason: Reason::UnbalancedQuote });
        let none = Dialect { quote: None, ..csv() };
        assert_eq!(texts(&none, b"\"a,b\"\n", false).1, ["\"a", "b\""]);
    }

    #[test]
    fn an_open_quote_gives_up_its_first_line_only() {
        let bytes = b"1,\"abc\n2,\"def\"\n3,ghi\n";
        assert_eq!(texts(&csv(), bytes, false).0, Split::Broken { len: 7, reason: Reason::UnbalancedQuote });
        let bytes = b"1,\"abc\n2,def\n";
        assert_eq!(texts(&csv(), bytes, false).0, Split::Broken { len: 7, reason: Reason::UnbalancedQuote });
    }

    #[test]
    fn a_quote_where_none_belongs_is_named() {
        let broken = |bytes: &[u8]| match texts(&csv(), bytes, false).0 {
            Split::Broken { reason, .. } => Some(reason),
            _ => None,
        };
        assert_eq!(broken(b"1, \"a\",2\n"), Some(Reason::QuoteInField));
        assert_eq!(broken(b"\"a\nb\", \"c\"\n"), Some(Reason::UnbalancedQuote));
        assert_eq!(broken(b"1,\"a\"b,2\n"), Some(Reason::TextAfterQuote));
        assert_eq!(broken(b"1,\"a\" ,2\n"), Some(Reason::TextAfterQuote));
    }

    #[test]
    fn a_quote_inside_a_field_without_quotes_is_a_part_of_its_text() {
        let (split, fields) = texts(&csv(), b"37'37.8\"N 12'17.9\"W,5\" pipe,a\"\"b,\"x\ny\",\"q\"\n", false);
        assert_eq!(fields, ["37'37.8\"N 12'17.9\"W", "5\" pipe", "a\"\"b", "x\ny", "q"]);
        assert_eq!(split, Split::Record { len: 43, lines: 2 });
    }

    #[test]
    fn behind_a_record_that_was_given_up_a_quote_inside_a_field_gives_up_its_line_too() {
        let around = Around { last: true, crlf: false, given_up: true };
        let found = |bytes: &[u8]| split(&csv(), bytes, around, &mut Vec::new());
        assert_eq!(found(b"b\",5\nc\n"), Split::Broken { len: 5, reason: Reason::QuoteInField });
        assert_eq!(found(b"\"a\nb\",5\"\n"), Split::Broken { len: 3, reason: Reason::UnbalancedQuote });
        assert_eq!(found(b"\"a\nb\",5\n"), Split::Record { len: 8, lines: 2 });
    }

    #[test]
    fn escapes_mean_what_each_format_says() {
        let (_, fields) = texts(&escapes(Quoting::MysqlEscapes), b"a\\tb\t\\\\\t\\Z\\q\t\\\nx\n", false);
        assert_eq!(fields, ["a\tb", "\\", "\u{1a}q", "\nx"]);
        let (_, fields) = texts(&escapes(Quoting::PostgresEscapes), b"\\v\\101\\x41g\t\\xg\t\\q\n", false);
        assert_eq!(fields, ["\u{b}AAg", "xg", "q"]);
    }

    #[test]
    fn a_carriage_return_is_data_unless_lines_end_with_it() {
        let d = escapes(Quoting::MysqlEscapes);
        assert_eq!(texts(&d, b"a\tb\r\n", true).1, ["a", "b"]);
        assert_eq!(texts(&d, b"a\tb\r\n", false).1, ["a", "b\r"]);
        assert_eq!(texts(&csv(), b"a,b\r\n", false).1, ["a", "b"]);
        assert_eq!(texts(&csv(), b"a\rb,c\n", false).1, ["a\rb", "c"]);
        // Of the last line end a file may have the first half alone.
        assert_eq!(texts(&d, b"a\tb\r", true).1, ["a", "b"]);
        for (text, fields) in [("a,b\r", ["a", "b"]), ("a,\"b\"\r", ["a", "b"]), ("a,\r", ["a", ""])] {
            let found = texts(&csv(), text.as_bytes(), true);
            assert_eq!(
                (found.0, found.1),
                (Split::Record { len: text.len(), lines: 1 }, fields.map(String::from).to_vec())
            );
        }
        assert_eq!(texts(&csv(), b"a,b\r", false).1, ["a", "b\r"]);
    }

    #[test]
    fn a_record_cut_anywhere_is_asked_for_again_and_never_guessed() {
        let whole: &[u8] = b"a,\"b\"\"c\n\",d\r\n";
        let mut fields = Vec::new();
        for cut in 0..whole.len() {
            let found = split(&csv(), &whole[..cut], Around::default(), &mut fields);
            assert_eq!(found, Split::More, "cut at {cut}");
        }
        let found = split(&csv(), whole, Around::default(), &mut fields);
        assert_eq!(found, Split::Record { len: whole.len(), lines: 2 });
    }

    #[test]
    fn find_agrees_with_looking_at_every_byte() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for wanted in [[0, 1, 2], [255, 128, 127], [10, 10, 10]] {
            for from in 0..bytes.len() {
                let expected =
                    bytes[from..].iter().position(|b| wanted.contains(b)).map_or(bytes.len(), |n| from + n);
                assert_eq!(find(&bytes, from, wanted), expected);
            }
        }
    }
}
