//! The reject file: every row that was not stored, where it stood and why.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};

use crate::error::Error;

use super::parse::Reason;

/// So much of a rejected row is kept.
const TEXT_BYTES: usize = 4096;
const HEADER: &[u8] = b"file,line,column,reason,text\n";

/// Writes rejects and counts them; ends the run past the limit.
pub struct Rejects {
    path: String,
    /// Opened by the first reject.
    file: Option<BufWriter<File>>,
    pub count: u64,
    limit: u64,
    /// Length of the reject file.
    pub bytes: u64,
}

impl Rejects {
    pub fn new(path: &str, limit: u64) -> Rejects {
        Rejects { path: path.to_string(), file: None, count: 0, limit, bytes: 0 }
    }

    pub fn add(
        &mut self,
        file: &str,
        line: u64,
        column: &str,
        reason: Reason,
        text: &[u8],
    ) -> Result<(), Error> {
        self.write(&reject_row(file, line, column, &reason.to_string(), text))?;
        self.count += 1;
        if self.count > self.limit {
            self.flush()?;
            return Err(Error::Plan(format!(
                "{} rows rejected, more than reject_limit = {}; the last is {file}, line {line}{}: {reason}; all are in {}",
                self.count,
                self.limit,
                if column.is_empty() { String::new() } else { format!(", column {column}") },
                self.path
            )));
        }
        Ok(())
    }

    /// So that a position given out never speaks of rejects that a kill could lose.
    pub fn flush(&mut self) -> Result<(), Error> {
        match &mut self.file {
            Some(file) => file.flush().map_err(|e| Error::io(&self.path, e)),
            None => Ok(()),
        }
    }

    /// Goes on behind the first `bytes` of the reject file, which hold `count` rejects.
    pub fn resume(&mut self, count: u64, bytes: u64) -> Result<(), Error> {
        self.flush()?;
        (self.file, self.count, self.bytes) = (None, count, bytes);
        if bytes > 0 {
            let mut options = OpenOptions::new();
            let file = options.append(true).open(&self.path).map_err(|e| Error::io(&self.path, e))?;
            // Of a file that has become shorter what is there is kept: it is never made longer.
            let there = file.metadata().map_err(|e| Error::io(&self.path, e))?.len();
            self.bytes = bytes.min(there);
            file.set_len(self.bytes).map_err(|e| Error::io(&self.path, e))?;
            self.file = Some(BufWriter::new(file));
        }
        Ok(())
    }

    fn write(&mut self, row: &[u8]) -> Result<(), Error> {
        if self.file.is_none() {
            let file = File::create(&self.path).map_err(|e| Error::io(&self.path, e))?;
            self.file = Some(BufWriter::new(file));
            self.write(HEADER)?;
        }
        let file = self.file.as_mut().expect("opened just above");
        file.write_all(row).map_err(|e| Error::io(&self.path, e))?;
        self.bytes += row.len() as u64;
        Ok(())
    }
}

/// A row of a reject file.
pub fn reject_row(file: &str, line: u64, column: &str, reason: &str, text: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(text.len().min(TEXT_BYTES) + 256);
    let shown = &text[..text.len().min(TEXT_BYTES)];
    let shown = shown.strip_suffix(b"\n").unwrap_or(shown);
    quote(&mut row, file.as_bytes());
    row.extend_from_slice(format!(",{line},").as_bytes());
    quote(&mut row, column.as_bytes());
    row.push(b',');
    quote(&mut row, reason.as_bytes());
    row.push(b',');
    // As it stands, whatever it is: from here it is repaired.
    quote(&mut row, shown);
    row.push(b'\n');
    row
}

/// A CSV field, quoted where it must be.
fn quote(out: &mut Vec<u8>, text: &[u8]) {
    if !text.iter().any(|byte| b",\"\n\r".contains(byte)) {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for byte in text {
        out.push(*byte);
        out.extend((*byte == b'"').then_some(b'"'));
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_row_stands_in_the_file_byte_by_byte() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("rejects.csv");
        let mut rejects = Rejects::new(path.to_str().unwrap(), 10);
        rejects.add("a.csv", 2, "name", Reason::NotUtf8, b"1,\"M\xfcller\",\0\n").unwrap();
        rejects.flush().unwrap();
        let written = std::fs::read(&path).unwrap();
        assert!(written.ends_with(b",\"1,\"\"M\xfcller\"\",\0\"\n"), "{}", written.escape_ascii());
    }

    #[test]
    fn a_reject_file_is_cut_to_where_it_goes_on_and_never_made_longer() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("rejects.csv");
        std::fs::write(&path, b"12345678").unwrap();
        let mut rejects = Rejects::new(path.to_str().unwrap(), 10);
        rejects.resume(1, 6).unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), rejects.bytes), (b"123456".to_vec(), 6));
        rejects.resume(1, 1 << 50).unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), rejects.bytes), (b"123456".to_vec(), 6));
    }
}
