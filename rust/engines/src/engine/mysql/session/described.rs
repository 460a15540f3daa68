//! The columns of an answer: the server describes them with each, and what is as it was before is not read again.

use std::sync::Arc;

use crate::engine::mysql::decode::{self, AnswerColumn};

/// Of the answers to one operation.
#[derive(Default)]
pub(super) struct Described {
    columns: Vec<AnswerColumn>,
    /// Each as the server wrote it.
    written: Vec<Vec<u8>>,
    names: Arc<[String]>,
    /// Of the present answer.
    came: usize,
}

impl Described {
    /// An answer begins.
    pub(super) fn begin(&mut self) {
        self.came = 0;
    }

    /// The definition of its next column; `None` if it is broken.
    #[inline]
    pub(super) fn column(&mut self, packet: &[u8]) -> Option<()> {
        let at = self.came;
        self.came += 1;
        match self.written.get(at) {
            Some(written) if written == packet => Some(()),
            _ => self.read(at, packet),
        }
    }

    #[cold]
    fn read(&mut self, at: usize, packet: &[u8]) -> Option<()> {
        let column = decode::column(packet)?;
        self.columns.truncate(at);
        self.written.truncate(at);
        self.columns.push(column);
        self.written.push(packet.to_vec());
        Some(())
    }

    /// All have come: their names.
    #[inline]
    pub(super) fn end(&mut self) -> &Arc<[String]> {
        self.columns.truncate(self.came);
        self.written.truncate(self.came);
        let are_known = self.names.iter().eq(self.columns.iter().map(|column| &column.name));
        if !are_known {
            self.names = self.columns.iter().map(|column| column.name.clone()).collect();
        }
        &self.names
    }

    /// Of an answer that comes without definitions: they are as they were last, with this statement or with an answer to
    /// it. `None`: it has another number of columns.
    #[inline]
    pub(super) fn names_of(&self, columns: u64) -> Option<&Arc<[String]>> {
        (self.columns.len() as u64 == columns).then_some(&self.names)
    }

    pub(super) fn columns(&self) -> &[AnswerColumn] {
        &self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A definition as the server writes it, of a column of a table.
    fn definition(name: &str, ty: u8) -> Vec<u8> {
        let mut out = Vec::new();
        for text in ["def", "s", "t", "t", name, name] {
            out.push(text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(&[12, 63, 0, 20, 0, 0, 0, ty, 0, 0, 0, 0, 0]);
        out
    }

    fn read(described: &mut Described, columns: &[(&str, u8)]) -> Vec<(String, u8)> {
        described.begin();
        for (name, ty) in columns {
            described.column(&definition(name, *ty)).expect("it can be read");
        }
        let names = described.end().clone();
        assert_eq!(names.len(), columns.len());
        names.iter().cloned().zip(described.columns().iter().map(|column| column.ty)).collect()
    }

    #[test]
    fn every_answer_has_the_columns_that_came_with_it() {
        const ANSWERS: [&[(&str, u8)]; 7] = [
            &[("id", 8), ("v", 3)],
            &[("id", 8), ("v", 3)],
            &[("id", 8), ("v", 5)],
            &[("id", 8), ("w", 5)],
            &[("id", 8)],
            &[("id", 8), ("w", 5), ("v", 3)],
            &[("v", 3), ("id", 8)],
        ];
        let mut described = Described::default();
        for columns in ANSWERS {
            let expected: Vec<(String, u8)> = columns.iter().map(|(n, ty)| ((*n).to_owned(), *ty)).collect();
            assert_eq!(read(&mut described, columns), expected);
        }
    }

    #[test]
    fn a_broken_definition_is_one_whatever_was_read_before() {
        let mut described = Described::default();
        read(&mut described, &[("id", 8)]);
        described.begin();
        assert!(described.column(&definition("id", 8)[..5]).is_none());
    }
}
