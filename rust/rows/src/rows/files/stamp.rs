//! A file as it was when it was looked at: while its size and the time of its last write are those, it holds the same.

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
}

impl FileStamp {
    pub fn of(file: &Metadata) -> FileStamp {
        FileStamp { bytes: file.len(), mtime_ns: file.mtime() * NS_PER_S + file.mtime_nsec() }
    }

    pub fn read(path: impl AsRef<Path>) -> io::Result<FileStamp> {
        fs::metadata(path).map(|file| FileStamp::of(&file))
    }

    /// What is not as it was, in words; nothing where all is.
    pub fn change_to(&self, now: &FileStamp) -> Option<String> {
        match (self == now, self.bytes == now.bytes) {
            (true, _) => None,
            (false, true) => Some(format!("still {} bytes, but it was written to", now.bytes)),
            (false, false) => Some(format!("{} bytes then, {} now", self.bytes, now.bytes)),
        }
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
        assert!(change().unwrap().starts_with("still 4 bytes"));
    }
}
