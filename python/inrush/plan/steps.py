"""The steps of a study at one point: which an engine has, and how long they last. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from inrush.engines.base.plans import Unsupported
from inrush.engines.base.twin import Twin
from inrush.errors import Problem
from inrush.plan.extracts import way_out
from inrush.plan.io import planned_operation
from inrush.plan.kept import not_kept
from inrush.plan.maintenance import no_statement
from inrush.plan.work import Work
from inrush.study.at_point import StudyAt
from inrush.study.forms import Plain
from inrush.study.operations import tables_of
from inrush.study.roles import Role
from inrush.study.step_kinds import (
    Cold,
    Dump,
    Extract,
    Load,
    Measure,
    Read,
    Restart,
    Roles,
    Settle,
    Sort,
    Statement,
    Step,
)
from inrush.study.step_order import tables_touched
from inrush.workload import Operation


def steps_of(study: StudyAt[Plain], server: Twin) -> tuple[StudyAt[Plain], dict[str, str]]:
    """The study without the steps that this engine cannot do, and why each is left out; so are those that follow one."""
    left_out: dict[str, str] = {}
    if not study.steps:
        return study, left_out
    absent = tables_without_rows(study, server)
    for step in study.steps:
        if step.without:
            left_out[step.name] = step.without
        elif step.after in left_out:
            left_out[step.name] = f"it follows {step.after}, which is left out"
        elif isinstance(step, Load) and step.source in left_out:
            left_out[step.name] = f"it reads the files of {step.source}, which is left out"
        elif (
            (reason := needs_rows(step, study, absent))
            or (reason := cannot(step, study, server))
            or (reason := too_deep(step, server))
        ):
            left_out[step.name] = reason
    kept = tuple(step for step in study.steps if step.name not in left_out)
    return replace(study, steps=kept), left_out


def tables_without_rows(study: StudyAt[Plain], server: Twin) -> dict[str, str]:
    """Table -> why the engine cannot keep its rows, of those that loads fill; none where it can keep those of no load, which
    makes the whole point unsupported."""
    names = {name for step in study.steps if isinstance(step, Load) for name in step.role.table or ()}
    reasons = {name: not_kept(server, study.workload.tables[name]) for name in sorted(names)}
    return {name: reason for name, reason in reasons.items() if reason} if not all(reasons.values()) else {}


def needs_rows(step: Step[Plain], study: StudyAt[Plain], absent: Mapping[str, str]) -> str:
    """Why a step loads or needs rows that are not there; empty where it does not."""
    if isinstance(step, Load):
        touched: Sequence[str] = step.role.table or ()
    elif isinstance(step, Roles):
        reads = [Read(name=name, role=role) for name, role in step.sessions.items()]
        touched = [table for read in reads for table in tables_touched(read, study.workload)]
    else:
        touched = tables_touched(step, study.workload)
    return next((absent[table] for table in touched if table in absent), "")


def cannot(step: Step[Plain], study: StudyAt[Plain], server: Twin) -> str:
    """Why the engine has no such statement or query; empty where it has."""
    operations = study.workload.operations
    if isinstance(step, Statement):
        return no_statement(operations[step.operation], server)
    if isinstance(step, Dump):
        (dumped,) = step.role.operations
        found = way_out(replace(operations[dumped], method=""), server)
        return found.reason if isinstance(found, Unsupported) else ""
    if isinstance(step, Read):
        extracts = [operations[name] for name in step.role.operations if operations[name].kind == "extract"]
        if extracts and not server.ways_out:
            found = way_out(extracts[0], server)
            return found.reason if isinstance(found, Unsupported) else ""
        return no_queries(step.role, study, server)
    if isinstance(step, Roles):
        kinds = {operations[name].kind for role in step.sessions.values() for name in role.operations}
        # What it writes later steps look at: an engine that cannot do a role of it has no such point.
        reasons = (
            [no_queries(role, study, server) for role in step.sessions.values()]
            if "insert" not in kinds
            else []
        )
        return next((reason for reason in reasons if reason), "")
    return ""


def too_deep(step: Step[Plain], server: Twin) -> str:
    """Why a read cannot have its calls in flight, on an engine whose sessions have one at a time; empty where it can."""
    if not isinstance(step, Read) or isinstance(step, Extract):
        return ""
    depth = step.role.depth
    if depth == 1 or server.max_depth > 1:
        return ""
    return f"a session of {server.title} has one call in flight, and the step asks for {depth}"


def no_queries(role: Role[Plain], study: StudyAt[Plain], server: Twin) -> str:
    """Why the engine answers none of a reader's queries; empty where it answers one."""
    operations = study.workload.operations
    names = [q for name in role.operations for q in operations[name].members or (name,)]
    reasons = [reason for name in names if (reason := no_query(operations[name], study, server))]
    return reasons[0] if len(reasons) == len(names) else ""


def no_query(operation: Operation, study: StudyAt[Plain], server: Twin) -> str:
    tables = tables_of(operation, study.workload)
    plans = {name: server.plan_table(study.workload.tables[name], study.layout, "inrush") for name in tables}
    planned = planned_operation(server, operation, "", plans, study.workload.tables)
    return planned.reason if isinstance(planned, Unsupported) else ""


def impossible_steps(study: StudyAt[Plain], server: Twin, engine: str) -> list[Problem]:
    """Steps that no server of this kind can do, wherever it runs."""
    found = []
    for i, step in enumerate(study.steps):
        remedy = ""
        if isinstance(step, Sort) and not any(sorts(other, step) for other in study.steps):
            remedy = f'no load of files is sorted by it; write sorted = "{step.name}" in files of a later step, or remove it'
        if isinstance(step, Sort) and len(both := [s.name for s in study.steps if sorts(s, step)]) > 1:
            remedy = (
                f"{' and '.join(both)} name it, and it sorts the files of one load; write a step for each"
            )
        if isinstance(step, Cold) and server.lifecycle is None and not (server.embedded and server.answers):
            remedy = f"{engine} has no cold protocol; leave the step out, or the engine"
        if isinstance(step, Restart) and server.lifecycle is None:
            remedy = f"{engine} is no server that inrush starts, so nothing can be restarted; leave the step out, or the engine"
        if remedy:
            found.append(Problem("", f"steps[{i}].do", step.do, remedy))
    return found


def sorts(load: Step[Plain], sort: Sort[Plain]) -> bool:
    """Whether the load reads what the step has sorted."""
    return isinstance(load, Load) and load.files is not None and load.files.sorted == sort.name


def timed_reads(study: StudyAt[Plain], left_out: Collection[str]) -> tuple[Work, ...]:
    """The reads that are given by time: they last as long as a schedule says, and what they do in it is not known."""
    limits = step_limits(study)
    return tuple(
        Work(step.name, 0, 0, 1, 0.0, step.seconds, *limits[next(iter(step.sessions))])
        for step in study.steps
        if isinstance(step, Read | Roles) and step.seconds > 0 and step.name not in left_out
    )


def around_s(study: StudyAt[Plain]) -> float:
    """Seconds of the same calls before and behind them."""
    return sum(step.warm_s + step.cool_s for step in study.steps if isinstance(step, Read | Measure))


def step_limits(study: StudyAt[Plain]) -> dict[str, tuple[str, float]]:
    """Role -> its step, and the seconds after which that is cut; of a study with steps."""
    usual = study.schedule.limit_s
    return {
        role: (step.name, usual if step.limit_s is None else step.limit_s)
        for step in study.steps
        if step.name
        for role in step.sessions
    }


def settle_s(study: StudyAt[Plain]) -> float:
    return sum(step.seconds for step in study.steps if isinstance(step, Settle))


def longest_step_s(study: StudyAt[Plain]) -> float:
    lengths = [s.seconds for s in study.steps if isinstance(s, Read | Roles | Settle)]
    lengths += [max(s.warm_s, s.cool_s) for s in study.steps if isinstance(s, Read | Measure)]
    return max(lengths, default=0.0)
