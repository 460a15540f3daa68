//! The row of one call, of its parameters: what a batch writes of columns, a value at a time.

use super::{key_text, null_bytes, Resp};
use crate::error::Error;
use crate::plan::{LogicalType, TablePlan};
use crate::rows::{value_text, Value};

/// Calls that set a whole row of one table.
pub struct RespCall {
    row: Resp,
    /// By column of the table.
    columns: Vec<Packed>,
}

struct Packed {
    name: String,
    ty: LogicalType,
    /// The parameter that is its value.
    param: usize,
}

impl RespCall {
    /// columns: by parameter, the column that it is a value of. Fails where a column has none, or several, or values that no
    /// parameter has (a list, a document, bytes).
    pub fn new(table: &TablePlan, columns: &[String]) -> Result<RespCall, Error> {
        let row = Resp::new(table)?;
        let packed = table.columns.iter().map(|column| {
            let refuse =
                |why: &str| Error::Plan(format!("table {}: column {} {why}", table.name, column.name));
            if !is_bound(column.ty) {
                return Err(refuse("has values that are no parameters of a call"));
            }
            let mut params = columns.iter().enumerate().filter(|(_, name)| **name == column.name);
            match (params.next(), params.next()) {
                (Some((param, _)), None) => Ok(Packed { name: column.name.clone(), ty: column.ty, param }),
                (None, _) => Err(refuse("has no value in a call that sets whole rows")),
                _ => Err(refuse("has several values in a call of one row")),
            }
        });
        Ok(RespCall { row, columns: packed.collect::<Result<_, _>>()? })
    }

    /// Parameters of a call.
    pub fn params(&self) -> usize {
        self.columns.len()
    }

    /// Appends key, field and row, the last arguments of a command. Fails, and appends nothing, where a value is none of its
    /// column's type. params: as many as [`RespCall::params`].
    #[inline]
    pub fn put(&mut self, params: &[Value], out: &mut Vec<u8>) -> Result<(), String> {
        let (before, columns) = (out.len(), &self.columns);
        let put = |column: usize, part: &mut Vec<u8>| key_text(&params[columns[column].param], part);
        let misfit = self.row.arguments(out, put, |part| pack(columns, params, part));
        match misfit {
            None => Ok(()),
            Some(column) => {
                out.truncate(before);
                let value = value_text(&params[column.param]);
                Err(format!(
                    "{value} is no value of column {}, which is of type {:?}",
                    column.name, column.ty
                ))
            }
        }
    }
}

/// Whether a parameter holds a value of this type.
fn is_bound(ty: LogicalType) -> bool {
    !ty.is_list() && !matches!(ty, LogicalType::Blob | LogicalType::Json)
}

/// As [`super::pack`], of values; the first column with one that is none of its type.
#[inline]
fn pack<'c>(columns: &'c [Packed], params: &[Value], out: &mut Vec<u8>) -> Option<&'c Packed> {
    let nulls = out.len();
    out.resize(nulls + null_bytes(columns.len()), 0);
    for (at, column) in columns.iter().enumerate() {
        match &params[column.param] {
            Value::Null => out[nulls + at / 8] |= 1 << (at % 8),
            value if put_value(column.ty, value, out).is_some() => {}
            _ => return Some(column),
        }
    }
    None
}

#[inline]
fn put_value(ty: LogicalType, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    use LogicalType::{Bit, Bool, TimeMs, TimeUs, F32, F64, I16, I32, I64, U16, U32, U64, U8};
    let whole = || match value {
        Value::I64(v) | Value::TimeMs(v) | Value::TimeUs(v) => Some(*v),
        Value::U64(v) => Some(*v as i64),
        Value::Bool(v) => Some(i64::from(*v)),
        _ => None,
    };
    match (ty, value) {
        (Bool | I16 | I32 | U8 | U16, _) => {
            out.extend_from_slice(&i32::try_from(whole()?).ok()?.to_le_bytes());
        }
        (I64 | U32 | U64 | Bit | TimeMs | TimeUs, _) => out.extend_from_slice(&whole()?.to_le_bytes()),
        (F32, Value::F64(v)) => out.extend_from_slice(&(*v as f32).to_le_bytes()),
        (F64, Value::F64(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (F32 | F64, _) => return None,
        (_, Value::Text(text)) => {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Encoder;
    use crate::rows::{Columns, TextValues, Values};

    /// All types that a parameter has, two columns of the identity, and more columns than a byte has bits.
    const TYPES: [&str; 16] = [
        "u64", "text", "bool", "i16", "i32", "i64", "u8", "u16", "u32", "f32", "f64", "time_ms", "time_us",
        "date", "uuid", "decimal",
    ];

    fn table(types: &[&str]) -> TablePlan {
        let columns: Vec<_> = types
            .iter()
            .enumerate()
            .map(|(at, ty)| serde_json::json!({"name": format!("c{at}"), "type": ty, "wire": ""}))
            .collect();
        serde_json::from_value(serde_json::json!({
            "name": "t", "stream": "t", "columns": columns, "identity": ["c0", "c1"],
            "source": {"kind": "generated", "series": 1, "period_ns": 1},
        }))
        .unwrap()
    }

    /// Two rows with the extremes of their types; the second one is NULL wherever it is no key.
    fn rows(table: &TablePlan) -> Columns {
        let mut rows = Columns::of(table);
        for (at, column) in rows.columns.iter_mut().enumerate() {
            match &mut column.values {
                Values::I32(v) => *v = vec![if column.ty == LogicalType::Bool { 1 } else { 200 }, 0],
                Values::I64(v) => *v = vec![if column.ty == LogicalType::U32 { 1 << 31 } else { -1 }, 0],
                Values::F32(v) => *v = vec![0.1, 0.0],
                Values::F64(v) => *v = vec![-1.5e300, 0.0],
                Values::Text(v) => {
                    *v = TextValues::default();
                    [&b"\xc3\xa9,\r\n"[..], b""].into_iter().for_each(|text| v.push(text));
                }
                Values::List(_) => unreachable!("no list is a parameter"),
            }
            if at > 1 {
                column.present = vec![1, 0];
            }
        }
        rows.rows = 2;
        rows
    }

    #[test]
    fn a_call_writes_what_a_batch_writes_of_the_same_row() {
        let table = table(&TYPES);
        let rows = rows(&table);
        // Parameters stand in an order of their own.
        let order: Vec<usize> = (0..TYPES.len()).rev().collect();
        let names: Vec<String> = order.iter().map(|at| format!("c{at}")).collect();
        let mut call = RespCall::new(&table, &names).unwrap();
        let (mut batch, mut calls) = (Vec::new(), Vec::new());
        Resp::new(&table).unwrap().encode(&rows, &mut batch).unwrap();
        for row in 0..rows.rows {
            let params: Vec<Value> = order.iter().map(|&at| rows.columns[at].value(row)).collect();
            calls.extend_from_slice(super::super::HEAD);
            call.put(&params, &mut calls).unwrap();
        }
        assert_eq!(calls, batch);
        assert_eq!(call.params(), TYPES.len());
    }

    #[test]
    fn a_value_that_does_not_fit_is_named_and_nothing_is_written() {
        let table = table(&["u64", "u64", "i32", "f64", "text"]);
        let names: Vec<String> = (0..5).map(|at| format!("c{at}")).collect();
        let mut call = RespCall::new(&table, &names).unwrap();
        let fine = [Value::U64(1), Value::U64(2), Value::I64(3), Value::F64(4.0), Value::Text("five".into())];
        for (at, wrong) in
            [(2, Value::I64(1 << 31)), (2, Value::F64(1.0)), (3, Value::I64(4)), (4, Value::I64(5))]
        {
            let mut params = fine.clone();
            params[at] = wrong;
            let mut out = b"before".to_vec();
            let why = call.put(&params, &mut out).unwrap_err();
            assert!(why.contains(&format!("column c{at}")), "{why}");
            assert_eq!(out, b"before");
        }
        call.put(&fine, &mut Vec::new()).unwrap();
    }

    #[test]
    fn each_column_has_one_value_of_a_type_that_parameters_have() {
        let refused = |types: &[&str], names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).into()).collect();
            RespCall::new(&table(types), &names).err().map(|e| e.to_string()).unwrap_or_default()
        };
        let three = ["u64", "u64", "i64"];
        assert_eq!(refused(&three, &["c2", "c1", "c0"]), "");
        assert!(refused(&three, &["c0", "c1"]).contains("column c2 has no value"));
        assert!(refused(&three, &["c0", "c1", "c2", "c2"]).contains("column c2 has several values"));
        for ty in ["list_f64", "json", "blob"] {
            assert!(refused(&["u64", "u64", ty], &["c0", "c1", "c2"]).contains("no parameters"), "{ty}");
        }
    }
}
