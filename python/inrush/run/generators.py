"""The core is asked whether it can make the rows of a workload, and of a plan, before anything is started."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from inrush import _core
from inrush.errors import Problem

if TYPE_CHECKING:
    from inrush.border.table import TablePlan
    from inrush.plan.planned import StudyPlan
    from inrush.workload import Table, Workload

#: Of a check that draws no value.
ANY_SEED = 1


def refused(table: Table, epoch: str) -> Sequence[tuple[str, str]]:
    """What is wrong with the generators of a table as a workload file has them, whatever engine and order it is planned for.

    Nothing of a table in chunks: they are of so many rows, which the plan says.
    """
    if table.chunks is not None:
        return []
    from inrush.engines.base.plans import TablePlan
    from inrush.plan.documents import epoch_ns, stored_table
    from inrush.plan.units import ns

    planned = TablePlan(table.name, (), (), (), {column.name: "" for column in table.columns})
    source = {"kind": "generated", "series": max(1, table.series), "period_ns": max(1, ns(table.period_s))}
    document = json.dumps({**stored_table(table, planned), "source": source})
    try:
        return _core.check_table(document, ANY_SEED, epoch_ns(epoch))
    except _core.CoreFailure:  # it has a mistake that is said already
        return []


def generator_problems(plan: StudyPlan) -> Iterable[Problem]:
    """Every generator that the core refuses, of all tables of all points."""
    workload = plan.study.workload
    tables: dict[str, tuple[TablePlan, int, int]] = {}
    for point in plan.planned.values():
        for table in point.plan["tables"]:
            if table["source"]["kind"] == "generated":
                key = json.dumps([table["stream"], table["source"], table["columns"]])
                tables.setdefault(key, (table, plan.seed, point.plan["epoch_ns"]))
    problems = [
        placed(workload, table["stream"], column, why)
        for table, seed, epoch_ns in tables.values()
        for column, why in _core.check_table(json.dumps(table), seed, epoch_ns)
    ]
    return dict.fromkeys(problems)


def placed(workload: Workload, table: str, column: str, why: str) -> Problem:
    """What the core says of a column, with its place in the workload file."""
    key = f"tables.{table}"
    names: Iterable[str] = (
        (c.name for c in workload.tables[table].columns) if table in workload.tables else ()
    )
    at = {name: i for i, name in enumerate(names)}
    if column in at:
        key += f".columns[{at[column]}]"
    return Problem(workload.file, key, column, why)
