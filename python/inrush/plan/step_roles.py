"""The roles of a study's steps as this engine is asked for them: from where their rows come, and how they come in. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inrush.engines.base.plans import Unsupported
from inrush.engines.base.twin import Twin
from inrush.errors import Problem, refuse
from inrush.plan.added import (
    Ahead,
    RowsThen,
    added_after,
    adds_rows,
    ahead_s,
    at_data_time,
    early_problems,
    totals,
)
from inrush.plan.dumps import dumped
from inrush.plan.inputs import in_files
from inrush.plan.keys import asked_by
from inrush.plan.loads import by_loader
from inrush.plan.pipeline_numbers import PipelineNumbers
from inrush.plan.roles import ActiveRole, problem
from inrush.study.at_point import StudyAt
from inrush.study.dumps import dump_operation
from inrush.study.forms import Plain
from inrush.study.step_kinds import Dump, Load, Step
from inrush.workload import Workload


@dataclass(frozen=True)
class StepRoles:
    #: With an operation of its own for each dump, and for each load or role whose batches or files are its own.
    study: StudyAt[Plain]
    roles: Sequence[ActiveRole]
    then: RowsThen
    #: Step that client and load server do -> its numbers.
    loads: Mapping[str, PipelineNumbers]


def step_roles(study: StudyAt[Plain], server: Twin, roles: Sequence[ActiveRole]) -> StepRoles | Unsupported:
    """What the engine cannot do is `Unsupported`; raises UsageError for what the study cannot mean."""
    by_step = {name: step for step in study.steps for name in step.sessions}
    steps = [by_step.get(role.name.partition("/")[0]) for role in roles]
    study, roles, then, problems = with_rows(study, server, roles, steps)
    refuse(problems)
    workload, found, rows_of = study.workload, list[ActiveRole](), totals(roles)
    loads: dict[str, PipelineNumbers] = {}
    for role, step in zip(roles, steps, strict=True):
        if isinstance(step, Load) and step.files is not None:
            of_files = in_files(study, server, step, role, rows_of)
            if isinstance(of_files, Unsupported):
                refuse(problems)
                return of_files
            role, wrong = of_files
            workload, role = with_own_insert(workload, role, "files")
            problems += wrong
        elif isinstance(step, Load) and step.pipeline is not None:
            of_loader = by_loader(workload, server, step, role)
            if isinstance(of_loader, Unsupported):
                refuse(problems)
                return of_loader
            role, loads[step.name], wrong = of_loader
            problems += wrong
        found.append(role)
    refuse(problems)
    return StepRoles(replace(study, workload=workload), found, then, loads)


def with_rows(
    study: StudyAt[Plain], server: Twin, roles: Sequence[ActiveRole], steps: Sequence[Step[Plain] | None]
) -> tuple[StudyAt[Plain], list[ActiveRole], RowsThen, list[Problem]]:
    """The roles with the rows that they begin at, dump, or find in files of a dump. steps: of each role."""
    held, then = dict[str, int](), dict[tuple[str, str], int]()
    workload, found, problems = study.workload, list[ActiveRole](), list[Problem]()
    ahead: Ahead = {}
    made = {
        role.table: role.rows
        for role, step in zip(roles, steps, strict=True)
        if role.table and not (isinstance(step, Load) and step.source)
    }
    before, begun = dict[str, int](), None
    for role, step in zip(roles, steps, strict=True):
        if step is not begun:
            before, begun = dict(held), step
        if isinstance(step, Dump):
            (name,) = role.tables
            operation, files, wrong = dumped(step, workload, server, made.get(name, 0))
            problems += wrong
            workload = replace(workload, operations={**workload.operations, operation.name: operation})
            role = replace(role, calls=files)
        elif isinstance(step, Load) and step.source is not None:
            workload, role = with_own_insert(workload, role, "from")
            rows = made.get(role.table or "", role.rows)
            role = replace(role, source=dump_operation(step.source), rows=rows)
        if role.table is None and step is not None:
            later = added_after(study, roles, step)
            problems += early_problems(study, role, later)
            then |= {(role.name, table): before.get(table, 0) for table in later}
            for name in asked_by(role, workload):
                ahead.setdefault(name, {})[role.name] = ahead_s(workload, name, before)
        elif (table := role.table) is not None and step is not None:
            if adds_rows(step) and table in held:
                workload, role = with_own_insert(workload, replace(role, first_row=held[table]), "adds")
            held[table] = role.first_row + role.rows
            if role.samples is not None and role.first_row % workload.tables[table].series:
                remedy = f"{table} has {role.first_row:,} rows then, which end within a sweep; load whole sweeps, rows = {{ age_s = N }}"
                problems.append(problem(f"steps.{role.name}.samples", "", remedy))
        found.append(role)
    workload, behind = at_data_time(workload, ahead)
    return replace(study, workload=workload), found, then, [*problems, *behind]


def with_own_insert(workload: Workload, role: ActiveRole, what: str) -> tuple[Workload, ActiveRole]:
    """The role with a copy of its insert that no other role calls: its batches, or its files, are its own."""
    (name,) = role.operations
    own = replace(workload.operations[name], name=f"{what}/{role.name}")
    operations = {**workload.operations, own.name: own}
    return replace(workload, operations=operations), replace(role, operations={own.name: 1})
