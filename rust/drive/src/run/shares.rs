//! What processes that share a run could not do together, before they start.

use inrush_engines::mix::adds_or_changes;
use inrush_rows::plan::{
    Assertion, DriveSegment, InputWay, OpKind, OpPlan, ParamGen, Phase, RolePlan, RowSource, RunPlan,
    Schedule, Segment, SharePlan, Work,
};

/// What the planner refuses with a remedy (`python/inrush/plan/clients.py`); a plan may come from elsewhere.
pub fn problems(plan: &RunPlan) -> Vec<String> {
    let Some(SharePlan { index, of }) = plan.share else { return Vec::new() };
    if index >= of {
        return vec![format!("share: process {index} of {of}; they are counted from 0")];
    }
    if of == 1 {
        return Vec::new();
    }
    let shared = plan.segments.iter().filter_map(|segment| match segment {
        Segment::Drive(drive) if drive.phase != Phase::Load => Some(drive),
        _ => None,
    });
    shared.flat_map(|segment| of_segment(plan, segment)).collect()
}

fn of_segment(plan: &RunPlan, segment: &DriveSegment) -> Vec<String> {
    let repeats = segment.repeat.is_some().then(|| {
        format!("segment {}: the processes of a run do not repeat one; `repeat` is for one", segment.label)
    });
    let written = written_in(plan, segment);
    let roles = segment.roles.iter().flat_map(|role| {
        let called = called_by(plan, role);
        let promises = called.into_iter().filter_map(|op| of_promises(op, &written).map(|why| (op, why)));
        let promises = promises.map(|(op, why)| format!("role {}: {}: {why}", role.name, op.name));
        of_role(plan, role).into_iter().chain(promises).collect::<Vec<String>>()
    });
    repeats.into_iter().chain(roles).collect()
}

/// Tables that get rows in a segment: what other processes write there is known to each when it has ended.
fn written_in(plan: &RunPlan, segment: &DriveSegment) -> Vec<usize> {
    let rows = segment.roles.iter().filter_map(|role| match role.work {
        Work::Rows { table, .. } => Some(table),
        _ => None,
    });
    let called = segment.roles.iter().flat_map(|role| called_by(plan, role));
    let inserts =
        called.filter(|op| op.kind == OpKind::Insert || adds_or_changes(op)).filter_map(|op| op.table);
    rows.chain(inserts).collect()
}

/// Operations of a role, and those that are asked together with them.
fn called_by<'a>(plan: &'a RunPlan, role: &RolePlan) -> Vec<&'a OpPlan> {
    let named = |name: &str| plan.operations.iter().find(|op| op.name == name);
    let whole = role.operations.iter().filter_map(|w| named(&w.operation));
    whole.flat_map(|op| std::iter::once(op).chain(op.members.iter().filter_map(|m| named(m)))).collect()
}

/// Why answers of an operation cannot be judged by what one process knows. written: meanwhile.
fn of_promises(op: &OpPlan, written: &[usize]) -> Option<&'static str> {
    op.holds.iter().find_map(|promise| match promise {
        Assertion::Freshness { .. } => Some("it waits for rows, which may be those of any process"),
        Assertion::CountBounds { table } if written.contains(table) => {
            Some("it promises counts of rows of all processes, which are written meanwhile")
        }
        Assertion::RowsRegenerate { table, .. } | Assertion::Asked { table, .. }
            if op.kind != OpKind::Insert && written.contains(table) =>
        {
            Some("its rows are written meanwhile, and it is judged by what its own process has written")
        }
        _ => None,
    })
}

/// A statement of a time before which rows of its table are deleted.
fn deletes_by_age(op: &OpPlan) -> bool {
    let is_age = |gen: &ParamGen| matches!(gen, ParamGen::NowMinus { .. });
    op.kind == OpKind::Execute && op.table.is_some() && op.params.iter().any(|param| is_age(&param.gen))
}

fn of_role(plan: &RunPlan, role: &RolePlan) -> Vec<String> {
    let called = called_by(plan, role);
    let changing = called.iter().filter(|op| adds_or_changes(op));
    let mut found: Vec<String> = changing
        .map(|op| {
            format!("role {}: what {} does to rows is known to its own process alone", role.name, op.name)
        })
        .collect();
    if matches!(role.schedule, Schedule::Samples { .. }) {
        found.push(format!("role {}: the parts of a sample are of one process", role.name));
    }
    if called.iter().any(|op| deletes_by_age(op)) {
        found.push(format!("role {}: rows are deleted by age, which one process does", role.name));
    }
    if let Work::Rows { table, dump, input, .. } = &role.work {
        let users = plan.tables.get(*table).is_some_and(|t| matches!(t.source, RowSource::Files { .. }));
        if users || dump.is_some() || input.as_ref().is_some_and(|of| of.way == InputWay::Parsed) {
            found.push(format!("role {}: its rows are read from files, one after the other", role.name));
        }
    }
    if called.iter().any(|op| op.dump.is_some()) {
        found.push(format!("role {}: its calls write one file after the other", role.name));
    }
    if role.queue_calls.is_some() {
        found.push(format!("role {}: queue_calls is of one process's queue", role.name));
    }
    found
}
