//! Rows of the server as columns: its COPY streams, and its DataRows, which have the same form. Pure.

use super::decode::{list_bits, list_cells, Bytes, FLOAT8};
use inrush_rows::encode::lists::within;
use inrush_rows::encode::pgcopy::{numeric_text, HEADER, POSTGRES_EPOCH_US};
use inrush_rows::plan::LogicalType;
use inrush_rows::rows::bits::bits_of_postgresql;
use inrush_rows::rows::decimals::decimal_units;
use inrush_rows::rows::documents::compact;
use inrush_rows::rows::{Column, Columns, ListValues, Values};

/// Reads a binary COPY stream, arriving in pieces, into columns.
pub struct CopyReader {
    /// Bytes that do not yet make a whole row.
    rest: Vec<u8>,
    header_seen: bool,
    ended: bool,
}

impl CopyReader {
    pub fn new() -> CopyReader {
        CopyReader { rest: Vec::new(), header_seen: false, ended: false }
    }

    /// Appends the rows that `piece` completes to `batch`.
    pub fn read(&mut self, piece: &[u8], batch: &mut Columns) -> Result<(), String> {
        if self.header_seen && self.rest.is_empty() {
            // As servers send them: whole rows, which are read where they lie.
            let used = self.rows(piece, batch)?;
            self.rest.extend_from_slice(&piece[used..]);
            return Ok(());
        }
        self.rest.extend_from_slice(piece);
        let mut used = 0;
        if !self.header_seen {
            if self.rest.len() < HEADER.len() {
                return Ok(());
            }
            if self.rest[..11] != HEADER[..11] {
                return Err("the server's COPY does not start with its signature".into());
            }
            let extension = u32::from_be_bytes(self.rest[15..19].try_into().expect("4 bytes")) as usize;
            if self.rest.len() < HEADER.len() + extension {
                return Ok(());
            }
            used = HEADER.len() + extension;
            self.header_seen = true;
        }
        let rest = std::mem::take(&mut self.rest);
        used += self.rows(&rest[used..], batch)?;
        self.rest = rest;
        self.rest.drain(..used);
        Ok(())
    }

    /// Appends the whole rows in front; their bytes, or all where the trailer has come.
    fn rows(&mut self, bytes: &[u8], batch: &mut Columns) -> Result<usize, String> {
        let mut used = 0;
        while let Some(length) = row_length(&bytes[used..], batch.columns.len())? {
            if length == 0 {
                self.ended = true;
                return Ok(bytes.len());
            }
            push_row(&bytes[used..used + length], batch)?;
            used += length;
        }
        Ok(used)
    }

    /// The trailer has come, and nothing is left over.
    pub fn is_complete(&self) -> bool {
        self.ended && self.rest.is_empty()
    }
}

/// Appends the row of a DataRow with binary values, which has the form of a row of COPY.
pub fn push_data_row(body: &[u8], batch: &mut Columns) -> Result<(), String> {
    match row_length(body, batch.columns.len())? {
        Some(length) if length == body.len() => push_row(body, batch),
        _ => Err("a row could not be read".into()),
    }
}

/// Bytes of the first row; 0 for the trailer, `None` if more must come.
fn row_length(bytes: &[u8], columns: usize) -> Result<Option<usize>, String> {
    let mut rest = Bytes(bytes);
    let Some(fields) = rest.u16() else { return Ok(None) };
    if fields == u16::MAX {
        return Ok(Some(0));
    }
    if fields as usize != columns {
        return Err(format!("{fields} columns came back, {columns} were expected"));
    }
    for _ in 0..fields {
        let Some(length) = rest.i32() else { return Ok(None) };
        if rest.take(length.max(0) as usize).is_none() {
            return Ok(None);
        }
    }
    Ok(Some(bytes.len() - rest.0.len()))
}

fn push_row(row: &[u8], batch: &mut Columns) -> Result<(), String> {
    let mut rest = Bytes(&row[2..]);
    for column in &mut batch.columns {
        let length = rest.i32().expect("`row_length` saw it");
        if length < 0 {
            column.push_null(batch.rows);
            continue;
        }
        let cell = rest.take(length as usize).expect("`row_length` saw it");
        column.mark_present();
        if push_cell(column, cell).is_none() {
            return Err(format!("column {}: {} bytes are no {:?}", column.name, cell.len(), column.ty));
        }
    }
    batch.rows += 1;
    Ok(())
}

/// The width on the wire says what was stored: 8 bytes of a u64 are its bits, more are a `numeric`.
fn push_cell(column: &mut Column, cell: &[u8]) -> Option<()> {
    match (&mut column.values, column.ty) {
        (Values::I32(v), _) => v.push(i32::try_from(small_integer(cell)?).ok()?),
        (Values::I64(v), LogicalType::TimeMs) => v.push(whole_ms(time_us(cell)?)?),
        (Values::I64(v), LogicalType::TimeUs) => v.push(time_us(cell)?),
        (Values::I64(v), LogicalType::Bit) => v.push(bits_of_postgresql(cell)? as i64),
        (Values::I64(v), ty) => v.push(match cell.len() {
            // An int8; or the numeric 0, which has 8 zero bytes too.
            8 => i64::from_be_bytes(cell.try_into().ok()?),
            2 | 4 => small_integer(cell)?,
            _ => numeric_bits(cell, ty == LogicalType::U64)?,
        }),
        (Values::F32(v), _) => v.push(match cell.len() {
            4 => f32::from_be_bytes(cell.try_into().ok()?),
            _ => exact_f32(f64::from_be_bytes(cell.try_into().ok()?))?,
        }),
        (Values::F64(v), _) => v.push(f64::from_be_bytes(cell.try_into().ok()?)),
        // As text where the server has no decimals; the head of a `numeric` is no digits.
        (Values::Text(v), LogicalType::Decimal) if decimal_units(cell).is_some() => v.push(cell),
        (Values::Text(v), LogicalType::Decimal) => v.push(numeric_text(cell)?.as_bytes()),
        (Values::Text(v), LogicalType::Blob) => v.push(cell),
        (Values::Text(v), LogicalType::Json) => {
            let text = std::str::from_utf8(cell.strip_prefix(&[1]).unwrap_or(cell)).ok()?;
            v.push(&compact(text.as_bytes()));
        }
        (Values::Text(v), ty) => match ty.forms() {
            None => v.push(std::str::from_utf8(cell).ok()?.as_bytes()),
            // As text where the server has no such type: no binary form is one.
            Some(forms) => {
                let texts = &mut v.bytes;
                (forms.postgresql.push)(cell, texts).or_else(|| (forms.push)(cell, texts))?;
                v.ends.push(v.bytes.len() as u32);
            }
        },
        (Values::List(list), ty) => push_list(list, ty.item()?, cell)?,
    }
    Some(())
}

fn small_integer(cell: &[u8]) -> Option<i64> {
    Some(match cell.len() {
        1 => cell[0] as i64,
        2 => i16::from_be_bytes(cell.try_into().ok()?) as i64,
        4 => i32::from_be_bytes(cell.try_into().ok()?) as i64,
        8 => i64::from_be_bytes(cell.try_into().ok()?),
        _ => return None,
    })
}

fn time_us(cell: &[u8]) -> Option<i64> {
    i64::from_be_bytes(cell.try_into().ok()?).checked_add(POSTGRES_EPOCH_US)
}

/// A time with µs where ms were stored is not what was stored: refused, not rounded.
fn whole_ms(us: i64) -> Option<i64> {
    (us.rem_euclid(1000) == 0).then(|| us.div_euclid(1000))
}

fn exact_f32(value: f64) -> Option<f32> {
    let narrow = value as f32;
    (narrow as f64 == value || value.is_nan()).then_some(narrow)
}

/// A whole `numeric` as the 64 bits of its type: digits of base 10,000 behind count, weight, sign, scale.
fn numeric_bits(cell: &[u8], unsigned: bool) -> Option<i64> {
    let mut bytes = Bytes(cell);
    let (digits, weight, sign) = (bytes.u16()? as i32, bytes.u16()? as i16 as i32, bytes.u16()?);
    bytes.u16()?; // scale: how many decimals are shown
    if digits > weight + 1 || weight > 5 || !matches!(sign, 0 | 0x4000) {
        return None;
    }
    let mut size: i128 = 0;
    for _ in 0..digits {
        size = size * 10_000 + bytes.u16()? as i128;
    }
    size *= 10_000i128.pow((weight + 1 - digits) as u32);
    match (sign, unsigned) {
        (0, true) => u64::try_from(size).ok().map(|v| v as i64),
        (0, false) => i64::try_from(size).ok(),
        (_, false) => i64::try_from(-size).ok(),
        (_, true) => None,
    }
}

fn push_list(list: &mut ListValues, item: LogicalType, cell: &[u8]) -> Option<()> {
    let wide = matches!(item, LogicalType::F64 | LogicalType::I64) && list.present.is_empty();
    let Some((element, bits)) = list_bits(Bytes(cell)).filter(|_| wide) else {
        return push_any_list(list, item, cell);
    };
    match &mut *list.items {
        Values::F64(items) => items.extend(bits.into_iter().map(f64::from_bits)),
        Values::I64(items) if element == FLOAT8 => {
            for bits in bits {
                items.push(whole_float(f64::from_bits(bits))?);
            }
        }
        Values::I64(items) => items.extend(bits.into_iter().map(|bits| bits as i64)),
        _ => return None,
    }
    list.end();
    Some(())
}

/// A list of other items, or with NULL in it.
fn push_any_list(list: &mut ListValues, item: LogicalType, cell: &[u8]) -> Option<()> {
    let (element, cells) = list_cells(Bytes(cell))?;
    for cell in cells {
        let Some(cell) = cell else {
            list.push_null_item();
            continue;
        };
        list.mark_present();
        let float = || (element == FLOAT8).then(|| Some(f64::from_be_bytes(cell.try_into().ok()?)));
        match (&mut *list.items, float()) {
            (Values::I32(v), None) => v.push(i32::try_from(within(item, small_integer(cell)?)?).ok()?),
            (Values::I64(v), None) => v.push(within(item, small_integer(cell)?)?),
            (Values::I32(v), Some(float)) => {
                v.push(i32::try_from(within(item, whole_float(float?)?)?).ok()?);
            }
            (Values::I64(v), Some(float)) => v.push(within(item, whole_float(float?)?)?),
            (Values::F32(v), None) => v.push(f32::from_be_bytes(cell.try_into().ok()?)),
            (Values::F32(v), Some(float)) => v.push(exact_f32(float?)?),
            (Values::F64(v), Some(float)) => v.push(float?),
            (Values::Text(v), None) => v.push(std::str::from_utf8(cell).ok()?.as_bytes()),
            _ => return None,
        }
    }
    list.end();
    Some(())
}

/// What is not whole was not stored so, and 2^63 is beyond the largest number.
fn whole_float(float: f64) -> Option<i64> {
    (float as i64 as f64 == float && float < -(i64::MIN as f64)).then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::encode::{encoder, pgcopy};
    use inrush_rows::plan::{ColumnPlan, RowSource, TablePlan};
    use inrush_rows::rows::Value;

    #[test]
    fn a_float_is_a_whole_number_of_64_bits_or_none() {
        assert_eq!(whole_float(-9223372036854775808.0), Some(i64::MIN));
        assert_eq!(whole_float(9223372036854774784.0), Some(9223372036854774784));
        for other in [9223372036854775808.0, 0.5, f64::NAN, f64::INFINITY, -1e300] {
            assert_eq!(whole_float(other), None, "{other}");
        }
    }

    #[test]
    fn a_spelled_value_is_read_in_binary_and_where_the_server_keeps_it_as_text() {
        use inrush_rows::types::{Spelled, Visitor, TYPES};
        struct Read;
        impl Visitor for Read {
            type Out = Vec<Vec<u8>>;
            fn of<T: Spelled>(self) -> Vec<Vec<u8>> {
                let text = T::FORMS.zero.as_bytes();
                vec![T::cell(text).expect("a value").as_ref().to_vec(), text.to_vec()]
            }
        }
        for (ty, forms) in TYPES.iter().filter_map(|entry| Some((entry.ty, entry.ty.forms()?))) {
            let mut column = Column::new("c", ty);
            let cells = ty.visit(Read);
            cells.iter().for_each(|cell| push_cell(&mut column, cell).expect("it is read"));
            for row in 0..2 {
                assert_eq!(column.value(row), Value::Text(forms.zero.into()), "{ty:?}");
            }
            for broken in [&cells[0][..cells[0].len() - 1], b"", b"x"] {
                assert_eq!(push_cell(&mut column, broken), None, "{ty:?}");
            }
        }
    }

    #[test]
    fn lists_of_u64_are_read_by_their_bits() {
        let head = [1u32, 0, 20, 2, 1].map(u32::to_be_bytes).concat();
        let item = |bits: u64| [&8u32.to_be_bytes()[..], &bits.to_be_bytes()].concat();
        let cell = [head, item(u64::MAX), item(7)].concat();
        let mut column = Column::new("c", LogicalType::ListU64);
        push_cell(&mut column, &cell).expect("44 bytes");
        assert_eq!(column.value(0), Value::List(vec![Value::U64(u64::MAX), Value::U64(7)]));
    }

    fn two_columns() -> (TablePlan, Columns) {
        let column = |name: &str, ty, wire: &str| ColumnPlan {
            name: name.into(),
            ty,
            wire: wire.into(),
            null_ppm: 0,
            not_finite: None,
            gen: None,
        };
        let plan = TablePlan {
            name: "t".into(),
            stream: "t".into(),
            columns: vec![
                column("n", LogicalType::U64, "numeric"),
                column("s", LogicalType::Text, "text"),
                column("t", LogicalType::TimeMs, "timestamptz"),
                column("l", LogicalType::ListF64, "float8[]"),
            ],
            source: RowSource::Generated { series: 1, period_ns: 1, events: None },
            identity: vec![],
        };
        let mut rows = Columns::new(3, vec![]);
        for c in &plan.columns {
            rows.columns.push(Column::new(c.name.clone(), c.ty));
        }
        rows.columns[0].values = Values::I64(vec![-1, 0, 10_000]);
        let Values::Text(text) = &mut rows.columns[1].values else { unreachable!() };
        for value in ["", "é\t", "x"] {
            text.push(value.as_bytes());
        }
        rows.columns[1].present = vec![0, 1, 1];
        rows.columns[2].values = Values::I64(vec![-1, 0, 1_767_225_600_123]);
        let items = Box::new(Values::F64(vec![0.5, -1.5]));
        rows.columns[3].values = Values::List(ListValues { ends: vec![0, 2, 2], items, present: vec![] });
        (plan, rows)
    }

    #[test]
    fn a_copy_stream_cut_anywhere_reads_back_what_was_sent() {
        let (plan, rows) = two_columns();
        let mut stream = Vec::new();
        encoder("pgcopy", &plan).unwrap().encode(&rows, &mut stream).unwrap();
        for cut in 0..=stream.len() {
            let (mut reader, mut back) = (CopyReader::new(), Columns::empty_like(&rows));
            for piece in [&stream[..cut], &stream[cut..]] {
                assert!(!reader.is_complete() || piece.is_empty());
                reader.read(piece, &mut back).unwrap();
            }
            assert!(reader.is_complete());
            assert_eq!(back.rows, rows.rows);
            for (a, b) in rows.columns.iter().zip(&back.columns) {
                for row in 0..rows.rows {
                    assert_eq!(a.value(row), b.value(row), "column {} row {row}, cut at {cut}", a.name);
                }
            }
        }
    }

    #[test]
    fn bits_come_back_as_their_number_and_documents_without_blanks() {
        let mut column = Column::new("b", LogicalType::Bit);
        assert!(push_cell(&mut column, &[0, 0, 0, 12, 0x80, 0x10]).is_some());
        assert!(push_cell(&mut column, &[0, 0, 0, 64, 255, 255, 255, 255, 255, 255, 255, 254]).is_some());
        assert_eq!((column.value(0), column.value(1)), (Value::U64(0x801), Value::U64(u64::MAX - 1)));
        for none in [&[0, 0, 0, 12, 0x80][..], &[0, 0, 0, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[0, 0, 0, 0], &[1]]
        {
            assert!(push_cell(&mut column, none).is_none(), "{none:?}");
        }
        let mut column = Column::new("d", LogicalType::Json);
        push_cell(&mut column, b"\x01{\"a\": [1, 2], \"b\": \", \"}").expect("it is UTF-8");
        assert_eq!(column.value(0), Value::Text("{\"a\":[1,2],\"b\":\", \"}".into()));
    }

    #[test]
    fn a_stream_without_its_trailer_is_not_complete() {
        let (plan, rows) = two_columns();
        let mut stream = Vec::new();
        encoder("pgcopy", &plan).unwrap().encode(&rows, &mut stream).unwrap();
        let (mut reader, mut back) = (CopyReader::new(), Columns::empty_like(&rows));
        reader.read(&stream[..stream.len() - pgcopy::TRAILER.len()], &mut back).unwrap();
        assert!(!reader.is_complete());
    }

    #[test]
    fn what_was_not_stored_is_refused_and_not_rounded() {
        assert_eq!(whole_ms(1_000), Some(1));
        assert_eq!(whole_ms(1_001), None);
        assert_eq!(exact_f32(0.1), None);
        assert_eq!(numeric_bits(&[0, 1, 0, 0, 0x40, 0, 0, 0, 0, 1], true), None, "-1 is no u64");
        assert_eq!(numeric_bits(&[0, 1, 0xff, 0xff, 0, 0, 0, 1, 0, 1], false), None, "0.0001 is not whole");
        assert_eq!(numeric_bits(&[0, 1, 0, 1, 0, 0, 0, 0, 0, 7], false), Some(70_000));
    }

    #[test]
    fn a_data_row_is_read_as_a_row_of_a_copy() {
        let mut batch = Columns::new(0, vec![Column::new("l", LogicalType::ListI64)]);
        let list = |item: f64| {
            let words = [1u32, 0, FLOAT8, 1, 1, 8];
            let mut cell: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            cell.extend_from_slice(&item.to_be_bytes());
            [&1u16.to_be_bytes()[..], &(cell.len() as u32).to_be_bytes(), &cell].concat()
        };
        push_data_row(&list(7.0), &mut batch).unwrap();
        assert_eq!((batch.rows, batch.columns[0].value(0)), (1, Value::ListI64(vec![7])));
        assert!(push_data_row(&list(7.5), &mut batch).unwrap_err().contains("column l"), "no whole number");
        assert!(push_data_row(&list(7.0)[..9], &mut batch).is_err(), "cut");
        assert!(push_data_row(&[list(7.0), vec![0]].concat(), &mut batch).is_err(), "too long");
    }
}
