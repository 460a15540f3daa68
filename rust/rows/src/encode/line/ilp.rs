//! QuestDB's line protocol: `table column=1i,other="text",at=1700000000000000t`.
//!
//! Every column is a field, also the time of the table's order, which QuestDB knows by its name. Floats and lists go
//! in binary, as clients of the protocol's version 2 send them: no value is written and read as a decimal number.

use super::cells::text_at;
use super::{escaped, measurement, Word, BLOCK_ROWS};
use crate::encode::decimal::{signed, INTEGER_BYTES};
use crate::encode::lists::as_double;
use crate::encode::tail::Tail;
use crate::encode::{does_not_fit, mismatch, Encoder};
use crate::error::Error;
use crate::plan::{LogicalType, TablePlan};
use crate::rows::{Column, Columns, ListValues, Values};

/// Behind a second `=`: what is binary, and of what.
const DOUBLE: &[u8] = b"=\x10";
/// One dimension of doubles; its length follows.
const DOUBLES: &[u8] = b"=\x0e\x0a\x01";

/// Rows of one table as lines.
pub struct Ilp {
    table: Word,
    /// `,name=` of each column; the first comma of a line is written over.
    keys: Vec<Word>,
    /// Columns that may be NULL, and so are numbers although their values are true or false.
    as_number: Vec<bool>,
    /// Most bytes of a line beside its values.
    fixed_bytes: usize,
}

/// Values of one column as the row loop sees them.
enum Cells<'a> {
    Bool(&'a [i32]),
    Small(&'a [i32]),
    /// As they stand: unsigned 64-bit values keep their bits.
    Whole(&'a [i64]),
    /// With their unit in microseconds.
    Time(&'a [i64], i64),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Text(&'a [u8], &'a [u32]),
    /// With whether its items are u64, kept as i64 of the same bits.
    List(&'a ListValues, bool),
}

impl Ilp {
    pub fn new(table: &TablePlan) -> Ilp {
        let name = Word::new(escaped(&measurement(&table.name), ", ").as_bytes());
        let key = |name: &str| Word::new(format!(",{}=", escaped(name, ",= ")).as_bytes());
        let keys: Vec<Word> = table.columns.iter().map(|column| key(&column.name)).collect();
        Ilp {
            fixed_bytes: name.bytes + keys.iter().map(|key| key.bytes).sum::<usize>() + 8,
            as_number: table.columns.iter().map(|column| column.wire == "int4").collect(),
            table: name,
            keys,
        }
    }

    fn cells<'a>(&self, rows: &'a Columns) -> Result<Vec<Cells<'a>>, Error> {
        let columns = rows.columns.iter().zip(&self.as_number);
        columns.map(|(column, as_number)| Cells::of(column, *as_number)).collect()
    }

    /// # Safety
    /// `tail` has `fixed_bytes` and what the values of this row take at most.
    #[inline(always)]
    unsafe fn put(&self, tail: &mut Tail, rows: &Columns, cells: &[Cells], row: usize) -> Result<(), Error> {
        self.table.put(tail);
        let fields = tail.len();
        for ((column, cells), key) in rows.columns.iter().zip(cells).zip(&self.keys) {
            if column.is_present(row) {
                key.put(tail);
                if !cells.put(tail, row) {
                    let value = format!("{:?}", column.value(row));
                    return Err(does_not_fit(&column.name, value, "a time in µs, or a list of doubles"));
                }
            }
        }
        if tail.len() == fields {
            return Err(does_not_fit("(all)", format!("row {row} of NULLs"), "a line, which has a field"));
        }
        tail.overwrite(fields, b' ');
        tail.byte(b'\n');
        Ok(())
    }
}

impl Encoder for Ilp {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        if rows.columns.len() != self.keys.len() {
            return Err(mismatch("(all)", "this table"));
        }
        let cells = self.cells(rows)?;
        let mut tail = Tail::new(out);
        let mut first = 0;
        while first < rows.rows {
            let last = (first + BLOCK_ROWS).min(rows.rows);
            let values: usize = cells.iter().map(|cells| cells.most_bytes(first, last)).sum();
            tail.room((last - first) * self.fixed_bytes + values);
            for row in first..last {
                // SAFETY: room was made for the widest form of these rows.
                if let Err(error) = unsafe { self.put(&mut tail, rows, &cells, row) } {
                    tail.finish();
                    return Err(error);
                }
            }
            first = last;
        }
        tail.finish();
        Ok(())
    }
}

impl<'a> Cells<'a> {
    fn of(column: &'a Column, as_number: bool) -> Result<Cells<'a>, Error> {
        Ok(match (&column.values, column.ty) {
            (Values::I32(v), LogicalType::Bool) if !as_number => Cells::Bool(v),
            (Values::I32(v), _) => Cells::Small(v),
            (Values::I64(v), LogicalType::TimeMs) => Cells::Time(v, 1_000),
            (Values::I64(v), LogicalType::TimeUs) => Cells::Time(v, 1),
            (Values::I64(v), _) => Cells::Whole(v),
            (Values::F32(v), _) => Cells::F32(v),
            (Values::F64(v), _) => Cells::F64(v),
            (Values::Text(v), _) => Cells::Text(&v.bytes, &v.ends),
            (Values::List(v), _) => match &*v.items {
                Values::I32(_) | Values::I64(_) | Values::F32(_) | Values::F64(_) if v.present.is_empty() => {
                    Cells::List(v, column.ty == LogicalType::ListU64)
                }
                _ => return Err(mismatch(&column.name, "a list of doubles")),
            },
        })
    }

    /// What rows `first..last` take at most.
    fn most_bytes(&self, first: usize, last: usize) -> usize {
        let rows = last - first;
        let span =
            |ends: &[u32]| ends[last - 1] as usize - if first == 0 { 0 } else { ends[first - 1] as usize };
        match self {
            Cells::Bool(_) => rows,
            Cells::Small(_) | Cells::Whole(_) | Cells::Time(..) => rows * (INTEGER_BYTES + 1),
            Cells::F32(_) | Cells::F64(_) => rows * (DOUBLE.len() + 8),
            Cells::Text(_, ends) => 2 * span(ends) + 2 * rows,
            Cells::List(list, _) => span(&list.ends) * 8 + (DOUBLES.len() + 4) * rows,
        }
    }

    /// False, with part of it written, where QuestDB has no such value.
    ///
    /// # Safety
    /// `tail` has `most_bytes` of this row.
    #[inline(always)]
    unsafe fn put(&self, tail: &mut Tail, row: usize) -> bool {
        match self {
            Cells::Bool(v) => tail.byte(if v[row] != 0 { b't' } else { b'f' }),
            Cells::Small(v) => put_whole(tail, v[row] as i64),
            Cells::Whole(v) => put_whole(tail, v[row]),
            Cells::Time(v, unit_us) => {
                let Some(time_us) = v[row].checked_mul(*unit_us) else { return false };
                signed(tail, time_us);
                tail.byte(b't');
            }
            Cells::F32(v) => put_double(tail, v[row] as f64),
            Cells::F64(v) => put_double(tail, v[row]),
            Cells::Text(bytes, ends) => put_text(tail, text_at(bytes, ends, row)),
            Cells::List(list, unsigned) => return put_list(tail, list, row, *unsigned),
        }
        true
    }
}

#[inline(always)]
unsafe fn put_whole(tail: &mut Tail, value: i64) {
    signed(tail, value);
    tail.byte(b'i');
}

/// What is not a number or infinite is NULL there, by either method.
#[inline(always)]
unsafe fn put_double(tail: &mut Tail, value: f64) {
    tail.bytes(DOUBLE);
    tail.word(value.to_bits(), 8);
}

unsafe fn put_text(tail: &mut Tail, text: &[u8]) {
    tail.byte(b'"');
    for &byte in text {
        // A line feed would end the line, also between quotes.
        if matches!(byte, b'"' | b'\\' | b'\n') {
            tail.byte(b'\\');
        }
        tail.byte(byte);
    }
    tail.byte(b'"');
}

unsafe fn put_list(tail: &mut Tail, list: &ListValues, row: usize, unsigned: bool) -> bool {
    let items = list.range(row);
    tail.bytes(DOUBLES);
    tail.bytes(&(items.len() as u32).to_le_bytes());
    for item in items {
        let value = match &*list.items {
            Values::I64(items) => match as_double(items[item], unsigned) {
                (whole, true) => whole,
                _ => return false,
            },
            Values::F64(items) => items[item],
            Values::I32(items) => items[item].into(),
            Values::F32(items) => items[item].into(),
            _ => return false,
        };
        tail.word(value.to_bits(), 8);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ColumnPlan, RowSource};
    use crate::rows::TextValues;

    fn line(columns: &[(&str, LogicalType, &str, Option<Values>)]) -> Result<Vec<u8>, String> {
        let plan = |(name, ty, wire, _): &(&str, LogicalType, &str, Option<Values>)| ColumnPlan {
            name: (*name).into(),
            ty: *ty,
            wire: (*wire).into(),
            null_ppm: 0,
            not_finite: None,
            gen: None,
        };
        let table = TablePlan {
            name: "\"inrush_ab.my ports\"".into(),
            stream: "t".into(),
            columns: columns.iter().map(plan).collect(),
            source: RowSource::Generated { series: 1, period_ns: 1, events: None },
            identity: vec![],
        };
        let mut rows = Columns::of(&table);
        rows.rows = 1;
        for (column, (_, _, _, values)) in rows.columns.iter_mut().zip(columns) {
            match values {
                Some(values) => column.values = values.clone(),
                None => column.present = vec![0],
            }
        }
        let mut out = Vec::new();
        Ilp::new(&table).encode(&rows, &mut out).map_err(|e| e.to_string())?;
        Ok(out)
    }

    fn text(text: &str) -> Option<Values> {
        Some(Values::Text(TextValues { ends: vec![text.len() as u32], bytes: text.into() }))
    }

    fn list(items: Values, count: u32) -> Option<Values> {
        Some(Values::List(ListValues { ends: vec![count], items: Box::new(items), present: vec![] }))
    }

    #[test]
    fn a_row_is_a_line_of_fields_without_those_that_are_null() {
        let written = line(&[
            ("guid", LogicalType::U64, "int8", Some(Values::I64(vec![-1]))),
            ("gone", LogicalType::I32, "int4", None),
            ("at", LogicalType::TimeMs, "timestamptz", Some(Values::I64(vec![1_234]))),
            ("seen", LogicalType::TimeUs, "timestamptz", Some(Values::I64(vec![-5]))),
            ("up", LogicalType::Bool, "bool", Some(Values::I32(vec![1]))),
            ("down", LogicalType::Bool, "int4", Some(Values::I32(vec![0]))),
            ("a=b, c", LogicalType::Text, "text", text("say \"\\\"\n")),
        ]);
        let expected =
            "inrush_ab.my\\ ports guid=-1i,at=1234000t,seen=-5t,up=t,down=0i,a\\=b\\,\\ c=\"say \\\"\\\\\\\"\\\n\"\n";
        assert_eq!(String::from_utf8(written.unwrap()).unwrap(), expected);
    }

    #[test]
    fn floats_and_lists_are_binary() {
        let written = line(&[
            ("f", LogicalType::F32, "float4", Some(Values::F32(vec![0.1]))),
            ("l", LogicalType::ListI64, "float8[]", list(Values::I64(vec![7, -1]), 2)),
            ("e", LogicalType::ListF64, "float8[]", list(Values::F64(vec![]), 0)),
        ]);
        let mut expected = b"inrush_ab.my\\ ports f==\x10".to_vec();
        expected.extend_from_slice(&(0.1f32 as f64).to_le_bytes());
        expected.extend_from_slice(b",l==\x0e\x0a\x01\x02\0\0\0");
        expected.extend_from_slice(&7f64.to_le_bytes());
        expected.extend_from_slice(&(-1f64).to_le_bytes());
        expected.extend_from_slice(b",e==\x0e\x0a\x01\0\0\0\0\n");
        assert_eq!(written.unwrap(), expected);
    }

    #[test]
    fn what_no_line_can_hold_is_refused() {
        let beyond = list(Values::I64(vec![(1 << 53) + 1]), 1);
        let of = |ty, values| line(&[("v", ty, "", values)]).unwrap_err();
        assert!(of(LogicalType::ListI64, beyond).contains("does not fit"));
        // 2^64 - 1, which is -1 by its bits.
        assert!(of(LogicalType::ListU64, list(Values::I64(vec![-1]), 1)).contains("does not fit"));
        assert!(of(LogicalType::TimeMs, Some(Values::I64(vec![i64::MAX]))).contains("a time in µs"));
        assert!(of(LogicalType::I64, None).contains("a line, which has a field"));
    }
}
