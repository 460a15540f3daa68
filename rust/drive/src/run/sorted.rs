//! Input files sorted by a column into as many files of the same sizes, by the `sort` of the system: it sorts more than
//! memory holds, on all cores.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::drive::EndedBy;
use inrush_rows::error::Error;
use inrush_rows::plan::{InputPlan, SortBy, SortPlan};

/// Of the program; what does not fit goes to files beside the sorted ones.
const MEMORY: &str = "512M";
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// `cuts`: first row of each file, and the end. Files of an earlier run are replaced; of a sort that did not end, none is
/// there.
pub fn sort(plan: &SortPlan, cuts: &[u64], limit_ns: u64, stop: &AtomicBool) -> Result<EndedBy, Error> {
    let (from, to) = (&plan.from, &plan.to);
    fs::create_dir_all(&to.folder)
        .map_err(|e| Error::io(format!("making the folder {} of sorted files", to.folder), e))?;
    clear(to)?;
    let mut child =
        command(plan).spawn().map_err(|e| Error::io("starting the program sort of the system", e))?;
    let (mut names, sorted) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let mut complaint = child.stderr.take().expect("piped");
    let (done, is_done) = mpsc::channel();
    let _unfinished = Parts(to);
    let (cut, ended_by) = thread::scope(|scope| {
        scope.spawn(move || {
            // A sort that has ended says itself why.
            let _ = (0..from.files).try_for_each(|file| write!(names, "{}\0", from.path(file)));
        });
        let cutter = scope.spawn(move || {
            let cut = cut_into(to, cuts, sorted);
            let _ = done.send(());
            cut
        });
        let until = (limit_ns > 0).then(|| Instant::now() + Duration::from_nanos(limit_ns));
        let mut ended_by = EndedBy::Work;
        while is_done.recv_timeout(LOOK_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
            let over = until.is_some_and(|until| Instant::now() >= until);
            if over || stop.load(Relaxed) {
                ended_by = if over { EndedBy::Limit } else { EndedBy::Stop };
                // Its output then ends.
                let _ = child.kill();
                break;
            }
        }
        (cutter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), ended_by)
    });
    let mut why = String::new();
    let _ = complaint.read_to_string(&mut why);
    let status = child.wait().map_err(|e| Error::io("waiting for the program sort", e))?;
    if ended_by != EndedBy::Work {
        return Ok(ended_by);
    }
    // A file that could not be written ends the program too, by its pipe, which is then closed: what it says then is no cause.
    let rows = cut?;
    if !status.success() {
        return Err(Error::io("sorting input files", io::Error::other(why.trim().to_owned())));
    }
    let wanted = cuts.last().zip(cuts.first()).map_or(0, |(end, first)| end - first);
    if rows != wanted {
        return Err(Error::Plan(format!(
            "{rows} rows came out of sort, and the files have {wanted}; leave input files alone"
        )));
    }
    (0..to.files).try_for_each(|file| {
        let path = to.path(file);
        fs::rename(part(&path), &path).map_err(|e| Error::io(format!("writing sorted file {path}"), e))
    })?;
    Ok(EndedBy::Work)
}

fn command(plan: &SortPlan) -> Command {
    let key = plan.column + 1;
    let order = match plan.by {
        None => "",
        Some(SortBy::Number) => "n",
        Some(SortBy::Float) => "g",
    };
    let cores = thread::available_parallelism().map_or(1, |n| n.get());
    let mut found = Command::new("sort");
    found
        .env("LC_ALL", "C")
        .args(["-t", "\t", "-S", MEMORY, "-T", &plan.to.folder, "--files0-from=-"])
        .arg(format!("--parallel={cores}"))
        .arg(format!("-k{key},{key}{order}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    found
}

/// While it is written.
fn part(path: &str) -> String {
    format!("{path}.part")
}

/// The files as they are written. What was not renamed is removed: they are as large as the input.
struct Parts<'a>(&'a InputPlan);

impl Drop for Parts<'_> {
    fn drop(&mut self) {
        for file in 0..self.0.files {
            // One that was renamed is not there, and another that stays is replaced by the next run.
            let _ = fs::remove_file(part(&self.0.path(file)));
        }
    }
}

/// What an earlier run has left must not pass for the outcome of this one.
fn clear(to: &InputPlan) -> Result<(), Error> {
    for path in (0..to.files).map(|file| to.path(file)) {
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io(format!("removing sorted file {path} of an earlier run"), e));
            }
            _ => {}
        }
    }
    Ok(())
}

/// As many lines into each file as it has rows, each on the disk before the next. Returns the lines there were: of more
/// than the files have, one more.
fn cut_into(to: &InputPlan, cuts: &[u64], sorted: impl Read) -> Result<u64, Error> {
    let failed = |path: &str, e: io::Error| Error::io(format!("writing sorted file {path}"), e);
    let mut sorted = BufReader::with_capacity(1 << 20, sorted);
    let (mut line, mut rows) = (Vec::new(), 0);
    for (file, ends) in cuts.windows(2).enumerate() {
        let path = part(&to.path(file as u64));
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(|e| failed(&path, e))?);
        for _ in ends[0]..ends[1] {
            line.clear();
            if sorted.read_until(b'\n', &mut line).map_err(|e| failed(&path, e))? == 0 {
                return Ok(rows);
            }
            out.write_all(&line).map_err(|e| failed(&path, e))?;
            rows += 1;
        }
        let out = out.into_inner().map_err(|e| failed(&path, e.into_error()))?;
        out.sync_data().map_err(|e| failed(&path, e))?;
    }
    line.clear();
    if sorted.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        rows += 1;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::plan::InputWay;

    fn files(folder: &std::path::Path, name: &str, files: u64) -> InputPlan {
        let folder = folder.join(name).to_string_lossy().into_owned();
        let name = name.to_owned();
        InputPlan {
            table: 0,
            rows: 7,
            first_row: 0,
            files,
            folder,
            name,
            cold: false,
            sorted: false,
            way: InputWay::Client,
        }
    }

    fn plan(folder: &std::path::Path, texts: &[&str], by: Option<SortBy>) -> SortPlan {
        let from = files(folder, "in", texts.len() as u64);
        fs::create_dir_all(&from.folder).unwrap();
        for (file, text) in texts.iter().enumerate() {
            fs::write(from.path(file as u64), text).unwrap();
        }
        let to = files(folder, "out", 2);
        SortPlan { label: "sort".into(), step: "sort".into(), from, to, column: 1, by, limit_ns: 0 }
    }

    #[test]
    fn rows_of_all_files_are_sorted_and_cut_where_files_end() {
        let folder = tempfile::tempdir().unwrap();
        let texts = ["a\t9\nb\t10\nc\t2\n", "", "d\t1\ne\t33\nf\t4\ng\t4\n"];
        let plan = plan(folder.path(), &texts, Some(SortBy::Number));
        let stop = AtomicBool::new(false);
        assert_eq!(sort(&plan, &[0, 3, 7], 0, &stop).unwrap(), EndedBy::Work);
        let read = |file| fs::read_to_string(plan.to.path(file)).unwrap();
        assert_eq!(read(0), "d\t1\nc\t2\nf\t4\n");
        assert_eq!(read(1), "g\t4\na\t9\nb\t10\ne\t33\n");
        // Rows that follow those of an earlier load.
        sort(&plan, &[10, 13, 17], 0, &stop).unwrap();
        assert_eq!(read(1), "g\t4\na\t9\nb\t10\ne\t33\n");
        let by_text = SortPlan { by: None, ..plan.clone() };
        sort(&by_text, &[0, 3, 7], 0, &stop).unwrap();
        assert_eq!(read(0), "d\t1\nb\t10\nc\t2\n");
    }

    #[test]
    fn numbers_with_an_exponent_are_sorted_by_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(folder.path(), &["a\t1e10\nb\t2\nc\t-3.5e-2\n"], Some(SortBy::Float));
        sort(&plan, &[0, 1, 3], 0, &AtomicBool::new(false)).unwrap();
        assert_eq!(fs::read_to_string(plan.to.path(1)).unwrap(), "b\t2\na\t1e10\n");
    }

    #[test]
    fn a_sort_that_did_not_end_leaves_no_file_and_none_of_an_earlier_run() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(folder.path(), &["a\t1\nb\t2\n"], Some(SortBy::Number));
        let stop = AtomicBool::new(false);
        sort(&plan, &[0, 1, 2], 0, &stop).unwrap();
        assert!(sort(&plan, &[0, 1, 3], 0, &stop).is_err(), "a row is missing");
        for file in 0..2 {
            assert!(!std::path::Path::new(&plan.to.path(file)).exists(), "file {file}");
            assert!(
                !std::path::Path::new(&part(&plan.to.path(file))).exists(),
                "what was written of file {file}"
            );
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_the_cause_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(folder.path(), &["a\t1\n"], Some(SortBy::Number));
        fs::create_dir_all(part(&plan.to.path(0))).unwrap();
        let why = sort(&plan, &[0, 1, 1], 0, &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(why.contains("writing sorted file") && why.contains("out-000000.tsv.part"), "{why}");
    }

    #[test]
    fn rows_too_many_or_too_few_and_a_file_that_is_not_there_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(folder.path(), &["a\t1\nb\t2\n"], None);
        let stop = AtomicBool::new(false);
        let why = |cuts: &[u64]| sort(&plan, cuts, 0, &stop).unwrap_err().to_string();
        assert!(why(&[0, 1, 3]).contains("2 rows came out of sort, and the files have 3"));
        assert!(why(&[0, 1]).contains("2 rows came out"), "{}", why(&[0, 1]));
        fs::remove_file(plan.from.path(0)).unwrap();
        assert!(why(&[0, 2]).contains("in-000000.tsv"), "{}", why(&[0, 2]));
    }

    #[test]
    fn a_stop_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(folder.path(), &["a\t1\n"], None);
        // A pipe without a writer: sort waits for its first byte.
        fs::remove_file(plan.from.path(0)).unwrap();
        let path = std::ffi::CString::new(plan.from.path(0)).unwrap();
        // SAFETY: a path that ends in NUL.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        assert_eq!(sort(&plan, &[0, 1], 100_000_000, &AtomicBool::new(false)).unwrap(), EndedBy::Limit);
        assert_eq!(sort(&plan, &[0, 1], 0, &AtomicBool::new(true)).unwrap(), EndedBy::Stop);
    }
}
