"""A table of any types and values comes back of the engine's own dump as it was; what does not is rejected with its reason."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inrush.border.table import WrittenAs
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
    **dict.fromkeys(("TEXT", "VARCHAR(20)", ""), dumped.texts()),
    "DATETIME": dumped.times(),
    "DATE": dumped.days(),
    "UUID": st.uuids().map(str),
}
#: Why a row or a file of an engine's own dump is not taken, all of it said in docs/loading.md.
ALLOWED = r"not a list of numbers"


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


def written_in(file: Path) -> WrittenAs:
    """Where there is one column, what stands between columns is not to be found."""
    is_narrow = file.suffix == ".csv" and "," not in file.read_text(encoding="utf-8").partition("\n")[0]
    return {"delimiter": ","} if is_narrow else {}


def loaded(folder: Path, file: Path, into: str, table: str, create: bool) -> Loaded:
    call = Call((str(file),), table, into, create=create, written=written_in(file))
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
        makes = [
            {"REAL": float}.get(kind, int if "INT" in kind or kind == "BOOLEAN" else str)
            for kind in drawn.kinds
        ]
        rows = [
            [None if text is None else make(text) for make, text in zip(makes, row, strict=True)]
            for row in drawn.rows
        ]
        self.ask(f"INSERT INTO t VALUES ({', '.join('?' * len(makes))})", rows)

    def dump(self, form: str) -> Path:
        """As `.mode csv` and `.headers on` of SQLite's shell write it, but for floats, of which the shell drops digits."""
        path = self.folder / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as out:
            out.write(
                ",".join(name for name, *_ in self.ask("SELECT name FROM pragma_table_info('t')")) + "\r\n"
            )
            for row in self.ask("SELECT * FROM t"):
                out.write(",".join(map(in_csv, row)) + "\r\n")
        return path

    def rows(self, table: str) -> list[Row]:
        kinds = self.ask(f"SELECT name, type FROM pragma_table_info('{table}')")
        texts = (AS_TEXT.get(kind, "{0}").format(name) for name, kind in kinds)
        found = self.ask(f"SELECT {', '.join(texts)} FROM {table}")
        return [
            tuple(v if v is None else repr(v) if isinstance(v, float) else str(v) for v in row)
            for row in found
        ]

    def load(self, file: Path, table: str, create: bool = False) -> Loaded:
        return loaded(self.folder, file, f"sqlite://{self.path}", table, create)


#: What tables of inrush's own hold, as texts.
AS_TEXT = {
    "BOOLEAN INTEGER": "iif({0}, 'true', iif({0} IS NULL, NULL, 'false'))",
    **{
        f"INTEGER {unit}SECONDS": "CASE WHEN {0} IS NOT NULL THEN strftime('%Y-%m-%d %H:%M:%S', "
        f"({{0}} - (({{0}} % {per_s}) + {per_s}) % {per_s}) / {per_s}, 'unixepoch') || "
        f"printf('.%06d', (({{0}} % {per_s}) + {per_s}) % {per_s} * {1_000_000 // per_s}) END"
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


#: A load takes half a second: these few are always the same ones, beside the tests marked slow there are 100 of chance.
FEW = 6


def drawn_of(kinds: dumped.Kinds) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """For a test of tables with columns of these types."""
    is_brief = settings().max_examples < settings.get_profile("inrush").max_examples
    how = {"max_examples": FEW, "derandomize": True} if is_brief else {}
    return lambda test: settings(**how, suppress_health_check=[*HealthCheck])(
        given(drawn=tables(kinds))(test)
    )


@drawn_of(DUCKDB_CSV)
def test_duckdb_s_csv_comes_back(drawn: Drawn) -> None:
    with scratch() as folder:
        comes_back(InDuckDB(folder), "csv", drawn)


@drawn_of(DUCKDB)
def test_duckdb_s_parquet_comes_back(drawn: Drawn) -> None:
    with scratch() as folder:
        comes_back(InDuckDB(folder), "parquet", drawn)


@drawn_of(SQLITE)
def test_sqlite_s_csv_comes_back(drawn: Drawn) -> None:
    with scratch() as folder:
        comes_back(InSqlite(folder), "csv", drawn)


def test_a_decimal_without_a_digit_before_its_point_is_proven(tmp_path: Path) -> None:
    there = InDuckDB(tmp_path)
    there.fill(Drawn(("DECIMAL(3,3)",), (("0.5",), ("-0.25",), ("0",))))
    done = there.load(there.dump("csv"), "same")
    assert (done.verdict, done.rejected) == ("proven", 0), done.why
    assert there.rows("same") == [(".500",), ("-.250",), (".000",)]


def test_json_and_uuids_of_parquet_are_texts(tmp_path: Path) -> None:
    there = InDuckDB(tmp_path)
    row = ('{"b":1}', "00000000-0000-0000-0000-00000000000a")
    there.fill(Drawn(("JSON", "UUID"), (row, (None, None))))
    file = there.dump("parquet")
    for table in ("same", "made"):
        done = there.load(file, table, create=True)
        assert (done.verdict, there.rows(table)) == ("proven", [row, (None, None)]), done.why


def test_an_interval_of_parquet_is_refused(tmp_path: Path) -> None:
    there = InDuckDB(tmp_path)
    there.fill(Drawn(("INTERVAL",), (("1 day",),)))
    with pytest.raises(UsageError, match="column c0 is an interval"):
        there.load(there.dump("parquet"), "made", create=True)


@pytest.mark.parametrize("kind", ["UNION(n INTEGER, s VARCHAR)", "STRUCT(u UNION(n INTEGER, s VARCHAR))"])
def test_a_union_of_duckdb_is_refused(kind: str, tmp_path: Path) -> None:
    """Its text 1 came back as the member of texts, and one without a value as the text NULL."""
    there = InDuckDB(tmp_path)
    there.ask(f"CREATE TABLE t (id INTEGER, v {kind})")
    file = tmp_path / "a.csv"
    file.write_text("id,v\n1,1\n")
    with pytest.raises(UsageError, match=r"not loaded yet by their type: v \(.*UNION.*; load a file without"):
        there.load(file, "t")
    file.write_text("id\n1\n")
    assert there.load(file, "t").rows_stored == 1


def test_a_list_of_parquet_with_an_item_of_no_value_is_rejected_by_its_row(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * FROM (VALUES ([1, NULL]), ([2])) t(v)) TO '{file}' (FORMAT parquet)"
        )
    there = InDuckDB(tmp_path)
    done = there.load(file, "t", create=True)
    assert (there.rows("t"), done.rejected) == ([("[2]",)], 1) and done.rejects is not None
    assert done.rejects.read_text().splitlines()[1].startswith(f"{file},1,v,"), "not what was made of it"


def test_a_text_of_a_dump_is_no_word_for_null(tmp_path: Path) -> None:
    """Without `NA` the column would be one of numbers; it is one of texts."""
    there = InDuckDB(tmp_path)
    rows = [("1", "x"), ("NA", None), ("2", "")]
    there.fill(Drawn(("VARCHAR", "VARCHAR"), tuple(rows)))
    assert there.load(there.dump("csv"), "same").verdict == "proven"
    assert there.rows("same") == rows


def test_a_word_for_null_among_numbers_is_said_of_a_table_that_is_there(tmp_path: Path) -> None:
    there = InDuckDB(tmp_path)
    there.ask("CREATE TABLE t (n INTEGER, v VARCHAR)")
    (tmp_path / "a.csv").write_text("n,v\n1,x\nNA,NA\n2,\n")
    notes: list[str] = []
    call = Call((f"{tmp_path}/a.csv",), "t", f"duckdb://{there.path}")
    load(call, tmp_path / "loads", notes.append, lambda event: None)
    assert there.rows("t") == [("1", "x"), (None, None), ("2", "")]
    assert (
        notes[0]
        == "NULL is written 'NA', and an empty field is an empty text there; --null '' reads them the other way"
    )
