//! Input files sorted by a column into as many files of the same sizes, by the `sort` of the system: it sorts more than
//! memory holds, on all cores.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::drive::EndedBy;
use inrush_rows::error::Error;
use inrush_rows::plan::{InputPlan, SortPlan};

/// Of the program; what does not fit goes to files beside the sorted ones.
const MEMORY: &str = "512M";
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// `cuts`: first row of each file, and the end. Files of an earlier run are replaced.
pub fn sort(plan: &SortPlan, cuts: &[u64], limit_ns: u64, stop: &AtomicBool) -> Result<EndedBy, Error> {
    let (from, to) = (&plan.from, &plan.to);
    fs::create_dir_all(&to.folder)
        .map_err(|e| Error::io(format!("making the folder {} of sorted files", to.folder), e))?;
    let key = plan.column + 1;
    let order = if plan.numeric { "n" } else { "" };
    let mut child = Command::new("sort")
        .env("LC_ALL", "C")
        .args(["-t", "\t", "-S", MEMORY, "-T", &to.folder, "--files0-from=-"])
        .arg(format!("-k{key},{key}{order}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| Error::io("starting the program sort of the system", e))?;
    let (mut names, sorted) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let mut complaint = child.stderr.take().expect("piped");
    let written = AtomicU64::new(0);
    let (cut, ended_by) = thread::scope(|scope| {
        scope.spawn(move || {
            // A sort that has ended says itself why.
            let _ = (0..from.files).try_for_each(|file| write!(names, "{}\0", from.path(file)));
        });
        let cutter = scope.spawn(|| cut_into(to, cuts, sorted, &written));
        let until = (limit_ns > 0).then(|| Instant::now() + Duration::from_nanos(limit_ns));
        let mut ended_by = EndedBy::Work;
        while !cutter.is_finished() {
            let over = until.is_some_and(|until| Instant::now() >= until);
            if over || stop.load(Relaxed) {
                ended_by = if over { EndedBy::Limit } else { EndedBy::Stop };
                // Its output then ends.
                let _ = child.kill();
                break;
            }
            thread::sleep(LOOK_EVERY);
        }
        (cutter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), ended_by)
    });
    let mut why = String::new();
    let _ = complaint.read_to_string(&mut why);
    let status = child.wait().map_err(|e| Error::io("waiting for the program sort", e))?;
    if ended_by != EndedBy::Work {
        return Ok(ended_by);
    }
    if !status.success() {
        return Err(Error::io("sorting input files", io::Error::other(why.trim().to_owned())));
    }
    cut?;
    let (rows, wanted) = (written.load(Relaxed), cuts.last().copied().unwrap_or(0));
    if rows != wanted {
        return Err(Error::Plan(format!(
            "{rows} rows came out of sort, and the files have {wanted}; leave input files alone"
        )));
    }
    Ok(EndedBy::Work)
}

/// As many lines into each file as it has rows; what is left stays unread.
fn cut_into(to: &InputPlan, cuts: &[u64], sorted: impl Read, written: &AtomicU64) -> Result<(), Error> {
    let failed = |path: &str, e: io::Error| Error::io(format!("writing sorted file {path}"), e);
    let mut sorted = BufReader::with_capacity(1 << 20, sorted);
    let mut line = Vec::new();
    for (file, ends) in cuts.windows(2).enumerate() {
        let path = to.path(file as u64);
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(|e| failed(&path, e))?);
        for _ in ends[0]..ends[1] {
            line.clear();
            if sorted.read_until(b'\n', &mut line).map_err(|e| failed(&path, e))? == 0 {
                return Ok(());
            }
            out.write_all(&line).map_err(|e| failed(&path, e))?;
            written.fetch_add(1, Relaxed);
        }
        out.flush().map_err(|e| failed(&path, e))?;
    }
    // One line too many is counted: the rows then differ.
    line.clear();
    if sorted.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        written.fetch_add(1, Relaxed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::plan::InputWay;

    fn files(folder: &std::path::Path, name: &str, files: u64) -> InputPlan {
        let folder = folder.join(name).to_string_lossy().into_owned();
        let name = name.to_owned();
        InputPlan { table: 0, rows: 7, files, folder, name, cold: false, way: InputWay::Client }
    }

    fn plan(folder: &std::path::Path, texts: &[&str], numeric: bool) -> SortPlan {
        let from = files(folder, "in", texts.len() as u64);
        fs::create_dir_all(&from.folder).unwrap();
        for (file, text) in texts.iter().enumerate() {
            fs::write(from.path(file as u64), text).unwrap();
        }
        let to = files(folder, "out", 2);
        SortPlan { label: "sort".into(), step: "sort".into(), from, to, column: 1, numeric, limit_ns: 0 }
    }

    #[test]
    fn rows_of_all_files_are_sorted_and_cut_where_files_end() {
        let folder = tempfile::tempdir().unwrap();
        let texts = ["a\t9\nb\t10\nc\t2\n", "", "d\t1\ne\t33\nf\t4\ng\t4\n"];
        let plan = plan(folder.path(), &texts, true);
        let stop = AtomicBool::new(false);
        assert_eq!(sort(&plan, &[0, 3, 7], 0, &stop).unwrap(), EndedBy::Work);
        let read = |file| fs::read_to_string(plan.to.path(file)).unwrap();
        assert_eq!(read(0), "d\t1\nc\t2\nf\t4\n");
        assert_eq!(read(1), "g\t4\na\t9\nb\t10\ne\t33\n");
        let by_text = SortPlan { numeric: false, ..plan.clone() };
        sort(&by_text, &[0, 3, 7], 0, &stop).unwrap();
        assert_eq!(read(0), "d\t1\nb\t10\nc\t2\n");
    }

    #[test]
    fn rows_too_many_or_too_few_and_a_file_that_is_not_there_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan(folder.path(), &["a\t1\nb\t2\n"], false);
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
        let plan = plan(folder.path(), &["a\t1\n"], false);
        // A pipe without a writer: sort waits for its first byte.
        fs::remove_file(plan.from.path(0)).unwrap();
        let path = std::ffi::CString::new(plan.from.path(0)).unwrap();
        // SAFETY: a path that ends in NUL.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        assert_eq!(sort(&plan, &[0, 1], 100_000_000, &AtomicBool::new(false)).unwrap(), EndedBy::Limit);
        assert_eq!(sort(&plan, &[0, 1], 0, &AtomicBool::new(true)).unwrap(), EndedBy::Stop);
    }
}
