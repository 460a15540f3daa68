"""Whole numbers from 2^63 on in new tables: as numbers where the database has such a type, else as texts; never negative."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inrush.engines.base.instance import Target
from inrush.errors import UsageError
from inrush.load.call import Call
from inrush.load.check import Loaded
from inrush.load.run import load
from tests.engines.test_load_proof import control, database

VALUES = [0, 1, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1]
LINE = "column v: whole numbers from 2^63 on, for which the database has no type; stored as text"
#: Engines without a type for them.
AS_TEXT = ("postgresql", "sqlite")


@pytest.fixture(params=["postgresql", "sqlite", "duckdb", "mysql", "clickhouse"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    engine = request.param
    if engine in ("sqlite", "duckdb"):
        yield Target(engine, f"{engine}:///{tmp_path / 'db'}")
    else:
        for made in database(request.getfixturevalue(engine)):
            yield made.target


def loaded(file: Path, place: Target) -> tuple[Loaded, list[str]]:
    notes: list[str] = []
    call = Call((str(file),), "t", into=place.url, verify=True, create=True)
    return load(call, file.parent / "loads", notes.append, lambda event: None), notes


def parquet(path: Path, values: list[int]) -> Path:
    columns = {"id": range(len(values)), "v": pa.array(values, pa.uint64())}
    pq.write_table(pa.table(columns), path)
    return path


def asked(place: Target, query: str) -> list[Any]:
    if place.engine == "duckdb":
        with duckdb.connect(place.url.removeprefix("duckdb://")) as database:
            return [v for (v,) in database.execute(query).fetchall()]
    return [v for (v,) in control(place, query)]


def stored(place: Target) -> list[str]:
    return [str(v) for v in asked(place, "SELECT v FROM t ORDER BY id")]


def test_no_number_of_a_text_file_becomes_negative(place: Target, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,v\n" + "".join(f"{i},{v}\n" for i, v in enumerate(VALUES)))
    done, notes = loaded(file, place)
    assert (done.verdict, done.verified, done.rejected) == ("proven", True, 0), done.why
    assert stored(place) == [str(v) for v in VALUES]
    assert (LINE in notes) == (place.engine in AS_TEXT)


def test_a_parquet_file_with_one_is_stored_whole_or_refused(place: Target, tmp_path: Path) -> None:
    file = parquet(tmp_path / "a.parquet", VALUES)
    if place.engine in AS_TEXT:
        with pytest.raises(UsageError, match="column v is uint64 and cannot be int64"):
            loaded(file, place)
    else:
        assert loaded(file, place)[0].verdict == "proven" and stored(place) == [str(v) for v in VALUES]


def test_a_parquet_column_of_small_unsigned_numbers_stays_a_number(place: Target, tmp_path: Path) -> None:
    done, _ = loaded(parquet(tmp_path / "a.parquet", [0, 7, 2**63 - 1]), place)
    assert done.verdict == "proven", done.why
    assert [int(v) for v in asked(place, "SELECT v + 0 FROM t WHERE v < 100 ORDER BY id")] == [0, 7]


#: Types of eight, sixteen and 32 bits, and how a table of them ends.
SMALL = {
    "clickhouse": ("a UInt8, b Nullable(UInt16), c UInt32", " ENGINE = MergeTree ORDER BY c"),
    "mysql": ("a tinyint unsigned, b smallint unsigned, c int unsigned", ""),
}


@pytest.mark.parametrize("engine", SMALL)
def test_small_unsigned_columns_are_filled_over_their_range_and_values_beyond_are_rejected(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    columns, tail = SMALL[engine]
    file = tmp_path / "a.csv"
    file.write_text(
        "a,b,c\n0,0,0\n7,32768,5\n255,65535,4294967295\n256,1,1\n1,65536,2\n2,2,4294967296\n-1,3,3\n"
    )
    for made in database(request.getfixturevalue(engine)):
        made.ask(f"CREATE TABLE t ({columns}){tail}")
        done = made.load([file], tmp_path, verify=True)
        assert (done.verdict, done.rows_stored, done.rejected) == ("proven", 3, 4), (done.why, done.columns)
        found = control(made.target, "SELECT a, b, c FROM t ORDER BY c")
        assert [[int(v) for v in row] for row in found] == [[0, 0, 0], [7, 32768, 5], [255, 65535, 2**32 - 1]]
