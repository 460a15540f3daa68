//! Columns of a table ready to be filled: their generators compiled, what they remember, and the order of filling.

use crate::plan::{ColumnPlan, LogicalType};
use crate::rows::compile::{share, ColumnGenerator, CompiledColumn, Setting};
use crate::rows::hash::key;
use crate::rows::integers::IntGenerator;
use crate::rows::not_finite::NotFiniteShares;
use crate::rows::remembered::Room;

pub(super) struct Ready {
    pub(super) name: String,
    pub(super) ty: LogicalType,
    pub(super) compiled: CompiledColumn,
    pub(super) null: Option<Null>,
    pub(super) not_finite: Option<NotFiniteShares>,
}

pub(super) struct Null {
    pub(super) key: u64,
    /// In 2^-32.
    pub(super) below: u64,
}

/// In the order of the table.
pub(super) fn ready(setting: &Setting) -> Result<Vec<Ready>, String> {
    let Setting { table, seed, .. } = *setting;
    let column = |(at, plan): (usize, &ColumnPlan)| {
        let below = share("null_ppm", plan.null_ppm)?;
        let null_key = key(seed, &[&table.stream, &plan.name, "null"]);
        Ok(Ready {
            name: plan.name.clone(),
            ty: plan.ty,
            compiled: setting.column(at)?,
            null: (below > 0).then_some(Null { key: null_key, below }),
            not_finite: NotFiniteShares::of(table, plan, seed)?,
        })
    };
    table.columns.iter().enumerate().map(column).collect()
}

/// Counters keep what they draw by series while there is room; what grows with one keeps the same.
pub(super) fn remember(columns: &mut [Ready], series: u64, mut room: Room) {
    for column in columns.iter_mut() {
        if let ColumnGenerator::Integers { int_generator: IntGenerator::Counter(counter), .. } =
            &mut column.compiled.column_generator
        {
            counter.remember(series, &mut room);
        }
    }
    for c in 0..columns.len() {
        let ColumnGenerator::Integers { int_generator: IntGenerator::Excess { of, .. }, .. } =
            &columns[c].compiled.column_generator
        else {
            continue;
        };
        let ColumnGenerator::Integers { int_generator: IntGenerator::Counter(source), .. } =
            &columns[*of].compiled.column_generator
        else {
            continue;
        };
        let remembered = source.remembered.clone();
        if let ColumnGenerator::Integers { int_generator: IntGenerator::Excess { excess, .. }, .. } =
            &mut columns[c].compiled.column_generator
        {
            excess.counter.remembered = remembered;
        }
    }
}

/// Depth first; `problems` has refused circles.
pub(super) fn sources_first(columns: &[Ready]) -> Vec<usize> {
    fn visit(c: usize, columns: &[Ready], order: &mut Vec<usize>) {
        if !order.contains(&c) {
            columns[c].compiled.sources.iter().for_each(|&source| visit(source, columns, order));
            order.push(c);
        }
    }
    let mut order = Vec::with_capacity(columns.len());
    (0..columns.len()).for_each(|c| visit(c, columns, &mut order));
    order
}
