//! What is wrong with dumps, and with what is read from them, before a run begins.

use inrush_rows::plan::{DumpPlan, OpKind, OpPlan, RolePlan, RowSource, RunPlan, Segment, Until, Work};

pub fn problems(plan: &RunPlan) -> Vec<String> {
    let mut found: Vec<String> = plan.operations.iter().filter_map(|op| of_operation(plan, op)).collect();
    for segment in &plan.segments {
        match segment {
            Segment::Drive(drive) => found.extend(drive.roles.iter().filter_map(|role| of_role(plan, role))),
            Segment::Proof { label, proofs } => {
                let named = proofs.iter().filter_map(|p| Some((p.dump.as_deref()?, p.table)));
                let wrong = named.filter_map(|(name, table)| of_source(plan, name, table));
                found.extend(wrong.map(|why| format!("segment {label}: {why}")));
            }
            _ => {}
        }
    }
    found
}

fn of_operation(plan: &RunPlan, op: &OpPlan) -> Option<String> {
    let dump = op.dump.as_ref()?;
    let why = match plan.tables.get(dump.table).map(|table| &table.source) {
        _ if op.kind != OpKind::Extract || op.range.is_some() => "only an extract without a range is a dump",
        None => "there is no such table",
        Some(RowSource::Files { .. }) => "rows of files are not dumped; they lie in files",
        Some(RowSource::Generated { .. }) if dump.bounds.windows(2).any(|ends| ends[0] > ends[1]) => {
            "its bounds do not ascend"
        }
        Some(RowSource::Generated { .. }) => return None,
    };
    Some(format!("operation {}: dump: {why}", op.name))
}

/// A file is written by one call, and every file by some call.
fn of_role(plan: &RunPlan, role: &RolePlan) -> Option<String> {
    if let Work::Rows { dump: Some(name), table, .. } = &role.work {
        return of_source(plan, name, *table).map(|why| format!("role {}: {why}", role.name));
    }
    let called = role.operations.iter().find_map(|w| Some((w, dump_of(plan, &w.operation)?)));
    let (weighted, dump) = called?;
    let whole = matches!(role.work, Work::Calls { count } if count == dump.files());
    (role.operations.len() > 1 || !whole || role.until != Until::Work {}).then(|| {
        let (name, files) = (&weighted.operation, dump.files());
        format!("role {}: {name} is a dump into {files} files: call it so often, and nothing else", role.name)
    })
}

fn of_source(plan: &RunPlan, name: &str, table: usize) -> Option<String> {
    match dump_of(plan, name) {
        None => Some(format!("there is no dump {name}")),
        Some(dump) if dump.table != table => Some(format!("dump {name} is of another table")),
        Some(_) => None,
    }
}

fn dump_of<'a>(plan: &'a RunPlan, name: &str) -> Option<&'a DumpPlan> {
    plan.operations.iter().find(|op| op.name == name)?.dump.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};

    fn plan(change: impl FnOnce(&mut Value)) -> RunPlan {
        let mut plan = json!({
            "version": 1, "run_id": "r", "study": "s", "seed": 1, "epoch_ns": 0,
            "target": {"engine": "null", "url": ""},
            "tables": [{"name": "t", "stream": "t", "source": {"kind": "generated", "series": 1, "period_ns": 1},
                "columns": [{"name": "k", "type": "i64", "wire": "", "gen": {"kind": "sequence", "start": 1, "step": 1}}]}],
            "operations": [{"name": "out", "kind": "extract", "method": "rows", "table": 0, "params": [],
                "dump": {"table": 0, "folder": "d", "name": "out", "bounds": [0, 5, 9]}}],
            "segments": [
                {"kind": "drive", "label": "out", "phase": "measure", "limit_ns": 9, "roles": [{"name": "out",
                    "operations": [{"operation": "out", "weight": 1}], "sessions": 1, "depth": 1,
                    "schedule": {"kind": "closed", "think_ns": 0}, "work": {"kind": "calls", "count": 2}, "until": {"kind": "work"}}]},
                {"kind": "proof", "label": "out", "proofs": [
                    {"table": 0, "first_row": 0, "rows": 9, "screen": "", "items": [], "dump": "out"}]}],
            "record": {"interval_ns": 1, "flush_ns": 1}, "watch": {"every_ns": 0, "processes": {}}
        });
        change(&mut plan);
        serde_json::from_value(plan).expect("a plan")
    }

    #[test]
    fn a_dump_is_called_once_for_each_of_its_files() {
        assert_eq!(problems(&plan(|_| ())), Vec::<String>::new());
        for count in [1, 3] {
            let found = problems(&plan(|p| p["segments"][0]["roles"][0]["work"]["count"] = count.into()));
            assert_eq!(found, ["role out: out is a dump into 2 files: call it so often, and nothing else"]);
        }
    }

    #[test]
    fn what_is_no_dump_is_said() {
        let found = |change: fn(&mut Value)| problems(&plan(change)).remove(0);
        assert!(found(|p| p["operations"][0]["kind"] = "query".into()).contains("only an extract"));
        assert!(found(|p| p["operations"][0]["dump"]["bounds"] = json!([9, 5, 0])).contains("ascend"));
        assert!(found(|p| p["operations"][0]["dump"]["table"] = 1.into()).contains("no such table"));
        let unknown = found(|p| p["segments"][1]["proofs"][0]["dump"] = "in".into());
        assert_eq!(unknown, "segment out: there is no dump in");
        let rows = |p: &mut Value| {
            p["segments"][0]["roles"][0]["work"] =
                json!({"kind": "rows", "table": 0, "first_row": 0, "rows": 9, "batch_rows": 1, "dump": "in"});
        };
        assert_eq!(found(rows), "role out: there is no dump in");
    }
}
