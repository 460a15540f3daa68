"""What a point cannot mean on its engine, as problems that are said together. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inrush.errors import Problem
from inrush.plan.by_key import by_key_problems
from inrush.plan.clients import client_problems
from inrush.plan.documents import has_events
from inrush.plan.extracts import range_problems
from inrush.plan.partitions import partition_problems
from inrush.study.events import ORDERS_OF_CHUNKS
from inrush.workload import Table

if TYPE_CHECKING:
    from inrush.plan.draft import Draft


def draft_problems(draft: Draft) -> list[Problem]:
    return [
        *asked_problems(draft),
        *ranges_without_rows(draft),
        *order_problems(draft),
        *by_key_problems(draft),
        *partition_problems(draft.tables, draft.server, draft.layout),
        *client_problems(draft),
    ]


def asked_problems(draft: Draft) -> list[Problem]:
    """Operations that answer with the rows of a key: these must lie there before, and stay."""
    operations = draft.study.workload.operations
    names = {
        member
        for role in draft.roles
        for name in role.operations
        for member in draft.queries(name, role.tables)
    }
    asked = [operations[name] for name in sorted(names) if "asked" in operations[name].holds]
    remedy = (
        "{table} has no rows that are loaded and stay: say load = {{ rows = N }}, or promise rows_regenerate"
    )
    return [
        Problem("", f"operations.{op.name}.holds", "asked", remedy.format(table=op.table))
        for op in asked
        if not (draft.rows_of if op.does else draft.rows_before)(op.table or "") or op.table in draft.retained
    ]


def ranges_without_rows(draft: Draft) -> list[Problem]:
    """Ranges of tables whose rows do not lie there."""
    names = {
        asked: None
        for role in draft.roles
        for name in role.operations
        for asked in (name, *draft.queries(name, role.tables))
    }
    ranged = [op for op in map(draft.study.workload.operations.__getitem__, names) if op.range is not None]

    def changes(table: str) -> bool:
        return table in draft.retained or (table in draft.written and draft.study.measure is not None)

    return range_problems(ranged, draft.tables, draft.rows_before, changes)


def order_problems(draft: Draft) -> list[Problem]:
    """Rules that count sweeps or the first rows, of tables whose rows are not sweep after sweep."""
    sampled = {role.table for role in draft.roles if role.samples is not None}
    own = {name for name, table in draft.tables.items() if has_events(table, draft.order)}
    asked = {
        member for role in draft.roles for op in role.operations for member in draft.queries(op, role.tables)
    }
    found = []
    for name in sorted(asked):
        keys = draft.study.workload.operations[name].key_rows
        if keys is not None and keys.rows is not None and keys.table in own:
            remedy = f"the first rows of {keys.table} are others in each order; remove it, and all rows are drawn from"
            found.append(Problem("", f"operations.{name}.keys.rows", str(keys.rows), remedy))
    timeless = [name for name, table in draft.tables.items() if table.chunks is not None]
    if timeless and draft.order not in (None, *ORDERS_OF_CHUNKS):
        remedy = (
            f"rows of {', '.join(timeless)} lie in files of chunks and have no time; "
            f"write {' or '.join(ORDERS_OF_CHUNKS)}"
        )
        found.append(Problem("", "row_order", draft.order, remedy))
    return found + [
        Problem(
            "",
            of_sweeps(table),
            name,
            "its rows are not sweep after sweep; samples and deletes by age count sweeps",
        )
        for name, table in draft.tables.items()
        if name in own and (name in draft.retained or name in sampled)
    ]


def of_sweeps(table: Table) -> str:
    """The key that keeps its rows from being sweep after sweep."""
    for key, own in (("rates", table.rates), ("chunks", table.chunks)):
        if own is not None:
            return f"tables.{table.name}.{key}"
    return "row_order"
