//! Files of generated rows: made before the clock, then loaded as they are.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use inrush_engines::engine::{Ns, Ticket};
use inrush_rows::encode::encoder;
use inrush_rows::error::Error;
use inrush_rows::plan::{InputPlan, InputWay, RunPlan};
use inrush_rows::rows::RowGen;

/// Rows that are made and written at a time.
const WRITE_ROWS: usize = 16_384;
/// A file is sent from memory: a larger one is to be cut.
const MOST_BYTES: u64 = 1 << 30;

/// First row of each file, and the end: as the table itself lies in files, or in equal parts.
pub fn cuts(input: &InputPlan, rows: &RowGen) -> Vec<u64> {
    match rows.files() {
        Some(own) if own.len() as u64 == input.files + 1 => own.to_vec(),
        _ => input.equal(),
    }
}

/// Makes the files that are not there yet, as many at a time as there are cores.
///
/// A file is written beside its name and renamed when it lies on the disk, so one that is there is whole.
pub fn make(plan: &RunPlan, input: &InputPlan, stop: &AtomicBool) -> Result<(), Error> {
    let failed = |path: &str, e: io::Error| Error::io(format!("making input file {path}"), e);
    fs::create_dir_all(&input.folder).map_err(|e| failed(&input.folder, e))?;
    let table = input.written(&plan.tables[input.table]);
    let rows = RowGen::new(&table, plan.seed, plan.epoch_ns)?;
    let cuts = cuts(input, &rows);
    let next = AtomicU64::new(0);
    let work = || -> Result<(), Error> {
        let (mut columns, mut text) = (rows.columns(WRITE_ROWS), Vec::new());
        let mut to_text = encoder("text", &table)?;
        loop {
            let file = next.fetch_add(1, Relaxed);
            if file >= input.files || stop.load(Relaxed) {
                return Ok(());
            }
            let path = input.path(file);
            if Path::new(&path).exists() {
                continue;
            }
            let part = format!("{path}.part");
            let mut out = File::create(&part).map_err(|e| failed(&part, e))?;
            let (mut row, end) = (cuts[file as usize], cuts[file as usize + 1]);
            while row < end {
                let count = WRITE_ROWS.min((end - row) as usize);
                rows.fill(row, count, &mut columns);
                text.clear();
                to_text.encode(&columns, &mut text)?;
                out.write_all(&text).map_err(|e| failed(&part, e))?;
                row += count as u64;
            }
            out.sync_data().and_then(|()| fs::rename(&part, &path)).map_err(|e| failed(&part, e))?;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    if input.cold && !stop.load(Relaxed) {
        (0..input.files).try_for_each(|file| forget(&input.path(file)))?;
    }
    Ok(())
}

/// The kernel forgets a file; no right is needed for one's own.
fn forget(path: &str) -> Result<(), Error> {
    let file = File::open(path).map_err(|e| Error::io(format!("opening input file {path}"), e))?;
    // SAFETY: a call on a descriptor that is open; it keeps nothing.
    let failed = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    match failed {
        0 => Ok(()),
        code => Err(Error::io(format!("dropping {path} from memory"), io::Error::from_raw_os_error(code))),
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
    bytes: Vec<u64>,
    /// Runs of neighbouring keys in each; empty: not known.
    runs: Vec<u32>,
}

impl WholeFiles {
    /// Errors: a file that is not there, or too large to be sent.
    pub fn open(plan: &InputPlan, rows: &RowGen) -> Result<WholeFiles, Error> {
        let size = |file: u64| {
            let path = plan.path(file);
            let bytes =
                fs::metadata(&path).map_err(|e| Error::io(format!("reading input file {path}"), e))?.len();
            if bytes > MOST_BYTES && plan.way == InputWay::Client {
                let most = MOST_BYTES >> 20;
                return Err(Error::Plan(format!(
                    "{path}: {bytes} bytes; a file is sent from memory, {most} MiB at most: take more files"
                )));
            }
            Ok(bytes)
        };
        let bytes = (0..plan.files).map(size).collect::<Result<_, _>>()?;
        let runs = (0..plan.files).map_while(|file| rows.runs_in(file)).map(|runs| runs as u32).collect();
        Ok(WholeFiles { plan: plan.clone(), cuts: cuts(plan, rows), bytes, runs })
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
        self.bytes[file as usize]
    }

    /// What is sent of a file: its bytes, or where it lies.
    pub fn read(&self, file: Ticket, out: &mut Vec<u8>) -> Result<(), Error> {
        let path = self.plan.path(file);
        out.clear();
        if self.plan.way == InputWay::Server {
            out.extend_from_slice(path.as_bytes());
            return Ok(());
        }
        let read = File::open(&path).and_then(|mut from| from.read_to_end(out));
        read.map_err(|e| Error::io(format!("reading input file {path}"), e))?;
        match out.len() as u64 == self.bytes(file) {
            true => Ok(()),
            false => {
                Err(Error::Plan(format!("{path}: it changed while it was loaded; leave input files alone")))
            }
        }
    }
}
