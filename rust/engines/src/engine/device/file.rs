//! The file: opened past the kernel's cache, and laid out before anything is measured.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::blocks::Blocks;
use inrush_rows::error::{AfterLimit, Error, TargetFault};
use inrush_rows::plan::{Target, IO_BLOCK};

/// Written at a time.
const PIECE: u64 = 4 << 20;

/// How calls come to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Direct,
    /// Through the kernel's cache.
    Cached,
}

/// How long it may take, and whether it is still wanted.
pub struct Limits<'a> {
    /// 0: no limit.
    pub limit_ns: u64,
    pub stop: &'a AtomicBool,
}

impl Access {
    pub fn of(target: &Target) -> Result<Access, Error> {
        match target.options.get("direct").map(String::as_str) {
            None | Some("true") => Ok(Access::Direct),
            Some("false") => Ok(Access::Cached),
            Some(other) => Err(Error::Plan(format!("target.options.direct is {other}; it is true or false"))),
        }
    }

    pub fn open(self, path: &Path) -> Result<File, Error> {
        let options = self.options();
        options.open(path).map_err(|e| self.refused(path, e))
    }

    fn options(self) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        if self == Access::Direct {
            options.custom_flags(libc::O_DIRECT);
        }
        options
    }

    /// Some filesystems refuse the flag when a file is opened, some the first write.
    fn refused(self, path: &Path, error: io::Error) -> Error {
        let named = path.display().to_string();
        if self == Access::Direct && matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) {
            let message = format!(
                "the filesystem has no direct I/O ({error}); take a folder on another one, or write options.device.direct = \
                 \"false\", which measures the kernel's cache too"
            );
            return Error::Target { target: named, class: TargetFault::Other, message };
        }
        Error::io(named, error)
    }
}

/// Makes the file anew and writes all of it: no block of it is a hole, and each names its place. What could not be written
/// whole is removed.
pub fn lay_out(path: &Path, access: Access, bytes: u64, seed: u64, limits: &Limits<'_>) -> Result<(), Error> {
    if bytes == 0 || !bytes.is_multiple_of(IO_BLOCK) {
        return Err(Error::Plan(format!("a file of {bytes} bytes; it has a multiple of {IO_BLOCK}")));
    }
    let made = access.options().create(true).truncate(true).open(path);
    let file = made.map_err(|e| access.refused(path, e))?;
    let written = write_all(&file, path, access, bytes, seed, limits);
    if written.is_err() {
        // What is reported is why it could not be written.
        let _ = std::fs::remove_file(path);
    }
    written
}

fn write_all(
    file: &File,
    path: &Path,
    access: Access,
    bytes: u64,
    seed: u64,
    limits: &Limits<'_>,
) -> Result<(), Error> {
    let until = (limits.limit_ns > 0).then(|| Instant::now() + Duration::from_nanos(limits.limit_ns));
    let what = |at: u64| format!("{}: laid out to {at} of {bytes} bytes", path.display());
    let mut blocks = Blocks::new(PIECE.min(bytes));
    blocks.fill(seed);
    let mut at = 0;
    while at < bytes {
        if limits.stop.load(Relaxed) {
            return Err(Error::Interrupted);
        }
        if until.is_some_and(|until| Instant::now() > until) {
            let limit_s = limits.limit_ns as f64 / 1e9;
            return Err(Error::Deadline { what: what(at), limit_s, after: AfterLimit::Idle });
        }
        let piece = PIECE.min(bytes - at);
        blocks.stamp(at, piece, seed);
        if let Err(e) = file.write_all_at(blocks.bytes(piece), at) {
            return Err(if at == 0 { access.refused(path, e) } else { Error::io(what(at), e) });
        }
        at += piece;
    }
    file.sync_all().map_err(|e| Error::io(what(bytes), e))
}
