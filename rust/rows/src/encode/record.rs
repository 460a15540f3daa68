//! Rows as the memory that NDB's client library takes them from: each value at its place, little-endian, NULL as a bit.
//!
//! The types are NDB's by their names, as the twin writes them: `Unsigned`, `Double`, `Binary(16)`, `Varbinary(40)`. A text
//! of a fixed length is filled up with blanks, as MySQL does it; one of a variable length has its bytes in front.

mod field;
mod kind;

use super::{does_not_fit, mismatch, Encoder};
use crate::error::Error;
use crate::plan::TablePlan;
use crate::rows::{value_text, Columns, Value, Values};

pub use field::Field;
pub use kind::Kind;

/// How rows of one table lie in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub fields: Vec<Field>,
    /// Of a row: the next one begins where it is aligned.
    pub bytes: u32,
}

impl Record {
    /// Fails for a column with a type that is none of these.
    pub fn of(table: &TablePlan) -> Result<Record, Error> {
        let (mut fields, mut offset) = (Vec::new(), 0u32);
        for column in &table.columns {
            let kind = match column.wire.as_str() {
                "" => Kind::usual(column.ty),
                wire => Kind::named(wire),
            };
            let kind = kind.ok_or_else(|| {
                Error::Plan(format!(
                    "table {}: column {} has the wire type {:?}, which is none of NDB's that inrush makes",
                    table.name, column.name, column.wire
                ))
            })?;
            offset = offset.next_multiple_of(kind.bytes().next_power_of_two().min(8));
            let (name, ty) = (column.name.clone(), column.ty);
            fields.push(Field { name, ty, kind, offset, null: (0, 0), nullable: true });
            offset += kind.bytes();
        }
        for (k, field) in fields.iter_mut().enumerate() {
            field.null = (offset + k as u32 / 8, k as u32 % 8);
        }
        let bytes = (offset + (fields.len() as u32).div_ceil(8)).next_multiple_of(8);
        Ok(Record { fields, bytes })
    }

    pub fn place(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The values of a row, in the order of the columns; into texts that `out` holds.
    #[inline]
    pub fn read(&self, row: &[u8], out: &mut [Value]) {
        for (field, out) in self.fields.iter().zip(out) {
            field.read(row, out);
        }
    }

    /// Appends a row to columns of the same table.
    pub fn append(&self, row: &[u8], to: &mut Columns) {
        for (field, column) in self.fields.iter().zip(&mut to.columns) {
            field.append(row, to.rows, column);
        }
        to.rows += 1;
    }
}

/// Images of rows, one behind the other.
pub struct Images {
    record: Record,
}

impl Images {
    pub fn of(record: Record) -> Images {
        Images { record }
    }
}

impl Encoder for Images {
    fn encode(&mut self, rows: &Columns, out: &mut Vec<u8>) -> Result<(), Error> {
        let Record { fields, bytes } = &self.record;
        let (from, bytes) = (out.len(), *bytes as usize);
        if rows.columns.len() != fields.len() {
            return Err(mismatch("(all)", "a record"));
        }
        out.resize(from + rows.rows * bytes, 0);
        for (field, column) in fields.iter().zip(&rows.columns) {
            let images = out[from..].chunks_exact_mut(bytes).enumerate();
            for (k, image) in images {
                if !column.is_present(k) && field.nullable {
                    field.set_null(image, true);
                    continue;
                }
                if !column.is_present(k) {
                    return Err(does_not_fit(&column.name, "NULL", "a column that takes none"));
                }
                let written = match (&column.values, field.kind) {
                    (Values::I32(v), _) => field.write_whole(v[k].into(), image),
                    (Values::I64(v), _) => field.write_whole(v[k], image),
                    (Values::F32(v), Kind::Float) => field.put(&v[k].to_le_bytes(), image),
                    (Values::F64(v), Kind::Double) => field.put(&v[k].to_le_bytes(), image),
                    (Values::Text(v), Kind::Fixed(_) | Kind::Variable(_)) => {
                        field.write_text(v.get(k), image)
                    }
                    _ => return Err(mismatch(&column.name, "a record")),
                };
                written.map_err(|_| {
                    let value = value_text(&column.value(k));
                    does_not_fit(&column.name, value, &format!("{:?}", field.kind))
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
