"""Figures of QuestDB's checksum queries. Pure."""

from __future__ import annotations

from inrush.engines.base.checksum import ChecksumFigures
from inrush.engines.base.sql import quote
from inrush.workload import Column


class QuestdbFigures(ChecksumFigures):
    """A sum of nothing is NULL."""

    rows = "count()"

    def whole(self, column: Column) -> str:
        value = f"cast({quote(column.name)} AS long)"
        return f"({value} / 1000)" if column.type == "time_ms" else value

    def high(self, whole: str, signed: bool) -> str:
        # There is no shift. A division rounds towards zero, and the upper half towards the lesser.
        less = f"{whole} < 0 AND ({whole} & 4294967295) <> 0"
        return f"{whole} / 4294967296 - CASE WHEN {less} THEN 1 ELSE 0 END"

    def length(self, column: Column) -> str:
        # The length of NULL is -1.
        name = quote(column.name)
        return f"CASE WHEN {name} IS NULL THEN 0 ELSE length_bytes({name}) END"

    def scaled(self, name: str, by: int) -> str:
        return f"cast(cast({name} AS double) * {by} AS long)"
