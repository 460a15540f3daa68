"""What several client processes cannot do together, said when it is planned. Pure.

Each process takes every N-th call, and judges answers by what it knows itself: rows that nothing changes meanwhile. When a
segment ends, each is sent what the others have written in it. So rows of an earlier step are known to all, and counts of them
are; rows that are written in the same segment are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from inrush.engines.base.twin import Twin
from inrush.errors import Problem
from inrush.plan.calibration import FLOOR
from inrush.plan.keys import asked_by
from inrush.plan.roles import ActiveRole
from inrush.study.by_key import alters
from inrush.study.forms import Plain
from inrush.study.roles import Role
from inrush.workload import Operation

if TYPE_CHECKING:
    from inrush.plan.draft import Draft


def one_client(server: Twin, clients: int) -> str:
    """Why the engine cannot have so many client processes; empty where it can."""
    if clients == 1 or not server.embedded or server.name == FLOOR:
        return ""
    return f"{server.name} works inside of the client, and {clients} client processes cannot share its data"


def client_problems(draft: Draft) -> list[Problem]:
    """Empty where a run has one; else a line for each reason."""
    if draft.clients == 1:
        return []
    reasons = {**point_reasons(draft), **operation_reasons(draft), **role_reasons(draft)}
    return [
        Problem("", "clients", str(draft.clients), f"{few(names)}: {why}; take 1 (`-P clients=1`)")
        for why, names in reasons.items()
        if names
    ]


#: Why several processes cannot -> what it is of.
Reasons = dict[str, list[str]]


def point_reasons(draft: Draft) -> Reasons:
    written = [role.table for role in draft.roles if role.table]
    repeats = draft.study.measure is not None and draft.study.measure.at_least_s > 0
    return {
        "its rows are written again and again until enough was measured, which one process does alone (or say "
        "schedule.at_least_s = 0)": [table for table in written if repeats],
        "its rows are deleted by age, which one process does": list(draft.retained),
    }


def operation_reasons(draft: Draft) -> Reasons:
    operations = draft.study.workload.operations
    called = [
        (operations[name], role)
        for role in draft.roles
        for name in (*role.operations, *asked_by(role, draft.study.workload))
    ]

    def meanwhile(of: Operation, role: ActiveRole) -> bool:
        return of.kind != "insert" and of.table in written_beside(draft, role)

    def each(is_one: Callable[[Operation, ActiveRole], object]) -> list[str]:
        return [*dict.fromkeys(of.name for of, role in called if is_one(of, role))]

    return {
        "what it does to rows is known to its own process alone": each(lambda of, _: alters(of)),
        "it waits for rows, which may be those of any process": each(lambda of, _: "freshness" in of.holds),
        "it promises counts of rows of all processes, which are written meanwhile": each(
            lambda of, role: "count_bounds" in of.holds and meanwhile(of, role)
        ),
        "its rows are written meanwhile, and it is judged by what its own process has written": each(
            lambda of, role: {*of.holds} - {"count_bounds", "freshness"} and meanwhile(of, role)
        ),
        "its calls write one file after the other": each(lambda of, _: of.dump is not None),
    }


def written_beside(draft: Draft, role: ActiveRole) -> frozenset[str]:
    """Tables that are written while a role works: by its own step."""
    of = [step for step in draft.study.steps if is_of(role, step.sessions)]
    beside = [r for r in draft.roles if any(is_of(r, step.sessions) for step in of)]
    return frozenset(r.table for r in beside if r.table is not None)


def is_of(role: ActiveRole, sessions: Mapping[str, Role[Plain]]) -> bool:
    """An insert into several tables is a role for each of them, `name/table`."""
    return role.name.partition("/")[0] in sessions


def role_reasons(draft: Draft) -> Reasons:
    roles = draft.roles
    read = {
        role.name: role.source
        or (role.table and draft.tables[role.table].files)
        or (role.input is not None and role.input.way == "parsed")
        for role in roles
    }
    return {
        "its samples are stored by one process": [role.name for role in roles if role.samples is not None],
        "its queue is of one process": [role.name for role in roles if role.queue_calls is not None],
        "its rows are read from files, one after the other (`files` that are not parsed are shared out)": [
            name for name, from_files in read.items() if from_files
        ],
        "it is done by client and load server, whose processes are the load's own": list(draft.loads),
    }


def few(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and 5 others`."""
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} others"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
