//! Values of a file that a column of floats does not keep: every row is read.

use serde::Deserialize;

use super::super::split::Dialect;
use super::kinds::keeps;
use super::{each_row, unescaped, Window, LINE_LIMIT_BYTES};
use crate::error::Error;

/// How a file is read, and which of its columns are floats.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floats {
    pub path: String,
    pub format: String,
    pub delimiter: String,
    pub header: bool,
    /// Fields of a row.
    pub fields: usize,
    /// (place, of 32 bits)
    pub columns: Vec<(usize, bool)>,
}

/// Of each of these columns, how many values are other numbers as floats: every row of the file is read.
pub fn rounded(of: &Floats) -> Result<Vec<u64>, Error> {
    let usual = Dialect::usual(&of.format).ok_or_else(|| Error::Plan(format!("no text: {}", of.format)))?;
    let delimiter = *of.delimiter.as_bytes().first().unwrap_or(&usual.delimiter);
    let dialect = Dialect { delimiter, ..usual };
    let mut window = Window::unread(&of.path)?;
    window.begin()?;
    if of.header {
        window.header(&dialect, LINE_LIMIT_BYTES, &mut Vec::new())?;
    }
    let (mut counts, mut scratch) = (vec![0; of.columns.len()], Vec::new());
    each_row(&mut window, &dialect, of.fields, |_, record| {
        let Ok((bytes, fields)) = record else { return true };
        for (count, (at, single)) in counts.iter_mut().zip(&of.columns) {
            let kept = keeps(unescaped(&dialect, bytes, fields[*at], &mut scratch), *single);
            *count += u64::from(!kept);
        }
        true
    })?;
    Ok(counts)
}
