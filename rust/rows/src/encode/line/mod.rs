//! InfluxDB's line protocol: `measurement,tag=value field=1i,other=2.5 time`.
//!
//! A column is a tag, the time of its point, or a field. The twin says which by the wire type; where it says
//! nothing (`null:line`), the identity does: its first time is the point's, the others of it are tags.

mod cells;
mod ilp;
mod roles;

use super::decimal::{signed, INTEGER_BYTES};
use super::tail::Tail;
use super::{does_not_fit, mismatch, Encoder};
use crate::error::Error;
use crate::plan::{ColumnPlan, LogicalType, TablePlan};
use crate::rows::{Column, Columns, Values};
use cells::{cells, Cells};

pub use ilp::Ilp;
pub use roles::{database, has_a_field_in_every_row, measurement, roles, Role, ROW_FIELD, TAG, TIME};

/// Nanoseconds that a point's time may be away from 1970, either way.
const TIME_NS_MOST: i64 = i64::MAX - 1;
const WHAT_TAGS_HOLD: &str = "a tag, which is not empty and has neither backslash nor line feed";
const BLOCK_ROWS: usize = 512;

/// Rows of one table as points.
pub struct Line {
    /// `measurement`, escaped; its tags follow.
    head: Word,
    tags: Vec<Place>,
    fields: Vec<Place>,
    /// Column with the point's time.
    time: usize,
    /// Most bytes of head, keys and separators together.
    fixed_bytes: usize,
    columns: usize,
    always_a_field: bool,
}

struct Place {
    column: usize,
    /// `,name=`; for the first field ` name=` is written over its start.
    key: Word,
}

/// A few bytes that are written again and again, in words of eight.
struct Word {
    words: Box<[u64]>,
    bytes: usize,
}

impl Word {
    fn new(text: &[u8]) -> Word {
        let words = text.chunks(8).map(|chunk| {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        Word { words: words.collect(), bytes: text.len() }
    }

    /// # Safety
    /// `tail` has `self.bytes` of room.
    #[inline(always)]
    unsafe fn put(&self, tail: &mut Tail) {
        let (last, full) = self.words.split_last().expect("names are not empty");
        for &word in full {
            tail.word(word, 8);
        }
        tail.word(*last, self.bytes - 8 * full.len());
    }
}

impl Line {
    pub fn new(table: &TablePlan) -> Result<Line, Error> {
        let roles = roles(table)?;
        let place = |(column, plan): (usize, &ColumnPlan)| {
            let key = Word::new(format!(",{}=", escaped(&plan.name, ",= ")).as_bytes());
            Place { column, key }
        };
        let of = |wanted: Role| -> Vec<Place> {
            let columns = table.columns.iter().enumerate().zip(&roles);
            columns.filter(|(_, role)| **role == wanted).map(|(column, _)| place(column)).collect()
        };
        let head = Word::new(escaped(&measurement(&table.name), ", ").as_bytes());
        let (mut tags, fields) = (of(Role::Tag), of(Role::Field));
        // The server sorts the tags of a line if its keys are not in order.
        tags.sort_by(|a, b| table.columns[a.column].name.cmp(&table.columns[b.column].name));
        let keys: usize = tags.iter().chain(&fields).map(|place| place.key.bytes + 1).sum();
        Ok(Line {
            fixed_bytes: head.bytes + keys + ROW_FIELD.len() + INTEGER_BYTES + 8,
            always_a_field: has_a_field_in_every_row(table, &roles),
            time: roles.iter().position(|&r| r == Role::Time).expect("`roles` has found one"),
            columns: table.columns.len(),
            head,
            tags,
            fields,
        })
    }
}

/// `text` with a backslash before each of `special`.
fn escaped(text: &str, special: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in text.chars() {
        if special.contains(ch) {
            out.push('\\');
        }
        out.push(ch);
    }
    out
}

impl Encoder for Line {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        if rows.columns.len() != self.columns {
            return Err(mismatch("(all)", "this table"));
        }
        let cells = |places: &[Place]| -> Result<Vec<Cells>, Error> {
            places.iter().map(|place| cells(&rows.columns[place.column])).collect()
        };
        let (tags, fields) = (cells(&self.tags)?, cells(&self.fields)?);
        let times = self.times(&rows.columns[self.time])?;

        let mut tail = Tail::new(out);
        let mut first = 0;
        while first < rows.rows {
            let last = (first + BLOCK_ROWS).min(rows.rows);
            let values: usize = tags.iter().chain(&fields).map(|cells| cells.most_bytes(first, last)).sum();
            tail.room((last - first) * self.fixed_bytes + values);
            for (row, &time) in (first..last).zip(&times[first..]) {
                // SAFETY: room was made for the widest form of these rows.
                if let Err(error) = unsafe { self.put(&mut tail, rows, &tags, &fields, time, row) } {
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

impl Line {
    /// In the unit of the column, which is the precision of the request. Errors: NULL, or beyond what fits.
    fn times<'a>(&self, column: &'a Column) -> Result<&'a [i64], Error> {
        let Values::I64(times) = &column.values else { return Err(mismatch(&column.name, "a time")) };
        let unit_ns = if column.ty == LogicalType::TimeMs { 1_000_000 } else { 1_000 };
        let most = TIME_NS_MOST / unit_ns;
        if let Some(row) = (0..times.len()).find(|&row| !column.is_present(row)) {
            return Err(does_not_fit(&column.name, format!("NULL in row {row}"), "the time of a point"));
        }
        match times.iter().find(|time| !(-most..=most).contains(time)) {
            Some(time) => Err(does_not_fit(&column.name, time, "a point's time (1677 to 2262)")),
            None => Ok(times),
        }
    }

    /// # Safety
    /// `tail` has `fixed_bytes` and what the values of this row take at most.
    #[inline(always)]
    unsafe fn put(
        &self,
        tail: &mut Tail,
        rows: &Columns,
        tags: &[Cells],
        fields: &[Cells],
        time: i64,
        row: usize,
    ) -> Result<(), Error> {
        self.head.put(tail);
        for (place, cells) in self.tags.iter().zip(tags) {
            let column = &rows.columns[place.column];
            if column.is_present(row) {
                place.key.put(tail);
                if !cells.put_tag(tail, row) {
                    let value = format!("{:?}", column.value(row));
                    return Err(does_not_fit(&column.name, value, WHAT_TAGS_HOLD));
                }
            }
        }
        let before_fields = tail.len();
        if !self.always_a_field {
            tail.byte(b',');
            tail.bytes(ROW_FIELD.as_bytes());
            tail.bytes(b"=t");
        }
        for (place, cells) in self.fields.iter().zip(fields) {
            let column = &rows.columns[place.column];
            if column.is_present(row) {
                place.key.put(tail);
                if !cells.put_field(tail, row) {
                    let value = format!("{:?}", column.value(row));
                    return Err(does_not_fit(&column.name, value, "a field, which is a finite number"));
                }
            }
        }
        tail.overwrite(before_fields, b' ');
        tail.byte(b' ');
        signed(tail, time);
        tail.byte(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::RowSource;

    fn table(name: &str, columns: &[(&str, LogicalType, &str)], identity: &[&str]) -> TablePlan {
        TablePlan {
            name: name.into(),
            stream: "t".into(),
            columns: columns
                .iter()
                .map(|&(name, ty, wire)| ColumnPlan {
                    name: name.into(),
                    ty,
                    wire: wire.into(),
                    null_ppm: 0,
                    not_finite: None,
                    gen: None,
                })
                .collect(),
            source: RowSource::Generated { series: 1, period_ns: 1, events: None },
            identity: identity.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    fn rows(table: &TablePlan, cells: &[Values]) -> Columns {
        let mut columns = Columns::of(table);
        columns.rows = 1;
        for (column, values) in columns.columns.iter_mut().zip(cells) {
            column.values = values.clone();
        }
        columns
    }

    fn text(text: &str) -> Values {
        Values::Text(crate::rows::TextValues { ends: vec![text.len() as u32], bytes: text.into() })
    }

    fn line(table: &TablePlan, cells: &[Values]) -> Result<String, Error> {
        let mut out = Vec::new();
        Line::new(table)?.encode(&rows(table, cells), &mut out)?;
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    const PORTS: [(&str, LogicalType, &str); 4] = [
        ("port", LogicalType::I32, ""),
        ("guid", LogicalType::U64, ""),
        ("added_on", LogicalType::TimeMs, ""),
        ("xmit_data", LogicalType::U64, ""),
    ];

    #[test]
    fn the_identity_becomes_tags_and_time_and_the_rest_fields() {
        let table = table("pdc", &PORTS, &["guid", "port", "added_on"]);
        let cells =
            [Values::I32(vec![7]), Values::I64(vec![-1]), Values::I64(vec![1234]), Values::I64(vec![-2])];
        let written = line(&table, &cells).expect("all fit");
        assert_eq!(written, "pdc,guid=18446744073709551615,port=7 inrush_row=t,xmit_data=-2i 1234\n");
    }

    #[test]
    fn names_and_texts_are_escaped() {
        let columns = [
            ("a b", LogicalType::Text, TAG),
            ("t", LogicalType::TimeUs, TIME),
            ("c=d,", LogicalType::Text, ""),
        ];
        let table = table("\"ns\"..\"all types\"", &columns, &[]);
        let cells = [text("x, y=z"), Values::I64(vec![0]), text("say \"\\\"\n")];
        assert_eq!(
            line(&table, &cells).expect("all fit"),
            "all\\ types,a\\ b=x\\,\\ y\\=z inrush_row=t,c\\=d\\,=\"say \\\"\\\\\\\"\n\" 0\n"
        );
    }

    #[test]
    fn what_no_point_can_hold_is_refused() {
        let table = table(
            "t",
            &[("k", LogicalType::Text, TAG), ("at", LogicalType::TimeMs, TIME), ("v", LogicalType::F64, "")],
            &[],
        );
        let of = |key: &str, at: i64, v: f64| {
            line(&table, &[text(key), Values::I64(vec![at]), Values::F64(vec![v])]).map_err(|e| e.to_string())
        };
        assert!(of("k", 9_223_372_036_854, 1.5).is_ok());
        assert!(of("k", 9_223_372_036_855, 1.5).unwrap_err().contains("a point's time"));
        for key in ["", "a\\", "a\nb"] {
            assert!(of(key, 0, 1.5).unwrap_err().contains("a tag"), "{key:?}");
        }
        for value in [f64::NAN, f64::INFINITY] {
            assert!(of("k", 0, value).unwrap_err().contains("finite"));
        }
    }

    #[test]
    fn a_table_without_one_time_is_refused() {
        let plan = table("t", &PORTS, &["guid", "port"]);
        assert!(Line::new(&plan).err().expect("no time").to_string().contains("0 columns"));
    }

    #[test]
    fn a_measurement_is_the_last_of_quoted_names() {
        assert_eq!(measurement("\"ns\"..\"all types\""), "all types");
        assert_eq!(measurement("\"x\\\"y\""), "x\"y");
        assert_eq!(measurement("plain.name"), "plain.name");
        assert_eq!((database("\"ns\"..\"t\""), database("plain")), ("ns".into(), String::new()));
    }
}
