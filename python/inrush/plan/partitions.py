"""Whether an engine can cut its tables by time as the workload says. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from inrush.engines.base.twin import Twin
from inrush.errors import Problem
from inrush.workload import Partitions, Table


def partition_problems(tables: Mapping[str, Table], server: Twin, layout: str) -> list[Problem]:
    found = []
    for name, table in tables.items():
        own = table.partitions.get(server.name)
        remedy = "" if own is None else remedy_of(own, table, server, layout)
        if remedy:
            found.append(Problem("", f"tables.{name}.partitions.{server.name}", "", remedy))
    return found


def remedy_of(own: Partitions, table: Table, server: Twin, layout: str) -> str:
    """What to change; empty where the engine can do it."""
    if own.below and not server.cuts_by_value:
        return f"{server.title} does not cut tables by the values of a column here; remove the line"
    keyed_by = table.layouts.get(layout, ((),))[:1]
    if own.below and keyed_by and keyed_by[0] and own.column not in keyed_by[0]:
        return f"a key of a table that is cut by {own.column} contains it; add it to `identity`, or take another layout"
    if own.below:
        return ""
    if not server.partitions:
        return f"{server.title} does not cut tables by `partitions`; remove the line"
    if server.partitions == "counted" and own.count is None:
        return f"{server.title} makes every partition beforehand; say how many, count = 12"
    if server.partitions == "cut" and own.count is not None:
        return f"{server.title} makes partitions as rows come; remove `count`"
    indexes = table.layouts.get(layout, ())
    keyed = bool(indexes) and indexes[0] == table.identity
    if keyed and table.time is not None and table.time.name not in table.identity:
        return f"a key of a table that is cut by {table.time.name} contains it; add it to `identity`, or take another layout"
    return ""
