"""Tables that a role reads while another one writes them: how large they were when it began and ended. Pure.

A table that no load has filled begins empty, so that what is read of it is of no one size, and seldom of the size in
question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.border.pipeline import phase_of, roles_of
from inrush.stats.measures import whole
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord
from inrush.stats.stored import sizes_at_end
from inrush.stats.trends import MATERIAL
from inrush.text import listed


@dataclass(frozen=True)
class GrownTable:
    """A table while a role read it."""

    table: str
    begin_rows: int
    end_rows: int
    #: With its indexes, after the run; None where the engine says no size.
    end_bytes: float | None


def growing_tables(run: RunRecord) -> dict[str, list[GrownTable]]:
    """Role that reads (the whole) -> the tables that grew by a tenth or more meanwhile."""
    plan, found = run.plan, dict[str, list[GrownTable]]()
    names = [str(table["name"]) for table in plan.get("tables", ())]
    before: dict[int, int] = {}
    phases = {s["segment"] for s in run.rows("segments") if s["phase"] in ("load", "warm", "measure")}
    for n, segment in enumerate(plan.get("segments", ())):
        roles = roles_of(segment)
        written = rows_written(run, n, {r["name"]: r["work"] for r in roles}) if n in phases else {}
        for role in roles if phase_of(segment) == "measure" else ():
            for table in sorted(tables_read(plan, role) & written.keys()):
                begin, end = before.get(table, 0), before.get(table, 0) + written[table]
                mine = found.setdefault(whole(role["name"]), [])
                if end > MATERIAL * begin and all(g.table != names[table] for g in mine):
                    mine.append(GrownTable(names[table], begin, end, bytes_of_table(run, names[table])))
        for table, rows in written.items():
            before[table] = before.get(table, 0) + rows
    return {role: growths for role, growths in found.items() if growths}


def rows_written(run: RunRecord, segment: int, works: Mapping[str, Mapping[str, Any]]) -> dict[int, int]:
    """Index of a table -> rows that the roles of a segment wrote into it; of repetitions, the last one's."""
    mine = [
        s
        for s in run.rows("repetitions")
        if s["segment"] == segment and works.get(s["role"], {}).get("kind") == "rows"
    ]
    last = max((s["repetition"] for s in mine), default=0)
    written: dict[int, int] = {}
    for s in mine:
        if s["repetition"] == last and s["rows"]:
            table = int(works[s["role"]]["table"])
            written[table] = written.get(table, 0) + int(s["rows"])
    return written


def tables_read(plan: Mapping[str, Any], role: Mapping[str, Any]) -> set[int]:
    """Tables that the queries of a role name. None of a role that may delete what others write."""
    operations = {o["name"]: o for o in plan.get("operations", ())}
    called = [operations[w["operation"]] for w in role["operations"] if w["operation"] in operations]
    called += [operations[member] for o in called for member in o.get("members", ()) if member in operations]
    return {
        k
        for o in called
        if o["kind"] in ("query", "extract")
        for k, table in enumerate(plan.get("tables", ()))
        if o.get("table") == k or re.search(rf"\b{re.escape(str(table['name']))}\b", str(o.get("text", "")))
    }


def bytes_of_table(run: RunRecord, table: str) -> float | None:
    named = re.compile(rf"\b{re.escape(table)}\b")
    sizes = [size for name, size in sizes_at_end(run).items() if named.search(name)]
    return sum(sizes) if sizes else None


def grew(role: str, growths: Sequence[GrownTable]) -> str:
    """`Readers queried t while it grew from 0 to 50,000 rows (2.50 MB); their times hold for that size only`"""
    each = [
        f"{g.table} while it grew from {g.begin_rows:,} to {g.end_rows:,} rows"
        + (f" ({show(g.end_bytes, 'bytes')})" if g.end_bytes else "")
        for g in growths
    ]
    return f"{role[:1].upper()}{role[1:]} queried {listed(each)}; their times hold for that size only"
