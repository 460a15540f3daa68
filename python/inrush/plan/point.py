"""One point of a study as a plan for the core: tables, operations and segments in one engine's dialect. Pure."""

from __future__ import annotations

from dataclasses import replace

from inrush.engines.base.instance import TCP, TRANSPORT
from inrush.engines.base.plans import Unsupported
from inrush.engines.base.twin import Twin
from inrush.errors import Problem, refuse
from inrush.plan.active_roles import active_roles, method_of
from inrush.plan.called import as_called
from inrush.plan.clients import one_client
from inrush.plan.draft import Draft
from inrush.plan.inputs import input_bytes as made_bytes
from inrush.plan.io import as_roles_call, io_problems
from inrush.plan.keys import planned_keys
from inrush.plan.lists import lengths, with_lists
from inrush.plan.loads import input_bytes, with_loads
from inrush.plan.partitions import partition_problems
from inrush.plan.pipeline import plan_pipeline
from inrush.plan.planned_point import PointPlan, document, short_hash
from inrush.plan.refusals import draft_problems
from inrush.plan.retention import retained
from inrush.plan.segments import segments
from inrush.plan.shards import (
    beyond_keys,
    held_together,
    not_over_shards,
    over_shards,
    shards_document,
    shards_of,
    without_key,
)
from inrush.plan.step_roles import step_roles
from inrush.plan.steps import impossible_steps, steps_of
from inrush.plan.summary import summary
from inrush.study.at_point import StudyAt
from inrush.study.forms import Plain
from inrush.study.shards import STRAIGHT


def plan_point(
    study: StudyAt[Plain], server: Twin, engine: str, point_id: str, seed: int
) -> PointPlan | Unsupported:
    """engine: the server's name, with its variant if it has one (`null:text`).

    What the engine cannot do is `Unsupported`; raises UsageError for what the study cannot mean."""
    method = method_of(study, server)
    if method not in server.methods:
        return Unsupported(f"{engine} has no method {method}; it has {', '.join(server.methods)}")
    options = study.options.get(engine, {})
    offered = (TCP,) if study.pipeline is not None or not server.transports else server.transports
    if (transport := options.get(TRANSPORT, TCP)) not in offered:
        what = "a pipeline" if study.pipeline is not None else engine
        return Unsupported(f"{what} has no {TRANSPORT} {transport}; it has {', '.join(offered)}")
    namespace = f"inrush_{short_hash(study.name, point_id, seed)}"
    if study.pipeline is not None:
        loaded = {study.pipeline.table: study.workload.tables[study.pipeline.table]}
        refuse(partition_problems(loaded, server, study.layout))
        return plan_pipeline(study, server, engine, namespace, method, seed)
    if inside := one_client(server, study.clients):
        return Unsupported(inside)
    sharded = shards_of(study)
    if sharded is not None and (own := not_over_shards(study)):
        return Unsupported(f"over shards go sessions alone: {own}")
    over = over_shards(server, sharded)
    if isinstance(over, Unsupported):
        return over
    draft = drafted(study, over, engine, point_id, method, namespace, seed)
    return draft if isinstance(draft, Unsupported) else documented(draft, engine)


def drafted(
    study: StudyAt[Plain], server: Twin, engine: str, point_id: str, method: str, namespace: str, seed: int
) -> Draft | Unsupported:
    """The point's tables and operations in the engine's dialect."""
    sharded, options = shards_of(study), study.options.get(engine, {})
    refuse(impossible_steps(study, server, engine))
    said = {step.name: step.do for step in study.steps if step.name}
    study, without = steps_of(study, server)
    if without and not study.steps:
        return Unsupported(next(iter(without.values())))
    roles = active_roles(study, server, engine)
    if not roles:
        refuse([Problem("", "roles", point_id, "no role has a session here; remove the point")])
    if sharded is not None:
        refused = beyond_keys if sharded[0] == STRAIGHT else held_together
        if reason := refused(study, roles):
            return reason
    of_steps = step_roles(study, server, roles)
    if isinstance(of_steps, Unsupported):
        return of_steps
    study = of_steps.study
    kept, roles = retained(study, of_steps.roles)
    refuse(io_problems(study.workload, roles, engine, options))
    workload, roles = as_roles_call(study.workload, roles)
    workload, roles = as_called(workload, roles, of_steps.then)
    keys = lengths(workload, roles)
    study = replace(study, workload=with_lists(workload, keys))
    draft = Draft(study, server, method, namespace, roles, seed, kept)
    draft.clients = study.clients
    draft.steps, draft.steps_left_out, draft.loads = said, without, dict(of_steps.loads)
    draft.keys_per_call = {r.name: r.keys_per_call for r in roles if keys.keys() & set(r.operations)}
    draft.keys, problems = planned_keys(
        study.workload,
        draft.roles,
        draft.index,
        draft.rows_before,
        draft.rows_of,
        draft.rows_in_batches,
        draft.clients,
    )
    refuse([*problems, *draft_problems(draft)])
    reason = (without_key(draft) if sharded is not None else None) or draft.plan_operations()
    return reason or draft


def documented(draft: Draft, engine: str) -> PointPlan | Unsupported:
    """Its plan for the core, and what is said of it."""
    study = draft.study
    tables, parts = draft.table_documents(), segments(draft)
    plan = document(study, engine, draft.seed, tables, draft.operations, parts, draft.longest_s())
    if draft.clients > 1:
        plan["share"] = {"index": 0, "of": draft.clients}
    if (sharded := shards_of(study)) is not None:
        plan["target"]["shards"] = shards_document(draft, sharded)
    found = summary(draft, plan, study.options.get(engine, {}))
    if made := made_bytes(draft.roles, draft.tables):
        found = replace(found, dumped_bytes=found.dumped_bytes + made)
    if not draft.loads:
        return found
    driven = with_loads(plan, draft)
    if isinstance(driven, Unsupported):
        return driven
    return replace(found, plan=driven, dumped_bytes=found.dumped_bytes + input_bytes(draft))
