//! Three insert methods: LOAD DATA from memory, MariaDB's bulk execute, and the ordinary prepared INSERT of many rows.

use super::message::{self, HEAD_BYTES, PACKET_MOST};
use crate::engine::shared::repeat_values;
use crate::engine::Payload;
use inrush_rows::encode::mysql::{Cells, MyType, Nulls};
use inrush_rows::encode::{encoder, Encoder, Part, PART_ROWS};
use inrush_rows::error::Error;
use inrush_rows::plan::{OpPlan, TablePlan};
use inrush_rows::rows::Columns;

/// Placeholders that a statement may have: all that limits the rows of an INSERT.
const MAX_PARAMS: usize = 65_535;
/// Rows of one bulk packet; larger ones are no faster, and must be read whole before the first row is stored.
const BULK_ROWS: usize = PART_ROWS;
/// A bulk packet is closed when it has grown so large: every server takes 16 MB.
const BULK_BYTES: usize = 4 << 20;
/// Rows encoded between two looks at a packet's size.
const BULK_STEP_ROWS: usize = 512;
/// What is left of a batch that the plan did not announce goes into statements of these.
const ODD_ROWS: [usize; 2] = [32, 1];

/// LOAD DATA LOCAL INFILE, with the batch in memory as its file.
pub struct Load {
    /// The statement as a packet.
    pub command: Vec<u8>,
    encoder: Box<dyn Encoder>,
}

impl Load {
    pub fn new(op: &OpPlan, table: &TablePlan) -> Result<Load, Error> {
        let mut command = Vec::new();
        message::query(&mut command, &op.text);
        Ok(Load { command, encoder: encoder("text", table)? })
    }

    pub fn encode_part(&mut self, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        out.encode_part(self.encoder.as_mut(), rows, part)
    }
}

/// A prepared INSERT of one row, executed for all rows of a packet at once.
pub struct Bulk {
    id: u32,
    types: Vec<MyType>,
    cells: Cells,
}

impl Bulk {
    pub fn new(id: u32, table: &TablePlan) -> Result<Bulk, Error> {
        Ok(Bulk { id, types: types_of(table), cells: Cells::new(table, Nulls::Indicated)? })
    }

    pub fn encode_part(&mut self, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        begin(rows, part, out);
        let mut first = 0;
        while first < rows.rows {
            message::packet(&mut out.bytes, 0, |out| {
                let start = out.len();
                message::bulk_head(out, self.id, &self.types);
                let end = (first + BULK_ROWS).min(rows.rows);
                while first < end && out.len() - start < BULK_BYTES {
                    let last = (first + BULK_STEP_ROWS).min(end);
                    self.cells.append(rows, first..last, out)?;
                    first = last;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Prepared INSERT … VALUES (…), (…), …: as many statements as a batch needs.
pub struct MultiRow {
    /// Rows and id of each, largest first; the last takes one row.
    statements: Vec<(usize, u32)>,
    types: Vec<MyType>,
    cells: Cells,
}

impl MultiRow {
    /// The statements to prepare for batches of these sizes: rows and text, largest first.
    pub fn statements(
        op: &OpPlan,
        table: &TablePlan,
        batches: &[usize],
    ) -> Result<Vec<(usize, String)>, Error> {
        let most = (MAX_PARAMS / table.columns.len().max(1)).max(1);
        let of = |batch: &usize| [most.min(*batch), batch % most];
        let mut sizes: Vec<usize> = batches.iter().flat_map(of).chain(ODD_ROWS).collect();
        sizes.retain(|&rows| rows > 0 && rows <= most);
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.dedup();
        sizes.into_iter().map(|rows| Ok((rows, repeat_values(&op.text, rows)?))).collect()
    }

    pub fn new(statements: Vec<(usize, u32)>, table: &TablePlan) -> Result<MultiRow, Error> {
        Ok(MultiRow { statements, types: types_of(table), cells: Cells::new(table, Nulls::InBitmap)? })
    }

    pub fn encode_part(&mut self, rows: &Columns, part: Part, out: &mut Payload) -> Result<(), Error> {
        begin(rows, part, out);
        let mut first = 0;
        while first < rows.rows {
            let left = rows.rows - first;
            let fits = self.statements.iter().find(|(rows, _)| *rows <= left);
            let (count, id) = *fits.expect("the last statement takes one row");
            self.put_statement(id, rows, first..first + count, &mut out.bytes)?;
            first += count;
        }
        Ok(())
    }

    /// Rows that fill whole statements, as many as stay in the cache.
    pub fn part_rows(&self) -> usize {
        let largest = self.statements[0].0;
        (PART_ROWS / largest).max(1) * largest
    }

    fn put_statement(
        &mut self,
        id: u32,
        rows: &Columns,
        range: std::ops::Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        message::packet(out, 0, |out| {
            message::execute_head(out, id);
            let bitmap = out.len();
            out.resize(bitmap + (range.len() * self.types.len()).div_ceil(8), 0);
            mark_nulls(rows, range.clone(), &mut out[bitmap..]);
            out.push(1); // types follow
            for _ in range.clone() {
                self.types.iter().for_each(|ty| out.extend_from_slice(&ty.code()));
            }
            self.cells.append(rows, range, out)
        })
    }
}

/// The statements of a part stand behind those of the parts before it.
fn begin(rows: &Columns, part: Part, out: &mut Payload) {
    if part.is_first {
        out.bytes.clear();
        out.rows = 0;
    }
    out.rows += rows.rows as u64;
}

/// One bit a value, row by row.
fn mark_nulls(rows: &Columns, range: std::ops::Range<usize>, bitmap: &mut [u8]) {
    let width = rows.columns.len();
    for (at, column) in rows.columns.iter().enumerate().filter(|(_, column)| !column.present.is_empty()) {
        for (row, present) in column.present[range.clone()].iter().enumerate() {
            let bit = row * width + at;
            bitmap[bit / 8] |= (1 - present) << (bit % 8);
        }
    }
}

fn types_of(table: &TablePlan) -> Vec<MyType> {
    table.columns.iter().map(|column| MyType::of(column.ty)).collect()
}

/// How many statements a payload holds, and the length of its longest, in bytes.
pub fn measure(mut payload: &[u8]) -> (usize, usize) {
    let (mut count, mut longest, mut length) = (0, 0, 0);
    while let Some(head) = payload.get(..HEAD_BYTES) {
        let bytes = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        length += bytes;
        if bytes < PACKET_MOST {
            count += 1;
            longest = longest.max(length);
            length = 0;
        }
        payload = &payload[HEAD_BYTES + bytes..];
    }
    (count, longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::encode::parts;
    use inrush_rows::plan::{ColumnPlan, LogicalType, OpKind, RowSource};
    use inrush_rows::rows::{Column, Values};

    fn table(columns: usize) -> TablePlan {
        let column = |k: usize| ColumnPlan {
            name: format!("c{k}"),
            ty: LogicalType::I64,
            wire: "BIGINT".into(),
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

    fn rows(columns: usize, rows: usize) -> Columns {
        let column = |k: usize| Column {
            values: Values::I64(vec![7; rows]),
            ..Column::new(format!("c{k}"), LogicalType::I64)
        };
        Columns::new(rows, (0..columns).map(column).collect())
    }

    fn insert() -> OpPlan {
        OpPlan {
            name: "insert".into(),
            kind: OpKind::Insert,
            table: Some(0),
            does: None,
            text: "INSERT INTO t (a) VALUES (?)".into(),
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

    #[test]
    fn statements_fit_the_batches_of_the_plan_and_every_other() {
        let sizes = |columns, batches: &[usize]| {
            let found = MultiRow::statements(&insert(), &table(columns), batches).unwrap();
            found.into_iter().map(|(rows, _)| rows).collect::<Vec<_>>()
        };
        assert_eq!(sizes(1, &[5_000, 100]), [5_000, 100, 32, 1], "a batch is one statement");
        assert_eq!(sizes(1, &[]), [32, 1]);
        assert_eq!(sizes(100, &[5_000]), [655, 415, 32, 1], "placeholders are counted in 16 bits");
        assert_eq!(sizes(40_000, &[10]), [1]);
    }

    #[test]
    fn a_batch_of_any_size_is_stored_by_the_statements_that_are_there() {
        let mut multi = MultiRow::new(vec![(10, 1), (3, 2), (1, 3)], &table(2)).unwrap();
        let mut payload = Payload::default();
        for (rows_in, statements) in [(10, 1), (0, 0), (25, 5), (2, 2)] {
            multi.encode_part(&rows(2, rows_in), Part::WHOLE, &mut payload).unwrap();
            assert_eq!(measure(&payload.bytes).0, statements, "{rows_in} rows");
            assert_eq!(payload.rows, rows_in as u64);
        }
    }

    #[test]
    fn parts_of_a_batch_are_the_bytes_of_the_whole() {
        let mut multi = MultiRow::new(vec![(1_000, 1), (700, 2), (1, 3)], &table(2)).unwrap();
        let mut bulk = Bulk::new(1, &table(2)).unwrap();
        let (mut whole, mut parted) = (Payload::default(), Payload::default());
        multi.encode_part(&rows(2, 10_700), Part::WHOLE, &mut whole).unwrap();
        for (_, count, part) in parts(10_700, multi.part_rows()) {
            multi.encode_part(&rows(2, count), part, &mut parted).unwrap();
        }
        assert_eq!((parted.rows, &parted.bytes), (whole.rows, &whole.bytes));
        bulk.encode_part(&rows(2, 10_700), Part::WHOLE, &mut whole).unwrap();
        for (_, count, part) in parts(10_700, BULK_ROWS) {
            bulk.encode_part(&rows(2, count), part, &mut parted).unwrap();
        }
        assert_eq!((parted.rows, parted.bytes), (whole.rows, whole.bytes));
    }

    #[test]
    fn nulls_are_bits_in_the_order_of_the_placeholders() {
        let mut rows = rows(3, 4);
        rows.columns[1].present = vec![1, 0, 1, 0];
        let mut bitmap = [0; 2];
        mark_nulls(&rows, 1..4, &mut bitmap);
        assert_eq!(bitmap, [0b1000_0010, 0], "rows 1 and 3 of column 1: bits 1 and 7");
    }

    #[test]
    fn bulk_packets_end_before_they_are_too_large() {
        let mut bulk = Bulk::new(1, &table(1)).unwrap();
        let mut payload = Payload::default();
        bulk.encode_part(&rows(1, 2 * BULK_ROWS + 1), Part::WHOLE, &mut payload).unwrap();
        assert_eq!(measure(&payload.bytes), (3, 7 + 2 + BULK_ROWS * 9));
        let mut wide = Bulk::new(1, &table(2_000)).unwrap();
        wide.encode_part(&rows(2_000, BULK_STEP_ROWS), Part::WHOLE, &mut payload).unwrap();
        assert_eq!(measure(&payload.bytes).0, 1);
        wide.encode_part(&rows(2_000, BULK_STEP_ROWS + 1), Part::WHOLE, &mut payload).unwrap();
        assert_eq!(measure(&payload.bytes).0, 2);
    }
}
