//! The delimiter and the format of a text by its first lines, as `text_dialect` of python/inrush/study/sniff.py finds them.
//! Pure.

/// Lines that decide.
pub const LINES: usize = 200;
/// Twin of DELIMITERS there: of two that split as evenly, the first is taken.
const DELIMITERS: [u8; 4] = *b",\t;|";
/// A longer line is not certain: Python's reader has its limits.
const MOST_BYTES: usize = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    Csv,
    Tsv,
    Mysql,
}

/// Whether this delimiter would certainly be found.
pub fn is_delimiter(lines: &[&[u8]], delimiter: u8) -> bool {
    let Some(own) = even(lines, delimiter) else { return false };
    let mut fields = DELIMITERS.iter().map(|d| (*d, even(lines, *d)));
    if own.is_some_and(|n| n > 1) {
        let place = |d: u8| DELIMITERS.iter().position(|known| *known == d);
        return fields.all(|(d, even)| match even {
            None => false,
            // It splits some lines into fewer fields or more.
            Some(None) => true,
            Some(Some(n)) => {
                d == delimiter || Some(n) < own || (Some(n) == own && place(delimiter) < place(d))
            }
        });
    }
    delimiter == DELIMITERS[0] && fields.all(|(_, even)| even == Some(Some(1)))
}

/// Fields of every line; `Some(None)` where they differ, `None` where they are not certain.
fn even(lines: &[&[u8]], delimiter: u8) -> Option<Option<usize>> {
    let mut found = lines.iter().map(|line| fields(line, delimiter));
    let first = found.next()??;
    let mut is_even = true;
    for n in found {
        is_even &= n? == first;
    }
    Some(is_even.then_some(first))
}

/// As Python's `csv` counts them; `None` where quotes are open at the end of the line.
fn fields(line: &[u8], delimiter: u8) -> Option<usize> {
    if line.len() > MOST_BYTES {
        return None;
    }
    if !line.contains(&b'"') {
        return Some(1 + line.iter().filter(|b| **b == delimiter).count());
    }
    let mut n = 1;
    let (mut is_begin, mut is_quoted) = (true, false);
    let mut bytes = line.iter().peekable();
    while let Some(b) = bytes.next() {
        if is_quoted {
            // Two in quotes are one of the text.
            is_quoted = *b != b'"' || bytes.next_if_eq(&&b'"').is_some();
        } else if *b == delimiter {
            n += 1;
            is_begin = true;
            continue;
        } else {
            is_quoted = is_begin && *b == b'"';
        }
        is_begin = false;
    }
    (!is_quoted).then_some(n)
}

/// Whether this format would be found of lines that this delimiter splits. Backslashes stand in none but the field `\N`.
pub fn is_format(lines: &[&[u8]], delimiter: u8, format: TextFormat) -> bool {
    let fields = || lines.iter().flat_map(|line| line.split(move |b| *b == delimiter));
    let is_in_quotes = |f: &[u8]| f.len() > 1 && f.starts_with(b"\"") && f.ends_with(b"\"");
    let found = if delimiter == b'\t' {
        TextFormat::Tsv
    } else if fields().any(|f| f == b"\\N") && !fields().any(is_in_quotes) {
        TextFormat::Mysql
    } else {
        TextFormat::Csv
    };
    format == found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_that_splits_every_line_into_the_most_fields_is_found() {
        let found = |lines: &[&str]| -> String {
            let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            DELIMITERS.iter().filter(|d| is_delimiter(&lines, **d)).map(|d| *d as char).collect()
        };
        assert_eq!(found(&["k,v", "1;2,3"]), ",");
        assert_eq!(found(&["k;v,w", "1;2,3"]), ",", "the first of two");
        assert_eq!(found(&["k;v;w,x", "1;2;3,y"]), ";");
        assert_eq!(found(&["1,\"a;b;c\"", "2,\"d;e;f\""]), ";", "they are no quotes of its fields");
        assert_eq!(found(&["\"a;b;c\",1", "\"d;e;f\",2"]), ",");
        assert_eq!(found(&["a", "b"]), ",", "one column");
        for uncertain in [&["a", "b;c"][..], &["k,v", "1,2,3"], &["1,\"a", "2,b"], &["1;\"a,b", "2;c,d"]] {
            assert_eq!(found(uncertain), "", "{uncertain:?}");
        }
    }

    #[test]
    fn what_escapes_quotes_nothing() {
        let is = |text: &str, delimiter, format| is_format(&[text.as_bytes()], delimiter, format);
        assert!(is("1,\\N", b',', TextFormat::Mysql) && is("1,2", b',', TextFormat::Csv));
        assert!(is("\"1\",\\N", b',', TextFormat::Csv) && is("\"1\"\t\\N", b'\t', TextFormat::Tsv));
    }
}
