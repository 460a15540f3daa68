"""What several client processes cannot do together, said when it is planned. Pure.

Each process takes every N-th call, and judges answers by what it knows itself: rows that nothing changes. What one process
does to rows, or counts of them, the others do not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from inrush.engines.twin import Twin
from inrush.errors import Problem
from inrush.plan.calibration import FLOOR
from inrush.plan.keys import asked_by
from inrush.plan.roles import ActiveRole
from inrush.study.by_key import alters

if TYPE_CHECKING:
    from inrush.plan.draft import Draft

#: Promises that count rows over all sessions, or wait for those of others.
OF_ALL = ("count_bounds", "freshness")


def one_client(server: Twin, clients: int) -> str:
    """Why the engine cannot have so many client processes; empty where it can."""
    if clients == 1 or not server.embedded or server.name == FLOOR:
        return ""
    return f"{server.name} works inside of the client, and {clients} client processes cannot share its data"


def client_problems(draft: Draft) -> list[Problem]:
    """Empty where a run has one."""
    if draft.clients == 1:
        return []
    each = [why for role in draft.roles for why in role_problems(draft, role)]
    return [Problem("", "clients", str(draft.clients), why) for why in [*point_problems(draft), *each]]


def point_problems(draft: Draft) -> Iterator[str]:
    schedule = draft.study.schedule
    if any(role.table for role in draft.roles) and draft.study.kind != "timed" and schedule.at_least_s > 0:
        yield "the processes of a run do not repeat a volume together; say schedule.at_least_s = 0, or 1"
    if draft.retained:
        yield f"rows of {', '.join(draft.retained)} are deleted by age, which one process does; take 1"


def role_problems(draft: Draft, role: ActiveRole) -> Iterator[str]:
    operations = draft.study.workload.operations
    names = [*role.operations, *asked_by(role, draft.study.workload)]
    called = [operations[name] for name in dict.fromkeys(names)]
    for operation in called:
        if alters(operation):
            yield f"what {operation.name} does to rows is known to its own process alone; let {role.name} read, or take 1"
        for promise in set(OF_ALL) & set(operation.holds):
            yield f"{operation.name} promises {promise}, which is counted in one process; remove the promise, or take 1"
        if operation.kind != "insert" and operation.holds and operation.table in draft.written:
            yield f"{operation.name} is judged by the rows of {operation.table} that its own process has written; take 1"
        if operation.dump is not None:
            yield f"{operation.name} writes one file after the other in one process; take 1"
    if role.samples is not None:
        yield f"a sample of {role.name} is stored by one process; write rows in place of samples, or take 1"
    if role.queue_calls is not None:
        yield f"the queue of {role.name} is of one process; write rows in place of events, or take 1"
    if role.source or role.input is not None or (role.table and draft.tables[role.table].files is not None):
        yield f"{role.name} reads its rows from files, each of one process; take a generated table, or 1"
