//! What the values of one column are, without what no value was.

use serde::Serialize;

use super::super::dialect::{Dialect, Quoting};
use super::super::escapes::unescaped;
use super::super::parse::instant_us;
use super::super::split::Field;
use super::kinds::{kind_of, null_word, DAY, GIVEN, ISO, QUOTED, TEXT};
use super::times;
use crate::plan::TimeForm;

/// Characters of a value that are shown, and one more where it is longer.
const SHOWN_CHARS: usize = 41;

#[derive(Debug, Default, Clone, Serialize)]
pub struct SampledColumn {
    pub name: String,
    /// Values that may be none: words for NULL, not in quotes. By their numbers, and so are kinds.
    pub words: Vec<Seen>,
    pub kinds: Vec<Seen>,
    /// Characters of the longest value that is no such word.
    pub longest: usize,
    /// A value holds a NUL.
    pub nul: bool,
    /// The least time of each form (iso, dmy, mdy), µs since 1970.
    pub least_us: [Option<i64>; 3],
}

/// Values of one kind, or one word: how many, and the first.
#[derive(Debug, Default, Clone, Serialize)]
pub struct Seen {
    /// Its number, or its place among the words for NULL.
    pub of: usize,
    pub count: u64,
    pub line: u64,
    pub value: String,
}

impl SampledColumn {
    pub fn add(&mut self, dialect: &Dialect, record: &[u8], field: Field, line: u64, scratch: &mut Vec<u8>) {
        let raw = &record[field.start..field.end];
        let quotes = dialect.quoting == Quoting::Quotes;
        let is_null = !field.quoted && raw == dialect.null;
        let word = if field.quoted || (!quotes && !is_null) { None } else { null_word(raw) };
        if let Some(word) = word.or(is_null.then_some(GIVEN)) {
            return count(&mut self.words, word, line, raw);
        }
        let text = unescaped(dialect, record, field, scratch);
        if field.quoted && null_word(text).is_some() {
            return count(&mut self.kinds, QUOTED, line, &record[field.start - 1..=field.end]);
        }
        let mut pointed = Vec::new();
        let kind = match dialect.marks.as_ref().map(|marks| marks.pointed(text, &mut pointed)) {
            None => kind_of(text),
            Some(Some(number)) => kind_of(number),
            // It has digits, and the marks of this file's numbers stand otherwise in them.
            Some(None) => without_numbers(kind_of(text)),
        };
        // JSON says what is a text.
        let kind =
            if dialect.quoting == Quoting::Json && field.quoted { without_numbers(kind) } else { kind };
        count(&mut self.kinds, kind, line, text);
        let chars = text.len() - text.iter().filter(|b| **b & 0xc0 == 0x80).count();
        self.longest = self.longest.max(chars);
        self.nul |= dialect.quoting == Quoting::MysqlEscapes && text.contains(&0);
        for (place, form) in forms_of(kind) {
            if let Some(us) = instant_us(text, &form) {
                let least = &mut self.least_us[place];
                *least = Some(least.map_or(us, |known| known.min(us)));
            }
        }
    }
}

/// The kind of what is no number: a time, or a text.
fn without_numbers(kind: usize) -> usize {
    if kind >= ISO {
        kind
    } else {
        TEXT
    }
}

/// One more value `of` a kind, or of a word.
fn count(seen: &mut Vec<Seen>, of: usize, line: u64, value: &[u8]) {
    match seen.binary_search_by_key(&of, |seen| seen.of) {
        Ok(at) => seen[at].count += 1,
        Err(at) => {
            let shown = String::from_utf8_lossy(&value[..value.len().min(4 * SHOWN_CHARS)]);
            let value = shown.chars().take(SHOWN_CHARS).collect();
            seen.insert(at, Seen { of, count: 1, line, value });
        }
    }
}

/// In which a time of this kind may be written, with their places in `least_us`.
fn forms_of(kind: usize) -> impl Iterator<Item = (usize, TimeForm)> {
    let order = kind.checked_sub(DAY).map(|of| of / times::KINDS);
    let forms = [
        ((ISO..DAY).contains(&kind), TimeForm::Iso),
        (matches!(order, Some(0 | 2)), TimeForm::Dmy),
        (matches!(order, Some(1 | 2)), TimeForm::Mdy),
    ];
    forms.into_iter().enumerate().filter(|(_, (has, _))| *has).map(|(place, (_, form))| (place, form))
}
