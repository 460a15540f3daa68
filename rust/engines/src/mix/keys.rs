//! Keys of calls: columns of the rows that they draw, as parameters.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::row_draw::{RowDraw, Share};
use super::{draw_at, drawn};
use crate::engine::Ticket;
use inrush_rows::error::Error;
use inrush_rows::plan::{KeyLaw, KeyPlan, LogicalType, OpPlan, ParamGen, RowSource, RunPlan};
use inrush_rows::rows::changes::{changes, Changes};
use inrush_rows::rows::hash::key;
use inrush_rows::rows::order::Ordered;
use inrush_rows::rows::{Alone, Generators, Picked, RowGen, Value};

/// What is wrong with the keys of an operation, before anything is made.
pub fn key_problems(plan: &RunPlan, op: &OpPlan) -> Vec<String> {
    let say = |why: String| format!("operation {}: {why}", op.name);
    let mut found = Vec::new();
    for keys in &op.keys {
        match plan.tables.get(keys.table).map(|table| &table.source) {
            None => found.push(say(format!("keys: table {} of {}", keys.table, plan.tables.len()))),
            Some(RowSource::Files { .. }) => {
                found.push(say("keys: rows of files are not made again; keys are of generated tables".into()))
            }
            Some(RowSource::Generated { .. }) => {
                found.extend(RowDraw::new(keys, 0, Share::WHOLE).err().map(|e| say(e.to_string())))
            }
        }
    }
    for param in &op.params {
        let (ParamGen::Key { keys, column, .. } | ParamGen::Changed { keys, column }) = &param.gen else {
            continue;
        };
        let table = op.keys.get(*keys).and_then(|keys| plan.tables.get(keys.table));
        let columns = table.map(|table| table.columns.iter().find(|c| &c.name == column));
        match columns {
            None => found.push(say(format!("parameter {}: there are no keys {keys}", param.name))),
            Some(None) => {
                found.push(say(format!("parameter {}: its table has no column {column}", param.name)))
            }
            // What is written may be NULL.
            Some(Some(of)) if of.null_ppm > 0 && op.does.is_none() => found.push(say(format!(
                "parameter {}: column {column} can be NULL, which no row is found by",
                param.name
            ))),
            Some(Some(_)) => {}
        }
    }
    found
}

/// A parameter: `column` of the row of one of the draws.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    param: usize,
    column: usize,
    /// Of its set, in order.
    draw: usize,
    of: Of,
}

/// Whose value of the column a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The row's own.
    Row,
    /// Of the row that a change has its values of.
    Donor,
    /// The number of the change.
    Version,
}

/// The parameters of an operation that are of rows of one table, as all sessions share them.
pub struct KeySet {
    plan: KeyPlan,
    order_seed: u64,
    generator: Arc<RowGen>,
    /// By draw: the first parameter that is of its row, which names the draw.
    places: Vec<u64>,
    /// By draw.
    wanted: Vec<Wanted>,
    /// Rows are drawn in order of keys: they are found at once there, and all orders of a table have the same.
    ordered: Option<Arc<Ordered>>,
    /// What a call makes of its row; None: it changes none.
    changes: Option<Changes>,
}

/// A [`KeySet`] in one session.
pub struct SessionKeys {
    set: Arc<KeySet>,
    draw: RowDraw,
    picked: Picked,
    /// Where all that is asked for are numbers of one row, and of its donor, that need no other: how each is made, in the
    /// order of `wanted`. Else empty.
    alone: Vec<Alone>,
    /// The first row that was drawn last.
    row: u64,
}

impl KeySet {
    /// `params`: (place of the parameter, its draw, its column), in order of places. The rows of the first sweep, whatever
    /// the order of the table.
    pub fn of_series(
        generators: &Generators,
        table: usize,
        params: &[(usize, u64, &str)],
    ) -> Result<KeySet, Error> {
        let rows = generators.of(table)?.series();
        let plan = KeyPlan { table, first_row: 0, rows, by: KeyLaw::Uniform {} };
        KeySet::of_numbers(generators, &plan, params)
    }

    /// `params`: as in `of_series`. Errors: rows that the table does not have, columns that it does not have.
    pub fn new(
        generators: &Generators,
        plan: &KeyPlan,
        params: &[(usize, u64, &str)],
    ) -> Result<KeySet, Error> {
        let mut set = KeySet::of_numbers(generators, plan, params)?;
        set.ordered = set.generator.ordered().cloned();
        if let Some(rows) = set.ordered.as_ref().map(|ordered| ordered.events().rows()) {
            let end = plan.first_row.saturating_add(plan.rows);
            if end > rows {
                return Err(Error::Plan(format!("keys: rows up to {end}; the table has {rows}")));
            }
        }
        Ok(set)
    }

    fn of_numbers(
        generators: &Generators,
        plan: &KeyPlan,
        params: &[(usize, u64, &str)],
    ) -> Result<KeySet, Error> {
        let generator = generators.of(plan.table)?;
        let run = generators.plan();
        let table = &run.tables[plan.table];
        let mut draws: HashMap<u64, usize> = HashMap::new();
        let mut set = KeySet {
            plan: plan.clone(),
            order_seed: key(run.seed, &[&table.stream, "keys"]),
            generator,
            places: Vec::new(),
            wanted: Vec::with_capacity(params.len()),
            ordered: None,
            changes: None,
        };
        for &(param, name, column) in params {
            let column = set
                .generator
                .position(column)
                .ok_or_else(|| Error::Plan(format!("keys: table {} has no column {column}", table.name)))?;
            let draw = *draws.entry(name).or_insert_with(|| {
                set.places.push(param as u64);
                set.places.len() - 1
            });
            set.wanted.push(Wanted { param, column, draw, of: Of::Row });
        }
        set.wanted.sort_by_key(|wanted| wanted.draw);
        RowDraw::new(plan, set.order_seed, Share::WHOLE)?;
        Ok(set)
    }

    /// The same, of calls that change rows: these parameters are what a change makes of the row.
    pub fn changing(mut self, changes: Changes, params: &[usize]) -> Result<KeySet, Error> {
        if self.places.len() != 1 {
            return Err(Error::Plan("keys: a call that changes rows changes one".into()));
        }
        for wanted in self.wanted.iter_mut().filter(|wanted| params.contains(&wanted.param)) {
            wanted.of = if changes.version == Some(wanted.column) { Of::Version } else { Of::Donor };
        }
        self.changes = Some(changes);
        Ok(self)
    }

    pub fn generator(&self) -> &RowGen {
        &self.generator
    }

    /// Whether call `ticket` draws `row` in a session of a role with so many.
    pub fn draws(&self, seed: u64, ticket: Ticket, row: u64, sessions: u64) -> bool {
        let of = |session| {
            let draw = RowDraw::new(&self.plan, self.order_seed, Share { session, sessions });
            draw.is_ok_and(|draw| draw.of_turn(ticket, || self.drawn(seed, ticket, 0)) == row)
        };
        match self.plan.by {
            // Of the session with the range that the row is in.
            KeyLaw::OwnRange {} => row.checked_sub(self.plan.first_row).is_some_and(|place| {
                let session = (u128::from(place) * u128::from(sessions) / u128::from(self.plan.rows)) as u64;
                [session, session + 1].into_iter().any(|session| session < sessions && of(session))
            }),
            _ => of(0),
        }
    }

    /// What a call draws for one of its rows.
    #[inline]
    fn drawn(&self, seed: u64, ticket: Ticket, at: usize) -> u64 {
        drawn(seed ^ drawn(draw_at(ticket, self.places[at])))
    }

    pub fn in_session(self: &Arc<KeySet>, share: Share) -> Result<SessionKeys, Error> {
        let columns: Vec<usize> = self.wanted.iter().map(|wanted| wanted.column).collect();
        let is_one = self.ordered.is_none() && self.places.len() == 1;
        let alone = columns.iter().map(|&column| self.generator.alone(column)).collect::<Option<Vec<_>>>();
        Ok(SessionKeys {
            alone: alone.filter(|_| is_one).unwrap_or_default(),
            set: Arc::clone(self),
            draw: RowDraw::new(&self.plan, self.order_seed, share)?,
            picked: Picked::new(&self.generator, &columns),
            row: 0,
        })
    }
}

impl SessionKeys {
    /// The row that the last call was of.
    #[inline]
    pub fn row(&self) -> u64 {
        self.row
    }

    /// Of rows that are drawn once each, how many there are.
    #[inline]
    pub fn once(&self) -> Option<u64> {
        matches!(self.set.plan.by, KeyLaw::EachOnce {}).then_some(self.set.plan.rows)
    }

    /// Writes the parameters of `ticket`; allocates nothing once texts have had their length. version: of a call that
    /// changes its row.
    pub fn fill(&mut self, seed: u64, ticket: Ticket, version: u64, out: &mut [Value]) {
        let set = &*self.set;
        if !self.alone.is_empty() {
            self.row = self.draw.of_turn(ticket, || set.drawn(seed, ticket, 0));
            let donor = set.changes.as_ref().map_or(self.row, |changes| changes.donor(self.row, version));
            for (wanted, alone) in set.wanted.iter().zip(&self.alone) {
                out[wanted.param] = match wanted.of {
                    Of::Row => alone.value(self.row),
                    Of::Donor => alone.value(donor),
                    Of::Version => version_value(set.generator.ty(wanted.column), version),
                };
            }
            return;
        }
        if let Some(changes) = &set.changes {
            self.row = self.draw.of_turn(ticket, || set.drawn(seed, ticket, 0));
            self.picked.pick(&set.generator, &[self.row, changes.donor(self.row, version)]);
            for wanted in &set.wanted {
                match wanted.of {
                    Of::Row => self.picked.write(wanted.column, 0, &mut out[wanted.param]),
                    Of::Donor => self.picked.write(wanted.column, 1, &mut out[wanted.param]),
                    Of::Version => {
                        out[wanted.param] = version_value(set.generator.ty(wanted.column), version)
                    }
                }
            }
            return;
        }
        let mut wanted = set.wanted.iter().peekable();
        let mut rows = [0u64; Picked::ROWS];
        for (batch, places) in set.places.chunks(Picked::ROWS).enumerate() {
            let turns =
                ticket.wrapping_mul(set.places.len() as u64).wrapping_add((batch * Picked::ROWS) as u64);
            for ((row, &place), turn) in rows.iter_mut().zip(places).zip(turns..) {
                *row = self.draw.of_turn(turn, || drawn(seed ^ drawn(draw_at(ticket, place))));
                if let Some(ordered) = &set.ordered {
                    *row = ordered.events().number(ordered.events().by_key(*row));
                }
            }
            if batch == 0 {
                self.row = rows[0];
            }
            self.picked.pick(&set.generator, &rows[..places.len()]);
            let first = batch * Picked::ROWS;
            while let Some(w) = wanted.next_if(|w| w.draw < first + places.len()) {
                self.picked.write(w.column, w.draw - first, &mut out[w.param]);
            }
        }
    }
}

/// The parameters of an operation that are of rows of tables: a set for each table and law.
pub(super) fn key_sets(generators: &Generators, operation: &OpPlan) -> Result<Vec<Arc<KeySet>>, Error> {
    let refuse = |why: String| Error::Plan(format!("operation {}: {why}", operation.name));
    // (rows, its parameters): those of the plan by their place, those of series by their table.
    type Params<'a> = Vec<(usize, u64, &'a str)>;
    let mut stated: Vec<Params> = operation.keys.iter().map(|_| Vec::new()).collect();
    let mut of_series: BTreeMap<usize, Params> = BTreeMap::new();
    for (place, param) in operation.params.iter().enumerate() {
        match &param.gen {
            ParamGen::Changed { keys, column } => stated
                .get_mut(*keys)
                .ok_or_else(|| refuse(format!("parameter {}: there are no keys {keys}", param.name)))?
                .push((place, 0, column)),
            ParamGen::Key { keys, draw, column } => stated
                .get_mut(*keys)
                .ok_or_else(|| refuse(format!("parameter {}: there are no keys {keys}", param.name)))?
                .push((place, u64::from(*draw), column)),
            // Each draws for itself, also where two are of one table.
            ParamGen::OfSeries { table, column } => {
                of_series.entry(*table).or_default().push((place, place as u64, column))
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (plan, params) in operation.keys.iter().zip(&stated).filter(|(_, params)| !params.is_empty()) {
        let mut set = KeySet::new(generators, plan, params).map_err(|e| refuse(e.to_string()))?;
        if changes(operation) {
            let of = Changes::of(generators.plan(), plan.table).map_err(refuse)?;
            let of = of.expect("this operation changes rows of it");
            let changed = |place: &usize| matches!(operation.params[*place].gen, ParamGen::Changed { .. });
            let places: Vec<usize> = (0..operation.params.len()).filter(changed).collect();
            set = set.changing(of, &places).map_err(|e| refuse(e.to_string()))?;
        }
        let nullable =
            |column: &str| set.generator().position(column).is_some_and(|c| set.generator().is_nullable(c));
        // What is written may be NULL.
        let by = params.iter().find(|(_, _, column)| operation.does.is_none() && nullable(column));
        if let Some((_, _, column)) = by {
            return Err(refuse(format!("keys: column {column} can be NULL, which no row is found by")));
        }
        found.push(Arc::new(set));
    }
    for (table, params) in &of_series {
        let set = KeySet::of_series(generators, *table, params).map_err(|e| refuse(e.to_string()))?;
        found.push(Arc::new(set));
    }
    Ok(found)
}

/// As it is stored.
fn version_value(ty: LogicalType, version: u64) -> Value {
    match ty {
        LogicalType::U64 => Value::U64(version),
        _ => Value::I64(version as i64),
    }
}

#[cfg(test)]
mod tests;
