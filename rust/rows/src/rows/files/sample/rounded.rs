//! Values of a file that a column of floats does not keep: every row is read.

use serde::Deserialize;

use super::super::dialect::Dialect;
use super::kinds::keeps;
use super::{each_row, unescaped, Window, LINE_LIMIT_BYTES};
use crate::error::Error;
use crate::plan::WrittenAs;

/// How a file is read, and which of its columns are floats.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floats {
    pub path: String,
    pub format: String,
    #[serde(default)]
    pub written: WrittenAs,
    pub header: bool,
    /// Names of the fields of a row.
    pub fields: Vec<String>,
    /// (place, of 32 bits)
    pub columns: Vec<(usize, bool)>,
}

/// Of each of these columns, how many values are other numbers as floats: every row of the file is read.
pub fn rounded(of: &Floats) -> Result<Vec<u64>, Error> {
    let mut dialect = Dialect::new(&of.format, &of.written).map_err(Error::Plan)?;
    dialect.keys.clone_from(&of.fields);
    let mut window = Window::unread(&of.path)?;
    window.begin(dialect.skip)?;
    if of.header {
        window.header(&dialect, LINE_LIMIT_BYTES, &mut Vec::new())?;
    }
    let (mut counts, mut scratch, mut pointed) = (vec![0; of.columns.len()], Vec::new(), Vec::new());
    each_row(&mut window, &dialect, of.fields.len(), |_, record| {
        let Ok((bytes, fields)) = record else { return true };
        for (count, (at, single)) in counts.iter_mut().zip(&of.columns) {
            let text = unescaped(&dialect, bytes, fields[*at], &mut scratch);
            let text = dialect.marks.as_ref().map_or(Some(text), |marks| marks.pointed(text, &mut pointed));
            // What is no number is in no row.
            *count += u64::from(text.is_some_and(|text| !keeps(text, *single)));
        }
        true
    })?;
    Ok(counts)
}
