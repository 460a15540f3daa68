//! Rows to bytes: one file per wire format, shared by engines and by `null:<wire>`.
//!
//! Encoders append to one reused buffer, column by column where the format has fixed
//! widths (`pgcopy`), row by row where it has not (`text`, `csv`).

pub mod clickhouse;
mod csv;
mod decimal;
mod delimited;
pub mod native;
pub mod pgcopy;
mod rowbinary;
mod tail;
mod text;
mod values;

use crate::error::Error;
use crate::plan::TablePlan;
use crate::rows::Columns;

/// Wire formats by name, as `null:<wire>` and the engines use them.
///
/// `text`: tab-separated, `\N` for NULL (PostgreSQL text COPY, MySQL LOAD DATA, ClickHouse TSV).
/// `csv`: RFC 4180 with LF, NULL empty and unquoted. `pgcopy`: PostgreSQL binary COPY. `native`, `rowbinary`: ClickHouse's
/// blocks and rows. `values`: rows of an SQL INSERT as text.
pub const WIRES: [&str; 6] = ["text", "csv", "pgcopy", "native", "rowbinary", "values"];

/// Encodes batches of one table. CPU only; allocates nothing once `out` has its size.
pub trait Encoder: Send {
    /// Appends `rows`, complete for the wire: with header and trailer where it has them.
    ///
    /// An error means that a value does not fit the wire type; nothing is cut or wrapped silently.
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error>;
}

pub fn encoder(wire: &str, table: &TablePlan) -> Result<Box<dyn Encoder>, Error> {
    match wire {
        "text" => Ok(Box::new(text::encoder(table))),
        "csv" => Ok(Box::new(csv::encoder(table))),
        "native" => Ok(Box::new(native::Native::new(table)?)),
        "rowbinary" => Ok(Box::new(rowbinary::RowBinary::new(table)?)),
        "values" => Ok(Box::new(values::encoder(table))),
        "pgcopy" => Ok(Box::new(pgcopy::PgCopy::new(table)?)),
        _ => Err(Error::Plan(format!("wire {wire:?} is not known; known are {}", WIRES.join(", ")))),
    }
}

/// The plan's remedy for a value that its wire type cannot hold.
fn does_not_fit(column: &str, value: impl std::fmt::Display, wire: &str) -> Error {
    Error::Plan(format!(
        "column {column}: {value} does not fit {wire}; narrow the generator or choose a wider type"
    ))
}

/// The batch was made for another table than the encoder.
fn mismatch(column: &str, wire: &str) -> Error {
    Error::Plan(format!("column {column}: its values are not what {wire} is written from"))
}
