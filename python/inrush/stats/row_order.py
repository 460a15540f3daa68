"""Where the rows of a load meet the indexes of their table: at the end, at the ends of their series, or anywhere. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def out_of_order(plan: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Whether rows meet an index of their table elsewhere than at its end; a table without indexes has no tree.

    True where the run does not say which indexes a table has.
    """
    if labels.get("layout") == "none":
        return False
    indexes = labels.get("indexes") or {}
    return any(
        table["stream"] not in indexes or any(not appends(index, table) for index in indexes[table["stream"]])
        for table in plan.get("tables", ())
    )


def in_runs(plan: Mapping[str, Any]) -> bool:
    """Whether a table lies in files of runs of neighbouring keys, and is loaded file by file: few leaves a file."""
    events = [(table.get("source") or {}).get("events") or {} for table in plan.get("tables", ())]
    return any("chunks" in of and (of.get("order") or {}).get("by") != "random" for of in events)


def appends(index: Sequence[str], table: Mapping[str, Any]) -> bool:
    """Whether each row of a table comes after all before it, in the order of an index."""
    source = table.get("source") or {}
    events = source.get("events")
    by = ((events or {}).get("order") or {}).get("by", "time")
    gens = {c["name"]: c.get("gen") or {} for c in table.get("columns", ())}
    first = gens.get(index[0], {})
    if by == "time":
        counted = events is None and first.get("kind") == "sequence" and first.get("step", 1) > 0
        return counted or first.get("kind") in ("sweep_time", "time")
    # By key: series after series, each by time. A column that begins again, or is scattered, orders them otherwise.
    ascends = first.get("kind") == "cycle" and cycle_places(first) >= source.get("series", float("inf"))
    timed = [gens.get(name, {}).get("kind") == "sweep_time" for name in index[1:]]
    return by == "key" and ascends and timed in ([], [True])


def tails(plan: Mapping[str, Any], labels: Mapping[str, Any]) -> float:
    """Leaves that a next row can go into, of all indexes that rows do not append to: one for each series where rows come by
    time and an index has them by series, then by time. Infinite where rows go anywhere in one of them, or it is not known."""
    indexes, found = labels.get("indexes") or {}, 0.0
    for table in plan.get("tables", ()):
        for index in indexes.get(table["stream"], ((),)):
            if not index or not (appends(index, table) or has_tails(index, table)):
                return float("inf")
            if not appends(index, table):
                found += float(table["source"]["series"])
    return found or float("inf")


def has_tails(index: Sequence[str], table: Mapping[str, Any]) -> bool:
    """Whether rows of each series go to one place of an index, the end of those before them."""
    source = table.get("source") or {}
    gens = {c["name"]: c.get("gen") or {} for c in table.get("columns", ())}
    by = (((source.get("events") or {}).get("order")) or {}).get("by", "time")
    timed = [gens.get(name, {}).get("kind") == "sweep_time" for name in index[1:]]
    return by == "time" and gens.get(index[0], {}).get("kind") == "cycle" and timed in ([], [True])


def cycle_places(gen: Mapping[str, Any]) -> float:
    """Series that a cycle numbers before it begins again, each by a number of its own."""
    return float(gen["to"] - gen["from"] + 1) if gen.get("every", 1) == 1 else 0.0
