//! Roles of a segment as the plan has them: what their sessions will share, and what the plan cannot mean.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::RoleStage;
use crate::drive::page::PageBarrier;
use crate::drive::role_queue::RoleQueue;
use crate::drive::source::Source;
use crate::drive::work::{Batch, RoleWork};
use crate::drive::DriveTarget;
use inrush_engines::engine::{Context, OpId};
use inrush_engines::mix::{operation_id, Mix, Shared};
use inrush_rows::error::Error;
use inrush_rows::plan::{DriveSegment, InputWay, OpKind, Phase, RolePlan, Work};
use inrush_rows::rows::Generators;

pub fn roles<'a>(
    drive_target: &'a DriveTarget<'a>,
    segment: &'a DriveSegment,
    queues: &'a [RoleQueue],
    halt: &Arc<AtomicBool>,
) -> Result<Vec<RoleStage<'a>>, Error> {
    let plan = &drive_target.context.plan;
    let generators = Arc::new(Generators::new(plan.clone()));
    let mut first_thread = 0;
    let mut stages = Vec::with_capacity(segment.roles.len());
    for (at, role) in segment.roles.iter().enumerate() {
        check_depth(drive_target, role)?;
        let mix = Mix::new(plan, role)?;
        let chosen = mix.operations();
        check_extracts(drive_target, &chosen)?;
        let page = chosen.iter().copied().find(|&op| plan.operations[op].kind == OpKind::Together);
        let ops = match page {
            Some(op) if chosen.len() == 1 => members(drive_target.context, op)?,
            Some(op) => return Err(mixed_page(role, &plan.operations[op].name)),
            None => chosen,
        };
        let threads = role.sessions as usize * if page.is_some() { ops.len() } else { 1 };
        let deadline_ns =
            ops.iter().map(|&op| plan.operations[op].deadline_ns).filter(|&d| d > 0).min().unwrap_or(0);
        stages.push(RoleStage {
            at,
            plan: role,
            work: RoleWork {
                queue: &queues[at],
                queues,
                mix,
                counts: drive_target.counts,
                batch: batch(role, &generators)?,
                engine: drive_target.engine,
                clock: drive_target.context.clock,
                name: &role.name,
                depth: role.depth.max(1) as usize,
                retry_ns: segment.retry_ns,
                is_measured: segment.phase == Phase::Measure && !is_read(&role.work),
                connects: role.connects,
                loaded: Mutex::default(),
                halt: halt.clone(),
            },
            drive_target,
            lives: (0..threads).map(|_| Arc::default()).collect(),
            page_barriers: (0..role.sessions).map(|_| PageBarrier::default()).collect(),
            generators: generators.clone(),
            params: ops
                .iter()
                .map(|&op| Shared::new(&generators, op, &role.name))
                .collect::<Result<_, _>>()?,
            ops,
            page,
            first_thread,
            deadline_ns,
        });
        first_thread += threads;
    }
    Ok(stages)
}

fn batch(role: &RolePlan, generators: &Arc<Generators>) -> Result<Option<Batch>, Error> {
    let Work::Rows { table, first_row, rows, batch_rows, ref dump, ref input } = role.work else {
        return Ok(None);
    };
    let (dump, input) = (dump.as_deref(), input.as_ref());
    let source = Source::of(generators, table, batch_rows, role.sessions, dump, input)?;
    Ok(Some(Batch { source, table, first_row, rows, batch_rows }))
}

fn mixed_page(role: &RolePlan, page: &str) -> Error {
    Error::Plan(format!("role {}: {page} is a page and cannot be mixed with others", role.name))
}

/// Whether its rows are read from files. What of them has no answer is no range of the generator's rows, which a proof could
/// look for.
fn is_read(work: &Work) -> bool {
    match work {
        Work::Rows { dump: Some(_), .. } => true,
        // Sorted files hold the rows in another order than the generator has them.
        Work::Rows { input: Some(input), .. } => input.way == InputWay::Parsed || input.sorted,
        _ => false,
    }
}

/// The twin refuses it when a study is planned; a plan may come from elsewhere.
fn check_depth(drive_target: &DriveTarget<'_>, role: &RolePlan) -> Result<(), Error> {
    let most = drive_target.engine.caps().max_depth;
    if role.depth <= most {
        return Ok(());
    }
    let (name, depth, engine) = (&role.name, role.depth, &drive_target.context.plan.target.engine);
    Err(Error::Plan(format!(
        "role {name}: depth {depth}; a session of {engine} has {most} call(s) in flight at most: lower `depth`, or use \
         more sessions"
    )))
}

/// The twin leaves out what its engine has not got; a plan may come from elsewhere.
fn check_extracts(drive_target: &DriveTarget<'_>, ops: &[OpId]) -> Result<(), Error> {
    let context = drive_target.context;
    let extract = ops.iter().map(|&op| context.op(op)).find(|op| op.kind == OpKind::Extract);
    match extract {
        Some(op) if !drive_target.engine.extracts() => {
            let engine = &context.plan.target.engine;
            Err(Error::Plan(format!("operation {}: {engine} hands over no rows as they come", op.name)))
        }
        _ => Ok(()),
    }
}

fn members(context: &Context, page: OpId) -> Result<Vec<OpId>, Error> {
    let op = context.op(page);
    if op.members.is_empty() {
        return Err(Error::Plan(format!("operation {} is a page without members", op.name)));
    }
    op.members.iter().map(|name| operation_id(&context.plan, name)).collect()
}
