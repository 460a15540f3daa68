//! From the identity of a returned row back to its number.

use std::collections::HashMap;

use super::columns::{Columns, Value};
use super::generate::RowGen;
use super::spec::GenPlan;
use crate::error::Error;
use crate::plan::{LogicalType, RowSource, TablePlan};

/// Series by the values of the identity's other columns, sweep by its time.
///
/// Holds one entry per series: made once per operation that promises `rows_regenerate`.
pub struct SeriesIndex {
    keys: Vec<usize>,
    /// Column, and µs in a unit of its type.
    time: Option<(usize, i64)>,
    series_of: HashMap<Vec<Key>, u64>,
    series: u64,
    epoch_us: i64,
    period_us: i64,
}

/// A value of an identity as every engine returns it: 64 bits or text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Bits(u64),
    Text(String),
}

impl SeriesIndex {
    /// Errors: a table without identity, or whose identity does not name one row.
    pub fn new(generator: &RowGen, table: &TablePlan, epoch_ns: i64) -> Result<SeriesIndex, Error> {
        let refuse = |why: &str| Error::Plan(format!("table {}: rows_regenerate: {why}", table.name));
        let RowSource::Generated { series, period_ns } = table.source else {
            return Err(refuse("its rows come from files"));
        };
        let mut keys = Vec::new();
        let mut time = None;
        for name in &table.identity {
            let at = table.columns.iter().position(|c| &c.name == name);
            let at = at.ok_or_else(|| refuse("its identity names a column it does not have"))?;
            match &table.columns[at].gen {
                Some(GenPlan::SweepTime { jitter_ms }) if *jitter_ms * 1_000_000 < period_ns => {
                    let unit_us = if table.columns[at].ty == LogicalType::TimeMs { 1_000 } else { 1 };
                    time = Some((at, unit_us))
                }
                Some(GenPlan::SweepTime { .. }) => {
                    return Err(refuse("its time jitters by more than a period"))
                }
                _ => keys.push(at),
            }
        }
        if table.identity.is_empty() {
            return Err(refuse("it has no identity"));
        }
        let mut one: Columns = generator.columns(1);
        let mut series_of = HashMap::with_capacity(series as usize);
        for row in 0..series {
            generator.fill(row, 1, &mut one);
            let values: Option<Vec<Key>> = keys.iter().map(|&at| key(&one.columns[at].value(0))).collect();
            let values =
                values.ok_or_else(|| refuse("a column of its identity is neither a number nor a text"))?;
            if series_of.insert(values, row).is_some() {
                return Err(refuse("two of its series have the same identity"));
            }
        }
        let (epoch_us, period_us) = (epoch_ns.div_euclid(1_000), (period_ns / 1_000) as i64);
        Ok(SeriesIndex { keys, time, series_of, series, epoch_us, period_us: period_us.max(1) })
    }

    /// `named` gives the returned value of a table column; `None` if no row has this identity.
    pub fn row_of<'v>(&self, named: impl Fn(usize) -> Option<&'v Value>) -> Option<u64> {
        let values: Option<Vec<Key>> = self.keys.iter().map(|&at| key(named(at)?)).collect();
        let series = *self.series_of.get(&values?)?;
        let sweep = match self.time {
            None => 0,
            Some((at, unit_us)) => {
                let at_us = match named(at)? {
                    Value::TimeMs(ms) => ms * 1_000,
                    Value::TimeUs(us) => *us,
                    // Engines that keep times as numbers keep the column's own unit.
                    Value::I64(units) => units * unit_us,
                    _ => return None,
                };
                u64::try_from((at_us - self.epoch_us).div_euclid(self.period_us)).ok()?
            }
        };
        Some(sweep * self.series + series)
    }
}

fn key(value: &Value) -> Option<Key> {
    Some(match value {
        Value::I64(v) => Key::Bits(*v as u64),
        Value::U64(v) => Key::Bits(*v),
        Value::Bool(v) => Key::Bits(u64::from(*v)),
        Value::Text(v) => Key::Text(v.clone()),
        _ => return None,
    })
}
