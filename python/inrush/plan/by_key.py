"""Calls by key at one point: the rows that they add, and what they cannot mean there. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from inrush.errors import Problem
from inrush.plan.documents import has_events
from inrush.plan.keys import asked_by
from inrush.plan.roles import ActiveRole, problem
from inrush.study.by_key import CHANGES, ONCE, alters
from inrush.workload import Operation

if TYPE_CHECKING:
    from inrush.plan.draft import Draft

#: Rows of a table of which calls by key change some; twin of MOST_ROWS in rust/rows/src/rows/changes.rs.
MOST_ROWS = 10_000_000


def by_key_problems(draft: Draft) -> list[Problem]:
    workload = draft.study.workload
    called: dict[str, list[ActiveRole]] = {}
    for role in draft.roles:
        for name in asked_by(role, workload):
            if alters(workload.operations[name]):
                called.setdefault(name, []).append(role)
    found: list[Problem] = []
    for name, roles in called.items():
        operation = workload.operations[name]
        found += law_problems(operation)
        for together in at_once(draft, roles):
            callers = ", ".join(role.name for role in together)
            remedy = f"{callers} call {name} at the same time, and its calls are counted; give each role one of its own"
            found.append(problem(f"operations.{name}", "", remedy))
    tables = {operation.table: None for operation in map(workload.operations.__getitem__, called)}
    for table in filter(None, tables):
        mine = [workload.operations[name] for name in called if workload.operations[name].table == table]
        found += table_problems(draft, table, mine)
    return found


def law_problems(operation: Operation) -> Iterator[Problem]:
    keys = operation.key_rows
    if keys is None or operation.does not in ONCE:
        return
    if keys.by != "each_once":
        remedy = f'rows come and go once: an {operation.does} draws its keys by = "each_once"'
        yield problem(f"operations.{operation.name}.keys", keys.by, remedy)
    if operation.does == "insert" and keys.rows is None:
        remedy = "say how many rows it may insert: keys = { rows = N }"
        yield problem(f"operations.{operation.name}.keys", "", remedy)


def at_once(draft: Draft, roles: Sequence[ActiveRole]) -> Iterator[list[ActiveRole]]:
    """Those of the roles that work at the same time, where several do."""
    for step in draft.study.steps:
        together = [role for role in roles if role.name.partition("/")[0] in step.sessions]
        if len(together) > 1:
            yield together


def table_problems(draft: Draft, table: str, operations: Sequence[Operation]) -> Iterator[Problem]:
    rows = draft.rows_of(table)
    if rows > MOST_ROWS:
        remedy = f"calls by key change rows of {table}, each of which is then kept track of: {MOST_ROWS:,} rows at most"
        yield problem(f"tables.{table}", f"{rows:,}", remedy)
    if has_events(draft.tables[table], draft.order):
        remedy = f"rows of {table} have an order or rates of their own; calls that change rows count them sweep by sweep"
        yield problem(f"tables.{table}", "", remedy)
    if table in draft.retained:
        remedy = (
            f"rows of {table} are deleted by age; calls by key on rows that may be gone have no right answer"
        )
        yield problem(f"tables.{table}", "", remedy)
    changing = [operation for operation in operations if operation.does in CHANGES]
    for operation in changing[1:]:
        if operation.changes != changing[0].changes:
            remedy = f"all that change rows of {table} change the same columns, as {changing[0].name} does"
            yield problem(f"operations.{operation.name}.columns", ", ".join(operation.changes), remedy)
