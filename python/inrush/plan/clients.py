"""What several client processes cannot do together, said when it is planned. Pure.

Each process takes every N-th call, and judges answers by what it knows itself: rows that nothing changes. What one process
does to rows, or counts of them, the others do not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inrush.engines.twin import Twin
from inrush.errors import Problem
from inrush.plan.calibration import FLOOR
from inrush.plan.keys import asked_by
from inrush.study.by_key import alters

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
        Problem("", "clients", str(draft.clients), f"{few(names)}: {why}; take 1, or leave it out")
        for why, names in reasons.items()
        if names
    ]


#: Why several processes cannot -> what it is of.
Reasons = dict[str, list[str]]


def point_reasons(draft: Draft) -> Reasons:
    schedule, written = draft.study.schedule, [role.table for role in draft.roles if role.table]
    repeats = draft.study.kind != "timed" and schedule.at_least_s > 0
    return {
        "its rows are written again and again until enough was measured, which one process does alone (or say "
        "schedule.at_least_s = 0)": [table for table in written if repeats],
        "its rows are deleted by age, which one process does": list(draft.retained),
    }


def operation_reasons(draft: Draft) -> Reasons:
    operations = draft.study.workload.operations
    names = {
        name: None
        for role in draft.roles
        for name in (*role.operations, *asked_by(role, draft.study.workload))
    }
    called = [operations[name] for name in names]
    read = [of for of in called if of.kind != "insert"]
    return {
        "what it does to rows is known to its own process alone": [of.name for of in called if alters(of)],
        "it promises counts of rows, or waits for rows, of all processes": [
            of.name for of in called if {"count_bounds", "freshness"} & set(of.holds)
        ],
        "its rows are written meanwhile, and it is judged by what its own process has written": [
            of.name for of in read if of.holds and of.table in draft.written
        ],
        "its calls write one file after the other": [of.name for of in called if of.dump is not None],
    }


def role_reasons(draft: Draft) -> Reasons:
    roles = draft.roles
    from_files = [
        role.source or role.input or (role.table and draft.tables[role.table].files) for role in roles
    ]
    return {
        "its samples are stored by one process": [role.name for role in roles if role.samples is not None],
        "its queue is of one process": [role.name for role in roles if role.queue_calls is not None],
        "its rows are read from files": [role.name for role, of in zip(roles, from_files, strict=True) if of],
    }


def few(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and 5 others`."""
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} others"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
