//! Rows as functions of (seed, stream, row): any row can be made again, alone, anywhere.
//!
//! Reading order: `spec` (what a plan says), `catalogue` (what there is), `compile` (plan → integer generators),
//! `int_generator`, `counter`, `text` (the generators), `generate` (rows), `digest` and `checksums` (proofs), `index` (back to rows),
//! `asked` (from keys to rows), `changes` (rows that calls by key change), `range` (rows of a series in an interval); `files` reads rows instead. `order` is which
//! event each row is, where series differ in rate; `chunk_files` is which file and key each row has, where rows lie in
//! files of a survey.

mod alone;
pub mod asked;
pub mod bits;
mod catalogue;
pub mod changes;
mod checked;
mod checksums;
mod chunk_files;
mod chunk_key;
pub mod city;
mod columns;
mod compile;
mod counter;
mod crc32;
pub mod decimals;
mod digest;
pub mod documents;
mod expected;
pub mod files;
mod generate;
mod generators;
pub mod hash;
mod index;
mod integers;
mod lists;
pub mod lookup3;
mod not_finite;
pub mod order;
mod picked;
mod places;
mod range;
mod remembered;
mod row_sum;
mod row_terms;
pub(crate) mod simd;
mod table;
mod text;
mod uuids;
mod value_bits;
mod value_hash;
mod zipf;

pub use alone::{Alone, Drawn};
pub use catalogue::generators_json;
pub use checked::{check_table, file_rows};
pub use checksums::Checksums;
pub use columns::{row_text, value_text, Column, Columns, ListValues, TextValues, Value, Values};
pub use compile::{counted_problems, problems};
pub use digest::{digest, row_hashes, Digest};
pub use expected::Expected;
pub use generate::RowGen;
pub use generators::Generators;
pub use index::SeriesIndex;
pub use picked::Picked;
pub use range::{each_of_series, Interval, Remade, SeriesRows};
pub use simd::Level;
pub use zipf::Zipf;
