//! How a file writes its rows: what is usual for its format, and what is otherwise in this file.

use super::parse::Marks;
use crate::plan::WrittenAs;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    pub delimiter: u8,
    pub quoting: Quoting,
    /// Of `Quoting::Quotes`; `None`: no field is quoted.
    pub quote: Option<u8>,
    pub escape: Option<u8>,
    /// An unquoted field equal to this is null.
    pub null: Vec<u8>,
    /// A line that begins with it is no record; 0: every line is one.
    pub comment: u8,
    /// Lines before the first record.
    pub skip: u64,
    /// Where numbers are not written with a point alone.
    pub marks: Option<Marks>,
    /// Of JSON lines: the names of the columns, in the order of the fields.
    pub keys: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// RFC 4180: fields in quotes, a quote doubled inside, line breaks allowed there. Inside a field without quotes around it
    /// a quote is a part of the text.
    Quotes,
    /// PostgreSQL's text format: backslash, letters of C, octal and `\x` hexadecimal numbers.
    PostgresEscapes,
    /// MySQL's text format: backslash, `\0` NUL, `\Z` Control-Z, any other character itself.
    MysqlEscapes,
    /// A JSON object on each line: texts are quoted fields, `null` and what is absent are null, all else is its own text.
    Json,
}

impl Dialect {
    /// Of one of the formats of text, as its programs write it.
    pub fn usual(format: &str) -> Option<Self> {
        let (delimiter, quoting, null) = match format {
            "csv" => (b',', Quoting::Quotes, ""),
            "tsv" => (b'\t', Quoting::PostgresEscapes, "\\N"),
            "mysql" => (b'\t', Quoting::MysqlEscapes, "\\N"),
            "ndjson" => (b'\n', Quoting::Json, ""),
            _ => return None,
        };
        Some(Self {
            delimiter,
            quoting,
            quote: Some(b'"'),
            escape: None,
            null: null.into(),
            comment: 0,
            skip: 0,
            marks: None,
            keys: Vec::new(),
        })
    }

    /// Errors: what cannot be written so, in words behind the name of the table or file.
    pub fn new(format: &str, written: &WrittenAs) -> Result<Self, String> {
        let usual = Dialect::usual(format)
            .ok_or_else(|| format!("format is `{format}`; it is one of csv, tsv, mysql, ndjson, arrow"))?;
        let or = |text: &Option<String>, usual: u8| text.as_ref().map_or(Ok(usual), |text| mark(text));
        let quote = match written.quote.as_deref() {
            None => usual.quote,
            Some("") => None,
            Some(text) => Some(mark(text)?),
        };
        let own = [&written.delimiter, &written.null, &written.decimal, &written.thousands];
        if usual.quoting == Quoting::Json && own.iter().any(|text| text.is_some()) {
            return Err(
                "of JSON lines delimiter, null, decimal and thousands are JSON's own; leave them out".into(),
            );
        }
        let delimiter = or(&written.delimiter, usual.delimiter)?;
        if written.delimiter.is_some() && (Some(delimiter) == quote || delimiter == b'\\') {
            return Err(format!("delimiter is {:?}; it is no quote and no backslash", delimiter as char));
        }
        let decimal = or(&written.decimal, b'.')?;
        let thousands = written.thousands.clone().unwrap_or_default().into_bytes();
        Ok(Self {
            delimiter,
            quote,
            escape: written.escape.as_deref().map(mark).transpose()?.filter(|escape| Some(*escape) != quote),
            null: written.null.clone().map_or(usual.null, String::into_bytes),
            comment: or(&written.comment, 0)?,
            skip: written.skip,
            marks: (decimal != b'.' || !thousands.is_empty()).then_some(Marks { decimal, thousands }),
            ..usual
        })
    }

    /// Errors: what has two meanings in a file.
    pub fn checked(self) -> Result<Self, String> {
        let decimal = self.marks.as_ref().map(|marks| marks.decimal);
        if decimal == Some(self.delimiter) {
            let mark = self.delimiter as char;
            return Err(format!(
                "decimal is {mark:?}, and so is delimiter; give the one that is between fields"
            ));
        }
        Ok(self)
    }

    /// The first bytes are a line that is no record.
    pub fn passes(&self, bytes: &[u8]) -> bool {
        match bytes.first() {
            Some(b'\n') | Some(b'\r') => self.quoting == Quoting::Json,
            Some(byte) => self.comment == *byte && self.comment != 0,
            None => false,
        }
    }
}

/// One character that separates: of one byte, and no line end.
fn mark(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [one] if one.is_ascii() && !b"\r\n\0".contains(one) => Ok(*one),
        _ => Err(format!(
            "{text:?} is not one ASCII character; delimiter, quote, escape, comment and decimal are"
        )),
    }
}
