//! Files of generated rows: made before the clock, then loaded as they are.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use inrush_engines::engine::{Ns, Ticket};
use inrush_rows::encode::encoder;
use inrush_rows::error::Error;
use inrush_rows::plan::{InputPlan, InputWay, RunPlan};
use inrush_rows::rows::files::FileStamp;
use inrush_rows::rows::RowGen;

/// Rows that are made and written at a time.
const WRITE_ROWS: usize = 16_384;
/// A file is sent from memory: a larger one is to be cut.
const MOST_BYTES: u64 = 1 << 30;

/// First row of each file, and the end: as the table itself lies in files, or in equal parts.
pub fn cuts(input: &InputPlan, rows: &RowGen) -> Vec<u64> {
    match rows.files().map(|own| input.within(own)) {
        Some(own) if own.len() as u64 == input.files + 1 => own,
        _ => input.equal(),
    }
}

/// Makes the files that are not there yet, or are not as they were made, as many at a time as there are cores.
///
/// A file is written beside its name and renamed when it lies on the disk, so one that is there is whole. When all are, it is
/// noted beside them how they are. Returns the bytes that stay in memory of files that should not.
pub fn make(plan: &RunPlan, input: &InputPlan, stop: &AtomicBool) -> Result<u64, Error> {
    let failed = |path: &str, e: io::Error| Error::io(format!("making input file {path}"), e);
    fs::create_dir_all(&input.folder).map_err(|e| failed(&input.folder, e))?;
    let table = input.written(&plan.tables[input.table]);
    let rows = RowGen::new(&table, plan.seed, plan.epoch_ns)?;
    let cuts = cuts(input, &rows);
    let (known, next) = (noted(input), AtomicU64::new(0));
    let work = || -> Result<(), Error> {
        let (mut columns, mut text) = (rows.columns(WRITE_ROWS), Vec::new());
        let mut to_text = encoder("text", &table)?;
        loop {
            let file = next.fetch_add(1, Relaxed);
            if file >= input.files || stop.load(Relaxed) {
                return Ok(());
            }
            let path = input.path(file);
            if FileStamp::read(&path)
                .is_ok_and(|now| known.get(file as usize).is_none_or(|made| *made == now))
            {
                continue;
            }
            let part = Part(format!("{path}.part"));
            let mut out = File::create(&part.0).map_err(|e| failed(&part.0, e))?;
            let (mut row, end) = (cuts[file as usize], cuts[file as usize + 1]);
            while row < end {
                let count = WRITE_ROWS.min((end - row) as usize);
                rows.fill(row, count, &mut columns);
                text.clear();
                to_text.encode(&columns, &mut text)?;
                out.write_all(&text).map_err(|e| failed(&part.0, e))?;
                row += count as u64;
            }
            out.sync_data().and_then(|()| fs::rename(&part.0, &path)).map_err(|e| failed(&part.0, e))?;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    if stop.load(Relaxed) {
        return Ok(0);
    }
    note(input).map_err(|e| failed(&notes(input), e))?;
    if !input.cold {
        return Ok(0);
    }
    (0..input.files).map(|file| forget(&input.path(file))).sum()
}

/// A file that is being written; of one that could not be, nothing is left to fill the disk.
struct Part(String);

impl Drop for Part {
    fn drop(&mut self) {
        // Renamed, it is not there.
        let _ = fs::remove_file(&self.0);
    }
}

/// Where it is noted how the files are that were made.
fn notes(input: &InputPlan) -> String {
    format!("{}/{}.made", input.folder, input.name)
}

fn note(input: &InputPlan) -> io::Result<()> {
    let mut text = String::new();
    for file in 0..input.files {
        let stamp = FileStamp::read(input.path(file))?;
        let FileStamp { bytes, mtime_ns, ctime_ns, inode } = stamp;
        text.push_str(&format!("{bytes} {mtime_ns} {ctime_ns} {inode}\n"));
    }
    let part = Part(format!("{}.part", notes(input)));
    fs::write(&part.0, text)?;
    fs::rename(&part.0, notes(input))
}

/// As they were made; none where that is not noted, as of files that a step has sorted.
fn noted(input: &InputPlan) -> Vec<FileStamp> {
    let Ok(text) = fs::read_to_string(notes(input)) else { return Vec::new() };
    let stamp = |line: &str| {
        let mut words = line.split(' ');
        Some(FileStamp {
            bytes: words.next()?.parse().ok()?,
            mtime_ns: words.next()?.parse().ok()?,
            ctime_ns: words.next()?.parse().ok()?,
            inode: words.next()?.parse().ok()?,
        })
    };
    let found: Option<Vec<_>> = text.lines().map(stamp).collect();
    found.filter(|found| found.len() as u64 == input.files).unwrap_or_default()
}

/// The files of one role, which are as they were made when it begins, and the same when it has ended.
pub struct Unchanged {
    plan: InputPlan,
    stamps: Vec<FileStamp>,
}

impl Unchanged {
    /// Errors: a file that is not there, or not as it was made.
    pub fn open(plan: &InputPlan) -> Result<Unchanged, Error> {
        let (known, mut stamps) = (noted(plan), Vec::with_capacity(plan.files as usize));
        for file in 0..plan.files {
            let now = stamp_of(&plan.path(file))?;
            refuse_changed(plan, file, known.get(file as usize).unwrap_or(&now), &now)?;
            stamps.push(now);
        }
        Ok(Unchanged { plan: plan.clone(), stamps })
    }

    pub fn bytes(&self, file: Ticket) -> u64 {
        self.stamps[file as usize].bytes
    }

    /// Errors: one has gone, or changed.
    pub fn check(&self) -> Result<(), Error> {
        (0..self.plan.files).try_for_each(|file| self.check_file(file, &stamp_of(&self.plan.path(file))?))
    }

    fn check_file(&self, file: u64, now: &FileStamp) -> Result<(), Error> {
        refuse_changed(&self.plan, file, &self.stamps[file as usize], now)
    }
}

fn stamp_of(path: &str) -> Result<FileStamp, Error> {
    let gone = |e| Error::File {
        path: path.into(),
        problem: format!(
            "input file: cannot be read ({e}); leave input files alone until the study has ended. {AGAIN}"
        ),
    };
    FileStamp::read(path).map_err(gone)
}

const AGAIN: &str = "The same command makes it anew";

fn refuse_changed(plan: &InputPlan, file: u64, made: &FileStamp, now: &FileStamp) -> Result<(), Error> {
    let Some(what) = made.change_to(now) else { return Ok(()) };
    Err(Error::File {
        path: plan.path(file),
        problem: format!("input file: it changed since it was made ({what}); leave input files alone until the study has ended. {AGAIN}"),
    })
}

/// The kernel forgets a file; no right is needed for one's own. Returns the bytes that it keeps all the same, as a file
/// system in memory does.
fn forget(path: &str) -> Result<u64, Error> {
    let file = File::open(path).map_err(|e| Error::io(format!("opening input file {path}"), e))?;
    // SAFETY: a call on a descriptor that is open; it keeps nothing.
    let failed = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    match failed {
        0 => in_memory(&file).map_err(|e| Error::io(format!("asking what of {path} is in memory"), e)),
        code => Err(Error::io(format!("dropping {path} from memory"), io::Error::from_raw_os_error(code))),
    }
}

/// Bytes of a file that are in memory, by whole pages. Source: mincore(2).
fn in_memory(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len() as usize;
    if length == 0 {
        return Ok(0);
    }
    // SAFETY: sysconf only returns a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let mut pages = vec![0_u8; length.div_ceil(page)];
    // SAFETY: the mapping is of this file, none of its memory is read, `pages` has a byte for each of its pages, and it is
    // unmapped before this returns.
    let failed = unsafe {
        let at =
            libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let failed = libc::mincore(at, length, pages.as_mut_ptr().cast());
        let why = (failed != 0).then(io::Error::last_os_error);
        libc::munmap(at, length);
        why
    };
    match failed {
        Some(why) => Err(why),
        None => Ok((pages.iter().filter(|page| **page & 1 == 1).count() * page) as u64),
    }
}

/// Runs of neighbouring keys in a file of the table, by its first row and its end: 0 of a part of a file. `None`: of no
/// file they are known.
fn runs_between(rows: &RowGen, first: u64, end: u64) -> Option<u32> {
    let own = rows.files()?;
    // Files without rows begin where the next one does.
    let begins = own.partition_point(|&row| row < first);
    let mut there = own[begins..].windows(2).take_while(|ends| ends[0] == first);
    match there.position(|ends| ends[1] == end) {
        Some(behind) => rows.runs_in((begins + behind) as u64).map(|runs| runs as u32),
        None => Some(0),
    }
}

/// A file that was loaded: its call, and the session that made it.
#[derive(Debug, Clone, Copy)]
pub struct Loaded {
    pub file: Ticket,
    pub session: u32,
    pub sent_ns: Ns,
    pub done_ns: Ns,
}

/// The files of one role, each a call.
pub struct WholeFiles {
    plan: InputPlan,
    cuts: Vec<u64>,
    files: Unchanged,
    /// Runs of neighbouring keys in each; empty: not known.
    runs: Vec<u32>,
}

impl WholeFiles {
    /// Errors: a file that is not there, not as it was made, or too large to be sent.
    pub fn open(plan: &InputPlan, rows: &RowGen) -> Result<WholeFiles, Error> {
        let files = Unchanged::open(plan)?;
        let too_large = |file: &u64| plan.way == InputWay::Client && files.bytes(*file) > MOST_BYTES;
        if let Some(file) = (0..plan.files).find(too_large) {
            return Err(Error::Plan(format!(
                "{}: {} bytes; a file is sent from memory, {} MiB at most: take more files",
                plan.path(file),
                files.bytes(file),
                MOST_BYTES >> 20
            )));
        }
        let cuts = cuts(plan, rows);
        let runs = cuts.windows(2).map_while(|ends| runs_between(rows, ends[0], ends[1])).collect();
        Ok(WholeFiles { plan: plan.clone(), cuts, files, runs })
    }

    /// Errors: a file is not what it was when the role began.
    pub fn check(&self) -> Result<(), Error> {
        self.files.check()
    }

    /// First row and rows of a file.
    pub fn range(&self, file: Ticket) -> (u64, usize) {
        let (first, end) = (self.cuts[file as usize], self.cuts[file as usize + 1]);
        (first, (end - first) as usize)
    }

    /// The row that a file begins with; behind the last file, the end.
    pub fn first_row(&self, file: Ticket) -> u64 {
        self.cuts[(file.min(self.plan.files)) as usize]
    }

    /// 0: not known.
    pub fn runs(&self, file: Ticket) -> u32 {
        if self.plan.sorted {
            return 1;
        }
        self.runs.get(file as usize).copied().unwrap_or(0)
    }

    pub fn bytes(&self, file: Ticket) -> u64 {
        self.files.bytes(file)
    }

    /// What is sent of a file: its bytes, or where it lies.
    pub fn read(&self, file: Ticket, out: &mut Vec<u8>) -> Result<(), Error> {
        let path = self.plan.path(file);
        out.clear();
        if self.plan.way == InputWay::Server {
            out.extend_from_slice(path.as_bytes());
            return Ok(());
        }
        let read = File::open(&path).and_then(|mut from| {
            from.read_to_end(out)?;
            from.metadata()
        });
        let now = read.map_err(|e| Error::io(format!("reading input file {path}"), e))?;
        self.files.check_file(file, &FileStamp { bytes: out.len() as u64, ..FileStamp::of(&now) })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    use super::*;

    fn two_files(folder: &Path) -> InputPlan {
        let plan = InputPlan {
            table: 0,
            rows: 2,
            first_row: 0,
            files: 2,
            folder: folder.display().to_string(),
            name: "t".into(),
            cold: false,
            sorted: false,
            way: InputWay::Parsed,
        };
        (0..2).for_each(|file| fs::write(plan.path(file), "1\t2\n").unwrap());
        plan
    }

    #[test]
    fn a_file_that_is_not_as_it_was_made_begins_no_load() {
        let folder = tempfile::tempdir().unwrap();
        let plan = two_files(folder.path());
        assert!(Unchanged::open(&plan).is_ok(), "as they are, where nothing is noted");
        note(&plan).unwrap();
        assert!(Unchanged::open(&plan).is_ok());
        fs::write(plan.path(1), "1\t").unwrap();
        let said = Unchanged::open(&plan).err().unwrap().to_string();
        assert!(said.starts_with(&plan.path(1)) && said.contains("(4 bytes then, 2 now)"), "{said}");
    }

    #[test]
    fn a_file_that_changes_or_goes_while_it_is_loaded_ends_the_load() {
        let folder = tempfile::tempdir().unwrap();
        let plan = two_files(folder.path());
        let files = Unchanged::open(&plan).unwrap();
        assert!(files.check().is_ok());
        fs::write(plan.path(0), "1\t2\n3\t4\n").unwrap();
        let said = files.check().unwrap_err().to_string();
        assert!(said.starts_with(&plan.path(0)) && said.contains("(4 bytes then, 8 now)"), "{said}");
        fs::remove_file(plan.path(0)).unwrap();
        let said = files.check().unwrap_err().to_string();
        assert!(said.contains("cannot be read") && !said.contains('\n'), "{said}");
    }

    #[test]
    fn of_a_file_that_could_not_be_written_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.part");
        let part = Part(path.display().to_string());
        fs::write(&part.0, "1").unwrap();
        drop(part);
        assert!(!path.exists());
    }

    #[test]
    fn what_the_kernel_keeps_of_a_file_is_said() {
        // A file system in memory cannot forget; on a disk, what was written out can be forgotten.
        let of = |folder: &Path| {
            let file = tempfile::NamedTempFile::new_in(folder).unwrap();
            file.as_file().write_all_at(&[7; 40_000], 0).unwrap();
            file.as_file().sync_data().unwrap();
            (in_memory(file.as_file()).unwrap(), forget(&file.path().to_string_lossy()).unwrap())
        };
        assert_eq!(of(Path::new("/dev/shm")), (40_960, 40_960));
        let (written, kept) = of(Path::new("."));
        assert_eq!(written, 40_960, "it was written a moment ago");
        assert_eq!(kept, 0);
    }
}
