"""The core is asked whether it can make the rows of a plan, before anything is started."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from inrush import _core
from inrush.errors import Problem, StudyInvalid

if TYPE_CHECKING:
    from inrush.border.pipeline import LoadingPointPlan, PipelinePointPlan
    from inrush.border.plan import PointPlan as SessionsPointPlan
    from inrush.border.table import TablePlan
    from inrush.plan.planned import StudyPlan
    from inrush.workload import Workload


def check_generators(plan: StudyPlan) -> None:
    """Raises StudyInvalid with every generator that the core refuses, of all tables of all points."""
    workload = plan.study.workload
    tables: dict[str, tuple[TablePlan, int, int]] = {}
    for point in plan.planned.values():
        for table in made(point.plan):
            if table["source"]["kind"] == "generated":
                key = json.dumps([table["stream"], table["source"], table["columns"]])
                tables.setdefault(key, (table, plan.seed, point.plan["epoch_ns"]))
    problems = [
        placed(workload, table["stream"], column, why)
        for table, seed, epoch_ns in tables.values()
        for column, why in _core.check_table(json.dumps(table), seed, epoch_ns)
    ]
    if problems:
        raise StudyInvalid(list(dict.fromkeys(problems)))


def made(plan: SessionsPointPlan | PipelinePointPlan | LoadingPointPlan) -> Iterable[TablePlan]:
    """Tables whose rows a run makes: of a pipeline, those of the files that it loads."""
    return [plan["inputs"]["table"]] if "inputs" in plan else plan["tables"]


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
