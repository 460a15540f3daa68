//! Columns that a column derives from.

use super::params::{is_wide, names_of, Result};
use super::Setting;
use crate::plan::GenPlan;
use crate::types::Holds;

/// 32-bit columns that one column derives from, at most: they are widened on the stack.
pub const MAX_NARROW_SOURCES: usize = 4;

impl Setting<'_> {
    /// Bounds of a source column's values.
    pub(super) fn bounds_of(&self, of: usize) -> Result<Option<(i64, i64)>> {
        let column = &self.table.columns[of];
        let plan = column.gen.as_ref().expect("source() asks for a generator");
        Ok(self.int_generator(column.ty, plan, &[&self.table.stream, &column.name], 0, Some(of))?.bounds())
    }

    pub(super) fn source(&self, name: &str, at: Option<usize>) -> Result<usize> {
        let Some(at) = at else {
            return Err(format!("`{name}`: a generator inside another cannot derive from a column"));
        };
        let Some(&of) = self.by_name.get(name) else {
            return Err(format!("of names `{name}`, which is not a column of the table"));
        };
        let column = &self.table.columns[of];
        let numbers = matches!(
            column.ty.holds(),
            Holds::Truth | Holds::Signed(_) | Holds::Unsigned(_) | Holds::Time(_)
        );
        if of == at || column.gen.is_none() || !numbers {
            return Err(format!(
                "of names `{name}`; it must be another, generated column of integers or times"
            ));
        }
        Ok(of)
    }

    /// Columns that a generator reads, after a check that no column derives from itself.
    pub(super) fn sources(&self, at: usize, plan: &GenPlan) -> Result<Vec<usize>> {
        let direct: Vec<usize> =
            names_of(plan).iter().map(|name| self.source(name, Some(at))).collect::<Result<_>>()?;
        let mut reached = direct.clone();
        let mut next = 0;
        while next < reached.len() {
            if reached[next] == at {
                return Err("derives from itself through other columns".into());
            }
            let plan = self.table.columns[reached[next]].gen.as_ref().expect("source() asks for a generator");
            let further = names_of(plan).into_iter().filter_map(|name| self.by_name.get(name).copied());
            for column in further {
                if !reached.contains(&column) {
                    reached.push(column);
                }
            }
            next += 1;
        }
        let narrow = direct.iter().filter(|&&c| !is_wide(self.table.columns[c].ty)).count();
        if narrow > MAX_NARROW_SOURCES {
            return Err(format!("derives from {narrow} columns of i32 or narrower, at most {MAX_NARROW_SOURCES}; make some i64"));
        }
        Ok(direct)
    }
}
