//! Which of many files are alike: one of each sort is looked at closely, and stands for the others.
//!
//! Text alone, by its first rows. Files are alike where what is found by looking closely (`python/inrush/study/sniff.py`)
//! is certainly the same: delimiter and format, the names in their first line, the number of their columns, the word for
//! NULL, and no column with a kind of values that was not looked at in another file. A file of which any of that is not
//! certain stands for itself.

use std::collections::hash_map::{Entry, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::content::digest_of;
pub use crate::look_dialect::TextFormat;
use crate::look_dialect::{is_delimiter, is_format, LINES};
use crate::look_kinds::{is_value, kind_of, null_word, NULL, UNCERTAIN};
use inrush_rows::rows::files::FileStamp;

/// Of a file, what is looked at; a file that is no longer has its digest from the same look.
const HEAD_BYTES: usize = 256 << 10;
const FILES_AT_ONCE: usize = 64;

/// How the first file is read, which was looked at closely.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub delimiter: u8,
    pub format: TextFormat,
    /// Line 1 names the columns.
    pub header: bool,
    /// The command line says whether it does, and the format.
    pub header_said: bool,
    pub format_said: bool,
    /// Rows that are looked at.
    pub rows: usize,
}

impl Seen {
    /// Fields may stand in quotes, and words for NULL are found.
    fn quoted(&self) -> bool {
        self.format == TextFormat::Csv
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// `None`: it cannot be read, or was written to meanwhile.
    pub stamp: Option<FileStamp>,
    /// Of all that it holds; `None` of a longer file.
    pub digest: Option<u128>,
    /// The place of the file that stands for it; `None`: it is to be looked at itself.
    pub like: Option<usize>,
}

/// In the order of the files.
pub fn look(paths: &[PathBuf], seen: Seen) -> Vec<Look> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut head, mut found) = (vec![0; HEAD_BYTES + 1], Vec::new());
        loop {
            let from = next.fetch_add(FILES_AT_ONCE, Relaxed);
            let to = paths.len().min(from + FILES_AT_ONCE);
            if from >= to {
                return found;
            }
            found.extend((from..to).map(|k| (k, one(&paths[k], &mut head, seen).unwrap_or_default())));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(8);
    let mut found = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|w| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        ended.flatten().collect::<Vec<_>>()
    });
    found.sort_by_key(|(k, _)| *k);
    let mut sorts = Sorts::new();
    let with_like = |(k, one): (usize, One)| {
        let like = one.shape.and_then(|shape| stands_for(&mut sorts, k, shape));
        Look { stamp: one.stamp, digest: one.digest, like }
    };
    found.into_iter().map(with_like).collect()
}

#[derive(Default)]
struct One {
    stamp: Option<FileStamp>,
    digest: Option<u128>,
    /// `None`: odd.
    shape: Option<Shape>,
}

/// What is the same of files that are alike, and the kinds of values in each column.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    same: Vec<u8>,
    kinds: Vec<u64>,
}

/// By their `same`: the first that was looked at, and the kinds that all which were have together.
type Sorts = HashMap<Vec<u8>, (usize, Vec<u64>)>;

/// The file that stands for file `k`; `None`, and it is one of those looked at, where a kind of its values is new.
fn stands_for(sorts: &mut Sorts, k: usize, shape: Shape) -> Option<usize> {
    let mut entry = match sorts.entry(shape.same) {
        Entry::Occupied(known) => known,
        Entry::Vacant(new) => {
            new.insert((k, shape.kinds));
            return None;
        }
    };
    let (first, known) = entry.get_mut();
    let mut is_new = false;
    for (known, kinds) in known.iter_mut().zip(&shape.kinds) {
        is_new |= kinds & !*known != 0;
        *known |= kinds;
    }
    (!is_new).then_some(*first)
}

fn one(path: &Path, head: &mut [u8], seen: Seen) -> io::Result<One> {
    let mut file = File::open(path)?;
    let before = file.metadata()?;
    if !before.is_file() {
        return Ok(One::default());
    }
    let mut filled = 0;
    while filled < head.len() {
        match file.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let stamp = FileStamp::of(&before);
    if FileStamp::of(&file.metadata()?) != stamp {
        return Ok(One::default());
    }
    let is_whole = filled <= HEAD_BYTES;
    let digest = is_whole.then(|| digest_of(&head[..filled]));
    let shape = shape_of(&head[..filled], is_whole, seen);
    Ok(One { stamp: Some(stamp), digest, shape })
}

/// `None`: odd.
fn shape_of(head: &[u8], is_whole: bool, seen: Seen) -> Option<Shape> {
    let end = if is_whole { head.len() } else { head.iter().rposition(|b| *b == b'\n')? + 1 };
    let text = head[..end].strip_suffix(b"\n").unwrap_or(&head[..end]);
    if is_of_other_kind(text) {
        return None;
    }
    let is_crlf = text.split(|b| *b == b'\n').next()?.ends_with(b"\r");
    if is_crlf && seen.format == TextFormat::Mysql {
        return None;
    }
    let mut same = vec![u8::from(is_crlf)];
    let mut kinds = Vec::<u64>::new();
    // Of each column, the words that may stand for NULL.
    let mut words = Vec::<u16>::new();
    let mut fields = Vec::<&[u8]>::new();
    let mut first_lines = Vec::<&[u8]>::new();
    let mut rows = 0;
    for (n, line) in text.split(|b| *b == b'\n').enumerate() {
        let line = if is_crlf { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        if line.is_empty() || line.contains(&b'\r') {
            return None;
        }
        if n < LINES {
            first_lines.push(line);
        }
        split(line, seen, &mut fields)?;
        if n == 0 {
            (kinds, words) = (vec![0; fields.len()], vec![0; fields.len()]);
            if seen.header {
                same.extend_from_slice(line);
                continue;
            }
            if !seen.header_said && !fields.iter().any(|f| is_value(f, seen.quoted())) {
                return None;
            }
        }
        if fields.len() != kinds.len() {
            return None;
        }
        for (column, field) in fields.iter().enumerate() {
            if field.contains(&b'\\') && *field != b"\\N" {
                return None;
            }
            let word = if seen.quoted() || *field == b"\\N" { null_word(field) } else { 0 };
            if word == 0 {
                let kind = kind_of(field, seen.quoted());
                if kind == UNCERTAIN {
                    return None;
                }
                kinds[column] |= kind;
            } else if seen.quoted() {
                words[column] |= word;
            }
        }
        rows += 1;
        if rows == seen.rows {
            break;
        }
    }
    if rows == 0 || rows < seen.rows && !is_whole || !is_read_so(&first_lines, seen) {
        return None;
    }
    same.push(b'\n');
    // The empty field alone is what is taken anyway; which of several words is, depends on all values beside them.
    if words.iter().all(|w| *w & !NULL == 0) {
        same.extend(kinds.len().to_le_bytes());
    } else {
        let of_each = words.iter().zip(&kinds);
        same.extend(of_each.flat_map(|(word, kind)| [u64::from(*word), *kind]).flat_map(u64::to_le_bytes));
    }
    Some(Shape { same, kinds })
}

/// Whether it is no text, a packed or Parquet file, or has letters that Python takes for the end of a line.
fn is_of_other_kind(text: &[u8]) -> bool {
    let is_odd = |b: &u8| matches!(b, 0 | 0x0b | 0x0c | 0x1c..=0x1e);
    if text.trim_ascii().is_empty() || text.iter().any(is_odd) {
        return true;
    }
    let Ok(letters) = std::str::from_utf8(text) else { return true };
    let starts = [&b"PAR1"[..], b"BZh", b"\xef\xbb\xbf"];
    starts.iter().any(|start| text.starts_with(start))
        || !text.is_ascii() && letters.contains(['\u{85}', '\u{2028}', '\u{2029}'])
}

/// Whether it would be found by itself to have the delimiter and the format of the first file.
fn is_read_so(lines: &[&[u8]], seen: Seen) -> bool {
    let is_all_said = seen.format_said && seen.format == TextFormat::Mysql;
    (is_all_said || is_delimiter(lines, seen.delimiter))
        && (seen.format_said || is_format(lines, seen.delimiter, seen.format))
}

/// The fields of a line as they are written, those in quotes with them. `None`: quotes that are more than around a field.
fn split<'a>(line: &'a [u8], seen: Seen, fields: &mut Vec<&'a [u8]>) -> Option<()> {
    fields.clear();
    if !seen.quoted() || !line.contains(&b'"') {
        fields.extend(line.split(|b| *b == seen.delimiter));
        return Some(());
    }
    let mut rest = line;
    loop {
        let end = match rest.strip_prefix(b"\"") {
            Some(inside) => inside.iter().position(|b| *b == b'"')? + 2,
            None => rest.iter().position(|b| *b == seen.delimiter).unwrap_or(rest.len()),
        };
        let (field, behind) = rest.split_at(end);
        if !field.starts_with(b"\"") && field.contains(&b'"') {
            return None;
        }
        fields.push(field);
        match behind.split_first() {
            None => return Some(()),
            Some((b, more)) if *b == seen.delimiter => rest = more,
            Some(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TSV: Seen = Seen {
        delimiter: b'\t',
        format: TextFormat::Tsv,
        header: false,
        header_said: false,
        format_said: false,
        rows: 2000,
    };
    const CSV: Seen = Seen { delimiter: b',', format: TextFormat::Csv, header: true, ..TSV };

    fn like(seen: Seen, texts: &[&str]) -> Vec<Option<usize>> {
        let folder = tempfile::tempdir().unwrap();
        let write = |(k, text): (usize, &&str)| {
            let path = folder.path().join(format!("{k}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let paths: Vec<_> = texts.iter().enumerate().map(write).collect();
        look(&paths, seen).into_iter().map(|look| look.like).collect()
    }

    #[test]
    fn files_of_the_same_columns_and_kinds_have_one_that_stands_for_them() {
        assert_eq!(like(TSV, &["4\ta\n", "2\tb c\n22\tü\n", "3\tx"]), [None, Some(0), Some(0)]);
        assert_eq!(like(CSV, &["k,v\n3,2\n", "k,v\n7,8\n", "v,k\n7,8\n"]), [None, Some(0), None]);
    }

    #[test]
    fn a_kind_of_values_that_no_other_file_showed_is_looked_at_once() {
        let found = like(TSV, &["4\t5\n", "4\t0.5\n", "2\t1.5\n3\t5\n", "x\t5\n", "3000000000\t5\n"]);
        assert_eq!(found, [None, None, Some(0), None, None]);
    }

    #[test]
    fn what_may_stand_for_null_is_a_sort_of_its_own_with_the_values_beside_it() {
        let found = like(
            CSV,
            &["k,v\n1,2\n", "k,v\n1,\n", "k,v\nNA,2\n", "k,v\nNA,3\n", "k,v\n1,NA\n", "k,v\n1,\"NA\"\n"],
        );
        assert_eq!(found, [None, Some(0), None, Some(2), None, None]);
        let found = like(CSV, &["k,v\n2,NA\n3,5\n", "k,v\n5,NA\n6,bar\n", "k,v\n7,NA\n6,5\n"]);
        assert_eq!(found, [None, None, Some(0)], "NA is a text beside texts");
        assert_eq!(like(TSV, &["1\t\\N\n2\t3\n", "4\t\\N\n", "4\t5\n"]), [None, Some(0), Some(0)]);
    }

    #[test]
    fn a_file_that_would_be_read_otherwise_by_itself_stands_for_itself() {
        assert_eq!(like(CSV, &["k,v\n2,6\n", "k;v\n2;6\n", "k;v\n2;NA\n4;5\n"]), [None; 3]);
        let line = |n: usize| format!("{n};{n},{n}\n");
        let both = (3..300).map(line).collect::<String>();
        assert_eq!(
            like(Seen { header: false, ..CSV }, &["3;4,5\n", &both, "3;4;5,6\n"]),
            [None, Some(0), None]
        );
        let mysql = Seen { header: false, format: TextFormat::Mysql, ..CSV };
        let texts = ["1,\\N\n2,a\n", "3,\"x\"\n", "4,b\n", "5,\\N\n6,c\n", "5,\\N\n6,\"c\"\n"];
        assert_eq!(like(mysql, &texts), [None, None, None, Some(0), None]);
        assert_eq!(like(Seen { format_said: true, ..mysql }, &["2\t1\n"]), [None]);
    }

    #[test]
    fn a_file_of_which_too_few_rows_were_looked_at_stands_for_itself() {
        let wide = format!("4\t{}\n", "w".repeat(400)).repeat(1_000);
        let narrow = format!("4\t{}\n", "w".repeat(40)).repeat(10_000);
        assert_eq!(like(TSV, &["3\tb\n", &wide, &narrow]), [None, None, Some(0)]);
    }

    #[test]
    fn what_is_odd_stands_for_itself() {
        let odd = [
            "",
            "\n",
            "a\tb\n",
            "1\t2\t3\n4\n",
            "1\ta\\\\b\n",
            "1\ta\n\n2\tb\n",
            "\u{feff}1\ta\n",
            "1\t\0\n",
            "1\ta\rb\n",
            "1\ta\u{2028}b\n",
            "1\t[1.5,]\n",
            "PAR1\t1\n",
        ];
        let mut files = vec!["1\ta\n"];
        files.extend(odd);
        assert!(like(TSV, &files).iter().all(Option::is_none));
        let odd = ["k,v\n", "k,v\n1,\"a\nb\"\n", "k,v\n1,a\"b\n", "k,v\n1,\"a\"\"b\"\n", "k,v\n1,\"a\"b\n"];
        let mut files = vec!["k,v\n1,a\n"];
        files.extend(odd);
        assert!(like(CSV, &files).iter().all(Option::is_none));
        assert_eq!(like(CSV, &["k,v\n1,a\n", "k,v\n1,\"a,b\"\n"]), [None, Some(0)]);
    }

    #[test]
    fn a_first_line_without_a_value_is_data_only_where_it_is_said() {
        let texts = ["a\t1\nb\t2\n", "a\tx\n"];
        assert_eq!(like(TSV, &texts), [None, None]);
        let texts = ["a\tb\n", "c\td\n"];
        assert_eq!(like(TSV, &texts), [None, None]);
        assert_eq!(like(Seen { header_said: true, ..TSV }, &texts), [None, Some(0)]);
    }

    #[test]
    fn a_file_that_fits_has_its_digest_and_a_missing_one_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (small, large) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&small, "1\ta\n").unwrap();
        std::fs::write(&large, "1\ta\n".repeat(HEAD_BYTES / 4 + 1)).unwrap();
        let found = look(&[small.clone(), large, folder.path().join("c")], TSV);
        assert_eq!(found[0].digest, Some(crate::content::file_digest(&small).unwrap().0));
        assert_eq!((found[1].digest, found[1].like), (None, Some(0)));
        assert_eq!(found[1].stamp.unwrap().bytes, HEAD_BYTES as u64 + 4);
        assert_eq!(found[2], Look { stamp: None, digest: None, like: None });
    }
}
