"""A DuckDB in memory, by its Python package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inrush.engines.base.in_memory import CannotAnswer, InMemory


class DuckDBInMemory(InMemory):
    def __init__(self) -> None:
        import duckdb

        self.connection: Any = duckdb.connect()
        # Times are compared as instants; the session's zone must not enter.
        self.connection.execute("SET TimeZone = 'UTC'")

    def execute(self, statement: str) -> None:
        self.connection.execute(statement)

    def insert(self, table: str, types: Sequence[str], rows: Any) -> None:
        self.connection.register("inrush_rows", rows)
        self.connection.execute(f"INSERT INTO {table} SELECT * FROM inrush_rows")
        self.connection.unregister("inrush_rows")

    def ask(self, text: str, values: Sequence[Any], types: Sequence[str] = ()) -> list[Sequence[Any]]:
        import duckdb

        try:
            text = self._with_plain_times(text, values)
            rows: list[Sequence[Any]] = self.connection.execute(text, list(values)).fetchall()
        except duckdb.Error as e:
            raise CannotAnswer(str(e).partition("\n")[0]) from e
        return rows

    def _with_plain_times(self, text: str, values: Sequence[Any]) -> str:
        """Instants as microseconds since 1970: DuckDB hands them to Python only with a package of zones."""
        described = self.connection.execute(text, list(values)).description
        times = [name for name, kind, *_ in described if str(kind).startswith("TIMESTAMP")]
        if not times:
            return text
        shown = ", ".join(f'epoch_us("{name}") AS "{name}"' for name in times)
        return f"SELECT * REPLACE ({shown}) FROM ({text}) AS answer"
