//! Rows to bytes: one file per wire format, shared by engines and by `null:<wire>`.
//!
//! Encoders append to one reused buffer, column by column where the format has fixed
//! widths (`pgcopy`), row by row where it has not (`text`, `csv`).

pub mod clickhouse;
mod csv;
mod decimal;
mod delimited;
pub mod line;
pub mod lists;
pub mod mysql;
pub mod native;
pub mod pgcopy;
pub mod record;
pub mod resp;
mod rowbinary;
mod tail;
mod text;
mod values;

use crate::error::Error;
use crate::plan::TablePlan;
use crate::rows::Columns;
use delimited::Delimited;

/// Wire formats by name, as `null:<wire>` and the engines use them.
///
/// `text`: tab-separated, `\N` for NULL (PostgreSQL text COPY, MySQL LOAD DATA, ClickHouse TSV).
/// `csv`: RFC 4180 with LF, NULL empty and unquoted. `pgcopy`: PostgreSQL binary COPY. `native`, `rowbinary`: ClickHouse's
/// blocks and rows. `values`: rows of an SQL INSERT as text. `line`: InfluxDB's line protocol. `mysql`: rows of MariaDB's
/// bulk execute, with values as in MySQL's prepared statements. `resp`: commands of Valkey and Redis. `record`: images of
/// rows, as NDB's client library takes them.
pub const WIRES: [&str; 10] =
    ["text", "csv", "pgcopy", "native", "rowbinary", "values", "line", "mysql", "resp", "record"];

/// Wires that find a row by its key: they write no table without an identity.
pub const KEYED_WIRES: [&str; 3] = ["line", "resp", "record"];

/// Encodes batches of one table. CPU only; allocates nothing once `out` has its size.
pub trait Encoder: Send {
    /// Appends `rows`, complete for the wire: with header and trailer where it has them.
    ///
    /// An error means that a value does not fit the wire type; nothing is cut or wrapped silently.
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error>;

    /// Appends a part of a batch: all parts in order give the rows of the whole, and parts of `PART_ROWS` its bytes.
    /// Here of a wire on which rows, or blocks of them, follow one another, with nothing around a batch.
    fn encode_part(&mut self, rows: &Columns, _part: Part, out: &mut Vec<u8>) -> Result<(), Error> {
        self.encode(rows, out)
    }
}

/// Rows that are made and encoded together: few enough that they stay in the L2 cache between the two, many
/// enough that nothing else shows. A batch of 100,000 rows of ten columns made whole costs twice the CPU.
pub const PART_ROWS: usize = 4_096;

/// Where some rows stand in their batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub is_first: bool,
    pub is_last: bool,
}

impl Part {
    pub const WHOLE: Part = Part { is_first: true, is_last: true };
}

/// The parts of a batch of `rows` rows, in order: first row, number of rows, place. An empty batch is one part.
pub fn parts(rows: usize, part_rows: usize) -> impl Iterator<Item = (usize, usize, Part)> {
    (0..rows.div_ceil(part_rows).max(1)).map(move |k| {
        let first = k * part_rows;
        let count = part_rows.min(rows - first);
        (first, count, Part { is_first: k == 0, is_last: first + count == rows })
    })
}

pub fn encoder(wire: &str, table: &TablePlan) -> Result<Box<dyn Encoder>, Error> {
    match wire {
        "text" => Ok(Box::new(Delimited::<text::TabSeparated>::new(table))),
        "csv" => Ok(Box::new(Delimited::<csv::CommaSeparated>::new(table))),
        "mysql" => Ok(Box::new(mysql::Cells::new(table, mysql::Nulls::Indicated)?)),
        "native" => Ok(Box::new(native::Native::new(table)?)),
        "rowbinary" => Ok(Box::new(rowbinary::RowBinary::new(table)?)),
        "values" => Ok(Box::new(Delimited::<values::ValueGroups>::new(table))),
        "pgcopy" => Ok(Box::new(pgcopy::PgCopy::new(table)?)),
        "line" => Ok(Box::new(line::Line::new(table)?)),
        "resp" => Ok(Box::new(resp::Resp::new(table)?)),
        "record" => Ok(Box::new(record::Images::of(record::Record::of(table)?))),
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
