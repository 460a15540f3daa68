"""A table of any types and values comes back of the engine's own dump as it was; what does not is rejected with its reason."""

from __future__ import annotations

import csv
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.run import Loaded, load
from tests import dumped
from tests.dumped import Drawn, Row, came_back, loaded_or_refused, tables, values_of

DUCKDB: dumped.Kinds = {
    "BOOLEAN": st.sampled_from(("true", "false")),
    "TINYINT": dumped.wholes(-(2**7), 2**7 - 1),
    "SMALLINT": dumped.wholes(-(2**15), 2**15 - 1),
    "INTEGER": dumped.wholes(-(2**31), 2**31 - 1),
    "BIGINT": dumped.wholes(-(2**63), 2**63 - 1),
    "UTINYINT": dumped.wholes(0, 2**8 - 1),
    "USMALLINT": dumped.wholes(0, 2**16 - 1),
    "UINTEGER": dumped.wholes(0, 2**32 - 1),
    "UBIGINT": dumped.wholes(0, 2**64 - 1),
    "FLOAT": dumped.floats(32),
    "DOUBLE": dumped.floats(64),
    "DECIMAL(4,1)": dumped.decimals(4, 1),
    "DECIMAL(18,3)": dumped.decimals(18, 3),
    "DECIMAL(38,0)": dumped.decimals(38, 0),
    "DECIMAL(38,38)": dumped.decimals(38, 38),
    "VARCHAR": dumped.texts(),
    "BIT": st.text("01", min_size=1, max_size=12),
    "UUID": st.uuids().map(str),
    "DATE": dumped.days(),
    "TIME": dumped.clocks(),
    "TIMESTAMP": dumped.times(),
    "TIMESTAMP_S": dumped.times(digits=0),
    "TIMESTAMP_MS": dumped.times(digits=3),
    "TIMESTAMP_NS": dumped.times("1700-01-01 00:00:00", "2261-12-31 23:59:59.999999"),
    "TIMESTAMPTZ": dumped.times(zone="+00"),
    "ENUM('glad', 'so, so', '', '\"')": st.sampled_from(("glad", "so, so", "", '"')),
    "JSON": st.sampled_from(('{"b":1,"a":[1,2]}', "null", '"a\\n\\"b"', "1.50", "[]", '"\\\\N"')),
    "BIGINT[]": st.sampled_from(("[1, -9223372036854775808]", "[]")),
    "DOUBLE[]": st.sampled_from(("[1, 0.1, -0.0]", "[]", "[1e308, 5e-324]")),
}
#: What DuckDB writes into Parquet as doubles, bytes and JSON.
DUCKDB_CSV: dumped.Kinds = {
    **DUCKDB,
    "HUGEINT": dumped.wholes(-(2**127), 2**127 - 1),
    "UHUGEINT": dumped.wholes(0, 2**128 - 1),
    "INTERVAL": st.sampled_from(("1 day", "-3 months", "02:03:04.5", "1 year 2 days -00:00:01")),
    "INTEGER[]": st.sampled_from(("[1, 2, NULL]", "[]")),
    "STRUCT(a INTEGER, b VARCHAR)": st.sampled_from(("{'a': 1, 'b': 'x, y'}", "{'a': NULL, 'b': NULL}")),
    "MAP(VARCHAR, INTEGER)": st.sampled_from(("{a=1, b=2}", "{}")),
}
SQLITE: dumped.Kinds = {
    **dict.fromkeys(("INTEGER", "BIGINT"), dumped.wholes(-(2**63), 2**63 - 1)),
    "SMALLINT": dumped.wholes(-(2**15), 2**15 - 1),
    "BOOLEAN": st.sampled_from("01"),
    "REAL": dumped.floats(64, ("inf", "-inf")),
    **dict.fromkeys(("TEXT", "VARCHAR(20)", "", "DATETIME"), dumped.texts()),
    "DATE": dumped.days().map(lambda day: day),
    "UUID": st.uuids().map(str),
}
#: Why a row or a file of an engine's own dump is not taken, all of it said in docs/loading.md.
ALLOWED = "XXX"


class Place(Protocol):
    """A database of the test's own."""

    def fill(self, drawn: Drawn) -> None: ...

    def dump(self, form: str) -> Path: ...

    def rows(self, table: str) -> list[Row]: ...

    def load(self, file: Path, table: str, create: bool = False) -> Loaded: ...


class InDuckDB:
    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "t.duckdb"

    def ask(self, *statements: str, rows: Sequence[Row] = ()) -> list[Row]:
        """The answer of the last one, which takes the rows."""
        with duckdb.connect(str(self.path)) as here:
            here.execute("SET TimeZone = 'UTC'")
            for statement in statements[: -1 if rows else None]:
                here.execute(statement)
            if rows:
                here.executemany(statements[-1], rows)
            return here.fetchall()

    def fill(self, drawn: Drawn) -> None:
        made = [f"CREATE TABLE {name} ({drawn.columns})" for name in ("t", "same")]
        values = ", ".join(f"CAST(? AS {kind})" for kind in drawn.kinds)
        self.ask(*made, f"INSERT INTO t VALUES ({values})", rows=drawn.rows)

    def dump(self, form: str) -> Path:
        path = self.folder / f"t.{form}"
        self.ask(f"COPY t TO '{path}' (FORMAT {form}{', HEADER' if form == 'csv' else ''})")
        return path

    def rows(self, table: str) -> list[Row]:
        return self.ask(f"SELECT COLUMNS(*)::VARCHAR FROM {table}")

    def load(self, file: Path, table: str, create: bool = False) -> Loaded:
        return loaded(self.folder, file, f"duckdb://{self.path}", table, create)


def loaded(folder: Path, file: Path, into: str, table: str, create: bool) -> Loaded:
    call = Call((str(file),), table, into, create=create)
    return load(call, folder / "loads", lambda note: None, lambda event: None)


class InSqlite:
    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "t.sqlite"

    def ask(self, statement: str, rows: Sequence[Sequence[Any]] = ()) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as here, here:
            if rows:
                here.executemany(statement, rows)
                return []
            return here.execute(statement).fetchall()

    def fill(self, drawn: Drawn) -> None:
        for name in ("t", "same"):
            self.ask(f"CREATE TABLE {name} ({drawn.columns})")
        makes = [{"REAL": float}.get(kind, int if "INT" in kind or kind == "BOOLEAN" else str) for kind in drawn.kinds]
        rows = [
            [None if text is None else make(text) for make, text in zip(makes, row, strict=True)] for row in drawn.rows
        ]
        self.ask(f"INSERT INTO t VALUES ({', '.join('?' * len(makes))})", rows)

    def dump(self, form: str) -> Path:
        """As `.mode csv` and `.headers on` of SQLite's shell write it, but for floats, of which the shell drops digits."""
        path = self.folder / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as out:
            out.write(",".join(name for name, *_ in self.ask("SELECT name FROM pragma_table_info('t')")) + "\r\n")
            for row in self.ask("SELECT * FROM t"):
                out.write(",".join(map(in_csv, row)) + "\r\n")
        return path

    def rows(self, table: str) -> list[Row]:
        kinds = self.ask(f"SELECT name, type FROM pragma_table_info('{table}')")
        texts = (AS_TEXT.get(kind, "{0}").format(name) for name, kind in kinds)
        found = self.ask(f"SELECT {', '.join(texts)} FROM {table}")
        return [tuple(v if v is None else repr(v) if isinstance(v, float) else str(v) for v in row) for row in found]

    def load(self, file: Path, table: str, create: bool = False) -> Loaded:
        return loaded(self.folder, file, f"sqlite://{self.path}", table, create)


#: What tables of inrush's own hold, as texts.
AS_TEXT = {
    "BOOLEAN INTEGER": "iif({0}, 'true', iif({0} IS NULL, NULL, 'false'))",
    **{
        f"INTEGER {unit}SECONDS": "CASE WHEN {0} IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%S', floor({0} / "
        f"{per_s}.0), 'unixepoch') || printf('.%06d', (({{0}} % {per_s}) + {per_s}) % {per_s} * {1_000_000 // per_s}) END"
        for unit, per_s in (("MILLI", 1_000), ("MICRO", 1_000_000))
    },
}


def in_csv(value: Any) -> str:
    """A text of other than plain ASCII stands in quotes, and so does an empty one; NULL is nothing."""
    if value is None or isinstance(value, (int, float)):
        return "" if value is None else {"inf": "Inf", "-inf": "-Inf"}.get(repr(value), repr(value))
    text = str(value)
    plain = text and all("!" <= c <= "~" and c not in "\"'," for c in text)
    return text if plain else '"' + text.replace('"', '""') + '"'


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def comes_back(there: Place, form: str, drawn: Drawn) -> None:
    """Into a table of the same types, and into one that is made."""
    there.fill(drawn)
    file = there.dump(form)
    before = there.rows("t")
    if done := loaded_or_refused(partial(there.load, file, "same"), ALLOWED):
        came_back(before, there.rows("same"), done, ALLOWED)
    if done := loaded_or_refused(partial(there.load, file, "made", create=True), ALLOWED):
        came_back(values_of(before), values_of(there.rows("made")), done, ALLOWED)


@given(drawn=tables(DUCKDB_CSV))
def test_duckdb_s_csv_comes_back(drawn: Drawn) -> None:
    with scratch() as folder:
        comes_back(InDuckDB(folder), "csv", drawn)


@given(drawn=tables(DUCKDB))
def test_duckdb_s_parquet_comes_back(drawn: Drawn) -> None:
    with scratch() as folder:
        comes_back(InDuckDB(folder), "parquet", drawn)


@given(drawn=tables(SQLITE))
def test_sqlite_s_csv_comes_back(drawn: Drawn) -> None:
    with scratch() as folder:
        comes_back(InSqlite(folder), "csv", drawn)
