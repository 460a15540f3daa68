"""Tables that get rows from several loads or roles: what is asked of one before the last of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inrush.errors import Problem
from inrush.plan.documents import has_events
from inrush.plan.keys import asked_by
from inrush.plan.roles import ActiveRole, problem
from inrush.study.at_point import StudyAt
from inrush.study.forms import Plain
from inrush.study.operations import tables_of
from inrush.study.step_kinds import Load, Roles, Step
from inrush.workload import Workload

#: Role and table -> rows of the table that are loaded when the role asks, of tables that get more later.
RowsThen = Mapping[tuple[str, str], int]
#: Operation -> role -> seconds that data time is ahead of the clock when the role asks it.
Ahead = dict[str, dict[str, float]]


def ahead_s(workload: Workload, name: str, before: Mapping[str, int]) -> float:
    """Seconds that data time has run ahead of the clock: those of the sweeps that were loaded of what the operation looks at.

    Rows of files, of chunks and at rates are not sweep after sweep: how much time they are of is not known.
    """
    tables = [workload.tables[table] for table in tables_of(workload.operations[name], workload)]
    tables = [t for t in tables if t.files is None and t.chunks is None and t.rates is None]
    return max((before.get(t.name, 0) // t.series * t.period_s for t in tables), default=0.0)


def at_data_time(workload: Workload, ahead: Ahead) -> tuple[Workload, list[Problem]]:
    """The operations that ask from now on backwards, with now behind the newest row that was loaded."""
    operations, problems = dict(workload.operations), list[Problem]()
    for name, by_role in ahead.items():
        operation, seconds = operations[name], set(by_role.values())
        if not any(p["gen"]["kind"] == "now_minus" for p in operation.params.values()) or seconds == {0.0}:
            continue
        if len(seconds) > 1:
            remedy = f"{' and '.join(by_role)} ask it at different data times, as rows are loaded between; write an operation for each"
            problems.append(problem(f"operations.{name}", "", remedy))
        operations[name] = replace(operation, ahead_s=max(seconds))
    return replace(workload, operations=operations), problems


def added_after(study: StudyAt[Plain], roles: Sequence[ActiveRole], step: Step[Plain]) -> dict[str, str]:
    """Table -> the last load or role, from this step on, that adds rows to it."""
    steps = study.steps
    filled = {table for s in steps[: steps.index(step)] for table in tables_of_step(roles, s)}
    adding = {name for s in steps[steps.index(step) :] if adds_rows(s) for name in s.sessions}
    return {
        role.table: role.name
        for role in roles
        if role.table in filled and role.name.partition("/")[0] in adding
    }


def adds_rows(step: Step[Plain]) -> bool:
    """Whether its rows follow those that the table has, if it has any."""
    return isinstance(step, Roles) or (isinstance(step, Load) and step.adds)


def tables_of_step(roles: Sequence[ActiveRole], step: Step[Plain]) -> set[str]:
    """Those that it fills."""
    return {
        role.table
        for role in roles
        if role.table is not None and role.name.partition("/")[0] in step.sessions
    }


def early_problems(study: StudyAt[Plain], role: ActiveRole, later: Mapping[str, str]) -> list[Problem]:
    """What cannot be asked of a table before its last rows are there."""
    found, order = [], study.row_order
    for name in asked_by(role, study.workload):
        operation = study.workload.operations[name]
        if operation.range is not None and (of := operation.table or "") in later:
            remedy = f"{name} asks for a range of all rows of {of}, and {later[of]} adds some of them; ask after {later[of]}"
            found.append(problem(f"steps.{role.name}.operation", name, remedy))
        keys = operation.key_rows
        table = study.workload.tables.get(keys.table) if keys is not None else None
        if table is None or table.name not in later:
            continue
        by_key = order == "key" or (order is None and table.chunks is not None)
        if has_events(table, order) and not by_key:
            remedy = (
                f"{name} draws keys of the first rows of {table.name}, and in this order they are not known; ask after "
                f"{later[table.name]}, which adds the others"
            )
            found.append(problem(f"steps.{role.name}.operation", name, remedy))
    return found


def totals(roles: Sequence[ActiveRole]) -> dict[str, int]:
    """Table -> its rows when all loads have ended."""
    return {
        role.table: role.first_row + role.rows for role in roles if role.table is not None and not role.source
    }
