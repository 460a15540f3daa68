//! What processes that share a run could not do together, before they start.

use inrush_engines::mix::adds_or_changes;
use inrush_rows::plan::{
    DriveSegment, InputWay, Phase, RolePlan, RunPlan, Schedule, Segment, SharePlan, Work,
};

/// What the planner refuses with a remedy; a plan may come from elsewhere.
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
    let roles = segment.roles.iter().flat_map(|role| of_role(plan, role));
    repeats.into_iter().chain(roles).collect()
}

fn of_role(plan: &RunPlan, role: &RolePlan) -> Vec<String> {
    let called = |name: &str| plan.operations.iter().find(|op| op.name == name);
    let changing =
        role.operations.iter().filter_map(|w| called(&w.operation)).filter(|op| adds_or_changes(op));
    let mut found: Vec<String> = changing
        .map(|op| {
            format!("role {}: what {} does to rows is known to its own process alone", role.name, op.name)
        })
        .collect();
    if matches!(role.schedule, Schedule::Samples { .. }) {
        found.push(format!("role {}: the parts of a sample are of one process", role.name));
    }
    if let Work::Rows { dump, input, .. } = &role.work {
        if dump.is_some() || input.as_ref().is_some_and(|of| of.way == InputWay::Parsed) {
            found.push(format!("role {}: its rows are read from files, one after the other", role.name));
        }
    }
    if role.operations.iter().filter_map(|w| called(&w.operation)).any(|op| op.dump.is_some()) {
        found.push(format!("role {}: its calls write one file after the other", role.name));
    }
    if role.queue_calls.is_some() {
        found.push(format!("role {}: queue_calls is of one process's queue", role.name));
    }
    found
}
