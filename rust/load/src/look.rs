//! Samples of many files at once, and which of them are alike: one of each sort stands for the others.
//!
//! Files are alike where what their first rows say is the same: delimiter and format, the names in their first line, the
//! words for NULL beside the kinds of the values, and no column with a kind of values that no other file has shown.

use std::collections::hash_map::{Entry, HashMap};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::content::digest_of;
use inrush_rows::rows::files::sample::{sample, Found, Said, Sample, Window};
use inrush_rows::rows::files::FileStamp;

/// The digest of a file up to so many bytes is taken with its sample: it is in memory.
const SMALL_BYTES: u64 = 256 << 10;
const FILES_AT_ONCE: usize = 16;
/// After so many files, what was found of those that are alike is dropped.
const BATCH: usize = 1024;

#[derive(Debug)]
pub struct Look {
    pub stamp: FileStamp,
    /// `None` of a longer file.
    pub digest: Option<u128>,
    pub found: Like,
}

#[derive(Debug)]
pub enum Like {
    /// What was found of it.
    Itself(Found),
    /// The place of the file that stands for it.
    Other(usize),
}

/// In the order of the files; of one that cannot be read why. alike: one stands for others.
pub fn look(paths: &[PathBuf], said: &Said, rows: u64, alike: bool) -> Vec<Result<Look, String>> {
    let mut sorts = Sorts::new();
    let with_like = |(k, look): (usize, Result<Look, String>)| {
        let mut look = look?;
        if let (true, Like::Itself(Found::Sample(sample))) = (alike, &look.found) {
            if let Some(other) = stands_for(&mut sorts, k, sample) {
                look.found = Like::Other(other);
            }
        }
        Ok(look)
    };
    let batches = paths.chunks(BATCH).flat_map(|batch| look_at(batch, said, rows));
    batches.enumerate().map(with_like).collect()
}

/// At each of them, on several threads.
fn look_at(paths: &[PathBuf], said: &Said, rows: u64) -> Vec<Result<Look, String>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut found, mut window) = (Vec::new(), None);
        loop {
            let from = next.fetch_add(FILES_AT_ONCE, Relaxed);
            let to = paths.len().min(from + FILES_AT_ONCE);
            if from >= to {
                return found;
            }
            found.extend((from..to).map(|k| (k, one(&mut window, &paths[k], said, rows))));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(8);
    let mut found = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(paths.len())).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|w| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        ended.flatten().collect::<Vec<_>>()
    });
    found.sort_by_key(|(k, _)| *k);
    found.into_iter().map(|(_, look)| look).collect()
}

/// window: of a file before, whose memory it takes.
fn one(window: &mut Option<Window>, path: &Path, said: &Said, rows: u64) -> Result<Look, String> {
    let unread = |e: &dyn Display| format!("cannot be read ({e})");
    let stamp = FileStamp::read(path).map_err(|e| unread(&e))?;
    let name = path.display().to_string();
    let window = match window {
        Some(window) => {
            window.turn_to(&name).map_err(|e| unread(&e))?;
            window
        }
        None => window.insert(Window::unread(&name).map_err(|e| unread(&e))?),
    };
    let mut digest = None;
    if stamp.bytes <= SMALL_BYTES {
        window.fill(SMALL_BYTES as usize + 1).map_err(|e| unread(&e))?;
        digest = window.is_whole().then(|| digest_of(window.bytes()));
    }
    let found = sample(window, said, rows).map_err(|e| unread(&e))?;
    let now = FileStamp::read(path).map_err(|e| unread(&e))?;
    if let Some(what) = stamp.change_to(&now) {
        return Err(format!(
            "it changed while it was looked at ({what}), and nothing is stored of it; give the command again when nothing \
             writes to it"
        ));
    }
    Ok(Look { stamp, digest, found: Like::Itself(found) })
}

/// What is the same of files that are alike -> the first of them, and the kinds of values that all have together.
type Sorts = HashMap<String, (usize, Vec<u128>)>;

/// The file that stands for file `k`; `None`, and it is looked at itself, where a kind of its values is new.
fn stands_for(sorts: &mut Sorts, k: usize, sample: &Sample) -> Option<usize> {
    let kinds: Vec<u128> =
        sample.columns.iter().map(|c| c.kinds.iter().fold(0, |all, s| all | 1 << s.of)).collect();
    let mut entry = match sorts.entry(same_of(sample, &kinds)) {
        Entry::Occupied(known) => known,
        Entry::Vacant(new) => {
            new.insert((k, kinds));
            return None;
        }
    };
    let (first, known) = entry.get_mut();
    let mut is_new = false;
    for (known, kinds) in known.iter_mut().zip(&kinds) {
        is_new |= kinds & !*known != 0;
        *known |= kinds;
    }
    (!is_new).then_some(*first)
}

fn same_of(of: &Sample, kinds: &[u128]) -> String {
    let names: Vec<&str> = of.columns.iter().map(|c| c.name.as_str()).collect();
    let words: Vec<Vec<usize>> =
        of.columns.iter().map(|c| c.words.iter().map(|s| s.of).filter(|of| *of > 0).collect()).collect();
    // The empty field alone is what is taken anyway; which of several words is, depends on all values beside them.
    let beside = words.iter().any(|words| !words.is_empty()).then_some((words, kinds));
    let nul: Vec<bool> = of.columns.iter().map(|c| c.nul).collect();
    let literal = (of.escaped.is_empty(), of.quoted.is_empty());
    format!("{:?}", (of.format, of.delimiter, of.header, names, beside, nul, literal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::file_digest;

    fn like(texts: &[&str], said: Said) -> Vec<Option<usize>> {
        let folder = tempfile::tempdir().unwrap();
        let write = |(k, text): (usize, &&str)| {
            let path = folder.path().join(format!("{k}"));
            std::fs::write(&path, text).unwrap();
            path
        };
        let paths: Vec<_> = texts.iter().enumerate().map(write).collect();
        let like = |look: Result<Look, String>| match look.unwrap().found {
            Like::Other(k) => Some(k),
            Like::Itself(_) => None,
        };
        look(&paths, &said, 2_000, true).into_iter().map(like).collect()
    }

    #[test]
    fn files_of_the_same_columns_and_kinds_have_one_that_stands_for_them() {
        let plain = Said::default;
        assert_eq!(like(&["4\ta\n", "2\tb c\n22\tü\n", "3\tx"], plain()), [None, Some(0), Some(0)]);
        assert_eq!(like(&["k,v\n3,2\n", "k,v\n7,8\n", "v,k\n7,8\n"], plain()), [None, Some(0), None]);
        let texts = ["4\t5\n", "4\t0.5\n", "2\t1.5\n3\t5\n", "x\t5\n", "3000000000\t5\n"];
        let said = Said { header: Some(false), ..plain() };
        assert_eq!(like(&texts, said), [None, None, Some(0), None, None]);
    }

    #[test]
    fn what_may_stand_for_null_is_a_sort_of_its_own_with_the_values_beside_it() {
        let texts =
            ["k,v\n1,2\n", "k,v\n1,\n", "k,v\nNA,2\n", "k,v\nNA,3\n", "k,v\n1,NA\n", "k,v\n1,\"NA\"\n"];
        assert_eq!(like(&texts, Said::default()), [None, Some(0), None, Some(2), None, None]);
        let texts = ["k,v\n2,NA\n3,5\n", "k,v\n5,NA\n6,bar\n", "k,v\n7,NA\n6,5\n"];
        assert_eq!(like(&texts, Said::default()), [None, None, Some(0)], "NA is a text beside texts");
    }

    #[test]
    fn the_first_of_all_stands_for_files_of_later_batches() {
        let texts = vec!["1\ta\n"; BATCH + 2];
        let found = like(&texts, Said::default());
        assert_eq!((found.len(), found[0]), (BATCH + 2, None));
        assert!(found[1..].iter().all(|like| *like == Some(0)));
    }

    #[test]
    fn a_file_that_is_read_otherwise_stands_for_itself() {
        let texts = ["k,v\n2,6\n", "k;v\n2;6\n", "", "k,v\n", "a,b,c\n1,2,3\n"];
        assert_eq!(like(&texts, Said::default()), [None; 5]);
    }

    #[test]
    fn a_small_file_has_its_digest_and_a_missing_one_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (small, large) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&small, "1\ta\n").unwrap();
        std::fs::write(&large, "1\ta\n".repeat(SMALL_BYTES as usize / 4 + 1)).unwrap();
        let paths = [small.clone(), large, folder.path().join("c")];
        let found = look(&paths, &Said::default(), 2_000, true);
        assert_eq!(found[0].as_ref().unwrap().digest, Some(file_digest(&small).unwrap().0));
        assert_eq!(found[1].as_ref().unwrap().digest, None);
        assert!(found[2].as_ref().unwrap_err().starts_with("cannot be read ("));
    }
}
