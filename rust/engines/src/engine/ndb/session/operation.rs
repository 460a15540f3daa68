//! An operation of a session: which rows of which table, and how parameters become images of them.

use std::ffi::c_int;

use crate::engine::ndb::address::Address;
use crate::engine::ndb::connection::{Opened, Refused};
use crate::engine::record_call::{bind, placed, unset};
use crate::engine::{Answer, Context, OpId};
use inrush_rows::encode::record::{Images, Record};
use inrush_rows::error::Error;
use inrush_rows::plan::{OpKind, RowCall};
use inrush_rows::rows::Value;

/// What the plan says of it, before there is a session.
pub struct Asked {
    pub table: String,
    pub record: Record,
    pub does: RowCall,
    /// Rows of a call.
    pub rows: usize,
    /// A batch of rows in place of parameters.
    pub is_batch: bool,
    keeps: bool,
    /// Fields that a call sets or reads.
    fields: Vec<usize>,
    /// By parameter: its field, and the row that it is a value of; `None`: of all rows.
    params: Vec<(usize, Option<usize>)>,
}

pub struct Operation {
    pub access: c_int,
    pub record: Record,
    pub does: RowCall,
    pub rows: usize,
    /// Encodes batches.
    pub images: Option<Images>,
    /// Its answers are judged.
    pub keeps: bool,
    /// Of a row's values.
    pub value_bytes: u64,
    params: Vec<(usize, Option<usize>)>,
    answer: Answer,
    /// Rows that the last answers did not need.
    spare: Vec<Vec<Value>>,
}

impl Asked {
    /// `None` for an operation that others are members of.
    pub fn of(ctx: &Context, op: OpId) -> Result<Option<Asked>, Error> {
        let plan = ctx.op(op);
        let refuse = |why: String| Error::Plan(format!("operation {}: {why}", plan.name));
        if plan.kind == OpKind::Together {
            return Ok(None);
        }
        let table = plan.table.and_then(|at| ctx.plan.tables.get(at));
        let table = table.ok_or_else(|| refuse("ndb needs the table of the plan that it is on".into()))?;
        let record = Record::of(table)?;
        let all: Vec<usize> = (0..record.fields.len()).collect();
        if plan.kind == OpKind::Insert {
            let (does, rows, is_batch) = (RowCall::Insert, 1, true);
            let (table, fields, params) = (table.name.clone(), all, Vec::new());
            return Ok(Some(Asked { table, record, does, rows, is_batch, keeps: false, fields, params }));
        }
        let call = plan.directives.as_ref().and_then(|directives| directives.record.as_deref());
        let call = call.ok_or_else(|| refuse("ndb needs `record` of its directives".into()))?;
        if call.columns.len() != plan.params.len() {
            let (columns, params) = (call.columns.len(), plan.params.len());
            return Err(refuse(format!("`record` names {columns} columns for {params} parameters")));
        }
        let (params, rows) = placed(&record, &call.columns).map_err(&refuse)?;
        if let Some(key) = unset(table, &record, &params) {
            return Err(refuse(format!("`record` sets no {key}, which is a column of the key")));
        }
        let fields = match call.does {
            RowCall::Read => all,
            _ => {
                let mut set: Vec<usize> = params.iter().map(|(field, _)| *field).collect();
                set.sort_unstable();
                set.dedup();
                set
            }
        };
        let keeps = !plan.holds.is_empty();
        let (table, does) = (call.table.clone(), call.does);
        Ok(Some(Asked { table, record, does, rows, is_batch: false, keeps, fields, params }))
    }
}

impl Operation {
    pub fn new(asked: Asked, opened: &Opened, address: &Address) -> Result<Operation, Refused> {
        let Asked { table, mut record, does, rows, is_batch, keeps, fields, params } = asked;
        let access = opened.access(address.parts(&table).1, &mut record, &fields)?;
        let images = is_batch.then(|| Images::of(record.clone()));
        let names = record.fields.iter().map(|field| field.name.clone()).collect();
        let value_bytes = fields.iter().map(|&at| u64::from(record.fields[at].kind.bytes())).sum();
        let row = || vec![Value::Null; record.fields.len()];
        let spare = if does == RowCall::Read { (0..rows).map(|_| row()).collect() } else { Vec::new() };
        let answer = Answer { names, rows: Vec::with_capacity(rows) };
        Ok(Operation { access, does, rows, images, keeps, value_bytes, params, answer, spare, record })
    }

    /// Of one row that must be there already.
    pub fn changes_one(&self) -> bool {
        self.rows == 1 && matches!(self.does, RowCall::Update | RowCall::Delete)
    }

    /// Writes the values of a call into images of its rows. An error says what does not fit.
    #[inline]
    pub fn bind(&self, params: &[Value], keys: &mut [u8]) -> Result<(), String> {
        bind(&self.record, &self.params, self.rows, params, keys)
    }

    /// The rows that were read, but those that are not there; that of a key which a call names twice comes once.
    #[inline]
    pub fn answer(&mut self, read: &[u8], absent: &[u8]) -> &Answer {
        self.spare.append(&mut self.answer.rows);
        let images = read.chunks_exact(self.record.bytes as usize).take(self.rows);
        for (image, _) in images.zip(absent).filter(|(_, absent)| **absent == 0) {
            let mut row = self.spare.pop().expect("there are as many as a call has rows");
            self.record.read(image, &mut row);
            let again = self.rows > 1 && self.answer.rows.contains(&row);
            if again { &mut self.spare } else { &mut self.answer.rows }.push(row);
        }
        &self.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_rows::plan::TablePlan;

    fn record() -> (TablePlan, Record) {
        let columns =
            ["a", "b", "c"].map(|name| serde_json::json!({"name": name, "type": "u32", "wire": "Unsigned"}));
        let table: TablePlan = serde_json::from_value(serde_json::json!({"name": "t", "stream": "t",
            "columns": columns, "identity": ["a", "b"],
            "source": {"kind": "generated", "series": 1, "period_ns": 1}}))
        .expect("it is written here");
        let record = Record::of(&table).expect("they are numbers");
        (table, record)
    }

    fn names(of: &str) -> Vec<String> {
        of.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn values_stand_in_the_images_of_their_rows_and_come_back_without_those_that_are_not_there() {
        let (_, record) = record();
        let (params, rows) = placed(&record, &names("a b b")).unwrap();
        let row = || vec![Value::Null; 3];
        let mut operation = Operation {
            access: 0,
            does: RowCall::Read,
            rows,
            images: None,
            keeps: true,
            value_bytes: 12,
            params,
            answer: Answer { names: names("a b c").into(), rows: Vec::new() },
            spare: vec![row(), row()],
            record,
        };
        let mut images = vec![0u8; 2 * operation.record.bytes as usize];
        operation.bind(&[Value::I64(7), Value::I64(1), Value::I64(2)], &mut images).unwrap();
        let of = |b: i64| vec![Value::I64(7), Value::I64(b), Value::I64(0)];
        assert_eq!(operation.answer(&images, &[0, 0]).rows, [of(1), of(2)]);
        assert_eq!(operation.answer(&images, &[1, 0]).rows, [of(2)]);
        assert!(operation.answer(&images, &[1, 1]).rows.is_empty());
        assert_eq!(operation.answer(&images, &[0, 0]).rows, [of(1), of(2)], "rows are used again");
        operation.bind(&[Value::I64(7), Value::I64(2), Value::I64(2)], &mut images).unwrap();
        assert_eq!(
            operation.answer(&images, &[0, 0]).rows,
            [of(2)],
            "a key that a call names twice has one row"
        );
        assert!(operation.bind(&[Value::I64(7)], &mut images).unwrap_err().contains("1 parameters for 3"));
        let wrong = operation.bind(&[Value::I64(-7), Value::I64(1), Value::I64(2)], &mut images);
        assert!(wrong.unwrap_err().starts_with("column a: -7 does not fit"));
    }
}
