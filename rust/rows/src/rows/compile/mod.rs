//! From generators as they stand in a plan to compiled columns; every problem of a table at once.

mod drawn;
mod events;
mod fits;
mod integers;
mod labels;
mod lists;
mod params;
mod series;
mod sources;
mod texts;
mod times;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::catalogue;
use super::chunk_files::ChunkFiles;
use super::hash::key;
use super::integers::IntGenerator;
use super::lists::ListGenerator;
use super::not_finite;
use super::order::Ordered;
use super::text::TextGenerator;
use crate::plan::{ColumnPlan, GenPlan, LogicalType, RowSource, TablePlan};
use events::{chunk_files, ordered};
pub use fits::counted_problems;
use labels::labels_problem;
pub use params::share;
use params::{bits_of, check_bounds, kind_name, Result};
pub use sources::MAX_NARROW_SOURCES;

pub enum ColumnGenerator {
    /// Values are integers times `unit` where the column is a float.
    Integers {
        int_generator: IntGenerator,
        unit: f64,
    },
    Text(TextGenerator),
    List(ListGenerator),
}

pub struct CompiledColumn {
    pub column_generator: ColumnGenerator,
    /// Columns that must be filled before.
    pub sources: Vec<usize>,
}

/// What a generator may know besides its parameters.
pub struct Setting<'a> {
    pub table: &'a TablePlan,
    pub seed: u64,
    pub epoch_ns: i64,
    pub series: u64,
    pub period_ns: u64,
    pub by_name: BTreeMap<&'a str, usize>,
    /// Which event each row is, where the plan says so.
    pub ordered: Option<Arc<Ordered>>,
    /// The files that its rows lie in, where the plan says so.
    pub chunk_files: Option<Arc<ChunkFiles>>,
    /// Whether its series differ in rate.
    has_rates: bool,
}

impl<'a> Setting<'a> {
    pub fn new(table: &'a TablePlan, seed: u64, epoch_ns: i64) -> Result<Setting<'a>> {
        let RowSource::Generated { series, period_ns, ref events } = table.source else {
            return Err("its rows come from files; there is nothing to generate".into());
        };
        if series == 0 {
            return Err("series is 0; a table has at least one".into());
        }
        let by_name = table.columns.iter().enumerate().map(|(i, c)| (c.name.as_str(), i)).collect();
        let chunk_files = chunk_files(events.as_ref(), seed, series)?;
        let ordered = events
            .as_ref()
            .map(|plan| ordered(table, plan, seed, series, period_ns))
            .transpose()?
            .map(Arc::new);
        let has_rates = events.as_ref().is_some_and(|plan| plan.rates.is_some());
        Ok(Setting { table, seed, epoch_ns, series, period_ns, by_name, ordered, chunk_files, has_rates })
    }

    pub fn column(&self, at: usize) -> Result<CompiledColumn> {
        let column = &self.table.columns[at];
        let Some(plan) = &column.gen else {
            return Err("has no generator; give it `gen`".into());
        };
        share("null_ppm", column.null_ppm)?;
        if let Some(problem) = not_finite::problem(column) {
            return Err(problem);
        }
        let path = [self.table.stream.as_str(), column.name.as_str()];
        let sources = self.sources(at, plan)?;
        Ok(CompiledColumn { column_generator: self.column_generator(column.ty, plan, &path, at)?, sources })
    }

    pub(super) fn column_generator(
        &self,
        ty: LogicalType,
        plan: &GenPlan,
        path: &[&str],
        at: usize,
    ) -> Result<ColumnGenerator> {
        let name = kind_name(plan);
        let kind = catalogue::kind(&name);
        let types = kind.types();
        if !types.contains(&ty) {
            let types: Vec<&str> = types.into_iter().map(LogicalType::name).collect();
            return Err(format!("`{name}` cannot fill type {}; it fills {}", ty.name(), types.join(", ")));
        }
        match ty {
            LogicalType::Uuid if matches!(plan, GenPlan::Foreign { of, .. } if **of != GenPlan::Uuid {}) => {
                Err("of is no `uuid`: a column of UUIDs refers to one of UUIDs".into())
            }
            LogicalType::Enum if labels_problem(plan).is_some() => {
                Err(labels_problem(plan).unwrap_or_default())
            }
            text if text.is_text() => Ok(ColumnGenerator::Text(self.text(ty, plan, path)?)),
            list if list.is_list() => Ok(ColumnGenerator::List(self.list(ty, plan, path)?)),
            _ => {
                let bits = bits_of(ty, plan)?;
                let int_generator = self.int_generator(ty, plan, path, bits, Some(at))?;
                check_bounds(ty, &int_generator, bits)?;
                Ok(ColumnGenerator::Integers { int_generator, unit: 1.0 / (1u64 << bits) as f64 })
            }
        }
    }

    pub(super) fn key(&self, path: &[&str], purpose: &str) -> u64 {
        let path: Vec<&str> = path.iter().copied().chain([purpose]).collect();
        key(self.seed, &path)
    }
}

/// All problems of a table's generators, each with its column; empty when rows can be made.
pub fn problems(table: &TablePlan, seed: u64, epoch_ns: i64) -> Vec<String> {
    let placed = placed_problems(table, seed, epoch_ns).into_iter();
    placed
        .map(|(column, problem)| match column {
            Some(column) => format!("{}.{column}: {problem}", table.stream),
            None => format!("{}: {problem}", table.stream),
        })
        .collect()
}

/// The same, each with the name of its column; without one, of the whole table.
pub fn placed_problems(table: &TablePlan, seed: u64, epoch_ns: i64) -> Vec<(Option<String>, String)> {
    let setting = match Setting::new(table, seed, epoch_ns) {
        Ok(setting) => setting,
        Err(problem) => return vec![(None, problem)],
    };
    let twice = table.columns.iter().enumerate().filter(|(i, c)| setting.by_name[c.name.as_str()] != *i);
    let twice = twice.map(|(_, c)| (Some(c.name.clone()), "two columns have this name".to_string()));
    let generators = table.columns.iter().enumerate().filter_map(|(i, column): (usize, &ColumnPlan)| {
        setting.column(i).err().map(|problem| (Some(column.name.clone()), problem))
    });
    twice.chain(generators).collect()
}
