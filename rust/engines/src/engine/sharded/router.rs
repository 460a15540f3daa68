//! Where the calls of one operation go: by the key among their parameters, or row by row.

use inrush_rows::error::Error;
use inrush_rows::placement::{route, Placement, Rule};
use inrush_rows::plan::{ColumnPlan, OpKind, OpPlan, TablePlan};
use inrush_rows::rows::{Column, Columns, Value, Values};

use crate::engine::shared::clear;
use crate::engine::Payload;

pub struct Router {
    placement: Placement,
    /// Parameter of each column of the key; empty of rows.
    places: Vec<usize>,
    /// The key of the call in hand.
    key: Columns,
    /// The rows of each shard.
    rows: Vec<Columns>,
    numbers: Vec<u64>,
    shard_of: Vec<u32>,
}

/// A batch by shard: its rows, and how each server wants them.
pub struct Parts(pub Vec<(Columns, Payload)>);

impl Router {
    /// key: columns that place the rows of `table`, each with its type in the database.
    pub fn new(
        table: &TablePlan,
        op: &OpPlan,
        key: &[(String, String)],
        shards: usize,
    ) -> Result<Router, Error> {
        let none = |column: &String, what: &str| {
            Error::Plan(format!("operation {}: no {what} is {column}, by which rows are placed", op.name))
        };
        let of_key = |(name, _): &(String, String)| {
            let found = table.columns.iter().find(|column| &column.name == name);
            found.cloned().ok_or_else(|| none(name, "column"))
        };
        let columns: Vec<ColumnPlan> = key.iter().map(of_key).collect::<Result<_, Error>>()?;
        let is_rows = op.kind == OpKind::Insert;
        let place = |column: &ColumnPlan| {
            let found = op.params.iter().position(|param| param.name == column.name);
            found.ok_or_else(|| none(&column.name, "parameter"))
        };
        Ok(Router {
            placement: Placement::new(
                &Rule::default(),
                if is_rows { &table.columns } else { &columns },
                key,
                shards as u32,
            )?,
            places: if is_rows {
                Vec::new()
            } else {
                columns.iter().map(place).collect::<Result<_, Error>>()?
            },
            key: Columns::new(1, columns.iter().map(|c| Column::new(c.name.clone(), c.ty)).collect()),
            rows: if is_rows { (0..shards).map(|_| Columns::of(table)).collect() } else { Vec::new() },
            numbers: Vec::new(),
            shard_of: Vec::new(),
        })
    }

    /// Of a call with these parameters.
    pub fn shard(&mut self, params: &[Value]) -> Result<usize, Error> {
        for (column, &place) in self.key.columns.iter_mut().zip(&self.places) {
            column.values.truncate(0);
            if !put(&mut column.values, &params[place]) {
                return Err(Error::Plan(format!("key {}: {:?} places no row", column.name, params[place])));
            }
        }
        self.placement.shards_of(&self.key, &mut self.numbers, &mut self.shard_of)?;
        Ok(self.shard_of[0] as usize)
    }

    /// The rows of each shard, in their order.
    pub fn split(&mut self, rows: &Columns) -> Result<&[Columns], Error> {
        self.placement.shards_of(rows, &mut self.numbers, &mut self.shard_of)?;
        self.rows.iter_mut().for_each(clear);
        route(rows, &self.shard_of, &mut self.rows);
        Ok(&self.rows)
    }
}

/// False: a value of another type.
fn put(to: &mut Values, value: &Value) -> bool {
    match (to, value) {
        (Values::I32(to), Value::I64(value)) => to.push(*value as i32),
        (Values::I32(to), Value::Bool(value)) => to.push(i32::from(*value)),
        (Values::I64(to), Value::I64(value) | Value::TimeMs(value) | Value::TimeUs(value)) => to.push(*value),
        (Values::I64(to), Value::U64(value)) => to.push(*value as i64),
        (Values::Text(to), Value::Text(value)) => to.push(value.as_bytes()),
        _ => return false,
    }
    true
}
