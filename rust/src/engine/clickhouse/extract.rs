//! A call of kind `extract`: Native blocks into columns, as they come.

use super::decode::{fill, Block, Reader};
use crate::engine::extract::Extraction;

/// Hands blocks on as rows.
pub struct ExtractReader<'a> {
    extraction: Extraction<'a>,
    /// Rows came that cannot be read as what was stored.
    pub unread: bool,
}

impl<'a> ExtractReader<'a> {
    pub fn new(extraction: Extraction<'a>) -> ExtractReader<'a> {
        ExtractReader { extraction, unread: false }
    }

    pub fn end(&mut self) -> u64 {
        self.extraction.end()
    }
}

impl Reader for ExtractReader<'_> {
    fn block(&mut self, block: &Block<'_>) -> Result<(), String> {
        // Blocks are of some thousand rows: each goes on alone.
        let filled = fill(block, self.extraction.batch);
        self.unread |= filled.is_err();
        filled?;
        self.extraction.came();
        Ok(())
    }
}
