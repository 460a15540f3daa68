//! From a key of a survey, as a number or as a text, back to its row.

use std::sync::Arc;

use super::chunk_files::{ChunkFiles, Key};
use super::columns::Value;
use super::compile::ColumnGenerator;
use super::integers::IntGenerator;
use super::text::{read_parts, Part, TextGenerator};
use super::value_bits::bits_of;
use crate::plan::{ChunkPart, LogicalType};

/// A column that holds whole keys: what it reads them by.
pub(super) struct ChunkKey {
    files: Arc<ChunkFiles>,
    spelled: Spelled,
}

enum Spelled {
    Number,
    Text { parts: Vec<Part>, fields: Vec<ChunkPart> },
}

/// Parts of a key, and the digits that each may need.
const PARTS: [(ChunkPart, usize); 4] =
    [(ChunkPart::Scan, 5), (ChunkPart::Letter, 1), (ChunkPart::Frame, 3), (ChunkPart::Source, 6)];

impl ChunkKey {
    /// None: another column, or one whose texts do not say every part in one way.
    pub(super) fn of(column: &ColumnGenerator) -> Option<ChunkKey> {
        match column {
            ColumnGenerator::Integers {
                int_generator: IntGenerator::Chunk { files, part: ChunkPart::Key },
                ..
            } => Some(ChunkKey { files: files.clone(), spelled: Spelled::Number }),
            ColumnGenerator::Text(TextGenerator::Format { parts, fields, pad_to: 0 }) => {
                let (files, of) = IntGenerator::all_of_chunks(fields)?;
                let (files, fields) = (Arc::clone(files), of.collect::<Vec<_>>());
                let once = |part| fields.iter().filter(|&&field| field == part).count() == 1;
                let all = fields.len() == PARTS.len() && PARTS.iter().all(|&(part, _)| once(part));
                let written = parts.iter().filter(|part| !matches!(part, Part::Literal(_)));
                let fixed = fields.iter().zip(written).all(|(field, written)| is_fixed(*field, written));
                (all && fixed)
                    .then(|| ChunkKey { files, spelled: Spelled::Text { parts: parts.clone(), fields } })
            }
            _ => None,
        }
    }

    /// The row that has it; None: no row.
    pub(super) fn row(&self, ty: LogicalType, value: &Value) -> Option<u64> {
        match (&self.spelled, value) {
            (Spelled::Number, _) => self.files.row_of(Key::of_packed(bits_of(ty, value)?)),
            (Spelled::Text { parts, fields }, Value::Text(text)) => {
                let mut key = Key { scan: 0, letter: 0, frame: 0, source: 0 };
                let mut fields = fields.iter();
                read_parts(parts, text.as_bytes(), |number| match fields.next() {
                    Some(ChunkPart::Scan) => key.scan = number,
                    Some(ChunkPart::Letter) => key.letter = number,
                    Some(ChunkPart::Frame) => key.frame = number,
                    _ => key.source = number,
                })?;
                self.files.row_of(key)
            }
            (Spelled::Text { .. }, _) => None,
        }
    }
}

/// Whether it is written with as many characters whatever its value is.
fn is_fixed(field: ChunkPart, written: &Part) -> bool {
    let digits = PARTS.iter().find(|(part, _)| *part == field).map_or(usize::MAX, |&(_, digits)| digits);
    match *written {
        Part::Letter => field == ChunkPart::Letter,
        Part::Decimal { width, zeros } => zeros && width >= digits && width <= 19,
        Part::Literal(_) | Part::Hex { .. } => false,
    }
}
