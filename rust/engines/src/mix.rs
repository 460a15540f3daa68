//! Which operation a ticket is, and with which parameters: functions of (seed, role, ticket).

mod keys;
mod ranges;
mod row_draw;

use std::sync::Arc;

use crate::engine::{Ns, OpId, Ticket};
use crate::schedule::arrival_seed;
use inrush_rows::error::Error;
use inrush_rows::plan::{
    GenPlan, LogicalType, OpPlan, ParamGen, ParamPlan, RolePlan, RowCall, RunPlan, Weighted,
};
use inrush_rows::rows::changes::{Versions, MOST_VERSION};
use inrush_rows::rows::hash::hash;
use inrush_rows::rows::{Generators, Interval, Value};
use inrush_rows::types::Holds;

use keys::key_sets;

pub use keys::{key_problems, KeySet, SessionKeys};
pub use ranges::{range_problems, Ranges};
pub use row_draw::{RowDraw, Share};

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
        let draw = below(drawn(self.seed ^ drawn(ticket)), self.total);
        let at = self.choices.partition_point(|&(_, upto)| upto <= draw);
        self.choices[at].0
    }
}

/// Makes the parameters of one operation for any ticket, in one session.
pub struct Params {
    shared: Arc<Shared>,
    keys: Vec<SessionKeys>,
    /// Calls of the operation before the ticket 0 of now: in earlier segments and repetitions.
    before: u64,
}

/// What all sessions of a role share of the parameters of one operation.
pub struct Shared {
    param_generators: Vec<ParamGenerator>,
    keys: Vec<Arc<KeySet>>,
    ranges: Option<Arc<Ranges>>,
    seed: u64,
    epoch_ns: i64,
    /// Of calls that change rows.
    versions: Option<Versions>,
    /// The highest version that their column holds.
    most: u64,
}

enum ParamGenerator {
    /// Written once.
    Constant(Value),
    NowMinus {
        ty: LogicalType,
        ns: i64,
    },
    Uniform {
        ty: LogicalType,
        from: i64,
        span: u64,
    },
    /// By the call's number: an end of the piece that it writes to its file.
    Piece {
        ty: LogicalType,
        bounds: Vec<i64>,
    },
    /// The session knows it, or one of its key sets: it is written over this.
    Later,
}

impl Shared {
    pub fn new(generators: &Generators, op: OpId, role: &str) -> Result<Arc<Shared>, Error> {
        let plan = generators.plan();
        let operation = &plan.operations[op];
        let versions = Versions::of(plan, operation);
        // What a call that changes the table draws is known without its role: a row of it is judged by it.
        let of = if adds_or_changes(operation) {
            operation.name.clone()
        } else {
            format!("{role}/{}", operation.name)
        };
        let param_generators = operation.params.iter().map(|p| param_generator(generators, operation, p));
        Ok(Arc::new(Shared {
            param_generators: param_generators.collect::<Result<_, _>>()?,
            keys: key_sets(generators, operation)?,
            ranges: Ranges::of(generators, operation)?.map(Arc::new),
            seed: arrival_seed(plan.seed, &of),
            epoch_ns: plan.epoch_ns,
            most: versions.map_or(u64::MAX, |_| most_version(plan, operation)),
            versions,
        }))
    }

    /// Whether call number `call` of the operation, of all segments, draws `row` in a role of so many sessions.
    pub fn draws(&self, call: u64, row: u64, sessions: u64) -> bool {
        self.keys.iter().any(|keys| keys.draws(self.seed, call, row, sessions))
    }

    pub fn in_session(self: &Arc<Shared>, share: Share) -> Result<Params, Error> {
        let keys = self.keys.iter().map(|set| set.in_session(share)).collect::<Result<_, _>>()?;
        Ok(Params { shared: Arc::clone(self), keys, before: 0 })
    }
}

impl Params {
    /// So many calls were made before ticket 0.
    pub fn begin(&mut self, before: u64) {
        self.before = before;
    }

    /// Row and version of the call that was filled last, of one that adds or changes a row: 0 where it only adds or deletes
    /// it. An error says that there are no more rows, or that the column of versions holds no more.
    pub fn changed(&self, ticket: Ticket) -> Result<(u64, u64), String> {
        let keys = self.keys.first().ok_or("a call by key has keys")?;
        if let Some(rows) = keys.once().filter(|&rows| self.before.wrapping_add(ticket) >= rows) {
            return Err(format!(
                "its keys are {rows} rows, each once, and all have had their call; raise keys.rows, or say `calls`"
            ));
        }
        let version = self.version(ticket);
        if version > self.shared.most {
            return Err(format!(
                "version {version} of a row is more than its column holds ({}); give it the type u64",
                self.shared.most
            ));
        }
        Ok((keys.row(), version))
    }

    fn version(&self, ticket: Ticket) -> u64 {
        let call = self.before.wrapping_add(ticket);
        self.shared.versions.map_or(0, |versions| versions.version(call))
    }

    /// Room for `fill`: one value per parameter, those that never change written.
    pub fn values(&self) -> Vec<Value> {
        let value = |param_generator: &ParamGenerator| match param_generator {
            ParamGenerator::Constant(value) => value.clone(),
            _ => Value::Null,
        };
        self.shared.param_generators.iter().map(value).collect()
    }

    /// `due_ns` counts from the start of the measured phase; data time is `epoch + due`. `out` comes from `values`.
    pub fn fill(&mut self, ticket: Ticket, due_ns: Ns, out: &mut [Value]) {
        let shared = &*self.shared;
        for (place, (param_generator, value)) in shared.param_generators.iter().zip(&mut *out).enumerate() {
            match param_generator {
                ParamGenerator::NowMinus { ty, ns } => {
                    let at_ns = shared.epoch_ns.saturating_add(due_ns as i64).saturating_sub(*ns);
                    *value = time_value(*ty, at_ns);
                }
                ParamGenerator::Uniform { ty, from, span } => {
                    let draw = drawn(shared.seed ^ drawn(draw_at(ticket, place as u64)));
                    *value = integer_value(*ty, from.wrapping_add(below(draw, *span) as i64))
                }
                ParamGenerator::Piece { ty, bounds } => {
                    // `dump_problems` has refused more calls than there are pieces.
                    *value = integer_value(*ty, bounds[ticket as usize]);
                }
                ParamGenerator::Constant(_) | ParamGenerator::Later => {}
            }
        }
        let (call, version) = (self.before.wrapping_add(ticket), self.version(ticket));
        for keys in &mut self.keys {
            keys.fill(shared.seed, call, version, out);
        }
        if let Some(ranges) = &shared.ranges {
            ranges.fill(&ranges.interval(shared.seed, ticket), out);
        }
    }

    /// The ranges that calls of the operation ask for, if it has any.
    pub fn ranges(&self) -> Option<Arc<Ranges>> {
        self.shared.ranges.clone()
    }

    /// The range that a call asks for.
    pub fn interval(&self, ticket: Ticket) -> Option<Interval> {
        self.shared.ranges.as_ref().map(|ranges| ranges.interval(self.shared.seed, ticket))
    }
}

/// Where the draw of a parameter stands: no two calls share one. Calls are 64 places apart, and what a longer list
/// needs beyond lies far from all of them: else a list of keys would hold those of the call before, still cached.
fn draw_at(ticket: Ticket, place: u64) -> u64 {
    ticket.wrapping_mul(64).wrapping_add(place % 64) ^ ((place / 64) << 48)
}

fn param_generator(
    generators: &Generators,
    operation: &OpPlan,
    param: &ParamPlan,
) -> Result<ParamGenerator, Error> {
    let name = &operation.name;
    let refuse = |why: String| Error::Plan(format!("operation {name}, parameter {}: {why}", param.name));
    let bounds = || match &operation.dump {
        Some(dump) if dump.bounds.len() > 1 => Ok(dump.bounds.as_slice()),
        _ => Err(refuse("it is an end of a piece, and there is no dump in pieces".into())),
    };
    match &param.gen {
        ParamGen::Constant { value } => Ok(ParamGenerator::Constant(
            constant(param.ty, value).ok_or_else(|| refuse(format!("{value} is not a {:?}", param.ty)))?,
        )),
        ParamGen::NowMinus { ns } => match param.ty {
            LogicalType::TimeMs | LogicalType::TimeUs => {
                Ok(ParamGenerator::NowMinus { ty: param.ty, ns: *ns })
            }
            other => Err(refuse(format!("now_minus gives a time, not {other:?}"))),
        },
        ParamGen::Uniform { from, to } if from <= to => Ok(ParamGenerator::Uniform {
            ty: param.ty,
            from: *from,
            span: (*to as i128 - *from as i128 + 1).min(u64::MAX as i128) as u64,
        }),
        ParamGen::Uniform { from, to } => Err(refuse(format!("from {from} lies above to {to}"))),
        ParamGen::OfSeries { .. }
        | ParamGen::Key { .. }
        | ParamGen::Changed { .. }
        | ParamGen::RangeKey { .. } => Ok(ParamGenerator::Later),
        ParamGen::SeriesAt { table, column, series } => {
            Ok(ParamGenerator::Constant(series_value(generators, *table, column, *series).map_err(refuse)?))
        }
        ParamGen::RangeFrom {} | ParamGen::RangeTo {} => match param.ty {
            LogicalType::TimeMs | LogicalType::TimeUs => Ok(ParamGenerator::Later),
            other => Err(refuse(format!("the ends of a range are times, not {other:?}"))),
        },
        ParamGen::PieceFrom {} => Ok(ParamGenerator::Piece { ty: param.ty, bounds: bounds()?.to_vec() }),
        ParamGen::PieceTo {} => Ok(ParamGenerator::Piece { ty: param.ty, bounds: bounds()?[1..].to_vec() }),
        ParamGen::SeenUntil {} => match param.ty {
            LogicalType::TimeMs | LogicalType::TimeUs => Ok(ParamGenerator::Later),
            other => Err(refuse(format!("seen_until gives a time, not {other:?}"))),
        },
    }
}

/// Whether its calls add rows, change or delete them.
pub fn adds_or_changes(op: &OpPlan) -> bool {
    op.does.is_some_and(|does| does != RowCall::Read)
}

/// The highest version that the table of `op` holds.
fn most_version(plan: &RunPlan, op: &OpPlan) -> u64 {
    let columns = op.table.map_or(&[][..], |table| plan.tables[table].columns.as_slice());
    match columns.iter().find(|column| column.gen == Some(GenPlan::Version {})).map(|column| column.ty) {
        Some(LogicalType::U32) => u64::from(u32::MAX),
        Some(LogicalType::I32) => i32::MAX as u64,
        _ => MOST_VERSION,
    }
}

/// `column` of `table` for one series, in the first sweep.
fn series_value(generators: &Generators, table: usize, column: &str, series: u64) -> Result<Value, String> {
    let generator = generators.of(table).map_err(|e| e.to_string())?;
    let at = generator.position(column).ok_or_else(|| format!("its table has no column {column}"))?;
    if series >= generator.series() {
        return Err(format!("there is no series {series}; the table has {}", generator.series()));
    }
    Ok(generator.value(series, at))
}

fn constant(ty: LogicalType, value: &serde_json::Value) -> Option<Value> {
    Some(match ty.holds() {
        Holds::Truth => Value::Bool(value.as_bool()?),
        Holds::Unsigned(64) => Value::U64(value.as_u64()?),
        Holds::Signed(_) => Value::I64(value.as_i64()?),
        Holds::Unsigned(_) => {
            let (least, most) = ty.range()?;
            Value::I64(value.as_i64().filter(|value| (least..=most).contains(value))?)
        }
        Holds::Float(_) => Value::F64(value.as_f64()?),
        Holds::Time(1_000) => Value::TimeMs(value.as_i64()?),
        Holds::Time(_) => Value::TimeUs(value.as_i64()?),
        // In the one spelling that engines without a type of their own find.
        Holds::Spelled => {
            let mut form = Vec::new();
            (ty.forms()?.push)(value.as_str()?.as_bytes(), &mut form)?;
            Value::Text(String::from_utf8(form).ok()?)
        }
        Holds::Text if ty != LogicalType::Json => Value::Text(value.as_str()?.to_owned()),
        Holds::Text | Holds::Bytes | Holds::Bits | Holds::List(_) => return None,
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

/// SplitMix64's first draw of a seed.
fn drawn(seed: u64) -> u64 {
    hash(seed, 1)
}

fn below(draw: u64, n: u64) -> u64 {
    ((draw as u128 * n as u128) >> 64) as u64
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
    fn a_constant_uuid_is_bound_in_the_one_spelling_that_is_stored() {
        let stored = Some(Value::Text("00112233-4455-6677-8899-aabbccddeeff".into()));
        for written in ["00112233-4455-6677-8899-AABBCCDDEEFF", "{00112233445566778899aabbccddeeff}"] {
            assert_eq!(constant(LogicalType::Uuid, &written.into()), stored, "{written}");
        }
        assert_eq!(constant(LogicalType::Uuid, &"00112233".into()), None);
    }

    #[test]
    fn the_first_places_are_drawn_as_they_were_before_there_were_lists() {
        assert_eq!(draw_at(7, 3), 7 * 64 + 3);
    }
}
