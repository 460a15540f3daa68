//! Which operation a ticket is, and with which parameters: functions of (seed, role, ticket).

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::{Ns, OpId, Ticket};
use crate::error::Error;
use crate::plan::{LogicalType, ParamGen, ParamPlan, RolePlan, RunPlan, Weighted};
use crate::rows::{Columns, RowGen, Value};
use crate::schedule::arrival_seed;

/// Series values kept per `OfSeries` parameter: all of them up to this many, a seeded sample beyond.
const SERIES_SAMPLE: u64 = 65_536;

/// Chooses the operation of each ticket of a role by weight.
#[derive(Clone)]
pub struct Mix {
    /// (operation, cumulative weight)
    choices: Vec<(OpId, u64)>,
    total: u64,
    seed: u64,
}

impl Mix {
    pub fn new(plan: &RunPlan, role: &RolePlan) -> Result<Mix, Error> {
        let mut choices = Vec::with_capacity(role.operations.len());
        let mut total = 0u64;
        for Weighted { operation, weight } in &role.operations {
            total += *weight as u64;
            choices.push((operation_id(plan, operation)?, total));
        }
        if total == 0 {
            return Err(Error::Plan(format!("role {} has no operation with a weight", role.name)));
        }
        Ok(Mix { choices, total, seed: arrival_seed(plan.seed, &format!("{}/mix", role.name)) })
    }

    /// The operations this role may issue.
    pub fn operations(&self) -> Vec<OpId> {
        self.choices.iter().map(|&(op, _)| op).collect()
    }

    #[inline]
    pub fn operation(&self, ticket: Ticket) -> OpId {
        if self.choices.len() == 1 {
            return self.choices[0].0;
        }
        let draw = below(splitmix(self.seed ^ splitmix(ticket)), self.total);
        let at = self.choices.partition_point(|&(_, upto)| upto <= draw);
        self.choices[at].0
    }
}

/// Makes the parameters of one operation for any ticket.
pub struct Params {
    makers: Vec<Maker>,
    seed: u64,
    epoch_ns: i64,
}

enum Maker {
    Constant(Value),
    NowMinus {
        ty: LogicalType,
        ns: u64,
    },
    /// Shared by all parameters of the same column: a list of keys is as many parameters as it has keys.
    OneOf(Arc<[Value]>),
    Uniform {
        ty: LogicalType,
        from: i64,
        span: u64,
    },
    /// The session knows it, and writes it over this.
    Later,
}

impl Params {
    pub fn new(plan: &RunPlan, op: OpId, role: &str) -> Result<Params, Error> {
        let operation = &plan.operations[op];
        let mut pools = Pools::new();
        let makers = operation
            .params
            .iter()
            .map(|p| maker(plan, &operation.name, p, &mut pools))
            .collect::<Result<_, _>>()?;
        Ok(Params {
            makers,
            seed: arrival_seed(plan.seed, &format!("{role}/{}", operation.name)),
            epoch_ns: plan.epoch_ns,
        })
    }

    /// Room for `fill`: one value per parameter.
    pub fn values(&self) -> Vec<Value> {
        vec![Value::Null; self.makers.len()]
    }

    /// `due_ns` counts from the start of the measured phase; data time is `epoch + due`.
    pub fn fill(&self, ticket: Ticket, due_ns: Ns, out: &mut [Value]) {
        for (place, (maker, value)) in self.makers.iter().zip(out).enumerate() {
            let draw = || splitmix(self.seed ^ splitmix(draw_at(ticket, place as u64)));
            match maker {
                Maker::Constant(constant) => value.clone_from(constant),
                Maker::NowMinus { ty, ns } => {
                    let at_ns = self.epoch_ns + due_ns as i64 - *ns as i64;
                    *value = time_value(*ty, at_ns);
                }
                Maker::OneOf(values) => {
                    value.clone_from(&values[below(draw(), values.len() as u64) as usize])
                }
                Maker::Later => {}
                Maker::Uniform { ty, from, span } => {
                    *value = integer_value(*ty, from.wrapping_add(below(draw(), *span) as i64))
                }
            }
        }
    }
}

/// Where the draw of a parameter stands: no two calls share one. Calls are 64 places apart, and what a longer list
/// needs beyond lies far from all of them: else a list of keys would hold those of the call before, still cached.
fn draw_at(ticket: Ticket, place: u64) -> u64 {
    ticket.wrapping_mul(64).wrapping_add(place % 64) ^ ((place / 64) << 48)
}

/// (table, column) -> its values over the series.
type Pools = HashMap<(usize, String), Arc<[Value]>>;

fn maker(plan: &RunPlan, operation: &str, param: &ParamPlan, pools: &mut Pools) -> Result<Maker, Error> {
    let refuse = |why: String| Error::Plan(format!("operation {operation}, parameter {}: {why}", param.name));
    match &param.gen {
        ParamGen::Constant { value } => Ok(Maker::Constant(
            constant(param.ty, value).ok_or_else(|| refuse(format!("{value} is not a {:?}", param.ty)))?,
        )),
        ParamGen::NowMinus { ns } => match param.ty {
            LogicalType::TimeMs | LogicalType::TimeUs => Ok(Maker::NowMinus { ty: param.ty, ns: *ns }),
            other => Err(refuse(format!("now_minus gives a time, not {other:?}"))),
        },
        ParamGen::Uniform { from, to } if from <= to => Ok(Maker::Uniform {
            ty: param.ty,
            from: *from,
            span: (*to as i128 - *from as i128 + 1).min(u64::MAX as i128) as u64,
        }),
        ParamGen::Uniform { from, to } => Err(refuse(format!("from {from} lies above to {to}"))),
        ParamGen::OfSeries { table, column } => {
            let key = (*table, column.clone());
            if let Some(pool) = pools.get(&key) {
                return Ok(Maker::OneOf(pool.clone()));
            }
            let pool: Arc<[Value]> = series_values(plan, *table, column, operation)?.into();
            pools.insert(key, pool.clone());
            Ok(Maker::OneOf(pool))
        }
        ParamGen::SeriesAt { table, column, series } => {
            Ok(Maker::Constant(series_value(plan, *table, column, *series, operation)?))
        }
        ParamGen::SeenUntil {} => match param.ty {
            LogicalType::TimeMs | LogicalType::TimeUs => Ok(Maker::Later),
            other => Err(refuse(format!("seen_until gives a time, not {other:?}"))),
        },
    }
}

/// `column` of `table` in the first sweep: its generator, and the column's place.
fn series_column(
    plan: &RunPlan,
    table: usize,
    column: &str,
    operation: &str,
) -> Result<(RowGen, usize), Error> {
    let refuse = |why: String| Error::Plan(format!("operation {operation}: series, {column}: {why}"));
    let table = plan.tables.get(table).ok_or_else(|| refuse(format!("there is no table {table}")))?;
    let at = table
        .columns
        .iter()
        .position(|c| c.name == column)
        .ok_or_else(|| refuse(format!("table {} has no such column", table.name)))?;
    Ok((RowGen::new(table, plan.seed, plan.epoch_ns)?, at))
}

fn series_value(
    plan: &RunPlan,
    table: usize,
    column: &str,
    series: u64,
    operation: &str,
) -> Result<Value, Error> {
    let (generator, at) = series_column(plan, table, column, operation)?;
    if series >= generator.series() {
        return Err(Error::Plan(format!(
            "operation {operation}: there is no series {series}; the table has {}",
            generator.series()
        )));
    }
    let mut one: Columns = generator.columns(1);
    generator.fill(series, 1, &mut one);
    Ok(one.columns[at].value(0))
}

/// Values of `column` over the series of `table`, in the first sweep.
fn series_values(plan: &RunPlan, table: usize, column: &str, operation: &str) -> Result<Vec<Value>, Error> {
    let (generator, at) = series_column(plan, table, column, operation)?;
    let series = generator.series().max(1);
    let count = series.min(SERIES_SAMPLE);
    let mut one: Columns = generator.columns(1);
    Ok((0..count)
        .map(|k| {
            let row =
                if series <= SERIES_SAMPLE { k } else { below(splitmix(plan.seed ^ splitmix(k)), series) };
            generator.fill(row, 1, &mut one);
            one.columns[at].value(0)
        })
        .collect())
}

fn constant(ty: LogicalType, value: &serde_json::Value) -> Option<Value> {
    Some(match ty {
        LogicalType::Bool => Value::Bool(value.as_bool()?),
        LogicalType::I16 | LogicalType::I32 | LogicalType::I64 => Value::I64(value.as_i64()?),
        LogicalType::U64 => Value::U64(value.as_u64()?),
        LogicalType::F32 | LogicalType::F64 => Value::F64(value.as_f64()?),
        LogicalType::TimeMs => Value::TimeMs(value.as_i64()?),
        LogicalType::TimeUs => Value::TimeUs(value.as_i64()?),
        LogicalType::Text | LogicalType::Date | LogicalType::Uuid => Value::Text(value.as_str()?.to_owned()),
        LogicalType::ListF64 | LogicalType::ListI64 => return None,
    })
}

fn time_value(ty: LogicalType, at_ns: i64) -> Value {
    match ty {
        LogicalType::TimeUs => Value::TimeUs(at_ns.div_euclid(1_000)),
        _ => Value::TimeMs(at_ns.div_euclid(1_000_000)),
    }
}

fn integer_value(ty: LogicalType, value: i64) -> Value {
    match ty {
        LogicalType::U64 => Value::U64(value as u64),
        LogicalType::TimeMs => Value::TimeMs(value),
        LogicalType::TimeUs => Value::TimeUs(value),
        LogicalType::F32 | LogicalType::F64 => Value::F64(value as f64),
        _ => Value::I64(value),
    }
}

pub fn operation_id(plan: &RunPlan, name: &str) -> Result<OpId, Error> {
    plan.operations
        .iter()
        .position(|o| o.name == name)
        .ok_or_else(|| Error::Plan(format!("there is no operation {name}")))
}

fn below(draw: u64, n: u64) -> u64 {
    ((draw as u128 * n as u128) >> 64) as u64
}

fn splitmix(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_calls_share_a_draw_however_long_their_lists_are() {
        let drawn: HashSet<u64> = (0..100).flat_map(|t| (0..1000).map(move |p| draw_at(t, p))).collect();
        assert_eq!(drawn.len(), 100 * 1000);
    }

    #[test]
    fn the_first_places_are_drawn_as_they_were_before_there_were_lists() {
        assert_eq!(draw_at(7, 3), 7 * 64 + 3);
    }
}
