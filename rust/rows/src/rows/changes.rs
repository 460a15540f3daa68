//! Rows that calls by key insert, change and delete: which rows they may draw, and what a change makes of one.
//!
//! A changed row has the identity of its own, and in its columns that change the values of another row, its *donor*: a
//! function of seed, row and version. So no generator is needed for changed values, and a row that is read with its version
//! proves itself. A row as it was inserted has version 0 and its own values.

use super::hash::{hash, key};
use crate::plan::{GenPlan, OpPlan, ParamGen, RowCall, RowSource, RunPlan};

/// Rows of a table of which calls by key change some: so many are kept track of.
pub const MOST_ROWS: u64 = 10_000_000;

/// Versions beyond it are not told apart.
pub const MOST_VERSION: u64 = (1 << 46) - 1;

/// What calls by key do to one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// Rows of the table, from row 0 on, that there may be.
    pub rows: u64,
    /// The column that counts changes; None: rows come and go, and do not change.
    pub version: Option<usize>,
    /// By column: whether a change gives it the value of a donor.
    donated: Vec<bool>,
    key: u64,
}

impl Changes {
    /// None: no call by key changes the table. Errors: what cannot be kept track of.
    pub fn of(plan: &RunPlan, table: usize) -> Result<Option<Changes>, String> {
        let Some(spec) = plan.tables.get(table) else { return Ok(None) };
        let calls = || plan.operations.iter().filter(|op| op.does.is_some() && op.table == Some(table));
        if calls().all(|op| op.does == Some(RowCall::Read)) {
            return Ok(None);
        }
        if !matches!(spec.source, RowSource::Generated { events: None, .. }) {
            return Err(format!(
                "{}: rows that calls by key change are generated, sweep after sweep",
                spec.name
            ));
        }
        let drawn = calls().flat_map(|op| &op.keys).map(|keys| keys.first_row.saturating_add(keys.rows));
        let rows = drawn.chain(plan.written_rows(table)).max().unwrap_or(0);
        if rows > MOST_ROWS {
            return Err(format!(
                "{}: {rows} rows, of which calls by key change some; at most {MOST_ROWS}, as each is kept track of",
                spec.name
            ));
        }
        let version = spec.columns.iter().position(|column| column.gen == Some(GenPlan::Version {}));
        let mut donated = vec![false; spec.columns.len()];
        for (call, op) in calls().filter(|op| changes(op)).enumerate() {
            let mut own = vec![false; spec.columns.len()];
            for param in &op.params {
                if let ParamGen::Changed { column, .. } = &param.gen {
                    let at = spec.columns.iter().position(|c| &c.name == column);
                    own[at.ok_or_else(|| format!("{} has no column {column}", spec.name))?] = true;
                }
            }
            match version {
                Some(version) if own[version] => own[version] = false,
                _ => return Err(format!("operation {}: it does not set the version of the row", op.name)),
            }
            if call > 0 && own != donated {
                return Err(format!(
                    "operation {}: all calls that change rows of {} change the same columns",
                    op.name, spec.name
                ));
            }
            donated = own;
        }
        Ok(Some(Changes { rows, version, donated, key: key(plan.seed, &[&spec.stream, "changes"]) }))
    }

    /// Whether a change gives `column` a value of the donor.
    #[inline]
    pub fn is_donated(&self, column: usize) -> bool {
        self.donated[column]
    }

    /// The row that a row has its changed values of; itself as it was inserted.
    #[inline]
    pub fn donor(&self, row: u64, version: u64) -> u64 {
        if version == 0 {
            return row;
        }
        ((u128::from(hash(self.key ^ hash(self.key, row), version)) * u128::from(self.rows)) >> 64) as u64
    }
}

/// Whether its calls change columns of rows.
pub fn changes(op: &OpPlan) -> bool {
    matches!(op.does, Some(RowCall::Update | RowCall::Write))
}

/// The number of a call among all that change rows, of so many operations: no two share one, and none is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// Operations of the plan that change rows, and the place of this one among them.
    pub operations: u64,
    pub place: u64,
}

impl Versions {
    /// Of the calls of an operation; None: they change no row.
    pub fn of(plan: &RunPlan, op: &OpPlan) -> Option<Versions> {
        let mut changing = plan.operations.iter().filter(|op| changes(op));
        let place = changing.clone().position(|other| other.name == op.name)?;
        Some(Versions { operations: changing.by_ref().count() as u64, place: place as u64 })
    }

    #[inline]
    pub fn version(&self, call: u64) -> u64 {
        call.wrapping_mul(self.operations).wrapping_add(self.place + 1)
    }

    /// The call that made a version; None: it is one of another operation.
    #[inline]
    pub fn call(&self, version: u64) -> Option<u64> {
        let before = version.checked_sub(1)?;
        (before % self.operations == self.place).then_some(before / self.operations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_two_operations_are_no_two_alike_and_lead_back_to_their_calls() {
        let of = |place| Versions { operations: 2, place };
        let all: std::collections::HashSet<u64> =
            (0..100).flat_map(|call| [of(0).version(call), of(1).version(call)]).collect();
        assert_eq!(all.len(), 200);
        assert!(!all.contains(&0));
        for call in 0..100 {
            assert_eq!(of(1).call(of(1).version(call)), Some(call));
            assert_eq!(of(0).call(of(1).version(call)), None);
        }
        assert_eq!(of(0).call(0), None, "as it was inserted");
    }

    #[test]
    fn a_donor_is_a_row_of_the_table_and_another_for_each_version() {
        let changes = Changes { rows: 1000, version: Some(0), donated: vec![false], key: 5 };
        assert_eq!(changes.donor(7, 0), 7);
        let donors: Vec<u64> = (1..1000).map(|version| changes.donor(7, version)).collect();
        assert!(donors.iter().all(|&donor| donor < 1000));
        let different = donors.iter().collect::<std::collections::HashSet<_>>().len();
        assert!(different > 550, "{different} of 999: as many as independent draws have");
        let rows: std::collections::HashSet<u64> = (0..1000).map(|row| changes.donor(row, 3)).collect();
        assert!(rows.len() > 550, "{}", rows.len());
    }
}
