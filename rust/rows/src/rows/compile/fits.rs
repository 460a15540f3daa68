//! Whether numbers that are counted from row to row fit their columns: that depends on how many rows there are.

use super::params::last_that_fits;
use crate::plan::{GenPlan, RunPlan};

/// Columns that rows of this plan would leave: those that it writes in batches or inserts one by one.
pub fn counted_problems(plan: &RunPlan) -> Vec<String> {
    let problems_of = |(table, spec): (usize, &crate::plan::TablePlan)| {
        let calls = plan.operations.iter().filter(move |op| op.does.is_some() && op.table == Some(table));
        let drawn = calls.flat_map(|op| &op.keys).map(|keys| keys.first_row.saturating_add(keys.rows));
        let rows = drawn.chain(plan.written_rows(table)).max().unwrap_or(0);
        let problem = |column: &crate::plan::ColumnPlan| {
            let Some(GenPlan::Sequence { start, step }) = column.gen else { return None };
            let last = last_that_fits(column.ty, start, step)?;
            let (stream, name, ty) = (&spec.stream, &column.name, column.ty.name());
            rows.checked_sub(1).filter(|&needed| needed > last).map(|_| {
                format!(
                    "{stream}.{name}: type {ty} holds {} rows from {start} on by steps of {step}, and the plan has \
                     {rows}; choose i64 or u64, or fewer rows",
                    last + 1
                )
            })
        };
        spec.columns.iter().filter_map(problem).collect::<Vec<_>>()
    };
    plan.tables.iter().enumerate().flat_map(problems_of).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::LogicalType;

    fn plan(ty: &str, start: i64, step: i64, loaded: u64, inserted: u64) -> RunPlan {
        let column = json!({"name": "k", "type": ty, "wire": "", "gen": {"kind": "sequence", "start": start, "step": step}});
        let insert = json!({"name": "put", "kind": "execute", "table": 0, "does": "insert", "params": [],
            "keys": [{"table": 0, "first_row": loaded, "rows": inserted, "by": {"kind": "each_once"}}]});
        let role = json!({"name": "load", "operations": [{"operation": "put", "weight": 1}], "sessions": 1, "depth": 1,
            "schedule": {"kind": "closed", "think_ns": 0},
            "work": {"kind": "rows", "table": 0, "first_row": 0, "rows": loaded, "batch_rows": 10}, "until": {"kind": "work"}});
        let drive =
            json!({"kind": "drive", "label": "load", "phase": "load", "roles": [role], "limit_ns": 1});
        let plan = json!({"version": 1, "run_id": "", "study": "", "seed": 1, "epoch_ns": 0,
            "target": {"engine": "null", "url": ""}, "operations": if inserted > 0 { vec![insert] } else { vec![] },
            "tables": [{"name": "t", "stream": "t", "columns": [column], "identity": ["k"],
                "source": {"kind": "generated", "series": 1, "period_ns": 1}}],
            "segments": [drive], "record": {"interval_ns": 1, "flush_ns": 1},
            "watch": {"every_ns": 0, "processes": {}}});
        serde_json::from_value(plan).expect("it is written here")
    }

    #[test]
    fn the_last_row_that_fits_is_taken_and_the_next_one_is_refused() {
        const ALL: u64 = 1 << 32;
        for (ty, start, step, most) in [
            ("u32", 0, 1, ALL),
            ("u32", 1, 1, ALL - 1),
            ("u32", 7, 2, (ALL - 7).div_ceil(2)),
            ("u32", 10, -3, 4),
            ("i32", i64::from(i32::MIN), 1, ALL),
            ("i32", 0, -1, (1 << 31) + 1),
        ] {
            assert_eq!(
                counted_problems(&plan(ty, start, step, most, 0)),
                Vec::<String>::new(),
                "{ty} {start} {step}"
            );
            let said = counted_problems(&plan(ty, start, step, most + 1, 0)).join("; ");
            assert!(said.contains(&format!("t.k: type {ty} holds {most} rows from {start} on")), "{said}");
            let said = counted_problems(&plan(ty, start, step, most - 2, 3)).join("; ");
            assert!(
                said.contains(&format!("the plan has {}", most + 1)),
                "rows that are inserted by key count: {said}"
            );
        }
        assert!(counted_problems(&plan("i64", 0, 1, u64::MAX, 0)).is_empty());
        assert!(counted_problems(&plan("u32", 5, 0, u64::MAX, 0)).is_empty(), "it stays where it is");
    }

    #[test]
    fn a_first_value_that_does_not_fit_is_refused_with_its_type() {
        assert_eq!(last_that_fits(LogicalType::U32, -1, 1), None);
        assert_eq!(last_that_fits(LogicalType::I32, 1 << 31, -1), None);
        let plan = plan("u32", -1, 1, 1, 0);
        let said = super::super::problems(&plan.tables[0], 1, 0).join("; ");
        assert!(said.contains("start is -1, which is not a value of type u32"), "{said}");
    }
}
