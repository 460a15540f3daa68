//! The ways out of an extract: Native blocks into columns, as they come, and what RowBinary must know before.

use std::time::Instant;

use super::decode::{fill, AnswerReader, Block, Reader, Stream, Type};
use super::request::Requests;
use super::statement::Template;
use super::{read_blocks, statement_failed, Address};
use crate::engine::extract::Extraction;
use crate::engine::http::Client;
use inrush_rows::error::Error;
use inrush_rows::plan::{LogicalType, OpPlan};
use inrush_rows::rows::Value;
use inrush_rows::types::Holds;

/// All that this engine has; the first one is the usual.
pub const WAYS: [&str; 2] = ["native", ROW_BINARY];
pub const ROW_BINARY: &str = "rowbinary";

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

/// The types of the columns that a query gives, whatever its parameters are: RowBinary does not say them, and a server of
/// 2018 has no format of rows that does.
pub fn types_of(
    client: &mut Client,
    requests: &mut Requests,
    address: &Address,
    op: &OpPlan,
) -> Result<Vec<Type>, Error> {
    let params: Vec<Value> = op.params.iter().map(|p| any_value(p.ty)).collect();
    let mut query = Vec::new();
    let refuse = |why: String| Error::Plan(format!("operation {}: {why}", op.name));
    Template::new(op.text.trim_end().trim_end_matches(';')).fill(&params, &mut query).map_err(refuse)?;
    let text = format!("DESCRIBE TABLE ({})", String::from_utf8_lossy(&query));
    let http_error = |error: crate::engine::http::HttpError| error.error(&address.place);
    let until: Option<Instant> = None;
    requests.next_query();
    client.send("POST", requests.path(), &[text.as_bytes()], until).map_err(http_error)?;
    client.receive(until).map_err(http_error)?;
    let mut reader = AnswerReader::default();
    let read = read_blocks(client, &mut Stream::default(), until, &mut reader).map_err(http_error)?;
    read.map_err(|failure| statement_failed(address, &text, &failure.to_string()))?;
    let column = |row: &Vec<Value>| {
        let [Value::Text(name), Value::Text(ty), ..] = row.as_slice() else {
            return Err(refuse("the server does not say what its columns are".into()));
        };
        Type::parse(ty).ok_or_else(|| {
            refuse(format!("column {name} has type {ty}, which inrush cannot read; cast it in the query"))
        })
    };
    reader.answer.rows.iter().map(column).collect()
}

fn any_value(ty: LogicalType) -> Value {
    match ty.holds() {
        Holds::Time(1_000) => Value::TimeMs(0),
        Holds::Time(_) => Value::TimeUs(0),
        Holds::Truth => Value::Bool(false),
        Holds::Unsigned(64) => Value::U64(0),
        Holds::Float(_) => Value::F64(0.0),
        Holds::Spelled => Value::Text(ty.forms().map_or("", |forms| forms.zero).into()),
        Holds::Text if ty != LogicalType::Enum => Value::Text("0".into()),
        _ => Value::I64(0),
    }
}
