"""Figures of SQLite's checksum queries. Pure."""

from __future__ import annotations

from inrush.engines.base.checksum import ChecksumFigures
from inrush.engines.base.sql import quote
from inrush.workload import Column


class SqliteFigures(ChecksumFigures):
    """The sum of integers is exact or an error, never rounded."""

    def count_true(self, name: str) -> str:
        return self.total(f"{name} <> 0")

    def length(self, column: Column) -> str:
        return f"length(CAST({quote(column.name)} AS BLOB))"

    def scaled(self, name: str, by: int) -> str:
        return f"CAST({name} * {by}.0 AS INTEGER)"
