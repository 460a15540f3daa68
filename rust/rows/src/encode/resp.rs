//! Rows as commands of Valkey and Redis, one a row: `HSET <table>/<key> <field> <row>`.
//!
//! The first column of the table's identity is the key, the other columns of it are the field (joined by `,`), and the
//! value is the whole row, packed ([`pack`]). So one command returns all rows of a key. [`RespCall`] writes the same of
//! the values of one call.

mod call;

use super::decimal::{signed, unsigned, INTEGER_BYTES};
use super::tail::Tail;
use super::{mismatch, Encoder};
use crate::error::Error;
use crate::plan::{LogicalType, TablePlan};
use crate::rows::{Column, Columns, Value, Values};

pub use call::RespCall;

/// Arguments of an `HSET`, the command itself included.
const HEAD: &[u8] = b"*4\r\n$4\r\nHSET\r\n";

/// Rows of one table as commands.
pub struct Resp {
    /// `<table>/`, in front of each key.
    prefix: Vec<u8>,
    key: usize,
    field: Vec<usize>,
    columns: usize,
    /// A key, a field or a row: its length stands in front of it.
    part: Vec<u8>,
}

impl Resp {
    /// Fails for a table without a key, or with a key that has no text of its own (a float, a list).
    pub fn new(table: &TablePlan) -> Result<Resp, Error> {
        let place = |name: &String| {
            let at = table.columns.iter().position(|column| &column.name == name);
            let fits = |ty: LogicalType| {
                use LogicalType::*;
                !matches!(ty, F32 | F64) && !ty.is_list()
            };
            at.filter(|&at| fits(table.columns[at].ty)).ok_or_else(|| {
                Error::Plan(format!("table {}: {name} is no column that a key can be made of", table.name))
            })
        };
        let identity = table.identity.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let Some((&key, field)) = identity.split_first() else {
            return Err(Error::Plan(format!(
                "table {}: a row of Valkey is found by its key; give the table an identity",
                table.name
            )));
        };
        Ok(Resp {
            prefix: format!("{}/", table.name).into_bytes(),
            key,
            field: field.to_vec(),
            columns: table.columns.len(),
            part: Vec::with_capacity(256),
        })
    }

    /// Appends the arguments behind the command: key, field and row. put: a value of the key by its column; pack: the row.
    #[inline]
    fn arguments<R>(
        &mut self,
        out: &mut Vec<u8>,
        put: impl Fn(usize, &mut Vec<u8>),
        pack: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> R {
        let part = &mut self.part;
        part.clear();
        part.extend_from_slice(&self.prefix);
        put(self.key, part);
        bulk(out, part);
        part.clear();
        for (at, &column) in self.field.iter().enumerate() {
            if at > 0 {
                part.push(b',');
            }
            put(column, part);
        }
        bulk(out, part);
        part.clear();
        let packed = pack(part);
        bulk(out, part);
        packed
    }
}

impl Encoder for Resp {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        if rows.columns.len() != self.columns {
            let name = rows.columns.first().map_or("", |column| column.name.as_str());
            return Err(mismatch(name, "resp"));
        }
        if let Some(column) = rows.columns.iter().find(|column| has_null_items(column)) {
            return Err(mismatch(&column.name, "a packed list, which has no NULL in it,"));
        }
        for row in 0..rows.rows {
            out.extend_from_slice(HEAD);
            let put = |column: usize, part: &mut Vec<u8>| put_key(&rows.columns[column], row, part);
            self.arguments(out, put, |part| pack(rows, row, part));
        }
        Ok(())
    }
}

fn has_null_items(column: &Column) -> bool {
    matches!(&column.values, Values::List(list) if !list.present.is_empty())
}

/// An argument of a command: `$<bytes>`, and the bytes.
pub fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    head(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// The first line of a command (`*`, its arguments) or of an argument (`$`, its bytes).
pub fn head(out: &mut Vec<u8>, mark: u8, count: usize) {
    out.push(mark);
    natural(out, count as u64);
    out.extend_from_slice(b"\r\n");
}

fn natural(out: &mut Vec<u8>, value: u64) {
    let mut tail = Tail::new(out);
    tail.room(INTEGER_BYTES);
    // SAFETY: room for the longest integer was reserved.
    unsafe { unsigned(&mut tail, value) };
    tail.finish();
}

fn integer(out: &mut Vec<u8>, value: i64) {
    let mut tail = Tail::new(out);
    tail.room(INTEGER_BYTES);
    // SAFETY: room for the longest integer was reserved.
    unsafe { signed(&mut tail, value) };
    tail.finish();
}

/// One value of a key, as [`key_text`] writes a parameter: numbers and times decimal, a truth value 0 or 1.
fn put_key(column: &Column, row: usize, out: &mut Vec<u8>) {
    match &column.values {
        Values::I32(v) => integer(out, v[row].into()),
        Values::I64(v) if matches!(column.ty, LogicalType::U64 | LogicalType::Bit) => {
            natural(out, v[row] as u64)
        }
        Values::I64(v) => integer(out, v[row]),
        Values::Text(v) => out.extend_from_slice(v.get(row)),
        Values::F32(_) | Values::F64(_) | Values::List(_) => unreachable!("`Resp::new` has refused them"),
    }
}

/// A parameter as it stands in keys and fields.
pub fn key_text(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Bool(v) => out.push(b'0' + u8::from(*v)),
        Value::I64(v) | Value::TimeMs(v) | Value::TimeUs(v) => integer(out, *v),
        Value::U64(v) => natural(out, *v),
        Value::Text(v) => out.extend_from_slice(v.as_bytes()),
        other => out.extend_from_slice(crate::rows::value_text(other).as_bytes()),
    }
}

/// Bytes of a row's map of NULLs: a bit a column.
fn null_bytes(columns: usize) -> usize {
    columns.div_ceil(8)
}

/// A whole row: a bit a column, 1 for NULL, then the values that are not, in the columns' order and little-endian.
/// Numbers have 4 or 8 bytes; in front of a text stand its bytes, of a list its items, as 4 bytes.
fn pack(rows: &Columns, row: usize, out: &mut Vec<u8>) {
    let nulls = out.len();
    out.resize(nulls + null_bytes(rows.columns.len()), 0);
    for (at, column) in rows.columns.iter().enumerate() {
        if !column.is_present(row) {
            out[nulls + at / 8] |= 1 << (at % 8);
            continue;
        }
        match &column.values {
            Values::I32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Values::I64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Values::F32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Values::F64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
            Values::Text(v) => {
                let text = v.get(row);
                out.extend_from_slice(&(text.len() as u32).to_le_bytes());
                out.extend_from_slice(text);
            }
            Values::List(v) => {
                let items = v.range(row);
                out.extend_from_slice(&(items.len() as u32).to_le_bytes());
                match &*v.items {
                    Values::I32(v) => v[items].iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
                    Values::I64(v) => v[items].iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
                    Values::F32(v) => v[items].iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
                    Values::F64(v) => v[items].iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes())),
                    Values::Text(v) => items.for_each(|at| {
                        out.extend_from_slice(&(v.get(at).len() as u32).to_le_bytes());
                        out.extend_from_slice(v.get(at));
                    }),
                    Values::List(_) => unreachable!("no list holds lists"),
                }
            }
        }
    }
}

/// Appends a packed row to `batch`; `None` where it is no row of its columns. A batch with half a row is of no use.
pub fn unpack(packed: &[u8], batch: &mut Columns) -> Option<()> {
    let nulls = packed.get(..null_bytes(batch.columns.len()))?;
    let mut rest = &packed[nulls.len()..];
    let rows_before = batch.rows;
    for (at, column) in batch.columns.iter_mut().enumerate() {
        if (nulls[at / 8] >> (at % 8)) & 1 == 1 {
            column.push_null(rows_before);
            continue;
        }
        column.mark_present();
        match &mut column.values {
            Values::I32(v) => v.push(i32::from_le_bytes(taken(&mut rest)?)),
            Values::I64(v) => v.push(i64::from_le_bytes(taken(&mut rest)?)),
            Values::F32(v) => v.push(f32::from_le_bytes(taken(&mut rest)?)),
            Values::F64(v) => v.push(f64::from_le_bytes(taken(&mut rest)?)),
            Values::Text(v) if column.ty == LogicalType::Blob => v.push(taken_bytes(&mut rest)?),
            Values::Text(v) => v.push(taken_text(&mut rest)?),
            Values::List(v) => {
                let items = u32::from_le_bytes(taken(&mut rest)?);
                v.ends.last().copied().unwrap_or(0).checked_add(items)?;
                for _ in 0..items {
                    match &mut *v.items {
                        Values::I32(v) => v.push(i32::from_le_bytes(taken(&mut rest)?)),
                        Values::I64(v) => v.push(i64::from_le_bytes(taken(&mut rest)?)),
                        Values::F32(v) => v.push(f32::from_le_bytes(taken(&mut rest)?)),
                        Values::F64(v) => v.push(f64::from_le_bytes(taken(&mut rest)?)),
                        Values::Text(v) => v.push(taken_text(&mut rest)?),
                        Values::List(_) => return None,
                    }
                }
                v.end();
            }
        }
    }
    batch.rows += 1;
    rest.is_empty().then_some(())
}

/// A text with its length in front.
fn taken_text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    std::str::from_utf8(taken_bytes(rest)?).ok().map(str::as_bytes)
}

fn taken_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let bytes = u32::from_le_bytes(taken(rest)?) as usize;
    let (bytes, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    Some(bytes)
}

/// The first bytes of `rest`, which they leave.
fn taken<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{ListValues, TextValues};

    fn table(identity: &[&str]) -> TablePlan {
        let columns: Vec<_> =
            [("a", "u64"), ("b", "time_ms"), ("c", "text"), ("d", "f32"), ("e", "list_f64")]
                .iter()
                .map(|(name, ty)| serde_json::json!({"name": name, "type": ty, "wire": ""}))
                .collect();
        serde_json::from_value(serde_json::json!({
            "name": "t", "stream": "t", "columns": columns, "identity": identity,
            "source": {"kind": "generated", "series": 1, "period_ns": 1},
        }))
        .unwrap()
    }

    fn batch() -> Columns {
        let mut columns = Columns::of(&table(&["a"]));
        columns.rows = 2;
        let texts = |texts: &[&str]| {
            let mut values = TextValues::default();
            texts.iter().for_each(|text| values.push(text.as_bytes()));
            Values::Text(values)
        };
        let values = [
            Values::I64(vec![-1, 7]),
            Values::I64(vec![1_767_225_600_000, -5]),
            texts(&["é,\r\n", ""]),
            Values::F32(vec![0.5, 0.0]),
            Values::List(ListValues {
                ends: vec![2, 2],
                items: Box::new(Values::F64(vec![1.0, f64::NAN])),
                present: vec![],
            }),
        ];
        for (column, values) in columns.columns.iter_mut().zip(values) {
            column.values = values;
        }
        columns.columns[3].present = vec![1, 0];
        columns
    }

    fn texts(columns: &Columns) -> Vec<String> {
        let row = |row: usize| columns.columns.iter().map(move |c| crate::rows::value_text(&c.value(row)));
        (0..columns.rows).flat_map(row).collect()
    }

    #[test]
    fn a_row_is_one_command_with_its_key_in_front() {
        let mut out = Vec::new();
        Resp::new(&table(&["a", "b", "c"])).unwrap().encode(&batch(), &mut out).unwrap();
        let first =
            b"*4\r\n$4\r\nHSET\r\n$22\r\nt/18446744073709551615\r\n$19\r\n1767225600000,\xc3\xa9,\r\n\r\n$";
        assert_eq!(&out[..first.len()], first);
        let second = b"*4\r\n$4\r\nHSET\r\n$3\r\nt/7\r\n$3\r\n-5,\r\n$25\r\n\x08";
        let at = out.windows(second.len()).position(|window| window == second);
        assert!(at.is_some_and(|at| at > first.len()), "{}", String::from_utf8_lossy(&out));
    }

    #[test]
    fn what_was_packed_is_unpacked_and_nothing_else_is() {
        let rows = batch();
        let mut back = Columns::of(&table(&["a"]));
        for row in 0..rows.rows {
            let mut packed = Vec::new();
            pack(&rows, row, &mut packed);
            unpack(&packed, &mut back).expect("a row");
            for cut in 0..packed.len() {
                assert_eq!(unpack(&packed[..cut], &mut Columns::of(&table(&["a"]))), None, "{cut}");
            }
            packed.push(0);
            assert_eq!(unpack(&packed, &mut Columns::of(&table(&["a"]))), None, "a byte too many");
        }
        assert_eq!(texts(&back), texts(&rows));
        assert_eq!(back.columns[3].present, [1, 0]);
    }

    #[test]
    fn a_parameter_is_written_as_the_key_it_stands_for() {
        let (rows, mut keys, mut params) = (batch(), Vec::new(), Vec::new());
        for row in 0..rows.rows {
            for column in &rows.columns[..3] {
                put_key(column, row, &mut keys);
                key_text(&column.value(row), &mut params);
            }
        }
        assert_eq!(keys, params);
    }

    #[test]
    fn a_table_without_a_key_is_refused() {
        let cases: [(&[&str], &str); 3] =
            [(&[], "an identity"), (&["d"], "no column that a key"), (&["x"], "x is")];
        for (identity, says) in cases {
            let refused = Resp::new(&table(identity)).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(refused.contains(says), "{identity:?}: {refused}");
        }
    }
}
