//! Three insert methods: COPY, binary or of texts that the server reads; the ordinary prepared INSERT of many rows; and an
//! INSERT from arrays.

use super::message;
use crate::engine::Payload;
use inrush_rows::encode::pgcopy::{Arrays, Cells, PgCopy, PgType, RowHead};
use inrush_rows::encode::{encoder, Encoder, Part, PART_ROWS};
use inrush_rows::error::Error;
use inrush_rows::plan::{OpPlan, TablePlan};
use inrush_rows::rows::Columns;

/// What the server takes in one message (`MaxAllocSize`).
const MAX_MESSAGE_BYTES: usize = 0x3fff_ffff;

/// One COPY per batch, committed at its end.
pub struct Copy {
    /// The COPY statement as a message.
    pub command: Vec<u8>,
    encoder: Box<dyn Encoder>,
}

impl Copy {
    /// `is_text`: as of `op.text`. The server reads texts as values of any type.
    pub fn new(op: &OpPlan, table: &TablePlan, is_text: bool) -> Result<Copy, Error> {
        let mut command = Vec::new();
        message::query(&mut command, &op.text);
        let encoder = if is_text { encoder("text", table)? } else { Box::new(PgCopy::new(table)?) };
        Ok(Copy { command, encoder })
    }

    pub fn encode_part(&mut self, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        out.encode_part(self.encoder.as_mut(), rows, part)
    }
}

/// Prepared INSERT … VALUES (…), (…), …: as many statements as the parameters need, one transaction a batch.
pub struct MultiRow {
    /// Up to the values.
    head: String,
    types: Vec<PgType>,
    cells: Cells,
    /// Rows of one statement; what remains of a batch goes into a smaller one.
    statement_rows: usize,
    /// Rows -> name, of the statements prepared on this session.
    prepared: Vec<(usize, String)>,
}

impl MultiRow {
    /// `op.text` is the INSERT of one row; `batch_rows` the largest batch that will come; `most_params` those of a statement.
    pub fn new(
        op: &OpPlan,
        table: &TablePlan,
        batch_rows: usize,
        most_params: usize,
    ) -> Result<MultiRow, Error> {
        let types = table.columns.iter().map(PgType::of).collect::<Result<Vec<_>, _>>()?;
        let group = op.text.rfind('(').filter(|_| op.text.trim_end().ends_with(')'));
        let head = match group {
            Some(start) => op.text[..start].to_owned(),
            None => {
                return Err(Error::Plan(format!(
                    "operation {}: an insert ends with its group of values: {}",
                    op.name, op.text
                )))
            }
        };
        let most = most_params / types.len().max(1);
        let statement_rows = batch_rows.clamp(1, most.max(1));
        let cells = Cells::new(table, RowHead::Nothing)?;
        Ok(MultiRow { head, types, cells, statement_rows, prepared: Vec::new() })
    }

    /// Parse messages for the statements that batches of these sizes need, named from `name`.
    pub fn prepare(&mut self, name: &str, batches: &[usize], out: &mut Vec<u8>) {
        for &batch in batches {
            for rows in [self.statement_rows.min(batch), batch % self.statement_rows] {
                if rows > 0 && self.name_of(rows).is_none() {
                    let name = format!("{name}_{rows}");
                    message::parse(out, &name, &self.statement(rows), &self.types_of(rows));
                    self.prepared.push((rows, name));
                }
            }
        }
    }

    /// Rows that fill whole statements, as many as stay in the cache.
    pub fn part_rows(&self) -> usize {
        (PART_ROWS / self.statement_rows).max(1) * self.statement_rows
    }

    /// Bind and Execute for each statement, and behind the last the Sync that commits.
    pub fn encode_part(&mut self, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        if part.is_first {
            out.bytes.clear();
            out.rows = 0;
        }
        out.rows += rows.rows as u64;
        let mut first = 0;
        while first < rows.rows {
            let last = (first + self.statement_rows).min(rows.rows);
            self.put_statement(rows, first..last, &mut out.bytes)?;
            first = last;
        }
        if part.is_last {
            message::sync(&mut out.bytes);
        }
        Ok(())
    }

    fn put_statement(
        &mut self,
        rows: &Columns,
        range: std::ops::Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let count = range.len();
        let params = count * self.types.len();
        // A batch that the plan did not announce is parsed each time, as the unnamed statement.
        if self.name_of(count).is_none() {
            message::parse(out, "", &self.statement(count), &self.types_of(count));
        }
        let name = self.prepared.iter().find(|(rows, _)| *rows == count).map_or("", |(_, name)| name);
        let cells = &mut self.cells;
        message::bind(out, name, params, &[], |out| cells.append(rows, range, out))?;
        message::execute(out);
        Ok(())
    }

    fn name_of(&self, rows: usize) -> Option<&str> {
        self.prepared.iter().find(|(n, _)| *n == rows).map(|(_, name)| name.as_str())
    }

    fn types_of(&self, rows: usize) -> Vec<PgType> {
        self.types.repeat(rows)
    }

    fn statement(&self, rows: usize) -> String {
        use std::fmt::Write;
        let mut text = self.head.clone();
        for row in 0..rows {
            text.push_str(if row == 0 { "(" } else { ", (" });
            for column in 1..=self.types.len() {
                let comma = if column == 1 { "" } else { ", " };
                write!(text, "{comma}${}", row * self.types.len() + column).expect("a string takes all");
            }
            text.push(')');
        }
        text
    }
}

/// Prepared INSERT … SELECT … FROM unnest($1, $2, …): one statement and one transaction a batch of any size.
pub struct Unnest {
    name: String,
    /// Sent before each batch, where the session keeps no statement.
    parse: Vec<u8>,
    columns: usize,
    arrays: Arrays,
}

impl Unnest {
    /// `op.text` says the types of its arrays by casts; its Parse message goes to `out`.
    pub fn new(name: &str, op: &OpPlan, table: &TablePlan, out: &mut Vec<u8>) -> Result<Unnest, Error> {
        let start = out.len();
        message::parse(out, name, &op.text, &[]);
        let parse = if name.is_empty() { out[start..].to_vec() } else { Vec::new() };
        Ok(Unnest { name: name.into(), parse, columns: table.columns.len(), arrays: Arrays::new(table)? })
    }

    pub fn encode(&mut self, rows: &Columns, out: &mut Payload) -> Result<(), Error> {
        out.bytes.clear();
        out.rows = rows.rows as u64;
        out.bytes.extend_from_slice(&self.parse);
        let arrays = &mut self.arrays;
        message::bind(&mut out.bytes, &self.name, self.columns, &[], |out| arrays.append(rows, out))?;
        if out.bytes.len() > MAX_MESSAGE_BYTES {
            return Err(Error::Plan(format!(
                "batch_rows {}: its arrays take {} bytes, and a message of PostgreSQL takes {MAX_MESSAGE_BYTES}; \
                 use smaller batches",
                rows.rows,
                out.bytes.len()
            )));
        }
        message::execute(&mut out.bytes);
        message::sync(&mut out.bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::encode::parts;
    use inrush_rows::plan::{ColumnPlan, LogicalType, OpKind, RowSource};
    use inrush_rows::rows::{Column, Values};

    const MANY: usize = u16::MAX as usize;

    fn table(columns: usize) -> TablePlan {
        let column = |k: usize| ColumnPlan {
            name: format!("c{k}"),
            ty: LogicalType::I64,
            wire: "int8".into(),
            null_ppm: 0,
            not_finite: None,
            gen: None,
        };
        TablePlan {
            name: "t".into(),
            stream: "t".into(),
            columns: (0..columns).map(column).collect(),
            source: RowSource::Generated { series: 1, period_ns: 1, events: None },
            identity: vec![],
        }
    }

    fn insert(text: &str) -> OpPlan {
        OpPlan {
            name: "insert".into(),
            kind: OpKind::Insert,
            table: Some(0),
            does: None,
            text: text.into(),
            directives: None,
            method: "multirow".into(),
            params: vec![],
            range: None,
            dump: None,
            keys: Vec::new(),
            members: vec![],
            holds: vec![],
            deadline_ns: 0,
        }
    }

    fn rows(columns: usize, rows: usize) -> Columns {
        let column = |k: usize| Column {
            values: Values::I64(vec![7; rows]),
            ..Column::new(format!("c{k}"), LogicalType::I64)
        };
        Columns::new(rows, (0..columns).map(column).collect())
    }

    /// Tags of the messages in `bytes`.
    fn tags(mut bytes: &[u8]) -> String {
        let mut tags = String::new();
        while let Some(&tag) = bytes.first() {
            tags.push(tag as char);
            bytes = &bytes[1 + u32::from_be_bytes(bytes[1..5].try_into().unwrap()) as usize..];
        }
        tags
    }

    #[test]
    fn values_are_numbered_row_by_row() {
        let multi =
            MultiRow::new(&insert("INSERT INTO t (a, b) VALUES ($1, $2)"), &table(2), 2, MANY).unwrap();
        assert_eq!(multi.statement(2), "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4)");
        assert!(MultiRow::new(&insert("INSERT INTO t SELECT 1"), &table(2), 2, MANY).is_err());
    }

    #[test]
    fn a_batch_beyond_the_parameters_is_one_transaction_of_several_statements() {
        let op = insert("INSERT INTO t VALUES ($1)");
        let mut multi = MultiRow::new(&op, &table(40), 5_000, MANY).unwrap();
        assert_eq!(multi.statement_rows, 1_638);
        let mut parses = Vec::new();
        multi.prepare("i", &[5_000, 100], &mut parses);
        assert_eq!(tags(&parses), "PPP", "1638, the remainder 86, and 100");
        let mut payload = Payload::default();
        multi.encode_part(&rows(40, 5_000), Part::WHOLE, &mut payload).unwrap();
        assert_eq!(tags(&payload.bytes), "BEBEBEBES");
        assert_eq!(payload.rows, 5_000);
        multi.encode_part(&rows(40, 100), Part::WHOLE, &mut payload).unwrap();
        assert_eq!(tags(&payload.bytes), "BES");
    }

    #[test]
    fn parts_of_a_batch_are_the_bytes_of_the_whole() {
        let op = insert("INSERT INTO t VALUES ($1)");
        let mut multi = MultiRow::new(&op, &table(40), 5_000, MANY).unwrap();
        multi.prepare("i", &[5_000], &mut Vec::new());
        let (mut whole, mut parted) = (Payload::default(), Payload::default());
        multi.encode_part(&rows(40, 5_000), Part::WHOLE, &mut whole).unwrap();
        for (_, count, part) in parts(5_000, multi.part_rows()) {
            multi.encode_part(&rows(40, count), part, &mut parted).unwrap();
        }
        assert_eq!((parted.rows, parted.bytes), (whole.rows, whole.bytes));
    }

    #[test]
    fn an_unannounced_batch_is_parsed_on_the_way() {
        let mut multi = MultiRow::new(&insert("INSERT INTO t VALUES ($1)"), &table(1), 10, MANY).unwrap();
        let mut payload = Payload::default();
        multi.encode_part(&rows(1, 3), Part::WHOLE, &mut payload).unwrap();
        assert_eq!(tags(&payload.bytes), "PBES");
    }
}
