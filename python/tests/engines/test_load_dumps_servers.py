"""What test_load_dumps says of embedded engines, of servers: their own dumps come back as they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from inrush.engines.base.instance import Target
from inrush.load.run import Loaded
from tests import dumped
from tests.dumped import Drawn, Row
from tests.engines.test_load_proof import Place, database
from tests.test_load_dumps import comes_back, drawn_of, written_in

POSTGRESQL: dumped.Kinds = {
    "boolean": st.sampled_from(("true", "false")),
    "smallint": dumped.wholes(-(2**15), 2**15 - 1),
    "integer": dumped.wholes(-(2**31), 2**31 - 1),
    "bigint": dumped.wholes(-(2**63), 2**63 - 1),
    "real": dumped.floats(32),
    "double precision": dumped.floats(64),
    "numeric": st.one_of(
        dumped.decimals(30, 7), st.sampled_from(("NaN", "Infinity", "-0.0", "1e30", "1.50"))
    ),
    "numeric(10,2)": dumped.decimals(10, 2),
    "numeric(4,4)": dumped.decimals(4, 4),
    "text": dumped.texts(),
    "varchar(8)": dumped.texts(),
    "char(8)": dumped.texts(),
    "bytea": st.binary(max_size=5).map(lambda b: "\\x" + b.hex()),
    "bit varying(5)": st.text("01", max_size=5),
    "uuid": st.uuids().map(str),
    "date": dumped.days(),
    "time": dumped.clocks(),
    "timetz": st.sampled_from(("12:34:56+02", "00:00:00-05:30", "24:00:00+00")),
    "timestamp": dumped.times(),
    "timestamp(3)": dumped.times(digits=3),
    "timestamptz": dumped.times(zone="+00"),
    "interval": st.sampled_from(("1 day 02:03:04", "-3 mons", "1 year -1 day 00:00:00.000001")),
    "inet": st.sampled_from(("10.0.0.1", "fe80::1/64", "::ffff:1.2.3.4", "10.0.0.0/8")),
    "jsonb": st.sampled_from(('{"b": 1, "a": [1, 2]}', "null", '"a\\n\\\\N\\""', "1.50", "1e400")),
    "json": st.sampled_from(('{"b":1,"a":[1,2]}', "null", '"a\\nb"', ' "x\\\\" ', '{"a":1,\n"a":2}')),
    "int[]": st.sampled_from(("{1,2,NULL}", "{}", "{{1,2},{3,4}}", "[5:6]={1,2}")),
    "text[]": st.sampled_from(('{a,"b c","d\\"e"}', "{NULL}", '{"NULL",""}', '{"\\\\N","\n"}')),
    "bigint[]": st.sampled_from(("{1,-9223372036854775808}", "{}", "{1,NULL}", "{{1},{2}}")),
    "double precision[]": st.sampled_from(("{1.5,-0,1e308}", "{}", "{NaN}", "{Infinity,NULL}")),
    "int4range": st.sampled_from(("[1,4)", "(,5)", "empty")),
    "money": st.sampled_from(("$12.34", "-$1.00", "$1,234.50")),
}


class OnServer:
    """A database of the test's own on a server."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place, self.folder = place, folder

    def load(self, file: Path, table: str, create: bool = False) -> Loaded:
        """A dump of text says neither its format nor that it has no header where it has one column."""
        as_text: dict[str, Any] = {"header": "no", "format": "tsv", "written": {"delimiter": "\t"}}
        said = as_text if file.suffix == ".txt" else {"written": written_in(file)}
        return self.place.load([file], self.folder / "loads", table, create=create, **said)


class OnPostgresql(OnServer):
    def fill(self, drawn: Drawn) -> None:
        for table in ("t", "same", "made"):
            self.place.ask(f"DROP TABLE IF EXISTS {table}, inrush_load_ledger")
        for table in ("t", "same"):
            self.place.ask(f"CREATE TABLE {table} ({drawn.columns})")
        rows = [
            "("
            + ", ".join(
                "NULL" if v is None else f"{literal(v)}::{k}" for v, k in zip(row, drawn.kinds, strict=True)
            )
            + ")"
            for row in drawn.rows
        ]
        self.place.ask(f"INSERT INTO t VALUES {', '.join(rows)}")

    def dump(self, form: str) -> Path:
        path = self.folder / f"t.{'csv' if form == 'csv' else 'txt'}"
        path.unlink(missing_ok=True)
        self.folder.chmod(0o777)
        options = "FORMAT csv, HEADER" if form == "csv" else "FORMAT text"
        self.place.ask(f"COPY t TO {literal(str(path))} WITH ({options})")
        return path

    def rows(self, table: str) -> list[Row]:
        names = self.place.ask(
            f"SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
        )
        # As the server writes them: a cast of `inet` to text adds its bits, and one of `char(n)` drops its blanks.
        texts = (f"CASE WHEN {name} IS NOT NULL THEN format('%s', {name}) END" for (name,) in names)
        return [tuple(row) for row in self.place.ask(f"SELECT {', '.join(texts)} FROM {table}")]


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@pytest.fixture
def here(postgresql: Target) -> Iterator[Place]:
    yield from database(postgresql)


@pytest.mark.parametrize("form", ["csv", "text"])
@drawn_of(POSTGRESQL)
def test_postgresql_s_dump_comes_back(here: Place, folder: Path, form: str, drawn: Drawn) -> None:
    # A file of blank lines alone is refused as empty.
    assume(form == "csv" or any(v != "" for row in drawn.rows for v in row))
    comes_back(OnPostgresql(here, folder), form, drawn)
