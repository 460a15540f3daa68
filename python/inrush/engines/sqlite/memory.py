"""A SQLite in memory, by Python's own module."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from inrush.engines.base.in_memory import CannotAnswer, InMemory, microseconds

WHOLE = 2**64


class SqliteInMemory(InMemory):
    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")

    def execute(self, statement: str) -> None:
        self.connection.execute(statement)

    def insert(self, table: str, types: Sequence[str], rows: Any) -> None:
        marks = ", ".join("?" * len(types))
        for batch in rows:
            columns = [stored_column(column, of) for column, of in zip(batch.columns, types, strict=True)]
            self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", zip(*columns, strict=True))

    def ask(self, text: str, values: Sequence[Any], types: Sequence[str] = ()) -> list[Sequence[Any]]:
        types = types or ["time_ms" if isinstance(v, datetime) else "u64" for v in values]
        kept = [stored([v], of)[0] for v, of in zip(values, types, strict=True)]
        try:
            return self.connection.execute(text, kept).fetchall()
        except sqlite3.Error as e:
            raise CannotAnswer(str(e)) from e


def stored_column(column: Any, logical: str) -> list[Any]:
    """`stored` of a whole Arrow column: integers are read as integers, never by way of Python's times."""
    import pyarrow as pa

    if logical == "u64":
        column = column.view(pa.int64())
    elif logical in ("time_ms", "time_us"):
        unit = pa.timestamp("ms" if logical == "time_ms" else "us", column.type.tz)
        column = column.cast(unit).view(pa.int64())
    elif logical.startswith("list"):
        return stored(column.to_pylist(), logical)
    if column.null_count or not pa.types.is_primitive(column.type):
        return list(column.to_pylist())
    return list(column.to_numpy(zero_copy_only=False).tolist())


def stored(values: Sequence[Any], logical: str) -> list[Any]:
    """As SQLite keeps them: unsigned bits as signed, times as integers of their unit, lists as JSON."""
    if logical == "u64":
        return [v - WHOLE if isinstance(v, int) and v >= WHOLE // 2 else v for v in values]
    if logical in ("time_ms", "time_us"):
        unit = 1_000 if logical == "time_ms" else 1
        return [None if v is None else microseconds(v) // unit for v in values]
    if logical.startswith("list"):
        return [None if v is None else json.dumps(v) for v in values]
    return list(values)
