//! A file as it was when it was looked at: while all of its stamp is the same, it holds the same.
//!
//! A copy can have the size and the time of the last write of the file in whose place it comes (`cp -p`, `rsync -t`), and not
//! the time of the last change, which no program sets. The number on the disk only names the change: some file systems
//! of a network number their files anew.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

const NS_PER_S: i64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileStamp {
    pub bytes: u64,
    pub mtime_ns: i64,
    pub ctime_ns: i64,
    pub inode: u64,
}

impl FileStamp {
    pub fn of(file: &Metadata) -> FileStamp {
        FileStamp {
            bytes: file.len(),
            mtime_ns: file.mtime() * NS_PER_S + file.mtime_nsec(),
            ctime_ns: file.ctime() * NS_PER_S + file.ctime_nsec(),
            inode: file.ino(),
        }
    }

    pub fn read(path: impl AsRef<Path>) -> io::Result<FileStamp> {
        fs::metadata(path).map(|file| FileStamp::of(&file))
    }

    /// What is not as it was, in words; nothing where all is.
    pub fn change_to(&self, now: &FileStamp) -> Option<String> {
        let times = |of: &FileStamp| (of.bytes, of.mtime_ns, of.ctime_ns);
        let what = if times(self) == times(now) {
            return None;
        } else if self.bytes != now.bytes {
            return Some(format!("{} bytes then, {} now", self.bytes, now.bytes));
        } else if self.inode != now.inode {
            "another file is in its place"
        } else if self.mtime_ns != now.mtime_ns {
            "it was written to"
        } else {
            "it, its name or its rights were changed"
        };
        Some(format!("still {} bytes, but {what}", now.bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_file_that_shrinks_grows_or_is_written_to_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tsv");
        fs::write(&path, "1\t2\n").unwrap();
        let stamp = FileStamp::read(&path).unwrap();
        let change = || stamp.change_to(&FileStamp::read(&path).unwrap());
        assert_eq!(change(), None);
        for (text, what) in [("1\t", "4 bytes then, 2 now"), ("1\t2\n3\t4\n", "4 bytes then, 8 now")] {
            fs::write(&path, text).unwrap();
            assert_eq!(change().unwrap(), what);
        }
        fs::write(&path, "3\t4\n").unwrap();
        let later = SystemTime::now() + Duration::from_secs(1);
        File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert_eq!(change().unwrap(), "still 4 bytes, but it was written to");
    }

    #[test]
    fn another_number_on_the_disk_alone_is_no_change() {
        let stamp = FileStamp { bytes: 4, mtime_ns: 1, ctime_ns: 2, inode: 3 };
        assert_eq!(stamp.change_to(&FileStamp { inode: 4, ..stamp }), None);
        let other = FileStamp { inode: 4, ctime_ns: 3, ..stamp };
        assert_eq!(stamp.change_to(&other).unwrap(), "still 4 bytes, but another file is in its place");
    }

    #[test]
    fn another_file_of_the_same_size_and_time_is_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a.tsv"), folder.path().join("b.tsv"));
        fs::write(&path, "1\t2\n").unwrap();
        let stamp = FileStamp::read(&path).unwrap();
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        let as_old = |at: &Path| File::options().write(true).open(at).unwrap().set_modified(written).unwrap();
        let change = || stamp.change_to(&FileStamp::read(&path).unwrap());
        fs::write(&path, "3\t4\n").unwrap();
        as_old(&path);
        assert_eq!(change().unwrap(), "still 4 bytes, but it, its name or its rights were changed");
        fs::write(&other, "5\t6\n").unwrap();
        as_old(&other);
        fs::rename(&other, &path).unwrap();
        assert_eq!(change().unwrap(), "still 4 bytes, but another file is in its place");
    }
}
