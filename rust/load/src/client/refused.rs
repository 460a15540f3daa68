//! Rows that a server refuses: noted with line and reason, then their chunk comes again without them.
//!
//! The note is on the disk before the chunk is, so that a kill loses no row. It holds for chunks that some shard has; of
//! others nothing is decided, and they are sent whole again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::frame::{ChunkHead, Reached, Refused};
use inrush_rows::error::Error;
use inrush_rows::placement::picked;
use inrush_rows::plan::{RowSource, TablePlan};
use inrush_rows::rows::files::{reject_row, FileRows, Position};
use inrush_rows::rows::Columns;

/// A chunk that was sent and has no answer yet.
pub struct UnderWay {
    /// Place of its file in the plan.
    pub at: usize,
    pub before: Position,
    /// Rows that were read for it; `head` has the places of those that are not in it.
    pub read: u32,
    /// Of the file, behind it.
    pub bytes: u64,
    pub head: ChunkHead,
}

/// One row, as its file has it on a line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Note {
    chunk: u64,
    /// In the chunk as it was read.
    place: u32,
    /// Of the good rows of the file.
    row: u64,
    /// As a reject file has it.
    text: String,
    /// The process that wrote it.
    by: u32,
}

impl Note {
    /// By a process that is still there, and is not this one.
    fn is_of_another(&self) -> bool {
        self.by != std::process::id() && Path::new(&format!("/proc/{}", self.by)).exists()
    }
}

/// The places of noted rows by chunk.
#[derive(Default)]
pub struct Noted(BTreeMap<u64, Vec<u32>>);

impl Noted {
    /// What is noted of the chunks that shards have; all else is struck out.
    pub fn of_stored(reject_path: &str, reached: Option<&Reached>) -> Result<Noted, Error> {
        let path = path_of(reject_path);
        let failed = |e| Error::io(&path, e);
        let mut file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Noted::default()),
            Err(e) => return Err(failed(e)),
        };
        locked(&file).map_err(failed)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let is_stored =
            |chunk: u64| reached.is_some_and(|r| chunk < r.chunk || r.done || r.lacking.contains(&chunk));
        // A line that a kill cut is of no chunk that was sent.
        let read = text.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice::<Note>(line).ok());
        // Another command of this import may be at work: what it has noted is its own.
        let kept: Vec<Note> = read.filter(|note| is_stored(note.chunk) || note.is_of_another()).collect();
        let left = lines(&kept);
        file.seek(io::SeekFrom::Start(0)).map_err(failed)?;
        file.write_all(left.as_bytes()).map_err(failed)?;
        file.set_len(left.len() as u64).map_err(failed)?;
        let mut noted = Noted::default();
        let own = kept.iter().filter(|note| is_stored(note.chunk));
        own.for_each(|note| noted.0.entry(note.chunk).or_default().push(note.place));
        for places in noted.0.values_mut() {
            places.sort_unstable();
            places.dedup();
        }
        Ok(noted)
    }

    /// The places that are left out of a chunk.
    pub fn take(&mut self, chunk: u64) -> Vec<u32> {
        self.0.remove(&chunk).unwrap_or_default()
    }
}

impl UnderWay {
    /// The chunk without these rows, which are noted, and its rows. table: of its file alone.
    pub fn without(
        self,
        table: &TablePlan,
        chunk_rows: usize,
        refused: Refused,
    ) -> Result<(UnderWay, Columns), Error> {
        // A server may say anything: only rows that are in it are left out.
        let is_in = |place: &u32| *place < self.read && self.head.left_out.binary_search(place).is_err();
        let rows: BTreeMap<u32, String> =
            refused.rows.into_iter().filter(|(place, _)| is_in(place)).collect();
        if rows.is_empty() {
            return Err(Error::Plan("the load server refused rows that were not sent".into()));
        }
        let reject_path = reject_path(table);
        let (batch, notes) = self.read_again(&unrejecting(table), chunk_rows, &rows)?;
        append(&path_of(&reject_path), &notes)?;
        let mut left_out = self.head.left_out.clone();
        left_out.extend(rows.keys());
        left_out.sort_unstable();
        let batch = without(&batch, &left_out);
        let head = ChunkHead { rows: batch.rows as u64, left_out, ..self.head };
        Ok((UnderWay { head, ..self }, batch))
    }

    /// All rows of the chunk, and a note of those that are refused.
    fn read_again(
        &self,
        table: &TablePlan,
        chunk_rows: usize,
        refused: &BTreeMap<u32, String>,
    ) -> Result<(Columns, Vec<Note>), Error> {
        let from = Position { rejected: 0, reject_bytes: 0, ..self.before };
        let RowSource::Files { paths, .. } = &table.source else { unreachable!("a client reads files") };
        let mut rows = FileRows::open(table)?;
        let mut batch = rows.columns();
        rows.seek(&from)?;
        rows.next_batch(chunk_rows, &mut batch)?;
        let mut one_by_one = FileRows::open(table)?;
        one_by_one.seek(&from)?;
        let (mut row, mut notes) = (one_by_one.columns(), Vec::new());
        let last = refused.keys().last().copied().unwrap_or(0);
        for place in 0..=last {
            let Some((line, text)) = one_by_one.next_row(&mut row)? else { break };
            if let Some(why) = refused.get(&place) {
                let text = reject_row(&paths[0], line, "", why, &text);
                notes.push(Note {
                    chunk: self.head.chunk,
                    place,
                    row: self.before.stored + u64::from(place),
                    text: String::from_utf8_lossy(&text).into_owned(),
                    by: std::process::id(),
                });
            }
        }
        Ok((batch, notes))
    }
}

/// The rows but these. places: in order.
pub fn without(batch: &Columns, places: &[u32]) -> Columns {
    let kept: Vec<u32> =
        (0..batch.rows as u32).filter(|place| places.binary_search(place).is_err()).collect();
    picked(batch, &kept)
}

fn path_of(reject_path: &str) -> String {
    format!("{reject_path}.refused")
}

fn reject_path(table: &TablePlan) -> String {
    let RowSource::Files { reject_path, .. } = &table.source else { unreachable!("a client reads files") };
    reject_path.clone()
}

/// The same files, of which what is rejected was noted before.
fn unrejecting(table: &TablePlan) -> TablePlan {
    let mut own = table.clone();
    if let RowSource::Files { reject_path, reject_limit, .. } = &mut own.source {
        *reject_path = "/dev/null".into();
        *reject_limit = u64::MAX;
    }
    own
}

fn lines(notes: &[Note]) -> String {
    let line = |note| serde_json::to_string(note).expect("it is plain data") + "\n";
    notes.iter().map(line).collect()
}

fn append(path: &str, notes: &[Note]) -> Result<(), Error> {
    let failed = |e| Error::io(path, e);
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
    locked(&file).map_err(failed)?;
    file.write_all(lines(notes).as_bytes()).map_err(failed)
}

/// Until it is closed, no other process writes to it.
fn locked(file: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` is.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn note(chunk: u64, place: u32) -> Note {
        Note { chunk, place, row: 0, text: "a,1,,why,\"x\u{2028}\ny\"\n".into(), by: 0 }
    }

    #[test]
    fn what_is_noted_holds_for_chunks_that_are_stored_and_for_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let rejects = dir.path().join("000001.csv").display().to_string();
        let path = path_of(&rejects);
        let open = |reached: Option<&Reached>| Noted::of_stored(&rejects, reached).unwrap();
        assert!(open(None).take(0).is_empty());
        append(&path, &[note(0, 7), note(2, 5), note(2, 1)]).unwrap();
        append(&path, &[note(1, 3), note(4, 0)]).unwrap();
        // Cut within a character.
        fs::write(&path, [&fs::read(&path).unwrap()[..], b"{\"chunk\":4,\"text\":\"\xe2\x80"].concat())
            .unwrap();
        let reached = Reached {
            file: 0,
            chunk: 1,
            after: Position::default(),
            done: false,
            sums: String::new(),
            refused: 1,
            lacking: vec![2],
        };
        let mut noted = open(Some(&reached));
        assert_eq!([0, 1, 2, 4].map(|chunk| noted.take(chunk)), [vec![7], vec![], vec![1, 5], vec![]]);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3, "the others are struck out");
        // The parent of this process is at work too, and this process itself begins anew.
        let parent = Note { by: std::os::unix::process::parent_id(), ..note(5, 1) };
        let own = Note { by: std::process::id(), ..note(6, 1) };
        append(&path, &[parent, own]).unwrap();
        let mut noted = open(None);
        assert!(noted.take(0).is_empty() && noted.take(5).is_empty());
        assert_eq!(
            fs::read_to_string(&path).unwrap().lines().count(),
            1,
            "what another one noted is its own"
        );
    }
}
