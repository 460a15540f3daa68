"""The steps of a study at one point: which an engine has, and the segments that each becomes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from inrush.border import plan as border
from inrush.engines.plans import TablePlan, Unsupported
from inrush.engines.sql import bind
from inrush.engines.twin import Twin
from inrush.errors import Problem
from inrush.plan.documents import role_document
from inrush.plan.roles import ActiveRole
from inrush.plan.units import ns
from inrush.study.operations import tables_of
from inrush.study.steps import Cold, Load, Read, Restart, RoleStep, Settle, Statement, Step
from inrush.study.study import Study
from inrush.workload import Operation

if TYPE_CHECKING:
    from inrush.plan.segments import Segments


def steps_of(study: Study, server: Twin) -> tuple[Study, dict[str, str]]:
    """The study without the steps that this engine cannot do, and why each is left out; so are those that follow one."""
    left_out: dict[str, str] = {}
    if not study.steps:
        return study, left_out
    for step in study.steps:
        if step.after in left_out:
            left_out[step.name] = f"it follows {step.after}, which is left out"
        elif reason := cannot(step, study, server):
            left_out[step.name] = reason
    kept = tuple(step for step in study.steps if step.name not in left_out)
    roles = {step.name: step.role for step in kept if isinstance(step, RoleStep)}
    return replace(study, steps=kept, roles=roles), left_out


def cannot(step: Step, study: Study, server: Twin) -> str:
    """Why the engine has no such statement or query; empty where it has."""
    operations = study.workload.operations
    if isinstance(step, Statement):
        operation = operations[step.operation]
        if reason := operation.unsupported.get(server.name):
            return reason
        return "" if texts(operation, server) else f"{step.operation} has no statement for {server.name}"
    if isinstance(step, Read):
        names = [q for name in step.role.operations for q in operations[name].members or (name,)]
        reasons = [reason for name in names if (reason := no_query(operations[name], study, server))]
        return reasons[0] if len(reasons) == len(names) else ""
    return ""


def no_query(operation: Operation, study: Study, server: Twin) -> str:
    tables = tables_of(operation, study.workload)
    plans = {name: server.plan_table(study.workload.tables[name], "none", "inrush") for name in tables}
    planned = server.plan_operation(operation, "", plans)
    return planned.reason if isinstance(planned, Unsupported) else ""


def impossible_steps(study: Study, server: Twin, engine: str) -> list[Problem]:
    """Steps that no server of this kind can do, wherever it runs."""
    found = []
    for i, step in enumerate(study.steps):
        remedy = ""
        if isinstance(step, Cold) and server.lifecycle is None and not (server.embedded and server.answers):
            remedy = f"{engine} has no cold protocol; leave the step out, or the engine"
        if isinstance(step, Restart) and server.lifecycle is None:
            remedy = f"{engine} is no server that inrush starts, so nothing can be restarted; leave the step out, or the engine"
        if remedy:
            found.append(Problem("", f"steps[{i}].do", step.do, remedy))
    return found


def texts(operation: Operation, server: Twin) -> Sequence[tuple[str, str]]:
    return operation.statements.get(server.name, operation.statements.get("default", ()))


def statements(operation: Operation, server: Twin, tables: Mapping[str, TablePlan]) -> list[border.Statement]:
    """Of maintenance, in the engine's dialect."""
    names = {logical: plan.name for logical, plan in tables.items()}
    if operation.table in names:
        names.setdefault("table", names[operation.table])
    found: list[border.Statement] = []
    for text, repeat in texts(operation, server):
        bound = bind(text, names)[0].strip()
        match repeat:
            case "each_row":
                found.append({"text": bound, "repeat": "each_row"})
            case "until_no_rows":
                found.append({"text": bound, "repeat": "until_no_rows"})
            case _:
                found.append(bound)
    return found


def step_segments(step: Step, segments: Segments) -> list[border.Segment]:
    """A step and what is probed after it: sizes where it may have changed them, counters always."""
    limit_ns = segments.limit_ns if step.limit_s is None else ns(step.limit_s)
    sizes = not isinstance(step, Read | Cold | Restart)
    probes = segments.probe(step.name, ("sizes", "counters") if sizes else ("counters",))
    return [work_of(step, segments, limit_ns), *({**probe, "step": step.name} for probe in probes)]


def work_of(step: Step, segments: Segments, limit_ns: int) -> border.Segment:
    draft = segments.draft
    match step:
        case RoleStep():
            seconds = step.seconds if isinstance(step, Read) else 0.0
            roles = [role_document(r, draft.index, seconds) for r in roles_of(step, draft.roles)]
            drive = segments.driven(step.name, "measure", roles)
            drive |= {"step": step.name, "limit_ns": limit_ns}
            if isinstance(step, Load) and (sample := segments.sample(step.name)):
                drive["sample"] = sample
            return drive
        case Statement():
            found: border.StatementSegment = {
                "kind": "statement",
                "label": step.name,
                "step": step.name,
                "statements": statements(
                    draft.study.workload.operations[step.operation], draft.server, draft.plans
                ),
                "limit_ns": limit_ns,
            }
            # Another connection to an engine in our process would wait for this one.
            if not draft.server.embedded and (sample := segments.sample(step.name)):
                found["sample"] = sample
            return found
        case Settle():
            return {"kind": "settle", "label": step.name, "step": step.name, "ns": ns(step.seconds)}
        case Cold():
            return {"kind": "pause", "label": step.name, "step": step.name, "action": "make_cold"}
        case Restart():
            return {"kind": "pause", "label": step.name, "step": step.name, "action": "restart"}
        case _:
            raise AssertionError(f"the study's reader knows no step of kind {step.do}")


def roles_of(step: RoleStep, roles: Sequence[ActiveRole]) -> list[ActiveRole]:
    return [role for role in roles if role.name == step.name]


def read_s(study: Study) -> float:
    """Seconds of the reads that are given by time."""
    return sum(step.seconds for step in study.steps if isinstance(step, Read))


def settle_s(study: Study) -> float:
    return sum(step.seconds for step in study.steps if isinstance(step, Settle))


def longest_step_s(study: Study) -> float:
    return max((s.seconds for s in study.steps if isinstance(s, Read | Settle)), default=0.0)
